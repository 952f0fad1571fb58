// Declares the dialects of C for GPUs: CUDA C and OpenCL C. A text in a dialect has a kernel for each launch of the
// program (lower/launch.h). The functions nwk_* write what differs from C. This header is private to codegen/c.
#pragma once
#include "codegen/c/c.h"
#include "lower/launch.h"

struct nwt_dialect {
  const char *name;
  const char *function; // what stands before a helper function
  const char *kernel; // what stands before a kernel's name
  const char *restricted; // the keyword for a pointer whose elements no other pointer reaches
  const char *global, *shared; // qualifiers of memory; each ends with a space or is empty
  const char *align; // a format for the attribute of an array that is aligned to %d bytes
  const char *index[NW_GRID_DIMS]; // the indices of the grid
  const char *barrier;
  bool typed_functions; // true if the names of functions of f32 end with f
};

extern const nwt_dialect nwk_cuda, nwk_opencl;

// Returns the text of a program that nw_lower_loops made, on the heap; NULL, with a diagnostic, on failure. See nw_grid_text.
char *nwk_text(const nw_exec *e, const nwt_dialect *d, const char *symbol);

void nwk_mark(nwt *g, const nw_stmt *loop); // writes what stands before a loop that is marked
// Writes a vectorized loop that only copies as one copy of a vector, if the elements are aligned. Returns false and writes
// nothing if it is not such a loop.
bool nwk_wide_copy(nwt *g, const nw_stmt *loop);
bool nwk_store(nwt *g, const nw_stmt *s); // writes an atomic or asynchronous store; returns false if s is neither
void nwk_sync(nwt *g, const nw_stmt *s); // writes a barrier, a commit or a wait
// Writes a shuffle: a store, or a guard around one. Returns false, and writes nothing, if s is another statement or the
// dialect has no shuffles.
bool nwk_shuffle(nwt *g, const nw_stmt *s);
bool nwk_is_shuffle(const nwt *g, const nw_stmt *s); // true if nwk_shuffle writes s
// True if a shuffle in s gives away values of the array, or stores to it. Lanes without a value take part, too.
bool nwk_is_shuffled(const nwt *g, const nw_stmt *s, const char *buffer);
// Writes a call of an instruction of a warp.
struct nw_intrinsic;
void nwk_instruction(nwt *g, const nw_stmt *s, const struct nw_intrinsic *in);
bool nwk_in_register(const nwt *g, const char *buffer); // true if the array is written as a variable, not as an array
bool nwk_is_alone(const nwt *g, const nw_stmt *alloc); // true if the array is allocated in no other place of the kernel
bool nwk_in_place(const nwt *g, const nw_stmt *alloc); // true if the array is declared where it is allocated
