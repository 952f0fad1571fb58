// Tests that loops are cut where a condition becomes true or false.
#include "lowering.h"

static char *partitioned(void *state, const char *text) { return lowered(state, text, "partition"); }

static const char rows[] = "program p\n"
                           "input A: f32[100]\n"
                           "output B: f32[100]\n"
                           "%s i_o in 0..7:\n"
                           "  %s i_i in 0..16:\n"
                           "    block B of B (i = 16*i_o + i_i in 0..100) where 16*i_o + i_i < 100:\n"
                           "      B[i] = A[i] + 1.0\n";

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)

static char *rows_with(void *state, const char *outer, const char *inner) {
  char text[600];
  snprintf(text, sizeof text, rows, outer, inner);
  return partitioned(state, text);
}

// Only the innermost serial loop is cut. The condition becomes the end of the loop, and no code remains for later
// iterations.
static void a_scalar_guard_becomes_a_bound(void **state) {
  char *t = rows_with(*state, "for", "for");
  assert_has(t, "for i_i in 0..min(");
  assert_lacks(t, "if ");
  assert_lacks(t, "tail");
  free(t);
}

static void full_vectors_need_no_mask(void **state) {
  char *t = rows_with(*state, "for", "vectorize for");
  assert_has(t, "for i_o in 0..6:");
  assert_has(t, "for i_o.tail in 6..7:");
  assert_int_equal(count_of(t, "if "), 1);
  assert_true(strstr(t, "if ") > strstr(t, "i_o.tail"));
  free(t);
}

static void an_unrolled_loop_is_cut_too(void **state) {
  char *t = rows_with(*state, "for", "unroll for");
  assert_has(t, "for i_o in 0..6:");
  assert_int_equal(count_of(t, "if "), 1);
  free(t);
}

static void a_parallel_loop_stays_whole(void **state) {
  char *t = rows_with(*state, "parallel for", "vectorize for");
  assert_has(t, "for i_o in 0..7:");
  assert_int_equal(count_of(t, "if "), 1);
  free(t);
}

// The bound of the inner loop uses the variable of the parallel loop around it.
static void the_cut_may_depend_on_loops_outside(void **state) {
  char *t = rows_with(*state, "parallel for", "for");
  assert_has(t, "16*i_o");
  assert_lacks(t, "if ");
  free(t);
}

static void a_head_is_cut_off_too(void **state) {
  char *t = partitioned(
      *state, "program p\n"
              "input A: f32[64]\n"
              "output B: f32[64]\n"
              "for i_o in 0..6:\n"
              "  unroll for i_i in 0..16:\n"
              "    block B of B (i = 16*i_o + i_i - 8 in 0..64) where 0 <= 16*i_o + i_i - 8 and 16*i_o + i_i - 8"
              " < 64:\n"
              "      B[i] = A[i] + 1.0\n");
  assert_has(t, "for i_o.head in 0..1:");
  assert_has(t, "for i_o in 1..4:");
  assert_has(t, "for i_o.tail in 4..6:");
  const char *main_part = strstr(t, "for i_o in 1..4:"), *tail = strstr(t, "for i_o.tail");
  const char *guard = strstr(main_part, "if ");
  assert_true(guard > tail);
  free(t);
}

static void symbolic_extents_are_cut(void **state) {
  char *t = partitioned(*state, "program p\n"
                                "size N >= 1\n"
                                "input A: f32[N]\n"
                                "output B: f32[N]\n"
                                "for i_o in 0..(N + 15) // 16:\n"
                                "  vectorize for i_i in 0..16:\n"
                                "    block B of B (i = 16*i_o + i_i in 0..N) where 16*i_o + i_i < N:\n"
                                "      B[i] = A[i] + 1.0\n");
  assert_has(t, "for i_o in 0..N // 16:");
  assert_has(t, "for i_o.tail in N // 16..");
  free(t);
}

static void conditions_that_are_not_affine_stay(void **state) {
  char *t = partitioned(*state, "program p\n"
                                "input A: i64[16]\n"
                                "output B: i64[16]\n"
                                "for i_1 in 0..16:\n"
                                "  block B of B (i = i_1 in 0..16) where i_1*i_1 < 100:\n"
                                "    B[i] = A[i] + 1\n");
  assert_has(t, "for i_1 in 0..16:");
  free(t);
}

// ---- selects

static const char terms[] = "program p\n"
                            "input A: %s[100]\n"
                            "input B: %s[100]\n"
                            "output S: %s[16]\n"
                            "for k_o in 0..7:\n"
                            "  vectorize for k_i in 0..16:\n"
                            "    block S of S (i = k_i in 0..16, reduce k = k_o in 0..7):\n"
                            "      init S[i] = %s(0.0)\n"
                            "      S[i] += select(16*k + i < 100, %s, %s(0.0))\n";

static char *terms_of(void *state, const char *dtype, const char *value, const char *pass) {
  char text[600];
  snprintf(text, sizeof text, terms, dtype, dtype, dtype, dtype, value, dtype);
  return lowered(state, text, pass);
}

static void a_select_is_decided_in_whole_vectors(void **state) {
  char *t = terms_of(*state, "f32", "A[16*k + i]", "partition");
  assert_has(t, "for k_o in 0..6:");
  assert_has(t, "for k_o.tail in 6..7:");
  assert_int_equal(count_of(t, "select("), 1);
  assert_true(strstr(t, "select(") > strstr(t, "k_o.tail"));
  free(t);
}

// All products are rounded in the same way: with the sum in every iteration, or in none.
static void a_product_is_rounded_alike_in_both_parts(void **state) {
  static const char *const dtype[] = {"f32", "f64", "f16", "bf16"};
  for (int i = 0; i < NW_COUNT(dtype); i++) {
    char *t = terms_of(*state, dtype[i], "A[16*k + i]*B[16*k + i]", NULL);
    assert_int_equal(count_of(t, "fma(") % 2, 0);
    free(t);
  }
}

static void a_select_is_false_in_the_other_iteration(void **state) {
  char *t = partitioned(*state, "program p\n"
                                "input A: f32[10]\n"
                                "output B: f32[12]\n"
                                "for i_1 in 0..12:\n"
                                "  block B of B (i = i_1 in 0..12):\n"
                                "    B[i] = select(1 <= i and i < 11, A[i - 1], 1.0)\n");
  assert_lacks(t, "select(");
  assert_int_equal(count_of(t, "] = 1.0"), 2);
  assert_has(t, "for i_1 in 1..11:");
  free(t);
}

static void a_select_that_is_false_more_often_stays(void **state) {
  char *t = partitioned(*state, "program p\n"
                                "input A: f32[10]\n"
                                "output B: f32[14]\n"
                                "for i_1 in 0..14:\n"
                                "  block B of B (i = i_1 in 0..14):\n"
                                "    B[i] = select(2 <= i and i < 12, A[i - 2], 1.0)\n");
  assert_int_equal(count_of(t, "for "), 1);
  free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_scalar_guard_becomes_a_bound),
      TEST(full_vectors_need_no_mask),
      TEST(an_unrolled_loop_is_cut_too),
      TEST(a_parallel_loop_stays_whole),
      TEST(the_cut_may_depend_on_loops_outside),
      TEST(a_head_is_cut_off_too),
      TEST(symbolic_extents_are_cut),
      TEST(conditions_that_are_not_affine_stay),
      TEST(a_select_is_decided_in_whole_vectors),
      TEST(a_product_is_rounded_alike_in_both_parts),
      TEST(a_select_is_false_in_the_other_iteration),
      TEST(a_select_that_is_false_more_often_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
