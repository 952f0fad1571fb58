// Shared by systems.c and expand.c.
#pragma once
#include "ir/expr/fold.h"
#include "poly/whole/whole.h"

typedef struct nw_expanding {
  nw_program *p; // a clone, edited
  int n;
  nw_system system[NW_MOST_SYSTEMS];
  nw_cuts cuts[NW_MOST_SYSTEMS];
  bool failed;
} nw_expanding;

typedef struct nw_looking {
  nw_expanding *x;
  const nw_stmt *block; // the block whose expressions are visited
} nw_looking;

// Finds the systems that have several digits. Returns false if some number cannot be cut into digits. If `other` is not
// NULL, the bindings of both programs also cut numbers.
bool nw_find_systems(nw_expanding *x, const nw_program *other);
// Returns the position of the system whose numbers are 0..whole, or -1.
int nw_system_at(const nw_expanding *x, const nw_expr *whole);
// Returns the position of the system of the block's variable e, or -1.
int nw_system_of_var(const nw_expanding *x, const nw_stmt *block, const nw_expr *e);
// True if e is a quotient or a remainder of a variable, of such a quotient, and so on. *base is the variable.
bool nw_is_chain(const nw_expr *e, const nw_expr **base);
