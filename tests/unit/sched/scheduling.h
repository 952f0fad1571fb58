// The tests of sched share this header. It makes computations, makes a step in one line, and checks the text of a
// program.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "poly/poly.h"
#include "sched/sched.h"

typedef struct bench {
  nw_ctx *c;
} bench;

static inline int open_bench(void **state) {
  bench *b = nw_xcalloc(1, sizeof *b);
  b->c = nw_open();
  *state = b;
  return 0;
}

static inline int close_bench(void **state) {
  bench *b = *state;
  nw_close(b->c);
  free(b);
  return 0;
}

// ---- computations

static inline const nw_expr *I(nw_ctx *c, int64_t n) { return nw_int(nw_lang_pool(c), NW_INDEX, n); }

static inline nw_tensor *input(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape) {
  nw_tensor *x = nw_placeholder(c, name, t, ndim, shape);
  if (!x) fail_msg("%s", nw_error(c)->message);
  return x;
}

static inline nw_sched *schedule_of(nw_ctx *c, int n, nw_tensor **out) {
  nw_sched *s = nw_sched_new(c, n, out);
  if (!s) fail_msg("%s", nw_error(c)->message);
  for (int i = 0; i < n; i++) nw_tensor_release(out[i]);
  return s;
}

static inline nw_tensor *one_output(nw_ctx *c, nw_build *b, const nw_expr *body) {
  nw_tensor *out[4];
  if (nw_compute_end(b, 1, &body, out) != 1) fail_msg("%s", nw_error(c)->message);
  return out[0];
}

// Returns a schedule of C[i, j] = sum(A[i, k]*B[k, j], k). The sizes are expressions.
static inline nw_sched *gemm_of(nw_ctx *c, nw_dtype t, const nw_expr *m, const nw_expr *n, const nw_expr *kk) {
  nw_tensor *A = input(c, "A", t, 2, (const nw_expr *[]){m, kk}), *B = input(c, "B", t, 2, (const nw_expr *[]){kk, n});
  nw_axis *k = nw_reduce_axis(c, "k", I(c, 0), kk);
  nw_build *b = nw_compute_begin(c, "C", 2, (const char *[]){"i", "j"}, (const nw_expr *[]){m, n});
  const nw_expr *i = nw_build_axis(b, 0), *j = nw_build_axis(b, 1), *kv = nw_axis_var(k);
  const nw_expr *a = nw_tensor_read(A, 2, (const nw_expr *[]){i, kv}),
                *bb = nw_tensor_read(B, 2, (const nw_expr *[]){kv, j});
  const nw_expr *term = nw_apply(nw_lang_pool(c), NW_OP_MUL, 2, (const nw_expr *[]){a, bb});
  nw_tensor *C = one_output(c, b, nw_reduction(c, "sum", term, 1, &k));
  nw_axis_release(k);
  nw_tensor_release(A);
  nw_tensor_release(B);
  return schedule_of(c, 1, &C);
}

static inline nw_sched *gemm(nw_ctx *c, int64_t n) { return gemm_of(c, NW_F32, I(c, n), I(c, n), I(c, n)); }

// Returns a schedule of X[i] = A[i]*2 for i in 0..n, and Y[i] = X[i] + X[i + 2] for i in 0..n - 2.
static inline nw_sched *two_stages(nw_ctx *c, int64_t n) {
  const nw_expr *shape[] = {I(c, n)};
  nw_tensor *A = input(c, "A", NW_F32, 1, shape);
  nw_build *b = nw_compute_begin(c, "X", 1, (const char *[]){"i"}, shape);
  const nw_expr *i = nw_build_axis(b, 0);
  const nw_expr *twice[] = {nw_tensor_read(A, 1, &i), nw_int(nw_lang_pool(c), NW_I32, 2)};
  nw_tensor *X = one_output(c, b, nw_apply(nw_lang_pool(c), NW_OP_MUL, 2, twice));
  shape[0] = I(c, n - 2);
  b = nw_compute_begin(c, "Y", 1, (const char *[]){"i"}, shape);
  i = nw_build_axis(b, 0);
  const nw_expr *next = nw_apply(nw_lang_pool(c), NW_OP_ADD, 2, (const nw_expr *[]){i, I(c, 2)});
  const nw_expr *both[] = {nw_tensor_read(X, 1, &i), nw_tensor_read(X, 1, &next)};
  nw_tensor *Y = one_output(c, b, nw_apply(nw_lang_pool(c), NW_OP_ADD, 2, both));
  nw_tensor_release(A);
  nw_tensor_release(X);
  return schedule_of(c, 1, &Y);
}

// ---- steps: step(s, "split", LP("i"), IN(32))

#define LP(n) ((nw_arg){.kind = NW_ARG_LOOP, .name = (n)})
#define ID(n) ((nw_arg){.kind = NW_ARG_LOOP, .i = (n)})
#define ST(n) ((nw_arg){.kind = NW_ARG_STAGE, .name = (n)})
#define STR(n) ((nw_arg){.kind = NW_ARG_STR, .name = (n)})
#define IN(n) ((nw_arg){.kind = NW_ARG_INT, .i = (n)})
#define NONE ((nw_arg){.kind = NW_ARG_NONE})
#define ITEMS(...)                                                                                                     \
  .n = sizeof((nw_arg[]){__VA_ARGS__}) / sizeof(nw_arg), .item = (nw_arg[]) { __VA_ARGS__ }
#define LIST(...) ((nw_arg){.kind = NW_ARG_LIST, ITEMS(__VA_ARGS__)})
#define ARGS(...) ((nw_arg[NW_MAX_PARAMS]){__VA_ARGS__})
#define step(s, primitive, ...) assert_step(s, primitive, ARGS(__VA_ARGS__), __LINE__)
#define refused(s, primitive, pattern, ...) assert_refused(s, primitive, ARGS(__VA_ARGS__), pattern, __LINE__)

static inline nw_results assert_step(nw_sched *s, const char *primitive, const nw_arg *args, int line) {
  nw_results out = {0};
  if (!nw_sched_apply(s, nw_primitive_find(primitive), args, &out)) {
    const nw_diag *d = nw_error(s->ctx);
    fail_msg("line %d: %s: %s%s%s\n%s", line, primitive, d->message, d->refusal && d->refusal->why ? ": " : "",
             d->refusal && d->refusal->why ? d->refusal->why : "", nw_program_show(nw_sched_program(s), NULL));
  }
  return out;
}

// Checks that a step is refused, and returns the error. The error stays in the context until the test calls nw_clear.
static inline const nw_diag *assert_refused(nw_sched *s, const char *primitive, const nw_arg *args, const char *pattern,
                                            int line) {
  const nw_program *before = nw_sched_program(s);
  if (nw_sched_apply(s, nw_primitive_find(primitive), args, NULL))
    fail_msg("line %d: %s was accepted\n%s", line, primitive, nw_program_show(nw_sched_program(s), NULL));
  const nw_diag *d = nw_error(s->ctx);
  assert_non_null(d);
  if (!strstr(d->message, pattern)) fail_msg("line %d: no '%s' in '%s'", line, pattern, d->message);
  assert_ptr_equal(before, nw_sched_program(s));
  return d;
}

// ---- texts

static inline void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("no '%s' in\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part) {
  if (strstr(text, part)) fail_msg("'%s' in\n%s", part, text);
}

static inline void assert_shows(const nw_sched *s, const char *want) {
  char *text = nw_program_show(nw_sched_program(s), NULL);
  if (strcmp(text, want)) fail_msg("expected\n%s\ngot\n%s", want, text);
  free(text);
}

static inline void assert_show_has(const nw_sched *s, const char *part) {
  char *text = nw_program_show(nw_sched_program(s), NULL);
  assert_has(text, part);
  free(text);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)
