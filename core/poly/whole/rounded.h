// Shared by rounded.c and round_up.c.
#pragma once
#include "poly/whole/whole.h"

typedef struct nw_rounding {
  nw_program *p; // a clone, edited
  const nw_expr *size; // M
  const nw_expr *rounds; // the new size c, which stands for ceil(M / n)
  // The canonical form of ceil(M / n) is a quotient plus a number. `value` replaces the quotient: c minus this number.
  const nw_expr *quotient, *value;
  const nw_expr *whole; // c*n, which replaces M
  nw_vec limited; // const nw_block_var *: variables for which a loop or a condition says that they are below M
  const nw_expr *from, *to; // what is replaced at the moment, and by what
  bool ok;
} nw_rounding;

bool nw_uses_size(const nw_rounding *x, const nw_expr *e); // true if e is not NULL and uses M
// Removes the conditions that say that a number is below M, and replaces M by c*n. Clears x->ok if this is not possible.
void nw_round_up(nw_rounding *x);
