// Tests the columns of ops.def. The printed form of every row parses back, and on integers every row agrees with
// meaning.h.
#include "fixture.h"
#include <setjmp.h>
#include <cmocka.h>
#include "ir/expr/whole.h"
#include "meaning.h"

static char *applied(nw_op op, const char *operand) {
  nw_str s = {0};
  nw_str_fmt(&s, "%s(", nw_op_name(op));
  for (int i = 0; i < nw_op_arity(op); i++) nw_str_fmt(&s, "%s%s", i ? ", " : "", operand);
  nw_str_add(&s, ")");
  return nw_str_take(&s);
}

static const nw_expr *read_back(env *e, const nw_expr *x) {
  nw_str s = {0};
  nw_expr_print(&s, x);
  const nw_expr *again = nw_expr_parse(e->pool, s.s);
  if (again != x) fail_msg("%s is not read back", s.s);
  nw_str_free(&s);
  return again;
}

// False for leaves and for operations that only lowering makes, because their printed forms are not calls.
static bool is_called(nw_op op) { return !nw_op_has(op, 'L') && !nw_op_has(op, 'X') && nw_op_arity(op) > 0; }

static void every_operation_is_read_back(void **state) {
  env *e = *state;
  int n = 0;
  for (int i = 0; i < NW_OP_COUNT; i++) {
    nw_op op = (nw_op)i;
    if (!is_called(op)) continue;
    char *text = applied(op, nw_op_has(op, 'B') ? "i < j" : nw_op_has(op, 'I') ? "u8(i)" : "f32(i)");
    const nw_expr *x = nw_expr_parse(e->pool, text);
    if (!x) fail_msg("%s does not parse: %s", text, nw_error(e->c)->message);
    read_back(e, x);
    free(text);
    n++;
  }
  assert_true(n > 25);
}

static void assert_same(env *e, const char *a, const char *b) {
  const nw_expr *x = nw_expr_parse(e->pool, a), *y = nw_expr_parse(e->pool, b);
  if (!x || x != y) fail_msg("%s is not %s", a, b);
}

static void defined_operations_are_written_out(void **state) {
  env *e = *state;
  assert_same(e, "gt(i, j)", "j < i");
  assert_same(e, "ge(i, j)", "j <= i");
  assert_same(e, "sigmoid(f32(i))", "1.0/(1.0 + exp(-f32(i)))");
  assert_same(e, "clamp(i + j, 0, 7)", "min(max(i + j, 0), 7)");
  assert_same(e, "rsqrt(f64(i))", "f64(1)/sqrt(f64(i))");
}

// ---- the evaluator of integers

static const int64_t ends[] = {
    0, 1, -1, 2, -2, 3, 7, -7, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, INT64_C(3037000500)};

static bool leaves_64_bits(nw_op op, int64_t a, int64_t b) {
  int64_t r;
  switch (op) {
  case NW_OP_ADD: return __builtin_add_overflow(a, b, &r);
  case NW_OP_SUB: return __builtin_sub_overflow(a, b, &r);
  case NW_OP_MUL: return __builtin_mul_overflow(a, b, &r);
  case NW_OP_NEG:
  case NW_OP_ABS: return a == INT64_MIN;
  case NW_OP_FLOORDIV: return a == INT64_MIN && b == -1;
  case NW_OP_SHL: return b > 0 && b < 64 && (int64_t)((uint64_t)a << b) >> b != a;
  default: return false;
  }
}

static void check_value(nw_op op, nw_dtype t, int64_t a, int64_t b) {
  int64_t got;
  bool wraps = false, compares = nw_op_has(op, 'C'),
       is = nw_whole_op(op, t, compares ? NW_BOOL : t, a, b, &got, &wraps);
  value want = integer_op(op, t, a, b);
  if (is == want.none || (is && got != want.i))
    fail_msg("%s of %lld and %lld in %s", nw_op_name(op), (long long)a, (long long)b, nw_dtype_name(t));
  if (t == NW_I64) assert_int_equal(wraps, leaves_64_bits(op, a, b));
}

static void integer_operations_agree_with_meaning_h(void **state) {
  (void)state;
  for (int i = 0; i < NW_OP_COUNT; i++) {
    nw_op op = (nw_op)i;
    if (!is_called(op) || nw_op_is_defined(op) || nw_op_has(op, 'F')) continue;
    for (nw_dtype t = NW_BOOL; t <= NW_U64; t++)
      for (int a = 0; a < NW_COUNT(ends) && (t == NW_BOOL) == nw_op_has(op, 'B'); a++)
        for (int b = 0; b < NW_COUNT(ends); b++) check_value(op, t, nw_wrap(t, ends[a]), nw_wrap(t, ends[b]));
  }
}

static void sizes_beyond_64_bits_have_no_value(void **state) {
  env *e = *state;
  const char *name[] = {"M", "N"};
  int64_t value[] = {INT64_C(1) << 40, INT64_C(1) << 30}, out;
  const nw_expr *product = nw_expr_parse(e->pool, "M*N"), *either = nw_expr_parse(e->pool, "M*N < 5 or N == 2");
  assert_false(nw_eval_size(product, 2, name, value, &out));
  assert_true(nw_eval_int(product, &(nw_point){2, name, value}, &out));
  assert_int_equal(out, 0);
  value[1] = 2;
  assert_true(nw_eval_size(product, 2, name, value, &out));
  assert_int_equal(out, INT64_C(1) << 41);
  assert_true(nw_eval_size(either, 2, name, value, &out) && out);
  value[0] = INT64_MAX;
  assert_false(nw_eval_size(either, 2, name, value, &out));
  assert_false(nw_eval_size(nw_expr_parse(e->pool, "M // (N - 2)"), 2, name, value, &out));
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(every_operation_is_read_back),
      T(defined_operations_are_written_out),
      T(integer_operations_agree_with_meaning_h),
      T(sizes_beyond_64_bits_have_no_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
