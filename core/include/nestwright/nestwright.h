// Public interface of the core. Every name is prefixed nw_ or NW_.
//
// Ownership. A nw_ctx is one session; threads must not share it. Objects with a _retain/_release pair are
// reference counted; a function that returns one gives the caller a reference unless its comment says "borrowed".
// Every other result (an expression, a diagnostic, a program of a schedule) is borrowed and lives as long as the object
// from which it was obtained. `char *` results are heap strings that the caller must free(); `const char *` results are
// borrowed.
//
// Errors. A function that can fail returns NULL or false and leaves a diagnostic in the context. The first failure is
// kept until nw_clear. A function that gets NULL as an operand returns NULL, so a chain of calls needs only one check,
// at its end.
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
