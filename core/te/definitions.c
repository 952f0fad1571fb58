// Makes the nests of updates in the naive program. The loops of a definition run over the ranges of its axes; loops that
// it shares with the definition before it are around both. Its condition is a condition of the block, and tests the
// instances in the loops.
#include "te/maker.h"

// An axis that is an index of the written element, unchanged, is pure. All other axes are ordered as written.
static nw_var_kind kind_of(const nw_teop *def, int axis) {
  for (int d = 0; d < def->target->n; d++)
    if (def->target->arg[d] == def->axis[axis]) return NW_SPATIAL;
  return NW_ORDERED;
}

// Finds the term of a definition that adds to its element, as in S(i) + x, or multiplies it, or takes the lesser or the
// greater value. Returns NULL for any other definition, and if the term or the index reads the stage.
static const nw_expr *accumulated(const nw_teop *def, nw_combiner *combiner) {
  static const nw_op op[] = {
      [NW_SUM] = NW_OP_ADD, [NW_PROD] = NW_OP_MUL, [NW_MIN_OF] = NW_OP_MIN, [NW_MAX_OF] = NW_OP_MAX};
  const nw_expr *e = def->body[0], *own = def->target;
  for (nw_combiner k = NW_SUM; k <= NW_MAX_OF; k++) {
    if ((nw_op)e->op != op[k]) continue;
    const nw_expr *term = e->arg[0] == own ? e->arg[1] : e->arg[1] == own ? e->arg[0] : NULL;
    bool reads = !term || nw_uses_load(term, own->name);
    for (int d = 0; d < own->n; d++) reads = reads || nw_uses_load(own->arg[d], own->name);
    if (reads) return NULL;
    *combiner = k;
    return term;
  }
  return NULL;
}

static void add_target(nw_te_maker *m, nw_stmt *b, const nw_teop *def, const char *buffer) {
  nw_block_target *t = &b->block.target[b->block.ntargets++];
  m->reading = def;
  *t = (nw_block_target){.buffer = buffer, .n = def->target->n};
  t->index = NW_NEW_N(m->p->arena, const nw_expr *, t->n + 1);
  for (int d = 0; d < t->n; d++) t->index[d] = nw_te_plain(m, def->target->arg[d]);
  const nw_expr *term = accumulated(def, &b->block.combiner);
  t->value = nw_te_plain(m, term ? term : def->body[0]);
}

// Adds the loop of an axis, or uses the loop that the definition shares with the one before it.
static void add_axis(nw_te_maker *m, nw_te_nest *n, const nw_teop *def, int i, nw_stmt **loop) {
  const nw_expr *lo = nw_te_plain(m, def->lo[i]), *extent = nw_te_plain(m, def->extent[i]);
  if (i >= def->shared) loop[i] = nw_te_enclose(m, n, def->axis_name[i], lo, extent);
  nw_te_add_var(m, n->block, def->axis[i]->name, def->axis_name[i], kind_of(def, i), lo, extent, loop[i]->loop.var);
}

nw_stmt *nw_te_definition(nw_te_maker *m, const nw_teop *op, int d, nw_stmt **loop) {
  const nw_teop *def = op->update[d]->op;
  const char *buffer = nw_te_buffer_of(m, op, 0);
  nw_te_nest n = {.block = nw_te_new_block(m, nw_te_name_of(m, op), def->naxes, 1)};
  if (def->shared) n.outer = loop[0], n.inner = loop[def->shared - 1];
  nw_te_map_buffer(m, op->state[d]->op, 0, buffer);
  for (int i = 0; i < def->naxes; i++) add_axis(m, &n, def, i, loop);
  add_target(m, n.block, def, buffer);
  if (def->when) {
    n.block->block.when = nw_te_plain(m, def->when);
    n.block->block.where = nw_block_bound(m->p, n.block, n.block->block.when);
  }
  nw_te_close_nest(m, &n);
  return n.outer;
}
