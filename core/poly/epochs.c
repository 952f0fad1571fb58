// Checks reductions that run more than once. An *epoch* lasts from an init of an element to the next init of the
// element. Each epoch must have every contribution once, so that the last epoch leaves the same value as a single
// epoch.
//
// An init may still be a part of its reduction block. In the model, such an init runs directly before the first update.
// Lowering may move the init before the outermost reduce loop. So an update is treated as earlier than such an init
// only if the update runs in an earlier iteration of the loops around the outermost reduce loop. Then both positions of
// the init give the same epochs.
#include "poly/internal.h"

static bool is_init(const nw_use *w) { return w->site->init || w->site->block->block.init_part; }

static int outermost_reduce(const nw_site *s) {
  int i = 0;
  while (i < s->nloops && !nw_binds_reduce(s->block, s->loop[i]->loop.var->name)) i++;
  return i;
}

// Returns the pairs (execution of a, execution of the init n of the same element) in which a runs first, for both
// possible positions of the init.
static isl_map *before_init(const nw_model *m, nw_use *a, nw_use *n) {
  isl_map *pairs = nw_meet(m, a, n);
  int common = nw_common_loops(a->site, n->site), outer = outermost_reduce(n->site);
  if (!n->site->init || common <= outer) return nw_before(pairs, a, n);
  isl_map *good = isl_map_empty(isl_map_get_space(pairs));
  for (int i = 0; i < a->site->dim[outer]; i++) {
    good = isl_map_union(good, isl_map_order_lt(isl_map_copy(pairs), isl_dim_in, i, isl_dim_out, i));
    pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
  }
  isl_map_free(pairs);
  return good;
}

// Adds to `none` the pairs of executions of a and b between which an init of their element runs.
static isl_map *started_between(const nw_fate *f, nw_use *a, nw_use *b, isl_map *none) {
  for (int i = 0; i < f->nwrites; i++) {
    nw_use *n = f->write[i];
    if (!is_init(n) || n->site->maybe || !nw_may_meet(a, n)) continue;
    isl_map *some = isl_map_apply_range(before_init(f->m, a, n), nw_before(nw_meet(f->m, n, b), n, b));
    none = isl_map_union(none, some);
  }
  return none;
}

// True if an init runs between any two equal contributions.
static isl_bool set_back(const nw_fate *f, nw_use *a, nw_use *b) {
  if (a->alloc != b->alloc || !nw_site_same_work(a->site, b->site)) return isl_bool_true;
  isl_map *again = nw_before(nw_same_contribution(f->m, a, b), a, b);
  isl_map *fine = started_between(f, a, b, isl_map_empty(isl_map_get_space(again)));
  fine = nw_with_quotients(f->m->f->s, fine);
  isl_bool yes = isl_map_is_subset(again, fine);
  isl_map_free(again);
  isl_map_free(fine);
  return yes;
}

// True if an init runs before every execution of the update u.
static isl_bool started(const nw_fate *f, nw_use *u) {
  isl_set *all = isl_map_domain(isl_map_copy(nw_use_map(f->m, u))), *some = isl_set_empty(isl_set_get_space(all));
  for (int i = 0; i < f->nwrites; i++) {
    nw_use *n = f->write[i];
    if (is_init(n) && !n->site->maybe && nw_may_meet(n, u))
      some = isl_set_union(some, isl_map_range(nw_before(nw_meet(f->m, n, u), n, u)));
  }
  some = nw_set_with_quotients(f->m->f->s, some);
  isl_bool yes = isl_set_is_subset(all, some);
  isl_set_free(all);
  isl_set_free(some);
  return yes;
}

static bool same_origin(const nw_use *a, const nw_use *b) {
  return !strcmp(a->site->block->block.origin, b->site->block->block.origin);
}

// True if each execution of the init n is followed by all contributions to its element.
static isl_bool whole(const nw_fate *f, nw_use *n) {
  isl_map *need = NULL, *come = NULL;
  for (int i = 0; i < f->nwrites; i++) {
    nw_use *u = f->write[i];
    if (!u->update || !nw_may_meet(n, u) || !same_origin(n, u)) continue;
    isl_map *some = isl_map_apply_range(nw_before(nw_meet(f->m, n, u), n, u), nw_reduce_values(u));
    come = come ? isl_map_union(come, some) : some;
    if (need) continue;
    isl_set *at = isl_map_domain(isl_map_copy(nw_use_map(f->m, n)));
    need = isl_map_from_domain_and_range(at, nw_declared(f->m->f, u->site, nw_reduce_vars(u->site)));
  }
  if (need) come = nw_with_quotients(f->m->f->s, come);
  isl_bool yes = need ? isl_map_is_subset(need, come) : isl_bool_false;
  isl_map_free(need);
  isl_map_free(come);
  return yes;
}

static isl_bool update_holds(const nw_fate *f, nw_use *u) {
  isl_bool yes = started(f, u);
  for (int j = 0; j < f->nwrites && yes == isl_bool_true && NW_RULE(f->m->p->ctx, epoch_set_back); j++)
    if (f->write[j]->update) yes = set_back(f, u, f->write[j]);
  return yes;
}

static isl_bool all_whole(const nw_fate *f) {
  isl_bool yes = isl_bool_true;
  for (int i = 0; i < f->nwrites && yes == isl_bool_true; i++) {
    if (f->write[i]->update) yes = update_holds(f, f->write[i]);
    if (yes == isl_bool_true && is_init(f->write[i]) && NW_RULE(f->m->p->ctx, epoch_whole)) yes = whole(f, f->write[i]);
  }
  return yes;
}

static int fact_of(const nw_fate *f) {
  nw_key k = {0};
  nw_key_add(&k, 'E');
  for (int i = 0; i < f->nwrites; i++) {
    const nw_use *a = f->write[i];
    nw_key_add(&k, (uintptr_t)a->number);
    nw_key_add(&k, (uintptr_t)(2 * is_init(a) + a->update));
    for (int j = 0; j < i; j++) {
      const nw_use *b = f->write[j];
      nw_key_add(&k, (uintptr_t)nw_common_loops(a->site, b->site));
      nw_key_add(&k, (uintptr_t)(4 * same_origin(a, b) + 2 * (a->alloc == b->alloc) + (a->site->seq < b->site->seq)));
    }
  }
  int fact = nw_fact_number(f->m->f, &k);
  nw_key_free(&k);
  return fact;
}

nw_answer nw_whole_epochs(const nw_fate *f) {
  if (!f->by_value) return NW_FAILS;
  int fact = fact_of(f);
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  if (nw_fact_denied(f->m->f, fact)) return NW_FAILS;
  nw_answer answer = nw_answer_of(f->m->f->s, all_whole(f));
  if (answer == NW_HOLDS) nw_fact_prove(f->m->f, fact);
  if (answer == NW_FAILS) nw_fact_deny(f->m->f, fact);
  return answer;
}
