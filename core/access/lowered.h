// Describes a lowered program as data. The data are its loops and guards, its statements, and its accesses with their
// strides. Other code reads these data, or the program itself, but not the printed text of the program. The public
// header nestwright/lowered.h gives the same data as rows.
#pragma once
#include "access/address.h"
#include "lower/lower.h"

// A body is a loop, a guard, or the whole program, which has the number 0. Bodies are numbered in program order.
typedef struct nw_lowered_body {
  const nw_stmt *stmt;
  int up; // number of the enclosing body, or -1
  int depth; // number of enclosing loops, plus 1 for a loop
  int slot; // for a loop: the slot of its variable in the forms; otherwise -1
  int conditions; // for a loop: number of selects in its bounds; for a guard: 1 + number of selects in its condition
} nw_lowered_body;

typedef struct nw_lowered_access { // one load or store of the program text
  const nw_stmt *stmt; // the store to which the access belongs
  const nw_expr *load; // NULL if the access is the store itself
  const nw_expr *index;
  const nw_expr *spread; // the index of the first lane is `spread` + `offset`; `spread` is NULL if it is 0
  int64_t offset;
  int body; // number of the body that contains the access
  int buffer; // index of the buffer in the program
  bool affine;
  nw_form at; // if affine: the index, in elements
  int lanes, elem; // `elem`: bytes of an element
  bool write, masked;
  bool scattered; // true if the lanes are not adjacent in memory
  bool steady; // true if the lanes are at equal distances of `step` elements
  int64_t step;
} nw_lowered_access;

typedef struct nw_lowered_statement {
  const nw_stmt *stmt; // a store
  int body;
  int first, n; // index of the first access, and number of accesses; the last access is the store itself
  int operations; // number of operations on values; a repeated subexpression counts once, an fma counts as two
  int selects;
  int conditions; // number of masks and selects, including those in indices
  bool copies; // true if the stored value is a load
  bool fills; // true if the statement loads nothing
  bool updates; // true if the statement loads the element that it stores
} nw_lowered_statement;

struct nw_lowered {
  nw_exec *exec; // holds a reference
  nw_arena *arena;
  nw_vec body, access, statement; // nw_lowered_body *, ...
  nw_names names; // the names of the sizes and, during construction, of the enclosing loops
  int nslots;
};

// `size` holds the values of the program's sizes, in order. If `size` is NULL, the sizes are unknown, and an index that
// contains a size times a variable is not affine.
nw_lowered *nw_lowered_new(const nw_exec *e, const int64_t *size);
