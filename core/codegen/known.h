// Tells a code generator what is known at a statement of a kernel for a GPU. The generators in nestwright-jit may not use the
// functions of ir/expr/range.h.
#pragma once
#include "lower/launch.h"

// The ranges of the sizes, of the indices of the grid and of the loops around, and the facts. nw_known_enter adds what holds
// inside a loop or a guard, and nw_known_leave removes it.
NW_API nw_ranges *nw_known_open(const nw_program *p, const nw_launch *l);
NW_API void nw_known_enter(nw_ranges *known, const nw_stmt *s);
NW_API void nw_known_leave(nw_ranges *known, const nw_stmt *s);
NW_API bool nw_known_divides(const nw_ranges *known, const nw_expr *e, int64_t m); // true if m divides e
NW_API void nw_known_close(nw_ranges *known);
NW_API const char *nw_known_index(int d); // nw_grid_index[d]
