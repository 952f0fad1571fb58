// cache_write: makes a stage compute into a separate buffer, and adds a nest that copies the buffer to the old place.
// This nest keeps the loops of the stage. reindex does the same with the result of a stage; then the buffer has other
// dimensions than the result.
#include "sched/primitives/nest.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/primitives/storage.h"
#include "sched/site.h"
#include "sched/tree.h"

enum { WRITE_STAGE, WRITE_SCOPE, WRITE_LAYOUT, WRITE_NAME, WRITE_AT };

// ---- the nest of the copy: the loops of the stage that are not reduction loops

typedef struct takeover {
  nw_path path; // the path from the root to the stage's block
  int top; // index on the path of the outermost loop that contains only the stage
  nw_stmt *block;
  bool in_place; // true if the computation keeps its loops, and the copy gets loops like those along the output
} takeover;

// Returns a reason with the name of the step, which is cache_write or reindex.
static const char *with_step(nw_step *st, const char *why, const char *then) {
  return nw_arena_printf(st->scratch, "%s%s%s", why, st->primitive->name, then);
}

static bool loops_are_clear(nw_step *st, const takeover *t) {
  for (int i = 1; i < t->path.n - 1; i++) {
    const nw_stmt *s = t->path.at[i];
    if (s->kind != NW_LOOP || !nw_loop_binds(t->block, s, true)) continue;
    const char *name = s->loop.var->name;
    if (i < t->top)
      return nw_step_refuse(
          st, with_step(st, "the result is complete only after that loop; use ", " before moving stages there"), s,
          "other stages share its reduction loop %s", name);
    if (nw_loop_binds(t->block, s, false))
      return nw_step_refuse(st, "a loop fused from a reduction loop and an output loop cannot stay with the copy", s,
                            "%s runs over both the reduction and the output", name);
  }
  return true;
}

static bool stays(const takeover *t, const nw_stmt *loop) { return !nw_loop_binds(t->block, loop, true); }

// Returns the index on the path of the outermost statement that must end before the copy: the nest of the stage, or a loop
// of its reduction that contains other stages too.
static int end_of_computation(const takeover *t) {
  for (int i = 1; i < t->top; i++)
    if (t->path.at[i]->kind == NW_LOOP && !stays(t, t->path.at[i])) return i;
  return t->top;
}

// Returns the guard of the copy nest. It contains the conditions of the block that use only loops of the copy nest.
static const nw_expr *where_of_copy(nw_step *st, const takeover *t) {
  const nw_expr *term[NW_MAX_TERMS], *where = NULL;
  const char *gone[NW_MAX_DEPTH];
  int ngone = 0, n = nw_conjuncts(t->block->block.where, NW_MAX_TERMS, term);
  for (int i = end_of_computation(t); i < t->path.n - 1; i++) {
    const nw_stmt *s = t->path.at[i];
    if (s->kind == NW_LOOP && !(t->in_place ? nw_loop_binds(t->block, s, false) : stays(t, s)))
      gone[ngone++] = s->loop.var->name;
  }
  for (int i = 0; i < n; i++)
    if (!nw_uses_any(term[i], ngone, gone)) where = nw_and(st->p->pool, where, term[i]);
  return where;
}

// ---- the pieces of a stage

// A stage can have several pieces, for example after a cut. Each piece gets its own part of the buffer.
typedef struct pieces {
  const nw_result_copy *how;
  int n;
  nw_stmt **at; // the block that the user named is first
  const nw_stmt *loop; // the loop that the step specifies, or NULL
  nw_buffer **cache; // the new buffer of each target
  const char **origin; // the origin of each copy
} pieces;

static nw_stmt *copy_block(nw_step *st, const takeover *t, int target, const char *name, const pieces *x) {
  const nw_stmt *b = t->block;
  const nw_block_target *g = &b->block.target[target];
  nw_block_var *var = NW_NEW_N(st->scratch, nw_block_var, b->block.nvars + 1);
  int n = 0;
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind != NW_REDUCE) var[n++] = b->block.var[i];
  nw_stmt *copy = nw_copy_block(st, name, g->buffer, x->cache[target], n, var, g->n, g->index);
  if (x->how->n) {
    nw_type type = {(uint8_t)x->cache[target]->dtype, 1};
    copy->block.target[0].value = nw_load(st->p->pool, type, x->cache[target]->name, x->how->n, x->how->index);
  }
  copy->block.origin = x->origin[target];
  copy->block.target[0].stream = g->stream;
  copy->block.where = where_of_copy(st, t);
  return copy;
}

// Replaces the nest of the stage by a nest of the kept loops. The blocks that copy are inside this nest.
static void put_copies(nw_step *st, const takeover *t, int n, nw_stmt **copy) {
  nw_stmt *outer = NULL, *inner = NULL;
  nw_stmt *parent = t->path.at[t->top - 1];
  int pos = t->path.pos[t->top];
  for (int i = t->top; i < t->path.n - 1; i++) {
    nw_stmt *loop = t->path.at[i];
    if (!stays(t, loop)) continue;
    if (inner)
      nw_kids_set(st->p, inner, 1, &loop);
    else
      outer = loop;
    inner = loop;
  }
  if (inner) {
    nw_kids_set(st->p, inner, n, copy);
    nw_kids_replace(parent, pos, outer);
    return;
  }
  nw_kids_replace(parent, pos, copy[0]);
  for (int i = 1; i < n; i++) nw_kids_insert(st->p, parent, pos + i, copy[i]);
}

// ---- the computation

static void loops_of_computation(nw_step *st, const takeover *t, nw_lifted *stage) {
  int n = t->block->block.nvars;
  stage->reuse = NW_NEW_N(st->scratch, nw_stmt *, n + 1);
  for (int i = t->top; i < t->path.n - 1; i++) {
    nw_stmt *loop = t->path.at[i];
    bool reused = false;
    if (stays(t, loop)) continue;
    for (int v = 0; v < n; v++)
      if (t->block->block.var[v].bind == loop->loop.var) nw_reuse_loop(st, stage, v, loop), reused = true;
    if (!reused) nw_step_replaces(st, loop->id, 0, NULL, "replaced with new loops of %s", t->block->block.name);
  }
}

static bool make_caches(nw_step *st, const nw_stmt *b, const nw_result_copy *how, nw_buffer **cache) {
  for (int i = 0; i < b->block.ntargets; i++) {
    nw_buffer like = *nw_find_buffer(st->p, b->block.target[i].buffer);
    if (how->n) {
      like.ndim = how->n;
      like.shape = how->extent;
    }
    cache[i] = nw_new_cache(st, &like, how->scope, how->name, how->suffix);
    if (!cache[i] || !nw_set_layout(st, cache[i], &st->resolved[how->layout])) return false;
  }
  return true;
}

// Makes the block store its results in the new buffers.
static void redirect(nw_step *st, const pieces *x, nw_stmt *block) {
  for (int i = 0; i < block->block.ntargets; i++) {
    nw_block_target *g = &block->block.target[i];
    g->buffer = x->cache[i]->name;
    g->stream = false; // the copy blocks now make the streaming stores
    if (!x->how->n) continue;
    g->n = x->how->n;
    g->index = NW_NEW_N(st->p->arena, const nw_expr *, g->n);
    memcpy(g->index, x->how->index, (size_t)g->n * sizeof *g->index);
  }
}

static bool can_cache(nw_step *st, const nw_stmt *block) {
  if (nw_is_definition(block)) return nw_step_refuse(st, nw_scan_reason(block), NULL, "%s", nw_scan_noun(block));
  if (block->block.init_part || (block->block.combiner != NW_PLAIN && !block->block.has_init))
    return nw_step_refuse(st, with_step(st, "the two parts would have to move together; ", " first"), NULL,
                          "its init was split off");
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind == NW_ORDERED)
      return nw_step_refuse(st, "each step of a scan reads the previous one", NULL, "it is a scan");
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++)
    if (b.at[i] != block && nw_block_writes(b.at[i], block->block.target[0].buffer) && !nw_is_piece(b.at[i], block))
      return nw_step_refuse(
          st, with_step(st, "each of them would need its own buffer; use ", " before the step that made that block"),
          NULL, "%s writes it too", b.at[i]->block.name);
  if (nw_block_reads(block, block->block.target[0].buffer))
    return nw_step_refuse(st, "each step of a scan reads the previous one", NULL, "it is a scan");
  return true;
}

// ---- choice of loops

static bool find_pieces(nw_step *st, nw_stmt *block, pieces *x) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  x->at = NW_NEW_N(st->scratch, nw_stmt *, b.n + 1);
  x->at[x->n++] = block;
  for (int i = 0; i < b.n; i++)
    if (b.at[i] != block && nw_block_writes(b.at[i], block->block.target[0].buffer)) x->at[x->n++] = b.at[i];
  if (!nw_step_given(st, x->how->at)) return true;
  x->loop = nw_step_loop(st, x->how->at, NULL);
  return x->loop != NULL;
}

static takeover takeover_of(nw_step *st, nw_stmt *block) {
  takeover t = {.block = block};
  nw_find(st->p, block->id, &t.path);
  t.top = nw_path_exclusive(&t.path);
  return t;
}

static nw_stmt *outermost_kept(const takeover *t) {
  for (int i = t->top; i < t->path.n - 1; i++)
    if (t->path.at[i]->kind == NW_LOOP && stays(t, t->path.at[i])) return t->path.at[i];
  return NULL;
}

// Checks that no two pieces share a part of the buffer. Two pieces share a part if both are inside the specified loop,
// or if they differ only in their reduction loops.
static bool is_apart(nw_step *st, const pieces *x, const takeover *t) {
  if (x->n == 1 || NW_MUTATED(pieces_share)) return true;
  int at = x->loop ? nw_path_index(&t->path, x->loop) : -1;
  if (at >= 0 && at < t->top)
    return nw_step_refuse(st, with_step(st, "each piece needs its own part of the buffer; use ", " before the cut"),
                          x->loop, "%s has other pieces inside as well", x->loop->loop.var->name);
  if (outermost_kept(t)) return true;
  return nw_step_refuse(st, with_step(st, "each piece needs its own loop along the output; use ", " before the cut"),
                        NULL, "%s shares all its loops along the output with other pieces", t->block->block.name);
}

static bool can_take(nw_step *st, const pieces *x) {
  bool inside = !x->loop;
  for (int i = 0; i < x->n; i++) {
    takeover t = takeover_of(st, x->at[i]);
    if (!loops_are_clear(st, &t) ||
        !nw_stays_clear(st, &t.path, t.top, t.block, "the copy has no loop along the reduction") ||
        !is_apart(st, x, &t))
      return false;
    inside |= x->loop && nw_path_index(&t.path, x->loop) >= 0 && stays(&t, x->loop);
  }
  return inside || nw_step_refuse(st, "the buffer is filled and copied out inside that loop", x->loop,
                                  "%s is not a loop along its output", x->loop->loop.var->name);
}

// Returns the loop inside which the buffer is computed. This is the specified loop, if there is one. Otherwise, for a
// stage of one piece, it is the innermost loop around the whole stage. For a stage of several pieces, it is the
// outermost loop of this piece along the output.
static nw_stmt *loop_for(const pieces *x, const takeover *t) {
  int at = x->loop ? nw_path_index(&t->path, x->loop) : -1;
  if (at >= 0) return t->path.at[at];
  nw_stmt *own = x->n > 1 ? outermost_kept(t) : NULL;
  return own ? own : nw_loop_around(&t->path);
}

static void note_marks(nw_step *st, const takeover *t) {
  for (int i = t->top; i < t->path.n - 1; i++) {
    const nw_stmt *s = t->path.at[i];
    if (!stays(t, s)) nw_note_mark(st, s);
  }
}

static bool cache_piece(nw_step *st, const pieces *x, nw_stmt *block) {
  takeover t = takeover_of(st, block);
  nw_stmt *loop = loop_for(x, &t);
  int n = block->block.ntargets;
  nw_stmt **copy = NW_NEW_N(st->scratch, nw_stmt *, n);
  const char *name = block->block.name;
  for (int i = 0; i < n; i++)
    copy[i] = copy_block(st, &t, i, i ? nw_unique_block_name(st->p, block->block.target[i].buffer) : name, x);
  note_marks(st, &t);
  nw_lifted stage = {.block = block};
  loops_of_computation(st, &t, &stage);
  put_copies(st, &t, n, copy);
  redirect(st, x, block);
  block->block.name = block == x->at[0] ? x->cache[0]->name : nw_unique_block_name(st->p, x->cache[0]->name);
  return nw_place(st, &stage, loop);
}

// ---- a reduction that is already scheduled
//
// The computation keeps its nest, with its order, splits and marks. The copy gets loops like those along the output, and
// follows the nest.

static bool is_plain_loop(const nw_stmt *block, const nw_stmt *loop) {
  for (int v = 0; v < block->block.nvars; v++)
    if (block->block.var[v].bind == loop->loop.var) return loop->loop.mark == NW_SERIAL;
  return false;
}

// True if an earlier step changed the loops of the reduction or moved them outwards, and the step specifies no loop. New
// loops would lose what the earlier step did. (If only loops along the output changed, they become loops of the copy.)
static bool is_scheduled(const pieces *x, const takeover *t) {
  bool reduces = false;
  if (x->loop || x->n > 1) return false;
  for (int i = 1; i < t->path.n - 1; i++) {
    const nw_stmt *s = t->path.at[i];
    if (s->kind != NW_LOOP || (i < t->top && stays(t, s))) continue;
    if (i < t->top || (stays(t, s) ? reduces : !is_plain_loop(t->block, s))) return true;
    reduces |= !stays(t, s);
  }
  return false;
}

// Checks that the copy can have loops like those along the output: they must not run over the reduction too, and their
// bounds must not use loops that the copy does not have.
static bool loops_can_be_copied(nw_step *st, const takeover *t) {
  const char *gone[NW_MAX_DEPTH];
  int ngone = 0;
  for (int i = end_of_computation(t); i < t->path.n - 1; i++) {
    const nw_stmt *s = t->path.at[i];
    if (s->kind != NW_LOOP) continue;
    if (!nw_loop_binds(t->block, s, false)) {
      gone[ngone++] = s->loop.var->name;
      continue;
    }
    if (nw_loop_binds(t->block, s, true))
      return nw_step_refuse(st, "a loop fused from a reduction loop and an output loop cannot be a loop of the copy", s,
                            "%s runs over both the reduction and the output", s->loop.var->name);
    if (nw_uses_any(s->loop.begin, ngone, gone) || nw_uses_any(s->loop.extent, ngone, gone))
      return nw_step_refuse(st, "the copy has no loop along the reduction", s, "the bounds of %s depend on other loops",
                            s->loop.var->name);
  }
  return true;
}

// Makes loops for the copies like the loops along the output from `end` inwards. Returns the outermost statement.
static nw_stmt *copies_in_new_loops(nw_step *st, const takeover *t, int end, int n, nw_stmt **copy) {
  nw_stmt *outer = NULL, *inner = NULL;
  const nw_stmt *was[NW_MAX_DEPTH];
  nw_stmt *loop[NW_MAX_DEPTH];
  int nloops = 0;
  for (int i = end; i < t->path.n - 1; i++) {
    const nw_stmt *s = t->path.at[i];
    if (s->kind != NW_LOOP || !nw_loop_binds(t->block, s, false)) continue;
    was[nloops] = s;
    loop[nloops] = nw_new_loop(st->p, nw_unique_loop_name(st->p, s->loop.var->name), s->loop.begin, s->loop.extent);
    loop[nloops]->loop.mark = s->loop.mark;
    loop[nloops]->loop.nfused = s->loop.nfused;
    loop[nloops]->loop.fused = s->loop.fused;
    if (inner) nw_kids_set(st->p, inner, 1, &loop[nloops]);
    if (!outer) outer = loop[nloops];
    inner = loop[nloops++];
  }
  if (!inner) outer = inner = nw_new_stmt(st->p, NW_SEQ);
  nw_kids_set(st->p, inner, n, copy);
  for (int i = 0; i < nloops; i++) nw_stmt_subst(st->p, outer, was[i]->loop.var->name, loop[i]->loop.var);
  return outer;
}

static bool cache_in_place(nw_step *st, const pieces *x, const takeover *t) {
  nw_stmt *block = t->block;
  int n = block->block.ntargets, end = end_of_computation(t), at = end - 1;
  nw_stmt **copy = NW_NEW_N(st->scratch, nw_stmt *, n);
  if (!loops_can_be_copied(st, t)) return false;
  for (int i = 0; i < n; i++) {
    const char *name = i ? nw_unique_block_name(st->p, block->block.target[i].buffer) : block->block.name;
    copy[i] = copy_block(st, t, i, name, x);
  }
  nw_stmt *nest = copies_in_new_loops(st, t, end, n, copy);
  nw_kids_insert(st->p, t->path.at[end - 1], t->path.pos[end] + 1, nest);
  redirect(st, x, block);
  block->block.name = x->cache[0]->name;
  block->step = st->p->step;
  while (at > 0 && t->path.at[at]->kind != NW_LOOP) at--;
  nw_path outside = t->path;
  outside.n = at + 1;
  nw_box box = {0};
  if (at > 0) box = nw_box_read(st, block, t->path.at[at], &outside);
  nw_store_around(st, t->path.at[at], block, at > 0 ? &box : NULL);
  nw_step_note(st, "%s keeps the loops, and the copy has new ones", block->block.name);
  return true;
}

bool nw_copy_result(nw_step *st, nw_stmt *block, const nw_result_copy *how) {
  pieces x = {.how = how};
  if (!can_cache(st, block)) return false;
  if (!find_pieces(st, block, &x)) return false;
  takeover t = takeover_of(st, block);
  t.in_place = is_scheduled(&x, &t);
  if (!t.in_place && !can_take(st, &x)) return false;
  int n = block->block.ntargets;
  x.cache = NW_NEW_N(st->scratch, nw_buffer *, n);
  x.origin = NW_NEW_N(st->scratch, const char *, n);
  if (!make_caches(st, block, how, x.cache)) return false;
  for (int i = 0; i < n; i++)
    x.origin[i] = nw_unique_origin(st->p, nw_arena_printf(st->scratch, "%s_write", block->block.target[i].buffer));
  if (t.in_place && !cache_in_place(st, &x, &t)) return false;
  for (int i = 0; i < x.n && !t.in_place; i++)
    if (!cache_piece(st, &x, x.at[i])) return false;
  nw_step_returns_stage(st, block->block.name);
  return true;
}

bool nw_apply_cache_write(void *step) {
  nw_step *st = step;
  nw_stmt *block = nw_step_block(st, WRITE_STAGE, NULL);
  return block && nw_copy_result(st, block,
                                 &(nw_result_copy){.scope = WRITE_SCOPE,
                                                   .layout = WRITE_LAYOUT,
                                                   .name = WRITE_NAME,
                                                   .at = WRITE_AT,
                                                   .suffix = nw_step_str(st, WRITE_SCOPE, "global")});
}
