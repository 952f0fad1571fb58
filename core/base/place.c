// Finds the directory for data that is kept between sessions, such as measurements of the machine and the histories of
// the prompt and of the Jupyter kernel.
#include "base/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool nw_make_dirs(char *dir, unsigned mode) {
  for (char *p = dir + 1; *p; p++) {
    if (*p != '/') continue;
    *p = '\0';
    bool failed = mkdir(dir, mode) && errno != EEXIST;
    *p = '/';
    if (failed) return false;
  }
  return !mkdir(dir, mode) || errno == EEXIST;
}

static bool state_path(char *out, size_t n) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state && *state == '/') return snprintf(out, n, "%s/nestwright", state) < (int)n;
  return home && *home && snprintf(out, n, "%s/.local/state/nestwright", home) < (int)n;
}

static bool state_dir(char *out, size_t n, nw_str *why) {
  if (!state_path(out, n)) return false;
  if (!nw_make_dirs(out, 0700)) {
    nw_str_fmt(why, "cannot make %s: %s", out, nw_file_reason(errno));
    errno = ENOENT;
    return false;
  }
  int fd = nw_file_open_dir(out, NW_FILE_OWN, why);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

bool nw_state_dir(char *out, size_t n) {
  nw_str why = {0};
  bool good = state_dir(out, n, &why);
  nw_str_free(&why);
  return good;
}

bool nw_state_file(char *out, size_t n, const char *name, nw_str *why) {
  if (!state_dir(out, n, why)) return false;
  size_t at = strlen(out);
  if (snprintf(out + at, n - at, "/%s", name) < (int)(n - at)) return true;
  nw_str_fmt(why, "cannot use %s: %s", out, nw_file_reason(ENAMETOOLONG));
  return false;
}
