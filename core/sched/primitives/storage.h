// Makes new buffers and copy blocks, and changes buffers. Private to sched/.
#pragma once
#include "sched/sched.h"

// Returns the buffer that the argument names. If the argument names a stage, returns the first buffer that the stage
// writes. nw_temp_arg does the same, but accepts only temporaries.
nw_buffer *nw_tensor_arg(nw_step *st, int param);
nw_buffer *nw_temp_arg(nw_step *st, int param);
void nw_touch_allocs(nw_step *st, const char *buffer); // marks the allocations as changed by this step
// Gives the buffer the scope that a parameter names: one of those of every machine, or a buffer of the target.
bool nw_take_scope(nw_step *st, int param, nw_buffer *b);
// Makes a temporary with the same shape as `of`. `scope` and `name` are the numbers of the parameters that give its scope
// and its name. If no name is given, it is the name of `of`, followed by "_" and the suffix.
nw_buffer *nw_new_cache(nw_step *st, const nw_buffer *of, int scope, int name, const char *suffix);
// nw_set_layout gives the buffer the layout of an argument of kind EXPRS. It refuses a list of digits that puts two elements
// at the same position; the judge finds out whether other layouts do. nw_put_layout sets a layout without this check.
bool nw_set_layout(nw_step *st, nw_buffer *b, const nw_arg *layout);
// True if the layout consists of integer expressions of the indices of b. Otherwise the step gets an error.
bool nw_is_layout(nw_step *st, const nw_buffer *b, int n, const nw_expr *const *e);
// True if the layout of b has at most 16*n + 4096 positions, where n is the number of elements. Otherwise the step is refused.
bool nw_is_compact(nw_step *st, const nw_buffer *b);
bool nw_put_layout(nw_step *st, nw_buffer *b, int n, const nw_expr *const *e);
// Completes the step that gave a parameter its layout. `pad` is the argument with the value of the positions that hold
// no element (params.c).
bool nw_lay_out_param(nw_step *st, nw_buffer *b, const nw_arg *pad);
// Makes a block that computes to[index] = from[index] for all values of the variables `var`.
nw_stmt *nw_copy_block(nw_step *st, const char *name, const char *to, const nw_buffer *from, int nvars,
                       const nw_block_var *var, int n, const nw_expr *const *index);
// The variables of a block that occur in some expressions, and for each of them a dimension of a new buffer, whose
// indices begin at 0.
typedef struct nw_along {
  int n;
  const char **old; // names of the variables
  const nw_expr **from; // their values, as functions of the variables of a stage that computes the buffer
  const nw_expr **index; // the index with which the block accesses the buffer
  const nw_expr **extent;
  nw_block_var *var; // the variables of the stage
} nw_along;
nw_along nw_along_of(nw_step *st, const nw_stmt *block, int n, const nw_expr *const *e);
// Makes a block that computes `value`, an expression in the old variables, for all elements of the buffer.
nw_stmt *nw_stage_along(nw_step *st, const nw_buffer *to, const nw_along *d, const nw_expr *value);
// Describes how a stage computes into a new buffer, from which its result is copied (cache_write.c).
typedef struct nw_result_copy {
  int scope, layout, name, at; // the numbers of the parameters of the step
  const char *suffix; // of the name of the buffer, if the step gives no name
  // The dimensions of the buffer, and the index with which the stage writes it. If n is 0, they are those of the result.
  int n;
  const nw_expr **index, **extent;
} nw_result_copy;
bool nw_copy_result(nw_step *st, nw_stmt *block, const nw_result_copy *how);
// nw_reads_of returns the reads of a tensor in a block: its different loads (const nw_expr *), from left to right. A load
// in an index comes before the load that it indexes. nw_list_reads writes them with their numbers, for a message.
// nw_fail_unknown_read reports that there is no read with this number, and returns false.
nw_vec nw_reads_of(const nw_stmt *block, const char *tensor);
const char *nw_list_reads(nw_step *st, const nw_stmt *block, const nw_vec *load);
bool nw_fail_unknown_read(nw_step *st, const nw_stmt *block, const char *tensor, int64_t number, const nw_vec *load);
// Returns the innermost loop around the storage of a temporary, or NULL if the storage is outside all loops.
nw_stmt *nw_home_of(nw_step *st, const char *buffer);
