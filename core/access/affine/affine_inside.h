// Proves that the references of a nest stay inside their arrays.
#pragma once
#include "access/affine/affine.h"

// The number of a reference's site for which that is not seen; -1: all of them do. It is proved from the bounds of loops and the
// guards around, each an inequality, or seen by trying all of them where they are few: what is true in a large nest, but follows
// from these only as integers or from no few of them, is not seen. Interrupted: one of them.
int nw_affine_outside(nw_ctx *c, const nw_affine_nest *n);
