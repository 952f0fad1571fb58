// The reference interpreter: runs any program, scheduled or lowered, and traps every access outside its buffer and every read of
// an element that was never written. On a lowered program its results equal those of generated code to the bit.
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
  int64_t index; // linear; -1 outside the buffer
  int lanes;
  bool write;
  // Scheduled programs only:
  const nw_stmt *block; // the block that makes the access
  bool init; // it initializes a reduction
  const int64_t *var; // values of the block's variables
  int n; // the element as the program's indices
  const int64_t *at;
  int64_t room; // its storage location; elements that share storage have the same value
  bool outside, unwritten; // outside the stored part; read before any write since the allocation
  double value; // value that is read or written
} nw_access;

typedef struct nw_interp_opts {
  void (*trace)(void *env, const nw_access *a); // NULL: none
  void *env;
  const bool *enough; // NULL: never. The run ends, without a diagnostic, once it is true
  int64_t max_steps; // 0: no limit; above, NW_ELIMIT
  // Scheduled programs only. `enters`: true if some of the iterations lo..hi of a loop are needed; called for ever smaller
  // ranges, finally for single iterations. `runs`: true if a block is needed for the current values of its loops. Everything else
  // is skipped. `backwards`: true if a loop runs in reverse.
  bool (*enters)(void *env, const nw_stmt *loop, int64_t lo, int64_t hi);
  bool (*runs)(void *env, const nw_stmt *block);
  bool (*backwards)(void *env, const nw_stmt *loop);
  bool (*drop)(void *env, const nw_access *a); // true if a store is discarded, as if it were overwritten at once
  bool lenient; // an access outside is skipped, and an element never written reads as 0; otherwise both end the run
} nw_interp_opts;

// sizes: values of the program's symbolic sizes, in order. params: views in parameter order.
bool nw_interp_exec(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_view *params, const nw_interp_opts *o);
bool nw_interp_program(nw_ctx *c, const nw_program *p, const int64_t *sizes, const nw_view *params,
                       const nw_interp_opts *o);
// Evaluates the definition in its own order, without a program. inputs: placeholders in the order of
// nw_te_order; out: whole arrays. Floats: the accumulation order of the reduce axes as written, no fma.
bool nw_naive_eval(nw_ctx *c, int n, nw_tensor *const *outputs, const char *const *size_names, const int64_t *sizes,
                   int nsizes, int ninputs, const nw_view *inputs, nw_view *out);
// One output element, evaluated alone (producers on demand): for checks at full size.
bool nw_naive_point(nw_ctx *c, nw_tensor *output, const char *const *size_names, const int64_t *sizes, int nsizes,
                    int ninputs, const nw_view *inputs, const int64_t *index, double *value);

// Math rows: one scalar function and its vector forms, used by the interpreter and, by name, by generated code, so
// that both give the same bits. f32 forms of 4, 8, 16 lanes and f64 forms of 2, 4, 8 come from libmvec if it has them.
typedef struct nw_math_row {
  nw_op op;
  nw_dtype dtype; // F32 or F64
  int lanes; // 1: scalar
  const char *symbol; // the function that generated code calls
  void *address; // NULL: this build has no such function
  double ulp; // documented bound
  nw_features needs; // features of the CPU that it requires
  void (*apply)(void *out, const void *a, const void *b); // `lanes` values at a time
} nw_math_row;
NW_API const nw_math_row *nw_math_rows(int *n);
// The widest row with at most `lanes` lanes that a CPU with these features can run (lanes 1 always exists).
const nw_math_row *nw_math_find(nw_features f, nw_op op, nw_dtype t, int lanes);
// How a vector of `lanes` is computed: rows applied to consecutive pieces, widest first. Both engines use it.
NW_API int nw_math_plan(nw_features f, nw_op op, nw_dtype t, int lanes, const nw_math_row **rows);
