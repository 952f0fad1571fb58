// decompose_padding: splits a stage whose value is select(condition, x, constant) into a fill and a copy.
//
// The fill is a nest of its own, which stores the constant in all elements of the loops from the named loop inwards. The
// copy keeps the nest of the stage and its value, but runs only where the condition may hold. Its loops get the range of
// these iterations. A condition that the new ranges do not imply becomes a guard of the copy.
#include "poly/poly.h"
#include "sched/primitives/nest.h"
#include "sched/primitives/pieces.h"
#include "sched/primitives.h"
#include "sched/tree.h"

enum { PADDED_STAGE, PADDED_LOOP };

// The fill is placed before the loop path.at[from].
typedef struct parting {
  nw_path path;
  int from;
  nw_stmt *block;
  nw_padding padding;
  const nw_expr *inside; // the condition, as a function of the loops
} parting;

// ---- conditions

// Checks that the stage, or this piece of it, has a border and an interior.
static bool has_both(nw_step *st, const parting *x) {
  const nw_expr *term[NW_MAX_TERMS];
  nw_ranges r;
  nw_ranges_of(&r, st->p, &x->path);
  int n = nw_conjuncts(x->block->block.where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++) nw_ranges_fact(&r, term[i]);
  const nw_expr *inside = nw_simplify(&r, x->inside);
  bool always = nw_prove(&r, inside), never = nw_disprove(&r, inside);
  nw_ranges_free(&r);
  if (always) return nw_step_refuse(st, "there is nothing to fill", NULL, "it runs only where its condition holds");
  return !never || nw_step_refuse(st, "it only stores the constant, like a fill", NULL, "its condition never holds");
}

static bool can_part(nw_step *st, const parting *x, const nw_stmt *loop) {
  const nw_stmt *b = x->block;
  if (b->block.combiner != NW_PLAIN)
    return nw_step_refuse(st, "use s:decompose_reduction to split off its init", NULL, "it is a reduction");
  if (b->block.init_part)
    return nw_step_refuse(st, "name the stage that stores the values", NULL, "it is already a fill");
  if (!x->inside)
    return nw_step_refuse(st, "its value must be nw.select(condition, x, c) with a constant c", NULL,
                          "%s has no constant border", b->block.name);
  if (nw_uses_load(x->inside, NULL))
    return nw_step_refuse(st, "the border must be known before the kernel runs", NULL, "its condition reads a tensor");
  if (x->from < 0)
    return nw_step_refuse(st, "the fill is placed before a loop around the stage", loop, "it is not inside that loop");
  return has_both(st, x);
}

// ---- the fill

static nw_stmt *fill_block(nw_step *st, const parting *x) {
  const nw_stmt *b = x->block;
  nw_stmt *s = nw_new_init(st, b, "_fill");
  s->block.nvars = b->block.nvars;
  s->block.var = NW_NEW_N(st->p->arena, nw_block_var, b->block.nvars + 1);
  memcpy(s->block.var, b->block.var, (size_t)b->block.nvars * sizeof *b->block.var);
  s->block.ntargets = 1;
  s->block.target = NW_NEW(st->p->arena, nw_block_target);
  s->block.target[0] = b->block.target[0];
  s->block.target[0].value = x->padding.constant;
  s->block.where = b->block.where;
  return s;
}

// ---- the copy

static void trim(nw_step *st, nw_stmt *loop, const nw_interval *in) {
  const nw_expr *point[4], *lo = in->lo, *hi = in->hi;
  if (!in->stands) {
    nw_cut_points(st->p, loop, 2, (const nw_expr *[]){lo, hi}, point);
    lo = point[1];
    hi = point[2];
  }
  loop->loop.begin = lo;
  loop->loop.extent = nw_sub(st->p->pool, hi, lo);
  loop->step = st->p->step;
}

// Trims the loops that contain only the stage. The extent of a loop that is unrolled or runs in lanes must stay constant,
// so this loop keeps its iterations, and a guard skips some of them.
static bool trim_loops(nw_step *st, const parting *x) {
  int top = nw_path_exclusive(&x->path);
  for (int i = top > x->from ? top : x->from; i < x->path.n - 1; i++) {
    nw_stmt *loop = x->path.at[i];
    nw_interval in;
    nw_path before;
    if (loop->kind != NW_LOOP || loop->loop.nfused || !nw_uses_var(x->inside, loop->loop.var->name)) continue;
    if (loop->loop.mark != NW_SERIAL && loop->loop.mark != NW_PARALLEL) {
      nw_step_note(st, "%s keeps all its iterations, because it is marked %s", loop->loop.var->name,
                   nw_loop_kind_name(loop->loop.mark));
      continue;
    }
    nw_find(st->before, loop->id, &before);
    if (!nw_inside_rounds(st->before, before.at[before.n - 1], &in)) return false;
    if (in.nconds) trim(st, loop, &in);
  }
  return true;
}

bool nw_apply_decompose_padding(void *step) {
  nw_step *st = step;
  parting x = {.block = NULL};
  x.block = nw_step_block(st, PADDED_STAGE, &x.path);
  nw_stmt *loop = x.block ? nw_step_loop(st, PADDED_LOOP, NULL) : NULL;
  if (!loop) return false;
  x.from = nw_path_index(&x.path, loop);
  if (nw_padding_of(st->p, x.block, &x.padding)) x.inside = nw_block_bound(st->p, x.block, x.padding.inside);
  if (!can_part(st, &x, loop)) return false;
  nw_stmt *nest = nw_nest_along_output(st->p, &x.path, x.from, x.block, fill_block(st, &x), "_fill");
  if (!trim_loops(st, &x)) return false;
  nw_kids_insert(st->p, x.path.at[x.from - 1], x.path.pos[x.from], nest);
  nw_block_guard(st->p, x.block, x.inside);
  nw_blocks b = nw_blocks_below(st->scratch, nest);
  nw_step_returns_stage(st, b.at[0]->block.name);
  return true;
}
