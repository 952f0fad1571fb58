// Bounds the opaque expressions of a space (expr.c). A type or an operator bounds an expression anywhere. The ranges of
// the loops also bound products of loops and sizes: if i is in 0..N and j is in 0..M, then i*M + j is in 0..N*M. isl
// cannot find such a bound, but it can use it, since the product of the sizes is a parameter.
#include "poly/internal.h"

// ---- bounds by the ranges of the variables

// The ranges of the sizes, and the facts about them.
static void ranges_of_sizes(nw_ranges *r, const nw_family *f) {
  nw_ranges_init(r, f->pool);
  for (int i = 0; i < f->nsizes; i++) nw_ranges_push(r, f->size[i].name, f->size[i].lo, NULL);
  for (int i = 0; i < f->nfacts; i++) nw_ranges_fact(r, f->fact[i]);
}

static void push_range(nw_ranges *r, const nw_expr *var, const nw_expr *lo, const nw_expr *extent) {
  nw_pool *pool = r->pool;
  nw_ranges_push(r, var->name, lo, nw_sub(pool, nw_add(pool, lo, extent), nw_index(pool, 1)));
}

static bool reads_nothing(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_LOAD;
}

bool nw_is_known_number(const nw_expr *e) { return e->type.dtype == NW_INDEX && nw_visit(e, reads_nothing, NULL); }

// Returns the bound if isl can represent it by the sizes alone, and NULL otherwise.
static const nw_expr *usable(const nw_space *v, const nw_expr *bound) {
  nw_space sizes;
  if (!bound) return NULL;
  nw_space_init(&sizes, v->f);
  nw_space_scan(&sizes, bound);
  bool fits = !sizes.opaque.n;
  nw_space_free(&sizes);
  return fits ? bound : NULL;
}

static void bound_all(nw_space *v, const nw_ranges *r) {
  const char *name[NW_MAX_DEPTH];
  for (int i = 0; i < v->nvars; i++) name[i] = v->var[i].name;
  for (int i = 0; i < v->opaque.n; i++) {
    const nw_expr *e = v->opaque.at[i];
    bool number = nw_is_known_number(e);
    nw_vec_push(&v->least, (void *)(number ? usable(v, nw_lower_over(r, e, v->nvars, name)) : NULL));
    nw_vec_push(&v->most, (void *)(number ? usable(v, nw_upper_over(r, e, v->nvars, name)) : NULL));
  }
}

void nw_space_bound_loops(nw_space *v, const nw_site *s) {
  nw_ranges r;
  if (!v->opaque.n || s->init) return;
  ranges_of_sizes(&r, v->f);
  for (int i = 0; i < s->nloops; i++)
    push_range(&r, s->loop[i]->loop.var, s->loop[i]->loop.begin, s->loop[i]->loop.extent);
  for (int i = 0; i < s->nwhere; i++) nw_ranges_fact(&r, s->where[i]);
  bound_all(v, &r);
  nw_ranges_free(&r);
}

void nw_space_bound_vars(nw_space *v, const nw_site *s) {
  nw_ranges r;
  if (!v->opaque.n) return;
  ranges_of_sizes(&r, v->f);
  for (int i = 0; i < s->nvars; i++) push_range(&r, s->var[i]->var, s->var[i]->lo, s->var[i]->extent);
  bound_all(v, &r);
  nw_ranges_free(&r);
}

void nw_space_bound_box(nw_space *v, int n, const nw_expr *const *shape) {
  nw_ranges r;
  if (!v->opaque.n) return;
  ranges_of_sizes(&r, v->f);
  for (int d = 0; d < n; d++) push_range(&r, nw_var(r.pool, nw_dim_name(r.pool, d)), nw_index(r.pool, 0), shape[d]);
  bound_all(v, &r);
  nw_ranges_free(&r);
}

// ---- all bounds

// Finds the range of e that follows from the types of the data in it. Returns false if the range is too large to be useful.
static bool value_range(const nw_expr *e, int64_t *lo, int64_t *hi) {
  const int64_t most = INT64_C(1) << 32;
  return nw_value_range(e, lo, hi) && *lo >= -most && *hi <= most;
}

static isl_set *no_less(const nw_space *v, isl_set *set, int dim, const nw_expr *least) {
  if (!least) return set;
  return isl_set_intersect(set, isl_pw_aff_ge_set(nw_space_dim(v, dim), nw_space_aff(v, least)));
}

static isl_set *no_more(const nw_space *v, isl_set *set, int dim, const nw_expr *most) {
  if (!most) return set;
  return isl_set_intersect(set, isl_pw_aff_le_set(nw_space_dim(v, dim), nw_space_aff(v, most)));
}

// Returns the points at which 0 <= x % m < m holds or m is not positive. The expression e is x % m, and its value is
// dimension `dim`.
static isl_set *remainder_bounds(const nw_space *v, const nw_expr *e, int dim) {
  const nw_expr *zero = nw_index(v->f->pool, 0);
  isl_pw_aff *m = nw_space_aff(v, e->arg[1]);
  isl_set *not_positive = isl_pw_aff_le_set(isl_pw_aff_copy(m), nw_space_aff(v, zero));
  isl_set *inside = isl_pw_aff_lt_set(nw_space_dim(v, dim), m);
  return isl_set_union(no_less(v, inside, dim, zero), not_positive);
}

isl_set *nw_space_all(const nw_space *v) {
  isl_set *set = isl_set_universe(nw_family_space(v->f, v->ndims + v->opaque.n));
  int64_t lo, hi;
  // The bounds may be new parameters, about which only the context knows something.
  if (v->least.n) set = isl_set_intersect_params(set, isl_set_copy(v->f->context));
  for (int i = 0; i < v->opaque.n; i++) {
    const nw_expr *e = v->opaque.at[i];
    int dim = v->ndims + i;
    if (value_range(e, &lo, &hi)) {
      set = no_less(v, set, dim, nw_index(v->f->pool, lo));
      set = no_more(v, set, dim, nw_index(v->f->pool, hi));
    }
    if (i < v->least.n) set = no_more(v, no_less(v, set, dim, v->least.at[i]), dim, v->most.at[i]);
    if (e->op == NW_OP_FLOORMOD) set = isl_set_intersect(set, remainder_bounds(v, e, dim));
  }
  return set;
}
