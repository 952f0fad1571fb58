// Tests what the user sees of a refused step: the message, the witness (two iterations in conflict), the picture, and
// the alternatives.
#include "scheduling.h"

// Every alternative must be a step that is accepted.
static void assert_ways_on(const nw_diag *d, int least) {
  int n = 0;
  while (n < NW_MAX_NOTES && d->refusal->alternatives[n]) n++;
  if (n < least) fail_msg("only %d alternatives after: %s", n, d->message);
}

static void parallel_over_a_reduction(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 512);
  step(s, "split", LP("k"), IN(32));
  const nw_diag *d = refused(s, "parallel", "cannot run k_o in parallel", LP("k_o"));
  const nw_refusal *r = d->refusal;
  assert_int_equal(d->code, NW_EREFUSED);
  assert_int_equal(r->kind, NW_REFUSE_REDUCTION);
  assert_string_equal(r->primitive, "parallel");
  assert_string_equal(r->step, "s:parallel \"k_o\"");
  assert_string_equal(r->element, "C[0, 0]");
  assert_string_equal(r->loops[0], "k_o");
  assert_string_equal(r->alternatives[0], "s:parallel \"i\"");
  assert_string_equal(r->alternatives[1], "s:rfactor(\"C\", \"k_o\")");
  assert_string_equal(r->picture,
                      "for i in 0..512:\n"
                      "  for j in 0..512:\n"
                      "    parallel for k_o in 0..16:   <- carries the dependence, distance 1\n"
                      "      for k_i in 0..32:\n"
                      "        C[i, j] += A[i, 32*k_o + k_i]*B[32*k_o + k_i, j]  # from 0 at the first k_o, k_i\n");
  nw_clear(c);
  step(s, "parallel", LP("i"));
  nw_sched_release(s);
}

static void vectorize_over_a_reduction(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  const nw_diag *d = refused(s, "vectorize", "cannot vectorize k", LP("k"));
  assert_string_equal(d->refusal->alternatives[0], "s:vectorize \"j\"");
  assert_has(d->refusal->why, "lane");
  nw_clear(c);
  nw_sched_release(s);
}

// The fused loop j_k runs through the reductions of several elements, one after the other. If its inner part is the
// outer loop, some contributions come before the init.
static void the_init_comes_first(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 4);
  step(s, "fuse", LP("j"), LP("k"));
  step(s, "split", LP("j_k"), IN(3));
  const nw_diag *d = refused(s, "reorder", "cannot reorder j_k_i before j_k_o", LIST(LP("j_k_i"), LP("j_k_o")));
  assert_ways_on(d, 1);
  nw_clear(c);
  nw_sched_release(s);
}

// The tail of a cut reduction continues the sum of the main part.
static void the_tail_has_no_init(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 10);
  step(s, "split", LP("k"), IN(4), NONE, STR("cut"));
  const nw_diag *d = refused(s, "decompose_reduction", "cannot split off the init of C.tail before k.tail",
                             ST("C.tail"), LP("k.tail"));
  assert_ways_on(d, 1);
  nw_clear(c);
  step(s, "vectorize", LP("j"));
  nw_sched_release(s);
}

static void a_local_buffer_has_to_fit(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 1024);
  const nw_diag *d = refused(s, "cache_write", "cannot write C through a copy in local", ST("C"), STR("local"));
  assert_int_equal(d->refusal->kind, NW_REFUSE_CAPACITY);
  assert_string_equal(d->refusal->alternatives[0], "s:cache_write(\"C\", \"local\", {at = \"j\"})");
  assert_string_equal(d->refusal->alternatives[1], "s:cache_write(\"C\", \"global\")");
  nw_clear(c);
  nw_sched_release(s);
}

// A proof may use only a limited number of operations, its budget. With any budget, the step is either refused as
// undecided, or makes the same program as without a limit.
static void a_small_budget_does_not_change_the_program(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  const struct {
    const char *primitive;
    nw_arg arg[3];
  } row[] = {{"partition", {LP("i_o")}},
             {"cut", {LP("j"), LIST(((nw_arg){.kind = NW_ARG_EXPR, .n = 1, .expr = (const nw_expr *[]){I(c, 7)}}))}},
             {"rfactor", {ST("C"), LP("k_o")}},
             {"cache_read", {ST("A"), STR("global")}},
             {"reorder", {LIST(LP("j"), LP("i_i"))}},
             {"parallel", {LP("i_o")}}};
  nw_sched *s = gemm(c, 100);
  step(s, "split", LP("i"), IN(32));
  step(s, "split", LP("k"), IN(16));
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    const nw_arg *a = row[i].arg;
    int undecided = 0, steps = 0;
    nw_judge_budget(c, 0);
    assert_step(s, row[i].primitive, ARGS(a[0], a[1], a[2]), __LINE__);
    char *all = nw_program_show(nw_sched_program(s), NULL);
    nw_sched_undo(s);
    for (long budget = 20; budget < 400000; budget += budget / 4, steps++) {
      nw_judge_budget(c, budget);
      if (nw_sched_apply(s, nw_primitive_find(row[i].primitive), ARGS(a[0], a[1], a[2]), NULL)) {
        char *some = nw_program_show(nw_sched_program(s), NULL);
        assert_string_equal(some, all);
        free(some);
        nw_sched_undo(s);
      } else if (nw_error(c)->code == NW_EUNDECIDED) {
        undecided++;
      } else {
        fail_msg("%s with %ld operations: %s", row[i].primitive, budget, nw_error(c)->message);
      }
      nw_clear(c);
    }
    assert_in_range(undecided, 1, steps - 1);
    free(all);
  }
  nw_judge_budget(c, 0);
  nw_sched_release(s);
}

// Makes the step on a new schedule in a new context, in which no step was checked before. Returns the error code.
static nw_code verdict_in_a_new_context(const char *primitive, const nw_arg *arg, long budget) {
  nw_ctx *c = nw_open();
  nw_sched *s = gemm(c, 100);
  step(s, "split", LP("i"), IN(32));
  step(s, "split", LP("k"), IN(16));
  nw_judge_budget(c, budget);
  bool ok = nw_sched_apply(s, nw_primitive_find(primitive), ARGS(arg[0], arg[1], arg[2]), NULL);
  nw_code code = ok ? NW_OK : nw_error(c)->code;
  nw_sched_release(s);
  nw_close(c);
  return code;
}

static void a_verdict_does_not_depend_on_earlier_checks(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  const struct {
    const char *primitive;
    nw_arg arg[3];
  } row[] = {{"cut", {LP("j"), LIST(((nw_arg){.kind = NW_ARG_EXPR, .n = 1, .expr = (const nw_expr *[]){I(c, 7)}}))}},
             {"partition", {LP("i_o")}},
             {"rfactor", {ST("C"), LP("k_o")}},
             {"cache_read", {ST("A"), STR("global")}},
             {"reorder", {LIST(LP("j"), LP("i_i"))}},
             {"parallel", {LP("i_o")}}};
  nw_sched *s = gemm(c, 100);
  step(s, "split", LP("i"), IN(32));
  step(s, "split", LP("k"), IN(16));
  int undecided = 0, decided = 0;
  for (long budget = 400000; budget > 20; budget -= budget / 3)
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
      nw_code fresh = verdict_in_a_new_context(row[i].primitive, row[i].arg, budget);
      nw_judge_budget(c, budget);
      for (int again = 0; again < 3; again++) {
        bool ok = nw_sched_apply(s, nw_primitive_find(row[i].primitive),
                                 ARGS(row[i].arg[0], row[i].arg[1], row[i].arg[2]), NULL);
        nw_code code = ok ? NW_OK : nw_error(c)->code;
        if (ok) nw_sched_undo(s);
        if (code != fresh)
          fail_msg("%s with %ld operations: %s, but %s in a new context", row[i].primitive, budget,
                   ok ? "accepted" : "refused", fresh == NW_OK ? "accepted" : "refused");
        *(ok ? &decided : &undecided) += 1;
        nw_clear(c);
      }
    }
  assert_true(undecided > 10 && decided > 10);
  nw_judge_budget(c, 0);
  nw_sched_release(s);
}

// Finds the least budget that decides a step in a new context. The same budget must also decide the step after many
// other steps. With one operation less, the step must be undecided in both cases.
static void earlier_checks_do_not_change_the_budget(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  const struct {
    const char *primitive;
    nw_arg arg[3];
  } row[] = {{"cut", {LP("j"), LIST(((nw_arg){.kind = NW_ARG_EXPR, .n = 1, .expr = (const nw_expr *[]){I(c, 7)}}))}},
             {"rfactor", {ST("C"), LP("k_o")}},
             {"parallel", {LP("i_o")}}};
  nw_sched *s = gemm(c, 100);
  step(s, "split", LP("i"), IN(32));
  step(s, "split", LP("k"), IN(16));
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    long lo = 1, hi = 1000000;
    while (hi - lo > 1) {
      long middle = lo + (hi - lo) / 2;
      *(verdict_in_a_new_context(row[i].primitive, row[i].arg, middle) == NW_EUNDECIDED ? &lo : &hi) = middle;
    }
    for (int again = 0; again < 4; again++) {
      const nw_arg *a = row[i].arg;
      nw_judge_budget(c, again % 2 ? hi : lo);
      bool ok = nw_sched_apply(s, nw_primitive_find(row[i].primitive), ARGS(a[0], a[1], a[2]), NULL);
      if (ok != again % 2)
        fail_msg("%s with %ld operations: not as in a new context", row[i].primitive, again % 2 ? hi : lo);
      if (ok) nw_sched_undo(s);
      nw_clear(c);
    }
  }
  nw_judge_budget(c, 0);
  nw_sched_release(s);
}

static void a_refused_replay_names_its_step(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "unroll", LP("k"));
  assert_false(nw_sched_replay(s, "{\"steps\": [{\"primitive\": \"split\", \"args\": {\"loop\": \"k\", \"factor\": 8}},"
                                  "{\"primitive\": \"parallel\", \"args\": {\"loop\": \"k_o\"}}]}"));
  assert_string_equal(nw_error(c)->message, "step 2, s:parallel \"k_o\": cannot run k_o in parallel");
  assert_non_null(nw_error(c)->refusal);
  assert_int_equal(nw_sched_current(s), 1);
  nw_clear(c);
  nw_sched_release(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(parallel_over_a_reduction),
      T(vectorize_over_a_reduction),
      T(the_init_comes_first),
      T(the_tail_has_no_init),
      T(a_local_buffer_has_to_fit),
      T(a_verdict_does_not_depend_on_earlier_checks),
      T(earlier_checks_do_not_change_the_budget),
      T(a_refused_replay_names_its_step),
      T(a_small_budget_does_not_change_the_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
