// Edits of loops that several primitives are made of. Private to sched/.
#pragma once
#include "sched/sched.h"

// What happens where the factor does not divide: see tails.c.
typedef enum nw_tail { NW_TAIL_GUARD, NW_TAIL_CUT, NW_TAIL_SHIFT, NW_TAIL_PAD, NW_TAIL_PREDICATE } nw_tail;
enum { NW_MAX_FACTORS = 8 }; // loops of a split, dimensions of a tile
typedef struct nw_pieces {
  int n;
  nw_stmt *loop[NW_MAX_FACTORS + 1]; // outermost first
  nw_stmt *tail; // a cut's other nest, or NULL
  bool divides;
  bool aligned; // cut at multiples of the factor, since the begin varies
} nw_pieces;

// A split by n factors, outermost first; `outer` is the extent of the outer loop where it was asked for (parts), NULL where
// it follows. False, with a diagnostic, when the tail is not possible there.
bool nw_split_loop(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out);
// The same with notes and results, as a step of its own; may be refused.
bool nw_split_step(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out);
nw_tail nw_tail_of(const char *name);
// What is done about the rounds at or behind `extent`, `at` being where the new loops stand, and what it costs, as a note.
bool nw_close_tail(nw_step *st, nw_tail tail, const nw_pieces *x, const nw_expr *at, const nw_expr *extent);
void nw_note_tail(nw_step *st, const nw_stmt *loop, const nw_expr *by, nw_tail tail, const nw_pieces *x);
void nw_guard_below(nw_step *st, nw_stmt *s, const nw_expr *cond);
bool nw_vectorize_loop(nw_step *st, nw_stmt *loop); // marks.c: with what a vector loop asks
// The blocks below get the instances that the loops now reach, and their temporaries room for them; pad.c.
bool nw_pad_below(nw_step *st, const nw_pieces *x);
bool nw_can_split(nw_step *st, const nw_stmt *loop); // serial; else a structural refusal
bool nw_factor_ok(nw_step *st, const char *what, int64_t factor);
int nw_step_factors(nw_step *st, int param, const nw_expr **out); // a list of them, checked; 0 and an error

// Does `factor` divide the extent of the loop the path ends in?
bool nw_loop_divides(const nw_program *p, const nw_path *path, const nw_expr *factor);
// Cuts the loop at a multiple of `factor`: it keeps the first part; the rest becomes a copy behind it, named by path.
// `whole` is the statement copied with it, the loop itself or one that encloses it. Returns the loop over the rest.
// `rounds`: how many of the factor the first part has, where that was asked for; NULL: as many as there are.
nw_stmt *nw_cut_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *factor, const nw_expr *rounds);
// Is the extent of a loop known to be less than `block`, so that a cut would leave no main part?
bool nw_all_tail(nw_step *st, const nw_stmt *loop, const nw_expr *block);
// Makes `whole` the tail of the loop: all of it. The other loops inside can still be named, but for those a split consumes.
void nw_leave_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *block, int n, nw_stmt *const *split);

// Reorders loops of one perfect nest: `loop` in the order wanted.
bool nw_reorder_loops(nw_step *st, int n, nw_stmt **loop);
// The statement that keeps `outer` and `inner` from being perfectly nested; NULL if they are. *inner_above: inner does
// not lie below outer at all.
const nw_stmt *nw_in_the_way(const nw_stmt *outer, const nw_stmt *inner, bool *not_inside);
bool nw_refuse_imperfect(nw_step *st, const nw_stmt *outer, const nw_stmt *inner, const nw_stmt *way);
