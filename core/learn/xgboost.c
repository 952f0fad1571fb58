// Loads the XGBoost library.
#include "learn/xgboost.h"
#ifdef NW_XGBOOST
#include <dlfcn.h>
#include <xgboost/c_api.h>

// Checks that the types in the table are equal to those in XGBoost's header.
#define NW_ROW(type, name, params) _Static_assert(_Generic(name, type(*) params : 1, default : 0), #name);
NW_XGBOOST_FUNCTIONS(NW_ROW)
_Static_assert(sizeof(bst_ulong) == sizeof(uint64_t), "bst_ulong");

static bool find(nw_ctx *c, const nw_xgboost *x, const char *name, void *to) {
  void *at = dlsym(x->library, name);
  memcpy(to, &at, sizeof at); // C has no cast from an object pointer to a function pointer
  return at ||
         nw_fail(c, NW_ELIMIT, "install version 1.6 or later", "this version of XGBoost has no function %s", name);
}
#undef NW_ROW

bool nw_xgboost_open(nw_ctx *c, nw_xgboost *x) {
  *x = (nw_xgboost){.library = dlopen(NW_XGBOOST, RTLD_NOW | RTLD_LOCAL)};
  if (!x->library) return nw_fail(c, NW_ELIMIT, "install libxgboost0", "learned models need XGBoost: %s", dlerror());
  bool good = true;
#define NW_ROW(type, name, params) good = good && find(c, x, #name, &x->name);
  NW_XGBOOST_FUNCTIONS(NW_ROW)
#undef NW_ROW
  if (!good) nw_xgboost_close(x);
  return good;
}

void nw_xgboost_close(nw_xgboost *x) {
  if (x->library) dlclose(x->library);
  x->library = NULL;
}

#else

bool nw_xgboost_open(nw_ctx *c, nw_xgboost *x) {
  x->library = NULL;
  return nw_fail(c, NW_ELIMIT, "install libxgboost-dev and rebuild",
                 "learned models need XGBoost, which this build lacks");
}

void nw_xgboost_close(nw_xgboost *x) { (void)x; }

#endif
