// Declares the short form of a block. Its body uses the variables of the enclosing loops instead of the block's own
// variables.
#pragma once
#include "ir/program/program.h"

typedef struct nw_short_block {
  char *where; // the simplified guard; NULL if the block has no guard or its guard always holds
  int n;
  char **line; // "C[32*i_o + i_i, j] += A[...]*B[...]", one per target; an arg-reduction is one line
  // the block's name, if no target has the same name, and the place where the init runs; "" if neither is shown
  char *comment;
} nw_short_block;

// Makes the short form of the block at the end of the path.
void nw_short_block_of(nw_short_block *b, const nw_program *p, const nw_path *path);
void nw_short_block_free(nw_short_block *b);
