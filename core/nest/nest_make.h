// An affine nest under construction, from a text.
#pragma once
#include "access/affine/affine_make.h"
#include "nest/nest_text.h"

typedef struct nw_nest_shape {
  int64_t dim[NW_TEXT_DIMS], stride[NW_TEXT_DIMS]; // stride: in elements
  int first; // number of its first index among the indices of all arrays
} nw_nest_shape;

typedef struct nw_nest_maker {
  nw_maker m;
  const nw_text *t;
  nw_nest_shape *shape; // by array of the text
  // If true, builds a nest that accesses each index of a reference separately, to check that each is inside its
  // dimension.
  bool indices;
} nw_nest_maker;

// Adds a position in the text to the current failure. Returns false.
bool nw_nest_blame(nw_nest_maker *k, int line, int column);
void nw_nest_param(nw_affine_scope *s, const char *name, int64_t value);
bool nw_nest_arrays(nw_nest_maker *k); // computes the addresses of the arrays
void nw_nest_indices(nw_nest_maker *k); // replaces the arrays by one array for each index, as large as its dimension
