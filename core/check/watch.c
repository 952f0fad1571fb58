// Watches a run. Records when the two executions of a witness access their element, and which values they read and
// write.
#include "check/replay.h"
#include <stdlib.h>

enum {
  MAX_ROUNDS = 64,
  MAX_FOCUSED = 20000,
  MAX_STEPS = 200000, // limit for a slice; a step of a slice is slow, since it tests which blocks may be wanted
};

static bool is_named(const nw_watch *x, const nw_access *a) {
  if (!x->w || !x->w->buffer || strcmp(x->w->buffer, a->buffer) || a->n != x->w->ndim) return false;
  for (int d = 0; d < a->n; d++)
    if (a->at[d] != x->w->index[d]) return false;
  return true;
}

// True if the access is to the element of the witness, or to an element that shares its location because of a layout.
static bool is_element(const nw_watch *x, const nw_access *a) {
  if (is_named(x, a)) return true;
  return x->room >= 0 && !a->outside && x->w && !strcmp(x->w->buffer, a->buffer) && a->room == x->room;
}

// Records the location of the element, and whether the last write to this location was of another element.
static void see_room(nw_watch *x, const nw_access *a, bool element) {
  bool named = is_named(x, a);
  if (named && !a->outside) x->room = a->room;
  if (element && a->write) x->foreign = !named;
}

static bool is_init(const nw_access *a) { return a->init || a->block->block.init_part; }

static bool same_instance(const nw_touch *t, const nw_access *a) {
  if (strcmp(t->block->block.origin, a->block->block.origin) || t->init != is_init(a)) return false;
  for (int i = 0; i < a->block->block.nvars; i++)
    for (int k = 0; k < t->nvars; k++)
      if (!strcmp(a->block->block.var[i].var->name, t->var[k]) && a->var[i] != t->at[k]) return false;
  return true;
}

static bool is_execution(const nw_watch *x, int who, const nw_access *a) {
  if (!x->w) return false;
  if (x->like) return x->like[who].is && same_instance(&x->like[who], a);
  const nw_execution *e = who == NW_SOURCE ? &x->w->source : &x->w->sink;
  return e->block && e->init == a->init && nw_slice_at(&x->slice, a->block, e);
}

const char *nw_element_name(nw_arena *arena, const char *buffer, int n, const int64_t *at) {
  nw_str s = {0};
  nw_check_put_element(&s, buffer, n, at);
  const char *name = nw_arena_strdup(arena, s.s);
  nw_str_free(&s);
  return name;
}

static nw_touch touch_of(nw_watch *x, const nw_access *a) {
  const nw_stmt *b = a->block;
  nw_touch t = {.is = true, .init = is_init(a), .unwritten = a->unwritten, .outside = a->outside};
  t.when = x->now;
  t.other = is_named(x, a) ? NULL : nw_element_name(x->slice.arena, a->buffer, a->n, a->at);
  t.foreign = !a->write && x->foreign && is_named(x, a);
  t.value = a->value;
  t.block = b;
  t.var = NW_NEW_N(x->slice.arena, const char *, b->block.nvars + 1);
  t.at = NW_NEW_N(x->slice.arena, int64_t, b->block.nvars + 1);
  for (int i = 0; i < b->block.nvars; i++) {
    if (t.init && b->block.var[i].kind == NW_REDUCE) continue;
    t.var[t.nvars] = b->block.var[i].var->name;
    t.at[t.nvars++] = a->var[i];
  }
  return t;
}

static bool is_update(const nw_access *a) { return a->write && !is_init(a) && a->block->block.combiner != NW_PLAIN; }

static void count_contribution(nw_watch *x, const nw_access *a) {
  uint64_t h = 1;
  for (int i = 0; i < a->block->block.nvars; i++)
    if (a->block->block.var[i].kind == NW_REDUCE) h = nw_hash_mix(h, (uint64_t)a->var[i]);
  nw_numbers_add(&x->contributed, h);
}

// Sets the number of contributions that each element of the buffer in conflict gets, even if none of them is executed.
static bool expect(void *env, nw_stmt *s) {
  nw_watch *x = env;
  if (s->kind != NW_BLOCK || s->block.init_part || s->block.combiner == NW_PLAIN) return true;
  if (!x->w || !x->w->buffer || !nw_block_writes(s, x->w->buffer)) return true;
  x->expected = 1;
  for (int i = 0; i < s->block.nvars; i++)
    if (s->block.var[i].kind == NW_REDUCE)
      x->expected *= (double)nw_check_value(x->p, s->block.var[i].extent, x->slice.sizes);
  return true;
}

static bool beyond_domain(const nw_watch *x, const nw_access *a) {
  for (int i = 0; i < a->block->block.nvars; i++) {
    const nw_block_var *v = &a->block->block.var[i];
    int64_t at = a->var[i] - nw_check_value(x->p, v->lo, x->slice.sizes);
    if (at < 0 || at >= nw_check_value(x->p, v->extent, x->slice.sizes)) return true;
  }
  return false;
}

static void see_execution(nw_watch *x, int who, const nw_access *a, bool element) {
  if (!is_execution(x, who, a)) return;
  if (who == NW_SINK && beyond_domain(x, a)) x->beyond = true;
  if (x->w->buffer && !(who == NW_SOURCE ? is_named(x, a) : element)) return;
  nw_touch *t = &x->touch[who][a->write];
  if (t->is) return;
  *t = touch_of(x, a);
  if (who == NW_SINK && !a->write) x->contributions = x->contributed.n;
}

static void see(void *env, const nw_access *a) {
  nw_watch *x = env;
  bool element = is_element(x, a);
  x->now++;
  see_execution(x, NW_SOURCE, a, element);
  see_execution(x, NW_SINK, a, element);
  see_room(x, a, element);
  if (element) x->written |= a->write, x->unwritten |= a->unwritten;
  if (element && is_update(a)) count_contribution(x, a);
  if (x->needs && !a->write && !a->outside) x->grown |= nw_slice_focus(&x->slice, a->buffer, a->n, a->at);
}

static bool enters(void *env, const nw_stmt *loop, int64_t lo, int64_t hi) {
  return nw_slice_enters(&((nw_watch *)env)->slice, loop, lo, hi);
}

static bool runs(void *env, const nw_stmt *block) { return nw_slice_runs(&((nw_watch *)env)->slice, block); }

static bool runs_backwards(void *env, const nw_stmt *loop) {
  const nw_watch *x = env;
  return x->race == NW_BACKWARDS && !strcmp(x->w->loop, loop->loop.var->name);
}

// True if a write has no effect in this interleaving. Either the other write overwrites the value, or a later read does
// not see the value, or the write repeats an initialization.
static bool is_lost(void *env, const nw_access *a) {
  nw_watch *x = env;
  if (x->race == NW_IN_ORDER || x->race == NW_BACKWARDS || !is_element(x, a)) return false;
  if (x->race == NW_UNSEEN) return !x->touch[NW_SINK][false].is;
  if (x->race == NW_EARLY_INIT) return is_init(a) && x->touch[NW_SOURCE][true].is;
  return is_execution(x, x->race == NW_FIRST_STAYS ? NW_SINK : NW_SOURCE, a);
}

void nw_watch_init(nw_watch *x, const nw_program *p, const nw_conflict *w, nw_check_data *data) {
  *x = (nw_watch){.c = p->ctx, .p = p, .w = w, .data = data, .known_room = -1};
}

void nw_watch_free(nw_watch *x) {
  nw_slice_free(&x->slice);
  nw_numbers_free(&x->contributed);
}

static bool run_once(nw_watch *x) {
  nw_interp_opts o = {.trace = see,
                      .env = x,
                      .max_steps = x->slice.whole ? NW_CASE_STEPS : MAX_STEPS,
                      .enters = enters,
                      .runs = runs,
                      .backwards = runs_backwards,
                      .drop = is_lost,
                      .lenient = true};
  memset(x->touch, 0, sizeof x->touch);
  x->now = x->contributions = 0;
  nw_numbers_free(&x->contributed);
  x->written = x->unwritten = x->beyond = x->grown = x->foreign = false;
  x->room = x->known_room;
  nw_view *v = nw_check_views(x->data);
  bool ok = nw_interp_program(x->c, x->p, x->slice.sizes, v, &o);
  free(v);
  if (!x->touch[NW_SINK][0].is) x->contributions = x->contributed.n;
  return ok;
}

bool nw_watch_run(nw_watch *x) {
  nw_walk_from(x->p->root, expect, x);
  for (int round = 0; round < MAX_ROUNDS && nw_slice_focused(&x->slice) < MAX_FOCUSED; round++) {
    if (!run_once(x)) return false;
    if (!x->grown) return true;
  }
  return false;
}
