// What the files of this room share.
#pragma once
#include "te/te.h"

// The user's pen: one per session, in NW_SLOT_TE.
struct nw_build {
  nw_ctx *ctx;
  nw_teop *op; // in the making; one count
  nw_vec reads; // nw_tensor*, in the order of nw_tensor_read; borrowed from the pool's symbols
  nw_build *outer; // the compute around this one, if the user nests them
};
typedef struct nw_pen {
  nw_pool *pool; // for what is written outside a compute
  nw_build *build; // innermost compute in the making
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

// Where an expression is evaluated: the ranges of its variables and what the selects around it have made sure of.
// Expressions seen here live in a pool of the walk's own.
typedef struct nw_place {
  nw_ctx *ctx;
  nw_pool *pool;
  const nw_teop *op;
  nw_ranges ranges;
  nw_vec cond; // const nw_expr *: all hold here
  int nvars; // the variables that run, outermost first
  const nw_expr **var, **lo, **extent;
} nw_place;
// Visits every subexpression of the bodies of op (extents of its axes too), once for each set of conditions that adds
// something; f returns false to stop. The first axis starts at `from` (NULL: 0).
typedef bool (*nw_at_fn)(void *env, nw_place *place, const nw_expr *e);
bool nw_te_walk(const nw_teop *op, const nw_expr *from, nw_at_fn f, void *env);
bool nw_te_walk_at(nw_place *at, const nw_expr *e, nw_at_fn f, void *env); // one expression, whose sizes are pushed

// The first point found, in lexicographic order, at which a condition fails.
typedef struct nw_witness {
  bool found;
  char *at; // "i = 15", heap
  int64_t value; // of the expression asked about
} nw_witness;
// Does cond hold at the place? Proven by ranges, or tried on every point where they are few. When false and a breaking
// point was met, w says where (w->at to be freed); e is the expression whose value and variables it reports.
bool nw_te_holds(nw_place *at, const nw_expr *cond, const nw_expr *e, nw_witness *w);
const nw_expr *nw_te_uncast(const nw_expr *e); // without the casts that keep 0 apart from other values
const nw_expr *nw_te_nonzero(nw_pool *p, const nw_expr *e); // the condition that e differs from 0; a bool as it is

// Every read inside its tensor and no division by zero, in all bodies of op. States are not looked at.
bool nw_te_fits(const nw_place *at, const nw_expr *e); // overflow.c: what e computes, if it is of indices alone
bool nw_te_check(const nw_teop *op, const nw_expr *from);
// No division by zero in an expression of sizes, which are pushed; `what` says which it is: "the fact".
bool nw_te_divisions_ok(nw_place *at, const char *what, const nw_expr *e);
// Is there a placeholder of op's own shape that op reads only before its own element, so that all is well from some time
// on?
bool nw_te_looks_like_update(const nw_teop *op);
bool nw_te_refuse_deferred(const nw_teop *op); // false, with what is wrong with a deferred compute outside a scan
// The same for the updates of a scan, and that every read of a state finds an element already written.
bool nw_te_check_scan(const nw_teop *scan);

// An operation before the judge: true if it finds every access of the operation inside its tensor and after its write.
typedef struct nw_appeal {
  const nw_teop *op;
  bool asked, trusted;
} nw_appeal;
bool nw_te_judged(nw_appeal *a);
const nw_expr *nw_te_before(nw_place *at, const nw_expr *load,
                            int d); // it reads an element before the one being written
bool nw_te_refuse_read(nw_place *at, const nw_expr *load, int d, const nw_expr *extent, const nw_witness *w); // false
bool nw_te_addressable(const nw_teop *op, int out); // a tensor no address space can hold is refused
// heap: "C", or "C.v1", "C.index", the operation being called C
char *nw_te_output_name(const nw_teop *op, const char *name, int out);

// The program of one operation alone, its producers as inputs: what the judge is asked when a proof is beyond ranges.
nw_program *nw_te_alone(const nw_teop *op);
void nw_te_alone_order(nw_vec *order, const nw_teop *op); // its producers, then op
nw_vec nw_te_sizes_of(const nw_vec *order);
bool nw_te_absorbs_init(const nw_teop *scan, int k);
