// create_fused_loop: turns independent nests into branches of one loop. Other statements between the nests move out of
// the way.
#include "base/share.h"
#include "poly/poly.h"
#include "sched/primitives/nests.h"
#include "sched/primitives.h"
#include "sched/advice/refuse.h"
#include "sched/site.h"
#include "sched/tree.h"
#include <stdio.h>

enum { MAX_BRANCHES = 8 };

typedef struct fused {
  nw_step *st;
  int n;
  nw_stmt *branch[MAX_BRANCHES];
  const nw_expr *lo[MAX_BRANCHES + 1]; // first iteration of each branch in the fused loop, then the end of the loop
} fused;

// ---- statements between the loops

static bool write_alike(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  nw_blocks x = nw_blocks_below(st->scratch, a), y = nw_blocks_below(st->scratch, b);
  for (int i = 0; i < x.n; i++)
    for (int t = 0; t < x.at[i]->block.ntargets; t++)
      for (int k = 0; k < y.n; k++)
        if (nw_block_writes(y.at[k], x.at[i]->block.target[t].buffer)) return true;
  return false;
}

// True if one of the statements writes a buffer that the other uses.
static bool meet(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  return nw_feeds(a, b) || nw_feeds(b, a) || write_alike(st, a, b);
}

static bool has_branch(const fused *x, const nw_stmt *s) {
  for (int i = 0; i < x->n; i++)
    if (nw_tree_has(s, x->branch[i])) return true;
  return false;
}

static bool meets_any(fused *x, const nw_stmt *in, int from, int to, const nw_stmt *s) {
  for (int i = from; i < to; i++)
    if (meet(x->st, in->kid[i], s)) return true;
  return false;
}

// Moves statements between the loops before all of them, or after them, if it shares no data with those that it passes.
// For example, the init of the second scan is between the loops of two scans. The judge checks the order again.
static void clear_between(fused *x) {
  nw_step *st = x->st;
  nw_path first, last;
  nw_find(st->p, x->branch[0]->id, &first);
  nw_find(st->p, x->branch[x->n - 1]->id, &last);
  int common = nw_path_common(&first, &last);
  if (common == first.n || common == last.n) return;
  nw_stmt *in = first.at[common - 1];
  int from = first.pos[common], to = last.pos[common];
  for (int i = from + 1; i < to; i++) {
    nw_stmt *s = in->kid[i];
    if (has_branch(x, s)) continue;
    bool before = !meets_any(x, in, from, i, s) || NW_MUTATED(hfuse_before);
    if (!before && meets_any(x, in, i + 1, to + 1, s)) continue;
    nw_kids_remove(st->p, in, i);
    nw_kids_insert(st->p, in, before ? from++ : to, s);
    if (!before) to--, i--;
    s->step = st->p->step;
    nw_step_note(st, "%s now runs %s %s", nw_tree_what(s), before ? "before" : "after",
                 x->branch[before ? 0 : x->n - 1]->loop.var->name);
  }
}

// ---- independence

// True if no two of the nests depend on each other. The judge proves this by accepting a program in which the nests run
// in the opposite order.
static bool independent(fused *x, const nw_adjacent *at) {
  nw_step *st = x->st;
  nw_program *q = nw_program_clone(st->p);
  nw_path path;
  q->step = st->p->step;
  nw_find(q, x->branch[0]->id, &path);
  nw_stmt **kid = path.at[path.n - 2]->kid + at->pos;
  for (int i = 0; 2 * i + 1 < x->n; i++) {
    nw_stmt *one = kid[i];
    kid[i] = kid[x->n - 1 - i], kid[x->n - 1 - i] = one;
  }
  q = nw_program_freeze(q);
  if (!q) return false;
  bool ok = nw_judge(st->before, q);
  nw_refusal *r = ok ? NULL : nw_refusal_edit(st->ctx);
  if (r) r->why = nw_diag_printf(st->ctx, "the branches are not independent: in the opposite order, %s", r->why);
  if (r) nw_refusal_picture(st, q);
  if (ok)
    nw_program_release(q);
  else
    st->denied = q;
  return ok;
}

// ---- the loop

static const nw_expr *iterations(fused *x, const nw_stmt *loop) {
  nw_path path;
  nw_ranges r;
  nw_pool *pool = x->st->p->pool;
  const nw_expr *zero = nw_index(pool, 0), *n = loop->loop.extent;
  nw_find(x->st->p, loop->id, &path);
  path.n--;
  nw_ranges_of(&r, x->st->p, &path);
  if (!nw_prove(&r, nw_le(pool, zero, n))) n = nw_max(pool, n, zero);
  nw_ranges_free(&r);
  return n;
}

static const nw_expr *range_of(const fused *x, const nw_expr *f, int i) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *from = i ? nw_le(pool, x->lo[i], f) : NULL, *to = i + 1 < x->n ? nw_lt(pool, f, x->lo[i + 1]) : NULL;
  return to ? nw_and(pool, from, to) : from;
}

static nw_stmt *make_branch(fused *x, nw_stmt *f, int i) {
  nw_pool *pool = x->st->p->pool;
  nw_stmt *loop = x->branch[i], *guard = nw_new_stmt(x->st->p, NW_GUARD);
  const nw_expr *at = nw_add(pool, nw_sub(pool, f->loop.var, x->lo[i]), loop->loop.begin);
  guard->guard.cond = range_of(x, f->loop.var, i);
  for (int k = 0; k < loop->nkids; k++) nw_stmt_subst(x->st->p, loop->kid[k], loop->loop.var->name, at);
  nw_kids_set(x->st->p, guard, loop->nkids, loop->kid);
  return guard;
}

static const char *name_of(const fused *x) {
  const char *name = x->branch[0]->loop.var->name;
  for (int i = 1; i < x->n; i++) name = nw_arena_printf(x->st->scratch, "%s_or_%s", name, x->branch[i]->loop.var->name);
  return nw_unique_loop_name(x->st->p, name);
}

static nw_stmt *make_loop(fused *x, const nw_adjacent *at) {
  nw_pool *pool = x->st->p->pool;
  nw_stmt *part[MAX_BRANCHES];
  x->lo[0] = nw_index(pool, 0);
  for (int i = 0; i < x->n; i++) x->lo[i + 1] = nw_add(pool, x->lo[i], iterations(x, x->branch[i]));
  nw_stmt *f = nw_new_loop(x->st->p, name_of(x), x->lo[0], x->lo[x->n]);
  for (int i = 0; i < x->n; i++) part[i] = make_branch(x, f, i);
  nw_kids_set(x->st->p, f, x->n, part);
  for (int i = 0; i < x->n; i++) nw_kids_remove(x->st->p, at->in, at->pos);
  nw_kids_insert(x->st->p, at->in, at->pos, f);
  for (int i = 0; i < x->n; i++) nw_step_replaces(x->st, x->branch[i]->id, 1, &f, "fused");
  return f;
}

// ---- balance

static double rounds(const nw_stmt *loop) {
  int64_t n;
  return nw_is_int(loop->loop.extent, &n) ? (double)n : -1;
}

// Returns how many iterations of a branch one thread executes. The branch has the iterations lo .. lo + n - 1 of the
// fused loop, and the thread has the iterations in `share`.
static double part_of(nw_share share, double lo, double n) {
  int64_t from, to;
  double mine = 0;
  while (nw_share_next(&share, &from, &to)) {
    double first = (double)from > lo ? (double)from : lo, end = (double)to < lo + n ? (double)to : lo + n;
    if (end > first) mine += end - first;
  }
  return mine;
}

static void note_threads(fused *x, const double *n, const double *each, double work) {
  int threads = (int)x->st->p->target->machine.cores;
  double total = 0, most = 0;
  for (int i = 0; i < x->n; i++) total += n[i];
  for (int t = 0; t < threads; t++) {
    double mine = 0, lo = 0;
    for (int i = 0; i < x->n; lo += n[i++])
      mine += each[i] * part_of(nw_share_of((int64_t)total, 0, t, threads), lo, n[i]);
    if (mine > most) most = mine;
  }
  if (threads > 1 && most > 0)
    nw_step_note(
        x->st,
        "in parallel on %d threads, the busiest thread has %.0f %% of the work: %.0f %% of the thread time is idle",
        threads, 100 * most / work, 100 * (1 - work / (most * threads)));
}

static void note_balance(fused *x) {
  double n[MAX_BRANCHES], each[MAX_BRANCHES], work = 0;
  for (int i = 0; i < x->n; i++) {
    double all = nw_work_below(x->branch[i]);
    n[i] = rounds(x->branch[i]);
    if (n[i] < 0 || all < 0) {
      nw_step_note(x->st,
                   "balance: the numbers of iterations depend on sizes that are known only when the kernel is called");
      return;
    }
    each[i] = n[i] > 0 ? all / n[i] : 0;
    work += all;
  }
  for (int i = 0; i < x->n; i++)
    nw_step_note(x->st, "branch %s: %.0f iterations of %.0f operations, %.0f %% of the work",
                 x->branch[i]->loop.var->name, n[i], each[i], work > 0 ? 100 * n[i] * each[i] / work : 0);
  if (work > 0) note_threads(x, n, each, work);
}

// ---- the step

static bool read_branches(fused *x) {
  nw_step *st = x->st;
  const nw_arg *list = &st->resolved[0];
  if (list->n < 2 || list->n > MAX_BRANCHES) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "create_fused_loop: give 2 to %d loops", MAX_BRANCHES);
    return false;
  }
  for (x->n = 0; x->n < list->n; x->n++) {
    nw_stmt *loop = x->branch[x->n] = nw_step_loop_arg(st, &list->item[x->n], "loop", NULL);
    if (!loop) return false;
    if (loop->loop.mark != NW_SERIAL)
      return nw_step_refuse(st, "a mark applies to a whole loop: fuse first, then mark", loop, "%s is marked %s",
                            loop->loop.var->name, nw_loop_kind_name(loop->loop.mark));
  }
  return true;
}

bool nw_apply_create_fused_loop(void *step) {
  nw_step *st = step;
  nw_adjacent at;
  fused x = {.st = st};
  if (!read_branches(&x)) return false;
  clear_between(&x);
  if (!nw_adjoin_loops(st, x.n, x.branch, &at) || !independent(&x, &at)) return false;
  note_balance(&x);
  nw_step_returns_loop(st, make_loop(&x, &at));
  return true;
}
