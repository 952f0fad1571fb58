// Tests the LLVM code before LLVM optimises it: wrapping, fused operations, aliasing, masks, parallel loops.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "run/run.h"

typedef struct session {
  nw_ctx *c;
  nw_pool *pool;
} session;

static int begin(void **state) {
  session *s = *state = nw_xcalloc(1, sizeof *s);
  s->c = nw_open();
  s->pool = nw_pool_new(s->c);
  return 0;
}

static int end(void **state) {
  session *s = *state;
  nw_pool_release(s->pool);
  nw_close(s->c);
  free(s);
  return 0;
}

// Returns the LLVM code of a program, compiled without optimisation.
static char *code_of(session *s, const char *text) {
  nw_program *p = nw_program_parse(s->c, s->pool, text);
  nw_kernel *k = p ? nw_compile(s->c, p, &(nw_build_opts){.threads = 1, .opt = 0}) : NULL;
  char *code = k ? nw_kernel_text(k, "llvm") : NULL;
  if (!code) fail_msg("%s", nw_error(s->c)->message);
  nw_kernel_release(k);
  nw_program_release(p);
  return code;
}

static void has(const char *code, const char *part) {
  if (!strstr(code, part)) fail_msg("no '%s' in\n%s", part, code);
}

static void lacks(const char *code, const char *part) {
  if (strstr(code, part)) fail_msg("'%s' in\n%s", part, code);
}

#define LOOP(mark, type, rest)                                                                                         \
  "program p\ninput A: " type "[64]\ninput B: " type "[64]\noutput C: " type "[64]\n" mark                             \
  "for i in 0..64:\n  block C of C (i = i in 0..64):\n    C[i] = " rest "\n"

// Arithmetic on integer data wraps. These operations must therefore not have the flag nsw, which says that they never
// overflow.
static void integers_of_data_wrap(void **state) {
  char *code = code_of(*state, LOOP("", "i32", "A[i]*B[i] + A[i]"));
  has(code, "mul i32");
  has(code, "add i32");
  lacks(code, "nsw i32");
  free(code);
}

// A product and a sum remain two operations if the program does not fuse them. Nothing is reassociated.
static void floats_are_as_written(void **state) {
  char *code = code_of(*state, LOOP("", "f32", "A[i]*B[i] + A[i]"));
  lacks(code, "fast");
  lacks(code, "contract");
  lacks(code, "reassoc");
  free(code);
}

// Each call checks that its tensors do not overlap, so the LLVM code states that they do not alias.
static void tensors_do_not_alias(void **state) {
  char *code = code_of(*state, LOOP("", "f32", "A[i] + B[i]"));
  has(code, "ptr noalias");
  free(code);
}

static void lanes_are_one_operation(void **state) {
  char *code = code_of(*state, LOOP("vectorize ", "f32", "A[i] + B[i]"));
  has(code, "fadd <");
  lacks(code, "fadd float");
  free(code);
}

static void parallel_loops_are_calls(void **state) {
  char *code = code_of(*state, LOOP("parallel ", "f32", "A[i] + B[i]"));
  has(code, "call void @" NW_PARALLEL_SYMBOL "(");
  has(code, "i64 64, i64 0)");
  free(code);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {T(integers_of_data_wrap), T(floats_are_as_written), T(tensors_do_not_alias),
                                     T(lanes_are_one_operation), T(parallel_loops_are_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
