// Converts the expressions of a vector loop, which describe one lane, to expressions for all lanes at once.
//
// A value that is the same in all lanes stays scalar until it is combined with a vector. Index arithmetic keeps the
// form ramp(base, stride, lanes). So the index of a load or store shows whether the lanes are consecutive.
//
// A mask determines which lanes execute. A select whose condition differs between lanes evaluates both branches, each
// under its own mask. A select whose condition is equal in all lanes evaluates only one branch. The following holds in
// an inactive lane:
// * the loop's variable has a value in its range, and facts from outside the vector loop hold;
// * the conditions from which the mask was made may be false;
// * a masked load gives 0, and a divisor that may be 0 is replaced by 1.
//
// So a load normally keeps its mask. The mask is removed if some lane is known to be active and the index is the same
// in all lanes. Otherwise, it is removed only if the load reads an input, and if its index is proved to be inside the
// input in every lane. This proof may use only the first item of the list above. The divisors in the index must also be
// proved not to be 0, and all this must hold for the loads in the index, too.
#include "lower/pass.h"

static bool is_index(const nw_expr *e) { return e->type.dtype == NW_INDEX; }

bool nw_lanes_vary(const nw_lanes *v, const nw_expr *e) {
  if (nw_uses_var(e, v->var)) return true;
  for (int i = 0; i < v->inner.n; i++) {
    if (nw_uses_load(e, v->inner.at[i])) return true;
  }
  return false;
}

static const nw_expr *widen(nw_lanes *v, const nw_expr *e) {
  return e->type.lanes > 1 ? e : nw_broadcast(v->pool, e, v->n);
}

const nw_expr *nw_lanes_wide(nw_lanes *v, const nw_expr *e) { return widen(v, nw_lanes_expr(v, e)); }

// Makes an operation. If an operand is a vector, scalar operands are broadcast.
static const nw_expr *make(nw_lanes *v, nw_op op, nw_dtype t, int n, const nw_expr *const *arg) {
  const nw_expr *wide[4];
  int lanes = 1;
  for (int i = 0; i < n; i++) lanes = arg[i]->type.lanes > lanes ? arg[i]->type.lanes : lanes;
  for (int i = 0; i < n; i++) wide[i] = lanes > 1 ? widen(v, arg[i]) : arg[i];
  return nw_make(v->pool, op, (nw_type){t, (uint16_t)lanes}, n, wide);
}

const nw_expr *nw_lanes_and(nw_lanes *v, const nw_expr *a, const nw_expr *b) {
  if (!a || !b) return a ? a : b;
  const nw_expr *both[] = {a, b};
  return a == b ? a : make(v, NW_OP_AND, NW_BOOL, 2, both);
}

static const nw_expr *not_of(nw_lanes *v, const nw_expr *a) { return make(v, NW_OP_NOT, NW_BOOL, 1, &a); }

// ---- ramps

typedef struct ramp {
  const nw_expr *base, *stride;
} ramp;

static bool as_ramp(nw_lanes *v, const nw_expr *e, ramp *r) {
  if (!is_index(e)) return false;
  if (e->op == NW_OP_RAMP)
    *r = (ramp){e->arg[0], e->arg[1]};
  else if (e->op == NW_OP_BROADCAST)
    *r = (ramp){e->arg[0], nw_index(v->pool, 0)};
  else if (e->type.lanes == 1)
    *r = (ramp){e, nw_index(v->pool, 0)};
  else
    return false;
  return true;
}

static const nw_expr *of_ramp(nw_lanes *v, const nw_expr *base, const nw_expr *stride) {
  base = nw_simplify(v->r, base);
  stride = nw_simplify(v->r, stride);
  return nw_is_const(stride, 0) ? base : nw_ramp(v->pool, base, stride, v->n);
}

// Returns the sum, difference or product of x and y as a ramp. Returns NULL if the result is not a ramp.
static const nw_expr *ramp_arithmetic(nw_lanes *v, nw_op op, const nw_expr *x, const nw_expr *y) {
  nw_pool *p = v->pool;
  ramp a, b;
  if (!as_ramp(v, x, &a) || !as_ramp(v, y, &b)) return NULL;
  if (op == NW_OP_ADD) return of_ramp(v, nw_add(p, a.base, b.base), nw_add(p, a.stride, b.stride));
  if (op == NW_OP_SUB) return of_ramp(v, nw_sub(p, a.base, b.base), nw_sub(p, a.stride, b.stride));
  if (op != NW_OP_MUL) return NULL;
  if (nw_is_const(b.stride, 0)) return of_ramp(v, nw_mul(p, a.base, b.base), nw_mul(p, a.stride, b.base));
  if (nw_is_const(a.stride, 0)) return of_ramp(v, nw_mul(p, a.base, b.base), nw_mul(p, b.stride, a.base));
  return NULL;
}

// True if all lanes of a ramp are known to be in the same block of c numbers, that is, from k*c to k*c + c - 1 for an
// integer k. This is proved if the base is a multiple of a number m that divides c, and the offsets of all lanes from
// the base are less than m. Then ramp // c is the same in all lanes, and ramp % c is a ramp.
static bool stays_in_block(nw_lanes *v, const ramp *a, int64_t stride, int64_t c) {
  if (stride < 0 || stride > (c - 1) / (v->n - 1)) return false;
  for (int64_t parts = 1; parts <= c && parts <= 256; parts++) {
    if (c % parts) continue;
    if (stride * (v->n - 1) >= c / parts) return false;
    if (nw_divides(v->r, a->base, c / parts)) return true;
  }
  return false;
}

static const nw_expr *ramp_division(nw_lanes *v, nw_op op, const nw_expr *x, const nw_expr *y) {
  ramp a;
  int64_t c, stride;
  if (x->op != NW_OP_RAMP || !as_ramp(v, x, &a) || !nw_is_int(y, &c) || c <= 0 || !nw_is_int(a.stride, &stride))
    return NULL;
  if (!stays_in_block(v, &a, stride, c)) return NULL;
  if (op == NW_OP_FLOORDIV) return nw_simplify(v->r, nw_floordiv(v->pool, a.base, y));
  return of_ramp(v, nw_floormod(v->pool, a.base, y), a.stride);
}

static const nw_expr *index_op(nw_lanes *v, nw_op op, const nw_expr *x, const nw_expr *y) {
  if (!is_index(x) || !is_index(y)) return NULL;
  if (op == NW_OP_FLOORDIV || op == NW_OP_FLOORMOD) return ramp_division(v, op, x, y);
  return ramp_arithmetic(v, op, x, y);
}

// ---- loads

static bool inner_buffer(const nw_lanes *v, const char *buffer) {
  for (int i = 0; i < v->inner.n; i++) {
    if (!strcmp(v->inner.at[i], buffer)) return true;
  }
  return false;
}

// Returns the index for all lanes. A buffer that is allocated inside the loop has a copy for each lane. Element e of
// the copy of lane l is at index e*n + l, where n is the number of lanes.
const nw_expr *nw_lanes_index(nw_lanes *v, const char *buffer, const nw_expr *index) {
  const nw_expr *at = nw_lanes_expr(v, index);
  if (!inner_buffer(v, buffer)) return at;
  const nw_expr *lane = nw_ramp(v->pool, nw_index(v->pool, 0), nw_index(v->pool, 1), v->n);
  const nw_expr *scaled[] = {at, nw_index(v->pool, v->n)};
  const nw_expr *row = ramp_arithmetic(v, NW_OP_MUL, scaled[0], scaled[1]);
  const nw_expr *sum[] = {row ? row : make(v, NW_OP_MUL, NW_INDEX, 2, scaled), lane};
  const nw_expr *all = ramp_arithmetic(v, NW_OP_ADD, sum[0], sum[1]);
  return all ? all : make(v, NW_OP_ADD, NW_INDEX, 2, sum);
}

static bool zero_divisor_possible(const nw_lanes *v, const nw_expr *e) {
  int64_t c;
  bool divides = e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD;
  if (!divides || !nw_dtype_is_int(e->type.dtype) || (nw_is_int(e->arg[1], &c) && c != 0)) return false;
  if (NW_MUTATED(lanes_zero_divisor)) return false;
  return NW_MUTATED(lanes_divisor) || !is_index(e) || !nw_prove(v->r, nw_lt(v->pool, nw_index(v->pool, 0), e->arg[1]));
}

static bool readable_anyway(nw_lanes *v, const nw_expr *load);

static bool no_hazard(void *env, const nw_expr *e) {
  nw_lanes *v = env;
  return e->op == NW_OP_LOAD ? readable_anyway(v, e) : !zero_divisor_possible(v, e);
}

// True if the index is less than the number of elements of b, with the gaps that the caller's strides leave.
static bool fits(const nw_lanes *v, const nw_buffer *b, const nw_expr *index) {
  return nw_prove(v->r, nw_lt(v->pool, index, nw_simplify(v->r, nw_physical_room(v->pool, b))));
}

// True if inactive lanes may execute the load: it reads an input, and its index is inside the input in every lane. All
// elements of an input have values, so they can be read.
static bool readable_anyway(nw_lanes *v, const nw_expr *load) {
  const nw_buffer *b = nw_find_buffer(v->p, load->name);
  if (b->role != NW_INPUT) return false;
  if (!nw_visit(load->arg[0], no_hazard, v) && !NW_MUTATED(lanes_divisor)) return false;
  return nw_prove(v->r, nw_le(v->pool, nw_index(v->pool, 0), load->arg[0])) &&
         (NW_MUTATED(lanes_past_end) || fits(v, b, load->arg[0]));
}

static const nw_expr *load_lanes(nw_lanes *v, const nw_expr *e) {
  const nw_expr *index = nw_lanes_index(v, e->name, e->arg[0]);
  bool masked = v->mask && !(v->some && index->type.lanes == 1) && !readable_anyway(v, e);
  if (!masked) {
    nw_type t = {e->type.dtype, index->type.lanes};
    return nw_load(v->pool, t, e->name, 1, &index);
  }
  const nw_expr *arg[] = {widen(v, index), widen(v, v->mask)};
  return nw_load(v->pool, (nw_type){e->type.dtype, (uint16_t)v->n}, e->name, 2, arg);
}

// ---- everything else

// True if e is the same in all lanes, and may be evaluated even if no lane executes it.
static bool stays_scalar(nw_lanes *v, const nw_expr *e) {
  if (nw_lanes_vary(v, e)) return false;
  return !v->mask || v->some || nw_visit(e, no_hazard, v);
}

// Returns the value of e that was computed under the mask `key`, or NULL if there is none.
static const nw_expr *known(const nw_lanes *v, const nw_expr *e, const void *key) {
  for (int i = v->memo.n - 3; i >= 0; i -= 3)
    if (v->memo.at[i] == e && v->memo.at[i + 1] == key) return v->memo.at[i + 2];
  return NULL;
}

static bool not_load(void *env, const nw_expr *e) { return e != env; }

static bool no_select(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_SELECT;
}

// If e is a load that the condition of a select around it has executed already, for at least the current lanes, returns
// its value. Otherwise returns NULL. A load in a branch of another select may not have been executed.
static const nw_expr *loaded(const nw_lanes *v, const nw_expr *e) {
  for (int i = v->around.n - 2; i >= 0 && e->op == NW_OP_LOAD; i -= 2) {
    const nw_expr *cond = v->around.at[i];
    if (nw_visit(cond, not_load, (void *)e) || !nw_visit(cond, no_select, NULL)) continue;
    const nw_expr *wide = known(v, e, v->around.at[i + 1]);
    if (wide) return wide;
  }
  return NULL;
}

static const void *mask_key(const nw_lanes *v) { return v->some ? (const void *)v : (const void *)v->mask; }

static const nw_expr *select_lanes(nw_lanes *v, const nw_expr *e) {
  const nw_expr *mask = v->mask, *cond = nw_lanes_expr(v, e->arg[0]), *branch[2];
  bool some = v->some, varies = cond->type.lanes > 1;
  nw_vec_push(&v->around, (void *)e->arg[0]);
  nw_vec_push(&v->around, (void *)mask_key(v));
  for (int i = 0; i < 2; i++) {
    if (varies && !NW_MUTATED(lanes_branch_mask)) {
      v->mask = nw_lanes_and(v, mask, i ? not_of(v, cond) : cond);
      v->some = false;
    }
    branch[i] = nw_lanes_expr(v, e->arg[1 + i]);
  }
  v->mask = mask;
  v->some = some;
  v->around.n -= 2;
  if (!varies && branch[0]->type.lanes == 1 && branch[1]->type.lanes == 1)
    return nw_make(v->pool, NW_OP_SELECT, branch[0]->type, 3, (const nw_expr *[]){cond, branch[0], branch[1]});
  const nw_expr *arg[] = {cond, widen(v, branch[0]), widen(v, branch[1])};
  return nw_make(v->pool, NW_OP_SELECT, (nw_type){e->type.dtype, (uint16_t)v->n}, 3, arg);
}

static const nw_expr *operation(nw_lanes *v, const nw_expr *e) {
  const nw_expr *arg[4];
  for (int i = 0; i < e->n; i++) arg[i] = nw_lanes_expr(v, e->arg[i]);
  const nw_expr *index = e->n == 2 && is_index(e) ? index_op(v, e->op, arg[0], arg[1]) : NULL;
  if (index) return index;
  if (zero_divisor_possible(v, e) && v->mask && !(v->some && arg[1]->type.lanes == 1)) {
    const nw_expr *one = widen(v, nw_int(v->pool, e->type.dtype, 1));
    const nw_expr *safe[] = {widen(v, v->mask), widen(v, arg[1]), one};
    arg[1] = nw_make(v->pool, NW_OP_SELECT, one->type, 3, safe);
  }
  return make(v, e->op, e->type.dtype, e->n, arg);
}

static const nw_expr *rebuild(nw_lanes *v, const nw_expr *e) {
  switch (e->op) {
  case NW_OP_VAR: return e->name == v->var ? v->ramp : e;
  case NW_OP_LOAD: return load_lanes(v, e);
  case NW_OP_SELECT: return select_lanes(v, e);
  default: return operation(v, e);
  }
}

const nw_expr *nw_lanes_expr(nw_lanes *v, const nw_expr *e) {
  if (stays_scalar(v, e)) return e;
  const nw_expr *wide = known(v, e, mask_key(v));
  if (!wide) wide = loaded(v, e);
  if (wide) return wide;
  wide = rebuild(v, e);
  nw_vec_push(&v->memo, (void *)e);
  nw_vec_push(&v->memo, (void *)mask_key(v));
  nw_vec_push(&v->memo, (void *)wide);
  return wide;
}
