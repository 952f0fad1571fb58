// Makes the program of a step, without adding a version to the schedule. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_step_begin(nw_step *st, nw_sched *s, const nw_primitive *row, const nw_arg *args);
nw_program *nw_step_make(nw_step *st); // the new program, for the caller to release; NULL with a diagnostic if illegal
void nw_step_end(nw_step *st);
