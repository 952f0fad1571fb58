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

static bool arg_reduction(const nw_stmt *block) {
  return block->block.combiner == NW_ARGMIN || block->block.combiner == NW_ARGMAX;
}

// Emits the stores of a reduction to a value and its index (argmin, argmax). The new value and the new index depend on
// both old ones. So the new index is kept in a temporary until the new value is stored.
static void emit_arg(nw_program *p, const nw_stmt *block, const nw_bound_target *t, const nw_expr *const *old,
                     const nw_expr *const *term, nw_vec *out) {
  const nw_expr *one = nw_index(p->pool, 1), *zero = nw_index(p->pool, 0);
  nw_str name = {0};
  nw_str_fmt(&name, "%s_next", block->block.name);
  const nw_buffer *next = nw_add_buffer(p, name.s, t[1].dtype, NW_LOCAL, NW_TEMP, 1, &one);
  nw_str_free(&name);
  nw_stmt *alloc = nw_new_like(p, NW_ALLOC, block);
  alloc->alloc.buffer = next->name;
  alloc->alloc.n = 1;
  alloc->alloc.min = NW_NEW_N(p->arena, const nw_expr *, 1);
  alloc->alloc.extent = NW_NEW_N(p->arena, const nw_expr *, 1);
  alloc->alloc.min[0] = zero;
  alloc->alloc.extent[0] = one;
  nw_bound_target kept = {.buffer = next->name, .dtype = t[1].dtype, .index = zero};
  nw_stmt *kid[] = {
      store(p, block, next->name, zero, nw_combine(p->pool, block->block.combiner, 1, old, term)),
      store(p, block, t[0].buffer, t[0].index, nw_combine(p->pool, block->block.combiner, 0, old, term)),
      store(p, block, t[1].buffer, t[1].index, load(p, &kept)),
  };
  nw_kids_set(p, alloc, NW_COUNT(kid), kid);
  nw_vec_push(out, alloc);
}

void nw_emit_block(nw_program *p, const nw_stmt *block, int n, const nw_bound_target *t, nw_vec *out) {
  const nw_expr *old[2], *term[2];
  if (arg_reduction(block)) {
    for (int i = 0; i < 2; i++) old[i] = load(p, &t[i]), term[i] = t[i].value;
    emit_arg(p, block, t, old, term, out);
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
