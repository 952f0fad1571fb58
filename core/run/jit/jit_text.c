// Makes views and object files of compiled code. They are made from the program when they are requested, so that unused
// views need no memory.
#include "run/jit/jit.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdlib.h>

static char *own(char *llvm_string) {
  char *s = nw_xstrdup(llvm_string);
  LLVMDisposeMessage(llvm_string);
  return s;
}

static char *contents(LLVMMemoryBufferRef b) {
  nw_str s = {0};
  nw_str_addn(&s, LLVMGetBufferStart(b), LLVMGetBufferSize(b));
  LLVMDisposeMemoryBuffer(b);
  return nw_str_take(&s);
}

// Returns the text of the optimised module or, if `as_asm` is true, of its assembly. Returns an error message on
// failure.
static char *optimised(const nw_exec *e, nwo_finish *x, bool as_asm) {
  LLVMTargetMachineRef tm = nwo_machine(x->maker, x->opt);
  if (!as_asm) return nwo_finished(e, x) ? own(LLVMPrintModuleToString(x->module)) : nw_xstrdup(x->error);
  x->code = tm;
  x->type = LLVMAssemblyFile;
  LLVMSetTargetMachineAsmVerbosity(tm, true);
  bool good = nwo_finished(e, x);
  LLVMSetTargetMachineAsmVerbosity(tm, false);
  return good ? contents(x->out) : nw_xstrdup(x->error);
}

// Returns a view: "llvm" is the optimised module, "llvm-plain" the module before optimisation, "asm" the assembly.
// Returns an error message on failure, and NULL for other names.
char *nwo_text(nw_jit *j, const nw_exec *e, int opt, const char *what) {
  bool plain = !strcmp(what, "llvm-plain"), as_asm = !strcmp(what, "asm");
  if (!plain && !as_asm && strcmp(what, "llvm")) return NULL;
  char error[512] = "", *text;
  LLVMContextRef lc = LLVMContextCreate();
  LLVMModuleRef module = nwo_module(j, lc, e, opt, "kernel_entry", error, sizeof error);
  nwo_finish x = {nwo_maker_of(j, e->p->target), opt, module, .error = error, .n = sizeof error};
  if (!module)
    text = nw_xstrdup(error);
  else
    text = plain ? own(LLVMPrintModuleToString(module)) : optimised(e, &x, as_asm);
  if (module) LLVMDisposeModule(module);
  LLVMContextDispose(lc);
  return text;
}

// Makes a code generator for shared libraries, which use the small code model. The JIT does not use this model, because
// its memory may be at any address.
static LLVMTargetMachineRef library_machine(nwo_maker *m, int opt) {
  LLVMTargetMachineRef tm = nwo_machine(m, opt);
  return LLVMCreateTargetMachine(LLVMGetTargetMachineTarget(tm), m->triple, m->cpu, m->features,
                                 (LLVMCodeGenOptLevel)opt, LLVMRelocPIC, LLVMCodeModelSmall);
}

static char *emit_object(const nw_exec *e, nwo_finish *x, size_t *size) {
  char *data = NULL;
  x->code = library_machine(x->maker, x->opt);
  x->type = LLVMObjectFile;
  if (nwo_finished(e, x)) {
    *size = LLVMGetBufferSize(x->out);
    data = contents(x->out);
  }
  LLVMDisposeTargetMachine(x->code);
  return data;
}

char *nwo_object_file(nw_jit *j, const nw_exec *e, int opt, const char *entry, size_t *size, char *error, size_t n) {
  LLVMContextRef lc = LLVMContextCreate();
  nwo_finish x = {nwo_maker_of(j, e->p->target), opt, nwo_module(j, lc, e, opt, entry, error, n), .error = error,
                  .n = n};
  char *data = x.module ? emit_object(e, &x, size) : NULL;
  if (x.module) LLVMDisposeModule(x.module);
  LLVMContextDispose(lc);
  return data;
}
