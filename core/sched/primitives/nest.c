// Checks that a second nest over a stage's output can be made next to the stage's own nest.
#include "sched/primitives/nest.h"
#include "sched/bounds.h"
#include "sched/tree.h"

static bool stays(const nw_stmt *s, const nw_stmt *stage) {
  return s->kind == NW_LOOP && !nw_loop_binds(stage, s, true);
}

bool nw_stays_clear(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, const char *why) {
  const nw_stmt *gone[NW_MAX_DEPTH];
  int n = 0;
  for (int i = from; i < path->n - 1; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind != NW_LOOP) continue;
    for (int k = 0; stays(s, stage) && k < n; k++)
      if (nw_loop_depends(s, gone[k]))
        return nw_step_refuse(st, why, s, "the bounds of %s depend on %s", s->loop.var->name, gone[k]->loop.var->name);
    if (!stays(s, stage)) gone[n++] = s;
  }
  return true;
}

nw_stmt *nw_new_init(nw_step *st, const nw_stmt *block, const char *suffix) {
  nw_stmt *s = nw_new_stmt(st->p, NW_BLOCK);
  s->block.name = nw_unique_block_name(st->p, nw_arena_printf(st->scratch, "%s%s", block->block.name, suffix));
  s->block.origin = block->block.origin;
  s->block.init_part = true;
  s->block.combiner = NW_PLAIN;
  return s;
}
