// Declares executable expressions. An expression is a graph of nodes, and each node has storage for its value.
//
// A value has `lanes` cells. Integers and bools are wrapped to their dtype, and stored as sign-extended or
// zero-extended 64-bit integers. An f64 is stored as double. An f32, f16 or bf16 is stored as float. An f16 or bf16 is
// rounded only by a load, a store or a cast. A subexpression that occurs several times has one node. An *epoch* is a
// span of time in which no variable and no element of memory changes. A node is computed at most once per epoch.
#pragma once
#include "ir/expr/fold.h" // nw_wrap
#include "interp/interp.h"

typedef union nwi_cell {
  int64_t i;
  double d;
  float f;
} nwi_cell;

typedef struct nwi_node nwi_node;
typedef struct nwi_run nwi_run;
typedef void (*nwi_eval)(nwi_run *r, nwi_node *n);

struct nwi_node {
  nwi_eval eval;
  uint64_t epoch;
  nwi_cell *v;
  int lanes, nargs;
  uint8_t dtype;
  const nw_expr *expr;
  int slot; // VAR: its slot; LOAD in naive.c: number of the output that is read
  void *buffer; // LOAD: the buffer or operation that is read; set by the scope's `load` function
  const nw_math_row **row; // math functions: the rows to apply, from nw_math_plan
  int nrows;
  nwi_node *arg[];
};

// Holds the state of a running program.
struct nwi_run {
  nw_ctx *ctx;
  uint64_t epoch, last_epoch;
  int64_t *slot; // values of variables and sizes
  bool failed;
  int64_t steps, max_steps;
  const nw_interp_opts *opts;
  void *host;
};

// Returns the value of a node. Computes the value if it was not computed in this epoch.
static inline nwi_cell *nwi_get(nwi_run *r, nwi_node *n) {
  if (n->epoch != r->epoch) {
    n->eval(r, n);
    n->epoch = r->epoch;
  }
  return n->v;
}

// Begins a new epoch. Called after a store or a change of a variable.
static inline void nwi_turn(nwi_run *r) { r->epoch = ++r->last_epoch; }

static inline int64_t nwi_int(nwi_run *r, nwi_node *n) { return nwi_get(r, n)->i; }

// Reports a failure, which ends the run at the next statement. Only the first failure is reported.
void nwi_fail(nwi_run *r, nw_code code, const char *fmt, ...) NW_PRINTF(3, 4);
bool nwi_stop(nwi_run *r); // counts a step; returns true if the run must end

// ---- construction of nodes
//
// Names refer to variables in scope. The user of a scope sets the function `load`, which prepares the nodes of reads.
typedef struct nwi_scope {
  nw_arena *arena;
  nw_ctx *ctx;
  nw_features features; // features of the CPU; the math functions depend on them
  nw_vec name; // const char *, innermost last
  nw_vec slot; // slots of the names, each an intptr_t
  // sets the fields `eval` and `buffer` of a LOAD whose arguments already have nodes
  bool (*load)(struct nwi_scope *s, nwi_node *n);
  void *host;
  nw_vec expr, node; // nodes made so far in this scope; see nwi_forget
} nwi_scope;
void nwi_bind(nwi_scope *s, const char *name, int slot);
void nwi_unbind(nwi_scope *s);
void nwi_forget(nwi_scope *s); // nodes that are made later do not reuse the nodes made so far
void nwi_scope_free(nwi_scope *s);
nwi_node *nwi_make(nwi_scope *s, const nw_expr *e); // NULL and a diagnostic if e cannot be executed

// These functions return the function that evaluates an operation, or NULL if there is none.
nwi_eval nwi_int_op(nw_op op);
nwi_eval nwi_float_op(nw_op op, nw_dtype t);
nwi_eval nwi_cast_op(nw_dtype from, nw_dtype to);
nwi_eval nwi_reinterpret_op(nw_dtype from, nw_dtype to);
void nwi_eval_ldexp(nwi_run *r, nwi_node *n);
void nwi_eval_math(nwi_run *r, nwi_node *n); // evaluates a math function

// ---- memory
void nwi_read(nw_dtype t, const void *data, int64_t at, nwi_cell *out);
void nwi_write(nw_dtype t, void *data, int64_t at, const nwi_cell *in);
