// Declares edits of loops that several primitives use. Private to sched/.
#pragma once
#include "sched/sched.h"

// Says how a split handles an extent that the factor does not divide (tails.c).
typedef enum nw_tail { NW_TAIL_GUARD, NW_TAIL_CUT, NW_TAIL_SHIFT, NW_TAIL_PAD, NW_TAIL_PREDICATE } nw_tail;
enum { NW_MAX_FACTORS = 8 }; // limit on the loops of a split, and on the dimensions of a tile
typedef struct nw_pieces {
  int n;
  nw_stmt *loop[NW_MAX_FACTORS + 1]; // outermost first
  nw_stmt *tail; // the second nest of a cut, or NULL
  bool divides; // true if the factors are proven to divide the extent
  bool aligned; // true if the loop is cut at multiples of the factor, because its begin varies
} nw_pieces;

// Splits a loop by n factors, outermost first. `outer` is the extent of the outer loop if the step has the option
// `parts`. Otherwise `outer` is NULL, and the extent follows from the factors. Returns false, with a diagnostic, if the
// kind of tail is not possible.
bool nw_split_loop(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out);
// Does the same as nw_split_loop, and also makes the checks, notes and results of the step.
bool nw_split_step(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out);
nw_tail nw_tail_of(const char *name);
// Handles the iterations with `at` >= `extent`. `at` is the position in the old loop, as an expression of the new
// loops.
bool nw_close_tail(nw_step *st, nw_tail tail, const nw_pieces *x, const nw_expr *at, const nw_expr *extent);
void nw_note_tail(nw_step *st, const nw_stmt *loop, const nw_expr *by, nw_tail tail, const nw_pieces *x);
void nw_guard_below(nw_step *st, nw_stmt *s, const nw_expr *cond);
// Checks that a loop can be vectorized, and marks it (marks.c).
bool nw_vectorize_loop(nw_step *st, nw_stmt *loop, nw_loop_kind mark);
// Extends the declared instances of the blocks inside the loops to all instances that the loops execute, and extends
// the storage of their temporaries (pad.c).
bool nw_pad_below(nw_step *st, const nw_pieces *x);
bool nw_can_split(nw_step *st, const nw_stmt *loop); // true if the loop is serial; otherwise makes a structural refusal
bool nw_factor_ok(nw_step *st, const char *what, int64_t factor);
// Returns a factor that is a number, or an expression of sizes which is proven to be at least 1. Returns NULL with an
// error if the factor is invalid. `what` names it in the error.
const nw_expr *nw_step_factor(nw_step *st, const nw_arg *a, const char *what);
// Checks a list of factors, and returns the number of its entries. Returns 0, with an error, if the list is invalid.
int nw_step_factors(nw_step *st, int param, const nw_expr **out);

// True if `factor` is proven to divide the extent of the loop at the end of the path.
bool nw_loop_divides(const nw_program *p, const nw_path *path, const nw_expr *factor);
// Cuts the loop after `rounds` groups of `factor` iterations. If `rounds` is NULL, the number of groups is as large as
// possible. The loop keeps these iterations. A copy of `whole`, which is the loop or a statement around it, runs the
// remaining iterations. The names in the copy are paths (nw_copy_stmt_as). Returns the loop over the remaining
// iterations.
nw_stmt *nw_cut_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *factor, const nw_expr *rounds);
// True if the extent of a loop is proven to be less than `block`, so that a cut leaves no main part.
bool nw_all_tail(nw_step *st, const nw_stmt *loop, const nw_expr *block);
// Turns `whole` into the tail of the loop, because the main part is empty. The old names of its loops stay valid as
// names of empty pieces, except the names of the n loops `split`.
void nw_leave_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *block, int n, nw_stmt *const *split);

// Reorders loops of one perfect nest. `loop` lists the loops in the new order. Returns false after a failure.
bool nw_reorder_loops(nw_step *st, int n, nw_stmt **loop);
// Returns a statement because of which `outer` and `inner` are not perfectly nested, or NULL if there is none. Sets
// *not_inside to true if `inner` is not inside `outer`.
const nw_stmt *nw_in_the_way(const nw_stmt *outer, const nw_stmt *inner, bool *not_inside);
bool nw_refuse_imperfect(nw_step *st, const nw_stmt *outer, const nw_stmt *inner, const nw_stmt *way);
