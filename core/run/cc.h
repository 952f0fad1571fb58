// The system's C compiler, called as a program.
#pragma once
#include "run/run.h"

// Runs `$CC` (cc unless set), or the linker's command, with these arguments, NULL-terminated, without argv[0]. Fails with NW_EIO
// when there is none, and with what it said when it refuses. l: NULL: the system's own.
bool nw_cc(nw_ctx *c, const nw_linker *l, const char *const *args);
