// An intrinsic's implementation against its description, on tiles.
#pragma once
#include "check/inside.h"
#include "ir/program/intrinsic.h"

// Runs the function of in->library in the worker on tiles of several strides and places, and looks at every element and at
// all memory around. False with a diagnostic: what it did, with the strides it was given.
bool nw_trial(nw_ctx *c, const nw_intrinsic *in, double timeout);
