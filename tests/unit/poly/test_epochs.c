// Tests reductions that are executed more than once, in overlapping tiles. Each tile starts from the init.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define HEAD "program rows\ninput A: f32[10, 6]\noutput R: f32[10]\n"
#define BLOCK(i) "block R of R (i = " i " in 0..10, reduce k = k in 0..6):\n"
#define AT(i, pad) BLOCK(i) pad "  init R[i] = 0.0\n" pad "  R[i] += A[i, k]\n"
#define SHIFTED "min(4*o, 6) + p"
static const char naive[] = HEAD "for i in 0..10:\n  for k in 0..6:\n    " AT("i", "    ");

// Three tiles of four rows cover ten rows, so the last tile starts at row 6. Rows 6 and 7 are summed twice, each time
// from the init.
static void overlapping_tiles(void **state) {
  accepts(*state, naive, HEAD "for o in 0..3:\n  for p in 0..4:\n    for k in 0..6:\n      " AT(SHIFTED, "      "),
          'v');
  accepts(*state, naive, HEAD "for o in 0..3:\n  for k in 0..6:\n    for p in 0..4:\n      " AT(SHIFTED, "      "),
          'v');
}

static void reduction_outside(void **state) {
  const nw_refusal *r =
      refuses(*state, naive, HEAD "for k in 0..6:\n  for o in 0..3:\n    for p in 0..4:\n      " AT(SHIFTED, "      "),
              NW_REFUSE_REDUCTION, "but gets a contribution before that");
  assert_string_equal(r->element, "R[6]");
}

// With one contribution, the loop over k has one iteration. This loop may be outside the loop over rows p, but not
// outside the loop over tiles o.
static void lifted_init(void **state) {
#define ONE "program rows\ninput A: f32[10, 1]\noutput R: f32[10]\n"
#define UPDATE(i)                                                                                                      \
  "block R of R (i = " i " in 0..10, reduce k = k in 0..1):\n        init R[i] = 0.0\n        R[i] += A[i, k]\n"
  static const char one[] = ONE "for i in 0..10:\n  for k in 0..1:\n      " UPDATE("i");
  refuses(*state, one, ONE "for k in 0..1:\n  for o in 0..3:\n    for p in 0..4:\n      " UPDATE(SHIFTED),
          NW_REFUSE_REDUCTION, "but gets a contribution before that");
  accepts(*state, one, ONE "for o in 0..3:\n  for k in 0..1:\n    for p in 0..4:\n      " UPDATE(SHIFTED), 'v');
}

#define INIT(i, pad) "init block S of R (i = " i " in 0..10):\n" pad "  R[i] = 0.0\n"
#define TILE_INIT "  for q in 0..4:\n    " INIT("min(4*o, 6) + q", "    ")
#define SUM(where) "block R of R (i = " SHIFTED " in 0..10, reduce k = k in 0..6)" where ":\n        R[i] += A[i, k]\n"
#define TILE_SUM(where) "  for p in 0..4:\n    for k in 0..6:\n      " SUM(where)

// A separate init must run again for each tile.
static void separate_init(void **state) {
  accepts(*state, naive, HEAD "for o in 0..3:\n" TILE_INIT TILE_SUM(""), 'v');
  refuses(*state, naive, HEAD "for i in 0..10:\n  " INIT("i", "  ") "for o in 0..3:\n" TILE_SUM(""),
          NW_REFUSE_REDUCTION, "one contribution twice");
}

// The last tile resets rows 6 and 7, and adds nothing to them.
static void reset_without_contributions(void **state) {
  refuses(*state, naive, HEAD "for o in 0..3:\n" TILE_INIT TILE_SUM(" where o < 2 or 2 <= p"), NW_REFUSE_REDUCTION,
          "but gets a contribution before that");
}

// A block that writes an output keeps its declared instances, even if it executes no others.
static void more_instances_of_an_output(void **state) {
  refuses(*state, naive,
          HEAD "for i in 0..12:\n  for k in 0..6:\n"
               "    block R of R (i = i in 0..12, reduce k = k in 0..6) where i < 10:\n"
               "      init R[i] = 0.0\n      R[i] += A[i, k]\n",
          NW_REFUSE_VALUE, "");
}

static void marks(void **state) {
  refuses(*state, naive,
          HEAD "parallel for o in 0..3:\n  for p in 0..4:\n    for k in 0..6:\n      " AT(SHIFTED, "      "),
          NW_REFUSE_REDUCTION, "another thread");
  accepts(*state, naive,
          HEAD "for o in 0..3:\n  vectorize for p in 0..4:\n    for k in 0..6:\n      " AT(SHIFTED, "      "), 0);
}

#define SYMBOLIC(lo) "program rows\nsize N >= " lo "\nsize K >= 0\ninput A: f32[N, K]\noutput R: f32[N]\n"
#define ANY(i)                                                                                                         \
  "block R of R (i = " i " in 0..N, reduce k = k in 0..K):\n        init R[i] = 0.0\n        R[i] += A[i, k]\n"
#define TILES "for o in 0..(N + 3) // 4:\n  for p in 0..4:\n    for k in 0..K:\n      " ANY("min(4*o, N - 4) + p")
#define PLAIN "for i in 0..N:\n  for k in 0..K:\n      " ANY("i")

static void symbolic(void **state) {
  accepts(*state, SYMBOLIC("4") PLAIN, SYMBOLIC("4") TILES, 'v');
  const nw_refusal *r =
      refuses(*state, SYMBOLIC("1") PLAIN, SYMBOLIC("1") TILES, NW_REFUSE_BOUNDS, "outside its domain");
  assert_non_null(r);
}

// A temporary may be computed beyond its end, but an output may not. A sum must get the same contributions as before.
#define PADDED(n, k)                                                                                                   \
  "program sums\ninput A: f32[16, 16]\noutput Y: f32[10]\ntemp X: f32[" n "]\nalloc X[0.." n "]:\n  for i in 0.." n    \
  ":\n    for k in 0.." k ":\n      block X of X (i = i in 0.." n ", reduce k = k in 0.." k                            \
  "):\n        init X[i] = 0.0\n        X[i] += A[i, k]\n  for j in 0..10:\n    block Y of Y (i = j in 0..10):\n"      \
  "      Y[i] = X[i]*2.0\n"

static void temporaries_computed_beyond_their_end(void **state) {
  accepts(*state, PADDED("10", "6"), PADDED("12", "6"), 'v');
  refuses(*state, PADDED("10", "6"), PADDED("17", "6"), NW_REFUSE_BOUNDS, "outside the allocated part of A");
  refuses(*state, PADDED("10", "6"), PADDED("12", "8"), NW_REFUSE_VALUE, "same expression");
  refuses(*state, PADDED("10", "6"), PADDED("9", "6"), NW_REFUSE_VALUE, "never written before");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(overlapping_tiles),
      T(reduction_outside),
      T(lifted_init),
      T(separate_init),
      T(reset_without_contributions),
      T(more_instances_of_an_output),
      T(marks),
      T(symbolic),
      T(temporaries_computed_beyond_their_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
