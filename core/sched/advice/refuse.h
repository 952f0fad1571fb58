// A refusal, filled in: what was asked, the picture, and ways on that were tried. Private to sched/.
#pragma once
#include "sched/sched.h"

// The picture of a program the judge refused, before that program goes. Does nothing to other failures.
void nw_refusal_picture(nw_step *st, const nw_program *refused);
// Step text, message, the picture of a structural refusal, alternatives. Does nothing to failures that are no refusals.
void nw_refusal_fill(nw_step *st);
