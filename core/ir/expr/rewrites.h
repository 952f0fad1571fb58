// Lists the rewrites that are written by hand (see rewrites.def).
#pragma once
#include "ir/expr/expr.h"

typedef enum nw_rewrite_id {
#define NW_REWRITE(room, name, what) NW_REWRITE_##name,
#include "ir/expr/rewrites.def"
#undef NW_REWRITE
  NW_REWRITE_COUNT
} nw_rewrite_id;

// NW_BY(name, e) is e. The argument e is the result of the rewrite, or NULL if the rewrite did not apply. Test builds
// count the applications of each rewrite.
#ifdef NW_MUTANTS
const nw_expr *nw_rewritten(nw_rewrite_id by, const nw_expr *e);
uint64_t nw_rewrite_uses(nw_rewrite_id by);
#define NW_BY(name, e) nw_rewritten(NW_REWRITE_##name, e)
#define NW_REWRITES_COUNTED true
#else
#define NW_REWRITES_COUNTED false
static inline uint64_t nw_rewrite_uses(nw_rewrite_id by) { return (void)by, 0; }
#define NW_BY(name, e) ((void)NW_REWRITE_##name, (e))
#endif
