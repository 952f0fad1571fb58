// Queries and small edits of a statement tree, shared by the primitives. Private to sched/.
#pragma once
#include "sched/sched.h"

typedef struct nw_blocks { // blocks below a statement, in execution order
  int n;
  nw_stmt **at;
} nw_blocks;
nw_blocks nw_blocks_below(nw_arena *a, const nw_stmt *s);
bool nw_tree_reads(const nw_stmt *s, const char *buffer);
bool nw_tree_prefetches(const nw_stmt *s, const char *buffer);
const nw_stmt *nw_tree_reader(const nw_stmt *s, const char *buffer); // the first block that reads the buffer, or NULL
bool nw_tree_has(const nw_stmt *s, const nw_stmt *what);
const nw_stmt *nw_tree_marked(const nw_stmt *s, nw_loop_kind mark); // a loop at or below s with that mark
void nw_tree_loops(const nw_stmt *s, nw_vec *out); // adds the loops at or below s, in execution order
int nw_tree_depth(const nw_stmt *s);
// operations of one execution, ignoring guards; negative if the number depends on a size
double nw_work_below(const nw_stmt *s);
// Returns the name of a statement in messages: j for a loop, C for a block, P for the storage of P.
const char *nw_tree_what(const nw_stmt *s);

// Finds a stage by the name of its block, or of a buffer that it writes; NULL if there is none. For the name of a
// buffer, the result is not the init.
nw_stmt *nw_stage_block(const nw_program *p, const char *name);
void nw_fail_unknown_stage(nw_ctx *c, const nw_program *p, const char *name);

// Loops on a path, outermost first.
int nw_path_loops(const nw_path *path, nw_stmt **out);
// index of the buffer's innermost allocation; 0 if there is none
int nw_path_storage(const nw_path *path, const char *buffer);
int nw_path_index(const nw_path *path, const nw_stmt *s); // index of the statement, or -1
// the loop with that mark around the end of the path, or NULL
const nw_stmt *nw_path_marked(const nw_path *path, nw_loop_kind mark);
// Returns the index of the outermost loop on the path that contains no statement beside the path: this loop and all
// loops inside it have a single child. If there is no such loop, returns the index of the end itself.
int nw_path_exclusive(const nw_path *path);

// Removes path.at[depth] from the tree, and the loops and allocations that become empty.
void nw_detach(nw_program *p, const nw_path *path, int depth);
// Replaces an allocation by its children.
void nw_splice_alloc(nw_program *p, const char *buffer);
void nw_remove_buffer(nw_program *p, const char *buffer);
bool nw_is_allocated(const nw_path *path, const nw_program *p,
                     const char *buffer); // true for a parameter, and for a buffer that is allocated on the path

// Conditions as lists of conjuncts.
#define NW_MAX_TERMS 32
int nw_conjuncts(const nw_expr *cond, int cap, const nw_expr **out);
bool nw_uses_any(const nw_expr *e, int n, const char *const *vars);
// adds the condition to the block's guard, and marks the block as changed
void nw_block_guard(nw_program *p, nw_stmt *block, const nw_expr *cond);
// Replaces each load in the block's expressions by f's result, and marks the block as changed.
void nw_block_rewrite(nw_program *p, nw_stmt *block, nw_load_fn f, void *env);

const nw_expr *nw_loop_last(nw_pool *p, const nw_stmt *loop); // begin + extent - 1
// True if the binding of a variable of the block uses the loop. `reduce` selects reduce variables or all others.
bool nw_loop_binds(const nw_stmt *block, const nw_stmt *loop, bool reduce);
