// What a schedule remembers of a step that was refused. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_refused_keep(nw_step *st); // what the context holds
void nw_refused_forget(nw_sched *s);
