// Padding extends the last block of a split beyond the end of the old loop, so that the block is complete. The stage
// then declares more instances, and its temporary has more elements. A stage that only copies elements copies its last
// element again.
//
// No instance of the old program reads the additional elements. The judge checks that the additional instances read
// only existing elements, and that reductions get no additional contributions.
#include "sched/shape.h"
#include "sched/tree.h"

typedef struct reach {
  nw_step *st;
  nw_path path; // the path from the root to the block
  nw_ranges r;
  int nloops;
  const char *loop[NW_MAX_DEPTH]; // loops around the block, outermost first
} reach;

static void reach_open(reach *x, nw_step *st, const nw_stmt *block) {
  *x = (reach){.st = st};
  nw_find(st->p, block->id, &x->path);
  nw_ranges_of(&x->r, st->p, &x->path);
  for (int i = 0; i < x->path.n; i++)
    if (x->path.at[i]->kind == NW_LOOP) x->loop[x->nloops++] = x->path.at[i]->loop.var->name;
}

// Returns 1 plus the greatest value of e over all iterations of loop number `first` and of the loops inside it, but at
// least `least`.
static const nw_expr *end_of(const reach *x, const nw_expr *e, int first, const nw_expr *least) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *top = nw_upper_over(&x->r, nw_simplify(&x->r, e), x->nloops - first, x->loop + first);
  if (!top) return least;
  const nw_expr *end = nw_add(pool, top, nw_index(pool, 1));
  nw_ranges sizes;
  nw_ranges_of(&sizes, x->st->p, NULL);
  if (nw_prove(&sizes, nw_le(pool, end, least)))
    end = least;
  else if (!nw_prove(&sizes, nw_le(pool, least, end)))
    end = nw_max(pool, least, end);
  nw_ranges_free(&sizes);
  return end;
}

static bool moves(const nw_pieces *x, const nw_expr *bind) {
  for (int i = 0; i < x->n; i++)
    if (nw_uses_var(bind, x->loop[i]->loop.var->name)) return true;
  return false;
}

// Extends the declared instances of all blocks that compute pieces of the same stage.
static void declare(nw_step *st, const nw_stmt *of, const nw_expr *var, const nw_expr *extent) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++) {
    nw_stmt *s = b.at[i];
    if (strcmp(s->block.origin, of->block.origin) || s->block.init_part != of->block.init_part) continue;
    for (int v = 0; v < s->block.nvars; v++)
      if (s->block.var[v].var == var) s->block.var[v].extent = extent, s->step = st->p->step;
  }
}

static int loops_outside(const reach *x, const nw_stmt *alloc) {
  int n = 0;
  int place = nw_path_index(&x->path, alloc);
  for (int i = 0; i < place; i++) n += x->path.at[i]->kind == NW_LOOP;
  return n;
}

static void grow(const reach *x, nw_stmt *a, int d, const nw_expr *at) {
  at = nw_sub(x->st->p->pool, at, a->alloc.min[d]);
  a->alloc.extent[d] = end_of(x, at, loops_outside(x, a), a->alloc.extent[d]);
  a->step = x->st->p->step;
}

static void make_room(const reach *x, const nw_stmt *block, const nw_block_target *t) {
  nw_buffer *b = nw_find_buffer(x->st->p, t->buffer);
  for (int d = 0; d < t->n; d++) {
    const nw_expr *at = nw_block_bound(x->st->p, block, t->index[d]);
    b->shape[d] = end_of(x, at, 0, b->shape[d]);
    if (b->alloc) grow(x, b->alloc, d, at);
    for (int i = 0; i < x->path.n; i++) {
      nw_stmt *a = x->path.at[i];
      if (a->kind == NW_ALLOC && !strcmp(a->alloc.buffer, t->buffer)) grow(x, a, d, at);
    }
  }
}

static bool can_pad(nw_step *st, const nw_stmt *block, const nw_pieces *x) {
  const char *name = block->block.name;
  for (int v = 0; v < block->block.nvars; v++)
    if (block->block.var[v].kind != NW_SPATIAL && moves(x, block->block.var[v].bind))
      return nw_step_refuse(st, "only a temporary can have additional elements beyond its end", x->loop[0],
                            "it is not a loop over the elements of %s", name);
  for (int t = 0; t < block->block.ntargets; t++)
    if (nw_find_buffer(st->p, block->block.target[t].buffer)->role != NW_TEMP)
      return nw_step_refuse(st, "the caller's array cannot be extended; use cache_write to compute into a temporary",
                            x->loop[0], "%s is an output", name);
  return true;
}

// ---- copies

static bool is_copy(const nw_stmt *b) {
  return b->block.combiner == NW_PLAIN && b->block.ntargets == 1 && !b->block.target[0].init &&
         b->block.target[0].value->op == NW_OP_LOAD;
}

// Computes the ranges of the variables that the block declares.
static void declared_ranges(nw_step *st, const nw_stmt *block, nw_ranges *r) {
  nw_pool *pool = st->p->pool;
  nw_ranges_of(r, st->p, NULL);
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    nw_ranges_push(r, v->var->name, v->lo, nw_sub(pool, nw_add(pool, v->lo, v->extent), nw_index(pool, 1)));
  }
}

// Changes a copy block so that its instances beyond the end copy the last element again.
static void repeat_last(nw_step *st, nw_stmt *block) {
  nw_pool *pool = st->p->pool;
  nw_block_target *t = &block->block.target[0];
  const nw_expr *load = t->value, *index[NW_MAX_DEPTH];
  const nw_buffer *from = nw_find_buffer(st->p, load->name);
  nw_ranges r;
  declared_ranges(st, block, &r);
  for (int d = 0; d < load->n; d++) {
    const nw_expr *last = nw_sub(pool, from->shape[d], nw_index(pool, 1));
    index[d] = nw_prove(&r, nw_le(pool, load->arg[d], last)) ? load->arg[d] : nw_min(pool, load->arg[d], last);
  }
  nw_ranges_free(&r);
  t->value = nw_load(pool, load->type, load->name, load->n, index);
  block->step = st->p->step;
}

static void repeat_in_copies(nw_step *st, const nw_stmt *of) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++)
    if (!strcmp(b.at[i]->block.origin, of->block.origin) && is_copy(b.at[i])) repeat_last(st, b.at[i]);
}

static bool pad_block(nw_step *st, nw_stmt *block, const nw_pieces *x) {
  reach r;
  if (!can_pad(st, block, x)) return false;
  reach_open(&r, st, block);
  for (int v = 0; v < block->block.nvars; v++) {
    const nw_block_var *var = &block->block.var[v];
    if (!moves(x, var->bind)) continue;
    const nw_expr *from = nw_sub(st->p->pool, var->bind, var->lo);
    declare(st, block, var->var, end_of(&r, from, 0, var->extent));
  }
  for (int t = 0; t < block->block.ntargets; t++) make_room(&r, block, &block->block.target[t]);
  repeat_in_copies(st, block);
  nw_ranges_free(&r.r);
  return true;
}

bool nw_pad_below(nw_step *st, const nw_pieces *x) {
  nw_blocks b = nw_blocks_below(st->scratch, x->loop[x->n - 1]);
  for (int i = 0; i < b.n; i++)
    if (!pad_block(st, b.at[i], x)) return false;
  return true;
}
