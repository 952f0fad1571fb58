// Declares the memory layout of a buffer. The layout converts the logical indices of blocks to the linear indices of a
// lowered program.
#pragma once
#include "ir/program/program.h"

typedef struct nw_physical {
  const nw_buffer *buffer;
  int n; // physical dimensions
  const nw_expr **first; // the first stored position, which is subtracted from the physical index
  const nw_expr **stride; // in elements
  const nw_expr *elements; // number of elements, as an expression of sizes
} nw_physical;

enum { NW_MAX_STRIDE = 1 << 20 }; // the largest factor of an aligned stride

// Returns the number of dimensions of the layout. If the buffer has no layout, returns the number of dimensions of its
// shape.
int nw_physical_dims(const nw_buffer *b);
// Returns the extents of these dimensions. For a parameter, this is the shape of the caller's array.
const nw_expr *const *nw_physical_shape(const nw_buffer *b);
// Returns the number of elements from the first one to the last one of a parameter in memory, if it is not empty. If no
// caller's strides leave gaps, this is the number of its elements.
const nw_expr *nw_physical_reach(nw_pool *p, const nw_buffer *b);
// Like nw_physical_reach, but returns 0 if the parameter is empty.
const nw_expr *nw_physical_room(nw_pool *p, const nw_buffer *b);
// Returns the layout of a parameter.
nw_physical *nw_physical_param(nw_arena *a, const nw_program *p, const nw_buffer *b);
// Returns the layout of an allocated buffer. `loops` has the names of the loop variables around the allocation. Returns
// NULL with a diagnostic if the size has no bound.
nw_physical *nw_physical_alloc(nw_arena *a, const nw_program *p, const nw_ranges *r, const nw_stmt *alloc, int nloops,
                               const char *const *loops);
// These functions return the linear index of an element. nw_physical_at takes its physical position, and
// nw_physical_index takes its logical index. The result is affine if the physical position is affine.
const nw_expr *nw_physical_at(const nw_physical *place, const nw_ranges *r, const nw_expr *const *at);
const nw_expr *nw_physical_index(const nw_physical *place, const nw_ranges *r, const nw_expr *const *index);
