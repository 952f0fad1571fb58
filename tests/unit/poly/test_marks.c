// Tests dependences that parallel and vectorized loops carry, and conditions on storage and layouts.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define GEMM "program gemm\ninput A: f32[64, 64]\ninput B: f32[64, 64]\noutput C: f32[64, 64]\n"
#define UPDATE "block C of C (i = i in 0..64, j = j in 0..64, reduce k = 16*k_o + k_i in 0..64):\n"
static char *gemm(const char *i, const char *j, const char *k_o, const char *k_i) {
  nw_str s = {0};
  nw_str_fmt(
      &s,
      GEMM "%sfor i in 0..64:\n  %sfor j in 0..64:\n    %sfor k_o in 0..4:\n      %sfor k_i in 0..16:\n        " UPDATE
           "          init C[i, j] = 0.0\n          C[i, j] += A[i, k]*B[k, j]\n",
      i, j, k_o, k_i);
  return nw_str_take(&s);
}

// Marks the loops of a GEMM. If `message` is NULL, the step must be accepted. Otherwise it must be refused with
// `message`.
static void tries(void **state, const char *i, const char *j, const char *k_o, const char *k_i, const char *message,
                  nw_refusal_kind kind) {
  char *before = gemm("", "", "", ""), *after = gemm(i, j, k_o, k_i);
  if (message)
    assert_string_equal(refuses(*state, before, after, kind, "")->message, message);
  else
    accepts(*state, before, after, 'm');
  free(before);
  free(after);
}

static void spatial_loops(void **state) {
  tries(state, "parallel ", "", "", "", NULL, 0);
  tries(state, "", "parallel ", "", "", NULL, 0);
  tries(state, "parallel ", "vectorize ", "", "", NULL, 0);
}

static void reduction_in_parallel(void **state) {
  env *e = *state;
  tries(state, "", "", "parallel ", "", "cannot run k_o in parallel", NW_REFUSE_REDUCTION);
  const nw_refusal *r = nw_error(e->c)->refusal;
  assert_string_equal(r->tensor, "C");
  assert_string_equal(r->element, "C[0, 0]");
  assert_string_equal(r->source, "(i=0, j=0, k_o=0)");
  assert_string_equal(r->sink, "(i=0, j=0, k_o=1)");
  assert_string_equal(r->distance, "1");
  assert_string_equal(r->loops[0], "k_o");
  assert_string_equal(
      r->why, "C[0, 0] is written at (i=0, j=0, k_o=0), and read and written again at (0, 0, 1) by another thread");
  tries(state, "", "", "", "parallel ", "cannot run k_i in parallel", NW_REFUSE_REDUCTION);
}

// A recurrence along i in tiles. The loop i_i carries it: between the two loops along i, there is a loop along j.
static char *tiled_recurrence(const char *i_o, const char *j_o, const char *i_i, const char *j_i) {
  nw_str s = {0};
  nw_str_fmt(&s,
             "program Y\ninput A: f32[33, 16]\noutput Y: f32[33, 16]\nfor i in 0..1:\n  for j in 0..16:\n"
             "    block Y_init of Y_init (i = i in 0..1, j = j in 0..16):\n      Y[i, j] = A[i, j]\n"
             "%sfor i_o in 0..4:\n  %sfor j_o in 0..4:\n    %sfor i_i in 0..8:\n      %sfor j_i in 0..4:\n"
             "        block Y of Y (ordered i = 8*i_o + i_i + 1 in 1..33, j = 4*j_o + j_i in 0..16):\n"
             "          Y[i, j] = Y[i - 1, j] + A[i, j]\n",
             i_o, j_o, i_i, j_i);
  return nw_str_take(&s);
}

static void recurrence_in_tiles(void **state) {
  char *before = tiled_recurrence("", "", "", "");
  for (int loop = 0; loop < 4; loop++)
    for (int lanes = 0; lanes < 2; lanes++) {
      const char *mark[4] = {"", "", "", ""};
      mark[loop] = lanes ? "vectorize " : "parallel ";
      char *after = tiled_recurrence(mark[0], mark[1], mark[2], mark[3]);
      if (loop % 2 && (loop == 3 || !lanes)) accepts(*state, before, after, 'm');
      if (loop % 2 == 0) refuses(*state, before, after, NW_REFUSE_RAW, "");
      free(after);
    }
  free(before);
}

static void reduction_in_lanes(void **state) {
  tries(state, "", "", "", "vectorize ", "cannot vectorize k_i", NW_REFUSE_REDUCTION);
  tries(state, "", "", "", "vectorize_reduce ", NULL, 0);
  tries(state, "", "", "vectorize_reduce ", "", NULL, 0);
  tries(state, "parallel ", "", "", "vectorize_reduce ", NULL, 0);
  tries(state, "", "vectorize_reduce ", "", "", NULL, 0);
  tries(state, "", "vectorize ", "", "vectorize_reduce ", "cannot vectorize k_i", NW_REFUSE_STRUCTURE);
}

// One loop runs over the elements and over their contributions, so the lanes do not share one element.
static void lanes_of_several_elements(void **state) {
#define ROWS_OF(mark)                                                                                                  \
  "program s\ninput A: f32[8, 4]\noutput R: f32[8]\nfor z in 0..8:\n  init block R_init of R (i = z in 0..8):\n    "   \
  "R[i] "                                                                                                              \
  "= 0.0\n" mark                                                                                                       \
  "for f in 0..32:\n  block R of R (i = f // 4 in 0..8, reduce k = f % 4 in 0..4):\n    init R[i] = 0.0 elsewhere\n"   \
  "    R[i] += A[i, k]\n"
  refuses(*state, ROWS_OF(""), ROWS_OF("vectorize_reduce "), NW_REFUSE_REDUCTION, "in another lane");
}

// Each row asks for something that accumulators in lanes cannot do: an init in one of the lanes, a guard that may skip
// the init of an element as well as its contributions, and a number of elements that varies.
static void lanes_without_accumulators(void **state) {
#define IN_LANES(head, mark, guard)                                                                                    \
  "program s\ninput A: f32[8, 4]\noutput R: f32[8]\n" head "for f in 0..8:\n  " mark                                   \
  "for k in 0..4:\n    block R of R (i = f in 0..8, reduce k = k in 0..4)" guard ":\n"
#define OWN "      init R[i] = 0.0\n      R[i] += A[i, k]\n"
#define APART "      init R[i] = 0.0 elsewhere\n      R[i] += select(k <= i, A[i, k], 0.0)\n"
#define FIRST "for z in 0..8:\n  init block R_init of R (i = z in 0..8):\n    R[i] = 0.0\n"
#define LAST(mark)                                                                                                     \
  "program s\ninput A: f32[8, 4]\noutput R: f32[8]\nfor f in 0..16:\n  " mark                                          \
  "for k in 0..2:\n    block R of R (i = f // 2 in 0..8, reduce k = 2*(f % 2) + k in 0..4):\n" OWN
  accepts(*state, IN_LANES("", "", "") OWN, IN_LANES("", "vectorize_reduce ", "") OWN, 'm');
  accepts(*state, IN_LANES(FIRST, "", "") APART, IN_LANES(FIRST, "vectorize_reduce ", "") APART, 'm');
  refuses(*state, IN_LANES(FIRST, "", " where k <= f") APART,
          IN_LANES(FIRST, "vectorize_reduce ", " where k <= f") APART, NW_REFUSE_STRUCTURE,
          "the guard of R depends on both the reduction and f");
  refuses(*state, LAST(""), LAST("vectorize_reduce "), NW_REFUSE_STRUCTURE, "the init of R is not before k");
#define TRIANGLE(mark)                                                                                                 \
  "program s\ninput A: f32[8, 4]\noutput R: f32[8]\n" FIRST "for o in 0..2:\n  " mark                                  \
  "for k in 0..4:\n    for f in 4*o..4*o + 4*(o + 1) - 4*o:\n      block R of R (i = f in 0..8, reduce k = k in "      \
  "0..4) "                                                                                                             \
  "where f < 4*o + 4:\n        init R[i] = 0.0 elsewhere\n        R[i] += A[i, k]\n"
  refuses(*state, TRIANGLE(""), TRIANGLE("vectorize_reduce "), NW_REFUSE_STRUCTURE,
          "the number of elements of R varies with the bounds of f");
}

// A separate init does not help, because updates still conflict.
static void decomposed_reduction(void **state) {
#define SUM                                                                                                            \
  "program sum\ninput A: f32[8, 32]\noutput R: f32[8]\nfor z in 0..8:\n  init block R_init of R (i = z in 0..8):\n   " \
  " R[i] = 0.0\n"
#define SUM_BODY                                                                                                       \
  "block R of R (i = i in 0..8, reduce k = k in 0..32):\n      init R[i] = 0.0 elsewhere\n      R[i] += A[i, k]\n"
  refuses(*state, SUM "for i in 0..8:\n  for k in 0..32:\n    " SUM_BODY,
          SUM "for i in 0..8:\n  parallel for k in 0..32:\n    " SUM_BODY, NW_REFUSE_REDUCTION, "another thread");
  refuses(*state, SUM "for i in 0..8:\n  for k in 0..32:\n    " SUM_BODY,
          SUM "for i in 0..8:\n  vectorize for k in 0..32:\n    " SUM_BODY, NW_REFUSE_REDUCTION, "another lane");
}

static void marks_inside_marks(void **state) {
  tries(state, "parallel ", "parallel ", "", "", "cannot run j in parallel", NW_REFUSE_STRUCTURE);
  tries(state, "vectorize ", "vectorize ", "", "", "cannot vectorize j", NW_REFUSE_STRUCTURE);
  tries(state, "vectorize ", "parallel ", "", "", "cannot run j in parallel", NW_REFUSE_STRUCTURE);
}

#define SWEEP                                                                                                          \
  "program sweep\ninput A: f32[16]\noutput S: f32[8, 16]\nfor x in 0..16:\n  block S0 of S0 (t = 0 in 0..1, x = x in " \
  "0..16):\n    S[t, x] = A[x]\n"
#define SWEEP_BODY                                                                                                     \
  "    block S of S (t = t in 1..8, x = y in 0..16):\n      S[t, x] = S[t - 1, x] + select(x > 0, S[t, max(x - 1, "    \
  "0)], 0.0)\n"

static void recurrences(void **state) {
  static const char before[] = SWEEP "for t in 1..8:\n  for y in 0..16:\n" SWEEP_BODY;
  const nw_refusal *r = refuses(*state, before, SWEEP "for t in 1..8:\n  parallel for y in 0..16:\n" SWEEP_BODY,
                                NW_REFUSE_RAW, "another thread");
  assert_string_equal(r->element, "S[1, 0]");
  refuses(*state, before, SWEEP "parallel for t in 1..8:\n  for y in 0..16:\n" SWEEP_BODY, NW_REFUSE_RAW,
          "another thread");
  refuses(*state, before, SWEEP "for t in 1..8:\n  vectorize for y in 0..16:\n" SWEEP_BODY, NW_REFUSE_RAW,
          "another lane");
}

// ---- storage under marks

static void private_or_shared(void **state) {
#define HEAD "program stages\ninput A: f32[64]\noutput Y: f32[62]\ntemp X: f32[64]\n"
#define INSIDE(mark)                                                                                                   \
  HEAD mark "for j in 0..62:\n  alloc X[0..64]:\n    for a in 0..3:\n      block X of X (i = j + a in 0..64):\n      " \
            "  X[i] = A[i]*2.0\n"                                                                                      \
            "    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n"
#define OUTSIDE(mark)                                                                                                  \
  HEAD "alloc X[0..64]:\n  " mark                                                                                      \
       "for j in 0..62:\n    for a in 0..3:\n      block X of X (i = j + a in 0..64):\n        X[i] = A[i]*2.0\n"      \
       "    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n"
  accepts(*state, INSIDE(""), INSIDE("parallel "), 'm');
  refuses(*state, INSIDE("parallel "), OUTSIDE("parallel "), NW_REFUSE_WAW, "another thread");
  refuses(*state, OUTSIDE(""), OUTSIDE("parallel "), NW_REFUSE_WAW, "another thread");
}

static void vector_shape(void **state) {
#define VEC "program v\nsize N >= 1\ninput A: f32[1024, N]\noutput B: f32[1024, N]\n"
#define VEC_BODY "    block B of B (i = i in 0..1024, j = j in 0..N):\n      B[i, j] = A[i, j]\n"
  static const char before[] = VEC "for i in 0..1024:\n  for j in 0..N:\n" VEC_BODY;
  refuses(*state, before, VEC "for i in 0..1024:\n  vectorize for j in 0..N:\n" VEC_BODY, NW_REFUSE_STRUCTURE,
          "not a constant");
  refuses(*state, before, VEC "for i in 0..1024:\n  unroll for j in 0..N:\n" VEC_BODY, NW_REFUSE_STRUCTURE,
          "cannot be unrolled");
  refuses(*state, before, VEC "vectorize for i in 0..1024:\n  for j in 0..N:\n" VEC_BODY, NW_REFUSE_STRUCTURE,
          "too wide");
#define TRI "program t\ninput A: f32[8, 8]\noutput B: f32[8, 8]\n"
#define TRI_BODY(range)                                                                                                \
  "  for j in " range ":\n    block B of B (i = i in 0..8, j = j in 0..8):\n      B[i, j] = A[i, j]\n"
#define TRI_REST                                                                                                       \
  "for y in 0..8:\n  for x in y + 1..8:\n    block B.rest of B (i = y in 0..8, j = x in 0..8):\n      B[i, j] = A[i, " \
  "j]\n"
  static const char triangle[] = TRI "for i in 0..8:\n" TRI_BODY("0..i + 1") TRI_REST;
  refuses(*state, triangle, TRI "vectorize for i in 0..8:\n" TRI_BODY("0..i + 1") TRI_REST, NW_REFUSE_STRUCTURE,
          "would need different numbers of iterations");
}

// The guard leaves only one lane active, so there is no dependence. But the target is the same element in all four
// lanes.
static void one_lane(void **state) {
#define ONE(mark, n, guard)                                                                                            \
  "program o\ninput A: f32[1]\noutput B: f32[1]\n" mark "for i in 0.." n ":\n  block B of B (i = i in 0..1)" guard     \
  ":\n"                                                                                                                \
  "    B[0] = A[i]\n"
  accepts(*state, ONE("", "1", ""), ONE("vectorize ", "1", ""), 0);
  refuses(*state, ONE("", "4", " where i < 1"), ONE("vectorize ", "4", " where i < 1"), NW_REFUSE_STRUCTURE,
          "every lane of i writes the same element of B");
}

// The storage of a buffer in a loop is allocated once, for the largest size that the buffer has in any iteration.
static void storage_in_loops(void **state) {
#define SQUARE "program r\nsize N >= 0\ninput A: f32[N, N]\noutput B: f32[N, N]\n"
#define ROOM(end)                                                                                                      \
  SQUARE "temp X: f32[N, N]\nfor f in 0..fuse(N, N):\n  alloc X[f // N..f // N + 1, 0.." end "]:\n"                    \
         "    block X of X (i = f // N in 0..N, j = f % N in 0..N):\n      X[i, j] = A[i, j]\n"                        \
         "    block B of B (i = f // N in 0..N, j = f % N in 0..N):\n      B[i, j] = X[i, j]\n"
  static const char naive[] = SQUARE
      "for i in 0..N:\n  for j in 0..N:\n    block B of B (i = i in 0..N, j = j in 0..N):\n      B[i, j] = A[i, j]\n";
  accepts(*state, naive, ROOM("N"), 0);
  refuses(*state, naive, ROOM("max(f // N, f % N) - min(f // N, f % N) + 1"), NW_REFUSE_CAPACITY,
          "the size of X has no bound over the enclosing loops");
}

static void stack(void **state) {
#define BIG(scope, n)                                                                                                  \
  "program b\ninput A: f32[" n "]\noutput B: f32[" n "]\ntemp X: f32[" n "]" scope "\nalloc X[0.." n "]:\n"            \
  "  for i in 0.." n ":\n    block X of X (i = i in 0.." n "):\n      X[i] = A[i] + 1.0\n"                             \
  "  for j in 0.." n ":\n    block B of B (i = j in 0.." n "):\n      B[i] = X[i]\n"
  accepts(*state, BIG("", "65536"), BIG(" local", "65536"), 0);
  refuses(*state, BIG("", "65537"), BIG(" local", "65537"), NW_REFUSE_CAPACITY, "fit on the stack");
}

// Each lane has its own elements: 64 lanes of 1024 elements fit on the stack, and 64 lanes of 1025 do not.
static void stack_of_lanes(void **state) {
#define LANES(mark, n)                                                                                                 \
  "program l\ninput A: f32[64, " n "]\noutput B: f32[64, " n "]\ntemp X: f32[64, " n "] local\n" mark                  \
  "for i in 0..64:\n  alloc X[i..i + 1, 0.." n "]:\n    for j in 0.." n                                                \
  ":\n      block X of X (i = i in 0..64, j = j "                                                                      \
  "in 0.." n "):\n        X[i, j] = A[i, j] + 1.0\n    for l in 0.." n                                                 \
  ":\n      block B of B (i = i in 0..64, j = l in "                                                                   \
  "0.." n "):\n        B[i, j] = X[i, j]\n"
  accepts(*state, LANES("", "1024"), LANES("vectorize ", "1024"), 'm');
  accepts(*state, LANES("", "1025"), LANES("unroll ", "1025"), 0);
  refuses(*state, LANES("", "1025"), LANES("vectorize ", "1025"), NW_REFUSE_CAPACITY, "fit on the stack");
}

static void layouts(void **state) {
#define LAY(layout)                                                                                                    \
  "program l\ninput A: f32[8, 8]\noutput B: f32[8, 8]\ntemp X: f32[8, 8] layout " layout "\nalloc X[0..8, 0..8]:\n"    \
  "  for i in 0..8:\n    for j in 0..8:\n      block X of X (i = i in 0..8, j = j in 0..8):\n        X[i, j] = A[i, "  \
  "j] + 1.0\n"                                                                                                         \
  "  for y in 0..8:\n    for x in 0..8:\n      block B of B (i = y in 0..8, j = x in 0..8):\n        B[i, j] = X[i, "  \
  "j]\n"
  static const char before[] = LAY("[_0, _1] in [8, 8]");
  accepts(*state, before, LAY("[_1 // 4, _0, _1 % 4] in [2, 8, 4]"), 0);
  refuses(*state, before, LAY("[_0 // 2, _1] in [4, 8]"), NW_REFUSE_WAR,
          "X[0, 0] is read at (y=0, x=0), but X[1, 0] overwrites it at (i=1, j=0)");
  refuses(*state, before, LAY("[_1, _0 + 1] in [8, 8]"), NW_REFUSE_STRUCTURE, "outside its own extents");
}

// Each iteration reads a window of three rows, which moves down. A buffer of three rows is enough, whether an iteration
// computes all three rows or only the new row. A buffer of two rows is too small. Iterations that run at the same time
// need separate rows.
static void a_buffer_that_is_smaller_than_its_stage(void **state) {
#define FOLD(mark, first, layout)                                                                                      \
  "program f\ninput A: f32[10]\noutput B: f32[8]\ntemp X: f32[10]" layout "\nalloc X[0..10]:\n"                        \
  "  for p in 0..2:\n    block P of X (i = p in 0..10):\n      X[i] = A[i] + 1.0\n"                                    \
  "  " mark "for y in 0..8:\n    for r in " first "..3:\n      block X of X (i = y + r in 0..10):\n"                   \
  "        X[i] = A[i] + 1.0\n    block B of B (i = y in 0..8):\n      B[i] = X[i] + X[i + 1] + X[i + 2]\n"
#define FOLDED(first, n) FOLD("", first, " layout [_0 % " n "] in [" n "]")
  static const char slid[] = FOLD("", "2", ""), again[] = FOLD("", "0", "");
  accepts(*state, slid, FOLDED("2", "3"), 0);
  accepts(*state, slid, FOLDED("2", "4"), 0);
  accepts(*state, again, FOLDED("0", "3"), 0);
  refuses(*state, slid, FOLDED("2", "2"), NW_REFUSE_WAR, "X[0] is read at (y=0), but X[2] overwrites it at (y=0, r=2)");
  refuses(*state, FOLDED("2", "3"), FOLD("parallel ", "2", " layout [_0 % 3] in [3]"), NW_REFUSE_WAW,
          "X[2] is written at (y=0, r=2), and X[5] is written to the same location at (3, 2) by another thread");
#define ROWS(mark, layout)                                                                                             \
  "program r\ninput A: f32[8]\noutput B: f32[8]\ntemp X: f32[8]" layout "\nalloc X[0..8]:\n  " mark                    \
  "for y in 0..8:\n    block X of X (i = y in 0..8):\n      X[i] = A[i] + 1.0\n"                                       \
  "    block B of B (i = y in 0..8):\n      B[i] = X[i]\n"
  accepts(*state, ROWS("", ""), ROWS("", " layout [0] in [1]"), 0);
  accepts(*state, ROWS("", ""), ROWS("parallel ", ""), 0);
  refuses(*state, ROWS("", " layout [0] in [1]"), ROWS("parallel ", " layout [0] in [1]"), NW_REFUSE_WAW,
          "another thread");
  refuses(*state, ROWS("", " layout [0] in [1]"), ROWS("vectorize ", " layout [0] in [1]"), NW_REFUSE_WAW,
          "another lane");
}

// ---- accesses

static void out_of_bounds(void **state) {
#define PAD "program p\ninput A: f32[8]\noutput B: f32[10]\n"
  static const char before[] =
      PAD "for i in 0..10:\n  block B of B (i = i in 0..10):\n    B[i] = select(i < 8, A[min(i, 7)], 0.0)\n";
  env *e = *state;
  nw_program *p =
      parsed(e, PAD "for i in 0..10:\n  block B of B (i = i in 0..10):\n    B[i] = select(i < 9, A[i], 0.0)\n");
  assert_false(nw_judge_first(p));
  const nw_refusal *r = nw_error(e->c)->refusal;
  assert_int_equal(r->kind, NW_REFUSE_BOUNDS);
  assert_string_equal(r->element, "A[8]");
  assert_string_equal(r->sink, "(i=8)");
  nw_program_release(p);
  nw_clear(e->c);
  // A branch that is not taken reads nothing.
  p = parsed(e, PAD "for i in 0..10:\n  block B of B (i = i in 0..10):\n    B[i] = select(i < 8, A[i], 0.0)\n");
  assert_true(nw_judge_first(p));
  nw_program_release(p);
  accepts(e, before,
          PAD
          "parallel for i in 0..10:\n  block B of B (i = i in 0..10):\n    B[i] = select(i < 8, A[min(i, 7)], 0.0)\n",
          'm');
  p = parsed(e, "program w\ninput A: f32[8]\noutput B: f32[7]\nfor i in 0..8:\n  block B of B (i = i in 0..8):\n    "
                "B[i] = A[i]\n");
  assert_false(nw_judge_first(p));
  assert_string_equal(nw_error(e->c)->refusal->element, "B[7]");
  nw_program_release(p);
}

// ---- limits

static void budget_and_interrupt(void **state) {
  env *e = *state;
  char *text = gemm("", "", "", "");
  nw_program *p = parsed(e, text), *q = parsed(e, text);
  nw_judge_budget(e->c, 20);
  assert_false(nw_judge_first(p));
  assert_int_equal(nw_error(e->c)->code, NW_EUNDECIDED);
  nw_clear(e->c);
  nw_judge_budget(e->c, 0);
  assert_true(nw_judge_first(p));
  nw_interrupt(e->c);
  assert_false(nw_judge_first(q));
  assert_int_equal(nw_error(e->c)->code, NW_EINTERRUPT);
  nw_clear(e->c);
  assert_true(nw_judge_first(q));
  free(text);
  nw_program_release(p);
  nw_program_release(q);
}

static void rules_have_names(void **state) {
  (void)state;
  assert_true(nw_judge_rules() > 20);
  for (int i = 0; i < nw_judge_rules(); i++) assert_true(strlen(nw_judge_rule_name(i)) > 3);
  assert_null(nw_judge_rule_name(nw_judge_rules()));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(spatial_loops),
      T(reduction_in_parallel),
      T(recurrence_in_tiles),
      T(reduction_in_lanes),
      T(lanes_of_several_elements),
      T(lanes_without_accumulators),
      T(decomposed_reduction),
      T(marks_inside_marks),
      T(recurrences),
      T(private_or_shared),
      T(vector_shape),
      T(one_lane),
      T(storage_in_loops),
      T(stack),
      T(stack_of_lanes),
      T(layouts),
      T(a_buffer_that_is_smaller_than_its_stage),
      T(out_of_bounds),
      T(budget_and_interrupt),
      T(rules_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
