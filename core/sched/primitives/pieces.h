// Cuts a loop into consecutive pieces. Private to sched/.
#pragma once
#include "sched/sched.h"

#define NW_MAX_PIECES 16
typedef struct nw_loop_piece {
  const char *suffix; // for example "head": the piece of loop i is then i.head
  const nw_expr *begin, *end;
  int id; // set by nw_make_pieces: the id of the piece's loop, or an id for the name of an empty piece
} nw_loop_piece;

// Makes the consecutive pieces of a loop. Piece number `first` keeps the blocks and the name of the stage if it is not
// empty. `verb` describes the step, for example "cut". Returns false, with a diagnostic, if the program gets too large.
bool nw_make_pieces(nw_step *st, nw_stmt *loop, const char *verb, int n, nw_loop_piece *piece, int first);
// Writes the begin of a loop, the n points `at` at which it is cut, and the end of the loop to `out`, which has n + 2
// entries. Each point is clamped, so that the points are in the range of the loop and in ascending order.
void nw_cut_points(const nw_program *p, const nw_stmt *loop, int n, const nw_expr *const *at, const nw_expr **out);
const char *nw_piece_suffix(nw_step *st, int i, int n); // suffix of piece i of the n pieces of a cut
// True if the program is not too large with n copies of a statement. Otherwise reports an error.
bool nw_affordable(nw_step *st, const nw_stmt *s, int n);
// Checks the points that parameter number `param` lists: their number, their order, and the variables that they use.
bool nw_points_ok(nw_step *st, const nw_stmt *loop, int param);
