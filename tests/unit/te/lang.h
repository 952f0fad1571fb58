// Tensor expressions in short notation, for tests. setup() opens the session `nw`.
#pragma once
#include "ir/program/program.h"
#include "te/te.h"
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef const nw_expr *E;
static nw_ctx *nw;
static nw_vec tensors, axes; // released at the end of a test

static int setup(void **state) {
  (void)state;
  nw = nw_open();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  for (int i = 0; i < tensors.n; i++) nw_tensor_release(tensors.at[i]);
  for (int i = 0; i < axes.n; i++) nw_axis_release(axes.at[i]);
  nw_vec_free(&tensors);
  nw_vec_free(&axes);
  nw_close(nw);
  return 0;
}

static inline nw_tensor *keep(nw_tensor *t) {
  if (t) nw_vec_push(&tensors, t);
  return t;
}

static inline E lit(int64_t v) { return nw_int(nw_lang_pool(nw), NW_INDEX, v); }
static inline E flit(nw_dtype t, double v) { return nw_float(nw_lang_pool(nw), t, v); }
static inline E op1(nw_op op, E a) { return nw_apply(nw_lang_pool(nw), op, 1, &a); }
static inline E op2(nw_op op, E a, E b) { return nw_apply(nw_lang_pool(nw), op, 2, (E[]){a, b}); }
static inline E add(E a, E b) { return op2(NW_OP_ADD, a, b); }
static inline E sub(E a, E b) { return op2(NW_OP_SUB, a, b); }
static inline E mul(E a, E b) { return op2(NW_OP_MUL, a, b); }
static inline E least(E a, E b) { return op2(NW_OP_MIN, a, b); }
static inline E most(E a, E b) { return op2(NW_OP_MAX, a, b); }
static inline E lt(E a, E b) { return op2(NW_OP_LT, a, b); }
static inline E le(E a, E b) { return op2(NW_OP_LE, a, b); }
static inline E both(E a, E b) { return op2(NW_OP_AND, a, b); }
static inline E pick(E c, E a, E b) { return nw_select(nw_lang_pool(nw), c, a, b); }
static inline E cast(nw_dtype t, E e) { return nw_cast(nw_lang_pool(nw), t, e); }

#define DIMS(...)                                                                                                      \
  NW_COUNT(((E[]){__VA_ARGS__})), (E[]) { __VA_ARGS__ }
#define READ(t, ...) nw_tensor_read(t, DIMS(__VA_ARGS__))
static inline nw_tensor *input(const char *name, nw_dtype t, int n, const E *shape) {
  return keep(nw_placeholder(nw, name, t, n, shape));
}
static inline nw_axis *raxis(const char *name, E extent) {
  nw_axis *a = nw_reduce_axis(nw, name, NULL, extent);
  if (a) nw_vec_push(&axes, a);
  return a;
}
static inline E var(nw_axis *a) { return nw_axis_var(a); }
static inline E over(const char *kind, E term, nw_axis *a) { return nw_reduction(nw, kind, term, 1, &a); }

// Begins a compute. `names` are the names of its axes, as in "i j k".
static inline nw_build *begin(const char *name, const char *names, int n, const E *extent) {
  char copy[64];
  const char *part[8];
  int k = 0;
  snprintf(copy, sizeof copy, "%s", names);
  for (char *s = strtok(copy, " "); s; s = strtok(NULL, " ")) part[k++] = s;
  assert_int_equal(k, n);
  return nw_compute_begin(nw, name, n, part, extent);
}
static inline E ax(nw_build *b, int i) { return nw_build_axis(b, i); }
static inline nw_tensor *end(nw_build *b, E body) {
  nw_tensor *out[8] = {0};
  int n = nw_compute_end(b, 1, &body, out);
  for (int i = 0; i < n; i++) keep(out[i]);
  return n ? out[0] : NULL;
}

static inline void refused(bool was, const char *message) {
  assert_true(was);
  assert_non_null(nw_error(nw));
  assert_string_equal(nw_error(nw)->message, message);
  nw_clear(nw);
}
