// Completes a refusal with the text of the step, a picture of the loops, and suggested steps. Private to sched/.
#pragma once
#include "sched/sched.h"

// If the judge refused a program, draws the picture before the program is freed. Leaves other failures unchanged.
void nw_refusal_picture(nw_step *st, const nw_program *refused);
// Adds the text of the step, the message, alternatives and, if the refusal has no picture yet, the picture. Leaves
// failures that are not refusals unchanged.
void nw_refusal_fill(nw_step *st);
