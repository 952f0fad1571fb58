// The back end for CPUs. LLVM generates the code. Code for this host is run here; code for other CPUs is only linked.
#include "run/gpu/backend.h"
#include "run/kernel.h"
#include <stdlib.h>

// For each instruction set: the C compiler that links for it on another host, and the libraries with the math
// functions.
static const struct linker {
  const char *command, *package;
  const char *const libraries[3];
} linkers[NW_ISA_COUNT] = {
    [NW_ISA_X86_64] = {"x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu", {"-lm", "-lmvec"}},
    [NW_ISA_AARCH64] = {"aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", {"-lm"}},
};

static nw_jit *jit_of(const nw_kernel *k) { return nw_session_jit(k->ctx, k->exec->instructions); }

static const nw_jit_api *api_of(const nw_kernel *k) { return nw_session_of(k->ctx)->api; }

static bool compile(nw_kernel *k, const nw_build_opts *o) {
  char error[1024] = "";
  nw_jit *j = jit_of(k);
  if (!j) return false;
  k->opt = o->opt;
  k->cached = !o->no_cache && !k->exec->nclocks;
  // Code for another target is made when it is shown or exported.
  if (!nw_target_here(k->exec->p->target)) return k->cached = false, true;
  k->code = api_of(k)->compile(j, k->exec, o->opt, &k->cached, error, sizeof error);
  if (!k->code) return nw_fail(k->ctx, NW_ECODEGEN, NULL, "%s", error);
  k->entry = api_of(k)->entry(k->code);
  return true;
}

static char *text(nw_kernel *k, const char *view) {
  nw_jit *j = jit_of(k);
  return j ? api_of(k)->text(j, k->exec, k->opt, view) : NULL;
}

static bool object(nw_kernel *k, const char *entry, char **data, size_t *bytes) {
  char error[512] = "";
  nw_jit *j = jit_of(k);
  *data = j ? api_of(k)->object(j, k->exec, k->opt, entry, bytes, error, sizeof error) : NULL;
  if (j && !*data) nw_fail(k->ctx, NW_ECODEGEN, NULL, "%s", error);
  return *data != NULL;
}

static nw_linker linker(const nw_target *t) {
  const struct linker *row = &linkers[t->machine.isa];
  bool host = t->machine.isa == (int)nw_host()->isa;
  return (nw_linker){host ? NULL : row->command, row->package, row->libraries};
}

static bool call(nw_kernel *k) { return nw_guarded_call(k->ctx, k->entry, &k->frame); }

static void unload(nw_kernel *k) {
  if (k->code) api_of(k)->free(k->code);
}

static int64_t code_bytes(const nw_kernel *k) { return k->code ? (int64_t)api_of(k)->bytes(k->code) : 0; }

void nw_backends_provide(nw_ctx *c) {
  static const nw_backend llvm = {.name = "llvm",
                                  .doc = "machine code by LLVM, run by this host or linked for another",
                                  .compile = compile,
                                  .text = text,
                                  .object = object,
                                  .linker = linker,
                                  .call = call,
                                  .unload = unload,
                                  .bytes = code_bytes,
                                  .views = "lowered, llvm, llvm-plain or asm",
                                  .files = "f:export \"kernel.so\" (a library) or \"kernel.c\" (C)"};
  nw_target_provide(c, NW_MACHINE_CPU, &llvm, NULL);
  nw_target_provide(c, NW_MACHINE_GPU, &nw_cuda, NULL);
  nw_target_provide(c, NW_MACHINE_GPU, &nw_opencl, NULL);
}
