// Emits calls of instructions of a warp, as inline assembly.
#include "codegen/instruction.h"
#include "codegen/llvm/llvm.h"

enum { MOST_OPERANDS = 24 };

typedef struct operands { // of the assembly: results, values, and the results again as values
  nw_str constraints;
  int n;
  LLVMValueRef value[MOST_OPERANDS];
  LLVMTypeRef type[MOST_OPERANDS];
} operands;

static LLVMTypeRef type_of(nwc *g, const nw_intrinsic_arg *a) {
  return nwc_memory_type(g, (nw_type){(uint8_t)a->dtype, 1});
}

static LLVMValueRef place(nwc *g, const nw_tile *t, int i) {
  return nwc_address(g, t->buffer, nw_add(g->p->pool, t->index, nw_int(g->p->pool, NW_INDEX, i)));
}

static void constrain(operands *o, const char *how) {
  nw_str_fmt(&o->constraints, "%s%s", o->constraints.n ? "," : "", how);
}

// Adds the elements of a fragment that the lane holds as values.
static void take(nwc *g, operands *o, const nw_tile *t, const nw_intrinsic_arg *a, const char *how) {
  for (int i = 0; i < a->fragment.n; i++) {
    o->type[o->n] = type_of(g, a);
    o->value[o->n++] = LLVMBuildLoad2(g->b, type_of(g, a), place(g, t, i), "");
    if (how) constrain(o, how);
  }
}

// Returns the address that the lane gives, as a number of 32 bits.
static LLVMValueRef address(nwc *g, const nw_intrinsic *in, const nw_tile *t) {
  LLVMValueRef at = nwc_address(g, t->buffer, nw_fragment_row(g->p->pool, in->instruction, t));
  return LLVMBuildPtrToInt(g->b, at, LLVMInt32TypeInContext(g->lc), "");
}

static void emit(nwc *g, const nw_intrinsic *in, operands *o, const nw_tile *to, const nw_intrinsic_arg *result) {
  nw_str text = {0};
  LLVMTypeRef each[NW_FRAGMENT_MOST];
  int n = result->fragment.n;
  if (in->instruction->depth) nw_str_fmt(&text, "// %s: %s\n\t", in->name, NW_INSTRUCTION_ROUNDING);
  nw_instruction_ptx(in, '$', &text);
  for (int i = 0; i < n; i++) each[i] = type_of(g, result);
  LLVMTypeRef all = LLVMStructTypeInContext(g->lc, each, (unsigned)n, false);
  LLVMTypeRef type = LLVMFunctionType(all, o->type, (unsigned)o->n, false);
  LLVMValueRef code = LLVMGetInlineAsm(type, text.s, text.n, o->constraints.s, o->constraints.n, true, false,
                                       LLVMInlineAsmDialectATT, false);
  LLVMValueRef call = LLVMBuildCall2(g->b, type, code, o->value, (unsigned)o->n, "");
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(g->lc, convergent, 0));
  for (int i = 0; i < n; i++) LLVMBuildStore(g->b, LLVMBuildExtractValue(g->b, call, (unsigned)i, ""), place(g, to, i));
  nw_str_free(&text);
}

void nwc_instruction(nwc *g, const nw_stmt *s, const nw_intrinsic *in) {
  bool product = in->instruction->depth > 0;
  const nw_intrinsic_arg *result = &in->arg[product ? 2 : 1];
  const nw_tile *to = &s->call.tile[product ? 2 : 1];
  const char *of = in->instruction->tf32 ? "f" : "h";
  operands o = {.n = 0};
  for (int i = 0; i < result->fragment.n; i++) constrain(&o, product ? "=f" : "=h");
  if (product) {
    take(g, &o, &s->call.tile[0], &in->arg[0], of);
    take(g, &o, &s->call.tile[1], &in->arg[1], of);
    take(g, &o, to, result, NULL);
    char same[] = "0";
    for (int i = 0; i < result->fragment.n; i++, same[0]++) constrain(&o, same);
  } else {
    o.type[o.n] = LLVMInt32TypeInContext(g->lc);
    o.value[o.n++] = address(g, in, &s->call.tile[0]);
    constrain(&o, "r");
    constrain(&o, "~{memory}");
  }
  emit(g, in, &o, to, result);
  nw_str_free(&o.constraints);
}
