// Completes a refusal: the step, the picture, and suggestions that were tried. Private to sched/.
#pragma once
#include "sched/sched.h"

// Makes the picture of a program that the judge refused, before the program is freed. Other failures are unchanged.
void nw_refusal_picture(nw_step *st, const nw_program *refused);
// Adds step text, message, the picture of a structural refusal, and alternatives. Failures that are not refusals are unchanged.
void nw_refusal_fill(nw_step *st);
