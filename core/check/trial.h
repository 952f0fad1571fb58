// Tests whether an intrinsic's implementation computes what its description says.
#pragma once
#include "check/inside.h"
#include "ir/program/intrinsic.h"

// Runs the function of in->library in the worker on tiles with several strides and positions. Checks every element and
// all surrounding memory. Returns false if a check fails. The diagnostic then describes the error and gives the
// strides.
bool nw_trial(nw_ctx *c, const nw_intrinsic *in, double timeout);
// Executes the instruction of a warp as the simulated GPU does, and compares the results with the description: for each
// lane and each place of a fragment, with one element that is not 0, and then for random tiles. Returns false, with a
// diagnostic that names the lane, if they differ.
bool nw_trial_warp(nw_ctx *c, const nw_intrinsic *in);
