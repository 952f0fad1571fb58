// Declares the reference interpreter. It runs any program, scheduled or lowered. It detects every access outside its
// buffer, and every read of an element that was never written. For a lowered program, its results are the same bits as
// the results of the LLVM back end. The file codegen/c/c_text.c says when C code gives the same bits.
#pragma once
#include "lower/lower.h"
#include "te/te.h"

typedef struct nw_view {
  nw_dtype dtype;
  int64_t count;
  void *data;
} nw_view;

typedef struct nw_access {
  const char *buffer;
  int64_t index; // linear index of the element; -1 if the access is outside the buffer
  int lanes;
  bool write;
  // The fields below are set only for scheduled programs.
  const nw_stmt *block; // the block that makes the access
  bool init; // true if the access is part of the init of a reduction
  const int64_t *var; // values of the block's axes
  int n; // number of indices of the element
  const int64_t *at; // the indices of the element, as written in the program
  int64_t room; // storage location of the element; elements that share storage have the same location
  // outside: the element is outside the stored part of its buffer; unwritten: the element is read, but it was not
  // written since the allocation
  bool outside, unwritten;
  long double value; // value that is read or written; long double has all integers of 64 bits
} nw_access;

typedef struct nw_interp_opts {
  void (*trace)(void *env, const nw_access *a); // receives every access; may be NULL
  void *env;
  const bool *enough; // when this flag becomes true, the run ends without a diagnostic; may be NULL
  int64_t max_steps; // a run with more steps fails with NW_ELIMIT; 0: no limit
  // These functions are used only for scheduled programs, and may be NULL. Iterations and blocks that are not needed
  // are skipped.
  //
  //  * `enters` returns true if some of the iterations lo..hi of a loop are needed. The interpreter first calls this
  //    function for all iterations of the loop, and then halves the range again and again, down to single iterations.
  //  * `runs` returns true if a block is needed for the current values of its loops.
  //  * `backwards` returns true if a loop must run from its last iteration to its first.
  //  * `drop` returns true if a store must not change its buffer.
  bool (*enters)(void *env, const nw_stmt *loop, int64_t lo, int64_t hi);
  bool (*runs)(void *env, const nw_stmt *block);
  bool (*backwards)(void *env, const nw_stmt *loop);
  bool (*drop)(void *env, const nw_access *a);
  // If true, an access outside its buffer is skipped, and an element that was never written is read as 0. If false,
  // each of these accesses ends the run with an error.
  bool lenient;
} nw_interp_opts;

// These functions run a lowered or a scheduled program. sizes: the values of the symbolic sizes, in order. params: the
// views of the parameters, in order. If a parameter has a layout, its view has this layout for a lowered program. For a
// scheduled program, it is row-major over the shape of the computation. In a scheduled program, a reduction in the lanes
// of a vector loop runs in the order of generated code, and the threads that share a reduction have partial results,
// which are combined as in the lowered program (ir/program/cross.h). If the caller observes a scheduled program by the
// functions above, such reductions instead run in the order of the loops, so that the accesses are those of the text.
bool nw_interp_exec(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_view *params, const nw_interp_opts *o);
bool nw_interp_program(nw_ctx *c, const nw_program *p, const int64_t *sizes, const nw_view *params,
                       const nw_interp_opts *o);
// Evaluates the definition of tensors directly, without a program. inputs: the values of the placeholders, in the order
// of nw_te_order. out: views of whole arrays. Floats are accumulated without fma, in the order in which the reduce axes
// are written.
bool nw_naive_eval(nw_ctx *c, int n, nw_tensor *const *outputs, const char *const *size_names, const int64_t *sizes,
                   int nsizes, int ninputs, const nw_view *inputs, nw_view *out);
// Evaluates a single output element, and only those elements of other operations that it needs. Therefore elements of
// very large tensors can be checked.
bool nw_naive_point(nw_ctx *c, nw_tensor *output, const char *const *size_names, const int64_t *sizes, int nsizes,
                    int ninputs, const nw_view *inputs, const int64_t *index, double *value);

// A row describes a scalar math function, or a vector form of it. The interpreter and the code of the LLVM back end
// call the same functions, so that both give the same bits. libmvec provides f32 forms of 4, 8 and 16 lanes and f64
// forms of 2, 4 and 8 lanes, but not for all functions.
typedef struct nw_math_row {
  nw_op op;
  nw_dtype dtype; // F32 or F64
  int lanes; // 1 for a scalar function
  const char *symbol; // the function that generated code calls
  void *address; // NULL if this build does not have the function
  double ulp; // documented bound of the error, in ulp
  nw_features needs; // features that the CPU must have
  void (*apply)(void *out, const void *a, const void *b); // computes `lanes` values
} nw_math_row;
NW_API const nw_math_row *nw_math_rows(int *n);
// Returns the widest row with at most `lanes` lanes that a CPU with these features can run. A scalar row always exists.
const nw_math_row *nw_math_find(nw_features f, nw_op op, nw_dtype t, int lanes);
// Finds the rows that together compute a vector of `lanes` lanes: the widest row is applied to the first lanes, the
// next row to the following lanes, and so on. The interpreter and the code generator both use this function. Returns
// the number of rows, or 0 if there are no rows for `op`.
NW_API int nw_math_plan(nw_features f, nw_op op, nw_dtype t, int lanes, const nw_math_row **rows);
