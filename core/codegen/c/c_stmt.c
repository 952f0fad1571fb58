// Writes statements as C: loops with OpenMP pragmas, guards, stores, and arrays on the stack.
#include "codegen/c/c_dialect.h"
#include "codegen/c/c_vector.h"
#include "codegen/shuffle.h"
#include "ir/program/tags.h"

static void line_start(nwt *g) { nw_str_indent(&g->out, 2 * g->depth); }

static void allocated(nwt *g, const nw_stmt *s);

// Writes the body of a loop or guard. If the body is one allocation, its array needs no braces of its own, because the
// braces of the loop or guard limit the scope of the array.
static void inside(nwt *g, const nw_stmt *s) {
  if (s->nkids == 1 && s->kid[0]->kind == NW_ALLOC)
    allocated(g, s->kid[0]);
  else
    for (int i = 0; i < s->nkids && !g->failed; i++) nwt_stmt(g, s->kid[i]);
}

static bool streams(const nw_stmt *s) {
  bool any = s->kind == NW_STORE && s->store.stream;
  for (int i = 0; !any && i < s->nkids; i++) any = streams(s->kid[i]);
  return any;
}

// Writes a fence that makes the streaming stores of this thread visible to others, if s has any. The stores of a text
// without vectors do not stream; they only have a pragma.
static void fence_after(nwt *g, const nw_stmt *s) {
  if (!g->vectors || !streams(s)) return;
  line_start(g);
  nw_str_add(&g->out, "nw_stream_fence();\n");
  g->vectors->fence = true;
}

static void kids(nwt *g, const nw_stmt *s) {
  g->depth++;
  inside(g, s);
  if (s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL) fence_after(g, s);
  g->depth--;
}

static void braces(nwt *g, const nw_stmt *s) {
  nw_str_add(&g->out, "{\n");
  kids(g, s);
  line_start(g);
  nw_str_add(&g->out, "}\n");
}

// ---- loops

// Writes a nontemporal clause of OpenMP 5 for each buffer that streaming stores in s write. `seen` holds the buffers
// that already have a clause.
static void nontemporal(nwt *g, const nw_stmt *s, nw_vec *seen) {
  for (int i = 0; i < s->nkids; i++) nontemporal(g, s->kid[i], seen);
  if (s->kind != NW_STORE || !s->store.stream) return;
  for (int i = 0; i < seen->n; i++)
    if (!strcmp(seen->at[i], s->store.buffer)) return;
  nw_vec_push(seen, (void *)s->store.buffer);
  nw_str_fmt(&g->out, " nontemporal(%s)", nwt_name(g, s->store.buffer));
}

const nw_storage *nwt_storage_of(const nwt *g, const char *buffer) {
  for (int i = 0; i < g->exec->nstorage; i++)
    if (!strcmp(g->exec->storage[i].buffer, buffer)) return &g->exec->storage[i];
  return NULL;
}

// True if iterations share a temporary: a workspace that is allocated inside the loop.
static bool shares(const nwt *g, const nw_stmt *s) {
  if (s->kind == NW_ALLOC && nwt_storage_of(g, s->alloc.buffer)->kind != NW_STORE_STACK && !NW_MUTATED(c_shared_lanes))
    return true;
  for (int i = 0; i < s->nkids; i++)
    if (shares(g, s->kid[i])) return true;
  return false;
}

static void simd(nwt *g, const nw_stmt *s) {
  nw_vec seen = {0};
  if (shares(g, s)) return;
  line_start(g);
  nw_str_add(&g->out, "#pragma omp simd");
  nontemporal(g, s, &seen);
  nw_str_add(&g->out, "\n");
  nw_vec_free(&seen);
}

static void parallel(nwt *g, const nw_stmt *s) {
  int64_t chunk = nw_chunk_of(s);
  nw_str_fmt(&g->out, "#pragma omp parallel for if(nw_has_threads()) schedule(%s", chunk < 0 ? "dynamic" : "static");
  if (chunk) nw_str_fmt(&g->out, ", %lld", (long long)(chunk < 0 ? -chunk : chunk));
  nw_str_add(&g->out, ")\n");
}

static void mark(nwt *g, const nw_stmt *s) {
  int64_t n;
  if (s->loop.mark == NW_SERIAL) return;
  if (g->dialect) return nwk_mark(g, s);
  if (s->loop.mark == NW_VECTORIZED) return simd(g, s);
  if (s->loop.mark == NW_PARALLEL) fence_after(g, g->p->root);
  line_start(g);
  switch (s->loop.mark) {
  case NW_PARALLEL: parallel(g, s); break;
  case NW_UNROLLED:
    nw_str_fmt(&g->out, "#pragma GCC unroll %lld\n", nw_is_int(s->loop.extent, &n) ? (long long)n : 1);
    break;
  default: nwt_fail(g, "%s is bound to %s, which C does not have", s->loop.var->name, nw_loop_kind_name(s->loop.mark));
  }
}

static void enter(nwt *g, const nw_stmt *s) {
  nw_pool *pool = g->p->pool;
  const nw_expr *end = nw_add(pool, s->loop.begin, s->loop.extent);
  nw_ranges_push(&g->ranges, s->loop.var->name, s->loop.begin, nw_sub(pool, end, nw_index(pool, 1)));
}

static void loop(nwt *g, const nw_stmt *s) {
  const char *var = nwt_name(g, s->loop.var->name);
  if (g->dialect && nwk_wide_copy(g, s)) return;
  mark(g, s);
  line_start(g);
  nw_str_fmt(&g->out, "for (%s %s = ", g->narrow ? "int" : "int64_t", var);
  nwt_expr(g, s->loop.begin);
  nw_str_fmt(&g->out, "; %s < ", var);
  nwt_operand(g, NW_OP_LT, nw_add(g->p->pool, s->loop.begin, s->loop.extent));
  nw_str_fmt(&g->out, "; %s++) ", var);
  enter(g, s);
  braces(g, s);
  nw_ranges_pop(&g->ranges);
}

// ---- other statements

// Returns the guard that is the only statement inside s, if it can be written together with s; otherwise NULL.
static const nw_stmt *guard_inside(const nwt *g, const nw_stmt *s) {
  do s = s->nkids == 1 ? s->kid[0] : NULL;
  while (s && s->kind == NW_SEQ);
  return s && s->kind == NW_GUARD && g->dialect && !nwk_is_shuffle(g, s) ? s : NULL;
}

static void condition(nwt *g, const nw_expr *cond, bool alone) {
  if (alone || cond->op == NW_OP_AND)
    nwt_expr(g, cond);
  else
    nwt_operand(g, NW_OP_AND, cond);
}

// In kernels, guards that are directly inside each other are one condition.
static void guard(nwt *g, const nw_stmt *s) {
  if (g->dialect && nwk_shuffle(g, s)) return;
  const nw_stmt *in = guard_inside(g, s);
  int facts = 1;
  line_start(g);
  nw_str_add(&g->out, "if (");
  condition(g, s->guard.cond, !in);
  nw_ranges_fact(&g->ranges, s->guard.cond);
  for (; in; in = guard_inside(g, s), facts++) {
    s = in;
    nw_str_add(&g->out, " && ");
    condition(g, s->guard.cond, false);
    nw_ranges_fact(&g->ranges, s->guard.cond);
  }
  nw_str_add(&g->out, ") ");
  braces(g, s);
  while (facts-- > 0) nw_ranges_pop_fact(&g->ranges);
}

static void store(nwt *g, const nw_stmt *s) {
  bool lanes = s->store.mask || s->store.index->type.lanes > 1;
  if (g->dialect && (nwk_shuffle(g, s) || nwk_store(g, s))) return;
  if (lanes && !g->vectors) {
    nwt_fail(g, "a masked store to %s cannot be written in C", s->store.buffer);
    return;
  }
  line_start(g);
  if (s->store.atomic) {
    nw_str_add(&g->out, "#pragma omp critical\n"); // `omp atomic` does not support every reduction
    line_start(g);
  }
  if (lanes) {
    nwv_store(g, s);
    return;
  }
  nw_str_add(&g->out, nwt_name(g, s->store.buffer));
  if (!g->dialect || !nwk_in_register(g, s->store.buffer)) {
    nw_str_add(&g->out, "[");
    nwt_expr(g, s->store.index);
    nw_str_add(&g->out, "]");
  }
  nw_str_add(&g->out, " = ");
  nwt_expr(g, s->store.value);
  nw_str_add(&g->out, ";\n");
}

static void prefetch(nwt *g, const nw_stmt *s) {
  line_start(g);
  nw_str_fmt(&g->out, "__builtin_prefetch(&%s[", nwt_name(g, s->prefetch.buffer));
  nwt_expr(g, s->prefetch.min[0]);
  nw_str_add(&g->out, "]);\n");
}

// Writes the nest that an intrinsic computes, because the C text must not depend on the intrinsic's library.
static void call(nwt *g, const nw_stmt *s) {
  const nw_intrinsic *in = nw_intrinsic_find(g->p->ctx, s->call.intrinsic);
  if (g->launch && in && in->instruction) {
    nwk_instruction(g, s, in);
    return;
  }
  line_start(g);
  if (g->vectors && in && in->shuffles) {
    nwv_shuffles(g, s, in);
    return;
  }
  nw_str_fmt(&g->out, "{ // the nest that %.*s computes\n", (int)strcspn(s->call.intrinsic, ":"), s->call.intrinsic);
  kids(g, s);
  line_start(g);
  nw_str_add(&g->out, "}\n");
}

static void array(nwt *g, const nw_storage *st) {
  line_start(g);
  if (g->dialect && nwk_in_register(g, st->buffer)) {
    const char *start = nwk_is_shuffled(g, g->launch->body, st->buffer) ? " = 0" : "";
    nw_str_fmt(&g->out, "%s %s%s;\n", nwt_type(st->dtype), nwt_name(g, st->buffer), start);
    return;
  }
  nw_str_fmt(&g->out, "%s %s[", nwt_type(st->dtype), nwt_name(g, st->buffer));
  // In a kernel, a fragment has only the elements of one lane.
  const nw_expr *n = g->launch ? nw_find_buffer(g->p, st->buffer)->shape[0] : st->elements;
  nwt_expr(g, nw_max(g->p->pool, n, nw_index(g->p->pool, 1)));
  nw_str_add(&g->out, g->vectors ? "] __attribute__((aligned(64)));\n" : "];\n");
}

// Declares a pointer to this thread's part of a workspace. The workspace was allocated at the start of the function.
static void piece(nwt *g, const nw_storage *st) {
  const char *name = nwt_name(g, st->buffer);
  line_start(g);
  nw_str_fmt(&g->out, "%s *restrict %s = %s_all + (size_t)(", nwt_type(st->dtype), name, name);
  nwt_expr(g, st->elements);
  nw_str_fmt(&g->out, ") * (size_t)%somp_get_thread_num();\n", NW_MUTATED(c_thread_piece) ? "~" : "");
}

// Writes the declaration of a buffer, and the statements that use it. A workspace that the threads share needs no
// declaration here, because it is declared at the start of the function.
static void allocated(nwt *g, const nw_stmt *s) {
  const nw_storage *st = nwt_storage_of(g, s->alloc.buffer);
  if (st->kind == NW_STORE_STACK || (st->kind == NW_STORE_GRID && nwk_in_place(g, s))) array(g, st);
  if (st->kind == NW_STORE_PER_THREAD) piece(g, st);
  inside(g, s);
}

static void alloc(nwt *g, const nw_stmt *s) {
  bool scope = nwt_storage_of(g, s->alloc.buffer)->kind != NW_STORE_WORKSPACE;
  if (g->dialect) scope = nwk_in_place(g, s) && !nwk_is_alone(g, s);
  if (scope) {
    line_start(g);
    nw_str_add(&g->out, "{\n");
    g->depth++;
  }
  allocated(g, s);
  if (!scope) return;
  g->depth--;
  line_start(g);
  nw_str_add(&g->out, "}\n");
}

void nwt_body(nwt *g) {
  nwt_stmt(g, g->p->root);
  fence_after(g, g->p->root);
}

void nwt_stmt(nwt *g, const nw_stmt *s) {
  switch (s->kind) {
  case NW_SEQ:
    for (int i = 0; i < s->nkids && !g->failed; i++) nwt_stmt(g, s->kid[i]);
    break;
  case NW_LOOP: loop(g, s); break;
  case NW_GUARD: guard(g, s); break;
  case NW_STORE: store(g, s); break;
  case NW_CALL: call(g, s); break;
  case NW_ALLOC: alloc(g, s); break;
  case NW_PREFETCH: prefetch(g, s); break;
  case NW_BARRIER:
  case NW_COMMIT:
  case NW_WAIT:
    if (g->dialect)
      nwk_sync(g, s);
    else if (s->kind == NW_BARRIER) // a CPU copies at once, so that there is nothing to wait for
      nwt_fail(g, "a barrier between threads of a block cannot be written in C");
    break;
  default: nwt_fail(g, "a statement of this kind cannot be written in C");
  }
}
