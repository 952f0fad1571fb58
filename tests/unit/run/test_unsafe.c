// A program whose legality was not checked is compiled only if it stays inside its buffers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "run/kernel.h"

static nw_kernel *compile(nw_ctx *c, const char *index, const char *head) {
  nw_pool *pool = nw_pool_new(c);
  nw_str text = {0};
  nw_str_fmt(&text,
             "program shift\n%sinput A: i32[8]\noutput B: i32[8]\n"
             "for i in 0..8:\n  block B of B (i = i in 0..8):\n    B[i] = A[%s]\n",
             head, index);
  nw_program *p = nw_program_parse(c, pool, text.s);
  assert_non_null(p);
  nw_kernel *k = nw_compile(c, p, NULL);
  nw_program_release(p);
  nw_str_free(&text);
  nw_pool_release(pool);
  return k;
}

static void stays_inside(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_kernel *k = compile(c, "max(i - 1, 0)", "unjudged 1\n");
  assert_non_null(k);
  assert_int_equal(nw_kernel_unsafe(k), 1);
  char *text = nw_kernel_text(k, "asm");
  assert_non_null(strstr(text, "unsafe"));
  free(text);
  nw_kernel_release(k);
  nw_close(c);
}

static void reads_beyond(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  assert_null(compile(c, "i + 1000000", "unjudged 1\n"));
  assert_int_equal(nw_error(c)->code, NW_ECODEGEN);
  assert_non_null(strstr(nw_error(c)->message, "inside their buffers"));
  nw_clear(c);
  nw_kernel *k = compile(c, "i", "unjudged 3\n");
  assert_int_equal(nw_kernel_unsafe(k), 3);
  nw_kernel_release(k);
  nw_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(stays_inside), cmocka_unit_test(reads_beyond)};
  return cmocka_run_group_tests_name("unsafe", tests, NULL, NULL);
}
