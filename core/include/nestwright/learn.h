// Declares learned models, which predict measured values or rank candidates. They are trained on measurements.
#pragma once
#include "nestwright/session.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- models
typedef struct nw_learn_rows {
  int rows, features;
  const float *feature; // the features of all rows, one row after the other
  const float *margin; // initial score of each row; NULL: all are 0
  const float *label; // the measured value of each row; larger is better; not used for prediction
  int ngroups;
  const int *group; // number of rows of each group; only rows of the same group are compared
  const float *weight; // weights of the rows (regression) or of the groups (ranking); NULL: all are 1
} nw_learn_rows;
typedef struct nw_learn_opts {
  int rounds, depth, seed;
  double rate; // learning rate
  double columns, sample; // columns: fraction of the features that a tree uses; sample: fraction of the rows
  int forest; // number of trees per boosting round; 0 means 1; the scores of these trees are averaged
  double least; // least number of rows (or sum of weights) in a leaf; 0 means 1
  bool squares; // true: regression on the labels; false: ranking within each group
} nw_learn_opts;
typedef struct nw_learner nw_learner;
NW_API nw_learner *nw_learn(nw_ctx *c, const nw_learn_rows *r, const nw_learn_opts *o);
NW_API void nw_learner_free(nw_learner *m);
NW_API int nw_learner_features(const nw_learner *m);
NW_API bool nw_learner_predict(const nw_learner *m, const nw_learn_rows *r, float *out); // one score per row
NW_API char *nw_learner_text(const nw_learner *m); // on the heap
NW_API nw_learner *nw_learner_read(nw_ctx *c, const char *text);

#ifdef __cplusplus
}
#endif
