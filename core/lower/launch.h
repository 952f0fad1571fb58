// A lowered program for a GPU, as launches of kernels.
//
// The arguments of a kernel are pointers to l->buffer, in order, then all sizes of the program, then l->var. Sizes and
// variables are 64-bit integers.
//
// The host runs the statements around the launches in order: loops, guards, and allocations of workspaces. Each launch
// (ir/program/grid.c) becomes a kernel, which every thread of the grid executes. In the body of a kernel there are no
// bound loops any more. Their variables are replaced by the thread's indices, which are variables named "blockIdx.x" to
// "threadIdx.z" and begin at 0. If a loop has fewer iterations than the launch has indices, a guard is around its body. A
// statement that is not inside a loop bound to some index has a guard that the index is 0. A barrier is never inside a
// guard that depends on the thread. A call of an instruction of a warp has no nest, and its fragments are arrays of each
// thread (fragments.c).
#pragma once
#include "lower/lower.h"
#include "nestwright/launches.h"

typedef struct nw_launch_buffer {
  const char *name; // an argument of the program or a workspace
  bool read, written, atomic; // what the kernel does with its elements; `atomic` says that some updates are atomic
} nw_launch_buffer;

// An array in the memory of a block. A buffer that is allocated in several places has one array, of the largest size.
typedef struct nw_block_array {
  const char *buffer;
  nw_dtype dtype;
  nw_scope scope; // NW_SHARED or NW_WARP
  // Number of elements. For NW_WARP, this is the number for each warp, and the array has a part for each warp of the
  // block. The warps are numbered in the order of z, y and x.
  int64_t elements;
  int64_t offset, bytes; // place of the array if all are in one piece of memory; offset is a multiple of 16
  // If it is not 0, the array of a warp can be a register of each lane: the only store to it, which is alone in its guard,
  // gives a value of lane l to lane l - shuffle, and each load reads what its lane was given. Element l of the array is
  // that of lane l, for the lanes of the first warp along x. A machine with shuffles needs no memory for it. There, all
  // lanes of the warp execute the store together, without its guard.
  int shuffle;
} nw_block_array;

#define NW_STATIC_SHARED 49152 // the most bytes of shared memory that the code of a kernel may declare with CUDA
#define NW_BLOCK_ARRAY_ALIGN 16 // bytes; arrays of a block are aligned for the widest vectors

typedef struct nw_launch {
  const char *name; // the kernel's name, an identifier of C; "C_kernel", or "C_kernel_1", ... if there are several
  const nw_stmt *at; // the statement of the lowered program that the launch runs
  const nw_stmt *body; // the statements that each thread executes
  // Numbers of blocks in x, y and z, and of threads of a block in x, y and z, as expressions of sizes and of variables of
  // the host's loops. At least 1, except that a number of blocks may be 0 or negative: then nothing is launched.
  const nw_expr *extent[6];
  int nvars; // variables of the host's loops that the body uses
  const nw_expr **var;
  int nbuffers; // buffers that the body uses and that are not allocated in it, in the order of the program
  nw_launch_buffer *buffer;
  bool barriers; // true if the body has a barrier
  int narrays;
  nw_block_array *array;
  int64_t shared_bytes; // of all these arrays together, except those that are shuffled
  int64_t warps; // number of warps of a block; 0 if the number of threads is not constant
} nw_launch;

typedef struct nw_launches {
  nw_program *p; // the lowered program with the bodies of the kernels in its arena; holds a reference
  int n;
  nw_launch *launch; // in the order of the program
} nw_launches;

// Returns the array if it is shuffled; otherwise NULL.
NW_API const nw_block_array *nw_shuffled(const nw_launch *l, const char *buffer);
// True if the threads of a warp share an array that is not shuffled. Only then is a barrier of a warp needed.
NW_API bool nw_warps_share_memory(const nw_launch *l);
// If s is the guard of a store that is a shuffle, or the store itself, returns the store; otherwise NULL.
NW_API const nw_stmt *nw_shuffle_in(const nw_launch *l, const nw_stmt *s);

// Returns the launches of e. The caller frees them. Returns NULL, with a diagnostic, on failure.
nw_launches *nw_launches_of(const nw_exec *e);
void nw_launches_free(nw_launches *l);

// Returns the bytes of shared memory that a launch with CUDA must ask for. If the arrays of a block have more bytes than
// CUDA allows in the code, they are in one piece of memory, each at its offset; otherwise each is declared in the code.
NW_API int64_t nw_launch_asks(const nw_launch *l);

// Runs the host's part of a program: calls f for each launch in the order of execution, with the numbers of blocks
// and threads, and with the values of l->var. Launches without blocks or threads are left out. Stops if f returns false. Returns false, with a diagnostic, if it stopped, or if a number cannot be computed.
typedef bool (*nw_launch_fn)(void *env, const nw_launch *l, const int64_t extent[6], const int64_t *var);
bool nw_launches_run(const nw_exec *e, const nw_launches *l, const int64_t *sizes, nw_launch_fn f, void *env);
