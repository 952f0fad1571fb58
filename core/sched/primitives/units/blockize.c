// blockize and unblockize: make a nest a unit, which steps move as a whole, and the reverse. After every step, a check
// makes sure that no unit was taken apart.
#include "sched/primitives/units/unit.h"
#include "ir/program/valid.h"
#include "sched/advice/suggest.h"
#include "sched/primitives.h"
#include "sched/tree.h"

enum { BLOCKIZE_LOOP, BLOCKIZE_NAME };

// Returns the name that the user gave, or that of the last stage in the nest with the ending _o.
static const char *name_for(nw_step *st, const nw_stmt *nest) {
  const char *given = nw_step_str(st, BLOCKIZE_NAME, NULL);
  nw_blocks b = nw_blocks_below(st->scratch, nest);
  if (given) return nw_name_given(st->ctx, "a unit", given) ? given : NULL;
  return nw_arena_printf(st->scratch, "%s_o", b.n ? b.at[b.n - 1]->block.name : nest->loop.var->name);
}

bool nw_apply_blockize(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *loop = nw_step_loop(st, BLOCKIZE_LOOP, &path);
  const char *name = loop ? name_for(st, loop) : NULL;
  if (!name) return false;
  nw_stmt *in = path.at[path.n - 2];
  if (in->kind == NW_UNIT && in->nkids == 1)
    return nw_step_refuse(st, "a nest needs to be a unit only once", loop, "it is already the unit %s", in->unit.name);
  nw_stmt *unit = nw_new_stmt(st->p, NW_UNIT);
  unit->unit.name = nw_unique_unit_name(st->p, name);
  nw_kids_set(st->p, unit, 1, &loop);
  nw_kids_replace(in, path.pos[path.n - 1], unit);
  nw_step_returns_stage(st, unit->unit.name);
  return true;
}

// True if a condition around the statement can be a condition of the blocks in it.
static bool takes_conditions(void *env, nw_stmt *s) {
  (void)env;
  return s->kind == NW_LOOP || s->kind == NW_BLOCK || s->kind == NW_ALLOC || s->kind == NW_UNIT;
}

// A move has put a condition around the unit. It becomes a condition of the stages, as after the move of a stage, so that
// the loops around it and in it form a perfect nest again.
static void dissolve_guard(nw_step *st, nw_path *path) {
  nw_stmt *unit = path->at[path->n - 1], *guard = path->at[path->n - 2];
  if (guard->kind != NW_GUARD || guard->nkids != 1 || !nw_walk_from(unit, takes_conditions, NULL)) return;
  nw_blocks b = nw_blocks_below(st->scratch, unit);
  for (int i = 0; i < b.n; i++) nw_block_guard(st->p, b.at[i], guard->guard.cond);
  nw_kids_replace(path->at[path->n - 3], path->pos[path->n - 2], unit);
  nw_find(st->p, unit->id, path);
}

bool nw_apply_unblockize(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *unit = nw_step_unit(st, 0, &path);
  if (!unit) return false;
  dissolve_guard(st, &path);
  nw_stmt *in = path.at[path.n - 2];
  int pos = path.pos[path.n - 1];
  nw_kids_remove(st->p, in, pos);
  for (int i = 0; i < unit->nkids; i++) nw_kids_insert(st->p, in, pos + i, unit->kid[i]);
  return true;
}

// ---- units stay whole

const nw_stmt *nw_unit_around(const nw_path *path, int from) {
  for (int i = path->n - 2; i >= from; i--)
    if (path->at[i]->kind == NW_UNIT) return path->at[i];
  return NULL;
}

static bool refuse_apart(nw_step *st, const nw_stmt *unit, const nw_stmt *block) {
  const char *why =
      nw_arena_printf(st->scratch, "%s would be outside of it; move the unit, or s:unblockize \"%s\" first",
                      block->block.name, unit->unit.name);
  return nw_step_refuse(st, why, NULL, "it would take the unit %s apart", unit->unit.name);
}

// True if the blocks of a unit that still exist are still in the unit.
static bool stays_whole(void *env, const nw_path *path) {
  nw_step *st = env;
  const nw_stmt *unit = path->at[path->n - 1];
  nw_path at;
  if (unit->kind != NW_UNIT || NW_MUTATED(unit_apart)) return true;
  const nw_stmt *now = nw_find(st->p, unit->id, &at) ? at.at[at.n - 1] : NULL;
  nw_blocks b = nw_blocks_below(st->scratch, unit);
  for (int i = 0; i < b.n; i++)
    if (nw_find(st->p, b.at[i]->id, &at) && !(now && nw_path_index(&at, now) >= 0))
      return refuse_apart(st, unit, b.at[i]);
  return true;
}

bool nw_units_hold(nw_step *st) {
  return st->primitive->apply == nw_apply_unblockize || nw_walk(st->before, stays_whole, st);
}

// ---- suggestions

// Suggests the step for the unit instead of the stage in it, if the step can move a unit.
static void offer_unit(nw_step *st, int param, const nw_stmt *unit) {
  nw_arg args[NW_MAX_PARAMS];
  memcpy(args, st->resolved, sizeof args);
  args[param].name = unit->unit.name;
  if (nw_moves_units(st->primitive)) nw_step_suggest(st, st->primitive->name, args, NW_MAX_PARAMS);
}

static void about_arg(nw_step *st, int param, const nw_arg *a) {
  nw_path path;
  for (int i = 0; a->kind == NW_ARG_LIST && i < a->n; i++) about_arg(st, param, &a->item[i]);
  bool stage = a->kind == NW_ARG_STAGE || (a->kind == NW_ARG_STMT && !a->i);
  const nw_stmt *block = stage ? nw_stage_block(st->before, a->name) : NULL;
  bool loop = (a->kind == NW_ARG_LOOP || a->kind == NW_ARG_STMT) && a->i;
  int id = block ? block->id : loop ? (int)a->i : 0;
  if (!nw_find(st->before, id, &path)) return;
  for (int i = 0; i < path.n - 1; i++) {
    if (path.at[i]->kind != NW_UNIT) continue;
    if (block) offer_unit(st, param, path.at[i]);
    first1(st, "unblockize", stage_arg(path.at[i]->unit.name));
  }
}

void nw_suggest_units(nw_step *st) {
  if (st->primitive->apply == nw_apply_blockize) return;
  for (int i = 0; i < NW_MAX_PARAMS && st->primitive->param[i].name; i++) about_arg(st, i, &st->resolved[i]);
}

// Suggests units for other loops around or inside the nest.
void nw_suggest_blockize(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *nest[NW_MAX_DEPTH];
  if (!nw_find(st->before, (int)st->resolved[BLOCKIZE_LOOP].i, &path)) return;
  nw_blocks b = nw_blocks_below(st->scratch, path.at[path.n - 1]);
  if (b.n) nw_find(st->before, b.at[0]->id, &path);
  int n = nw_path_loops(&path, nest);
  for (int i = n - 1; i >= 0; i--) offer1(st, "blockize", loop_arg(nest[i]));
}
