#include "run/temp.h"
#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *nw_temp_dir(nw_ctx *c) {
  const char *tmp = getenv("TMPDIR");
  nw_str path = {0};
  nw_str_fmt(&path, "%s/nestwright-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (mkdtemp(path.s)) return nw_str_take(&path);
  nw_fail(c, NW_EIO, NULL, "cannot make a directory %s: %s", path.s, nw_file_reason(errno));
  nw_str_free(&path);
  return NULL;
}

void nw_temp_remove(char *dir) {
  DIR *d = dir ? opendir(dir) : NULL;
  for (struct dirent *e; d && (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
  if (dir) rmdir(dir);
  free(dir);
}

bool nw_write_file(nw_ctx *c, const char *path, const void *data, size_t n) {
  nw_str why = {0};
  return nw_file_write(path, NW_FILE_QUICK, data, n, &why) || nw_file_fail(c, NULL, &why);
}
