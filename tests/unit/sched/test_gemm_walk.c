// Checks every step of the GEMM tutorial: blocking, vectorization, loop order, packing, a write cache with a register
// tile, and parallel loops.
#include "scheduling.h"
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

#define timed(s, primitive, ...)                                                                                       \
  do {                                                                                                                 \
    double t0 = now();                                                                                                 \
    step(s, primitive, __VA_ARGS__);                                                                                   \
    if (getenv("NW_TIMES"))                                                                                            \
      print_message("%7.2f ms %c  %s\n", now() - t0, nw_judge_question(s->ctx),                                        \
                    nw_sched_step_text(s, nw_sched_current(s)));                                                       \
  } while (0)

static nw_arg packed(nw_ctx *c) {
  static const nw_expr *e[3];
  nw_pool *p = nw_lang_pool(c);
  const nw_expr *j = nw_var(p, "_1"), *n = nw_index(p, 32);
  e[0] = nw_floordiv(p, j, n), e[1] = nw_var(p, "_0"), e[2] = nw_floormod(p, j, n);
  return (nw_arg){.kind = NW_ARG_EXPRS, .n = 3, .expr = e};
}

static void walk(nw_ctx *c, nw_sched *s) {
  timed(s, "tile", LIST(LP("i"), LP("j")), LIST(IN(8), IN(32)));
  timed(s, "split", LP("k"), IN(4));
  timed(s, "reorder", LIST(LP("k_o"), LP("k_i"), LP("i_i"), LP("j_i")));
  timed(s, "vectorize", LP("j_i"));
  timed(s, "reorder", LIST(LP("k_o"), LP("i_i"), LP("k_i"), LP("j_i")));
  timed(s, "cache_read", ST("B"), STR("global"), LIST(ST("C")), packed(c), STR("B_p"));
  timed(s, "cache_write", ST("C"), STR("local"), NONE, NONE, LP("j_o"));
  int ids[8], n = nw_sched_loops(s, "C_local", 8, ids);
  assert_int_equal(n, 5);
  nw_results k = step(s, "split", ID(ids[4]), IN(4));
  timed(s, "reorder", LIST(ID(k.loop[0]), ID(k.loop[1]), ID(ids[2]), ID(ids[3])));
  timed(s, "vectorize", ID(ids[3]));
  timed(s, "unroll", ID(ids[2]));
  timed(s, "unroll", ID(k.loop[1]));
  timed(s, "parallel", LP("i_o"));
}

static void every_step_is_accepted(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 1024);
  walk(c, s);
  assert_show_has(
      s, "parallel for i_o in 0..128:\n  for j_o in 0..32:\n    alloc C_local[8, 32] local\n    for k_1_o in 0..256:\n"
         "      unroll for k_1_i in 0..4:\n        unroll for i in 0..8:\n          vectorize for j_1 in 0..32:\n"
         "            C_local[8*i_o + i, 32*j_o + j_1] += A[8*i_o + i, 4*k_1_o + k_1_i]*B_p[4*k_1_o + k_1_i, 32*j_o + "
         "j_1]");
  nw_sched_release(s);
}

static void on_other_shapes(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  const int64_t shapes[][3] = {{1, 1, 1}, {7, 31, 3}, {8, 32, 4}, {101, 103, 107}, {1031, 64, 5}};
  for (int i = 0; i < NW_COUNT(shapes); i++) {
    nw_sched *s = gemm_of(c, NW_F32, I(c, shapes[i][0]), I(c, shapes[i][1]), I(c, shapes[i][2]));
    walk(c, s);
    nw_sched_release(s);
  }
}

static void with_symbolic_sizes(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm_of(c, NW_F32, nw_size_var(c, "M", 1), nw_size_var(c, "N", 1), nw_size_var(c, "K", 1));
  walk(c, s);
  nw_sched_release(s);
}

static void packed_first_then_moved(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  timed(s, "tile", LIST(LP("i"), LP("j")), LIST(IN(8), IN(32)));
  timed(s, "cache_write", ST("C"), STR("global"));
  timed(s, "compute_at", ST("C_global"), LP("j_o"));
  timed(s, "set_scope", ST("C_global"), STR("local"));
  timed(s, "cache_read", ST("A"), STR("global"), LIST(ST("C_global")));
  timed(s, "compute_at", ST("A_global"), LP("i_o"));
  timed(s, "decompose_reduction", ST("C_global"), LP("i"));
  assert_show_has(s, "alloc A_global[8, 64]");
  nw_sched_release(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(every_step_is_accepted),
      T(on_other_shapes),
      T(with_symbolic_sizes),
      T(packed_first_then_moved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
