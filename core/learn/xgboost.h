// Loads the XGBoost library at its first use, so that a session without learned models does not load it. Private to
// learn.c.
#pragma once
#include "base/base.h"

// Lists the functions of XGBoost that are used. A row has the result type, the name and the parameter types of a
// function. A function that returns an int returns 0 on success. On failure it returns -1, and XGBGetLastError returns
// the reason.
#define NW_XGBOOST_FUNCTIONS(X)                                                                                        \
  X(int, XGDMatrixCreateFromMat_omp, (const float *, uint64_t, uint64_t, float, void **, int))                         \
  X(int, XGDMatrixSetFloatInfo, (void *, const char *, const float *, uint64_t))                                       \
  X(int, XGDMatrixSetUIntInfo, (void *, const char *, const unsigned *, uint64_t))                                     \
  X(int, XGDMatrixFree, (void *))                                                                                      \
  X(int, XGBoosterCreate, (void *const *, uint64_t, void **))                                                          \
  X(int, XGBoosterFree, (void *))                                                                                      \
  X(int, XGBoosterSetParam, (void *, const char *, const char *))                                                      \
  X(int, XGBoosterUpdateOneIter, (void *, int, void *))                                                                \
  X(int, XGBoosterPredictFromDMatrix, (void *, void *, const char *, const uint64_t **, uint64_t *, const float **))   \
  X(int, XGBoosterSaveModelToBuffer, (void *, const char *, uint64_t *, const char **))                                \
  X(int, XGBoosterLoadModelFromBuffer, (void *, const void *, uint64_t))                                               \
  X(int, XGBoosterGetNumFeature, (void *, uint64_t *))                                                                 \
  X(const char *, XGBGetLastError, (void))

typedef struct nw_xgboost {
  void *library;
#define NW_ROW(type, name, params) type(*name) params;
  NW_XGBOOST_FUNCTIONS(NW_ROW)
#undef NW_ROW
} nw_xgboost;

// Returns false, with a diagnostic of kind NW_ELIMIT, if this build has no support for XGBoost, or if XGBoost is not
// installed.
bool nw_xgboost_open(nw_ctx *c, nw_xgboost *x);
void nw_xgboost_close(nw_xgboost *x);
