// Checks that every block of the new program computes the same expression of the same values as a block of the old
// program.
#include "poly/internal.h"
#include <stdio.h>

typedef struct compare {
  const nw_model *before, *after;
  nw_pool *pool;
} compare;

static nw_answer refuse(const compare *c, const nw_stmt *block, const char *what) {
  return nw_tell(c->after, NW_REFUSE_VALUE, NULL, NULL, "%s %s", block->block.name, what);
}

// Returns the next block of the old program with the same origin as `block` and with init_part == part. Returns NULL if
// there are no more blocks. The search begins at site *at. If `block` is a separate init that only the new program has,
// `part` is false, and the init is compared with the old block of its reduction.
static const nw_stmt *next_original(const compare *c, const nw_stmt *block, bool part, int *at) {
  while (*at < c->before->nsites) {
    const nw_stmt *b = c->before->site[(*at)++]->block;
    if (!strcmp(b->block.origin, block->block.origin) && b->block.init_part == part) return b;
  }
  return NULL;
}

static nw_normal old_forms(const compare *c) {
  return (nw_normal){.m = c->before, .other = c->after, .pool = c->pool, .as_stored = true};
}

static nw_normal new_forms(const compare *c) {
  return (nw_normal){.m = c->after, .other = c->before, .copies_only = true, .pool = c->pool};
}

static const nw_expr *form(nw_normal n, const nw_expr *e, const nw_stmt **rounded) {
  const nw_expr *f = nw_normal_form(&n, e);
  if (n.rounded) *rounded = n.rounded;
  return f;
}

// Adds the range lo..lo + extent - 1 of a variable.
static void push_range(const compare *c, nw_ranges *r, const nw_block_var *v, const nw_expr *lo,
                       const nw_expr *extent) {
  lo = nw_import(c->pool, lo);
  const nw_expr *end = nw_add(c->pool, lo, nw_import(c->pool, extent));
  nw_ranges_push(r, v->var->name, lo, nw_sub(c->pool, end, nw_index(c->pool, 1)));
}

// Simplifies an expression under the assumption that each variable of the block is in its declared range in the old
// program.
static const nw_expr *where_it_ran(const compare *c, const nw_stmt *was, const nw_expr *e) {
  nw_ranges r;
  nw_ranges_of(&r, c->after->p, NULL);
  for (int i = 0; i < was->block.nvars; i++) {
    const nw_block_var *v = &was->block.var[i];
    push_range(c, &r, v, v->lo, v->extent);
  }
  e = nw_simplify(&r, e);
  nw_ranges_free(&r);
  return e;
}

static const nw_site *site_of(const nw_model *m, const nw_stmt *block) {
  for (int i = 0; i < m->nsites; i++)
    if (m->site[i]->block == block && !m->site[i]->init) return m->site[i];
  return NULL;
}

// True if isl proves that two expressions have the same value in every instance of the old block.
static bool alike(const compare *c, const nw_stmt *was, const nw_expr *a, const nw_expr *b) {
  const nw_site *s = site_of(c->before, was);
  const char *var[NW_MAX_DEPTH];
  if (!s || s->nvars > NW_MAX_DEPTH || !nw_alike(c->before, 0, var, NULL, a, b)) return false;
  for (int k = 0; k < s->nvars; k++) var[k] = s->var[k]->var->name;
  isl_set *box = nw_declared(c->before->f, s, nw_all_vars(s));
  bool same = nw_alike(c->before, s->nvars, var, box, a, b);
  isl_set_free(box);
  return same;
}

// True if two expressions have the same value in every instance of the old block. Instances that only the new program
// has are not checked, since they compute elements of a temporary that the old program did not read.
static bool same_expr(const compare *c, const nw_stmt *block, const nw_expr *was, const nw_expr *is,
                      const nw_stmt **rounded) {
  const nw_expr *a = form(old_forms(c), was, rounded), *b = form(new_forms(c), is, rounded);
  if (a == b) return true;
  a = where_it_ran(c, block, a);
  b = where_it_ran(c, block, b);
  return a == b || alike(c, block, a, b);
}

static bool only_temporaries(const compare *c, const nw_stmt *block) {
  for (int t = 0; t < block->block.ntargets; t++)
    if (nw_find_buffer(c->after->p, block->block.target[t].buffer)->role != NW_TEMP) return false;
  return true;
}

// True if two variables have the same extent, or need not have the same extent. A spatial variable of a block that
// writes only temporaries may get another extent, since another check ensures that every element that is read is
// computed. A reduce variable may get a larger extent, if the contributions that this adds are neutral (adds_neutral).
static bool same_extent(const compare *c, const nw_stmt *is, const nw_block_var *a, const nw_block_var *b) {
  const nw_expr *was = nw_import(c->pool, a->extent);
  if (was == b->extent || !NW_RULE(c->after->p->ctx, value_instances)) return true;
  if (b->kind == NW_SPATIAL) return only_temporaries(c, is);
  nw_ranges r;
  nw_ranges_of(&r, c->after->p, NULL);
  bool grows = b->kind == NW_REDUCE && !is->block.init_part && nw_prove(&r, nw_le(c->pool, was, b->extent));
  nw_ranges_free(&r);
  return grows;
}

static bool same_var(const compare *c, const nw_stmt *is, const nw_block_var *a, const nw_block_var *b) {
  return a->kind == b->kind && nw_import(c->pool, a->var) == b->var && nw_import(c->pool, a->lo) == b->lo &&
         same_extent(c, is, a, b);
}

// True if the blocks have the same variables. If `is` is a separate init, it must have the spatial variables of `was`.
static bool same_vars(const compare *c, const nw_stmt *was, const nw_stmt *is) {
  int at = 0;
  for (int i = 0; i < was->block.nvars; i++) {
    if (is->block.init_part && was->block.var[i].kind == NW_REDUCE) continue;
    if (at == is->block.nvars || !same_var(c, is, &was->block.var[i], &is->block.var[at++])) return false;
  }
  return at == is->block.nvars;
}

static nw_dtype dtype_of(const nw_model *m, const nw_block_target *t) { return nw_find_buffer(m->p, t->buffer)->dtype; }

static bool same_index(const compare *c, const nw_block_target *was, const nw_block_target *is) {
  for (int d = 0; d < was->n && d < is->n; d++)
    if (nw_import(c->pool, was->index[d]) != is->index[d]) return false;
  return was->n == is->n;
}

// True if both blocks store the value at the same element, or if in both programs the element tells the instance. The
// reads of a value then name its instance, so they are right wherever the value is stored.
static bool same_place(const compare *c, const nw_block_target *was, const nw_block_target *is) {
  if (dtype_of(c->before, was) != dtype_of(c->after, is)) return false;
  if (same_index(c, was, is) || !NW_RULE(c->after->p->ctx, value_instance)) return true;
  nw_normal old = old_forms(c), new = new_forms(c);
  return nw_told_by_element(&old, was->buffer) && nw_told_by_element(&new, is->buffer);
}

// ---- temporaries that are stored in another dtype

// True if only the new program stores the target of a plain block in another dtype. An update would round each value
// that it reads, so it must keep the dtype of its target.
static bool stored_otherwise(const compare *c, const nw_stmt *is, const nw_block_target *a, const nw_block_target *b) {
  return dtype_of(c->before, a) != dtype_of(c->after, b) && !strcmp(a->buffer, b->buffer) &&
         nw_find_buffer(c->after->p, b->buffer)->role == NW_TEMP && is->block.combiner == NW_PLAIN && !a->init &&
         !b->init;
}

// Returns the value of the old block as the new block stores it.
static const nw_expr *converted(const compare *c, const nw_block_target *a, const nw_block_target *b) {
  const nw_expr *value = nw_cast(c->pool, dtype_of(c->before, a), nw_import(c->pool, a->value));
  return nw_cast(c->pool, dtype_of(c->after, b), value);
}

// A float may be rounded when it is stored as another float; the step is then marked (sched/rounding.c).
static nw_answer check_storage(const compare *c, const nw_stmt *was, const nw_stmt *is) {
  if (!NW_RULE(c->after->p->ctx, value_storage)) return NW_HOLDS;
  for (int t = 0; t < is->block.ntargets; t++) {
    const nw_block_target *a = &was->block.target[t], *b = &is->block.target[t];
    nw_dtype from = dtype_of(c->before, a), to = dtype_of(c->after, b);
    if (from == to || (nw_dtype_is_float(from) && nw_dtype_is_float(to))) continue;
    if (nw_stores_values_of(c->before->p, was, t, to)) continue;
    return nw_tell(c->after, NW_REFUSE_VALUE, NULL, NULL, "%s stores values of %s that %s may not have", is->block.name,
                   nw_dtype_name(from), nw_dtype_name(to));
  }
  return NW_HOLDS;
}

// True if the separate init stores a constant that the old value has wherever some condition fails. Whether it is
// overwritten where the condition holds is checked with the accesses of the buffer (fill.c).
static bool fills(const compare *c, const nw_stmt *was, const nw_block_target *a, const nw_block_target *b) {
  if (was->block.combiner != NW_PLAIN) return false;
  const nw_expr *value = nw_import(c->pool, a->value);
  return nw_differs_where(c->pool, value, b->value) != nw_true(c->pool);
}

static bool same_target(const compare *c, const nw_stmt *was, const nw_stmt *is, int t, const nw_stmt **rounded) {
  const nw_block_target *a = &was->block.target[t], *b = &is->block.target[t];
  if (stored_otherwise(c, is, a, b))
    return same_index(c, a, b) && same_expr(c, was, converted(c, a, b), b->value, rounded);
  if (!same_place(c, a, b)) return false;
  if (is->block.init_part && !was->block.init_part)
    return a->init ? same_expr(c, was, a->init, b->value, rounded) : fills(c, was, a, b);
  if (!same_expr(c, was, a->value, b->value, rounded)) return false;
  return !b->init || (a->init && same_expr(c, was, a->init, b->init, rounded));
}

// True if the contributions with values of variable `v` beyond its old range are neutral, for all elements of the old
// program. Both blocks have the same variables.
static bool adds_neutral(const compare *c, const nw_stmt *was, const nw_stmt *is, int v) {
  nw_ranges r;
  bool neutral = true;
  nw_ranges_of(&r, c->after->p, NULL);
  for (int i = 0; i < is->block.nvars; i++) {
    const nw_block_var *a = &was->block.var[i], *b = &is->block.var[i];
    const nw_expr *end = nw_add(c->pool, nw_import(c->pool, a->lo), nw_import(c->pool, a->extent));
    if (i == v)
      push_range(c, &r, b, end, nw_sub(c->pool, nw_add(c->pool, b->lo, b->extent), end));
    else
      push_range(c, &r, b, b->lo, b->kind == NW_REDUCE ? b->extent : a->extent);
  }
  for (int t = 0; t < is->block.ntargets && neutral; t++) {
    const nw_stmt *rounded;
    const nw_expr *e = nw_simplify(&r, form(new_forms(c), is->block.target[t].value, &rounded));
    neutral = nw_is_neutral(is, t, dtype_of(c->after, &is->block.target[t]), e);
  }
  nw_ranges_free(&r);
  return neutral || !NW_RULE(c->after->p->ctx, value_padding);
}

static bool adds_only_neutral(const compare *c, const nw_stmt *was, const nw_stmt *is) {
  for (int i = 0; i < is->block.nvars && is->block.nvars == was->block.nvars; i++) {
    const nw_block_var *a = &was->block.var[i], *b = &is->block.var[i];
    if (b->kind == NW_REDUCE && nw_import(c->pool, a->extent) != b->extent && !adds_neutral(c, was, is, i))
      return false;
  }
  return true;
}

static bool same_block(const compare *c, const nw_stmt *was, const nw_stmt *is, const nw_stmt **rounded) {
  bool part = is->block.init_part && !was->block.init_part;
  if ((!part && was->block.combiner != is->block.combiner) || was->block.ntargets != is->block.ntargets) return false;
  if ((was->block.when ? nw_import(c->pool, was->block.when) : NULL) != is->block.when) return false;
  if (!same_vars(c, was, is) || !adds_only_neutral(c, was, is)) return false;
  for (int t = 0; t < is->block.ntargets; t++)
    if (!same_target(c, was, is, t, rounded)) return false;
  return true;
}

// Returns an old block with the same origin that equals the block, or NULL. Sets *found if there is an old block with
// this origin. The block need not equal all of them, since old blocks of one origin may read the same values from
// different buffers.
static const nw_stmt *same_as_any(const compare *c, const nw_stmt *is, bool part, bool *found,
                                  const nw_stmt **rounded) {
  const nw_stmt *was;
  for (int at = 0; (was = next_original(c, is, part, &at));) {
    *found = true;
    *rounded = NULL;
    if (same_block(c, was, is, rounded)) return was;
  }
  return NULL;
}

// ---- reductions that are computed in parts

static bool same_spatial(const compare *c, const nw_stmt *was, const nw_stmt *is) {
  int at = 0;
  for (int i = 0; i < was->block.nvars; i++) {
    if (was->block.var[i].kind == NW_REDUCE) continue;
    while (at < is->block.nvars && is->block.var[at].kind == NW_REDUCE) at++;
    if (at == is->block.nvars || !same_var(c, is, &was->block.var[i], &is->block.var[at++])) return false;
  }
  while (at < is->block.nvars && is->block.var[at].kind == NW_REDUCE) at++;
  return at == is->block.nvars;
}

// True if the block computes a stage of the old program from partial results. Adds the blocks that compute the partial
// results to `parts`.
static bool from_parts(const compare *c, const nw_stmt *is, nw_vec *parts, nw_answer *answer) {
  const nw_stmt *was;
  for (int at = 0; (was = next_original(c, is, is->block.init_part, &at));) {
    bool same = was->block.ntargets == is->block.ntargets && same_spatial(c, was, is);
    for (int t = 0; same && t < is->block.ntargets; t++) {
      const nw_block_target *a = &was->block.target[t], *b = &is->block.target[t];
      same = same_place(c, a, b) && (!b->init || (a->init && nw_import(c->pool, a->init) == b->init));
    }
    if (same && nw_combines_parts(c->before, c->after, was, is, parts, answer)) return true;
  }
  return false;
}

// True if the block computes partial results. Such a block is checked with the block that combines its results.
static bool is_part(const compare *c, const nw_stmt *block) {
  nw_vec parts = {0};
  bool found = false;
  for (int i = 0; i < c->after->nsites && !found; i++) {
    parts.n = 0;
    if (c->after->site[i]->init || !from_parts(c, c->after->site[i]->block, &parts, NULL)) continue;
    for (int k = 0; k < parts.n; k++) found |= parts.at[k] == block;
  }
  nw_vec_free(&parts);
  return found;
}

static nw_answer check_block(const compare *c, const nw_stmt *is) {
  nw_ctx *ctx = c->after->p->ctx;
  const nw_stmt *rounded = NULL;
  bool found = false;
  const nw_stmt *same = same_as_any(c, is, is->block.init_part, &found, &rounded);
  if (!found && is->block.init_part) same = same_as_any(c, is, false, &found, &rounded);
  nw_normal forms = new_forms(c);
  if (!found && (nw_seen_through(&forms, is->block.target[0].buffer) || is_part(c, is))) return NW_HOLDS;
  if (!found)
    return NW_RULE(ctx, value_known) ? refuse(c, is, "does work that is not part of the computation") : NW_HOLDS;
  nw_answer whole;
  nw_vec parts = {0};
  bool from = found && !same && from_parts(c, is, &parts, &whole);
  nw_vec_free(&parts);
  if (from) return whole;
  if (!same && NW_RULE(ctx, value_body))
    return refuse(c, is, "does not compute the same expression of the same values as before");
  if (rounded && NW_RULE(ctx, value_rounding))
    return refuse(c, rounded, "rounds its value to 16 bits in the store; this rounding would be lost");
  return same ? check_storage(c, same, is) : NW_HOLDS;
}

// Returns the normal form of an output's value at the symbolic index (_0, _1, ...).
static const nw_expr *output_form(nw_normal n, const nw_buffer *b) {
  const nw_expr *index[NW_MAX_DEPTH];
  const nw_stmt *rounded;
  for (int d = 0; d < b->ndim; d++) index[d] = nw_var(n.pool, nw_dim_name(n.pool, d));
  return form(n, nw_load(n.pool, (nw_type){(uint8_t)b->dtype, 1}, b->name, b->ndim, index), &rounded);
}

// True if both forms have the same value at every element of the output.
static bool same_at_elements(const compare *c, const nw_buffer *b, const nw_expr *was, const nw_expr *is) {
  const char *var[NW_MAX_DEPTH];
  if (was == is) return true;
  if (b->ndim > NW_MAX_DEPTH || !nw_alike(c->after, 0, var, NULL, was, is)) return false;
  for (int d = 0; d < b->ndim; d++) var[d] = nw_dim_name(c->pool, d);
  isl_set *box = nw_shape_box(c->after->f, b->ndim, (const nw_expr *const *)b->shape);
  bool same = nw_alike(c->after, b->ndim, var, box, was, is);
  isl_set_free(box);
  return same;
}

static nw_answer check_outputs(const compare *c) {
  if (!NW_RULE(c->after->p->ctx, output_source)) return NW_HOLDS;
  for (int i = 0; i < c->after->p->nbuffers; i++) {
    const nw_buffer *b = c->after->p->buffer[i];
    if (b->role != NW_OUTPUT) continue;
    if (same_at_elements(c, b, output_form(old_forms(c), b), output_form(new_forms(c), b))) continue;
    return nw_tell(c->after, NW_REFUSE_VALUE, NULL, NULL, "output %s would no longer have the same values", b->name);
  }
  return NW_HOLDS;
}

nw_answer nw_same_values(const nw_model *before, const nw_model *after) {
  compare c = {before, after, after->p->pool};
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < after->nsites && answer == NW_HOLDS; i++)
    if (!after->site[i]->init) answer = check_block(&c, after->site[i]->block);
  return answer == NW_HOLDS ? check_outputs(&c) : answer;
}
