#include "run/log.h"
#include "run/kernel.h"
#include <stdlib.h>

enum {
  PAGE = 4096,
  MOST_SPANS = 1 << 13,
  MOST_TOGETHER = 1 << 19,
  LEAST_SPANS = 64,
  MOST_REGIONS = 1 << 13,
  MOST_LOOPS = 64
};

typedef struct lane { // the log of a thread
  int64_t n, lost;
  nw_span *at;
} lane;

struct nw_log {
  int threads;
  lane *lane;
  int64_t room; // largest number of spans per thread
  int64_t nregions, lost;
  nw_region region[MOST_REGIONS];
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
  l->lane = nw_xcalloc((size_t)threads, sizeof *l->lane);
  for (int t = 0; t < threads; t++) {
    l->lane[t].at = nw_xmalloc((size_t)l->room * sizeof(nw_span));
    for (size_t at = 0; at < (size_t)l->room * sizeof(nw_span); at += PAGE) ((char *)l->lane[t].at)[at] = 1;
  }
  return l;
}

static void free_lanes(nw_log *l) {
  for (int t = 0; l->lane && t < l->threads; t++) free(l->lane[t].at);
  free(l->lane);
  l->lane = NULL;
}

void nw_log_free(nw_log *l) {
  if (!l) return;
  for (int i = 0; i < l->nloops; i++) free(l->name[i]);
  free_lanes(l);
  free(l->span);
  free(l);
}

static int by_begin(const void *a, const void *b) {
  const nw_span *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

static void gather(nw_log *l) {
  for (int t = 0; t < l->threads; t++) l->nspans += l->lane[t].n, l->lost += l->lane[t].lost;
  l->span = nw_xcalloc((size_t)l->nspans + 1, sizeof *l->span);
  int64_t at = 0;
  for (int t = 0; t < l->threads; t++)
    for (int64_t i = 0; i < l->lane[t].n; i++) {
      nw_span s = l->lane[t].at[i];
      s.loop = l->region[s.region].loop;
      s.begin -= l->begin;
      s.end -= l->begin;
      l->span[at++] = s;
    }
  qsort(l->span, (size_t)l->nspans, sizeof *l->span, by_begin);
  for (int64_t i = 0; i < l->nregions; i++) l->region[i].begin -= l->begin, l->region[i].end -= l->begin;
  free_lanes(l);
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

// Makes two calls and logs the second call. So the logged call finds its data in the caches, like the calls that
// nw_kernel_time measures. Returns NULL, with a diagnostic, on failure.
nw_log *nw_kernel_log(nw_kernel *k, int n, nw_array *const *args) {
  if (!k || !nw_kernel_begin(k, n, args)) return NULL;
  nw_log *l = log_new(k->threads);
  bool good = nw_guarded_call(k->ctx, k->entry, &k->frame);
  k->frame.log = l;
  l->begin = nw_now();
  good = good && nw_guarded_call(k->ctx, k->entry, &k->frame);
  l->seconds = nw_now() - l->begin;
  k->frame.log = NULL;
  nw_kernel_end(k);
  gather(l);
  name_loops(l, (k->running ? k->running : k)->exec->p);
  if (good) return l;
  nw_log_free(l);
  return NULL;
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
