// Declares what codegen/c uses to write vectors with the vector types of GNU C. This header is private to codegen/c.
//
// A vector has a power of two of lanes. A type is named by its elements and lanes, for example nw_f32x8. The vector form
// of a bool is a mask: a vector of signed integers that are 0 or -1. The integers have as many bytes as the data that
// the mask is used for.
#pragma once
#include "codegen/c/c.h"

// A helper is a small C function on vectors. It has a version for each type for which it is used (c_vector_types.c).
typedef enum nwt_vhelper {
  NWV_SPLAT,
  NWV_LOAD, // NWV_LOAD to NWV_PUT_IF: access memory at an address
  NWV_LOAD_IF, // *_IF: only in the lanes of a mask
  NWV_GATHER, // elements at a constant distance
  NWV_GATHER_IF,
  NWV_PICK, // elements at the indices in a vector
  NWV_PICK_IF,
  NWV_STORE,
  NWV_STORE_IF,
  NWV_SCATTER,
  NWV_SCATTER_IF,
  NWV_PUT,
  NWV_PUT_IF,
  NWV_STREAM,
  NWV_CHOOSE,
  NWV_FMA,
  NWV_MIN,
  NWV_MAX,
  NWV_MIN_REAL, // nwv_call chooses it for floats
  NWV_MAX_REAL,
  NWV_ABS,
  NWV_SQRT,
  NWV_FLOOR,
  NWV_CEIL,
  NWV_RINT,
  NWV_CLAMP, // converts a 64-bit integer to a mask's integer type, and saturates
  NWV_HELPERS
} nwt_vhelper;

// The types and helpers that the vectors of a C text use. All versions of a kernel share this record.
struct nwt_vectors {
  int register_bytes; // bytes of a vector register of the target
  bool type[NW_DTYPE_COUNT][NW_LANES_ROOM + 1]; // [dtype][lanes]
  bool helper[NWV_HELPERS][NW_DTYPE_COUNT][NW_LANES_ROOM + 1];
  nw_str own; // functions for operations that no helper computes, and declarations of vector functions of libmvec
  nw_vec known; // for each of these functions: the scalar expression, and its lanes
  bool shuffles; // true if lanes are shuffled
  bool fence; // true if streaming stores need a fence
};

// The dtype of the elements of a vector type, whose name is made from it: f16, bf16 and bool are stored as integers.
nw_dtype nwv_element(nw_dtype t);
nw_dtype nwv_mask(int bytes); // the dtype of a mask of elements of that many bytes
void nwv_type(nwt *g, nw_str *out, nw_dtype t, int lanes); // writes the name of a type, and marks it as used
void nwv_call(nwt *g, nwt_vhelper h, nw_dtype t,
              int lanes); // writes the name of a helper and "(", and marks it as used
void nwv_write(nwt *g, nw_str *out); // writes the types and helpers that were used

// ---- c_vector.c
void nwv_expr(nwt *g, const nw_expr *e, int around); // writes a vector that is not a vector of bools
void nwv_mask_expr(nwt *g, const nw_expr *e, int bytes, int around); // writes a vector of bools as a mask
// Returns 1 if a vector of bools is true in all lanes, 0 if it is false in all lanes, and -1 if neither is known.
int nwv_known(const nw_expr *mask);
// Writes, without its end, a call of a helper that accesses memory: its name, the address, and what the access needs.
// `form` is NWV_LOAD or NWV_STORE; the helper that fits the index and the mask is called.
void nwv_access(nwt *g, nwt_vhelper form, const char *buffer, const nw_expr *index, nw_dtype t, const nw_expr *mask);

// ---- c_pieces.c
void nwv_shuffles(nwt *g, const nw_stmt *call,
                  const nw_intrinsic *in); // writes the shuffles of a call (codegen/shuffle.h)
void nwv_store(nwt *g, const nw_stmt *s); // writes the store of a vector, in pieces that fill a register
