// Loops that a fused loop was split into, put together again. Private to poly/; see docs/fused.md.
#pragma once
#include "poly/internal.h"

// What the judge looks at in place of p: p itself, where nothing can be put together. NULL, and a diagnostic, where isl gave
// up. Cached in the program.
const nw_whole *nw_whole_of(const nw_program *p, nw_family *known);
void nw_whole_drop(const nw_program *p);
