// reindex: lets a stage read a tensor through a copy whose dimensions are variables of the stage. For example, the read
// A[y + r, x + s] becomes A_reindex[y, x, r, s].
//
// If the stage reads the tensor only where a condition holds, and uses a constant elsewhere, as a padded convolution
// does, the copy holds this constant. The stage then reads the copy without the condition. It keeps the condition if its
// loops do not run all contributions, because the condition says that the missing ones are neutral, and if a fill stores
// its border (decompose_padding).
//
// The result of a stage can be reindexed, too. The stage then writes a temporary that has one dimension for each
// variable in the index of the result, and a copy writes the result (cache_write.c).
#include "ir/expr/fold.h"
#include "ir/program/inverse.h"
#include "sched/primitives.h"
#include "sched/primitives/place.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"

enum { STAGE, OPERAND, ACCESS, SCOPE, LAYOUT, NAME, AT };

// ---- the expression that is copied

// True if e uses no variable of the block that `other` does not use.
static bool uses_no_more(const nw_stmt *block, const nw_expr *e, const nw_expr *other) {
  for (int i = 0; i < block->block.nvars; i++) {
    const char *var = block->block.var[i].var->name;
    if (nw_uses_var(e, var) && !nw_uses_var(other, var)) return false;
  }
  return true;
}

typedef struct uses {
  const nw_stmt *block;
  const nw_expr *load;
  const nw_expr *padded; // the expression select(condition, load, constant)
  bool otherwise; // true if the load is used outside of this expression
} uses;

static bool is_padded(const uses *x, const nw_expr *e) {
  return e->op == NW_OP_SELECT && e->arg[1] == x->load && nw_is_constant(e->arg[2]) && !nw_uses_load(e->arg[0], NULL) &&
         uses_no_more(x->block, e->arg[0], x->load);
}

static bool see_use(void *env, const nw_expr *e) {
  uses *x = env;
  if (is_padded(x, e)) {
    x->otherwise |= x->padded != NULL;
    x->padded = e;
    return true;
  }
  for (int i = 0; i < e->n; i++) x->otherwise |= e->arg[i] == x->load;
  return true;
}

// Returns the padded read if the stage uses the load in no other way. Otherwise returns the load.
static const nw_expr *copied_value(const nw_stmt *block, const nw_expr *load) {
  uses x = {.block = block, .load = load};
  for (int t = 0; t < block->block.ntargets; t++) {
    const nw_block_target *g = &block->block.target[t];
    x.otherwise |= g->value == load || g->init == load;
    nw_visit(g->value, see_use, &x);
    nw_visit(g->init, see_use, &x);
  }
  return x.padded && !x.otherwise ? x.padded : load;
}

// Returns the read that the arguments choose, or NULL with an error.
static const nw_expr *chosen_read(nw_step *st, const nw_stmt *block, const char *tensor) {
  nw_vec load = nw_reads_of(block, tensor);
  int64_t number = nw_step_int(st, ACCESS, 1);
  bool given = nw_step_given(st, ACCESS);
  const nw_expr *e = number >= 1 && number <= load.n ? load.at[number - 1] : NULL;
  if (!load.n)
    nw_step_refuse(st, "a copy must have a reader", NULL, "%s does not read %s", block->block.name, tensor);
  else if (!e)
    nw_fail_unknown_read(st, block, tensor, number, &load);
  else if (!given && load.n > 1) {
    const char *list = nw_list_reads(st, block, &load);
    e = NULL;
    nw_step_refuse(st, "the dimensions of the copy come from one read; choose it with the option access", NULL, "%s",
                   list);
  }
  nw_vec_free(&load);
  return e;
}

// ---- the copy

static nw_buffer *new_buffer(nw_step *st, const nw_buffer *of, const nw_along *d) {
  nw_buffer like = *of;
  like.ndim = d->n;
  like.shape = d->extent;
  nw_buffer *to = nw_new_cache(st, &like, SCOPE, NAME, "reindex");
  return to && nw_set_layout(st, to, &st->resolved[LAYOUT]) ? to : NULL;
}

// True if a loop of the reduction runs only a part of the variable's range, for example after trim.
static bool is_trimmed(const nw_program *p, const nw_stmt *block) {
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    const nw_stmt *loop = v->kind == NW_REDUCE && v->bind->op == NW_OP_VAR ? nw_find_loop(p, v->bind->name) : NULL;
    if (loop && (loop->loop.begin != v->lo || loop->loop.extent != v->extent)) return true;
  }
  return false;
}

// The condition of a filled stage says which elements it stores after the fill.
static void read_copy(nw_step *st, nw_stmt *block, const nw_expr *value, const nw_expr *copy) {
  if (value->op == NW_OP_SELECT && (is_trimmed(st->p, block) || nw_fill_of(st, block)))
    copy = nw_choose(st->p->pool, value->arg[0], copy, value->arg[2]);
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_block_target *g = &block->block.target[t];
    g->value = nw_replace(st->p->pool, g->value, value, copy);
    g->init = nw_replace(st->p->pool, g->init, value, copy);
  }
  block->step = st->p->step;
}

// ---- the result

// True if an element of the result tells the iteration that writes it.
static bool one_to_one(nw_step *st, const nw_stmt *block, const nw_block_target *g) {
  const nw_expr **at = NW_NEW_N(st->scratch, const nw_expr *, g->n + 1);
  const nw_expr **out = NW_NEW_N(st->scratch, const nw_expr *, block->block.nvars + 1);
  for (int d = 0; d < g->n; d++) at[d] = nw_var(st->p->pool, nw_dim_name(st->p->pool, d));
  return nw_inverse(st->p, block, false, g->n, (const nw_expr *const *)g->index, at, out);
}

static bool reindex_result(nw_step *st, nw_stmt *block) {
  const nw_block_target *g = &block->block.target[0];
  nw_along d = nw_along_of(st, block, g->n, (const nw_expr *const *)g->index);
  if (nw_step_given(st, ACCESS))
    return nw_step_refuse(st, "the option access is only for reads", NULL, "it is the result of %s", block->block.name);
  if (!d.n)
    return nw_step_refuse(st, "the copy would have no dimension; use cache_write", NULL, "%s writes only one element",
                          block->block.name);
  for (int t = 0; t < block->block.ntargets; t++)
    if (!one_to_one(st, block, &block->block.target[t]))
      return nw_step_refuse(st, "each element must tell the iteration that writes it, like C[i*8 + j] for j in 0..8",
                            NULL, "the index of %s has no known inverse", block->block.target[t].buffer);
  return nw_copy_result(st, block,
                        &(nw_result_copy){.scope = SCOPE,
                                          .layout = LAYOUT,
                                          .name = NAME,
                                          .at = AT,
                                          .suffix = "reindex",
                                          .n = d.n,
                                          .index = d.index,
                                          .extent = d.extent});
}

bool nw_apply_reindex(void *step) {
  nw_step *st = step;
  nw_path at;
  nw_stmt *block = nw_step_block(st, STAGE, NULL);
  nw_buffer *from = block ? nw_tensor_arg(st, OPERAND) : NULL;
  if (from && nw_block_writes(block, from->name)) return reindex_result(st, block);
  nw_stmt *loop = from && nw_step_given(st, AT) ? nw_step_loop(st, AT, &at) : NULL;
  if (!from || (nw_step_given(st, AT) && !loop)) return false;
  const nw_expr *load = chosen_read(st, block, from->name);
  if (!load) return false;
  const nw_expr *value = copied_value(block, load);
  nw_along d = nw_along_of(st, block, 1, &value);
  if (!d.n)
    return nw_step_refuse(st, "the copy would have no dimension; use cache_read", NULL,
                          "%s reads only one element of it", block->block.name);
  nw_buffer *to = new_buffer(st, from, &d);
  if (!to) return false;
  nw_stmt *copy = nw_stage_along(st, to, &d, value);
  read_copy(st, block, value, nw_load(st->p->pool, load->type, to->name, d.n, d.index));
  nw_lifted stage = {.block = copy, .reuse = NW_NEW_N(st->scratch, nw_stmt *, d.n + 1)};
  if (!nw_place(st, &stage, loop ? loop : nw_home_of(st, from->name))) return false;
  nw_step_returns_stage(st, copy->block.name);
  return true;
}
