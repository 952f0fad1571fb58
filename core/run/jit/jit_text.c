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

static char *assembly(nwo_maker *maker, LLVMModuleRef m, int opt) {
  LLVMMemoryBufferRef b = NULL;
  char *message = NULL;
  LLVMSetTargetMachineAsmVerbosity(nwo_machine(maker, opt), true);
  bool failed = LLVMTargetMachineEmitToMemoryBuffer(nwo_machine(maker, opt), m, LLVMAssemblyFile, &message, &b);
  LLVMSetTargetMachineAsmVerbosity(nwo_machine(maker, opt), false);
  if (failed) return own(message);
  nw_str s = {0};
  nw_str_addn(&s, LLVMGetBufferStart(b), LLVMGetBufferSize(b));
  LLVMDisposeMemoryBuffer(b);
  return nw_str_take(&s);
}

// Returns a view: "llvm" is the optimised module, "llvm-plain" the module before optimisation, "asm" the assembly. NULL
// for other names.
char *nwo_text(nw_jit *j, const nw_exec *e, int opt, const char *what) {
  bool plain = !strcmp(what, "llvm-plain"), as_asm = !strcmp(what, "asm");
  if (!plain && !as_asm && strcmp(what, "llvm")) return NULL;
  char error[512] = "", *text;
  LLVMContextRef lc = LLVMContextCreate();
  LLVMModuleRef module = nwo_module(j, lc, e, opt, !plain, "kernel_entry", error, sizeof error);
  if (!module)
    text = nw_xstrdup(error);
  else
    text = as_asm ? assembly(nwo_maker_of(j, e->p->target), module, opt) : own(LLVMPrintModuleToString(module));
  if (module) LLVMDisposeModule(module);
  LLVMContextDispose(lc);
  return text;
}

// Makes a code generator for shared libraries, which use the small code model. The JIT does not, since its memory may
// be at any address.
static LLVMTargetMachineRef library_machine(nwo_maker *m, int opt) {
  LLVMTargetMachineRef tm = nwo_machine(m, opt);
  return LLVMCreateTargetMachine(LLVMGetTargetMachineTarget(tm), m->triple, m->cpu, m->features,
                                 (LLVMCodeGenOptLevel)opt, LLVMRelocPIC, LLVMCodeModelSmall);
}

static char *emit_object(nwo_maker *maker, LLVMModuleRef module, int opt, size_t *size, char *error, size_t n) {
  LLVMMemoryBufferRef b = NULL;
  char *message = NULL, *data = NULL;
  LLVMTargetMachineRef tm = library_machine(maker, opt);
  if (LLVMTargetMachineEmitToMemoryBuffer(tm, module, LLVMObjectFile, &message, &b)) {
    nwo_say(error, n, "code generator: %s", message);
    LLVMDisposeMessage(message);
  } else {
    *size = LLVMGetBufferSize(b);
    data = nw_xmalloc(*size + 1);
    memcpy(data, LLVMGetBufferStart(b), *size);
    LLVMDisposeMemoryBuffer(b);
  }
  LLVMDisposeTargetMachine(tm);
  return data;
}

char *nwo_object_file(nw_jit *j, const nw_exec *e, int opt, const char *entry, size_t *size, char *error, size_t n) {
  LLVMContextRef lc = LLVMContextCreate();
  LLVMModuleRef module = nwo_module(j, lc, e, opt, true, entry, error, n);
  char *data = module ? emit_object(nwo_maker_of(j, e->p->target), module, opt, size, error, n) : NULL;
  if (module) LLVMDisposeModule(module);
  LLVMContextDispose(lc);
  return data;
}
