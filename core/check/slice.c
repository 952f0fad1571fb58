// Decides which loops are entered when a slice is run. An execution or element is *wanted* if it belongs to the slice.
// A loop is entered if a block inside the loop may have a wanted execution. A block may have a wanted execution if its
// loops may have the values of a wanted execution, or if the range of its index includes a wanted element.
#include "check/slice.h"
#include "check/inside.h"
#include <stdlib.h>

struct nw_slice_site {
  const nw_stmt *block;
  int nloops;
  const nw_stmt *loop[NW_MAX_DEPTH];
  // The first and the last current iteration of each entered loop. Only the innermost entered loop may have several.
  int64_t at[NW_MAX_DEPTH], upto[NW_MAX_DEPTH];
  const nw_expr *lo[NW_MAX_DEPTH], *hi[NW_MAX_DEPTH];
  int first; // the range of the outermost loop is number `first` in `r`
  nw_ranges r; // ranges of the sizes, then of the loops; entered loops have their current values
  const nw_expr **bind; // the bindings of the block's variables
  const nw_expr ***index; // the indices of the block's targets, as expressions of loops
};

// ---- setting up

static const nw_expr **bound_exprs(nw_slice *s, const nw_stmt *block, int n, const nw_expr *const *e) {
  const nw_expr **out = NW_NEW_N(s->arena, const nw_expr *, n + 1);
  for (int i = 0; i < n; i++) out[i] = nw_import(s->pool, nw_block_bound(s->p, block, e[i]));
  return out;
}

static void add_loop(nw_slice *s, nw_slice_site *t, const nw_stmt *loop) {
  const nw_expr *begin = nw_import(s->pool, loop->loop.begin), *extent = nw_import(s->pool, loop->loop.extent);
  int k = t->nloops++;
  t->loop[k] = loop;
  t->lo[k] = begin;
  t->hi[k] = nw_sub(s->pool, nw_add(s->pool, begin, extent), nw_index(s->pool, 1));
  nw_ranges_push(&t->r, loop->loop.var->name, t->lo[k], t->hi[k]);
}

static void add_site(nw_slice *s, const nw_path *path) {
  nw_slice_site *t = &s->site[s->nsites++];
  const nw_stmt *b = t->block = path->at[path->n - 1];
  nw_ranges_init(&t->r, s->pool);
  for (int i = 0; i < s->p->nsizes; i++) {
    const nw_expr *v = nw_index(s->pool, s->sizes[i]);
    nw_ranges_push(&t->r, s->p->size[i].name, v, v);
  }
  t->first = s->p->nsizes;
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_LOOP) add_loop(s, t, path->at[i]);
  t->bind = NW_NEW_N(s->arena, const nw_expr *, b->block.nvars + 1);
  for (int i = 0; i < b->block.nvars; i++) t->bind[i] = nw_import(s->pool, b->block.var[i].bind);
  t->index = NW_NEW_N(s->arena, const nw_expr **, b->block.ntargets + 1);
  for (int i = 0; i < b->block.ntargets; i++)
    t->index[i] = bound_exprs(s, b, b->block.target[i].n, b->block.target[i].index);
}

static bool count_block(void *env, const nw_path *path) {
  *(int *)env += path->at[path->n - 1]->kind == NW_BLOCK;
  return true;
}

static bool see_block(void *env, const nw_path *path) {
  if (path->at[path->n - 1]->kind == NW_BLOCK) add_site(env, path);
  return true;
}

void nw_slice_init(nw_slice *s, const nw_program *p, const int64_t *sizes) {
  int n = 0;
  *s = (nw_slice){.p = p, .sizes = sizes, .arena = nw_arena_scratch(), .pool = nw_pool_new(p->ctx)};
  nw_walk(p, count_block, &n);
  s->site = NW_NEW_N(s->arena, nw_slice_site, n + 1);
  nw_walk(p, see_block, s);
  s->focus = NW_NEW_N(s->arena, nw_elements, p->nbuffers + 1);
  for (int i = 0; i < p->nbuffers; i++) {
    s->focus[i].buffer = p->buffer[i];
    for (int d = 0; d < p->buffer[i]->ndim; d++)
      s->focus[i].extent[d] = nw_check_value(p, p->buffer[i]->shape[d], sizes);
  }
}

void nw_slice_free(nw_slice *s) {
  for (int i = 0; i < s->nsites; i++) nw_ranges_free(&s->site[i].r);
  for (int i = 0; s->focus && i < s->p->nbuffers; i++) nw_numbers_free(&s->focus[i].flat);
  nw_vec_free(&s->wanted);
  nw_pool_release(s->pool);
  nw_arena_free(s->arena);
}

void nw_slice_want(nw_slice *s, nw_wanted w) {
  nw_wanted *copy = NW_NEW(s->arena, nw_wanted);
  *copy = w;
  nw_vec_push(&s->wanted, copy);
}

// ---- elements

static int64_t flat_of(const nw_elements *e, const int64_t *index) {
  int64_t flat = 0;
  for (int d = 0; d < e->buffer->ndim; d++) {
    if (index[d] < 0 || index[d] >= e->extent[d]) return -1;
    flat = flat * e->extent[d] + index[d];
  }
  return flat;
}

static nw_elements *elements_of(const nw_slice *s, const char *buffer) {
  for (int i = 0; i < s->p->nbuffers; i++)
    if (!strcmp(s->p->buffer[i]->name, buffer)) return &s->focus[i];
  return NULL;
}

bool nw_slice_focus(nw_slice *s, const char *buffer, int n, const int64_t *index) {
  nw_elements *e = elements_of(s, buffer);
  int64_t flat = e && e->buffer->ndim == n ? flat_of(e, index) : -1;
  if (flat < 0 || !nw_numbers_add(&e->flat, (uint64_t)flat)) return false;
  bool first = e->flat.n == 1;
  for (int d = 0; d < n; d++) {
    e->lo[d] = !first && e->lo[d] < index[d] ? e->lo[d] : index[d];
    e->hi[d] = !first && e->hi[d] > index[d] ? e->hi[d] : index[d];
  }
  return true;
}

int nw_slice_focused(const nw_slice *s) {
  int n = 0;
  for (int i = 0; i < s->p->nbuffers; i++) n += s->focus[i].flat.n;
  return n;
}

// ---- blocks that may be wanted, if the values of the first `known` loops are known

static bool stands(const nw_slice_site *t, int known, const nw_execution *e) {
  if (e->n != t->nloops || strcmp(e->block, t->block->block.name)) return false;
  for (int i = 0; i < known; i++)
    if (e->at[i] < t->at[i] || e->at[i] > t->upto[i]) return false;
  return true;
}

static bool may_be(const nw_slice_site *t, const nw_expr *e, int64_t lo, int64_t hi) {
  int64_t from, to;
  return !nw_const_range(&t->r, e, &from, &to) || (from <= hi && to >= lo);
}

static bool has_vars(const nw_slice_site *t, const nw_wanted *w) {
  if (strcmp(w->origin, t->block->block.origin)) return false;
  for (int i = 0; i < t->block->block.nvars; i++)
    for (int k = 0; k < w->n; k++)
      if (!strcmp(t->block->block.var[i].var->name, w->var[k]) && !may_be(t, t->bind[i], w->at[k], w->at[k]))
        return false;
  return true;
}

// True if the block may access a wanted element at this index. If every index is a known number, tests the element
// itself.
static bool is_element(const nw_slice_site *t, const nw_elements *e, const nw_expr *const *index) {
  int64_t at[NW_MAX_DEPTH], to;
  for (int d = 0; d < e->buffer->ndim; d++)
    if (!nw_const_range(&t->r, index[d], &at[d], &to) || at[d] != to) return true;
  int64_t flat = flat_of(e, at);
  return flat >= 0 && nw_numbers_has(&e->flat, (uint64_t)flat);
}

// True if the block may write a wanted element. Updates of the buffer `inits_of` are ignored. If `all` is true, all
// loops have known values, so the element itself is tested.
static bool may_write(const nw_slice *s, const nw_slice_site *t, bool all) {
  for (int i = 0; i < t->block->block.ntargets; i++) {
    const nw_block_target *to = &t->block->block.target[i];
    const nw_elements *e = elements_of(s, to->buffer);
    bool may = e && e->flat.n && !(t->block->block.combiner && s->inits_of && !strcmp(to->buffer, s->inits_of));
    for (int d = 0; may && d < to->n; d++) may = may_be(t, t->index[i][d], e->lo[d], e->hi[d]);
    if (may && (!all || is_element(t, e, t->index[i]))) return true;
  }
  return false;
}

static bool may_want(const nw_slice *s, const nw_slice_site *t, int known, bool all) {
  if (s->whole) return true;
  for (int i = 0; i < s->wanted.n; i++) {
    const nw_wanted *w = s->wanted.at[i];
    if (w->by_loops ? stands(t, known, w->by_loops) : has_vars(t, w)) return true;
  }
  return may_write(s, t, all);
}

// ---- entering loops and running blocks

static void stand(nw_slice *s, nw_slice_site *t, int k, int64_t lo, int64_t hi) {
  t->at[k] = lo;
  t->upto[k] = hi;
  if (s->whole) return;
  nw_range *r = &t->r.at[t->first];
  r[k].lo = nw_index(s->pool, lo);
  r[k].hi = nw_index(s->pool, hi);
  for (int i = k + 1; i < t->nloops; i++) {
    r[i].lo = t->lo[i];
    r[i].hi = t->hi[i];
  }
}

// True if some of the iterations lo..hi of the loop may contain a wanted execution. Single elements are tested only if
// all loops have known values.
bool nw_slice_enters(nw_slice *s, const nw_stmt *loop, int64_t lo, int64_t hi) {
  bool wanted = false;
  for (int i = 0; i < s->nsites; i++) {
    nw_slice_site *t = &s->site[i];
    for (int k = 0; k < t->nloops; k++) {
      if (t->loop[k] != loop) continue;
      stand(s, t, k, lo, hi);
      wanted = wanted || may_want(s, t, k + 1, k + 1 == t->nloops && lo == hi);
    }
  }
  return wanted;
}

bool nw_slice_runs(nw_slice *s, const nw_stmt *block) {
  for (int i = 0; i < s->nsites; i++)
    if (s->site[i].block == block) return may_want(s, &s->site[i], s->site[i].nloops, true);
  return false;
}

bool nw_slice_at(const nw_slice *s, const nw_stmt *block, const nw_execution *e) {
  for (int i = 0; i < s->nsites; i++)
    if (s->site[i].block == block) return stands(&s->site[i], s->site[i].nloops, e);
  return false;
}
