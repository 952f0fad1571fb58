// Tests whether two results agree, that is, are equal or close enough.
#include "check/inside.h"
#include "ir/program/reducer.h"
#include <math.h>

static bool rounds(void *env, const nw_expr *e) {
  (void)env;
  if (!nw_dtype_is_float(e->type.dtype)) return true;
  if (nw_op_exactness((nw_op)e->op) >= NW_EXACT_ROUNDED) return false;
  if (e->op == NW_OP_FLOAT) return e->f == __builtin_nearbyint(e->f);
  return e->type.dtype != NW_F16 && e->type.dtype != NW_BF16;
}

static bool exact_reducer(const nw_reducer *r) {
  for (int i = 0; i < r->n; i++)
    if (!nw_visit(r->combine[i], rounds, NULL)) return false;
  return true;
}

static bool exact_block(void *env, nw_stmt *s) {
  if (s->kind != NW_BLOCK) return true;
  for (int i = 0; i < s->block.ntargets; i++) {
    const nw_block_target *t = &s->block.target[i];
    bool product = s->block.combiner == NW_PROD && nw_dtype_is_float(t->value->type.dtype);
    if (product || !nw_visit(t->value, rounds, NULL)) return false;
  }
  return s->block.combiner < NW_OWN || exact_reducer(nw_reducer_of(env, s->block.combiner));
}

nw_check_bound nw_check_bound_of(const nw_program *naive) {
  return nw_walk_from(naive->root, exact_block, naive->ctx) ? NW_CHECK_EXACT : NW_CHECK_NEAR;
}

nw_check_bound nw_check_bound_of_sched(const nw_sched *s) {
  switch (nw_sched_stored(s)) {
  case NW_BF16: return NW_CHECK_NEAR_BF16;
  case NW_F16: return NW_CHECK_NEAR_F16;
  case NW_F32: return NW_CHECK_NEAR_F32;
  case NW_F64: return NW_CHECK_NEAR;
  // A rewrite that was not proved computes floats by another expression, which rounds differently.
  default: return nw_program_tested(nw_sched_program(s)) ? NW_CHECK_NEAR : nw_check_bound_of(nw_sched_version(s, 0));
  }
}

static bool ordered(void *env, nw_stmt *s) {
  const nw_program *p = env;
  if (s->kind != NW_BLOCK || !s->block.atomic || s->block.combiner == NW_MIN_OF || s->block.combiner == NW_MAX_OF)
    return true;
  return !nw_dtype_is_float(nw_find_buffer(p, s->block.target[0].buffer)->dtype);
}

bool nw_check_any_order(const nw_program *p) { return !nw_walk_from(p->root, ordered, (void *)p); }

static double tolerance(nw_dtype t) {
  switch (t) {
  case NW_F64: return 1e-10;
  case NW_F32: return 2e-4;
  case NW_F16: return 2e-2;
  case NW_BF16: return 1e-1;
  default: return 0;
  }
}

static double tolerance_of(nw_dtype t, nw_check_bound bound) {
  nw_dtype stored = bound == NW_CHECK_NEAR_BF16  ? NW_BF16
                    : bound == NW_CHECK_NEAR_F16 ? NW_F16
                    : bound == NW_CHECK_NEAR_F32 ? NW_F32
                                                 : NW_F64;
  return fmax(tolerance(t), tolerance(stored));
}

// Returns the magnitude above which a float dtype cannot represent every integer, so that results may be inexact.
static double whole_limit(nw_dtype t) { return t == NW_F64 ? 0x1p53 : t == NW_F32 ? 0x1p24 : 0; }

bool nw_check_value_differs(nw_dtype t, double a, double b, nw_check_bound bound) {
  if (a == b || (isnan(a) && isnan(b))) return false;
  if (isinf(a) || isinf(b)) return true;
  bool beyond = bound == NW_CHECK_EXACT && nw_dtype_is_float(t) && fabs(a) >= whole_limit(t);
  if ((bound < NW_CHECK_NEAR && !beyond) || !nw_dtype_is_float(t)) return true;
  return !(fabs(a - b) <= tolerance_of(t, bound) * fmax(1, fmax(fabs(a), fabs(b))));
}

static bool same_bits(const nw_array *a, const nw_array *b, int64_t i) {
  size_t n = (size_t)nw_dtype_bytes(a->dtype);
  size_t x = (size_t)nw_array_offset(a, i) * n, y = (size_t)nw_array_offset(b, i) * n;
  return !memcmp((const char *)a->data + x, (const char *)b->data + y, n);
}

static bool differ_at(const nw_array *a, const nw_array *b, int64_t i, nw_check_bound bound) {
  if (same_bits(a, b, i)) return false;
  if (!nw_dtype_is_float(a->dtype)) return true;
  double x = nw_array_get(a, i), y = nw_array_get(b, i);
  if (bound == NW_CHECK_BITS) return !(isnan(x) && isnan(y));
  return nw_check_value_differs(a->dtype, x, y, bound);
}

int64_t nw_check_differs(const nw_array *a, const nw_array *b, nw_check_bound bound) {
  for (int64_t i = 0; i < a->count; i++) {
    if (differ_at(a, b, i, bound)) return i;
  }
  return -1;
}

int64_t nw_check_flat(const nw_array *a, const int64_t *index) {
  int64_t flat = 0;
  for (int d = 0; d < a->ndim; d++) flat = flat * a->shape[d] + index[d];
  return flat;
}

void nw_check_put_element(nw_str *b, const char *name, int n, const int64_t *at) {
  nw_str_add(b, name);
  for (int d = 0; d < n; d++) nw_str_fmt(b, "%s%lld", d ? ", " : "[", (long long)at[d]);
  if (n) nw_str_add(b, "]");
}

char *nw_check_element(const char *name, const nw_array *a, int64_t flat) {
  int64_t at[NW_MAX_DEPTH];
  for (int d = a->ndim - 1; d >= 0; d--) {
    at[d] = flat % a->shape[d];
    flat /= a->shape[d];
  }
  nw_str s = {0};
  nw_check_put_element(&s, name, a->ndim, at);
  return nw_str_take(&s);
}
