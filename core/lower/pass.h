// Declares the passes and the functions that they share. This header is private to lower/. Every pass takes an unfrozen
// program, edits it and returns it. On failure it leaves a diagnostic and returns NULL. A statement records the
// scheduling step that made it (`step`). If a pass keeps a statement, the id and the step of the statement do not
// change. A new statement gets the step of the statement from which it was made. So a view can say, for example, which
// step caused a guard.
#pragma once
#include "ir/program/physical.h"
#include "ir/expr/rewrites.h"
#include "lower/lower.h"

nw_program *nw_pass_cross(nw_program *p);
nw_program *nw_pass_accumulate(nw_program *p);
nw_program *nw_pass_init(nw_program *p);
nw_program *nw_pass_barriers(nw_program *p);
nw_program *nw_pass_async(nw_program *p);
nw_program *nw_pass_bounds(nw_program *p);
nw_program *nw_pass_blocks(nw_program *p);
nw_program *nw_pass_pads(nw_program *p);
nw_program *nw_pass_interleave(nw_program *p);
nw_program *nw_pass_guards(nw_program *p);
nw_program *nw_pass_partition(nw_program *p);
nw_program *nw_pass_vectorize(nw_program *p);
nw_program *nw_pass_storage(nw_program *p);
nw_program *nw_pass_masks(nw_program *p);
nw_program *nw_pass_unroll(nw_program *p);
nw_program *nw_pass_simplify(nw_program *p);
nw_program *nw_pass_narrow(nw_program *p);
nw_program *nw_pass_registers(nw_program *p);
nw_program *nw_pass_terms(nw_program *p);
nw_program *nw_pass_halves(nw_program *p);
nw_program *nw_pass_extremes(nw_program *p);
nw_program *nw_pass_fma(nw_program *p);

// ---- scope.c: the facts at a position in the tree
void nw_scope_open(nw_ranges *r, const nw_program *p); // adds the sizes and facts of p
// Adds a loop's variable or a guard's condition; does nothing for other statements.
void nw_scope_push(nw_ranges *r, const nw_stmt *s);
void nw_scope_pop(nw_ranges *r, const nw_stmt *s);
void nw_add_conjuncts(const nw_expr *cond, nw_vec *out); // adds the operands of nested `and`s; nothing if cond is NULL
const nw_expr *nw_conjunction(nw_pool *p, int n, void *const *conds); // returns NULL if n is 0
// Returns `cond` without the conjuncts that always hold here. The result is NULL if no conjunct remains, and the
// constant false if the condition never holds.
const nw_expr *nw_remaining(const nw_ranges *r, const nw_expr *cond);
// Makes a statement with a new id and the step of `from`.
nw_stmt *nw_new_like(nw_program *p, nw_stmt_kind k, const nw_stmt *from);
nw_stmt *nw_guarded(nw_program *p, const nw_expr *cond, nw_stmt *s); // returns s inside a guard, or s if cond is NULL
nw_stmt *nw_sequence(nw_program *p, const nw_vec *kids); // returns the child itself if there is only one
typedef const nw_expr *(*nw_expr_fn)(void *env, const nw_expr *e);
void nw_stmt_exprs(nw_stmt *s, nw_expr_fn f,
                   void *env); // rewrites the expressions of a lowered statement, but not those of its children
void nw_tree_exprs(nw_stmt *s, nw_expr_fn f, void *env); // like nw_stmt_exprs, for s and all statements below it

bool nw_has_barrier(const nw_stmt *s); // true if s is a barrier or contains one

// ---- shuffles.c
struct nw_launch;
// Finds the arrays of warps that are shuffled, in a launch whose body and arrays are made. r has the ranges of the indices.
void nw_find_shuffles(nw_program *p, nw_ranges *r, struct nw_launch *l, nw_stmt *body);

// ---- fragments.c
// Gives each lane its own array for the fragments of the launch whose body is given. r has the ranges of the indices.
// Returns false, with a diagnostic, if a lane accesses what another lane holds.
// `known` has the buffers for which this was done in earlier launches.
bool nw_hold_fragments(nw_program *p, nw_ranges *r, nw_stmt *body, nw_vec *known);

// ---- calls.c
// Computes a tile for each argument of a call, that is, the part of a buffer that is passed. `place` has the layout of
// each buffer of p. Sets *where to a condition that must guard the call, or to NULL. Returns false, with a diagnostic,
// on failure.
bool nw_lower_call(nw_program *p, const nw_ranges *r, nw_stmt *call, nw_physical *const *place, const nw_expr **where);
// ---- init.c
void nw_split_init(nw_program *p, int id); // moves the init of the block with that id into a separate block

// ---- simplify.c
// Simplifies a scalar by the known ranges. Rebuilds a vector from its simplified operands.
const nw_expr *nw_simplify_lanes(const nw_ranges *r, const nw_expr *e);

// ---- storage.c
#define NW_STACK_ALIGN 64
// True if a buffer of that many bytes fits on the stack even if all local buffers of the program are in use.
bool nw_fits_on_stack(const nw_program *p, int64_t bytes);
void nw_shape_temps(nw_program *p);
nw_storage *nw_storage_table(const nw_program *p); // returns a table on the heap, with one row for each buffer
bool nw_storage_agrees(const nw_program *p, const nw_storage *table); // true if each allocation has the kind in `table`
void nw_strip_workspaces(nw_program *p, nw_stmt *s, const nw_storage *table);

// ---- fits.c
int nw_products_of_sizes(const nw_program *p, const nw_expr ***out); // *out is on the heap

// ---- combine.c
typedef struct nw_bound_target { // a target of a block, with bound axes and a linear index
  const char *buffer;
  nw_dtype dtype;
  const nw_expr *index, *value;
  bool stream;
} nw_bound_target;
// Appends to `out` the statements of one execution of a block.
void nw_emit_block(nw_program *p, const nw_stmt *block, int n, const nw_bound_target *t, nw_vec *out);

// ---- prefetch.c
// Replaces the prefetch of a box of elements by one prefetch for each cache line.
nw_stmt *nw_lower_prefetch(nw_program *p, nw_ranges *r, const nw_physical *place, nw_stmt *s);

// ---- fills.c
// True if the first statement that uses the array, with its loops, writes every element, before any is read.
bool nw_fills(nw_program *p, const nw_stmt *alloc);

// ---- stream.c
// True if every streaming store in s stores a whole aligned vector. Otherwise there is a diagnostic.
bool nw_streams_hold(nw_program *p, nw_ranges *r, const nw_stmt *s);

// ---- lanes.c: expressions of a vector loop
typedef struct nw_lanes {
  nw_program *p;
  nw_pool *pool;
  nw_ranges *r;
  const char *var; // the loop's variable
  const nw_expr *ramp; // the ramp that replaces the variable
  int n;
  const nw_expr *mask; // the lanes that execute; NULL if all lanes execute
  bool some; // true if at least one lane executes whenever this code is reached
  nw_vec inner; // buffers allocated inside the loop: each lane has its own copy
  nw_vec memo; // triples: an expression, the mask when it was converted, and the result
  // For each select around the current expression: its condition, and the mask around it (see `loaded` in lanes.c)
  nw_vec around;
} nw_lanes;
// Converts e. The result has v->n lanes, or is a scalar if it is the same in all lanes.
const nw_expr *nw_lanes_expr(nw_lanes *v, const nw_expr *e);
const nw_expr *nw_lanes_wide(nw_lanes *v, const nw_expr *e); // like nw_lanes_expr, but a scalar result is broadcast
bool nw_lanes_vary(const nw_lanes *v, const nw_expr *e); // true if e may differ between lanes
const nw_expr *nw_lanes_index(nw_lanes *v, const char *buffer, const nw_expr *index);
const nw_expr *nw_lanes_and(nw_lanes *v, const nw_expr *a, const nw_expr *b);

// ---- size.c
int64_t nw_code_size(const nw_stmt *s); // estimates the number of instructions after unrolling
// Returns the number of distinct operations. A vector operation counts once for each vector register that it fills, a
// gather once for each lane.
int64_t nw_expr_ops(const nw_expr *e);
