// Internal header of te, with the declarations that its files share.
#pragma once
#include "te/te.h"

// nw_pen is the state of the expressions that the user is writing. A session has one nw_pen, in NW_SLOT_TE. An nw_build
// is a compute in progress. Nested computes form a stack.
struct nw_build {
  nw_ctx *ctx;
  nw_teop *op; // the compute in progress; holds a reference
  nw_vec reads; // nw_tensor*, in the order of the calls of nw_tensor_read; borrowed from the pool's symbols
  nw_build *outer; // the enclosing compute, if computes are nested
  // A definition of an update: the updated tensor, and its name in the definition (references). `of` is NULL if the
  // definition is inside another one. `defs` are the definitions inside it (nw_tensor *, references), and `nouter` is the
  // number of axes of the definitions around it.
  nw_tensor *of, *state;
  nw_vec defs;
  int nouter;
};
typedef struct nw_pen {
  nw_pool *pool; // for expressions outside a compute
  nw_build *build; // innermost compute in progress
} nw_pen;
nw_pen *nw_pen_of(nw_ctx *c);
// Called when a compute begins or ends. May replace the pool for expressions outside a compute.
void nw_pen_turn(nw_ctx *c);

// Returns "i" for "i@13", as a copy in the arena a, or on the heap if a is NULL.
char *nw_plain_name(nw_arena *a, const char *symbol);
// Returns a symbol such as "i@13" with a new serial number, as a heap string. Stores the number if serial is not NULL.
char *nw_symbol_name(nw_ctx *c, const char *name, uint64_t *serial);
// Returns the text of e with the plain names that the user wrote, as a heap string.
char *nw_te_text(const nw_expr *e);
// Returns a copy of the name on the heap, or of the fallback if the name is NULL. If the text form does not allow the
// name, returns NULL and leaves a diagnostic.
char *nw_te_name(nw_ctx *c, const char *what, const char *name, const char *fallback);

nw_teop *nw_teop_new(nw_ctx *c, nw_teop_kind kind, const char *name, nw_pool *pool);
void nw_teop_release(nw_teop *op);
nw_tensor *nw_tensor_new(nw_teop *op, int out, const char *name);
// These functions return the tensor, the axis or the size for which a LOAD or VAR stands. They return NULL if it stands
// for an object of another kind.
nw_tensor *nw_tensor_of(const nw_expr *load);
nw_axis *nw_axis_of(const nw_expr *var);
nw_te_size *nw_size_of(const nw_expr *var);
// Returns e converted to i64. If e is not an integer, returns NULL and leaves a diagnostic.
const nw_expr *nw_te_index(nw_ctx *c, nw_pool *p, const nw_expr *e, const char *what);

// Checks an extent, and returns it imported into p as i64. An extent is an integer expression in symbolic sizes that is
// never negative. If the check fails, returns NULL and leaves a diagnostic.
const nw_expr *nw_te_extent(nw_ctx *c, nw_pool *p, const nw_expr *e, const char *what);
// Adds every size that e uses, with its bounds and facts, to the ranges. A size that is already in the ranges is not
// added again.
void nw_te_push_sizes(nw_ranges *r, const nw_expr *e);

nw_axis *nw_te_new_axis(nw_ctx *c, const char *name); // without a range; NULL, with a diagnostic, if the name is wrong
// Adds the range of every axis and size that e uses. The compute in progress has the ranges of the output's axes.
void nw_te_push_axes(nw_ranges *r, const nw_expr *e);
// Returns the reduction of n terms over the axes. Where the range of an axis depends on other axes or on data, and the
// axis is outside of this range, each term is the identity. Returns NULL with a diagnostic if the axes do not fit.
const nw_expr *nw_te_reduce(nw_ctx *c, nw_combiner k, int n, const nw_expr *const *term, int naxes,
                            nw_axis *const *axes);

// nw_place is the context of an expression: the ranges of its variables, and the conditions of the selects around it. A
// traversal has its own pool for the expressions that it visits.
typedef struct nw_place {
  nw_ctx *ctx;
  nw_pool *pool;
  const nw_teop *op;
  nw_ranges ranges;
  nw_vec cond; // const nw_expr *: conditions that all hold at this place
  const nw_expr *written; // the element that a definition of an update writes, as a LOAD; NULL otherwise
  int nvars; // number of loop variables; the arrays below have an entry for each, outermost first
  const nw_expr **var, **lo, **extent;
} nw_place;
// Calls f for every subexpression of the bodies of op, and of the element that a definition writes, until f returns
// false. A subexpression that occurs in several branches of selects is visited in each branch, except if it was already
// visited outside the branch. The first axis starts at `from` (NULL means 0). Returns false if f returned false.
typedef bool (*nw_at_fn)(void *env, nw_place *place, const nw_expr *e);
bool nw_te_walk(const nw_teop *op, const nw_expr *from, nw_at_fn f, void *env);
// Like nw_te_walk, but for a single expression. Its sizes are already in the ranges of `at`.
bool nw_te_walk_at(nw_place *at, const nw_expr *e, nw_at_fn f, void *env);

// The first point in lexicographic order at which a condition was found to fail.
typedef struct nw_witness {
  bool found;
  char *at; // "i = 15", heap
  int64_t value; // value of the tested expression
} nw_witness;
// True if cond is proven to hold at this place, either from the ranges, or by trying every point if there are few
// points. If a counterexample was found, *w has its point and the value of e. The caller frees w->at.
bool nw_te_holds(nw_place *at, const nw_expr *cond, const nw_expr *e, nw_witness *w);
const nw_expr *nw_te_uncast(const nw_expr *e); // removes outer casts that keep 0 as 0, and map no other value to 0
// Returns the condition under which e is not 0; a bool is returned unchanged.
const nw_expr *nw_te_nonzero(nw_pool *p, const nw_expr *e);

// Returns false and leaves an error if e is index arithmetic whose result may exceed 64 bits (overflow.c). Returns true
// for every other e. The operands of e are not checked.
bool nw_te_fits(const nw_place *at, const nw_expr *e);
// Checks, for all bodies of op, that every read is inside its tensor, that nothing divides by zero, and that index
// arithmetic fits into 64 bits. Reads of states are skipped. The first axis starts at `from`. Returns false and leaves
// an error if a check fails.
bool nw_te_check(const nw_teop *op, const nw_expr *from);
// Checks that an expression of sizes does not divide by zero; `what` describes the expression ("the fact"). The facts
// about the sizes are already in the ranges of `at`.
bool nw_te_divisions_ok(nw_place *at, const char *what, const nw_expr *e);
// True if op may be the update of a scan. An update reads a placeholder of its own shape, but only at elements before
// the element that it computes. All reads of an update are in bounds, except perhaps at the first values of the first
// axis (the time).
bool nw_te_looks_like_update(const nw_teop *op);
// Leaves an error, because op can only be the update of a scan, but is used outside a scan. Returns false.
bool nw_te_refuse_deferred(const nw_teop *op);
// Like nw_te_check, for a definition of an update. It also checks that the element that is written, and all elements of
// the stage that are read, are inside the stage. If the ranges cannot prove this, the judge is asked about `update`.
bool nw_te_check_definition(const nw_teop *def, const nw_teop *update);
// Finds the stages inside a scan. Returns false, with an error, if one of them cannot be there.
bool nw_te_find_inner(nw_teop *scan);
bool nw_te_is_state(const nw_teop *stage, const nw_teop *op); // op is a state of the scan, or of the update
bool nw_te_is_inner(const nw_teop *scan, const nw_teop *op);
// Like nw_te_check, for the updates of a scan and the stages inside it. It also checks that every read of a state or of
// a stage inside gets an element that is already written.
bool nw_te_check_scan(const nw_teop *scan);
bool nw_te_same_size(nw_pool *p, const nw_expr *a,
                     const nw_expr *b); // proved to be equal for all values of their sizes

// A request to the judge (poly/) about an operation. The judge is asked at most once. nw_te_judged returns true if the
// judge proves that every read is inside its tensor and comes after the write of the element.
typedef struct nw_appeal {
  const nw_teop *op;
  bool states; // true if reads of states are checked, too
  bool asked, trusted;
} nw_appeal;
bool nw_te_judged(nw_appeal *a);
// Returns the condition under which the load reads an element before the element that is written, in row-major order.
// Only dimension d and the dimensions after d are compared.
const nw_expr *nw_te_before(nw_place *at, const nw_expr *load, int d);
bool nw_te_refuse_read(nw_place *at, const nw_expr *load, int d, const nw_expr *extent,
                       const nw_witness *w); // leaves an error; returns false
bool nw_te_addressable(const nw_teop *op, int out); // false, with an error, if the output has more than 2^63 bytes
// Returns the name of an output as a heap string. For an operation with the name C, it is "C", "C.v1", "C.index", ...
char *nw_te_output_name(const nw_teop *op, const char *name, int out);

// Returns the program of a single operation, with its producers as inputs. If the ranges cannot prove a condition, the
// judge checks this program.
nw_program *nw_te_alone(const nw_teop *op);
void nw_te_alone_order(nw_vec *order, const nw_teop *op); // pushes the producers of op, then op
// Pushes op after its producers. Operations that were made before the one with the serial number `since` are left out.
void nw_te_order_since(nw_vec *order, const nw_teop *op, uint64_t since);
nw_vec
nw_te_producers(const nw_teop *op); // what op needs, without its states and the stages inside it: const nw_teop *
// Checks that only placeholders and outputs have strides.
bool nw_te_strides_meant(const nw_vec *order, int n, nw_tensor *const *outputs);
nw_vec nw_te_sizes_of(const nw_vec *order); // the sizes that these operations use: nw_te_size *
// True if the init of output k is a compute whose values are written directly to the buffer of the scan or update.
bool nw_te_absorbs_init(const nw_teop *op, int k);

// True if the nest of a stage that calls of an intrinsic compute matches the intrinsic. Otherwise leaves an error.
bool nw_te_check_call(const nw_teop *op);

// compute.c: parts of the construction of a compute, which definitions of updates share.
// Like nw_compute_begin, but axis i begins at lo[i], and has extents[i] values. If lo is NULL, all axes begin at 0.
nw_build *nw_te_begin(nw_ctx *c, const char *name, int naxes, const char *const *names, const nw_expr *const *lo,
                      const nw_expr *const *extents);
// Gives op its bodies, and checks that they use only its own axes. `written` has the tensors that were read since the
// compute began.
bool nw_te_fill(nw_teop *op, const nw_vec *written, int n, const nw_expr *const *bodies);
