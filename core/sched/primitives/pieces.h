// Cutting a loop into consecutive pieces, and joining them. Private to sched/.
#pragma once
#include "sched/sched.h"

#define NW_MAX_PIECES 16
typedef struct nw_loop_piece {
  const char *suffix; // "head": the piece of loop i is i.head
  const nw_expr *begin, *end;
  int id; // set by nw_make_pieces: the id of the piece's loop, or an id for the name of an empty piece
} nw_loop_piece;

// Makes the consecutive pieces of a loop. The piece `first` keeps the blocks and the name of the stage, unless this
// piece is empty. `verb` describes the step: "cut". False, with a diagnostic, if the program would get too large.
bool nw_make_pieces(nw_step *st, nw_stmt *loop, const char *verb, int n, nw_loop_piece *piece, int first);
// Computes the n points at which a loop is cut, together with both ends of its range. Each point is clamped, so that
// the points are in the range and in ascending order. `out` has n + 2 entries.
void nw_cut_points(const nw_program *p, const nw_stmt *loop, int n, const nw_expr *const *at, const nw_expr **out);
const char *nw_piece_suffix(nw_step *st, int i, int n); // suffix of piece i of n
// true if the program does not get too large with n copies of a statement; otherwise leaves a failure
bool nw_affordable(nw_step *st, const nw_stmt *s, int n);
bool nw_points_ok(nw_step *st, const nw_stmt *loop, int param); // checks the number of entries in a list of expressions
