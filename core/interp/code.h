// Represents a program in the form that the interpreter executes. The expressions of its statements are nodes (node.h).
// Each buffer records which of its elements were written.
#pragma once
#include "interp/node.h"

// Identifies a thread by its launch, its block and its position in the block. `block` and `thread` are three indices
// that are packed into one number.
typedef struct nwi_owner {
  int64_t launch; // number of the launch, counted from 1; 0: none
  uint64_t block, thread;
} nwi_owner;

typedef struct nwi_buffer {
  const char *name;
  nw_dtype dtype;
  char *data;
  uint8_t *written; // for each element, 1 if it was written, otherwise 0; NULL for an input (all written)
  int64_t count, cap; // count: number of elements in use; cap: number of allocated elements
  bool own;
  int n; // number of dimensions of the stored box (min and extent); not used for a lowered program
  int64_t *min, *extent;
  struct nwi_shadow *shadow; // the last accesses to each element (race.c); NULL before the first access in a launch
  struct nwi_owner owner; // for a buffer that is allocated in a launch: the thread that entered the allocation last
  bool local; // true if each thread of a GPU block has its own copy
  struct nwi_parts *parts; // for a local buffer of a lowered program: the part of each thread (private.c)
  bool warp; // true if each warp of a GPU block has its own copy
  // For each element: whether an asynchronous copy into it is in flight (`arriving`), and the number of copies in flight
  // that read it (`lent`). NULL before the first such copy (async.c).
  uint8_t *arriving;
  uint32_t *lent;
  int64_t flights; // number of elements that copies in flight write or read; an element counts once for each copy
  int64_t *home; // location of each element, if the buffer has a layout; otherwise NULL
} nwi_buffer;

typedef struct nwi_target {
  nwi_buffer *buffer;
  int n;
  nwi_node **index, *init, *value, *mask;
  int64_t at; // position of the element, after the index has been evaluated
} nwi_target;

typedef struct nwi_code nwi_code;
struct nwi_code {
  nw_stmt_kind kind;
  const nw_stmt *stmt;
  int nkids;
  nwi_code **kid;
  int slot; // LOOP: slot of its variable
  const char *name;
  nwi_node *begin, *extent; // LOOP
  bool parallel; // LOOP of a lowered program: true if it is parallel; races between iterations are then detected
  int dim; // LOOP: its dimension of the grid, 0..5; 0 for a parallel loop; -1 for any other loop
  bool launch; // true if this statement is a GPU launch or an outermost parallel loop; launches are not nested
  nwi_code *up; // the enclosing statement
  // LOOP: the blocks inside the loop that have a *lone init*, an init that must run even if the loop has no iterations
  int nlone;
  nwi_code **lone;
  nwi_node *cond; // GUARD: its condition; BLOCK: the block's own guard, or NULL
  nwi_node *init_cond; // BLOCK: the condition of its lone init
  nwi_buffer *buffer; // ALLOC
  nwi_node **min, **size;
  int nlayout; // ALLOC: number of dimensions of the layout; the layout is a function of the indices in `dim_slot`
  nwi_node **layout, **room;
  int *dim_slot;
  int nvars; // BLOCK: number of axes; each axis has a binding, a first value `lo` and a slot
  nwi_node **bind, **lo;
  int *var_slot;
  bool *reduce;
  // For each axis: true for a reduce axis whose binding divides by a size, for example because two reduce loops were
  // fused. In an empty reduction, this size can be 0.
  bool *divides;
  bool has_init;
  // true if the block has an init, and the written element does not depend on the loops of the reduction
  bool lone_init;
  int ntargets; // BLOCK, STORE
  nwi_target *target;
};

// Holds the state of race.c, for a lowered program that runs on a grid or has parallel loops.
typedef struct nwi_grid {
  int64_t launches, launch; // launches: number of launches so far; launch: number of the current launch, or 0
  int64_t index[NW_GRID_DIMS];
  bool inside[NW_GRID_DIMS]; // true inside a loop of that dimension
  const char *loop; // the current parallel loop; NULL in a launch on a grid
  const nwi_buffer *atomic; // buffer that the current store updates atomically, or NULL
  int64_t tick; // number of barriers executed so far
  struct nwi_wait *wait; // the last barrier of each block, as a hash table
  int nwaits, capwaits;
} nwi_grid;

typedef struct nwi_program {
  nwi_run run;
  const nw_program *p;
  const nw_exec *exec; // the lowered program; NULL if a scheduled program runs
  nw_arena *arena;
  nw_pool *pool; // holds the expressions that combine the terms of reductions
  nwi_scope loops; // names of loops and sizes
  nwi_buffer *buffer; // in the order of p
  int nslots;
  nwi_code *root;
  bool gridded; // true if the program is lowered and has GPU loops, so that races are detected
  nwi_grid grid;
  nwi_code *at[NW_MAX_DEPTH]; // loops around the current statement, for messages
  int depth;
  nwi_code *lone; // the block whose lone init is running
  struct nwi_flight *flight; // the asynchronous stores in flight
  struct nwi_flight *leaving; // the asynchronous store that is being started; NULL otherwise
  nwi_code *block; // the current block
  bool init; // true while the init of `block` runs
} nwi_program;

bool nwi_compile(nwi_program *x);
nwi_buffer *nwi_buffer_named(nwi_program *x, const char *name);
bool nwi_load_setup(nwi_scope *s, nwi_node *n);
// Allocates space for `count` elements, and marks all of them as unwritten.
bool nwi_reserve(nwi_program *x, nwi_buffer *b, int64_t count);
void nwi_fold(nwi_program *x, const nwi_code *c); // finds which elements of an allocation share a location
// Returns the position of a logical index in the stored box. Returns -1 if the index is outside the box. If the option
// `lenient` is not set, the run then fails.
int64_t nwi_place(nwi_program *x, const nwi_buffer *b, int n, nwi_node *const *index, bool write);
void nwi_store(nwi_program *x, nwi_target *t, const nwi_cell *value, const nwi_cell *mask, int lanes,
               const nwi_cell *index);
void nwi_tell_store(nwi_program *x, nwi_target *t); // reports a store of a lowered program to the observer
void nwi_execute(nwi_program *x, nwi_code *c);
void nwi_where(const nwi_program *x, nw_str *out); // appends the loop indices, such as " at i = 1, j = 2"

// ---- detection of races (race.c)
//
// A parallel loop counts as a launch. Accesses outside of launches are not checked.
void nwi_private(nwi_program *x); // makes the private memory of all threads undefined
void nwi_grid_enter(nwi_program *x, const nwi_code *loop, int64_t index);
void nwi_grid_leave(nwi_program *x, const nwi_code *loop);
void nwi_launch(nwi_program *x, bool begins);
void nwi_barrier(nwi_program *x, bool warp); // warp: only the threads of each warp wait for each other
void nwi_grid_alloc(nwi_program *x, nwi_buffer *b); // called when execution enters the allocation
void nwi_touch(nwi_program *x, nwi_buffer *b, int64_t at, bool write);

// ---- local buffers in launches (private.c)
//
// Returns the location of element `at`. In a launch of a lowered program, each thread has its own locations.
int64_t nwi_room(const nwi_program *x, nwi_buffer *b, int64_t at);
void nwi_parts_reset(nwi_buffer *b); // called when the storage of the buffer begins
void nwi_parts_free(nwi_buffer *b);

// ---- asynchronous copies (async.c)
void nwi_depart(nwi_program *x, nwi_code *store); // starts an asynchronous store
void nwi_lend(nwi_program *x, nwi_buffer *b,
              int64_t at); // called when the store that is being started reads an element
// True if the element may be accessed. Otherwise a copy in flight uses it, and the run fails.
bool nwi_landed(nwi_program *x, const nwi_buffer *b, int64_t at, bool write);
void nwi_commit(nwi_program *x);
void nwi_await(nwi_program *x, int64_t groups);
void nwi_storage_ends(nwi_program *x, const nwi_buffer *b); // fails if a copy that uses the buffer is in flight
void nwi_launch_ends(nwi_program *x); // fails if a copy of the current launch, or of the host, is in flight
void nwi_flights_free(nwi_program *x);
