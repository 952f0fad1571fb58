// Compares proofs about numbers in mixed radix with all values of these numbers.
#include "judging.h"
#include "poly/radix.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

enum { DIGITS = 4, MIDDLE = 1000, CASES = 200000 };

// Counts how many times each number occurs, over all values of the digits.
static void count(int n, const nw_digit *d, int64_t sum, int *times) {
  if (!n) {
    times[MIDDLE + sum]++;
    return;
  }
  for (int64_t v = 0; v < d->extent; v++) count(n - 1, d + 1, sum + v * d->weight, times);
}

static void every_proof_holds(void **state) {
  (void)state;
  uint64_t random = 1;
  int once = 0, dense = 0;
  for (int c = 0; c < CASES; c++) {
    nw_digit d[DIGITS];
    int n = (int)(nw_draw(&random) % (DIGITS + 1)), times[2 * MIDDLE] = {0};
    for (int i = 0; i < n; i++)
      d[i] = (nw_digit){(int64_t)(nw_draw(&random) % 41) - 20, (int64_t)(nw_draw(&random) % 5) + 1};
    count(n, d, 0, times);
    int found = nw_radix(n, d), first = 0, last = 2 * MIDDLE - 1;
    while (!times[first]) first++;
    while (!times[last]) last--;
    for (int i = first; i <= last; i++) {
      if (found & NW_RADIX_ONCE) assert_true(times[i] <= 1);
      if (found & NW_RADIX_DENSE) assert_true(times[i] >= 1);
    }
    once += (found & NW_RADIX_ONCE) != 0;
    dense += (found & NW_RADIX_DENSE) != 0;
  }
  assert_true(once > CASES / 20 && dense > CASES / 20);
}

// For the digits of splits, in any order, two properties must be proved: each number occurs once, and no number is
// missing.
static void splits_are_evident(void **state) {
  (void)state;
  nw_digit d[] = {{8, 4}, {1, 8}, {-32, 3}}, huge[] = {{INT64_MAX, 3}, {1, 2}}, least[] = {{INT64_MIN, 2}};
  assert_int_equal(nw_radix(3, d), NW_RADIX_ONCE | NW_RADIX_DENSE);
  assert_int_equal(nw_radix(2, huge), 0);
  assert_int_equal(nw_radix(1, least), 0);
}

#define HEAD "program copy\ninput A: f32[12, 12]\noutput B: f32[12, 12]\n"
#define ROWS HEAD "for i in 0..12:\n  for j in 0..12:\n"
#define BODY(i, j) "block B of B (i = " i " in 0..12, j = " j " in 0..12):\n        B[i, j] = A[i, j]\n"
#define PLAIN ROWS "    " BODY("i", "j")
#define SPLIT(n, i) HEAD "for o in 0.." n ":\n  for l in 0..4:\n    for j in 0..12:\n      " BODY(i, "j")

static void programs_of_digits(void **state) {
  accepts(*state, PLAIN, SPLIT("3", "4*o + l"), 'o');
  accepts(*state, PLAIN, SPLIT("3", "11 - o - 3*l"), 'o');
  accepts(*state, PLAIN, HEAD "for i in 0..12:\n  for j in 2*i..2*i + 12:\n    " BODY("i", "j - 2*i"), 'o');
}

static void rows_left_out(void **state) {
  refuses(*state, PLAIN, SPLIT("4", "3*o + l"), NW_REFUSE_BOUNDS, "outside its domain");
  refuses(*state, PLAIN, SPLIT("2", "5*o + l"), NW_REFUSE_COVER, "never written");
  refuses(*state, PLAIN, HEAD "for i in 0..12:\n  for j in 0..12:\n    if i + j < 20:\n      " BODY("i", "j"),
          NW_REFUSE_COVER, "never written");
}

// The loop i determines the row and the column, so only the elements of a diagonal are written.
static void a_loop_that_is_shared(void **state) {
  refuses(*state, PLAIN, HEAD "for i in 0..12:\n  for j in 0..12:\n    " BODY("i", "i"), NW_REFUSE_COVER,
          "never written");
  refuses(*state, PLAIN, HEAD "for i in 0..12:\n  for j in 0..1:\n    " BODY("i + j", "i"), NW_REFUSE_COVER,
          "never written");
}

// The sum of a row must not add an element twice.
#define SUM                                                                                                            \
  "program sums\ninput A: f32[12, 12]\noutput S: f32[12]\n"                                                            \
  "for i_init in 0..12:\n  init block I of S (i = i_init in 0..12):\n    S[i] = 0.0\nfor i in 0..12:\n"
#define ADD(k) "block S of S (i = i in 0..12, reduce k = " k " in 0..12):\n        S[i] += A[i, k]\n"

static void contributions_made_twice(void **state) {
  const char *plain = SUM "  for k in 0..12:\n    " ADD("k");
  accepts(*state, plain, SUM "  for o in 0..3:\n    for k in 0..4:\n      " ADD("4*o + k"), 'o');
  refuses(*state, plain, SUM "  for o in 0..4:\n    for k in 0..3:\n      " ADD("2*o + k"), NW_REFUSE_REDUCTION,
          "twice");
}

int main(void) {
  const struct CMUnitTest tests[] = {T(every_proof_holds), T(splits_are_evident),    T(programs_of_digits),
                                     T(rows_left_out),     T(a_loop_that_is_shared), T(contributions_made_twice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
