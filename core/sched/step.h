// Makes the program of a step, without adding a version to the schedule. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_step_begin(nw_step *st, nw_sched *s, const nw_primitive *row, const nw_arg *args);
// Returns the new program, which the caller must release. On failure, returns NULL with a diagnostic.
nw_program *nw_step_make(nw_step *st);
void nw_step_end(nw_step *st);
