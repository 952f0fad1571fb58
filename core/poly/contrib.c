// Reductions that are read have every contribution, each once; outputs have every element.
#include "poly/internal.h"

static bool is_update(const nw_use *w) { return w->update; }

// ---- once

// execution -> (element, instance)
static isl_map *contribution(const nw_model *m, nw_use *u) {
  return isl_map_flat_range_product(isl_map_copy(nw_use_map(m, u)), isl_map_copy(u->site->instance));
}

static nw_answer tell_twice(const nw_fate *f, nw_use *a, nw_use *b, isl_map *bad) {
  return nw_tell_pair(f->m,
                      &(nw_story){.kind = NW_REFUSE_REDUCTION,
                                  .source = a,
                                  .sink = b,
                                  .why = "{e} takes one contribution twice, at {s} and at {t}"},
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

static isl_map *same_contribution(const nw_model *m, nw_use *a, nw_use *b) {
  return isl_map_apply_range(contribution(m, a), isl_map_reverse(contribution(m, b)));
}

// A block's own executions.
static nw_answer once_within(const nw_fate *f, nw_use *u) {
  nw_answer answer = nw_executes_once(f->m, u->site, u->depth);
  if (answer != NW_FAILS) return answer;
  isl_map *bad = different(same_contribution(f->m, u, u), u);
  isl_bool none = isl_map_is_empty(bad);
  if (none == isl_bool_false) return tell_twice(f, u, u, bad);
  isl_map_free(bad);
  return nw_answer_of(f->m->f->s, none);
}

// Two blocks that do parts of one reduction.
static nw_answer once_between(const nw_fate *f, nw_use *a, nw_use *b) {
  if (a->alloc != b->alloc || !nw_site_same_work(a->site, b->site)) return NW_HOLDS;
  int fact = nw_fact_of(f->m->f, '2', a->number, b->number, nw_common_loops(a->site, b->site), 0);
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  isl_map *bad = same_contribution(f->m, a, b);
  nw_answer answer = nw_answer_of(f->m->f->s, isl_map_is_empty(bad));
  if (answer == NW_HOLDS) nw_fact_prove(f->m->f, fact);
  if (answer == NW_FAILS) return tell_twice(f, a, b, bad);
  isl_map_free(bad);
  return answer;
}

nw_answer nw_contributed_once(const nw_fate *f) {
  if (!NW_RULE(f->m->p->ctx, value_contributions_once)) return NW_HOLDS;
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < f->nwrites && answer == NW_HOLDS; i++) {
    if (!f->write[i]->update) continue;
    answer = once_within(f, f->write[i]);
    for (int j = i + 1; j < f->nwrites && answer == NW_HOLDS; j++)
      if (f->write[j]->update) answer = once_between(f, f->write[i], f->write[j]);
  }
  return answer;
}

// ---- all

static uint64_t reduce_vars(const nw_site *s) {
  uint64_t mask = 0;
  for (int i = 0; i < s->nvars; i++)
    if (s->var[i]->kind == NW_REDUCE) mask |= UINT64_C(1) << i;
  return mask;
}

// (element, values of the reduce variables) that some execution contributes.
static isl_set *contributed(const nw_model *m, nw_use *u) {
  isl_map *k = isl_map_copy(u->site->instance);
  for (int i = u->site->nvars - 1; i >= 0; i--)
    if (u->site->var[i]->kind != NW_REDUCE) k = isl_map_project_out(k, isl_dim_out, (unsigned)i, 1);
  return isl_map_range(isl_map_flat_range_product(isl_map_copy(nw_use_map(m, u)), k));
}

static isl_set *wanted(const nw_fate *f, nw_use *r) {
  return r ? isl_map_range(isl_map_copy(nw_use_map(f->m, r)))
           : nw_shape_box(f->m->f, f->buffer->ndim, (const nw_expr *const *)f->buffer->shape);
}

// Elements of these that some contribution of the reduction is missing from.
static isl_set *incomplete(const nw_fate *f, nw_use *like, isl_set *elements, int dims) {
  const nw_site *s = like->site;
  isl_set *box = nw_declared(f->m->f, s, reduce_vars(s));
  unsigned nk = (unsigned)isl_set_dim(box, isl_dim_set);
  isl_set *need = isl_set_flat_product(elements, box);
  for (int i = 0; i < f->nwrites; i++)
    if (f->write[i]->update && f->write[i]->alloc == like->alloc)
      need = isl_set_subtract(need, contributed(f->m, f->write[i]));
  return isl_set_project_out(need, isl_dim_set, (unsigned)(dims + f->buffer->ndim), nk);
}

static nw_use *any_update(const nw_fate *f, const nw_stmt *alloc) {
  for (int i = 0; i < f->nwrites; i++)
    if (f->write[i]->update && f->write[i]->alloc == alloc) return f->write[i];
  return NULL;
}

// Elements that one block fills without reducing (the first rows of a scan) need no contributions.
static bool plain_write(const nw_use *w) { return !w->update && !w->site->init && !w->site->block->block.init_part; }

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

static int fact_of_all(const nw_fate *f, const nw_use *r) {
  nw_key k = {0};
  nw_key_add(&k, 'A');
  nw_key_add(&k, (uintptr_t)(r ? r->number : 0));
  for (int d = 0; !r && d < f->buffer->ndim; d++) nw_key_ptr(&k, f->buffer->shape[d]);
  for (int i = 0; i < f->nwrites; i++) {
    if (r && f->write[i]->alloc != r->alloc) continue;
    nw_key_add(&k, (uintptr_t)f->write[i]->number);
    nw_key_add(&k, plain_write(f->write[i]));
  }
  int fact = nw_fact_number(f->m->f, &k);
  nw_key_free(&k);
  return fact;
}

nw_answer nw_contributions(const nw_fate *f, nw_use *r) {
  if (!NW_RULE(f->m->p->ctx, value_contributions_all)) return NW_HOLDS;
  nw_answer answer = nw_all_written(f, is_update);
  if (answer != NW_FAILS) return answer;
  int fact = fact_of_all(f, r), dims = r ? r->site->dim[r->depth] : 0;
  nw_use *like = any_update(f, r ? r->alloc : NULL);
  if (!like || nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  isl_set *elements = isl_set_subtract(wanted(f, r), nw_executed_writes(f, like->alloc, dims, plain_write));
  isl_set *bad = incomplete(f, like, elements, dims);
  answer = nw_answer_of(f->m->f->s, isl_set_is_empty(bad));
  if (answer == NW_HOLDS) nw_fact_prove(f->m->f, fact);
  if (answer == NW_FAILS) return tell_incomplete(f, r, bad);
  isl_set_free(bad);
  return answer;
}

// ---- outputs

nw_answer nw_output_covered(const nw_fate *f, nw_write_class of, bool rule, const char *why) {
  if (!rule) return NW_HOLDS;
  isl_set *written = nw_all_written(f, of) == NW_HOLDS ? nw_declared_writes(f, of) : nw_executed_writes(f, NULL, 0, of);
  isl_set *bad =
      isl_set_subtract(nw_shape_box(f->m->f, f->buffer->ndim, (const nw_expr *const *)f->buffer->shape), written);
  nw_answer answer = nw_answer_of(f->m->f->s, isl_set_is_empty(bad));
  if (answer == NW_FAILS) return nw_tell_element(f->m, NW_REFUSE_COVER, f->buffer, why, bad);
  isl_set_free(bad);
  return answer;
}
