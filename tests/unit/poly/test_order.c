// Tests steps that are judged by the order of executions: reorders, skews, splits, fused loops, in-place updates.
#include "judging.h"

// A heat equation over time. S holds the values of all time steps.
#define HEAT                                                                                                           \
  "program heat\ninput A: f32[16]\noutput S: f32[8, 16]\n"                                                             \
  "for x in 0..16:\n  block S0 of S0 (t = 0 in 0..1, x = x in 0..16):\n    S[t, x] = A[x]\n"
#define HEAT_BODY "S[t, x] = S[t - 1, max(x - 1, 0)] + S[t - 1, min(x + 1, 15)]\n"
static const char heat[] =
    HEAT "for t in 1..8:\n  for y in 0..16:\n    block S of S (t = t in 1..8, x = y in 0..16):\n      " HEAT_BODY;

static void space_before_time(void **state) {
  static const char after[] =
      HEAT "for y in 0..16:\n  for t in 1..8:\n    block S of S (t = t in 1..8, x = y in 0..16):\n      " HEAT_BODY;
  const nw_refusal *r = refuses(*state, heat, after, NW_REFUSE_RAW, "before it is written");
  assert_string_equal(r->tensor, "S");
  assert_string_equal(r->element, "S[1, 1]");
  assert_string_equal(r->source, "(y=1, t=1)");
  assert_string_equal(r->sink, "(y=0, t=2)");
  assert_string_equal(r->distance, "(-1, 1)");
  assert_string_equal(r->loops[0], "y");
}

static void rectangular_tiles_of_time(void **state) {
  refuses(*state, heat,
          HEAT "for y_o in 0..4:\n  for t in 1..8:\n    for y_i in 0..4:\n"
               "      block S of S (t = t in 1..8, x = 4*y_o + y_i in 0..16):\n        " HEAT_BODY,
          NW_REFUSE_RAW, "before it is written");
}

// With z = y + t, every dependence points forward, so tiles of z may be outermost.
static void skewed_tiles(void **state) {
  static const char skewed[] = HEAT "for z_o in 0..6:\n  for t in 1..8:\n    for z_i in 0..4:\n"
                                    "      block S of S (t = t in 1..8, x = 4*z_o + z_i - t in 0..16) where 4*z_o + "
                                    "z_i - t >= 0 and 4*z_o + z_i - t < 16:\n"
                                    "        " HEAT_BODY;
  accepts(*state, heat, skewed, 'o');
  accepts(*state, skewed, heat, 'o');
}

// LINE sets all elements of X to 1. Each test adds a sweep that overwrites elements of X. A compute cannot express such
// a sweep, so these programs can be written only as text.
#define LINE "program line\noutput X: f32[64]\nfor z in 0..64:\n  block Z of Z (i = z in 0..64):\n    X[i] = 1.0\n"
static const char shift_up[] = LINE "for i in 1..63:\n  block X of X (i = i in 1..63):\n    X[i] = X[i + 1]\n";

static void backwards(void **state) {
  const nw_refusal *r =
      refuses(*state, shift_up, LINE "for i in 0..62:\n  block X of X (i = 62 - i in 1..63):\n    X[i] = X[i + 1]\n",
              NW_REFUSE_WAR, "already be overwritten");
  assert_string_equal(r->element, "X[62]");
  assert_string_equal(r->source, "(i=1)");
  assert_string_equal(r->sink, "(i=0)");
}

static void in_place_splits(void **state) {
  accepts(*state, shift_up,
          LINE "for o in 0..8:\n  for p in 0..8:\n    block X of X (i = 8*o + p + 1 in 1..63) where 8*o + p < 62:\n    "
               "  X[i] = X[i + 1]\n",
          'o');
}

static void in_place_reordered_tiles(void **state) {
  refuses(*state, shift_up,
          LINE "for p in 0..8:\n  for o in 0..8:\n    block X of X (i = 8*o + p + 1 in 1..63) where 8*o + p < 62:\n    "
               "  X[i] = X[i + 1]\n",
          NW_REFUSE_WAR, "already be overwritten");
}

// If two statements write the same element, the statement that writes last must stay the last.
static void last_writer(void **state) {
#define TWO "program two\ninput A: f32[8]\noutput X: f32[8]\n"
#define FIRST "for i in 0..8:\n  block P of P (i = i in 0..8):\n    X[i] = A[i]\n"
#define SECOND "for j in 0..8:\n  block Q of Q (i = j in 0..8):\n    X[i] = A[i] + 1.0\n"
  refuses(*state, TWO FIRST SECOND, TWO SECOND FIRST, NW_REFUSE_WAW, "would run first");
  accepts(*state, TWO FIRST SECOND,
          TWO "for i in 0..8:\n  block P of P (i = i in 0..8):\n    X[i] = A[i]\n"
              "  block Q of Q (i = i in 0..8):\n    X[i] = A[i] + 1.0\n",
          'o');
}

// ---- instances

#define ADD "program add\ninput A: f32[10]\noutput B: f32[10]\n"
static const char add[] = ADD "for i in 0..10:\n  block B of B (i = i in 0..10):\n    B[i] = A[i] + 1.0\n";

static void splits(void **state) {
  accepts(*state, add,
          ADD "for o in 0..3:\n  for p in 0..4:\n    block B of B (i = 4*o + p in 0..10) where 4*o + p < 10:\n      "
              "B[i] = A[i] + 1.0\n",
          'o');
  accepts(*state, add,
          ADD "for o in 0..2:\n  for p in 0..4:\n    block B of B (i = 4*o + p in 0..10):\n      B[i] = A[i] + 1.0\n"
              "for q in 0..2:\n  block B.tail of B (i = 8 + q in 0..10):\n    B[i] = A[i] + 1.0\n",
          'o');
}

static void dropped_tail(void **state) {
  const nw_refusal *r = refuses(
      *state, add,
      ADD "for o in 0..2:\n  for p in 0..4:\n    block B of B (i = 4*o + p in 0..10):\n      B[i] = A[i] + 1.0\n",
      NW_REFUSE_COVER, "B[8] is never written");
  assert_string_equal(r->element, "B[8]");
}

static void off_by_one(void **state) {
  refuses(*state, add, ADD "for i in 0..10:\n  block B of B (i = i + 1 in 0..10):\n    B[i] = A[i] + 1.0\n",
          NW_REFUSE_COVER, "B[0]");
  refuses(*state, add, ADD "for o in 0..11:\n  block B of B (i = o in 0..10):\n    B[i] = A[i] + 1.0\n",
          NW_REFUSE_BOUNDS, "outside its domain");
}

static void symbolic_split(void **state) {
#define SYM "program s\nsize N >= 1\ninput A: f32[N]\noutput B: f32[N]\n"
  static const char naive[] = SYM "for i in 0..N:\n  block B of B (i = i in 0..N):\n    B[i] = A[i] + 1.0\n";
  accepts(*state, naive,
          SYM "for o in 0..(N + 7) // 8:\n  for p in 0..8:\n    block B of B (i = 8*o + p in 0..N) where 8*o + p < "
              "N:\n      B[i] = A[i] + 1.0\n",
          'o');
  accepts(*state, naive,
          SYM
          "for o in 0..N // 8:\n  for p in 0..8:\n    block B of B (i = 8*o + p in 0..N):\n      B[i] = A[i] + 1.0\n"
          "for q in 0..N % 8:\n  block B.tail of B (i = 8*(N // 8) + q in 0..N):\n    B[i] = A[i] + 1.0\n",
          'o');
  const nw_refusal *r = refuses(
      *state, naive,
      SYM "for o in 0..N // 8:\n  for p in 0..8:\n    block B of B (i = 8*o + p in 0..N):\n      B[i] = A[i] + 1.0\n",
      NW_REFUSE_COVER, "B[0] is never written when N = 1");
  assert_string_equal(r->element, "B[0]");
  // N is divided into four parts, although it need not be a multiple of four.
  accepts(
      *state, naive,
      SYM
      "for o in 0..4:\n  for p in 0..(N + 3) // 4:\n"
      "    block B of B (i = o*((N + 3) // 4) + p in 0..N) where o*((N + 3) // 4) + p < N:\n      B[i] = A[i] + 1.0\n",
      'o');
}

static void a_fact_makes_tiles_whole(void **state) {
#define FACT "program s\nsize N >= 1\nfact N % 8 == 0\ninput A: f32[N]\noutput B: f32[N]\n"
  accepts(*state, FACT "for i in 0..N:\n  block B of B (i = i in 0..N):\n    B[i] = A[i] + 1.0\n",
          FACT
          "for o in 0..N // 8:\n  for p in 0..8:\n    block B of B (i = 8*o + p in 0..N):\n      B[i] = A[i] + 1.0\n",
          'o');
}

// ---- fused loops

static void fused(void **state) {
#define MAT "program m\nsize N >= 1\nsize M >= 1\ninput A: f32[N, M]\noutput B: f32[N, M]\n"
#define MAT_BODY "B[i, j] = A[i, j] + 1.0\n"
  static const char naive[] =
      MAT "for i in 0..N:\n  for j in 0..M:\n    block B of B (i = i in 0..N, j = j in 0..M):\n      " MAT_BODY;
  static const char one[] =
      MAT "for f in 0..fuse(N, M):\n  block B of B (i = f // M in 0..N, j = f % M in 0..M):\n    " MAT_BODY;
  accepts(*state, naive, one, 'o');
  accepts(*state, one,
          MAT
          "parallel for f in 0..fuse(N, M):\n  block B of B (i = f // M in 0..N, j = f % M in 0..M):\n    " MAT_BODY,
          'm');
#define TILES(e, where, body)                                                                                          \
  MAT "for f_o in 0..(N*M + 3) // 4:\n  for f_i in 0..4:\n    block B of B (i = (" e ") // M in 0..N, j = (" e         \
      ") % M in 0..M) where " where ":\n      " body
  // 4*f_o + f_i takes the same values as f, in the same order.
  accepts(*state, one, TILES("4*f_o + f_i", "4*f_o + f_i < N*M", MAT_BODY), 'm');
  accepts(*state, naive, TILES("4*f_o - f_i + 3", "4*f_o - f_i + 3 < N*M", MAT_BODY), 'o');
  // The following programs leave out or repeat some values of f. The last of them divides f by N instead of M.
  refuses(*state, one, TILES("4*f_o + f_i", "4*f_o + f_i < N*M - 1", MAT_BODY), NW_REFUSE_UNDECIDED, "not affine");
  refuses(*state, one, TILES("3*f_o + f_i", "3*f_o + f_i < N*M", MAT_BODY), NW_REFUSE_UNDECIDED, "not affine");
  refuses(*state, one, TILES("4*f_o + f_i + 1", "4*f_o + f_i + 1 < N*M", MAT_BODY), NW_REFUSE_UNDECIDED, "not affine");
  refuses(*state, one,
          MAT "for f_o in 0..N*M:\n  for f_i in 0..4:\n    block B of B (i = (3*f_o + f_i) // M in 0..N, "
              "j = (3*f_o + f_i) % M in 0..M) where 3*f_o + f_i < N*M:\n      " MAT_BODY,
          NW_REFUSE_UNDECIDED, "not affine");
  refuses(*state, one,
          MAT "for f_o in 0..N*M // 4:\n  for f_i in 0..4:\n    block B of B (i = (4*f_o + f_i) // M in 0..N, "
              "j = (4*f_o + f_i) % M in 0..M):\n      " MAT_BODY,
          NW_REFUSE_UNDECIDED, "not affine");
  refuses(*state, one,
          MAT "for f_o in 0..(N*M + 3) // 4:\n  for f_i in 0..4:\n    block B of B (i = (4*f_o + f_i) // N in 0..N, "
              "j = (4*f_o + f_i) % N in 0..M) where 4*f_o + f_i < N*M:\n      " MAT_BODY,
          NW_REFUSE_COVER, "B[0, 1] is never written when N = 1, M = 2");
}

// Each element of a row needs the previous element, so the pieces of the fused loop must run in the order of f.
static void fused_in_pieces(void **state) {
#define PLACE "program m\nsize N >= 1\nsize M >= 1\ninput A: f32[N, M]\noutput B: f32[N, M]\n"
#define NEXT "B[i, j] = select(0 < j, B[i, max(j - 1, 0)], A[i, j])\n"
  static const char naive[] =
      PLACE "for i in 0..N:\n  for j in 0..M:\n    block B of B (i = i in 0..N, ordered j = j in 0..M):\n      " NEXT;
#define PIECES(o, i)                                                                                                   \
  PLACE o i "    block B of B (i = (4*f_o + f_i) // M in 0..N, ordered j = (4*f_o + f_i) % M in 0..M) where "          \
            "4*f_o + f_i < N*M:\n      " NEXT
  accepts(*state, naive, PIECES("for f_o in 0..(N*M + 3) // 4:\n", "  for f_i in 0..4:\n"), 'o');
  refuses(*state, naive, PIECES("for f_i in 0..4:\n", "  for f_o in 0..(N*M + 3) // 4:\n"), NW_REFUSE_UNDECIDED,
          "run in another order");
}

// Another loop is between the pieces of a fused loop. The instances in one of its iterations keep their order, so they may
// depend on each other.
static void fused_around_another_loop(void **state) {
#define PLACES "program m\nsize N >= 1\nsize M >= 1\ninput A: f32[N, M]\noutput B: f32[8, N, M]\n"
#define NEXT_OF(c) "B[c, i, j] = select(0 < j, B[" c ", i, max(j - 1, 0)], A[i, j])\n"
#define NAIVE(c)                                                                                                       \
  PLACES "for c in 0..8:\n  for i in 0..N:\n    for j in 0..M:\n      block B of B (c = c in 0..8, i = i in 0..N, "    \
         "ordered j = j in 0..M):\n        " NEXT_OF(c)
#define AROUND(a, b, d, c)                                                                                             \
  PLACES a b d "      block B of B (c = c in 0..8, i = (4*f_o + f_i) // M in 0..N, ordered j = (4*f_o + f_i) % M in "  \
               "0..M) where 4*f_o + f_i < N*M:\n        " NEXT_OF(c)
#define OUTER "for f_o in 0..(N*M + 3) // 4:\n"
  accepts(*state, NAIVE("c"), AROUND(OUTER, "  for c in 0..8:\n", "    for f_i in 0..4:\n", "c"), 'o');
  refuses(*state, NAIVE("c"),
          AROUND("for f_i in 0..4:\n", "  for c in 0..8:\n", "    for f_o in 0..(N*M + 3) // 4:\n", "c"),
          NW_REFUSE_UNDECIDED, "run in another order");
  static const char naive[] = PLACES OUTER
      "  for f_i in 0..4:\n    for c in 0..8:\n      block B of B (c = c in 0..8, i = (4*f_o + f_i) // M in "
      "0..N, ordered j = (4*f_o + f_i) % M in 0..M) where 4*f_o + f_i < N*M:\n        " NEXT_OF("7 - c");
  refuses(*state, naive, AROUND(OUTER, "  for c in 0..8:\n", "    for f_i in 0..4:\n", "7 - c"), NW_REFUSE_UNDECIDED,
          "run in another order");
}

// The first dimension has one value, so f is j itself.
static void fused_with_one(void **state) {
#define ROW "program r\nsize M >= 1\ninput A: f32[1, M]\noutput B: f32[1, M]\n"
  accepts(*state,
          ROW "for i in 0..1:\n  for j in 0..M:\n    block B of B (i = i in 0..1, j = j in 0..M):\n      " MAT_BODY,
          ROW "for f in 0..fuse(1, M):\n  block B of B (i = 0 in 0..1, j = f in 0..M):\n    " MAT_BODY, 'o');
}

static void many_parts(void **state) {
  accepts(*state, SYM "for i in 0..N:\n  block B of B (i = i in 0..N):\n    B[i] = A[i] + 1.0\n",
          SYM "parallel for o in 0..32:\n  for p in 0..(N + 31) // 32:\n"
              "    block B of B (i = o*((N + 31) // 32) + p in 0..N) where o*((N + 31) // 32) + p < N:\n"
              "      B[i] = A[i] + 1.0\n",
          'o');
}

static void fused_and_split(void **state) {
#define BOX "program m\ninput A: f32[6, 10]\noutput B: f32[6, 10]\n"
  static const char naive[] =
      BOX "for i in 0..6:\n  for j in 0..10:\n    block B of B (i = i in 0..6, j = j in 0..10):\n      " MAT_BODY;
  accepts(*state, naive,
          BOX "for o in 0..8:\n  for p in 0..8:\n"
              "    block B of B (i = (8*o + p) // 10 in 0..6, j = (8*o + p) % 10 in 0..10) where 8*o + p < 60:\n     "
              " " MAT_BODY,
          'o');
  accepts(*state, naive,
          BOX "for f in 0..fuse(6, 2, 5):\n"
              "    block B of B (i = f // 10 in 0..6, j = f % 10 // 5*5 + f % 5 in 0..10):\n      " MAT_BODY,
          'o');
}

// ---- reductions

#define SUM "program sum\ninput A: f32[8, 32]\noutput R: f32[8]\n"
static const char sum[] = SUM "for i in 0..8:\n  for k in 0..32:\n    block R of R (i = i in 0..8, reduce k = k in "
                              "0..32):\n      init R[i] = 0.0\n      R[i] += A[i, k]\n";

static void reductions_reorder(void **state) {
  accepts(*state, sum,
          SUM "for k in 0..32:\n  for i in 0..8:\n    block R of R (i = i in 0..8, reduce k = k in 0..32):\n      init "
              "R[i] = 0.0\n      R[i] += A[i, k]\n",
          'o');
  accepts(*state, sum,
          SUM "for z in 0..8:\n  init block R_init of R (i = z in 0..8):\n    R[i] = 0.0\n"
              "for k in 0..32:\n  for i in 0..8:\n    block R of R (i = i in 0..8, reduce k = k in 0..32):\n      init "
              "R[i] = 0.0 elsewhere\n      R[i] += A[i, k]\n",
          'o');
}

static void init_after_the_first_update(void **state) {
  const nw_refusal *r = refuses(*state, sum,
                                SUM "for k in 0..32:\n  for i in 0..8:\n    block R of R (i = i in 0..8, reduce k = k "
                                    "in 0..32):\n      init R[i] = 0.0 elsewhere\n      R[i] += A[i, k]\n"
                                    "for z in 0..8:\n  init block R_init of R (i = z in 0..8):\n    R[i] = 0.0\n",
                                NW_REFUSE_REDUCTION, "but gets a contribution before that");
  assert_string_equal(r->element, "R[0]");
}

// The init of a block runs at the first value of the reduce axis. In a loop that runs backwards, this value comes last.
static void backwards_with_its_init(void **state) {
  refuses(*state, sum,
          SUM "for i in 0..8:\n  for k in 0..32:\n    block R of R (i = i in 0..8, reduce k = 31 - k in 0..32):\n      "
              "init R[i] = 0.0\n      R[i] += A[i, k]\n",
          NW_REFUSE_REDUCTION, "but gets a contribution before that");
}

static void a_contribution_twice(void **state) {
  const nw_refusal *r =
      refuses(*state, sum,
              SUM "for i in 0..8:\n  for k in 0..32:\n    for again in 0..2:\n      block R of R (i = i in 0..8, "
                  "reduce k = k in 0..32):\n        init R[i] = 0.0\n        R[i] += A[i, k]\n",
              NW_REFUSE_REDUCTION, "");
  assert_non_null(r->element);
  refuses(*state, sum,
          SUM "for z in 0..8:\n  init block R_init of R (i = z in 0..8):\n    R[i] = 0.0\n"
              "for i in 0..8:\n  for k_o in 0..4:\n    for k_i in 0..8:\n      block R of R (i = i in 0..8, reduce k = "
              "8*k_o + k_i in 0..32):\n        init R[i] = 0.0 elsewhere\n        R[i] += A[i, k]\n"
              "for y in 0..8:\n  for q in 0..2:\n    block R.tail of R (i = y in 0..8, reduce k = 30 + q in 0..32):\n  "
              "    init R[i] = 0.0 elsewhere\n      R[i] += A[i, k]\n",
          NW_REFUSE_REDUCTION, "twice");
}

static void a_contribution_lost(void **state) {
  refuses(*state, sum,
          SUM "for i in 0..8:\n  for k in 0..31:\n    block R of R (i = i in 0..8, reduce k = k in 0..32):\n      init "
              "R[i] = 0.0\n      R[i] += A[i, k]\n",
          NW_REFUSE_VALUE, "all its contributions");
}

// A sum over an empty axis is its init. The init runs although the loops over the axis have no iterations. A `where` of
// the block does not prevent the init, but an `if` around the block does.
static void reduction_over_nothing(void **state) {
#define EMPTY "program e\nsize K >= 0\ninput A: f32[8, K]\noutput R: f32[8]\n"
#define EMPTY_BODY "  init R[i] = 0.0\n        R[i] += A[i, k]\n"
  static const char naive[] = EMPTY
      "for i in 0..8:\n  for k in 0..K:\n    block R of R (i = i in 0..8, reduce k = k in 0..K):\n      " EMPTY_BODY;
  accepts(
      *state, naive,
      EMPTY
      "for k in 0..K:\n  for i in 0..8:\n    block R of R (i = i in 0..8, reduce k = k in 0..K):\n      " EMPTY_BODY,
      'o');
  accepts(*state, naive,
          EMPTY "for i in 0..8:\n  for o in 0..(K + 7) // 8:\n    for p in 0..8:\n"
                "      block R of R (i = i in 0..8, reduce k = 8*o + p in 0..K) where 8*o + p < K:\n"
                "        init R[i] = 0.0\n        R[i] += A[i, k]\n",
          'o');
  refuses(*state, naive,
          EMPTY "for i in 0..8:\n  for o in 0..(K + 7) // 8:\n    for p in 0..8:\n      if 8*o + p < K:\n"
                "        block R of R (i = i in 0..8, reduce k = 8*o + p in 0..K):\n"
                "          init R[i] = 0.0\n          R[i] += A[i, k]\n",
          NW_REFUSE_COVER, "when K = 0");
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(space_before_time),
      T(rectangular_tiles_of_time),
      T(skewed_tiles),
      T(backwards),
      T(in_place_splits),
      T(in_place_reordered_tiles),
      T(last_writer),
      T(splits),
      T(dropped_tail),
      T(off_by_one),
      T(symbolic_split),
      T(a_fact_makes_tiles_whole),
      T(fused),
      T(fused_in_pieces),
      T(fused_around_another_loop),
      T(fused_with_one),
      T(many_parts),
      T(fused_and_split),
      T(reductions_reorder),
      T(init_after_the_first_update),
      T(backwards_with_its_init),
      T(a_contribution_twice),
      T(a_contribution_lost),
      T(reduction_over_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
