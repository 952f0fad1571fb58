// Makes a table from ops.def, and reads its columns.
#include "ir/ops.h"

#define NW_LETTER_NONE
#define NW_LETTER_v "M"
#define NW_LETTER_vv "M"

static const struct {
  const char *name;
  int arity;
  const char *types, *sign;
  int prec, c_prec;
  const char *function;
  nw_exactness exact;
  nw_class cost[2];
  bool defined;
} ops[NW_OP_COUNT] = {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ulp, llvm_whole, llvm_real, offered, spoken, signature, doc)                                     \
  {name,                                                                                                               \
   arity,                                                                                                              \
   types NW_LETTER_##vector,                                                                                           \
   sign,                                                                                                               \
   prec,                                                                                                               \
   c_prec,                                                                                                             \
   #function,                                                                                                          \
   NW_EXACT_##exact,                                                                                                   \
   {NW_CLASS_##cost_whole, NW_CLASS_##cost_real},                                                                      \
   false},
#define NW_DEFINED(id, name, arity, definition, signature, doc)                                                        \
  {name, arity, "", NULL, 0, 80, "NONE", NW_EXACT_NEAR, {NW_CLASS_NONE, NW_CLASS_NONE}, true},
#include "ir/ops.def"
};

// Returns the name of an op in the language: "floordiv".
const char *nw_op_name(nw_op op) { return ops[op].name; }

// Finds an op by its name. Returns false if there is no such op.
bool nw_op_parse(const char *name, nw_op *out) {
  for (int op = 0; name && op < NW_OP_COUNT; op++) {
    if (strcmp(ops[op].name, name) != 0) continue;
    *out = (nw_op)op;
    return true;
  }
  return false;
}

bool nw_op_has(nw_op op, char type) { return strchr(ops[op].types, type) != NULL; }

int nw_op_arity(nw_op op) { return ops[op].arity; }

int nw_op_prec(nw_op op) { return ops[op].prec; }

int nw_op_c_prec(nw_op op) { return ops[op].c_prec; }

const char *nw_op_infix(nw_op op) { return ops[op].sign; }

const char *nw_op_function(nw_op op) { return strcmp(ops[op].function, "NONE") ? ops[op].function : NULL; }

nw_exactness nw_op_exactness(nw_op op) { return ops[op].exact; }

nw_class nw_op_class(nw_op op, bool real) { return ops[op].cost[real]; }

bool nw_op_is_defined(nw_op op) { return ops[op].defined; }
