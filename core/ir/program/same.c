// Compares programs. Within one pool, equal expressions have the same pointer. Expressions of two pools are compared
// node by node.
#include "ir/program/reducer.h"
#include "ir/program/tags.h"

static bool same_expr(const nw_expr *a, const nw_expr *b) {
  if (a == b) return true;
  if (!a || !b || a->op != b->op || a->n != b->n || a->hash != b->hash) return false;
  if (a->type.dtype != b->type.dtype || a->type.lanes != b->type.lanes) return false;
  bool named = a->op == NW_OP_VAR || a->op == NW_OP_LOAD;
  if (named ? strcmp(a->name, b->name) != 0 : a->i != b->i) return false;
  for (int i = 0; i < a->n; i++)
    if (!same_expr(a->arg[i], b->arg[i])) return false;
  return true;
}

static bool same_exprs(int n, const nw_expr *const *a, const nw_expr *const *b) {
  for (int i = 0; i < n; i++)
    if (!same_expr(a[i], b[i])) return false;
  return true;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool same_loop(const nw_stmt *a, const nw_stmt *b) {
  return same_expr(a->loop.var, b->loop.var) && same_expr(a->loop.begin, b->loop.begin) &&
         same_expr(a->loop.extent, b->loop.extent) && a->loop.mark == b->loop.mark &&
         a->loop.nfused == b->loop.nfused && same_exprs(a->loop.nfused, a->loop.fused, b->loop.fused);
}

static bool same_var(const nw_block_var *a, const nw_block_var *b) {
  return same_expr(a->var, b->var) && a->kind == b->kind && same_expr(a->lo, b->lo) &&
         same_expr(a->extent, b->extent) && same_expr(a->bind, b->bind);
}

static bool same_target(const nw_block_target *a, const nw_block_target *b) {
  return same_text(a->buffer, b->buffer) && a->n == b->n && same_exprs(a->n, a->index, b->index) &&
         a->stream == b->stream && same_expr(a->value, b->value) && same_expr(a->init, b->init);
}

static bool same_block(const nw_stmt *a, const nw_stmt *b) {
  if (!same_text(a->block.name, b->block.name) || !same_text(a->block.origin, b->block.origin)) return false;
  if (a->block.init_part != b->block.init_part || a->block.combiner != b->block.combiner) return false;
  if (a->block.atomic != b->block.atomic || a->block.async != b->block.async) return false;
  if (a->block.has_init != b->block.has_init || !same_expr(a->block.where, b->block.where)) return false;
  if (!same_expr(a->block.when, b->block.when)) return false;
  if (a->block.nvars != b->block.nvars || a->block.ntargets != b->block.ntargets) return false;
  for (int i = 0; i < a->block.nvars; i++)
    if (!same_var(&a->block.var[i], &b->block.var[i])) return false;
  for (int i = 0; i < a->block.ntargets; i++)
    if (!same_target(&a->block.target[i], &b->block.target[i])) return false;
  return true;
}

static bool same_call(const nw_stmt *a, const nw_stmt *b) {
  if (!same_text(a->call.intrinsic, b->call.intrinsic) || a->call.ntiles != b->call.ntiles) return false;
  for (int i = 0; i < a->call.ntiles; i++) {
    const nw_tile *x = &a->call.tile[i], *y = &b->call.tile[i];
    if (!same_text(x->buffer, y->buffer) || !same_expr(x->index, y->index) || x->n != y->n ||
        !same_exprs(x->n, x->stride, y->stride))
      return false;
  }
  return true;
}

bool nw_same_statement(const nw_stmt *a, const nw_stmt *b) {
  if (a->kind != b->kind || a->unsafe != b->unsafe || a->tested != b->tested) return false;
  switch (a->kind) {
  case NW_SEQ:
  case NW_COMMIT: return true;
  case NW_BARRIER: return a->barrier.warp == b->barrier.warp;
  case NW_WAIT: return a->wait.groups == b->wait.groups;
  case NW_LOOP: return same_loop(a, b);
  case NW_BLOCK: return same_block(a, b);
  case NW_GUARD: return same_expr(a->guard.cond, b->guard.cond);
  case NW_STORE:
    return same_text(a->store.buffer, b->store.buffer) && same_expr(a->store.index, b->store.index) &&
           same_expr(a->store.value, b->store.value) && same_expr(a->store.mask, b->store.mask) &&
           a->store.stream == b->store.stream && a->store.atomic == b->store.atomic && a->store.async == b->store.async;
  case NW_ALLOC:
  case NW_PREFETCH:
    return same_text(a->alloc.buffer, b->alloc.buffer) && a->alloc.n == b->alloc.n &&
           same_exprs(a->alloc.n, a->alloc.min, b->alloc.min) &&
           same_exprs(a->alloc.n, a->alloc.extent, b->alloc.extent);
  case NW_CALL: return same_call(a, b);
  case NW_UNIT: return same_text(a->unit.name, b->unit.name);
  }
  return false;
}

bool nw_same_tree(const nw_stmt *a, const nw_stmt *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->nkids != b->nkids || !nw_same_statement(a, b)) return false;
  for (int i = 0; i < a->nkids; i++)
    if (!nw_same_tree(a->kid[i], b->kid[i])) return false;
  return true;
}

static bool same_strides(const nw_buffer *a, const nw_buffer *b) {
  for (int i = 0; i < a->nstrides && a->nstrides == b->nstrides; i++) {
    const nw_stride *x = &a->stride[i], *y = &b->stride[i];
    if (x->dim != y->dim || x->factor != y->factor || x->offset != y->offset) return false;
  }
  return a->nstrides == b->nstrides;
}

static bool same_buffer(const nw_buffer *a, const nw_buffer *b) {
  return same_text(a->name, b->name) && a->dtype == b->dtype && a->scope == b->scope && !a->chip == !b->chip &&
         (!a->chip || same_text(a->chip, b->chip)) && a->role == b->role && a->ndim == b->ndim &&
         same_exprs(a->ndim, a->shape, b->shape) && a->nlayout == b->nlayout &&
         same_exprs(a->nlayout, a->layout, b->layout) && same_exprs(a->nlayout, a->layout_shape, b->layout_shape) &&
         !a->pad == !b->pad && same_exprs(a->pad != NULL, &a->pad, &b->pad) && same_strides(a, b) &&
         !a->pitch == !b->pitch && same_exprs(a->pitch ? a->ndim : 0, a->pitch, b->pitch) &&
         nw_same_tree(a->alloc, b->alloc);
}

// True if the programs have the same text: names, tables and trees are compared, but not ids and step numbers.
bool nw_same_program(const nw_program *a, const nw_program *b) {
  if (a == b) return true;
  if (!a || !b || !same_text(a->name, b->name)) return false;
  if (a->unsafe != b->unsafe || a->tested != b->tested || a->values != b->values) return false;
  if (a->nsizes != b->nsizes || a->nbuffers != b->nbuffers) return false;
  if (a->nfacts != b->nfacts || a->nassumed != b->nassumed || a->nreducers != b->nreducers) return false;
  for (int i = 0; i < a->nreducers; i++)
    if (a->reducer[i].combiner != b->reducer[i].combiner || !same_text(a->reducer[i].name, b->reducer[i].name))
      return false;
  for (int i = 0; i < a->nsizes; i++)
    if (!same_text(a->size[i].name, b->size[i].name) || !same_expr(a->size[i].lo, b->size[i].lo)) return false;
  for (int i = 0; i < a->nbuffers; i++)
    if (!same_buffer(a->buffer[i], b->buffer[i])) return false;
  return same_exprs(a->nfacts, a->fact, b->fact) && nw_same_tree(a->root, b->root);
}
