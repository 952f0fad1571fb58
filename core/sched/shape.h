// Edits of loops that several primitives are made of. Private to sched/.
#pragma once
#include "sched/sched.h"

typedef enum nw_tail { NW_TAIL_GUARD, NW_TAIL_CUT, NW_TAIL_MASK } nw_tail;
typedef struct nw_pieces {
  nw_stmt *outer, *inner;
  nw_stmt *tail; // a cut's other nest, or NULL
  bool divides;
} nw_pieces;

// A split by `factor`; `outer` is the extent of the outer loop where it was asked for (parts), NULL where it follows.
void nw_split_loop(nw_step *st, nw_stmt *loop, const nw_expr *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out);
nw_tail nw_tail_of(const char *name);
bool nw_can_split(nw_step *st, const nw_stmt *loop); // serial; else a structural refusal
bool nw_factor_ok(nw_step *st, const char *what, int64_t factor);

// Does `factor` divide the extent of the loop the path ends in?
bool nw_loop_divides(const nw_program *p, const nw_path *path, const nw_expr *factor);
// Cuts the loop at a multiple of `factor`: it keeps the first part; the rest becomes a copy behind it, named by path.
// `whole` is the statement copied with it, the loop itself or one that encloses it. Returns the loop over the rest.
nw_stmt *nw_cut_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *factor);

// Reorders loops of one perfect nest: `loop` in the order wanted.
bool nw_reorder_loops(nw_step *st, int n, nw_stmt **loop);
// The statement that keeps `outer` and `inner` from being perfectly nested; NULL if they are. *inner_above: inner does
// not lie below outer at all.
const nw_stmt *nw_in_the_way(const nw_stmt *outer, const nw_stmt *inner, bool *not_inside);
