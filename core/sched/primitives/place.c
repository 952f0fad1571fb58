// Moves the nest of a stage: removes it, and builds a nest elsewhere.
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

int nw_writers_of(nw_step *st, const nw_stmt *block, const char *buffer, bool pieces) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  int n = 1;
  for (int i = 0; i < b.n; i++)
    n += nw_block_writes(b.at[i], buffer) && b.at[i] != block && !(pieces && nw_is_piece(b.at[i], block));
  return n;
}

bool nw_is_definition(const nw_stmt *block) {
  const nw_block_target *t = &block->block.target[0];
  if (block->block.init_part) return false;
  if (block->block.combiner != NW_PLAIN && !block->block.has_init && !t->init) return true;
  bool scan = false, ordered = false;
  for (int i = 0; i < block->block.nvars; i++) {
    if (block->block.var[i].kind != NW_ORDERED) continue;
    ordered = true;
    for (int d = 0; d < t->n; d++) scan = scan || t->index[d] == block->block.var[i].var;
  }
  return ordered ? !scan : block->block.when || nw_block_reads(block, t->buffer);
}

const char *nw_scan_reason(const nw_stmt *block) {
  return nw_is_definition(block) ? "its definitions run in their order, each on the values that the last one left"
                                 : "each step of a scan reads the previous one";
}

const char *nw_scan_noun(const nw_stmt *block) { return nw_is_definition(block) ? "it is an update" : "it is a scan"; }

bool nw_is_scan(const nw_stmt *block) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind == NW_ORDERED) return true;
  return nw_is_definition(block) || nw_block_reads(block, output_of(block));
}

static bool no_scan(nw_step *st, const nw_stmt *block) {
  return !nw_is_scan(block) || nw_step_refuse(st, nw_scan_reason(block), NULL, "%s", nw_scan_noun(block));
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
    int n = nw_writers_of(st, block, buffer, pieces),
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

bool nw_can_move_whole(nw_step *st, const nw_stmt *block) {
  return no_scan(st, block) && is_temporary(st, block) && written_by(st, block, true);
}

// ---- removing the old nest

// Returns the only loop from `top` inwards that the binding uses, if its variable is a term of the binding, and if the
// other variables of the block do not use it. Returns NULL if there is none.
static nw_stmt *only_loop(const nw_program *p, const nw_path *path, int top, const nw_block_var *v) {
  const nw_stmt *block = path->at[path->n - 1];
  nw_stmt *only = NULL;
  int64_t coef;
  for (int i = top; i < path->n - 1; i++) {
    if (!nw_uses_var(v->bind, path->at[i]->loop.var->name)) continue;
    if (only || !nw_affine(p->pool, v->bind, 1, &path->at[i]->loop.var->name, &coef, NULL) || coef != 1) return NULL;
    only = path->at[i];
  }
  for (int i = 0; i < block->block.nvars && only; i++)
    if (block->block.var[i].var != v->var && nw_uses_var(block->block.var[i].bind, only->loop.var->name)) return NULL;
  return only;
}

static nw_stmt *unsplit_loop(const nw_program *p, const nw_path *path, int top, const nw_block_var *v, bool shifted) {
  if (shifted) return only_loop(p, path, top, v);
  if (v->bind->op != NW_OP_VAR) return NULL;
  for (int i = top; i < path->n - 1; i++)
    if (!strcmp(path->at[i]->loop.var->name, v->bind->name)) return path->at[i];
  return NULL;
}

bool nw_is_among(const nw_stmt *s, int n, nw_stmt *const *list) {
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

// Another stage can be placed before this one, so no new loop may get the name.
void nw_reuse_loop(nw_step *st, nw_lifted *stage, int var, nw_stmt *loop) {
  stage->reuse[var] = loop;
  if (loop && !NW_MUTATED(fresh_reuses_name)) nw_keep_loop_name(st->p, loop->loop.var->name);
}

void nw_lift(nw_step *st, const nw_path *old, nw_lifted *out) {
  nw_stmt *block = old->at[old->n - 1];
  nw_path own;
  nw_rows *part = out->part;
  bool shifted = out->shifted;
  if (!part) drop_pieces(st, block);
  nw_find(st->p, block->id, &own);
  const nw_path *path = &own;
  int top = nw_path_exclusive(path);
  *out = (nw_lifted){.block = block, .part = part, .reuse = NW_NEW_N(st->scratch, nw_stmt *, block->block.nvars + 1)};
  for (int v = 0; v < block->block.nvars; v++)
    nw_reuse_loop(st, out, v, unsplit_loop(st->p, path, top, &block->block.var[v], shifted));
  for (int i = top; i < path->n - 1; i++) {
    if (!nw_is_among(path->at[i], block->block.nvars, out->reuse))
      nw_step_replaces(st, path->at[i]->id, 0, NULL, "replaced with new loops of %s", block->block.name);
    nw_note_mark(st, path->at[i]);
  }
  nw_detach(st->p, path, top);
  for (int t = 0; t < block->block.ntargets && !part; t++) nw_splice_alloc(st->p, block->block.target[t].buffer);
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

static nw_stmt *fresh_loop(nw_step *st, const nw_lifted *stage, int var, const nw_expr *begin, const nw_expr *extent) {
  nw_stmt *reuse = stage->reuse[var];
  const char *name = reuse ? reuse->loop.var->name : nw_unique_loop_name(st->p, stage->block->block.var[var].var->name);
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
    nw_stmt *loop =
        all ? fresh_loop(st, stage, i, v->lo, v->extent) : fresh_loop(st, stage, i, nw_index(pool, 0), rows[i].extent);
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

// Adds guards, so that a piece computes only its own part of the stage.
static void guard_part(nw_step *st, const nw_lifted *stage) {
  nw_pool *pool = st->p->pool;
  for (int i = 0; i < stage->block->block.nvars; i++) {
    const nw_rows *part = &stage->part[i];
    const nw_expr *value = stage->block->block.var[i].bind;
    if (!part->lo) continue;
    nw_block_guard(st->p, stage->block, nw_le(pool, part->lo, value));
    nw_block_guard(st->p, stage->block, nw_lt(pool, value, nw_add(pool, part->lo, part->extent)));
  }
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
  if (!stage->part) nw_store_around(st, in, stage->block, loop ? &box : NULL);
  if (loop) nw_guard_domain(st, stage->block);
  if (stage->part) guard_part(st, stage);
  if (guard) nw_block_guard(st->p, stage->block, guard);
  return true;
}
