// Where what outlives a session is kept: histories of the prompt and the kernel, what was measured of the machine.
#include "base/base.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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

bool nw_state_dir(char *out, size_t n) { return state_path(out, n) && nw_make_dirs(out, 0700); }
