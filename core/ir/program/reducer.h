// Declares reducers, which are reductions that a user defines. A reducer has a state of one or more components. It starts
// from `init`, and `combine` gives the state of two states a and b together. A contribution is a state, too.
//
// A reduction may be computed in any order and in parts. So every reducer in the table has been examined (te/reducer.c):
// combine is associative and commutative, and init changes nothing. Either this was proved, or it was tested on `tested`
// values. The table belongs to the session, and equal reducers are one reducer.
#pragma once
#include "ir/program/program.h"

typedef struct nw_reducer {
  nw_combiner combiner; // its number: NW_OWN or more
  const char *name; // the name that the user gave
  int n;
  const char *part[NW_MAX_REDUCED]; // the names of the components
  nw_dtype dtype[NW_MAX_REDUCED];
  const nw_expr *init[NW_MAX_REDUCED]; // constants
  // the combined state, as expressions in the variables of nw_reducer_var; in the pool of the table
  const nw_expr *combine[NW_MAX_REDUCED];
  bool rounds; // true if combine rounds, so that the order of contributions may change the bits of the result
  int tested; // 0 if its properties are proved; otherwise the number of values on which they were tested
} nw_reducer;

// A row of a program's table of reducers.
typedef struct nw_used_reducer {
  nw_combiner combiner;
  const char *name, *assign; // its name in the program, which no other reducer of the program has: "online", "online="
} nw_used_reducer;

// Returns the variable that stands for component i of the first state (a) or of the second state (b): "a0", "b0", ...
const nw_expr *nw_reducer_var(nw_pool *p, bool second, int i, nw_dtype t);
// Returns the reducer in the table that is equal to *like, and adds it if there is none. Only name, n, part, dtype, init,
// combine and tested of *like are used. Returns NULL, with a diagnostic, if the table is full.
const nw_reducer *nw_reducer_add(nw_ctx *c, const nw_reducer *like);
const nw_reducer *nw_reducer_of(nw_ctx *c, nw_combiner k); // k is at least NW_OWN
// Returns the row of a combiner in the table of the program; NULL if it has none.
const nw_used_reducer *nw_program_reducer(const nw_program *p, nw_combiner k);
// Adds the combiner to the table of the program, if it is a reducer that is not yet there. `name` is its name in the
// program. If it is NULL, the user's name is made unique.
void nw_program_use_reducer(nw_program *p, nw_combiner k, const char *name);
// Returns component i of the state that combines the states a and b, which have n entries each. The expressions are in p.
const nw_expr *nw_reducer_combined(nw_pool *p, const nw_reducer *r, int i, const nw_expr *const *a,
                                   const nw_expr *const *b);
// Writes a line for each reducer of p that was tested, but not proved. `prefix` begins the line.
void nw_program_note_reducers(nw_str *out, const nw_program *p, const char *prefix);
