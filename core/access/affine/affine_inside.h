// Proves that the references of a nest stay inside their arrays.
#pragma once
#include "access/affine/affine.h"

// Returns -1 if every reference was proved to stay inside, otherwise the site of a reference without a proof. The proof
// treats the bounds of loops and the enclosing guards as inequalities over rationals. If the proof fails in a small
// nest, all iterations are enumerated. In a large nest, a reference can be reported although it is inside, since the
// proof fails if it needs integer reasoning or many inequalities. When interrupted, returns the site of some reference.
int nw_affine_outside(nw_ctx *c, const nw_affine_nest *n);
