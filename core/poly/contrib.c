// Checks that a reduction has received each of its contributions exactly once before its result is read. Also checks
// that every element of an output is written.
#include "poly/internal.h"

// ---- repeated contributions

// Returns the map execution -> (element, instance).
static isl_map *contribution(const nw_model *m, nw_use *u) {
  return isl_map_flat_range_product(isl_map_copy(nw_use_map(m, u)), isl_map_copy(u->site->instance));
}

static nw_answer tell_twice(const nw_fate *f, nw_use *a, nw_use *b, isl_map *bad) {
  return nw_tell_pair(f->m,
                      &(nw_story){.kind = NW_REFUSE_REDUCTION,
                                  .source = a,
                                  .sink = b,
                                  .why = "{e} gets one contribution twice, at {s} and at {t}"},
                      bad);
}

static isl_map *different(isl_map *pairs, const nw_use *a) {
  isl_map *out = isl_map_empty(isl_map_get_space(pairs));
  for (int i = 0; i < a->site->view.ndims; i++) {
    out = isl_map_union(out, isl_map_order_lt(isl_map_copy(pairs), isl_dim_in, i, isl_dim_out, i));
    pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
  }
  isl_map_free(pairs);
  return out;
}

isl_map *nw_same_contribution(const nw_model *m, nw_use *a, nw_use *b) {
  return isl_map_apply_range(contribution(m, a), isl_map_reverse(contribution(m, b)));
}

// Checks the pairs `bad` of executions that make the same contribution. A pair is not an error if the reduction is
// initialized again between its two executions.
static nw_answer once_or_anew(const nw_fate *f, nw_use *a, nw_use *b, isl_map *bad) {
  nw_answer answer = nw_answer_of(f->m->f->s, isl_map_is_empty(bad));
  if (answer == NW_FAILS) answer = nw_whole_epochs(f);
  if (answer == NW_FAILS) return tell_twice(f, a, b, bad);
  isl_map_free(bad);
  return answer;
}

// Checks the executions of one block.
static nw_answer once_within(const nw_fate *f, nw_use *u) {
  nw_answer answer = nw_executes_once(f->m, u->site, u->depth);
  return answer == NW_FAILS ? once_or_anew(f, u, u, different(nw_same_contribution(f->m, u, u), u)) : answer;
}

// Checks two blocks that compute parts of one reduction.
static nw_answer once_between(const nw_fate *f, nw_use *a, nw_use *b) {
  if (a->alloc != b->alloc || !nw_site_same_work(a->site, b->site)) return NW_HOLDS;
  int fact = nw_fact_of(f->m->f, '2', a->number, b->number, nw_common_loops(a->site, b->site), 0);
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  isl_map *bad = nw_same_contribution(f->m, a, b);
  isl_bool none = isl_map_is_empty(bad);
  if (none == isl_bool_true) nw_fact_prove(f->m->f, fact);
  return once_or_anew(f, a, b, bad);
}

// True if a repeated contribution does not change the result.
static bool idempotent(nw_combiner c) { return c == NW_MIN_OF || c == NW_MAX_OF || c == NW_ARGMIN || c == NW_ARGMAX; }

nw_answer nw_contributed_once(const nw_fate *f) {
  if (!NW_RULE(f->m->p->ctx, value_contributions_once)) return NW_HOLDS;
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < f->nwrites && answer == NW_HOLDS; i++) {
    if (!f->write[i]->update || idempotent(f->write[i]->site->block->block.combiner)) continue;
    answer = once_within(f, f->write[i]);
    for (int j = i + 1; j < f->nwrites && answer == NW_HOLDS; j++)
      if (f->write[j]->update) answer = once_between(f, f->write[i], f->write[j]);
  }
  return answer;
}

// ---- missing contributions

uint64_t nw_reduce_vars(const nw_site *s) {
  uint64_t mask = 0;
  for (int i = 0; i < s->nvars; i++)
    if (s->var[i]->kind == NW_REDUCE) mask |= UINT64_C(1) << i;
  return mask;
}

isl_map *nw_reduce_values(const nw_use *u) {
  isl_map *k = isl_map_copy(u->site->instance);
  for (int i = u->site->nvars - 1; i >= 0; i--)
    if (u->site->var[i]->kind != NW_REDUCE) k = isl_map_project_out(k, isl_dim_out, (unsigned)i, 1);
  return k;
}

// Returns the pairs (element, values of the reduce variables) of all contributions that are executed.
static isl_set *contributed(const nw_model *m, nw_use *u) {
  return isl_map_range(isl_map_flat_range_product(isl_map_copy(nw_use_map(m, u)), nw_reduce_values(u)));
}

// Returns the elements that r reads; all elements of the buffer if r is NULL.
isl_set *nw_wanted(const nw_fate *f, nw_use *r) {
  return r ? isl_map_range(isl_map_copy(nw_use_map(f->m, r)))
           : nw_shape_box(f->m->f, f->buffer->ndim, (const nw_expr *const *)f->buffer->shape);
}

// One of the reductions that fill the buffer, identified by its init and one of its updates.
typedef struct reduction {
  const nw_fate *f;
  const nw_stmt *alloc;
  const nw_use *init;
  const nw_use *update; // NULL if there is none
} reduction;

static bool is_init(const nw_use *w) { return w->site->init || w->site->block->block.init_part; }

static bool belongs(const reduction *d, const nw_use *w) {
  return w->alloc == d->alloc && !strcmp(w->site->block->block.origin, d->init->site->block->block.origin);
}

static reduction find_reduction(const nw_fate *f, const nw_use *init) {
  reduction d = {f, init->alloc, init, NULL};
  for (int i = 0; i < f->nwrites; i++)
    if (f->write[i]->update && belongs(&d, f->write[i])) d.update = f->write[i];
  return d;
}

static isl_set *started(const reduction *d, int dims) {
  isl_set *set = isl_set_empty(nw_family_space(d->f->m->f, dims + d->f->buffer->ndim));
  for (int i = 0; i < d->f->nwrites; i++)
    if (is_init(d->f->write[i]) && belongs(d, d->f->write[i]))
      set = isl_set_union(set, isl_map_range(isl_map_copy(nw_use_map(d->f->m, d->f->write[i]))));
  return set;
}

// Returns the elements that lack some contribution of the reduction.
static isl_set *incomplete(const reduction *d, isl_set *elements, int dims) {
  if (!d->update) return elements;
  const nw_site *s = d->update->site;
  isl_set *box = nw_declared(d->f->m->f, s, nw_reduce_vars(s));
  unsigned nk = (unsigned)isl_set_dim(box, isl_dim_set);
  isl_set *need = isl_set_flat_product(elements, box);
  for (int i = 0; i < d->f->nwrites; i++)
    if (d->f->write[i]->update && belongs(d, d->f->write[i]))
      need = isl_set_subtract(need, nw_set_with_quotients(d->f->m->f->s, contributed(d->f->m, d->f->write[i])));
  need = nw_without_neutral(d->f->m, d->update, need, dims);
  return isl_set_project_out(need, isl_dim_set, (unsigned)(dims + d->f->buffer->ndim), nk);
}

static nw_answer tell_incomplete(const nw_fate *f, nw_use *r, isl_set *bad) {
  if (!r) return nw_tell_element(f->m, NW_REFUSE_VALUE, f->buffer, "{e} does not get all its contributions", bad);
  isl_set *at = isl_map_domain(isl_map_intersect_range(isl_map_copy(nw_use_map(f->m, r)), bad));
  return nw_tell_one(f->m,
                     &(nw_story){.kind = NW_REFUSE_VALUE,
                                 .sink = r,
                                 .site = r->site,
                                 .why = "{e} is read at {t} without all its contributions"},
                     at);
}

static int fact_of_all(const reduction *d, const nw_use *r) {
  const nw_fate *f = d->f;
  nw_key k = {0};
  nw_key_add(&k, 'A');
  nw_key_add(&k, (uintptr_t)(r ? r->number : 0));
  for (int i = 0; !r && i < f->buffer->ndim; i++) nw_key_ptr(&k, f->buffer->shape[i]);
  for (int i = 0; i < f->nwrites; i++)
    if (belongs(d, f->write[i])) nw_key_add(&k, (uintptr_t)(2 * f->write[i]->number + f->write[i]->update));
  if (d->update) nw_key_neutral(&k, f->m, d->update);
  int fact = nw_fact_number(f->m->f, &k);
  nw_key_free(&k);
  return fact;
}

static nw_answer complete(const reduction *d, nw_use *r) {
  const nw_fate *f = d->f;
  bool once;
  if (!NW_RULE(f->m->p->ctx, value_contributions_all)) return NW_HOLDS;
  nw_answer answer = f->nested || !d->update ? NW_FAILS : nw_instances_full(f->m, d->update->site, &once);
  if (answer != NW_FAILS) return answer;
  int fact = fact_of_all(d, r), dims = r ? r->site->dim[r->depth] : 0;
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  if (r && d->update && nw_surely_covers(f->m, r, d->update, true)) {
    nw_fact_prove(f->m->f, fact);
    return NW_HOLDS;
  }
  isl_set *bad = incomplete(d, isl_set_intersect(nw_wanted(f, r), started(d, dims)), dims);
  answer = nw_answer_of(f->m->f->s, isl_set_is_empty(bad));
  if (answer == NW_HOLDS) nw_fact_prove(f->m->f, fact);
  if (answer == NW_FAILS) return tell_incomplete(f, r, bad);
  isl_set_free(bad);
  return answer;
}

// True if the init is the fill of a stage that is not a reduction.
static bool is_fill(const nw_fate *f, const nw_use *init) {
  for (int i = 0; i < f->nwrites; i++)
    if (nw_is_copy_of(init, f->write[i])) return true;
  return false;
}

// Checks that the elements read at r have every contribution of each reduction that initializes them, and that they are
// copied if they were filled with another value. If r is NULL, checks the elements of an output at the end of the
// program.
nw_answer nw_contributions(const nw_fate *f, nw_use *r) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < f->nwrites && answer == NW_HOLDS; i++) {
    if (!is_init(f->write[i]) || f->write[i]->alloc != (r ? r->alloc : NULL)) continue;
    reduction d = find_reduction(f, f->write[i]);
    bool fill = is_fill(f, f->write[i]);
    if (!fill || d.update) answer = complete(&d, r);
    if (fill && answer == NW_HOLDS) answer = nw_copied(f, f->write[i], r);
  }
  return answer;
}

// ---- outputs

nw_answer nw_output_covered(const nw_fate *f, nw_write_class of, bool rule, const char *why) {
  if (!rule) return NW_HOLDS;
  isl_set *written = nw_all_written(f, of) == NW_HOLDS ? nw_declared_writes(f, of) : nw_executed_writes(f, NULL, 0, of);
  isl_set *bad = isl_set_subtract(nw_shape_box(f->m->f, f->buffer->ndim, (const nw_expr *const *)f->buffer->shape),
                                  nw_set_with_quotients(f->m->f->s, written));
  nw_answer answer = nw_answer_of(f->m->f->s, isl_set_is_empty(bad));
  if (answer == NW_FAILS) return nw_tell_element(f->m, NW_REFUSE_COVER, f->buffer, why, bad);
  isl_set_free(bad);
  return answer;
}
