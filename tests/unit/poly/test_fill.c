// Tests stages that are computed by a fill with a constant and a copy of their other values.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define HEAD "program padded\ninput A: f32[6]\noutput Y: f32[8]\ntemp P: f32[8]\nalloc P[0..8]:\n"
#define FILL_WITH(c, from, to)                                                                                         \
  "  for f in " #from ".." #to ":\n    init block P_fill of P (i = f in 0..8):\n      P[i] = " c "\n"
#define FILL FILL_WITH("0.0", 0, 8)
#define VALUE "select(1 <= i and i <= 6, A[i - 1], 0.0)"
#define COPY_OF(value, from, to)                                                                                       \
  "  for i in " #from ".." #to ":\n    block P of P (i = i in 0..8):\n      P[i] = " value "\n"
#define COPY(from, to) COPY_OF(VALUE, from, to)
#define READ "  for j in 0..8:\n    block Y of Y (j = j in 0..8):\n      Y[j] = P[j]*2.0\n"
#define NAIVE HEAD COPY(0, 8) READ
#define SPLIT HEAD FILL COPY(1, 7) READ

static void fill_and_copy(void **state) {
  accepts(*state, NAIVE, SPLIT, 'v');
  accepts(*state, NAIVE, HEAD FILL COPY(0, 7) READ, 'v');
  accepts(*state, NAIVE, HEAD FILL COPY(0, 8) READ, 'v');
  accepts(*state, SPLIT, NAIVE, 'v');
  accepts(*state, SPLIT, SPLIT, 'm');
  accepts(*state, SPLIT, HEAD FILL COPY(0, 8) READ, 'v');
  accepts(*state, NAIVE,
          HEAD FILL "  for i in 0..8:\n    block P of P (i = i in 0..8) where 1 <= i and i <= 6:\n      P[i] = " VALUE
                    "\n" READ,
          'v');
}

static void copy_too_small(void **state) {
  const nw_refusal *r =
      refuses(*state, NAIVE, HEAD FILL COPY(2, 7) READ, NW_REFUSE_VALUE, "but was only filled with a constant");
  assert_string_equal(r->element, "P[1]");
  assert_string_equal(r->sink, "(j=1)");
  refuses(*state, SPLIT, HEAD FILL COPY(1, 6) READ, NW_REFUSE_VALUE, "but was only filled with a constant");
  refuses(*state, NAIVE, HEAD FILL READ, NW_REFUSE_VALUE, "is read");
  refuses(*state, SPLIT, HEAD FILL READ, NW_REFUSE_VALUE, "is read");
}

static void fill_too_small(void **state) {
  accepts(*state, NAIVE, HEAD FILL_WITH("0.0", 0, 8) COPY(1, 8) READ, 'v');
  refuses(*state, NAIVE, HEAD COPY(1, 7) READ, NW_REFUSE_VALUE, "is never written before");
  refuses(*state, NAIVE, HEAD FILL_WITH("0.0", 0, 7) COPY(1, 7) READ, NW_REFUSE_VALUE, "is never written before");
  refuses(*state, SPLIT, HEAD FILL_WITH("0.0", 1, 8) COPY(1, 7) READ, NW_REFUSE_VALUE, "is never written before");
}

static void other_constant(void **state) {
  refuses(*state, NAIVE, HEAD FILL_WITH("1.0", 0, 8) COPY(1, 7) READ, NW_REFUSE_VALUE, "the same expression");
  refuses(*state, SPLIT, HEAD FILL_WITH("1.0", 0, 8) COPY(1, 7) READ, NW_REFUSE_VALUE, "the same expression");
  refuses(*state, NAIVE, HEAD FILL_WITH("A[0]", 0, 8) COPY(1, 7) READ, NW_REFUSE_VALUE, "the same expression");
}

#define WHOLE HEAD FILL COPY(0, 8) READ

static void fill_comes_first(void **state) {
  refuses(*state, NAIVE, HEAD COPY(1, 7) FILL READ, NW_REFUSE_WAW, "is filled with a constant at");
  refuses(*state, SPLIT, HEAD COPY(1, 7) FILL READ, NW_REFUSE_WAW, "is filled with a constant at");
  accepts(*state, WHOLE, HEAD FILL_WITH("0.0", 0, 8) COPY_OF(VALUE, 0, 8) READ, 'm');
  refuses(*state, WHOLE, HEAD COPY(0, 8) FILL READ, NW_REFUSE_WAW, "is filled with a constant at");
  refuses(*state, SPLIT, HEAD FILL READ COPY(1, 7), NW_REFUSE_RAW, "before it is written");
  refuses(*state, SPLIT, HEAD READ FILL COPY(1, 7), NW_REFUSE_RAW, "before it is written");
}

#define BOTH(body) HEAD "  for t in 0..8:\n" body READ
#define FILL_AT(t) "    init block P_fill of P (i = " t " in 0..8):\n      P[i] = 0.0\n"
#define COPY_AT(t) "    block P of P (i = " t " in 0..8):\n      P[i] = " VALUE "\n"

// A fill in the same loop as the copy must come before the copy of its element.
static void fill_in_the_same_loop(void **state) {
  accepts(*state, NAIVE, BOTH(FILL_AT("t") COPY_AT("t")), 'v');
  accepts(*state, NAIVE, BOTH(FILL_AT("7 - t") "    block P of P (i = 7 - t in 0..8):\n      P[i] = " VALUE "\n"), 'v');
  refuses(*state, NAIVE, BOTH(COPY_AT("t") FILL_AT("t")), NW_REFUSE_WAW, "is filled with a constant at");
  refuses(*state, NAIVE, BOTH(FILL_AT("7 - t") COPY_AT("t")), NW_REFUSE_WAW, "is filled with a constant at");
}

static void pieces(void **state) {
  accepts(*state, SPLIT,
          HEAD FILL COPY(1, 3) "  for p in 3..7:\n    block P.rest of P (i = p in 0..8):\n      P[i] = " VALUE
                               "\n" READ,
          'v');
  refuses(*state, SPLIT,
          HEAD FILL COPY(1, 3) "  for p in 4..7:\n    block P.rest of P (i = p in 0..8):\n      P[i] = " VALUE
                               "\n" READ,
          NW_REFUSE_VALUE, "but was only filled");
}

// ---- the storage is new in each iteration of a loop

#define TILES(fill, from, to)                                                                                          \
  "program padded\ninput A: f32[6]\noutput Y: f32[8]\ntemp P: f32[8]\nfor o in 0..4:\n  alloc P[2*o..2*o + 2]:\n"      \
  "    for f in 0..2:\n      init block P_fill of P (i = " fill " in 0..8):\n        P[i] = 0.0\n"                     \
  "    for i in " from ".." to ":\n      block P of P (i = 2*o + i in 0..8):\n        P[i] = " VALUE "\n"              \
  "    for j in 0..2:\n      block Y of Y (j = 2*o + j in 0..8):\n        Y[j] = P[j]*2.0\n"

static void in_tiles(void **state) {
  accepts(*state, NAIVE, TILES("2*o + f", "max(1 - 2*o, 0)", "min(7 - 2*o, 2)"), 'v');
  refuses(*state, NAIVE, TILES("2*o + f", "max(1 - 2*o, 0)", "min(6 - 2*o, 2)"), NW_REFUSE_VALUE,
          "but was only filled");
  refuses(*state, NAIVE, TILES("2*o", "max(1 - 2*o, 0)", "min(7 - 2*o, 2)"), NW_REFUSE_VALUE,
          "is never written before");
}

// ---- readers that need less

#define ENDS(from, to)                                                                                                 \
  "program ends\ninput A: f32[6]\noutput Y: f32[2]\ntemp P: f32[8]\nalloc P[0..8]:\n" FILL COPY(                       \
      from, to) "  for j in 0..2:\n    block Y of Y (j = j in 0..2):\n      Y[j] = P[7*j] + P[3]\n"

static void only_some_elements(void **state) {
  accepts(*state, ENDS(1, 7), ENDS(3, 4), 'v');
  refuses(*state, ENDS(1, 7), ENDS(4, 7), NW_REFUSE_VALUE, "but was only filled");
}

// ---- the stage is an output, and other forms of its value

#define OUT "program out\ninput A: f32[6]\noutput P: f32[8]\nseq:\n"

static void output(void **state) {
  accepts(*state, OUT COPY(0, 8), OUT FILL COPY(1, 7), 'v');
  refuses(*state, OUT COPY(0, 8), OUT FILL COPY(1, 6), NW_REFUSE_VALUE, "its value is not stored");
  refuses(*state, OUT COPY(0, 8), OUT COPY(1, 7) FILL, NW_REFUSE_WAW, "is filled with a constant at");
  refuses(*state, OUT COPY(0, 8), OUT FILL_WITH("0.0", 0, 7) COPY(1, 7), NW_REFUSE_COVER, "is never written");
}

#define INVERTED "select(i < 1 or 6 < i, 0.0, A[i - 1])"
#define NESTED "select(1 <= i, select(i <= 6, A[i - 1], 0.0), 0.0)"
#define HOLE "select(i < 3 or 4 < i, A[min(i, 5)], 0.0)"

static void forms(void **state) {
  accepts(*state, OUT COPY_OF(INVERTED, 0, 8), OUT FILL COPY_OF(INVERTED, 1, 7), 'v');
  refuses(*state, OUT COPY_OF(INVERTED, 0, 8), OUT FILL COPY_OF(INVERTED, 2, 7), NW_REFUSE_VALUE, "is not stored");
  accepts(*state, OUT COPY_OF(NESTED, 0, 8), OUT FILL COPY_OF(NESTED, 1, 7), 'v');
  refuses(*state, OUT COPY_OF(NESTED, 0, 8), OUT FILL COPY_OF(NESTED, 1, 6), NW_REFUSE_VALUE, "is not stored");
  accepts(*state, OUT COPY_OF(HOLE, 0, 8),
          OUT FILL COPY_OF(HOLE, 0, 3) "  for p in 5..8:\n    block P.rest of P (i = p in 0..8):\n      P[i] = " HOLE
                                       "\n",
          'v');
  refuses(*state, OUT COPY_OF(HOLE, 0, 8), OUT FILL COPY_OF(HOLE, 0, 5), NW_REFUSE_VALUE, "is not stored");
  refuses(*state, OUT COPY_OF("A[min(i, 5)]", 0, 8), OUT FILL COPY_OF("A[min(i, 5)]", 0, 8), NW_REFUSE_VALUE,
          "the same expression");
}

// A copy that the step adds may be filled, and a stage that was filled may be inlined.
static void seen_through(void **state) {
  static const char direct[] = "program padded\ninput A: f32[6]\noutput Y: f32[8]\nfor j in 0..8:\n"
                               "  block Y of Y (j = j in 0..8):\n"
                               "    Y[j] = select(1 <= j and j <= 6, A[j - 1], 0.0)*2.0\n";
  accepts(*state, SPLIT, direct, 'v');
  accepts(*state, direct, SPLIT, 'v');
  refuses(*state, direct, HEAD FILL COPY(2, 7) READ, NW_REFUSE_VALUE, "but was only filled");
  refuses(*state, direct, HEAD FILL_WITH("1.0", 0, 8) COPY(1, 7) READ, NW_REFUSE_VALUE, "but was only filled");
}

// ---- symbolic sizes

#define ANY "program any\nsize N >= 0\ninput A: f32[N]\noutput P: f32[N + 2]\n"
#define ANY_FILL "for f in 0..N + 2:\n  init block P_fill of P (i = f in 0..N + 2):\n    P[i] = 0.0\n"
#define ANY_COPY(from, to)                                                                                             \
  "for i in " from ".." to ":\n  block P of P (i = i in 0..N + 2):\n    P[i] = select(1 <= i and i <= N, A[i - 1], "   \
  "0.0)\n"

static void any_size(void **state) {
  accepts(*state, ANY ANY_COPY("0", "N + 2"), ANY ANY_FILL ANY_COPY("1", "N + 1"), 'v');
  refuses(*state, ANY ANY_COPY("0", "N + 2"), ANY ANY_FILL ANY_COPY("1", "N"), NW_REFUSE_VALUE, "is not stored");
}

int main(void) {
  const struct CMUnitTest tests[] = {T(fill_and_copy),
                                     T(copy_too_small),
                                     T(fill_too_small),
                                     T(other_constant),
                                     T(fill_comes_first),
                                     T(fill_in_the_same_loop),
                                     T(pieces),
                                     T(in_tiles),
                                     T(only_some_elements),
                                     T(output),
                                     T(forms),
                                     T(seen_through),
                                     T(any_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
