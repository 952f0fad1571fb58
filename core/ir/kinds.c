// Defines the words for combiners, loop marks, scopes and roles, and the initial values of reductions.
#include "ir/text/lines.h"
#include "ir/program/reducer.h"
#include <math.h>

static const struct {
  const char *name, *assign;
} combiners[] = {
    [NW_PLAIN] = {"plain", "="},         [NW_SUM] = {"sum", "+="},      [NW_PROD] = {"prod", "*="},
    [NW_MIN_OF] = {"min", "min="},       [NW_MAX_OF] = {"max", "max="}, [NW_ARGMIN] = {"argmin", "argmin="},
    [NW_ARGMAX] = {"argmax", "argmax="},
};

bool nw_combiner_is_joint(nw_combiner c) { return c >= NW_ARGMIN; }

const char *nw_combiner_name(nw_ctx *ctx, nw_combiner c) {
  return c < NW_OWN ? combiners[c].name : nw_reducer_of(ctx, c)->name;
}

const char *nw_combiner_assign(const nw_program *p, nw_combiner c) {
  return c < NW_OWN ? combiners[c].assign : nw_program_reducer(p, c)->assign;
}

bool nw_combiner_of_assign(const nw_program *p, const char *text, nw_combiner *out) {
  for (int i = 0; i < NW_COUNT(combiners); i++)
    if (!strcmp(combiners[i].assign, text)) return *out = (nw_combiner)i, true;
  for (int i = 0; i < p->nreducers; i++)
    if (!strcmp(p->reducer[i].assign, text)) return *out = p->reducer[i].combiner, true;
  return false;
}

static bool word_in(const char *const *words, int n, const char *text, int *out) {
  for (int i = 0; i < n; i++)
    if (!strcmp(words[i], text)) return *out = i, true;
  return false;
}

static const char *const marks[] = {
    [NW_SERIAL] = "",
    [NW_UNROLLED] = "unroll",
    [NW_VECTORIZED] = "vectorize",
    [NW_VECTOR_REDUCE] = "vectorize_reduce",
    [NW_PARALLEL] = "parallel",
    [NW_BLOCK_X] = "blockIdx.x",
    [NW_BLOCK_Y] = "blockIdx.y",
    [NW_BLOCK_Z] = "blockIdx.z",
    [NW_THREAD_X] = "threadIdx.x",
    [NW_THREAD_Y] = "threadIdx.y",
    [NW_THREAD_Z] = "threadIdx.z",
    [NW_VTHREAD] = "vthread",
};
static const char *const scopes[] = {
    [NW_GLOBAL] = "global", [NW_LOCAL] = "local", [NW_SHARED] = "shared", [NW_WARP] = "warp", [NW_CHIP] = "on"};
static const char *const roles[] = {[NW_TEMP] = "temp", [NW_INPUT] = "input", [NW_OUTPUT] = "output"};
static const char *const var_kinds[] = {[NW_SPATIAL] = "", [NW_REDUCE] = "reduce", [NW_ORDERED] = "ordered"};

const char *nw_loop_kind_name(nw_loop_kind k) { return marks[k]; }

const char *nw_scope_name(const nw_buffer *b) { return b->scope == NW_CHIP ? b->chip : scopes[b->scope]; }

const char *nw_role_name(nw_role r) { return roles[r]; }

const char *nw_var_kind_name(nw_var_kind k) { return var_kinds[k]; }

bool nw_loop_kind_parse(const char *text, nw_loop_kind *out) {
  int i;
  return word_in(marks, NW_COUNT(marks), text, &i) && (*out = (nw_loop_kind)i, true);
}

bool nw_scope_parse(const char *text, nw_scope *out) {
  int i;
  return word_in(scopes, NW_COUNT(scopes), text, &i) && (*out = (nw_scope)i, true);
}

bool nw_role_parse(const char *text, nw_role *out) {
  int i;
  return word_in(roles, NW_COUNT(roles), text, &i) && (*out = (nw_role)i, true);
}

bool nw_var_kind_parse(const char *text, nw_var_kind *out) {
  int i;
  return word_in(var_kinds, NW_COUNT(var_kinds), text, &i) && (*out = (nw_var_kind)i, true);
}

// ---- initial values of reductions

// Returns the greatest value, as 64 bits.
static int64_t greatest(nw_dtype t) {
  int unused = 64 - 8 * nw_dtype_bytes(t);
  if (t == NW_BOOL) return 1;
  return (int64_t)(UINT64_MAX >> (unused + nw_dtype_is_signed(t)));
}

static int64_t least(nw_dtype t) {
  return t == NW_BOOL || (!nw_dtype_is_signed(t) || NW_MUTATED(identity_zero)) ? 0 : -greatest(t) - 1;
}

static const nw_expr *number(nw_pool *p, nw_dtype t, int64_t value) {
  return nw_dtype_is_float(t) ? nw_float(p, t, (double)value) : nw_int(p, t, value);
}

// Returns the identity of component `which` of a reduction. For a reducer that a user has defined, the identity is its
// init. A minimum starts from the greatest value of the dtype, and a maximum starts from the least value. For floats
// these values are infinities. In an arg-reduction, component 1 is the index, and its identity is -1. In other
// reductions all components have the same identity.
const nw_expr *nw_combiner_identity(nw_pool *p, nw_combiner c, nw_dtype t, int which) {
  if (c >= NW_OWN) return nw_convert(p, t, nw_reducer_of(nw_pool_ctx(p), c)->init[which]);
  bool low = c == NW_MAX_OF || c == NW_ARGMAX;
  bool arg = c == NW_ARGMIN || c == NW_ARGMAX;
  if (which && (arg || NW_MUTATED(identity_of_index))) return nw_index(p, -1);
  if (c == NW_PLAIN || c == NW_SUM) return number(p, t, 0);
  if (c == NW_PROD) return number(p, t, 1);
  if (nw_dtype_is_float(t) && !NW_MUTATED(identity_finite)) return nw_float(p, t, low ? -INFINITY : INFINITY);
  if (nw_dtype_is_float(t)) return nw_float(p, t, low ? -65504 : 65504);
  if (NW_MUTATED(identity_turned)) low = c == NW_MAX_OF || c == NW_ARGMIN;
  return nw_int(p, t, low ? least(t) : greatest(t));
}
