// Edits of loops that several primitives use. Private to sched/.
#pragma once
#include "sched/sched.h"

// What to do if the factor does not divide the extent: see tails.c.
typedef enum nw_tail { NW_TAIL_GUARD, NW_TAIL_CUT, NW_TAIL_SHIFT, NW_TAIL_PAD, NW_TAIL_PREDICATE } nw_tail;
enum { NW_MAX_FACTORS = 8 }; // loops of a split, dimensions of a tile
typedef struct nw_pieces {
  int n;
  nw_stmt *loop[NW_MAX_FACTORS + 1]; // outermost first
  nw_stmt *tail; // the second nest of a cut, or NULL
  bool divides;
  bool aligned; // cut at multiples of the factor, since the begin of the loop varies
} nw_pieces;

// A split by n factors, outermost first; `outer` is the extent of the outer loop if given (parts), NULL if it
// follows from the factors. False, with a diagnostic, if the tail is not possible.
bool nw_split_loop(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out);
// The same as a complete step, with notes and results; may be refused.
bool nw_split_step(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out);
nw_tail nw_tail_of(const char *name);
// Handles the iterations at or after `extent`, where `at` is the position of the new loops; a note reports the cost.
bool nw_close_tail(nw_step *st, nw_tail tail, const nw_pieces *x, const nw_expr *at, const nw_expr *extent);
void nw_note_tail(nw_step *st, const nw_stmt *loop, const nw_expr *by, nw_tail tail, const nw_pieces *x);
void nw_guard_below(nw_step *st, nw_stmt *s, const nw_expr *cond);
bool nw_vectorize_loop(nw_step *st, nw_stmt *loop); // marks.c: with the checks of a vector loop
// Extends the blocks below to the instances that the loops now reach, and the storage of their temporaries; pad.c.
bool nw_pad_below(nw_step *st, const nw_pieces *x);
bool nw_can_split(nw_step *st, const nw_stmt *loop); // true if the loop is serial; else a structural refusal
bool nw_factor_ok(nw_step *st, const char *what, int64_t factor);
// number of entries in the list, checked; 0 and an error
int nw_step_factors(nw_step *st, int param, const nw_expr **out);

// True if `factor` divides the extent of the loop at the end of the path.
bool nw_loop_divides(const nw_program *p, const nw_path *path, const nw_expr *factor);
// Cuts the loop at a multiple of `factor`: it keeps the first part; the rest becomes a copy after it, named by path.
// `whole` is the statement to copy, the loop itself or one that encloses it. Returns the loop over the rest.
// `rounds`: number of blocks of `factor` iterations in the first part; NULL: as many as fit.
nw_stmt *nw_cut_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *factor, const nw_expr *rounds);
// True if the extent of a loop is proven to be less than `block`, so that a cut would leave no main part.
bool nw_all_tail(nw_step *st, const nw_stmt *loop, const nw_expr *block);
// Makes all of `whole` the tail of the loop. The other loops inside keep their names, except those that a split replaces.
void nw_leave_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *block, int n, nw_stmt *const *split);

// Reorders loops of one perfect nest: `loop` in the new order.
bool nw_reorder_loops(nw_step *st, int n, nw_stmt **loop);
// The statement that keeps `outer` and `inner` from being perfectly nested; NULL if they are. *inner_above: inner is
// not inside outer at all.
const nw_stmt *nw_in_the_way(const nw_stmt *outer, const nw_stmt *inner, bool *not_inside);
bool nw_refuse_imperfect(nw_step *st, const nw_stmt *outer, const nw_stmt *inner, const nw_stmt *way);
