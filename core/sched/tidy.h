// After a primitive has edited a program: what every step does. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_tidy(nw_step *st); // simplifies what changed under the ranges around it
bool nw_storage_holds(nw_step *st); // every temporary exists wherever it is used; else a structural refusal
