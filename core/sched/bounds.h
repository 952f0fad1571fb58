// Bounds of loops that depend on other loops. Private to sched/.
#pragma once
#include "sched/sched.h"

bool nw_loop_depends(const nw_stmt *loop, const nw_stmt *on); // its bounds, on the other's variable
// Does its begin vary with a loop around it? The path ends in the loop.
bool nw_begin_varies(const nw_path *path);

// Gives the n loops of a perfect nest, which stand in the order `was`, bounds for the order `now`: the same points, run
// through in another order. Outer loops may get rounds in which the inner ones have nothing to do. A structural refusal
// where the bounds are not affine.
bool nw_rebound(nw_step *st, int n, nw_stmt *const *was, nw_stmt *const *now);
