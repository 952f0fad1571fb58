// Converts index expressions to affine forms. Converts expressions that are not affine to compiled expressions.
#pragma once
#include "ir/expr/expr.h"

// The contents of a temporary, as far as they are known (tables.h).
typedef struct nw_table {
  const char *buffer;
  int64_t n;
  int64_t *value;
  bool changes; // true if elements change; then a walk stores each value when the program does
} nw_table;

// The names of the variables in scope, with their slots. A *slot* is a position in an array that holds the current
// value of each variable.
typedef struct nw_names {
  nw_vec name; // const char *, innermost last
  nw_vec slot; // the slot of each name, as an intptr_t
  int nsizes; // slots below this number hold sizes
  const int64_t *size; // the values of the sizes, for use in forms; NULL if unknown
  const nw_vec *table; // const nw_table *; NULL if no contents are known
} nw_names;

// An affine expression. Its value in vector lane l is rest + step*l + the sum of coef[i] * (the value of slot[i]).
typedef struct nw_form {
  int64_t rest, step;
  int n, cap;
  int *slot;
  int64_t *coef;
} nw_form;

int nw_name_slot(const nw_names *names, const char *name); // -1 if the name is not in scope
const nw_table *nw_find_table(const nw_names *names, const char *buffer); // NULL if the contents are not known
// Finds the form of e. Returns false if e is not affine, or if e contains operations other than i64 arithmetic.
bool nw_form_of(nw_arena *a, const nw_names *names, const nw_expr *e, nw_form *out);
int64_t nw_form_at(const nw_form *f, const int64_t *slot); // the value in lane 0
int64_t nw_form_coef(const nw_form *f, int slot);

// A compiled integer expression. It has no floats, and its loads are loads from tables.
typedef struct nw_calc nw_calc;
nw_calc *nw_calc_of(nw_arena *a, const nw_names *names, const nw_expr *e); // NULL if e has other loads, or floats
int64_t nw_calc_at(const nw_calc *c, const int64_t *slot, int lane);
// Finds bounds *from..*to of the value in lane 0, given that the value of each slot i is in lo[i]..hi[i]. The bounds
// are safe, but not always tight. Returns false if no bounds are known.
bool nw_calc_range(const nw_calc *c, const int64_t *lo, const int64_t *hi, int64_t *from, int64_t *to);
