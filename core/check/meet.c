// Runs only the two iterations of a marked loop that are in conflict, in an order that the mark permits. Repeats the
// run until a wrong value shows the conflict.
//
// An interleaving may give the right value by chance. In this case, other interleavings are tried, and then other data.
// Finally, the same two iterations are tried with the other loops at their middle iteration, far from borders.
#include "check/replay.h"
#include <math.h>

static bool updates(const nw_replay_case *x) {
  return x->after[0].is && x->after[0].block->block.combiner != NW_PLAIN && !x->after[0].init && !x->after[1].init &&
         x->w->source.write && x->w->sink.write;
}

bool nw_in_two_rounds(const nw_conflict *w) {
  int n = w->source.n < w->sink.n ? w->source.n : w->sink.n;
  for (int i = 0; i < n; i++) {
    if (strcmp(w->source.loop[i], w->sink.loop[i])) return false;
    if (!strcmp(w->source.loop[i], w->loop)) return w->source.at[i] != w->sink.at[i];
    if (w->source.at[i] != w->sink.at[i]) return false;
  }
  return false;
}

// Returns the first interleaving to try. Two threads of a grid need not be iterations of the same loop. If they are
// not, no loop can run backwards. Then the result is NW_UNSEEN if the first thread writes and the second thread reads.
nw_race nw_case_race(const nw_replay_case *x) {
  if (x->ordered) return NW_BACKWARDS;
  if (updates(x)) return NW_SECOND_STAYS;
  bool apart = x->on_grid && !nw_in_two_rounds(x->w);
  return apart && x->w->source.write && !x->w->sink.write ? NW_UNSEEN : NW_BACKWARDS;
}

// Returns the interleaving that is actually run. NW_FIRST_STAYS is run as NW_SECOND_STAYS. If both iterations read
// before they write, the order of the writes does not affect the written values.
static nw_race run_as(nw_race race) { return race == NW_FIRST_STAYS ? NW_SECOND_STAYS : race; }

// Runs the two iterations. Stores the location of the element in *room, so that the next run knows from its start which
// other elements share this location. Returns false if the run fails, or if an iteration does not access the element.
static bool run_pair(nw_replay_case *x, nw_race race, int64_t *room, nw_touch out[2][2]) {
  nw_watch v;
  nw_watch_init(&v, x->r->after, x->w, &x->data);
  nw_slice_init(&v.slice, x->r->after, x->sizes);
  v.needs = true;
  v.race = run_as(race);
  v.known_room = *room;
  v.slice.inits_of = x->race == NW_UNSEEN ? NULL : x->w->buffer; // a reader needs the result of all updates
  nw_slice_want(&v.slice, (nw_wanted){.by_loops = &x->w->source});
  nw_slice_want(&v.slice, (nw_wanted){.by_loops = &x->w->sink});
  bool ran = nw_watch_run(&v);
  for (int i = 0; ran && i < 4; i++) out[i / 2][i % 2] = nw_case_keep(x, &v.touch[i / 2][i % 2]);
  *room = v.room;
  nw_watch_free(&v);
  return ran && out[0][x->w->source.write].is && out[1][x->w->sink.write].is;
}

// ---- visible effects

long double nw_case_final(const nw_replay_case *x, const nw_touch t[2][2], nw_race race) {
  bool source = !x->w->sink.write || (x->w->source.write && (race == NW_FIRST_STAYS || race == NW_BACKWARDS));
  return t[!source][1].value;
}

static bool same_value(long double a, long double b) { return a == b || (isnan(a) && isnan(b)); }

static bool same_touch(const nw_touch *a, const nw_touch *b) {
  return same_value(a->value, b->value) && a->unwritten == b->unwritten && a->outside == b->outside &&
         a->foreign == b->foreign;
}

// True if the run in order and the interleaved run differ. If both iterations write, compares the final values.
// Otherwise compares the values that are read.
static bool shows(nw_replay_case *x) {
  bool both = x->w->source.write && x->w->sink.write;
  int reader = x->w->source.write ? NW_SINK : NW_SOURCE;
  if (!both) return !same_touch(&x->pair[reader][0], &x->raced[reader][0]);
  return !same_value(nw_case_final(x, x->pair, NW_IN_ORDER), nw_case_final(x, x->raced, x->race));
}

static bool meets(nw_replay_case *x, nw_race race) {
  int64_t room = -1;
  x->race = race;
  x->paired = run_pair(x, NW_IN_ORDER, &room, x->pair) && run_pair(x, race, &room, x->raced);
  return x->paired && shows(x);
}

static bool meets_somehow(nw_replay_case *x) {
  if (!updates(x) || x->ordered) return meets(x, nw_case_race(x));
  return meets(x, NW_SECOND_STAYS) || meets(x, NW_FIRST_STAYS) || meets(x, NW_EARLY_INIT);
}

static bool meets_with_some_data(nw_replay_case *x) {
  for (int i = 0; i < NW_CASE_FILLINGS; i++) {
    if (i) nw_case_fill(x, i);
    if (meets_somehow(x)) return true;
    if (!x->paired) return false;
  }
  return false;
}

// ---- other iterations

static int64_t value_at(const nw_replay_case *x, const nw_execution *at, int loops, const nw_expr *e) {
  const nw_program *p = x->r->after;
  for (int i = 0; i < loops; i++) e = nw_subst(p->pool, e, at->loop[i], nw_index(p->pool, at->at[i]));
  return nw_check_value(p, e, x->sizes);
}

static int64_t middle(const nw_replay_case *x, const nw_execution *at, int loop) {
  const nw_stmt *l = nw_find_loop(x->r->after, at->loop[loop]);
  return value_at(x, at, loop, l->loop.begin) + value_at(x, at, loop, l->loop.extent) / 2;
}

// Moves two executions away from borders. Each loop that has the same value in both executions, and is not a reduce
// loop, is set to the middle of its range.
static void move_inside(const nw_replay_case *x, const nw_stmt *block, nw_execution *a, nw_execution *b) {
  a->at = memcpy(NW_NEW_N(x->r->arena, int64_t, a->n + 1), a->at, sizeof *a->at * (size_t)a->n);
  b->at = memcpy(NW_NEW_N(x->r->arena, int64_t, b->n + 1), b->at, sizeof *b->at * (size_t)b->n);
  for (int i = 0; i < a->n && i < b->n && !strcmp(a->loop[i], b->loop[i]); i++)
    if (a->at[i] == b->at[i] && !nw_binds_reduce(block, a->loop[i])) a->at[i] = b->at[i] = middle(x, a, i);
}

static const nw_block_target *target_of(const nw_replay_case *x, const nw_stmt *block) {
  for (int i = 0; x->w->buffer && i < block->block.ntargets; i++)
    if (!strcmp(block->block.target[i].buffer, x->w->buffer)) return &block->block.target[i];
  return NULL;
}

static const nw_conflict *inner_witness(const nw_replay_case *x) {
  nw_conflict *w = NW_NEW(x->r->arena, nw_conflict);
  const nw_stmt *block = nw_find_block(x->r->after, x->w->source.block);
  const nw_block_target *t = target_of(x, block);
  if (!t) return NULL;
  *w = *x->w;
  move_inside(x, block, &w->source, &w->sink);
  w->index = NW_NEW_N(x->r->arena, int64_t, t->n + 1);
  for (int d = 0; d < t->n; d++)
    w->index[d] = value_at(x, &w->source, w->source.n, nw_block_bound(x->r->after, block, t->index[d]));
  return w;
}

static bool meets_inside(nw_replay_case *x) {
  const nw_conflict *own = x->w, *inner = updates(x) && nw_in_two_rounds(x->w) ? inner_witness(x) : NULL;
  if (!inner) return false;
  x->w = inner;
  x->moved = meets_with_some_data(x);
  if (x->moved) x->name = nw_element_name(x->r->arena, inner->buffer, inner->ndim, inner->index);
  if (!x->moved) x->w = own;
  return x->moved;
}

// Tries cases until one of them shows a wrong value. If no case shows one, uses the case of the witness.
void nw_case_meet(nw_replay_case *x) {
  if (!nw_in_two_rounds(x->w) && x->race == NW_BACKWARDS) return;
  x->shows = meets_with_some_data(x) || meets_inside(x);
  if (x->shows) return;
  nw_case_fill(x, 0);
  meets(x, nw_case_race(x));
}
