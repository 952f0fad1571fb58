// Computes the bounds of loops that depend on other loops. Private to sched/.
#pragma once
#include "sched/sched.h"

bool nw_loop_depends(const nw_stmt *loop, const nw_stmt *on); // true if the bounds of `loop` use the variable of `on`
// True if the begin of the last loop of the path depends on an enclosing loop.
bool nw_begin_varies(const nw_path *path);

// Computes new bounds for n loops of a perfect nest whose order changes from `was` to `now`. With these bounds, the
// loops run over the same points as before. Outer loops may get iterations in which the inner loops are empty. Makes a
// structural refusal and returns false if the bounds are not affine, or if the system has too many terms.
bool nw_rebound(nw_step *st, int n, nw_stmt *const *was, nw_stmt *const *now);
