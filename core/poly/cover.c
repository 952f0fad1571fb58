// Checks three properties of a program. Every executed instance is in the declared domain, every instance is executed
// at most once, and every declared instance is executed. If possible, each part of a site is checked separately. (A
// part is a group of loops and variables that depend on each other; see parts.c.)
#include "poly/radix.h"
#include <stdlib.h>

#define MAX_PARTS (2 * NW_MAX_DEPTH)

// True if the property `what` (NW_RADIX_...) holds for a part of a site. The result is stored, so that it can be reused
// for any equal part.
static isl_bool of_part(const nw_model *m, const nw_site *s, int from, nw_part part, int what,
                        isl_bool (*holds)(const nw_model *m, const nw_site *s, int from, nw_part part)) {
  bool box = what != NW_RADIX_INSIDE || !s->block->block.when; // the radix knows only the ranges of the variables
  if (box && (what == NW_RADIX_ONCE || !from) && nw_part_radix(s, part) & what) return isl_bool_true;
  int number = nw_part_number(s, from, part), fact = number ? nw_fact_of(m->f, 'Q', number, what, 0, 0) : 0;
  if (fact && nw_fact_proved(m->f, fact)) return isl_bool_true;
  if (fact && nw_fact_denied(m->f, fact)) return isl_bool_false;
  isl_bool answer = holds(m, s, from, part);
  if (fact && answer == isl_bool_true) nw_fact_prove(m->f, fact);
  if (fact && answer == isl_bool_false) nw_fact_deny(m->f, fact);
  return answer;
}

// ---- inside the domain

// Returns the executions whose instance is outside the declared ranges of the block's variables, or does not satisfy
// the condition on the instances.
static isl_set *outside(const nw_model *m, const nw_site *s) {
  const nw_space *v = &s->view;
  const nw_expr *when = s->block->block.when;
  isl_set *domain = isl_set_add_dims(isl_set_copy(s->domain), isl_dim_set, (unsigned)v->opaque.n);
  isl_set *bad = isl_set_empty(isl_set_get_space(domain));
  for (int i = 0; i < s->block->block.nvars; i++) {
    const nw_block_var *b = &s->block->block.var[i];
    if (s->init && b->kind == NW_REDUCE) continue;
    isl_pw_aff *bind = nw_space_aff(v, b->bind), *lo = nw_space_aff(v, b->lo);
    isl_pw_aff *end = isl_pw_aff_add(isl_pw_aff_copy(lo), nw_space_aff(v, b->extent));
    isl_set *below = isl_pw_aff_lt_set(isl_pw_aff_copy(bind), lo);
    isl_set *out = isl_set_intersect(isl_set_union(below, isl_pw_aff_ge_set(bind, end)), isl_set_copy(domain));
    bad = isl_set_union(bad, out);
  }
  if (when) {
    isl_set *not = nw_space_cond(v, nw_block_bound(m->p, s->block, when), false);
    bad = isl_set_union(bad, isl_set_intersect(not, isl_set_copy(domain)));
  }
  isl_set_free(domain);
  return isl_set_project_out(bad, isl_dim_set, (unsigned)v->ndims, (unsigned)v->opaque.n);
}

static isl_bool part_is_inside(const nw_model *m, const nw_site *s, int from, nw_part part) {
  if (!nw_declared_exact(m->f, s, part.vars)) return isl_bool_false;
  isl_set *beyond = isl_set_complement(nw_declared(m->f, s, part.vars));
  isl_map *out = isl_map_intersect_range(nw_part_map(s, from, part), beyond);
  isl_bool inside = isl_map_is_empty(out);
  isl_map_free(out);
  return inside;
}

// If every part is inside the domain, the product of the parts is inside. The converse does not hold: a part may be
// outside while another part is empty.
static isl_bool parts_are_inside(const nw_model *m, const nw_site *s) {
  nw_part part[MAX_PARTS];
  isl_bool inside = isl_bool_true;
  for (int i = 0, n = nw_site_parts(s, 0, part); i < n && inside == isl_bool_true; i++)
    if (part[i].vars) inside = of_part(m, s, 0, part[i], NW_RADIX_INSIDE, part_is_inside);
  return inside;
}

nw_answer nw_in_domain(const nw_model *m, const nw_site *s, isl_set **bad) {
  int fact = nw_fact_of(m->f, 'd', s->number, 0, 0, 0);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  isl_bool inside = s->exact ? parts_are_inside(m, s) : isl_bool_false;
  bool unknown = inside == isl_bool_false;
  isl_set *out = unknown ? outside(m, s) : NULL;
  nw_answer answer = nw_answer_of(m->f->s, unknown ? isl_set_is_empty(out) : inside);
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  if (answer == NW_FAILS)
    *bad = out;
  else
    isl_set_free(out);
  return answer;
}

// ---- at most once

static isl_bool part_is_once(const nw_model *m, const nw_site *s, int from, nw_part part) {
  (void)m;
  isl_map *map = nw_part_map(s, from, part);
  isl_bool once = isl_map_is_injective(map);
  isl_map_free(map);
  return once;
}

nw_answer nw_executes_once(const nw_model *m, const nw_site *s, int from) {
  int fact = nw_fact_of(m->f, 'o', s->number, from, 0, 0);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  if (nw_fact_denied(m->f, fact)) return NW_FAILS;
  nw_part part[MAX_PARTS];
  isl_bool once = isl_bool_true;
  for (int i = 0, n = nw_site_parts(s, from, part); i < n && once == isl_bool_true; i++)
    once = of_part(m, s, from, part[i], NW_RADIX_ONCE, part_is_once);
  if (once == isl_bool_true) nw_fact_prove(m->f, fact);
  if (once == isl_bool_false) nw_fact_deny(m->f, fact);
  return nw_answer_of(m->f->s, once);
}

// ---- all instances

// The sites of a program that do the same work. `full` is the set of the variables that take all their declared values
// in every site, as bits.
typedef struct group {
  const nw_model *m;
  int n;
  const nw_site **site;
  nw_part (*part)[MAX_PARTS];
  int *nparts;
  uint64_t full;
} group;

static isl_bool part_is_full(const nw_model *m, const nw_site *s, int from, nw_part part) {
  isl_set *range = nw_set_with_quotients(m->f->s, isl_map_range(nw_part_map(s, from, part)));
  isl_set *box = nw_declared(m->f, s, part.vars);
  isl_bool full = isl_set_is_subset(box, range);
  isl_set_free(box);
  isl_set_free(range);
  return full;
}

// Removes the variables of each part from `full` if `full` has only some of them. Returns true if `full` has changed.
static bool shrink(group *g) {
  bool changed = false;
  for (int i = 0; i < g->n; i++)
    for (int p = 0; p < g->nparts[i]; p++) {
      uint64_t vars = g->part[i][p].vars;
      if (!(vars & g->full) || !(vars & ~g->full)) continue;
      g->full &= ~vars;
      changed = true;
    }
  return changed;
}

static isl_bool find_full(group *g) {
  g->full = nw_all_vars(g->site[0]);
  for (int i = 0; i < g->n; i++) {
    g->nparts[i] = nw_site_parts(g->site[i], 0, g->part[i]);
    for (int p = 0; p < g->nparts[i]; p++) {
      isl_bool full = of_part(g->m, g->site[i], 0, g->part[i][p], NW_RADIX_FULL, part_is_full);
      if (full < 0) return full;
      if (!full && !g->part[i][p].vars) g->full = 0;
      if (!full) g->full &= ~g->part[i][p].vars;
    }
  }
  while (shrink(g)) {}
  return isl_bool_true;
}

// Returns the values of the variables outside `full` for which site number i of the group executes an instance.
static isl_set *rest_of(const group *g, int i) {
  nw_part rest = {0, 0};
  for (int p = 0; p < g->nparts[i]; p++) {
    nw_part part = g->part[i][p];
    if (part.vars && !(part.vars & ~g->full)) continue;
    rest.loops |= part.loops;
    rest.vars |= part.vars;
  }
  return nw_set_with_quotients(g->m->f->s, isl_map_range(nw_part_map(g->site[i], 0, rest)));
}

// True if the group is one site without conditions, all its variables are in `full`, and each of its loops belongs to a
// variable.
static bool none_left(const group *g) {
  if (g->n > 1 || g->full != nw_all_vars(g->site[0])) return false;
  for (int p = 0; p < g->nparts[0]; p++)
    if (!g->part[0][p].vars) return false;
  nw_vec cond = nw_site_conditions(g->site[0]);
  bool none = !cond.n && g->site[0]->exact && !g->site[0]->pieces;
  nw_vec_free(&cond);
  return none;
}

static isl_bool group_full(const group *g, isl_bool *apart) {
  *apart = isl_bool_true;
  if (none_left(g)) return isl_bool_true;
  isl_set *seen = isl_set_empty(nw_family_space(g->m->f, __builtin_popcountll(nw_all_vars(g->site[0]) & ~g->full)));
  for (int i = 0; i < g->n; i++) {
    isl_set *rest = rest_of(g, i);
    if (*apart == isl_bool_true) *apart = isl_set_is_disjoint(seen, rest);
    seen = isl_set_union(seen, rest);
  }
  isl_set *box = nw_declared(g->m->f, g->site[0], nw_all_vars(g->site[0]) & ~g->full);
  isl_bool full = isl_set_is_subset(box, seen);
  isl_set_free(box);
  isl_set_free(seen);
  return full;
}

static isl_bool decide(group *g, bool *once) {
  for (int i = 1; i < g->n; i++)
    if (g->site[i]->nvars != g->site[0]->nvars) return isl_bool_false;
  isl_bool apart = isl_bool_true, full = find_full(g);
  if (full == isl_bool_true) full = group_full(g, &apart);
  if (full < 0 || apart < 0) return isl_bool_error;
  *once = apart;
  for (int i = 0; *once && i < g->n; i++) {
    nw_answer answer = nw_executes_once(g->m, g->site[i], 0);
    if (answer == NW_ABORTED) return isl_bool_error;
    *once = answer == NW_HOLDS;
  }
  return full;
}

static int group_number(const nw_model *m, const nw_sites *like) {
  nw_key k = {0};
  nw_key_add(&k, 'f');
  for (int i = 0; i < like->n; i++)
    if (!like->at[i]->maybe) nw_key_add(&k, (uintptr_t)like->at[i]->number);
  int number = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  return number;
}

static group find_group(const nw_model *m, const nw_sites *like) {
  group g = {.m = m};
  g.site = NW_NEW_N(m->arena, const nw_site *, like->n);
  for (int i = 0; i < like->n; i++)
    if (!like->at[i]->maybe) g.site[g.n++] = like->at[i];
  g.part = nw_xcalloc((size_t)g.n, sizeof *g.part);
  g.nparts = NW_NEW_N(m->arena, int, g.n);
  return g;
}

static nw_answer remember(const nw_model *m, int fact, nw_answer answer) {
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  if (answer == NW_FAILS) nw_fact_deny(m->f, fact);
  return answer;
}

// Decides whether the sites that do the same work as s execute every declared instance. If they do, sets *once to true
// if they execute every instance exactly once.
nw_answer nw_instances_full(const nw_model *m, const nw_site *s, bool *once) {
  nw_sites like = nw_sites_like(m, s);
  int number = group_number(m, &like);
  int full = nw_fact_of(m->f, 'F', number, 1, 0, 0), single = nw_fact_of(m->f, 'F', number, 2, 0, 0);
  *once = nw_fact_proved(m->f, single);
  if (nw_fact_proved(m->f, full)) return NW_HOLDS;
  if (nw_fact_denied(m->f, full)) return NW_FAILS;
  group g = find_group(m, &like);
  nw_answer answer = remember(m, full, nw_answer_of(m->f->s, decide(&g, once)));
  if (answer == NW_HOLDS) remember(m, single, *once ? NW_HOLDS : NW_FAILS);
  free(g.part);
  return answer;
}
