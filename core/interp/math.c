// Math functions: libm one value at a time, libmvec for vectors. The interpreter calls `apply`, generated code calls
// `address`: the same function either way, so the same bits.
#include "interp/interp.h"
#include <math.h>

typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef double d2 __attribute__((vector_size(16)));
typedef double d4 __attribute__((vector_size(32)));
typedef double d8 __attribute__((vector_size(64)));

// Loads and stores without a demand on alignment.
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
NW_FORMS(NW_VECTOR1, v, exp)
NW_FORMS(NW_VECTOR1, v, log)
NW_FORMS(NW_VECTOR1, v, tanh)
NW_FORMS(NW_VECTOR1, v, erf)
NW_FORMS(NW_VECTOR2, vv, pow)
#endif

#define NW_SCALARS(name, callf, calld)                                                                                 \
  NW_SCALAR(name, f, float, callf)                                                                                     \
  NW_SCALAR(name, d, double, calld)
NW_SCALARS(exp, expf(x), exp(x))
NW_SCALARS(log, logf(x), log(x))
NW_SCALARS(tanh, tanhf(x), tanh(x))
NW_SCALARS(erf, erff(x), erf(x))
NW_SCALARS(pow, powf(x, y), pow(x, y))

// Bounds: glibc's manual states 1 ulp for these scalar functions on x86-64 (2 for tanh), 4 for libmvec.
#define NW_SCALAR_ROWS(id, name, ulp)                                                                                  \
  {NW_OP_##id, NW_F32, 1, #name "f", (void *)(uintptr_t)name##f, ulp, apply_##name##f},                                \
      {NW_OP_##id, NW_F64, 1, #name, (void *)(uintptr_t)name, ulp, apply_##name##d},
#define NW_VECTOR_ROW(id, type, lanes, symbol)                                                                         \
  {NW_OP_##id, type, lanes, #symbol, (void *)(uintptr_t)symbol, 4, apply##symbol},
#define NW_VECTOR_ROWS(id, args, name)                                                                                 \
  NW_VECTOR_ROW(id, NW_F32, 4, _ZGVbN4##args##_##name##f)                                                              \
  NW_VECTOR_ROW(id, NW_F32, 8, _ZGVdN8##args##_##name##f)                                                              \
  NW_VECTOR_ROW(id, NW_F32, 16, _ZGVeN16##args##_##name##f)                                                            \
  NW_VECTOR_ROW(id, NW_F64, 2, _ZGVbN2##args##_##name)                                                                 \
  NW_VECTOR_ROW(id, NW_F64, 4, _ZGVdN4##args##_##name)                                                                 \
  NW_VECTOR_ROW(id, NW_F64, 8, _ZGVeN8##args##_##name)

static const nw_math_row rows[] = {NW_SCALAR_ROWS(EXP, exp, 1) NW_SCALAR_ROWS(LOG, log, 1) NW_SCALAR_ROWS(TANH, tanh, 2)
                                       NW_SCALAR_ROWS(ERF, erf, 1) NW_SCALAR_ROWS(POW, pow, 1)
#ifdef NW_HAVE_MVEC
                                           NW_VECTOR_ROWS(EXP, v, exp) NW_VECTOR_ROWS(LOG, v, log)
                                               NW_VECTOR_ROWS(TANH, v, tanh) NW_VECTOR_ROWS(ERF, v, erf)
                                                   NW_VECTOR_ROWS(POW, vv, pow)
#endif
};

const nw_math_row *nw_math_rows(int *n) {
  *n = NW_COUNT(rows);
  return rows;
}

static bool host_runs(const nw_math_row *r) {
  if (r->lanes == 1) return true;
#ifdef NW_HAVE_MVEC
  int bytes = r->lanes * nw_dtype_bytes(r->dtype);
  if (bytes == 16) return __builtin_cpu_supports("sse4.2");
  if (bytes == 32) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

const nw_math_row *nw_math_find(nw_op op, nw_dtype t, int lanes) {
  const nw_math_row *best = NULL;
  for (int i = 0; i < NW_COUNT(rows); i++) {
    const nw_math_row *r = &rows[i];
    if (r->op == op && r->dtype == t && r->lanes <= lanes && (!best || r->lanes > best->lanes) && host_runs(r))
      best = r;
  }
  return best;
}

// `out` has room for `lanes` rows. A remainder that no vector form fits is computed one value at a time.
int nw_math_plan(nw_op op, nw_dtype t, int lanes, const nw_math_row **out) {
  int n = 0;
  while (lanes > 0) {
    const nw_math_row *r = nw_math_find(op, t, lanes);
    if (!r) return 0;
    out[n++] = r;
    lanes -= r->lanes;
  }
  return n;
}
