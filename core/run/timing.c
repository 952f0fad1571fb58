// Measures the run time of kernels.
//
// A sample is the average time of one call, over as many consecutive calls as take a millisecond. For kernels of one
// thread, the time is the CPU time of the thread, which stops while other processes have the core. For kernels of
// several threads, it is wall-clock time, since a call ends when its last thread ends. The calls of a sample run in one
// guarded call, whose cost is not counted.
#include "run/kernel.h"
#include <math.h>
#include <stdlib.h>

#define SAMPLE_SECONDS 1e-3
#define USUAL_REPS 10
#define MOST_REPS 100000

typedef struct batch {
  nw_frame frame; // must be first, since the entry gets its address
  nw_entry entry;
  int64_t times;
  double seconds;
} batch;

static void run_batch(nw_frame *f) {
  batch *b = (batch *)f;
  double (*clock)(void) = f->threads > 1 ? nw_now : nw_cpu_now;
  double start = clock();
  for (int64_t i = 0; i < b->times; i++) b->entry(f);
  b->seconds = clock() - start;
}

// Returns the seconds per call; -1 on failure.
static double sample(nw_kernel *k, int64_t times) {
  batch b = {.frame = k->frame, .entry = k->entry, .times = times};
  if (!nw_guarded_call(k->ctx, run_batch, &b.frame)) return -1;
  return b.seconds / (double)times;
}

// Warms up, and returns the number of calls in a sample; 0 on failure.
static int64_t calibrate(nw_kernel *k) {
  for (int64_t times = 1;;) {
    double t = sample(k, times);
    if (t < 0) return 0;
    if (t * (double)times >= SAMPLE_SECONDS || times >= (int64_t)1 << 24) return times;
    double want = t > 0 ? SAMPLE_SECONDS * 1.2 / t : 0;
    times = want > (double)times * 16 || want <= (double)times ? times * 16 : (int64_t)want + 1;
  }
}

double nw_kernel_once(nw_kernel *k, int n, nw_array *const *args, double limit) {
  if (!k || !nw_kernel_begin(k, n, args)) return -1;
  batch b = {.frame = k->frame, .entry = k->entry, .times = 1};
  bool good = nw_guarded_call_within(k->ctx, run_batch, &b.frame, limit);
  nw_kernel_end(k);
  return good ? b.seconds : -1;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q) {
  double at = q * (n - 1);
  int i = (int)at, next = i + 1 < n ? i + 1 : i;
  return sorted[i] + (at - i) * (sorted[next] - sorted[i]);
}

static void summarise(nw_time *t) {
  double *s = nw_xask((uint64_t)t->reps, sizeof *s);
  memcpy(s, t->sample, sizeof *s * (size_t)t->reps);
  qsort(s, (size_t)t->reps, sizeof *s, by_size);
  t->min = s[0];
  t->median = quantile(s, t->reps, 0.5);
  t->spread = t->median > 0 ? (quantile(s, t->reps, 0.75) - quantile(s, t->reps, 0.25)) / t->median : 0;
  nw_let_go(s);
}

// Takes one more sample; false on failure.
static bool take(nw_kernel *k, int64_t times, nw_time *t) {
  double s = sample(k, times);
  if (s < 0) return false;
  if ((t->reps & (t->reps - 1)) == 0) t->sample = nw_xrealloc(t->sample, sizeof *t->sample * 2 * (size_t)(t->reps + 1));
  t->sample[t->reps++] = s;
  return true;
}

static bool give_up(nw_time *t, int n) {
  for (int i = 0; i < n; i++) {
    free(t[i].sample);
    t[i] = (nw_time){0};
  }
  return false;
}

// Takes at least `reps` samples (0: the default number), and more until min_seconds have passed.
bool nw_kernel_time(nw_kernel *k, int n, nw_array *const *args, int reps, double min_seconds, nw_time *out) {
  if (!k || !nw_kernel_begin(k, n, args)) return false;
  if (reps <= 0) reps = USUAL_REPS;
  *out = (nw_time){.threads = k->threads};
  int64_t times = calibrate(k);
  bool good = times > 0;
  double start = nw_now();
  while (good && out->reps < MOST_REPS && (out->reps < reps || nw_now() - start < min_seconds))
    good = take(k, times, out);
  nw_kernel_end(k);
  if (!good) return give_up(out, 1);
  summarise(out);
  return true;
}

static bool rounds_of(int n, nw_kernel *const *k, int rounds, nw_time *out) {
  int64_t *times = nw_xcalloc((size_t)n, sizeof *times);
  bool good = true;
  for (int i = 0; i < n && good; i++) good = (times[i] = calibrate(k[i])) > 0;
  for (int r = 0; r < rounds && good; r++) {
    nw_progress(k[0]->ctx, "measuring kernels in turn", (double)r / rounds);
    for (int i = 0; i < n && good; i++) good = take(k[i], times[i], &out[i]);
  }
  nw_progress_end(k[0]->ctx);
  free(times);
  return good;
}

// Measures the kernels in turn (A B C A B C ...), so that a disturbance affects all of them equally.
bool nw_kernel_compare(int n, nw_kernel *const *k, const int *nargs, nw_array *const *const *args, int rounds,
                       nw_time *out) {
  int begun = 0;
  bool good = n > 0;
  if (rounds <= 0) rounds = USUAL_REPS;
  for (int i = 0; i < n; i++) out[i] = (nw_time){.threads = k[i] ? k[i]->threads : 0};
  for (int i = 0; i < n && good; i++) {
    for (int e = 0; e < i; e++) good = good && k[e] != k[i];
    if (!good) nw_fail(k[i]->ctx, NW_EINVAL, "build it twice", "a kernel cannot be compared with itself");
    good = good && k[i] && nw_kernel_begin(k[i], nargs[i], args[i]);
    begun += good;
  }
  good = good && rounds_of(n, k, rounds, out);
  for (int i = 0; i < begun; i++) nw_kernel_end(k[i]);
  if (!good) return give_up(out, n);
  for (int i = 0; i < n; i++) summarise(&out[i]);
  return true;
}
