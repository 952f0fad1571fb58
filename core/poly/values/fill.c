// Checks stages that are computed by a fill and a copy (decompose_padding).
//
// The value of a padded stage is select(condition, x, c), with a constant c. The fill is a separate init of the stage,
// which stores c. The copy is the stage itself, with its whole value, so every element that it writes is right. An
// element that it does not write must be filled, and its condition must fail. The fill of an element must come before its
// copy, so that the copy is not overwritten. The check that reads come after all writes is the same as for other stages
// (buffer.c). See docs/values.md.
#include "ir/expr/fold.h"
#include "poly/internal.h"

// ---- padded values

static const nw_expr * not(nw_pool * pool, const nw_expr *cond) { return nw_apply(pool, NW_OP_NOT, 1, &cond); }

static const nw_expr *never(nw_pool *pool) { return nw_int(pool, NW_BOOL, 0); }

// Returns a condition that holds wherever the value may differ from the constant c. It consists of conditions of selects.
const nw_expr *nw_differs_where(nw_pool *pool, const nw_expr *value, const nw_expr *c) {
  if (value == c) return never(pool);
  if (value->op != NW_OP_SELECT) return nw_true(pool);
  const nw_expr *then = nw_differs_where(pool, value->arg[1], c), *other = nw_differs_where(pool, value->arg[2], c);
  if (other == never(pool)) return nw_and(pool, value->arg[0], then);
  if (then == never(pool)) return nw_and(pool, not(pool, value->arg[0]), other);
  return nw_true(pool);
}

// Returns the constant that the value has where the condition of a select fails; NULL if there is none.
static const nw_expr *constant_in(const nw_expr *value) {
  if (value->op != NW_OP_SELECT) return NULL;
  for (int i = 2; i > 0; i--)
    if (nw_is_constant(value->arg[i])) return value->arg[i];
  const nw_expr *c = constant_in(value->arg[2]);
  return c ? c : constant_in(value->arg[1]);
}

bool nw_padding_of(const nw_program *p, const nw_stmt *block, nw_padding *out) {
  if (block->block.combiner != NW_PLAIN || block->block.init_part || block->block.ntargets != 1) return false;
  const nw_expr *value = block->block.target[0].value;
  out->constant = constant_in(value);
  out->inside = out->constant ? nw_differs_where(p->pool, value, out->constant) : NULL;
  return out->inside && out->inside != nw_true(p->pool);
}

// ---- fills and their copies

static bool is_init(const nw_use *w) { return w->site->init || w->site->block->block.init_part; }

// True if w writes the values of the stage to which the init belongs, and the stage is not a reduction.
bool nw_is_copy_of(const nw_use *init, const nw_use *w) {
  return w->write && !w->update && !is_init(w) && w->alloc == init->alloc &&
         !strcmp(w->site->block->block.origin, init->site->block->block.origin);
}

static const nw_expr *value_of(const nw_use *w) {
  const nw_stmt *b = w->site->block;
  int t = 0;
  while (strcmp(b->block.target[t].buffer, w->buffer->name)) t++;
  return b->block.target[t].value;
}

nw_answer nw_filled_before(const nw_fate *f, nw_use *fill, nw_use *copy) {
  isl_map *bad = NULL;
  if (!NW_RULE(f->m->p->ctx, fill_first)) return NW_HOLDS;
  nw_answer answer = nw_always_before(f->m, fill, copy, &bad);
  if (answer != NW_FAILS) return answer;
  return nw_tell_pair(f->m,
                      &(nw_story){.kind = NW_REFUSE_WAW,
                                  .source = fill,
                                  .sink = copy,
                                  .why =
                                      "{e} is filled with a constant at {s}, but its value is stored before that, at "
                                      "{t}"},
                      bad);
}

// A fill and the copies of its stage. `within` is the write of a copy, restricted to the elements that may differ from
// the constant.
typedef struct padded {
  const nw_fate *f;
  const nw_use *fill;
  nw_guarded differs;
  nw_use within;
} padded;

static bool find_copy(const nw_fate *f, const nw_use *fill, padded *out) {
  nw_pool *pool = f->m->p->pool;
  for (int i = 0; i < f->nwrites; i++) {
    if (!nw_is_copy_of(fill, f->write[i])) continue;
    *out = (padded){.f = f, .fill = fill, .within = *f->write[i]};
    out->differs = (nw_guarded){nw_differs_where(pool, value_of(f->write[i]), value_of(fill)), true};
    return true;
  }
  return false;
}

static int fact_of(padded *x, const nw_use *r) {
  const nw_fate *f = x->f;
  nw_key k = {0};
  nw_key_add(&k, 'P');
  nw_key_add(&k, (uintptr_t)(r ? r->number : 0));
  for (int i = 0; !r && i < f->buffer->ndim; i++) nw_key_ptr(&k, f->buffer->shape[i]);
  nw_key_declared(&k, &x->within);
  for (int i = 0; i < f->nwrites; i++)
    if (nw_is_copy_of(x->fill, f->write[i])) nw_key_add(&k, (uintptr_t)f->write[i]->number);
  int fact = nw_fact_number(f->m->f, &k);
  nw_key_free(&k);
  return fact;
}

// Returns the elements that r reads, or all elements if r is NULL, that are not copied, but may differ from the
// constant.
static isl_set *not_copied(padded *x, nw_use *r) {
  const nw_fate *f = x->f;
  int dims = r ? r->site->dim[r->depth] : 0;
  isl_set *differ = isl_map_range(nw_declared_elements(f->m->f, &x->within));
  isl_set *left = isl_set_intersect(nw_wanted(f, r), isl_set_insert_dims(differ, isl_dim_set, 0, (unsigned)dims));
  for (int i = 0; i < f->nwrites; i++) {
    if (!nw_is_copy_of(x->fill, f->write[i])) continue;
    isl_set *copied = isl_map_range(isl_map_copy(nw_use_map(f->m, f->write[i])));
    left = isl_set_subtract(left, nw_set_with_quotients(f->m->f->s, copied));
  }
  return left;
}

static nw_answer tell(const nw_fate *f, nw_use *r, isl_set *bad) {
  if (!r)
    return nw_tell_element(f->m, NW_REFUSE_VALUE, f->buffer,
                           "{e} is filled with a constant, but its value is not stored", bad);
  isl_set *at = isl_map_domain(isl_map_intersect_range(isl_map_copy(nw_use_map(f->m, r)), bad));
  return nw_tell_one(f->m,
                     &(nw_story){.kind = NW_REFUSE_VALUE,
                                 .sink = r,
                                 .site = r->site,
                                 .why = "{e} is read at {t}, but was only filled with a constant"},
                     at);
}

nw_answer nw_copied(const nw_fate *f, const nw_use *fill, nw_use *r) {
  padded x;
  if (!NW_RULE(f->m->p->ctx, fill_copied) || !find_copy(f, fill, &x)) return NW_HOLDS;
  x.within.cond = &x.differs;
  x.within.nconds = 1;
  int fact = fact_of(&x, r);
  if (nw_fact_proved(f->m->f, fact)) return NW_HOLDS;
  isl_set *bad = not_copied(&x, r);
  nw_answer answer = nw_answer_of(f->m->f->s, isl_set_is_empty(bad));
  if (answer == NW_HOLDS) nw_fact_prove(f->m->f, fact);
  if (answer == NW_FAILS) return tell(f, r, bad);
  isl_set_free(bad);
  return answer;
}
