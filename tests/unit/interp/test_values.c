// Tests the results of operations on values of every dtype, and of the math functions.
#include "base/half.h"
#include "running.h"
#include <float.h>

typedef E (*body_fn)(E a, E b);

// Runs C[i] = body(A[i], B[i]) over `n` elements, and compares the result with `want`.
static void assert_map(nw_dtype t, body_fn body, int n, const void *a, const void *b, const void *want) {
  nw_tensor *A = input("A", t, DIMS(lit(n))), *B = input("B", t, DIMS(lit(n)));
  nw_build *build = begin("C", "i", DIMS(lit(n)));
  E x = READ(A, ax(build, 0)), y = READ(B, ax(build, 0));
  nw_tensor *C = end(build, body(x, y));
  if (!C) print_error("%s\n", nw_error(nw)->message);
  assert_non_null(C);
  job j = job1(C);
  for (int i = 0; i < j.ninputs; i++) {
    bool first = !strcmp(j.p->buffer[i]->name, "A");
    memcpy(j.view[i].data, first ? a : b, (size_t)(n * nw_dtype_bytes(t)));
  }
  assert_agree(&j);
  nw_view *v = &j.view[j.ninputs];
  int bytes = nw_dtype_bytes(v->dtype);
  for (int i = 0; i < n; i++)
    if (!same_cell(v->dtype, (char *)v->data + i * bytes, (const char *)want + i * bytes)) fail_msg("element %d", i);
  job_free(&j);
}

static E guarded(nw_op op, E a, E b) {
  E zero = nw_int(nw_lang_pool(nw), b->type.dtype, 0);
  return pick(op2(NW_OP_NE, b, zero), op2(op, a, b), zero);
}
static E quotient(E a, E b) { return guarded(NW_OP_FLOORDIV, a, b); }
static E remainder_of(E a, E b) { return guarded(NW_OP_FLOORMOD, a, b); }
static E magnitude(E a, E b) { return add(op1(NW_OP_ABS, a), sub(b, b)); }
static E negative(E a, E b) { return add(op1(NW_OP_NEG, a), sub(b, b)); }

static void integers_wrap(void **state) {
  (void)state;
  int8_t a[] = {127, -128, 100, -7, 7, -128}, b[] = {1, -1, 3, 2, -2, -128};
  assert_map(NW_I8, add, 6, a, b, (int8_t[]){-128, 127, 103, -5, 5, 0});
  assert_map(NW_I8, mul, 6, a, b, (int8_t[]){127, -128, 44, -14, -14, 0});
  assert_map(NW_I8, quotient, 6, a, b, (int8_t[]){127, -128, 33, -4, -4, 1});
  assert_map(NW_I8, remainder_of, 6, a, b, (int8_t[]){0, 0, 1, 1, -1, 0});
  assert_map(NW_I8, magnitude, 6, a, b, (int8_t[]){127, -128, 100, 7, 7, -128});
  assert_map(NW_I8, negative, 6, a, b, (int8_t[]){-127, -128, -100, 7, -7, -128});
  uint8_t u[] = {255, 0, 200, 7}, v[] = {1, 1, 3, 0};
  assert_map(NW_U8, add, 4, u, v, (uint8_t[]){0, 1, 203, 7});
  assert_map(NW_U8, sub, 4, v, u, (uint8_t[]){2, 1, 59, 249});
  assert_map(NW_U8, quotient, 4, u, v, (uint8_t[]){255, 0, 66, 0});
  int16_t s[] = {32767, -32768}, one[] = {1, 1};
  assert_map(NW_I16, add, 2, s, one, (int16_t[]){-32768, -32767});
  uint16_t us[] = {65535, 1}, uone[] = {1, 1};
  assert_map(NW_U16, add, 2, us, uone, (uint16_t[]){0, 2});
  int32_t w[] = {INT32_MAX, INT32_MIN, -7}, wb[] = {INT32_MAX, -1, 2};
  assert_map(NW_I32, mul, 3, w, wb, (int32_t[]){1, INT32_MIN, -14});
  assert_map(NW_I32, quotient, 3, w, wb, (int32_t[]){1, INT32_MIN, -4});
  uint32_t uw[] = {UINT32_MAX, 5}, uwb[] = {2, 7};
  assert_map(NW_U32, mul, 2, uw, uwb, (uint32_t[]){UINT32_MAX - 1, 35});
  assert_map(NW_U32, least, 2, uw, uwb, (uint32_t[]){2, 5});
  int64_t l[] = {INT64_MAX, INT64_MIN}, lb[] = {1, -1};
  assert_map(NW_I64, quotient, 2, l, lb, (int64_t[]){INT64_MAX, INT64_MIN});
}

static void floats_are_ieee(void **state) {
  (void)state;
  float a[] = {1, 0, -0.0f, NAN, INFINITY, 3}, b[] = {NAN, -0.0f, 0, 1, -INFINITY, 2};
  assert_map(NW_F32, least, 6, a, b, (float[]){NAN, -0.0f, -0.0f, NAN, -INFINITY, 2});
  assert_map(NW_F32, most, 6, a, b, (float[]){NAN, 0, 0, NAN, INFINITY, 3});
  assert_map(NW_F32, lt, 6, a, b, (uint8_t[]){0, 0, 0, 0, 0, 0});
  assert_map(NW_F32, le, 6, a, b, (uint8_t[]){0, 1, 1, 0, 0, 0});
  float c[] = {16777216, 0.1f}, d[] = {1, 0.2f};
  assert_map(NW_F32, add, 2, c, d, (float[]){16777216, 0.1f + 0.2f});
  double e[] = {0.1, -0.0}, f[] = {0.2, 0};
  assert_map(NW_F64, add, 2, e, f, (double[]){0.1 + 0.2, 0});
  assert_map(NW_F64, most, 2, e, f, (double[]){0.2, 0});
}

// Returns a*b + a. The product must not be rounded to a half.
static E product_plus(E a, E b) { return add(mul(a, b), a); }

static void halves_round_at_stores(void **state) {
  (void)state;
  float x = nw_f16_to_f32(nw_f32_to_f16(1.001f)), y = nw_f16_to_f32(nw_f32_to_f16(3.3f));
  uint16_t a[] = {nw_f32_to_f16(x)}, b[] = {nw_f32_to_f16(y)};
  assert_map(NW_F16, product_plus, 1, a, b, (uint16_t[]){nw_f32_to_f16(x * y + x)});
  float p = nw_bf16_to_f32(nw_f32_to_bf16(1.01f)), q = nw_bf16_to_f32(nw_f32_to_bf16(-3.3f));
  uint16_t c[] = {nw_f32_to_bf16(p)}, d[] = {nw_f32_to_bf16(q)};
  assert_map(NW_BF16, product_plus, 1, c, d, (uint16_t[]){nw_f32_to_bf16(p * q + p)});
}

static E as_i8(E a, E b) { return pick(lt(b, b), cast(NW_I8, b), cast(NW_I8, a)); }
static E as_u32(E a, E b) { return pick(lt(b, b), cast(NW_U32, b), cast(NW_U32, a)); }
static E as_i64(E a, E b) { return pick(lt(b, b), cast(NW_I64, b), cast(NW_I64, a)); }
static E as_bool(E a, E b) { return pick(lt(b, b), cast(NW_BOOL, b), cast(NW_BOOL, a)); }
static E as_f32(E a, E b) { return pick(lt(b, b), cast(NW_F32, b), cast(NW_F32, a)); }
static E as_f16(E a, E b) { return pick(lt(b, b), cast(NW_F16, b), cast(NW_F16, a)); }

static void casts_saturate(void **state) {
  (void)state;
  float f[] = {1.9f, -1.9f, 300, -300, NAN, INFINITY, 0.0f, 1e20f};
  assert_map(NW_F32, as_i8, 8, f, f, (int8_t[]){1, -1, 127, -128, 0, 127, 0, 127});
  assert_map(NW_F32, as_u32, 8, f, f, (uint32_t[]){1, 0, 300, 0, 0, UINT32_MAX, 0, UINT32_MAX});
  assert_map(NW_F32, as_i64, 8, f, f, (int64_t[]){1, -1, 300, -300, 0, INT64_MAX, 0, INT64_MAX});
  assert_map(NW_F32, as_bool, 8, f, f, (uint8_t[]){1, 1, 1, 1, 1, 1, 0, 1});
  int32_t i[] = {300, -1, 16777217, 128};
  assert_map(NW_I32, as_i8, 4, i, i, (int8_t[]){44, -1, 1, -128});
  assert_map(NW_I32, as_f32, 4, i, i, (float[]){300, -1, 16777216, 128});
  double d[] = {1 + 0x1p-11 + 0x1p-40, 65520};
  assert_map(NW_F64, as_f16, 2, d, d, (uint16_t[]){0x3c01, 0x7c00});
}

static E lazily(E a, E b) { return quotient(a, b); }

static void only_the_branch_taken_runs(void **state) {
  (void)state;
  int32_t a[] = {6, 6}, b[] = {0, 4};
  assert_map(NW_I32, lazily, 2, a, b, (int32_t[]){0, 1});
}

// ---- math rows

static double reference(nw_op op, double a, double b) {
  switch (op) {
  case NW_OP_EXP: return exp(a);
  case NW_OP_LOG: return log(a);
  case NW_OP_TANH: return tanh(a);
  case NW_OP_ERF: return erf(a);
  default: return pow(a, b);
  }
}

static double ulps(const nw_math_row *r, double got, double want) {
  if (got == want || (isnan(got) && isnan(want))) return 0;
  double one = r->dtype == NW_F32 ? nextafterf(fabsf((float)want), INFINITY) - fabsf((float)want)
                                  : nextafter(fabs(want), INFINITY) - fabs(want);
  return fabs(got - want) / one;
}

static void check_row(const nw_math_row *r) {
  if (nw_math_find(nw_host()->features, r->op, r->dtype, r->lanes) != r) return;
  double worst = 0;
  for (int trial = 0; trial < 2000; trial++) {
    float fa[16], fb[16], fo[16];
    double da[16], db[16], dout[16];
    for (int l = 0; l < r->lanes; l++) {
      uint64_t h = nw_hash_mix((uint64_t)trial, (uint64_t)l);
      da[l] = (double)(h >> 40) / (1 << 20); // 0 .. 16
      if (r->op == NW_OP_TANH || r->op == NW_OP_ERF) da[l] -= 8;
      db[l] = (double)(h & 0xfffff) / (1 << 18) - 2;
      fa[l] = (float)da[l], fb[l] = (float)db[l];
    }
    if (r->dtype == NW_F32)
      r->apply(fo, fa, fb);
    else
      r->apply(dout, da, db);
    for (int l = 0; l < r->lanes; l++) {
      bool single = r->dtype == NW_F32;
      double u = ulps(r, single ? fo[l] : dout[l], reference(r->op, single ? fa[l] : da[l], single ? fb[l] : db[l]));
      if (u > worst) worst = u;
    }
  }
  if (worst > r->ulp + 1) fail_msg("%s: the error is %g ulp, but its row allows only %g", r->symbol, worst, r->ulp);
}

static void math_rows_keep_their_error_bounds(void **state) {
  (void)state;
  int n;
  const nw_math_row *row = nw_math_rows(&n);
  for (int i = 0; i < n; i++) check_row(&row[i]);
}

static void the_rows_of_a_plan_cover_all_lanes(void **state) {
  (void)state;
  const nw_math_row *row[64];
  for (int lanes = 1; lanes <= 64; lanes++) {
    int n = nw_math_plan(nw_host()->features, NW_OP_EXP, NW_F32, lanes, row), sum = 0;
    for (int i = 0; i < n; i++) {
      sum += row[i]->lanes;
      if (i) assert_true(row[i]->lanes <= row[i - 1]->lanes);
    }
    assert_int_equal(sum, lanes);
  }
  assert_int_equal(nw_math_find(nw_host()->features, NW_OP_POW, NW_F64, 1)->lanes, 1);
  assert_null(nw_math_find(nw_host()->features, NW_OP_SQRT, NW_F32, 4));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(integers_wrap),
      T(floats_are_ieee),
      T(halves_round_at_stores),
      T(casts_saturate),
      T(only_the_branch_taken_runs),
      T(math_rows_keep_their_error_bounds),
      T(the_rows_of_a_plan_cover_all_lanes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
