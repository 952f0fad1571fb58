// Loops that a fused loop was split into, put together again.
//
// A loop f fused from extents M and N that are not numbers binds i = f // N and j = f % N, which isl has as the two
// dimensions that f was fused from. Once f is split, i is (8*f_o + f_i) // N, which isl cannot have. But the split changed
// nothing: where e = 8*f_o + f_i is 0, 1, ... M*N - 1 as the loops run, each number once and in that order, one loop over e
// does the same. The judge looks at the program with that loop. docs/fused.md has the theorem, and what has to hold where
// the loops run in another order.
#include "poly/whole.h"
#include "ir/lift.h"

// ---- what is divided by a product of sizes

typedef struct search {
  const nw_program *p;
  const nw_stmt *loop; // the expressions that use this one
  const nw_expr *base; // the innermost dividend; NULL: none was found
  bool several;
  nw_vec use; // its divisions, and the divisions of those
} search;

static bool is_size(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, name)) return true;
  return false;
}

static bool is_division(const nw_expr *e) {
  int64_t c;
  return (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && e->type.dtype == NW_INDEX && !nw_is_int(e->arg[1], &c);
}

static bool see_division(void *env, const nw_expr *e) {
  search *x = env;
  const nw_expr *base = e;
  if (!is_division(e)) return true;
  while (is_division(base)) base = base->arg[0];
  if (x->loop && !nw_uses_var(base, x->loop->loop.var->name)) return true;
  x->several |= x->base && x->base != base;
  x->base = base;
  nw_vec_push(&x->use, (void *)e);
  return true;
}

static const nw_expr *search_in(void *env, const nw_expr *e) {
  nw_visit(e, see_division, env);
  return e;
}

static bool divides_nothing(void *env, nw_stmt *s) {
  search *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) nw_visit(s->block.var[i].bind, see_division, x);
  return !x->base;
}

// Does some block bind a quotient or a remainder by sizes, so that there may be something to put together?
static bool is_candidate(const nw_program *p) {
  search x = {.p = p};
  nw_walk_from(p->root, divides_nothing, &x);
  nw_vec_free(&x.use);
  return x.base && !nw_find_bound(p->root);
}

// ---- products of sizes as numbers times atoms

enum { MOST_ATOMS = 12, MOST_DIMS = 8 };
typedef struct product {
  int64_t number;
  int n;
  const nw_expr *atom[MOST_ATOMS];
} product;

static bool multiply(product *x, const nw_expr *e) {
  int64_t c;
  if (nw_is_int(e, &c)) return c > 0 && !__builtin_mul_overflow(x->number, c, &x->number);
  if (e->op == NW_OP_MUL) return multiply(x, e->arg[0]) && multiply(x, e->arg[1]);
  if (x->n == MOST_ATOMS) return false;
  x->atom[x->n++] = e;
  return true;
}

static bool multiply_all(product *x, const product *by) {
  if (__builtin_mul_overflow(x->number, by->number, &x->number) || x->n + by->n > MOST_ATOMS) return false;
  for (int i = 0; i < by->n; i++) x->atom[x->n++] = by->atom[i];
  return true;
}

// x / by where that is whole; false where it is not, as far as can be seen.
static bool divide(const product *x, const product *by, product *out) {
  *out = *x;
  if (x->number % by->number) return false;
  out->number /= by->number;
  for (int i = 0; i < by->n; i++) {
    int k = 0;
    while (k < out->n && out->atom[k] != by->atom[i]) k++;
    if (k == out->n) return false;
    out->atom[k] = out->atom[--out->n];
  }
  return true;
}

static const nw_expr *expr_of(nw_pool *pool, const product *x) {
  const nw_expr *e = nw_index(pool, x->number);
  for (int i = 0; i < x->n; i++) e = nw_mul(pool, x->atom[i], e);
  return e;
}

// ---- the digits that a number is divided into: each division puts a cut between two of them

typedef struct cuts {
  int n;
  product at[2 * MOST_DIMS];
} cuts;

// In the order of size, each a multiple of the one before.
static bool add_cut(cuts *x, const product *cut) {
  product whole;
  int i = 0;
  for (; i < x->n && divide(cut, &x->at[i], &whole); i++)
    if (whole.number == 1 && !whole.n) return true;
  if (x->n == (int)NW_COUNT(x->at) || (i < x->n && !divide(&x->at[i], cut, &whole))) return false;
  memmove(&x->at[i + 1], &x->at[i], (size_t)(x->n - i) * sizeof *x->at);
  x->at[i] = *cut;
  x->n++;
  return true;
}

// The weight of what a chain of divisions leaves: x // N of weight w weighs w*N, x % N what x does.
static bool cut_by(cuts *x, const nw_expr *e, product *weight) {
  if (!is_division(e)) return *weight = (product){.number = 1}, true;
  product by = {.number = 1};
  if (!cut_by(x, e->arg[0], weight) || !multiply(&by, e->arg[1]) || !multiply_all(&by, weight)) return false;
  if (e->op == NW_OP_FLOORDIV) *weight = by;
  return add_cut(x, &by);
}

// ---- loops that are put together

typedef struct merging {
  nw_program *p; // a clone, edited
  nw_family *f;
  nw_arena *arena;
  int nchain, inner; // loops from the outermost to the innermost of the parts
  nw_stmt *chain[NW_MAX_DEPTH];
  bool part[NW_MAX_DEPTH];
  const nw_expr *e, *end; // the number, and what it stays below
  int ndims;
  const nw_expr *dim[2 * MOST_DIMS + 1];
  nw_vec cond; // what is asked of the parts alone
  bool apart, lost;
  nw_stmt *loop;
} merging;

static bool uses_part(const merging *x, const nw_expr *e) {
  for (int i = 0; i < x->nchain; i++)
    if (x->part[i] && nw_uses_var(e, x->chain[i]->loop.var->name)) return true;
  return false;
}

typedef struct only {
  const merging *x;
  bool ok;
} only;

static bool see_only(void *env, const nw_expr *e) {
  only *o = env;
  if (e->op == NW_OP_LOAD) o->ok = false;
  if (e->op == NW_OP_VAR && !is_size(o->x->p, e->name) && !uses_part(o->x, e)) o->ok = false;
  return o->ok;
}

// Does e speak of parts and sizes, and of nothing else?
static bool of_parts(const merging *x, const nw_expr *e) {
  only o = {x, true};
  if (!uses_part(x, e)) return false;
  nw_visit(e, see_only, &o);
  return o.ok;
}

// Is the loop's number known by its digits only?
static bool is_fused(const nw_stmt *loop) {
  int64_t c;
  for (int d = 1; d < loop->loop.nfused; d++)
    if (!nw_is_int(loop->loop.fused[d], &c)) return true;
  return false;
}

// The parts are loops one inside the other; others may stand between them, whose bounds are not theirs.
static bool find_parts(merging *x, nw_stmt *outer) {
  const nw_expr *rest = x->e;
  for (nw_stmt *s = outer;; s = s->kid[0]) {
    const char *name = s->loop.var->name;
    x->part[x->nchain] = nw_uses_var(rest, name);
    x->chain[x->nchain++] = s;
    if (x->part[x->nchain - 1] && is_fused(s)) return false;
    if (!x->part[x->nchain - 1]) x->apart = true;
    rest = nw_subst(x->p->pool, rest, name, nw_index(x->p->pool, 0));
    only left = {x, true};
    nw_visit(rest, see_only, &left);
    if (left.ok && !uses_part(x, rest)) break; // all parts were found
    if (s->nkids != 1 || s->kid[0]->kind != NW_LOOP || x->nchain == NW_MAX_DEPTH) return false;
  }
  x->inner = x->nchain - 1;
  for (int i = 0; i < x->nchain; i++)
    if (!x->part[i] && (uses_part(x, x->chain[i]->loop.begin) || uses_part(x, x->chain[i]->loop.extent))) return false;
  return true;
}

// ---- what is asked of the parts: the same before every block

static void conjuncts(const merging *x, const nw_expr *e, nw_vec *out) {
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

static bool gather(merging *x, const nw_stmt *s, const nw_vec *around, bool *first) {
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

// ---- the digits

static bool find_dims(merging *x, const search *found, const nw_expr *end) {
  cuts c = {0};
  product all = {.number = 1}, weight, below = {.number = 1}, digit;
  if (!end || !multiply(&all, end)) return false;
  for (int i = 0; i < found->use.n; i++)
    if (!cut_by(&c, found->use.at[i], &weight)) return false;
  if (!add_cut(&c, &all) || !divide(&c.at[c.n - 1], &all, &digit)) return false;
  const nw_expr *box = nw_index(x->p->pool, 1);
  x->ndims = c.n;
  for (int i = 0; i < c.n; i++) {
    if (!divide(&c.at[i], &below, &digit)) return false;
    x->dim[c.n - 1 - i] = expr_of(x->p->pool, &digit);
    below = c.at[i];
  }
  for (int i = 0; i < c.n; i++) box = nw_mul(x->p->pool, box, x->dim[i]);
  x->end = box;
  return box == end;
}

// ---- is the number each of 0..end once, in this order?

// The sizes for which e, in sizes alone, is a multiple.
static isl_set *multiple_of(const nw_space *v, const nw_expr *e, int64_t of) {
  isl_pw_aff *rest = isl_pw_aff_mod_val(nw_space_aff(v, e), isl_val_int_from_si(v->f->s->isl, of));
  return isl_set_params(isl_pw_aff_zero_set(rest));
}

// A product of sizes is one number to isl: what it is a multiple of, because one of them is, has to be said.
static isl_set *divisible(const merging *x, const nw_space *v, isl_set *set) {
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

static bool open_parts(const merging *x, nw_space *v) {
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

static isl_set *points(const merging *x, const nw_space *v) {
  isl_set *set = isl_set_intersect_params(nw_space_all(v), isl_set_copy(v->f->context));
  for (int i = 0; i < x->nchain; i++)
    if (x->part[i]) set = nw_loop_bounds(v, x->chain[i], set);
  for (int i = 0; i < x->cond.n; i++) set = isl_set_intersect(set, nw_space_cond(v, x->cond.at[i], true));
  return divisible(x, v, set);
}

// Pairs of points, the first before the second, with numbers that are not so.
static isl_bool in_order(isl_map *number) {
  isl_set *all = isl_map_domain(isl_map_copy(number));
  isl_map *later = isl_set_lex_lt_set(isl_set_copy(all), all);
  isl_map *pairs = isl_map_lex_ge_map(isl_map_copy(number), isl_map_copy(number));
  isl_map *bad = isl_map_intersect(later, pairs);
  isl_bool none = isl_map_is_empty(bad);
  isl_map_free(bad);
  return none;
}

// A question that isl gave up is no answer: the whole question is lost then.
static bool yes(merging *x, isl_bool holds) {
  if (holds < 0) x->lost = true;
  return holds == isl_bool_true;
}

static bool takes_all(merging *x, isl_map *number, const nw_space *v) {
  isl_set *box = nw_shape_box(x->f, 1, &x->end), *have = isl_map_range(isl_map_copy(number));
  box = divisible(x, v, isl_set_intersect_params(box, isl_set_copy(v->f->context)));
  bool all = yes(x, isl_set_is_equal(box, have));
  isl_set_free(box);
  isl_set_free(have);
  return all;
}

static bool counts(merging *x) {
  nw_space v;
  bool ok = open_parts(x, &v);
  if (ok) {
    isl_map *number = nw_space_map(&v, points(x, &v), 1, &x->e);
    ok = takes_all(x, number, &v) || NW_MUTATED(whole_part);
    bool ordered = ok && !x->apart && yes(x, in_order(number));
    if (ok && !ordered) ok = yes(x, isl_map_is_injective(number)) || NW_MUTATED(whole_twice);
    x->apart = !ordered;
    isl_map_free(number);
  }
  nw_space_free(&v);
  return ok && !x->lost;
}

// ---- nothing else may speak of the parts

typedef struct rest {
  const merging *x;
  const char *name; // the part that the number tells when the others are known,
  const nw_expr *by; // and what it is
  bool ok;
} rest;

static void flatten(const nw_expr *e, nw_vec *out) {
  if (e->op != NW_OP_AND) {
    nw_vec_push(out, (void *)e);
    return;
  }
  flatten(e->arg[0], out);
  flatten(e->arg[1], out);
}

// What is left of an expression when the number stands for the parts. NULL: conditions of the parts alone, which are what
// the range of the number says.
static const nw_expr *by_number(const rest *r, const nw_expr *e) {
  nw_pool *pool = r->x->p->pool;
  if (e->type.dtype != NW_BOOL) return nw_subst(pool, e, r->name, r->by);
  nw_vec keep = {0};
  const nw_expr *left = NULL;
  flatten(e, &keep);
  for (int i = 0; i < keep.n; i++) {
    if (has(&r->x->cond, keep.at[i]) && !NW_MUTATED(whole_guarded)) continue;
    const nw_expr *one = nw_subst(pool, keep.at[i], r->name, r->by);
    left = left ? nw_and(pool, left, one) : one;
  }
  nw_vec_free(&keep);
  return left;
}

static const nw_expr *look(void *env, const nw_expr *e) {
  rest *r = env;
  const nw_expr *left = by_number(r, e);
  r->ok = r->ok && !(left && uses_part(r->x, left));
  return e;
}

static const nw_expr *replace(void *env, const nw_expr *e) {
  const rest *r = env;
  const nw_expr *left = by_number(r, e);
  return left ? left : nw_true(r->x->p->pool);
}

static bool drop_true(void *env, nw_stmt *s) {
  (void)env;
  if (s->kind == NW_BLOCK && s->block.where && nw_is_const(s->block.where, 1)) s->block.where = NULL;
  return true;
}

// The innermost part that is the number less what the others add to it.
static bool solve(const merging *x, const nw_expr *number, rest *r) {
  nw_pool *pool = x->p->pool;
  for (int i = x->nchain - 1; i >= 0; i--) {
    int64_t coef;
    const nw_expr *others;
    const char *name = x->chain[i]->loop.var->name;
    if (!x->part[i] || !nw_affine(pool, x->e, 1, &name, &coef, &others) || (coef != 1 && coef != -1)) continue;
    *r = (rest){x, name, coef > 0 ? nw_sub(pool, number, others) : nw_sub(pool, others, number), true};
    return true;
  }
  return false;
}

// ---- the program with the loop

static const char *name_for(const merging *x) {
  const char *first = x->chain[0]->loop.var->name;
  size_t n = strlen(first);
  bool piece = n > 2 && first[n - 2] == '_' && (first[n - 1] == 'o' || first[n - 1] == '0');
  return nw_unique_loop_name(x->p, nw_arena_printf(x->arena, "%.*s", (int)(piece ? n - 2 : n), first));
}

static bool make_loop(merging *x) {
  nw_path path;
  nw_stmt *inner = x->chain[x->inner];
  x->loop = nw_new_loop(x->p, name_for(x), nw_index(x->p->pool, 0), x->end);
  x->loop->loop.nfused = x->ndims > 1 ? x->ndims : 0;
  x->loop->loop.fused = NW_NEW_N(x->p->arena, const nw_expr *, x->ndims + 1);
  for (int i = 0; i < x->ndims; i++) x->loop->loop.fused[i] = x->dim[i];
  rest r;
  if (!nw_find(x->p, x->chain[0]->id, &path) || !solve(x, x->loop->loop.var, &r)) return false;
  for (int i = 0; i < inner->nkids; i++) nw_stmt_map(x->p, inner->kid[i], look, &r);
  if (!r.ok) return false;
  for (int i = 0; i < inner->nkids; i++) {
    nw_stmt_map(x->p, inner->kid[i], replace, &r);
    nw_walk_from(inner->kid[i], drop_true, NULL);
  }
  nw_stmt *in = x->loop;
  for (int i = 0; i <= x->inner; i++)
    if (!x->part[i]) {
      nw_kids_set(x->p, in, 1, &x->chain[i]);
      in = x->chain[i];
    }
  nw_kids_set(x->p, in, inner->nkids, inner->kid);
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], x->loop);
  return true;
}

// ---- where an owned init is done: the program that a person sees and the one with the loop must agree

static bool own_inits(const merging *x, const nw_program *p, const nw_program *whole, const nw_stmt *s, const rest *r) {
  nw_path path;
  bool ok = true;
  if (s->kind == NW_BLOCK && s->block.has_init && nw_find(p, s->id, &path)) {
    const nw_stmt *was = path.at[path.n - 1];
    const nw_expr *where = nw_where_of_init(p, was);
    if (where) where = by_number(r, where);
    ok = nw_init_lifts(p, was) == nw_init_lifts(whole, s) && where == nw_where_of_init(whole, s);
    for (int i = 0; x->apart && i < s->block.nvars; i++)
      ok = ok && (s->block.var[i].kind != NW_REDUCE || !nw_uses_var(s->block.var[i].bind, x->loop->loop.var->name));
  }
  for (int i = 0; i < s->nkids && ok; i++) ok = own_inits(x, p, whole, s->kid[i], r);
  return ok;
}

// ---- one loop

static const nw_expr *add_room(nw_pool *pool, const nw_expr *e, const nw_expr *cond) {
  if (cond->op != NW_OP_LT && cond->op != NW_OP_LE) return NULL;
  if (cond->arg[0]->type.dtype != NW_INDEX) return NULL;
  const nw_expr *end = nw_add(pool, e, nw_sub(pool, cond->arg[1], cond->arg[0]));
  return cond->op == NW_OP_LT ? end : nw_add(pool, end, nw_index(pool, 1));
}

// What the number may stay below: what a condition says, what a loop runs to, or the whole of which it takes a part.
static const nw_expr *end_at(const merging *x, int i) {
  nw_pool *pool = x->p->pool;
  if (i < x->cond.n) return add_room(pool, x->e, x->cond.at[i]);
  const nw_stmt *l = x->chain[i - x->cond.n];
  if (!x->part[i - x->cond.n]) return NULL;
  if (l->loop.extent->op == NW_OP_FLOORDIV) return l->loop.extent->arg[0];
  return nw_add(pool, nw_sub(pool, x->e, nw_sub(pool, l->loop.var, l->loop.begin)), l->loop.extent);
}

static bool sizes_only(const merging *x, const nw_expr *e) {
  only o = {x, true};
  nw_visit(e, see_only, &o);
  return o.ok && !uses_part(x, e);
}

static bool counts_to_some_end(merging *x, const search *found) {
  for (int i = 0; i < x->cond.n + x->nchain && !x->lost; i++) {
    const nw_expr *end = end_at(x, i);
    bool apart = x->apart;
    if (end && sizes_only(x, end) && find_dims(x, found, end) && counts(x)) return true;
    x->apart = apart;
  }
  return false;
}

// The whole program with the loop `outer` and the parts inside it as one, frozen; NULL where they are no such loops.
static nw_program *merged(const nw_program *p, int outer, nw_family *f, nw_together *out, bool *lost) {
  nw_path path;
  merging x = {.p = nw_program_clone(p), .f = f, .arena = nw_arena_new()};
  nw_program *whole = NULL;
  search found = {.p = p};
  x.p->step = p->step;
  nw_find(x.p, outer, &path);
  nw_stmt *loop = path.at[path.n - 1];
  found.loop = loop;
  for (int i = 0; i < loop->nkids; i++) nw_stmt_map(x.p, loop->kid[i], search_in, &found);
  x.e = found.base;
  bool first = true, ok = x.e && !found.several && !(x.e == loop->loop.var && is_fused(loop)) && find_parts(&x, loop);
  if (ok) ok = gather(&x, x.chain[x.inner], &(nw_vec){0}, &first) && !first;
  if (ok && counts_to_some_end(&x, &found) && make_loop(&x) && (whole = nw_program_freeze(x.p))) {
    rest r;
    x.p = whole;
    if (!solve(&x, x.loop->loop.var, &r) || !own_inits(&x, p, whole, x.loop, &r)) {
      nw_program_release(whole);
      whole = NULL;
    }
  } else if (!x.loop || !x.loop->nkids) {
    nw_program_release(x.p);
  } else {
    x.lost = true; // it could not be frozen, and the fault is said
  }
  out->id = whole ? x.loop->id : 0;
  out->apart = x.apart;
  out->n = 0;
  for (int i = 0; i < x.nchain; i++)
    if (x.part[i]) out->part_id[out->n++] = x.chain[i]->id;
  *lost |= x.lost;
  nw_vec_free(&x.cond);
  nw_vec_free(&found.use);
  nw_arena_free(x.arena);
  return whole;
}

// ---- a loop that begins with a number: as if it began at 0, which is the same iterations in the same order

static bool binds_base(const nw_stmt *loop) {
  search x = {.loop = loop};
  nw_walk_from(loop, divides_nothing, &x);
  nw_vec_free(&x.use);
  return x.base && !(x.base == loop->loop.var && is_fused(loop));
}

typedef struct shifting {
  nw_program *p;
  int found; // the id of a loop that begins with a number
} shifting;

static bool begins_with_number(void *env, const nw_path *path) {
  shifting *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  for (int i = 0; s->kind == NW_LOOP && i < path->n - 1 && !x->found; i++) {
    const nw_stmt *l = path->at[i];
    if (l->kind == NW_LOOP && nw_uses_var(s->loop.begin, l->loop.var->name) && (is_fused(l) || binds_base(l)))
      x->found = s->id;
  }
  return !x->found;
}

static nw_program *shifted(const nw_program *p, int id) {
  nw_path path;
  nw_program *to = nw_program_clone(p);
  to->step = p->step;
  nw_find(to, id, &path);
  nw_stmt *loop = path.at[path.n - 1];
  const nw_expr *at = nw_add(to->pool, loop->loop.begin, loop->loop.var);
  for (int i = 0; i < loop->nkids; i++) nw_stmt_subst(to, loop->kid[i], loop->loop.var->name, at);
  loop->loop.begin = nw_index(to->pool, 0);
  return nw_program_freeze(to);
}

// ---- all of them

enum { MOST_MERGED = 8, MOST_SHIFTED = 16 };

typedef struct making {
  nw_whole *w;
  nw_program *p; // counted; frozen
  nw_family *f;
  nw_vec id; // of the loops that may be put together
  bool lost;
} making;

static bool see_loop(void *env, nw_stmt *s) {
  making *x = env;
  if (s->kind == NW_LOOP && binds_base(s)) nw_vec_push(&x->id, (void *)(intptr_t)s->id);
  return true;
}

static void take(making *x, nw_program *next) {
  nw_program_release(x->p);
  x->p = next;
}

static void shift_all(making *x) {
  for (int n = 0; n < MOST_SHIFTED && !x->lost; n++) {
    shifting s = {x->p, 0};
    nw_walk(x->p, begins_with_number, &s);
    if (!s.found) return;
    nw_program *next = shifted(x->p, s.found);
    x->lost = !next;
    if (next) take(x, next);
  }
}

// Puts one loop together, the outermost that can be; false where there is none.
static bool merge_one(making *x) {
  bool done = false;
  x->id.n = 0;
  nw_walk_from(x->p->root, see_loop, x);
  for (int i = 0; i < x->id.n && !done && !x->lost; i++) {
    nw_together *t = &x->w->loop[x->w->n];
    nw_program *next = merged(x->p, (int)(intptr_t)x->id.at[i], x->f, t, &x->lost);
    if (!next) continue;
    done = true;
    x->w->n++;
    take(x, next);
  }
  return done;
}

// The parts as the person's program has them, and the loops as the last program does.
static void find_loops(making *x, const nw_program *seen) {
  for (int i = 0; i < x->w->n; i++) {
    nw_together *t = &x->w->loop[i];
    nw_path path;
    t->loop = nw_find(x->p, t->id, &path) ? path.at[path.n - 1] : NULL;
    for (int k = 0; k < t->n; k++) t->part[k] = nw_find(seen, t->part_id[k], &path) ? path.at[path.n - 1] : NULL;
  }
}

static void free_whole(void *data) {
  nw_whole *w = data;
  nw_program_release(w->p);
  free(w->loop);
  free(w);
}

void nw_whole_drop(const nw_program *p) {
  nw_program *own = (nw_program *)p;
  if (own->whole) own->whole_free(own->whole);
  own->whole = NULL;
  own->whole_free = NULL;
}

static nw_whole *make_whole(const nw_program *p, nw_family *f) {
  making x = {.w = nw_xcalloc(1, sizeof *x.w), .p = nw_program_retain(p), .f = f};
  x.w->loop = nw_xcalloc(MOST_MERGED, sizeof *x.w->loop);
  shift_all(&x);
  while (!x.lost && x.w->n < MOST_MERGED && merge_one(&x)) {}
  find_loops(&x, p);
  if (x.p != p) x.w->p = nw_program_retain(x.p);
  nw_program_release(x.p);
  nw_vec_free(&x.id);
  if (!x.lost) return x.w;
  free_whole(x.w);
  return NULL;
}

const nw_whole *nw_whole_of(const nw_program *p, nw_family *known) {
  static const nw_whole same = {0};
  nw_proofs *s = nw_proofs_of(p->ctx);
  nw_whole *w = p->whole;
  if (w) return nw_price_charge(s, &w->price), w;
  if (!is_candidate(p)) return &same;
  nw_price price = {0};
  nw_price_begin(s, &price);
  nw_family *f = nw_family_for(p, known);
  w = make_whole(p, f);
  nw_family_release(f);
  if (!w) {
    if (!nw_error(p->ctx)) nw_proofs_lost(s);
    return NULL;
  }
  nw_price_end(s, &price);
  w->price = price;
  ((nw_program *)p)->whole = w;
  ((nw_program *)p)->whole_free = free_whole;
  return w;
}
