// Tests the order in which lanes accumulate: the interpreter of scheduled programs runs them like lowered programs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "interp/interp.h"

// Runs a program with one input of n floats and one output of m floats, as it is and lowered. Both must give the same
// bits, which are left in `out`.
static void run(const char *text, int n, float *in, int m, float *out) {
  nw_ctx *c = nw_open();
  nw_pool *pool = nw_pool_new(c);
  nw_program *p = nw_program_parse(c, pool, text);
  if (!p) fail_msg("%s", nw_error(c)->message);
  nw_exec *e = nw_lower(p, NULL);
  if (!e) fail_msg("%s", nw_error(c)->message);
  float *again = nw_xcalloc((size_t)m, sizeof *again);
  nw_view v[] = {{NW_F32, n, in}, {NW_F32, m, out}}, w[] = {{NW_F32, n, in}, {NW_F32, m, again}};
  if (!nw_interp_program(c, p, NULL, v, NULL)) fail_msg("%s", nw_error(c)->message);
  if (!nw_interp_exec(c, e, NULL, w, NULL)) fail_msg("%s", nw_error(c)->message);
  assert_memory_equal(out, again, sizeof *out * (size_t)m);
  free(again);
  nw_exec_release(e);
  nw_program_release(p);
  nw_pool_release(pool);
  nw_close(c);
}

static void random_floats(int n, float *x) {
  for (int i = 0; i < n; i++) x[i] = (float)((i * 7919 + 13) % 1009) / 7.0f;
}

// Adds up n numbers as docs/schedule.md defines it: in `lanes` lanes, and then as a tree.
static float tree(int n, const float *x, int lanes) {
  float lane[32] = {0};
  for (int i = 0; i < n; i++) lane[i % lanes] += x[i];
  for (int k = lanes; k > 1; k -= k / 2)
    for (int l = 0; l < k / 2; l++) lane[l] += lane[l + k - k / 2];
  return 0.0f + lane[0];
}

static void a_tree(void **state) {
  (void)state;
  static const int lanes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31};
  for (int i = 0; i < (int)(sizeof lanes / sizeof *lanes); i++) {
    int w = lanes[i], n = 3 * w + w / 2;
    char text[600];
    float in[128], out;
    snprintf(text, sizeof text,
             "program s\ninput A: f32[%d]\noutput R: f32[1]\nfor x in 0..1:\n  for k_o in 0..4:\n    vectorize_reduce "
             "for k_i in 0..%d:\n      block R of R (i = x in 0..1, reduce k = %d*k_o + k_i in 0..%d) where %d*k_o + "
             "k_i < %d:\n        init R[i] = 0.0\n        R[i] += A[k]\n",
             n, w, w, n, w, n);
    random_floats(n, in);
    run(text, n, in, 1, &out);
    float want = tree(n, in, w);
    assert_memory_equal(&out, &want, sizeof out);
  }
}

// After each iteration of k_o, the sum so far is read. So the lanes must be combined in each of these iterations.
static void a_sum_that_is_read_while_its_lanes_accumulate(void **state) {
  (void)state;
  static const char text[] =
      "program s\ninput A: f32[32]\noutput D: f32[4]\ntemp R: f32[1]\nalloc R[0..1]:\n  for z in 0..1:\n    init block "
      "R_init of R (i = z in 0..1):\n      R[i] = 0.0\n  for k_o in 0..4:\n    vectorize_reduce for k_i in 0..8:\n"
      "      block R of R (i = 0 in 0..1, reduce k = 8*k_o + k_i in 0..32):\n        init R[i] = 0.0 elsewhere\n"
      "        R[i] += A[k]\n    block D of D (j = k_o in 0..4):\n      D[j] = R[0]\n";
  float in[32], out[4], want = 0;
  random_floats(32, in);
  run(text, 32, in, 4, out);
  for (int o = 0; o < 4; o++) {
    want += tree(8, in + 8 * o, 8);
    assert_memory_equal(&out[o], &want, sizeof want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tree),
      cmocka_unit_test(a_sum_that_is_read_while_its_lanes_accumulate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
