// Builds an affine nest from a text.
#pragma once
#include "access/affine/affine_make.h"
#include "nest/nest_text.h"

typedef struct nw_nest_shape {
  int64_t dim[NW_TEXT_DIMS], stride[NW_TEXT_DIMS]; // stride: in elements
  int first; // index of the array's first dimension in the list of all dimensions of all arrays
} nw_nest_shape;

typedef struct nw_nest_maker {
  nw_maker m;
  const nw_text *t;
  nw_nest_shape *shape; // the shape of each array of the text
  // true if the nest is used only to check that each index is inside its dimension. Then each dimension of an array
  // becomes a separate array, and a reference with n indices becomes n references.
  bool indices;
} nw_nest_maker;

// Adds a position in the text to the current diagnostic, and returns false.
bool nw_nest_blame(nw_nest_maker *k, int line, int column);
void nw_nest_param(nw_affine_scope *s, const char *name, int64_t value);
bool nw_nest_arrays(nw_nest_maker *k); // computes the addresses of the arrays
void nw_nest_indices(nw_nest_maker *k); // replaces each array with one array per dimension, which has its extent
