// Tests compute_at, compute_inline, compute_root, cache_read, cache_write, set_scope and decompose_reduction.
#include "scheduling.h"

static nw_arg layout_of(const nw_expr **e, int n) { return (nw_arg){.kind = NW_ARG_EXPRS, .n = n, .expr = e}; }

static const nw_expr *idx(nw_ctx *c, nw_op op, const char *var, int64_t n) {
  nw_pool *p = nw_lang_pool(c);
  return nw_apply(p, op, 2, (const nw_expr *[]){nw_var(p, var), nw_index(p, n)});
}

static void compute_at_stencil(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = two_stages(c, 66);
  const char *stages[8];
  assert_int_equal(nw_sched_stages(s, 8, stages), 2);
  assert_string_equal(stages[1], "Y");
  step(s, "split", LP("i_1"), IN(16));
  step(s, "compute_at", ST("X"), LP("i_1_o"));
  assert_shows(s, "for i_1_o in 0..4:\n"
                  "  alloc X[18]\n"
                  "  for i in 0..18:\n"
                  "    X[16*i_1_o + i] = A[16*i_1_o + i]*2.0\n"
                  "  for i_1_i in 0..16:\n"
                  "    Y[16*i_1_o + i_1_i] = X[16*i_1_o + i_1_i] + X[16*i_1_o + i_1_i + 2]\n");
  assert_has(nw_sched_notes(s), "recomputes: each element of X is computed 1.09 times");
  step(s, "compute_root", ST("X"));
  assert_show_has(s, "alloc X[66]\nfor i in 0..66:\n  X[i] = A[i]*2.0\nfor i_1_o in 0..4:\n");
  refused(s, "compute_root", "it is already there", ST("X"));
  nw_clear(c);
  nw_sched_release(s);
}

// The box of a guarded tile extends beyond the domain. Elements outside the domain are not computed.
static void compute_at_guarded(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = two_stages(c, 62);
  step(s, "split", LP("i_1"), IN(16));
  step(s, "compute_at", ST("X"), LP("i_1_o"));
  assert_show_has(s, "  for i in 0..18:\n    if 16*i_1_o + i < 62:\n      X[16*i_1_o + i] = A[16*i_1_o + i]*2.0\n");
  nw_sched_release(s);
}

static void compute_at_refusals(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = two_stages(c, 66);
  const nw_diag *d = refused(s, "compute_at", "cannot compute Y at i: it is an output", ST("Y"), LP("i"));
  assert_string_equal(d->refusal->step, "s:compute_at(\"Y\", \"i\")");
  assert_string_equal(d->refusal->alternatives[0], "s:cache_write(\"Y\", \"global\")");
  nw_clear(c);
  d = refused(s, "compute_at", "that is a loop of X itself", ST("X"), LP("i"));
  assert_string_equal(d->refusal->alternatives[0], "s:compute_at(\"X\", \"i_1\")");
  nw_clear(c);
  refused(s, "compute_at", "no stage \"Z\"; stages are X, Y", ST("Z"), LP("i"));
  nw_clear(c);
  nw_sched_release(s);
}

// Each lane has its own elements of a stage or a copy.
static void compute_at_lanes(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = two_stages(c, 66);
  step(s, "vectorize", LP("i_1"));
  step(s, "cache_read", ST("X"), STR("local"), NONE, NONE, NONE, LP("i_1"));
  assert_show_has(s, "vectorize for i_1 in 0..64:\n  alloc X_local[3] local\n");
  step(s, "compute_at", ST("X"), LP("i_1"));
  assert_show_has(s, "  alloc X_local[3] local\n  alloc X[3] local\n  for i in 0..3:\n");
  nw_sched_release(s);
}

static void compute_inline(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = two_stages(c, 66);
  int i = nw_sched_loop(s, "i");
  step(s, "compute_inline", ST("X"));
  assert_shows(s, "for i_1 in 0..64:\n  Y[i_1] = A[i_1]*2.0 + A[i_1 + 2]*2.0\n");
  assert_null(nw_find_buffer(nw_sched_program(s), "X"));
  assert_null(nw_sched_loop_name(s, i));
  assert_has(nw_error(c)->message, "i was dropped with X by step 1");
  nw_clear(c);
  const nw_diag *d = refused(s, "compute_inline", "cannot inline Y: it is an output", ST("Y"));
  assert_non_null(d->refusal->alternatives[0]);
  nw_clear(c);
  nw_sched_release(s);
  s = gemm(c, 16);
  step(s, "cache_write", ST("C"), STR("global"));
  refused(s, "compute_inline", "it is a reduction", ST("C_global"));
  nw_clear(c);
  nw_sched_release(s);
}

static void cache_read_packed(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  const nw_expr *lay[] = {idx(c, NW_OP_FLOORDIV, "_1", 32), nw_var(nw_lang_pool(c), "_0"),
                          idx(c, NW_OP_FLOORMOD, "_1", 32)};
  nw_results r = step(s, "cache_read", ST("B"), STR("global"), LIST(ST("C")), layout_of(lay, 3));
  assert_string_equal(r.stage[0], "B_packed");
  const nw_buffer *b = nw_find_buffer(nw_sched_program(s), "B_packed");
  assert_int_equal(b->nlayout, 3);
  assert_true(nw_is_const(b->layout_shape[0], 2) && nw_is_const(b->layout_shape[1], 64) &&
              nw_is_const(b->layout_shape[2], 32));
  assert_show_has(s, "for k_1 in 0..64:\n  for j_1 in 0..64:\n    B_packed[k_1, j_1] = B[k_1, j_1]\nfor i in 0..64:\n");
  assert_show_has(s, "C[i, j] += A[i, k]*B_packed[k, j]");
  char *text = nw_sched_trace(s, false);
  assert_string_equal(
      text, "s:cache_read(\"B\", \"global\", {\"C\"}, {layout = function(_0, _1) return _1 // 32, _0, _1 % 32 end})\n");
  free(text);
  nw_sched_release(s);
}

static void layouts_that_lose_elements(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  nw_pool *p = nw_lang_pool(c);
  const nw_expr *half[] = {idx(c, NW_OP_FLOORDIV, "_0", 2), nw_var(p, "_1")};
  const nw_expr *gap[] = {idx(c, NW_OP_FLOORDIV, "_1", 32), nw_var(p, "_0"), idx(c, NW_OP_FLOORMOD, "_1", 16)};
  const nw_expr *sum[] = {nw_add(p, nw_var(p, "_0"), nw_var(p, "_1"))};
  assert_has(refused(s, "cache_read", "cannot read B through a copy in global: the layout is not one-to-one", ST("B"),
                     STR("global"), NONE, layout_of(half, 2))
                 ->refusal->why,
             "differ in index 0");
  nw_clear(c);
  assert_has(refused(s, "cache_read", "layout", ST("B"), STR("global"), NONE, layout_of(gap, 3))->refusal->why,
             "differ in index 1");
  nw_clear(c);
  assert_has(
      refused(s, "cache_read", "a copy in global", ST("B"), STR("global"), NONE, layout_of(sum, 1))->refusal->why,
      "overwrites it"); // found by the judge
  nw_clear(c);
  nw_sched_release(s);
}

static void cache_read_errors(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  assert_non_null(
      refused(s, "cache_read", "C does not read C", ST("C"), STR("global"), LIST(ST("C")))->refusal->alternatives[0]);
  nw_clear(c);
  refused(s, "cache_read", "no tensor \"Q\"; tensors are A, B, C", ST("Q"), STR("global"));
  nw_clear(c);
  refused(s, "cache_read", "the name A is already used", ST("B"), STR("global"), NONE, NONE, STR("A"));
  nw_clear(c);
  refused(s, "cache_read", "registers", ST("B"), STR("registers"));
  nw_clear(c);
  nw_sched_release(s);
}

static void cache_write_then_compute_at(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  int k = nw_sched_loop(s, "k");
  step(s, "tile", LIST(LP("i"), LP("j")), LIST(IN(8), IN(32)));
  nw_results r = step(s, "cache_write", ST("C"), STR("global"));
  assert_string_equal(r.stage[0], "C_global");
  assert_string_equal(nw_sched_loop_name(s, k), "k");
  assert_shows(s, "alloc C_global[64, 64]\n"
                  "for i in 0..64:\n"
                  "  for j in 0..64:\n"
                  "    for k in 0..64:\n"
                  "      C_global[i, j] += A[i, k]*B[k, j]  # from 0 at the first k\n"
                  "for i_o in 0..8:\n"
                  "  for j_o in 0..2:\n"
                  "    for i_i in 0..8:\n"
                  "      for j_i in 0..32:\n"
                  "        C[8*i_o + i_i, 32*j_o + j_i] = C_global[8*i_o + i_i, 32*j_o + j_i]\n");
  step(s, "compute_at", ST("C_global"), LP("j_o"));
  assert_show_has(s, "  for j_o in 0..2:\n"
                     "    alloc C_global[8, 32]\n"
                     "    for i in 0..8:\n"
                     "      for j in 0..32:\n"
                     "        for k in 0..64:\n");
  step(s, "set_scope", ST("C_global"), STR("local"));
  assert_int_equal(nw_find_buffer(nw_sched_program(s), "C_global")->scope, NW_LOCAL);
  assert_string_equal(nw_sched_loop_name(s, k), "k");
  nw_sched_release(s);
}

static void cache_write_at(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "tile", LIST(LP("i"), LP("j")), LIST(IN(8), IN(32)));
  step(s, "cache_write", ST("C"), STR("local"), NONE, NONE, LP("j_o"));
  assert_show_has(
      s, "    alloc C_local[8, 32] local\n    for i in 0..8:\n      for j in 0..32:\n        for k in 0..64:\n");
  assert_show_has(s, "    for i_i in 0..8:\n      for j_i in 0..32:\n        C[");
  nw_sched_release(s);
}

static void set_scope_errors(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 16);
  const nw_diag *d = refused(s, "set_scope", "cannot move C to local: it is an output", ST("C"), STR("local"));
  assert_non_null(d->refusal->alternatives[0]);
  nw_clear(c);
  refused(s, "set_scope", "no tensor", ST("Z"), STR("local"));
  nw_clear(c);
  nw_sched_release(s);
}

static void decompose(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "split", LP("k"), IN(8));
  step(s, "reorder", LIST(LP("k_o"), LP("j")));
  const nw_diag *d = refused(s, "decompose_reduction",
                             "cannot split off the init of C before k_i: k_o is a reduction loop and is outside k_i",
                             ST("C"), LP("k_i"));
  assert_string_equal(d->refusal->alternatives[0], "s:decompose_reduction(\"C\", \"k_o\")");
  nw_clear(c);
  nw_results r = step(s, "decompose_reduction", ST("C"), LP("k_o"));
  assert_string_equal(r.stage[0], "C_init");
  assert_shows(s, "for i in 0..64:\n"
                  "  for j_init in 0..64:\n"
                  "    C[i, j_init] = 0.0  # C_init\n"
                  "  for k_o in 0..8:\n"
                  "    for j in 0..64:\n"
                  "      for k_i in 0..8:\n"
                  "        C[i, j] += A[i, 8*k_o + k_i]*B[8*k_o + k_i, j]\n");
  refused(s, "decompose_reduction", "already", ST("C"), LP("k_o"));
  nw_clear(c);
  nw_sched_release(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(compute_at_stencil),
      T(compute_at_guarded),
      T(compute_at_refusals),
      T(compute_at_lanes),
      T(compute_inline),
      T(cache_read_packed),
      T(layouts_that_lose_elements),
      T(cache_read_errors),
      T(cache_write_then_compute_at),
      T(cache_write_at),
      T(set_scope_errors),
      T(decompose),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
