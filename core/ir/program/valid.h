// The invariants of a program, checked in one place: nw_program_freeze aborts on a flaw, the parser reports it.
#pragma once
#include "ir/program/program.h"

typedef struct nw_flaw {
  int at; // id of the statement or buffer, 0 elsewhere
  char text[240];
} nw_flaw;

// False if p is valid; otherwise the first flaw, in the order of the text.
bool nw_program_flaw(const nw_program *p, nw_flaw *out);
// True if `s` is a valid name in the text form: letters, digits, _ and, inside, single . / @; not and, or, not, true, ...
bool nw_name_ok(const char *s);
// Normalizes the allocations before p is frozen (alloc.c).
void nw_settle_allocs(nw_program *p);
// Deep copy into an arena, with the same ids and names.
nw_stmt *nw_stmt_clone(nw_arena *a, const nw_stmt *s);
