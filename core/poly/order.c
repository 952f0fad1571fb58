// Judges a step by order. Both programs must execute the same instances, each once, and no dependence may be reversed.
//
// If every element of a buffer has only one value, it is sufficient that each read comes after the write, and each
// update after the init (buffer.c). This file checks the other buffers, in which two instances that access the same
// element must keep their order.
#include "ir/program/reducer.h"
#include "poly/internal.h"

// ---- the same blocks

static bool same_exprs(int n, const nw_expr *const *a, const nw_expr *const *b) {
  for (int i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static bool same_target(const nw_block_target *a, const nw_block_target *b) {
  return !strcmp(a->buffer, b->buffer) && a->n == b->n && a->value == b->value && a->init == b->init &&
         same_exprs(a->n, (const nw_expr *const *)a->index, (const nw_expr *const *)b->index);
}

static bool same_var(const nw_block_var *a, const nw_block_var *b) {
  return a->kind == b->kind && a->var == b->var && a->lo == b->lo && a->extent == b->extent;
}

static bool same_init(const nw_site *a, const nw_site *b) {
  const nw_stmt *owner = a->init ? a->block : b->block, *part = a->init ? b->block : a->block;
  if (a->nvars != b->nvars || a->block->block.ntargets != b->block->block.ntargets) return false;
  for (int i = 0; i < a->nvars; i++)
    if (!same_var(a->var[i], b->var[i])) return false;
  for (int t = 0; t < part->block.ntargets; t++) {
    const nw_block_target *o = &owner->block.target[t], *p = &part->block.target[t];
    if (strcmp(o->buffer, p->buffer) || o->n != p->n || o->init != p->value) return false;
    if (!same_exprs(o->n, (const nw_expr *const *)o->index, (const nw_expr *const *)p->index)) return false;
  }
  return true;
}

// True if both sites have the same instances, and both are updates of the same kind or neither is an update.
bool nw_same_instances(const nw_site *a, const nw_site *b) {
  if (a->block->block.combiner != b->block->block.combiner || a->block->block.when != b->block->block.when)
    return false;
  for (int i = 0; i < a->nvars && i < b->nvars; i++)
    if (!same_var(a->var[i], b->var[i])) return false;
  return a->nvars == b->nvars;
}

// True if the sites do the same work with the same body. An init that is a separate block does the same work as an init
// that is a part of its reduction block.
static bool same_body(const nw_site *a, const nw_site *b) {
  if (a->init != b->init) return same_init(a, b);
  if (!nw_same_instances(a, b) || a->block->block.ntargets != b->block->block.ntargets) return false;
  for (int i = 0; i < a->block->block.ntargets; i++)
    if (!same_target(&a->block->block.target[i], &b->block->block.target[i])) return false;
  return true;
}

static bool all_found(const nw_model *in, const nw_model *from) {
  for (int i = 0; i < from->nsites; i++) {
    nw_sites like = nw_sites_like(in, from->site[i]);
    if (!like.n || !same_body(like.at[0], from->site[i])) return false;
  }
  return true;
}

bool nw_same_blocks(const nw_model *before, const nw_model *after) {
  return before->f == after->f && all_found(before, after) && all_found(after, before);
}

// Checks that every declared instance of every block is executed exactly once.
nw_answer nw_each_once(const nw_model *m) {
  nw_ctx *c = m->p->ctx;
  for (int i = 0; i < m->nsites; i++) {
    bool once;
    if (m->site[i]->maybe) continue;
    nw_answer full = nw_instances_full(m, m->site[i], &once);
    if (full == NW_ABORTED) return full;
    if (full == NW_FAILS && NW_RULE(c, instance_set)) return NW_FAILS;
    if (full == NW_HOLDS && !once && NW_RULE(c, instance_once)) return NW_FAILS;
  }
  return NW_HOLDS;
}

// ---- dependences

static isl_map *in_instances(isl_map *pairs, const nw_use *a, const nw_use *b) {
  pairs = isl_map_apply_domain(pairs, isl_map_copy(a->site->instance));
  return isl_map_apply_range(pairs, isl_map_copy(b->site->instance));
}

static bool same_conds(const nw_use *a, const nw_use *b) {
  for (int i = 0; i < a->nconds && i < b->nconds; i++)
    if (a->cond[i].cond != b->cond[i].cond || a->cond[i].want != b->cond[i].want) return false;
  return a->nconds == b->nconds;
}

// Returns the access of the site `in` that does the same as `a`, in the instances in which `a` does it; NULL if there is
// none.
nw_use *nw_same_access(const nw_site *in, const nw_use *a) {
  if (!nw_site_same_work(in, a->site)) return NULL;
  for (int i = 0; i < in->nuses; i++) {
    nw_use *b = &in->use[i];
    if (a->write == b->write && a->n == b->n && !strcmp(a->buffer->name, b->buffer->name) && same_conds(a, b) &&
        same_exprs(a->n, a->index, b->index))
      return b;
  }
  return NULL;
}

// Sets *all to the pairs of instances of a and b that access the same element in the old program, where a is first.
// Returns false if there are certainly none.
static bool depends(const nw_model *before, const nw_use *a, const nw_use *b, isl_map **all) {
  bool any = false;
  nw_sites like_a = nw_sites_like(before, a->site), like_b = nw_sites_like(before, b->site);
  for (int i = 0; i < like_a.n; i++)
    for (int j = 0; j < like_b.n; j++) {
      nw_use *x = nw_same_access(like_a.at[i], a), *y = nw_same_access(like_b.at[j], b);
      if (!x || !y || !nw_may_meet(x, y)) continue;
      isl_map *some = in_instances(nw_before(nw_meet(before, x, y), x, y), x, y);
      *all = any ? isl_map_union(*all, some) : some;
      any = true;
    }
  return any;
}

// Sets *bad to the pairs that access the same element, where a is first in the old program but not in the new one.
// Returns false if no pair accesses the same element.
static bool turned(const nw_model *before, const nw_model *after, nw_use *a, nw_use *b, isl_map **bad) {
  isl_map *must = NULL;
  if (!depends(before, a, b, &must)) return false;
  must = isl_map_apply_range(must, isl_map_reverse(isl_map_copy(b->site->instance)));
  must = isl_map_apply_domain(must, isl_map_reverse(isl_map_copy(a->site->instance)));
  *bad = nw_not_before(isl_map_intersect(nw_meet(after, a, b), must), a, b);
  return true;
}

static bool free_order(const nw_use *a, const nw_use *b) {
  return a->update && b->update && nw_site_same_work(a->site, b->site);
}

static nw_answer tell(const nw_model *m, const nw_use *a, const nw_use *b, isl_map *bad) {
  nw_story story = {.kind = NW_REFUSE_WAW,
                    .source = a,
                    .sink = b,
                    .why = "{e} is written at {s}, but the write at {t}, which must come later, would run first"};
  if (!b->write)
    story = (nw_story){
        .kind = NW_REFUSE_RAW, .source = a, .sink = b, .why = "{e} is read at {t}, before it is written at {s}"};
  if (!a->write)
    story = (nw_story){.kind = NW_REFUSE_WAR,
                       .source = a,
                       .sink = b,
                       .why = "{e} is read at {s}, but would already be overwritten at {t}"};
  return nw_tell_pair(m, &story, bad);
}

static nw_answer check_pair(const nw_model *before, const nw_model *after, nw_use *a, nw_use *b) {
  if (!nw_may_meet(a, b) || free_order(a, b)) return NW_HOLDS;
  if (!NW_RULE(after->p->ctx, order_self)) return NW_HOLDS;
  isl_map *bad = NULL;
  if (!turned(before, after, a, b, &bad)) return NW_HOLDS;
  nw_answer answer = nw_answer_of(after->f->s, isl_map_is_empty(bad));
  if (answer == NW_FAILS) return tell(after, a, b, bad);
  isl_map_free(bad);
  return answer;
}

// Returns the index after the last access that belongs to the same site as access `at`. The accesses of a site are
// adjacent.
static int end_of_site(const nw_uses *u, int at) {
  const nw_site *s = u->at[at]->site;
  while (at < u->n && u->at[at]->site == s) at++;
  return at;
}

// True if an init that writes the buffer is still a part of its block. Such an init may run before the reduction's
// loops, or directly before the first update. So the buffer cannot be judged if its elements change their values.
static bool owns_init(const nw_uses *u) {
  for (int i = 0; i < u->n; i++)
    if (u->at[i]->site->init) return true;
  return false;
}

bool nw_site_writes(const nw_site *s, const nw_buffer *b) {
  for (int i = 0; i < s->nuses; i++)
    if (s->use[i].write && s->use[i].buffer == b) return true;
  return false;
}

// Checks the accesses of the buffer; if `definitions` is true, only those of blocks that write it.
static nw_answer check_accesses(const nw_model *before, const nw_model *after, const nw_buffer *buffer,
                                bool definitions) {
  nw_answer answer = NW_HOLDS;
  nw_uses u = nw_uses_of(after, buffer);
  if (owns_init(&u))
    return nw_tell(after, NW_REFUSE_UNDECIDED, NULL, NULL,
                   "elements of %s change their value, and the init of its reduction is not a separate block",
                   buffer->name);
  for (int s = 0; s < u.n; s = end_of_site(&u, s))
    for (int t = 0; t < u.n; t = end_of_site(&u, t)) {
      if (definitions && !(nw_site_writes(u.at[s]->site, buffer) && nw_site_writes(u.at[t]->site, buffer))) continue;
      for (int i = s; i < end_of_site(&u, s) && answer == NW_HOLDS; i++)
        for (int j = t; j < end_of_site(&u, t) && answer == NW_HOLDS; j++)
          answer = check_pair(before, after, u.at[i], u.at[j]);
    }
  return answer;
}

nw_answer nw_check_deps(const nw_model *before, const nw_model *after, const nw_buffer *buffer) {
  return check_accesses(before, after, buffer, false);
}

nw_answer nw_check_definition_deps(const nw_model *before, const nw_model *after, const nw_buffer *buffer) {
  return check_accesses(before, after, buffer, true);
}

// ---- the order of the terms of a float sum, which affects its rounding

static bool sums_floats(const nw_use *a) {
  nw_combiner k = a->site->block->block.combiner;
  if (!a->write || !a->update) return false;
  if (k >= NW_OWN) return nw_reducer_of(nw_pool_ctx(a->site->block->block.target[0].value->pool), k)->rounds;
  return (k == NW_SUM || k == NW_PROD) && nw_dtype_is_float(a->buffer->dtype);
}

static nw_answer same_order(const nw_model *before, const nw_model *after, nw_use *a, nw_use *b) {
  if (!sums_floats(a) || !sums_floats(b) || !free_order(a, b) || !nw_may_meet(a, b)) return NW_HOLDS;
  isl_map *bad = NULL;
  if (!turned(before, after, a, b, &bad)) return NW_HOLDS;
  nw_answer answer = nw_answer_of(after->f->s, isl_map_is_empty(bad));
  isl_map_free(bad);
  return answer;
}

static nw_answer same_order_at(const nw_model *before, const nw_model *after, const nw_site *s, const nw_site *t) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < s->nuses && answer == NW_HOLDS; i++)
    for (int j = 0; j < t->nuses && answer == NW_HOLDS; j++) answer = same_order(before, after, &s->use[i], &t->use[j]);
  return answer;
}

nw_answer nw_sums_keep_order(const nw_model *before, const nw_model *after) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < after->nsites && answer == NW_HOLDS; i++) {
    nw_sites like = nw_sites_like(after, after->site[i]);
    for (int j = 0; j < like.n && answer == NW_HOLDS; j++)
      answer = same_order_at(before, after, after->site[i], like.at[j]);
  }
  return answer;
}
