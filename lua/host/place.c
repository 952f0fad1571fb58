// Where what outlives a session is kept. The prompt and the kernel have their histories there.
#include "inside.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool nwh_make_dirs(char *dir, unsigned mode) {
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

bool nwh_state_dir(char *out, size_t n) { return state_path(out, n) && nwh_make_dirs(out, 0700); }
