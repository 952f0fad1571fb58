// Declares the work that every step does after its primitive has edited the program. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_tidy(nw_step *st); // simplifies changed expressions with the ranges around them
// Simplifies all expressions, because a new fact may make any of them simpler.
void nw_tidy_all(nw_step *st);
