// The slow judge: runs any program, scheduled or lowered, traps every access outside its buffer and every read of an
// element never written. Bit-equal with generated code on a lowered program.
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
  int64_t index; // linear; -1 outside of the buffer
  int lanes;
  bool write;
  // Scheduled programs only:
  const nw_stmt *block; // whose access it is
  bool init; // it sets what the reduction starts from
  const int64_t *var; // values of the block's variables
  int n; // the element as the program names it
  const int64_t *at;
  int64_t room; // where it is kept; elements of one place have one room
  bool outside, unwritten; // not stored; read, and never written since the buffer was made
  double value; // what is read or written
} nw_access;

typedef struct nw_interp_opts {
  void (*trace)(void *env, const nw_access *a); // NULL: none
  void *env;
  const bool *enough; // NULL: never. The run ends, without a diagnostic, once it is set
  int64_t max_steps; // 0: no limit; above, NW_ELIMIT
  // Scheduled programs only. `enters`: whether anything is wanted of the iterations lo..hi of a loop, asked of ever smaller
  // parts, at last of each iteration alone; `runs`: whether a block is, once all loops around it stand. What is not is left
  // out. `backwards`: whether a loop runs from its end.
  bool (*enters)(void *env, const nw_stmt *loop, int64_t lo, int64_t hi);
  bool (*runs)(void *env, const nw_stmt *block);
  bool (*backwards)(void *env, const nw_stmt *loop);
  bool (*drop)(void *env, const nw_access *a); // whether a store comes to nothing, as if it were overwritten at once
  bool lenient; // an access outside is left out, and an element never written reads as 0; else both end the run
} nw_interp_opts;

// sizes: values of the program's symbolic sizes, in order. params: views in parameter order.
bool nw_interp_exec(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_view *params, const nw_interp_opts *o);
bool nw_interp_program(nw_ctx *c, const nw_program *p, const int64_t *sizes, const nw_view *params,
                       const nw_interp_opts *o);
// The definition itself, evaluated in its own order with no program at all. inputs: placeholders in the order of
// nw_te_order; out: whole arrays. Floats: the accumulation order of the reduce axes as written, no fma.
bool nw_naive_eval(nw_ctx *c, int n, nw_tensor *const *outputs, const char *const *size_names, const int64_t *sizes,
                   int nsizes, int ninputs, const nw_view *inputs, nw_view *out);
// One output element, evaluated alone (producers on demand): for checks at full size.
bool nw_naive_point(nw_ctx *c, nw_tensor *output, const char *const *size_names, const int64_t *sizes, int nsizes,
                    int ninputs, const nw_view *inputs, const int64_t *index, double *value);

// Math rows: one scalar function and its vector forms, used by the interpreter and, by name, by generated code, so
// that both give the same bits. f32 forms of 4, 8, 16 lanes and f64 of 2, 4, 8 come from libmvec when it has them.
typedef struct nw_math_row {
  nw_op op;
  nw_dtype dtype; // F32 or F64
  int lanes; // 1: scalar
  const char *symbol; // what generated code calls
  void *address; // NULL: this build has no such function
  double ulp; // documented bound
  nw_features needs; // of the processor that it runs on
  void (*apply)(void *out, const void *a, const void *b); // `lanes` values at a time
} nw_math_row;
NW_API const nw_math_row *nw_math_rows(int *n);
// The widest row with at most `lanes` lanes that a processor with these features can run (lanes 1 always exists).
const nw_math_row *nw_math_find(nw_features f, nw_op op, nw_dtype t, int lanes);
// How a vector of `lanes` is computed: rows applied to consecutive pieces, widest first. Both engines follow it.
NW_API int nw_math_plan(nw_features f, nw_op op, nw_dtype t, int lanes, const nw_math_row **rows);
