// Loops that were split by sizes (poly/whole/weights.c).
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define ROW "program r\nsize N >= 1\nsize T >= 1\nsize U >= 1\ninput A: f32[N]\ninput F: f32[T, U]\noutput B: f32[N]\n"
#define ADD "      B[i] = A[i] + 1.0\n"
#define ROUNDS "(N + T - 1) // T"

static const char naive[] = ROW "for i in 0..N:\n    block B of B (i = i in 0..N):\n" ADD;

static void split_by_a_size(void **state) {
  accepts(*state, naive,
          ROW "for o in 0.." ROUNDS ":\n  for p in 0..T:\n"
              "    block B of B (i = o*T + p in 0..N) where o*T + p < N:\n" ADD,
          'o');
  accepts(*state, naive,
          ROW "for o in 0.." ROUNDS ":\n  for p in 0..(T + U - 1) // U:\n    for q in 0..U:\n"
              "      block B of B (i = o*T + p*U + q in 0..N) where o*T + p*U + q < N and p*U + q < T:\n  " ADD,
          'o');
}

static void without_its_guard(void **state) {
  refuses(*state, naive, ROW "for o in 0.." ROUNDS ":\n  for p in 0..T:\n    block B of B (i = o*T + p in 0..N):\n" ADD,
          NW_REFUSE_BOUNDS, "outside its domain");
}

static void with_too_few_rounds(void **state) {
  refuses(*state, naive,
          ROW "for o in 0..N // T:\n  for p in 0..T:\n"
              "    block B of B (i = o*T + p in 0..N) where o*T + p < N:\n" ADD,
          NW_REFUSE_UNDECIDED, "not affine");
}

// A condition on the inner pieces leaves out iterations, because it is lower than the weight of the outer loop.
static void with_too_low_a_guard(void **state) {
  refuses(*state, naive,
          ROW "for o in 0.." ROUNDS ":\n  for p in 0..(T + U - 1) // U:\n    for q in 0..U:\n"
              "      block B of B (i = o*T + p*U + q in 0..N) where o*T + p*U + q < N and p*U + q < T - 1:\n  " ADD,
          NW_REFUSE_UNDECIDED, "not affine");
}

static void with_overlapping_pieces(void **state) {
  refuses(*state, naive,
          ROW "for o in 0.." ROUNDS ":\n  for p in 0..T + 1:\n"
              "    block B of B (i = o*T + p in 0..N) where o*T + p < N:\n" ADD,
          NW_REFUSE_UNDECIDED, "not affine");
}

static void pieces_in_another_order(void **state) {
#define NEXT "      B[i] = select(0 < i, B[max(i - 1, 0)], A[i])\n"
#define PIECES(x, y) ROW x y "    block B of B (ordered i = o*T + p in 0..N) where o*T + p < N:\n" NEXT
  static const char steps[] = ROW "for i in 0..N:\n    block B of B (ordered i = i in 0..N):\n" NEXT;
  accepts(*state, steps, PIECES("for o in 0.." ROUNDS ":\n", "  for p in 0..T:\n"), 'o');
  refuses(*state, steps, PIECES("for p in 0..T:\n", "  for o in 0.." ROUNDS ":\n"), NW_REFUSE_UNDECIDED,
          "run in another order");
}

#define THRICE(top, more)                                                                                              \
  ROW "for o in 0.." top ":\n  for x in 0..T:\n    for y in 0..T:\n      for z in 0..T:\n"                             \
      "        block B of B (i = o*T*T*T + x*T*T + y*T + z in 0..N) where o*T*T*T + x*T*T + y*T + z < N and "          \
      "o*T*T + x*T + y < " ROUNDS " and o*T + x < " more ":\n          B[i] = A[i] + 1.0\n"

static void split_three_times(void **state) {
  accepts(*state, naive, THRICE("(N - 1) // T // T // T + 1", "(N - 1) // T // T + 1"), 'o');
  refuses(*state, naive, THRICE("(N - 1) // T // T // T", "(N - 1) // T // T + 1"), NW_REFUSE_UNDECIDED, "not affine");
  refuses(*state, naive, THRICE("(N - 1) // T // T // T + 1", "(N - 1) // T // T"), NW_REFUSE_UNDECIDED, "not affine");
}

// If T divides N, no condition is needed.
static void split_by_a_divisor(void **state) {
#define DIVIDED(fact, rounds)                                                                                          \
  "program r\nsize N >= 1\nsize T >= 1\n" fact "input A: f32[N]\ninput F: f32[T]\noutput B: f32[N]\n" rounds
#define ALL "for i in 0..N:\n  block B of B (i = i in 0..N):\n    B[i] = A[i] + 1.0\n"
#define PARTS(top)                                                                                                     \
  "for o in 0.." top ":\n  for p in 0..T:\n    block B of B (i = o*T + p in 0..N):\n      B[i] = A[i] + 1.0\n"
  accepts(*state, DIVIDED("fact N % T == 0\n", ALL), DIVIDED("fact N % T == 0\n", PARTS("N // T")), 'o');
  refuses(*state, DIVIDED("", ALL), DIVIDED("", PARTS("N // T")), NW_REFUSE_COVER, "");
  refuses(*state, DIVIDED("fact T % N == 0\n", ALL), DIVIDED("fact T % N == 0\n", PARTS("N // T")), NW_REFUSE_COVER,
          "");
  refuses(*state, DIVIDED("fact N % T == 0\n", ALL), DIVIDED("fact N % T == 0\n", PARTS("N // T - 1")),
          NW_REFUSE_UNDECIDED, "");
}

// The loop f was fused from the inner part of a split and a loop j.
#define TABLE "program t\nsize N >= 1\nsize T >= 1\nsize K >= 1\ninput F: f32[T]\noutput B: f32[N, K]\n"
#define BOTH                                                                                                           \
  TABLE "for i in 0..N:\n  for j in 0..K:\n    block B of B (i = i in 0..N, j = j in 0..K):\n      B[i, j] = 1.0\n"
#define FUSED(top, inner, by, end)                                                                                     \
  TABLE "for o in 0.." top ":\n  for f in 0..fuse(" inner ", K):\n"                                                    \
        "    block B of B (i = o*T + f // " by " in 0..N, j = f % " by " in 0..K) where o*T + f // " by " < " end      \
        ":\n"                                                                                                          \
        "      B[i, j] = 1.0\n"

static void a_part_that_is_fused(void **state) {
  accepts(*state, BOTH, FUSED(ROUNDS, "T", "K", "N"), 'o');
  refuses(*state, BOTH, FUSED("N // T", "T", "K", "N"), NW_REFUSE_UNDECIDED, "");
  refuses(*state, BOTH, FUSED(ROUNDS, "T + 1", "K", "N"), NW_REFUSE_UNDECIDED, "");
  refuses(*state, BOTH, FUSED(ROUNDS, "T", "K", "N - 1"), NW_REFUSE_UNDECIDED, "");
  refuses(*state, BOTH, FUSED(ROUNDS, "T", "T", "N"), NW_REFUSE_UNDECIDED, "");
}

// The product of two negative extents is positive.
static void with_negative_extents(void **state) {
  refuses(*state,
          "program r\nsize N >= 1\nsize T >= 1\ninput A: f32[N]\noutput B: f32[(N - 5)*(N - 5)]\n"
          "for i in 0..(N - 5)*(N - 5):\n  block B of B (i = i in 0..(N - 5)*(N - 5)):\n    B[i] = 1.0\n",
          "program r\nsize N >= 1\nsize T >= 1\ninput A: f32[N]\noutput B: f32[(N - 5)*(N - 5)]\n"
          "for o in 0..N - 5:\n  for p in 0..N - 5:\n    block B of B (i = o*(N - 5) + p in 0..(N - 5)*(N - 5)):\n"
          "      B[i] = 1.0\n",
          NW_REFUSE_UNDECIDED, "not affine");
}

// One loop that occurs with two weights gives only the diagonal.
static void one_loop_with_two_weights(void **state) {
#define SQUARE "program r\nsize M >= 1\ninput F: f32[M]\noutput B: f32[M*M]\n"
  refuses(*state, SQUARE "for p in 0..M*M:\n  block B of B (p = p in 0..M*M):\n    B[p] = 1.0\n",
          SQUARE "for i in 0..M:\n  block B of B (p = i*M + i in 0..M*M):\n    B[p] = 1.0\n", NW_REFUSE_COVER,
          "B[1] is never written");
}

// The sum begins before all its pieces, and its updates may run in any order.
static void a_sum_in_pieces(void **state) {
#define SUM "program s\nsize N >= 1\nsize K >= 1\nsize T >= 1\ninput A: f32[N, K]\ninput F: f32[T]\noutput B: f32[N]\n"
#define UPDATE "        init B[i] = 0.0\n        B[i] += A[i, k]\n"
  accepts(*state,
          SUM "for i in 0..N:\n  for k in 0..K:\n    block B of B (i = i in 0..N, reduce k = k in 0..K):\n" UPDATE,
          SUM "for o in 0..(K + T - 1) // T:\n  for i in 0..N:\n    for p in 0..T:\n"
              "      block B of B (i = i in 0..N, reduce k = o*T + p in 0..K) where o*T + p < K:\n" UPDATE,
          'o');
}

// ---- tails that begin earlier

#define LONG(fact)                                                                                                     \
  "program r\nsize N >= 1\nsize T >= 1\n" fact "input A: f32[N]\ninput F: f32[T, 2*T]\noutput B: f32[N]\n"
#define PLAIN(index, value)                                                                                            \
  LONG("fact T <= N\n") "for x in 0..N:\n  block B of B (i = x in 0..N):\n    B[" index "] = " value "\n"
#define SHIFTED(fact, mark, index, value)                                                                              \
  LONG(fact)                                                                                                           \
  mark "for o in 0.." ROUNDS ":\n  for p in 0..T:\n"                                                                   \
       "    block B of B (i = min(o*T, N - T) + p in 0..N):\n      B[" index "] = " value "\n"

static void a_tail_that_begins_earlier(void **state) {
  accepts(*state, PLAIN("i", "A[i] + 1.0"), SHIFTED("fact T <= N\n", "", "i", "A[i] + 1.0"), 0);
  accepts(*state, SHIFTED("fact T <= N\n", "", "i", "A[i] + 1.0"),
          LONG("fact T <= N\n") "for o in 0.." ROUNDS ":\n  for p in 0..(T + 7) // 8:\n    for q in 0..8:\n"
                                "      block B of B (i = min(o*T, N - T) + 8*p + q in 0..N) where 8*p + q < T:\n"
                                "        B[i] = A[i] + 1.0\n",
          0);
}

// If N < T, the tail begins before 0.
static void a_tail_that_begins_too_early(void **state) {
  refuses(*state, LONG("") "for x in 0..N:\n  block B of B (i = x in 0..N):\n    B[i] = A[i] + 1.0\n",
          SHIFTED("", "", "i", "A[i] + 1.0"), NW_REFUSE_UNDECIDED, "");
}

// Some elements are written by two iterations.
static void a_tail_in_parallel(void **state) {
  refuses(*state, SHIFTED("fact T <= N\n", "", "i", "A[i] + 1.0"),
          SHIFTED("fact T <= N\n", "parallel ", "i", "A[i] + 1.0"), NW_REFUSE_UNDECIDED, "");
}

// An instance reads what another block of its loop writes. Here it would read the same again, but this is not proved.
static void a_tail_that_reads_what_it_writes(void **state) {
#define HEAD LONG("fact T <= N\n") "temp X: f32[N]\nalloc X[0..N]:\n"
  refuses(*state,
          HEAD "  for x in 0..N:\n    block X of X (i = x in 0..N):\n      X[i] = A[i]*2.0\n"
               "    block B of B (i = x in 0..N):\n      B[i] = X[i] + 1.0\n",
          HEAD "  for o in 0.." ROUNDS ":\n    for p in 0..T:\n"
               "      block X of X (i = min(o*T, N - T) + p in 0..N):\n        X[i] = A[i]*2.0\n"
               "      block B of B (i = min(o*T, N - T) + p in 0..N):\n        B[i] = X[i] + 1.0\n",
          NW_REFUSE_UNDECIDED, "");
}

// A condition depends on the loop that numbers the elements of a tile, so a repeated instance might not run, or run again
// with other values.
static void a_tail_with_a_condition(void **state) {
#define UNDER(loops, bind)                                                                                             \
  LONG("fact T <= N\n")                                                                                                \
  loops "      block B of B (i = " bind " in 0..N, j = j in 0..T) where p <= j:\n"                                     \
        "        B[i] = A[i]\n"
  refuses(*state, UNDER("for o in 0.." ROUNDS ":\n  for p in 0..T:\n    for j in 0..T:\n", "min(o*T, N - T) + p"),
          UNDER("for o in 0.." ROUNDS ":\n  for j in 0..T:\n    for p in 0..T:\n", "min(o*T, N - T) + p"),
          NW_REFUSE_UNDECIDED, "");
}

// All instances write one element, so the last instance must be the last one again. The repeated ones are overwritten
// here, but this does not follow from the index.
static void a_tail_that_writes_one_element(void **state) {
  refuses(*state, PLAIN("0", "A[i]"), SHIFTED("fact T <= N\n", "", "0", "A[i]"), NW_REFUSE_UNDECIDED, "");
}

// ---- sizes that are rounded up

#define STAGES                                                                                                         \
  "program r\nsize N >= 1\nsize T >= 4\ninput A: f32[N]\ninput F: f32[T]\noutput C: f32[N]\ntemp B: f32[N]\n"
#define APART(b, c)                                                                                                    \
  STAGES "alloc B[0..N]:\n  for x in 0..N:\n    block B of B (i = x in 0..N):\n      B[i] = " b                        \
         "\n  for o in 0.." ROUNDS ":\n    for p in 0..T:\n"                                                           \
         "      block C of C (i = o*T + p in 0..N) where o*T + p < N:\n        C[i] = " c "\n"
#define INSIDE(extent, box, bind, b, c)                                                                                \
  STAGES "for o in 0.." ROUNDS ":\n  alloc B[o*T..o*T + " box "]:\n    for x in 0.." extent                            \
         ":\n      block B of B (i = " bind " in 0..N):\n        B[i] = " b "\n    for p in 0..T:\n"                   \
         "      block C of C (i = o*T + p in 0..N) where o*T + p < N:\n        C[i] = " c "\n"
#define REST "min(T, N - o*T)"

static void a_producer_in_the_outer_part(void **state) {
  static const char before[] = APART("A[i] + 1.0", "B[i]*2.0");
  accepts(*state, before, INSIDE(REST, REST, "o*T + x", "A[i] + 1.0", "B[i]*2.0"), 'o');
  accepts(*state, before, INSIDE(REST, "T", "o*T + x", "A[i] + 1.0", "B[i]*2.0"), 'o');
}

// The loop of B runs beyond the end of A.
static void a_producer_beyond_the_end(void **state) {
  refuses(*state, APART("A[i] + 1.0", "B[i]*2.0"), INSIDE("T", REST, "o*T + x", "A[i] + 1.0", "B[i]*2.0"),
          NW_REFUSE_UNDECIDED, "");
}

static void a_producer_of_other_elements(void **state) {
  refuses(*state, APART("A[i] + 1.0", "B[i]*2.0"),
          INSIDE("min(T, N - o*T) - 1", REST, "o*T + x", "A[i] + 1.0", "B[i]*2.0"), NW_REFUSE_UNDECIDED, "");
  refuses(*state, APART("A[i] + 1.0", "B[i]*2.0"), INSIDE(REST, REST, "o*T + x", "A[i] + 2.0", "B[i]*2.0"),
          NW_REFUSE_UNDECIDED, "");
}

// A has the element 3 only if N > 3, but N rounded up to a multiple of T is always greater than 3.
static void an_index_that_is_no_number(void **state) {
  refuses(*state, APART("A[i] + 1.0", "B[i]*A[3]"), INSIDE(REST, REST, "o*T + x", "A[i] + 1.0", "B[i]*A[3]"),
          NW_REFUSE_UNDECIDED, "");
}

// ---- indices that are numbers with digits

#define DIGITS                                                                                                         \
  "program d\nsize N >= 1\nsize M >= 1\ninput A: f32[N*M]\noutput B: f32[N, M]\n"                                      \
  "for i in 0..N:\n  for j in 0..M:\n    block B of B (i = i in 0..N, j = j in 0..M):\n      B[i, j] = "

static void rows_of_one_row(void **state) {
  accepts(
      *state, DIGITS "A[i*M + j]\n",
      "program d\nsize N >= 1\nsize M >= 1\ninput A: f32[N*M]\noutput B: f32[N, M]\n"
      "for f in 0..fuse(N, M):\n  block B of B (i = f // M in 0..N, j = f % M in 0..M):\n    B[i, j] = A[i*M + j]\n",
      'o');
}

static void an_index_beyond_the_end(void **state) {
  refuses(*state, DIGITS "A[i*M + j]\n", DIGITS "A[(i + 1)*M + j]\n", NW_REFUSE_BOUNDS,
          "B reads A[1] at (i=0, j=0), outside the allocated part of A when N = 1, M = 1");
}

// The index is inside the buffer except for the last element, but this does not follow from its digits.
static void digits_beyond_their_ranges(void **state) {
  refuses(*state, DIGITS "A[i*M + j]\n", DIGITS "A[i*M + j + 1]\n", NW_REFUSE_UNDECIDED, "digits");
}

static void an_index_without_digits(void **state) {
  refuses(*state, DIGITS "A[i*M + j]\n", DIGITS "A[i*N + j]\n", NW_REFUSE_UNDECIDED, "contains a product of sizes");
}

static void another_element(void **state) {
  refuses(*state, DIGITS "A[i*M + j]\n", DIGITS "A[i*M]\n", NW_REFUSE_VALUE, "");
}

// Different digits are different numbers, so rows of M and rows of N are not compared element by element.
static void other_digits(void **state) {
#define ROW_OF                                                                                                         \
  "program d\nsize N >= 1\nsize M >= 1\ninput A: f32[N, M]\noutput B: f32[N*M]\nfor p in 0..N*M:\n"                    \
  "  block B of B (p = p in 0..N*M):\n    B[p] = A["
  refuses(*state, ROW_OF "p // M, p % M]\n", ROW_OF "p % N, p // N]\n", NW_REFUSE_UNDECIDED,
          "contains a product of sizes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(split_by_a_size),
      T(without_its_guard),
      T(with_too_few_rounds),
      T(with_too_low_a_guard),
      T(with_overlapping_pieces),
      T(pieces_in_another_order),
      T(split_three_times),
      T(split_by_a_divisor),
      T(a_part_that_is_fused),
      T(with_negative_extents),
      T(a_sum_in_pieces),
      T(one_loop_with_two_weights),
      T(rows_of_one_row),
      T(an_index_beyond_the_end),
      T(digits_beyond_their_ranges),
      T(an_index_without_digits),
      T(another_element),
      T(other_digits),
      T(a_tail_that_begins_earlier),
      T(a_tail_that_begins_too_early),
      T(a_tail_in_parallel),
      T(a_tail_that_reads_what_it_writes),
      T(a_tail_with_a_condition),
      T(a_tail_that_writes_one_element),
      T(a_producer_in_the_outer_part),
      T(a_producer_beyond_the_end),
      T(a_producer_of_other_elements),
      T(an_index_that_is_no_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
