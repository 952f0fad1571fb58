// Declares tensor expressions.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

// nw_size_var returns a symbolic size, which is an expression for use in shapes. `lo` is its least value, at least 0.
// nw_size_fact adds a fact, which is a bool expression of sizes, such as M % 16 == 0. A fact is assumed to hold, and is
// checked when a kernel is called.
NW_API const nw_expr *nw_size_var(nw_ctx *c, const char *name, int64_t lo);
NW_API bool nw_size_fact(const nw_expr *size, const nw_expr *fact);

NW_API nw_tensor *nw_placeholder(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape);
// Gives a placeholder or an output strides: the array of the caller has these distances between neighbours along each
// dimension, in elements. They are expressions of sizes, for which no two elements overlap. Call this before the tensor
// is used. All outputs of one operation have the same strides. Returns false, with a diagnostic, on failure.
NW_API bool nw_tensor_set_strides(nw_tensor *t, int n, const nw_expr *const *stride);
// Returns a placeholder for the state of a scan. The function nw_scan checks later that reads of the state are in
// bounds, because only nw_scan knows the range of the time. A plain placeholder can also be the state of a scan. Then
// nw_scan also checks that reads of earlier times stay in bounds at the first times.
NW_API nw_tensor *nw_scan_state(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape);
NW_API nw_axis *nw_reduce_axis(nw_ctx *c, const char *name, const nw_expr *lo, const nw_expr *extent);
// Makes a reduce axis whose values are begin <= k < end. Begin and end may use other axes, which must come before it in
// the reduction, and data. Only values with 0 <= k < within are used; other values contribute nothing. If `within` is
// NULL, it is the greatest value of end.
NW_API nw_axis *nw_reduce_axis_between(nw_ctx *c, const char *name, const nw_expr *begin, const nw_expr *end,
                                       const nw_expr *within);
NW_API bool nw_extent_is_fixed(const nw_expr *e); // true if e uses only constants and symbolic sizes
NW_API const nw_expr *nw_axis_var(const nw_axis *a); // the axis as an index expression; borrowed
NW_API const nw_expr *nw_tensor_read(nw_tensor *t, int n, const nw_expr *const *index); // A(i, k)
// Returns a reduction, which is allowed only as the whole body of a compute. `kind` is "sum", "prod", "min", "max",
// "argmin" or "argmax".
NW_API const nw_expr *nw_reduction(nw_ctx *c, const char *kind, const nw_expr *term, int naxes, nw_axis *const *axes);
// A reducer that a user defines. It has n components, one for each term. `init` has constants, and `combine` gives the
// components of the combined state, as expressions of the variables that nw_reducer_component returns. All expressions
// have the dtype of their term.
typedef struct nw_own_reducer {
  const char *name;
  int n;
  const char *const *part; // the names of the components
  const nw_expr *const *init, *const *combine;
} nw_own_reducer;
// Returns the variable of component i of the first state, or of the second state.
NW_API const nw_expr *nw_reducer_component(nw_ctx *c, bool second, int i, nw_dtype t);
// Returns the reduction of the terms by the reducer, which makes n outputs. The reducer must be associative and
// commutative, and init must change nothing. If this is neither proved nor tested, or does not hold, returns NULL with a
// diagnostic.
NW_API const nw_expr *nw_own_reduction(nw_ctx *c, const nw_own_reducer *own, const nw_expr *const *term, int naxes,
                                       nw_axis *const *axes);

// A compute is built in two calls, so that the caller can run user code between them: nw_compute_begin makes the axes,
// and nw_compute_end takes one body per output. An exception is an argmin or argmax, which is one body and makes two
// outputs: the value, and the index (i64). The result of nw_build_axis is borrowed.
typedef struct nw_build nw_build;
NW_API nw_build *nw_compute_begin(nw_ctx *c, const char *name, int naxes, const char *const *names,
                                  const nw_expr *const *extents);
NW_API const nw_expr *nw_build_axis(const nw_build *b, int i);
NW_API int nw_compute_end(nw_build *b, int nbodies, const nw_expr *const *bodies,
                          nw_tensor **outputs); // returns the number of outputs; 0 on failure
NW_API void nw_build_drop(nw_build *b); // cancels the compute; called instead of nw_compute_end
// A part of a tensor, as A[i, 0:16]. In dimension d, it has the elements begin[d] <= index < end[d], or the single index
// begin[d] if end[d] is NULL.
typedef struct nw_tensor_part {
  nw_tensor *of;
  int n;
  const nw_expr *const *begin, *const *end;
} nw_tensor_part;
// Returns the bodies of a compute whose elements are computed by calls of an intrinsic. `output` is an output of the
// compute that describes the intrinsic, and `input` has its inputs, in the order of the intrinsic's parameters. The
// first `outer` axes are those around the calls, and the others are those of the tile that a call writes. A call reads
// parts of tensors, one for each input. The calls of one tile may share a reduction over more axes; then the intrinsic
// must add to its output. Writes the bodies, for nw_compute_end, and returns their number; 0 on failure.
NW_API int nw_build_call(nw_build *b, const char *intrinsic, nw_tensor *output, int ninputs, nw_tensor *const *input,
                         int outer, int nparts, const nw_tensor_part *part, int nreduce, nw_axis *const *reduce,
                         const nw_expr **bodies);
// Makes a scan, which is a recurrence over dimension 0. The index in this dimension is called the time. The scan has n
// states. The rows of `init` are the values of a state at the first times, and `update` computes all later times. The
// body of `update` reads `state`, which is made by nw_scan_state or is a placeholder of the full shape. The body may
// read earlier times, and elements of the same time that are already written.
NW_API bool nw_scan(nw_ctx *c, const char *name, int n, nw_tensor *const *init, nw_tensor *const *update,
                    nw_tensor *const *state, nw_tensor **outputs);

// An update changes elements of a tensor, one after the other, and makes the tensor after the changes. It is built in two
// calls, like a compute. nw_update_begin makes the axes; axis i has extents[i] values from lo[i] on. nw_build_stage
// returns the stage while it is updated (borrowed); the value and the index may read it. nw_update_end takes the index
// of the element that is written, its new value, and the condition under which it is written (NULL: always), which must
// not depend on data. The points of the axes are visited in their order, the last axis fastest. Updates of one tensor
// after the other are one stage with a list of definitions.
//
// Between the two calls, the stage may itself be updated. Such updates share the axes of the update around them, which
// then has no value of its own: it ends with the value NULL. nw_build_outer_axes returns the number of axes of the
// updates around one; they come before its own axes. nw_update_begin returns NULL on failure. nw_update_end returns
// false on failure, and sets *out to the tensor after the update, or to NULL for an update inside another one.
NW_API nw_build *nw_update_begin(nw_ctx *c, const char *name, nw_tensor *of, int naxes, const char *const *names,
                                 const nw_expr *const *lo, const nw_expr *const *extents);
NW_API nw_tensor *nw_build_stage(const nw_build *b);
NW_API int nw_build_outer_axes(const nw_build *b);
NW_API bool nw_update_end(nw_build *b, int n, const nw_expr *const *index, const nw_expr *value, const nw_expr *when,
                          nw_tensor **out); // ends the update even on failure

NW_API nw_tensor *nw_tensor_retain(nw_tensor *t);
NW_API void nw_tensor_release(nw_tensor *t);
NW_API const char *nw_tensor_name(const nw_tensor *t);
NW_API nw_dtype nw_tensor_dtype(const nw_tensor *t);
NW_API int nw_tensor_ndim(const nw_tensor *t);
NW_API const nw_expr *nw_tensor_dim(const nw_tensor *t, int d);
NW_API bool nw_tensor_is_placeholder(const nw_tensor *t);
NW_API char *nw_tensor_show(const nw_tensor *t); // C[i, j] = sum(A[i, k]*B[k, j], k)
NW_API nw_axis *nw_axis_retain(nw_axis *a);
NW_API void nw_axis_release(nw_axis *a);
NW_API const char *nw_axis_name(const nw_axis *a);

#ifdef __cplusplus
}
#endif
