// Declares programs, which are loop nests. Also declares the functions that print, parse and compare them.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nw_style { NW_TEXT_PLAIN, NW_TEXT_ANSI, NW_TEXT_HTML } nw_style;
typedef struct nw_show_opts {
  nw_style style;
  bool full; // true: print the full text form, which can be parsed; false: print the short form for users
  int changed_since; // mark the statements that the step with this number or a later step changed; 0: mark none
  int nmarks; // number of statements to mark, each with a remark
  const int *mark; // ids of these statements
  const char *const *remark;
  bool only_marked; // print "..." in place of subtrees without a mark
} nw_show_opts;
NW_API char *nw_program_show(const nw_program *p, const nw_show_opts *o); // if o is NULL: the short form as plain text
NW_API char *nw_program_print(const nw_program *p); // the full text form; parsing it gives the same program
NW_API nw_program *nw_program_parse(nw_ctx *c, nw_pool *pool, const char *text);
NW_API char *nw_program_diff(const nw_program *a, const nw_program *b, nw_style style);
NW_API bool nw_same_program(const nw_program *a, const nw_program *b);
NW_API nw_program *nw_program_retain(const nw_program *p);
NW_API void nw_program_release(nw_program *p);

NW_API int nw_program_sizes(const nw_program *p); // number of symbolic sizes
NW_API const char *nw_program_size(const nw_program *p, int i); // name
NW_API int nw_program_buffers(const nw_program *p);
NW_API const char *nw_program_buffer(const nw_program *p, int i); // name
NW_API nw_dtype nw_program_buffer_dtype(const nw_program *p, int i);
// Returns the number of parameters of a call. They are the program's first buffers: the inputs, then the outputs.
NW_API int nw_program_parameters(const nw_program *p);
NW_API bool nw_program_is_output(const nw_program *p, int i);
NW_API int nw_program_rank(const nw_program *p, int i);
NW_API char *nw_program_extent(const nw_program *p, int i, int dim); // an expression of sizes as text; heap
// Computes the extent of a buffer from the values of n sizes. Returns false if a size in the extent has no value.
NW_API bool nw_program_extent_at(const nw_program *p, int i, int dim, int n, const char *const *names,
                                 const int64_t *values, int64_t *out);
// The same for the stride of a dimension, if the caller's array has strides that it chooses.
NW_API bool nw_program_has_strides(const nw_program *p, int i);
NW_API char *nw_program_stride(const nw_program *p, int i, int dim);
NW_API bool nw_program_stride_at(const nw_program *p, int i, int dim, int n, const char *const *names,
                                 const int64_t *values, int64_t *out);
// Evaluates a text that is an integer expression of sizes, such as "M // 16 + 1", or a condition on sizes. The syntax
// is that of the arguments of steps. Returns false if a name has no value, or if the text is not an expression.
NW_API bool nw_size_value(nw_ctx *c, const char *text, int n, const char *const *names, const int64_t *values,
                          int64_t *out, bool *is_condition);
NW_API const char *nw_program_name(const nw_program *p);
NW_API bool nw_program_unsafe(const nw_program *p); // true if a step was not checked by the judge
// If a rewrite or a reducer of the program was tested, but not proved, returns the least number of values on which one of
// them was tested. Otherwise returns 0.
NW_API int nw_program_tested(const nw_program *p);
// A row of the outline of a scheduled program. The outline has a row for every loop, stage, guard, allocation, prefetch,
// call and unit. An outer statement comes before the statements inside it.
typedef struct nw_outline_row {
  // kind: "loop", "stage", "guard", "storage", "prefetch", "call" or "unit"; name: NULL if the statement has no name
  const char *kind, *name;
  const char *mark; // for a loop: "", "parallel", ...
  const char *axis; // for a stage: its last axis that is not a reduce axis, or NULL
  int id, depth;
  // for a loop that begins at 0 and has a constant trip count: the trip count; otherwise -1
  int64_t extent;
  bool unsafe; // true if a step that was not judged made or changed the statement
  bool tested; // true if a rewrite that was tested, but not proved, made or changed the statement
  bool stream; // for a stage: true if its stores are non-temporal
  bool async; // for a stage: true if it is an asynchronous copy
  char *text; // text for users: "i_o in 0..32  parallel"
} nw_outline_row;
NW_API int nw_program_outline(const nw_program *p, nw_outline_row **out);
NW_API void nw_outline_free(int n, nw_outline_row *row);

// What the block of a stage computes, as data: its axes, and the accesses to its result (number 0) and to the tensors that it
// reads, in the order of the expression.
typedef struct nw_axis_facts {
  const char *name;
  int64_t extent; // -1 if it is not a constant
  bool reduced;
} nw_axis_facts;
typedef struct nw_access_facts {
  const char *tensor;
  nw_dtype dtype;
  int ndim;
  bool *affine; // for each dimension: the index is a sum of axes with constant coefficients
  int64_t *coef; // coef[d*naxes + v]: the coefficient of axis v in the index of dimension d
} nw_access_facts;
typedef struct nw_stage_facts {
  int naxes, naccesses;
  nw_axis_facts *axis;
  nw_access_facts *access;
  bool reduction, product, copy; // product: a sum of products of two elements; copy: of an element, or of a constant
} nw_stage_facts;
// Returns false if there is no such stage. The names belong to the program.
NW_API bool nw_program_stage(const nw_program *p, const char *stage, nw_stage_facts *out);
NW_API void nw_stage_facts_free(nw_stage_facts *f);

#ifdef __cplusplus
}
#endif
