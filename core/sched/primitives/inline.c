// compute_inline: replaces the reads of a stage by its expression.
#include "ir/expr/fma.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/rounding.h"
#include "sched/tree.h"

// Describes the expression that replaces a read of the stage: the value of `block`.
typedef struct body {
  nw_pool *pool;
  const nw_stmt *block;
} body;

static const nw_expr *expand(void *env, const nw_expr *load) {
  const body *b = env;
  const nw_block_target *t = &b->block->block.target[0];
  const char *var[NW_MAX_DEPTH];
  if (strcmp(load->name, t->buffer)) return NULL;
  for (int d = 0; d < t->n; d++) var[d] = t->index[d]->name;
  return nw_subst_n(b->pool, t->value, t->n, var, load->arg);
}

static bool refuse(nw_step *st, const char *why, const char *what) { return nw_step_refuse(st, why, NULL, "%s", what); }

static bool plain_indices(const nw_stmt *block) {
  const nw_block_target *t = &block->block.target[0];
  if (t->n != block->block.nvars || t->n > NW_MAX_DEPTH) return false;
  for (int d = 0; d < t->n; d++) {
    if (t->index[d]->op != NW_OP_VAR) return false;
    for (int e = 0; e < d; e++)
      if (t->index[e] == t->index[d]) return false;
  }
  return true;
}

static bool can_inline(nw_step *st, const nw_stmt *block) {
  const char *buffer = block->block.target[0].buffer;
  if (nw_find_buffer(st->p, buffer)->role != NW_TEMP)
    return refuse(st, "nothing would write the output", "it is an output");
  if (nw_is_definition(block)) return refuse(st, nw_scan_reason(block), nw_scan_noun(block));
  if (block->block.combiner != NW_PLAIN || block->block.init_part)
    return refuse(st, "every reader would compute the whole reduction", "it is a reduction");
  if (block->block.ntargets != 1)
    return refuse(st, "a read can be replaced by only one value", "it computes several tensors");
  if (nw_block_reads(block, buffer)) return refuse(st, "its body reads itself", "it is a scan");
  if (!plain_indices(block))
    return refuse(st, "a read must identify one element by its indices", "it writes at computed indices");
  nw_dtype t = nw_find_buffer(st->p, buffer)->dtype;
  if (!nw_is_rounded(block->block.target[0].value))
    return refuse(st, "the store rounds the value: without the store, the value would not be rounded",
                  nw_arena_printf(st->scratch, "it is rounded to %s", nw_dtype_name(t)));
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++)
    if (nw_block_writes(b.at[i], buffer) && strcmp(b.at[i]->block.origin, block->block.origin))
      return refuse(st, "its elements are not all computed by the same expression", "several stages write it");
  if (nw_tree_prefetches(st->p->root, buffer))
    return refuse(st, "data without storage cannot be prefetched", "it is prefetched");
  return true;
}

static void drop_block(nw_step *st, nw_stmt *block) {
  nw_path path;
  nw_find(st->p, block->id, &path);
  int top = nw_path_exclusive(&path);
  for (int i = top; i < path.n - 1; i++)
    nw_step_replaces(st, path.at[i]->id, 0, NULL, "dropped with %s", block->block.name);
  nw_detach(st->p, &path, top);
}

// ---- rounding

// True if a reader rounds in the same way when the block's expression replaces the load. The rounding may differ,
// because a product and a sum in one expression may become an fma, which rounds only once.
static bool rounds_alike(nw_pool *pool, const nw_stmt *reader, int t, const nw_stmt *block) {
  nw_stmt formed = *block, after = *reader;
  nw_block_target first = block->block.target[0], stored = reader->block.target[t];
  first.value = nw_form_fma(pool, first.value);
  formed.block.target = &first;
  stored.value = nw_rewrite(pool, stored.value, NULL, expand, &(body){pool, block});
  after.block.target = &stored;
  const nw_expr *was = nw_form_fma(pool, nw_block_stored(pool, reader, t));
  was = nw_rewrite(pool, was, NULL, expand, &(body){pool, &formed});
  return was == nw_form_fma(pool, nw_block_stored(pool, &after, 0));
}

void nw_note_fma(nw_step *st, const nw_stmt *reader, const nw_stmt *block) {
  nw_pool *pool = st->p->pool;
  for (int t = 0; t < reader->block.ntargets; t++)
    if (!rounds_alike(pool, reader, t, block))
      nw_step_rounds(st, "rounding may change: a product and the sum that uses it are now rounded together instead of "
                         "separately, or the reverse");
}

bool nw_apply_compute_inline(void *step) {
  nw_step *st = step;
  nw_stmt *block = nw_step_block(st, 0, NULL);
  if (!block || !can_inline(st, block)) return false;
  const char *buffer = block->block.target[0].buffer;
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++)
    if (nw_block_reads(b.at[i], buffer)) nw_note_fma(st, b.at[i], block);
  for (int i = 0; i < b.n; i++)
    if (nw_block_reads(b.at[i], buffer)) nw_block_rewrite(st->p, b.at[i], expand, &(body){st->p->pool, block});
  for (int i = 0; i < b.n; i++)
    if (nw_block_writes(b.at[i], buffer)) drop_block(st, b.at[i]);
  nw_splice_alloc(st->p, buffer);
  nw_remove_buffer(st->p, buffer);
  return true;
}
