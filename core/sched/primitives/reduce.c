// decompose_reduction: moves the init of a reduction into a separate nest.
#include "sched/primitives/nest.h"
#include "sched/primitives.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"

// The init is placed before the loop path.at[from]. The init gets copies of this loop and of the loops inside it,
// except reduction loops.
typedef struct parting {
  nw_path path;
  int from;
  nw_stmt *block;
} parting;

static bool can_part(nw_step *st, const parting *x, const nw_stmt *loop) {
  const char *at = loop->loop.var->name;
  if (x->block->block.combiner == NW_PLAIN || x->block->block.init_part)
    return nw_step_refuse(st, "only a reduction has an init", NULL, "it is not a reduction");
  if (!x->block->block.has_init)
    return nw_step_refuse(st, "the init is already a separate nest", NULL, "its init was already split off");
  if (x->from < 0)
    return nw_step_refuse(st, "the init is placed before a loop around the reduction", loop,
                          "it is not inside that loop");
  for (int i = 1; i < x->from; i++) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind == NW_LOOP && nw_loop_binds(x->block, s, true))
      return nw_step_refuse(st, "the init would run again in each iteration", s,
                            "%s is a reduction loop and is outside %s", s->loop.var->name, at);
  }
  for (int i = x->from; i < x->path.n - 1; i++) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind == NW_LOOP && nw_loop_binds(x->block, s, true) && nw_loop_binds(x->block, s, false))
      return nw_step_refuse(st, "the init would run several times for each element", s,
                            "%s runs over both the reduction and the output", s->loop.var->name);
  }
  return nw_stays_clear(st, &x->path, x->from, x->block, "the init has no reduction loop");
}

static nw_stmt *init_block(nw_step *st, const parting *x) {
  const nw_stmt *b = x->block;
  nw_stmt *s = nw_new_init(st, b, "_init");
  s->block.var = NW_NEW_N(st->p->arena, nw_block_var, b->block.nvars + 1);
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind != NW_REDUCE) s->block.var[s->block.nvars++] = b->block.var[i];
  nw_init_targets(st->p->arena, s, b);
  s->block.where = nw_where_along_output(st->p, &x->path, x->from, b);
  return s;
}

bool nw_apply_decompose_reduction(void *step) {
  nw_step *st = step;
  parting x;
  x.block = nw_step_block(st, 0, &x.path);
  nw_stmt *loop = x.block ? nw_step_loop(st, 1, NULL) : NULL;
  if (!loop) return false;
  x.from = nw_path_index(&x.path, loop);
  if (!can_part(st, &x, loop)) return false;
  nw_stmt *nest = nw_nest_along_output(st->p, &x.path, x.from, x.block, init_block(st, &x), "_init");
  nw_kids_insert(st->p, x.path.at[x.from - 1], x.path.pos[x.from], nest);
  x.block->block.has_init = false;
  x.block->step = st->p->step;
  nw_blocks b = nw_blocks_below(st->scratch, nest);
  nw_step_returns_stage(st, b.at[0]->block.name);
  return true;
}
