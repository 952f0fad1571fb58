// Pass: shortens vector stores to the lanes that run. Suppose that a part of a mask holds in the same lanes in every
// iteration of the loops around the store, and that these lanes are adjacent. An example is the last vector of 1000
// elements. Then these lanes become a vector of their own, without that part of the mask.
//
// The pass shortens a vector only if the shorter one needs no more instructions. A vector that is not a power of two of
// lanes is computed in pieces (codegen/llvm/llvm_pieces.c), and 15 lanes take four pieces, but one masked vector of 16.
// Then the vector becomes as short as it can be for that, and keeps its mask.
//
// The masks of loads that hold in all lanes are removed, too. Conditions of selects are kept, because a product that is
// no longer in a select could become a part of an fma.
#include "lower/pass.h"

typedef struct span {
  int from, to; // the lanes from `from` to to - 1
} span;

static int within(__int128 lane, int lanes) { return lane < 0 ? 0 : lane > lanes ? lanes : (int)lane; }

// Returns the lane at which first + step*l >= 0 changes: the first lane in which it is false if step is negative, else
// the first lane in which it is true.
static int edge(int64_t first, int64_t step, int lanes) {
  __int128 f = first, s = step;
  return s < 0 ? within(f < 0 ? 0 : f / -s + 1, lanes) : within(f >= 0 ? 0 : (-f + s - 1) / s, lanes);
}

// Sets *out to the lanes in which the condition holds. Returns false if they are not the same in every iteration, or if
// the condition is not a comparison of indices.
static bool span_of(const nw_ranges *r, const nw_expr *cond, span *out) {
  const nw_expr *first;
  int64_t step, low, high;
  int n = cond->type.lanes;
  if (!nw_lane_slack(cond, &first, &step) || step == 0) return false;
  if (!nw_const_range(r, nw_simplify(r, first), &low, &high)) return false;
  int at = edge(low, step, n);
  *out = step < 0 ? (span){0, at} : (span){at, n};
  return at == edge(high, step, n) || NW_MUTATED(narrow_varies);
}

// ---- masks of loads

static const nw_expr *unmasked(void *env, const nw_expr *load) {
  const nw_ranges *r = env;
  if (load->n < 2) return NULL;
  if (load->arg[1]->type.lanes == 1)
    return nw_prove(r, nw_simplify(r, load->arg[1])) ? nw_load(r->pool, load->type, load->name, 1, load->arg) : NULL;
  nw_vec conds = {0};
  nw_add_conjuncts(load->arg[1], &conds);
  int all = conds.n;
  span s;
  for (int i = conds.n - 1; i >= 0; i--)
    if (span_of(r, conds.at[i], &s) && s.from == 0 && s.to == load->type.lanes) nw_vec_remove(&conds, i);
  const nw_expr *arg[] = {load->arg[0], nw_conjunction(r->pool, conds.n, conds.at)}, *out = NULL;
  if (conds.n < all) out = nw_load(r->pool, load->type, load->name, arg[1] ? 2 : 1, arg);
  nw_vec_free(&conds);
  return out;
}

static const nw_expr *settled(void *env, const nw_expr *e) {
  return nw_rewrite(((nw_ranges *)env)->pool, e, NULL, unmasked, env);
}

// ---- stores

// Returns the number of pieces of a vector, if a register has `width` lanes.
static int pieces(int lanes, int width) {
  int n = 0;
  for (int from = 0; from < lanes; from += width, n++)
    while (width > lanes - from) width /= 2;
  return n;
}

// True if such a vector takes no more instructions than a longer one with the same number of registers.
static bool is_cheap(int lanes, int width) { return pieces(lanes, width) <= (lanes + width - 1) / width; }

// Returns the lanes to keep of a store of which only the lanes in `run` run.
static span window(const nw_program *p, const nw_stmt *s, span run) {
  int n = s->store.index->type.lanes, each = nw_dtype_bytes((nw_dtype)s->store.value->type.dtype);
  int width = nw_features_vector_bytes(p->target->features) / each;
  if (width < 1) width = 1;
  if (is_cheap(run.to - run.from, width)) return run;
  span out = {0, run.to};
  while (out.to < n && !is_cheap(out.to, width)) out.to++;
  return out;
}

// Shortens a store to the lanes of `keep`. Removes the conditions that hold exactly in these lanes.
static void cut_store(nw_ranges *r, nw_stmt *s, nw_vec *conds, span keep) {
  span one;
  for (int i = conds->n - 1; i >= 0; i--)
    if (span_of(r, conds->at[i], &one) && one.from <= keep.from && one.to >= keep.to) nw_vec_remove(conds, i);
  const nw_expr *mask = nw_conjunction(r->pool, conds->n, conds->at);
  int lanes = keep.to - keep.from;
  s->store.index = nw_take_lanes(s->store.index, keep.from, lanes);
  s->store.value = nw_take_lanes(s->store.value, keep.from, lanes);
  s->store.mask = mask ? nw_take_lanes(mask, keep.from, lanes) : NULL;
}

// Shortens a masked store. Returns false if no lane of it ever runs.
static bool narrow_store(nw_program *p, nw_ranges *r, nw_stmt *s) {
  nw_vec conds = {0};
  int n = s->store.index->type.lanes, exact = 0;
  span run = {0, n}, one;
  if (s->store.mask && n > 1) nw_add_conjuncts(s->store.mask, &conds);
  for (int i = 0; i < conds.n; i++) {
    if (!span_of(r, conds.at[i], &one)) continue;
    exact++;
    if (one.from > run.from) run.from = one.from;
    if (one.to < run.to) run.to = one.to;
  }
  bool runs = run.from < run.to;
  span keep = runs && exact ? window(p, s, run) : run;
  bool alone = keep.to - keep.from == 1 && (exact < conds.n || run.to - run.from > 1);
  if (runs && exact && !alone && !s->store.stream) cut_store(r, s, &conds, keep);
  nw_vec_free(&conds);
  return runs;
}

// ---- the tree

// Shortens the stores in s. Returns false if nothing is left of s.
static bool narrow(nw_program *p, nw_ranges *r, nw_stmt *s) {
  if (s->kind == NW_CALL) return true;
  if (s->kind == NW_STORE) {
    if (!narrow_store(p, r, s)) return false;
    nw_stmt_exprs(s, settled, r);
    return true;
  }
  if (nw_is_leaf(s)) return true;
  nw_vec kids = {0};
  nw_scope_push(r, s);
  for (int i = 0; i < s->nkids; i++)
    if (narrow(p, r, s->kid[i])) nw_vec_push(&kids, s->kid[i]);
  nw_scope_pop(r, s);
  nw_kids_set(p, s, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
  return s->nkids > 0 || s == p->root;
}

nw_program *nw_pass_narrow(nw_program *p) {
  nw_ranges r;
  nw_scope_open(&r, p);
  narrow(p, &r, p->root);
  nw_ranges_free(&r);
  return p;
}
