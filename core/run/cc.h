// Declares a function that runs the system's C compiler.
#pragma once
#include "run/run.h"

// Runs the command of the linker l or, if l is NULL, `$CC` (default cc). `args` are the arguments of the command
// without argv[0], NULL-terminated. Returns false, with a diagnostic, on failure. The error is NW_EIO if the program is
// missing. If the program fails, the diagnostic contains its output.
bool nw_cc(nw_ctx *c, const nw_linker *l, const char *const *args);
