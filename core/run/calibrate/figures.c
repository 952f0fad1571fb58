// Collects the figures of a calibration over its passes, and decides which of them can be trusted.
#include "run/calibrate/calibrate.h"
#include "base/base.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define AGREE 0.04 // two values agree if their difference is at most this share of the smaller one
#define AGREE_SHARED 0.12
#define AGREE_CYCLES 0.05 // two values that are not rates also agree if their difference is at most this

static nw_figure *figure_of(nw_calibration *k, const char *path) {
  for (int i = 0; i < k->n; i++)
    if (!strcmp(k->figure[i].path, path)) return &k->figure[i];
  NW_MUST(k->n < NW_MOST_FIGURES);
  nw_figure *f = &k->figure[k->n++];
  *f = (nw_figure){.part = k->part};
  snprintf(f->path, sizeof f->path, "%s", path);
  return f;
}

static bool agree(const nw_figure *f, double a, double b) {
  double share = f->bounds.shared > 0 ? AGREE_SHARED : AGREE;
  return fabs(a - b) <= fmax(share * fmin(a, b), f->bounds.rate ? 0 : AGREE_CYCLES);
}

// Inserts a value into the sorted values of f. The least disturbed value comes first.
static void insert(nw_figure *f, double value) {
  int at = f->n++;
  for (; at > 0 && (f->bounds.rate ? f->value[at - 1] < value : f->value[at - 1] > value); at--)
    f->value[at] = f->value[at - 1];
  f->value[at] = value;
}

// Returns the index of the first value that agrees with the next value, or f->n if there is none. A value that is too
// good is an error of measurement, so no other value agrees with it.
static int agreed(const nw_figure *f) {
  for (int i = 0; i + 1 < f->n; i++)
    if (agree(f, f->value[i], f->value[i + 1])) return i;
  return f->n;
}

// Forgets all values if the core is now faster than when the values were measured. In this case, another thread used the
// core at that time.
static void forget_shared(nw_calibration *k) {
  if (nw_pace_unshared(k->accepted, k->best)) return;
  for (int i = 0; i < k->n; i++) k->figure[i].n = 0, k->figure[i].settled = false;
  k->accepted = k->best;
}

void nw_found(nw_calibration *k, nw_bounds bounds, double value, const char *path, ...) {
  char text[sizeof k->figure[0].path];
  va_list args;
  va_start(args, path);
  vsnprintf(text, sizeof text, path, args);
  va_end(args);
  nw_figure *f = figure_of(k, text);
  bool disturbed = k->disturbed;
  forget_shared(k);
  f->bounds = bounds;
  k->disturbed = false;
  if (disturbed || f->n == NW_MOST_PASSES) return;
  if (value >= bounds.least && value <= bounds.most) {
    insert(f, value);
    f->settled = agreed(f) < f->n;
  } else {
    f->implausible = value;
  }
}

bool nw_part_settled(const nw_calibration *k, int part) {
  for (int i = 0; i < k->n; i++)
    if (k->figure[i].part == part && !k->figure[i].settled) return false;
  return true;
}

// Writes the reason why a figure is not used to `text`.
static void doubt_of(const nw_figure *f, char *text, size_t size) {
  if (f->n == 1)
    snprintf(text, size, "other work disturbed all measurements but one (%.3g)", f->value[0]);
  else if (f->n)
    snprintf(text, size, "no two measurements agree: from %.3g to %.3g", fmin(f->value[0], f->value[f->n - 1]),
             fmax(f->value[0], f->value[f->n - 1]));
  else if (isinf(f->implausible))
    snprintf(text, size, "its cost is too small to be measured beside that of the rest of the loop");
  else if (f->implausible)
    snprintf(text, size, "%.3g was measured, which is not between %g and %g", f->implausible, f->bounds.least,
             f->bounds.most);
  else
    snprintf(text, size, "other work disturbed all measurements");
}

void nw_report_figures(const nw_calibration *k, nw_calibrated_fn found, void *env) {
  for (int i = 0; i < k->n; i++) {
    const nw_figure *f = &k->figure[i];
    char doubt[96];
    nw_calibrated got = {.path = f->path};
    if (f->settled) {
      int at = agreed(f);
      double a = f->value[0], b = f->value[f->n - 1], beyond = 1 + f->bounds.shared;
      got.value = (f->value[at] + f->value[at + 1]) / 2;
      got.lo = fmin(a, b) / beyond, got.hi = fmax(a, b) * beyond;
      got.shared = f->bounds.shared > 0;
    } else {
      doubt_of(f, doubt, sizeof doubt);
      got.doubt = doubt;
    }
    found(env, &got);
  }
}
