// Views of compiled code: made again from the program, so that nothing is kept for a view that is not asked for.
#include "run/jit.h"
#include <llvm-c/Core.h>
#include <stdlib.h>

static char *own(char *llvm_string) {
  char *s = nw_xstrdup(llvm_string);
  LLVMDisposeMessage(llvm_string);
  return s;
}

static char *assembly(nw_jit *j, LLVMModuleRef m, int opt) {
  LLVMMemoryBufferRef b = NULL;
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(nwj_machine(j, opt), m, LLVMAssemblyFile, &message, &b)) return own(message);
  nw_str s = {0};
  nw_str_addn(&s, LLVMGetBufferStart(b), LLVMGetBufferSize(b));
  LLVMDisposeMemoryBuffer(b);
  return nw_str_take(&s);
}

// "llvm": the optimised module; "llvm-plain": as it was made; "asm". NULL for anything else.
char *nwj_text(nw_jit *j, const nw_machine_code *m, const char *what) {
  bool plain = !strcmp(what, "llvm-plain"), as_asm = !strcmp(what, "asm");
  if (!plain && !as_asm && strcmp(what, "llvm")) return NULL;
  char error[512] = "", *text;
  LLVMContextRef lc = LLVMContextCreate();
  LLVMModuleRef module = nwj_module(j, lc, m->exec, m->opt, !plain, "kernel_entry", error, sizeof error);
  if (!module)
    text = nw_xstrdup(error);
  else
    text = as_asm ? assembly(j, module, m->opt) : own(LLVMPrintModuleToString(module));
  if (module) LLVMDisposeModule(module);
  LLVMContextDispose(lc);
  return text;
}
