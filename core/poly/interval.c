// Finds the iterations of a loop in which every condition inside the loop holds, for all iterations of inner loops.
//
// Conditions are the conjuncts of a block's guard, and the conditions of selects in its body. A clamp also gives a
// condition. For example, max(i - 1, 0) gives the condition 0 <= i - 1, under which the clamp equals i - 1. Only
// conditions that use the loop's variable are considered.
#include "poly/internal.h"
#include <isl/constraint.h>

// A function that returns a condition on the variables of a block, or NULL.
typedef const nw_expr *(*condition_of)(const nw_model *m, const nw_stmt *block);

typedef struct asked {
  const nw_model *m;
  const nw_stmt *loop;
  int level; // number of loops around the loop
  nw_pool *pool;
  isl_set *range; // the iterations of the enclosing loops and of the loop
  isl_set *bad; // the iterations in which some condition may fail
  // the sizes and iterations of enclosing loops for which all inner loops have iterations; other iterations are not
  // checked
  isl_set *some;
  isl_set *taken; // iterations in which some guarded block runs
  bool branches;
  int n; // number of conditions
  condition_of condition; // gives the conditions of nw_contributing_rounds and nw_inside_rounds
} asked;

static const nw_site *any_site(const asked *x) {
  for (int i = 0; i < x->m->nsites; i++)
    for (int k = 0; k < x->m->site[i]->nloops; k++)
      if (x->m->site[i]->loop[k] == x->loop) return x->m->site[i];
  return NULL;
}

static bool is_below(const asked *x, const nw_site *s) { return s->nloops > x->level && s->loop[x->level] == x->loop; }

static bool speaks(const asked *x, const nw_expr *cond) { return nw_uses_var(cond, x->loop->loop.var->name); }

// ---- the conditions of a site

static void conjuncts(const asked *x, const nw_expr *e, nw_vec *out) {
  if (e->op == NW_OP_AND) {
    conjuncts(x, e->arg[0], out);
    conjuncts(x, e->arg[1], out);
    return;
  }
  for (int i = 0; i < out->n; i++)
    if (out->at[i] == e) return;
  if (speaks(x, e)) nw_vec_push(out, (void *)e);
}

typedef struct seeing {
  const asked *x;
  nw_vec *out;
} seeing;

// If only one side of a clamp uses the loop's variable, adds the condition under which the clamp equals that side.
static void clamp(const seeing *s, const nw_expr *e) {
  bool first = speaks(s->x, e->arg[0]), second = speaks(s->x, e->arg[1]);
  if (e->type.dtype != NW_INDEX || first == second) return;
  const nw_expr *it = e->arg[second], *other = e->arg[first];
  conjuncts(s->x, e->op == NW_OP_MAX ? nw_le(s->x->pool, other, it) : nw_le(s->x->pool, it, other), s->out);
}

static bool see(void *env, const nw_expr *e) {
  const seeing *s = env;
  if (e->op == NW_OP_SELECT) conjuncts(s->x, e->arg[0], s->out);
  if (e->op == NW_OP_MIN || e->op == NW_OP_MAX) clamp(s, e);
  return true;
}

static void see_body(const asked *x, const nw_stmt *block, const nw_expr *e, nw_vec *out) {
  seeing s = {x, out};
  if (e) nw_visit(nw_block_bound(x->m->p, block, e), see, &s);
}

static void conditions(const asked *x, const nw_site *s, nw_vec *out) {
  for (int i = 0; i < s->nwhere; i++) conjuncts(x, s->where[i], out);
  for (int t = 0; t < s->block->block.ntargets; t++) {
    const nw_block_target *g = &s->block->block.target[t];
    see_body(x, s->block, g->value, out);
    see_body(x, s->block, g->init, out);
    for (int d = 0; d < g->n; d++) see_body(x, s->block, g->index[d], out);
  }
}

// ---- iterations in which conditions may fail

// Returns the iterations of all loops around the block. A guard restricts these iterations only if it does not use the
// variable of the examined loop.
static isl_set *rounds(const asked *x, const nw_site *s, const nw_space *v) {
  isl_set *set = isl_set_intersect_params(nw_space_all(v), isl_set_copy(x->m->f->context));
  for (int i = 0; i < s->nloops; i++) set = nw_loop_bounds(v, s->loop[i], set);
  for (int i = 0; i < s->nwhere; i++)
    if (!speaks(x, s->where[i])) set = isl_set_intersect(set, nw_space_cond(v, s->where[i], true));
  return set;
}

// Sets x->branches if this guarded block runs, but in none of the iterations in which earlier guarded blocks run.
static void note_branch(asked *x, const nw_site *s, const nw_space *v, isl_set *runs, int keep) {
  bool guarded = false;
  for (int i = 0; i < s->nwhere; i++) {
    guarded |= speaks(x, s->where[i]);
    runs = isl_set_intersect(runs, nw_space_cond(v, s->where[i], true));
  }
  runs = isl_set_project_out(runs, isl_dim_set, (unsigned)keep, (unsigned)(v->ndims + v->opaque.n - keep));
  bool first = isl_set_is_empty(x->taken) == isl_bool_true, none = isl_set_is_empty(runs) == isl_bool_true;
  if (guarded && !first && !none) x->branches |= isl_set_is_disjoint(runs, x->taken) == isl_bool_true;
  x->taken = guarded ? isl_set_union(x->taken, runs) : (isl_set_free(runs), x->taken);
}

static void add_site(asked *x, const nw_site *s) {
  nw_vec cond = {0};
  nw_space v;
  conditions(x, s, &cond);
  nw_space_init(&v, x->m->f);
  for (int i = 0; i < s->nloops; i++) nw_space_loop(&v, s->loop[i]);
  for (int i = 0; i < s->nloops; i++) nw_scan_loop(&v, s->loop[i]);
  for (int i = 0; i < s->nwhere; i++) nw_space_scan(&v, s->where[i]);
  for (int i = 0; i < cond.n; i++) nw_space_scan(&v, cond.at[i]);
  int keep = s->dim[x->level + 1];
  isl_set *set = rounds(x, s, &v);
  for (int i = 0; i < cond.n; i++) {
    isl_set *fails = isl_set_intersect(isl_set_copy(set), nw_space_cond(&v, cond.at[i], false));
    fails = isl_set_project_out(fails, isl_dim_set, (unsigned)keep, (unsigned)(v.ndims + v.opaque.n - keep));
    x->bad = isl_set_union(x->bad, fails);
  }
  x->n += cond.n;
  note_branch(x, s, &v, isl_set_copy(set), keep);
  set = isl_set_project_out(set, isl_dim_set, (unsigned)keep, (unsigned)(v.ndims + v.opaque.n - keep));
  if (cond.n)
    x->some = isl_set_intersect(x->some, set);
  else
    isl_set_free(set);
  nw_space_free(&v);
  nw_vec_free(&cond);
}

// ---- the interval

// Makes the enclosing loops parameters, after the sizes and the known products of sizes.
static isl_set *of_loop_alone(const asked *x, isl_set *set, int outer) {
  set = isl_set_align_params(set, isl_space_copy(x->m->f->params));
  unsigned params = (unsigned)isl_set_dim(set, isl_dim_param);
  return isl_set_move_dims(set, isl_dim_param, params, isl_dim_set, 0, (unsigned)outer);
}

static const nw_expr *digit(const asked *x, const nw_stmt *loop, int d) {
  const nw_expr *below = nw_index(x->pool, 1);
  for (int i = d + 1; i < loop->loop.nfused; i++) below = nw_mul(x->pool, below, loop->loop.fused[i]);
  return nw_floormod(x->pool, nw_floordiv(x->pool, loop->loop.var, below), loop->loop.fused[d]);
}

// Stores the expressions of the parameters: the sizes, the products of sizes, and then the enclosing loops. Returns
// their number.
static int parameters(const asked *x, const nw_site *s, const nw_expr **out) {
  int n = 0;
  const nw_family *f = x->m->f;
  for (int i = 0; i < f->nsizes; i++) out[n++] = nw_var(x->pool, f->size[i].name);
  for (int i = 0; i < f->product.n; i++) out[n++] = f->product.at[i];
  for (int i = 0; i < x->level; i++) {
    const nw_stmt *l = s->loop[i];
    if (!l->loop.nfused) out[n++] = l->loop.var;
    for (int d = 0; d < l->loop.nfused; d++) out[n++] = digit(x, l, d);
  }
  return n;
}

// True if every iteration between two iterations of `good` is in `good`, too.
static isl_bool in_one_piece(isl_set *good) {
  isl_space *space = isl_set_get_space(good);
  isl_set *after = isl_set_apply(isl_set_copy(good), isl_map_lex_le(isl_space_copy(space))),
          *before = isl_set_apply(isl_set_copy(good), isl_map_lex_ge(space));
  isl_set *between = isl_set_intersect(after, before);
  isl_bool yes = isl_set_is_subset(between, good);
  isl_set_free(between);
  return yes;
}

// Returns a space of the enclosing loops and the loop itself. The bounds of the outermost `loops` loops can be
// expressed in this space.
static nw_space outer_view(const asked *x, const nw_site *s, int loops) {
  nw_space v;
  nw_space_init(&v, x->m->f);
  for (int i = 0; i <= x->level; i++) nw_space_loop(&v, s->loop[i]);
  for (int i = 0; i < loops; i++) nw_scan_loop(&v, s->loop[i]);
  return v;
}

static isl_set *outer_bounds(const asked *x, const nw_site *s, const nw_space *v, int loops) {
  isl_set *set = isl_set_intersect_params(nw_space_all(v), isl_set_copy(x->m->f->context));
  for (int i = 0; i < loops; i++) set = nw_loop_bounds(v, s->loop[i], set);
  return set;
}

static isl_set *without_opaque(isl_set *set, const nw_space *v) {
  return isl_set_project_out(set, isl_dim_set, (unsigned)v->ndims, (unsigned)v->opaque.n);
}

static isl_set *range_of(const asked *x, const nw_site *s) {
  nw_space v = outer_view(x, s, x->level + 1);
  isl_set *set = without_opaque(outer_bounds(x, s, &v, x->level + 1), &v);
  nw_space_free(&v);
  return set;
}

// True if every i with lo <= i < hi is an iteration in `good`, for all sizes and all iterations of the enclosing loops.
static isl_bool stands(const asked *x, const nw_site *s, const nw_interval *out, isl_set *good) {
  nw_space v = outer_view(x, s, x->level);
  nw_space_scan(&v, out->lo);
  nw_space_scan(&v, out->hi);
  isl_set *set = outer_bounds(x, s, &v, x->level);
  int it = nw_space_first(&v, x->loop->loop.var->name);
  set = isl_set_intersect(set, isl_pw_aff_ge_set(nw_space_dim(&v, it), nw_space_aff(&v, out->lo)));
  set = without_opaque(isl_set_intersect(set, isl_pw_aff_lt_set(nw_space_dim(&v, it), nw_space_aff(&v, out->hi))), &v);
  isl_bool yes = isl_set_is_subset(set, good);
  isl_set_free(set);
  nw_space_free(&v);
  return yes;
}

// Returns the lower bound that a constraint gives for the set's only dimension, or the upper bound if `least` is false.
// Returns NULL if the constraint does not give this bound.
static isl_pw_aff *bound_by(isl_constraint *c, bool least) {
  isl_bool it = isl_constraint_is_equality(c) == isl_bool_true ? isl_bool_false
                : least                                        ? isl_constraint_is_lower_bound(c, isl_dim_set, 0)
                                                               : isl_constraint_is_upper_bound(c, isl_dim_set, 0);
  isl_aff *a = it == isl_bool_true ? isl_constraint_get_bound(c, isl_dim_set, 0) : NULL;
  a = a && least ? isl_aff_ceil(a) : a ? isl_aff_floor(a) : NULL;
  isl_constraint_free(c);
  return a ? isl_pw_aff_project_domain_on_params(isl_pw_aff_from_aff(a)) : NULL;
}

enum { FEW = 3 }; // maximal number of pieces for which the hull is computed

// Returns the set as one list of constraints; NULL if the set is not convex or has more than FEW pieces.
static isl_basic_set *one_piece(isl_set *alone) {
  if (isl_set_n_basic_set(alone) > FEW) return NULL;
  isl_basic_set *b = isl_set_convex_hull(isl_set_copy(alone));
  isl_set *hull = isl_set_from_basic_set(isl_basic_set_copy(b));
  bool same = isl_set_is_subset(hull, alone) == isl_bool_true && isl_basic_set_dim(b, isl_dim_div) == 0;
  isl_set_free(hull);
  if (same) return isl_basic_set_remove_redundancies(b);
  isl_basic_set_free(b);
  return NULL;
}

// Returns the greatest of the lower bounds if `least` is true, otherwise the least of the upper bounds. The result is a
// max or min expression, which is shorter than a case distinction. Returns NULL if no bound can be expressed.
static const nw_expr *by_bounds(const asked *x, isl_set *alone, int n, const nw_expr *const *param, bool least) {
  isl_basic_set *b = one_piece(alone);
  isl_constraint_list *list = b ? isl_basic_set_get_constraint_list(b) : NULL;
  const nw_expr *e = NULL;
  for (int i = 0; list && i < isl_constraint_list_n_constraint(list); i++) {
    isl_pw_aff *a = bound_by(isl_constraint_list_get_constraint(list, i), least);
    const nw_expr *one = a ? nw_expr_back(x->pool, a, n, param) : NULL;
    if (one) e = !e ? one : (least ? nw_max : nw_min)(x->pool, e, one);
  }
  isl_constraint_list_free(list);
  isl_basic_set_free(b);
  return e;
}

static const nw_expr *bound(const asked *x, const nw_site *s, isl_set *alone, isl_set *around, bool least) {
  const nw_family *f = x->m->f;
  const nw_expr **param = NW_NEW_N(x->m->arena, const nw_expr *, f->nsizes + f->product.n + s->dim[x->level] + 1);
  int n = parameters(x, s, param);
  isl_pw_aff *a = least ? isl_set_dim_min(isl_set_copy(alone), 0) : isl_set_dim_max(isl_set_copy(alone), 0);
  a = isl_pw_aff_gist_params(a, isl_set_copy(around));
  const nw_expr *e = isl_pw_aff_n_piece(a) > 1 ? by_bounds(x, alone, n, param, least) : NULL;
  if (e)
    isl_pw_aff_free(a);
  else
    e = nw_expr_back(x->pool, a, n, param);
  return least || !e ? e : nw_add(x->pool, e, nw_index(x->pool, 1));
}

// Computes the interval of the iterations in which every condition holds. Returns NW_FAILS if the conditions hold in no
// iteration, or if the iterations are not consecutive.
static nw_answer solve(const asked *x, const nw_site *s, nw_interval *out) {
  isl_set *good = isl_set_subtract(isl_set_copy(x->range), isl_set_copy(x->bad));
  isl_set *alone = of_loop_alone(x, isl_set_copy(good), s->dim[x->level]);
  isl_set *around = isl_set_params(of_loop_alone(x, isl_set_copy(x->some), s->dim[x->level]));
  alone = isl_set_intersect_params(alone, isl_set_copy(around));
  isl_bool none = isl_set_is_empty(alone), whole = none == isl_bool_false ? in_one_piece(alone) : isl_bool_false;
  if (whole == isl_bool_true) {
    out->lo = bound(x, s, alone, around, true);
    out->hi = bound(x, s, alone, around, false);
    out->stands = out->lo && out->hi && stands(x, s, out, good) == isl_bool_true;
  }
  isl_set_free(good);
  isl_set_free(alone);
  isl_set_free(around);
  // true if the conditions hold in consecutive iterations, but the bounds of these iterations cannot be expressed
  bool lost = whole == isl_bool_true && !(out->lo && out->hi);
  if (none < 0 || whole < 0 || lost) return nw_proofs_lost(x->m->f->s);
  out->apart = none == isl_bool_false && !whole;
  return out->lo && out->hi ? NW_HOLDS : NW_FAILS;
}

static int level_of(const asked *x, const nw_site *s) {
  int k = 0;
  while (s->loop[k] != x->loop) k++;
  return k;
}

// Prepares the question. Sets *s to a site in the loop, or to NULL if the loop is fused or has no sites. Returns false
// with a diagnostic if proofs cannot begin.
static bool begin_asking(asked *x, const nw_program *p, const nw_stmt *loop, const nw_site **s) {
  const nw_model *m = nw_proofs_begin(nw_proofs_of(p->ctx), p) ? nw_model_of(p, NULL) : NULL;
  if (!m) return false;
  *x = (asked){.m = m, .loop = loop, .pool = p->pool};
  *s = any_site(x);
  if (*s && loop->loop.nfused) *s = NULL;
  if (!*s) return true;
  x->level = level_of(x, *s);
  x->range = range_of(x, *s);
  return true;
}

static bool holding_once(const nw_program *p, const nw_stmt *loop, nw_interval *out) {
  asked x;
  const nw_site *s;
  *out = (nw_interval){0};
  if (!begin_asking(&x, p, loop, &s)) return false;
  if (!s) return true;
  const nw_model *m = x.m;
  x.bad = isl_set_empty(isl_set_get_space(x.range));
  x.some = isl_set_copy(x.range);
  x.taken = isl_set_copy(x.bad);
  for (int i = 0; i < m->nsites; i++)
    if (is_below(&x, m->site[i]) && !m->site[i]->maybe) add_site(&x, m->site[i]);
  out->nconds = x.n;
  out->branches = x.branches;
  nw_answer answer = x.n ? solve(&x, s, out) : NW_FAILS;
  isl_set_free(x.range);
  isl_set_free(x.bad);
  isl_set_free(x.some);
  isl_set_free(x.taken);
  return answer != NW_ABORTED;
}

typedef bool (*ask_once)(const nw_program *p, const nw_stmt *loop, nw_interval *out);

// Asks a question by calling `once`. If stored results may have affected the answer, frees these results and calls
// `once` again.
static bool ask_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out, ask_once once) {
  bool ok = once(p, loop, out);
  if (nw_stopped(p->ctx) || !nw_proofs_from_nothing(nw_proofs_of(p->ctx))) return ok;
  nw_clear(p->ctx);
  nw_model_drop(p);
  return once(p, loop, out);
}

bool nw_holding_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out) {
  return ask_rounds(p, loop, out, holding_once);
}

// ---- iterations that contribute to a reduction, or that store values other than the constant of a padding

static const nw_expr *inside_where(const nw_model *m, const nw_stmt *block) {
  nw_padding padding;
  return nw_padding_of(m->p, block, &padding) ? padding.inside : NULL;
}

// Returns the iterations in which the condition of the site may hold for some instance. Returns all iterations if the
// site has no condition.
static isl_set *contributing(asked *x, const nw_site *s) {
  const nw_expr *cond = s->init ? NULL : x->condition(x->m, s->block);
  if (cond) cond = nw_block_bound(x->m->p, s->block, cond);
  nw_space v;
  nw_space_init(&v, x->m->f);
  for (int i = 0; i < s->nloops; i++) nw_space_loop(&v, s->loop[i]);
  for (int i = 0; i < s->nloops; i++) nw_scan_loop(&v, s->loop[i]);
  for (int i = 0; i < s->nwhere; i++) nw_space_scan(&v, s->where[i]);
  if (cond) nw_space_scan(&v, cond);
  isl_set *set = rounds(x, s, &v);
  if (cond) set = isl_set_intersect(set, nw_space_cond(&v, cond, true));
  int keep = s->dim[x->level + 1];
  set = isl_set_project_out(set, isl_dim_set, (unsigned)keep, (unsigned)(v.ndims + v.opaque.n - keep));
  nw_space_free(&v);
  x->n += cond != NULL;
  x->branches |= !cond;
  return set;
}

// Sets *out to the range from the first to the last iteration in which a condition may hold. Returns false if the bounds of this
// range cannot be expressed.
static bool hull(const asked *x, const nw_site *s, nw_interval *out) {
  isl_set *alone = of_loop_alone(x, isl_set_copy(x->some), s->dim[x->level]);
  isl_set *around = isl_set_params(isl_set_copy(alone));
  bool any = isl_set_is_empty(alone) == isl_bool_false;
  if (any) {
    out->lo = bound(x, s, alone, around, true);
    out->hi = bound(x, s, alone, around, false);
    out->stands = out->lo && out->hi && stands(x, s, out, x->range) == isl_bool_true;
  }
  isl_set_free(alone);
  isl_set_free(around);
  return (out->lo && out->hi) || nw_proofs_lost(x->m->f->s) == NW_HOLDS;
}

static bool range_once(const nw_program *p, const nw_stmt *loop, nw_interval *out, condition_of condition) {
  asked x;
  const nw_site *s;
  *out = (nw_interval){0};
  if (!begin_asking(&x, p, loop, &s)) return false;
  if (!s) return true;
  x.condition = condition;
  const nw_model *m = x.m;
  x.some = isl_set_empty(isl_set_get_space(x.range));
  for (int i = 0; i < m->nsites; i++)
    if (is_below(&x, m->site[i])) x.some = isl_set_union(x.some, contributing(&x, m->site[i]));
  x.some = isl_set_coalesce(x.some);
  out->nconds = x.branches ? 0 : x.n;
  bool ok = !out->nconds || hull(&x, s, out);
  isl_set_free(x.range);
  isl_set_free(x.some);
  return ok;
}

static bool contributing_once(const nw_program *p, const nw_stmt *loop, nw_interval *out) {
  return range_once(p, loop, out, nw_contributes_where);
}

static bool inside_once(const nw_program *p, const nw_stmt *loop, nw_interval *out) {
  return range_once(p, loop, out, inside_where);
}

bool nw_contributing_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out) {
  return ask_rounds(p, loop, out, contributing_once);
}

bool nw_inside_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out) {
  return ask_rounds(p, loop, out, inside_once);
}
