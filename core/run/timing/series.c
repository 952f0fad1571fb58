// Takes series of samples.
//
// Samples that are taken at different times differ more than consecutive samples. So a series consists of batches with
// pauses between them. A sample is disturbed if a thread could not run all the time (watch.c). Disturbed samples are
// taken again, up to a limit.
#include "run/timing/series.h"
#include "run/timing/watch.h"
#include <stdlib.h>
#include <time.h>

#define BATCHES 4
#define PAUSE_SECONDS 5e-3 // seconds of a pause between batches
#define LOST 0.02 // a sample is disturbed if a thread lost more than this share of its time
#define MOST_RETAKEN 6 // limit on the disturbed samples for each sample that is wanted
#define RETAKE_SECONDS 1.0 // seconds after which no sample is taken again
#define MOST_SAMPLES 100000

double nw_quantile(const double *sorted, int n, double q) {
  double at = q * (n - 1);
  int i = (int)at, next = i + 1 < n ? i + 1 : i;
  return sorted[i] + (at - i) * (sorted[next] - sorted[i]);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double *nw_sorted(const double *value, int n) {
  double *s = nw_xcalloc((size_t)n + 1, sizeof *s);
  memcpy(s, value, sizeof *s * (size_t)n);
  qsort(s, (size_t)n, sizeof *s, by_size);
  return s;
}

typedef struct list {
  double *value;
  int n;
} list;

// The samples of one subject.
typedef struct series {
  const nw_subject *subject;
  nw_watch watch;
  list clean, other; // undisturbed and disturbed samples
  int batch; // index of the first clean sample of the current batch
  double lo, hi; // least and greatest median of a batch
} series;

static void push(list *l, double value) {
  if ((l->n & (l->n - 1)) == 0) l->value = nw_xrealloc(l->value, sizeof *l->value * 2 * (size_t)(l->n + 1));
  l->value[l->n++] = value;
}

static void end_batch(series *s) {
  int n = s->clean.n - s->batch;
  if (!n) return;
  double *sorted = nw_sorted(s->clean.value + s->batch, n), median = nw_quantile(sorted, n, 0.5);
  free(sorted);
  s->lo = s->batch && s->lo < median ? s->lo : median;
  s->hi = s->batch && s->hi > median ? s->hi : median;
  s->batch = s->clean.n;
}

static void pause_for(double seconds) {
  struct timespec t = {0, (long)(seconds * 1e9)};
  nanosleep(&t, NULL);
}

// Takes a sample of each subject. If one sample is disturbed, all of them count as disturbed, so that the subjects have
// equally many samples from each time. Sets *clean to true if no sample was disturbed. Returns false if a sample fails.
static bool one_round(int n, series *s, double *value, bool *clean) {
  *clean = true;
  for (int i = 0; i < n; i++) {
    nw_watch_begin(&s[i].watch);
    value[i] = s[i].subject->once(s[i].subject->env);
    *clean = nw_watch_end(&s[i].watch) <= LOST && *clean;
    if (value[i] < 0) return false;
  }
  for (int i = 0; i < n; i++) push(*clean ? &s[i].clean : &s[i].other, value[i]);
  return true;
}

static bool take_all(nw_ctx *c, int n, series *s, int count, double min_seconds) {
  double start = nw_now(), *value = nw_xcalloc((size_t)n, sizeof *value);
  int batch = count / BATCHES > 0 ? count / BATCHES : 1;
  bool good = true, clean;
  while (good && s->clean.n + s->other.n < MOST_SAMPLES) {
    double passed = nw_now() - start;
    bool spent = s->other.n >= MOST_RETAKEN * count || passed > RETAKE_SECONDS + min_seconds;
    bool enough = s->clean.n >= count || (spent && s->clean.n + s->other.n >= count);
    if (enough && passed >= min_seconds) break;
    if (n > 1) nw_progress(c, "measuring kernels in turn", s->clean.n < count ? (double)s->clean.n / count : 1);
    good = one_round(n, s, value, &clean);
    bool full = s->clean.n - s->batch >= batch && s->clean.n < count;
    for (int i = 0; i < n && good && clean && full; i++) end_batch(&s[i]);
    if (good && clean && full) pause_for(PAUSE_SECONDS);
    if (good && !clean) pause_for(s->other.n % 8 ? 1e-4 : PAUSE_SECONDS); // the other work may end soon
  }
  for (int i = 0; i < n; i++) end_batch(&s[i]);
  if (n > 1) nw_progress_end(c);
  free(value);
  return good;
}

// Stores the clean samples in *out. If they are fewer than half of `count`, adds disturbed samples.
static void finish(series *s, int count, nw_samples *out) {
  bool disturbed = 2 * s->clean.n < count;
  *out = (nw_samples){.retaken = s->other.n, .disturbed = disturbed, .drift = s->hi - s->lo};
  for (int i = 0; i < s->other.n && disturbed && s->clean.n < count; i++) push(&s->clean, s->other.value[i]);
  out->value = s->clean.value;
  out->n = s->clean.n;
  s->clean.value = NULL;
}

bool nw_take_samples(nw_ctx *c, int n, const nw_subject *subject, int count, double min_seconds, nw_samples *out) {
  series *s = nw_xcalloc((size_t)n, sizeof *s);
  for (int i = 0; i < n; i++) {
    s[i].subject = &subject[i];
    nw_watch_open(&s[i].watch, subject[i].threads, subject[i].cpu);
    out[i] = (nw_samples){0};
  }
  bool good = take_all(c, n, s, count, min_seconds);
  for (int i = 0; i < n; i++) {
    nw_watch_close(&s[i].watch);
    if (good) finish(&s[i], count, &out[i]);
    free(s[i].clean.value);
    free(s[i].other.value);
  }
  free(s);
  return good;
}

bool nw_rates_of(nw_ctx *c, const nw_subject *s, int count, nw_rates *out) {
  nw_samples got;
  *out = (nw_rates){0};
  if (!nw_take_samples(c, 1, s, count, 0, &got)) return false;
  *out = (nw_rates){got.n, got.value, got.retaken, got.disturbed};
  return true;
}

double nw_rates_peak(const nw_rates *r) {
  double *sorted = nw_sorted(r->rate, r->n), peak = r->n ? nw_quantile(sorted, r->n, 0.75) : 0;
  free(sorted);
  return peak;
}
