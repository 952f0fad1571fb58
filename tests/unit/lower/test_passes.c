// Tests one property of each pass, on the smallest program that shows it.
#include "lowering.h"

static void init_goes_before_the_outermost_reduce_loop(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[8, 6]\n"
                    "output s: f32[8]\n"
                    "for k_o in 0..3:\n"
                    "  for i_1 in 0..8:\n"
                    "    for k_i in 0..2:\n"
                    "      block s of s (i = i_1 in 0..8, reduce k = 2*k_o + k_i in 0..6):\n"
                    "        init s[i] = 0.0\n"
                    "        s[i] += A[i, k]\n",
                    NULL);
  assert_has(t, "s[i_1_1] = 0.0");
  assert_true(strstr(t, "s[i_1_1] = 0.0") < strstr(t, "for k_o"));
  free(t);
}

// The tail of a cut loop starts at k = 4, so it never contains the first iteration of the reduction.
static void a_tail_has_no_init(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[8, 6]\n"
                    "output s: f32[8]\n"
                    "for i_1 in 0..8:\n"
                    "  for k_o in 0..1:\n"
                    "    for k_i in 0..4:\n"
                    "      block s of s (i = i_1 in 0..8, reduce k = 4*k_o + k_i in 0..6):\n"
                    "        init s[i] = 0.0\n"
                    "        s[i] += A[i, k]\n"
                    "  for k_t in 0..2:\n"
                    "    block s.tail of s (i = i_1 in 0..8, reduce k = 4 + k_t in 0..6):\n"
                    "      init s[i] = 0.0\n"
                    "      s[i] += A[i, k]\n",
                    NULL);
  assert_int_equal(count_of(t, "= 0.0"), 1);
  free(t);
}

static void an_init_that_cannot_move_is_guarded(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[8, 6]\n"
                    "output s: f32[8]\n"
                    "for f in 0..fuse(6, 8):\n"
                    "  block s of s (i = f % 8 in 0..8, reduce k = f // 8 in 0..6):\n"
                    "    init s[i] = 0.0\n"
                    "    s[i] += A[i, k]\n",
                    NULL);
  assert_has(t, "if ");
  assert_has(t, "= 0.0");
  free(t);
}

static const char guarded[] = "program p\n"
                              "size N >= 0\n"
                              "input A: f32[N]\n"
                              "output B: f32[N]\n"
                              "for i_o in 0..(N + 3) // 4:\n"
                              "  %sfor i_i in 0..4:\n"
                              "    block B of B (i = 4*i_o + i_i in 0..N) where 4*i_o + i_i < N:\n"
                              "      B[i] = A[i] + 1.0\n";

static char *guarded_as(const char *mark) {
  char *text = nw_xcalloc(1, sizeof guarded + 32);
  snprintf(text, sizeof guarded + 32, guarded, mark);
  return text;
}

static void a_guard_becomes_a_mask(void **state) {
  char *source = guarded_as("vectorize "), *t = lowered(*state, source, NULL);
  assert_has(t, "ramp(4*i_o, 1, 4)");
  assert_has(t, "broadcast(N, 4)");
  assert_lacks(t, "for i_i");
  free(t);
  free(source);
}

static void a_serial_guard_becomes_a_bound(void **state) {
  char *source = guarded_as(""), *t = lowered(*state, source, NULL);
  assert_lacks(t, "if ");
  assert_has(t, "in 0..min(");
  free(t);
  free(source);
}

static void guards_move_out(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "size N >= 0\n"
                    "input A: f32[N, 8]\n"
                    "output B: f32[N, 8]\n"
                    "for i_o in 0..(N + 3) // 4:\n"
                    "  for i_i in 0..4:\n"
                    "    for j_1 in 0..8:\n"
                    "      block B of B (i = 4*i_o + i_i in 0..N, j = j_1 in 0..8) where 4*i_o + i_i < N:\n"
                    "        B[i, j] = A[i, j] + 1.0\n",
                    NULL);
  assert_true(strstr(t, "if ") < strstr(t, "for j_1"));
  free(t);
}

static void a_proved_condition_is_dropped(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[32]\n"
                    "output B: f32[32]\n"
                    "for i_o in 0..8:\n"
                    "  for i_i in 0..4:\n"
                    "    block B of B (i = 4*i_o + i_i in 0..32) where 4*i_o + i_i < 32:\n"
                    "      B[i] = A[i] + 1.0\n",
                    NULL);
  assert_lacks(t, "if ");
  free(t);
}

// If a branch of a select reads outside a tensor in the lanes that do not take the branch, the load gets a mask.
static void a_lazy_select_masks_its_loads(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[16]\n"
                    "output B: f32[18]\n"
                    "vectorize for i_1 in 0..18:\n"
                    "  block B of B (i = i_1 in 0..18):\n"
                    "    B[i] = select(1 <= i and i <= 16, A[i - 1], 0.0)\n",
                    NULL);
  assert_has(t, "A[ramp(-1, 1, 18); ");
  free(t);
}

static void strided_loads_and_loads_shared_by_all_lanes(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[16, 8]\n"
                    "output B: f32[8, 16]\n"
                    "for j_1 in 0..8:\n"
                    "  vectorize for i_1 in 0..16:\n"
                    "    block B of B (j = j_1 in 0..8, i = i_1 in 0..16):\n"
                    "      B[j, i] = A[i, j]*A[0, j]\n",
                    NULL);
  assert_has(t, "A[ramp(j_1, 8, 16)]");
  assert_has(t, "broadcast(A[j_1], 16)");
  assert_has(t, "B[ramp(16*j_1, 1, 16)]");
  free(t);
}

static void halves_compute_in_f32(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f16[16]\n"
                    "output B: f16[16]\n"
                    "for i_1 in 0..16:\n"
                    "  block B of B (i = i_1 in 0..16):\n"
                    "    B[i] = A[i]*A[i] + A[i]\n",
                    NULL);
  assert_has(t, "f16(fma(f32(A[i_1]), f32(A[i_1]), f32(A[i_1])))");
  free(t);
}

static void a_shared_product_is_not_fused(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[16]\n"
                    "output B: f32[16]\n"
                    "for i_1 in 0..16:\n"
                    "  block B of B (i = i_1 in 0..16):\n"
                    "    B[i] = sqrt(A[i]*A[i]) + A[i]*A[i]\n",
                    NULL);
  assert_lacks(t, "fma(");
  free(t);
}

static void a_private_buffer_has_one_copy_for_each_lane(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[16, 4]\n"
                    "output B: f32[16]\n"
                    "temp T: f32[16, 4] local\n"
                    "vectorize for i_1 in 0..16:\n"
                    "  alloc T[i_1..i_1 + 1, 0..4]:\n"
                    "    for j_1 in 0..4:\n"
                    "      block T of T (i = i_1 in 0..16, j = j_1 in 0..4):\n"
                    "        T[i, j] = A[i, j] + 1.0\n"
                    "    block B of B (i = i_1 in 0..16):\n"
                    "      B[i] = T[i, 1]*T[i, 2]\n",
                    NULL);
  assert_has(t, "alloc T[64]");
  assert_has(t, "T[ramp(16*j_1, 1, 16)]");
  assert_has(t, "T[ramp(32, 1, 16)]");
  free(t);
}

static const char masked_tile[] =
    "program p\n"
    "size N >= 0\n"
    "input A: f32[4, 8]\n"
    "input B: f32[8, N]\n"
    "output C: f32[4, N]\n"
    "temp T: f32[4, N] local\n"
    "parallel for j_o in 0..(N + 15) // 16:\n"
    "  alloc T[0..4, 16*j_o..16*j_o + 16]:\n"
    "    for k_1 in 0..8:\n"
    "      unroll for i_1 in 0..4:\n"
    "        vectorize for j_i in 0..16:\n"
    "          block T of T (i = i_1 in 0..4, j = 16*j_o + j_i in 0..N, reduce k = k_1 in 0..8) where 16*j_o + j_i < "
    "N:\n"
    "            init T[i, j] = 0.0\n"
    "            T[i, j] += A[i, k]*B[k, j]\n"
    "    unroll for i_2 in 0..4:\n"
    "      vectorize for j_2 in 0..16:\n"
    "        block C of C (i = i_2 in 0..4, j = 16*j_o + j_2 in 0..N) where 16*j_o + j_2 < N:\n"
    "          C[i, j] = T[i, j]\n";

// The tile is accumulated in whole vectors. Reads of B and writes of C are masked.
static void a_masked_tile_lives_in_registers(void **state) {
  char *t = lowered(*state, masked_tile, NULL);
  assert_has(t, "T[ramp(48, 1, 16)] = fma(broadcast(A[k_1 + 24], 16), B[");
  assert_int_equal(count_of(t, "T[ramp(48, 1, 16)]"), 4);
  assert_has(t, "C[ramp(16*j_o, 1, 16); ");
  free(t);
}

// Every row of the unrolled tile has a guard that tests whether any lane is active. One guard around the loops must
// replace these guards.
static void guards_of_unrolled_rows_are_shared(void **state) {
  char *t = lowered(*state,
                    "program p\n"
                    "input A: f32[4, 8]\n"
                    "output C: f32[4, 40]\n"
                    "parallel for j_o in 0..4:\n"
                    "  for k_1 in 0..8:\n"
                    "    unroll for i_1 in 0..4:\n"
                    "      vectorize for j_i in 0..16:\n"
                    "        block C of C (i = i_1 in 0..4, j = 16*j_o + j_i in 0..40, reduce k = k_1 in 0..8)"
                    " where 16*j_o + j_i < 40:\n"
                    "          init C[i, j] = 0.0\n"
                    "          C[i, j] += A[i, k]\n",
                    NULL);
  assert_int_equal(count_of(t, "if "), 1);
  assert_true(strstr(t, "if ") < strstr(t, "for k_1"));
  free(t);
}

static void programs_beyond_a_limit_are_refused(void **state) {
  assert_refused(*state,
                 "program p\n"
                 "output B: f32[100000]\n"
                 "unroll for i_1 in 0..100000:\n"
                 "  block B of B (i = i_1 in 0..100000):\n"
                 "    B[i] = 1.0\n",
                 "the limit is 50000");
  assert_refused(*state,
                 "program p\n"
                 "output B: f32[100000]\n"
                 "temp T: f32[100000] local\n"
                 "alloc T[0..100000]:\n"
                 "  for i_1 in 0..100000:\n"
                 "    block T of T (i = i_1 in 0..100000):\n"
                 "      T[i] = 1.0\n"
                 "  for i_2 in 0..100000:\n"
                 "    block B of B (i = i_2 in 0..100000):\n"
                 "      B[i] = T[i]\n",
                 "the limit is 262144");
  assert_refused(*state,
                 "program p\n"
                 "size N >= 0\n"
                 "output B: f32[N]\n"
                 "temp T: f32[N] local\n"
                 "alloc T[0..N]:\n"
                 "  for i_1 in 0..N:\n"
                 "    block T of T (i = i_1 in 0..N):\n"
                 "      T[i] = 1.0\n"
                 "  for i_2 in 0..N:\n"
                 "    block B of B (i = i_2 in 0..N):\n"
                 "      B[i] = T[i]\n",
                 "no constant size");
}

static void an_unknown_pass_is_named(void **state) {
  lowering *l = *state;
  nw_program *p =
      parsed(l, "program p\noutput B: f32[1]\nfor i_1 in 0..1:\n  block B of B (i = i_1 in 0..1):\n    B[i] = 1.0\n");
  assert_null(nw_lower(p, "vectorise"));
  assert_has(nw_error(l->c)->hint, "vectorize");
  nw_clear(l->c);
  nw_program_release(p);
}

// Vectors and unrolled copies are made if the caller does not ask to keep the loops. A target without vectors gets no
// vectors.
static void a_target_chooses_its_passes(void **state) {
  lowering *l = *state;
  nw_target narrow = *nw_target_host(l->c);
  narrow.limit.lanes = 1;
  const nw_lowering usual = {nw_target_host(l->c), false}, kept = {usual.target, true}, scalar = {&narrow, false};
  for (int i = 0; i < nw_pass_count(); i++) {
    const nw_pass *pass = nw_pass_at(i);
    bool vectors = !strcmp(pass->name, "vectorize") || !strcmp(pass->name, "masks") || !strcmp(pass->name, "narrow") ||
                   !strcmp(pass->name, "registers");
    bool copies = !strcmp(pass->name, "unroll") || !strcmp(pass->name, "terms");
    assert_true(pass->applies(&usual));
    assert_int_equal(pass->applies(&kept), !vectors && !copies);
    assert_int_equal(pass->applies(&scalar), !vectors);
  }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(init_goes_before_the_outermost_reduce_loop),
      TEST(a_tail_has_no_init),
      TEST(an_init_that_cannot_move_is_guarded),
      TEST(a_guard_becomes_a_mask),
      TEST(a_serial_guard_becomes_a_bound),
      TEST(guards_move_out),
      TEST(a_proved_condition_is_dropped),
      TEST(a_lazy_select_masks_its_loads),
      TEST(strided_loads_and_loads_shared_by_all_lanes),
      TEST(halves_compute_in_f32),
      TEST(a_shared_product_is_not_fused),
      TEST(a_private_buffer_has_one_copy_for_each_lane),
      TEST(guards_of_unrolled_rows_are_shared),
      TEST(a_masked_tile_lives_in_registers),
      TEST(programs_beyond_a_limit_are_refused),
      TEST(an_unknown_pass_is_named),
      TEST(a_target_chooses_its_passes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
