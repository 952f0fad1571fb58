// Describes the loops, statements, accesses and buffers of a lowered program as rows.
#pragma once
#include "nestwright/access.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nw_lowered nw_lowered;
typedef struct nw_body_row { // a loop or a guard, in program order; number 0 is the whole program
  int id; // id of the statement; 0 for the whole program
  const char *name, *mark; // for a loop; both are NULL for the whole program and for a guard
  int up; // number of the enclosing body; -1 if there is no enclosing body
  int depth; // number of enclosing loops; a loop counts itself
  int64_t extent; // trip count of a loop; -1 if it is not constant
  int conditions; // number of conditions: the guard's own condition, and selects in its condition or in loop bounds
} nw_body_row;
typedef struct nw_statement_row { // a store
  int id, body; // body: number of the innermost enclosing body
  int first, n; // the accesses first..first + n - 1 belong to the statement; the last access is the store
  int operations; // number of operations on values; a shared subexpression counts once; an fma counts as two operations
  int selects; // number of selects between values
  int conditions; // number of masks and selects, including selects in indices
  bool copies; // true if the statement stores a loaded value unchanged
  bool fills; // true if the statement has no loads
  bool updates; // true if the statement also loads the element that it stores
  bool stream; // non-temporal store
} nw_statement_row;
typedef struct nw_access_row { // one load or store of the program text
  const char *buffer;
  const void *index; // accesses with the same pointer have the same index
  const void *spread; // accesses with the same pointer have the same index, except for the constant offset
  int64_t offset; // the constant offset of the index
  int lanes;
  bool write, masked;
  bool steady; // true if adjacent lanes are always `step` elements apart
  int64_t step; // in elements
} nw_access_row;
typedef struct nw_stored_row { // a buffer
  const char *name, *scope;
  nw_dtype dtype;
  bool temporary; // true if the buffer is not an argument of the kernel
  int64_t elements; // number of elements; -1 if it depends on unknown sizes
} nw_stored_row;
// Lowers a program and describes the result. `sizes` has the values of the symbolic sizes, in order; it is NULL if they
// are unknown.
NW_API nw_lowered *nw_lowered_of(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_lowered_free(nw_lowered *v);
NW_API int nw_lowered_bodies(const nw_lowered *v);
NW_API nw_body_row nw_lowered_body_at(const nw_lowered *v, int i);
NW_API int nw_lowered_statements(const nw_lowered *v);
NW_API nw_statement_row nw_lowered_statement_at(const nw_lowered *v, int i);
NW_API nw_access_row nw_lowered_access_at(const nw_lowered *v, int i);
// Returns the number of elements between the addresses of an access in consecutive iterations of a loop. If the number
// varies, returns an estimate. Returns 0 if the body is not a loop.
NW_API int64_t nw_lowered_stride(const nw_lowered *v, int access, int body);
NW_API int nw_lowered_buffers(const nw_lowered *v);
NW_API nw_stored_row nw_lowered_buffer_at(const nw_lowered *v, int i);

#ifdef __cplusplus
}
#endif
