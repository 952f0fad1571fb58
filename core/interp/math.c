// Holds the table of math functions. Functions of libm compute single values, and functions of libmvec compute vectors.
// The interpreter calls a function through `apply`, and generated code calls the function at `address`. Therefore both
// get the same bits.
#include "interp/interp.h"
#include <math.h>

typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef double d2 __attribute__((vector_size(16)));
typedef double d4 __attribute__((vector_size(32)));
typedef double d8 __attribute__((vector_size(64)));

// Copies a value between addresses that need not be aligned.
#define NW_COPY(to, from) memcpy(&(to), (from), sizeof(to))

#define NW_SCALAR(name, suffix, type, call)                                                                            \
  static void apply_##name##suffix(void *out, const void *a, const void *b) {                                          \
    type x, y = 0;                                                                                                     \
    NW_COPY(x, a);                                                                                                     \
    if (b) NW_COPY(y, b);                                                                                              \
    (void)y;                                                                                                           \
    type z = call;                                                                                                     \
    memcpy(out, &z, sizeof z);                                                                                         \
  }

#define NW_VECTOR1(symbol, type, isa)                                                                                  \
  extern type symbol(type) __attribute__((target(isa)));                                                               \
  __attribute__((target(isa))) static void apply##symbol(void *out, const void *a, const void *b) {                    \
    type x;                                                                                                            \
    (void)b;                                                                                                           \
    NW_COPY(x, a);                                                                                                     \
    x = symbol(x);                                                                                                     \
    memcpy(out, &x, sizeof x);                                                                                         \
  }

#define NW_VECTOR2(symbol, type, isa)                                                                                  \
  extern type symbol(type, type) __attribute__((target(isa)));                                                         \
  __attribute__((target(isa))) static void apply##symbol(void *out, const void *a, const void *b) {                    \
    type x, y;                                                                                                         \
    NW_COPY(x, a);                                                                                                     \
    NW_COPY(y, b);                                                                                                     \
    x = symbol(x, y);                                                                                                  \
    memcpy(out, &x, sizeof x);                                                                                         \
  }

#if defined(__x86_64__) && defined(__GLIBC__)
#define NW_HAVE_MVEC 1
#define NW_FORMS(M, args, name)                                                                                        \
  M(_ZGVbN4##args##_##name##f, f4, "sse4.2")                                                                           \
  M(_ZGVdN8##args##_##name##f, f8, "avx2")                                                                             \
  M(_ZGVeN16##args##_##name##f, f16, "avx512f")                                                                        \
  M(_ZGVbN2##args##_##name, d2, "sse4.2")                                                                              \
  M(_ZGVdN4##args##_##name, d4, "avx2")                                                                                \
  M(_ZGVeN8##args##_##name, d8, "avx512f")
#define NW_VECTORS_v(name) NW_FORMS(NW_VECTOR1, v, name)
#define NW_VECTORS_vv(name) NW_FORMS(NW_VECTOR2, vv, name)
#define NW_VECTORS_NONE(name)
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ...)                                                                                             \
  NW_VECTORS_##vector(function)
#include "ir/ops.def"
#endif

#define NW_SCALARS_v(name)                                                                                             \
  NW_SCALAR(name, f, float, name##f(x))                                                                                \
  NW_SCALAR(name, d, double, name(x))
#define NW_SCALARS_vv(name)                                                                                            \
  NW_SCALAR(name, f, float, name##f(x, y))                                                                             \
  NW_SCALAR(name, d, double, name(x, y))
#define NW_SCALARS_NONE(name)
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ...)                                                                                             \
  NW_SCALARS_##vector(function)
#include "ir/ops.def"

// The error bounds of the scalar functions are from glibc's manual for x86-64 (see ops.def). The bound for libmvec is 4
// ulp.
#define NW_SCALAR_ROWS(id, name, ulp)                                                                                  \
  {NW_OP_##id, NW_F32, 1, #name "f", (void *)(uintptr_t)name##f, ulp, 0, apply_##name##f},                             \
      {NW_OP_##id, NW_F64, 1, #name, (void *)(uintptr_t)name, ulp, 0, apply_##name##d},

// Every build has the same rows, so that the cost of a program for another machine does not depend on this host.
#ifdef NW_HAVE_MVEC
#define NW_VECTOR_ROW(id, type, lanes, symbol, needs)                                                                  \
  {NW_OP_##id, type, lanes, #symbol, (void *)(uintptr_t)symbol, 4, needs, apply##symbol},
#else
#define NW_VECTOR_ROW(id, type, lanes, symbol, needs) {NW_OP_##id, type, lanes, #symbol, NULL, 4, needs, NULL},
#endif
#define NW_VECTOR_ROWS(id, args, name)                                                                                 \
  NW_VECTOR_ROW(id, NW_F32, 4, _ZGVbN4##args##_##name##f, NW_FEATURE_SSE4_2)                                           \
  NW_VECTOR_ROW(id, NW_F32, 8, _ZGVdN8##args##_##name##f, NW_FEATURE_AVX2 | NW_FEATURE_FMA)                            \
  NW_VECTOR_ROW(id, NW_F32, 16, _ZGVeN16##args##_##name##f, NW_FEATURE_AVX512F | NW_FEATURE_AVX512DQ)                  \
  NW_VECTOR_ROW(id, NW_F64, 2, _ZGVbN2##args##_##name, NW_FEATURE_SSE4_2)                                              \
  NW_VECTOR_ROW(id, NW_F64, 4, _ZGVdN4##args##_##name, NW_FEATURE_AVX2 | NW_FEATURE_FMA)                               \
  NW_VECTOR_ROW(id, NW_F64, 8, _ZGVeN8##args##_##name, NW_FEATURE_AVX512F | NW_FEATURE_AVX512DQ)

#define NW_ROWS_v(id, name, ulp) NW_SCALAR_ROWS(id, name, ulp) NW_VECTOR_ROWS(id, v, name)
#define NW_ROWS_vv(id, name, ulp) NW_SCALAR_ROWS(id, name, ulp) NW_VECTOR_ROWS(id, vv, name)
#define NW_ROWS_NONE(id, name, ulp)
static const nw_math_row rows[] = {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ulp, ...)                                                                                        \
  NW_ROWS_##vector(id, function, ulp)
#include "ir/ops.def"
};

const nw_math_row *nw_math_rows(int *n) {
  *n = NW_COUNT(rows);
  return rows;
}

const nw_math_row *nw_math_find(nw_features f, nw_op op, nw_dtype t, int lanes) {
  const nw_math_row *best = NULL;
  for (int i = 0; i < NW_COUNT(rows); i++) {
    const nw_math_row *r = &rows[i];
    if (r->op == op && r->dtype == t && r->lanes <= lanes && (!best || r->lanes > best->lanes) && nw_has(f, r->needs))
      best = r;
  }
  return best;
}

// `out` must have space for `lanes` entries. If the remaining lanes do not fill any vector form, they are computed one
// by one.
int nw_math_plan(nw_features f, nw_op op, nw_dtype t, int lanes, const nw_math_row **out) {
  int n = 0;
  while (lanes > 0) {
    const nw_math_row *r = nw_math_find(f, op, t, lanes);
    if (!r) return 0;
    out[n++] = r;
    lanes -= r->lanes;
  }
  return n;
}
