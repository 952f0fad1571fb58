// Public interface of the core. Every name is prefixed nw_ or NW_.
//
// Ownership. A nw_ctx is one session; it is not shared between threads. Objects with a _retain/_release pair are
// counted; a function that returns one gives the caller a count unless it says "borrowed". Everything else that is
// returned (expressions, diagnostics, programs reached through a schedule) is borrowed and lives as long as the
// object it was asked from. `char *` results are heap strings for the caller to free(); `const char *` are borrowed.
//
// Errors. A function that can fail returns NULL or false and leaves a diagnostic in the context; the first failure
// wins until nw_clear. A NULL operand is passed through, so a chain of calls needs one check at its end.
#pragma once
#include "nestwright/session.h"
#include "nestwright/expr.h"
#include "nestwright/te.h"
#include "nestwright/target.h"
#include "nestwright/program.h"
#include "nestwright/sched.h"
#include "nestwright/array.h"
#include "nestwright/run.h"
#include "nestwright/machine.h"
#include "nestwright/intrinsic.h"
#include "nestwright/check.h"
#include "nestwright/access.h"
#include "nestwright/lowered.h"
#include "nestwright/cache.h"
#include "nestwright/cost.h"
#include "nestwright/learn.h"
#include "nestwright/nest.h"
