// atomic: makes the updates of a reduction atomic, so that threads may run them concurrently.
#include "sched/primitives.h"
#include "sched/rounding.h"
#include "sched/tree.h"

bool nw_apply_atomic(void *step) {
  nw_step *st = step;
  const nw_stmt *block = nw_step_block(st, 0, NULL);
  if (!block) return false;
  const char *origin = block->block.origin;
  if (block->block.combiner == NW_PLAIN)
    return nw_step_refuse(st, "only a reduction updates its elements", NULL, "it is not a reduction");
  if (block->block.atomic)
    return nw_step_refuse(st, "making them atomic again has no effect", NULL, "its updates are already atomic");
  if (nw_rounds(st->p, block))
    nw_step_rounds(st, "if threads share the updates, their order and the rounding may differ from run to run");
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < all.n; i++) {
    if (strcmp(all.at[i]->block.origin, origin) || all.at[i]->block.combiner == NW_PLAIN) continue;
    all.at[i]->block.atomic = true;
    all.at[i]->step = st->p->step;
  }
  return true;
}
