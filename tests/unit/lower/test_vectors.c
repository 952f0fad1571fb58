// Tests the passes that shorten vectors, keep masked elements in registers, and change minimums and maximums.
#include "lowering.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)

// ---- narrow

static const char rows[] = "program p\n"
                           "%s"
                           "input A: f32[%s]\n"
                           "output B: f32[%s]\n"
                           "%sfor i_o in 0..%s:\n"
                           "  vectorize for i_i in 0..16:\n"
                           "    block B of B (i = 16*i_o + i_i in 0..%s) where 16*i_o + i_i < %s:\n"
                           "      B[i] = A[i] + 1.0\n";

static char *rows_of(void *state, const char *size, const char *mark, const char *n, const char *blocks) {
  char text[900];
  snprintf(text, sizeof text, rows, size, n, n, mark, blocks, n, n);
  return lowered(state, text, NULL);
}

static void the_last_vector_is_as_short_as_its_lanes(void **state) {
  char *t = rows_of(*state, "", "", "104", "7");
  assert_has(t, "B[ramp(96, 1, 8)] = A[ramp(96, 1, 8)] + broadcast(1.0, 8)");
  assert_lacks(t, "<");
  free(t);
}

// 13 lanes would take three pieces or more.
static void a_vector_that_needs_more_pieces_stays_masked(void **state) {
  char *t = rows_of(*state, "", "", "109", "7");
  assert_has(t, "B[ramp(96, 1, 16); ramp(96, 1, 16) < broadcast(109, 16)]");
  free(t);
}

static void a_mask_that_differs_between_iterations_stays(void **state) {
  char *t = rows_of(*state, "", "parallel ", "104", "7");
  assert_has(t, "B[ramp(16*i_o, 1, 16); ramp(16*i_o, 1, 16) < broadcast(104, 16)]");
  free(t);
  t = rows_of(*state, "size N >= 1\n", "", "N", "(N + 15) // 16");
  assert_has(t, "< broadcast(N, 16)]");
  free(t);
}

// The last lanes run in the first vector.
static void the_first_vector_begins_at_its_first_lane(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[24]\n"
                    "output B: f32[24]\n"
                    "for i_o in 0..2:\n"
                    "  vectorize for i_i in 0..16:\n"
                    "    block B of B (i = 16*i_o + i_i - 8 in 0..24) where 0 <= 16*i_o + i_i - 8:\n"
                    "      B[i] = A[i] + 1.0\n",
                    NULL);
  assert_has(t, "B[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] + broadcast(1.0, 8)");
  assert_has(t, "B[ramp(8, 1, 16)] = A[ramp(8, 1, 16)]");
  free(t);
}

// ---- registers

static const char product[] = "program p\n"
                              "size N >= 1\n"
                              "size K >= %s\n"
                              "input A: f32[2, K]\n"
                              "input B: f32[K, N]\n"
                              "output C: f32[2, N]\n"
                              "parallel for j_o in 0..(N + 15) // 16:\n"
                              "  for k_1 in 0..K:\n"
                              "    unroll for i_1 in 0..2:\n"
                              "      vectorize for j_i in 0..16:\n"
                              "        block C of C (i = i_1 in 0..2, j = 16*j_o + j_i in 0..N, reduce k = k_1 in 0..K)"
                              " where 16*j_o + j_i < N:\n"
                              "%s"
                              "          C[i, j] += A[i, k]*B[k, j]\n";

static char *product_of(void *state, const char *least, bool init) {
  char text[900];
  snprintf(text, sizeof text, product, least, init ? "          init C[i, j] = 0.0\n" : "");
  return lowered(state, text, NULL);
}

static void masked_accumulators_are_kept_in_a_buffer(void **state) {
  char *t = product_of(*state, "0", true);
  assert_has(t, "alloc C_kept[32] local");
  assert_has(t, "C_kept[ramp(16, 1, 16)] = broadcast(0.0, 16)");
  assert_has(t, "C_kept[ramp(16, 1, 16)] = fma(broadcast(A[K + k_1], 16), B[ramp(");
  assert_int_equal(count_of(t, "] = C_kept["), 2);
  free(t);
}

// Without an init, the elements are loaded before the loop if the loop surely updates them.
static void masked_elements_are_loaded_first(void **state) {
  char *t = product_of(*state, "1", false);
  assert_has(t, "C_kept[ramp(16, 1, 16)] = C[ramp(");
  free(t);
  t = product_of(*state, "0", false);
  assert_lacks(t, "C_kept");
  free(t);
}

// The elements that the second statement reads may be those that the first one updates.
static void elements_that_may_be_read_elsewhere_are_not_kept(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "size N >= 1\n"
                    "input A: f32[8, N]\n"
                    "output C: f32[N]\n"
                    "output D: f32[8, N]\n"
                    "parallel for j_o in 0..(N + 15) // 16:\n"
                    "  for k_1 in 0..8:\n"
                    "    vectorize for j_i in 0..16:\n"
                    "      block C of C (j = 16*j_o + j_i in 0..N, reduce k = k_1 in 0..8) where 16*j_o + j_i < N:\n"
                    "        C[j] += A[k, j]\n"
                    "    for j_2 in 0..min(16, N - 16*j_o):\n"
                    "      block D of D (k = k_1 in 0..8, j = 16*j_o + j_2 in 0..N):\n"
                    "        D[k, j] = C[j]\n",
                    NULL);
  assert_lacks(t, "C_kept");
  free(t);
}

// ---- terms

static const char greatest[] = "program p\n"
                               "input A: %s[8, %s]\n"
                               "output M: %s[8]\n"
                               "for i_1 in 0..8:\n"
                               "  %sfor k_1 in 0..%s:\n"
                               "    block M of M (i = i_1 in 0..8, reduce k = k_1 in 0..%s):\n"
                               "      init M[i] = %s(-inf)\n"
                               "      M[i] max= A[i, k]\n";

static char *greatest_of(void *state, const char *dtype, const char *mark, const char *n) {
  char text[600];
  snprintf(text, sizeof text, greatest, dtype, n, dtype, mark, n, n, dtype);
  return lowered(state, text, NULL);
}

static void four_terms_update_a_maximum(void **state) {
  char *t = greatest_of(*state, "f32", "", "103");
  assert_has(t, "for k_1 in 0..25:");
  assert_has(t, "for k_1.tail in 100..103:");
  assert_has(t, "M[i_1] = max(M[i_1], max(max(A[103*i_1 + 4*k_1], A[103*i_1 + 4*k_1 + 1]), "
                "max(A[103*i_1 + 4*k_1 + 2], A[103*i_1 + 4*k_1 + 3])))");
  free(t);
}

static void unrolled_terms_are_combined_too(void **state) {
  char *t = greatest_of(*state, "f32", "unroll ", "6");
  assert_int_equal(count_of(t, "M[i_1] = "), 3);
  free(t);
}

static void short_loops_keep_their_terms(void **state) {
  char *t = greatest_of(*state, "f32", "", "7");
  assert_has(t, "for k_1 in 0..7:");
  free(t);
}

// ---- extremes

static void a_fast_maximum_is_a_comparison(void **state) {
  lowering *l = *state;
  char *t = lowered(l,
                    "program p\n"
                    "input A: f32[16]\n"
                    "output B: f32[16]\n"
                    "for i_1 in 0..16:\n"
                    "  block B of B (i = i_1 in 0..16) with minmax = \"fast\":\n"
                    "    B[i] = max(A[i], 0.0)\n",
                    NULL);
  assert_lacks(t, "max(");
  assert_has(t, "select(");
  free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_last_vector_is_as_short_as_its_lanes),
      TEST(a_vector_that_needs_more_pieces_stays_masked),
      TEST(a_mask_that_differs_between_iterations_stays),
      TEST(the_first_vector_begins_at_its_first_lane),
      TEST(masked_accumulators_are_kept_in_a_buffer),
      TEST(masked_elements_are_loaded_first),
      TEST(elements_that_may_be_read_elsewhere_are_not_kept),
      TEST(four_terms_update_a_maximum),
      TEST(unrolled_terms_are_combined_too),
      TEST(short_loops_keep_their_terms),
      TEST(a_fast_maximum_is_a_comparison),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
