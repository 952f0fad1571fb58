// Declarations shared by the files of this room.
#pragma once
#include "te/te.h"

// State of expressions that the user is writing: one per session, in NW_SLOT_TE.
struct nw_build {
  nw_ctx *ctx;
  nw_teop *op; // the compute in progress; one count
  nw_vec reads; // nw_tensor*, in the order of nw_tensor_read; borrowed from the pool's symbols
  nw_build *outer; // the enclosing compute, if the user nests them
};
typedef struct nw_pen {
  nw_pool *pool; // for expressions outside a compute
  nw_build *build; // innermost compute in progress
} nw_pen;
nw_pen *nw_pen_of(nw_ctx *c);
void nw_pen_turn(nw_ctx *c); // a compute begins or ends: the pool outside may be replaced

// "i" of "i@13": a copy in a's arena, or on the heap when a is NULL.
char *nw_plain_name(nw_arena *a, const char *symbol);
char *nw_symbol_name(nw_ctx *c, const char *name, uint64_t *serial); // heap: "i@13", fresh serial
// e as the user wrote it: plain names. Heap.
char *nw_te_text(const nw_expr *e);
// A name the text form can hold, else a diagnostic. NULL becomes the fallback. Heap.
char *nw_te_name(nw_ctx *c, const char *what, const char *name, const char *fallback);

nw_teop *nw_teop_new(nw_ctx *c, nw_teop_kind kind, const char *name, nw_pool *pool);
void nw_teop_release(nw_teop *op);
nw_tensor *nw_tensor_new(nw_teop *op, int out, const char *name);
// The tensor or axis a LOAD or VAR of e's pool stands for; NULL if none.
nw_tensor *nw_tensor_of(const nw_expr *load);
nw_axis *nw_axis_of(const nw_expr *var);
nw_te_size *nw_size_of(const nw_expr *var);
const nw_expr *nw_te_index(nw_ctx *c, nw_pool *p, const nw_expr *e, const char *what); // an integer, as i64

// An extent: an integer expression in symbolic sizes, not a negative constant; imported into p as i64.
const nw_expr *nw_te_extent(nw_ctx *c, nw_pool *p, const nw_expr *e, const char *what);
// Pushes every size used in e, with its bounds and facts. Idempotent.
void nw_te_push_sizes(nw_ranges *r, const nw_expr *e);

// Context of an expression: the ranges of its variables, and the conditions of the selects around it.
// Expressions seen here live in a pool of the walk's own.
typedef struct nw_place {
  nw_ctx *ctx;
  nw_pool *pool;
  const nw_teop *op;
  nw_ranges ranges;
  nw_vec cond; // const nw_expr *: all hold here
  int nvars; // number of loop variables, outermost first
  const nw_expr **var, **lo, **extent;
} nw_place;
// Visits every subexpression of the bodies of op (and extents of its axes), once for each set of conditions that adds
// something; f returns false to stop. The first axis starts at `from` (NULL: 0).
typedef bool (*nw_at_fn)(void *env, nw_place *place, const nw_expr *e);
bool nw_te_walk(const nw_teop *op, const nw_expr *from, nw_at_fn f, void *env);
bool nw_te_walk_at(nw_place *at, const nw_expr *e, nw_at_fn f, void *env); // one expression, whose sizes are pushed

// The first point found, in lexicographic order, at which a condition fails.
typedef struct nw_witness {
  bool found;
  char *at; // "i = 15", heap
  int64_t value; // value of the expression in question
} nw_witness;
// True if cond holds here: proven by ranges, or tried on every point if there are few. If it is false and a counterexample
// was found, w has it (w->at to be freed); e is the expression whose value and variables it reports.
bool nw_te_holds(nw_place *at, const nw_expr *cond, const nw_expr *e, nw_witness *w);
const nw_expr *nw_te_uncast(const nw_expr *e); // without the casts that preserve whether the value is 0
// the condition that e is not 0; a bool is returned unchanged
const nw_expr *nw_te_nonzero(nw_pool *p, const nw_expr *e);

// Checks that every read is inside its tensor and that nothing divides by zero, in all bodies of op. Reads of states are skipped.
bool nw_te_fits(const nw_place *at, const nw_expr *e); // overflow.c: checks the arithmetic of e if it uses only indices
bool nw_te_check(const nw_teop *op, const nw_expr *from);
// Checks that an expression of sizes, whose facts are pushed, does not divide by zero; `what` describes it: "the fact".
bool nw_te_divisions_ok(nw_place *at, const char *what, const nw_expr *e);
// True if there is a placeholder of op's own shape that op reads only before its own element, so that all reads are valid except
// at the first times.
bool nw_te_looks_like_update(const nw_teop *op);
// false, with the error of a deferred compute that is used outside a scan
bool nw_te_refuse_deferred(const nw_teop *op);
// The same for the updates of a scan; also checks that every read of a state finds an element already written.
bool nw_te_check_scan(const nw_teop *scan);

// Checks an operation before the judge: true if every access is inside its tensor and after the write of its element.
typedef struct nw_appeal {
  const nw_teop *op;
  bool asked, trusted;
} nw_appeal;
bool nw_te_judged(nw_appeal *a);
const nw_expr *nw_te_before(nw_place *at, const nw_expr *load,
                            int d); // it reads an element before the one being written
bool nw_te_refuse_read(nw_place *at, const nw_expr *load, int d, const nw_expr *extent, const nw_witness *w); // false
bool nw_te_addressable(const nw_teop *op, int out); // rejects a tensor that exceeds the address space
// heap: "C", or "C.v1", "C.index", the operation being called C
char *nw_te_output_name(const nw_teop *op, const char *name, int out);

// The program of a single operation, with its producers as inputs: given to the judge if ranges cannot prove a condition.
nw_program *nw_te_alone(const nw_teop *op);
void nw_te_alone_order(nw_vec *order, const nw_teop *op); // its producers, then op
nw_vec nw_te_sizes_of(const nw_vec *order);
bool nw_te_absorbs_init(const nw_teop *scan, int k);
