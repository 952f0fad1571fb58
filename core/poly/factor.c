// Proves facts about two accesses from the few loops that matter.
//
// The iterations of a site are the product of its parts (parts.c). Two accesses of one element link parts of their
// sites. The loops that a component of one index uses are linked with the loops that the same component of the other
// index uses. A common loop that is at the same iteration in both accesses is linked with itself. A *factor* consists
// of all parts that are linked, directly or through other links. The pairs of executions that access one element are
// the product of the pairs of the factors. So there is no pair if one factor has no pair. And a write covers a read if
// the write covers the read in each factor.
//
// A site may have a dozen loops, but a factor usually has only two or three loops of each site. Most steps leave most
// factors as they are. nw_never_apart ignores the conditions of both accesses. nw_surely_covers ignores the conditions
// of the read, and finds no proof if the write has conditions. Both functions examine one factor at a time, and do not
// notice if another factor is empty. So if a proof fails, the property may still hold.
#include "poly/radix.h"

// A factor of the accesses a and b. The fields are sets, as bits: `a` has loops of the site of a, `b` has loops of the
// site of b, `index` has components of the index, and `terms` has reduce variables of b.
typedef struct factor {
  uint64_t a, b, index, terms;
} factor;

typedef struct duo {
  const nw_model *m;
  const nw_use *a, *b;
  const nw_parts *of_a, *of_b;
  uint64_t equal; // the common loops that are at the same iteration
  uint64_t terms; // the reduce variables of b that are examined
} duo;

static bool can_be_split(const nw_use *a) {
  return a->site->exact && !a->site->pieces && !a->site->maybe && a->n < NW_MAX_DEPTH;
}

static bool duo_of(const nw_model *m, const nw_use *a, const nw_use *b, int equal, duo *out) {
  if (!can_be_split(a) || !can_be_split(b) || a->n != b->n) return false;
  *out = (duo){m, a, b, nw_parts_of(m, a->site), nw_parts_of(m, b->site), (UINT64_C(1) << equal) - 1, 0};
  return true;
}

// Extends a set of loops to whole parts: adds all loops of each part that has one of these loops.
static uint64_t whole_parts(const nw_parts *p, uint64_t loops) {
  for (int i = 0; i < p->n; i++)
    if (p->part[i].loops & loops) loops |= p->part[i].loops;
  return loops;
}

// Extends f until nothing else is linked to it.
static factor linked(const duo *d, factor f) {
  factor before;
  do {
    before = f;
    f.a = whole_parts(d->of_a, f.a);
    f.b = whole_parts(d->of_b, f.b);
    for (int i = 0; i < d->a->n; i++) {
      if (!(d->a->loops[i] & f.a) && !(d->b->loops[i] & f.b) && !(f.index >> i & 1)) continue;
      f.index |= UINT64_C(1) << i;
      f.a |= d->a->loops[i];
      f.b |= d->b->loops[i];
    }
    for (int i = 0; i < d->b->site->nvars; i++) {
      uint64_t loops = d->terms >> i & 1 ? nw_site_loops_of(d->b->site, d->b->site->var[i]->bind) : 0;
      if (!(loops & f.b) && !(f.terms >> i & 1)) continue;
      f.terms |= UINT64_C(1) << i;
      f.b |= loops;
    }
    uint64_t both = (f.a | f.b) & d->equal;
    f.a |= both;
    f.b |= both;
  } while (memcmp(&f, &before, sizeof f));
  return f;
}

// ---- stored proofs

static void key_side(nw_key *k, const nw_use *a, uint64_t loops, uint64_t index, uint64_t equal) {
  nw_key_add(k, '|');
  nw_key_loops(k, a->site, loops);
  for (int i = 0; i < a->site->nloops; i++)
    if (loops >> i & 1) nw_key_add(k, equal >> i & 1);
  for (int i = 0; i < a->n; i++)
    if (index >> i & 1) nw_key_ptr(k, a->bound[i]);
}

static int fact_of(const duo *d, int what, factor f) {
  nw_key k = {0};
  nw_key_add(&k, (uintptr_t)what);
  key_side(&k, d->a, f.a, f.index, d->equal);
  key_side(&k, d->b, f.b, f.index, d->equal);
  for (int i = 0; i < d->b->site->nvars; i++)
    if (f.terms >> i & 1) nw_key_var(&k, d->b->site->var[i]);
  int fact = nw_fact_number(d->m->f, &k);
  nw_key_free(&k);
  return fact;
}

static bool learn(nw_family *f, int fact, isl_bool holds) {
  if (holds == isl_bool_true) nw_fact_prove(f, fact);
  if (holds == isl_bool_false) nw_fact_deny(f, fact);
  return holds == isl_bool_true;
}

// ---- order

// Returns the first dimension of loop i in a map whose domain has only the loops of the set `loops`.
static int dim_among(const nw_site *s, uint64_t loops, int i) {
  int at = 0;
  for (int l = 0; l < i; l++)
    if (loops >> l & 1) at += s->dim[l + 1] - s->dim[l];
  return at;
}

static isl_map *index_map(const nw_use *a, uint64_t loops, uint64_t index) {
  const nw_expr *e[NW_MAX_DEPTH];
  int n = 0;
  for (int i = 0; i < a->n; i++)
    if (index >> i & 1) e[n++] = a->bound[i];
  return nw_loops_map(a->site, loops, 0, n, e);
}

// True if the factor has no pair in which a is in an earlier iteration (if `earlier` is true) or in a later iteration
// (if `earlier` is false) of loop `level` than b.
static isl_bool has_no_pair(const duo *d, factor f, int level, bool earlier) {
  const nw_site *s = d->a->site;
  isl_map *pairs = isl_map_apply_range(index_map(d->a, f.a, f.index), isl_map_reverse(index_map(d->b, f.b, f.index)));
  isl_bool none = isl_bool_true;
  uint64_t equal = NW_MUTATED(factor_outer) ? d->equal : d->equal & f.a;
  for (int i = 0; i <= level && none == isl_bool_true; i++) {
    if (i < level && !(equal >> i & 1)) continue;
    int x = dim_among(s, f.a, i), y = dim_among(d->b->site, f.b, i);
    for (int n = 0; n < s->dim[i + 1] - s->dim[i] && none == isl_bool_true; n++) {
      if (NW_MUTATED(factor_equal)) pairs = isl_map_equate(pairs, isl_dim_in, x + n, isl_dim_out, y + n);
      isl_map *some = i == level ? isl_map_copy(pairs) : NULL;
      if (some && earlier) some = isl_map_order_lt(some, isl_dim_in, x + n, isl_dim_out, y + n);
      if (some && !earlier) some = isl_map_order_gt(some, isl_dim_in, x + n, isl_dim_out, y + n);
      if (i == level) none = isl_map_is_empty(some);
      isl_map_free(some);
      pairs = isl_map_equate(pairs, isl_dim_in, x + n, isl_dim_out, y + n);
    }
  }
  isl_map_free(pairs);
  return none;
}

static bool same_weights(const nw_reach *x, const nw_reach *y, int loops) {
  for (int i = 0; i < loops; i++)
    if (x->weight[i] != y->weight[i]) return false;
  return true;
}

// True if one component of the index certainly has different values in different iterations of loop `level`. The
// function tests whether the weight of this loop exceeds the largest difference that the loops inside it can make.
static bool tells_apart(const nw_use *a, const nw_use *b, int level) {
  uint64_t outer = (UINT64_C(2) << level) - 1;
  for (int i = 0; i < a->n; i++) {
    nw_reach x, y;
    if (!(a->loops[i] >> level & 1) || !nw_reach_of(a->site, a->bound[i], outer, &x)) continue;
    if (!nw_reach_of(b->site, b->bound[i], outer, &y) || !same_weights(&x, &y, level + 1)) continue;
    __int128 weight = x.weight[level], up = x.most - y.least, down = y.most - x.least;
    weight = weight < 0 ? -weight : weight;
    if (weight > up - NW_MUTATED(factor_reach) && weight > down) return true;
  }
  return false;
}

bool nw_never_apart(const nw_model *m, const nw_use *a, const nw_use *b, int level, bool earlier) {
  duo d;
  if (a->n == b->n && tells_apart(a, b, level)) return true;
  if (!duo_of(m, a, b, level, &d)) return false;
  factor f = linked(&d, (factor){.a = UINT64_C(1) << level, .b = UINT64_C(1) << level});
  int fact = nw_fact_of(m->f, 'E', fact_of(&d, 'e', f), dim_among(a->site, f.a, level), earlier, 0);
  if (nw_fact_proved(m->f, fact)) return true;
  if (nw_fact_denied(m->f, fact)) return false;
  return learn(m->f, fact, has_no_pair(&d, f, level, earlier != NW_MUTATED(factor_order)));
}

// ---- coverage

// Returns the tuples of values that the dimensions of a factor take in one access. These dimensions are the common
// loops that are at the same iteration, the components of the index, and the reduce variables.
static isl_set *values_of(const duo *d, const nw_use *a, uint64_t loops, factor f) {
  const nw_expr *e[3 * NW_MAX_DEPTH];
  int n = 0;
  for (int i = 0; i < a->site->nloops; i++)
    if (loops & d->equal & UINT64_C(1) << i) e[n++] = a->site->loop[i]->loop.var;
  for (int i = 0; i < a->n; i++)
    if (f.index >> i & 1) e[n++] = a->bound[i];
  for (int i = 0; i < d->b->site->nvars && a == d->b; i++)
    if (f.terms >> i & 1) e[n++] = a->site->var[i]->bind;
  isl_set *values = isl_map_range(nw_loops_map(a->site, loops, 0, n, e));
  return a == d->b || !f.terms ? values : isl_set_flat_product(values, nw_declared(d->m->f, d->b->site, f.terms));
}

// Compares component i of the two indices in one iteration of the loops in d->equal. True if the component of b takes
// every number of an interval, and this interval contains all values of the component of a.
static bool covers_reach(const duo *d, int i) {
  nw_reach x, y;
  if (!nw_reach_of(d->a->site, d->a->bound[i], d->equal, &x) || !nw_reach_of(d->b->site, d->b->bound[i], d->equal, &y))
    return false;
  bool all = y.dense || NW_MUTATED(factor_dense);
  return same_weights(&x, &y, d->a->depth) && all && y.least <= x.least && x.most <= y.most;
}

static bool has_all_terms(const duo *d, factor f) {
  for (int i = 0; i < d->of_b->n; i++) {
    nw_part p = d->of_b->part[i];
    if (p.vars == f.terms && p.loops == f.b) return nw_part_radix(d->b->site, p) & NW_RADIX_FULL;
  }
  return false;
}

// True if it is proved, without isl, that the write covers the read in this factor. A proof is possible only if the
// factor is a single component of the index, or loops that are the same in both accesses, or the terms of a reduction.
static bool is_plain(const duo *d, factor f) {
  if (nw_has_condition(d->b->site, f.b) && !NW_MUTATED(factor_conditions)) return false;
  if (f.terms) return !f.index && !f.a && has_all_terms(d, f);
  if (!f.index) return f.a == f.b && !(f.b & ~d->equal);
  int i = __builtin_ctzll(f.index);
  return __builtin_popcountll(f.index) == 1 && !(f.b & ~d->equal & ~d->b->loops[i]) && covers_reach(d, i);
}

static bool covers_factor(const duo *d, factor f) {
  if (is_plain(d, f)) return true;
  int fact = fact_of(d, 'V', f);
  if (nw_fact_proved(d->m->f, fact)) return true;
  if (nw_fact_denied(d->m->f, fact)) return false;
  isl_set *want = values_of(d, d->a, f.a, f), *got = values_of(d, d->b, f.b, f);
  got = nw_set_with_quotients(d->m->f->s, got);
  isl_bool covers = isl_set_is_subset(want, got);
  isl_set_free(want);
  isl_set_free(got);
  return learn(d->m->f, fact, covers);
}

// True if it is proved that these loops have an iteration for all sizes.
static bool surely_run(const nw_model *m, const nw_site *s, uint64_t loops) {
  nw_key k = {0};
  nw_key_add(&k, 'R');
  nw_key_loops(&k, s, loops);
  int fact = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  if (nw_fact_proved(m->f, fact)) return true;
  if (nw_fact_denied(m->f, fact)) return false;
  isl_set *sizes = isl_set_params(isl_map_domain(nw_loops_map(s, loops, 0, 0, NULL)));
  isl_bool run = isl_set_is_subset(m->f->context, sizes);
  isl_set_free(sizes);
  return learn(m->f, fact, run);
}

bool nw_surely_covers(const nw_model *m, const nw_use *r, const nw_use *w, bool all_terms) {
  duo d;
  if (r->alloc != w->alloc || r->depth != w->depth || w->nconds || !nw_index_exact(w)) return false;
  if (w->site->nvars >= NW_MAX_DEPTH || !duo_of(m, r, w, r->depth, &d)) return false;
  if (all_terms) d.terms = nw_reduce_vars(w->site);
  factor seen = {0};
  for (int i = 0; i < r->n + r->depth + w->site->nvars; i++) {
    factor f = {0};
    if (i < r->n)
      f.index = UINT64_C(1) << i & ~seen.index;
    else if (i < r->n + r->depth)
      f.a = UINT64_C(1) << (i - r->n) & ~seen.a;
    else
      f.terms = UINT64_C(1) << (i - r->n - r->depth) & d.terms & ~seen.terms;
    if (!f.index && !f.a && !f.terms) continue;
    f = linked(&d, f);
    if (!covers_factor(&d, f)) return false;
    seen = (factor){seen.a | f.a, seen.b | f.b, seen.index | f.index, seen.terms | f.terms};
  }
  uint64_t all = w->site->nloops < 64 ? (UINT64_C(1) << w->site->nloops) - 1 : ~UINT64_C(0);
  return NW_MUTATED(factor_rest) || surely_run(m, w->site, all & ~seen.b);
}

// ---- one access

// True if the index is always at least `from` and less than `from + extent`.
static isl_bool is_within(const nw_site *s, uint64_t loops, const nw_expr *index, const nw_expr *from,
                          const nw_expr *extent) {
  const nw_expr *e[] = {index, from, extent};
  isl_set *values = isl_map_range(nw_loops_map(s, loops, 0, 3, e));
  isl_local_space *space = isl_local_space_from_space(isl_set_get_space(values));
  isl_aff *i = isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set, 0);
  isl_aff *lo = isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set, 1);
  isl_aff *end = isl_aff_add(isl_aff_copy(lo), isl_aff_var_on_domain(space, isl_dim_set, 2));
  isl_set *out = isl_aff_lt_set(isl_aff_copy(i), lo), *above = isl_aff_ge_set(i, end);
  out = isl_set_intersect(values, NW_MUTATED(factor_end) ? isl_set_free(above), out : isl_set_union(out, above));
  isl_bool none = isl_set_is_empty(out);
  isl_set_free(out);
  return none;
}

bool nw_index_within(const nw_model *m, const nw_use *a, int d, const nw_expr *from, const nw_expr *extent) {
  const nw_site *s = a->site;
  nw_reach x;
  int64_t n;
  if (nw_is_int(extent, &n) && nw_reach_of(s, nw_sub(m->f->pool, a->bound[d], from), 0, &x) && x.least >= 0 &&
      x.most < n)
    return true;
  if (!can_be_split(a)) return false;
  uint64_t loops = a->loops[d] | nw_site_loops_of(s, from) | nw_site_loops_of(s, extent);
  loops = whole_parts(nw_parts_of(m, s), loops);
  nw_key k = {0};
  nw_key_add(&k, 'N');
  nw_key_loops(&k, s, loops);
  nw_key_ptr(&k, a->bound[d]);
  nw_key_ptr(&k, from);
  nw_key_ptr(&k, extent);
  int fact = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  if (nw_fact_proved(m->f, fact)) return true;
  if (nw_fact_denied(m->f, fact)) return false;
  return learn(m->f, fact, is_within(s, loops, a->bound[d], from, extent));
}
