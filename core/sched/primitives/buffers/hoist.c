// hoist_storage: moves the storage of a stage out of loops, without making it larger. Elements of different iterations
// use the same positions, one after the other.
#include "sched/primitives/buffers/fold.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

enum { HOIST_STAGE, HOIST_LOOP };

// Checks that the buffer is a temporary with one allocation. Its stage may be computed in several pieces.
static bool can_hoist(nw_step *st, const nw_buffer *b) {
  if (b->role != NW_TEMP)
    return nw_step_refuse(st, "the caller owns it; use cache_write to compute into a buffer that can move", NULL,
                          "it is an output");
  int places = nw_allocations(st->p->root, b->name);
  if (places > 1)
    return nw_step_refuse(st, "it is computed for several readers, or has several versions: hoist it before that step",
                          NULL, "it is allocated in %d places", places);
  return !(b->nlayout || b->nstrides) || nw_step_refuse(st, "use hoist_storage before the step that changes the layout",
                                                        NULL, "%s already has a layout", b->name);
}

// Finds where the storage moves to. It must be allocated inside the statement *to. Returns its allocation, or NULL after
// a refusal.
static nw_stmt *storage_inside(nw_step *st, const nw_buffer *b, const nw_path *own, nw_stmt **to, nw_path *outside) {
  nw_stmt *loop = NULL;
  *outside = (nw_path){.n = 1, .at = {st->p->root}};
  if (nw_step_given(st, HOIST_LOOP) && !(loop = nw_step_loop(st, HOIST_LOOP, outside))) return NULL;
  *to = loop ? loop : st->p->root;
  int at = nw_path_storage(own, b->name), around = nw_path_index(own, *to);
  int between = 0;
  for (int i = around + 1; i < at; i++) between += own->at[i]->kind == NW_LOOP;
  if (around >= 0 && between) return own->at[at];
  if (around < 0)
    nw_step_refuse(st, "storage moves only to a loop around it", loop, "%s is not computed in %s", b->name,
                   loop->loop.var->name);
  else
    nw_step_refuse(st, "use compute_at to compute the stage inside a loop, which then has its own storage", loop,
                   "its storage is already there");
  return NULL;
}

// Makes the storage cyclic in each dimension in which it was smaller than the part that is used at its new place.
static bool keep_size(nw_step *st, nw_buffer *b, const nw_box *was, const nw_box *is) {
  for (int d = 0; d < b->ndim; d++) {
    int64_t rows;
    if (was->extent[d] == is->extent[d] && was->lo[d] == is->lo[d]) continue;
    if (!nw_is_int(was->extent[d], &rows))
      return nw_step_refuse(st, "iterations can share positions only if their number is constant", NULL,
                            "the extent of dimension %d is not constant", d + 1);
    nw_fold_buffer(st->p, b, d, rows);
  }
  return true;
}

bool nw_apply_hoist_storage(void *step) {
  nw_step *st = step;
  nw_path own, outside;
  nw_box box = {0};
  nw_stmt *to = NULL;
  nw_stmt *block = nw_step_block(st, HOIST_STAGE, &own);
  if (!block) return false;
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_buffer *b = nw_find_buffer(st->p, block->block.target[t].buffer);
    nw_stmt *alloc = can_hoist(st, b) ? storage_inside(st, b, &own, &to, &outside) : NULL;
    if (!alloc) return false;
    nw_box was = {b->ndim, alloc->alloc.min, alloc->alloc.extent};
    box = nw_box_used(st, b, to, &outside);
    if (!keep_size(st, b, &was, &box)) return false;
    nw_splice_alloc(st->p, b->name);
  }
  nw_store_around(st, to, block, to == st->p->root ? NULL : &box);
  return true;
}
