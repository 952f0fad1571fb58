// Stores a refused step in its schedule. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_refused_keep(nw_step *st); // records the failure that the context holds, in st->sched
void nw_refused_forget(nw_sched *s);
