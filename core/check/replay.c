// Tests whether the refused program really has the conflict that a refusal names.
//
// The *witness* of a refusal is one or two executions that access an element. The interpreter runs these executions,
// and all other executions that write the element. The run confirms the conflict if it shows one of the following:
//
//  * the two executions are in the wrong order
//  * the two executions are in different iterations of a marked loop, such as a parallel loop, and one of them writes
//  * an access is out of bounds
//  * an element is read before it is written
//  * a reduction is read before it is complete
//  * one instance is executed twice
//  * the storage holds the value of another element
//  * threads race, or their result is wrong
//  * an execution is outside the declared domain
//
// A refusal without a witness is confirmed if a result of the program is wrong, or if its threads race.
#include "check/replay.h"
#include <stdlib.h>

// ---- the case

enum { LOOK_UP = 1 << 20 }; // number of elements between checks for an interrupt

static bool goes_on(const nw_program *p, int64_t k) { return k % LOOK_UP || !nw_stopped(p->ctx); }

// Fills the inputs with small non-zero integers. With zeros, a wrong order might not change the results.
static void fill_tiny(nw_check_data *d, const nw_program *p, int seed) {
  for (int i = 0; i < nw_check_inputs(p); i++) {
    nw_array *a = d->array[i];
    bool flag = nw_array_dtype(a) == NW_BOOL;
    uint64_t of = (uint64_t)(i + 1 + seed * 64);
    for (int64_t k = 0; k < nw_array_count(a) && goes_on(p, k); k++)
      nw_array_set(a, k, flag ? (double)((k + seed) % 2) : (double)(1 + (int64_t)(nw_hash_mix(of, (uint64_t)k) % 5)));
  }
}

// Chooses a shape for a refusal without a witness. Takes the last shape of a check, since the first shapes are special
// cases. Returns false if there is no shape.
static bool some_shape(nw_replay_case *x) {
  int64_t *row[NW_CHECK_SHAPES];
  int n = nw_check_shapes(nw_sched_version(x->s, 0), x->r->before, NW_CHECK_SHAPES, row);
  for (int i = 0; n && i < x->r->before->nsizes; i++) x->sizes[i] = row[n - 1][i];
  for (int i = 0; i < n; i++) free(row[i]);
  return n > 0;
}

// True if the refusal is about a conflict that a run can show. A refusal because of structure, capacity, or lack of a
// proof is not about such a conflict.
static bool can_be_seen(const nw_refused *r) {
  nw_refusal_kind k = r->refusal.kind;
  return r->after && k != NW_REFUSE_STRUCTURE && k != NW_REFUSE_CAPACITY && k != NW_REFUSE_UNDECIDED;
}

// Sets all elements of all integer inputs to `index`, since the program may use these inputs as indices.
static void fill_indices(nw_check_data *d, const nw_program *p, int64_t index) {
  for (int i = 0; i < nw_check_inputs(p); i++) {
    nw_array *a = d->array[i];
    if (!nw_dtype_is_int(nw_array_dtype(a))) continue;
    for (int64_t k = 0; k < nw_array_count(a) && goes_on(p, k); k++) nw_array_set_int(a, k, index);
  }
}

void nw_case_fill(nw_replay_case *x, int seed) {
  fill_tiny(&x->data, x->r->before, seed);
  if (x->index_dim >= 0) fill_indices(&x->data, x->r->before, x->w->index[x->index_dim]);
}

bool nw_case_open(nw_replay_case *x, nw_ctx *c, nw_sched *s) {
  *x = (nw_replay_case){.c = c, .s = s, .r = s->refused, .index_dim = -1};
  if (!x->r)
    return nw_fail(c, NW_EINVAL, "only a refused step can be explained, and only directly after its refusal",
                   "nothing was refused");
  if (x->r->slip)
    return nw_fail(c, NW_EINVAL, x->r->hint, "the last step was refused because of its arguments: %s", x->r->slip);
  x->w = x->r->refusal.conflict;
  x->name = x->r->refusal.element;
  const nw_program *p = x->r->before;
  x->sizes = nw_xcalloc((size_t)p->nsizes + 1, sizeof *x->sizes);
  for (int i = 0; x->w && i < p->nsizes; i++) x->sizes[i] = x->w->size[i];
  x->runs = can_be_seen(x->r) && (x->w || some_shape(x));
  if (!x->runs) return true;
  if (!nw_check_data_make(&x->data, p, x->sizes, 1)) return false;
  nw_case_fill(x, 0);
  return true;
}

void nw_case_close(nw_replay_case *x) {
  nw_check_data_free(&x->data);
  free(x->sizes);
  free(x->element);
}

// Copies the data of `t` that the text needs, since the watch that owns them is freed before the text is written.
nw_touch nw_case_keep(const nw_replay_case *x, const nw_touch *t) {
  nw_touch to = *t;
  to.other = t->other ? nw_arena_strdup(x->r->arena, t->other) : NULL;
  to.var = NW_NEW_N(x->r->arena, const char *, t->nvars + 1);
  to.at = NW_NEW_N(x->r->arena, int64_t, t->nvars + 1);
  for (int i = 0; i < t->nvars; i++) to.var[i] = t->var[i], to.at[i] = t->at[i];
  return to;
}

static void want_both(nw_watch *x) {
  if (x->w->source.block) nw_slice_want(&x->slice, (nw_wanted){.by_loops = &x->w->source});
  if (x->w->sink.block) nw_slice_want(&x->slice, (nw_wanted){.by_loops = &x->w->sink});
}

static void want_like(nw_watch *x, const nw_touch *t) {
  if (t->is)
    nw_slice_want(&x->slice, (nw_wanted){.origin = t->block->block.origin, .n = t->nvars, .var = t->var, .at = t->at});
}

static void open_watch(nw_replay_case *x, nw_watch *v, const nw_program *p) {
  nw_watch_init(v, p, x->w, &x->data);
  nw_slice_init(&v->slice, p, x->sizes);
}

// ---- the two accesses

static const nw_touch *accessed(const nw_watch *v, int who) {
  return &v->touch[who][who == NW_SOURCE ? v->w->source.write : v->w->sink.write];
}

static bool keep_both(const nw_replay_case *x, nw_watch *v, nw_touch out[2]) {
  bool ran = nw_watch_run(v);
  for (int who = 0; ran && who < 2; who++) out[who] = nw_case_keep(x, accessed(v, who));
  nw_watch_free(v);
  return ran && out[0].is && out[1].is;
}

// Returns the buffer whose updates need not run, except those of the two executions in conflict. This is the buffer of
// the conflict if a marked loop carries the conflict, or if both executions write. Otherwise returns NULL.
static const char *other_updates(const nw_replay_case *x) {
  return x->w->loop || (x->w->source.write && x->w->sink.write) ? x->w->buffer : NULL;
}

// Runs the two instances of x->after in the program before the step. For `needs`, see nw_watch.
static bool meet_before(nw_replay_case *x, bool needs) {
  nw_watch v;
  open_watch(x, &v, x->r->before);
  v.like = x->after;
  v.needs = needs;
  v.slice.inits_of = other_updates(x);
  want_like(&v, &x->after[NW_SOURCE]);
  want_like(&v, &x->after[NW_SINK]);
  nw_touch both[2] = {{0}};
  bool met = keep_both(x, &v, both);
  if (met) memcpy(x->before, both, sizeof both);
  return met;
}

// Runs the two executions of the witness in the refused program. If no marked loop carries the conflict, also runs all
// other executions that write the element.
static bool meet_after(nw_replay_case *x, bool needs) {
  nw_watch v;
  open_watch(x, &v, x->r->after);
  v.needs = needs;
  v.slice.inits_of = other_updates(x);
  want_both(&v);
  if (x->w->buffer && !x->w->loop) nw_slice_focus(&v.slice, x->w->buffer, x->w->ndim, x->w->index);
  nw_touch both[2] = {{0}};
  bool met = keep_both(x, &v, both);
  if (met) memcpy(x->after, both, sizeof both);
  return met;
}

static bool was_first(nw_replay_case *x) { return meet_before(x, false) && x->before[0].when < x->before[1].when; }

static bool same_vars(const nw_touch *a, const nw_touch *b) {
  if (a->nvars != b->nvars || strcmp(a->block->block.origin, b->block->block.origin)) return false;
  for (int i = 0; i < a->nvars; i++)
    if (a->at[i] != b->at[i]) return false;
  return true;
}

static const char *how_pair(nw_replay_case *x) {
  const nw_touch *a = &x->after[NW_SOURCE], *b = &x->after[NW_SINK];
  bool updates = a->block->block.combiner != NW_PLAIN || a->init;
  if (!x->w->source.write && !x->w->sink.write) return NULL;
  if (x->w->loop) return nw_in_two_rounds(x->w) ? "iterations" : NULL;
  if (b->when < a->when && a->foreign) return "place";
  if (b->when < a->when && (was_first(x) || b->unwritten || updates)) return "order";
  return x->w->source.write && x->w->sink.write && same_vars(a, b) ? "twice" : NULL;
}

// True if the lowered program gives the same results as the program before the step. Then its barriers separate the
// accesses in conflict, but the accesses may be in another order than before.
static bool still_right(nw_replay_case *x, const nw_check_data *out) {
  nw_check_data was = {0};
  nw_view *v = nw_check_data_outputs(&was, x->r->before, &x->data) ? nw_check_views(&was) : NULL;
  bool same = v && nw_interp_program(x->c, x->r->before, x->sizes, v, &(nw_interp_opts){.max_steps = NW_CASE_STEPS});
  for (int i = 0; same && i < was.n; i++) same = nw_check_differs(was.array[i], out->array[i], NW_CHECK_BITS) < 0;
  nw_check_data_free(&was);
  free(v);
  return same;
}

// For a conflict between the blocks or threads of a grid, runs the lowered program with its barriers. Returns "race" if
// there is a race, a read of an element that was not written or is outside its buffer, or a wrong result. Otherwise
// returns NULL.
static const char *how_race(nw_replay_case *x) {
  nw_check_data out = {0};
  nw_check_data packed = {0};
  nw_exec *e = nw_lower(x->r->after, NULL);
  bool made =
      e && nw_check_data_outputs(&out, x->r->after, &x->data) && nw_check_pack(&packed, x->r->after, x->sizes, &out);
  nw_view *v = made ? nw_check_views(&packed) : NULL;
  bool ran = v && nw_interp_exec(x->c, e, x->sizes, v, &(nw_interp_opts){.max_steps = NW_CASE_STEPS}) &&
             nw_check_unpack(&out, x->r->after, x->sizes, &packed);
  bool right = ran && still_right(x, &out);
  const nw_diag *d = nw_error(x->c);
  bool seen = d ? d->code == NW_ERACE || d->code == NW_ERANGE : ran && !right;
  x->ordered = right;
  if (d && d->code == NW_ERACE) x->told = nw_arena_strdup(x->r->arena, d->message);
  if (!x->c->interrupted) nw_clear(x->c);
  nw_check_data_free(&packed);
  nw_check_data_free(&out);
  nw_exec_release(e);
  free(v);
  return seen ? "race" : NULL;
}

// Returns the kind of conflict between threads, or NULL. If both threads write the same value for all inputs, their
// order has no visible effect. Then the conflict counts as shown if two threads access the element and at least one of
// them writes it.
static const char *how_threads(nw_replay_case *x) {
  const char *how = how_race(x);
  for (int i = 1; x->ordered && i < NW_CASE_FILLINGS; i++) {
    nw_case_fill(x, i);
    how = how_race(x);
  }
  if (x->ordered) nw_case_fill(x, 0);
  bool write = x->w->source.write || x->w->sink.write;
  return !how && write && nw_in_two_rounds(x->w) ? "iterations" : how;
}

// Finds the kind of conflict of two executions. Then runs the executions again, with everything that they read, so that
// the values are right. If two elements share storage only after the step, the program before the step is not run,
// since it has no conflict to show.
static const char *look_at_pair(nw_replay_case *x) {
  const char *how = !meet_after(x, false) ? NULL : x->on_grid ? how_threads(x) : how_pair(x);
  bool copies = x->after[NW_SOURCE].is && x->after[NW_SOURCE].block->block.async;
  if (!how && copies) return how_race(x); // only the lowered program has waits
  if (how && !x->w->loop && meet_after(x, true) && strcmp(how, "place")) meet_before(x, true);
  return how;
}

// ---- one access, or one element

static const char *how_one(const nw_replay_case *x, const nw_watch *v) {
  bool sink = x->w->sink.block != NULL;
  const nw_touch *t = accessed(v, NW_SINK);
  if (v->beyond) return "domain";
  if (sink && x->w->buffer && !t->is) return NULL;
  if (t->outside) return "outside";
  if (v->unwritten || (!sink && !v->written)) return "unwritten";
  bool told = v->contributions || x->r->refusal.kind == NW_REFUSE_VALUE;
  return told && (double)v->contributions < v->expected ? "incomplete" : NULL;
}

static const char *look_at_one(nw_replay_case *x) {
  nw_watch v;
  open_watch(x, &v, x->r->after);
  want_both(&v);
  if (x->w->buffer) nw_slice_focus(&v.slice, x->w->buffer, x->w->ndim, x->w->index);
  const char *how = nw_watch_run(&v) ? how_one(x, &v) : NULL;
  if (how) x->after[NW_SINK] = nw_case_keep(x, accessed(&v, NW_SINK));
  nw_watch_free(&v);
  return how;
}

static void note_workers(nw_replay_case *x) {
  const nw_stmt *l = x->w && x->w->loop ? nw_find_loop(x->r->after, x->w->loop) : NULL;
  x->on_grid = l && nw_grid_dim(l) >= 0;
  x->worker = "thread";
  if (l && nw_is_vector_loop(l)) x->worker = "lane";
  if (l && nw_is_vthread_loop(l)) x->worker = "virtual thread";
  if (l && nw_is_block_loop(l)) x->worker = "block";
}

// Looks for the conflict. If an index is read from data, the element of the witness is accessed only for some data. So
// all integer inputs, which may be indices, are set to one coordinate of this element. The coordinates are tried in
// turn.
static void look(nw_replay_case *x, bool pair) {
  if (!x->w) return;
  x->how = pair ? look_at_pair(x) : look_at_one(x);
  for (int d = 0; !x->how && x->w->buffer && d < x->w->ndim; d++) {
    x->index_dim = d;
    nw_case_fill(x, 0);
    x->how = pair ? look_at_pair(x) : look_at_one(x);
  }
}

// True if the refusal is about the order of two accesses, but has no witness. Such refusals are made where threads share
// a reduction, because the statements that combine partial results are not part of the user's program.
static bool is_untold_pair(const nw_replay_case *x) {
  nw_refusal_kind k = x->r->refusal.kind;
  return !x->w && (k == NW_REFUSE_RAW || k == NW_REFUSE_WAR || k == NW_REFUSE_WAW || k == NW_REFUSE_REDUCTION);
}

// True if an execution of the witness is an init. If the loops run none of the reduction, only the lowered program shows
// whether its init runs in an iteration without updates.
static bool has_init(const nw_replay_case *x) { return x->w && (x->w->source.init || x->w->sink.init); }

void nw_case_look(nw_replay_case *x) {
  if (!x->runs) return;
  note_workers(x);
  bool pair = x->w && x->w->source.block;
  look(x, pair);
  if (!x->how && pair && x->w->loop && has_init(x)) x->how = how_race(x);
  if (pair && x->w->loop) x->race = nw_case_race(x);
  if (pair && x->how && x->w->loop) nw_case_meet(x);
  bool wrong = nw_case_wrong_output(x);
  if (!x->w && wrong) x->how = "value";
  if (!x->how && is_untold_pair(x)) x->how = how_race(x);
}
