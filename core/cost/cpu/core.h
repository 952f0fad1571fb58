// The core model divides a lowered program into bodies. A *body* is the code of a loop, of a guard or of the whole
// program, without the loops and guards inside it. For each body, the model finds the instructions, the number of runs,
// and the cycles on a core if all data is in the first level of cache.
//
// The model assumes the code that LLVM generates at optimization level 1 (run/jit.c). LLVM keeps the loops and vectors
// of the schedule. It hoists loop invariants, and keeps an accumulator in a register. It also keeps small local arrays
// in registers if their indices are constant. It folds a load into the instruction that uses the loaded value.
#pragma once
#include "access/lowered.h"
#include "access/place.h"
#include "hw/machine.h"

// Events that are counted for every body, in addition to the classes of instructions.
typedef enum nw_core_unit {
  NW_CORE_LOAD_CROSSING, // loads that cross into a second line
  NW_CORE_STORE_CROSSING, // stores that cross into a second line
  NW_CORE_STORE_LINE, // stores that go to a different line than the preceding store
  NW_CORE_GATHER, // lanes that are loaded one by one
  NW_CORE_SCATTER, // lanes that are stored one by one
  NW_CORE_BRANCH, // taken branches of loops, guards and selects
  NW_CORE_SPILL, // stores and reloads of spilled registers
  NW_CORE_FOLDED, // loads that are folded into the instruction that uses them
  NW_CORE_UNITS
} nw_core_unit;

typedef struct nw_core_ops { // averages per execution of a body
  double op[NW_CLASS_COUNT][NW_WIDTHS]; // number of instructions of each width
  double numbers[NW_CLASS_COUNT][NW_ENERGY_BITS]; // number of elements of each size on which the instructions operate
  double unit[NW_CORE_UNITS];
  double waiting; // number of instructions in dependence chains (nw_core_chain)
} nw_core_ops;

typedef struct nw_core_access { // a load or store: first the fields of nw_lowered_access, then how the core executes it
  const nw_stmt *stmt; // the store that the access belongs to
  const nw_expr *load; // NULL if the access is the store itself
  int buffer; // number of the buffer in the program
  const nw_expr *index;
  bool affine;
  nw_form at; // if affine: the index, in elements
  int lanes, elem;
  bool write, masked, scattered;
  bool gathered; // true if the code accesses lanes one by one: they are not adjacent, or backwards under a mask
  struct nw_core_node *body; // the innermost loop or guard around it
  int64_t span; // number of adjacent bytes that similar accesses (line_walk.c) of its body touch
  struct nw_core_access *lead; // the first of the similar accesses of its body, including those that are not adjacent
  bool issued; // true for a load that its body executes, as a separate instruction or folded into another instruction
  // for a lead: the number of loads by similar accesses that cross into a second line, in one execution of the body
  double crossings;
  double came[NW_MACHINE_LEVELS]; // for a lead: lines that similar accesses load from L2, L3, ..., memory
  int held; // depth of the outermost loop during which the element stays in a register; 0 if there is no such loop
} nw_core_access;

typedef struct nw_core_chain { // a store whose value depends on the value that it overwrites
  const nw_core_access *store;
  double latency; // cycles from the load to the store
  bool through_memory; // true if the element is reloaded from memory, not kept in a register
} nw_core_chain;

typedef struct nw_core_node nw_core_node;
struct nw_core_node { // a loop, a guard or the root, with its body
  const nw_stmt *stmt;
  nw_core_node *up;
  int depth; // number of enclosing loops; a loop counts itself
  int nkids;
  nw_core_node **kid;
  int slot; // LOOP
  nw_calc *begin, *extent; // LOOP
  bool affine; // LOOP: true if its first value is affine
  nw_form from; // if affine: the first value
  nw_calc *cond; // GUARD
  bool called; // true inside the call of an intrinsic (core_called.c)
  bool depends; // true if bounds or conditions inside depend on the loop's variable
  int64_t entered; // number of times that control reaches the node
  int64_t times; // number of times that its body runs
  nw_core_ops ops; // for one run of the body, without its children
  int blocked; // per execution: how many times loads wait for stores (core_blocked.c)
  double streams; // number of interleaved sequences of adjacent lines in an iteration (line_walk.c)
  int strides; // number of different address steps; each step needs an induction register
  int live; // number of floating-point and vector registers that contain live-in values
  int held; // number of floating-point and vector registers that contain held elements (core_held.c)
  const nw_core_access *first_store, *last_store; // the first and last store to memory
  nw_vec chain; // nw_core_chain *: the chains of its own stores
  double transfer[NW_MACHINE_LEVELS]; // total cycles of line transfers to and from L2, L3, ..., memory
  // Total cycles during which misses of lines that are not prefetched are outstanding: [0] for loads, [1] for stores,
  // [2] for loads that cross into a second line. These three kinds of cycles overlap in time.
  double under_way[3];
  // The following fields are set by core_time.c.
  double carried; // LOOP: cycles per iteration of the longest chain that it carries (core_chain.c); 0 without a chain
  double cycles; // total cycles of the node and everything inside it
  int bound; // the nw_core_bound that limits the node
};

typedef struct nw_core {
  nw_ctx *ctx;
  nw_exec *exec; // holds a reference
  nw_lowered *lowered;
  nw_arena *arena;
  const nw_machine *machine;
  int64_t *slot;
  int nslots;
  nw_names names;
  nw_places places;
  nw_core_node *root;
  nw_vec access; // nw_core_access *
  bool *apart; // for each buffer: true for a local array that is kept in registers
  int *widest; // for each buffer: number of lanes of its widest access
  bool exact; // true if all counts of executions are exact
} nw_core;

// Builds the model of a program. Returns NULL on failure, for example if control flow depends on data.
nw_core *nw_core_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_machine *m);
void nw_core_free(nw_core *k);
// Counts the executions of each body in thread `thread` of `threads`, or in the whole program if `threads` is 0.
// Returns false after an interrupt, or if there are too many iterations to count.
bool nw_core_count(nw_core *k, int thread, int threads);
bool nw_core_shape(nw_core *k); // finds the instructions of each body
void nw_core_hold(nw_core *k); // finds the elements that stay in registers (core_held.c); called by nw_core_shape

// The possible limits on the speed of a body. A limit is either a resource or latency. NW_BOUND_LEVEL + i stands for
// the transfers into cache level i (counted from 0) from the next level or from memory.
typedef enum nw_core_bound {
  NW_BOUND_DISPATCH,
  NW_BOUND_LOAD,
  NW_BOUND_STORE,
  NW_BOUND_FLOAT, // vector and floating-point units
  NW_BOUND_DIVIDE,
  NW_BOUND_INTEGER,
  NW_BOUND_BRANCH,
  NW_BOUND_FORWARD, // loads that wait until earlier stores are in the cache
  NW_BOUND_LINES, // outstanding cache misses of lines that were not prefetched
  NW_BOUND_LEVEL,
  NW_CORE_BOUNDS = NW_BOUND_LEVEL + NW_MACHINE_LEVELS,
  NW_BOUND_LATENCY = NW_CORE_BOUNDS, // chains, in which each result needs the previous result
} nw_core_bound;
