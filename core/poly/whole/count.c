// Finds nested loops whose iterations are numbered 0, 1, ... by an affine expression. These loops are called the
// *parts*, and the value of the expression is called the *number*. Also finds the conditions on the parts, and checks
// that the numbers are complete, unique and in order. See docs/fused.md.
#include "poly/whole/whole.h"

static bool is_size(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, name)) return true;
  return false;
}

bool nw_uses_part(const nw_merging *x, const nw_expr *e) {
  for (int i = 0; i < x->nchain; i++)
    if (x->part[i] && nw_uses_var(e, x->chain[i]->loop.var->name)) return true;
  return false;
}

typedef struct only {
  const nw_merging *x;
  bool ok;
} only;

static bool see_only(void *env, const nw_expr *e) {
  only *o = env;
  if (e->op == NW_OP_LOAD) o->ok = false;
  if (e->op == NW_OP_VAR && !is_size(o->x->p, e->name) && !nw_uses_part(o->x, e)) o->ok = false;
  return o->ok;
}

// True if e uses at least one part, and no variables other than parts and sizes.
static bool of_parts(const nw_merging *x, const nw_expr *e) {
  only o = {x, true};
  if (!nw_uses_part(x, e)) return false;
  nw_visit(e, see_only, &o);
  return o.ok;
}

// Finds the parts, which are nested loops. Other loops may be between them if their bounds do not use the parts.
static bool find_loops(nw_merging *x, nw_stmt *outer) {
  const nw_expr *rest = x->e;
  for (nw_stmt *s = outer;; s = s->kid[0]) {
    const char *name = s->loop.var->name;
    x->part[x->nchain] = nw_uses_var(rest, name);
    x->chain[x->nchain++] = s;
    x->digits_only |= x->part[x->nchain - 1] && nw_digits_only(s);
    if (!x->part[x->nchain - 1]) x->between++;
    rest = nw_subst(x->p->pool, rest, name, nw_index(x->p->pool, 0));
    only left = {x, true};
    nw_visit(rest, see_only, &left);
    if (left.ok && !nw_uses_part(x, rest)) break; // all parts were found
    if (s->nkids != 1 || s->kid[0]->kind != NW_LOOP || x->nchain == NW_MAX_DEPTH) return false;
  }
  for (int i = 0; i < x->nchain; i++)
    if (!x->part[i] && (nw_uses_part(x, x->chain[i]->loop.begin) || nw_uses_part(x, x->chain[i]->loop.extent)))
      return false;
  return true;
}

// ---- conditions on the parts, which must be the same for every block

static void conjuncts(const nw_merging *x, const nw_expr *e, nw_vec *out) {
  if (e->op == NW_OP_AND) {
    conjuncts(x, e->arg[0], out);
    conjuncts(x, e->arg[1], out);
  } else if (of_parts(x, e)) {
    nw_vec_push(out, (void *)e);
  }
}

static bool has(const nw_vec *v, const nw_expr *e) {
  for (int i = 0; i < v->n; i++)
    if (v->at[i] == e) return true;
  return false;
}

static bool same_conds(const nw_vec *a, const nw_vec *b) {
  for (int i = 0; i < a->n; i++)
    if (!has(b, a->at[i])) return false;
  for (int i = 0; i < b->n; i++)
    if (!has(a, b->at[i])) return false;
  return true;
}

static bool gather(nw_merging *x, const nw_stmt *s, const nw_vec *around, bool *first) {
  nw_vec here = {0};
  for (int i = 0; i < around->n; i++) nw_vec_push(&here, around->at[i]);
  if (s->kind == NW_GUARD) conjuncts(x, s->guard.cond, &here);
  bool ok = true;
  if (s->kind == NW_BLOCK) {
    if (s->block.where) conjuncts(x, s->block.where, &here);
    for (int i = 0; *first && i < here.n; i++) nw_vec_push(&x->cond, here.at[i]);
    ok = *first || same_conds(&x->cond, &here);
    *first = false;
  }
  for (int i = 0; i < s->nkids && ok; i++) ok = gather(x, s->kid[i], &here, first);
  nw_vec_free(&here);
  return ok;
}

bool nw_find_parts(nw_merging *x, nw_stmt *outer) {
  bool first = true;
  return find_loops(x, outer) && gather(x, x->chain[x->nchain - 1], &(nw_vec){0}, &first) && !first;
}

// ---- checks that the number is 0, 1, ... up to the end, in this order

// Returns the sizes for which e, an expression of sizes, is a multiple of `of`.
static isl_set *multiple_of(const nw_space *v, const nw_expr *e, int64_t of) {
  isl_pw_aff *rest = isl_pw_aff_mod_val(nw_space_aff(v, e), isl_val_int_from_si(v->f->s->isl, of));
  return isl_set_params(isl_pw_aff_zero_set(rest));
}

// If the end is known to be divisible by the constant extent of a part, adds this as a condition. isl cannot derive the
// condition, since isl treats a product of sizes as a single unknown.
static isl_set *divisible(const nw_merging *x, const nw_space *v, isl_set *set) {
  nw_ranges r;
  int64_t n;
  nw_ranges_of(&r, x->p, NULL);
  for (int i = 0; i < x->nchain; i++) {
    const nw_expr *extent = x->chain[i]->loop.extent;
    if (x->part[i] && nw_is_int(extent, &n) && n > 1 && nw_divides(&r, x->end, n))
      set = isl_set_intersect_params(set, multiple_of(v, x->end, n));
  }
  nw_ranges_free(&r);
  return set;
}

static bool open_parts(const nw_merging *x, nw_space *v) {
  nw_space_init(v, x->f);
  for (int i = 0; i < x->nchain; i++)
    if (x->part[i]) nw_space_loop(v, x->chain[i]);
  for (int i = 0; i < x->nchain; i++)
    if (x->part[i]) nw_scan_loop(v, x->chain[i]);
  nw_space_scan(v, x->e);
  nw_space_scan(v, x->end);
  bool exact = true;
  for (int i = 0; i < x->cond.n; i++) {
    nw_space_scan(v, x->cond.at[i]);
    exact = exact && nw_cond_exact(x->cond.at[i]);
  }
  return exact && !v->opaque.n;
}

static isl_set *points(const nw_merging *x, const nw_space *v) {
  isl_set *set = isl_set_intersect_params(nw_space_all(v), isl_set_copy(v->f->context));
  for (int i = 0; i < x->nchain; i++)
    if (x->part[i]) set = nw_loop_bounds(v, x->chain[i], set);
  for (int i = 0; i < x->cond.n; i++) set = isl_set_intersect(set, nw_space_cond(v, x->cond.at[i], true));
  return divisible(x, v, set);
}

// True if the numbers of the points increase in the order in which the points are executed.
static isl_bool in_order(isl_map *number) {
  isl_set *all = isl_map_domain(isl_map_copy(number));
  isl_map *later = isl_set_lex_lt_set(isl_set_copy(all), all);
  isl_map *pairs = isl_map_lex_ge_map(isl_map_copy(number), isl_map_copy(number));
  isl_map *bad = isl_map_intersect(later, pairs);
  isl_bool none = isl_map_is_empty(bad);
  isl_map_free(bad);
  return none;
}

// True if isl proved the property. If isl failed, sets x->lost, since the judge then cannot give an answer.
static bool yes(nw_merging *x, isl_bool holds) {
  if (holds < 0) x->lost = true;
  return holds == isl_bool_true;
}

static bool takes_all(nw_merging *x, isl_map *number, const nw_space *v) {
  isl_set *box = nw_shape_box(x->f, 1, &x->end), *have = isl_map_range(isl_map_copy(number));
  box = divisible(x, v, isl_set_intersect_params(box, isl_set_copy(v->f->context)));
  bool all = yes(x, isl_set_is_equal(box, have));
  isl_set_free(box);
  isl_set_free(have);
  return all;
}

bool nw_counts(nw_merging *x) {
  nw_space v;
  if (nw_weights_count(x)) return true;
  if (x->digits_only) return false;
  bool ok = open_parts(x, &v);
  if (ok) {
    isl_map *number = nw_space_map(&v, points(x, &v), 1, &x->e);
    ok = takes_all(x, number, &v) || NW_MUTATED(whole_part);
    x->turned = !(ok && yes(x, in_order(number)));
    if (ok && x->turned) ok = yes(x, isl_map_is_injective(number)) || NW_MUTATED(whole_twice);
    isl_map_free(number);
  }
  nw_space_free(&v);
  return ok && !x->lost;
}

// ---- the end of the numbers

static const nw_expr *add_room(nw_pool *pool, const nw_expr *e, const nw_expr *cond) {
  if (cond->op != NW_OP_LT && cond->op != NW_OP_LE) return NULL;
  if (cond->arg[0]->type.dtype != NW_INDEX) return NULL;
  const nw_expr *end = nw_add(pool, e, nw_sub(pool, cond->arg[1], cond->arg[0]));
  return cond->op == NW_OP_LT ? end : nw_add(pool, end, nw_index(pool, 1));
}

// Returns candidate i for the exclusive upper bound of the number; NULL if there is no candidate i. A candidate is
// derived from a condition or from the extent of a part. If the extent is a quotient such as M*N // 8, the candidate is
// the dividend M*N. If the number is that of a lifted sum, conditions limit its quotient.
static const nw_expr *end_at(const nw_merging *x, int i) {
  nw_pool *pool = x->p->pool;
  const nw_expr *by = x->by ? x->by : nw_index(pool, 1);
  if (i < x->cond.n) return x->by ? nw_lifted_end(x, x->cond.at[i]) : add_room(pool, x->e, x->cond.at[i]);
  const nw_stmt *l = x->chain[i - x->cond.n];
  if (!x->part[i - x->cond.n]) return NULL;
  if (l->loop.extent->op == NW_OP_FLOORDIV) return nw_mul(pool, by, l->loop.extent->arg[0]);
  return nw_add(pool, nw_sub(pool, x->e, nw_sub(pool, l->loop.var, l->loop.begin)), l->loop.extent);
}

static bool take_end(nw_merging *x, const nw_dividing *found, const nw_expr *end) {
  x->end = end;
  x->ndims = nw_digit_extents(x->p->pool, found, end, x->dim);
  return x->ndims > 0;
}

bool nw_counts_to_some_end(nw_merging *x, const nw_dividing *found) {
  int n = x->cond.n + x->nchain;
  for (int i = 0; i <= n && !x->lost; i++) {
    const nw_expr *end = i < n ? end_at(x, i) : nw_weights_end(x);
    bool turned = x->turned;
    if (end && nw_uses_only_sizes(x->p, end) && take_end(x, found, end) && nw_counts(x)) return true;
    x->turned = turned;
  }
  return false;
}
