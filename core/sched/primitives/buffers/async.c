// async_copy: makes a stage that copies elements asynchronous. The judge decides whether this is possible, and lowering
// places the commits and waits.
#include "poly/poly.h"
#include "sched/advice/suggest.h"
#include "sched/primitives.h"
#include "sched/tree.h"

// Adds a note if every element is used in the iteration that copies it, so that no other work overlaps with the copy.
static void note_overlap(nw_step *st, const nw_stmt *block) {
  nw_vec needs = {0};
  bool known = nw_arrivals(st->p, &needs), now = false, later = false;
  for (int i = 0; i < needs.n; i++) {
    const nw_arrival *a = needs.at[i];
    if (a->copy != block->id || !a->use) continue;
    later |= a->loop != 0, now |= a->loop == 0;
  }
  nw_vec_free(&needs);
  if (!known) nw_clear(st->ctx); // without an answer there is no note
  if (known && now && !later)
    nw_step_note(st,
                 "%s is used as soon as it is copied, so nothing overlaps with the copy: double_buffer copies earlier",
                 block->block.name);
}

bool nw_apply_async_copy(void *step) {
  nw_step *st = step;
  nw_path path;
  const nw_stmt *block = nw_step_block(st, 0, &path);
  if (!block) return false;
  if (block->block.async)
    return nw_step_refuse(st, "repeating the step has no effect", NULL, "it is already asynchronous");
  if (block->block.combiner != NW_PLAIN || block->block.init_part)
    return nw_step_refuse(st, "use cache_read to make a stage that only copies", NULL,
                          "%s does not only copy elements: it is %s", block->block.name,
                          block->block.init_part ? "the init of a reduction" : "a reduction");
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < all.n; i++) {
    if (strcmp(all.at[i]->block.origin, block->block.origin)) continue;
    all.at[i]->block.async = true;
    all.at[i]->step = st->p->step;
  }
  note_overlap(st, block);
  if (nw_launch_on(st->p, &path) < 0)
    nw_step_note(st, "code for a CPU copies at once: there, a commit or a wait does nothing");
  return true;
}

// Suggests moving the storage out of registers.
void nw_suggest_async_copy(void *step) {
  nw_step *st = step;
  first2(st, "set_scope", stage_arg(st->resolved[0].name), str_arg("shared"));
  first2(st, "set_scope", stage_arg(st->resolved[0].name), str_arg("global"));
}
