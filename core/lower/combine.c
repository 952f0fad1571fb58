// Makes the statements that store the results of one execution of a block.
#include "lower/pass.h"

static nw_stmt *store(nw_program *p, const nw_stmt *block, const char *buffer, const nw_expr *index,
                      const nw_expr *value) {
  nw_stmt *s = nw_new_like(p, NW_STORE, block);
  s->store.buffer = buffer;
  s->store.index = index;
  s->store.value = value;
  s->ntags = block->ntags;
  s->tag = block->tag;
  return s;
}

static const nw_expr *load(nw_program *p, const nw_bound_target *t) {
  return nw_load(p->pool, (nw_type){t->dtype, 1}, t->buffer, 1, &t->index);
}

// Allocates a local temporary for one element, and sets *kept to it. Returns the allocation, which has no statements yet.
static nw_stmt *temporary(nw_program *p, const nw_stmt *block, nw_dtype t, nw_bound_target *kept) {
  const nw_expr *one = nw_index(p->pool, 1), *zero = nw_index(p->pool, 0);
  nw_str name = {0};
  nw_str_fmt(&name, "%s_next", block->block.name);
  const nw_buffer *next = nw_add_buffer(p, name.s, t, NW_LOCAL, NW_TEMP, 1, &one);
  nw_str_free(&name);
  nw_stmt *alloc = nw_new_like(p, NW_ALLOC, block);
  alloc->alloc.buffer = next->name;
  alloc->alloc.n = 1;
  alloc->alloc.min = NW_NEW_N(p->arena, const nw_expr *, 1);
  alloc->alloc.extent = NW_NEW_N(p->arena, const nw_expr *, 1);
  alloc->alloc.min[0] = zero;
  alloc->alloc.extent[0] = one;
  *kept = (nw_bound_target){.buffer = next->name, .dtype = t, .index = zero};
  return alloc;
}

// Emits the stores of a reduction whose targets are combined together, such as a value and its index (argmin). Each new
// value depends on all old values. So all new values but the first are kept in temporaries until the first is stored.
static void emit_joint(nw_program *p, const nw_stmt *block, int n, const nw_bound_target *t, const nw_expr *const *old,
                       const nw_expr *const *term, nw_vec *out) {
  nw_bound_target kept[NW_MAX_REDUCED];
  nw_combiner k = block->block.combiner;
  nw_vec kids = {0};
  nw_stmt *outer = NULL, *inner = NULL;
  for (int i = 1; i < n; i++) {
    nw_stmt *alloc = temporary(p, block, t[i].dtype, &kept[i]);
    if (inner) nw_kids_set(p, inner, 1, &alloc);
    inner = alloc;
    if (!outer) outer = alloc;
    nw_vec_push(&kids, store(p, block, kept[i].buffer, kept[i].index, nw_combine(p->pool, k, i, old, term)));
  }
  nw_stmt *first = store(p, block, t[0].buffer, t[0].index, nw_combine(p->pool, k, 0, old, term));
  first->store.atomic = block->block.atomic;
  nw_vec_push(&kids, first);
  for (int i = 1; i < n; i++) nw_vec_push(&kids, store(p, block, t[i].buffer, t[i].index, load(p, &kept[i])));
  if (inner) nw_kids_set(p, inner, kids.n, (nw_stmt **)kids.at);
  nw_vec_push(out, inner ? outer : first);
  nw_vec_free(&kids);
}

void nw_emit_block(nw_program *p, const nw_stmt *block, int n, const nw_bound_target *t, nw_vec *out) {
  const nw_expr *old[NW_MAX_REDUCED], *term[NW_MAX_REDUCED];
  if (nw_combiner_is_joint(block->block.combiner)) {
    for (int i = 0; i < n; i++) old[i] = load(p, &t[i]), term[i] = t[i].value;
    emit_joint(p, block, n, t, old, term, out);
    return;
  }
  for (int i = 0; i < n; i++) {
    *old = load(p, &t[i]);
    const nw_expr *value = nw_combine(p->pool, block->block.combiner, 0, old, &t[i].value);
    nw_stmt *s = store(p, block, t[i].buffer, t[i].index, value);
    s->store.stream = t[i].stream;
    s->store.atomic = block->block.atomic;
    s->store.async = block->block.async;
    nw_vec_push(out, s);
  }
}
