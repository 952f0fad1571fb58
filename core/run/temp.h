// Declares functions for temporary files.
#pragma once
#include "run/run.h"

// Makes a directory that only the user can access. So the names of files in the directory may be predictable. Returns
// the path of the directory, on the heap. Returns NULL, with a diagnostic, on failure.
NW_API char *nw_temp_dir(nw_ctx *c);
void nw_temp_remove(char *dir); // removes the directory and its files, and frees `dir`
bool nw_write_file(nw_ctx *c, const char *path, const void *data, size_t n); // writes a file in such a directory
