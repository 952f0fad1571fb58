#include "ir/program/program.h"
#include "base/half.h"
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

typedef struct env {
  nw_ctx *c;
  nw_pool *p;
} env;

static int setup(void **state) {
  env *e = calloc(1, sizeof *e);
  e->c = nw_open();
  e->p = nw_pool_new(e->c);
  *state = e;
  return 0;
}

static int teardown(void **state) {
  env *e = *state;
  nw_pool_release(e->p);
  nw_close(e->c);
  free(e);
  return 0;
}

static uint64_t rng = 12345;
static int64_t pick(int64_t lo, int64_t hi) {
  rng = nw_hash_mix(rng, 77);
  return lo + (int64_t)(rng % (uint64_t)(hi - lo + 1));
}

static const char *text(const nw_expr *e) {
  static char buf[512];
  nw_str s = {0};
  if (e) nw_expr_print(&s, e);
  snprintf(buf, sizeof buf, "%s", e ? s.s : "(null)");
  nw_str_free(&s);
  return buf;
}

#define PARSES(src, want) assert_string_equal(text(nw_expr_parse(p, src)), want)

// Each row has the text of an expression, and the text of the expression that the constructors make from it.
static void sums_are_canonical(void **state) {
  nw_pool *p = ((env *)*state)->p;
  PARSES("i + 0", "i");
  PARSES("1 + i", "i + 1");
  PARSES("i - 1", "i - 1");
  PARSES("i_i + i_o*32", "32*i_o + i_i");
  PARSES("5 - i", "5 - i");
  PARSES("-i", "-i");
  PARSES("-i - 1", "-i - 1");
  PARSES("M - 1 - i", "M - i - 1");
  PARSES("i + j - i", "j");
  PARSES("2*(i + 3) - 6", "2*i");
  PARSES("i*j + j*i", "2*i*j");
  PARSES("i*M*4 + j", "4*M*i + j");
  PARSES("3*4 + 1", "13");
  PARSES("i - i", "0");
  PARSES("32*(i // 32) + i % 32", "i");
  PARSES("M*(f // M) + f % M + 1", "f + 1");
}

static void divisions_fold(void **state) {
  nw_pool *p = ((env *)*state)->p;
  PARSES("i // 1", "i");
  PARSES("i % 1", "0");
  PARSES("(32*i + j) // 32", "i + j // 32");
  PARSES("(32*i + j) % 32", "j % 32");
  PARSES("(i // 4) // 8", "i // 32");
  PARSES("(i % 64) % 16", "i % 16");
  PARSES("(i % 4) // 8", "0");
  PARSES("(i % 64) // 16", "(i // 16) % 4");
  PARSES("(M + 31) // 32", "(M + 31) // 32");
  PARSES("(M + 35) // 32", "(M + 3) // 32 + 1");
  PARSES("(4*i + 8*j) // 16", "(2*j + i) // 4");
  PARSES("(4*i + 3) % 8", "4*(i % 2) + 3");
  PARSES("(M*i + j) // M", "i + j // M");
  PARSES("(M*i + j) % M", "j % M");
  PARSES("-7 // 2", "-4");
  PARSES("-7 % 2", "1");
  PARSES("(i % 64 + j) % 32", "(i + j) % 32");
}

static void comparisons_fold(void **state) {
  nw_pool *p = ((env *)*state)->p;
  PARSES("i + 3 < 10", "i < 7");
  PARSES("i < i + 1", "true");
  PARSES("32*i < 40", "i < 2");
  PARSES("32*i <= 40", "i <= 1");
  PARSES("2*i == 3", "false");
  PARSES("i + M < j + M", "i < j");
  PARSES("32*i_o + i_i < M", "32*i_o + i_i < M");
  PARSES("not i < j", "j <= i");
  PARSES("i == i and j < 3", "j < 3");
  PARSES("i < 2 and i < 2 and j < 2", "i < 2 and j < 2");
  PARSES("i < 2 and (j < 2 or i < 1)", "i < 2 and (j < 2 or i < 1)");
  PARSES("3 == i", "i == 3");
}

static void selects_and_extrema_fold(void **state) {
  nw_pool *p = ((env *)*state)->p;
  PARSES("select(true, i, j)", "i");
  PARSES("select(i < 3, j, j)", "j");
  PARSES("min(i, i + 2)", "i");
  PARSES("max(i, i + 2)", "i + 2");
  PARSES("min(min(i, 5), 3)", "min(i, 3)");
  PARSES("max(0, min(i, 5))", "max(min(i, 5), 0)");
  PARSES("max(min(i, j), i)", "i");
}

static void floats_are_left_alone(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const nw_expr *i = nw_var(p, "i"), *x = nw_load(p, (nw_type){NW_F32, 1}, "A", 1, &i);
  const nw_expr *zero = nw_float(p, NW_F32, 0), *one = nw_float(p, NW_F32, 1), *minus_zero = nw_float(p, NW_F32, -0.0);
  assert_string_equal(text(nw_add(p, x, zero)), "A[i] + 0.0");
  assert_string_equal(text(nw_mul(p, x, zero)), "A[i]*0.0");
  assert_string_equal(text(nw_sub(p, x, x)), "A[i] - A[i]");
  assert_string_equal(text(nw_sub(p, x, minus_zero)), "A[i] - -0.0");
  assert_ptr_equal(nw_sub(p, x, zero), x);
  assert_ptr_equal(nw_mul(p, x, one), x);
  assert_ptr_equal(nw_mul(p, one, x), x);
  assert_string_equal(text(nw_eq(p, x, x)), "A[i] == A[i]");
  assert_string_equal(text(nw_make2(p, NW_OP_DIV, x, nw_add(p, x, x))), "A[i] / (A[i] + A[i])");
}

static void constants_print_exactly(void **state) {
  nw_pool *p = ((env *)*state)->p;
  assert_string_equal(text(nw_float(p, NW_F32, 0.1)), "0.1");
  assert_string_equal(text(nw_float(p, NW_F64, 0.1)), "f64(0.1)");
  assert_string_equal(text(nw_float(p, NW_F32, 3)), "3.0");
  assert_string_equal(text(nw_float(p, NW_F16, 0.1)), "f16(0.099975586)");
  assert_string_equal(text(nw_float(p, NW_F32, INFINITY)), "f32(inf)");
  assert_string_equal(text(nw_float(p, NW_F32, -INFINITY)), "f32(-inf)");
  assert_string_equal(text(nw_float(p, NW_F64, NAN)), "f64(nan)");
  assert_string_equal(text(nw_int(p, NW_I32, -3)), "i32(-3)");
  assert_string_equal(text(nw_int(p, NW_U8, 300)), "u8(44)");
  assert_string_equal(text(nw_int(p, NW_BOOL, 1)), "true");
  const nw_expr *i = nw_var(p, "i@7");
  char *s = nw_expr_show(nw_add(p, i, nw_index(p, 1)));
  assert_string_equal(s, "i + 1");
  free(s);
  assert_string_equal(text(nw_cast(p, NW_F32, i)), "f32(i@7)");
}

static void constants_of_every_dtype_parse_back(void **state) {
  nw_pool *p = ((env *)*state)->p;
  double f[] = {0.1, -0.5, 1e30, 1e-30, 65504, 0, -0.0, INFINITY, -INFINITY, NAN, 123456789};
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    if (nw_dtype_is_float(t)) {
      for (int k = 0; k < NW_COUNT(f); k++) {
        const nw_expr *e = nw_float(p, t, f[k]);
        assert_ptr_equal(nw_expr_parse(p, text(e)), e);
      }
    } else {
      for (int64_t v = -130; v < 300; v += 43) {
        const nw_expr *e = nw_int(p, t, v);
        assert_ptr_equal(nw_expr_parse(p, text(e)), e);
      }
    }
  }
}

// ---------------------------------------------------------------- types

static const nw_expr *load(nw_pool *p, nw_dtype t) {
  const nw_expr *i = nw_var(p, "i");
  char name[16];
  snprintf(name, sizeof name, "X_%s", nw_dtype_name(t));
  return nw_load(p, (nw_type){(uint8_t)t, 1}, name, 1, &i);
}

static const nw_expr *apply2(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b) {
  return nw_apply(p, op, 2, (const nw_expr *[]){a, b});
}

static void promotion_follows_the_table(void **state) {
  nw_pool *p = ((env *)*state)->p;
  static const struct {
    nw_dtype a, b, want;
  } rows[] = {
      {NW_I8, NW_I32, NW_I32},   {NW_U8, NW_U16, NW_U16},   {NW_U8, NW_I8, NW_I16},     {NW_U16, NW_I16, NW_I32},
      {NW_U32, NW_I32, NW_I64},  {NW_U32, NW_I64, NW_I64},  {NW_U8, NW_I32, NW_I32},    {NW_BOOL, NW_U8, NW_U8},
      {NW_U64, NW_I64, NW_U64},  {NW_U64, NW_I8, NW_U64},   {NW_U64, NW_U8, NW_U64},    {NW_U64, NW_F16, NW_F16},
      {NW_BOOL, NW_F16, NW_F16}, {NW_I64, NW_F16, NW_F16},  {NW_F16, NW_BF16, NW_F32},  {NW_F16, NW_F32, NW_F32},
      {NW_F32, NW_F64, NW_F64},  {NW_BF16, NW_F64, NW_F64}, {NW_BOOL, NW_BOOL, NW_I32}, {NW_F16, NW_F16, NW_F16},
  };
  for (int k = 0; k < NW_COUNT(rows); k++) {
    const nw_expr *a = load(p, rows[k].a), *b = load(p, rows[k].b);
    assert_int_equal(apply2(p, NW_OP_ADD, a, b)->type.dtype, rows[k].want);
    assert_int_equal(apply2(p, NW_OP_MUL, b, a)->type.dtype, rows[k].want);
    assert_int_equal(apply2(p, NW_OP_EQ, a, b)->type.dtype, NW_BOOL);
  }
  for (int a = 0; a < NW_DTYPE_COUNT; a++)
    for (int b = 0; b < NW_DTYPE_COUNT; b++) assert_int_equal(nw_dtype_promote(a, b), nw_dtype_promote(b, a));
}

static void literals_adapt(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const nw_expr *three = nw_index(p, 3), *half = nw_float(p, NW_F64, 0.1);
  for (int t = 1; t < NW_DTYPE_COUNT; t++) assert_int_equal(apply2(p, NW_OP_MUL, load(p, t), three)->type.dtype, t);
  assert_int_equal(apply2(p, NW_OP_ADD, load(p, NW_F16), half)->type.dtype, NW_F16);
  assert_int_equal(apply2(p, NW_OP_ADD, load(p, NW_F64), half)->type.dtype, NW_F64);
  assert_string_equal(text(apply2(p, NW_OP_ADD, load(p, NW_F32), half)), "X_f32[i] + 0.1");
  assert_int_equal(apply2(p, NW_OP_ADD, load(p, NW_I8), half)->type.dtype, NW_F32);
  assert_int_equal(apply2(p, NW_OP_ADD, nw_var(p, "i"), half)->type.dtype, NW_F32);
  assert_int_equal(apply2(p, NW_OP_ADD, load(p, NW_BOOL), three)->type.dtype, NW_I32);
  assert_int_equal(apply2(p, NW_OP_ADD, load(p, NW_I8), nw_int(p, NW_I32, 3))->type.dtype, NW_I32);
  assert_string_equal(text(apply2(p, NW_OP_DIV, nw_index(p, 1), nw_index(p, 4))), "f64(0.25)");
  assert_int_equal(nw_select(p, nw_lt(p, nw_var(p, "i"), three), nw_float(p, NW_F64, 1), nw_index(p, 0))->type.dtype,
                   NW_F32);
  assert_int_equal(nw_select(p, nw_lt(p, nw_var(p, "i"), three), load(p, NW_F16), half)->type.dtype, NW_F16);
}

static void float_operations_make_integers_f32(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const nw_expr *i = nw_var(p, "i"), *u = load(p, NW_U8), *h = load(p, NW_F16);
  assert_int_equal(nw_apply(p, NW_OP_EXP, 1, &i)->type.dtype, NW_F32);
  assert_int_equal(nw_apply(p, NW_OP_SQRT, 1, &u)->type.dtype, NW_F32);
  assert_int_equal(nw_apply(p, NW_OP_SQRT, 1, &h)->type.dtype, NW_F16);
  assert_int_equal(apply2(p, NW_OP_DIV, u, i)->type.dtype, NW_F32);
  assert_int_equal(apply2(p, NW_OP_POW, h, nw_index(p, 2))->type.dtype, NW_F16);
}

static void expect_fail(env *e, const nw_expr *got, nw_code code) {
  assert_null(got);
  assert_non_null(nw_error(e->c));
  assert_int_equal(nw_error(e->c)->code, code);
  nw_clear(e->c);
}

static void ill_typed_operations_fail_with_a_hint(void **state) {
  env *e = *state;
  nw_pool *p = e->p;
  const nw_expr *b = load(p, NW_BOOL), *f = load(p, NW_F32), *i8 = load(p, NW_I8), *i = nw_var(p, "i");
  expect_fail(e, apply2(p, NW_OP_MIN, b, b), NW_ETYPE);
  expect_fail(e, apply2(p, NW_OP_LT, b, b), NW_ETYPE);
  expect_fail(e, apply2(p, NW_OP_FLOORMOD, f, f), NW_ETYPE);
  expect_fail(e, apply2(p, NW_OP_FLOORDIV, f, nw_index(p, 2)), NW_ETYPE);
  expect_fail(e, apply2(p, NW_OP_AND, f, b), NW_ETYPE);
  expect_fail(e, apply2(p, NW_OP_ADD, i8, nw_index(p, 200)), NW_ERANGE);
  expect_fail(e, apply2(p, NW_OP_LT, load(p, NW_U8), nw_index(p, -1)), NW_ERANGE);
  expect_fail(e, apply2(p, NW_OP_FLOORDIV, i, nw_index(p, 0)), NW_ERANGE);
  expect_fail(e, nw_apply(p, NW_OP_NEG, 1, &b), NW_ETYPE);
  expect_fail(e, nw_apply(p, NW_OP_ADD, 1, &i), NW_EINVAL);
  expect_fail(e, nw_apply(p, NW_OP_CAST, 1, &i), NW_EINVAL);
  expect_fail(e, nw_select(p, i, i, i), NW_ETYPE);
  assert_null(apply2(p, NW_OP_ADD, NULL, i));
  assert_null(nw_error(e->c));
}

static void casts_fold(void **state) {
  nw_pool *p = ((env *)*state)->p;
  assert_int_equal(nw_cast(p, NW_I8, nw_float(p, NW_F32, 300))->i, 127);
  assert_int_equal(nw_cast(p, NW_U8, nw_float(p, NW_F32, -3))->i, 0);
  assert_int_equal(nw_cast(p, NW_I32, nw_float(p, NW_F64, NAN))->i, 0);
  assert_int_equal(nw_cast(p, NW_I64, nw_float(p, NW_F64, 1e300))->i, INT64_MAX);
  assert_int_equal(nw_cast(p, NW_I32, nw_float(p, NW_F64, -2.7))->i, -2);
  assert_int_equal(nw_cast(p, NW_I8, nw_index(p, 300))->i, 44);
  assert_string_equal(text(nw_cast(p, NW_I64, nw_cast(p, NW_I32, load(p, NW_I8)))), "i64(X_i8[i])");
  assert_string_equal(text(nw_cast(p, NW_I64, nw_cast(p, NW_I8, load(p, NW_I32)))), "i64(i8(X_i32[i]))");
  assert_string_equal(text(nw_cast(p, NW_BOOL, load(p, NW_F32))), "X_f32[i] != 0.0");
}

// ---------------------------------------------------------------- pools

static void equal_means_the_same_pointer(void **state) {
  env *e = *state;
  nw_pool *p = e->p, *q = nw_pool_new(e->c);
  const nw_expr *a = nw_expr_parse(p, "32*i + select(j < 3, i // 4, A[i, j])");
  if (!a) a = nw_expr_parse(p, "32*i + select(j < 3, i // 4, j)");
  const nw_expr *b = nw_import(q, a);
  assert_ptr_not_equal(a, b);
  assert_int_equal(a->hash, b->hash);
  assert_ptr_equal(nw_import(p, b), a);
  assert_ptr_equal(nw_expr_pool(b), q);
  assert_ptr_equal(nw_add(p, b, b), nw_add(p, a, a));
  nw_pool_release(q);
}

static void *count_retain(void *o) {
  ++*(int *)o;
  return o;
}
static void count_release(void *o) { --*(int *)o; }

static void symbols_follow_imports(void **state) {
  env *e = *state;
  static const nw_symbol_class cls = {count_retain, count_release};
  int count = 0;
  nw_pool *p = nw_pool_new(e->c), *q = nw_pool_new(e->c);
  const nw_expr *i = nw_var(p, "i@1"), *a = nw_load(p, (nw_type){NW_F32, 1}, "A@2", 1, &i);
  nw_pool_define(p, "A@2", &cls, &count);
  nw_pool_define(p, "A@2", &cls, &count);
  assert_int_equal(count, 1);
  nw_import(q, nw_add(p, a, a));
  assert_int_equal(count, 2);
  const nw_symbol_class *got;
  assert_ptr_equal(nw_pool_symbol(q, "A@2", &got), &count);
  assert_ptr_equal(got, &cls);
  assert_null(nw_pool_symbol(q, "i@1", NULL));
  assert_null(nw_pool_symbol(q, "never", NULL));
  nw_pool_release(p);
  assert_int_equal(count, 1);
  nw_pool_release(q);
  assert_int_equal(count, 0);
}

// An earlier hash kept only its low bits, and interning became quadratic. All tests of correctness still passed.
static void interning_is_fast(void **state) {
  nw_pool *p = ((env *)*state)->p;
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  const nw_expr *v[300];
  char name[16];
  for (int k = 0; k < 300; k++) {
    snprintf(name, sizeof name, "v%d", k);
    v[k] = nw_var(p, name);
  }
  for (int k = 0; k < 300; k++)
    for (int j = 0; j < 300; j++) nw_load(p, (nw_type){NW_F32, 1}, "A", 2, (const nw_expr *[]){v[k], v[j]});
  clock_gettime(CLOCK_MONOTONIC, &b);
  double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 90000;
  print_message("interning: %.0f ns per node\n", ns);
  assert_true(ns < 5000);
  assert_true(nw_pool_bytes(p) < 90000 * 160);
}

// ---------------------------------------------------------------- rewriting

static const nw_expr *rename_load(void *pool, const nw_expr *l) {
  return strcmp(l->name, "X_f32") ? NULL : nw_load(pool, l->type, "B", l->n, l->arg);
}

static void substitution_folds(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const nw_expr *e = nw_expr_parse(p, "32*i_o + i_i");
  assert_string_equal(text(nw_subst(p, e, "i_o", nw_index(p, 2))), "i_i + 64");
  const char *vars[] = {"i_i", "i_o"};
  const nw_expr *by[] = {nw_var(p, "i_o"), nw_var(p, "i_i")};
  assert_string_equal(text(nw_subst_n(p, e, 2, vars, by)), "32*i_i + i_o");
  assert_string_equal(text(nw_rewrite(p, load(p, NW_F32), NULL, rename_load, p)), "B[i]");
  assert_true(nw_uses_var(e, "i_i"));
  assert_false(nw_uses_var(e, "i"));
  assert_true(nw_uses_load(load(p, NW_F32), "X_f32"));
  assert_true(nw_uses_load(load(p, NW_F32), NULL));
  assert_false(nw_uses_load(e, NULL));
}

static void shared_subexpressions_are_visited_once(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const nw_expr *e = load(p, NW_F32);
  for (int k = 0; k < 60; k++) e = nw_mul(p, e, e);
  assert_false(nw_uses_var(e, "nowhere"));
  assert_true(nw_uses_var(nw_subst(p, e, "i", nw_var(p, "j")), "j"));
}

static void huge_expressions_are_refused(void **state) {
  env *e = *state;
  const nw_expr *x = load(e->p, NW_F32), *deep = x, *wide = x, *index = nw_var(e->p, "i");
  for (int k = 0; k < 3000 && deep; k++) deep = apply2(e->p, NW_OP_ADD, deep, x);
  expect_fail(e, deep, NW_ELIMIT);
  for (int k = 0; k < 100 && wide; k++) wide = apply2(e->p, NW_OP_MUL, wide, wide);
  expect_fail(e, wide, NW_ELIMIT);
  for (int k = 0; k < 100 && index; k++) index = apply2(e->p, NW_OP_MUL, index, index);
  expect_fail(e, index, NW_ELIMIT);
}

// Index arithmetic that overflows has no value. But making, bounding and printing such an expression must not fail.
static void huge_constants_are_harmless(void **state) {
  env *e = *state;
  static const int64_t big[] = {
      INT64_MIN, INT64_MIN + 1, INT64_MAX, (int64_t)1 << 62, -((int64_t)1 << 62), INT64_MAX / 3, 1, -1, 0, 3};
  static const nw_op ops[] = {NW_OP_ADD, NW_OP_SUB, NW_OP_MUL, NW_OP_FLOORDIV, NW_OP_FLOORMOD, NW_OP_MIN, NW_OP_MAX};
  static const nw_op compare[] = {NW_OP_LT, NW_OP_LE, NW_OP_EQ, NW_OP_NE};
  for (int round = 0; round < 4000; round++) {
    nw_pool *p = nw_pool_new(e->c);
    nw_ranges r;
    nw_ranges_init(&r, p);
    const nw_expr *c[4];
    for (int k = 0; k < 4; k++) c[k] = nw_index(p, big[pick(0, NW_COUNT(big) - 1)]);
    nw_ranges_push(&r, "a", c[0], c[1]);
    nw_ranges_push(&r, "b", nw_index(p, 0), nw_add(p, nw_var(p, "a"), c[2]));
    nw_ranges_fact(&r, nw_lt(p, nw_mul(p, c[3], nw_var(p, "b")), nw_var(p, "a")));
    const nw_expr *x = nw_var(p, "a");
    for (int k = 0; k < 6; k++) {
      const nw_expr *y = pick(0, 2) ? nw_index(p, big[pick(0, NW_COUNT(big) - 1)]) : pick(0, 1) ? nw_var(p, "b") : x;
      x = nw_make2(p, ops[pick(0, NW_COUNT(ops) - 1)], pick(0, 3) ? x : y, y);
    }
    nw_simplify(&r, x);
    nw_simplify(&r, nw_make2(p, compare[pick(0, 3)], x, nw_index(p, big[pick(0, NW_COUNT(big) - 1)])));
    const char *over[] = {"b"};
    nw_lower_over(&r, x, 1, over);
    nw_upper_over(&r, x, 1, over);
    text(x);
    nw_ranges_free(&r);
    nw_pool_release(p);
  }
}

static void affine_parts(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const char *vars[] = {"i", "j"};
  int64_t coef[2];
  const nw_expr *rest;
  assert_true(nw_affine(p, nw_expr_parse(p, "32*i - j + M*2 + 3"), 2, vars, coef, &rest));
  assert_int_equal(coef[0], 32);
  assert_int_equal(coef[1], -1);
  assert_string_equal(text(rest), "2*M + 3");
  assert_false(nw_affine(p, nw_expr_parse(p, "i*M"), 2, vars, coef, &rest));
  assert_false(nw_affine(p, nw_expr_parse(p, "i // 4"), 2, vars, coef, &rest));
}

static void vectors_fold(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const nw_expr *i = nw_var(p, "i"), *one = nw_index(p, 1);
  const nw_expr *r = nw_ramp(p, i, one, 8), *b = nw_broadcast(p, nw_index(p, 4), 8);
  assert_string_equal(text(nw_add(p, r, b)), "ramp(i + 4, 1, 8)");
  assert_string_equal(text(nw_mul(p, b, r)), "ramp(4*i, 4, 8)");
  assert_string_equal(text(nw_sub(p, r, r)), "broadcast(0, 8)");
  assert_string_equal(text(nw_lt(p, b, b)), "broadcast(false, 8)");
  assert_ptr_equal(nw_ramp(p, i, one, 1), i);
  const nw_expr *yes = nw_broadcast(p, nw_true(p), 8), *m = nw_lt(p, r, b);
  assert_ptr_equal(nw_and(p, m, yes), m);
}

// ---------------------------------------------------------------- folding keeps the value

typedef struct value {
  bool ok; // false: divided by zero
  int64_t i;
} value;

static value same_value(value v) { return v; }

static int64_t wrap_to(nw_dtype t, int64_t v) {
  int bits = 8 * nw_dtype_bytes(t);
  if (t == NW_BOOL) return v != 0;
  uint64_t m = (uint64_t)v << (64 - bits);
  return nw_dtype_is_signed(t) ? (int64_t)m >> (64 - bits) : (int64_t)(m >> (64 - bits));
}

static value binary_value(nw_op op, nw_dtype t, value a, value b) {
  if (!a.ok || !b.ok) return (value){false, 0};
  uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
  int64_t r = 0;
  switch (op) {
  case NW_OP_ADD: r = (int64_t)(x + y); break;
  case NW_OP_SUB: r = (int64_t)(x - y); break;
  case NW_OP_MUL: r = (int64_t)(x * y); break;
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: {
    if (b.i == 0) return (value){false, 0};
    int64_t q = a.i / b.i, m = a.i % b.i;
    if (m && (m < 0) != (b.i < 0)) q--, m += b.i;
    r = op == NW_OP_FLOORDIV ? q : m;
    break;
  }
  case NW_OP_MIN: r = a.i < b.i ? a.i : b.i; break;
  case NW_OP_MAX: r = a.i > b.i ? a.i : b.i; break;
  case NW_OP_LT: return (value){true, a.i < b.i};
  case NW_OP_LE: return (value){true, a.i <= b.i};
  case NW_OP_EQ: return (value){true, a.i == b.i};
  case NW_OP_NE: return (value){true, a.i != b.i};
  case NW_OP_AND: return (value){true, a.i && b.i};
  case NW_OP_OR: return (value){true, a.i || b.i};
  default: assert_true(false);
  }
  return (value){true, wrap_to(t, r)};
}

#define NVARS 3
static const char *const var_names[NVARS] = {"a", "b", "c"};

static value evaluate(const nw_expr *e, const int64_t *vars) {
  switch (e->op) {
  case NW_OP_INT: return (value){true, e->i};
  case NW_OP_VAR: return (value){true, vars[e->name[0] - 'a']};
  case NW_OP_NEG: return binary_value(NW_OP_SUB, e->type.dtype, (value){true, 0}, evaluate(e->arg[0], vars));
  case NW_OP_NOT: {
    value v = evaluate(e->arg[0], vars);
    return (value){v.ok, !v.i};
  }
  case NW_OP_ABS: {
    value v = evaluate(e->arg[0], vars);
    return v.i < 0 ? binary_value(NW_OP_SUB, e->type.dtype, (value){true, 0}, v) : v;
  }
  case NW_OP_SELECT: {
    value c = evaluate(e->arg[0], vars);
    return c.ok ? evaluate(e->arg[c.i ? 1 : 2], vars) : c;
  }
  case NW_OP_CAST: return same_value(evaluate(e->arg[0], vars));
  default: return binary_value(e->op, e->type.dtype, evaluate(e->arg[0], vars), evaluate(e->arg[1], vars));
  }
}

typedef struct sample {
  const nw_expr *e;
  value v[4];
} sample;

static sample random_number(nw_pool *p, nw_dtype t, int depth, int64_t (*vars)[NVARS]);

static sample combine(nw_pool *p, nw_op op, nw_dtype t, sample a, sample b) {
  sample s = {.e = nw_make2(p, op, a.e, b.e)};
  for (int k = 0; k < 4; k++) s.v[k] = binary_value(op, t, a.v[k], b.v[k]);
  return s;
}

static sample random_condition(nw_pool *p, nw_dtype t, int depth, int64_t (*vars)[NVARS]) {
  static const nw_op compare[] = {NW_OP_LT, NW_OP_LE, NW_OP_EQ, NW_OP_NE};
  int64_t kind = depth > 1 ? pick(0, 3) : 0;
  if (kind == 1 || kind == 2) {
    sample a = random_condition(p, t, depth - 1, vars), b = random_condition(p, t, depth - 1, vars);
    return combine(p, kind == 1 ? NW_OP_AND : NW_OP_OR, NW_BOOL, a, b);
  }
  if (kind == 3) {
    sample s = random_condition(p, t, depth - 1, vars);
    s.e = nw_make1(p, NW_OP_NOT, s.e);
    for (int k = 0; k < 4; k++) s.v[k].i = !s.v[k].i;
    return s;
  }
  return combine(p, compare[pick(0, 3)], t, random_number(p, t, depth - 1, vars), random_number(p, t, depth - 1, vars));
}

static sample random_leaf(nw_pool *p, nw_dtype t, int64_t (*vars)[NVARS]) {
  sample s;
  if (pick(0, 1)) {
    int64_t c = pick(0, 4) ? pick(-9, 9) : pick(-200, 200);
    s.e = nw_int(p, t, c);
    for (int k = 0; k < 4; k++) s.v[k] = (value){true, wrap_to(t, c)};
    return s;
  }
  int64_t which = pick(0, NVARS - 1);
  s.e = nw_var_of(p, var_names[which], (nw_type){(uint8_t)t, 1});
  for (int k = 0; k < 4; k++) s.v[k] = (value){true, vars[k][which]};
  return s;
}

static sample random_select(nw_pool *p, nw_dtype t, int depth, int64_t (*vars)[NVARS]) {
  sample c = random_condition(p, t, depth - 1, vars), a = random_number(p, t, depth - 1, vars),
         b = random_number(p, t, depth - 1, vars);
  sample s = {.e = nw_make(p, NW_OP_SELECT, a.e->type, 3, (const nw_expr *[]){c.e, a.e, b.e})};
  for (int k = 0; k < 4; k++) s.v[k] = !c.v[k].ok ? c.v[k] : c.v[k].i ? a.v[k] : b.v[k];
  return s;
}

static sample random_number(nw_pool *p, nw_dtype t, int depth, int64_t (*vars)[NVARS]) {
  static const nw_op ops[] = {NW_OP_ADD,      NW_OP_SUB, NW_OP_MUL, NW_OP_FLOORDIV,
                              NW_OP_FLOORMOD, NW_OP_MIN, NW_OP_MAX, NW_OP_ADD};
  if (depth <= 0) return random_leaf(p, t, vars);
  int64_t kind = pick(0, 9);
  if (kind == 8) return random_select(p, t, depth, vars);
  if (kind == 9) return random_leaf(p, t, vars);
  return combine(p, ops[kind], t, random_number(p, t, depth - 1, vars), random_number(p, t, depth - 1, vars));
}

// If the unfolded expression has a value, the folded expression must have the same value. Index values are so small
// that they do not overflow.
static void folding_keeps_the_value(void **state) {
  env *e = *state;
  if (getenv("NW_SEED")) rng = strtoull(getenv("NW_SEED"), NULL, 10);
  static const nw_dtype types[] = {NW_INDEX, NW_I8, NW_U8, NW_I32, NW_U32, NW_I16, NW_U16};
  for (int round = 0; round < 40000; round++) {
    nw_pool *p = nw_pool_new(e->c);
    nw_dtype t = types[pick(0, NW_COUNT(types) - 1)];
    int64_t vars[4][NVARS];
    for (int k = 0; k < 4; k++)
      for (int v = 0; v < NVARS; v++)
        vars[k][v] = wrap_to(t, t == NW_INDEX ? pick(-40, 40) : pick(INT32_MIN, INT32_MAX) >> pick(0, 31));
    uint64_t seed = rng;
    sample s = pick(0, 3) ? random_number(p, t, (int)pick(1, 4), vars) : random_condition(p, t, (int)pick(1, 4), vars);
    for (int k = 0; k < 4; k++) {
      if (!s.v[k].ok) continue;
      value got = evaluate(s.e, vars[k]);
      if (got.ok && got.i == s.v[k].i) continue;
      fail_msg("seed %llu %s: %s is %lld at a=%lld b=%lld c=%lld, not %lld", (unsigned long long)seed, nw_dtype_name(t),
               text(s.e), (long long)got.i, (long long)vars[k][0], (long long)vars[k][1], (long long)vars[k][2],
               (long long)s.v[k].i);
    }
    if (t == NW_INDEX) {
      const nw_expr *back = nw_expr_parse(p, text(s.e));
      if (strlen(text(s.e)) < 500 && back != s.e)
        fail_msg("does not parse back: %s vs %s", strdup(text(s.e)), strdup(text(back)));
    }
    assert_ptr_equal(nw_subst(p, s.e, "zz", nw_index(p, 1)), s.e);
    nw_pool_release(p);
  }
}

static float random_float(void) {
  static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 0x1p-149f, 3.4028235e38f};
  if (pick(0, 4) == 0) return special[pick(0, NW_COUNT(special) - 1)];
  return ldexpf((float)pick(-(1 << 24), 1 << 24), (int)pick(-40, 20));
}

static bool same_float(double a, double b) { return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0; }

// Constants must fold to the values that the processor computes in that dtype.
static void float_constants_fold_exactly(void **state) {
  env *e = *state;
  for (int round = 0; round < 20000; round++) {
    nw_pool *p = nw_pool_new(e->c);
    float a = random_float(), b = random_float();
    const nw_expr *x = nw_float(p, NW_F32, (double)a), *y = nw_float(p, NW_F32, (double)b);
    assert_true(same_float(nw_add(p, x, y)->f, (double)(a + b)));
    assert_true(same_float(nw_sub(p, x, y)->f, (double)(a - b)));
    assert_true(same_float(nw_mul(p, x, y)->f, (double)(a * b)));
    assert_true(same_float(nw_make2(p, NW_OP_DIV, x, y)->f, (double)(a / b)));
    assert_true(same_float(nw_make1(p, NW_OP_SQRT, x)->f, (double)sqrtf(a)));
    assert_int_equal(nw_lt(p, x, y)->i, a < b);
    assert_int_equal(nw_make2(p, NW_OP_NE, x, y)->i, a != b);
    const nw_expr *h = nw_cast(p, NW_F16, x), *w = nw_cast(p, NW_BF16, y);
    assert_true(same_float(h->f, (double)nw_f16_to_f32(nw_f32_to_f16(a))));
    assert_true(same_float(w->f, (double)nw_bf16_to_f32(nw_f32_to_bf16(b))));
    nw_pool_release(p);
  }
}

static void extrema_of_floats_pass_nan_on(void **state) {
  nw_pool *p = ((env *)*state)->p;
  const nw_expr *nan = nw_float(p, NW_F32, NAN), *one = nw_float(p, NW_F32, 1), *zero = nw_float(p, NW_F32, 0),
                *minus = nw_float(p, NW_F32, -0.0);
  assert_ptr_equal(nw_min(p, nan, one), nan);
  assert_ptr_equal(nw_max(p, one, nan), nan);
  assert_ptr_equal(nw_min(p, zero, minus), minus);
  assert_ptr_equal(nw_max(p, minus, zero), zero);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(sums_are_canonical),
      T(divisions_fold),
      T(comparisons_fold),
      T(selects_and_extrema_fold),
      T(floats_are_left_alone),
      T(constants_print_exactly),
      T(constants_of_every_dtype_parse_back),
      T(promotion_follows_the_table),
      T(literals_adapt),
      T(float_operations_make_integers_f32),
      T(ill_typed_operations_fail_with_a_hint),
      T(casts_fold),
      T(equal_means_the_same_pointer),
      T(symbols_follow_imports),
      T(interning_is_fast),
      T(substitution_folds),
      T(shared_subexpressions_are_visited_once),
      T(affine_parts),
      T(huge_expressions_are_refused),
      T(huge_constants_are_harmless),
      T(vectors_fold),
      T(float_constants_fold_exactly),
      T(extrema_of_floats_pass_nan_on),
      T(folding_keeps_the_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
