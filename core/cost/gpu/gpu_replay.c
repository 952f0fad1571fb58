// Replays the schedule of the blocks of a grid, if they do not take equally long. docs/gpu_model.md explains the model.
//
// Blocks are started in the order of their numbers, each on the multiprocessor that has room first. How fast a block is
// depends on the blocks beside it. For each mixture of blocks, the mean value analysis of a closed network gives this
// speed. The number of mixtures must be small, so kinds of blocks with similar times are combined to a few sorts.
#include "cost/gpu/gpu_replay.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>

enum { SORTS = 3, MOST_MIXTURES = 1 << 19 };

typedef struct sort {
  double work[NW_GPU_UNITS], chain, blocks; // means over the jobs of this sort
  int most, stride; // most jobs at the same time; distance in `queue` to the mixture with one more job
} sort;

typedef struct network {
  const nw_grid_blocks *g;
  int nsorts, most; // most: jobs of all sorts at the same time
  sort sort[SORTS];
  int *of; // the sort of each kind
  double (*queue)[NW_GPU_UNITS]; // for each mixture of jobs, the mean number of jobs at each unit
} network;

// ---- sorts

static double alone(const nw_block_kind *k) {
  double most = 0;
  for (int i = 0; i < NW_GPU_UNITS; i++) most = fmax(most, k->work[i]);
  return most + k->chain;
}

// Returns the number of kinds that take less time, if they are alone.
static int shorter(const nw_grid_blocks *g, double time) {
  int n = 0;
  for (int i = 0; i < g->nkinds; i++) n += alone(&g->kind[i]) < time;
  return n;
}

static void add_to_sort(sort *to, const nw_block_kind *k, int resident) {
  double jobs = k->blocks * k->jobs, all = to->blocks + jobs, share = all > 0 ? jobs / all : 0;
  for (int i = 0; i < NW_GPU_UNITS; i++) to->work[i] += share * (k->work[i] / k->jobs - to->work[i]);
  to->chain += share * (k->chain - to->chain);
  to->blocks = all;
  if (resident * k->jobs > to->most) to->most = resident * k->jobs;
}

// Divides the kinds into n sorts by their time alone; sort 0 gets the kinds with the shortest times. Returns the number
// of mixtures.
static double make_sorts(network *w, int n) {
  const nw_grid_blocks *g = w->g;
  double mixtures = 1;
  w->nsorts = n, w->most = 0;
  for (int i = 0; i < n; i++) w->sort[i] = (sort){.chain = 0};
  for (int i = 0; i < g->nkinds; i++) {
    w->of[i] = shorter(g, alone(&g->kind[i])) * n / g->nkinds;
    add_to_sort(&w->sort[w->of[i]], &g->kind[i], g->resident);
  }
  for (int i = 0; i < n; i++) {
    w->sort[i].stride = (int)mixtures;
    if (w->sort[i].most > w->most) w->most = w->sort[i].most;
    mixtures *= w->sort[i].most + 1;
  }
  return mixtures;
}

// ---- the network

// Returns the time of a job with this work and this chain beside the jobs of a mixture. The units work at the same
// time, so the job only waits for the unit that serves it last.
static double time_of(const double *work, double chain, const double *queue) {
  double most = 0;
  for (int i = 0; i < NW_GPU_UNITS; i++) most = fmax(most, work[i] * (1 + queue[i]));
  return chain + most;
}

// Sets the queues of a mixture, from those of the mixtures with one job less.
static void set_queues(network *w, const int *jobs, int at) {
  double *queue = w->queue[at];
  for (int u = 0; u < NW_GPU_UNITS; u++) queue[u] = 0;
  for (int s = 0; s < w->nsorts; s++) {
    if (!jobs[s]) continue;
    const double *before = w->queue[at - w->sort[s].stride];
    double rate = jobs[s] / fmax(time_of(w->sort[s].work, w->sort[s].chain, before), 1e-9);
    for (int u = 0; u < NW_GPU_UNITS; u++) queue[u] += rate * w->sort[s].work[u] * (1 + before[u]);
  }
}

static void make_queues(network *w, int mixtures) {
  w->queue = nw_xcalloc((size_t)mixtures, sizeof *w->queue);
  for (int at = 1; at < mixtures; at++) {
    int jobs[SORTS] = {0}, all = 0;
    for (int s = 0; s < w->nsorts; s++) all += jobs[s] = at / w->sort[s].stride % (w->sort[s].most + 1);
    if (all <= w->most) set_queues(w, jobs, at);
  }
}

static void open_network(network *w, const nw_grid_blocks *g) {
  *w = (network){.g = g, .of = nw_xcalloc((size_t)g->nkinds, sizeof *w->of)};
  int n = g->nkinds < SORTS ? g->nkinds : SORTS;
  double mixtures = make_sorts(w, n);
  while (mixtures > MOST_MIXTURES && n > 1) mixtures = make_sorts(w, --n);
  make_queues(w, (int)mixtures);
}

// ---- the blocks

typedef struct place { // of a block on a multiprocessor
  int kind; // -1: it is free
  double left, begin; // left: the part of the block that is not done, 0 to 1; begin: the time when the block began
} place;

typedef struct state {
  network net;
  place *place; // g->resident for each multiprocessor
  int *count; // blocks of each multiprocessor
  int *free; // multiprocessors with room
  double *now, *next; // for each multiprocessor: the time of its state, and when its next block ends
  double busy, begin; // begin: of the launch
  int64_t most, n; // most: number of blocks whose times the caller wants; n: number of times that are stored in `out`
  nw_gpu_block_time *out;
} state;

// Returns the cycles of a block in a mixture of blocks that contains it.
static double cycles_of(const network *w, int kind, int at) {
  const nw_block_kind *k = &w->g->kind[kind];
  double work[NW_GPU_UNITS];
  for (int i = 0; i < NW_GPU_UNITS; i++) work[i] = k->work[i] / k->jobs;
  return fmax(time_of(work, k->chain, w->queue[at - w->sort[w->of[kind]].stride]), 1e-9);
}

// Returns the mixture of the blocks of a multiprocessor. A sort may have kinds with different numbers of jobs.
static int mixture_of(const state *s, const place *p) {
  const network *w = &s->net;
  int jobs[SORTS] = {0}, at = 0, room = w->most;
  for (int i = 0; i < w->g->resident; i++)
    if (p[i].kind >= 0) jobs[w->of[p[i].kind]] += w->g->kind[p[i].kind].jobs;
  for (int i = 0; i < w->nsorts; i++) {
    int n = jobs[i] < room ? jobs[i] : room;
    at += n * w->sort[i].stride, room -= n;
  }
  return at;
}

// Advances the blocks of a multiprocessor to `time`, and finds when the next of them ends. If `time` is the current
// time, only the latter is done.
static void proceed(state *s, int sm, double time) {
  place *p = s->place + (int64_t)sm * s->net.g->resident;
  int at = s->count[sm] ? mixture_of(s, p) : 0;
  double next = INFINITY, passed = time - s->now[sm];
  for (int i = 0; i < s->net.g->resident && s->count[sm]; i++) {
    if (p[i].kind < 0) continue;
    double cycles = cycles_of(&s->net, p[i].kind, at);
    p[i].left -= passed / cycles;
    next = fmin(next, time + fmax(p[i].left, 0) * cycles);
  }
  s->now[sm] = time;
  s->next[sm] = next;
}

static void note(state *s, int sm, int number, const place *p, double end) {
  if (s->n < s->most)
    s->out[s->n++] = (nw_gpu_block_time){.sm = sm, .place = number, .kind = p->kind, .from = p->begin, .to = end};
}

static void end_blocks(state *s, int sm) {
  place *p = s->place + (int64_t)sm * s->net.g->resident;
  for (int i = 0; i < s->net.g->resident; i++) {
    if (p[i].kind < 0 || p[i].left > 1e-9) continue;
    note(s, sm, i, &p[i], s->now[sm]);
    p[i].kind = -1;
    s->count[sm]--;
  }
}

static void begin_block(state *s, int sm, int kind) {
  place *p = s->place + (int64_t)sm * s->net.g->resident;
  while (p->kind >= 0) p++;
  *p = (place){.kind = kind, .left = 1, .begin = s->now[sm]};
  s->count[sm]++;
}

typedef struct order { // what is left of a launch
  const nw_gpu_turn *turn, *end;
  int64_t begun; // number of blocks of the current turn that have begun
} order;

// Returns the kind of the next block, or -1 if all have begun.
static int next_kind(order *o) {
  while (o->turn < o->end && o->begun == o->turn->blocks) o->turn++, o->begun = 0;
  if (o->turn == o->end) return -1;
  o->begun++;
  return o->turn->kind;
}

// Starts blocks on the multiprocessors whose current time is `time`. Those with the fewest blocks come first.
static void fill(state *s, order *o, double time) {
  const nw_grid_blocks *g = s->net.g;
  int n = 0;
  for (int sm = 0; sm < g->sms; sm++)
    if (s->now[sm] == time) s->free[n++] = sm;
  for (int level = 0; level < g->resident; level++)
    for (int i = 0; i < n; i++) {
      if (s->count[s->free[i]] > level) continue;
      int kind = next_kind(o);
      if (kind < 0) return;
      begin_block(s, s->free[i], kind);
    }
}

// Replays a launch. Returns the time when it ends.
static double launch(state *s, order *o, double begin) {
  const nw_grid_blocks *g = s->net.g;
  for (int sm = 0; sm < g->sms; sm++) s->now[sm] = begin;
  fill(s, o, begin);
  for (int sm = 0; sm < g->sms; sm++) proceed(s, sm, begin);
  for (double time = begin;;) {
    double next = INFINITY;
    for (int sm = 0; sm < g->sms; sm++) next = fmin(next, s->next[sm]);
    if (isinf(next)) return time;
    time = next;
    // Blocks that end at nearly the same time end together, so that the rounding of numbers does not decide where blocks begin.
    double until = time + 1e-9 * (time - begin);
    for (int sm = 0; sm < g->sms; sm++) {
      if (s->next[sm] > until) continue;
      proceed(s, sm, s->next[sm]);
      s->now[sm] = time;
      end_blocks(s, sm);
    }
    fill(s, o, time);
    for (int sm = 0; sm < g->sms; sm++) {
      if (s->now[sm] != time) continue;
      proceed(s, sm, time);
      if (!s->count[sm] && s->next[sm] == INFINITY) s->busy += time - begin, s->now[sm] = -1;
    }
  }
}

static void open_state(state *s, const nw_grid_blocks *g) {
  size_t places = (size_t)g->sms * (size_t)g->resident;
  open_network(&s->net, g);
  s->place = nw_xcalloc(places + 1, sizeof *s->place);
  s->count = nw_xcalloc((size_t)g->sms + 1, sizeof *s->count);
  s->free = nw_xcalloc((size_t)g->sms + 1, sizeof *s->free);
  s->now = nw_xcalloc((size_t)g->sms + 1, sizeof *s->now);
  s->next = nw_xcalloc((size_t)g->sms + 1, sizeof *s->next);
  for (size_t i = 0; i < places; i++) s->place[i].kind = -1;
}

static void close_state(state *s) {
  free(s->net.of);
  free(s->net.queue);
  free(s->place);
  free(s->count);
  free(s->free);
  free(s->now);
  free(s->next);
}

nw_grid_times nw_grid_replay(const nw_grid_blocks *g, int64_t most, nw_gpu_block_time *out, int64_t *n) {
  state s = {.most = out ? most : 0, .out = out};
  open_state(&s, g);
  double time = 0;
  for (const nw_gpu_turn *t = g->turn, *end = t + g->nturns; t < end;) {
    order o = {.turn = t};
    for (t++; t < end && !t->first;) t++;
    o.end = t;
    time = launch(&s, &o, time);
  }
  close_state(&s);
  if (n) *n = s.n;
  return (nw_grid_times){.all = time, .busy = s.busy / g->sms};
}
