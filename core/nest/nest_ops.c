// Counts the operations of each class in the value of a statement, while the value is parsed.
#include "ir/ops.h"
#include "nest/nest_read.h"

static void note(nw_text_ops *ops, nw_op op) {
  nw_class c = nw_op_class(op, !nw_op_has(op, 'I'));
  if (c != NW_CLASS_NONE) ops->of[c]++;
}

// Counts the operation of an infix sign. The signs > and >= are counted as <, because these comparisons have the same
// class.
void nw_text_note_sign(nw_text_ops *ops, const nw_token *at) {
  if (nw_token_is(at, ">") || nw_token_is(at, ">=")) return note(ops, NW_OP_LT);
  for (int op = 0; op < NW_OP_COUNT; op++)
    if (nw_op_arity((nw_op)op) == 2 && nw_op_infix((nw_op)op) && nw_token_is(at, nw_op_infix((nw_op)op)))
      return note(ops, (nw_op)op);
}

// Counts the operations in the definition of a derived operation.
static void note_defined(nw_text_ops *ops, nw_op op) {
  switch (op) {
#define A (void)0
#define B (void)0
#define C (void)0
#define N(value) (void)0
#define OP1(id, x) x, note(ops, NW_OP_##id)
#define OP2(id, x, y) x, y, note(ops, NW_OP_##id)
#define NW_OP(...)
#define NW_DEFINED(id, name, arity, definition, ...)                                                                   \
  case NW_OP_##id:                                                                                                     \
    definition;                                                                                                        \
    break;
#include "ir/ops.def"
  default: break;
  }
}

static bool is_called(const nw_token *name, nw_op op) {
  return nw_op_arity(op) > 0 && !nw_op_infix(op) && nw_token_is(name, nw_op_name(op));
}

void nw_text_note_call(nw_text_ops *ops, const nw_token *name) {
  int op = 0;
  while (op < NW_OP_COUNT && !is_called(name, (nw_op)op)) op++;
  if (op == NW_OP_COUNT)
    ops->calls++;
  else if (nw_op_is_defined((nw_op)op))
    note_defined(ops, (nw_op)op);
  else
    note(ops, (nw_op)op);
}
