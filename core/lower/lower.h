// Turns a scheduled program into an executable program by a sequence of passes. Each pass maps a program to a program,
// and the result of each pass can be printed.
#pragma once
#include "ir/program/program.h"

typedef enum nw_storage_kind {
  NW_STORE_PARAM, // an argument of the kernel
  NW_STORE_WORKSPACE, // allocated from a pool before the call of the kernel
  NW_STORE_PER_THREAD, // a workspace for each thread, allocated before the call of the kernel
  NW_STORE_STACK, // constant size, on the stack
  NW_STORE_GRID, // an array for each block or thread of a GPU launch; its allocation stays in the tree
  NW_STORE_KINDS
} nw_storage_kind;

typedef struct nw_storage {
  const char *buffer;
  nw_dtype dtype;
  nw_storage_kind kind;
  // The number of elements, as an expression of symbolic sizes. If the number depends on the loops around the
  // allocation, this is its maximum over these loops.
  const nw_expr *elements;
  bool streamed; // true if streaming stores write to the buffer; it then begins at a multiple of NW_STREAM_ALIGN bytes
} nw_storage;

#define NW_STREAM_ALIGN 64
#define NW_SIZE_BITS 40 // a symbolic size is less than 2^40

// A lowered program consists of loops, guards, stores with linear indices, stack allocations, prefetches, calls and
// barriers. Unrolled loops are expanded. Vectors are explicit. f16 and bf16 are computed in f32, with casts at loads
// and stores. The interpreter and the code generators use exactly this program.
//
// Semantics of the expressions of a lowered program:
// * The operands and the result of an operation have the same number of lanes, with these exceptions: RAMP and
//   BROADCAST take scalars, and SELECT may have a scalar condition with vector branches. A SELECT with a scalar
//   condition evaluates only one branch. A SELECT with a vector condition evaluates both branches: their loads are
//   masked, and a divisor that may be 0 is replaced.
// * LOAD has one index, and may have a mask, which is a vector of bools with as many lanes as the index. A lane is
//   inactive if its mask is false. Inactive lanes read nothing and give 0. In a STORE, index, value and mask have the
//   same number of lanes, and inactive lanes write nothing. The index ramp(b, 1, n) is consecutive; any other vector
//   index is a gather or a scatter, in the order of the lanes.
// * An inactive lane still executes all operations without a mask. So each access without a mask is proved to be inside
//   its buffer in every lane (see lanes.c and masks.c), and no divisor is 0 in any lane. The interpreter also executes
//   inactive lanes and reports their errors.
// * f16 and bf16 appear only in loads, stores, casts and constants, for example in CAST(f32, LOAD) and
//   STORE(CAST(f16, x)).
// * A STORE with `async` may read its source and write its element later: at the latest when a WAIT has ended that waits
//   for the group in which a COMMIT has put it. A COMMIT or WAIT outside of thread loops is executed by every thread.
// * Loops are serial, parallel, or bound to blockIdx and threadIdx; a barrier is never inside a thread loop. ALLOC is
//   an array with indices from 0. It has a constant extent and is on the stack. In a GPU launch, each block or each
//   thread has its own array.
typedef struct nw_exec {
  int refs;
  nw_program *p; // holds a reference; its first buffers are the parameters, in order
  // The same program for display, with workspaces allocated where they are used; holds a reference. Only nw_lower with
  // `until` NULL makes this program. Otherwise it is NULL.
  nw_program *shown;
  int nstorage; // number of storages: one for each buffer of p, in the same order
  nw_storage *storage;
  // Products of sizes that the program uses. The code assumes that index arithmetic does not overflow. So the caller
  // must check that none of these products overflows. Other index arithmetic then cannot overflow: sizes are limited,
  // and accesses are inside their buffers.
  int nfits;
  const nw_expr **fits;
  bool parallel;
  int64_t instructions; // estimated code size: the statements and operations after unrolling
  // Loops of p that are timed. Generated code reads a clock before and after each of these loops (codegen/codegen.h).
  int nclocks;
  const nw_stmt **clock;
} nw_exec;

// Limit on the estimated instructions (nw_exec.instructions). Larger programs are not compiled, because compiling
// cannot be interrupted.
#define NW_CODE_LIMIT 50000

typedef struct nw_lowering { // options that select the passes
  const nw_target *target;
  bool keeps_loops; // vector and unrolled loops stay loops
} nw_lowering;

typedef struct nw_pass {
  const char *name, *doc;
  nw_program *(*run)(nw_program *p); // changes p and returns it, or returns a new program, or NULL on failure
  bool (*applies)(const nw_lowering *l);
} nw_pass;
int nw_pass_count(void);
const nw_pass *nw_pass_at(int i);
// Lowers p, and stops after the pass named `until`. If `until` is NULL, all passes run, and the result is stored in the
// program.
nw_exec *nw_lower(const nw_program *p, const char *until);
// Lowers p to a program that is easy to read: vector and unrolled loops stay loops, and allocations of workspaces keep
// their positions.
nw_exec *nw_lower_loops(const nw_program *p);
// Returns a scheduled program in which the lanes of vector loops have the accumulators that lowering gives to them; p
// itself if no reduction runs in lanes. The result is a new reference. It computes p in the order of generated code.
nw_program *nw_lower_lanes(const nw_program *p);
// Returns the text of a lowered program in which statements that an unrolled loop repeated are folded. Stores an array on
// the heap in *id, with the id of the statement of each of the *n lines, or 0. The first `before` entries of the array,
// which are 0, are for lines that the caller writes before the text.
char *nw_folded(const nw_program *p, int before, int **id, int *n);
bool nw_multiplies_sizes(const nw_expr *e); // true if e multiplies a size by another size or by a large number
NW_API nw_exec *nw_exec_retain(nw_exec *e);
NW_API void nw_exec_release(nw_exec *e);
nw_exec *nw_exec_with_clocks(const nw_exec *e, int n,
                             const nw_stmt *const *loop); // a copy with clocks around loops of e->p
