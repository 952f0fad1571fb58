// Tests stages with updates: blocks that have only some of the instances in their ranges (`when`), writes at indices
// that are data, and steps on other stages that are judged by value.
#include "judging.h"

// ---- instances with a condition

#define TRIANGLE                                                                                                       \
  "program t\ninput A: f32[8, 8]\noutput C: f32[8, 8]\n"                                                               \
  "for x in 0..8:\n  for y in 0..8:\n    block C0 of C0 (i = x in 0..8, j = y in 0..8):\n      C[i, j] = A[i, j]\n"
#define TRIANGLE_BODY "C[i, j] = C[i, j] * 2.0\n"
static const char triangle[] =
    TRIANGLE "for i in 0..8:\n  for j in 0..8:\n    block C of C (i = i in 0..8, j = j in 0..8) when i < j "
             "where i < j:\n      " TRIANGLE_BODY;

static void a_condition_is_kept_by_a_guard_or_by_bounds(void **state) {
  accepts(*state, triangle,
          TRIANGLE "for j in 0..8:\n  for i in 0..8:\n    block C of C (i = i in 0..8, j = j in 0..8) when i < j "
                   "where i < j:\n      " TRIANGLE_BODY,
          'o');
  accepts(*state, triangle,
          TRIANGLE "for i in 0..7:\n  for j in i + 1..8:\n    block C of C (i = i in 0..8, j = j in 0..8) when i < j:\n"
                   "      " TRIANGLE_BODY,
          'o');
}

static void no_instance_is_lost_or_added(void **state) {
  refuses(*state, triangle,
          TRIANGLE "for i in 0..7:\n  for j in i + 2..8:\n    block C of C (i = i in 0..8, j = j in 0..8) when i < j:\n"
                   "      " TRIANGLE_BODY,
          NW_REFUSE_VALUE, "would not run each of its instances once");
  refuses(*state, triangle,
          TRIANGLE "for i in 0..8:\n  for j in 0..8:\n    block C of C (i = i in 0..8, j = j in 0..8) when i < j "
                   "where i <= j:\n      " TRIANGLE_BODY,
          NW_REFUSE_BOUNDS, "outside its domain");
  refuses(*state, triangle,
          TRIANGLE "for i in 0..8:\n  for j in 0..8:\n    block C of C (i = i in 0..8, j = j in 0..8) when i <= j "
                   "where i <= j:\n      " TRIANGLE_BODY,
          NW_REFUSE_VALUE, "does not compute the same expression");
}

// ---- writes at data

#define COUNTS                                                                                                         \
  "program h\ninput X: u8[64]\noutput H: i32[256]\n"                                                                   \
  "for b in 0..256:\n  block H0 of H0 (b = b in 0..256):\n    H[b] = i32(0)\n"
#define COUNTS_BODY "H[i64(X[i])] += i32(1)\n"
static const char counts[] = COUNTS "for i in 0..64:\n  block H of H (ordered i = i in 0..64):\n    " COUNTS_BODY;
#define LAST_BODY "H[i64(X[i])] = i32(i)\n"
static const char last[] = COUNTS "for i in 0..64:\n  block H of H (ordered i = i in 0..64):\n    " LAST_BODY;

static void counts_may_be_added_in_any_order(void **state) {
  accepts(*state, counts, COUNTS "for i in 0..64:\n  block H of H (ordered i = 63 - i in 0..64):\n    " COUNTS_BODY,
          'o');
  refuses(*state, last, COUNTS "for i in 0..64:\n  block H of H (ordered i = 63 - i in 0..64):\n    " LAST_BODY,
          NW_REFUSE_WAW, "would run first");
}

static void threads_count_only_by_atomic_updates(void **state) {
  refuses(*state, counts, COUNTS "parallel for i in 0..64:\n  block H of H (ordered i = i in 0..64):\n    " COUNTS_BODY,
          NW_REFUSE_REDUCTION, "by another thread");
  accepts(*state, counts,
          COUNTS "parallel for i in 0..64:\n  atomic block H of H (ordered i = i in 0..64):\n    " COUNTS_BODY, 0);
}

// A write at data may write any of several elements, so it does not prove that an element is written.
static void a_write_at_data_proves_nothing(void **state) {
  static const char some[] = "program h\ninput X: u8[64]\noutput H: i32[256]\n"
                             "for b in 0..128:\n  block H0 of H0 (b = b in 0..128):\n    H[b] = i32(0)\n"
                             "for i in 0..64:\n  block H of H (ordered i = i in 0..64):\n    " LAST_BODY;
  env *e = *state;
  nw_program *p = parsed(e, some);
  assert_false(nw_judge_first(p));
  assert_non_null(strstr(nw_error(e->c)->refusal->why, "is never written"));
  nw_clear(e->c);
  nw_program_release(p);
}

// ---- steps on other stages

#define AROUND                                                                                                         \
  "program v\ninput A: f32[16]\noutput D: f32[16]\ntemp P: f32[16] global\ntemp C: f32[16] global\nalloc P[0..16]\n"   \
  "alloc C[0..16]\n"
#define FILLED                                                                                                         \
  "for p in 0..16:\n  block P of P (i = p in 0..16):\n    P[i] = A[i] * 2.0\n"                                         \
  "for c in 0..16:\n  block C0 of C0 (i = c in 0..16):\n    C[i] = P[i]\n"
#define SUMS "for s in 1..16:\n  block C of C (i = s in 1..16):\n    C[i] = C[i - 1] + C[i]\n"
#define USED(value) "for d in 0..16:\n  block D of D (i = d in 0..16):\n    D[i] = " value "\n"
static const char around[] = AROUND FILLED SUMS USED("C[i] + 1.0");

static void other_stages_are_compared_by_value(void **state) {
  // P is computed where it is read
  accepts(*state, around,
          AROUND "for c in 0..16:\n  block P of P (i = c in 0..16):\n    P[i] = A[i] * 2.0\n"
                 "  block C0 of C0 (i = c in 0..16):\n    C[i] = P[i]\n" SUMS USED("C[i] + 1.0"),
          'o');
  // P is inlined
  accepts(*state, around,
          "program v\ninput A: f32[16]\noutput D: f32[16]\ntemp C: f32[16] global\nalloc C[0..16]\n"
          "for c in 0..16:\n  block C0 of C0 (i = c in 0..16):\n    C[i] = A[i] * 2.0\n" SUMS USED("C[i] + 1.0"),
          'v');
}

static void definitions_keep_their_order(void **state) {
  refuses(*state, around,
          "program v\ninput A: f32[16]\noutput D: f32[16]\ntemp C: f32[16] global\nalloc C[0..16]\n"
          "for c in 0..16:\n  block C0 of C0 (i = c in 0..16):\n    C[i] = A[i] * 2.0\n"
          "for s in 0..15:\n  block C of C (i = 15 - s in 1..16):\n    C[i] = C[i - 1] + C[i]\n" USED("C[i] + 1.0"),
          NW_REFUSE_RAW, "before it is written");
}

static void other_stages_read_the_last_values(void **state) {
  refuses(*state, around,
          "program v\ninput A: f32[16]\noutput D: f32[16]\ntemp C: f32[16] global\nalloc C[0..16]\n"
          "for c in 0..16:\n  block C0 of C0 (i = c in 0..16):\n    C[i] = A[i] * 2.0\n" USED("C[i] + 1.0") SUMS,
          NW_REFUSE_RAW, "before it gets its last value");
}

static void no_definition_is_lost(void **state) {
  refuses(*state, around, AROUND FILLED USED("C[i] + 1.0"), NW_REFUSE_VALUE, "");
  refuses(*state, around,
          AROUND FILLED
          "for s in 2..16:\n  block C of C (i = s in 1..16):\n    C[i] = C[i - 1] + C[i]\n" USED("C[i] + 1.0"),
          NW_REFUSE_VALUE, "would not run each of its instances once");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_condition_is_kept_by_a_guard_or_by_bounds, setup, teardown),
      cmocka_unit_test_setup_teardown(no_instance_is_lost_or_added, setup, teardown),
      cmocka_unit_test_setup_teardown(counts_may_be_added_in_any_order, setup, teardown),
      cmocka_unit_test_setup_teardown(threads_count_only_by_atomic_updates, setup, teardown),
      cmocka_unit_test_setup_teardown(a_write_at_data_proves_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(other_stages_are_compared_by_value, setup, teardown),
      cmocka_unit_test_setup_teardown(definitions_keep_their_order, setup, teardown),
      cmocka_unit_test_setup_teardown(other_stages_read_the_last_values, setup, teardown),
      cmocka_unit_test_setup_teardown(no_definition_is_lost, setup, teardown),
  };
  return cmocka_run_group_tests_name("updates", tests, NULL, NULL);
}
