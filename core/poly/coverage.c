// Checks that every element that is read is also written, before or after the read. The caller passes a write class,
// which is a function that selects the writes to be considered. If all declared instances are executed, the check uses
// the declared instances, because the result then stays valid when the loops change. Otherwise the check uses the
// executions.
#include "poly/internal.h"

// True if the write is in the class `of`, and certainly happens at a known element. Only such writes can prove that an
// element is written. If the index of a write is data, it may write any of several elements.
static bool counts(nw_write_class of, const nw_use *w) {
  return of(w) && !w->site->maybe && (nw_index_exact(w) || !NW_RULE(w->site->view.f->s->ctx, write_known));
}

// True if every instance that writes the buffer is executed, and the buffer exists only once. Then it is sufficient to
// examine the declared instances.
nw_answer nw_all_written(const nw_fate *f, nw_write_class of) {
  nw_answer answer = f->nested ? NW_FAILS : NW_HOLDS;
  bool once;
  for (int i = 0; i < f->nwrites && answer == NW_HOLDS; i++)
    if (counts(of, f->write[i])) answer = nw_instances_full(f->m, f->write[i]->site, &once);
  return answer;
}

static isl_set *empty_elements(const nw_fate *f, int depth_dims) {
  return isl_set_empty(nw_family_space(f->m->f, depth_dims + f->buffer->ndim));
}

isl_set *nw_declared_writes(const nw_fate *f, nw_write_class of) {
  isl_set *set = empty_elements(f, 0);
  for (int i = 0; i < f->nwrites; i++)
    if (counts(of, f->write[i])) set = isl_set_union(set, isl_map_range(nw_declared_elements(f->m->f, f->write[i])));
  return set;
}

// Checks, from the declared instances, that every element that r may read is written.
static nw_answer covered_by_declared(const nw_fate *f, const nw_use *r, nw_write_class of) {
  nw_key k = {0};
  nw_key_add(&k, 'C');
  nw_key_declared(&k, r);
  for (int i = 0; i < f->nwrites; i++)
    if (counts(of, f->write[i])) nw_key_declared(&k, f->write[i]);
  int fact = nw_fact_number(f->m->f, &k);
  nw_key_free(&k);
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  isl_set *reads = isl_map_range(nw_declared_elements(f->m->f, r)),
          *writes = nw_set_with_quotients(f->m->f->s, nw_declared_writes(f, of));
  isl_bool fine = isl_set_is_subset(reads, writes);
  isl_set_free(reads);
  isl_set_free(writes);
  if (fine == isl_bool_true) nw_fact_prove(f->m->f, fact);
  return nw_answer_of(f->m->f->s, fine);
}

isl_set *nw_executed_writes(const nw_fate *f, const nw_stmt *alloc, int dims, nw_write_class of) {
  isl_set *set = empty_elements(f, dims);
  for (int i = 0; i < f->nwrites; i++)
    if (counts(of, f->write[i]) && f->write[i]->alloc == alloc)
      set = isl_set_union(set, isl_map_range(isl_map_copy(nw_use_map(f->m, f->write[i]))));
  return set;
}

// Returns the executions of r whose elements are not written by any write in the class `of`.
static isl_set *uncovered(const nw_fate *f, nw_use *r, nw_write_class of) {
  isl_map *map = isl_map_copy(nw_use_map(f->m, r));
  isl_set *writes = nw_executed_writes(f, r->alloc, r->site->dim[r->depth], of);
  isl_set *left = isl_set_subtract(isl_map_range(isl_map_copy(map)), nw_set_with_quotients(f->m->f->s, writes));
  return isl_map_domain(isl_map_intersect_range(map, left));
}

static int fact_of_cover(const nw_fate *f, const nw_use *r, nw_write_class of, int tag) {
  nw_key k = {0};
  nw_key_add(&k, (uintptr_t)tag);
  nw_key_add(&k, (uintptr_t)(r ? r->number : 0));
  for (int i = 0; i < f->nwrites; i++)
    if (counts(of, f->write[i]) && (!r || f->write[i]->alloc == r->alloc))
      nw_key_add(&k, (uintptr_t)f->write[i]->number);
  int fact = nw_fact_number(f->m->f, &k);
  nw_key_free(&k);
  return fact;
}

nw_answer nw_covered(const nw_fate *f, nw_use *r, nw_write_class of, isl_set **bad) {
  nw_answer answer = nw_all_written(f, of);
  if (answer == NW_HOLDS) answer = covered_by_declared(f, r, of);
  if (answer != NW_FAILS) return answer;
  int fact = fact_of_cover(f, r, of, 'c');
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  for (int i = 0; i < f->nwrites; i++)
    if (counts(of, f->write[i]) && nw_surely_covers(f->m, r, f->write[i], false)) {
      nw_fact_prove(f->m->f, fact);
      return NW_HOLDS;
    }
  *bad = uncovered(f, r, of);
  answer = nw_answer_of(f->m->f->s, isl_set_is_empty(*bad));
  if (answer == NW_HOLDS) nw_fact_prove(f->m->f, fact);
  if (answer != NW_FAILS) isl_set_free(*bad);
  return answer;
}
