// Checks that every access is inside the stored part of its buffer.
#include "poly/internal.h"

// Returns the start of the stored range of dimension d. The stored range is the box of the allocation if there is one,
// otherwise the whole logical extent.
const nw_expr *nw_stored_from(const nw_family *f, const nw_use *a, int d) {
  return a->alloc ? a->alloc->alloc.min[d] : nw_index(f->pool, 0);
}

const nw_expr *nw_stored_extent(const nw_use *a, int d) {
  return a->alloc ? a->alloc->alloc.extent[d] : a->buffer->shape[d];
}

static bool stored_whole(const nw_use *a) {
  for (int d = 0; a->alloc && d < a->n; d++)
    if (!nw_is_const(a->alloc->alloc.min[d], 0) || a->alloc->alloc.extent[d] != a->buffer->shape[d]) return false;
  return true;
}

static isl_set *beyond(const nw_space *v, const nw_expr *index, const nw_expr *from, const nw_expr *extent) {
  isl_pw_aff *i = nw_space_aff(v, index), *lo = nw_space_aff(v, from);
  isl_pw_aff *end = isl_pw_aff_add(isl_pw_aff_copy(lo), nw_space_aff(v, extent));
  isl_set *below = isl_pw_aff_lt_set(isl_pw_aff_copy(i), lo);
  return isl_set_union(below, isl_pw_aff_ge_set(i, end));
}

// Returns the executions whose access is outside the stored part. If `lower` is true, looks only at digits that are not
// the leading digit of a number.
static isl_set *outside(const nw_model *m, const nw_use *a, bool lower) {
  nw_space v;
  nw_use_space(m->p, a, &v);
  for (int d = 0; d < a->n; d++) {
    nw_space_scan(&v, nw_stored_from(m->f, a, d));
    nw_space_scan(&v, nw_stored_extent(a, d));
  }
  isl_set *set = isl_set_add_dims(isl_set_copy(a->site->domain), isl_dim_set, (unsigned)v.opaque.n);
  set = isl_set_intersect(set, nw_use_conditions(m->p, a, &v));
  isl_set *bad = isl_set_empty(isl_set_get_space(set));
  for (int d = 0; d < a->n; d++) {
    if (lower && !nw_is_lower_digit(m, a->buffer, d)) continue;
    const nw_expr *index = nw_block_bound(m->p, a->site->block, a->index[d]);
    isl_set *out = beyond(&v, index, nw_stored_from(m->f, a, d), nw_stored_extent(a, d));
    bad = isl_set_union(bad, isl_set_intersect(out, isl_set_copy(set)));
  }
  isl_set_free(set);
  bad = isl_set_project_out(bad, isl_dim_set, (unsigned)v.ndims, (unsigned)v.opaque.n);
  nw_space_free(&v);
  return bad;
}

// Checks that the declared instances access only elements inside the shape of the buffer (declared.c). This is
// sufficient if the whole buffer is stored, and if only declared instances are executed.
static nw_answer inside_declared(const nw_model *m, const nw_use *a) {
  nw_key k = {0};
  nw_key_add(&k, 'B');
  nw_key_declared(&k, a);
  for (int d = 0; d < a->n; d++) nw_key_ptr(&k, a->buffer->shape[d]);
  int fact = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  isl_set *touched = isl_map_range(nw_declared_elements(m->f, a)),
          *box = nw_shape_box(m->f, a->buffer->ndim, (const nw_expr *const *)a->buffer->shape);
  isl_bool inside = isl_set_is_subset(touched, box);
  isl_set_free(touched);
  isl_set_free(box);
  if (inside == isl_bool_true) nw_fact_prove(m->f, fact);
  return nw_answer_of(m->f->s, inside);
}

// True if each component of the index, examined separately, is proved to be inside the stored range.
static bool is_within(const nw_model *m, const nw_use *a) {
  bool within = true;
  for (int d = 0; d < a->n && within; d++)
    within = nw_index_within(m, a, d, nw_stored_from(m->f, a, d), nw_stored_extent(a, d));
  return within;
}

static int fact_of_box(const nw_model *m, const nw_use *a) {
  nw_key k = {0};
  nw_key_add(&k, 'x');
  nw_key_add(&k, (uintptr_t)a->number);
  for (int d = 0; d < a->n; d++) {
    nw_key_ptr(&k, nw_stored_from(m->f, a, d));
    nw_key_ptr(&k, nw_stored_extent(a, d));
  }
  int fact = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  return fact;
}

static nw_answer tell_digits(const nw_model *m, const char *block, const char *buffer) {
  return nw_tell(m, NW_REFUSE_UNDECIDED, NULL, NULL,
                 "%s accesses %s at an index that is not affine, and whose digits are not inside their ranges, so "
                 "nothing can be proved about it",
                 block, buffer);
}

// If lower digits of the index leave their ranges, the number may still be inside the buffer, and nothing is known.
static nw_answer check_lower_digits(const nw_model *m, const nw_use *a) {
  if (!m->whole || !m->whole->nsystems) return NW_HOLDS;
  isl_set *bad = outside(m, a, true);
  nw_answer answer = nw_answer_of(m->f->s, isl_set_is_empty(bad));
  isl_set_free(bad);
  return answer == NW_FAILS ? tell_digits(m, a->site->block->block.name, a->buffer->name) : answer;
}

static nw_answer check_access(const nw_model *m, nw_use *a) {
  if (a->write ? !NW_RULE(m->p->ctx, bounds_write) : !NW_RULE(m->p->ctx, bounds_read)) return NW_HOLDS;
  nw_answer answer = stored_whole(a) ? inside_declared(m, a) : NW_FAILS;
  if (answer != NW_FAILS) return answer;
  int fact = fact_of_box(m, a);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  bool within = is_within(m, a);
  isl_set *bad = within ? NULL : outside(m, a, false);
  if (NW_MUTATED(limit_holds)) within |= !bad;
  answer = within ? NW_HOLDS : nw_answer_of(m->f->s, isl_set_is_empty(bad));
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  if (answer == NW_FAILS && check_lower_digits(m, a) != NW_HOLDS) {
    isl_set_free(bad);
    return NW_ABORTED;
  }
  if (answer == NW_FAILS) {
    const char *why = a->write ? "{c} writes {e} at {t}, outside the allocated part of {n}"
                               : "{c} reads {e} at {t}, outside the allocated part of {n}";
    return nw_tell_one(m, &(nw_story){.kind = NW_REFUSE_BOUNDS, .sink = a, .site = a->site, .why = why}, bad);
  }
  isl_set_free(bad);
  return answer;
}

static const nw_use *written_by(const nw_site *s) {
  for (int i = 0; i < s->nuses; i++)
    if (s->use[i].write) return &s->use[i];
  return NULL;
}

nw_answer nw_check_domain(const nw_model *m, const nw_site *s) {
  isl_set *bad = NULL;
  if (!NW_RULE(m->p->ctx, instance_domain)) return NW_HOLDS;
  nw_answer answer = nw_in_domain(m, s, &bad);
  if (answer != NW_FAILS) return answer;
  if (m->whole && m->whole->nsystems) {
    isl_set_free(bad);
    return tell_digits(m, s->block->block.name, s->block->block.target[0].buffer);
  }
  return nw_tell_one(m,
                     &(nw_story){.kind = NW_REFUSE_BOUNDS,
                                 .sink = written_by(s),
                                 .site = s,
                                 .why = "{c} would compute an element outside its domain at {t}"},
                     bad);
}

// A block is checked before its init, since users understand an error at the block more easily.
nw_answer nw_check_bounds(const nw_model *m) {
  nw_answer answer = NW_HOLDS;
  for (int init = 0; init < 2; init++)
    for (int i = 0; i < m->nsites && answer == NW_HOLDS; i++)
      if (m->site[i]->init == init) answer = nw_check_domain(m, m->site[i]);
  for (int i = 0; i < m->nsites && answer == NW_HOLDS; i++)
    for (int j = 0; j < m->site[i]->nuses && answer == NW_HOLDS; j++) answer = check_access(m, &m->site[i]->use[j]);
  return answer;
}
