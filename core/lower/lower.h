// From a scheduled program to an executable one: a pipeline of passes, each program -> program, each visible.
#pragma once
#include "ir/program/program.h"

typedef enum nw_storage_kind {
  NW_STORE_PARAM, // an argument of the kernel
  NW_STORE_WORKSPACE, // one block, allocated before the call from a pool
  NW_STORE_PER_THREAD, // one block per thread, allocated before the call
  NW_STORE_STACK, // constant size, on the stack
  NW_STORE_GRID, // per block or thread of a launch: it exists during its allocation, which stays in the tree
  NW_STORE_KINDS
} nw_storage_kind;

typedef struct nw_storage {
  const char *buffer;
  nw_dtype dtype;
  nw_storage_kind kind;
  const nw_expr *elements; // number of elements, in symbolic sizes; an upper bound over the loops around the allocation
  bool streamed; // its stores are non-temporal, so it must begin at a multiple of NW_STREAM_ALIGN bytes
} nw_storage;

#define NW_STREAM_ALIGN 64
#define NW_SIZE_BITS 40 // a symbolic size is less than 2^40

// A lowered program: loops (serial, unrolled away, parallel), guards, stores with linear indices, stack allocations.
// Vectors are explicit. f16 and bf16 are computed in f32 with casts at loads and stores. Interpreter and code
// generators run exactly this.
//
// Semantics of the expressions of a lowered program:
// * An operation has one lane count; operands and result agree, except: RAMP and BROADCAST take scalars, and SELECT
//   may have a scalar condition with vector branches. A SELECT with a scalar condition is lazy; one with a vector
//   condition evaluates both branches (loads in them are masked, divisors made safe).
// * LOAD has one index; with a mask (bool, as many lanes as the index), lanes that are off read nothing and give 0.
//   STORE is similar: index, value and mask have the same number of lanes; lanes that are off write nothing.
//   ramp(b, 1, n) is consecutive; any other vector index is a gather or scatter, lanes in order.
// * A lane that is off executes everything that is not masked: each access without a mask is proven to be inside its
//   buffer in every lane (lanes.c says how, masks.c for tiles), and no divisor is 0 in any lane. The interpreter
//   runs lanes that are off like the others, and traps.
// * f16 and bf16 appear in LOAD, STORE, SELECT-free casts and constants only: CAST(f32, LOAD), STORE(CAST(f16, x)).
// * Loops are serial, parallel, or bound to blockIdx and threadIdx; a barrier is never inside a thread loop. ALLOC is an array of
//   elements from 0: on the stack with constant extent, or, in a launch, per block or per thread.
typedef struct nw_exec {
  int refs;
  nw_program *p; // counted; buffers in parameter order first
  // counted; the same program with workspaces where they are used, for display. NULL: not all passes have run
  nw_program *shown;
  int nstorage; // one per buffer of p, same order
  nw_storage *storage;
  // Products of sizes that the program uses. The caller must check that each has a value: index arithmetic is
  // assumed not to overflow, and everything else follows from this check, the limit of sizes and the bounds of the accesses.
  int nfits;
  const nw_expr **fits;
  bool parallel;
  int64_t instructions; // estimate of the code size, statements and operations after unrolling
} nw_exec;

// IR instructions; larger programs are not compiled, because compiling cannot be interrupted.
#define NW_CODE_LIMIT 50000

typedef struct nw_lowering { // options that select the passes
  const nw_target *target;
  bool keeps_loops; // vector and unrolled loops stay loops
} nw_lowering;

typedef struct nw_pass {
  const char *name, *doc;
  nw_program *(*run)(nw_program *p); // takes an unfrozen program, returns it or a new one, NULL on failure
  bool (*applies)(const nw_lowering *l);
} nw_pass;
int nw_pass_count(void);
const nw_pass *nw_pass_at(int i);
// Stops after the pass named `until`. NULL: runs all passes; the result is computed once for a program and kept with it.
nw_exec *nw_lower(const nw_program *p, const char *until);
// The same without the passes that replace loops: vector and unrolled loops stay loops, for readable text.
// Allocations of workspaces keep their positions.
nw_exec *nw_lower_loops(const nw_program *p);
bool nw_multiplies_sizes(const nw_expr *e); // by another size, or by a large number
NW_API nw_exec *nw_exec_retain(nw_exec *e);
NW_API void nw_exec_release(nw_exec *e);
