// The lowered program as data: loops and guards, statements, and accesses with their strides. All code that needs facts about a
// lowered program reads them here or in the program itself, never in its text. nestwright.h has the same data as rows.
#pragma once
#include "access/address.h"
#include "lower/lower.h"

typedef struct nw_lowered_body { // a loop or a guard, in the order of the program; number 0 is the whole
  const nw_stmt *stmt;
  int up; // number of the enclosing body; -1: none
  int depth; // enclosing loops, including itself
  int slot; // LOOP: of its variable in the forms
  int conditions; // conditions of a guard, and selects in bounds and conditions
} nw_lowered_body;

typedef struct nw_lowered_access { // one load or store of the program text
  const nw_stmt *stmt; // the store it belongs to
  const nw_expr *load; // NULL: it is the store itself
  const nw_expr *index;
  const nw_expr *spread; // the index of the first lane without the constant that is added to it; NULL: a constant alone
  int64_t offset; // that constant
  int body; // number of the body that holds it
  int buffer; // number in the program
  bool affine;
  nw_form at; // affine: elements
  int lanes, elem; // elem: bytes
  bool write, masked;
  bool scattered; // its lanes are not adjacent
  bool steady; // its lanes are `step` elements apart
  int64_t step;
} nw_lowered_access;

typedef struct nw_lowered_statement {
  const nw_stmt *stmt; // a store
  int body;
  int first, n; // its accesses; the last of them is the store
  int operations; // on values; each value is computed once; an fma counts twice
  int selects; // selects
  int conditions; // masks and selects, also in indices
  bool copies; // stores exactly what it loads
  bool fills; // loads nothing
  bool updates; // loads the element that it stores
} nw_lowered_statement;

struct nw_lowered {
  nw_exec *exec; // counted
  nw_arena *arena;
  nw_vec body, access, statement; // nw_lowered_body *, ...
  nw_names names; // of sizes, then of open loops
  int nslots;
};

// size: values of the program's sizes, in order. NULL: unknown; then an index that needs a size is not affine.
nw_lowered *nw_lowered_new(const nw_exec *e, const int64_t *size);
