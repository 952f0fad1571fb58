// Checks the invariants of a program. A flaw is a violation of an invariant. A flaw makes nw_program_freeze fail, and
// the parser reports it as an error.
#pragma once
#include "ir/program/program.h"

typedef struct nw_flaw {
  int at; // id of the statement or buffer with the flaw, or 0
  char text[240];
} nw_flaw;

// Returns true if p has a flaw, and stores the first flaw, in the order of the text, in *out. Returns false if p is
// valid.
bool nw_program_flaw(const nw_program *p, nw_flaw *out);
// True if `s` is a valid name in the text form. A name consists of letters, digits and `_`, and does not begin with a
// digit. Between two of these characters, it may have a single `.`, `/` or `@`. Reserved words such as `and`, `or`,
// `not` and `true` are not names.
bool nw_name_ok(const char *s);
// Normalizes the allocations before p is frozen (alloc.c).
void nw_settle_allocs(nw_program *p);
// Returns a deep copy in an arena, with the same ids and names.
nw_stmt *nw_stmt_clone(nw_arena *a, const nw_stmt *s);
