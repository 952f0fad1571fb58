// Declares the state of compiling a kernel. This header is private to compile.c, expr.c and operation.c.
#pragma once
#include "device/gpu/gpu.h"

typedef struct nwg_made { // an expression of the current statement that is in a register
  const nw_expr *expr;
  uint32_t reg;
} nwg_made;

typedef struct nwg_compiling {
  nw_ctx *ctx;
  nw_pool *pool;
  nw_arena *arena;
  nw_features features;
  nwg_kernel *k;
  int capinstrs, capsites;
  nw_vec name; // const char *, innermost last
  nw_vec reg; // registers of the names
  uint32_t top; // begin of the free registers
  nwg_made *made;
  int nmade, capmade;
  int selects; // number of selects around
  const nw_stmt *stmt;
} nwg_compiling;

nwg_instr *nwg_emit(nwg_compiling *c, nwg_op op, int n, uint32_t dst, uint32_t a, uint32_t b);
uint32_t nwg_register(nwg_compiling *c, nw_dtype t, int n);
// Emits the code of an expression, and returns the register with its value. Returns 0, with a diagnostic, on failure.
uint32_t nwg_expr(nwg_compiling *c, const nw_expr *e);
int nwg_new_site(nwg_compiling *c, nwg_site s);
int nwg_buffer_named(const nwg_compiling *c, const char *name); // -1 if there is none
// Returns the number of the operand that is a constant and becomes a part of the instruction; -1 if there is none.
int nwg_constant_operand(const nw_expr *e);
// Emits the code of an operation on operands that are in registers. An operand that becomes a part of the instruction has
// no register.
uint32_t nwg_operation(nwg_compiling *c, const nw_expr *e, const uint32_t *arg);
// instruction.c: compiles a call of an instruction of a warp.
bool nwg_compile_instruction(nwg_compiling *c, const nw_stmt *s, const struct nw_intrinsic *in, nwg_stmt *to);
