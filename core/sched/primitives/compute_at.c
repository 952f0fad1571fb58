// compute_at and compute_root: move the computation of a stage, of a piece of a stage, or of several stages together.
#include "sched/count.h"
#include "sched/primitives.h"
#include "sched/primitives/place.h"
#include "sched/primitives/units/unit.h"
#include "sched/site.h"
#include "sched/tree.h"

static const char *output_of(const nw_stmt *block) { return block->block.target[0].buffer; }

// ---- compute_at

// True if a block inside the loop is a piece of the same stage, and reads the block too. For example, a tail that was cut
// off from the loop.
static bool has_piece_inside(nw_step *st, const nw_stmt *reader, const nw_stmt *block, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  for (int i = 0; i < b.n; i++)
    if (nw_is_piece(b.at[i], reader) && nw_reads_any(b.at[i], block)) return true;
  return false;
}

// Returns a reader that is not inside the loop. If one block computes the whole stage, it can be computed a second time
// for a reader of whose stage a piece is inside the loop, so such a reader is ignored. Returns NULL if there is none.
static const nw_stmt *reader_outside(nw_step *st, const nw_stmt *block, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  bool whole = nw_writers_of(st, block, output_of(block), false) == 1;
  for (int i = 0; i < b.n; i++)
    if (nw_reads_any(b.at[i], block) && !nw_tree_has(loop, b.at[i]) &&
        !(whole && has_piece_inside(st, b.at[i], block, loop)))
      return b.at[i];
  return NULL;
}

enum { AT_STAGE, AT_LOOP, AT_INDEX, AT_OTHERS };

// Returns the loop in which the stage is computed again for a reader outside of the loop: one that the step names, or the
// outermost loop around the reader that is not around the loop too. Returns NULL if there is none.
static nw_stmt *loop_for(nw_step *st, const nw_path *at, const nw_path *reader) {
  const nw_arg *others = &st->resolved[AT_OTHERS];
  nw_stmt *to = NULL, *given;
  for (int k = reader->n - 1; k > 0; k--)
    if (reader->at[k]->kind == NW_LOOP && nw_path_index(at, reader->at[k]) < 0) to = reader->at[k];
  for (int i = 0; to && nw_step_given(st, AT_OTHERS) && i < others->n; i++)
    if ((given = nw_step_loop_arg(st, &others->item[i], "others", NULL)) && nw_path_index(reader, given) > 0 &&
        nw_path_index(at, given) < 0)
      to = given;
  return to;
}

// Computes the stage again for each reader outside of the loop.
static bool place_for_pieces(nw_step *st, const nw_stmt *block, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  nw_path at, path;
  for (int i = 0; i < b.n; i++) {
    if (!nw_reads_any(b.at[i], block) || nw_tree_has(loop, b.at[i])) continue;
    nw_find(st->p, loop->id, &at);
    nw_find(st->p, b.at[i]->id, &path);
    if (nw_is_allocated(&path, st->p, output_of(block))) continue; // an earlier iteration placed it
    nw_stmt *to = loop_for(st, &at, &path);
    if (!to)
      return nw_step_refuse(st, "a piece of its reader is in no other loop", loop,
                            "not all of its readers are inside that loop");
    nw_lifted more = nw_lift_copy(st, block, block->block.name);
    if (!nw_place(st, &more, to)) return false;
    nw_step_note(st, "%s is also computed in %s, for %s", block->block.name, to->loop.var->name, b.at[i]->block.name);
  }
  return true;
}

// A loop that the step names for other readers must be around one of them.
static bool others_read(nw_step *st, const nw_stmt *block, const nw_stmt *loop) {
  const nw_arg *others = &st->resolved[AT_OTHERS];
  for (int i = 0; nw_step_given(st, AT_OTHERS) && i < others->n; i++) {
    const nw_stmt *other = nw_step_loop_arg(st, &others->item[i], "others", NULL);
    if (!other) return false;
    if (!nw_reads_any(other, block) || nw_tree_has(other, loop) || nw_tree_has(loop, other))
      return nw_step_refuse(st, "others are loops of readers that were cut off from the loop", other,
                            "%s contains no other reader of it", other->loop.var->name);
  }
  return true;
}

static bool loop_can_hold(nw_step *st, const nw_path *own, const nw_path *at) {
  const nw_stmt *loop = at->at[at->n - 1], *block = own->at[own->n - 1];
  const char *name = block->block.name, *where = loop->loop.var->name;
  int at_own = nw_path_index(own, loop);
  if (at_own >= nw_path_exclusive(own))
    return nw_step_refuse(st, "a stage can move only into a loop of a stage that reads it", loop,
                          "that is a loop of %s itself", name);
  const nw_stmt *outside = reader_outside(st, block, loop);
  if (outside) {
    const char *why =
        nw_arena_printf(st->scratch, "%s reads %s too, and is not inside %s", outside->block.name, name, where);
    return nw_step_refuse(st, why, loop, "not all of its readers are inside that loop");
  }
  return true;
}

void nw_note_recompute(nw_step *st, const nw_stmt *block) {
  nw_count n = nw_count_recomputed(st->p, block);
  if (n.n > 1.005)
    nw_step_note(st, "recomputes: each element of %s is computed %s%.2f times", block->block.name,
                 n.exact ? "" : "up to ", n.n);
}

// ---- stages that move together
//
// If a stage is computed in a loop of the stage that moves, and only that stage needs it, it moves too: otherwise it
// would stay in a loop that no longer computes anything else.

typedef struct nw_feeder {
  nw_lifted lifted;
  int home; // id of the loop in which the stage was computed
} feeder;

// True if the stage can move, and only the blocks in `readers` read it.
static bool feeds_only(nw_step *st, const nw_stmt *block, int n, nw_stmt *const *readers) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  if (nw_is_scan(block) || block->block.init_part || nw_writers_of(st, block, output_of(block), false) != 1)
    return false;
  for (int t = 0; t < block->block.ntargets; t++) {
    const nw_buffer *to = nw_find_buffer(st->p, block->block.target[t].buffer);
    if (to->role != NW_TEMP || to->alloc || nw_allocations(st->p->root, to->name) != 1) return false;
  }
  for (int i = 0; i < b.n; i++)
    if (b.at[i] != block && nw_reads_any(b.at[i], block) && !nw_is_among(b.at[i], n, readers)) return false;
  return true;
}

// Finds the stages that are computed in the loops of `block` for this block only. Writes `block` and these stages to
// `out`, each after its readers. Returns their number, or 0 if a statement inside the loop `top` is another one.
static int feeders_in(nw_step *st, const nw_stmt *top, nw_stmt *block, nw_stmt **out) {
  nw_blocks b = nw_blocks_below(st->scratch, top);
  int n = 1;
  out[0] = block;
  for (int i = b.n - 1; i >= 0; i--) {
    if (b.at[i] == block) continue;
    if (!feeds_only(st, b.at[i], n, out)) return 0;
    out[n++] = b.at[i];
  }
  return n;
}

bool nw_feeds_alone(nw_step *st, const nw_stmt *top, nw_stmt *block) {
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  return feeders_in(st, top, block, NW_NEW_N(st->scratch, nw_stmt *, all.n)) > 0;
}

// Removes the stages that are computed in the loops of the block for this block only.
nw_feeders nw_lift_feeders(nw_step *st, const nw_path *own) {
  nw_stmt *block = own->at[own->n - 1];
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  nw_stmt **list = NW_NEW_N(st->scratch, nw_stmt *, all.n), **found = NW_NEW_N(st->scratch, nw_stmt *, all.n);
  int n = 1;
  for (int i = nw_path_exclusive(own) - 1; i > 0; i--) {
    const nw_stmt *s = own->at[i];
    if (s->kind == NW_ALLOC) continue;
    if (s->kind != NW_LOOP || !(nw_loop_binds(block, s, false) || nw_loop_binds(block, s, true))) break;
    int now = feeders_in(st, s, block, list);
    if (!now) break;
    n = now;
    memcpy(found, list, (size_t)n * sizeof *found);
  }
  nw_feeders f = {n - 1, NW_NEW_N(st->scratch, feeder, n)};
  for (int i = 0; i < f.n; i++) {
    nw_path path;
    nw_find(st->p, found[i + 1]->id, &path);
    const nw_stmt *home = nw_loop_around(&path);
    f.at[i].home = home ? home->id : 0;
    nw_lift(st, &path, &f.at[i].lifted);
  }
  return f;
}

bool nw_place_feeders(nw_step *st, const nw_feeders *f, nw_stmt *loop) {
  for (int i = 0; i < f->n; i++) {
    nw_path path;
    feeder *one = &f->at[i];
    bool lives = one->home && nw_find(st->p, one->home, &path) && nw_reads_any(path.at[path.n - 1], one->lifted.block);
    if (!nw_place(st, &one->lifted, lives ? path.at[path.n - 1] : loop)) return false;
    nw_note_recompute(st, one->lifted.block);
  }
  return true;
}

// ---- a piece that moves alone

// True if the user named a piece of a stage that has several, such as B.head.
static bool is_named_piece(nw_step *st, const nw_stmt *block) {
  return nw_writers_of(st, block, output_of(block), false) > 1 && strcmp(block->block.name, block->block.origin);
}

// Finds the range of each variable in the loops around the piece that are not around its new place, which is the end of
// the path `at`. Returns false if a range depends on these loops, or if a condition limits it.
static bool part_of(nw_step *st, const nw_path *own, const nw_path *at, nw_rows *part) {
  const nw_stmt *block = own->at[own->n - 1];
  nw_pool *pool = st->p->pool;
  const char *loops[NW_MAX_DEPTH];
  int n = 0;
  nw_ranges r;
  for (int i = 1; i < own->n - 1; i++)
    if (own->at[i]->kind == NW_LOOP && nw_path_index(at, own->at[i]) < 0) loops[n++] = own->at[i]->loop.var->name;
  if (block->block.where && nw_uses_any(block->block.where, n, loops)) return false;
  nw_ranges_of(&r, st->p, own);
  bool known = true;
  for (int v = 0; v < block->block.nvars && known; v++) {
    const nw_expr *lo = nw_lower_over(&r, block->block.var[v].bind, n, loops),
                  *hi = nw_upper_over(&r, block->block.var[v].bind, n, loops);
    known = lo && hi && !nw_uses_any(lo, n, loops) && !nw_uses_any(hi, n, loops);
    if (known) part[v] = (nw_rows){lo, nw_add(pool, nw_sub(pool, hi, lo), nw_index(pool, 1))};
  }
  nw_ranges_free(&r);
  return known;
}

// Moves only this piece. The judge checks that no reader outside of the loop needs it.
static bool move_piece(nw_step *st, nw_stmt *block, const nw_path *own, const nw_path *at, nw_stmt *loop) {
  nw_lifted stage = {.part = NW_NEW_N(st->scratch, nw_rows, block->block.nvars + 1)};
  if (!part_of(st, own, at, stage.part))
    return nw_step_refuse(st, "a piece moves alone only if its loops run over a box of its stage", NULL,
                          "the part of %s that it computes is not a box", block->block.origin);
  nw_lift(st, own, &stage);
  stage.index = 2;
  if (!nw_place(st, &stage, loop)) return false;
  nw_note_recompute(st, block);
  return true;
}

bool nw_apply_compute_at(void *step) {
  nw_step *st = step;
  nw_path own, at;
  nw_stmt *unit = nw_find_unit(st->p, st->resolved[0].name);
  if (unit) {
    nw_stmt *to = nw_step_loop(st, 1, NULL);
    return to && nw_move_unit(st, unit, to, 2, false);
  }
  nw_stmt *block = nw_step_block(st, 0, &own);
  nw_stmt *loop = block ? nw_step_loop(st, 1, &at) : NULL;
  if (!loop || !nw_can_move_whole(st, block)) return false;
  if (is_named_piece(st, block)) return move_piece(st, block, &own, &at, loop);
  if (!loop_can_hold(st, &own, &at) || !others_read(st, block, loop)) return false;
  nw_lifted stage = {0};
  nw_feeders with = nw_lift_feeders(st, &own);
  nw_find(st->p, block->id, &own);
  nw_lift(st, &own, &stage);
  stage.index = 2;
  if (!nw_place(st, &stage, loop) || !place_for_pieces(st, block, loop)) return false;
  nw_note_recompute(st, block);
  return nw_place_feeders(st, &with, loop);
}

// ---- compute_root

bool nw_apply_compute_root(void *step) {
  nw_step *st = step;
  nw_path own;
  nw_stmt *unit = nw_find_unit(st->p, st->resolved[0].name);
  if (unit) return nw_move_unit(st, unit, NULL, 0, false);
  nw_stmt *block = nw_step_block(st, 0, &own);
  if (!block || !nw_can_move_whole(st, block)) return false;
  if (!nw_loop_around(&own))
    return nw_step_refuse(st, "the stage is already computed as a whole before its first reader", NULL,
                          "it is already there");
  nw_lifted stage = {0};
  nw_feeders with = nw_lift_feeders(st, &own);
  nw_find(st->p, block->id, &own);
  nw_lift(st, &own, &stage);
  return nw_place(st, &stage, NULL) && nw_place_feeders(st, &with, NULL);
}
