// Models that rank, learned from measurements.
#pragma once
#include "nestwright/session.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- models that rank, learned from measurements
typedef struct nw_learn_rows {
  int rows, features;
  const float *feature; // row after row
  const float *margin; // what a row's score begins with; NULL: 0
  const float *label; // more is better; of no matter where scores are asked for
  int ngroups;
  const int *group; // rows of each group: only those of one group are compared with each other
  const float *weight; // of each row where labels are to be met, of each group where their order is; NULL: 1
} nw_learn_rows;
typedef struct nw_learn_opts {
  int rounds, depth, seed;
  double rate; // of what each round adds
  double columns, sample; // shares of features and rows that each tree sees
  int forest; // trees of a round, averaged; 0: 1
  double least; // rows of a leaf, or their weight; 0: 1
  bool squares; // the labels are to be met; otherwise their order within each group
} nw_learn_opts;
typedef struct nw_learner nw_learner;
NW_API nw_learner *nw_learn(nw_ctx *c, const nw_learn_rows *r, const nw_learn_opts *o);
NW_API void nw_learner_free(nw_learner *m);
NW_API int nw_learner_features(const nw_learner *m);
NW_API bool nw_learner_predict(const nw_learner *m, const nw_learn_rows *r, float *out); // a score a row
NW_API char *nw_learner_text(const nw_learner *m); // on the heap
NW_API nw_learner *nw_learner_read(nw_ctx *c, const char *text);

#ifdef __cplusplus
}
#endif
