// set_dtype: stores a temporary in another dtype. A store rounds, and a load converts back, so computation keeps its
// dtype.
#include "sched/primitives.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"

enum { DTYPE_TENSOR, DTYPE_DTYPE };

typedef struct retyping {
  nw_pool *pool;
  const char *buffer;
  nw_dtype from, to;
} retyping;

static const nw_expr *widen_load(void *env, const nw_expr *load) {
  const retyping *x = env;
  if (strcmp(load->name, x->buffer)) return NULL;
  const nw_expr *stored = nw_load(x->pool, (nw_type){(uint8_t)x->to, 1}, load->name, load->n, load->arg);
  return nw_cast(x->pool, x->from, stored);
}

// Converts the values that the block stores. The value of a half is first rounded to its old dtype, as its store did.
static void narrow_stores(const retyping *x, nw_stmt *block) {
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_block_target *g = &block->block.target[t];
    if (strcmp(g->buffer, x->buffer)) continue;
    g->value = nw_cast(x->pool, x->to, nw_cast(x->pool, x->from, g->value));
  }
}

// The updates of a reduction read the old value of their element without a load, so each of them would be rounded. A
// fill stores the constant c of the stage's value select(condition, x, c). set_dtype would put a conversion around c,
// so the fill would no longer have this form.
static bool no_updates(nw_step *st, const nw_buffer *b) {
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  const nw_stmt *fill = NULL;
  for (int i = 0; i < all.n; i++) {
    if (!nw_block_writes(all.at[i], b->name)) continue;
    if (all.at[i]->block.init_part) fill = all.at[i];
    if (all.at[i]->block.combiner != NW_PLAIN)
      return nw_step_refuse(st,
                            "each update would be rounded; use cache_write first, so that the updates keep their dtype "
                            "and only the result is stored in another one",
                            NULL, "it is the result of a reduction");
  }
  return !fill ||
         nw_step_refuse(st, "use set_dtype before decompose_padding", NULL, "%s stores its border", fill->block.name);
}

bool nw_apply_set_dtype(void *step) {
  nw_step *st = step;
  nw_dtype to;
  nw_buffer *b = nw_temp_arg(st, DTYPE_TENSOR);
  if (!b || !nw_dtype_parse(nw_step_str(st, DTYPE_DTYPE, ""), &to)) return false;
  if (b->dtype == to)
    return nw_step_refuse(st, "give another dtype", NULL, "it is already stored as %s", nw_dtype_name(to));
  if (!no_updates(st, b)) return false;
  retyping x = {st->p->pool, b->name, b->dtype, to};
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < all.n; i++) {
    bool writes = nw_block_writes(all.at[i], b->name);
    if (writes || nw_block_reads(all.at[i], b->name)) nw_block_rewrite(st->p, all.at[i], widen_load, &x);
    if (writes) narrow_stores(&x, all.at[i]);
  }
  b->dtype = to;
  nw_touch_allocs(st, b->name);
  return true;
}
