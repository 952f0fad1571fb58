// Tests steps that store a value at another element, from which the judge finds the instance that computes the value.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// ---- a sum whose results are copied in another shape

#define SUMS "program sums\ninput A: f32[5, 7, 3]\noutput D: f32[35]\n"
#define TEMP "temp P: f32[5, 7]\nalloc P[0..5, 0..7]:\n"
#define SUM_AT(to)                                                                                                     \
  "for i in 0..5:\n  for j in 0..7:\n    for k in 0..3:\n"                                                             \
  "      block P of P (i = i in 0..5, j = j in 0..7, reduce k = k in 0..3):\n        init " to " = 0.0\n        " to   \
  " += A[i, j, k]\n"
#define COPY(from) "for p in 0..35:\n  block D of D (p = p in 0..35):\n    D[p] = " from "\n"
#define INDENTED_SUM                                                                                                   \
  "  for i in 0..5:\n    for j in 0..7:\n      for k in 0..3:\n"                                                       \
  "        block P of P (i = i in 0..5, j = j in 0..7, reduce k = k in 0..3):\n          init P[i, j] = 0.0\n"         \
  "          P[i, j] += A[i, j, k]\n"
#define INDENTED_COPY(from) "  for p in 0..35:\n    block D of D (p = p in 0..35):\n      D[p] = " from "\n"
#define NAIVE SUMS TEMP INDENTED_SUM INDENTED_COPY("P[p // 7, p % 7]")

static void sum_stored_in_another_shape(void **state) {
  accepts(*state, NAIVE, SUMS SUM_AT("D[7*i + j]"), 'v');
  accepts(*state, SUMS SUM_AT("D[7*i + j]"), SUMS TEMP INDENTED_SUM INDENTED_COPY("P[p // 7, p % 7]"), 'v');
  refuses(*state, NAIVE, SUMS SUM_AT("D[5*j + i]"), NW_REFUSE_VALUE, "output D would no longer have the same values");
  refuses(*state, NAIVE, SUMS SUM_AT("D[34 - 7*i - j]"), NW_REFUSE_VALUE, "output D would no longer");
  refuses(*state, NAIVE, SUMS SUM_AT("D[8*i + j]"), NW_REFUSE_VALUE, "output D would no longer");
  refuses(*state, NAIVE, SUMS SUM_AT("D[6*i + j]"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, SUMS SUM_AT("D[7*i + j]"), SUMS TEMP INDENTED_SUM INDENTED_COPY("P[p % 5, p // 5]"), NW_REFUSE_VALUE,
          "output D would no longer");
}

// ---- a result with one dimension for each variable

#define ROWS "temp R: f32[5, 7]\nalloc R[0..5, 0..7]:\n"
#define INTO_ROWS(at)                                                                                                  \
  "  for i in 0..5:\n    for j in 0..7:\n      for k in 0..3:\n"                                                       \
  "        block R of P (i = i in 0..5, j = j in 0..7, reduce k = k in 0..3):\n          init R[" at "] = 0.0\n"       \
  "          R[" at "] += A[i, j, k]\n"
#define OUT_OF_ROWS(to, from)                                                                                          \
  "  for a in 0..5:\n    for b in 0..7:\n      block D of D_write (a = a in 0..5, b = b in 0..7):\n        D[" to      \
  "] = R[" from "]\n"

static void result_in_rows(void **state) {
  static const char line[] = SUMS SUM_AT("D[7*i + j]");
  accepts(*state, line, SUMS ROWS INTO_ROWS("i, j") OUT_OF_ROWS("7*a + b", "a, b"), 'v');
  accepts(*state, line, SUMS ROWS INTO_ROWS("4 - i, j") OUT_OF_ROWS("7*a + b", "4 - a, b"), 'v');
  accepts(*state, SUMS ROWS INTO_ROWS("i, j") OUT_OF_ROWS("7*a + b", "a, b"), line, 'v');
  refuses(*state, line, SUMS ROWS INTO_ROWS("4 - i, j") OUT_OF_ROWS("7*a + b", "a, b"), NW_REFUSE_VALUE,
          "output D would no longer");
  refuses(*state, line, SUMS ROWS INTO_ROWS("i, j") OUT_OF_ROWS("7*a + b", "4 - a, b"), NW_REFUSE_VALUE,
          "output D would no longer");
  refuses(*state, line, SUMS ROWS INTO_ROWS("i, j") OUT_OF_ROWS("7*a + 6 - b", "a, b"), NW_REFUSE_VALUE,
          "output D would no longer");
}

// ---- a temporary

#define STAGES "program stages\ninput A: f32[8]\noutput Y: f32[8]\ntemp X: f32[8]\nalloc X[0..8]:\n"
#define X_AT(at) "  for i in 0..8:\n    block X of X (i = i in 0..8):\n      X[" at "] = A[i]*2.0\n"
#define Y_OF(at) "  for j in 0..8:\n    block Y of Y (j = j in 0..8):\n      Y[j] = X[" at "] + 1.0\n"

static void temporary(void **state) {
  static const char naive[] = STAGES X_AT("i") Y_OF("j");
  accepts(*state, naive, STAGES X_AT("7 - i") Y_OF("7 - j"), 'v');
  accepts(*state, STAGES X_AT("7 - i") Y_OF("7 - j"), naive, 'v');
  refuses(*state, naive, STAGES X_AT("7 - i") Y_OF("j"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, naive, STAGES X_AT("i") Y_OF("7 - j"), NW_REFUSE_VALUE, "the same expression");
}

// No inverse of this index is found, so the element does not tell the instance, although it could.
static void no_inverse(void **state) {
  static const char naive[] = STAGES X_AT("i") Y_OF("j");
  refuses(*state, naive, STAGES X_AT("3*i % 8") Y_OF("j"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, naive, STAGES X_AT("3*i % 8") Y_OF("3*j % 8"), NW_REFUSE_VALUE, "the same expression");
  accepts(*state, STAGES X_AT("3*i % 8") Y_OF("j"), STAGES X_AT("3*i % 8") Y_OF("j"), 'm');
}

int main(void) {
  const struct CMUnitTest tests[] = {T(sum_stored_in_another_shape), T(result_in_rows), T(temporary), T(no_inverse)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
