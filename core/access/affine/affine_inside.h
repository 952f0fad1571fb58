// Proves that the references of a nest stay inside their arrays.
#pragma once
#include "access/affine/affine.h"

// Returns the site of a reference that was not proved to stay inside, or -1 if there is none. The proof treats the
// bounds of loops and the enclosing guards as inequalities over rationals. If it fails in a small nest, all iterations
// are enumerated. In a large nest, a reference can be reported although it is inside: the proof fails if it needs
// integer reasoning or many inequalities. When interrupted, returns the site of some reference.
int nw_affine_outside(nw_ctx *c, const nw_affine_nest *n);
