// Tests whether an intrinsic's implementation computes what its description says.
#pragma once
#include "check/inside.h"
#include "ir/program/intrinsic.h"

// Runs the function of in->library in the worker on tiles with several strides and positions. Checks every element and
// all surrounding memory. Returns false if a check fails. The diagnostic then describes the error and gives the
// strides.
bool nw_trial(nw_ctx *c, const nw_intrinsic *in, double timeout);
