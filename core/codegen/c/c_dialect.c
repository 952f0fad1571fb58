// Writes what CUDA C and OpenCL C express in other ways than C: marks of loops, copies of vectors, atomic and
// asynchronous stores, and barriers.
#include "codegen/c/c_dialect.h"

const nwt_dialect nwk_cuda = {
    .name = "cuda",
    .function = "static inline __device__ ",
    .kernel = "extern \"C\" __global__ void ",
    .restricted = "__restrict__ ",
    .global = "",
    .shared = "__shared__ ",
    .align = "__align__(%d) ",
    .index = {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"},
    .barrier = "__syncthreads()",
    .typed_functions = true,
};

const nwt_dialect nwk_opencl = {
    .name = "opencl",
    .function = "static inline ",
    .kernel = "__kernel ",
    .restricted = "restrict ",
    .global = "__global ",
    .shared = "__local ",
    .align = "__attribute__((aligned(%d))) ",
    .index = {"get_group_id(0)", "get_group_id(1)", "get_group_id(2)", "get_local_id(0)", "get_local_id(1)",
              "get_local_id(2)"},
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
};

static bool is_cuda(const nwt *g) { return g->dialect == &nwk_cuda; }

static void line_start(nwt *g) { nw_str_indent(&g->out, 2 * g->depth); }

static nw_scope scope_of(const nwt *g, const char *buffer) {
  const nw_buffer *b = nw_find_buffer(g->p, buffer);
  return b->role == NW_TEMP && nwt_storage_of(g, buffer)->kind == NW_STORE_GRID ? b->scope : NW_GLOBAL;
}

// Returns the qualifier of a pointer to an element of the buffer. In CUDA C, pointers have none.
static const char *memory_of(const nwt *g, const char *buffer) {
  nw_scope s = scope_of(g, buffer);
  return is_cuda(g) ? "" : s == NW_GLOBAL ? g->dialect->global : s == NW_LOCAL ? "" : g->dialect->shared;
}

// Returns the number of allocations of the buffer; one that does not have one element counts as many.
static int allocations(const nw_stmt *s, const char *buffer, bool of_one) {
  int n = 0;
  if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, buffer))
    n = of_one && !nw_is_const(s->alloc.extent[0], 1) ? NW_MAX_DEPTH : 1;
  for (int i = 0; i < s->nkids && n < NW_MAX_DEPTH; i++) n += allocations(s->kid[i], buffer, of_one);
  return n;
}

bool nwk_in_register(const nwt *g, const char *buffer) {
  if (!g->launch) return false;
  if (is_cuda(g) && nw_shuffled(g->launch, buffer)) return true;
  int n = scope_of(g, buffer) == NW_LOCAL ? allocations(g->launch->body, buffer, true) : 0;
  return n > 0 && n < NW_MAX_DEPTH;
}

bool nwk_is_alone(const nwt *g, const nw_stmt *alloc) {
  return g->launch && allocations(g->launch->body, alloc->alloc.buffer, false) == 1;
}

bool nwk_in_place(const nwt *g, const nw_stmt *alloc) {
  return scope_of(g, alloc->alloc.buffer) == NW_LOCAL || nwk_in_register(g, alloc->alloc.buffer);
}

// ---- loops

void nwk_mark(nwt *g, const nw_stmt *loop) {
  switch (loop->loop.mark) {
  case NW_UNROLLED:
  case NW_VECTORIZED:
  case NW_VECTOR_REDUCE:
    line_start(g);
    if (loop->loop.mark != NW_UNROLLED) {
      nw_str_add(&g->out, "// vectorized, but no vector of the language holds its elements: one at a time\n");
      line_start(g);
    }
    nw_str_add(&g->out, "#pragma unroll\n");
    break;
  default:
    nwt_fail(g, "%s is marked %s, which a kernel for a GPU does not have", loop->loop.var->name,
             nw_loop_kind_name(loop->loop.mark));
  }
}

// True if e is base + v, where v is the loop's variable and the rest of the sum does not use it. Sets *base to e at the
// start of the loop.
static bool consecutive(nwt *g, const nw_stmt *loop, const nw_expr *e, const nw_expr **base) {
  const nw_expr *v = loop->loop.var;
  const char *name = v->name;
  nw_pool *pool = g->p->pool;
  const nw_expr *rest = nw_simplify(&g->ranges, nw_sub(pool, e, v));
  if (nw_uses_var(rest, name)) return false;
  *base = nw_simplify(&g->ranges, nw_add(pool, rest, loop->loop.begin));
  return true;
}

static const char *vector_of(nw_dtype t, int64_t lanes) {
  if (t == NW_F32) return lanes == 4 ? "float4" : lanes == 2 ? "float2" : NULL;
  if (t == NW_I32) return lanes == 4 ? "int4" : lanes == 2 ? "int2" : NULL;
  if (t == NW_U32) return lanes == 4 ? "uint4" : lanes == 2 ? "uint2" : NULL;
  if (t == NW_F64) return lanes == 2 ? "double2" : NULL;
  return NULL;
}

static bool is_aligned(const nwt *g, const char *buffer, const nw_expr *base, int64_t lanes) {
  const nw_buffer *b = nw_find_buffer(g->p, buffer);
  return !b->pitch && nw_divides(&g->ranges, base, lanes);
}

static void place(nwt *g, const char *type, const char *buffer, const nw_expr *base, const char *constant) {
  nw_str_fmt(&g->out, "*(%s%s%s *)&%s[", memory_of(g, buffer), constant, type, nwt_name(g, buffer));
  nwt_expr(g, base);
  nw_str_add(&g->out, "]");
}

// Writes an asynchronous copy of some bytes.
static void copy_async(nwt *g, const char *to, const nw_expr *at, const char *from, const nw_expr *where,
                       int64_t bytes) {
  nw_str_fmt(&g->out, "__pipeline_memcpy_async(&%s[", nwt_name(g, to));
  nwt_expr(g, at);
  nw_str_fmt(&g->out, "], &%s[", nwt_name(g, from));
  nwt_expr(g, where);
  nw_str_fmt(&g->out, "], %lld);\n", (long long)bytes);
}

// True if the store is an asynchronous copy that CUDA has: 4, 8 or 16 bytes from global to shared memory.
static bool is_async(const nwt *g, const nw_stmt *s, int64_t bytes) {
  return is_cuda(g) && s->store.async && s->store.value->op == NW_OP_LOAD && s->store.value->n == 1 &&
         scope_of(g, s->store.buffer) == NW_SHARED && scope_of(g, s->store.value->name) == NW_GLOBAL &&
         (bytes == 4 || bytes == 8 || bytes == 16);
}

// Writes a loop that reads a vector, whose lanes it stores at places that are apart.
static void scatter(nwt *g, const nw_stmt *loop, const char *type, int lanes, const nw_expr *from) {
  const nw_stmt *s = loop->kid[0];
  line_start(g);
  nw_str_add(&g->out, "{\n");
  g->depth++;
  line_start(g);
  nw_str_fmt(&g->out, "const %s nw_lanes = ", type);
  place(g, type, s->store.value->name, from, "const ");
  nw_str_add(&g->out, ";\n");
  for (int l = 0; l < lanes; l++) {
    const nw_expr *at = nw_add(g->p->pool, loop->loop.begin, nw_index(g->p->pool, l));
    line_start(g);
    nw_str_fmt(&g->out, "%s[", nwt_name(g, s->store.buffer));
    nwt_expr(g, nw_simplify(&g->ranges, nw_subst(g->p->pool, s->store.index, loop->loop.var->name, at)));
    nw_str_fmt(&g->out, "] = nw_lanes.%c;\n", "xyzw"[l]);
  }
  g->depth--;
  line_start(g);
  nw_str_add(&g->out, "}\n");
}

bool nwk_wide_copy(nwt *g, const nw_stmt *loop) {
  int64_t lanes;
  const nw_stmt *s = loop->nkids == 1 ? loop->kid[0] : NULL;
  const nw_expr *to, *from;
  if (!nw_is_vector_loop(loop) || !s || s->kind != NW_STORE || !nw_is_int(loop->loop.extent, &lanes)) return false;
  const nw_expr *value = s->store.value;
  nw_dtype t = (nw_dtype)value->type.dtype;
  const char *type = vector_of(t, lanes);
  if (!type || value->op != NW_OP_LOAD || value->n != 1 || s->store.mask || s->store.atomic) return false;
  if (nw_find_buffer(g->p, s->store.buffer)->dtype != t) return false;
  if (!consecutive(g, loop, value->arg[0], &from) || !is_aligned(g, value->name, from, lanes)) return false;
  bool whole = consecutive(g, loop, s->store.index, &to) && is_aligned(g, s->store.buffer, to, lanes);
  if (!whole) return !s->store.async && (scatter(g, loop, type, (int)lanes, from), true);
  line_start(g);
  if (is_async(g, s, lanes * nw_dtype_bytes(t))) {
    copy_async(g, s->store.buffer, to, value->name, from, lanes * nw_dtype_bytes(t));
    return true;
  }
  place(g, type, s->store.buffer, to, "");
  nw_str_add(&g->out, " = ");
  place(g, type, value->name, from, "const ");
  nw_str_add(&g->out, ";\n");
  return true;
}

// ---- atomic updates

static const nw_expr *old_value(void *env, const nw_expr *load) {
  const nw_expr *const *x = env; // the load of the element, and the variable that replaces it
  return load == x[0] ? x[1] : NULL;
}

// Returns the load of the stored element in the value of an atomic store.
typedef struct updated {
  const nw_stmt *s;
  const nw_expr *load;
} updated;

static bool find_load(void *env, const nw_expr *e) {
  updated *u = env;
  if (e->op == NW_OP_LOAD && !strcmp(e->name, u->s->store.buffer) && e->arg[0] == u->s->store.index) u->load = e;
  return true;
}

// Writes an update by one atomic addition. Returns false if it has another form.
static bool atomic_add(nwt *g, const nw_stmt *s, const nw_expr *load, nw_dtype t) {
  const nw_expr *v = s->store.value;
  const nw_expr *term = v->op != NW_OP_ADD  ? NULL
                        : v->arg[0] == load ? v->arg[1]
                        : v->arg[1] == load ? v->arg[0]
                                            : NULL;
  bool has = is_cuda(g) ? t == NW_F32 || t == NW_I32 || t == NW_U32 : t == NW_I32 || t == NW_U32;
  if (!term || !has || nw_uses_load(term, s->store.buffer)) return false;
  nw_str_fmt(&g->out, "%s(&%s[", is_cuda(g) ? "atomicAdd" : "atomic_add", nwt_name(g, s->store.buffer));
  nwt_expr(g, s->store.index);
  nw_str_add(&g->out, "], ");
  nwt_expr(g, term);
  nw_str_add(&g->out, ");\n");
  return true;
}

// Writes an update as a loop that repeats until no other thread has changed the element in between.
static void compare_and_swap(nwt *g, const nw_stmt *s, const nw_expr *load, nw_dtype t) {
  bool real = nw_dtype_is_float(t), cuda = is_cuda(g), wide = nw_dtype_bytes(t) == 8;
  const char *word = cuda ? wide ? "unsigned long long" : "unsigned" : wide ? "ulong" : "uint", *type = nwt_type(t);
  char bits[32], from[32];
  snprintf(bits, sizeof bits, "(%s)", word), snprintf(from, sizeof from, "(%s)", type);
  if (real && cuda) {
    snprintf(bits, sizeof bits, wide ? "__double_as_longlong" : "__float_as_uint");
    snprintf(from, sizeof from, wide ? "__longlong_as_double" : "__uint_as_float");
  } else if (real) {
    snprintf(bits, sizeof bits, "as_%s", word), snprintf(from, sizeof from, "as_%s", type);
  }
  const nw_expr *old = nw_data_var(g->p->pool, "nw_old", load->type), *pair[] = {load, old};
  nw_str_add(&g->out, "{ // atomic\n");
  g->depth++;
  line_start(g);
  nw_str_fmt(&g->out, "volatile %s%s *nw_at = (volatile %s%s *)&%s[", memory_of(g, s->store.buffer), word,
             memory_of(g, s->store.buffer), word, nwt_name(g, s->store.buffer));
  nwt_expr(g, s->store.index);
  nw_str_add(&g->out, "];\n");
  line_start(g);
  nw_str_fmt(&g->out, "for (%s nw_was = *nw_at, nw_now;; nw_was = nw_now) {\n", word);
  g->depth++;
  line_start(g);
  nw_str_fmt(&g->out, "%s %s = %s(nw_was);\n", type, nwt_name(g, old->name), from);
  line_start(g);
  nw_str_fmt(&g->out, "nw_now = %s(%snw_at, nw_was, %s(",
             cuda   ? "atomicCAS"
             : wide ? "atom_cmpxchg"
                    : "atomic_cmpxchg",
             cuda ? wide ? "(unsigned long long *)" : "(unsigned *)" : "", bits);
  nwt_expr(g, nw_rewrite(g->p->pool, s->store.value, NULL, old_value, pair));
  nw_str_add(&g->out, "));\n");
  line_start(g);
  nw_str_add(&g->out, "if (nw_now == nw_was) break;\n");
  g->depth--;
  line_start(g);
  nw_str_add(&g->out, "}\n");
  g->depth--;
  line_start(g);
  nw_str_add(&g->out, "}\n");
}

bool nwk_store(nwt *g, const nw_stmt *s) {
  nw_dtype t = nw_find_buffer(g->p, s->store.buffer)->dtype;
  int bytes = nw_dtype_bytes(t);
  updated u = {.s = s};
  if (s->store.mask)
    return nwt_fail(g, "a masked store to %s cannot be written in %s", s->store.buffer, g->dialect->name), true;
  if (is_async(g, s, bytes)) {
    line_start(g);
    copy_async(g, s->store.buffer, s->store.index, s->store.value->name, s->store.value->arg[0], bytes);
    return true;
  }
  if (!s->store.atomic) return false;
  nw_visit(s->store.value, find_load, &u);
  if (!u.load || bytes < 4)
    return nwt_fail(g, "the atomic update of %s, of type %s, cannot be written in %s", s->store.buffer,
                    nw_dtype_name(t), g->dialect->name),
           true;
  line_start(g);
  if (!atomic_add(g, s, u.load, t)) compare_and_swap(g, s, u.load, t);
  return true;
}

// ---- shuffles

static const nw_stmt *shuffle_in(const nwt *g, const nw_stmt *s) {
  return is_cuda(g) && g->launch ? nw_shuffle_in(g->launch, s) : NULL;
}

bool nwk_is_shuffle(const nwt *g, const nw_stmt *s) { return shuffle_in(g, s) != NULL; }

bool nwk_shuffle(nwt *g, const nw_stmt *s) {
  const nw_stmt *store = shuffle_in(g, s);
  if (!store) return false;
  line_start(g);
  nw_str_fmt(&g->out, "%s = __shfl_down_sync(0xffffffffu, ", nwt_name(g, store->store.buffer));
  nwt_expr(g, store->store.value);
  nw_str_fmt(&g->out, ", %d);\n", nw_shuffled(g->launch, store->store.buffer)->shuffle);
  return true;
}

bool nwk_is_shuffled(const nwt *g, const nw_stmt *s, const char *buffer) {
  bool any = is_cuda(g) && s->kind == NW_STORE && nw_shuffled(g->launch, s->store.buffer) &&
             (!strcmp(s->store.buffer, buffer) || nw_uses_load(s->store.value, buffer));
  for (int i = 0; i < s->nkids && !any; i++) any = nwk_is_shuffled(g, s->kid[i], buffer);
  return any;
}

// ---- threads that wait

void nwk_sync(nwt *g, const nw_stmt *s) {
  if (s->kind != NW_BARRIER && !is_cuda(g)) return; // copies are made at once
  if (s->kind == NW_BARRIER && s->barrier.warp && is_cuda(g)) {
    if (!nw_warps_share_memory(g->launch)) return;
    line_start(g);
    nw_str_add(&g->out, "__syncwarp();\n");
    return;
  }
  line_start(g);
  if (s->kind == NW_BARRIER) nw_str_fmt(&g->out, "%s;\n", g->dialect->barrier);
  if (s->kind == NW_COMMIT) nw_str_add(&g->out, "__pipeline_commit();\n");
  if (s->kind == NW_WAIT) nw_str_fmt(&g->out, "__pipeline_wait_prior(%d);\n", s->wait.groups);
}
