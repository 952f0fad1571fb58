// Gives the options of LLVM for each instruction set.
#include "codegen/llvm/llvm.h"
#include <llvm-c/Target.h>

// The value of LLVM's attribute `memory` for a call that reads and writes only memory that the program cannot access.
// The attribute has two bits for each kind of memory (MemoryEffects).
#define NW_OTHER_MEMORY (3 << 2)

static const nwc_isa rows[NW_ISA_COUNT] = {
    [NW_ISA_X86_64] = {"x86_64-linux-gnu", "x86-64", "=v,0", "llvm.x86.sse.sfence",
                       "rdtsc\n\tshlq $$32, %rdx\n\torq %rdx, %rax", "={ax},~{dx},~{dirflag},~{fpsr},~{flags}",
                       LLVMInitializeX86TargetInfo, LLVMInitializeX86Target, LLVMInitializeX86TargetMC,
                       LLVMInitializeX86AsmPrinter},
    [NW_ISA_AARCH64] = {"aarch64-linux-gnu", "generic", NULL, NULL, "mrs $0, cntvct_el0", "=r",
                        LLVMInitializeAArch64TargetInfo, LLVMInitializeAArch64Target, LLVMInitializeAArch64TargetMC,
                        LLVMInitializeAArch64AsmPrinter},
};

static const nwc_isa ptx = {.triple = "nvptx64-nvidia-cuda",
                            .cpu = "sm_50",
                            .info = LLVMInitializeNVPTXTargetInfo,
                            .target = LLVMInitializeNVPTXTarget,
                            .code = LLVMInitializeNVPTXTargetMC,
                            .printer = LLVMInitializeNVPTXAsmPrinter};

const nwc_isa *nwc_isa_of(const nw_target *t) {
  return t->machine.kind == NW_MACHINE_GPU ? &ptx : &rows[t->machine.isa];
}

// PTX for an older GPU also runs on newer ones.
int nwc_capability(const nw_target *t) {
  static const int known[] = {90, 89, 87, 86, 80, 75, 72, 70, 62, 61, 60, 53, 52, 50};
  int asked = t->machine.kind == NW_MACHINE_GPU ? (int)(t->machine.gpu.capability * 10 + 0.5) : 0;
  for (int i = 0; i < NW_COUNT(known); i++)
    if (known[i] <= asked) return known[i];
  return 0;
}

char *nwc_features_text(const nw_target *t) {
  nw_str s = {0};
  // LLVM ends the process if 64-bit code is requested for a CPU that it does not know, or that it considers 32-bit.
  bool x86 = t->machine.kind == NW_MACHINE_CPU && t->machine.isa == NW_ISA_X86_64;
  nw_str_add(&s, x86 ? "+64bit" : "");
  for (int i = 0; i < NW_FEATURE_COUNT; i++)
    if (t->features >> i & 1) nw_str_fmt(&s, "%s+%s", s.n ? "," : "", nw_feature_at(i)->name);
  // The first version of PTX for this capability has no products of 16 x 8 x 8 elements.
  if (t->machine.kind == NW_MACHINE_GPU && nwc_capability(t) == 75) nw_str_fmt(&s, "%s+ptx65", s.n ? "," : "");
  return s.s ? nw_str_take(&s) : nw_xstrdup("");
}

int nwc_register_bytes(const nwc *g) {
  return g->kernel ? NW_BLOCK_ARRAY_ALIGN : nw_features_vector_bytes(g->p->target->features);
}

// With AVX but without AVX-512, a lane is active if the sign bit of its mask is set. LLVM 19 handles such masks
// incorrectly if it can deduce that some lanes are inactive. It may then give an active lane the mask 1, whose sign bit
// is not set.
bool nwc_masks_by_sign(const nwc *g) {
  nw_features f = g->p->target->features;
  return nw_has(f, NW_FEATURE_AVX) && !nw_has(f, NW_FEATURE_AVX512VL);
}

LLVMValueRef nwc_opaque(nwc *g, LLVMValueRef v) {
  const char *same = nwc_isa_of(g->p->target)->opaque;
  if (!same) return v;
  LLVMTypeRef t = LLVMTypeOf(v), fn = LLVMFunctionType(t, &t, 1, false);
  LLVMValueRef none =
      LLVMGetInlineAsm(fn, "", 0, (char *)same, strlen(same), false, false, LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(g->b, fn, none, &v, 1, "");
}

// Emits inline assembly that reads the clock. The assembly is declared to have side effects, so that LLVM neither
// removes it nor moves it across another read of the clock. It is also declared not to access the program's memory, so
// that LLVM optimizes loads and stores as if there were no clocks.
LLVMValueRef nwc_read_clock(nwc *g) {
  const nwc_isa *isa = nwc_isa_of(g->p->target);
  LLVMTypeRef fn = LLVMFunctionType(LLVMInt64TypeInContext(g->lc), NULL, 0, false);
  LLVMValueRef text = LLVMGetInlineAsm(fn, (char *)isa->clock, strlen(isa->clock), (char *)isa->clock_result,
                                       strlen(isa->clock_result), true, false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef call = LLVMBuildCall2(g->b, fn, text, NULL, 0, "");
  unsigned memory = LLVMGetEnumAttributeKindForName("memory", strlen("memory"));
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(g->lc, memory, NW_OTHER_MEMORY));
  return call;
}
