// A program is a tree of statements in an arena. A step makes a new program and then freezes it. After that, the
// program never changes.
//
// There are two levels of programs, which use the same type of tree. A *scheduled* program has loops, blocks and
// allocations. A *lowered* (executable) program has loops, guards, stores and allocations, linear indices and vectors,
// and no blocks.
//
// A block does a part of the work of one stage. Its body uses only the block's own variables, which are the original
// iteration axes. Bindings give the values of these variables in terms of the enclosing loops. So after any split,
// fusion, move or copy, the values of the variables still tell which original instance an execution computes. Therefore
// the judge (poly/), which decides whether a step is legal, needs only the programs before and after the step.
#pragma once
#include "ir/expr/expr.h"
#include "ir/expr/range.h"
#include "target/target.h"

typedef enum nw_combiner {
  NW_PLAIN, // not a reduction: a store
  NW_SUM,
  NW_PROD,
  NW_MIN_OF,
  NW_MAX_OF,
  NW_ARGMIN,
  NW_ARGMAX, // like NW_ARGMIN, stores a value and its index; among equal values, the lowest index is selected
  NW_OWN, // the first of the combiners that users define; reducer.h keeps the table of them
} nw_combiner;
const char *nw_combiner_name(nw_ctx *ctx, nw_combiner c); // "sum", ...
// True if all targets of a block are combined together, because the new value of each depends on the old values of all.
bool nw_combiner_is_joint(nw_combiner c);
const nw_expr *nw_combiner_identity(nw_pool *p, nw_combiner c, nw_dtype t,
                                    int which); // the identity of component `which`; for an index it is -1

#define NW_MAX_REDUCED 8 // maximal number of targets that are combined together

// Returns the new value of target `which` when `term` is combined with `old`. If the combiner is joint, the arrays `old`
// and `term` have an entry for each target; otherwise they have one entry, and `which` is 0. The interpreter, lowering and the naive evaluation all use this
// definition. In an arg-reduction, index -1 means that there is no contribution yet. NaN is preferred to every number.
// Of two equal values, or of two NaNs, the one with the lower index is kept. So the order of contributions does not
// matter.
const nw_expr *nw_combine(nw_pool *p, nw_combiner c, int which, const nw_expr *const *old, const nw_expr *const *term);

// For an init that is a part of the block, returns the condition under which the init runs. This is the guard of the
// block, except that conditions on the reduction loops are ignored if the reduction is empty. Returns NULL if the init
// always runs.
struct nw_stmt;
struct nw_program;
const nw_expr *nw_where_of_init(const struct nw_program *p, const struct nw_stmt *block);
// Does the same for a block whose guard is `where`.
const nw_expr *nw_where_for_init(const struct nw_program *p, const struct nw_stmt *block, const nw_expr *where);
// Returns the condition under which the whole reduction of the block is empty. The block's loops may run only a part of
// the reduction. If only this part is empty, the condition is false. Returns NULL if the block is not a reduction.
const nw_expr *nw_over_nothing(nw_pool *p, const struct nw_stmt *block);
// True if the block reduces along this loop: at least one binding uses the loop, and all bindings that use it are
// bindings of reduce variables.
bool nw_binds_reduce(const struct nw_stmt *block, const char *loop);
// True if e uses a loop along which the block reduces.
bool nw_speaks_of_reduction(const struct nw_program *p, const struct nw_stmt *block, const nw_expr *e);

// names: global local shared warp. On a GPU's grid, each thread has a copy of a local buffer, each block has a copy of a
// shared buffer, and each warp has a copy of a warp buffer. A warp is a group of as many threads as the target says, with
// the same indices along y and z and consecutive indices along x.
typedef enum nw_scope {
  NW_GLOBAL,
  NW_LOCAL,
  NW_SHARED,
  NW_WARP,
  NW_CHIP, // a buffer of an accelerator, which nw_buffer.chip names
  NW_SCOPE_COUNT
} nw_scope;
typedef enum nw_role { NW_TEMP, NW_INPUT, NW_OUTPUT } nw_role;

// A requirement on the stride of a physical dimension, in elements: stride % factor == offset. The stride is the
// smallest number with this remainder that leaves enough space for the dimensions to its right.
typedef struct nw_stride {
  int dim;
  int64_t factor, offset;
} nw_stride;

typedef struct nw_buffer {
  int id;
  const char *name;
  nw_dtype dtype;
  nw_scope scope;
  const char *chip; // for NW_CHIP: the name of the buffer in the machine's record, a name of the pool; otherwise NULL
  nw_role role;
  int ndim;
  const nw_expr **shape; // logical extents; indices begin at 0
  // `layout` is the physical position of an element, as expressions in the variables "_0", "_1", ... (one per logical
  // dimension). `layout_shape` has the physical extents. If nlayout is 0, the buffer is row-major over the logical box.
  // cache_read, cache_write and transform_layout set the layout, and lowering uses it. If a parameter has a layout, the
  // caller's array has the shape `layout_shape`.
  int nlayout;
  const nw_expr **layout, **layout_shape;
  // For a parameter with a layout: the value of the positions that hold no element, as a constant; NULL if none was
  // given. The program writes it to an output (lower/pads.c), and never reads these positions of an input.
  const nw_expr *pad;
  int laid; // number of the step that chose the layout of a parameter; 0 if there is none
  int nstrides; // at most one per dimension
  nw_stride *stride;
  // For a parameter whose array has strides that the caller chooses: the stride of each dimension in elements, as
  // expressions of sizes. NULL if the array is row-major. A parameter with such strides has no layout. No two elements
  // are at the same place (pitch.h).
  const nw_expr **pitch;
  // The allocation of a temporary that exists as long as the program runs. This NW_ALLOC is outside the tree. All such
  // allocations form the program's flat list, which is made when the program is frozen (alloc.c). NULL for a parameter,
  // and for a buffer that is allocated in the tree.
  struct nw_stmt *alloc;
} nw_buffer;

// A loop whose mark is NW_PARALLEL or a later mark in this list is kept even if it has only one iteration. NW_BLOCK_X
// and the later marks bind a loop to an index of a GPU's grid (see grid.c).
typedef enum nw_loop_kind {
  NW_SERIAL,
  NW_UNROLLED,
  NW_VECTORIZED,
  NW_VECTOR_REDUCE, // vectorized; a reduction along the loop runs in lanes (lanes.h)
  NW_PARALLEL,
  NW_BLOCK_X,
  NW_BLOCK_Y,
  NW_BLOCK_Z,
  NW_THREAD_X,
  NW_THREAD_Y,
  NW_THREAD_Z,
  NW_VTHREAD,
  NW_LOOP_KIND_COUNT
} nw_loop_kind;
bool nw_is_vector_loop(const struct nw_stmt *s); // a loop marked NW_VECTORIZED or NW_VECTOR_REDUCE
const char *nw_loop_kind_name(nw_loop_kind k); // "", "unroll", "vectorize", "parallel", "blockIdx.x", ...

// NW_ORDERED: the time axis of a scan, or an axis of an update that is not an index of the written element
typedef enum nw_var_kind { NW_SPATIAL, NW_REDUCE, NW_ORDERED } nw_var_kind;

typedef struct nw_block_var {
  const nw_expr *var; // VAR, named "i" within the block; block variables have their own name space
  nw_var_kind kind;
  const nw_expr *lo, *extent;
  const nw_expr *bind; // its value, in terms of loop variables and sizes
} nw_block_var;

// One store of a block: buffer[index] = value, or for a reduction buffer[index] (combiner)= value.
typedef struct nw_block_target {
  const char *buffer;
  int n;
  const nw_expr **index;
  const nw_expr *value;
  const nw_expr *init; // reductions: the initial value of the element; NULL otherwise
  bool stream; // non-temporal stores, only of whole aligned vectors (poly/stream.c)
} nw_block_target;

typedef enum nw_stmt_kind {
  NW_SEQ,
  NW_LOOP,
  NW_BLOCK,
  NW_GUARD,
  NW_STORE,
  NW_ALLOC,
  NW_PREFETCH,
  NW_CALL,
  NW_UNIT, // scheduled only
  // lowered only: the threads of a GPU block wait here for each other. No thread continues before all of them have
  // arrived. With `barrier.warp`, only the threads of each warp wait for each other.
  NW_BARRIER,
  // lowered only: the asynchronous copies that a thread has started since its last commit become one group
  NW_COMMIT,
  // lowered only: a thread waits until at most `wait.groups` of its groups are in flight; groups arrive in their order
  NW_WAIT,
} nw_stmt_kind;

// An argument of a lowered call: where its tile begins in a buffer, and the distance between neighbouring elements
// along each dimension.
typedef struct nw_tile {
  const char *buffer;
  const nw_expr *index; // linear
  int n;
  const nw_expr **stride; // in elements
} nw_tile;

// A property that the user gives to a loop or a stage: one of the keys of ir/program/tags.h, with its value.
typedef struct nw_tag {
  const struct nw_tag_row *row;
  const char *text; // NULL if the value is a number
  int64_t number;
} nw_tag;

typedef struct nw_stmt nw_stmt;
struct nw_stmt {
  nw_stmt_kind kind;
  int id; // the same in later programs as long as the statement exists; 0 for NW_SEQ
  int step; // number of the step that made or last changed it; 0 for the naive program
  bool unsafe; // an unsafe step made or changed it
  bool tested; // a rewrite that was tested, but not proved, made or changed it
  int nkids; // NW_SEQ, NW_LOOP, NW_GUARD, NW_ALLOC, NW_CALL, NW_UNIT: the statements inside, in order
  nw_stmt **kid;
  int ntags; // for NW_LOOP, NW_BLOCK, and the NW_STOREs that a block becomes; in the order of the table of keys
  nw_tag *tag;
  union {
    struct {
      const nw_expr *var; // its name is unique in the program
      const nw_expr *begin, *extent;
      nw_loop_kind mark;
      bool threads; // lowered only: the loop was bound to virtual threads, and has another place now
      // A fused loop keeps the extents of its original loops. Its variable f numbers the iterations of the original
      // loops in row-major order, and bindings use f // E and f % E. The judge's model (poly/) has a dimension for each
      // original loop, so that symbolic extents stay affine. If the loop is not fused, nfused is 0.
      int nfused;
      const nw_expr **fused; // extents, outermost first
    } loop;
    struct {
      const char *name; // unique in the program: "C", "C_init", "B_packed"
      // the name of the stage's first block; blocks with the same origin and equal variables execute the same instance
      const char *origin;
      bool init_part; // true if this block is the separate init of its origin's reduction
      nw_combiner combiner;
      bool atomic; // for a reduction: several threads may update the same element
      // for a copy: its stores may arrive later, at the latest when a wait for their group has ended
      bool async;
      // true if the init is a part of this block (the block owns its init): it runs at the first reduce instance of
      // each element
      bool has_init;
      int nvars;
      nw_block_var *var;
      // The block has only the instances for which this condition on its variables holds; NULL if it has all of them.
      // The condition says which instances exist. The program does not test it: `where` and the loops must make sure
      // that no other instance runs.
      const nw_expr *when;
      const nw_expr *where; // guard in terms of loop variables; NULL if the block always runs
      int ntargets;
      nw_block_target *target;
    } block;
    struct {
      const nw_expr *cond;
    } guard;
    struct { // lowered only
      const char *buffer;
      const nw_expr *index; // linear, or a RAMP
      const nw_expr *value;
      const nw_expr *mask; // vector of bool, or NULL
      bool stream; // non-temporal
      bool atomic; // the read of the element in `value` and the store are one atomic operation
      bool async; // an asynchronous copy: the element may be read from its source, and may arrive, later
    } store;
    struct {
      const char *buffer; // allocated while this statement runs; its contents are undefined at the start
      int n;
      // the part of the logical box that is stored; it is addressed with the logical indices
      const nw_expr **min, **extent;
      // only in the flat list: the first and the last child of the root that use the buffer; last < first if none does
      int first, last;
    } alloc;
    // A prefetch of a part of a buffer. It has no effect on values. The box may extend outside the buffer. A lowered
    // prefetch fetches one cache line: n = 1, min[0] is the linear index, and extent[0] is NULL.
    struct {
      const char *buffer;
      int n;
      const nw_expr **min, **extent;
    } prefetch;
    struct { // lowered only
      bool warp;
    } barrier;
    struct { // lowered only
      int groups;
    } wait;
    // A call of an intrinsic. The nest inside defines the result of the call. The judge, proofs and interpreters use
    // only the nest. Generated code calls the intrinsic, which was verified to do the same.
    struct {
      const char *intrinsic; // its identity, "mm16:1c9a2f07"; see ir/program/intrinsic.h
      int thread, threads; // lowered only: the virtual thread that executes it, and their number; 0 if there are none
      int ntiles; // lowered only: the arguments, in the order of the intrinsic's parameters
      nw_tile *tile;
    } call;
    // A nest that steps move as a whole and do not take apart (unit.c). It has no effect on what the program computes.
    struct {
      const char *name; // unique in the program
    } unit;
  };
};

typedef struct nw_size {
  const char *name;
  const nw_expr *lo; // its least value
} nw_size;

struct nw_program {
  int refs;
  bool frozen;
  nw_ctx *ctx;
  nw_pool *pool; // holds a reference
  nw_target *target; // holds a reference
  nw_arena *arena;
  const char *name;
  int nsizes; // symbolic sizes, each a kernel argument
  nw_size *size;
  int nfacts; // conditions on the sizes, checked when a kernel is called
  const nw_expr **fact;
  int nassumed; // number of facts that steps assumed; these are the last facts, and are shown with the nest
  int nreducers; // the combiners of its blocks that users have defined (reducer.h)
  struct nw_used_reducer *reducer;
  int nbuffers; // parameters first (inputs, then outputs), then temporaries
  nw_buffer **buffer;
  nw_stmt *root; // NW_SEQ
  int next_id; // the id that the next statement or buffer gets
  int step; // number of the step that made this program; 0 while it is lowered
  int unsafe; // number of unsafe steps up to this version
  // number of rewrites up to this version that were tested, but not proved, and the least number of values on which one
  // of them was tested
  int tested, values;
  void *model; // cache of poly/: the judge's model of this program
  void (*model_free)(void *model);
  void *whole; // second cache of poly/: the program that the judge examines instead of this one
  void (*whole_free)(void *whole);
  void *lowered; // cache of lower/: the lowered program
  void (*lowered_free)(void *lowered);
  // names given since this program was cloned; statements that are not yet in the tree thus get different names
  struct nw_taken *taken;
  // The same program without its units, made when it is frozen; NULL if it has no units. The judge, the interpreter and
  // lowering use it, so that a unit has no effect on the meaning of the program.
  struct nw_program *bare;
};

// ---- construction
enum { NW_NAME_MOST = 200 }; // characters of a user's name; names of copies can be longer
nw_program *nw_program_new(nw_ctx *c, nw_pool *pool, const char *name);
// Returns an unfrozen deep copy of the statement tree and the tables, with the same ids; expressions are shared. The
// step number of the copy is one more than that of p.
nw_program *nw_program_clone(const nw_program *p);
void nw_program_aim(nw_program *p, nw_target *t); // sets a target other than this host; called before p is used
void nw_mark_unsafe(nw_program *p); // the step that made p is unsafe: marks p and the changed statements
void nw_mark_tested(nw_program *p, int values); // the step that made p was tested on this number of values, not proved
// Freezes p and returns it with one reference. If p is invalid, frees it and returns NULL with NW_EINTERNAL.
nw_program *nw_program_freeze(nw_program *p);
const nw_program *nw_without_units(const nw_program *p); // p->bare, or p if it has no units
void nw_program_keep(const nw_program *p); // keeps the memory of p if the current call is abandoned (nw_arena_keep)
// Returns a new allocation, not yet in a tree, that stores the whole logical box of a temporary.
nw_stmt *nw_new_alloc(nw_program *p, const nw_buffer *b);

nw_buffer *nw_add_buffer(nw_program *p, const char *name, nw_dtype t, nw_scope s, nw_role r, int ndim,
                         const nw_expr *const *shape); // the name is made unique
nw_stmt *nw_new_stmt(nw_program *p, nw_stmt_kind k); // the statement gets a new id, and its step is p->step
nw_stmt *nw_new_loop(nw_program *p, const char *name, const nw_expr *begin, const nw_expr *extent);
nw_stmt *nw_copy_stmt(nw_program *p, const nw_stmt *s); // a deep copy with new ids, and new names for loops and blocks
// Like nw_copy_stmt, but the names are made from a path. For example, with the path "i.tail", the copy of loop i is
// named "i.tail", the copy of a loop j inside it "i.tail/j", and the copy of a block C "C.tail".
nw_stmt *nw_copy_stmt_as(nw_program *p, const nw_stmt *s, const char *path);
// Renames s and the statements inside it like the copies of nw_copy_stmt_as. Loops get new ids, and other statements
// keep their ids.
void nw_rename_as(nw_program *p, nw_stmt *s, const char *path);
const char *nw_name_below(const char *path, const char *old); // the name that `old` gets inside `path`
const char *nw_unique_loop_name(nw_program *p, const char *want); // the first unused name of want, want_1, want_2, ...
void nw_keep_loop_name(nw_program *p, const char *name); // no new loop gets this name while its loop is not in the tree
const char *nw_unique_block_name(nw_program *p, const char *want);
const char *nw_unique_buffer_name(nw_program *p, const char *want);
const char *nw_unique_unit_name(nw_program *p, const char *want); // no loop, block or buffer has this name either
const char *nw_unique_origin(nw_program *p, const char *want); // the first unused origin of a block
void nw_kids_set(nw_program *p, nw_stmt *s, int n, nw_stmt **kid);
void nw_kids_insert(nw_program *p, nw_stmt *parent, int pos, nw_stmt *kid);
void nw_kids_remove(nw_program *p, nw_stmt *parent, int pos);
nw_stmt *nw_kids_replace(nw_stmt *parent, int pos, nw_stmt *kid); // returns the old child

// ---- finding
//
// A path is the chain of statements from the root to one statement.
#define NW_MAX_DEPTH 64
typedef struct nw_path {
  int n; // at[0] is the root, at[n-1] the statement itself
  nw_stmt *at[NW_MAX_DEPTH];
  int pos[NW_MAX_DEPTH]; // pos[i]: index of at[i] among at[i-1]'s kids
} nw_path;
bool nw_find(const nw_program *p, int id, nw_path *out);
int nw_path_common(const nw_path *a, const nw_path *b); // number of statements at the start of both paths
int nw_path_at(const nw_path *path, int id); // position of the statement with this id on the path; 0 if there is none
nw_stmt *nw_find_loop(const nw_program *p, const char *name);
nw_stmt *nw_find_block(const nw_program *p, const char *name);
nw_stmt *nw_find_unit(const nw_program *p, const char *name);
NW_API nw_buffer *nw_find_buffer(const nw_program *p, const char *name);
nw_stmt *nw_find_alloc(const nw_program *p, const char *buffer); // the first allocation; it may be outside the tree

// Gives `init` the targets of `block`, each with its init as the value.
void nw_init_targets(nw_arena *a, nw_stmt *init, const nw_stmt *block);
bool nw_block_reads(const nw_stmt *block, const char *buffer); // true if a value, an init or an index reads the buffer
bool nw_block_writes(const nw_stmt *block, const char *buffer);
// True if the binding of a variable of the block uses the loop. Only reduce variables count if `reduce` is true, and
// only other variables if it is false.
bool nw_loop_binds(const nw_stmt *block, const nw_stmt *loop, bool reduce);
bool nw_is_leaf(const nw_stmt *s); // a block, store, prefetch, barrier, commit or wait: it has no children

// ---- loops bound to blocks and threads (grid.c)
#define NW_GRID_DIMS 6 // blockIdx.x .. threadIdx.z
extern const char *const nw_grid_index[NW_GRID_DIMS]; // "blockIdx.x" .. "threadIdx.z"
bool nw_is_block_loop(const nw_stmt *s);
bool nw_is_thread_loop(const nw_stmt *s); // threadIdx, not vthread
bool nw_is_vthread_loop(const nw_stmt *s);
bool nw_is_bound_loop(const nw_stmt *s); // true if one of these three functions returns true
int nw_grid_dim(const nw_stmt *s); // 0..5 for a loop bound to blockIdx or threadIdx; -1 otherwise
const nw_stmt *nw_find_bound(const nw_stmt *s); // the first bound loop at or below s; NULL if there is none
// True if s is one launch. The statement s must not be inside a launch.
bool nw_is_launch(const nw_program *p, const nw_stmt *s);
int nw_launch_on(const nw_program *p, const nw_path *path); // the launch's position on the path; -1 if there is none

// Calls f for every statement in execution order, parents first. If f returns false, the traversal stops, and nw_walk
// returns false. `path` ends in the statement. The allocations of the flat list come after the root, each with a path
// of length two.
bool nw_walk(const nw_program *p, bool (*f)(void *env, const nw_path *path), void *env);
NW_API bool nw_walk_from(const nw_stmt *s, bool (*f)(void *env, nw_stmt *s), void *env);
bool nw_same_statement(const nw_stmt *a, const nw_stmt *b); // compares the statements without their children
bool nw_same_tree(const nw_stmt *a, const nw_stmt *b); // same structure, expressions and names; ids are not compared

// Replaces a loop variable in every binding, guard, bound and allocation below s.
void nw_stmt_subst(nw_program *p, nw_stmt *s, const char *var, const nw_expr *by);
// Replaces every expression below s that may use loop variables by the result of f. The bodies of blocks are not
// replaced, since they use no loop variables.
typedef const nw_expr *(*nw_map_fn)(void *env, const nw_expr *e);
void nw_stmt_map(nw_program *p, nw_stmt *s, nw_map_fn f, void *env);
// Collects the ranges of the sizes and of the loops on a path (outermost first), and the facts, for nw_prove and
// nw_simplify.
void nw_ranges_of(nw_ranges *r, const nw_program *p, const nw_path *path);
// Like nw_ranges_of, but without the statement at the end of the path: if it is a loop, its range is left out.
void nw_ranges_around(nw_ranges *r, const nw_program *p, const nw_path *path);
// Collects the ranges of the sizes and of the declared values of the block's variables, and the facts.
void nw_ranges_declared(nw_ranges *r, const nw_program *p, const nw_stmt *block);
// True if every value that the block stores in target t, in the dtype of this target, is proven to be a value of `to`.
bool nw_stores_values_of(const nw_program *p, const nw_stmt *block, int t, nw_dtype to);
// Returns e with the block's variables replaced by their bindings. e is a value or an index of the block. If the
// program reads an index that is known (known.h), the result has its expression and not the read.
const nw_expr *nw_block_bound(const nw_program *p, const nw_stmt *block, const nw_expr *e);

// ---- text (nestwright/program.h has the other functions)
const nw_expr *nw_expr_parse(nw_pool *pool, const char *text);
// Parses a side of an equality (ir/expr/equality.h). Names that are neither buffers nor sizes of p are pattern variables;
// outside indices, they have the dtype `variables`.
const nw_expr *nw_pattern_parse(const nw_program *p, nw_dtype variables, const char *text);
