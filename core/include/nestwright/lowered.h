// The lowered program as data: loops, statements, accesses, buffers.
#pragma once
#include "nestwright/access.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nw_lowered nw_lowered;
typedef struct nw_body_row { // a loop or a guard, in the order of the program; number 0 is the whole
  int id; // of the statement; 0: the whole
  const char *name, *mark; // of a loop; NULL: the whole, or a guard
  int up; // number of the body around; -1: none
  int depth; // loops around, itself included
  int64_t extent; // of a loop; -1: it is no constant
  int conditions; // a guard's own, and choices in bounds and conditions
} nw_body_row;
typedef struct nw_statement_row { // a store
  int id, body; // body: number of the innermost one around
  int first, n; // its accesses; the last of them is the store
  int operations; // on values, each value computed once; fma is two
  int selects; // choices between two values
  int conditions; // masks and choices, in indices too
  bool copies; // stores what it loads and nothing else
  bool fills; // loads nothing
  bool updates; // loads the element that it stores
  bool stream; // past the caches
} nw_statement_row;
typedef struct nw_access_row { // one load or store of the program text
  const char *buffer;
  const void *index; // equal: the same index
  const void *spread; // equal: the same index but for the constant that is added to it
  int64_t offset; // that constant
  int lanes;
  bool write, masked;
  bool steady; // its lanes are `step` elements apart
  int64_t step;
} nw_access_row;
typedef struct nw_stored_row { // a buffer
  const char *name, *scope;
  nw_dtype dtype;
  bool temporary; // no argument of the kernel
  int64_t elements; // -1: not known without the sizes
} nw_stored_row;
// sizes: values of the symbolic sizes, in order; NULL: they are not known.
NW_API nw_lowered *nw_lowered_of(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_lowered_free(nw_lowered *v);
NW_API int nw_lowered_bodies(const nw_lowered *v);
NW_API nw_body_row nw_lowered_body_at(const nw_lowered *v, int i);
NW_API int nw_lowered_statements(const nw_lowered *v);
NW_API nw_statement_row nw_lowered_statement_at(const nw_lowered *v, int i);
NW_API nw_access_row nw_lowered_access_at(const nw_lowered *v, int i);
// Elements between the places of an access in two rounds of a loop that follow each other: in most of them, where that varies.
NW_API int64_t nw_lowered_stride(const nw_lowered *v, int access, int body);
NW_API int nw_lowered_buffers(const nw_lowered *v);
NW_API nw_stored_row nw_lowered_buffer_at(const nw_lowered *v, int i);

#ifdef __cplusplus
}
#endif
