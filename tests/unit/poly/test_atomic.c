// Tests atomic updates: which reductions several threads may update, and which they may not.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define SUM "program s\ninput A: f32[8, 16]\noutput R: f32[8]\n"
#define BODY "(i = i in 0..8, reduce k = k in 0..16):\n      init R[i] = 0.0\n      R[i] += A[i, k]\n"
static const char shared[] = SUM "for i in 0..8:\n  for k in 0..16:\n    atomic block R of R " BODY;

static void threads_share_updates(void **state) {
  accepts(*state, shared, SUM "for i in 0..8:\n  parallel for k in 0..16:\n    atomic block R of R " BODY, 'm');
  refuses(*state, shared, SUM "for i in 0..8:\n  parallel for k in 0..16:\n    block R of R " BODY, NW_REFUSE_REDUCTION,
          "by another thread");
}

// The init is executed when k is 0. The parallel loop f binds i and k, so one thread executes the init while other
// threads already add to the element.
static void init_among_the_threads(void **state) {
  static const char before[] = SUM "for f in 0..128:\n  atomic block R of R (i = f // 16 in 0..8, reduce k = f % 16 in "
                                   "0..16):\n    init R[i] = 0.0\n"
                                   "    R[i] += A[i, k]\n";
  refuses(*state, before,
          SUM "parallel for f in 0..128:\n  atomic block R of R (i = f // 16 in 0..8, reduce k = f % 16 in 0..16):\n"
              "    init R[i] = 0.0\n    R[i] += A[i, k]\n",
          NW_REFUSE_REDUCTION, "another thread contributes");
}

// The last contributions to half of the elements are added by a piece that is not atomic. These contributions conflict
// with updates by other threads.
static void a_piece_that_is_not_atomic(void **state) {
#define PIECES(mark)                                                                                                   \
  SUM "for z in 0..8:\n  init block R_init of R (i = z in 0..8):\n    R[i] = 0.0\n" mark                               \
      "for o in 0..2:\n  for i in 0..8:\n    for k in 0..8:\n      atomic block R of R (i = i in 0..8, reduce k = "    \
      "8*o + k in 0..16) where 8*o + k < 15:\n        init R[i] = 0.0 elsewhere\n        R[i] += A[i, k]\n"            \
      "  for j in 0..4:\n    block S of R (i = 4*o + j in 0..8, reduce k = 15 in 0..16):\n"                            \
      "      init R[i] = 0.0 elsewhere\n      R[i] += A[i, k]\n"
  refuses(*state, PIECES(""), PIECES("parallel "), NW_REFUSE_REDUCTION, "by another thread");
}

static void lanes(void **state) {
  static const char wide[] = SUM "for k in 0..16:\n  vectorize for i in 0..8:\n    atomic block R of R " BODY;
  refuses(*state, SUM "for k in 0..16:\n  for i in 0..8:\n    atomic block R of R " BODY, wide, NW_REFUSE_STRUCTURE,
          "lanes of i");
  accepts(*state, shared, SUM "for i in 0..8:\n  vectorize_reduce for k in 0..16:\n    atomic block R of R " BODY, 'm');
}

static void two_elements_at_a_time(void **state) {
#define LEAST                                                                                                          \
  "program l\ninput A: f32[8, 16]\noutput V: f32[8]\noutput W: i64[8]\nfor i in 0..8:\n  for k in 0..16:\n    "
#define LEAST_BODY                                                                                                     \
  "block V of V (i = i in 0..8, reduce k = k in 0..16):\n      init V[i] = f32(inf)\n      V[i] argmin= A[i, k]\n"     \
  "      init W[i] = -1\n      W[i] argmin= k\n"
  refuses(*state, LEAST LEAST_BODY, LEAST "atomic " LEAST_BODY, NW_REFUSE_STRUCTURE, "two elements at a time");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(threads_share_updates),  T(init_among_the_threads), T(a_piece_that_is_not_atomic), T(lanes),
      T(two_elements_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
