// A loop taken apart into pieces that follow each other, and put together again. Private to sched/.
#pragma once
#include "sched/sched.h"

#define NW_MAX_PIECES 16
typedef struct nw_loop_piece {
  const char *suffix; // of loop i: the piece is i.head
  const nw_expr *begin, *end;
  int id; // out: of its loop, or of the name that stands for it when it is proven empty
} nw_loop_piece;

// Makes the pieces, in order, of a loop whose rounds they are; `first` is the one that keeps the blocks (and the name of
// the stage), unless it is empty. `verb` says what was done: "cut". False, with a diagnostic, when that is too much code.
bool nw_make_pieces(nw_step *st, nw_stmt *loop, const char *verb, int n, nw_loop_piece *piece, int first);
// The points a loop is cut at, brought inside its range and into order; ends are its own. out has n + 2 entries.
void nw_cut_points(const nw_program *p, const nw_stmt *loop, int n, const nw_expr *const *at, const nw_expr **out);
const char *nw_piece_suffix(nw_step *st, int i, int n); // of piece i of n that a cut makes
bool nw_affordable(nw_step *st, const nw_stmt *s, int n); // n of a statement where there is one; else a failure
bool nw_points_ok(nw_step *st, const nw_stmt *loop, int param); // of a list of expressions
