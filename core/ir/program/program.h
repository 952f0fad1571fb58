// A program: a tree of statements in an arena, frozen after a step has made it.
//
// Two levels share the tree. A *scheduled* program has loops, blocks and allocations. A *lowered* (executable)
// program has loops, guards, stores and allocations, linear indices and vectors, and no blocks.
//
// A block is a part of one stage's work. Its body uses only the block's own variables, the original iteration
// axes; the enclosing loops bind them. So an execution of a block always identifies its original instance,
// after any split, fusion, move or copy: the judge (poly/) reads all it needs from the program itself.
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
  NW_ARGMAX, // two stores: value, index; ties go to the lowest index
} nw_combiner;
const char *nw_combiner_name(nw_combiner c); // "sum", ...
const nw_expr *nw_combiner_identity(nw_pool *p, nw_combiner c, nw_dtype t,
                                    int which); // component `which`; -1 for an index

// The new value of target `which` when `term` is combined with `old` (two entries each for arg-reductions, else one). This
// definition is used by the interpreter, lower and the naive evaluation. Arg-reductions: index -1 is "nothing yet", NaN
// is preferred to every number, equal values (also two NaNs) keep the lower index; so the order of contributions does not matter.
const nw_expr *nw_combine(nw_pool *p, nw_combiner c, int which, const nw_expr *const *old, const nw_expr *const *term);

// The guard of an init that a block owns: the block's guard, but conditions on the reduction loops do not count if the
// reduction is empty. NULL: always.
struct nw_stmt;
struct nw_program;
const nw_expr *nw_where_of_init(const struct nw_program *p, const struct nw_stmt *block);
// The condition that the block's whole reduction is empty (its loops may run only a part of it). NULL: not a reduction.
const nw_expr *nw_over_nothing(nw_pool *p, const struct nw_stmt *block);
// True if the block reduces along this loop: only reduce variables are bound through it.
bool nw_binds_reduce(const struct nw_stmt *block, const char *loop);
// True if e uses such a loop.
bool nw_speaks_of_reduction(const struct nw_program *p, const struct nw_stmt *block, const nw_expr *e);

typedef enum nw_scope { NW_GLOBAL, NW_LOCAL, NW_SHARED, NW_SCOPE_COUNT } nw_scope; // names: global local shared
typedef enum nw_role { NW_TEMP, NW_INPUT, NW_OUTPUT } nw_role;

// The stride of a physical dimension is the smallest sufficient number that leaves the remainder `offset` when divided by
// `factor`.
typedef struct nw_stride {
  int dim;
  int64_t factor, offset;
} nw_stride;

typedef struct nw_buffer {
  int id;
  const char *name;
  nw_dtype dtype;
  nw_scope scope;
  nw_role role;
  int ndim;
  const nw_expr **shape; // logical extent per dimension, from 0
  // Layout: physical position as expressions in the variables "_0", "_1", ... (one per logical dimension), with the
  // physical extents; n == 0 is row-major over the logical box. Set by cache_read and cache_write; read by lower.
  int nlayout;
  const nw_expr **layout, **layout_shape;
  int nstrides; // at most one per dimension
  nw_stride *stride;
  // The storage of a temporary that lasts as long as the program runs: an NW_ALLOC outside the tree. All of them form
  // the program's flat list of allocations, made when it is frozen (alloc.c). NULL: a parameter, or allocated in the tree.
  struct nw_stmt *alloc;
} nw_buffer;

// Loops from NW_PARALLEL on are kept even if they have one iteration. Marks from NW_BLOCK_X on are tags: such a loop is bound to
// an index of a GPU's grid (see grid.c).
typedef enum nw_loop_kind {
  NW_SERIAL,
  NW_UNROLLED,
  NW_VECTORIZED,
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
const char *nw_loop_kind_name(nw_loop_kind k); // "", "unroll", "vectorize", "parallel", "blockIdx.x", ...

typedef enum nw_var_kind { NW_SPATIAL, NW_REDUCE, NW_ORDERED } nw_var_kind; // ordered: the time axis of a scan

typedef struct nw_block_var {
  const nw_expr *var; // VAR, named "i" within the block; block variables have their own name space
  nw_var_kind kind;
  const nw_expr *lo, *extent;
  const nw_expr *bind; // in terms of loop variables and sizes
} nw_block_var;

// One store of a block: buffer[index] = value, or for a reduction buffer[index] (combiner)= value.
typedef struct nw_block_target {
  const char *buffer;
  int n;
  const nw_expr **index;
  const nw_expr *value;
  const nw_expr *init; // reductions: the initial value of the element; NULL otherwise
  bool stream; // non-temporal: only whole aligned vectors (poly/stream.c)
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
  NW_BARRIER, // lowered only; all threads of a block wait: everything before it finishes before anything after it begins
} nw_stmt_kind;

// An argument of a lowered call: the beginning of its tile in a buffer, and the distance of elements along each dimension.
typedef struct nw_tile {
  const char *buffer;
  const nw_expr *index; // linear
  int n;
  const nw_expr **stride; // in elements
} nw_tile;

// A property that the user gives a loop or a stage: one of the keys of ir/program/tags.h, with its value.
typedef struct nw_tag {
  const struct nw_tag_row *row;
  const char *text; // NULL: a number
  int64_t number;
} nw_tag;

typedef struct nw_stmt nw_stmt;
struct nw_stmt {
  nw_stmt_kind kind;
  int id; // kept in the next program as long as the statement exists; 0 for NW_SEQ
  int step; // number of the step that made or last changed it; 0 for the naive program
  bool unsafe; // an unsafe step made or changed it
  int nkids; // NW_SEQ, NW_LOOP, NW_GUARD, NW_ALLOC, NW_CALL: the statements inside, in order
  nw_stmt **kid;
  int ntags; // NW_LOOP, NW_BLOCK, and the NW_STOREs a block becomes; in the order of the table of keys
  nw_tag *tag;
  union {
    struct {
      const nw_expr *var; // name unique in the program
      const nw_expr *begin, *extent;
      nw_loop_kind mark;
      // A fused loop keeps its original dimensions: its variable f runs over their box in row-major order, and bindings use
      // f // E and f % E. poly gives it one dimension each, so that symbolic extents stay affine. 0 when not fused.
      int nfused;
      const nw_expr **fused; // extents, outermost first
    } loop;
    struct {
      const char *name; // unique in the program: "C", "C_init", "B_packed"
      const char *origin; // the stage's first block: instances of blocks with one origin and equal variables are one
      bool init_part; // the separate init of its origin's reduction
      nw_combiner combiner;
      bool atomic; // a reduction: several threads may update one element
      bool has_init; // this block still owns its init: it runs at the first reduce instance of each output element
      int nvars;
      nw_block_var *var;
      const nw_expr *where; // guard in terms of loop variables; NULL: always
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
    } store;
    struct {
      const char *buffer; // exists from here to the end of this statement, undefined at each entry
      int n;
      const nw_expr **min, **extent; // the part of the logical box that is stored; the same indices address it
      int first,
          last; // in the flat list: the first and last statement of the root that uses it; last < first: unused
    } alloc;
    // Prefetches a part of a buffer; has no effect on values. The box may extend outside the buffer.
    // Lowered: one line, n = 1, min[0] the linear index and extent[0] NULL.
    struct {
      const char *buffer;
      int n;
      const nw_expr **min, **extent;
    } prefetch;
    // The nest inside defines the meaning: judge, proofs and interpreters use only the nest. Generated code calls the intrinsic,
    // which was verified to do the same.
    struct {
      const char *intrinsic; // its identity, "mm16:1c9a2f07"; see ir/program/intrinsic.h
      int ntiles; // lowered only: the arguments, in the order of the intrinsic's parameters
      nw_tile *tile;
    } call;
  };
};

typedef struct nw_size {
  const char *name;
  const nw_expr *lo; // its least value; an unknown extent is never 1
} nw_size;

struct nw_program {
  int refs;
  bool frozen;
  nw_ctx *ctx;
  nw_pool *pool; // counted
  nw_target *target; // counted; its target
  nw_arena *arena;
  const char *name;
  int nsizes; // symbolic sizes, each a kernel argument
  nw_size *size;
  int nfacts; // conditions on them, checked when a kernel is called
  const nw_expr **fact;
  int nassumed; // the last nassumed facts were assumed by steps, and are shown with the nest
  int nbuffers; // parameters first (inputs, then outputs), then temporaries
  nw_buffer **buffer;
  nw_stmt *root; // NW_SEQ
  int next_id; // the counter for ids; names are derived from it only when the plain name is taken
  int step; // number of the step that made this program; 0 while it is lowered
  int unsafe; // number of unsafe steps up to this version
  void *model; // poly's cache
  void (*model_free)(void *model);
  void *whole; // also poly's: the program that it examines instead
  void (*whole_free)(void *whole);
  void *lowered; // lower's: the lowered program
  void (*lowered_free)(void *lowered);
  struct nw_taken *taken; // names in use since the clone, so that two unattached statements never share one
};

// ---- making
enum { NW_NAME_MOST = 200 }; // characters of a user's name; names of copies can be longer
nw_program *nw_program_new(nw_ctx *c, nw_pool *pool, const char *name);
// An unfrozen deep copy of the statement tree and the tables, same ids; expressions are shared. step = old step + 1.
nw_program *nw_program_clone(const nw_program *p);
void nw_program_aim(nw_program *p, nw_target *t); // sets another target than this host; before any query
void nw_mark_unsafe(nw_program *p); // the step that made p is unsafe: marks p and the changed statements
// p, with one reference; NULL and NW_EINTERNAL, with p freed, if it is invalid.
nw_program *nw_program_freeze(nw_program *p);
// Storage for a whole temporary, of its logical box, not yet in a tree.
nw_stmt *nw_new_alloc(nw_program *p, const nw_buffer *b);

nw_buffer *nw_add_buffer(nw_program *p, const char *name, nw_dtype t, nw_scope s, nw_role r, int ndim,
                         const nw_expr *const *shape); // the name is made unique
nw_stmt *nw_new_stmt(nw_program *p, nw_stmt_kind k); // fresh id; step = p->step
nw_stmt *nw_new_loop(nw_program *p, const char *name, const nw_expr *begin, const nw_expr *extent);
nw_stmt *nw_copy_stmt(nw_program *p, const nw_stmt *s); // deep, fresh ids, fresh unique names for loops and blocks
// The same, named by path: with "i.tail" the copy of loop i is i.tail, a loop j below it i.tail/j, block C is C.tail.
nw_stmt *nw_copy_stmt_as(nw_program *p, const nw_stmt *s, const char *path);
// Renames the statement itself by path, as if it were the copy: its loops are new ones, its blocks keep their ids.
void nw_rename_as(nw_program *p, nw_stmt *s, const char *path);
const char *nw_name_below(const char *path, const char *old); // the name below `path`; both may be in one piece
const char *nw_unique_loop_name(nw_program *p, const char *want); // want, or want_1, want_2, ...
const char *nw_unique_block_name(nw_program *p, const char *want);
const char *nw_unique_buffer_name(nw_program *p, const char *want);
void nw_kids_set(nw_program *p, nw_stmt *s, int n, nw_stmt **kid);
void nw_kids_insert(nw_program *p, nw_stmt *parent, int pos, nw_stmt *kid);
void nw_kids_remove(nw_program *p, nw_stmt *parent, int pos);
nw_stmt *nw_kids_replace(nw_stmt *parent, int pos, nw_stmt *kid); // returns the old one

// ---- finding. A path is the chain of statements from the root to one statement.
#define NW_MAX_DEPTH 64
typedef struct nw_path {
  int n; // at[0] is the root, at[n-1] the statement itself
  nw_stmt *at[NW_MAX_DEPTH];
  int pos[NW_MAX_DEPTH]; // pos[i]: index of at[i] among at[i-1]'s kids
} nw_path;
bool nw_find(const nw_program *p, int id, nw_path *out);
nw_stmt *nw_find_loop(const nw_program *p, const char *name);
nw_stmt *nw_find_block(const nw_program *p, const char *name);
NW_API nw_buffer *nw_find_buffer(const nw_program *p, const char *name);
nw_stmt *nw_find_alloc(const nw_program *p, const char *buffer); // the first one; it may be outside the tree

bool nw_block_reads(const nw_stmt *block, const char *buffer); // in a value, an init or an index
bool nw_block_writes(const nw_stmt *block, const char *buffer);
bool nw_is_leaf(const nw_stmt *s); // a block, store, prefetch or barrier: it has no children

// ---- grid.c: loops bound to blocks and threads
#define NW_GRID_DIMS 6 // blockIdx.x .. threadIdx.z
bool nw_is_block_loop(const nw_stmt *s);
bool nw_is_thread_loop(const nw_stmt *s); // threadIdx, not vthread
bool nw_is_vthread_loop(const nw_stmt *s);
bool nw_is_bound_loop(const nw_stmt *s); // any of them
int nw_grid_dim(const nw_stmt *s); // 0..5 for a loop bound to blockIdx or threadIdx; -1 otherwise
const nw_stmt *nw_find_bound(const nw_stmt *s); // the first bound loop at or below s; NULL: nothing runs on a grid
// True if s, outside every kernel, is one launch. Position on the path of that statement; -1 if none is.
bool nw_is_launch(const nw_program *p, const nw_stmt *s);
int nw_launch_on(const nw_program *p, const nw_path *path);

// Every statement in execution order, parents first; f returns false to stop. `path` ends in the statement. The flat list of
// allocations comes after the root, each on a path of two.
bool nw_walk(const nw_program *p, bool (*f)(void *env, const nw_path *path), void *env);
NW_API bool nw_walk_from(const nw_stmt *s, bool (*f)(void *env, nw_stmt *s), void *env);
bool nw_same_statement(const nw_stmt *a, const nw_stmt *b); // without what is inside
bool nw_same_tree(const nw_stmt *a, const nw_stmt *b); // same structure, expressions and names; ids are not compared

// Replaces a loop variable in every bind, where, bound and alloc below s.
void nw_stmt_subst(nw_program *p, nw_stmt *s, const char *var, const nw_expr *by);
// Replaces each of these expressions by f's result.
typedef const nw_expr *(*nw_map_fn)(void *env, const nw_expr *e);
void nw_stmt_map(nw_program *p, nw_stmt *s, nw_map_fn f, void *env);
// Ranges of the sizes, facts and the loops on a path (outermost first), ready for nw_prove and nw_simplify.
void nw_ranges_of(nw_ranges *r, const nw_program *p, const nw_path *path);
// The same for the position of the statement at the end of the path: inside everything around it.
void nw_ranges_around(nw_ranges *r, const nw_program *p, const nw_path *path);
// The expression of a block's target value or index after its variables are replaced by their bindings.
const nw_expr *nw_block_bound(const nw_program *p, const nw_stmt *block, const nw_expr *e);

// ---- text (see nestwright.h for the rest)
const nw_expr *nw_expr_parse(nw_pool *pool, const char *text);
