// Tests the work of a nest's statements: the operations by class and size, the number of executions, and the bytes.
#include "../lower/lowering.h"

static nw_nest_work work_of(lowering *l, const char *text) {
  nw_nest_work w;
  nw_loopnest *n = nw_loopnest_parse(l->c, text, NULL, 0, NULL, NULL);
  if (!n || !nw_loopnest_work(l->c, n, &w)) fail_msg("%s", nw_error(l->c)->message);
  nw_loopnest_free(n);
  return w;
}

static double times_of(const nw_nest_work *w, const char *name, int bits) {
  for (int i = 0; i < w->n; i++)
    if (w->row[i].bits == bits && !strcmp(w->row[i].name, name)) return w->row[i].count;
  return 0;
}

#define ARRAYS "array A: f64[100]\narray B: f32[100]\narray K: i16[100]\narray X: bytes(12)[100]\n"

// Signs within numbers, unary signs, and operators in indices are not counted as operations.
static void operations_as_written(void **state) {
  nw_nest_work w = work_of(*state, ARRAYS "for i in 0..10:\n  A[2*i + 1] += 1e-3*B[i] - -A[i]/x\n");
  assert_int_equal(w.n, 3);
  assert_true(times_of(&w, "add", 64) == 20 && times_of(&w, "mul", 64) == 10 && times_of(&w, "div64", 64) == 10);
  assert_true(w.statements == 10 && w.exact);
  assert_true(w.read == 10 * (8 + 4 + 8) && w.written == 10 * 8);
}

static void sizes_of_numbers(void **state) {
  nw_nest_work w =
      work_of(*state, ARRAYS "for i in 0..10:\n  B[i] = A[i]*A[i]\n  s = B[i] + A[i]\n  t = 1 + 2\n  K[i] *= 3\n"
                             "  X[i] -= 1\n  A[i : 4] = max(sqrt(A[i : 4]), f(s))\n");
  assert_true(times_of(&w, "mul", 32) == 10); // an operation has the size of its target B
  assert_true(times_of(&w, "add", 64) == 20); // scalar target: the widest operand, or 64 if all are scalars
  assert_true(times_of(&w, "intmul", 16) == 10);
  assert_true(times_of(&w, "add", 0) == 10); // X has bytes without a number type
  assert_true(times_of(&w, "sqrt64", 64) == 10 && times_of(&w, "minmax", 64) == 10);
  assert_true(w.calls == 10);
  assert_true(w.written == 10 * (4 + 2 + 12 + 32));
}

// Counts the executions of statements in triangles, in loops with steps, inside ifs, and in empty loops.
static void statements_count_as_often_as_they_run(void **state) {
  nw_nest_work w =
      work_of(*state, ARRAYS "for i in 0..10:\n  for j in 0..i step 2:\n    if i % 3 == 0 or j > 6:\n      s += A[j]\n"
                             "    else:\n      s *= A[j]\n  for j in i..i:\n    s /= A[j]\n");
  double then = 0, other = 0;
  for (int i = 0; i < 10; i++)
    for (int j = 0; j < i; j += 2) *(i % 3 == 0 || j > 6 ? &then : &other) += 1;
  assert_true(times_of(&w, "add", 64) == then && times_of(&w, "mul", 64) == other && w.n == 2);
}

static void more_than_can_be_counted_one_by_one(void **state) {
  nw_nest_work w =
      work_of(*state, "param N = 1000000\nfor i in 0..N:\n  for j in 0..N:\n    for k in 0..N:\n      s += 1\n");
  assert_true(w.statements == 1e18 && times_of(&w, "add", 64) == 1e18 && w.exact);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {
      T(operations_as_written),
      T(sizes_of_numbers),
      T(statements_count_as_often_as_they_run),
      T(more_than_can_be_counted_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
