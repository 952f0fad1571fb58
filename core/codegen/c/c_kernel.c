// Writes a program as CUDA C or OpenCL C: a kernel for each launch, and the host's part (c_host.c). In CUDA C, the host's
// part is a function in the same text; in OpenCL C, it is a text of its own, and a comment lists the launches.
#include "codegen/c/c_kernel.h"
#include "ir/program/intrinsic.h"
#include "ir/program/reducer.h"
#include <stdlib.h>

#define MOST_INDEX INT32_MAX // indices are computed in 32 bits if they and all their parts are at most this

static const char *const short_index[NW_GRID_DIMS] = {"bx", "by", "bz", "tx", "ty", "tz"};

// ---- the width of indices

// True if every value that e computes is proven to be small. Adds what is known inside e.
static bool small(void *env, const nw_expr *e) {
  const nw_ranges *r = env;
  int64_t lo, hi;
  if (e->type.dtype != NW_INDEX || e->op == NW_OP_LOAD) return true;
  return nw_const_range(r, e, &lo, &hi) && lo >= -MOST_INDEX - 1 && hi <= MOST_INDEX;
}

static bool all_small(const nw_ranges *r, const nw_expr *e) { return !e || nw_visit(e, small, (void *)r); }

static bool narrow(nwt *g, const nw_stmt *s) {
  bool good = true;
  switch (s->kind) {
  case NW_LOOP: good = all_small(&g->ranges, s->loop.begin) && all_small(&g->ranges, s->loop.extent); break;
  case NW_GUARD: good = all_small(&g->ranges, s->guard.cond); break;
  case NW_STORE: good = all_small(&g->ranges, s->store.index) && all_small(&g->ranges, s->store.value); break;
  case NW_PREFETCH: good = all_small(&g->ranges, s->prefetch.min[0]); break;
  default: break;
  }
  if (s->kind == NW_LOOP) {
    nw_pool *pool = g->p->pool;
    const nw_expr *end = nw_add(pool, s->loop.begin, s->loop.extent);
    nw_ranges_push(&g->ranges, s->loop.var->name, s->loop.begin, nw_sub(pool, end, nw_index(pool, 1)));
  }
  if (s->kind == NW_GUARD) nw_ranges_fact(&g->ranges, s->guard.cond);
  for (int i = 0; i < s->nkids && good; i++) good = narrow(g, s->kid[i]);
  if (s->kind == NW_GUARD) nw_ranges_pop_fact(&g->ranges);
  if (s->kind == NW_LOOP) nw_ranges_pop(&g->ranges);
  return good;
}

// ---- a kernel

typedef struct seen {
  const char *name;
  bool found;
} seen;

static bool see(void *env, const nw_expr *e) {
  seen *x = env;
  return !(x->found |= e->op == NW_OP_VAR && !strcmp(e->name, x->name));
}

static bool uses(const nw_expr *e, const char *name) {
  seen x = {.name = name};
  if (e) nw_visit(e, see, &x);
  return x.found;
}

// True if a call uses the index: in the index of a tile, or to give the addresses of rows in memory.
static bool calls_with(const nw_stmt *s, const char *name) {
  bool any = false;
  for (int i = 0; i < s->call.ntiles; i++)
    any |= uses(s->call.tile[i].index, name) || (s->call.tile[i].n && !strcmp(name, nw_grid_index[3]));
  return any;
}

static bool uses_index(const nw_stmt *s, const char *name) {
  bool any = false;
  if (s->kind == NW_LOOP) any = uses(s->loop.begin, name) || uses(s->loop.extent, name);
  if (s->kind == NW_GUARD) any = uses(s->guard.cond, name);
  if (s->kind == NW_STORE) any = uses(s->store.index, name) || uses(s->store.value, name);
  if (s->kind == NW_CALL) any = calls_with(s, name);
  for (int i = 0; i < s->nkids && !any; i++) any = uses_index(s->kid[i], name);
  return any;
}

static const char *index_type(const nwt *g) { return g->narrow ? "int" : "int64_t"; }

static void push_ranges(nwt *g, const nw_launch *l) {
  nw_pool *pool = g->p->pool;
  for (int d = 0; d < NW_GRID_DIMS; d++)
    nw_ranges_push(&g->ranges, nw_grid_index[d], nw_index(pool, 0), nw_sub(pool, l->extent[d], nw_index(pool, 1)));
}

// True if the kernel uses the number of its warp, for an array of the warp that is in memory.
static bool has_warp(const nwt_grid *x, const nw_launch *l) {
  bool any = false;
  for (int i = 0; i < l->narrays; i++)
    any |= l->array[i].scope == NW_WARP && !(l->array[i].shuffle && x->d == &nwk_cuda);
  return any;
}

static void indices(nwt_grid *x, const nw_launch *l) {
  nwt *g = &x->g;
  bool warp = has_warp(x, l);
  for (int d = 0; d < NW_GRID_DIMS; d++) {
    const char *name = nwt_name_like(g, nw_grid_index[d], short_index[d]);
    if (!uses_index(l->body, nw_grid_index[d]) && !(warp && d >= 3 && !nw_is_const(l->extent[d], 1))) continue;
    nw_str_fmt(&g->out, "  const %s %s = %s%s;\n", index_type(g), name,
               x->d == &nwk_opencl || !g->narrow ? g->narrow ? "(int)" : "(int64_t)" : "", x->d->index[d]);
  }
}

// Writes the arrays in the memory of a block. Returns the bytes that the launch must ask for.
static int64_t block_arrays(nwt_grid *x, const nw_launch *l) {
  nwt *g = &x->g;
  int64_t warp = g->p->target->limit.launch.warp, nx, ny;
  bool asked = nw_launch_asks(l) && x->d == &nwk_cuda;
  if (asked) nw_str_fmt(&g->out, "  extern __shared__ __align__(%d) char nw_shared[];\n", NW_BLOCK_ARRAY_ALIGN);
  for (int i = 0; i < l->narrays; i++) {
    const nw_block_array *a = &l->array[i];
    if (a->shuffle && x->d == &nwk_cuda) continue; // a register
    const char *type = nwt_type(a->dtype), *name = nwt_name(g, a->buffer), *all = a->scope == NW_WARP ? "_all" : "";
    int64_t parts = a->scope == NW_WARP ? l->warps : 1;
    if (asked) {
      nw_str_fmt(&g->out, "  %s *const %s%s = (%s *)(nw_shared + %lld);\n", type, name, all, type,
                 (long long)a->offset);
    } else {
      nw_str_fmt(&g->out, "  %s", x->d->shared);
      nw_str_fmt(&g->out, x->d->align, NW_BLOCK_ARRAY_ALIGN);
      nw_str_fmt(&g->out, "%s %s%s[%lld];\n", type, name, all, (long long)(a->elements * parts));
    }
    if (a->scope != NW_WARP || !nw_is_int(l->extent[3], &nx) || !nw_is_int(l->extent[4], &ny)) continue;
    int64_t across = (nx + warp - 1) / warp;
    nw_str_fmt(&g->out, "  %s%s *const %s = %s_all + %lld * (%s / %lld", x->d == &nwk_cuda ? "" : x->d->shared, type,
               name, name, (long long)a->elements, nx > 1 ? nwt_name(g, nw_grid_index[3]) : "0", (long long)warp);
    if (ny > 1) nw_str_fmt(&g->out, " + %lld * %s", (long long)across, nwt_name(g, nw_grid_index[4]));
    if (!nw_is_const(l->extent[5], 1))
      nw_str_fmt(&g->out, " + %lld * %s", (long long)(across * ny), nwt_name(g, nw_grid_index[5]));
    nw_str_add(&g->out, ");\n");
  }
  return asked ? l->shared_bytes : 0;
}

static void parameters(nwt_grid *x, const nw_launch *l) {
  nwt *g = &x->g;
  const char *between = "";
  for (int i = 0; i < l->nbuffers; i++, between = ", ") {
    const nw_buffer *b = nw_find_buffer(g->p, l->buffer[i].name);
    nw_str_fmt(&g->out, "%s%s%s%s *%s%s", between, x->d->global, l->buffer[i].written ? "" : "const ",
               nwt_type(b->dtype), x->d->restricted, nwt_name(g, b->name));
  }
  for (int i = 0; i < g->p->nsizes; i++, between = ", ")
    nw_str_fmt(&g->out, "%sint64_t %s", between, nwt_name(g, g->p->size[i].name));
  for (int i = 0; i < l->nvars; i++, between = ", ")
    nw_str_fmt(&g->out, "%sint64_t %s", between, nwt_name(g, l->var[i]->name));
}

static int64_t threads_of(const nw_launch *l) {
  int64_t n, all = 1;
  for (int d = 3; d < NW_GRID_DIMS; d++) {
    if (!nw_is_int(l->extent[d], &n)) return 0;
    all *= n;
  }
  return all;
}

const char *nwk_kernel_name(nwt_grid *x, int i) {
  if (!x->symbol) return nwt_name(&x->g, x->all->launch[i].name);
  nw_str name = {0}, key = {0}; // no name in a program has a space
  nw_str_fmt(&name, x->all->n > 1 ? "%s_%d" : "%s", x->symbol, i + 1);
  nw_str_fmt(&key, "kernel %s", name.s);
  const char *out = nwt_name_like(&x->g, nw_pool_name(x->g.p->pool, key.s), nw_pool_name(x->g.p->pool, name.s));
  nw_str_free(&name);
  nw_str_free(&key);
  return out;
}

// Adds what is known of the variables of the host's loops around a launch. Returns false if `at` is not in s.
static bool push_host(nwt *g, const nw_stmt *s, const nw_stmt *at, int *pushed) {
  nw_pool *pool = g->p->pool;
  int before = *pushed;
  if (s == at) return true;
  if (s->kind == NW_LOOP) {
    const nw_expr *end = nw_add(pool, s->loop.begin, s->loop.extent);
    nw_ranges_push(&g->ranges, s->loop.var->name, s->loop.begin, nw_sub(pool, end, nw_index(pool, 1)));
    ++*pushed;
  }
  for (int i = 0; i < s->nkids; i++)
    if (push_host(g, s->kid[i], at, pushed)) return true;
  while (*pushed > before) nw_ranges_pop(&g->ranges), --*pushed;
  return false;
}

// Writes a kernel. Returns the bytes of shared memory that its launch must ask for.
static int64_t kernel(nwt_grid *x, int i) {
  nwt *g = &x->g;
  const nw_launch *l = &x->all->launch[i];
  int64_t n = threads_of(l);
  int around = 0;
  push_host(g, x->root, l->at, &around);
  push_ranges(g, l);
  g->narrow = narrow(g, l->body);
  nw_str_fmt(&g->out, "\n%s", x->d == &nwk_cuda ? x->d->kernel : "__kernel ");
  if (n && x->d == &nwk_cuda) nw_str_fmt(&g->out, "__launch_bounds__(%lld) ", (long long)n);
  int64_t block[3] = {0};
  for (int d = 0; d < 3 && n; d++) nw_is_int(l->extent[3 + d], &block[d]);
  if (n && x->d == &nwk_opencl)
    nw_str_fmt(&g->out, "__attribute__((reqd_work_group_size(%lld, %lld, %lld))) ", (long long)block[0],
               (long long)block[1], (long long)block[2]);
  nw_str_fmt(&g->out, "%s%s(", x->d == &nwk_opencl ? "void " : "", nwk_kernel_name(x, i));
  parameters(x, l);
  nw_str_add(&g->out, ") {\n");
  indices(x, l);
  int64_t bytes = block_arrays(x, l);
  g->depth = 1;
  g->launch = l;
  nwt_stmt(g, l->body);
  g->launch = NULL;
  nw_str_add(&g->out, "}\n");
  for (int d = 0; d < NW_GRID_DIMS; d++) nw_ranges_pop(&g->ranges);
  while (around-- > 0) nw_ranges_pop(&g->ranges);
  return bytes;
}

// ---- the whole text

static void list_launches(nwt_grid *x, nw_str *out) {
  nwt *g = &x->g;
  nw_str keep = g->out;
  g->out = *out;
  for (int i = 0; i < x->all->n; i++) {
    const nw_launch *l = &x->all->launch[i];
    nw_str_fmt(&g->out, "// %s: ", nwk_kernel_name(x, i));
    nwk_extents(x, l, 0);
    nw_str_add(&g->out, " work-groups of ");
    nwk_extents(x, l, 3);
    nw_str_add(&g->out, " work-items\n");
  }
  *out = g->out;
  g->out = keep;
}

static const char opencl_types[] = "typedef int int32_t;\ntypedef long int64_t;\n";
static const char opencl_other_types[] =
    "typedef char int8_t;\ntypedef uchar uint8_t;\ntypedef short int16_t;\ntypedef ushort uint16_t;\n"
    "typedef uint uint32_t;\ntypedef ulong uint64_t;\n"
    "#define INT64_C(x) x##L\n#define UINT64_C(x) x##UL\n#define INT8_MIN CHAR_MIN\n#define INT8_MAX CHAR_MAX\n"
    "#define UINT8_MAX UCHAR_MAX\n#define INT16_MIN SHRT_MIN\n#define INT16_MAX SHRT_MAX\n#define UINT16_MAX "
    "USHRT_MAX\n"
    "#define INT32_MIN INT_MIN\n#define INT32_MAX INT_MAX\n#define UINT32_MAX UINT_MAX\n#define INT64_MIN LONG_MIN\n"
    "#define INT64_MAX LONG_MAX\n#define UINT64_MAX ULONG_MAX\n"
    "#define __builtin_popcount(x) ((int)popcount(x))\n#define __builtin_popcountll(x) ((int)popcount(x))\n";
// Helpers copy the bits of a number by memcpy, which OpenCL C does not have.
static const char opencl_bytes[] = "static inline void nw_bytes(uchar *to, const uchar *from, size_t n) {\n"
                                   "  for (size_t i = 0; i < n; i++) to[i] = from[i];\n"
                                   "}\n"
                                   "#define memcpy(to, from, n) nw_bytes((uchar *)(to), (const uchar *)(from), n)\n";

static bool uses_type(const nw_program *p, nw_dtype t) {
  for (int i = 0; i < p->nbuffers; i++)
    if (p->buffer[i]->dtype == t) return true;
  return false;
}

static bool has_async(const nw_stmt *s) {
  bool any = s->kind == NW_COMMIT || s->kind == NW_WAIT || (s->kind == NW_STORE && s->store.async);
  for (int i = 0; i < s->nkids && !any; i++) any = has_async(s->kid[i]);
  return any;
}

static bool is_used(const nwt *g, nwt_helper h) {
  bool any = false;
  for (int t = 0; t < NW_DTYPE_COUNT; t++) any |= g->used[h][t];
  return any;
}

static bool copies_bits(const nwt *g) {
  static const nwt_helper those[] = {NWT_BITS_OF,  NWT_OF_BITS, NWT_LDEXP,  NWT_MANTISSA,
                                     NWT_EXPONENT, NWT_WIDEN,   NWT_NARROW, NWT_NARROW_F64};
  bool any = false;
  for (int i = 0; i < NW_COUNT(those); i++) any |= is_used(g, those[i]);
  return any;
}

static bool is_usual(void *env, const nw_expr *e) {
  int64_t n;
  (void)env;
  if (nw_is_int(e, &n) && (n > INT32_MAX || n < -INT32_MAX)) return false;
  nw_dtype t = (nw_dtype)e->type.dtype;
  return t == NW_F32 || t == NW_F64 || t == NW_INDEX || t == NW_BOOL;
}

static bool all_usual(const nw_stmt *s) {
  bool good = true;
  if (s->kind == NW_LOOP) good = nw_visit(s->loop.begin, is_usual, NULL) && nw_visit(s->loop.extent, is_usual, NULL);
  if (s->kind == NW_GUARD) good = nw_visit(s->guard.cond, is_usual, NULL);
  if (s->kind == NW_STORE) good = nw_visit(s->store.index, is_usual, NULL) && nw_visit(s->store.value, is_usual, NULL);
  for (int i = 0; i < s->nkids && good; i++) good = all_usual(s->kid[i]);
  return good;
}

// True if a text in OpenCL C may use other types than int, long, float and double, or a helper.
static bool needs_other_types(const nwt_grid *x) {
  bool any = false;
  for (int i = 0; i < x->g.p->nbuffers; i++)
    any |= x->g.p->buffer[i]->dtype != NW_F32 && x->g.p->buffer[i]->dtype != NW_F64;
  for (int h = 0; h < NWT_HELPERS; h++) any |= is_used(&x->g, (nwt_helper)h);
  for (int i = 0; i < x->all->n; i++) any |= !all_usual(x->all->launch[i].body);
  return any;
}

// Returns the greatest capability that an instruction of a warp in s needs, times 10; 0 if there is none.
static int capability_of(const nw_program *p, const nw_stmt *s) {
  const nw_intrinsic *in = s->kind == NW_CALL ? nw_intrinsic_find(p->ctx, s->call.intrinsic) : NULL;
  int most = in && in->instruction ? in->instruction->capability : 0;
  for (int i = 0; i < s->nkids; i++) {
    int n = capability_of(p, s->kid[i]);
    if (n > most) most = n;
  }
  return most;
}

static void head(nwt_grid *x, nw_str *out) {
  const nw_program *p = x->g.p;
  bool cuda = x->d == &nwk_cuda, async = false;
  int capability = 0;
  for (int i = 0; i < x->all->n; i++) {
    int n = capability_of(p, x->all->launch[i].body);
    async |= has_async(x->all->launch[i].body);
    if (n > capability) capability = n;
  }
  nwt_describe_tensors(&x->g, out);
  if (cuda) {
    nw_str_add(
        out, "// Compile it with: nvcc -O3 -fmad=false. Multiplications and additions then round as in the program.\n");
    if (capability) nw_str_fmt(out, "// It needs -arch=sm_%d, or a later one.\n", capability);
    nw_str_add(out, async ? "#include <cuda_pipeline.h>\n#include <math.h>\n#include <stdint.h>\n"
                          : "#include <math.h>\n#include <stdint.h>\n");
    if (is_used(&x->g, NWT_POPCOUNT))
      nw_str_add(out, "#define __builtin_popcount(x) __popc(x)\n#define __builtin_popcountll(x) __popcll(x)\n");
  } else {
    list_launches(x, out);
    nw_str_add(out, "#pragma OPENCL FP_CONTRACT OFF\n");
    if (uses_type(p, NW_F64)) nw_str_add(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    nw_str_add(out, opencl_types);
    if (needs_other_types(x)) nw_str_add(out, opencl_other_types);
  }
  nw_str helpers = {0};
  nwt_helpers(&x->g, &helpers);
  if (!cuda && copies_bits(&x->g)) nw_str_add(out, opencl_bytes);
  if (helpers.s) nw_str_add(out, helpers.s);
  nw_str_free(&helpers);
}

// If `out` is not NULL, also makes the host's part in C, whose files have the name `file`.
static char *text_of(const nw_exec *e, const nwt_dialect *d, const char *symbol, const char *file, nw_glue *out) {
  nw_launches *all = nw_launches_of(e);
  if (!all) return NULL;
  nwt_grid x = {.all = all, .d = d, .symbol = symbol, .root = e->p->root};
  nwt *g = &x.g;
  nwt_begin_with(g, e, all->p, NULL, NULL);
  g->dialect = d;
  x.shared = nw_xcalloc((size_t)all->n + 1, sizeof *x.shared);
  nw_str whole = {0};
  for (int i = 0; i < all->n && !g->failed; i++) x.shared[i] = kernel(&x, i);
  g->narrow = false;
  if (d == &nwk_cuda && !g->failed) nwk_host_function(&x);
  if (!g->failed) {
    head(&x, &whole);
    nw_str_add(&whole, g->out.s);
  }
  if (out && !g->failed) nwk_host_files(&x, file, out);
  bool failed = g->failed;
  free(x.shared);
  nwt_end(g);
  nw_launches_free(all);
  if (!failed) return nw_str_take(&whole);
  nw_str_free(&whole);
  if (out) free(out->header), free(out->source);
  return NULL;
}

char *nwk_text(const nw_exec *e, const nwt_dialect *d, const char *symbol) { return text_of(e, d, symbol, NULL, NULL); }

char *nw_opencl_files(const nw_program *p, const char *symbol, const char *file, nw_glue *out) {
  *out = (nw_glue){0};
  nw_exec *e = nw_lower_loops(p);
  char *text = e ? text_of(e, &nwk_opencl, symbol, file, out) : NULL;
  nw_exec_release(e);
  return text;
}

char *nw_grid_text(nw_ctx *c, const nw_program *p, const char *dialect, const char *symbol) {
  if (!nwt_has_c(c, p)) return NULL;
  const nwt_dialect *known[] = {&nwk_cuda, &nwk_opencl};
  for (int i = 0; i < NW_COUNT(known); i++) {
    if (strcmp(known[i]->name, dialect)) continue;
    nw_exec *e = nw_lower_loops(p);
    char *text = e ? nwk_text(e, known[i], symbol) : NULL;
    nw_exec_release(e);
    return text;
  }
  return nw_fail(c, NW_EINVAL, "cuda or opencl", "there is no dialect '%s'", dialect);
}
