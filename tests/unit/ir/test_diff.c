#include "fixture.h"
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

static void assert_diff(env *e, const char *a, const char *b, const char *want) {
  nw_program *p = nw_program_parse(e->c, e->pool, a), *q = nw_program_parse(e->c, e->pool, b);
  assert_non_null(p);
  assert_non_null(q);
  char *text = nw_program_diff(p, q, NW_TEXT_PLAIN);
  assert_string_equal(text, want);
  free(text);
  nw_program_release(p);
  nw_program_release(q);
}

#define HEAD "program p\noutput C: f32[8, 8]\n"
#define NEST "for i in 0..8:\n  for j in 0..8:\n    C[i] = 1.0\n"

static void equal_programs_have_no_diff(void **state) { assert_diff(*state, HEAD NEST, HEAD NEST, ""); }

static void a_changed_line_is_removed_and_added(void **state) {
  assert_diff(*state, HEAD NEST, HEAD "for i in 0..8:\n  parallel for j in 0..8:\n    C[i] = 1.0\n",
              "  for i in 0..8:\n"
              "-   for j in 0..8:\n"
              "+   parallel for j in 0..8:\n"
              "      C[i] = 1.0\n");
}

static void everything_can_be_removed_or_added(void **state) {
  assert_diff(*state, HEAD NEST, HEAD, "- for i in 0..8:\n-   for j in 0..8:\n-     C[i] = 1.0\n");
  assert_diff(*state, HEAD, HEAD NEST, "+ for i in 0..8:\n+   for j in 0..8:\n+     C[i] = 1.0\n");
}

#define STORES "    C[0] = 0.0\n    C[1] = 1.0\n    C[2] = 2.0\n    C[3] = 3.0\n    C[4] = 4.0\n"

static void distant_lines_are_left_out_but_not_their_loops(void **state) {
  assert_diff(*state,
              HEAD "C[0] = 9.0\nC[1] = 9.0\nfor i in 0..8:\n  for j in 0..8:\n" STORES
                   "    C[5] = 5.0\n  C[6] = 6.0\n  C[7] = 6.0\n",
              HEAD "C[0] = 9.0\nC[1] = 9.0\nfor i in 0..8:\n  for j in 0..8:\n" STORES
                   "    C[5] = 0.5\n  C[6] = 6.0\n  C[7] = 6.0\n",
              "  ...\n"
              "  for i in 0..8:\n"
              "    for j in 0..8:\n"
              "      ...\n"
              "      C[3] = 3.0\n"
              "      C[4] = 4.0\n"
              "-     C[5] = 5.0\n"
              "+     C[5] = 0.5\n"
              "    C[6] = 6.0\n"
              "    C[7] = 6.0\n");
}

static void earlier_nests_are_left_out(void **state) {
  assert_diff(*state, HEAD "for i in 0..8:\n  for j in 0..8:\n" STORES "for k in 0..8:\n  pass\n",
              HEAD "for i in 0..8:\n  for j in 0..8:\n" STORES "parallel for k in 0..8:\n  pass\n",
              "  ...\n"
              "- for k in 0..8:\n"
              "+ parallel for k in 0..8:\n"
              "    pass\n");
}

static void painted_lines_keep_one_colour(void **state) {
  env *e = *state;
  nw_program *p = nw_program_parse(e->c, e->pool, HEAD),
             *q = nw_program_parse(e->c, e->pool, HEAD "for i in 0..8:\n  pass\n");
  char *text = nw_program_diff(p, q, NW_TEXT_ANSI);
  assert_string_equal(text,
                      "\033[32m+ \033[0m\033[32mfor \033[0m\033[32mi\033[0m\033[32m in \033[0m\033[32m0..8:\033[0m\n"
                      "\033[32m+ \033[0m  \033[32mpass\033[0m\n");
  free(text);
  nw_program_release(p);
  nw_program_release(q);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      TEST(equal_programs_have_no_diff),        TEST(a_changed_line_is_removed_and_added),
      TEST(everything_can_be_removed_or_added), TEST(distant_lines_are_left_out_but_not_their_loops),
      TEST(earlier_nests_are_left_out),         TEST(painted_lines_keep_one_colour),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
