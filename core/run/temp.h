// Files that go soon.
#pragma once
#include "run/run.h"

// A fresh directory that is the user's alone, so that names in it need not be unguessable; heap, NULL and a diagnostic when it
// cannot be made.
NW_API char *nw_temp_dir(nw_ctx *c);
void nw_temp_remove(char *dir); // and the files in it; frees the name
bool nw_write_file(nw_ctx *c, const char *path, const void *data, size_t n); // in such a directory
