// Plans an intrinsic that only moves elements: vectors are loaded, their lanes are shuffled, and vectors are stored.
//
// The description must copy each element of one input to one output, and all extents must be powers of two. Then the
// number of an element consists of bits, the bits of the loops' variables, and each side holds these bits in another
// order: some bits are the number of the lane, the others the number of the vector. A pair of shuffles exchanges a bit of
// the lane and a bit of the vector, for two vectors at a time. So a tile of 2^m vectors needs m rounds for each bit that
// has to enter the lanes. A transpose of 8 x 8 elements takes three rounds of eight shuffles.
#pragma once
#include "ir/program/intrinsic.h"

#define NW_SHUFFLE_LANES 64 // the most lanes of a vector
#define NW_SHUFFLE_BITS 12 // limit on the bits of an element's number

typedef enum nw_shuffle_kind { NW_SHUFFLE_LOAD, NW_SHUFFLE_MIX, NW_SHUFFLE_STORE } nw_shuffle_kind;

typedef struct nw_shuffle {
  nw_shuffle_kind kind;
  int to; // LOAD, MIX: the new vector. Each vector is made once
  int a, b; // MIX: the two vectors whose lanes are mixed, which may be the same; STORE: a is stored
  uint8_t lane[NW_SHUFFLE_LANES]; // MIX: for each lane, a lane of a, or lanes + a lane of b
  int64_t at[NW_MAX_TILE_DIMS]; // LOAD, STORE: the position of the vector's first element in the tile
} nw_shuffle;

typedef struct nw_shuffles {
  int input, output; // numbers of the arguments
  nw_dtype dtype;
  int lanes, vectors; // lanes of a vector, and number of all vectors that are made
  int n, cap;
  nw_shuffle *at;
} nw_shuffles;

// Makes a plan for vectors of at most `bytes` bytes. Returns false, with a diagnostic, if the description is not one that
// shuffles can compute.
NW_API bool nw_shuffles_of(nw_ctx *c, const nw_intrinsic *in, int bytes, nw_shuffles *out);
NW_API void nw_shuffles_free(nw_shuffles *s);
// Returns, on the heap, the C text of a function that follows the plan, for the trial of an intrinsic.
char *nw_shuffles_c(const nw_intrinsic *in, const nw_shuffles *s);
