// If the factor of a split does not divide the extent, the option `tail` chooses how the remaining iterations run:
//   guard      a guard skips the iterations beyond the end
//   cut        the main part has no guards, and a separate nest runs the remaining iterations
//   shift      the last iteration begins earlier and repeats some work; the judge checks that no value changes
//   pad        a temporary is computed beyond its end (pad.c)
//   predicate  the inner loop runs as vectors, and masks of its loads and stores replace the guard
#include "sched/empty.h"
#include "sched/shape.h"
#include "sched/tree.h"
#include <stdlib.h>

nw_tail nw_tail_of(const char *name) {
  static const char *const names[] = {"guard", "cut", "shift", "pad", "predicate"};
  int i = NW_COUNT(names) - 1;
  while (i > 0 && strcmp(names[i], name)) i--;
  return (nw_tail)i;
}

void nw_guard_below(nw_step *st, nw_stmt *s, const nw_expr *cond) {
  nw_blocks b = nw_blocks_below(st->scratch, s);
  for (int i = 0; i < b.n; i++) nw_block_guard(st->p, b.at[i], cond);
}

bool nw_close_tail(nw_step *st, nw_tail tail, const nw_pieces *x, const nw_expr *at, const nw_expr *extent) {
  if (tail == NW_TAIL_SHIFT) return true;
  if (tail == NW_TAIL_PAD) return nw_pad_below(st, x);
  nw_guard_below(st, x->loop[x->n - 1], nw_lt(st->p->pool, at, extent));
  return true;
}

// ---- notes about the cost

// These texts describe the excess iterations, and the last block of iterations, for each kind of tail.
static const char *const too_many[] = {"guarded away", "cut off", "done twice", "beyond the end", "masked away"};
static const char *const last_round[] = {"is guarded", "is cut off", "begins earlier", "extends beyond the end",
                                         "is masked"};

// Adds a note that says how many iterations are in excess if `rounds` blocks of `factor` iterations handle n
// iterations. With `parts`, some blocks may be empty.
static void note_rounds(nw_step *st, int64_t n, int64_t factor, int64_t rounds, nw_tail tail) {
  int64_t busy = (n + factor - 1) / factor, all = rounds * factor;
  if (busy < rounds)
    nw_step_note(st,
                 "%lld blocks of %lld for %lld iterations: only %lld blocks have work; %lld of %lld iterations are %s",
                 (long long)rounds, (long long)factor, (long long)n, (long long)busy, (long long)(all - n),
                 (long long)all, too_many[tail]);
  else
    nw_step_note(st, "%lld does not divide %lld: %lld of %lld iterations are %s", (long long)factor, (long long)n,
                 (long long)(all - n), (long long)all, too_many[tail]);
}

void nw_note_tail(nw_step *st, const nw_stmt *loop, const nw_expr *by, nw_tail tail, const nw_pieces *x) {
  int64_t n, factor, rounds;
  const char *name = loop->loop.var->name;
  if (x->divides) nw_step_note(st, "%s divides evenly: no tail", name);
  if (x->tail && (nw_is_const(by, 0) || nw_is_const(x->loop[0]->loop.extent, 0)))
    nw_step_note(st, "all of %s is the tail: the loop has fewer iterations than one block", name);
  if (x->divides || x->tail || !nw_is_int(by, &factor)) return;
  if (x->aligned)
    nw_step_note(st, "the first value of %s varies: the loop is cut at multiples of %lld, and both ends are %s", name,
                 (long long)factor, tail == NW_TAIL_PREDICATE ? "masked" : "guarded");
  else if (nw_is_int(loop->loop.extent, &n) && nw_is_int(x->loop[0]->loop.extent, &rounds))
    note_rounds(st, n, factor, rounds, tail);
  else
    nw_step_note(st, "%lld is not known to divide the extent of %s: the last iteration %s", (long long)factor, name,
                 last_round[tail]);
}

// ---- cut

static nw_stmt *loop_in_copy(const nw_stmt *whole, const nw_stmt *loop, nw_stmt *copy) {
  while (whole != loop) whole = whole->kid[0], copy = copy->kid[0];
  return copy;
}

static const nw_expr *main_part(nw_pool *pool, const nw_expr *extent, const nw_expr *factor, const nw_expr *rounds) {
  return nw_mul(pool, rounds ? rounds : nw_floordiv(pool, extent, factor), factor);
}

// Each statement around `loop`, from `whole` inwards, must contain exactly one statement. If a reduction is cut, both
// parts keep the init, which runs only in the part that has the first reduce instance. The bounds of the tail are taken
// from the copy of the loop, so that they use the other loops of the copy.
nw_stmt *nw_cut_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *factor, const nw_expr *rounds) {
  nw_pool *pool = st->p->pool;
  nw_path at;
  nw_find(st->p, whole->id, &at);
  nw_stmt *copy = nw_copy_stmt_as(st->p, whole, nw_arena_printf(st->scratch, "%s.tail", loop->loop.var->name));
  nw_stmt *rest = loop_in_copy(whole, loop, copy);
  const nw_expr *extent = rest->loop.extent, *main = main_part(pool, extent, factor, rounds);
  rest->loop.begin = nw_add(pool, rest->loop.begin, main);
  rest->loop.extent = rounds ? nw_sub(pool, extent, main) : nw_floormod(pool, extent, factor);
  rest->loop.nfused = 0;
  loop->loop.extent = main_part(pool, loop->loop.extent, factor, rounds);
  loop->loop.nfused = 0;
  nw_kids_insert(st->p, at.at[at.n - 2], at.pos[at.n - 1] + 1, copy);
  return rest;
}

bool nw_all_tail(nw_step *st, const nw_stmt *loop, const nw_expr *block) {
  nw_path path;
  nw_ranges r;
  nw_find(st->p, loop->id, &path);
  nw_ranges_around(&r, st->p, &path);
  bool all = nw_prove(&r, nw_lt(st->p->pool, loop->loop.extent, block));
  nw_ranges_free(&r);
  return all;
}

typedef struct leaving {
  nw_step *st;
  int n;
  nw_stmt *const *split;
} leaving;

static bool leave(void *env, nw_stmt *s) {
  const leaving *x = env;
  bool split = false;
  for (int i = 0; i < x->n; i++) split |= x->split[i] == s;
  if (s->kind == NW_LOOP && !split) nw_empty_named(x->st, s->id, s->loop.var->name);
  return true;
}

void nw_leave_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *block, int n, nw_stmt *const *split) {
  int id[NW_MAX_FACTORS];
  char *by = nw_expr_show(block);
  nw_step_note(st, "%s has no full block of %s: all of it is the tail", loop->loop.var->name, by);
  free(by);
  for (int i = 0; i < n; i++) id[i] = split[i]->id;
  nw_walk_from(whole, leave, &(leaving){st, n, split});
  nw_rename_as(st->p, whole, nw_arena_printf(st->scratch, "%s.tail", loop->loop.var->name));
  for (int i = 0; i < n; i++) nw_step_replaces(st, id[i], 1, &split[i], "split");
}
