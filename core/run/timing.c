// Measures the run time of kernels.
//
// A sample is the average wall-clock time of one call, over as many consecutive calls as take a millisecond. The calls
// of a sample run in one guarded call, whose cost is not counted.
#include "run/kernel.h"
#include "run/series.h"
#include <math.h>
#include <stdlib.h>

#define SAMPLE_SECONDS 1e-3
#define USUAL_REPS 10

typedef struct batch {
  nw_frame frame; // must be first, since the entry gets its address
  nw_entry entry;
  int64_t times;
  double seconds;
} batch;

static void run_batch(nw_frame *f) {
  batch *b = (batch *)f;
  double start = nw_now();
  for (int64_t i = 0; i < b->times; i++) b->entry(f);
  b->seconds = nw_now() - start;
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

// ---- records

typedef struct subject { // a kernel that is measured
  nw_kernel *k;
  int64_t times; // calls in a sample
} subject;

static double once(void *env) {
  const subject *s = env;
  return sample(s->k, s->times);
}

static nw_time record(const nw_kernel *k, const nw_samples *s) {
  nw_time t = {
      .threads = k->threads, .reps = s->n, .sample = s->value, .retaken = s->retaken, .disturbed = s->disturbed};
  double *sorted = nw_sorted(s->value, s->n);
  double half = nw_quantile(sorted, s->n, 0.75) - nw_quantile(sorted, s->n, 0.25);
  t.min = sorted[0];
  t.median = nw_quantile(sorted, s->n, 0.5);
  t.spread = t.median > 0 ? fmax(half, s->drift) / t.median : 0;
  free(sorted);
  return t;
}

// Measures kernels whose calls have begun.
static bool measure(int n, nw_kernel *const *k, int reps, double min_seconds, nw_time *out) {
  subject *s = nw_xcalloc((size_t)n, sizeof *s);
  nw_subject *of = nw_xcalloc((size_t)n, sizeof *of);
  nw_samples *got = nw_xcalloc((size_t)n, sizeof *got);
  bool good = true;
  for (int i = 0; i < n && good; i++) {
    s[i] = (subject){k[i], calibrate(k[i])};
    of[i] = (nw_subject){k[i]->threads, once, &s[i]};
    good = s[i].times > 0;
  }
  good = good && nw_take_samples(k[0]->ctx, n, of, reps > 0 ? reps : USUAL_REPS, min_seconds, got);
  for (int i = 0; i < n && good; i++) out[i] = record(k[i], &got[i]);
  free(s);
  free(of);
  free(got);
  return good;
}

// Takes at least `reps` samples (0: the default number), and more until min_seconds have passed.
bool nw_kernel_time(nw_kernel *k, int n, nw_array *const *args, int reps, double min_seconds, nw_time *out) {
  *out = (nw_time){0};
  if (!k || !nw_kernel_begin(k, n, args)) return false;
  bool good = measure(1, &k, reps, min_seconds, out);
  nw_kernel_end(k);
  return good;
}

// Measures the kernels in turn (A B C A B C ...), so that a disturbance affects all of them equally.
bool nw_kernel_compare(int n, nw_kernel *const *k, const int *nargs, nw_array *const *const *args, int rounds,
                       nw_time *out) {
  int begun = 0;
  bool good = n > 0;
  for (int i = 0; i < n; i++) out[i] = (nw_time){.threads = k[i] ? k[i]->threads : 0};
  for (int i = 0; i < n && good; i++) {
    for (int e = 0; e < i; e++) good = good && k[e] != k[i];
    if (!good) nw_fail(k[i]->ctx, NW_EINVAL, "build it twice", "a kernel cannot be compared with itself");
    good = good && k[i] && nw_kernel_begin(k[i], nargs[i], args[i]);
    begun += good;
  }
  good = good && measure(n, k, rounds, 0, out);
  for (int i = 0; i < begun; i++) nw_kernel_end(k[i]);
  return good;
}
