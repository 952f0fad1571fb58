// In builds for tests, counts the applications of each rewrite.
#include "ir/expr/rewrites.h"
#ifdef NW_MUTANTS
#include <stdatomic.h>

static _Atomic uint64_t uses[NW_REWRITE_COUNT];

const nw_expr *nw_rewritten(nw_rewrite_id by, const nw_expr *e) {
  if (e) atomic_fetch_add_explicit(&uses[by], 1, memory_order_relaxed);
  return e;
}

uint64_t nw_rewrite_uses(nw_rewrite_id by) { return atomic_load_explicit(&uses[by], memory_order_relaxed); }
#endif
