// The tables of types.def and ops.def, and the promotion of dtypes.
#include "ir/expr/expr.h"

static const struct {
  const char *name;
  int bytes;
  char kind;
} dtypes[NW_DTYPE_COUNT] = {
#define NW_DTYPE(id, name, bytes, kind) {name, bytes, kind},
#include "ir/types.def"
#undef NW_DTYPE
};

static const struct {
  const char *name;
  int arity, prec, c;
  const char *flags;
} ops[NW_OP_COUNT] = {
#define NW_OP(id, name, arity, prec, c, flags) {name, arity, prec, c, flags},
#include "ir/ops.def"
#undef NW_OP
};

// The name of a dtype as the language has it: "f32".
const char *nw_dtype_name(nw_dtype t) { return dtypes[t].name; }

// Finds a dtype by its name.
bool nw_dtype_parse(const char *name, nw_dtype *out) {
  for (int t = 0; name && t < NW_DTYPE_COUNT; t++) {
    if (strcmp(dtypes[t].name, name) != 0) continue;
    *out = (nw_dtype)t;
    return true;
  }
  return false;
}

// The size of one element in memory.
int nw_dtype_bytes(nw_dtype t) { return dtypes[t].bytes; }

bool nw_dtype_is_float(nw_dtype t) { return dtypes[t].kind == 'f'; }

bool nw_dtype_is_int(nw_dtype t) { return dtypes[t].kind == 'i' || dtypes[t].kind == 'u'; }

bool nw_dtype_is_signed(nw_dtype t) { return dtypes[t].kind == 'i' || dtypes[t].kind == 'f'; }

static nw_dtype signed_of_bytes(int bytes) {
  return bytes <= 1 ? NW_I8 : bytes == 2 ? NW_I16 : bytes == 4 ? NW_I32 : NW_I64;
}

static nw_dtype wider(nw_dtype a, nw_dtype b) { return dtypes[a].bytes >= dtypes[b].bytes ? a : b; }

// bool gives way to everything; an integer to a float of any width; f16 with bf16 meets in f32; a signed and an unsigned
// integer meet in the signed one if it is wider, else in the next wider signed one (there is no u64, so i64 suffices).
nw_dtype nw_dtype_promote(nw_dtype a, nw_dtype b) {
  if (a == b || b == NW_BOOL) return a;
  if (a == NW_BOOL) return b;
  bool fa = nw_dtype_is_float(a), fb = nw_dtype_is_float(b);
  if (fa != fb) return fa ? a : b;
  if (fa) return dtypes[a].bytes == dtypes[b].bytes ? NW_F32 : wider(a, b);
  if (dtypes[a].kind == dtypes[b].kind) return wider(a, b);
  nw_dtype s = dtypes[a].kind == 'i' ? a : b, u = s == a ? b : a;
  return dtypes[s].bytes > dtypes[u].bytes ? s : signed_of_bytes(2 * dtypes[u].bytes);
}

// The name of an op as the language has it: "floordiv".
const char *nw_op_name(nw_op op) { return ops[op].name; }

// Finds an op by its name.
bool nw_op_parse(const char *name, nw_op *out) {
  for (int op = 0; name && op < NW_OP_COUNT; op++) {
    if (strcmp(ops[op].name, name) != 0) continue;
    *out = (nw_op)op;
    return true;
  }
  return false;
}

bool nw_op_has(nw_op op, char flag) { return strchr(ops[op].flags, flag) != NULL; }

int nw_op_arity(nw_op op) { return ops[op].arity; }

int nw_op_prec(nw_op op) { return ops[op].prec; }

int nw_op_c_prec(nw_op op) { return ops[op].c; }

// The sign written between (or, for NEG and NOT, before) the operands; NULL for what is written as a call.
const char *nw_op_infix(nw_op op) {
  switch (op) {
  case NW_OP_ADD: return "+";
  case NW_OP_SUB:
  case NW_OP_NEG: return "-";
  case NW_OP_MUL: return "*";
  case NW_OP_DIV: return "/";
  case NW_OP_FLOORDIV: return "//";
  case NW_OP_FLOORMOD: return "%";
  case NW_OP_LT: return "<";
  case NW_OP_LE: return "<=";
  case NW_OP_EQ: return "==";
  case NW_OP_NE: return "!=";
  case NW_OP_AND: return "and";
  case NW_OP_OR: return "or";
  case NW_OP_NOT: return "not";
  default: return NULL;
  }
}
