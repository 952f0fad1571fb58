// A block in readable form: its body uses the enclosing loops instead of the block's own variables.
#pragma once
#include "ir/program/program.h"

typedef struct nw_short_block {
  char *where; // the guard, simplified; NULL if there is none or it always holds
  int n;
  char **line; // "C[32*i_o + i_i, j] += A[...]*B[...]", one per target; an arg-reduction is one line
  // the block's name, unless a target has that name, and the place where the init runs; "" if neither is shown
  char *comment;
} nw_short_block;

// The path ends in the block.
void nw_short_block_of(nw_short_block *b, const nw_program *p, const nw_path *path);
void nw_short_block_free(nw_short_block *b);
