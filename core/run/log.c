// Logs what each thread of a kernel does in its parallel loops.
//
// Runs are measured like the samples of a time (series.c): a run that other work disturbed is taken again, up to a
// limit. A run that follows a pause first wakes the threads. So each logged call directly follows other calls.
#include "run/log.h"
#include "run/kernel.h"
#include "run/timing/series.h"
#include <stdlib.h>

enum {
  PAGE = 4096,
  MOST_SPANS = 1 << 13,
  MOST_TOGETHER = 1 << 19,
  LEAST_SPANS = 64,
  MOST_REGIONS = 1 << 13,
  MOST_LOOPS = 64
};
#define WARM_SECONDS 2e-4 // calls for at least this time come before a logged call

typedef struct lane { // the log of a thread
  int64_t n, lost;
  nw_span *at;
} lane;

// During a run, the log has a lane for each thread, and room for all regions. A finished log has only its regions and
// spans.
struct nw_log {
  int threads;
  lane *lane;
  int64_t room; // largest number of spans per thread
  int64_t nregions, lost;
  nw_region *region;
  int nloops;
  nw_parallel_body loop[MOST_LOOPS]; // bodies of the loops, in the order in which they were first reached
  char *name[MOST_LOOPS];
  double begin, seconds;
  nw_span *span; // the spans of all threads, after the run
  int64_t nspans;
};

// ---- during the run

static int loop_of(nw_log *l, nw_parallel_body body) {
  for (int i = 0; i < l->nloops; i++)
    if (l->loop[i] == body) return i;
  if (l->nloops == MOST_LOOPS) return MOST_LOOPS - 1;
  l->loop[l->nloops] = body;
  return l->nloops++;
}

void nw_log_begin(nw_log *l, nw_logged *r) {
  int loop = loop_of(l, r->body);
  r->region = l->nregions < MOST_REGIONS ? l->nregions++ : MOST_REGIONS;
  if (r->region == MOST_REGIONS) {
    l->lost++;
    return;
  }
  l->region[r->region] = (nw_region){.loop = loop, .begin = nw_now()};
}

void nw_log_end(nw_log *l, const nw_logged *r) {
  if (r->region < MOST_REGIONS) l->region[r->region].end = nw_now();
}

void nw_log_body(nw_frame *f, void *captured, int64_t from, int64_t to, int64_t thread) {
  const nw_logged *r = captured;
  lane *mine = &f->log->lane[thread];
  double cpu = nw_cpu_now(), begin = nw_now();
  r->body(f, r->captured, from, to, thread);
  double end = nw_now();
  if (mine->n == f->log->room || r->region == MOST_REGIONS) {
    mine->lost++;
    return;
  }
  mine->at[mine->n++] = (nw_span){.region = r->region,
                                  .thread = (int)thread,
                                  .from = from,
                                  .to = to,
                                  .begin = begin,
                                  .end = end,
                                  .cpu = nw_cpu_now() - cpu};
}

// ---- before and after

// Makes a log, and writes to each page of its memory. Otherwise, page faults would disturb the measurement.
static nw_log *log_new(int threads) {
  nw_log *l = nw_xcalloc(1, sizeof *l);
  int64_t room = MOST_TOGETHER / threads;
  l->threads = threads;
  l->room = room > MOST_SPANS ? MOST_SPANS : room < LEAST_SPANS ? LEAST_SPANS : room;
  l->region = nw_xcalloc(MOST_REGIONS, sizeof *l->region);
  l->lane = nw_xcalloc((size_t)threads, sizeof *l->lane);
  for (int t = 0; t < threads; t++) {
    l->lane[t].at = nw_xmalloc((size_t)l->room * sizeof(nw_span));
    for (size_t at = 0; at < (size_t)l->room * sizeof(nw_span); at += PAGE) ((char *)l->lane[t].at)[at] = 1;
  }
  return l;
}

static void log_free(nw_log *l) {
  if (!l) return;
  for (int i = 0; i < l->nloops; i++) free(l->name[i]);
  for (int t = 0; l->lane && t < l->threads; t++) free(l->lane[t].at);
  free(l->lane);
  free(l->region);
  free(l->span);
  free(l);
}

static void clear(nw_log *l) {
  for (int t = 0; t < l->threads; t++) l->lane[t].n = l->lane[t].lost = 0;
  l->nregions = l->lost = l->nloops = 0;
}

static int by_begin(const void *a, const void *b) {
  const nw_span *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

// Returns a finished log of the run that l has logged, or NULL if there is not enough memory.
static nw_log *finished(const nw_log *l) {
  nw_log *f = malloc(sizeof *f);
  if (!f) return NULL;
  *f = *l;
  f->lane = NULL;
  for (int t = 0; t < l->threads; t++) f->nspans += l->lane[t].n, f->lost += l->lane[t].lost;
  f->span = calloc((size_t)f->nspans + 1, sizeof *f->span);
  f->region = calloc((size_t)f->nregions + 1, sizeof *f->region);
  if (!f->span || !f->region) return log_free(f), NULL;
  nw_span *at = f->span;
  for (int t = 0; t < l->threads; t++)
    for (int64_t i = 0; i < l->lane[t].n; i++, at++) {
      *at = l->lane[t].at[i];
      at->loop = l->region[at->region].loop;
      at->begin -= l->begin;
      at->end -= l->begin;
    }
  qsort(f->span, (size_t)f->nspans, sizeof *f->span, by_begin);
  for (int64_t i = 0; i < l->nregions; i++) {
    const nw_region *r = &l->region[i];
    f->region[i] = (nw_region){r->loop, r->begin - l->begin, r->end - l->begin};
  }
  return f;
}

static void parallel_loops(const nw_stmt *s, nw_vec *out) {
  if (s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL) nw_vec_push(out, (void *)s->loop.var->name);
  for (int i = 0; i < s->nkids; i++) parallel_loops(s->kid[i], out);
}

// Names the loops. They are first reached in the order of the program. If fewer loops were reached than the program
// has, it is unknown which loops these are, so no loop gets a name.
static void name_loops(nw_log *l, const nw_program *p) {
  nw_vec names = {0};
  parallel_loops(p->root, &names);
  for (int i = 0; i < l->nloops && names.n == l->nloops; i++) l->name[i] = nw_xstrdup(names.at[i]);
  nw_vec_free(&names);
}

// ---- runs

typedef struct run { // a call of a kernel that is logged
  nw_frame frame; // must be the first field, because call_warm gets its address as the address of the run
  nw_entry entry;
  nw_log *log;
} run;

static void call_warm(nw_frame *f) {
  run *r = (run *)f;
  double start = nw_now();
  do r->entry(f);
  while (nw_now() - start < WARM_SECONDS);
  f->log = r->log;
  r->log->begin = nw_now();
  r->entry(f);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  r->log->seconds = nw_now() - r->log->begin;
}

typedef struct recording { // the runs of a kernel
  nw_kernel *k;
  nw_log *log; // the log of the run in progress
  nw_log **done;
  int n;
} recording;

// Logs a run. Returns its seconds, or -1, with a diagnostic, on failure. The memory of the finished log is requested
// without nw_xmalloc, because a failure must not leave the sample by a jump (watch.c).
static double once(void *env) {
  recording *s = env;
  clear(s->log);
  run r = {.frame = s->k->frame, .entry = s->k->entry, .log = s->log};
  if (!nw_guarded_call(s->k->ctx, call_warm, &r.frame)) return -1;
  nw_log **more = s->n & (s->n - 1) ? s->done : realloc(s->done, 2 * ((size_t)s->n + 1) * sizeof *more);
  if (more) s->done = more;
  nw_log *f = more ? finished(s->log) : NULL;
  if (!f) return nw_fail(s->k->ctx, NW_EMEMORY, NULL, "there is not enough memory for the log of a run"), -1;
  s->done[s->n++] = f;
  return f->seconds;
}

// Takes the log of a run with this duration.
static nw_log *take(recording *s, double seconds) {
  for (int i = 0; i < s->n; i++)
    if (s->done[i] && s->done[i]->seconds == seconds) {
      nw_log *l = s->done[i];
      s->done[i] = NULL;
      return l;
    }
  return NULL;
}

// Moves the logs of runs with these durations to *out.
static void move_logs(recording *s, int n, const double *seconds, nw_logs *out) {
  out->n = n;
  out->log = nw_xcalloc((size_t)n + 1, sizeof *out->log);
  for (int i = 0; i < n; i++) {
    out->log[i] = take(s, seconds[i]);
    name_loops(out->log[i], (s->k->running ? s->k->running : s->k)->exec->p);
  }
}

// The first run creates the threads. If it has no parallel loop, it is the only run.
static bool take_runs(recording *s, int reps, nw_logs *out) {
  nw_samples got;
  nw_subject of = {.threads = s->k->threads, .once = once, .env = s};
  double first = once(s);
  if (first < 0) return false;
  if (!s->done[0]->nloops) return move_logs(s, 1, &first, out), true;
  log_free(take(s, first));
  if (!nw_take_samples(s->k->ctx, 1, &of, reps, 0, &got)) return false;
  *out = (nw_logs){.retaken = got.retaken, .disturbed = got.disturbed};
  move_logs(s, got.n, got.value, out);
  free(got.value);
  return true;
}

bool nw_kernel_logs(nw_kernel *k, int n, nw_array *const *args, int reps, nw_logs *out) {
  *out = (nw_logs){0};
  if (!k || !nw_kernel_in_process(k, "log") || !nw_kernel_begin(k, n, args)) return false;
  recording s = {.k = k, .log = log_new(k->threads)};
  bool good = take_runs(&s, reps, out);
  nw_kernel_end(k);
  for (int i = 0; i < s.n; i++) log_free(s.done[i]);
  free(s.done);
  log_free(s.log);
  return good;
}

void nw_logs_free(nw_logs *l) {
  for (int i = 0; i < l->n; i++) log_free(l->log[i]);
  free(l->log);
  *l = (nw_logs){0};
}

double nw_log_seconds(const nw_log *l) { return l->seconds; }
int nw_log_threads(const nw_log *l) { return l->threads; }
int64_t nw_log_spans(const nw_log *l) { return l->nspans; }
const nw_span *nw_log_span(const nw_log *l, int64_t i) { return &l->span[i]; }
int64_t nw_log_regions(const nw_log *l) { return l->nregions; }
const nw_region *nw_log_region(const nw_log *l, int64_t i) { return &l->region[i]; }
int64_t nw_log_lost(const nw_log *l) { return l->lost; }
int nw_log_loops(const nw_log *l) { return l->nloops; }
const char *nw_log_loop(const nw_log *l, int i) { return l->name[i]; }
