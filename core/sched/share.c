// Storage of scope shared belongs to a block, and storage of scope warp to a warp. If a step allocates such storage
// inside loops whose iterations are the threads of the group, it means the union of what these threads use, as in TVM.
// A thread loop is an ordinary loop of the program. So the storage must be outside of it, and the loops between the
// thread loop and the storage too. There are three ways to compute the stage:
// * OUT: Its nest is the same for all threads. It moves outside of the thread loops as it is.
// * BUILD: It gets a new nest outside of the thread loops, which computes the part that all threads need.
// * AROUND: Only the storage moves. Each thread still computes its own part. This keeps the order, splits and marks of
//   the stage's loops, and is used if a new nest would lose them, provided that no two threads compute the same element.
// The judge examines the result as for any other step.
#include "sched/share.h"
#include "sched/inwards.h"
#include "sched/primitives/place.h"
#include "sched/site.h"
#include "sched/tree.h"

typedef enum way { OUT, BUILD, AROUND } way;

typedef struct group {
  nw_step *st;
  nw_path path; // from the root to the allocation
  nw_scope scope;
  int n; // number of loops that move inwards
  nw_stmt *loop[NW_MAX_DEPTH]; // innermost first
  const char *var[NW_MAX_DEPTH]; // their variables
} group;

static nw_stmt *alloc_of(const group *g) { return g->path.at[g->path.n - 1]; }

// True if the iterations of the loop are threads that have a buffer of this scope in common.
static bool is_common(const nw_stmt *s, nw_scope scope) {
  return scope == NW_SHARED ? nw_is_thread_loop(s) : scope == NW_WARP && nw_grid_dim(s) == 3; // threadIdx.x
}

// ---- the storage

static bool is_outside(void *env, const nw_path *path) {
  group *g = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_ALLOC) return true;
  g->scope = nw_find_buffer(g->st->p, s->alloc.buffer)->scope;
  g->path = *path;
  for (int i = 0; i < path->n - 1; i++)
    if (is_common(path->at[i], g->scope)) return false;
  return true;
}

// Finds the loops that move inwards: the thread loops around the storage. Loops over virtual threads move too, since
// these are parts of the threads.
static void find_loops(group *g) {
  for (int i = g->path.n - 2; i > 0; i--) {
    nw_stmt *s = g->path.at[i];
    if (!is_common(s, g->scope) && !(g->scope == NW_SHARED && nw_is_vthread_loop(s) && !NW_MUTATED(share_virtual)))
      continue;
    g->var[g->n] = s->loop.var->name;
    g->loop[g->n++] = s;
  }
}

// ---- the stage

// Returns the block that computes the elements of the buffer, or NULL if there are several.
static nw_stmt *only_writer(const group *g) {
  nw_blocks b = nw_blocks_below(g->st->scratch, g->st->p->root);
  nw_stmt *found = NULL;
  for (int i = 0; i < b.n; i++) {
    if (!nw_block_writes(b.at[i], alloc_of(g)->alloc.buffer)) continue;
    if (found) return NULL;
    found = b.at[i];
  }
  return found;
}

// Returns the position on the path of the outermost statement in the storage that contains no reader of the block.
static int top_of(const group *g, const nw_path *own) {
  int i = g->path.n;
  while (i < own->n - 1 && (own->at[i]->kind != NW_LOOP || nw_reads_any(own->at[i], own->at[own->n - 1]))) i++;
  return i;
}

typedef struct names {
  int n;
  const char *const *var;
  bool used;
} names;

static const nw_expr *see(void *env, const nw_expr *e) {
  names *x = env;
  x->used |= nw_uses_any(e, x->n, x->var);
  return e;
}

// True if the nest differs between the threads.
static bool differs(const group *g, nw_stmt *top) {
  names x = {g->n, g->var, false};
  nw_stmt_map(g->st->p, top, see, &x);
  return x.used;
}

// True if new loops for the block would be like its loops from `top` inwards: each runs over one variable of the block.
static bool is_plain(const nw_path *own, int top) {
  const nw_stmt *block = own->at[own->n - 1];
  bool taken[NW_MAX_DEPTH] = {false};
  for (int i = top; i < own->n - 1; i++) {
    const nw_stmt *s = own->at[i];
    int users = 0;
    if (s->kind != NW_LOOP) continue;
    for (int v = 0; v < block->block.nvars && v < NW_MAX_DEPTH; v++) {
      if (!nw_uses_var(block->block.var[v].bind, s->loop.var->name)) continue;
      users += taken[v] ? 2 : 1;
      taken[v] = true;
    }
    if (users != 1 || s->loop.mark != NW_SERIAL || s->loop.nfused) return false;
  }
  return true;
}

static int64_t size(int64_t n) { return n < 0 ? -n : n; }

// Returns how far the parts of two iterations of loop t are apart in dimension d, less the elements that one part and
// the loops with smaller steps cover. The result is below 0 if the parts may overlap, or if this is not known.
static int64_t gap(const group *g, int t, int d) {
  const nw_stmt *alloc = alloc_of(g);
  int64_t coef[NW_MAX_DEPTH], extent, n;
  const nw_expr *rest;
  if (!nw_is_int(alloc->alloc.extent[d], &extent) ||
      !nw_affine(g->st->p->pool, alloc->alloc.min[d], g->n, g->var, coef, &rest) || !coef[t])
    return -1;
  for (int i = 0; i < g->n; i++) {
    if (i == t || !coef[i] || size(coef[i]) > size(coef[t])) continue;
    if (!nw_is_int(g->loop[i]->loop.extent, &n) || n > INT32_MAX || size(coef[i]) > INT32_MAX) return -1;
    extent += size(coef[i]) * (n - 1);
  }
  return size(coef[t]) - extent;
}

// True if no two threads use the same element, because for each loop there is a dimension in which the parts of its
// iterations are apart.
static bool are_apart(const group *g) {
  for (int t = 0; t < g->n; t++) {
    bool apart = false;
    for (int d = 0; d < alloc_of(g)->alloc.n && !apart; d++) apart = gap(g, t, d) >= 0;
    if (!apart) return NW_MUTATED(share_apart);
  }
  return true;
}

// True if the block reads elements that belong to a single thread.
static bool reads_private(const group *g, const nw_stmt *block) {
  for (int i = 0; i < g->st->p->nbuffers; i++)
    if (g->st->p->buffer[i]->scope == NW_LOCAL && nw_block_reads(block, g->st->p->buffer[i]->name)) return true;
  return false;
}

// True if the stage can get a new nest: the nest at `top` computes only this stage, and stages for it.
static bool can_build(const group *g, const nw_path *own, int top) {
  nw_stmt *block = own->at[own->n - 1];
  if (nw_is_scan(block) || block->block.init_part || (block->block.combiner != NW_PLAIN && !block->block.has_init))
    return false;
  for (int i = g->path.n; i < top; i++)
    if (own->at[i]->kind == NW_LOOP) return false; // the storage holds the results of several iterations
  for (int t = 0; t < block->block.ntargets; t++) {
    const char *buffer = block->block.target[t].buffer;
    if (nw_writers_of(g->st, block, buffer, false) != 1 || nw_allocations(g->st->p->root, buffer) != 1) return false;
  }
  if (nw_path_exclusive(own) <= top) return true;
  for (int i = top; i < own->n - 1; i++)
    if (own->at[i]->kind == NW_LOOP && !nw_loop_binds(block, own->at[i], false) &&
        !nw_loop_binds(block, own->at[i], true))
      return false;
  return nw_feeds_alone(g->st, own->at[top], block);
}

static way choose(const group *g, const nw_path *own, int top) {
  const nw_stmt *block = own->at[own->n - 1];
  if (nw_reads_any(block, block)) return AROUND;
  if (!differs(g, own->at[top])) return OUT;
  if (!can_build(g, own, top)) return AROUND;
  return are_apart(g) && (!is_plain(own, top) || reads_private(g, block)) ? AROUND : BUILD;
}

// ---- the move

static const char *listed(const group *g) {
  const char *list = "";
  for (int i = g->n - 1; i >= 0; i--)
    list = nw_arena_printf(g->st->scratch, "%s%s%s", list, i == g->n - 1 ? "" : i ? ", " : " and ", g->var[i]);
  return list;
}

static bool stuck(const group *g, const nw_stmt *loop, const char *reason) {
  const char *buffer = alloc_of(g)->alloc.buffer, *whose = g->scope == NW_WARP ? "warp" : "block";
  const char *why = nw_arena_printf(
      g->st->scratch, "a buffer of scope %s belongs to a whole %s, and cannot be allocated outside of %s: %s",
      g->scope == NW_WARP ? "warp" : "shared", whose, loop->loop.var->name, reason);
  return nw_step_refuse(g->st, why, loop, "%s is allocated inside %s", buffer, loop->loop.var->name);
}

static bool move_loops(const group *g, nw_stmt *end, bool split) {
  for (int i = 0; i < g->n; i++) {
    const char *reason;
    nw_inwards to = {g->loop[i], end, split};
    if (!nw_moves_inwards(g->st, &to, &reason)) return stuck(g, g->loop[i], reason);
    nw_move_inwards(g->st, &to);
  }
  return true;
}

// Replaces the nest of the block, which is now outside of the thread loops but still uses their variables.
static bool build(const group *g, nw_stmt *block, const nw_feeders *with) {
  nw_path own;
  nw_lifted stage = {.shifted = true};
  nw_find(g->st->p, block->id, &own);
  nw_stmt *home = nw_loop_around(&own);
  nw_lift(g->st, &own, &stage);
  return nw_place(g->st, &stage, home) && nw_place_feeders(g->st, with, home);
}

static void tell(const group *g, const char *buffer, way how) {
  nw_step *st = g->st;
  const char *what = nw_arena_printf(
      st->scratch, "%s is stored once for all threads of a %s, so %s", buffer, g->scope == NW_WARP ? "warp" : "block",
      nw_arena_printf(st->scratch, how == AROUND ? "its storage is outside of %s" : "it is computed outside of %s",
                      listed(g)));
  nw_step_note(st, how == AROUND ? "%s" : "%s; one thread computes it until its loops are bound", what);
  st->shared = st->shared ? nw_arena_printf(st->scratch, "%s; %s", st->shared, what) : what;
}

static bool share_one(group *g) {
  nw_path own;
  way how = AROUND;
  nw_feeders with = {0};
  nw_stmt *block = only_writer(g), *end = alloc_of(g);
  const char *buffer = end->alloc.buffer;
  if (block && nw_find(g->st->p, block->id, &own) && nw_path_index(&own, end) >= 0) {
    int top = top_of(g, &own);
    how = choose(g, &own, top);
    if (how != AROUND) end = own.at[top];
    if (how == BUILD) with = nw_lift_feeders(g->st, &own);
  }
  tell(g, buffer, how);
  return move_loops(g, end, how != AROUND) && (how != BUILD || build(g, block, &with));
}

bool nw_share_storage(nw_step *st) {
  while (nw_find_bound(st->p->root)) {
    group g = {.st = st};
    if (nw_walk(st->p, is_outside, &g)) break;
    find_loops(&g);
    if (!share_one(&g)) return false;
  }
  return true;
}

void nw_explain_sharing(nw_step *st) {
  nw_refusal *r = st->shared ? nw_refusal_edit(st->ctx) : NULL;
  if (r && r->why) r->why = nw_diag_printf(st->ctx, "%s; %s", r->why, st->shared);
}
