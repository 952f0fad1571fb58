// Tests steps that leave out iterations of a reduction because these iterations add nothing.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define HEAD "program rows\ninput A: f32[10, 6]\noutput R: f32[10]\n"
#define INIT "for i_init in 0..10:\n  init block S of R (i = i_init in 0..10):\n    R[i] = 0.0\n"
#define BLOCK(body) "block R of R (i = i in 0..10, reduce k = k in 0..6):\n      R[i] " body "\n"
#define LOOPS(k, body) "for i in 0..10:\n  for k in " k ":\n    " BLOCK(body)
#define SUM(cond, rest) "+= select(" cond ", A[i, k], " rest ")"
#define APART(k, body) HEAD INIT LOOPS(k, body)

static void iterations_that_add_nothing_may_be_left_out(void **state) {
  accepts(*state, APART("0..6", SUM("k < i", "0.0")), APART("0..min(i, 6)", SUM("k < i", "0.0")), 'v');
  accepts(*state, APART("0..6", SUM("2 <= k and k < 5", "0.0")), APART("2..5", SUM("2 <= k and k < 5", "0.0")), 'v');
}

static void later_steps_are_judged_by_value(void **state) {
  accepts(*state, APART("2..5", SUM("2 <= k and k < 5", "0.0")),
          HEAD INIT "for k in 2..5:\n  for i in 0..10:\n    " BLOCK(SUM("2 <= k and k < 5", "0.0")), 'v');
}

static void iterations_that_add_something_must_stay(void **state) {
  refuses(*state, APART("0..6", SUM("k < i", "0.0")), APART("0..min(i, 5)", SUM("k < i", "0.0")), NW_REFUSE_VALUE,
          "does not get all its contributions");
  refuses(*state, APART("0..6", SUM("k < i", "0.0")), APART("1..min(i, 6)", SUM("k < i", "0.0")), NW_REFUSE_VALUE,
          "does not get all its contributions");
}

static void only_a_neutral_element_adds_nothing(void **state) {
  refuses(*state, APART("0..6", SUM("2 <= k", "1.0")), APART("2..6", SUM("2 <= k", "1.0")), NW_REFUSE_VALUE,
          "does not get all its contributions");
  refuses(*state, APART("0..6", "+= select(2 <= k, A[i, k], 0.0)*A[i, 0]"),
          APART("2..6", "+= select(2 <= k, A[i, k], 0.0)*A[i, 0]"), NW_REFUSE_VALUE,
          "does not get all its contributions");
}

// If data decide whether an iteration adds something, the iteration must stay.
static void conditions_of_data(void **state) {
  refuses(*state, APART("0..6", SUM("A[i, k] < 0.0", "0.0")), APART("2..6", SUM("A[i, k] < 0.0", "0.0")),
          NW_REFUSE_VALUE, "does not get all its contributions");
}

// Facts are cached by their content. A fact about one sum must not be used for another sum with the same loops.
static void another_condition_is_another_fact(void **state) {
  accepts(*state, APART("0..6", SUM("2 <= k", "0.0")), APART("2..6", SUM("2 <= k", "0.0")), 'v');
  refuses(*state, APART("0..6", SUM("1 <= k", "0.0")), APART("2..6", SUM("1 <= k", "0.0")), NW_REFUSE_VALUE,
          "does not get all its contributions");
}

int main(void) {
  const struct CMUnitTest tests[] = {T(iterations_that_add_nothing_may_be_left_out),
                                     T(later_steps_are_judged_by_value),
                                     T(iterations_that_add_something_must_stay),
                                     T(only_a_neutral_element_adds_nothing),
                                     T(conditions_of_data),
                                     T(another_condition_is_another_fact)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
