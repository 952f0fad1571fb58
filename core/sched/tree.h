// Declares queries and small edits of a statement tree. The primitives share these functions. Private to sched/.
#pragma once
#include "sched/sched.h"

typedef struct nw_blocks { // blocks below a statement, in execution order
  int n;
  nw_stmt **at;
} nw_blocks;
nw_blocks nw_blocks_below(nw_arena *a, const nw_stmt *s);
// Returns a block that stores the constant of a padded stage (decompose_padding), or NULL if there is none.
const nw_stmt *nw_fill_of(const nw_step *st, const nw_stmt *block);
bool nw_tree_reads(const nw_stmt *s, const char *buffer);
bool nw_tree_prefetches(const nw_stmt *s, const char *buffer);
const nw_stmt *nw_tree_reader(const nw_stmt *s, const char *buffer); // the first block that reads the buffer, or NULL
bool nw_tree_has(const nw_stmt *s, const nw_stmt *what);
const nw_stmt *nw_tree_marked(const nw_stmt *s, nw_loop_kind mark); // a loop at or below s with this mark, or NULL
void nw_tree_loops(const nw_stmt *s, nw_vec *out); // adds the loops at or below s, in execution order
int nw_tree_depth(const nw_stmt *s);
// Returns the number of operations of one execution, ignoring guards, or -1 if the number depends on a size.
double nw_work_below(const nw_stmt *s);
// Returns the name of a statement in messages: j for a loop, C for a block, P for the storage of P.
const char *nw_tree_what(const nw_stmt *s);

// Returns the block with this name, or else a block that writes the buffer with this name, or NULL. An init is returned
// only if no other block fits.
nw_stmt *nw_stage_block(const nw_program *p, const char *name);
void nw_fail_unknown_unit(nw_ctx *c, const nw_program *p, const char *name);
void nw_fail_unknown_stage(nw_ctx *c, const nw_program *p, const char *name);

// Writes the loops on a path to `out`, outermost first, and returns their number.
int nw_path_loops(const nw_path *path, nw_stmt **out);
// Returns the index on the path of the buffer's innermost allocation, or 0 if there is none.
int nw_path_storage(const nw_path *path, const char *buffer);
int nw_path_index(const nw_path *path, const nw_stmt *s); // index of the statement on the path, or -1
// Returns the outermost loop with this mark around the last statement of the path, or NULL if there is none.
const nw_stmt *nw_path_marked(const nw_path *path, nw_loop_kind mark);
// Returns the index of the outermost loop on the path that contains no statement beside the path. This loop, and all
// loops inside it, have a single child. If there is no such loop, returns the index of the last statement.
int nw_path_exclusive(const nw_path *path);

// Removes path.at[depth] from the tree, and the loops and allocations that become empty.
void nw_detach(nw_program *p, const nw_path *path, int depth);
// Replaces all allocations of the buffer by the statements inside them.
void nw_splice_alloc(nw_program *p, const char *buffer);
void nw_remove_buffer(nw_program *p, const char *buffer);
bool nw_is_allocated(const nw_path *path, const nw_program *p,
                     const char *buffer); // true for a parameter, and for a buffer that is allocated on the path

// Adds the condition to the block's guard, and marks the block as changed.
void nw_block_guard(nw_program *p, nw_stmt *block, const nw_expr *cond);
// Replaces each load in the block's expressions by f's result, and marks the block as changed.
void nw_block_rewrite(nw_program *p, nw_stmt *block, nw_load_fn f, void *env);

const nw_expr *nw_loop_last(nw_pool *p, const nw_stmt *loop); // begin + extent - 1
