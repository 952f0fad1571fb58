// Files that go soon.
#pragma once
#include "run/run.h"

char *nw_temp_dir(nw_ctx *c); // a fresh directory; heap, NULL and a diagnostic when it cannot be made
void nw_temp_remove(char *dir); // and the files in it; frees the name
bool nw_write_file(nw_ctx *c, const char *path, const char *text, size_t n);
