// Tests the conditions that unroll, vectorize and parallel check before the judge (the legality check) checks the step.
#include "ir/program/tags.h"
#include "scheduling.h"

static void marks_show(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "split", LP("j"), IN(16));
  step(s, "parallel", LP("i"));
  step(s, "vectorize", LP("j_i"));
  step(s, "unroll", LP("k"));
  assert_show_has(s, "parallel for i in 0..64:");
  assert_show_has(s, "vectorize for j_i in 0..16:");
  assert_show_has(s, "unroll for k in 0..64:");
  nw_sched_release(s);
}

static void a_loop_has_one_mark(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "vectorize", LP("j"));
  const nw_diag *d = refused(s, "parallel", "cannot run j in parallel: it is already marked vectorize", LP("j"));
  assert_string_equal(d->refusal->step, "s:parallel \"j\"");
  assert_string_equal(d->refusal->alternatives[0], "s:unmark \"j\"");
  assert_string_equal(d->refusal->alternatives[1], "s:parallel \"i\"");
  nw_clear(c);
  refused(s, "split", "cannot split j: j is already marked vectorize", LP("j"), IN(4));
  nw_clear(c);
  refused(s, "fuse", "cannot fuse i and j: j is already marked vectorize", LP("i"), LP("j"));
  nw_clear(c);
  nw_sched_release(s);
}

static void marks_inside_marks(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "parallel", LP("i"));
  assert_has(refused(s, "parallel", "cannot run j in parallel: it is inside i, which is marked parallel", LP("j"))
                 ->refusal->why,
             "threads");
  nw_clear(c);
  step(s, "split", LP("j"), IN(16));
  step(s, "vectorize", LP("j_i"));
  refused(s, "vectorize", "cannot vectorize j_o: it holds j_i, which is marked vectorize", LP("j_o"));
  nw_clear(c);
  refused(s, "vectorize", "cannot vectorize i: it is already marked parallel", LP("i"));
  nw_clear(c);
  nw_sched_release(s);
}

static void vectors_have_constant_lanes(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  const nw_expr *m = nw_size_var(c, "M", 1);
  nw_sched *s = gemm_of(c, NW_F32, I(c, 64), m, I(c, 64));
  const nw_diag *d = refused(s, "vectorize", "cannot vectorize j: its extent is not constant", LP("j"));
  assert_non_null(d->refusal->alternatives[0]);
  nw_clear(c);
  refused(s, "unroll", "cannot unroll j: its extent is not constant", LP("j"));
  nw_clear(c);
  step(s, "split", LP("j"), IN(16), NONE, STR("guard"));
  assert_has(nw_sched_notes(s), "is guarded");
  step(s, "vectorize", LP("j_i"));
  assert_has(nw_sched_notes(s), "the guard becomes a vector mask");
  nw_sched_release(s);
  s = gemm(c, 512);
  refused(s, "vectorize", "it runs 512 times", LP("j"));
  nw_clear(c);
  nw_sched_release(s);
}

static void unroll_has_a_limit(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "unroll", LP("i"));
  step(s, "unroll", LP("j"));
  const nw_diag *d = refused(s, "unroll", "cannot unroll k", LP("k"));
  assert_int_equal(d->refusal->kind, NW_REFUSE_CAPACITY);
  assert_string_equal(d->refusal->why, "this would make 262144 copies of C; the limit is 4096");
  assert_string_equal(d->refusal->alternatives[0], "s:unmark \"i\"");
  nw_clear(c);
  nw_sched_release(s);
}

static void little_work(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 8);
  step(s, "parallel", LP("i"));
  assert_has(nw_sched_notes(s), "little work: about 1024 operations, or 0.26 us, compared with 5.0 us");
  nw_sched_release(s);
  s = gemm(c, 64);
  step(s, "parallel", LP("i"));
  assert_string_equal(nw_sched_notes(s), "");
  nw_sched_release(s);
}

static double unknown(void) { return 0; }

static void a_note_says_that_a_cost_is_assumed(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  c->spawn_seconds = unknown;
  nw_sched *s = gemm(c, 8);
  step(s, "parallel", LP("i"));
  assert_has(nw_sched_notes(s), "compared with 5.0 us for starting threads (assumed, not measured here)");
  nw_sched_release(s);
  c->spawn_seconds = NULL;
}

// The table contains every key that the rows of pragma and annotate offer, and vice versa.
static void keys(void **state) {
  (void)state;
  for (int stage = 0; stage < 2; stage++) {
    nw_str all = {0};
    for (int i = 0; i < nw_tag_count(); i++) {
      const nw_tag_row *row = nw_tag_row_at(i);
      if (stage ? row->stage : row->loop) nw_str_fmt(&all, "%s%s", all.n ? "|" : "", row->key);
    }
    assert_string_equal(all.s, nw_primitive_find(stage ? "annotate" : "pragma")->param[1].choices);
    nw_str_free(&all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(marks_show),
      T(a_loop_has_one_mark),
      T(marks_inside_marks),
      T(vectors_have_constant_lanes),
      T(unroll_has_a_limit),
      T(little_work),
      T(a_note_says_that_a_cost_is_assumed),
      cmocka_unit_test(keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
