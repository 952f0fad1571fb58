// The core model: finds the instructions of a lowered program, how often each part runs, and how many cycles it takes
// on a core if all data is in the first level of cache. These parts are called bodies: a body is the code of a loop, of
// a guard or of the whole program, without the loops and guards inside it.
//
// The model assumes the code that LLVM generates at level 1 (run/jit.c). Loops, vectors and registers are those of the
// schedule. LLVM hoists loop invariants, keeps an accumulator in a register, replaces small local arrays with constant
// indices by registers, and folds a load into the instruction that uses it.
#pragma once
#include "access/lowered.h"
#include "access/place.h"
#include "hw/machine.h"

// Events that are counted for every body, in addition to the classes of instructions.
typedef enum nw_core_unit {
  NW_CORE_LOAD_CROSSING, // loads that reach into a second line
  NW_CORE_STORE_CROSSING,
  NW_CORE_STORE_LINE, // stores that go to a different line than the preceding store
  NW_CORE_GATHER, // lanes that are loaded one by one
  NW_CORE_SCATTER, // lanes that are stored one by one
  NW_CORE_BRANCH, // taken branches of loops, guards and selects
  NW_CORE_SPILL, // register spills: stores and reloads
  NW_CORE_FOLDED, // loads that are folded into the instruction that uses them
  NW_CORE_UNITS
} nw_core_unit;

typedef struct nw_core_ops { // averages per execution of a body
  double op[NW_CLASS_COUNT][NW_WIDTHS]; // number of instructions, by width
  double numbers[NW_CLASS_COUNT][NW_ENERGY_BITS]; // number of elements that they operate on, by size
  double unit[NW_CORE_UNITS];
  double waiting; // number of instructions in chains (nw_core_chain): each waits for an earlier store
} nw_core_ops;

typedef struct nw_core_access { // a load or store: the row of access/lowered.h, and how the core executes it
  const nw_stmt *stmt; // the store that the access belongs to
  const nw_expr *load; // NULL if the access is the store itself
  int buffer; // number of the buffer in the program
  const nw_expr *index;
  bool affine;
  nw_form at; // if affine: the index, in elements
  int lanes, elem;
  bool write, masked, scattered;
  struct nw_core_node *body; // the innermost loop or guard around it
  int64_t span; // adjacent bytes that similar accesses of its body touch (see line_walk.c)
  struct nw_core_access *lead; // the first of the similar accesses of its body, including distant ones
  bool issued; // a load that is executed in its body, as a separate instruction or folded into another one
  // For a lead: number of loads of similar accesses that cross into a second line, per run of the body.
  double crossings;
  double came[NW_MACHINE_LEVELS]; // for a lead: total lines that these loads fetch from L2, L3, ..., memory
  int held; // depth of the outermost loop during which the element stays in a register; 0: none
} nw_core_access;

typedef struct nw_core_chain { // a store whose value depends on the value that it overwrites
  const nw_core_access *store;
  double latency; // cycles from the load to the store
  bool through_memory; // the element is reloaded, not kept in a register
} nw_core_chain;

typedef struct nw_core_node nw_core_node;
struct nw_core_node { // a loop, a guard, the body of a parallel loop, or the root
  const nw_stmt *stmt;
  nw_core_node *up;
  int depth; // number of enclosing loops, including the node itself
  int nkids;
  nw_core_node **kid;
  int slot; // LOOP
  nw_calc *begin, *extent; // LOOP
  nw_calc *cond; // GUARD
  bool depends; // bounds or conditions inside depend on the loop's variable
  int64_t entered, times; // entered: how many times control reaches the node; times: how many times its body runs
  nw_core_ops ops; // for one run of the body without kids
  int blocked; // number of times per run that loads wait until preceding stores are in the cache: core_blocked.c
  double streams; // number of interleaved sequences of adjacent lines in an iteration: line_walk.c
  int strides; // number of different address steps, each of which needs an induction register
  int live, held; // numbers of floating-point and vector registers: for live-in values, and for held elements
  const nw_core_access *first_store, *last_store; // the first and last store to memory
  nw_vec chain; // nw_core_chain *: the chains of its own stores
  double transfer[NW_MACHINE_LEVELS]; // total cycles of line transfers to and from L2, L3, ..., memory
  // Total cycles of outstanding misses of lines that are not prefetched: for loads, for stores, and for loads across
  // two lines. The three overlap.
  double under_way[3];
  // total time: core_time.c
  double cycles; // of the node and everything inside
  int bound; // nw_core_bound
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
  bool *apart; // by buffer: true for a local array that is kept in registers
  int *widest; // by buffer: number of lanes of its widest access
  bool exact; // all counts of executions are exact
} nw_core;

// Fails (NULL) if control flow depends on data.
nw_core *nw_core_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_machine *m);
void nw_core_free(nw_core *k);
// Counts how many times thread `thread` of `threads` runs each body (0 threads: the whole program). False when
// interrupted.
bool nw_core_count(nw_core *k, int thread, int threads);
bool nw_core_shape(nw_core *k); // finds the instructions of each body
void nw_core_hold(nw_core *k); // finds the elements that stay in registers (core_held.c); called by nw_core_shape

// Resources that may limit the speed of a body. From NW_BOUND_LEVEL on: the transfers from the second level, the third,
// ..., memory.
typedef enum nw_core_bound {
  NW_BOUND_DISPATCH,
  NW_BOUND_LOAD,
  NW_BOUND_STORE,
  NW_BOUND_FLOAT, // vector and floating-point units
  NW_BOUND_DIVIDE,
  NW_BOUND_INTEGER,
  NW_BOUND_BRANCH,
  NW_BOUND_FORWARD, // loads that wait until their data is in the cache
  NW_BOUND_LINES, // outstanding cache misses that were not prefetched
  NW_BOUND_LEVEL,
  NW_CORE_BOUNDS = NW_BOUND_LEVEL + NW_MACHINE_LEVELS,
  NW_BOUND_LATENCY = NW_CORE_BOUNDS, // each result needs the previous one
} nw_core_bound;
