// Drops stages that no output needs. Private to sched/.
#pragma once
#include "sched/sched.h"

// Returns the program without the stages and outputs of stages that no output of the program needs, directly or through
// other stages, and adds their names to `names`, as in "A, B and C". The new program has the version number of p, and
// is not judged. Returns NULL if there are none, and NULL with an error if the new program is not valid.
nw_program *nw_without_unread(const nw_program *p, nw_str *names);
// Drops such stages from the program of a step that was accepted, with a note, if the judge agrees. Returns the program
// to use, and takes over the reference to p. Returns NULL, with an error, if the user interrupts the judge.
nw_program *nw_step_drop_unread(nw_step *st, nw_program *p);
// Does the same for the naive program of a schedule, which is not judged by comparison. *note is a sentence about the
// dropped stages, which the caller frees, or NULL.
nw_program *nw_first_drop_unread(nw_program *p, char **note);
