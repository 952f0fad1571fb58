// Temporary files.
#pragma once
#include "run/run.h"

// Makes a directory that only the user can access, so that its file names may be predictable. Returns its name, on the
// heap; NULL and a diagnostic on failure.
NW_API char *nw_temp_dir(nw_ctx *c);
void nw_temp_remove(char *dir); // removes the directory and its files; frees the name
bool nw_write_file(nw_ctx *c, const char *path, const void *data, size_t n); // writes a file in such a directory
