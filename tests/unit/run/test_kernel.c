// Compares generated code with the interpreter, bit for bit.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "random_program.h"
#include "run/kernel.h"

static void fill_awkward(nw_array *a, uint64_t seed) {
  static const double reals[] = {NAN,   INFINITY, -INFINITY, 0,   -0.0, 1e-45,       -1e-310,
                                 65520, 3.4e38,   1e300,     128, -129, 2147483648.0};
  nw_array_fill_random(a, seed, nw_dtype_is_signed(a->dtype) ? -20 : 0, a->dtype == NW_BOOL ? 1 : 20);
  for (int64_t i = 0; i < a->count; i += 7) {
    if (nw_dtype_is_float(a->dtype))
      nw_array_set(a, i, reals[(i / 7 + (int64_t)seed) % NW_COUNT(reals)]);
    else
      nw_array_set_int(a, i, i % 3 ? INT64_MIN >> (i % 64) : INT64_MAX >> (i % 64));
  }
}

// True if all elements have the same bits. All NaNs are equal. Otherwise sets `at` to the first element that differs.
static bool same(const nw_array *a, const nw_array *b, int64_t *at) {
  size_t n = (size_t)nw_dtype_bytes(a->dtype);
  for (int64_t i = 0; i < a->count; i++) {
    if (!memcmp((char *)a->data + (size_t)i * n, (char *)b->data + (size_t)i * n, n)) continue;
    if (nw_dtype_is_float(a->dtype) && isnan(nw_array_get(a, i)) && isnan(nw_array_get(b, i))) continue;
    *at = i;
    return false;
  }
  return true;
}

typedef struct bench {
  nw_ctx *c;
  nw_array *in[NW_DTYPE_COUNT], *got[NW_DTYPE_COUNT], *want[NW_DTYPE_COUNT];
} bench;

static void open_bench(bench *b) {
  const int64_t n = SIZE;
  b->c = nw_open();
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    b->in[t] = nw_array_new(b->c, (nw_dtype)t, 1, &n);
    b->got[t] = nw_array_new(b->c, (nw_dtype)t, 1, &n);
    b->want[t] = nw_array_new(b->c, (nw_dtype)t, 1, &n);
  }
}

static void close_bench(bench *b) {
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    nw_array_release(b->in[t]);
    nw_array_release(b->got[t]);
    nw_array_release(b->want[t]);
  }
  nw_close(b->c);
}

static void clear_outputs(bench *b) {
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    memset(b->got[t]->data, 1, b->got[t]->bytes);
    memset(b->want[t]->data, 1, b->want[t]->bytes);
  }
}

static bool run_native(bench *b, const nw_exec *e, int opt, int threads, const int64_t *sizes) {
  char error[1024] = "";
  bool cached = true;
  nw_jit *j = nw_session_jit(b->c, 0);
  if (!j) return false;
  const nw_jit_api *api = nw_session_of(b->c)->api;
  nw_machine_code *code = api->compile(j, e, opt, &cached, error, sizeof error);
  if (!code) return nw_fail(b->c, NW_ECODEGEN, NULL, "%s", error);
  void *params[64] = {0};
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    params[t] = b->in[t]->data;
    params[NW_DTYPE_COUNT + t] = b->got[t]->data;
  }
  nw_frame f = {.params = params, .sizes = sizes, .threads = threads, .name = "random"};
  bool good = nw_guarded_call(b->c, api->entry(code), &f);
  api->free(code);
  return good;
}

static bool run_slowly(bench *b, const nw_exec *e, const int64_t *sizes) {
  nw_view views[2 * NW_DTYPE_COUNT];
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    views[t] = nw_view_of(b->in[t]);
    views[NW_DTYPE_COUNT + t] = nw_view_of(b->want[t]);
  }
  return nw_interp_exec(b->c, e, sizes, views, NULL);
}

static void complain(bench *b, const nw_exec *e, uint64_t seed, const char *what) {
  char *text = nw_program_print(e->p);
  const nw_diag *d = nw_error(b->c);
  fail_msg("seed %lu: %s: %s\n%s", (unsigned long)seed, what, d ? d->message : "", text);
}

static void agree(bench *b, uint64_t seed) {
  nw_pool *pool = nw_pool_new(b->c);
  nw_program *p = random_program(b->c, pool, seed);
  nw_exec *e = exec_of(p);
  int64_t sizes[] = {(int64_t)(seed % (OUTER + 1))}, at = 0;
  for (int t = 0; t < NW_DTYPE_COUNT; t++) fill_awkward(b->in[t], seed);
  clear_outputs(b);
  if (!run_slowly(b, e, sizes)) complain(b, e, seed, "the interpreter");
  if (!run_native(b, e, seed % 10 ? 1 : (int)(seed / 10 % 4), 1 + (int)(seed % 3), sizes))
    complain(b, e, seed, "native code");
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    char what[96];
    bool good = same(b->got[t], b->want[t], &at);
    snprintf(what, sizeof what, "Y%s[%ld] is %g, the interpreter says %g", nw_dtype_name((nw_dtype)t), (long)at,
             nw_array_get(b->got[t], at), nw_array_get(b->want[t], at));
    if (!good) complain(b, e, seed, what);
  }
  nw_exec_release(e);
  nw_pool_release(pool);
}

static void test_same_bits_as_the_interpreter(void **state) {
  (void)state;
  const char *from = getenv("NW_SEED"), *cases = getenv("NW_CASES");
  uint64_t seed = from ? strtoull(from, NULL, 0) : 1, n = cases ? strtoull(cases, NULL, 0) : 150;
  bench b;
  open_bench(&b);
  for (uint64_t i = 0; i < n; i++) agree(&b, seed + i);
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits_as_the_interpreter)};
  return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
