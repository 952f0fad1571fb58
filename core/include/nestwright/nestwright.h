// Includes all public headers of the core. Every public name begins with nw_ or NW_.
//
// Ownership: An nw_ctx is one session; threads must not share it. Objects that have a _retain and a _release function
// are reference counted. If a function returns such an object, the caller gets a reference, except where a comment says
// "borrowed". Every other result (an expression, a diagnostic, a program of a schedule) is borrowed, and lives as long
// as the object from which it was obtained. `char *` results are heap strings that the caller must free().
// `const char *` results are borrowed.
//
// Errors: A function that can fail returns NULL or false, and leaves a diagnostic in the context. The first diagnostic
// is kept until nw_clear. A function that gets NULL as an operand returns NULL, so a chain of calls needs only one
// check, at its end.
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
#include "nestwright/launches.h"
#include "nestwright/cache.h"
#include "nestwright/device.h"
#include "nestwright/gpu_cost.h"
#include "nestwright/cost.h"
#include "nestwright/learn.h"
#include "nestwright/nest.h"
