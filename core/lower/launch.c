// Makes the launches of a lowered program: the kernels that each thread of a grid executes, and the host's part.
#include "lower/launch.h"
#include "lower/pass.h"
#include <ctype.h>
#include <stdlib.h>

typedef struct making {
  nw_program *p; // a copy of the lowered program, whose tree becomes the bodies of the kernels
  nw_ranges r; // the sizes, the facts, and the variables of the statements around
  nw_launch *l;
  const char *inner[NW_MAX_DEPTH]; // the variables of the launch's loops around
  int ninner;
  nw_vec held; // nw_buffer *: the fragments (fragments.c)
  bool failed;
} making;

// ---- the numbers of blocks and threads

// Makes extent[d] at least n, which may use the variables of the launch's loops around.
static void widen(making *m, const nw_stmt *loop, const nw_expr *n, int d) {
  const nw_expr *most = nw_uses_any(n, m->ninner, m->inner) ? nw_upper_over(&m->r, n, m->ninner, m->inner) : n;
  if (!most || nw_uses_any(most, m->ninner, m->inner) || nw_uses_load(most, NULL)) {
    m->failed = true;
    nw_fail(m->p->ctx, NW_ECODEGEN, "split it by a number, and bind the loops that have constant bounds",
            "the number of iterations of %s has no upper bound that is known at the launch", loop->loop.var->name);
    return;
  }
  const nw_expr **at = &m->l->extent[d];
  *at = nw_simplify(&m->r, *at ? nw_max(m->p->pool, *at, most) : most);
}

static void find_extents(making *m, const nw_stmt *s) {
  bool loop = s->kind == NW_LOOP;
  int d = nw_grid_dim(s);
  if (d >= 0) widen(m, s, s->loop.extent, d);
  if (m->failed) return;
  nw_scope_push(&m->r, s);
  if (loop) m->inner[m->ninner++] = s->loop.var->name;
  for (int i = 0; i < s->nkids && !m->failed; i++) find_extents(m, s->kid[i]);
  if (loop) m->ninner--;
  nw_scope_pop(&m->r, s);
}

// ---- the body of the kernel

static bool syncs(const nw_stmt *s) {
  bool any = s->kind == NW_BARRIER || s->kind == NW_COMMIT || s->kind == NW_WAIT;
  for (int i = 0; i < s->nkids && !any; i++) any = syncs(s->kid[i]);
  return any;
}

// Returns a bit for each index to which a loop at or below s is bound.
static unsigned bound_in(const nw_stmt *s) {
  int d = nw_grid_dim(s);
  unsigned all = d >= 0 ? 1u << d : 0;
  for (int i = 0; i < s->nkids; i++) all |= bound_in(s->kid[i]);
  return all;
}

static const nw_expr *index_of(const making *m, int d) { return nw_var(m->p->pool, nw_grid_index[d]); }

static const nw_expr *are_zero(const making *m, unsigned dims) {
  const nw_expr *all = NULL;
  for (int d = 0; d < NW_GRID_DIMS; d++)
    if (dims & 1u << d) all = nw_and(m->p->pool, all, nw_eq(m->p->pool, index_of(m, d), nw_index(m->p->pool, 0)));
  return all;
}

static nw_stmt *guarded(making *m, const nw_expr *cond, nw_stmt *s) {
  return nw_guarded(m->p, nw_remaining(&m->r, cond), s);
}

static void thread_kids(making *m, nw_stmt *s, unsigned entered);

// Returns what each thread executes of a loop that is bound to index d: the body, with the index for the loop's variable.
static nw_stmt *bound_loop(making *m, nw_stmt *s, int d, unsigned entered) {
  const nw_expr *index = index_of(m, d), *cond = nw_lt(m->p->pool, index, s->loop.extent);
  const nw_expr *value = nw_add(m->p->pool, s->loop.begin, index);
  nw_stmt *body = nw_new_like(m->p, NW_SEQ, s);
  for (int i = 0; i < s->nkids; i++) nw_stmt_subst(m->p, s->kid[i], s->loop.var->name, value);
  nw_kids_set(m->p, body, s->nkids, s->kid);
  nw_ranges_fact(&m->r, cond);
  thread_kids(m, body, entered | 1u << d);
  nw_ranges_pop_fact(&m->r);
  return guarded(m, cond, body->nkids == 1 ? body->kid[0] : body);
}

static nw_stmt *thread_stmt(making *m, nw_stmt *s, unsigned entered) {
  int d = nw_grid_dim(s);
  if (d >= 0) return bound_loop(m, s, d, entered);
  nw_scope_push(&m->r, s);
  thread_kids(m, s, entered);
  nw_scope_pop(&m->r, s);
  return s;
}

// Rewrites the children of s. Neighbouring children that run only where the same indices are 0 get one guard.
static void thread_kids(making *m, nw_stmt *s, unsigned entered) {
  nw_vec out = {0}, run = {0};
  unsigned used = 0, alone = 0; // alone: the indices that must be 0 for the statements in `run`
  for (int d = 0; d < NW_GRID_DIMS; d++) used |= m->l->extent[d] ? 1u << d : 0;
  for (int i = 0; i <= s->nkids; i++) {
    nw_stmt *kid = i < s->nkids ? s->kid[i] : NULL;
    unsigned missing = kid && !syncs(kid) ? used & ~entered & ~bound_in(kid) : 0;
    if (run.n && missing != alone) {
      nw_vec_push(&out, guarded(m, are_zero(m, alone), nw_sequence(m->p, &run)));
      run.n = 0;
    }
    if (!kid) break;
    nw_vec_push(missing ? &run : &out, thread_stmt(m, kid, entered | missing));
    alone = missing;
  }
  if (s->nkids) nw_kids_set(m->p, s, out.n, (nw_stmt **)out.at);
  nw_vec_free(&out);
  nw_vec_free(&run);
}

// ---- what the kernel uses

typedef struct uses {
  making *m;
  nw_launch *l;
  nw_vec loops, arrays; // names of the loops and of the arrays of the body
  nw_vec vars; // const nw_expr *
} uses;

static bool is_in(const nw_vec *names, const char *name) {
  for (int i = 0; i < names->n; i++)
    if (!strcmp(names->at[i], name)) return true;
  return false;
}

static nw_launch_buffer *use_of(uses *u, const char *name) {
  for (int i = 0; i < u->l->nbuffers; i++)
    if (!strcmp(u->l->buffer[i].name, name)) return &u->l->buffer[i];
  static nw_launch_buffer ignored;
  return &ignored; // an array of the body
}

static bool see_expr(void *env, const nw_expr *e) {
  uses *u = env;
  if (e->op == NW_OP_LOAD) use_of(u, e->name)->read = true;
  if (e->op != NW_OP_VAR || is_in(&u->loops, e->name)) return true;
  for (int i = 0; i < u->m->p->nsizes; i++)
    if (!strcmp(u->m->p->size[i].name, e->name)) return true;
  for (int d = 0; d < NW_GRID_DIMS; d++)
    if (!strcmp(nw_grid_index[d], e->name)) return true;
  for (int i = 0; i < u->vars.n; i++)
    if (u->vars.at[i] == e) return true;
  nw_vec_push(&u->vars, (void *)e);
  return true;
}

static const nw_expr *see(void *env, const nw_expr *e) {
  nw_visit(e, see_expr, env);
  return e;
}

static void see_stmt(uses *u, nw_stmt *s) {
  nw_stmt_exprs(s, see, u);
  if (s->kind == NW_STORE) {
    nw_launch_buffer *b = use_of(u, s->store.buffer);
    b->written = true;
    b->atomic |= s->store.atomic;
  }
  for (int i = 0; s->kind == NW_CALL && i < s->call.ntiles; i++) use_of(u, s->call.tile[i].buffer)->read = true;
  for (int i = 0; i < s->nkids; i++) see_stmt(u, s->kid[i]);
}

static void see_names(uses *u, const nw_stmt *s) {
  if (s->kind == NW_LOOP) nw_vec_push(&u->loops, (void *)s->loop.var->name);
  if (s->kind == NW_ALLOC) nw_vec_push(&u->arrays, (void *)s->alloc.buffer);
  for (int i = 0; i < s->nkids; i++) see_names(u, s->kid[i]);
}

// Lists the buffers and the variables of the host that the body uses.
static void find_uses(making *m, nw_stmt *body) {
  nw_program *p = m->p;
  nw_launch *l = m->l;
  uses u = {.m = m, .l = l};
  see_names(&u, body);
  l->buffer = NW_NEW_N(p->arena, nw_launch_buffer, p->nbuffers + 1);
  for (int i = 0; i < p->nbuffers; i++)
    if (!is_in(&u.arrays, p->buffer[i]->name)) l->buffer[l->nbuffers++].name = p->buffer[i]->name;
  see_stmt(&u, body);
  int n = 0;
  for (int i = 0; i < l->nbuffers; i++)
    if (l->buffer[i].read || l->buffer[i].written) l->buffer[n++] = l->buffer[i];
  l->nbuffers = n;
  l->nvars = u.vars.n;
  l->var = NW_NEW_N(p->arena, const nw_expr *, u.vars.n + 1);
  for (int i = 0; i < u.vars.n; i++) l->var[i] = u.vars.at[i];
  nw_vec_free(&u.loops);
  nw_vec_free(&u.arrays);
  nw_vec_free(&u.vars);
}

// ---- arrays of a block

static int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static int64_t warps_of(const nw_program *p, const nw_launch *l) {
  int64_t n[3], warp = p->target->limit.launch.warp;
  for (int d = 0; d < 3; d++)
    if (!nw_is_int(l->extent[3 + d], &n[d])) return 0;
  return rounded(n[0], warp) / warp * n[1] * n[2];
}

static nw_block_array *array_of(nw_launch *l, const nw_buffer *b) {
  for (int i = 0; i < l->narrays; i++)
    if (!strcmp(l->array[i].buffer, b->name)) return &l->array[i];
  l->array[l->narrays] = (nw_block_array){.buffer = b->name, .dtype = b->dtype, .scope = b->scope, .elements = 1};
  return &l->array[l->narrays++];
}

static bool find_arrays(making *m, const nw_stmt *s) {
  int64_t n;
  if (s->kind == NW_ALLOC) {
    const nw_buffer *b = nw_find_buffer(m->p, s->alloc.buffer);
    if (b->scope == NW_GLOBAL)
      return nw_fail(m->p->ctx, NW_ECODEGEN, "give it scope shared or local, or allocate it outside of the blocks",
                     "%s has scope global, and is allocated inside a kernel", b->name);
    if (!nw_is_int(s->alloc.extent[0], &n))
      return nw_fail(m->p->ctx, NW_ECODEGEN, "allocate it inside the loops that make it small",
                     "%s has no constant size in a kernel", b->name);
    nw_block_array *a = b->scope == NW_LOCAL ? NULL : array_of(m->l, b);
    if (a && n > a->elements) a->elements = n;
  }
  for (int i = 0; i < s->nkids; i++)
    if (!find_arrays(m, s->kid[i])) return false;
  return true;
}

static void place_arrays(making *m) {
  nw_launch *l = m->l;
  l->warps = warps_of(m->p, l);
  for (int i = 0; i < l->narrays; i++) {
    nw_block_array *a = &l->array[i];
    if (a->scope == NW_WARP && !l->warps) {
      m->failed = true;
      nw_fail(m->p->ctx, NW_ECODEGEN, "give it scope shared, or a constant number of threads",
              "%s has scope warp, and the number of warps of a block is not constant", a->buffer);
      return;
    }
    a->offset = rounded(l->shared_bytes, NW_BLOCK_ARRAY_ALIGN);
    a->bytes = a->elements * nw_dtype_bytes(a->dtype) * (a->scope == NW_WARP ? l->warps : 1);
    if (!a->shuffle) l->shared_bytes = a->offset + a->bytes;
  }
}

// ---- one launch

// The indices of the grid are variables of the kernel, with known ranges.
static void push_indices(making *m) {
  nw_pool *pool = m->p->pool;
  for (int d = 0; d < NW_GRID_DIMS; d++) {
    const nw_expr *n = m->l->extent[d] ? m->l->extent[d] : nw_index(pool, 1);
    nw_ranges_push(&m->r, nw_grid_index[d], nw_index(pool, 0), nw_sub(pool, n, nw_index(pool, 1)));
  }
}

static void make_launch(making *m, nw_stmt *s, nw_launch *l) {
  m->l = l;
  find_extents(m, s);
  if (m->failed) return;
  push_indices(m);
  nw_stmt *all = nw_new_like(m->p, NW_SEQ, s);
  nw_kids_set(m->p, all, 1, &s);
  thread_kids(m, all, 0);
  for (int d = 0; d < NW_GRID_DIMS; d++)
    if (!l->extent[d]) l->extent[d] = nw_index(m->p->pool, 1);
  l->body = all;
  l->barriers = nw_has_barrier(all);
  m->failed |= !nw_hold_fragments(m->p, &m->r, all, &m->held);
  l->array = NW_NEW_N(m->p->arena, nw_block_array, m->p->nbuffers + 1);
  m->failed = m->failed || !find_arrays(m, all);
  if (!m->failed) nw_find_shuffles(m->p, &m->r, l, all);
  for (int d = 0; d < NW_GRID_DIMS; d++) nw_ranges_pop(&m->r);
  if (m->failed) return;
  place_arrays(m);
  find_uses(m, all);
}

// Makes the launches of s, which is a copy of `was`.
static void make_all(making *m, nw_stmt *s, const nw_stmt *was, nw_vec *out) {
  for (int i = 0; i < s->nkids && !m->failed; i++) {
    nw_stmt *kid = s->kid[i];
    if (nw_is_launch(m->p, kid)) {
      nw_launch *l = NW_NEW_N(m->p->arena, nw_launch, 1);
      l->at = was->kid[i];
      make_launch(m, kid, l);
      nw_vec_push(out, l);
      continue;
    }
    nw_scope_push(&m->r, kid);
    make_all(m, kid, was->kid[i], out);
    nw_scope_pop(&m->r, kid);
  }
}

int64_t nw_launch_asks(const nw_launch *l) { return l->shared_bytes > NW_STATIC_SHARED ? l->shared_bytes : 0; }

static void name_kernels(nw_launches *all) {
  nw_str base = {0};
  const char *name = all->p->name ? all->p->name : "program";
  if (!isalpha((unsigned char)*name)) nw_str_add(&base, "v");
  for (; *name; name++) nw_str_addn(&base, isalnum((unsigned char)*name) ? name : "_", 1);
  for (int i = 0; i < all->n; i++) {
    nw_str s = {0};
    nw_str_fmt(&s, all->n > 1 ? "%s_kernel_%d" : "%s_kernel", base.s, i + 1);
    all->launch[i].name = nw_pool_name(all->p->pool, s.s);
    nw_str_free(&s);
  }
  nw_str_free(&base);
}

nw_launches *nw_launches_of(const nw_exec *e) {
  making m = {.p = nw_program_clone(e->p)};
  nw_vec all = {0};
  nw_scope_open(&m.r, m.p);
  make_all(&m, m.p->root, e->p->root, &all);
  nw_ranges_free(&m.r);
  nw_launches *out = m.failed ? NULL : nw_xcalloc(1, sizeof *out);
  if (out) {
    *out = (nw_launches){.p = m.p, .n = all.n, .launch = NW_NEW_N(m.p->arena, nw_launch, all.n + 1)};
    for (int i = 0; i < all.n; i++) out->launch[i] = *(nw_launch *)all.at[i];
    name_kernels(out);
  } else {
    nw_program_release(m.p);
  }
  nw_vec_free(&all);
  nw_vec_free(&m.held);
  return out;
}

void nw_launches_free(nw_launches *l) {
  if (!l) return;
  nw_program_release(l->p);
  free(l);
}

// ---- the host's part

typedef struct host {
  const nw_exec *e;
  const nw_launches *all;
  int next; // the launch that the traversal reaches next
  nw_launch_fn launch;
  void *env;
  int n; // the sizes and the variables of the loops around
  const char *name[NW_MAX_DEPTH * 2];
  int64_t value[NW_MAX_DEPTH * 2];
} host;

static bool number(host *h, const nw_expr *e, int64_t *out) {
  if (nw_eval_int(e, &(nw_point){h->n, h->name, h->value}, out)) return true;
  nw_str s = {0};
  nw_expr_print(&s, e);
  nw_fail(h->e->p->ctx, NW_ECODEGEN, "bind the loops around to blocks, or make them a part of one kernel",
          "the host cannot compute %s, which depends on data", s.s);
  nw_str_free(&s);
  return false;
}

static bool launch(host *h, const nw_launch *l) {
  int64_t extent[NW_GRID_DIMS], *var = nw_xcalloc((size_t)l->nvars + 1, sizeof *var);
  bool good = true, any = true;
  for (int d = 0; d < NW_GRID_DIMS && good; d++) {
    good = number(h, l->extent[d], &extent[d]);
    any = any && extent[d] > 0;
  }
  for (int i = 0; i < l->nvars && good; i++) good = number(h, l->var[i], &var[i]);
  if (good && any) good = h->launch(h->env, l, extent, var);
  free(var);
  return good;
}

static int launches_in(const nw_program *p, const nw_stmt *s) {
  int n = 0;
  if (nw_is_launch(p, s)) return 1;
  for (int i = 0; i < s->nkids; i++) n += launches_in(p, s->kid[i]);
  return n;
}

static bool run(host *h, const nw_stmt *s) {
  int64_t begin = 0, n = 1, first = h->next;
  const nw_program *p = h->e->p;
  if (nw_is_launch(p, s)) return launch(h, &h->all->launch[h->next++]);
  if (s->kind == NW_GUARD && !number(h, s->guard.cond, &n)) return false;
  if (s->kind == NW_LOOP && (!number(h, s->loop.begin, &begin) || !number(h, s->loop.extent, &n))) return false;
  if (s->kind == NW_LOOP) h->name[h->n++] = s->loop.var->name;
  bool good = true;
  for (int64_t i = begin; i < begin + n && good; i++) {
    if (s->kind == NW_LOOP) h->value[h->n - 1] = i;
    h->next = (int)first;
    for (int k = 0; k < s->nkids && good; k++) good = run(h, s->kid[k]);
    if (s->kind == NW_GUARD) break;
  }
  if (s->kind == NW_LOOP) h->n--;
  h->next = (int)first + launches_in(p, s);
  return good;
}

bool nw_launches_run(const nw_exec *e, const nw_launches *l, const int64_t *sizes, nw_launch_fn f, void *env) {
  host h = {.e = e, .all = l, .launch = f, .env = env, .n = e->p->nsizes};
  for (int i = 0; i < e->p->nsizes; i++) h.name[i] = e->p->size[i].name, h.value[i] = sizes[i];
  bool good = true;
  for (int i = 0; i < e->p->root->nkids && good; i++) good = run(&h, e->p->root->kid[i]);
  return good;
}
