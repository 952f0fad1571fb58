// Runs scripts and the code of option -e, and reports failures.
#include "repl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool interrupted;
static bool in_script; // true while a script or the code of option -e runs

bool nwr_was_interrupted(void) { return interrupted; }

bool nwr_colour(int fd) {
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

// The remarks are about the steps before the one that failed, so they come before the error. A script has already written
// them.
bool nwr_report(nwh *h, nwh_status status) {
  interrupted = status == NWH_INTERRUPTED;
  if (status == NWH_OK) return true;
  char *text = nwh_error_text(h, nwr_colour(STDERR_FILENO)), *notes = in_script ? NULL : nwh_notes(h);
  if (notes) printf("%s\n", notes);
  free(notes);
  fflush(stdout);
  fprintf(stderr, "%s\n", text ? text : "out of memory");
  free(text);
  return false;
}

static int status_of(bool ok) { return ok ? EXIT_SUCCESS : interrupted ? NWR_INTERRUPTED : EXIT_FAILURE; }

// Runs the function that lies on the stack below its `narg` arguments. Remarks of its steps are written when they arise
// (lua/nestwright/show/remarks.lua).
static int run(nwh *h, int narg) {
  nwh_in_script(h, in_script = true);
  bool good = nwr_report(h, nwh_call(h, narg, 0));
  nwh_in_script(h, in_script = false);
  return status_of(good);
}

int nwr_file(nwh *h, const char *path, int narg) {
  lua_State *L = nwh_lua(h);
  bool standard = strcmp(path, "-") == 0;
  if (luaL_loadfile(L, standard ? NULL : path) != LUA_OK) {
    nwr_report(h, NWH_ERROR);
    lua_pop(L, narg);
    return EXIT_FAILURE;
  }
  lua_insert(L, -(narg + 1));
  return run(h, narg);
}

int nwr_string(nwh *h, const char *code) {
  static const char name[] = "=(command line)";
  lua_State *L = nwh_lua(h);
  nwh_keep_source(h, name, code);
  if (luaL_loadbuffer(L, code, strlen(code), name) != LUA_OK) return status_of(nwr_report(h, NWH_ERROR));
  return run(h, 0);
}
