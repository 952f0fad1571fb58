// Checks folded storage, in which a layout gives several elements the same position. Every read must get the value of
// its own element. So after a write of another element to the same position, the element must be written again before
// it is read.
#include "poly/internal.h"
#include <stdio.h>
#include <stdlib.h>

// ---- layouts

// Returns the map logical index -> position. The map of a layout of bits has more pairs than necessary.
isl_map *nw_layout_map(const nw_model *m, const nw_buffer *b) {
  nw_space v;
  nw_space_init(&v, m->f);
  char name[16];
  for (int d = 0; d < b->ndim; d++) {
    snprintf(name, sizeof name, "_%d", d);
    nw_space_var(&v, nw_pool_name(m->f->pool, name));
  }
  for (int d = 0; d < b->nlayout; d++) nw_space_scan(&v, b->layout[d]);
  nw_space_bound_box(&v, b->ndim, (const nw_expr *const *)b->shape);
  isl_set *box = nw_shape_box(m->f, b->ndim, (const nw_expr *const *)b->shape);
  isl_map *map = nw_space_map(&v, box, b->nlayout, (const nw_expr *const *)b->layout);
  nw_space_free(&v);
  return map;
}

int nw_layout_fact(const nw_model *m, int tag, const nw_buffer *b) {
  nw_key k = {0};
  nw_key_add(&k, (uintptr_t)tag);
  for (int d = 0; d < b->ndim; d++) nw_key_ptr(&k, b->shape[d]);
  nw_key_add(&k, '|');
  for (int d = 0; d < b->nlayout; d++) {
    nw_key_ptr(&k, b->layout[d]);
    nw_key_ptr(&k, b->layout_shape[d]);
  }
  int fact = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  return fact;
}

// The elements of a buffer with constant extents, one after another, and their positions.
typedef struct listed {
  const nw_buffer *b;
  int64_t count, extent[NW_MAX_DEPTH];
  int64_t *at; // nlayout numbers for each element
} listed;

enum { MOST_LISTED = 1 << 14 };

static bool few_elements(listed *x) {
  x->count = 1;
  for (int d = 0; d < x->b->ndim; d++) {
    if (!nw_is_int(x->b->shape[d], &x->extent[d]) || x->extent[d] < 1 || x->extent[d] > MOST_LISTED) return false;
    x->count *= x->extent[d];
    if (x->count > MOST_LISTED) return false;
  }
  return true;
}

// Computes the positions of all elements. Returns false if a position depends on more than the indices.
static bool list_places(const nw_model *m, listed *x) {
  const char *name[NW_MAX_DEPTH];
  int64_t index[NW_MAX_DEPTH] = {0};
  nw_point point = {x->b->ndim, name, index};
  for (int d = 0; d < x->b->ndim; d++) name[d] = nw_dim_name(m->f->pool, d);
  for (int64_t i = 0; i < x->count; i++) {
    for (int d = 0; d < x->b->nlayout; d++)
      if (!nw_eval_int(x->b->layout[d], &point, &x->at[i * x->b->nlayout + d])) return false;
    for (int d = x->b->ndim - 1; d >= 0 && ++index[d] == x->extent[d]; d--) index[d] = 0;
  }
  return true;
}

// Numbers the places of the smallest box around all positions. Returns false if the box is much larger than the buffer.
static bool number_places(const listed *x, int64_t *number, int64_t *places) {
  int n = x->b->nlayout;
  for (int64_t i = 0; i < x->count; i++) number[i] = 0;
  *places = 1;
  for (int d = 0; d < n; d++) {
    int64_t lo = x->at[d], hi = lo, wide;
    for (int64_t i = 0; i < x->count; i++) {
      int64_t at = x->at[i * n + d];
      lo = at < lo ? at : lo, hi = at > hi ? at : hi;
    }
    if (__builtin_sub_overflow(hi, lo, &wide) || wide >= 16 * MOST_LISTED) return false;
    for (int64_t i = 0; i < x->count; i++) number[i] = number[i] * (wide + 1) + x->at[i * n + d] - lo;
    *places *= wide + 1;
    if (*places > 16 * MOST_LISTED) return false;
  }
  return true;
}

// Compares the positions of all elements of a small buffer with constant extents, which takes no operation of isl. Returns
// false if the buffer is another one; otherwise stores in *apart whether all positions differ.
static bool compare_places(const nw_model *m, const nw_buffer *b, bool *apart) {
  listed x = {.b = b};
  if (!few_elements(&x)) return false;
  int64_t places, *number = nw_xmalloc((size_t)x.count * sizeof *number);
  x.at = nw_xmalloc((size_t)(x.count * b->nlayout) * sizeof *x.at);
  bool known = list_places(m, &x) && number_places(&x, number, &places);
  bool *taken = known ? nw_xcalloc((size_t)places, sizeof *taken) : NULL;
  *apart = true;
  for (int64_t i = 0; i < x.count && known && *apart; i++) {
    *apart = !taken[number[i]];
    taken[number[i]] = true;
  }
  free(taken);
  free(number);
  free(x.at);
  return known;
}

nw_answer nw_own_places(const nw_model *m, const nw_buffer *b) {
  if (!b->nlayout || nw_layout_of_bits(b)) return NW_HOLDS;
  int fact = nw_layout_fact(m, 'I', b);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  if (nw_fact_denied(m->f, fact)) return NW_FAILS;
  bool apart;
  nw_answer answer;
  if (compare_places(m, b, &apart)) {
    answer = apart ? NW_HOLDS : NW_FAILS;
  } else {
    isl_map *map = nw_layout_map(m, b);
    answer = nw_answer_of(m->f->s, isl_map_is_injective(map));
    isl_map_free(map);
  }
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  if (answer == NW_FAILS) nw_fact_deny(m->f, fact);
  return answer;
}

// ---- places

// In this section, an element is the tuple (iteration of the loops around the allocation, index). A place is the tuple
// (iteration of the same loops, position).

static isl_map *to_places(const nw_model *m, const nw_use *a, isl_map *to_elements) {
  isl_map *same = isl_map_identity(isl_space_map_from_set(nw_family_space(m->f, a->site->dim[a->depth])));
  return isl_map_apply_range(to_elements, isl_map_flat_product(same, nw_layout_map(m, a->buffer)));
}

// Returns the pairs of executions that access the same position.
isl_map *nw_collide(const nw_model *m, nw_use *a, nw_use *b) {
  if (nw_own_places(m, a->buffer) == NW_HOLDS) return nw_meet(m, a, b);
  isl_map *from = to_places(m, a, isl_map_copy(nw_use_map(m, a)));
  isl_map *to = to_places(m, b, isl_map_copy(nw_use_map(m, b)));
  return isl_map_apply_range(from, isl_map_reverse(to));
}

// ---- overwritten elements

// Returns the pairs of an execution of w and a later event of r, where w writes another element to the position that r
// reads.
static isl_map *in_the_way(const nw_model *m, nw_use *w, nw_use *r) {
  isl_map *to = to_places(m, r, nw_events(m, r)), *from = to_places(m, w, isl_map_copy(nw_use_map(m, w)));
  isl_map *clash = isl_map_apply_range(from, isl_map_reverse(to));
  return nw_before(isl_map_subtract(clash, nw_meet_events(m, w, nw_events(m, r))), w, r);
}

// Returns the pairs in `bad` between which no execution of `again` restores the element.
static isl_map *not_restored(const nw_model *m, isl_map *bad, nw_use *w, nw_use *again, nw_use *r) {
  isl_map *between = nw_before(nw_collide(m, w, again), w, again);
  isl_map *served = nw_before(nw_meet_events(m, again, nw_events(m, r)), again, r);
  return isl_map_subtract(bad, nw_with_quotients(m->f->s, isl_map_apply_range(between, served)));
}

static nw_answer tell(const nw_fate *f, nw_use *w, nw_use *r, isl_map *bad) {
  unsigned at = (unsigned)r->site->view.ndims, n = (unsigned)isl_map_dim(bad, isl_dim_out) - at;
  bad = isl_map_reverse(isl_map_project_out(bad, isl_dim_out, at, n));
  return nw_tell_pair(
      f->m,
      &(nw_story){
          .kind = NW_REFUSE_WAR, .source = r, .sink = w, .why = "{e} is read at {s}, but {f} overwrites it at {t}"},
      bad);
}

// Like not_restored, but only for executions of `again` in a later iteration of the loops that it shares with r. This
// suffices for copies ahead, and takes much less time, because the other loops of `again` are projected out first.
//
// No pair is removed that not_restored keeps: r reads the position that w writes, and an execution of `again` that serves r
// writes the element of r at this position, too.
static isl_map *not_restored_later(const nw_model *m, isl_map *bad, nw_use *w, nw_use *again, nw_use *r) {
  isl_map *served = nw_before(nw_meet_events(m, again, nw_events(m, r)), again, r);
  unsigned kept = (unsigned)again->site->dim[nw_common_loops(again->site, r->site)];
  served = isl_map_project_out(served, isl_dim_in, kept, (unsigned)isl_map_dim(served, isl_dim_in) - kept);
  served = nw_with_quotients(m->f->s, served);
  isl_set *begins = isl_map_domain(isl_map_copy(served));
  isl_map *between = isl_map_from_domain_and_range(isl_map_domain(isl_map_copy(bad)), begins);
  between = nw_before_in(between, w, again, (int)kept);
  return isl_map_subtract(bad, nw_with_quotients(m->f->s, isl_map_apply_range(between, served)));
}

static nw_answer check_pair(const nw_fate *f, nw_use *w, nw_use *r) {
  if (!nw_may_meet(w, r)) return NW_HOLDS;
  isl_map *bad = in_the_way(f->m, w, r);
  for (int exact = 0; exact < 2; exact++)
    for (int i = 0; i < f->nwrites && isl_map_is_empty(bad) == isl_bool_false; i++) {
      if (!nw_may_meet(f->write[i], r) || f->write[i]->site->maybe) continue;
      bad = (exact ? not_restored : not_restored_later)(f->m, bad, w, f->write[i], r);
    }
  nw_answer answer = nw_answer_of(f->m->f->s, isl_map_is_empty(bad));
  if (answer == NW_FAILS) return tell(f, w, r, bad);
  isl_map_free(bad);
  return answer;
}

// ---- one buffer

static bool binds_other(const nw_stmt *block, const char *loop) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind != NW_REDUCE && nw_uses_var(block->block.var[i].bind, loop)) return true;
  return false;
}

// True if the init of a block runs earlier than its position in the program suggests. An init that is still a part of
// its block runs before the loops of the reduction. So it also runs before any loops over the output that are inside
// the loops of the reduction.
static bool moves_up(const nw_site *s) {
  bool inside = false;
  for (int i = 0; i < s->nloops; i++) {
    const char *loop = s->loop[i]->loop.var->name;
    inside |= nw_binds_reduce(s->block, loop);
    if (inside && binds_other(s->block, loop)) return true;
  }
  return false;
}

static nw_answer check_inits(const nw_fate *f) {
  for (int i = 0; i < f->nwrites; i++)
    if (f->write[i]->site->init && moves_up(f->write[i]->site))
      return nw_tell(f->m, NW_REFUSE_UNDECIDED, NULL, NULL,
                     "elements of %s share storage, and the init of its reduction is not a separate block",
                     f->buffer->name);
  return NW_HOLDS;
}

static int fact_of(const nw_fate *f) {
  nw_key k = {0};
  nw_key_add(&k, 'F');
  nw_key_add(&k, (uintptr_t)nw_layout_fact(f->m, 'I', f->buffer));
  int n = f->nwrites + f->nreads;
  for (int i = 0; i < n; i++) {
    const nw_use *a = i < f->nwrites ? f->write[i] : f->read[i - f->nwrites];
    nw_key_add(&k, (uintptr_t)a->number);
    nw_key_add(&k, (uintptr_t)a->write);
    for (int j = 0; j < i; j++) {
      const nw_use *b = j < f->nwrites ? f->write[j] : f->read[j - f->nwrites];
      nw_key_add(&k, (uintptr_t)nw_common_loops(a->site, b->site));
      nw_key_add(&k, (uintptr_t)(2 * (a->alloc == b->alloc) + (a->site->seq < b->site->seq)));
    }
  }
  int fact = nw_fact_number(f->m->f, &k);
  nw_key_free(&k);
  return fact;
}

// Checks a buffer with folded storage. An update counts as a read of its element, too.
nw_answer nw_check_fold(const nw_fate *f) {
  if (!NW_RULE(f->m->p->ctx, storage_fold)) return NW_HOLDS;
  nw_answer answer = nw_own_places(f->m, f->buffer);
  if (answer != NW_FAILS) return answer;
  int fact = fact_of(f);
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  answer = check_inits(f);
  for (int i = 0; i < f->nwrites && answer == NW_HOLDS; i++) {
    for (int j = 0; j < f->nreads && answer == NW_HOLDS; j++) answer = check_pair(f, f->write[i], f->read[j]);
    for (int j = 0; j < f->nwrites && answer == NW_HOLDS; j++)
      if (f->write[j]->update) answer = check_pair(f, f->write[i], f->write[j]);
  }
  if (answer == NW_HOLDS) nw_fact_prove(f->m->f, fact);
  return answer;
}
