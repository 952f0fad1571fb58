// Tests undo, redo, branches, the trace and its replay, the table of primitives, and JSON.
#include "scheduling.h"
#include "sched/args.h"
#include "sched/json.h"
#include "sched/step.h"

static void undo_gives_the_same_program(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  const nw_program *naive = nw_sched_program(s);
  assert_false(nw_sched_undo(s));
  assert_string_equal(nw_error(c)->message, "nothing to undo: this is the naive program");
  nw_clear(c);
  step(s, "split", LP("i"), IN(8));
  const nw_program *split = nw_sched_program(s);
  assert_int_equal(nw_sched_current(s), 1);
  assert_true(nw_sched_undo(s));
  assert_ptr_equal(nw_sched_program(s), naive);
  assert_true(nw_sched_redo(s));
  assert_ptr_equal(nw_sched_program(s), split);
  assert_false(nw_sched_redo(s));
  nw_clear(c);
  assert_ptr_equal(nw_sched_version(s, 0), naive);
  assert_null(nw_sched_version(s, 2));
  nw_sched_release(s);
}

// If a step breaks an invariant in a test, the program before the step is printed.
static void the_program_before_a_failing_step_is_printed(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  nw_step st;
  nw_step_begin(&st, s, nw_primitive_find("split"), NULL);
  nw_work now = nw_work_on((nw_work){0});
  nw_work_on(now);
  assert_non_null(now.print);
  char *text = NULL, *whole = nw_program_print(st.before);
  size_t n;
  FILE *out = open_memstream(&text, &n);
  now.print(out, now.of);
  fclose(out);
  assert_ptr_equal(strstr(text, "in the step split of"), text);
  assert_non_null(strstr(text, whole));
  free(text);
  free(whole);
  nw_step_end(&st);
  assert_null(nw_work_on((nw_work){0}).print);
  nw_sched_release(s);
}

static void branches(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "split", LP("i"), IN(8));
  assert_true(nw_sched_branch(s, "rows"));
  nw_sched_undo(s);
  step(s, "split", LP("j"), IN(8));
  step(s, "parallel", LP("i"));
  assert_true(nw_sched_branch(s, "columns"));
  assert_false(nw_sched_branch(s, "rows"));
  nw_clear(c);
  assert_true(nw_sched_checkout(s, "rows"));
  assert_int_equal(nw_sched_current(s), 1);
  assert_string_equal(nw_sched_loop_name(s, nw_sched_loop(s, "i_o")), "i_o");
  assert_true(nw_sched_checkout(s, "columns"));
  assert_int_equal(nw_sched_current(s), 3);
  nw_sched_undo(s);
  nw_sched_undo(s);
  assert_true(nw_sched_redo(s));
  assert_int_equal(nw_sched_current(s), 2);
  assert_true(nw_sched_checkout(s, "1"));
  assert_int_equal(nw_sched_current(s), 1);
  assert_false(nw_sched_checkout(s, "nowhere"));
  assert_string_equal(nw_error(c)->hint, "branches: rows, columns");
  nw_clear(c);
  nw_sched_release(s);
}

static nw_sched *blocked(nw_ctx *c, int64_t n) {
  nw_sched *s = gemm(c, n);
  step(s, "tile", LIST(LP("i"), LP("j")), LIST(IN(16), IN(32)), STR("cut"));
  step(s, "split", LP("k"), IN(4));
  step(s, "reorder", LIST(LP("k_o"), LP("i_i"), LP("k_i"), LP("j_i")));
  step(s, "vectorize", LP("j_i"));
  step(s, "parallel", LP("i_o"));
  return s;
}

static const char blocked_trace[] = "s:tile(\"i\", \"j\", 16, 32, {tail = \"cut\"})\n"
                                    "s:split(\"k\", 4)\n"
                                    "s:reorder(\"k_o\", \"i_i\", \"k_i\", \"j_i\")\n"
                                    "s:vectorize \"j_i\"\n"
                                    "s:parallel \"i_o\"\n";

static void trace_replays(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = blocked(c, 100), *again = gemm(c, 100);
  char *lua = nw_sched_trace(s, false), *json = nw_sched_trace(s, true);
  assert_string_equal(lua, blocked_trace);
  assert_true(nw_sched_replay(again, json));
  assert_true(nw_same_program(nw_sched_program(s), nw_sched_program(again)) || s->pool != again->pool);
  char *a = nw_program_print(nw_sched_program(s)), *b = nw_program_print(nw_sched_program(again));
  assert_string_equal(a, b);
  char *json2 = nw_sched_trace(again, true);
  assert_string_equal(json, json2);
  free(a), free(b), free(lua), free(json), free(json2);
  nw_sched_release(again);
  nw_sched_release(s);
}

static void replay_names_the_step_that_fails(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  assert_false(nw_sched_replay(s, "{\"steps\": [{\"primitive\": \"split\", \"args\": {\"loop\": \"i\", \"factor\": 8}},"
                                  "{\"primitive\": \"unroll\", \"args\": {\"loop\": \"z\"}}]}"));
  assert_has(nw_error(c)->message, "step 2, s:unroll \"z\": no loop \"z\"; loops are i_o, i_i, j, k");
  assert_int_equal(nw_sched_current(s), 0);
  nw_clear(c);
  const char *bad[] = {"",
                       "{",
                       "[]",
                       "{\"steps\": 1}",
                       "{\"steps\": []} x",
                       "{\"steps\": [{}]}",
                       "{\"steps\": [{\"primitive\": \"nothing\", \"args\": {}}]}",
                       "{\"steps\": [{\"primitive\": \"split\", \"args\": {\"loop\": 3}}]}",
                       "{\"steps\": [{\"primitive\": \"split\", \"args\": {\"loop\": \"i\", \"factor\": 1.5}}]}",
                       "{\"steps\": [{\"primitive\": \"split\", \"args\": {\"loop\": \"i\", \"facotr\": 1}}]}"};
  for (int i = 0; i < NW_COUNT(bad); i++) {
    assert_false(nw_sched_replay(s, bad[i]));
    assert_int_equal(nw_error(c)->code, NW_EPARSE);
    nw_clear(c);
  }
  nw_sched_release(s);
}

// A trace that names a tail can be replayed on a shape without a tail. A trace without a tail can be replayed on a
// shape with a tail.
static void tails_vanish(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *odd = gemm(c, 100), *even = gemm(c, 96);
  nw_results r = step(odd, "split", LP("i"), IN(32), NONE, STR("cut"));
  r = step(odd, "split", ID(r.loop[2]), IN(2));
  step(odd, "unroll", ID(r.loop[1]));
  step(odd, "reorder", LIST(LP("i.tail/j"), LP("i.tail_i")));
  step(odd, "decompose_reduction", ST("C.tail"), LP("i.tail/k"));
  char *json = nw_sched_trace(odd, true);
  if (!nw_sched_replay(even, json)) fail_msg("%s", nw_error(c)->message);
  assert_int_equal(nw_sched_current(even), 5);
  assert_string_equal(nw_sched_notes(even), "i.tail/k is empty: the step has no effect");
  assert_ptr_equal(nw_sched_program(even), nw_sched_version(even, 1));
  char *again = nw_sched_trace(even, true);
  assert_string_equal(json, again);
  nw_sched_undo(even), nw_sched_undo(even), nw_sched_undo(even), nw_sched_undo(even), nw_sched_undo(even);
  r = step(even, "split", LP("i"), IN(32), NONE, STR("cut"));
  assert_int_equal(r.n, 3);
  assert_string_equal(nw_sched_loop_name(even, r.loop[2]), "i.tail");
  r = step(even, "tile", LIST(LP("j"), LP("k")), LIST(IN(32), IN(32)), STR("cut"));
  step(even, "parallel", LP("k.tail/j"));
  nw_sched_undo(even);
  nw_sched_undo(even);
  nw_sched_undo(even);
  assert_int_equal(nw_sched_loop(even, "i.tail"), 0);
  nw_clear(c);
  free(json), free(again);
  nw_sched_release(odd);
  nw_sched_release(even);
}

static void log_and_text(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  step(s, "split", LP("i"), IN(8));
  nw_sched_branch(s, "start");
  step(s, "split", LP("j"), NONE, IN(4));
  nw_log_entry first, naive;
  assert_true(nw_sched_log(s, 0, &naive) && nw_sched_log(s, 1, &first));
  assert_false(nw_sched_log(s, 3, &first) || nw_sched_log(s, -1, &first));
  assert_int_equal(nw_sched_versions(s), 3);
  assert_string_equal(first.step, "s:split(\"i\", 8)");
  assert_string_equal(first.branch, "start");
  assert_string_equal(first.notes, "i divides evenly: no tail");
  assert_int_equal(first.added, 2); // i_o and i_i replace i
  assert_int_equal(first.removed, 1);
  assert_int_equal(first.changed, 2); // j is in another loop
  assert_true(first.operations == 2.0 * 64 * 64 * 64 && first.operations == naive.operations && first.exact);
  assert_true(first.input_bytes == 64.0 * 64 * 64 * 8 && first.output_bytes == 64.0 * 64 * 64 * 8);
  char *text = nw_sched_step_text(s, 2);
  assert_string_equal(text, "s:split(\"j\", {parts = 4})");
  free(text);
  nw_sched_release(s);
}

static void loops_of_a_stage(void **state) {
  nw_ctx *c = ((bench *)*state)->c;
  nw_sched *s = gemm(c, 64);
  int ids[8];
  assert_int_equal(nw_sched_loops(s, "C", 8, ids), 3);
  assert_string_equal(nw_sched_loop_name(s, ids[2]), "k");
  assert_int_equal(nw_sched_loops(s, NULL, 2, ids), 2);
  assert_int_equal(nw_sched_loops(s, "D", 8, ids), 0);
  assert_string_equal(nw_error(c)->message, "no stage \"D\"; stages are C");
  nw_clear(c);
  nw_sched_release(s);
}

// Every row of the table of primitives is fully documented, and its examples name the primitive.
static void rows(void **state) {
  (void)state;
  assert_true(nw_primitive_count() >= 14);
  for (int i = 0; i < nw_primitive_count(); i++) {
    const nw_primitive *row = nw_primitive_at(i);
    assert_ptr_equal(nw_primitive_find(row->name), row);
    assert_non_null(strstr(row->example, row->name));
    assert_true(row->doc && row->apply);
    for (int k = 0; k < nw_param_count(row); k++) {
      assert_non_null(row->param[k].doc);
      assert_true(row->param[k].kind != NW_ARG_NONE && (row->param[k].kind != NW_ARG_LIST || row->param[k].item));
    }
  }
  assert_null(nw_primitive_find("nothing"));
  assert_null(nw_primitive_at(nw_primitive_count()));
}

static void json_values(void **state) {
  (void)state;
  nw_arena *a = nw_arena_new();
  size_t at;
  const char *why;
  nw_json *j = nw_json_parse(a, " {\"a\": [1, -20, true, null], \"b\\n\\u00e9\": \"x\\\\\\\"y\"} ", &at, &why);
  assert_non_null(j);
  assert_int_equal(nw_json_get(j, "a")->item[1]->i, -20);
  assert_string_equal(nw_json_get(j, "b\n\xc3\xa9")->s, "x\\\"y");
  const char *bad[] = {"{\"a\":1,\"a\":2}",    "[1,]",        "[01]", "\"a", "\"\\x\"", "[1 2]", "tru",
                       "99999999999999999999", "\"\\u0000\"", "{1:2}"};
  for (int i = 0; i < NW_COUNT(bad); i++) {
    assert_null(nw_json_parse(a, bad[i], &at, &why));
    assert_non_null(why);
  }
  char deep[200];
  memset(deep, '[', sizeof deep);
  deep[199] = 0;
  assert_null(nw_json_parse(a, deep, &at, &why));
  assert_string_equal(why, "nested too deeply");
  nw_arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(undo_gives_the_same_program),
      T(branches),
      T(trace_replays),
      T(replay_names_the_step_that_fails),
      T(tails_vanish),
      T(log_and_text),
      T(loops_of_a_stage),
      T(the_program_before_a_failing_step_is_printed),
      cmocka_unit_test(rows),
      cmocka_unit_test(json_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
