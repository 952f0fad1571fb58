// Finding and opening the module with LLVM in it.
#include "run/kernel.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MODULE "nestwright-jit.so"

static void *open_beside(const char *library, const char *relative) {
  char path[4096];
  const char *slash = strrchr(library, '/');
  int dir = slash ? (int)(slash - library) : 1;
  snprintf(path, sizeof path, "%.*s%s%s", dir, slash ? library : ".", relative, MODULE);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// Local symbols: another user of LLVM in the process does not clash with ours.
static void *open_module(void) {
  const char *given = getenv("NESTWRIGHT_JIT");
  Dl_info here;
  if (given && *given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
  if (!dladdr((void *)nw_session_jit, &here) || !here.dli_fname) return NULL;
  void *m = open_beside(here.dli_fname, "/");
  return m ? m : open_beside(here.dli_fname, "/../lib/");
}

nw_jit *nw_session_jit(nw_ctx *c) {
  nw_session *s = nw_session_of(c);
  char error[512] = "";
  if (s->jit) return s->jit;
  if (!s->library) s->library = open_module();
  nw_jit_entry_fn entry = s->library ? (nw_jit_entry_fn)dlsym(s->library, "nw_jit_entry") : NULL;
  if (!entry)
    return nw_fail(c, NW_ECODEGEN, "NESTWRIGHT_JIT can name the file", "cannot open %s, which makes machine code: %s",
                   MODULE, dlerror());
  s->api = entry();
  s->jit = s->api->open(error, sizeof error);
  return s->jit ? s->jit : nw_fail(c, NW_ECODEGEN, NULL, "%s", error);
}
