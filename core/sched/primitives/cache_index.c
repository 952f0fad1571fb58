// cache_index: computes divisions in the indices of a stage once, in a stage of their own, and lets the stage read them.
//
// The index keeps its expression, so that the judge can prove bounds and dependences, and gets the read beside it
// (ir/expr/known.h). The judge proves that both are equal, and sees the read like any other.
#include "ir/expr/known.h"
#include "sched/primitives.h"
#include "sched/primitives/place.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"

enum { STAGE, SCOPE, NAME, AT };

// ---- the expressions

typedef struct indices {
  const nw_stmt *block;
  nw_pool *pool;
  nw_vec found; // const nw_expr *: divisions that use variables of the block, and read nothing
  nw_vec known; // const nw_expr *: what replaces each of them; empty while they are looked for
} indices;

static bool uses_axis(const nw_stmt *block, const nw_expr *e) {
  for (int i = 0; i < block->block.nvars; i++)
    if (nw_uses_var(e, block->block.var[i].var->name)) return true;
  return false;
}

static bool is_wanted(const indices *x, const nw_expr *e) {
  return (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && e->type.dtype == NW_INDEX && !e->data &&
         uses_axis(x->block, e);
}

static int number_of(const indices *x, const nw_expr *e) {
  for (int i = 0; i < x->found.n; i++)
    if (x->found.at[i] == e) return i;
  return -1;
}

// Returns the index with the largest divisions in it replaced. If x->known is empty, only adds them to x->found. Loads
// in the index have indices of their own, which are handled apart.
static const nw_expr *in_index(indices *x, const nw_expr *e) {
  if (e->op == NW_OP_KNOWN || e->op == NW_OP_LOAD || !e->n) return e;
  if (is_wanted(x, e)) {
    int n = number_of(x, e);
    if (n < 0) nw_vec_push(&x->found, (void *)e);
    return x->known.n ? x->known.at[NW_MUTATED(cache_index_first) ? 0 : n] : e;
  }
  const nw_expr *arg[3];
  NW_MUST(e->n <= NW_COUNT(arg));
  for (int i = 0; i < e->n; i++) arg[i] = in_index(x, e->arg[i]);
  return nw_make(x->pool, (nw_op)e->op, e->type, e->n, arg);
}

static const nw_expr *in_load(void *env, const nw_expr *load) {
  indices *x = env;
  const nw_expr *arg[NW_MAX_DEPTH];
  NW_MUST(load->n <= NW_COUNT(arg));
  for (int i = 0; i < load->n; i++) arg[i] = in_index(x, load->arg[i]);
  return nw_load(x->pool, load->type, load->name, load->n, arg);
}

static void in_block(indices *x, nw_stmt *block) {
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_block_target *g = &block->block.target[t];
    g->value = nw_rewrite(x->pool, g->value, NULL, in_load, x);
    g->init = nw_rewrite(x->pool, g->init, NULL, in_load, x);
    for (int d = 0; d < g->n; d++) g->index[d] = in_index(x, nw_rewrite(x->pool, g->index[d], NULL, in_load, x));
  }
}

// ---- the stage that computes an expression

// Returns the stage of a new buffer with one dimension for each variable that the expression uses, and the read of the
// buffer by the block in *read.
static nw_stmt *stage_of(nw_step *st, const nw_stmt *block, const nw_expr *e, const nw_expr **read) {
  nw_along d = nw_along_of(st, block, 1, &e);
  nw_buffer like = {.name = block->block.name, .dtype = NW_INDEX, .ndim = d.n, .shape = d.extent};
  nw_buffer *to = nw_new_cache(st, &like, SCOPE, NAME, "index");
  if (!to) return NULL;
  *read = nw_load(st->p->pool, (nw_type){NW_INDEX, 1}, to->name, d.n, d.index);
  return nw_stage_along(st, to, &d, e);
}

static bool none(nw_step *st, const nw_stmt *block) {
  return nw_step_refuse(st, "only // and % of axes, in indices that read nothing, are computed apart", NULL,
                        "no index of %s has a division", block->block.name);
}

static bool make_stages(nw_step *st, indices *x, nw_stmt *block, nw_stmt *loop) {
  if (nw_step_given(st, NAME) && x->found.n > 1)
    return nw_fail(st->ctx, NW_EINVAL, "leave the name out", "cache_index: %s has %d divisions, and a name is for one",
                   block->block.name, x->found.n);
  nw_vec stage = {0};
  bool ok = true;
  for (int i = 0; i < x->found.n && ok; i++) {
    const nw_expr *read = NULL;
    nw_stmt *s = stage_of(st, block, x->found.at[i], &read);
    if (s) nw_vec_push(&stage, s);
    if (s) nw_vec_push(&x->known, (void *)nw_known(x->pool, x->found.at[i], read));
    ok = s != NULL;
  }
  if (ok) in_block(x, block);
  block->step = st->p->step;
  for (int i = 0; i < stage.n && ok; i++) {
    nw_stmt *s = stage.at[i];
    nw_lifted lifted = {.block = s, .reuse = NW_NEW_N(st->scratch, nw_stmt *, s->block.nvars + 1)};
    ok = nw_place(st, &lifted, loop);
    nw_step_returns_stage(st, s->block.name);
  }
  nw_vec_free(&stage);
  return ok;
}

bool nw_apply_cache_index(void *step) {
  nw_step *st = step;
  nw_path at;
  nw_stmt *block = nw_step_block(st, STAGE, NULL);
  nw_stmt *loop = block && nw_step_given(st, AT) ? nw_step_loop(st, AT, &at) : NULL;
  if (!block || (nw_step_given(st, AT) && !loop)) return false;
  if (loop && !nw_tree_has(loop, block))
    return nw_step_refuse(st, "the divisions are computed in a loop around the stage that uses them", loop,
                          "%s is not inside %s", block->block.name, loop->loop.var->name);
  indices x = {.block = block, .pool = st->p->pool};
  in_block(&x, block);
  bool ok = x.found.n ? make_stages(st, &x, block, loop) : none(st, block);
  nw_vec_free(&x.found);
  nw_vec_free(&x.known);
  return ok;
}
