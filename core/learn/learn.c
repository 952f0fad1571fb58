// Trains models and computes scores with them. A model consists of gradient-boosted trees, which XGBoost trains from
// rows of features. A ranking model (objective rank:pairwise) compares rows of the same group. A regression model
// (objective reg:squarederror) predicts a value for each row.
//
// XGBoost checks little: it treats rows without groups as one group, ignores misspelt parameters, and reports infinite
// numbers with an unclear error. So the arguments are checked here. Results of XGBoost are valid only until the next
// call, so they are copied. XGBoost runs on one thread, because the number of threads changes the model.
#include "learn/xgboost.h"
#include <stdio.h>
#include <math.h>
#include <stdlib.h>

struct nw_learner {
  nw_ctx *ctx;
  nw_xgboost lib;
  void *booster;
  int features;
};

#define MOST_ROWS 1000000
#define MOST_FEATURES 1000

// ---- checks

static bool are_finite(nw_ctx *c, const char *what, const float *v, int64_t n, int width) {
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(v[i]))
      return nw_fail(c, NW_ERANGE, NULL, "%s: row %lld, column %lld is not a finite number", what,
                     (long long)(i / width + 1), (long long)(i % width + 1));
  return true;
}

// Checks that each row belongs to one group, and that at least one group has two or more rows.
static bool are_groups(nw_ctx *c, const nw_learn_rows *r) {
  int64_t sum = 0;
  int most = 0;
  for (int i = 0; i < r->ngroups; i++) {
    if (r->group[i] < 1)
      return nw_fail(c, NW_ERANGE, NULL, "groups: group %d has %d rows; give at least 1", i + 1, r->group[i]);
    sum += r->group[i];
    most = r->group[i] > most ? r->group[i] : most;
  }
  if (sum != r->rows)
    return nw_fail(c, NW_ERANGE, NULL, "groups: all groups together have %lld rows, but there are %d rows",
                   (long long)sum, r->rows);
  return most > 1 || nw_fail(c, NW_ERANGE, NULL, "groups: no group has two rows, so there is nothing to rank");
}

static int weights_of(const nw_learn_rows *r, const nw_learn_opts *o) { return o->squares ? r->rows : r->ngroups; }

static bool are_weights(nw_ctx *c, const nw_learn_rows *r, const nw_learn_opts *o) {
  for (int i = 0; r->weight && i < weights_of(r, o); i++)
    if (!(r->weight[i] > 0 && isfinite(r->weight[i])))
      return nw_fail(c, NW_ERANGE, NULL, "weights: %g, weight number %d, must be above 0", (double)r->weight[i], i + 1);
  return true;
}

static bool are_rows(nw_ctx *c, const nw_learn_rows *r) {
  if (r->rows < 1 || r->rows > MOST_ROWS || r->features < 1 || r->features > MOST_FEATURES)
    return nw_fail(c, NW_ERANGE, NULL, "%d rows of %d features are out of range: give 1 to %d rows of 1 to %d features",
                   r->rows, r->features, MOST_ROWS, MOST_FEATURES);
  return are_finite(c, "features", r->feature, (int64_t)r->rows * r->features, r->features) &&
         (!r->margin || are_finite(c, "margins", r->margin, r->rows, 1));
}

static bool is_share(nw_ctx *c, const char *name, double v) {
  return (v > 0 && v <= 1) ||
         nw_fail(c, NW_ERANGE, NULL, "%s: %g is out of range: give a number above 0, at most 1", name, v);
}

static bool are_options(nw_ctx *c, const nw_learn_opts *o) {
  if (o->rounds < 1 || o->rounds > 10000)
    return nw_fail(c, NW_ERANGE, NULL, "rounds: %d is not in 1..10000", o->rounds);
  if (o->forest < 0 || o->forest > 100) return nw_fail(c, NW_ERANGE, NULL, "forest: %d is not in 0..100", o->forest);
  if (!(o->least >= 0 && o->least <= MOST_ROWS))
    return nw_fail(c, NW_ERANGE, NULL, "least: %g rows is out of range: give 0 to %d", o->least, MOST_ROWS);
  if (o->depth < 1 || o->depth > 16) return nw_fail(c, NW_ERANGE, NULL, "depth: %d is not in 1..16", o->depth);
  return is_share(c, "rate", o->rate) && is_share(c, "columns", o->columns) && is_share(c, "sample", o->sample);
}

// ---- calls

static bool done(const nw_learner *m, int result) {
  if (result == 0) return true;
  const char *said = m->lib.XGBGetLastError();
  // only the first line is the message; the other lines are a stack trace
  return nw_fail(m->ctx, NW_EINTERNAL, NULL, "XGBoost: %.*s", (int)strcspn(said, "\n"), said);
}

static bool set(const nw_learner *m, const char *name, const char *value) {
  return done(m, m->lib.XGBoosterSetParam(m->booster, name, value));
}

static bool set_number(const nw_learner *m, const char *name, double value) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", value);
  return set(m, name, text);
}

static bool set_all(const nw_learner *m, const nw_learn_opts *o) {
  return set(m, "objective", o->squares ? "reg:squarederror" : "rank:pairwise") && set(m, "tree_method", "exact") &&
         set(m, "nthread", "1") && set(m, "verbosity", "0") && set_number(m, "seed", o->seed) &&
         set_number(m, "max_depth", o->depth) && set_number(m, "eta", o->rate) &&
         set_number(m, "min_child_weight", o->least > 0 ? o->least : 1) &&
         set_number(m, "num_parallel_tree", o->forest > 0 ? o->forest : 1) && set_number(m, "gamma", 1e-4) &&
         set_number(m, "colsample_bytree", o->columns) && set_number(m, "subsample", o->sample);
}

static bool set_floats(const nw_learner *m, void *d, const char *name, const float *v, int n) {
  return !v || done(m, m->lib.XGDMatrixSetFloatInfo(d, name, v, (uint64_t)n));
}

static bool set_groups(const nw_learner *m, void *d, const nw_learn_rows *r) {
  return done(m, m->lib.XGDMatrixSetUIntInfo(d, "group", (const unsigned *)r->group, (uint64_t)r->ngroups));
}

// Returns the rows in XGBoost's format, or NULL on failure. `o` has the options of the training; it is NULL if the rows
// are for prediction.
static void *matrix(const nw_learner *m, const nw_learn_rows *r, const nw_learn_opts *o) {
  void *d = NULL;
  uint64_t n = (uint64_t)r->rows, width = (uint64_t)r->features;
  bool good = done(m, m->lib.XGDMatrixCreateFromMat_omp(r->feature, n, width, NAN, &d, 1)) &&
              set_floats(m, d, "base_margin", r->margin, r->rows);
  if (good && o)
    good = set_floats(m, d, "label", r->label, r->rows) && (o->squares || set_groups(m, d, r)) &&
           set_floats(m, d, "weight", r->weight, weights_of(r, o));
  if (good) return d;
  if (d) m->lib.XGDMatrixFree(d);
  return NULL;
}

static nw_learner *new_learner(nw_ctx *c, int features) {
  nw_learner *m = nw_xcalloc(1, sizeof *m);
  m->ctx = c;
  m->features = features;
  if (nw_xgboost_open(c, &m->lib)) return m;
  nw_learner_free(m);
  return NULL;
}

// Makes a booster, which is XGBoost's term for a model. The booster takes the number of features from `rows`. If `rows`
// is NULL, it takes this number from the model that is loaded later.
static bool make_booster(nw_learner *m, void *rows) {
  return done(m, m->lib.XGBoosterCreate(&rows, rows ? 1 : 0, &m->booster));
}

void nw_learner_free(nw_learner *m) {
  if (!m) return;
  if (m->booster) m->lib.XGBoosterFree(m->booster);
  nw_xgboost_close(&m->lib);
  free(m);
}

int nw_learner_features(const nw_learner *m) { return m->features; }

// ---- training

static bool train(nw_learner *m, void *rows, int rounds) {
  bool good = true;
  for (int i = 0; i < rounds && good; i++) {
    if (nw_stopped(m->ctx)) good = nw_fail(m->ctx, NW_EINTERRUPT, NULL, "training was interrupted");
    nw_progress(m->ctx, "training", (double)i / rounds);
    good = good && done(m, m->lib.XGBoosterUpdateOneIter(m->booster, i, rows));
  }
  nw_progress_end(m->ctx);
  return good;
}

nw_learner *nw_learn(nw_ctx *c, const nw_learn_rows *r, const nw_learn_opts *o) {
  if (!are_options(c, o) || !are_rows(c, r) || !are_finite(c, "labels", r->label, r->rows, 1) || !are_groups(c, r) ||
      !are_weights(c, r, o))
    return NULL;
  nw_learner *m = new_learner(c, r->features);
  if (!m) return NULL;
  void *d = matrix(m, r, o);
  bool good = d && make_booster(m, d) && set_all(m, o) && train(m, d, o->rounds);
  if (d) m->lib.XGDMatrixFree(d);
  if (good) return m;
  nw_learner_free(m);
  return NULL;
}

// ---- trained models

#define PREDICT                                                                                                        \
  "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false}"

bool nw_learner_predict(const nw_learner *m, const nw_learn_rows *r, float *out) {
  if (!are_rows(m->ctx, r)) return false;
  if (r->features != m->features)
    return nw_fail(m->ctx, NW_ERANGE, NULL, "the model needs rows of %d features, not %d", m->features, r->features);
  void *d = matrix(m, r, NULL);
  if (!d) return false;
  const uint64_t *shape = NULL;
  uint64_t dims = 0;
  const float *score = NULL;
  bool good = done(m, m->lib.XGBoosterPredictFromDMatrix(m->booster, d, PREDICT, &shape, &dims, &score));
  if (good && !(dims >= 1 && shape[0] == (uint64_t)r->rows))
    good = nw_fail(m->ctx, NW_EINTERNAL, NULL, "XGBoost did not return one score for each row");
  if (good) memcpy(out, score, sizeof *out * (size_t)r->rows);
  m->lib.XGDMatrixFree(d);
  return good;
}

char *nw_learner_text(const nw_learner *m) {
  uint64_t n = 0;
  const char *bytes = NULL;
  if (!done(m, m->lib.XGBoosterSaveModelToBuffer(m->booster, "{\"format\": \"json\"}", &n, &bytes))) return NULL;
  char *text = nw_xmalloc(n + 1);
  memcpy(text, bytes, n);
  text[n] = 0;
  return text;
}

nw_learner *nw_learner_read(nw_ctx *c, const char *text) {
  nw_learner *m = new_learner(c, 0);
  if (!m) return NULL;
  uint64_t n = 0;
  bool good = make_booster(m, NULL) && set(m, "nthread", "1") && set(m, "verbosity", "0") &&
              done(m, m->lib.XGBoosterLoadModelFromBuffer(m->booster, text, strlen(text))) &&
              done(m, m->lib.XGBoosterGetNumFeature(m->booster, &n));
  m->features = n <= MOST_FEATURES ? (int)n : 0;
  if (good && m->features > 0) return m;
  nw_learner_free(m);
  char *why = good ? NULL : nw_xstrdup(nw_error(c)->message);
  nw_clear(c);
  nw_fail(c, NW_EPARSE, NULL, "XGBoost cannot read this model%s%s", why ? ": " : "", why ? why : "");
  free(why);
  return NULL;
}
