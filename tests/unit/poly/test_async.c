// Tests which accesses the judge refuses while an asynchronous copy may be in flight.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// Replaces each @ by `by`.
static char *with(const char *form, const char *by) {
  nw_str s = {0};
  for (; *form; form++) nw_str_addn(&s, *form == '@' ? by : form, *form == '@' ? strlen(by) : 1);
  return nw_str_take(&s);
}

static const nw_refusal *tries(void **state, const char *form, nw_refusal_kind kind, const char *why) {
  char *before = with(form, ""), *after = with(form, "async ");
  const nw_refusal *r = NULL;
  if (why)
    r = refuses(*state, before, after, kind, why);
  else
    accepts(*state, before, after, 'm');
  free(before);
  free(after);
  return r;
}

// X is computed one iteration early, and copied to T.
#define STAGES(layout)                                                                                                 \
  "program source\ninput A: i32[8]\noutput Y: i32[8]\ntemp X: i32[8] " layout "\n"                                     \
  "temp T: i32[8] layout [_0 % 2] in [2]\nalloc X[0..8]\nalloc T[0..8]\n"                                              \
  "block X.pre of X (i = 0 in 0..8):\n  X[i] = A[i]*2\n"                                                               \
  "@block T.pre of T (i = 0 in 0..8):\n  T[i] = X[i]\n"                                                                \
  "for i in 0..8:\n  block X of X (i = i + 1 in 0..8) where i <= 6:\n    X[i] = A[i]*2\n"                              \
  "  @block T of T (i = i + 1 in 0..8) where i <= 6:\n    T[i] = X[i]\n"                                               \
  "  block Y of Y (i = i in 0..8):\n    Y[i] = T[i] + 1\n"

static void the_source_is_not_overwritten(void **state) {
  tries(state, STAGES(""), 0, NULL);
  const nw_refusal *r = tries(state, STAGES("layout [_0 % 1] in [1]"), NW_REFUSE_WAR, "X[0] is copied at ()");
  assert_string_equal(r->source_block, "T.pre");
  assert_string_equal(r->sink_block, "X");
  assert_string_equal(r->sink, "(i=0)");
  tries(state, STAGES("layout [_0 % 2] in [2]"), 0, NULL); // the wait is before the next iteration
}

// T is copied, and then partly written again.
#define TWICE(reader)                                                                                                  \
  "program twice\ninput A: i32[8]\ninput B: i32[8]\noutput Y: i32[8]\noutput Z: i32[8]\ntemp T: i32[8]\nalloc "        \
  "T[0..8]\n"                                                                                                          \
  "for i in 0..8:\n  @block T of T (i = i in 0..8):\n    T[i] = A[i]\n" reader                                         \
  "  block U of U (i = i in 0..8) where i <= 3:\n    T[i] = B[i]\n"                                                    \
  "  block Y of Y (i = i in 0..8):\n    Y[i] = T[i] + 1\n"
#define READS "  block Z of Z (i = i in 0..8):\n    Z[i] = T[i]\n"
#define FILLS "  block Z of Z (i = i in 0..8):\n    Z[i] = A[i]\n"

static void an_element_is_not_written_again(void **state) {
  tries(state, TWICE(READS), 0, NULL);
  const nw_refusal *r = tries(state, TWICE(FILLS), NW_REFUSE_WAW, "T[0] is copied at (i=0), and written again");
  assert_string_equal(r->sink_block, "U");
}

// The part of each iteration is stored at the same place, and each copy is repeated.
static void a_copy_is_not_repeated(void **state) {
  static const char form[] = "program again\ninput A: i32[8]\noutput Y: i32[8]\ntemp T: i32[8]\nfor i in 0..8:\n"
                             "  alloc T[i..i + 1]:\n    for j in 0..2:\n      @block T of T (i = i in 0..8):\n"
                             "        T[i] = A[i]\n    block Y of Y (i = i in 0..8):\n      Y[i] = T[i] + 1\n";
  tries(state, form, NW_REFUSE_WAW, "T[0] is copied at (i=0, j=0), and written again at (0, 1)");
}

// The source is overwritten in the next iteration, after a wait. On a grid, another thread may do this before this thread
// has waited.
#define BLOCK(thread)                                                                                                  \
  "program block\ninput A: i32[4, 8]\noutput Y: i32[4, 8]\ntemp X: i32[4, 8] layout [_1] in [8]\n"                     \
  "temp T: i32[4, 8] shared\nalloc X[0..4, 0..8]\nalloc T[0..4, 0..8]:\n  for i in 0..4:\n"                            \
  "    " thread "for a in 0..8:\n      block X of X (i = i in 0..4, j = a in 0..8):\n        X[i, j] = A[i, j]*2\n"    \
  "    " thread "for b in 0..8:\n      @block T of T (i = i in 0..4, j = b in 0..8):\n        T[i, j] = X[i, 7 - j]\n" \
  "    " thread "for c in 0..8:\n      block Y of Y (i = i in 0..4, j = c in 0..8):\n        Y[i, j] = T[i, j]\n"

static void a_wait_does_not_hold_back_other_threads(void **state) {
  tries(state, BLOCK(""), 0, NULL);
  tries(state, BLOCK("threadIdx.x "), NW_REFUSE_UNDECIDED,
        "is copied at (i=0, b=0), and overwritten at (i=1, a=7), and a wait does not hold back other threads");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(the_source_is_not_overwritten),
      T(an_element_is_not_written_again),
      T(a_copy_is_not_repeated),
      T(a_wait_does_not_hold_back_other_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
