// nw_check must accept correct schedules, at sizes that it chooses itself. For a wrong schedule, it must name the first
// element that differs.
#include "../sched/scheduling.h"
#include "check/inside.h"
#include "sched/history.h"
#include <math.h>

static nw_sched *symbolic_gemm(nw_ctx *c, const char *fact_on_m) {
  const nw_expr *m = nw_size_var(c, "M", 0), *n = nw_size_var(c, "N", 0), *k = nw_size_var(c, "K", 1);
  nw_pool *p = nw_lang_pool(c);
  const nw_expr *rest[] = {m, I(c, 16)}, *zero[] = {NULL, I(c, 0)};
  zero[0] = nw_apply(p, NW_OP_FLOORMOD, 2, rest);
  if (fact_on_m) assert_true(nw_size_fact(m, nw_apply(p, NW_OP_EQ, 2, zero)));
  return gemm_of(c, NW_F32, m, n, k);
}

static void tile(nw_sched *s) {
  step(s, "split", LP("i"), IN(4));
  step(s, "split", LP("j"), IN(8));
  step(s, "reorder", LIST(LP("i_o"), LP("j_o"), LP("k"), LP("i_i"), LP("j_i")));
  step(s, "vectorize", LP("j_i"));
  step(s, "unroll", LP("i_i"));
}

static void symbolic_sizes_are_tried_on_small_shapes(void **state) {
  bench *b = *state;
  nw_sched *s = symbolic_gemm(b->c, NULL);
  char *report;
  tile(s);
  if (!nw_check(b->c, s, &report)) fail_msg("%s\n%s", nw_error(b->c)->message, report);
  assert_has(report, "M=7, K=7, N=7: 49 outputs agree");
  assert_has(report, "M=0, K=3, N=3: 0 outputs agree");
  assert_has(report, "M=3, K=3, N=0: 0 outputs agree");
  free(report);
  nw_sched_release(s);
}

static void shapes_satisfy_the_facts(void **state) {
  bench *b = *state;
  nw_sched *s = symbolic_gemm(b->c, "M % 16 == 0");
  int64_t *row[NW_CHECK_SHAPES];
  int n = nw_check_shapes(nw_sched_version(s, 0), nw_sched_program(s), NW_CHECK_SHAPES, row);
  assert_true(n >= 4);
  for (int i = 0; i < n; i++) {
    assert_int_equal(row[i][0] % 16, 0);
    assert_true(row[i][1] >= 1);
    free(row[i]);
  }
  nw_sched_release(s);
}

static void constant_sizes_run_as_they_are(void **state) {
  bench *b = *state;
  nw_sched *s = gemm(b->c, 13);
  char *report;
  tile(s);
  assert_true(nw_check(b->c, s, &report));
  assert_has(report, "as it is: 169 outputs agree");
  free(report);
  nw_sched_release(s);
}

static void large_sizes_are_checked_at_points(void **state) {
  bench *b = *state;
  nw_sched *s = gemm(b->c, 100);
  char *report;
  tile(s);
  if (!nw_check(b->c, s, &report)) fail_msg("%s\n%s", nw_error(b->c)->message, report);
  assert_has(report, "1000 of 10000 outputs, corners included, agree in the definition and the compiled program");
  assert_has(report, "its scheduled and lowered forms were not run");
  free(report);
  nw_sched_release(s);
}

static void a_program_too_large_for_memory_is_reported_as_unchecked(void **state) {
  bench *b = *state;
  nw_sched *s = gemm(b->c, (int64_t)1 << 30);
  assert_false(nw_check(b->c, s, NULL));
  assert_has(nw_error(b->c)->message, "nothing was checked: no memory for a tensor of");
  assert_has(nw_error(b->c)->hint, "replay the steps on small or symbolic sizes");
  nw_clear(b->c);
  nw_sched_release(s);
}

static void a_check_can_be_interrupted(void **state) {
  bench *b = *state;
  nw_sched *s = gemm(b->c, 100);
  b->c->interrupted = 1;
  assert_false(nw_check(b->c, s, NULL));
  assert_int_equal(nw_error(b->c)->code, NW_EINTERRUPT);
  b->c->interrupted = 0;
  nw_clear(b->c);
  nw_sched_release(s);
}

// Replaces the program of the schedule by a wrong program, which adds instead of multiplying.
static void spoil(nw_sched *s) {
  nw_node *head = nw_sched_head(s);
  nw_program *p = nw_program_clone(head->program);
  nw_block_target *t = &nw_find_block(p, "C")->block.target[0];
  t->value = nw_make(p->pool, NW_OP_ADD, t->value->type, 2, t->value->arg);
  nw_program_release(head->program);
  head->program = nw_program_freeze(p);
}

static void a_wrong_program_is_caught(void **state) {
  bench *b = *state;
  static const int sizes[] = {5, 100}; // size 5 is compared at all elements, and size 100 at some
  for (int i = 0; i < 2; i++) {
    nw_sched *s = gemm(b->c, sizes[i]);
    char *report;
    tile(s);
    spoil(s);
    assert_false(nw_check(b->c, s, &report));
    assert_int_equal(nw_error(b->c)->code, NW_EMISMATCH);
    assert_has(nw_error(b->c)->message, "C[0, 0] is ");
    assert_has(report, i ? "in the definition, " : "in the scheduled program");
    free(report);
    nw_clear(b->c);
    nw_sched_release(s);
  }
}

static void values_are_compared_with_the_right_tolerance(void **state) {
  (void)state;
  assert_false(nw_check_value_differs(NW_F32, 1, 1, NW_CHECK_EXACT));
  assert_true(nw_check_value_differs(NW_F32, 1, 1.0000001, NW_CHECK_EXACT));
  assert_false(nw_check_value_differs(NW_F32, 1, 1.0000001, NW_CHECK_NEAR));
  assert_true(nw_check_value_differs(NW_F32, 1, 1.1, NW_CHECK_NEAR));
  assert_false(nw_check_value_differs(NW_F32, 0x1p25, 0x1p25 + 4, NW_CHECK_EXACT));
  assert_false(nw_check_value_differs(NW_F64, NAN, NAN, NW_CHECK_NEAR));
  assert_true(nw_check_value_differs(NW_F64, NAN, 1, NW_CHECK_NEAR));
  assert_true(nw_check_value_differs(NW_F32, INFINITY, 1, NW_CHECK_NEAR));
  assert_true(nw_check_value_differs(NW_I32, 7, 8, NW_CHECK_NEAR));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(symbolic_sizes_are_tried_on_small_shapes),
      TEST(shapes_satisfy_the_facts),
      TEST(constant_sizes_run_as_they_are),
      TEST(large_sizes_are_checked_at_points),
      TEST(a_program_too_large_for_memory_is_reported_as_unchecked),
      TEST(a_check_can_be_interrupted),
      TEST(a_wrong_program_is_caught),
      TEST(values_are_compared_with_the_right_tolerance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
