// The system's C compiler, called as a program.
#pragma once
#include "run/run.h"

// Runs `$CC` (default cc), or the linker's command, with these arguments, NULL-terminated, without argv[0]. Fails with NW_EIO if
// the program is missing, and with its output if it fails. l: NULL: the system's linker.
bool nw_cc(nw_ctx *c, const nw_linker *l, const char *const *args);
