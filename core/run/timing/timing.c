// Measures the run time of kernels.
//
// A sample is the average wall-clock time of one call, over as many consecutive calls as take about a millisecond. The
// calls of a sample run in one guarded call. The cost of the guarded call is not counted. A call before the first one
// wakes the threads, which may have gone to sleep between the samples. If caches are emptied before each call, each call
// is measured by itself, and the time to read the clock is subtracted.
#include "run/timing/evict.h"
#include "run/timing/series.h"
#include "run/timing/watch.h"
#include <math.h>
#include <stdlib.h>

#define SAMPLE_SECONDS 1e-3
#define USUAL_REPS 10
#define CLOCK_READINGS 101
#define TRIES 5 // for the number of calls in a sample
#define TRIES_SECONDS 0.05 // seconds after which no try is repeated
#define RESTARTS 3 // limit on the series that are taken again with more calls in a sample
#define MOST_TIMES ((int64_t)1 << 24) // limit on the calls in a sample
#define MOST_ALIGN ((uintptr_t)2 << 20) // a larger alignment is recorded as this one

typedef struct batch {
  nw_frame frame; // must be the first field, because run_batch gets its address as the address of the batch
  nw_entry entry;
  int64_t times;
  double seconds;
} batch;

// Runs the calls and measures their time. The fence waits until the stores of the calls have reached the caches.
static void run_batch(nw_frame *f) {
  batch *b = (batch *)f;
  double start = nw_now();
  for (int64_t i = 0; i < b->times; i++) b->entry(f);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  b->seconds = nw_now() - start;
}

double nw_warm_calls(nw_kernel *k, int64_t times) {
  const nw_kernel *one = k->running ? k->running : k;
  if (one->backend->seconds) return one->backend->seconds((nw_kernel *)one, times);
  batch b = {.frame = k->frame, .entry = k->entry, .times = times};
  if (!nw_guarded_call(k->ctx, run_batch, &b.frame)) return -1;
  return b.seconds / (double)times;
}

double nw_kernel_once(nw_kernel *k, int n, nw_array *const *args, double limit) {
  if (!k || !nw_kernel_has_times(k, "time") || !nw_kernel_begin(k, n, args)) return -1;
  if ((k->running ? k->running : k)->backend->seconds) {
    double seconds = nw_warm_calls(k, 1);
    nw_kernel_end(k);
    return seconds;
  }
  batch b = {.frame = k->frame, .entry = k->entry, .times = 1};
  bool good = nw_guarded_call_within(k->ctx, run_batch, &b.frame, limit);
  nw_kernel_end(k);
  return good ? b.seconds : -1;
}

// ---- cold calls

static void do_nothing(nw_frame *f) { (void)f; }

// Returns the seconds that a batch of one call takes if the call does nothing.
static double clock_seconds(void) {
  double reading[CLOCK_READINGS];
  for (int i = 0; i < CLOCK_READINGS; i++) {
    batch b = {.entry = do_nothing, .times = 1};
    run_batch(&b.frame);
    reading[i] = b.seconds;
  }
  double *sorted = nw_sorted(reading, CLOCK_READINGS), median = nw_quantile(sorted, CLOCK_READINGS, 0.5);
  free(sorted);
  return median;
}

typedef struct subject { // a kernel that is measured
  nw_evictor evictor; // the kernel, its arguments and the way to empty the caches
  double clock;
  int64_t times; // calls in a sample
} subject;

// Empties the caches before each call, so each call is measured by itself. Returns the seconds per call.
static double cold_calls(subject *s, int64_t times) {
  double sum = 0;
  for (int64_t i = 0; i < times; i++) {
    nw_evict(&s->evictor);
    double t = nw_warm_calls(s->evictor.k, 1);
    if (t < 0) return -1;
    sum += fmax(t - s->clock, 0);
  }
  return sum / (double)times;
}

static double once(void *env) {
  subject *s = env;
  if (s->evictor.chill) return cold_calls(s, s->times);
  if (s->times > 1 && nw_warm_calls(s->evictor.k, 1) < 0) return -1; // wakes the threads
  return nw_warm_calls(s->evictor.k, s->times);
}

// Returns the seconds of the shortest of several tries of a sample, or -1 on failure. Other work can make a try much
// longer. A try that is too short for a sample is not repeated.
static double shortest_try(subject *s) {
  double least = INFINITY, sum = 0;
  for (int i = 0; i < TRIES && sum < TRIES_SECONDS && least >= SAMPLE_SECONDS; i++) {
    double start = nw_now();
    if (once(s) < 0) return -1;
    double passed = nw_now() - start;
    least = fmin(least, passed), sum += passed;
  }
  return least;
}

// Increases the number of calls in a sample. With the present number of calls, a sample took `seconds`, which is too
// short.
static void add_calls(subject *s, double seconds) {
  double times = (double)s->times, want = seconds > 0 ? SAMPLE_SECONDS * 1.2 * times / seconds : 0;
  s->times = want > times * 16 || want <= times ? s->times * 16 : (int64_t)want + 1;
}

// Warms up, and finds the number of calls in a sample. The first call also makes the threads, because they empty the
// caches of their cores. Returns false on failure.
static bool calibrate(subject *s) {
  if (nw_warm_calls(s->evictor.k, 1) < 0) return false;
  for (s->times = 1;;) {
    double passed = shortest_try(s);
    if (passed < 0) return false;
    if (passed >= SAMPLE_SECONDS || s->times >= MOST_TIMES) return true;
    add_calls(s, passed);
  }
}

// Other work may have lengthened all tries, so that a sample has too few calls. Then their times are mostly those of
// threads that wake up, and no count of lost time shows it. The samples show it: the fastest one is far too short. For
// each subject (kernel) with such samples, sets a larger number of calls. Returns true if there is one. Cold calls are
// measured one by one, so their number does not matter. A disturbed series is not reliable anyway.
static bool too_short(int n, subject *s, const nw_samples *got) {
  bool any = false;
  for (int i = 0; i < n; i++) {
    double least = INFINITY;
    for (int k = 0; k < got[i].n; k++) least = fmin(least, got[i].value[k]);
    double seconds = least * (double)s[i].times;
    if (got[i].disturbed || s[i].evictor.chill || s[i].times >= MOST_TIMES || seconds >= SAMPLE_SECONDS / 2) continue;
    add_calls(&s[i], seconds);
    any = true;
  }
  return any;
}

// ---- records

static int64_t alignment_of(const nw_evictor *e, int64_t offset) {
  uintptr_t all = MOST_ALIGN;
  for (int i = 0; i < e->n; i++) all |= (uintptr_t)e->args[i]->data - (uintptr_t)offset;
  return (int64_t)(all & -all);
}

static nw_time record(const subject *from, const nw_conditions *how, const nw_samples *s) {
  nw_time t = {.threads = from->evictor.k->threads,
               .reps = s->n,
               .sample = s->value,
               .retaken = s->retaken,
               .disturbed = s->disturbed,
               .align = alignment_of(&from->evictor, how->offset),
               .clock = from->clock};
  double *sorted = nw_sorted(s->value, s->n);
  double half = nw_quantile(sorted, s->n, 0.75) - nw_quantile(sorted, s->n, 0.25);
  t.min = sorted[0];
  t.median = nw_quantile(sorted, s->n, 0.5);
  t.spread = t.median > 0 ? fmax(half, s->drift) / t.median : 0;
  free(sorted);
  return t;
}

static int most_threads(int n, const subject *s) {
  int most = 0;
  for (int i = 0; i < n; i++) most = s[i].evictor.k->threads > most ? s[i].evictor.k->threads : most;
  return most;
}

// Measures kernels for which nw_kernel_begin was called.
static bool measure(int n, subject *s, int reps, double min_seconds, const nw_conditions *how, nw_time *out) {
  nw_ctx *c = s[0].evictor.k->ctx;
  nw_subject *of = nw_xcalloc((size_t)n, sizeof *of);
  nw_samples *got = nw_xcalloc((size_t)n, sizeof *got);
  bool good = !how->ncpus || nw_places_check(c, most_threads(n, s), how->ncpus, how->cpu);
  for (int i = 0; i < n && good; i++) {
    s[i].clock = how->chill ? clock_seconds() : 0;
    of[i] = (nw_subject){s[i].evictor.k->threads, once, &s[i], how->ncpus ? how->cpu : NULL};
    good = nw_evict_open(&s[i].evictor) && calibrate(&s[i]);
  }
  bool again = good;
  for (int series = 0; series <= RESTARTS && again; series++) {
    for (int i = 0; i < n; i++) free(got[i].value);
    good = nw_take_samples(c, n, of, reps > 0 ? reps : USUAL_REPS, min_seconds, got);
    again = good && too_short(n, s, got);
  }
  for (int i = 0; i < n && good; i++) {
    out[i] = record(&s[i], how, &got[i]);
    out[i].disturbed = out[i].disturbed || again;
  }
  for (int i = 0; i < n; i++) nw_evict_close(&s[i].evictor);
  free(of);
  free(got);
  return good;
}

static const nw_conditions usual;

// Measures a kernel. Takes at least `reps` samples, and more until min_seconds have passed. If `reps` is 0, takes the
// default number.
bool nw_kernel_time(nw_kernel *k, int n, nw_array *const *args, int reps, double min_seconds, const nw_conditions *how,
                    nw_time *out) {
  *out = (nw_time){0};
  if (!how) how = &usual;
  if (!k || !nw_kernel_has_times(k, "time") || (how->chill && !nw_kernel_in_process(k, "time: cold")) ||
      !nw_kernel_begin(k, n, args))
    return false;
  subject s = {.evictor = {k, n, args, how->chill, NULL, 0}};
  bool good = measure(1, &s, reps, min_seconds, how, out);
  nw_kernel_end(k);
  return good;
}

// Measures the kernels in turn (A B C A B C ...), so that a disturbance affects all of them equally.
bool nw_kernel_compare(int n, nw_kernel *const *k, const int *nargs, nw_array *const *const *args, int rounds,
                       const nw_conditions *how, nw_time *out) {
  int begun = 0;
  bool good = n > 0;
  if (!how) how = &usual;
  subject *s = nw_xcalloc((size_t)n + 1, sizeof *s);
  for (int i = 0; i < n; i++) out[i] = (nw_time){.threads = k[i] ? k[i]->threads : 0};
  for (int i = 0; i < n && good; i++) {
    for (int e = 0; e < i; e++) good = good && k[e] != k[i];
    if (!good) nw_fail(k[i]->ctx, NW_EINVAL, "build it twice", "a kernel cannot be compared with itself");
    good = good && k[i] && nw_kernel_has_times(k[i], "compare") &&
           (!how->chill || nw_kernel_in_process(k[i], "compare: cold"));
    good = good && nw_kernel_begin(k[i], nargs[i], args[i]);
    if (good) s[i].evictor = (nw_evictor){k[i], nargs[i], args[i], how->chill, NULL, 0};
    begun += good;
  }
  good = good && measure(n, s, rounds, 0, how, out);
  for (int i = 0; i < begun; i++) nw_kernel_end(k[i]);
  free(s);
  return good;
}
