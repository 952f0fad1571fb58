// Finds and opens the module that contains LLVM.
#include "run/kernel.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MODULE "nestwright-jit.so"

// Finds a file that belongs to this library, in a build tree or in an installation. If the environment variable is set,
// it contains the path. Otherwise, the file is searched for in the folder of the library, and in the folders lib, bin
// and libexec beside it. Returns false if no file is found.
bool nw_find_library(const char *variable, const char *name, char *path, size_t n) {
  static const char *const places[] = {"/", "/../lib/", "/../bin/", "/../libexec/"};
  const char *given = getenv(variable);
  Dl_info here;
  if (given && *given) return snprintf(path, n, "%s", given) < (int)n;
  if (!dladdr((void *)nw_session_jit, &here) || !here.dli_fname) return false;
  const char *slash = strrchr(here.dli_fname, '/');
  int dir = slash ? (int)(slash - here.dli_fname) : 1;
  for (int i = 0; i < NW_COUNT(places); i++)
    if (snprintf(path, n, "%.*s%s%s", dir, slash ? here.dli_fname : ".", places[i], name) < (int)n &&
        !access(path, R_OK))
      return true;
  return false;
}

// Opens the module. Its symbols are local, so that they do not clash with another copy of LLVM in the process.
static void *open_module(void) {
  char path[4096];
  return nw_find_library("NESTWRIGHT_JIT", MODULE, path, sizeof path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static const char *dlerror_text(void) {
  const char *why = dlerror();
  return why ? why : "there is no such file";
}

// LLVM ends the process if it gets no memory, so the available memory is checked first. With LLVM 19, opening needs 185
// MB of address space, and compiling 50,000 instructions needs 32 MB.
enum { TO_OPEN = 224 << 20, TO_COMPILE = 24 << 20, AN_INSTRUCTION = 1024 };

nw_jit *nw_session_jit(nw_ctx *c, int64_t instructions) {
  nw_session *s = nw_session_of(c);
  char error[512] = "";
  uint64_t bytes = (s->library ? 0 : TO_OPEN) + TO_COMPILE + (uint64_t)instructions * AN_INSTRUCTION;
  if (!nw_room_for(c, "the compiler", bytes)) return NULL;
  if (s->jit) return s->jit;
  if (!s->library) s->library = open_module();
  nw_jit_entry_fn entry = s->library ? (nw_jit_entry_fn)dlsym(s->library, "nw_jit_entry") : NULL;
  if (!entry)
    return nw_fail(c, NW_ECODEGEN, "set NESTWRIGHT_JIT to the path of the module",
                   "cannot open %s, the code generator: %s", MODULE,
                   s->library ? "it does not belong to this library" : dlerror_text());
  s->api = entry();
  s->jit = s->api->open(error, sizeof error);
  return s->jit ? s->jit : nw_fail(c, NW_ECODEGEN, NULL, "%s", error);
}
