// Tensor expressions form a graph of operations. The naive program is made from this graph: one nest per operation.
#pragma once
#include "ir/program/program.h"

typedef enum nw_teop_kind { NW_TE_PLACEHOLDER, NW_TE_COMPUTE, NW_TE_SCAN, NW_TE_UPDATE } nw_teop_kind;

struct nw_axis {
  int refs;
  nw_ctx *ctx;
  nw_pool *pool;
  char *name; // "k"; its variable is "k@serial"
  const nw_expr *var, *lo, *extent;
  // If the range depends on other axes or on data: the axis has only the values with from <= value < to, within lo and
  // extent. Both are NULL if it does not.
  const nw_expr *from, *to;
};

// The calls of an intrinsic that compute a stage (call.c).
typedef struct nw_te_call {
  const struct nw_intrinsic *in; // NULL if the stage has none
  int outer; // number of axes around the call; the others are those of its tile
  int outer_reduce; // number of reduce axes around the call
} nw_te_call;

typedef struct nw_teop nw_teop;

// A stage inside a scan: a compute that reads a state, perhaps through other stages, and that an update needs. It is
// computed in each step of time, for this time only, before the update of state `turn`. That is the first update that
// needs it.
typedef struct nw_te_inner {
  const nw_teop *op; // borrowed: the updates keep it
  int turn;
} nw_te_inner;

struct nw_teop {
  int refs;
  nw_teop *waiting; // the next operation in the list of operations that will be freed
  nw_ctx *ctx;
  nw_teop_kind kind;
  nw_pool *pool; // owns the expressions below; its symbols are the tensors, axes and sizes in these expressions
  char *name;
  int naxes; // COMPUTE: one axis per output dimension
  const nw_expr **axis; // variables "i@serial"
  char **axis_name; // "i"
  const nw_expr **extent;
  int nreduce;
  nw_axis **reduce; // holds references
  nw_combiner combiner; // the same for all outputs
  int nout;
  const nw_expr **body; // per output: the value, or for a reduction the term that is reduced
  nw_dtype *dtype;
  const nw_expr **shape; // all outputs of an operation have the same shape; ndim entries
  int ndim;
  // The strides of the caller's array, if it is not row-major, and the conditions on sizes under which its elements do
  // not overlap (strides.c); NULL for most operations
  const nw_expr **pitch, **nests;
  int nnests;
  uint64_t serial;
  bool is_state; // PLACEHOLDER made by nw_scan_state
  // COMPUTE: true if the reads of the compute are not checked yet, since the compute may be the update of a scan, or a
  // stage inside one. Then nw_scan checks the reads, and any use of the compute outside a scan is an error.
  bool deferred;
  // COMPUTE: the tensors that the bodies read, in the order in which the user wrote the reads; borrowed from the pool's
  // symbols
  int nreads;
  nw_tensor **reads;
  // SCAN: these arrays have nout entries and hold references. `init` computes the rows below init_rows of each state,
  // and `update` computes all later rows.
  // UPDATE: `init` has one entry, the tensor before the updates. `update` and `state` have ndefs entries: the
  // definitions in their order, and the names by which each of them reads the stage.
  int ndefs; // SCAN, UPDATE: number of entries of `update` and `state`
  nw_tensor **init, **update, **state;
  const nw_expr *init_rows;
  int ninner; // SCAN: the stages inside, each after the stages that it reads
  nw_te_inner *inner;
  // COMPUTE: a definition of an update (update.c) has these fields; otherwise they are NULL. It stores its value only
  // where `when` holds (NULL: always).
  int shared; // number of its outermost axes whose loops it shares with the definition before it
  const nw_expr **lo; // where each axis begins
  const nw_expr *target; // a LOAD of the element that is written
  const nw_expr *when;
  nw_te_call call; // COMPUTE
};

struct nw_tensor {
  int refs;
  nw_teop *op; // holds a reference
  int out; // number of the output
  char *name; // "C"; its name in LOADs is "C@serial"
  char *symbol;
};

// A symbolic size. Its variable is "M@serial" in every pool.
typedef struct nw_te_size {
  int refs;
  nw_ctx *ctx;
  char *name, *symbol;
  int64_t lo;
  nw_pool *pool; // owns the facts
  nw_vec facts; // const nw_expr *
} nw_te_size;

bool nw_tensor_has_strides(const nw_tensor *t);
extern const nw_symbol_class nw_tensor_symbol, nw_axis_symbol, nw_size_symbol;

// Returns all operations that the outputs need, producers first, as a heap vector of borrowed nw_teop*. States are left
// out. The updates of a scan and the stages inside it are left out, since they become a part of the scan. If the init
// of a scan is a compute with one output, it is left out for the same reason. Placeholders come first, in the order of their creation, which is the
// order of a kernel's inputs.
nw_vec nw_te_order(int n, nw_tensor *const *outputs);
// True if an expression consists only of symbolic sizes and numbers.
NW_API bool nw_speaks_of_sizes(const nw_expr *e);
// Parses a fact about a size. The text uses the name of the size, as in "M % 8 == 0".
NW_API const nw_expr *nw_size_fact_parse(const nw_expr *size, const char *text);

// Returns the symbolic sizes of a computation as a heap vector of nw_te_size*, in the order of the program.
// nw_te_size_name(sizes, i) is the name of size i in the program; the caller frees it.
nw_vec nw_te_sizes(int n, nw_tensor *const *outputs);
char *nw_te_size_name(const nw_vec *sizes, int i);
// Returns the naive program. It has one nest per operation, in the order of nw_te_order. Its temporaries exist as long
// as the program runs, except for the stages inside scans (nests.c).
NW_API nw_program *nw_te_program(nw_ctx *c, int n, nw_tensor *const *outputs);
// Returns the name of a tensor in the program, or its own name if it is not part of the program. The result is a heap
// string.
char *nw_te_name_in(int n, nw_tensor *const *outputs, const nw_tensor *t);
