// Tests steps that are judged by the values of elements: copies, recomputation, placing, inlining.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// ---- two stages: Y[i] = X[i] + X[i + 2]

#define STAGES "program stages\ninput A: f32[64]\noutput Y: f32[62]\n"
#define TEMP "temp X: f32[64]\n"
#define NAIVE_X "  for i in 0..64:\n    block X of X (i = i in 0..64):\n      X[i] = A[i]*2.0\n"
#define NAIVE_Y "  for j in 0..62:\n    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n"
static const char stages[] = STAGES TEMP "alloc X[0..64]:\n" NAIVE_X NAIVE_Y;

static void compute_at(void **state) {
  accepts(*state, stages,
          STAGES TEMP "for j in 0..62:\n  alloc X[j..j + 3]:\n    for a in 0..3:\n      block X of X (i = j + a in "
                      "0..64):\n        X[i] = A[i]*2.0\n"
                      "    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n",
          'v');
  accepts(*state, stages,
          STAGES TEMP "for o in 0..8:\n  alloc X[8*o..8*o + 10]:\n    for a in 0..10:\n"
                      "      block X of X (i = 8*o + a in 0..64) where 8*o + a < 64:\n        X[i] = A[i]*2.0\n"
                      "    for p in 0..8:\n      block Y of Y (j = 8*o + p in 0..62) where 8*o + p < 62:\n        Y[j] "
                      "= X[j] + X[j + 2]\n",
          'v');
}

#define NAIVE_READS(n, last)                                                                                           \
  "  for i in 0.." #n ":\n    block X of X (i = i in 0.." #n "):\n      X[i] = A[min(i, " #last ")]*2.0\n"
#define WIDE "temp X: f32[72]\nalloc X[0..72]:\n"

// X may get more elements than before. The old elements must keep their values. The new elements may have any value.
static void reads_that_stop_at_the_end(void **state) {
  accepts(*state, stages, STAGES TEMP "alloc X[0..64]:\n" NAIVE_READS(64, 63) NAIVE_Y, 'v');
  accepts(*state, stages, STAGES WIDE NAIVE_READS(72, 63) NAIVE_Y, 'v');
  refuses(*state, stages, STAGES WIDE NAIVE_READS(72, 62) NAIVE_Y, NW_REFUSE_VALUE, "the same expression");
  refuses(*state, stages, STAGES WIDE NAIVE_READS(72, 64) NAIVE_Y, NW_REFUSE_BOUNDS, "outside the allocated part of A");
  refuses(*state, STAGES WIDE NAIVE_READS(72, 63) NAIVE_Y, STAGES WIDE NAIVE_READS(72, 60) NAIVE_Y, NW_REFUSE_VALUE,
          "the same expression");
}

static void box_too_small(void **state) {
  const nw_refusal *r = refuses(*state, stages,
                                STAGES TEMP "for j in 0..62:\n  alloc X[j..j + 3]:\n    for a in 0..2:\n      block X "
                                            "of X (i = j + a in 0..64):\n        X[i] = A[i]*2.0\n"
                                            "    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n",
                                NW_REFUSE_VALUE, "never written before");
  assert_string_equal(r->element, "X[2]");
  assert_string_equal(r->sink, "(j=0)");
}

static void storage_too_small(void **state) {
  const nw_refusal *r = refuses(*state, stages,
                                STAGES TEMP "for j in 0..62:\n  alloc X[j..j + 2]:\n    for a in 0..3:\n      block X "
                                            "of X (i = j + a in 0..64):\n        X[i] = A[i]*2.0\n"
                                            "    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n",
                                NW_REFUSE_BOUNDS, "outside the allocated part of X");
  assert_string_equal(r->element, "X[2]");
}

static void producer_after_consumer(void **state) {
  refuses(*state, stages,
          STAGES TEMP
          "for j in 0..62:\n  alloc X[j..j + 3]:\n    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n"
          "    for a in 0..3:\n      block X of X (i = j + a in 0..64):\n        X[i] = A[i]*2.0\n",
          NW_REFUSE_RAW, "before it is written");
}

// Later iterations write the same element again, with the same value. A reader needs only the first write.
static void recomputed_into_one_buffer(void **state) {
  accepts(*state, stages,
          STAGES TEMP "alloc X[0..64]:\n  for j in 0..62:\n    for a in 0..3:\n      block X of X (i = j + a in "
                      "0..64):\n        X[i] = A[i]*2.0\n"
                      "    block Y of Y (j = j in 0..62):\n      Y[j] = X[j] + X[j + 2]\n",
          'v');
}

static void private_to_an_inner_loop(void **state) {
  refuses(*state, stages,
          STAGES TEMP "for o in 0..31:\n  for p in 0..2:\n    alloc X[0..64]:\n      for a in 0..3:\n"
                      "        block X of X (i = 2*o + p + a in 0..64) where p == 0:\n          X[i] = A[i]*2.0\n"
                      "      block Y of Y (j = 2*o + p in 0..62):\n        Y[j] = X[j] + X[j + 2]\n",
          NW_REFUSE_VALUE, "never written before");
}

// ---- inlining

static void inlined(void **state) {
  accepts(*state, stages,
          STAGES "for j in 0..62:\n  block Y of Y (j = j in 0..62):\n    Y[j] = A[j]*2.0 + A[j + 2]*2.0\n", 'v');
}

static void inlined_wrongly(void **state) {
  refuses(*state, stages,
          STAGES "for j in 0..62:\n  block Y of Y (j = j in 0..62):\n    Y[j] = A[j]*2.0 + A[j + 1]*2.0\n",
          NW_REFUSE_VALUE, "does not compute the same expression");
}

// P reads X before Q overwrites X. If P is inlined, the read comes after Q.
static void inlined_across_an_overwrite(void **state) {
#define OVER "program over\ninput A: f32[8]\noutput X: f32[8]\noutput Y: f32[8]\n"
#define OVER_X "for i in 0..8:\n  block X of X (i = i in 0..8):\n    X[i] = A[i]\n"
#define OVER_Q "for q in 0..8:\n  block Q of Q (i = q in 0..8):\n    X[i] = A[i]*3.0\n"
  refuses(*state,
          OVER "temp P: f32[8]\n" OVER_X
               "alloc P[0..8]:\n  for p in 0..8:\n    block P of P (i = p in 0..8):\n      P[i] = X[i] + 1.0\n"
               "  for q in 0..8:\n    block Q of Q (i = q in 0..8):\n      X[i] = A[i]*3.0\n"
               "  for y in 0..8:\n    block Y of Y (i = y in 0..8):\n      Y[i] = P[i] + 1.0\n",
          OVER OVER_X OVER_Q "for y in 0..8:\n  block Y of Y (i = y in 0..8):\n    Y[i] = X[i] + 1.0 + 1.0\n",
          NW_REFUSE_UNDECIDED, "between their updates");
}

static void inlined_rounding(void **state) {
#define HALF "program half\ninput A: f16[8]\noutput Y: f16[8]\n"
  static const char before[] = HALF
      "temp P: f16[8]\nalloc P[0..8]:\n  for p in 0..8:\n    block P of P (i = p in 0..8):\n      P[i] = A[i]*A[i]\n"
      "  for y in 0..8:\n    block Y of Y (i = y in 0..8):\n      Y[i] = P[i] + A[i]\n";
  refuses(*state, before, HALF "for y in 0..8:\n  block Y of Y (i = y in 0..8):\n    Y[i] = A[i]*A[i] + A[i]\n",
          NW_REFUSE_VALUE, "rounds its value to 16 bits");
}

// A temporary of the new program is stored in another dtype. Only its stores and its loads may be converted.
static void stored_in_another_dtype(void **state) {
#define KEPT(dtype, store, load)                                                                                       \
  "program kept\ninput A: i32[8]\noutput Y: i32[8]\ntemp P: " dtype "[8]\nalloc P[0..8]:\n  for p in 0..8:\n"          \
  "    block P of P (i = p in 0..8):\n      P[i] = " store "\n  for y in 0..8:\n    block Y of Y (i = y in 0..8):\n"   \
  "      Y[i] = " load "*i32(2)\n"
#define BYTE "min(max(A[i], i32(0)), i32(200))"
  static const char before[] = KEPT("i32", BYTE, "P[i]"), sum[] = KEPT("i32", "A[i]*i32(3)", "P[i]");
  accepts(*state, before, KEPT("u8", "u8(" BYTE ")", "i32(P[i])"), 'v');
  accepts(*state, before, KEPT("f32", "f32(" BYTE ")", "i32(P[i])"), 'v');
  refuses(*state, before, KEPT("i8", "i8(" BYTE ")", "i32(P[i])"), NW_REFUSE_VALUE,
          "values of i32 that i8 may not have");
  refuses(*state, before, KEPT("u8", "u8(i8(" BYTE "))", "i32(P[i])"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, before, KEPT("u8", "u8(" BYTE ")", "i32(i8(P[i]))"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, before, KEPT("u8", "u8(A[i])", "i32(P[i])"), NW_REFUSE_VALUE, "the same expression");
  accepts(*state, sum, KEPT("i64", "i64(A[i]*i32(3))", "i32(P[i])"), 'v');
  refuses(*state, sum, KEPT("i64", "i64(A[i])*3", "i32(P[i])"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, sum, KEPT("f32", "f32(A[i]*i32(3))", "i32(P[i])"), NW_REFUSE_VALUE, "that f32 may not have");
}

// The updates of a reduction would be rounded.
static void reduced_in_another_dtype(void **state) {
#define SUM(dtype, store, load)                                                                                        \
  "program sum\ninput A: f32[8]\noutput Y: f32[1]\ntemp P: " dtype "[1]\nalloc P[0..1]:\n  for p in 0..1:\n"           \
  "    for r in 0..8:\n      block P of P (i = p in 0..1, reduce k = r in 0..8):\n        init P[i] = " dtype          \
  "(0.0)\n"                                                                                                            \
  "        P[i] += " store "\n  for y in 0..1:\n    block Y of Y (i = y in 0..1):\n      Y[i] = " load "\n"
  refuses(*state, SUM("f32", "A[k]", "P[i]"), SUM("bf16", "bf16(A[k])", "f32(P[i])"), NW_REFUSE_VALUE,
          "the same expression");
}

static void gathers(void **state) {
#define GATHER "program gather\ninput A: f32[64]\ninput I: i32[16]\noutput Y: f32[16]\n"
  static const char before[] =
      GATHER "temp P: f32[64]\nalloc P[0..64]:\n  for p in 0..64:\n    block P of P (i = p in 0..64):\n      P[i] = "
             "A[i] + 1.0\n"
             "  for y in 0..16:\n    block Y of Y (i = y in 0..16):\n      Y[i] = P[min(max(i64(I[i]), 0), 63)]\n";
  accepts(*state, before,
          GATHER "for y in 0..16:\n  block Y of Y (i = y in 0..16):\n    Y[i] = A[min(max(i64(I[i]), 0), 63)] + 1.0\n",
          'v');
  refuses(
      *state, before,
      GATHER
      "temp P: f32[64]\nfor y in 0..16:\n  alloc P[0..64]:\n    for p in 0..32:\n      block P of P (i = p in 0..64):\n"
      "        P[i] = A[i] + 1.0\n    block Y of Y (i = y in 0..16):\n      Y[i] = P[min(max(i64(I[i]), 0), 63)]\n",
      NW_REFUSE_VALUE, "never written before");
}

// ---- copies

#define SQUARE "program square\ninput B: f32[32, 32]\noutput C: f32[32, 32]\n"
#define READS_B                                                                                                        \
  "  for i in 0..32:\n    for j in 0..32:\n      block C of C (i = i in 0..32, j = j in 0..32):\n        C[i, j] = "   \
  "B[j, i]*2.0\n"
#define READS_P                                                                                                        \
  "  for i in 0..32:\n    for j in 0..32:\n      block C of C (i = i in 0..32, j = j in 0..32):\n        C[i, j] = "   \
  "P[j, i]*2.0\n"
static const char square[] = SQUARE "for i in 0..32:\n  for j in 0..32:\n    block C of C (i = i in 0..32, j = j in "
                                    "0..32):\n      C[i, j] = B[j, i]*2.0\n";

static void copied(void **state) {
  accepts(*state, square,
          SQUARE "temp P: f32[32, 32]\nalloc P[0..32, 0..32]:\n"
                 "  for y in 0..32:\n    for x in 0..32:\n      block P of P (y = y in 0..32, x = x in 0..32):\n       "
                 " P[y, x] = B[y, x]\n" READS_P,
          'v');
}

static void copied_transposed(void **state) {
  refuses(*state, square,
          SQUARE "temp P: f32[32, 32]\nalloc P[0..32, 0..32]:\n"
                 "  for y in 0..32:\n    for x in 0..32:\n      block P of P (y = y in 0..32, x = x in 0..32):\n       "
                 " P[y, x] = B[x, y]\n" READS_P,
          NW_REFUSE_VALUE, "does not compute the same expression");
}

static void copied_too_late(void **state) {
  refuses(*state, square,
          SQUARE "temp P: f32[32, 32]\nalloc P[0..32, 0..32]:\n" READS_P
                 "  for y in 0..32:\n    for x in 0..32:\n      block P of P (y = y in 0..32, x = x in 0..32):\n       "
                 " P[y, x] = B[y, x]\n",
          NW_REFUSE_RAW, "before it is written");
}

static void copied_in_part(void **state) {
  refuses(*state, square,
          SQUARE "temp P: f32[32, 32]\nalloc P[0..32, 0..32]:\n"
                 "  for y in 0..32:\n    for x in 0..31:\n      block P of P (y = y in 0..32, x = x in 0..32):\n       "
                 " P[y, x] = B[y, x]\n" READS_P,
          NW_REFUSE_VALUE, "never written before");
}

// A copy of a stage must come after the stage.
static void copied_before_it_is_made(void **state) {
#define CHAIN "program chain\ninput A: f32[32]\noutput Y: f32[32]\ntemp X: f32[32]\n"
#define MAKE_X "    for i in 0..32:\n      block X of X (i = i in 0..32):\n        X[i] = A[i] + 1.0\n"
#define MAKE_P "    for p in 0..32:\n      block P of P (i = p in 0..32):\n        P[i] = X[i]\n"
#define MAKE_Y(b) "    for y in 0..32:\n      block Y of Y (i = y in 0..32):\n        Y[i] = " b "[i]*2.0\n"
  static const char before[] = CHAIN "alloc X[0..32]:\n" MAKE_X MAKE_Y("X");
  accepts(*state, before, CHAIN "temp P: f32[32]\nalloc X[0..32]:\n  alloc P[0..32]:\n" MAKE_X MAKE_P MAKE_Y("P"), 'v');
  refuses(*state, before, CHAIN "temp P: f32[32]\nalloc X[0..32]:\n  alloc P[0..32]:\n" MAKE_P MAKE_X MAKE_Y("P"),
          NW_REFUSE_RAW, "X[0] is read at (p=0), before it is written");
}

static void a_copy_of_something_else(void **state) {
  refuses(*state, square,
          SQUARE "temp P: f32[32, 32]\nalloc P[0..32, 0..32]:\n"
                 "  for y in 0..32:\n    for x in 0..32:\n      block P of P (y = y in 0..32, x = x in 0..32):\n       "
                 " P[y, x] = B[y, x] + 1.0\n" READS_P,
          NW_REFUSE_VALUE, "not part of the computation");
}

// ---- reductions

#define GEMM                                                                                                           \
  "program gemm\ninput A: f32[32, 64]\ninput B: f32[64, 32]\noutput C: f32[32, 32]\ntemp L: f32[32, 32] local\n"
static const char gemm[] = GEMM "for i in 0..32:\n  for j in 0..32:\n    for k in 0..64:\n      block C of C (i = i in "
                                "0..32, j = j in 0..32, reduce k = k in 0..64):\n"
                                "        init C[i, j] = 0.0\n        C[i, j] += A[i, k]*B[k, j]\n";
#define UPDATE(where, init)                                                                                            \
  "block C of C (i = 8*i_o + i_i in 0..32, j = j in 0..32, reduce k = 16*k_o + k_i in 0..64)" where ":\n" init
#define WRITE_BACK "block W of W (i = 8*i_o + a in 0..32, j = b in 0..32):\n"

static void write_cache(void **state) {
  accepts(*state, gemm,
          GEMM
          "for i_o in 0..4:\n  alloc L[8*i_o..8*i_o + 8, 0..32]:\n    for k_o in 0..4:\n      for i_i in 0..8:\n       "
          " for j in 0..32:\n          for k_i in 0..16:\n"
          "            " UPDATE("", "") "              init L[i, j] = 0.0\n              L[i, j] += A[i, k]*B[k, j]\n"
                                        "    for a in 0..8:\n      for b in 0..32:\n        " WRITE_BACK
                                        "          C[i, j] = L[i, j]\n",
          'v');
}

static void write_cache_inside_the_reduction(void **state) {
  refuses(*state, gemm,
          GEMM
          "for i_o in 0..4:\n  for k_o in 0..4:\n    alloc L[8*i_o..8*i_o + 8, 0..32]:\n      for i_i in 0..8:\n       "
          " for j in 0..32:\n          for k_i in 0..16:\n"
          "            " UPDATE("", "") "              init L[i, j] = 0.0\n              L[i, j] += A[i, k]*B[k, j]\n"
                                        "      for a in 0..8:\n        for b in 0..32:\n          " WRITE_BACK
                                        "            C[i, j] = L[i, j]\n",
          NW_REFUSE_VALUE, "no init");
}

// The buffer is needed during the whole loop k_o, but is written back inside it.
static void written_back_too_early(void **state) {
  const nw_refusal *r = refuses(
      *state, gemm,
      GEMM "for i_o in 0..4:\n  alloc L[8*i_o..8*i_o + 8, 0..32]:\n    for k_o in 0..4:\n      for i_i in 0..8:\n      "
           "  for j in 0..32:\n          for k_i in 0..16:\n"
           "            " UPDATE("", "") "              init L[i, j] = 0.0\n              L[i, j] += A[i, k]*B[k, j]\n"
                                         "      for a in 0..8:\n        for b in 0..32:\n          " WRITE_BACK
                                         "            C[i, j] = L[i, j]\n",
      NW_REFUSE_RAW, "before it gets the contribution");
  assert_string_equal(r->element, "L[0, 0]");
  assert_string_equal(r->loops[0], "k_o");
}

// The sum of every tile needs an init before the sum, but only the tiles i_o < 3 execute this init.
static void init_in_some_tiles_only(void **state) {
  refuses(*state, gemm,
          GEMM "for i_o in 0..4:\n  alloc L[8*i_o..8*i_o + 8, 0..32]:\n"
               "    for c in 0..8:\n      for d in 0..32:\n        init block C_init of C (i = 8*i_o + c in 0..32, j = "
               "d in 0..32) where i_o < 3:\n          L[i, j] = 0.0\n"
               "    for k_o in 0..4:\n      for i_i in 0..8:\n        for j in 0..32:\n          for k_i in 0..16:\n"
               "            " UPDATE(
                   "", "") "              init L[i, j] = 0.0 elsewhere\n              L[i, j] += A[i, k]*B[k, j]\n"
                           "    for a in 0..8:\n      for b in 0..32:\n        " WRITE_BACK
                           "          C[i, j] = L[i, j]\n",
          NW_REFUSE_VALUE, "no init");
}

static void tile_without_a_contribution(void **state) {
  refuses(*state, gemm,
          GEMM "for i_o in 0..4:\n  alloc L[8*i_o..8*i_o + 8, 0..32]:\n    for k_o in 0..4:\n      for i_i in 0..8:\n  "
               "      for j in 0..32:\n          for k_i in 0..16:\n"
               "            " UPDATE(" where 16*k_o + k_i < 63",
                                     "") "              init L[i, j] = 0.0\n              L[i, j] += A[i, k]*B[k, j]\n"
                                         "    for a in 0..8:\n      for b in 0..32:\n        " WRITE_BACK
                                         "          C[i, j] = L[i, j]\n",
          NW_REFUSE_VALUE, "without all its contributions");
}

static void tile_with_one_contribution_twice(void **state) {
  refuses(*state, gemm,
          GEMM "for i_o in 0..4:\n  alloc L[8*i_o..8*i_o + 8, 0..32]:\n    for k_o in 0..4:\n      for i_i in 0..8:\n  "
               "      for j in 0..32:\n          for k_i in 0..17:\n"
               "            " UPDATE(" where 16*k_o + k_i < 64",
                                     "") "              init L[i, j] = 0.0\n              L[i, j] += A[i, k]*B[k, j]\n"
                                         "    for a in 0..8:\n      for b in 0..32:\n        " WRITE_BACK
                                         "          C[i, j] = L[i, j]\n",
          NW_REFUSE_REDUCTION, "one contribution twice");
}

// R, a reduction, is computed inside its reader. Each iteration computes two elements of R. The next iteration computes
// one of these elements again.
static void reduction_computed_at(void **state) {
#define ROWS "program rows\ninput A: f32[32, 8]\noutput Y: f32[31]\ntemp R: f32[32]\n"
  static const char before[] = ROWS "alloc R[0..32]:\n  for i in 0..32:\n    for k in 0..8:\n      block R of R (i = i "
                                    "in 0..32, reduce k = k in 0..8):\n"
                                    "        init R[i] = 0.0\n        R[i] += A[i, k]\n  for j in 0..31:\n    block Y "
                                    "of Y (j = j in 0..31):\n      Y[j] = R[j] + R[j + 1]\n";
  accepts(*state, before,
          ROWS "for j in 0..31:\n  alloc R[j..j + 2]:\n    for i in 0..2:\n      for k in 0..8:\n        block R of R "
               "(i = j + i in 0..32, reduce k = k in 0..8):\n"
               "          init R[i] = 0.0\n          R[i] += A[i, k]\n    block Y of Y (j = j in 0..31):\n      Y[j] = "
               "R[j] + R[j + 1]\n",
          'v');
  refuses(*state, before,
          ROWS "for j in 0..31:\n  alloc R[j..j + 2]:\n    for i in 0..2:\n      for k in 0..7:\n        block R of R "
               "(i = j + i in 0..32, reduce k = k in 0..8):\n"
               "          init R[i] = 0.0\n          R[i] += A[i, k]\n    block Y of Y (j = j in 0..31):\n      Y[j] = "
               "R[j] + R[j + 1]\n",
          NW_REFUSE_VALUE, "R[0] is read at (j=0) without all its contributions");
}

// ---- a copy with more dimensions than its tensor

#define WINDOW "program window\ninput A: f32[10]\ninput W: f32[3]\noutput C: f32[8]\n"
#define WINDOW_OF(a)                                                                                                   \
  "for i in 0..8:\n  for r in 0..3:\n    block C of C (i = i in 0..8, reduce r = r in 0..3):\n"                        \
  "      init C[i] = 0.0\n      C[i] += " a "*W[r]\n"
#define ROWS_OF(n, value)                                                                                              \
  "temp R: f32[" #n ", 3]\nalloc R[0.." #n ", 0..3]\nfor p in 0.." #n ":\n  for q in 0..3:\n"                          \
  "    block R of R (i = p in 0.." #n ", r = q in 0..3):\n      R[i, r] = " value "\n"
#define COLUMNS(value) ROWS_OF(8, value)

// Each read of the copy must get the element that the stage read before.
static void copy_with_more_dimensions(void **state) {
  static const char naive[] = WINDOW WINDOW_OF("A[i + r]");
  accepts(*state, naive, WINDOW COLUMNS("A[i + r]") WINDOW_OF("R[i, r]"), 'v');
  accepts(*state, naive, WINDOW COLUMNS("A[i - r + 2]") WINDOW_OF("R[i, 2 - r]"), 'v');
  accepts(*state, WINDOW COLUMNS("A[i + r]") WINDOW_OF("R[i, r]"), naive, 'v');
  refuses(*state, naive, WINDOW COLUMNS("A[i + r]") WINDOW_OF("R[i, 2 - r]"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, naive, WINDOW COLUMNS("A[i - r + 2]") WINDOW_OF("R[i, r]"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, naive, WINDOW COLUMNS("A[i]") WINDOW_OF("R[i, r]"), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, naive, WINDOW ROWS_OF(9, "A[i + r]") WINDOW_OF("R[i, r]"), NW_REFUSE_BOUNDS,
          "outside the allocated part of A");
  refuses(*state, naive, WINDOW COLUMNS("select(r < 2, A[i + r], 0.0)") WINDOW_OF("R[i, r]"), NW_REFUSE_VALUE,
          "the same expression");
}

// ---- outputs

#define DOT "program dot\ninput A: f32[5, 7]\ninput B: f32[7]\noutput C: f32[5]\n"
#define DOT_OF(a, b, n)                                                                                                \
  "for i in 0..5:\n  for k in 0.." #n ":\n    block C of C (i = i in 0..5, reduce k = k in 0.." #n "):\n"              \
  "      init C[i] = 0.0\n      C[i] += " a "[i, k]*" b "[k]\n"
#define PADS "temp P: f32[5, 8]\ntemp Q: f32[8]\nalloc P[0..5, 0..8]\nalloc Q[0..8]\n"
#define PAD_A(cond, pad)                                                                                               \
  "for p in 0..5:\n  for q in 0..8:\n    block P of P (i = p in 0..5, k = q in 0..8):\n      P[i, k] = select(" cond   \
  ", A[i, k], " pad ")\n"
#define PAD_B(pad) "for x in 0..8:\n  block Q of Q (k = x in 0..8):\n    Q[k] = select(k < 7, B[k], " pad ")\n"

// A sum may get more terms, if they are neutral for all elements.
static void reduction_padded(void **state) {
  static const char naive[] = DOT DOT_OF("A", "B", 7);
  accepts(*state, naive, DOT PADS PAD_A("k < 7", "0.0") PAD_B("0.0") DOT_OF("P", "Q", 8), 'v');
  accepts(*state, naive, DOT PADS PAD_A("k < 7", "0.0") PAD_B("3.0") DOT_OF("P", "Q", 8), 'v');
  accepts(*state, naive, DOT PADS PAD_A("k < 7 and i < 5", "0.0") PAD_B("0.0") DOT_OF("P", "Q", 8), 'v');
  refuses(*state, naive, DOT PADS PAD_A("k < 7", "1.0") PAD_B("1.0") DOT_OF("P", "Q", 8), NW_REFUSE_VALUE,
          "the same expression");
  refuses(*state, naive, DOT PADS PAD_A("k < 7", "0.0") PAD_B("inf") DOT_OF("P", "Q", 8), NW_REFUSE_VALUE,
          "the same expression");
  refuses(*state, naive, DOT PADS PAD_A("k < 6", "0.0") PAD_B("0.0") DOT_OF("P", "Q", 8), NW_REFUSE_VALUE,
          "the same expression");
  refuses(*state, naive, DOT PADS PAD_A("k < 7 and i < 4", "0.0") PAD_B("0.0") DOT_OF("P", "Q", 8), NW_REFUSE_VALUE,
          "the same expression");
  refuses(*state, naive, DOT DOT_OF("A", "B", 6), NW_REFUSE_VALUE, "the same expression");
  refuses(*state, naive, DOT DOT_OF("A", "B", 8), NW_REFUSE_VALUE, "the same expression");
  // An infinite number in B would give NaN.
  refuses(*state, naive, DOT PADS PAD_A("k < 7", "0.0") PAD_B("0.0") DOT_OF("P", "B", 8), NW_REFUSE_VALUE,
          "the same expression");
}

static void outputs_exchanged(void **state) {
#define PAIR "program pair\ninput A: f32[8]\noutput X: f32[8]\noutput Y: f32[8]\n"
#define PAIR_TEMPS "temp P: f32[8]\ntemp Q: f32[8]\n"
#define MAKE(b, v, e) "for " v " in 0..8:\n  block " b " of " b " (i = " v " in 0..8):\n    " e "\n"
#define MAKE_IN(b, v, e) "    for " v " in 0..8:\n      block " b " of " b " (i = " v " in 0..8):\n        " e "\n"
  static const char before[] = PAIR MAKE("X", "x", "X[i] = A[i] + 1.0") MAKE("Y", "y", "Y[i] = A[i] + 2.0");
#define STORES                                                                                                         \
  PAIR PAIR_TEMPS "alloc P[0..8]:\n  alloc Q[0..8]:\n" MAKE_IN("X", "x", "P[i] = A[i] + 1.0")                          \
      MAKE_IN("Y", "y", "Q[i] = A[i] + 2.0")
  accepts(*state, before, STORES MAKE_IN("V", "v", "X[i] = P[i]") MAKE_IN("W", "w", "Y[i] = Q[i]"), 'v');
  refuses(*state, before, STORES MAKE_IN("V", "v", "X[i] = Q[i]") MAKE_IN("W", "w", "Y[i] = P[i]"), NW_REFUSE_VALUE,
          "output X would no longer have");
}

static void invalid_first_programs(void **state) {
  env *e = *state;
  static const char *const bad[] = {
      "program p\ninput A: f32[16]\noutput X: f32[32]\nfor i in 0..32:\n  block X of X (i = i in 0..32):\n    X[i] = "
      "A[i]\n",
      "program p\ninput A: f32[16]\noutput X: f32[32]\nfor i in 0..16:\n  block X of X (i = i in 0..16):\n    X[i] = "
      "A[i]\n",
      "program p\noutput X: f32[8]\ntemp T: f32[8]\nalloc T[0..8]:\n  for i in 0..8:\n    block X of X (i = i in "
      "0..8):\n      X[i] = T[i]\n",
  };
  static const nw_refusal_kind kind[] = {NW_REFUSE_BOUNDS, NW_REFUSE_COVER, NW_REFUSE_VALUE};
  for (int i = 0; i < NW_COUNT(bad); i++) {
    nw_clear(e->c);
    nw_program *p = parsed(e, bad[i]);
    assert_false(nw_judge_first(p));
    assert_int_equal(nw_error(e->c)->refusal->kind, kind[i]);
    nw_program_release(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(compute_at),
      T(reads_that_stop_at_the_end),
      T(box_too_small),
      T(storage_too_small),
      T(producer_after_consumer),
      T(recomputed_into_one_buffer),
      T(private_to_an_inner_loop),
      T(inlined),
      T(inlined_wrongly),
      T(inlined_across_an_overwrite),
      T(inlined_rounding),
      T(stored_in_another_dtype),
      T(reduced_in_another_dtype),
      T(gathers),
      T(copied),
      T(copied_transposed),
      T(copied_too_late),
      T(copied_in_part),
      T(copied_before_it_is_made),
      T(a_copy_of_something_else),
      T(write_cache),
      T(write_cache_inside_the_reduction),
      T(written_back_too_early),
      T(init_in_some_tiles_only),
      T(tile_without_a_contribution),
      T(tile_with_one_contribution_twice),
      T(reduction_computed_at),
      T(copy_with_more_dimensions),
      T(reduction_padded),
      T(outputs_exchanged),
      T(invalid_first_programs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
