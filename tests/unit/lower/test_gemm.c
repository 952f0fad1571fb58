// Tests the text of a packed GEMM with a register tile after each pass.
#include "lowering.h"

static const char gemm[] =
    "program gemm\n"
    "input A: f32[64, 48]\n"
    "input B: f32[48, 96]\n"
    "output C: f32[64, 96]\n"
    "temp B_packed: f32[48, 96] global layout [_1 // 32, _0, _1 % 32] in [3, 48, 32]\n"
    "temp C_local: f32[64, 96] local\n"
    "alloc B_packed[0..48, 0..96]:\n"
    "  for p_o in 0..3:\n"
    "    for p_k in 0..48:\n"
    "      vectorize for p_i in 0..32:\n"
    "        block B_packed of B_packed (k = p_k in 0..48, j = 32*p_o + p_i in 0..96):\n"
    "          B_packed[k, j] = B[k, j]\n"
    "  parallel for i_o in 0..8:\n"
    "    for j_o in 0..3:\n"
    "      alloc C_local[8*i_o..8*i_o + 8, 32*j_o..32*j_o + 32]:\n"
    "        for k_1 in 0..48:\n"
    "          unroll for i_i in 0..8:\n"
    "            vectorize for j_i in 0..32:\n"
    "              block C of C (i = 8*i_o + i_i in 0..64, j = 32*j_o + j_i in 0..96, reduce k = k_1 in 0..48):\n"
    "                init C_local[i, j] = 0.0\n"
    "                C_local[i, j] += A[i, k]*B_packed[k, j]\n"
    "        unroll for i_w in 0..8:\n"
    "          vectorize for j_w in 0..32:\n"
    "            block C_write of C_write (i = 8*i_o + i_w in 0..64, j = 32*j_o + j_w in 0..96):\n"
    "              C[i, j] = C_local[i, j]\n";

static void check_stage(lowering *l, const char *pass, const char *file) {
  char *text = lowered(l, gemm, pass);
  assert_golden(text, file, __FILE__);
  free(text);
}

static void every_pass_gives_the_golden_text(void **state) {
  char file[64];
  for (int i = 0; i < nw_pass_count(); i++) {
    snprintf(file, sizeof file, "gemm.%s.txt", nw_pass_at(i)->name);
    check_stage(*state, nw_pass_at(i)->name, file);
  }
}

// The compiler can keep the tile in registers only if all offsets into the tile are constant, each row has one fma, and
// no index depends on the lane.
static void register_tile_has_constant_offsets(void **state) {
  char *text = lowered(*state, gemm, NULL);
  assert_int_equal(count_of(text, "fma("), 8);
  assert_has(text, "C_local[ramp(224, 1, 32)] = fma(broadcast(A[");
  assert_has(text, "B_packed[ramp(");
  assert_lacks(text, "if ");
  assert_lacks(text, "//");
  assert_lacks(text, "%");
  free(text);
}

static void storage_table(void **state) {
  lowering *l = *state;
  nw_program *p = parsed(l, gemm);
  nw_exec *e = nw_lower(p, NULL);
  assert_non_null(e);
  assert_true(e->parallel);
  assert_int_equal(e->nstorage, 5);
  static const nw_storage_kind kind[] = {NW_STORE_PARAM, NW_STORE_PARAM, NW_STORE_PARAM, NW_STORE_WORKSPACE,
                                         NW_STORE_STACK};
  static const int elements[] = {64 * 48, 48 * 96, 64 * 96, 48 * 96, 256};
  for (int i = 0; i < 5; i++) {
    assert_int_equal(e->storage[i].kind, kind[i]);
    assert_true(nw_is_const(e->storage[i].elements, elements[i]));
  }
  nw_exec_release(e);
  nw_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_pass_gives_the_golden_text, open_lowering, close_lowering),
      cmocka_unit_test_setup_teardown(register_tile_has_constant_offsets, open_lowering, close_lowering),
      cmocka_unit_test_setup_teardown(storage_table, open_lowering, close_lowering),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
