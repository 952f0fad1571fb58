// Pass: inserts as few barriers as necessary into GPU kernels, and gives every kernel launch a loop over GPU blocks.
//
// A requirement names two statements of kind NW_BLOCK, A and B. All threads must finish A before any thread begins B
// (nw_syncs). A barrier between A and B meets the requirement. If B runs in the same iterations of the common loops as
// A, there are two places for the barrier. It may be between A and B in the innermost statement list that contains
// both. It may also be in a list inside that list, after A or before B. If B runs in a later iteration of a loop than
// A, the barrier may be between A and the end of the loop, or between the start of the loop and B. One barrier can meet
// several requirements, so the requirements of the innermost lists are handled first. If no barrier meets a
// requirement, a barrier is inserted before B. For a later iteration, it is inserted at the start of the loop.
//
// Some requirements are about threads of one warp only. They are handled last, since any barrier meets them. Those that
// are left get a barrier for the threads of each warp.
#include "lower/pass.h"
#include "poly/poly.h"
#include <stdlib.h>

typedef struct need {
  nw_path a, b; // paths to the two blocks
  int list; // position, on both paths, of the statement among whose children the barrier is inserted
  bool round; // true if b runs in a later iteration of the loop at `list`
} need;

static need need_of(const nw_program *p, const nw_sync *s) {
  need n = {.round = s->loop != 0};
  nw_find(p, s->before, &n.a);
  nw_find(p, s->after, &n.b);
  n.list = n.round ? nw_path_at(&n.a, s->loop) : nw_path_common(&n.a, &n.b) - 1;
  return n;
}

static bool barrier_in(const nw_stmt *s, int from, int to) {
  for (int i = from; i < to; i++)
    if (s->kid[i]->kind == NW_BARRIER) return true;
  return false;
}

static bool is_met(const need *n) {
  int inner = n->round ? n->list : n->list + 1;
  for (int i = inner; i < n->a.n - 1; i++)
    if (barrier_in(n->a.at[i], n->a.pos[i + 1] + 1, n->a.at[i]->nkids)) return true;
  for (int i = inner; i < n->b.n - 1; i++)
    if (barrier_in(n->b.at[i], 0, n->b.pos[i + 1])) return true;
  return !n->round && barrier_in(n->a.at[n->list], n->a.pos[inner], n->b.pos[inner]);
}

static void meet(nw_program *p, const nw_sync *s) {
  need n = need_of(p, s);
  if (is_met(&n)) return;
  nw_stmt *list = n.a.at[n.list];
  int at = n.round ? 0 : n.b.pos[n.list + 1];
  nw_stmt *barrier = nw_new_like(p, NW_BARRIER, n.b.at[n.b.n - 1]);
  barrier->barrier.warp = s->warp || NW_MUTATED(barrier_warps);
  nw_kids_insert(p, list, at, barrier);
}

typedef struct rank {
  const nw_sync *s;
  // Requirements are sorted by these fields. Inner lists come first. In a list, requirements within one iteration come
  // first. Then the position of B decides.
  int list, round, last;
} rank;

static int by_rank(const void *a, const void *b) {
  const rank *x = a, *y = b;
  if (x->list != y->list) return y->list - x->list;
  return x->round != y->round ? x->round - y->round : x->last - y->last;
}

static void place_all(nw_program *p, const nw_vec *syncs, bool warp) {
  rank *all = nw_xcalloc((size_t)syncs->n + 1, sizeof *all);
  int count = 0;
  for (int i = 0; i < syncs->n; i++) {
    const nw_sync *s = syncs->at[i];
    if (s->warp != warp) continue;
    need n = need_of(p, s);
    all[count++] = (rank){s, n.list, n.round, n.b.pos[n.list + 1]};
  }
  qsort(all, (size_t)count, sizeof *all, by_rank);
  for (int i = 0; i < count; i++) meet(p, all[i].s);
  free(all);
}

// ---- launches without block loops

// Puts a loop of one iteration over GPU blocks around a launch that has no loop over GPU blocks. So the launch stays
// one launch, even if later passes remove its other loops.
static nw_stmt *one_block(nw_program *p, nw_stmt *launch) {
  nw_stmt *block = nw_new_loop(p, nw_unique_loop_name(p, "block"), nw_index(p->pool, 0), nw_index(p->pool, 1));
  block->step = launch->step;
  block->loop.mark = NW_BLOCK_X;
  nw_kids_set(p, block, 1, &launch);
  return block;
}

static void wrap_launches(nw_program *p, nw_stmt *s) {
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    if (!nw_is_launch(p, kid))
      wrap_launches(p, kid);
    else if (nw_find_bound(kid) && !nw_is_block_loop(kid))
      s->kid[i] = one_block(p, kid);
  }
}

nw_program *nw_pass_barriers(nw_program *p) {
  if (!nw_find_bound(p->root)) return p;
  nw_vec syncs = {0};
  bool ok = nw_syncs(p, &syncs);
  for (int warp = 0; warp < 2 && ok; warp++) place_all(p, &syncs, warp);
  if (ok) wrap_launches(p, p->root);
  nw_vec_free(&syncs);
  return ok ? p : NULL;
}
