// Executes the instructions of a kernel for a warp.
#include "device/gpu/gpu.h"
#include "ir/expr/whole.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef int64_t nwg_v8i __attribute__((vector_size(64), may_alias));
typedef uint64_t nwg_v8u __attribute__((vector_size(64), may_alias));
typedef float nwg_v16f __attribute__((vector_size(64), may_alias));
typedef double nwg_v8d __attribute__((vector_size(64), may_alias));

typedef int64_t nwg_v4i __attribute__((vector_size(32), aligned(8), may_alias));

static inline int64_t nwg_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t nwg_most(int64_t a, int64_t b) { return a > b ? a : b; }

// Returns a bit for each lane whose number is not 0.
static uint32_t lanes_of(const int64_t *v) {
  uint32_t m = 0;
  for (int l = 0; l < NWG_LANES; l++) m |= (uint32_t)(v[l] != 0) << l;
  return m;
}

// ---- divisions

static int64_t quotient(int64_t a, int64_t b, bool rest) {
  if (b == -1) return rest ? 0 : (int64_t) - (uint64_t)a;
  if (a >= 0 && b > 0 && a <= UINT32_MAX && b <= UINT32_MAX)
    return rest ? (uint32_t)a % (uint32_t)b : (uint32_t)a / (uint32_t)b;
  return rest ? nw_floormod_i64(a, b) : nw_floordiv_i64(a, b);
}

static void found_zero(nwg_worker *w, int lane) {
  nwg_found(w, NW_GPU_DIVIDED, -1, 0, w->warp * w->k->lanes + lane, 0);
}

static void divide(nwg_worker *w, const nwg_instr *in, uint32_t mask) {
  bool by = in->op == NWG_DIV_BY || in->op == NWG_MOD_BY, rest = in->op == NWG_MOD || in->op == NWG_MOD_BY;
  int64_t *dst = NWG_I(w, in->dst), *a = NWG_I(w, in->a), *b = NWG_I(w, in->b);
  bool power = by && in->i > 0 && !(in->i & (in->i - 1));
  int shift = power ? __builtin_ctzll((uint64_t)in->i) : 0, n = NWG_LANES * in->n;
  for (int l = 0; power && l < n; l++) dst[l] = rest ? a[l] & (in->i - 1) : a[l] >> shift;
  if (power) return;
  for (int l = 0; l < n; l++) {
    int64_t d = by ? in->i : b[l];
    if (!d && mask >> l % NWG_LANES & 1) found_zero(w, l % NWG_LANES);
    dst[l] = quotient(a[l], d ? d : 1, rest);
  }
}

// ---- operations of the interpreter

typedef struct operand { // a node of the interpreter with a value
  nwi_node node;
  nwi_node *arg[3]; // the node's flexible array
} operand;

typedef struct operands {
  nwi_run run;
  operand of[4]; // the result, and then the operands
  nwi_cell cell[4][NW_LANES_ROOM];
} operands;

static void set_up(operands *o, const nwg_call *c, int n) {
  o->run = (nwi_run){.epoch = 1};
  for (int i = 0; i <= c->nargs; i++) {
    nwi_node *node = &o->of[i].node;
    *node = (nwi_node){.epoch = 1, .v = o->cell[i], .lanes = n, .dtype = i ? c->of[i - 1] : c->dtype, .expr = c->expr};
  }
  nwi_node *result = &o->of[0].node;
  result->nargs = c->nargs, result->row = c->row, result->nrows = c->nrows;
  for (int i = 0; i < c->nargs; i++) result->arg[i] = &o->of[i + 1].node;
}

static void get_cell(const nwg_worker *w, nw_dtype t, uint32_t reg, int at, nwi_cell *out) {
  if (nwg_size_of(t) == 4)
    out->f = NWG_F(w, reg)[at];
  else
    out->i = NWG_I(w, reg)[at];
}

static void set_cell(const nwg_worker *w, nw_dtype t, uint32_t reg, int at, const nwi_cell *v) {
  if (nwg_size_of(t) == 4)
    NWG_F(w, reg)[at] = v->f;
  else
    NWG_I(w, reg)[at] = v->i;
}

// Evaluates `n` elements, which begin at `from` and are `step` apart.
static void call_part(nwg_worker *w, const nwg_instr *in, operands *o, int n, int from, int step, uint32_t mask) {
  const nwg_call *c = in->call;
  uint32_t reg[3] = {in->a, in->b, in->c};
  for (int i = 0; i < c->nargs; i++)
    for (int l = 0; l < n; l++) get_cell(w, (nw_dtype)c->of[i], reg[i], from + l * step, &o->cell[i + 1][l]);
  for (int l = 0; c->divides && l < n; l++) {
    int lane = (from + l * step) % NWG_LANES;
    if (o->cell[2][l].i) continue;
    if (mask >> lane & 1) found_zero(w, lane);
    o->cell[2][l].i = 1;
  }
  c->eval(&o->run, &o->of[0].node);
  for (int l = 0; l < n; l++) set_cell(w, (nw_dtype)c->dtype, in->dst, from + l * step, &o->cell[0][l]);
}

// The elements of a lane are the lanes of a vector in the interpreter. Math functions of vectors may give other bits than
// those of numbers, so they are evaluated for each lane.
static void call(nwg_worker *w, const nwg_instr *in, uint32_t mask) {
  operands o;
  bool apart = in->call->nrows > 0;
  int parts = apart ? NWG_LANES : in->n, n = apart ? in->n : NWG_LANES;
  set_up(&o, in->call, n);
  for (int i = 0; i < parts; i++)
    if (!apart || mask >> i & 1) call_part(w, in, &o, n, apart ? i : i * NWG_LANES, apart ? NWG_LANES : 1, mask);
}

// ---- versions

static void fma_all(int n, float *out, const float *a, const float *b, const float *c) {
  for (int l = 0; l < n; l++) out[l] = __builtin_fmaf(a[l], b[l], c[l]);
}

static void fma_all_d(int n, double *out, const double *a, const double *b, const double *c) {
  for (int l = 0; l < n; l++) out[l] = __builtin_fma(a[l], b[l], c[l]);
}

#define NWG_EXECUTE execute_any
#define NWG_READ_RUN read_run_any
#define NWG_WRITE_RUN write_run_any
#define NWG_MATCHES matches_any
#define NWG_FMA_ALL fma_all
#define NWG_FMA_ALL_D fma_all_d
#include "device/gpu/lanes.h"
#include "device/gpu/runs.h"
#undef NWG_EXECUTE
#undef NWG_READ_RUN
#undef NWG_WRITE_RUN
#undef NWG_MATCHES

#if defined(__x86_64__)
#undef NWG_FMA_ALL
#undef NWG_FMA_ALL_D
#define NWG_FMA_ALL fma_all_avx2
#define NWG_FMA_ALL_D fma_all_d_avx2
#pragma GCC push_options
#pragma GCC target("avx2,fma")

static void fma_all_avx2(int n, float *out, const float *a, const float *b, const float *c) {
  for (int l = 0; l < n; l += 8)
    _mm256_storeu_ps(out + l, _mm256_fmadd_ps(_mm256_loadu_ps(a + l), _mm256_loadu_ps(b + l), _mm256_loadu_ps(c + l)));
}

static void fma_all_d_avx2(int n, double *out, const double *a, const double *b, const double *c) {
  for (int l = 0; l < n; l += 4)
    _mm256_storeu_pd(out + l, _mm256_fmadd_pd(_mm256_loadu_pd(a + l), _mm256_loadu_pd(b + l), _mm256_loadu_pd(c + l)));
}

#define NWG_EXECUTE execute_avx2
#define NWG_READ_RUN read_run_avx2
#define NWG_WRITE_RUN write_run_avx2
#define NWG_MATCHES matches_avx2
#include "device/gpu/lanes.h"
#include "device/gpu/runs.h"
#undef NWG_EXECUTE
#undef NWG_READ_RUN
#undef NWG_WRITE_RUN
#undef NWG_MATCHES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#define NWG_EXECUTE execute_avx512
#define NWG_READ_RUN read_run_avx512
#define NWG_WRITE_RUN write_run_avx512
#define NWG_MATCHES matches_avx512
#include "device/gpu/lanes.h"
#include "device/gpu/runs.h"
#undef NWG_EXECUTE
#undef NWG_READ_RUN
#undef NWG_WRITE_RUN
#undef NWG_MATCHES
#pragma GCC pop_options
#endif

nwg_functions nwg_functions_here(void) {
#if defined(__x86_64__)
  nw_features f = nw_host()->features, wide = NW_FEATURE_AVX512F | NW_FEATURE_AVX512DQ | NW_FEATURE_AVX512VL;
  if (nw_has(f, wide | NW_FEATURE_AVX2 | NW_FEATURE_FMA))
    return (nwg_functions){execute_avx512, read_run_avx512, write_run_avx512, matches_avx512};
  if (nw_has(f, NW_FEATURE_AVX2 | NW_FEATURE_FMA))
    return (nwg_functions){execute_avx2, read_run_avx2, write_run_avx2, matches_avx2};
#endif
  return (nwg_functions){execute_any, read_run_any, write_run_any, matches_any};
}
