// The core model: what a lowered program becomes as instructions, how often each part runs, and how many cycles that takes on a
// core that finds all its data in the first level of cache.
//
// The program is taken as the code generator and LLVM's scalar clean-up leave it (run/jit.c, level 1: loops, vectors and
// registers are the schedule's; LLVM moves what does not change out of loops, keeps an element that a loop only adds to in a
// register, takes small local arrays with constant indices apart, and folds a load into the instruction that uses it).
#pragma once
#include "access/lowered.h"
#include "access/place.h"
#include "hw/machine.h"

// What a core does besides its classes of instructions. A count of each is kept for every body.
typedef enum nw_core_unit {
  NW_CORE_LOAD_CROSSING, // loads that reach into a second line
  NW_CORE_STORE_CROSSING,
  NW_CORE_STORE_LINE, // stores that go to another line than the one before
  NW_CORE_GATHER, // lanes that are loaded one by one
  NW_CORE_SCATTER, // lanes that are stored one by one
  NW_CORE_BRANCH, // that are taken: loops' own, around guards and around branches of a select
  NW_CORE_SPILL, // registers stored or loaded again for want of registers
  NW_CORE_FOLDED, // loads that are part of the instruction that uses them
  NW_CORE_UNITS
} nw_core_unit;

typedef struct nw_core_ops { // of one execution of a body, on average
  double op[NW_CLASS_COUNT][NW_WIDTHS]; // instructions, by width
  double numbers[NW_CLASS_COUNT][NW_ENERGY_BITS]; // that they work on, by size
  double unit[NW_CORE_UNITS];
  double waiting; // instructions that wait for what was stored before: links of chains
} nw_core_ops;

typedef struct nw_core_access { // a load or store: what access/lowered.h says of it, and what becomes of it
  const nw_stmt *stmt; // the store it belongs to
  const nw_expr *load; // NULL: it is the store itself
  int buffer; // number in the program
  const nw_expr *index;
  bool affine;
  nw_form at; // affine: elements
  int lanes, elem;
  bool write, masked, scattered;
  struct nw_core_node *body; // what it stands in: the innermost loop or guard
  int64_t span; // bytes that like accesses of its body touch side by side: line_walk.c
  struct nw_core_access *lead; // of these, and of those further away, the first
  bool issued; // a load that is an instruction of its own, or part of one, in its body
  double crossings; // of a lead: loads of like accesses that reach into a second line, in one run of the body
  double came[NW_MACHINE_LEVELS]; // of a lead: lines that come for these from the level behind the first, ...; in all
  int held; // the outermost loop through which it stays in a register: its depth; 0: none
} nw_core_access;

typedef struct nw_core_chain { // a store whose value depends on what it overwrites
  const nw_core_access *store;
  double latency; // cycles from what is loaded to what is stored
  bool through_memory; // the element is loaded again, not handed on in a register
} nw_core_chain;

typedef struct nw_core_node nw_core_node;
struct nw_core_node { // a loop, a guard, a parallel loop's body; the root
  const nw_stmt *stmt;
  nw_core_node *up;
  int depth; // loops around, itself included
  int nkids;
  nw_core_node **kid;
  int slot; // LOOP
  nw_calc *begin, *extent; // LOOP
  nw_calc *cond; // GUARD
  bool depends; // do bounds or conditions inside depend on the loop's variable?
  int64_t entered, times; // how often control comes to it, and how often its body runs
  nw_core_ops ops; // of one run of the body without kids
  int blocked; // how often a run goes from stores to loads that wait for them to be in the cache: core_blocked.c
  double streams; // runs of lines that an iteration goes through side by side: line_walk.c
  int strides; // different steps by which addresses move, for which a register is counted up
  int live, held; // registers of numbers: values it needs that come from outside, and elements it keeps
  const nw_core_access *first_store, *last_store; // to memory
  nw_vec chain; // nw_core_chain *: of the stores that stand in it
  double transfer
      [NW_MACHINE_LEVELS]; // cycles of the lines that come from or go to the level behind the first, ...; in all
  double under_way
      [3]; // cycles that lines which nothing fetched ahead take: those loaded, those stored, loads across two; side by side
  // of the time, in all: core_time.c
  double cycles; // with all that is inside
  int bound; // nw_core_bound
};

typedef struct nw_core {
  nw_ctx *ctx;
  nw_exec *exec; // counted
  nw_lowered *lowered;
  nw_arena *arena;
  const nw_machine *machine;
  int64_t *slot;
  int nslots;
  nw_names names;
  nw_places places;
  nw_core_node *root;
  nw_vec access; // nw_core_access *
  bool *apart; // by buffer: a local array that becomes registers
  int *widest; // by buffer: lanes of its widest access
  bool exact; // are all counts of executions exact
} nw_core;

// Fails (NULL) where what runs depends on data.
nw_core *nw_core_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_machine *m);
void nw_core_free(nw_core *k);
// How often each body runs when thread t of so many does its share (0 threads: all of it). False when interrupted.
bool nw_core_count(nw_core *k, int thread, int threads);
bool nw_core_shape(nw_core *k); // which instructions each body holds
void nw_core_hold(nw_core *k); // which elements stay in registers: core_held.c; called by nw_core_shape

// What a body may be limited by. From NW_BOUND_LEVEL on: bytes that come from the level behind the first, the second, ...
typedef enum nw_core_bound {
  NW_BOUND_DISPATCH,
  NW_BOUND_LOAD,
  NW_BOUND_STORE,
  NW_BOUND_FLOAT, // units that compute on vectors and floats
  NW_BOUND_DIVIDE,
  NW_BOUND_INTEGER,
  NW_BOUND_BRANCH,
  NW_BOUND_FORWARD, // loads that wait until what they read is in the cache
  NW_BOUND_LINES, // places for lines under way that nothing fetched ahead
  NW_BOUND_LEVEL,
  NW_CORE_BOUNDS = NW_BOUND_LEVEL + NW_MACHINE_LEVELS,
  NW_BOUND_LATENCY = NW_CORE_BOUNDS, // each step waits for the one before
} nw_core_bound;
