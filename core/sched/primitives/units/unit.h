// Units, which are nests that steps move as a whole. Private to sched/.
#pragma once
#include "sched/sched.h"

// Checks after a step that no unit was taken apart: each block that was in a unit, and still exists, is still in it.
// Otherwise makes a refusal.
bool nw_units_hold(nw_step *st);
// Returns the innermost unit around the last statement of the path, from path->at[from] inwards; NULL if there is none.
const nw_stmt *nw_unit_around(const nw_path *path, int from);
// Moves a unit to its readers, into the loop, or to the root if `loop` is NULL. If `reverse` is true, moves it to the
// stages that it reads. `index` is as in nw_lifted.
bool nw_move_unit(nw_step *st, nw_stmt *unit, nw_stmt *loop, int index, bool reverse);
bool nw_moves_units(const nw_primitive *row); // true if the step can move a unit
void nw_suggest_units(nw_step *st); // suggests steps that concern the units around the arguments of a refused step
