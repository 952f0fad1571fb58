// Proves that the references of a nest stay inside their arrays.
#pragma once
#include "access/affine/affine.h"

// Returns the site of a reference for which there is no proof, or -1 if every reference stays inside. The proof uses the bounds
// of loops and the enclosing guards, as inequalities over rationals; small nests are enumerated instead. In a large nest, a fact
// that needs integer reasoning or many inequalities is not proved. When interrupted, returns some site.
int nw_affine_outside(nw_ctx *c, const nw_affine_nest *n);
