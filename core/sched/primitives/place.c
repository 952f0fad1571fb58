// compute_at and compute_root: move the computation of a stage.
#include "sched/primitives/place.h"
#include "ir/program/tags.h"
#include "sched/box.h"
#include "sched/count.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

static const char *output_of(const nw_stmt *block) { return block->block.target[0].buffer; }

// ---- conditions on moves

int nw_allocations(const nw_stmt *s, const char *buffer) {
  int n = s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, buffer);
  for (int i = 0; i < s->nkids; i++) n += nw_allocations(s->kid[i], buffer);
  return n;
}

// True if both blocks are pieces of one stage: each computes a part of the stage, and the pieces together make up the
// stage.
bool nw_is_piece(const nw_stmt *block, const nw_stmt *of) {
  return !strcmp(block->block.origin, of->block.origin) && !block->block.init_part && !of->block.init_part &&
         block->block.has_init == of->block.has_init;
}

// Returns the number of blocks that write the buffer. If `pieces` is true, the pieces of one stage count as one block.
static int writers(nw_step *st, const nw_stmt *block, const char *buffer, bool pieces) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  int n = 1;
  for (int i = 0; i < b.n; i++)
    n += nw_block_writes(b.at[i], buffer) && b.at[i] != block && !(pieces && nw_is_piece(b.at[i], block));
  return n;
}

static bool is_scan(const nw_stmt *block) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind == NW_ORDERED) return true;
  return nw_block_reads(block, output_of(block));
}

static bool no_scan(nw_step *st, const nw_stmt *block) {
  return !is_scan(block) || nw_step_refuse(st, "each step of a scan reads the previous one", NULL, "it is a scan");
}

static const char *names_of_writers(nw_step *st, const char *buffer) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  const char *names = NULL;
  for (int i = 0; i < b.n; i++)
    if (nw_block_writes(b.at[i], buffer))
      names = nw_arena_printf(st->scratch, "%s%s%s", names ? names : "", names ? ", " : "", b.at[i]->block.name);
  return names;
}

// Checks that no other stage writes the buffers of the block, and that each buffer has one allocation. If `pieces` is
// false, the stage itself must be one block.
static bool written_by(nw_step *st, const nw_stmt *block, bool pieces) {
  for (int t = 0; t < block->block.ntargets; t++) {
    const char *buffer = block->block.target[t].buffer;
    int n = writers(st, block, buffer, pieces),
        places = nw_allocations(st->p->root, buffer) + (nw_find_buffer(st->p, buffer)->alloc != NULL);
    if (n != 1)
      return nw_step_refuse(st, "the stage must be a single block: use this step before the step that splits the block",
                            NULL, "%d blocks write it: %s", n, names_of_writers(st, buffer));
    if (places > 1)
      return nw_step_refuse(st, "it is computed for several readers, or has several versions: move it before that step",
                            NULL, "it is allocated in %d places", places);
  }
  return true;
}

bool nw_one_nest(nw_step *st, const nw_stmt *block) { return no_scan(st, block) && written_by(st, block, false); }

static bool is_temporary(nw_step *st, const nw_stmt *block) {
  for (int t = 0; t < block->block.ntargets; t++)
    if (nw_find_buffer(st->p, block->block.target[t].buffer)->role != NW_TEMP)
      return nw_step_refuse(st,
                            "the caller reads all of an output; use cache_write to compute into a buffer that can move",
                            NULL, "it is an output");
  return true;
}

bool nw_can_move(nw_step *st, const nw_stmt *block) {
  return no_scan(st, block) && is_temporary(st, block) && written_by(st, block, false);
}

// Checks that the whole stage can be moved. The stage may have several pieces, because the move merges them into one
// nest.
static bool can_move_whole(nw_step *st, const nw_stmt *block) {
  return no_scan(st, block) && is_temporary(st, block) && written_by(st, block, true);
}

// ---- removing the old nest

static nw_stmt *unsplit_loop(const nw_path *path, int top, const nw_block_var *v) {
  if (v->bind->op != NW_OP_VAR) return NULL;
  for (int i = top; i < path->n - 1; i++)
    if (!strcmp(path->at[i]->loop.var->name, v->bind->name)) return path->at[i];
  return NULL;
}

static bool among(const nw_stmt *s, int n, nw_stmt *const *list) {
  for (int i = 0; i < n; i++)
    if (list[i] == s) return true;
  return false;
}

void nw_note_mark(nw_step *st, const nw_stmt *loop) {
  if (loop->loop.mark != NW_SERIAL)
    nw_step_note(st, "%s was marked %s; the new loops are not", loop->loop.var->name,
                 nw_loop_kind_name(loop->loop.mark));
}

// Removes the other pieces of the stage, because the new nest computes the whole stage.
static void drop_pieces(nw_step *st, const nw_stmt *block) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++) {
    nw_path at;
    if (b.at[i] == block || !nw_is_piece(b.at[i], block) || !nw_find(st->p, b.at[i]->id, &at)) continue;
    int top = nw_path_exclusive(&at);
    for (int k = top; k < at.n - 1; k++)
      nw_step_replaces(st, at.at[k]->id, 0, NULL, "replaced with new loops of %s", block->block.name);
    nw_detach(st->p, &at, top);
  }
}

void nw_lift(nw_step *st, const nw_path *old, nw_lifted *out) {
  nw_stmt *block = old->at[old->n - 1];
  nw_path own;
  drop_pieces(st, block);
  nw_find(st->p, block->id, &own);
  const nw_path *path = &own;
  int top = nw_path_exclusive(path);
  *out = (nw_lifted){.block = block, .reuse = NW_NEW_N(st->scratch, nw_stmt *, block->block.nvars + 1)};
  for (int v = 0; v < block->block.nvars; v++) out->reuse[v] = unsplit_loop(path, top, &block->block.var[v]);
  for (int i = top; i < path->n - 1; i++) {
    if (!among(path->at[i], block->block.nvars, out->reuse))
      nw_step_replaces(st, path->at[i]->id, 0, NULL, "replaced with new loops of %s", block->block.name);
    nw_note_mark(st, path->at[i]);
  }
  nw_detach(st->p, path, top);
  for (int t = 0; t < block->block.ntargets; t++) nw_splice_alloc(st->p, block->block.target[t].buffer);
}

nw_lifted nw_lift_copy(nw_step *st, const nw_stmt *block, const char *name) {
  nw_lifted copy = {.block = nw_copy_stmt(st->p, block),
                    .reuse = NW_NEW_N(st->scratch, nw_stmt *, block->block.nvars + 1)};
  copy.block->block.name = nw_unique_block_name(st->p, name);
  return copy;
}

nw_stmt *nw_loop_around(const nw_path *path) {
  for (int i = nw_path_exclusive(path) - 1; i > 0; i--)
    if (path->at[i]->kind == NW_LOOP) return path->at[i];
  return NULL;
}

// ---- the nest

// Returns the dimension of the output that a variable indexes, or -1 if there is none.
static int dim_of(const nw_stmt *block, int v) {
  const nw_block_target *t = &block->block.target[0];
  for (int d = 0; d < t->n; d++)
    if (t->index[d] == block->block.var[v].var) return d;
  return -1;
}

static nw_stmt *fresh_loop(nw_step *st, const nw_block_var *v, nw_stmt *reuse, const nw_expr *begin,
                           const nw_expr *extent) {
  const char *name = reuse ? reuse->loop.var->name : nw_unique_loop_name(st->p, v->var->name);
  nw_stmt *loop = nw_new_loop(st->p, name, begin, extent);
  if (!reuse) return loop;
  loop->id = reuse->id;
  for (int i = 0; i < reuse->ntags; i++) nw_tag_set(st->p, loop, reuse->tag[i]);
  return loop;
}

nw_stmt *nw_fresh_nest(nw_step *st, nw_lifted *stage, const nw_rows *rows) {
  nw_pool *pool = st->p->pool;
  nw_stmt *block = stage->block, *outer = NULL, *inner = NULL;
  for (int i = 0; i < block->block.nvars; i++) {
    nw_block_var *v = &block->block.var[i];
    bool all = !rows[i].lo;
    nw_stmt *loop = all ? fresh_loop(st, v, stage->reuse[i], v->lo, v->extent)
                        : fresh_loop(st, v, stage->reuse[i], nw_index(pool, 0), rows[i].extent);
    v->bind = all ? loop->loop.var : nw_add(pool, rows[i].lo, loop->loop.var);
    if (inner)
      nw_kids_insert(st->p, inner, 0, loop);
    else
      outer = loop;
    inner = loop;
  }
  block->block.where = NULL;
  block->step = st->p->step;
  if (inner) nw_kids_insert(st->p, inner, 0, block);
  return outer ? outer : block;
}

// Builds the nest for the box. If `box` is NULL, the nest runs over the whole domain, like the naive nest.
static nw_stmt *nest_for(nw_step *st, nw_lifted *stage, const nw_box *box) {
  nw_rows *rows = NW_NEW_N(st->scratch, nw_rows, stage->block->block.nvars + 1);
  for (int i = 0; box && i < stage->block->block.nvars; i++) {
    int d = dim_of(stage->block, i);
    if (d >= 0) rows[i] = (nw_rows){box->lo[d], box->extent[d]};
  }
  return nw_fresh_nest(st, stage, rows);
}

// Adds guards, so that no instance outside the block's domain is computed if the box extends beyond the domain. Guards
// that always hold are removed later (tidy.c).
void nw_guard_domain(nw_step *st, nw_stmt *block) {
  nw_pool *pool = st->p->pool;
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if (v->kind == NW_REDUCE) continue;
    nw_block_guard(st->p, block, nw_le(pool, v->lo, v->bind));
    nw_block_guard(st->p, block, nw_lt(pool, v->bind, nw_add(pool, v->lo, v->extent)));
  }
}

// ---- guards of the readers

static bool has_term(const nw_stmt *block, const nw_expr *want) {
  const nw_expr *term[NW_MAX_TERMS];
  int n = nw_conjuncts(block->block.where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++)
    if (term[i] == want) return true;
  return false;
}

static bool all_have(const nw_blocks *readers, const nw_stmt *block, const nw_expr *term) {
  for (int i = 0; i < readers->n; i++)
    if (nw_reads_any(readers->at[i], block) && !has_term(readers->at[i], term)) return false;
  return true;
}

// Holds the data for is_outside, which is true for an expression that uses only sizes and the loops of the path.
typedef struct inside {
  const nw_program *p;
  const nw_path *outside;
} inside;

static bool is_outside(void *env, const nw_expr *e) {
  const inside *x = env;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < x->outside->n; i++)
    if (x->outside->at[i]->kind == NW_LOOP && x->outside->at[i]->loop.var == e) return true;
  for (int i = 0; i < x->p->nsizes; i++)
    if (!strcmp(x->p->size[i].name, e->name)) return true;
  return false;
}

// Returns the conditions on outer loops that all readers have. The producer gets the same conditions. If no reader
// runs, the result of the producer is not needed, and the inputs of the producer may not exist.
static const nw_expr *common_guard(nw_step *st, const nw_stmt *block, const nw_path *outside) {
  nw_blocks readers = nw_blocks_below(st->scratch, outside->at[outside->n - 1]);
  const nw_expr *term[NW_MAX_TERMS], *guard = NULL;
  int n = 0, first = 0;
  while (first < readers.n && !nw_reads_any(readers.at[first], block)) first++;
  if (first < readers.n) n = nw_conjuncts(readers.at[first]->block.where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++)
    if (nw_visit(term[i], is_outside, &(inside){st->p, outside}) && all_have(&readers, block, term[i]))
      guard = nw_and(st->p->pool, guard, term[i]);
  return guard;
}

bool nw_place(nw_step *st, nw_lifted *stage, nw_stmt *loop) {
  nw_stmt *in = loop ? loop : st->p->root;
  nw_box box;
  const nw_expr *guard = NULL;
  if (!nw_reads_any(in, stage->block))
    return nw_step_refuse(st, "a stage can move only to its readers", loop, "nothing there reads %s",
                          stage->block->block.name);
  if (loop) {
    nw_path path;
    nw_find(st->p, loop->id, &path);
    box = nw_box_read(st, stage->block, loop, &path);
    guard = common_guard(st, stage->block, &path);
  }
  int at;
  if (!nw_spot_given(st, stage->index, in, stage->block, nw_spot_last(in, stage->block), &at)) return false;
  nw_spot spot = nw_spot_at(in, at);
  nw_kids_insert(st->p, spot.in, spot.pos, nest_for(st, stage, loop ? &box : NULL));
  nw_store_around(st, in, stage->block, loop ? &box : NULL);
  if (loop) nw_guard_domain(st, stage->block);
  if (guard) nw_block_guard(st->p, stage->block, guard);
  return true;
}

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
  bool whole = writers(st, block, output_of(block), false) == 1;
  for (int i = 0; i < b.n; i++)
    if (nw_reads_any(b.at[i], block) && !nw_tree_has(loop, b.at[i]) &&
        !(whole && has_piece_inside(st, b.at[i], block, loop)))
      return b.at[i];
  return NULL;
}

// Computes the stage again for each reader outside of the loop, in the outermost loop around the reader that is not
// around the loop too.
static bool place_for_pieces(nw_step *st, const nw_stmt *block, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  nw_path at, path;
  for (int i = 0; i < b.n; i++) {
    if (!nw_reads_any(b.at[i], block) || nw_tree_has(loop, b.at[i])) continue;
    nw_find(st->p, loop->id, &at);
    nw_find(st->p, b.at[i]->id, &path);
    if (nw_is_allocated(&path, st->p, output_of(block))) continue; // an earlier iteration placed it
    nw_stmt *to = NULL;
    for (int k = path.n - 1; k > 0; k--)
      if (path.at[k]->kind == NW_LOOP && nw_path_index(&at, path.at[k]) < 0) to = path.at[k];
    if (!to)
      return nw_step_refuse(st, "a piece of its reader is in no other loop", loop,
                            "not all of its readers are inside that loop");
    nw_lifted more = nw_lift_copy(st, block, block->block.name);
    if (!nw_place(st, &more, to)) return false;
    nw_step_note(st, "%s is also computed in %s, for %s", block->block.name, to->loop.var->name, b.at[i]->block.name);
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

typedef struct feeder {
  nw_lifted lifted;
  int home; // id of the loop in which the stage was computed
} feeder;

typedef struct feeders {
  int n;
  feeder *at; // in reverse order: a reader before the stages that it reads
} feeders;

// True if the stage can move, and only the blocks in `readers` read it.
static bool feeds_only(nw_step *st, const nw_stmt *block, int n, nw_stmt *const *readers) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  if (is_scan(block) || block->block.init_part || writers(st, block, output_of(block), false) != 1) return false;
  for (int t = 0; t < block->block.ntargets; t++) {
    const nw_buffer *to = nw_find_buffer(st->p, block->block.target[t].buffer);
    if (to->role != NW_TEMP || to->alloc || nw_allocations(st->p->root, to->name) != 1) return false;
  }
  for (int i = 0; i < b.n; i++)
    if (b.at[i] != block && nw_reads_any(b.at[i], block) && !among(b.at[i], n, readers)) return false;
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

// Removes the stages that are computed in the loops of the block for this block only.
static feeders lift_feeders(nw_step *st, const nw_path *own) {
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
  feeders f = {n - 1, NW_NEW_N(st->scratch, feeder, n)};
  for (int i = 0; i < f.n; i++) {
    nw_path path;
    nw_find(st->p, found[i + 1]->id, &path);
    const nw_stmt *home = nw_loop_around(&path);
    f.at[i].home = home ? home->id : 0;
    nw_lift(st, &path, &f.at[i].lifted);
  }
  return f;
}

// Computes the stages again, in the loop in which each was computed if that loop still exists, otherwise in `loop`.
static bool place_feeders(nw_step *st, const feeders *f, nw_stmt *loop) {
  for (int i = 0; i < f->n; i++) {
    nw_path path;
    feeder *one = &f->at[i];
    bool lives = one->home && nw_find(st->p, one->home, &path) && nw_reads_any(path.at[path.n - 1], one->lifted.block);
    if (!nw_place(st, &one->lifted, lives ? path.at[path.n - 1] : loop)) return false;
    nw_note_recompute(st, one->lifted.block);
  }
  return true;
}

bool nw_apply_compute_at(void *step) {
  nw_step *st = step;
  nw_path own, at;
  nw_stmt *block = nw_step_block(st, 0, &own);
  nw_stmt *loop = block ? nw_step_loop(st, 1, &at) : NULL;
  if (!loop || !can_move_whole(st, block) || !loop_can_hold(st, &own, &at)) return false;
  nw_lifted stage;
  feeders with = lift_feeders(st, &own);
  nw_find(st->p, block->id, &own);
  nw_lift(st, &own, &stage);
  stage.index = 2;
  if (!nw_place(st, &stage, loop) || !place_for_pieces(st, block, loop)) return false;
  nw_note_recompute(st, block);
  return place_feeders(st, &with, loop);
}

// ---- compute_root

bool nw_apply_compute_root(void *step) {
  nw_step *st = step;
  nw_path own;
  nw_stmt *block = nw_step_block(st, 0, &own);
  if (!block || !can_move_whole(st, block)) return false;
  if (!nw_loop_around(&own))
    return nw_step_refuse(st, "the stage is already computed as a whole before its first reader", NULL,
                          "it is already there");
  nw_lifted stage;
  feeders with = lift_feeders(st, &own);
  nw_find(st->p, block->id, &own);
  nw_lift(st, &own, &stage);
  return nw_place(st, &stage, NULL) && place_feeders(st, &with, NULL);
}
