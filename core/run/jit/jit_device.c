// Makes PTX, the assembly of NVIDIA's GPUs, from the kernels of a program.
#include "codegen/llvm/llvm.h"
#include "run/jit/jit.h"
#include <llvm-c/Core.h>

// LLVM unrolls short loops and keeps local arrays in registers. Registers of a GPU have no addresses, so without that even
// the accumulators of a tile would be in memory.
static const char *const passes[NWO_LEVELS] = {"function(sroa)", "default<O3>", "default<O2>", "default<O3>"};

static LLVMModuleRef module_of(nwo_maker *maker, LLVMTargetMachineRef tm, LLVMContextRef lc, const nw_exec *e,
                               const nw_launches *l, char *error, size_t n) {
  LLVMModuleRef m = nwc_device_module(lc, e, l, maker->cpu, maker->features, error, n);
  if (!m) return NULL;
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
  LLVMSetTarget(m, maker->triple);
  LLVMSetModuleDataLayout(m, layout);
  LLVMDisposeTargetData(layout);
  if (nwo_verified(m, error, n)) return m;
  LLVMDisposeModule(m);
  return NULL;
}

static char *text_of(nwo_finish *x, const nw_exec *e, const char *what) {
  bool ptx = !strcmp(what, "ptx"), plain = !strcmp(what, "llvm-plain");
  nw_str s = {0};
  if (ptx) x->code = nwo_machine(x->maker, x->opt);
  x->type = LLVMAssemblyFile;
  x->pipeline = passes[x->opt];
  if (!plain && !nwo_finished(e, x)) return NULL;
  if (ptx) {
    nw_str_addn(&s, LLVMGetBufferStart(x->out), LLVMGetBufferSize(x->out));
    LLVMDisposeMemoryBuffer(x->out);
  } else {
    char *text = LLVMPrintModuleToString(x->module);
    nw_str_add(&s, text);
    LLVMDisposeMessage(text);
  }
  return nw_str_take(&s);
}

char *nwo_device_text(nw_jit *j, const nw_exec *e, const nw_launches *l, int opt, const char *what, char *error,
                      size_t n) {
  if (strcmp(what, "ptx") && strcmp(what, "llvm") && strcmp(what, "llvm-plain")) return NULL;
  opt = opt < 0 ? 0 : opt >= NWO_LEVELS ? NWO_LEVELS - 1 : opt;
  nwo_maker *maker = nwo_maker_of(j, e->p->target);
  LLVMTargetMachineRef tm = nwo_machine(maker, opt);
  if (!tm) return nwo_say(error, n, "no code generator for %s", maker->triple), NULL;
  LLVMContextRef lc = LLVMContextCreate();
  nwo_finish x = {maker, opt, module_of(maker, tm, lc, e, l, error, n), .error = error, .n = n};
  char *text = x.module ? text_of(&x, e, what) : NULL;
  if (x.module) LLVMDisposeModule(x.module);
  LLVMContextDispose(lc);
  return text;
}
