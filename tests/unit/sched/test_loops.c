// Tests the primitives split, tile, fuse and reorder.
#include "scheduling.h"

static void split_divides(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  nw_results r = step(s, "split", LP("i"), IN(16));
  assert_int_equal(r.n, 2);
  assert_string_equal(nw_sched_loop_name(s, r.loop[0]), "i_o");
  assert_string_equal(nw_sched_loop_name(s, r.loop[1]), "i_i");
  assert_string_equal(nw_sched_notes(s), "i divides evenly: no tail");
  assert_show_has(s, "for i_o in 0..4:\n  for i_i in 0..16:\n    for j in 0..64:\n      for k in 0..64:\n");
  assert_show_has(s, "A[16*i_o + i_i, k]");
  nw_sched_release(s);
}

static void split_guard(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 100);
  step(s, "split", LP("i"), IN(32));
  assert_show_has(s, "for i_o in 0..4:\n  for i_i in 0..32:\n");
  assert_show_has(s, "if 32*i_o + i_i < 100");
  assert_has(nw_sched_notes(s), "32 does not divide 100");
  nw_sched_release(s);
}

static void split_cut(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 100);
  nw_results r = step(s, "split", LP("i"), IN(32), NONE, STR("cut"));
  assert_int_equal(r.n, 3);
  assert_string_equal(nw_sched_loop_name(s, r.loop[2]), "i.tail");
  assert_show_has(s, "for i_o in 0..3:\n  for i_i in 0..32:\n");
  assert_show_has(s, "for i.tail in 96..100:\n  for i.tail/j in 0..100:\n");
  assert_non_null(nw_find_block(nw_sched_program(s), "C.tail"));
  nw_sched_release(s);
}

static void split_parts(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 100);
  step(s, "split", LP("j"), NONE, IN(8));
  assert_show_has(s, "for j_o in 0..8:\n    for j_i in 0..13:\n");
  assert_show_has(s, "if 13*j_o + j_i < 100");
  nw_sched_release(s);
}

// The outer loop has as many iterations as requested, even if the last iterations have no work.
static void split_more_parts_than_work(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 10);
  step(s, "split", LP("i"), NONE, IN(8));
  assert_string_equal(nw_sched_notes(s),
                      "8 blocks of 2 for 10 iterations: only 5 blocks have work; 6 of 16 iterations are guarded away");
  assert_show_has(s, "for i_o in 0..8:\n  for i_i in 0..2:\n");
  assert_show_has(s, "if 2*i_o + i_i < 10");
  step(s, "split", LP("j"), NONE, IN(8), STR("cut"));
  assert_show_has(s, "for j_o in 0..8:\n      for j_i in 0..1:\n");
  assert_show_has(s, "for j.tail in 8..10:");
  step(s, "split", LP("k"), NONE, IN(16), STR("cut"));
  assert_show_has(s, "for k_o in 0..16:");
  assert_string_equal(nw_sched_notes(s), "all of k is the tail: the loop has fewer iterations than one block");
  nw_sched_release(s);
}

static void split_larger_than_the_loop(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 5);
  step(s, "split", LP("i"), IN(8));
  assert_show_has(s, "for i_o in 0..1:\n  for i_i in 0..8:\n");
  step(s, "split", LP("j"), IN(8), NONE, STR("cut"));
  assert_show_has(s, "for j.tail in 0..5:");
  assert_has(nw_sched_notes(s), "j has no full block of 8: all of it is the tail");
  nw_sched_release(s);
}

static void split_symbolic(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  const nw_expr *m = nw_size_var(c, "M", 1);
  nw_sched *s = gemm_of(c, NW_F32, m, I(c, 64), I(c, 64));
  step(s, "split", LP("i"), IN(32));
  assert_show_has(s, "if 32*i_o + i_i < M");
  nw_sched_undo(s);
  step(s, "split", LP("i"), IN(32), NONE, STR("cut"));
  assert_show_has(s, "for i_o in 0..M // 32:");
  assert_show_has(s, "for i.tail in 32*(M // 32)..");
  nw_sched_release(s);
}

// A loop has ceil(M/4) iterations, and M is unknown. Each step is either proved legal or refused.
static void split_symbolic_parts(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm_of(c, NW_F32, nw_size_var(c, "M", 1), I(c, 64), I(c, 64));
  if (nw_sched_apply(s, nw_primitive_find("split"), ARGS(LP("i"), NONE, IN(4)), NULL))
    assert_show_has(s, "for i_o in 0..4:");
  else
    assert_non_null(nw_error(c)->refusal->alternatives[0]);
  nw_clear(c);
  nw_sched_release(s);
}

static void split_symbolic_with_a_fact(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  const nw_expr *m = nw_size_var(c, "M", 1);
  nw_pool *pool = nw_lang_pool(c);
  nw_size_fact(m, nw_eq(pool, nw_floormod(pool, m, nw_index(pool, 16)), nw_index(pool, 0)));
  nw_sched *s = gemm_of(c, NW_F32, m, I(c, 64), I(c, 64));
  step(s, "split", LP("i"), IN(16), NONE, STR("cut"));
  assert_string_equal(nw_sched_notes(s), "i divides evenly: no tail");
  assert_null(nw_find_loop(nw_sched_program(s), "i.tail"));
  nw_sched_release(s);
}

static void split_errors(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  const int64_t bad[] = {0, -1, (int64_t)1 << 62};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(refused(s, "split", "factor", LP("i"), IN(bad[i]))->code, NW_ERANGE);
    assert_non_null(nw_error(c)->hint);
    nw_clear(c);
    assert_int_equal(refused(s, "split", "parts", LP("i"), NONE, IN(bad[i]))->code, NW_ERANGE);
    nw_clear(c);
  }
  assert_has(refused(s, "split", "no loop \"ii\"; loops are i, j, k", LP("ii"), IN(4))->hint, "did you mean \"i\"?");
  nw_clear(c);
  refused(s, "split", "give a factor, factors or parts", LP("i"));
  nw_clear(c);
  refused(s, "split", "give a factor, factors or parts", LP("i"), IN(4), IN(4));
  nw_clear(c);
  refused(s, "split", "not one of guard|cut|shift|pad|predicate", LP("i"), IN(4), NONE, STR("drop"));
  nw_clear(c);
  refused(s, "split", "factor must be a whole number or an expression of sizes, not a string", LP("i"), STR("4"));
  nw_clear(c);
  refused(s, "split", "loop is missing", NONE, IN(4));
  nw_clear(c);
  assert_int_equal(refused(s, "split", "not a loop of this schedule", ID(12345), IN(4))->code, NW_ESTALE);
  nw_clear(c);
  nw_sched_release(s);
}

static void stale_loops(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  int i = nw_sched_loop(s, "i"), j = nw_sched_loop(s, "j");
  step(s, "split", LP("i"), IN(8));
  int outer = nw_sched_loop(s, "i_o");
  assert_int_equal(refused(s, "split", "i was split into i_o, i_i by step 1", ID(i), IN(8))->code, NW_ESTALE);
  nw_clear(c);
  refused(s, "split", "i was split into i_o, i_i by step 1", LP("i"), IN(8));
  nw_clear(c);
  step(s, "fuse", LP("i_i"), LP("j"));
  refused(s, "split", "i was split into i_o, i_i by step 1; i_i was fused into i_i_j by step 2", ID(i), IN(8));
  nw_clear(c);
  assert_null(nw_sched_loop_name(s, j));
  nw_clear(c);
  nw_sched_undo(s);
  nw_sched_undo(s);
  refused(s, "parallel", "i_o was made by s:split(\"i\", 8), which is not part", ID(outer));
  nw_clear(c);
  nw_sched_release(s);
}

// If a step is undone and another step makes a loop, this loop must not have the id of a loop of the undone step.
static void ids_are_not_used_twice(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  int a = step(s, "split", LP("i"), IN(8)).loop[0];
  nw_sched_undo(s);
  int b = step(s, "split", LP("j"), IN(8)).loop[0];
  assert_int_not_equal(a, b);
  nw_sched_release(s);
}

static void tile(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  nw_results r = step(s, "tile", LIST(LP("i"), LP("j")), LIST(IN(16), IN(32)));
  assert_int_equal(r.n, 4);
  assert_show_has(s, "for i_o in 0..4:\n  for j_o in 0..2:\n    for i_i in 0..16:\n      for j_i in 0..32:\n        "
                     "for k in 0..64:\n");
  nw_sched_release(s);
}

static void tile_cut(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 100);
  step(s, "tile", LIST(LP("i"), LP("j")), LIST(IN(16), IN(32)), STR("cut"));
  assert_show_has(s, "for i_o in 0..6:\n  for j_o in 0..3:\n    for i_i in 0..16:\n      for j_i in 0..32:\n");
  assert_show_has(s, "for i.tail in 96..100:");
  assert_show_has(s, "for j.tail in 96..100:");
  char *text = nw_program_show(nw_sched_program(s), NULL);
  assert_lacks(text, "if ");
  free(text);
  nw_sched_release(s);
}

static void fuse(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  nw_results r = step(s, "fuse", LP("i"), LP("j"));
  assert_string_equal(nw_sched_loop_name(s, r.loop[0]), "i_j");
  const nw_stmt *f = nw_find_loop(nw_sched_program(s), "i_j");
  assert_int_equal(f->loop.nfused, 2);
  assert_show_has(s, "C[i_j // 64, i_j % 64]");
  const nw_diag *d = refused(s, "fuse", "not adjacent", LP("k"), LP("i_j"));
  assert_string_equal(d->refusal->alternatives[0], "s:fuse(\"i_j\", \"k\")");
  nw_clear(c);
  nw_sched_release(s);
}

static void reorder(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "reorder", LIST(LP("k"), LP("i")));
  assert_show_has(s, "for k in 0..64:\n  for j in 0..64:\n    for i in 0..64:\n");
  step(s, "reorder", LIST(LP("i"), LP("k"), LP("j")));
  assert_show_has(s, "for i in 0..64:\n  for k in 0..64:\n    for j in 0..64:\n");
  refused(s, "reorder", "i is given twice", LIST(LP("i"), LP("i")));
  nw_clear(c);
  nw_sched_release(s);
}

static void reorder_what_is_in_the_way(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "decompose_reduction", ST("C"), LP("k"));
  const nw_diag *d = refused(s, "reorder", "cannot reorder k before i: C_init is in the way", LIST(LP("k"), LP("i")));
  assert_int_equal(d->refusal->kind, NW_REFUSE_STRUCTURE);
  assert_has(d->refusal->why, "C_init is computed also inside i");
  assert_non_null(d->refusal->alternatives[0]);
  assert_has(d->refusal->picture, "for i in 0..64:");
  nw_clear(c);
  nw_sched_release(s);
}

static void reordered_sums_round(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "split", LP("k"), IN(8));
  step(s, "reorder", LIST(LP("k_i"), LP("k_o")));
  assert_has(nw_sched_notes(s), "rounding may change");
  nw_sched_undo(s);
  step(s, "reorder", LIST(LP("k_o"), LP("i"), LP("j")));
  assert_string_equal(nw_sched_notes(s), "");
  nw_sched_release(s);
  s = gemm_of(c, NW_I32, I(c, 64), I(c, 64), I(c, 64));
  step(s, "split", LP("k"), IN(8));
  step(s, "reorder", LIST(LP("k_i"), LP("k_o")));
  assert_string_equal(nw_sched_notes(s), "");
  nw_sched_release(s);
}

static void too_deep(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  char name[300] = "i";
  for (int i = 0; i < 60; i++) {
    if (!nw_sched_apply(s, nw_primitive_find("split"), ARGS(LP(name), IN(1)), NULL)) break;
    strcat(name, "_o");
  }
  assert_int_equal(nw_error(c)->code, NW_ELIMIT);
  nw_clear(c);
  nw_sched_release(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(split_divides),
      T(split_guard),
      T(split_cut),
      T(split_parts),
      T(split_more_parts_than_work),
      T(split_larger_than_the_loop),
      T(split_symbolic),
      T(split_symbolic_parts),
      T(split_symbolic_with_a_fact),
      T(split_errors),
      T(stale_loops),
      T(ids_are_not_used_twice),
      T(tile),
      T(tile_cut),
      T(fuse),
      T(reorder),
      T(reorder_what_is_in_the_way),
      T(reordered_sums_round),
      T(too_deep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
