// Judges reductions that are computed in parts. A block that combines partial results is equivalent to one reduction,
// the *whole*, under three conditions. The parts start from the neutral element. The parts are combined with the
// combiner of the whole. Together, the parts have each contribution of the whole exactly once. For example:
//
//   C[i] = sum over k of A[i, k]   =   sum over r of P[i, r], where P[i, r] = sum over s of A[i, 4*s + r]
//
// Substituting the body of P for its load gives a term in the variables (i, r, s). A comparison with the whole's term
// gives k = 4*s + r, for all r and s for which the part contributes more than the neutral element. isl decides whether
// the map (i, r, s) -> (i, k) reaches every k once. buffer.c checks that each part is complete when it is read, as for
// every reduction. If the parts were combined in pairs, unhalve.c first finds the parts that were there before.
#include "poly/internal.h"

typedef struct whole {
  const nw_model *before, *after;
  const nw_stmt *was, *is, *part;
  nw_block_var *var; // the variables of `is`, with the ranges in which it reads all parts
  nw_pool *pool;
  // The reduce variables of the whole are the unknowns of the comparison. `solved` has the values found for them.
  int nk;
  const char *unknown[NW_MAX_DEPTH];
  const nw_expr *solved[NW_MAX_DEPTH];
  const nw_expr *cond; // the condition under which the part contributes; NULL if it always does
} whole;

// ---- the blocks involved

static bool is_reduction(const nw_stmt *b) { return b->block.combiner != NW_PLAIN; }

// Returns the only block that writes the temporary; NULL if several blocks write it.
const nw_stmt *nw_only_writer(const nw_model *m, const char *buffer) {
  const nw_buffer *b = nw_find_buffer(m->p, buffer);
  const nw_stmt *found = NULL;
  if (!b || b->role != NW_TEMP) return NULL;
  for (int i = 0; i < m->nsites; i++)
    for (int t = 0; t < m->site[i]->block->block.ntargets; t++) {
      if (strcmp(m->site[i]->block->block.target[t].buffer, buffer)) continue;
      if (found && found != m->site[i]->block) return NULL;
      found = m->site[i]->block;
    }
  return found;
}

static bool same_index(const nw_expr *const *a, const nw_expr *const *b, int n) {
  for (int i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

// Finds the block that computes the parts, and stores it in w->part. All targets of `is` must read the same element,
// each from the corresponding target of that block. Returns false if there is no such block.
static bool find_part(whole *w) {
  const nw_stmt *is = w->is;
  const nw_expr *first = is->block.target[0].value;
  for (int t = 0; t < is->block.ntargets; t++) {
    const nw_expr *load = is->block.target[t].value;
    if (load->op != NW_OP_LOAD || load->n != first->n) return false;
    if (!same_index((const nw_expr *const *)load->arg, (const nw_expr *const *)first->arg, load->n)) return false;
    const nw_stmt *part = nw_only_writer(w->after, load->name);
    if (!part || part == is || (t && part != w->part) || t >= part->block.ntargets) return false;
    if (strcmp(part->block.target[t].buffer, load->name)) return false;
    w->part = part;
  }
  return w->part->block.ntargets == is->block.ntargets;
}

// True if the index of every target is the same list of the part's spatial variables.
bool nw_is_spread(const nw_stmt *part) {
  const nw_block_target *first = &part->block.target[0];
  for (int t = 0; t < part->block.ntargets; t++) {
    const nw_block_target *g = &part->block.target[t];
    if (g->n != first->n || !nw_index_is_vars(part, g->n, (const nw_expr *const *)g->index)) return false;
    if (!same_index((const nw_expr *const *)g->index, (const nw_expr *const *)first->index, g->n)) return false;
  }
  return true;
}

static bool neutral(const whole *w, int t, const nw_expr *e) {
  const nw_buffer *b = nw_find_buffer(w->after->p, w->is->block.target[t].buffer);
  return nw_is_neutral(w->is, t, b->dtype, e);
}

static bool starts_from_nothing(const whole *w) {
  if (!NW_RULE(w->after->p->ctx, parts_neutral)) return true;
  for (int t = 0; t < w->part->block.ntargets; t++)
    if (!neutral(w, t, w->part->block.target[t].init)) return false;
  return true;
}

static bool combined_alike(const whole *w) {
  if (!is_reduction(w->part)) { // one contribution per part
    for (int i = 0; i < w->part->block.nvars; i++)
      if (w->part->block.var[i].kind == NW_REDUCE) return false;
    return true;
  }
  bool alike = w->part->block.combiner == w->is->block.combiner || !NW_RULE(w->after->p->ctx, parts_combiner);
  return alike && starts_from_nothing(w);
}

// ---- the two bodies

static const char *marked(nw_pool *pool, const char *name, char with) {
  nw_str s = {0};
  nw_str_fmt(&s, "%s%c", name, with);
  const char *out = nw_pool_name(pool, s.s);
  nw_str_free(&s);
  return out;
}

// Returns the body of the whole, with unknowns in place of the reduce variables: "k" becomes "k?".
static const nw_expr *body_of_whole(whole *w, int t) {
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  w->nk = 0;
  for (int i = 0; i < w->was->block.nvars; i++) {
    const nw_block_var *v = &w->was->block.var[i];
    if (v->kind != NW_REDUCE) continue;
    name[w->nk] = v->var->name;
    w->unknown[w->nk] = marked(w->pool, v->var->name, '?');
    by[w->nk] = nw_var(w->pool, w->unknown[w->nk]);
    w->nk++;
  }
  nw_normal forms = {.m = w->before, .other = w->after, .pool = w->pool};
  const nw_expr *e = nw_normal_form(&forms, w->was->block.target[t].value);
  return forms.rounded ? NULL : nw_subst_n(w->pool, e, w->nk, name, by);
}

// Returns the body of the part for the element that is read. Its reduce variables are renamed, for example from "s" to
// "s'", to distinguish them from those of the reader.
static const nw_expr *body_of_part(const whole *w, int t) {
  const char *name[2 * NW_MAX_DEPTH];
  const nw_expr *by[2 * NW_MAX_DEPTH];
  const nw_block_target *g = &w->part->block.target[t];
  int n = 0;
  for (int d = 0; d < g->n; d++) name[n] = g->index[d]->name, by[n++] = w->is->block.target[t].value->arg[d];
  for (int i = 0; i < w->part->block.nvars; i++) {
    const nw_block_var *v = &w->part->block.var[i];
    if (v->kind == NW_REDUCE) name[n] = v->var->name, by[n++] = nw_var(w->pool, marked(w->pool, v->var->name, '\''));
  }
  nw_normal forms = {.m = w->after, .other = w->before, .copies_only = true, .pool = w->pool};
  const nw_expr *e = nw_normal_form(&forms, g->value);
  return forms.rounded ? NULL : nw_subst_n(w->pool, e, n, name, by);
}

// ---- values of the unknowns

static bool has_unknown(const whole *w, const nw_expr *e) {
  for (int k = 0; k < w->nk; k++)
    if (nw_uses_var(e, w->unknown[k])) return true;
  return false;
}

static const nw_expr *filled(const whole *w, const nw_expr *e) {
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  int n = 0;
  for (int k = 0; k < w->nk; k++)
    if (w->solved[k]) name[n] = w->unknown[k], by[n++] = w->solved[k];
  return nw_subst_n(w->pool, e, n, name, by);
}

// Solves a == b if a and b are index expressions, and a is affine in one unknown with the coefficient 1 or -1. The
// types must be tested because one body may have data where the other body has an index.
static void solve(whole *w, const nw_expr *a, const nw_expr *b) {
  int64_t coef[NW_MAX_DEPTH];
  const nw_expr *rest;
  int at = -1;
  a = filled(w, a);
  if (a->type.dtype != NW_INDEX || (b->type.dtype != NW_INDEX && !NW_MUTATED(parts_of_data)) ||
      !nw_affine(w->pool, a, w->nk, w->unknown, coef, &rest))
    return;
  for (int k = 0; k < w->nk; k++) {
    if (!coef[k]) continue;
    if (at >= 0 || (coef[k] != 1 && coef[k] != -1)) return;
    at = k;
  }
  if (at >= 0) w->solved[at] = coef[at] > 0 ? nw_sub(w->pool, b, rest) : nw_sub(w->pool, rest, b);
}

static void compare(whole *w, const nw_expr *a, const nw_expr *b) {
  if (!has_unknown(w, a)) return;
  solve(w, a, b);
  if (a->op != b->op || a->n != b->n || a->op == NW_OP_VAR) return;
  for (int i = 0; i < a->n; i++) compare(w, a->arg[i], b->arg[i]);
}

static const nw_block_var *reduce_var(const nw_stmt *block, const char *name) {
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if (v->kind == NW_REDUCE && !strcmp(v->var->name, name)) return v;
  }
  return NULL;
}

// Returns what the reader has as the index of the part's spatial variable; NULL if the part has no such variable.
static const nw_expr *index_read(const whole *w, const char *name) {
  const nw_block_target *g = &w->part->block.target[0];
  for (int d = 0; d < g->n; d++)
    if (!strcmp(g->index[d]->name, name)) return w->is->block.target[0].value->arg[d];
  return NULL;
}

// Chooses values for the unknowns that the comparison of the bodies does not determine, because the bodies do not use
// them. Such an unknown is set to its binding in the old program, in which variables of the new program replace the
// loops of the same names. Any choice is valid, since a later check ensures that every instance is reached once.
static void choose(whole *w) {
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  nw_path path;
  int n = 0, k = 0;
  if (!nw_find(w->before->p, w->was->id, &path)) return;
  for (int i = 0; i < path.n - 1; i++) {
    if (path.at[i]->kind != NW_LOOP) continue;
    const nw_stmt *l = path.at[i];
    const char *var = l->loop.var->name, *inner = marked(w->pool, var, '\'');
    const nw_expr *is = reduce_var(w->part, var) ? nw_var(w->pool, inner) : index_read(w, var);
    if (is) name[n] = var, by[n++] = nw_add(w->pool, l->loop.begin, is);
  }
  for (int i = 0; i < w->was->block.nvars; i++) {
    const nw_block_var *v = &w->was->block.var[i];
    if (v->kind != NW_REDUCE) continue;
    if (!w->solved[k]) w->solved[k] = nw_subst_n(w->pool, v->bind, n, name, by);
    k++;
  }
}

static bool all_solved(const whole *w) {
  for (int k = 0; k < w->nk; k++)
    if (!w->solved[k]) return false;
  return true;
}

// Determines the unknowns such that the bodies become equal. Each pass may determine another unknown. Returns true if
// the bodies are equal at the end.
static bool agree(whole *w, int n, const nw_expr *const *was, const nw_expr *const *is) {
  memset(w->solved, 0, sizeof w->solved);
  for (int round = 0; round <= w->nk && !all_solved(w); round++)
    for (int t = 0; t < n; t++) compare(w, was[t], is[t]);
  if (!all_solved(w)) choose(w);
  if (!all_solved(w)) return false;
  for (int t = 0; t < n && NW_RULE(w->after->p->ctx, value_body); t++)
    if (filled(w, was[t]) != is[t]) return false;
  return true;
}

// Replaces select(cond, contribution, neutral) by the contribution, and stores the condition in w->cond. A body that is
// always neutral needs no condition. Returns false if a body has another form.
static bool without_condition(whole *w, int n, const nw_expr **is) {
  for (int t = 0; t < n; t++) {
    if (neutral(w, t, is[t])) continue;
    if (is[t]->op != NW_OP_SELECT || (w->cond && is[t]->arg[0] != w->cond)) return false;
    if (!neutral(w, t, is[t]->arg[2]) && NW_RULE(w->after->p->ctx, parts_neutral)) return false;
    w->cond = is[t]->arg[0];
    is[t] = is[t]->arg[1];
  }
  return w->cond;
}

static bool same_bodies(whole *w) {
  int n = w->is->block.ntargets;
  const nw_expr **was = NW_NEW_N(w->after->arena, const nw_expr *, n),
                **is = NW_NEW_N(w->after->arena, const nw_expr *, n);
  for (int t = 0; t < n; t++) {
    was[t] = body_of_whole(w, t);
    is[t] = body_of_part(w, t);
    if (!was[t] || !is[t]) return false;
  }
  return agree(w, n, (const nw_expr *const *)was, (const nw_expr *const *)is) ||
         (without_condition(w, n, is) && agree(w, n, (const nw_expr *const *)was, (const nw_expr *const *)is));
}

// ---- each contribution once

static isl_set *in_range(const nw_space *v, const char *name, const nw_block_var *var, isl_set *set) {
  isl_pw_aff *lo = nw_space_aff(v, var->lo);
  isl_pw_aff *end = isl_pw_aff_add(isl_pw_aff_copy(lo), nw_space_aff(v, var->extent));
  int dim = nw_space_first(v, name);
  set = isl_set_intersect(set, isl_pw_aff_ge_set(nw_space_dim(v, dim), lo));
  return isl_set_intersect(set, isl_pw_aff_lt_set(nw_space_dim(v, dim), end));
}

typedef struct variables {
  int n;
  const char *name[3 * NW_MAX_DEPTH];
  const nw_block_var *var[3 * NW_MAX_DEPTH];
} variables;

static void add(variables *x, const char *name, const nw_block_var *v) {
  x->name[x->n] = name;
  x->var[x->n++] = v;
}

static bool open_space(const whole *w, const variables *x, nw_space *v) {
  nw_space_init(v, w->after->f);
  for (int i = 0; i < x->n; i++) nw_space_var(v, x->name[i]);
  for (int i = 0; i < x->n; i++) {
    nw_space_scan(v, x->var[i]->lo);
    nw_space_scan(v, x->var[i]->extent);
  }
  for (int k = 0; k < w->nk; k++) nw_space_scan(v, w->solved[k]);
  if (w->cond) nw_space_scan(v, w->cond);
  return v->opaque.n == 0 && (!w->cond || nw_cond_exact(w->cond));
}

static isl_set *box_of(const variables *x, const nw_space *v) {
  isl_set *set = isl_set_intersect_params(nw_space_all(v), isl_set_copy(v->f->context));
  for (int i = 0; i < x->n; i++) set = in_range(v, x->name[i], x->var[i], set);
  return set;
}

// Returns the map (spatial, reduce of the reader, reduce of the part) -> (spatial, reduce of the whole); NULL if isl
// cannot represent it.
static isl_map *contributions(const whole *w) {
  variables x = {0};
  nw_space v;
  int nx = 0;
  for (int i = 0; i < w->is->block.nvars; i++)
    if (w->is->block.var[i].kind != NW_REDUCE) add(&x, w->var[i].var->name, &w->var[i]), nx++;
  for (int i = 0; i < w->is->block.nvars; i++)
    if (w->is->block.var[i].kind == NW_REDUCE) add(&x, w->var[i].var->name, &w->var[i]);
  for (int i = 0; i < w->part->block.nvars; i++)
    if (w->part->block.var[i].kind == NW_REDUCE)
      add(&x, marked(w->pool, w->part->block.var[i].var->name, '\''), &w->part->block.var[i]);
  isl_map *map = NULL;
  if (x.n < NW_MAX_DEPTH && open_space(w, &x, &v)) {
    isl_set *set = box_of(&x, &v);
    if (w->cond) set = isl_set_intersect(set, nw_space_cond(&v, w->cond, true));
    isl_pw_aff_list *value = nw_values_dims(nw_values(&v), &v, 0, nx);
    for (int k = 0; k < w->nk; k++) value = nw_values_expr(value, &v, w->solved[k]);
    map = nw_values_at(&v, set, value);
  }
  nw_space_free(&v);
  return map;
}

// Returns the declared instances of the whole, with the spatial variables before the reduce variables.
static isl_set *wanted(const whole *w) {
  variables x = {0};
  nw_space v;
  for (int reduce = 0; reduce < 2; reduce++)
    for (int i = 0; i < w->was->block.nvars; i++)
      if ((w->was->block.var[i].kind == NW_REDUCE) == reduce)
        add(&x, w->was->block.var[i].var->name, &w->was->block.var[i]);
  nw_space_init(&v, w->after->f);
  for (int i = 0; i < x.n; i++) nw_space_var(&v, x.name[i]);
  for (int i = 0; i < x.n; i++) {
    nw_space_scan(&v, x.var[i]->lo);
    nw_space_scan(&v, x.var[i]->extent);
  }
  isl_set *box = v.opaque.n ? NULL : box_of(&x, &v);
  nw_space_free(&v);
  return box;
}

static nw_answer tell(const whole *w, nw_refusal_kind kind, const char *what) {
  return nw_tell(w->after, kind, NULL, NULL, "%s combines the parts in %s, %s", w->is->block.name, w->part->block.name,
                 what);
}

static nw_answer each_once(const whole *w) {
  nw_ctx *c = w->after->p->ctx;
  isl_map *map = contributions(w);
  isl_set *all = map ? wanted(w) : NULL;
  if (!all) {
    isl_map_free(map);
    return tell(w, NW_REFUSE_UNDECIDED, "but their contributions are not affine");
  }
  isl_bool once = NW_RULE(c, parts_once) ? isl_map_is_injective(map) : isl_bool_true;
  isl_set *have = nw_set_with_quotients(w->after->f->s, isl_map_range(map));
  isl_bool every = NW_RULE(c, parts_all) ? isl_set_is_subset(all, have) : isl_bool_true;
  isl_bool more = NW_RULE(c, parts_all) ? isl_set_is_subset(have, all) : isl_bool_true;
  isl_set_free(all);
  isl_set_free(have);
  if (once < 0 || every < 0 || more < 0) return nw_answer_of(w->after->f->s, isl_bool_error);
  if (!once) return tell(w, NW_REFUSE_REDUCTION, "but one contribution is in two of the parts");
  if (!every) return tell(w, NW_REFUSE_REDUCTION, "but one contribution is in none of the parts");
  return more ? NW_HOLDS
              : tell(w, NW_REFUSE_REDUCTION, "but the parts have contributions that the stage does not have");
}

static bool is_whole(whole *w) {
  w->cond = NULL;
  return nw_is_spread(w->part) && combined_alike(w) && same_bodies(w);
}

bool nw_combines_parts(const nw_model *before, const nw_model *after, const nw_stmt *was, const nw_stmt *is,
                       nw_vec *parts, nw_answer *answer) {
  whole w = {.before = before, .after = after, .was = was, .is = is, .pool = after->p->pool};
  if (!is_reduction(was) || was->block.combiner != is->block.combiner || is->block.ntargets != was->block.ntargets)
    return false;
  if (!find_part(&w)) return false;
  w.var = NW_NEW_N(after->arena, nw_block_var, is->block.nvars + 1);
  if (is->block.nvars) memcpy(w.var, is->block.var, (size_t)is->block.nvars * sizeof *w.var);
  int before_these = parts->n;
  nw_vec_push(parts, (void *)w.part);
  while (!is_whole(&w)) {
    nw_unhalving x = {is, w.part, w.var, NULL};
    if (parts->n - before_these > 2 * NW_MAX_DEPTH || !nw_unhalve(after, &x)) return parts->n = before_these, false;
    w.part = x.part;
    nw_vec_push(parts, (void *)x.given);
    nw_vec_push(parts, (void *)w.part);
  }
  if (answer) *answer = each_once(&w);
  return true;
}
