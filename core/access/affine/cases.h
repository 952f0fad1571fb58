// Converts integer expressions and conditions to affine forms, split into cases.
//
// An expression with min, max or select becomes several cases. Each case has a condition, and exactly one of these
// conditions holds.
//
// A floor division by a number becomes a *quotient*, which is a new slot that holds the result of the division. An
// additional loop with one iteration sets the slot. No loop is added if the ranges of the other slots determine the
// result, or if the condition or bound with the division can be written without a division.
#pragma once
#include "access/affine/affine.h"

#define NW_MOST_CASES 64

typedef struct nw_conds { // a conjunction, which holds if all n forms are >= 0
  int n;
  nw_form *at;
} nw_conds;

typedef struct nw_case {
  nw_conds when;
  nw_form value;
} nw_case;

typedef struct nw_cases {
  int n;
  nw_case *at;
} nw_cases;

typedef struct nw_union { // a disjunction of conditions that exclude each other; false if n is 0
  int n;
  nw_conds *at;
} nw_union;

typedef struct nw_quotient { // slot = floor(of / by)
  int slot;
  nw_form of;
  int64_t by;
  bool used; // true if a form of the nest contains the slot
} nw_quotient;

typedef struct nw_affine_scope { // the context in which expressions are converted
  nw_ctx *ctx;
  nw_arena *arena;
  nw_vec name, value; // const char *, nw_form *: innermost last
  int lanes, lane; // number of lanes; the lane to convert, or -1 to convert all lanes at once to forms with a step
  int nslots, cap;
  int64_t *lo, *hi; // range of each slot
  nw_vec quotient; // nw_quotient *, in order of creation
} nw_affine_scope;

void nw_affine_scope_free(nw_affine_scope *s);
// Adds a slot with values in lo..hi.
int nw_affine_scope_slot(nw_affine_scope *s, int64_t lo, int64_t hi);
void nw_affine_scope_push(nw_affine_scope *s, const char *name, const nw_form *value);
void nw_affine_scope_pop(nw_affine_scope *s);

nw_form nw_form_sum(nw_arena *a, const nw_form *x, int64_t by, const nw_form *y, int64_t rest); // x + by*y + rest
nw_form nw_form_scaled(nw_arena *a, const nw_form *f, int64_t by);
nw_form nw_form_slot(nw_arena *a, int slot);
nw_form nw_form_in_lane(const nw_form *f, int lane);
bool nw_form_same(const nw_form *x, const nw_form *y);
// Finds the range *lo..*hi of f. Returns false if the range exceeds -2^60..2^60.
bool nw_form_range(const nw_affine_scope *s, const nw_form *f, int64_t *lo, int64_t *hi);

// Returns false with a diagnostic if e is not an integer expression, or if it has too many cases.
bool nw_cases_of(nw_affine_scope *s, const nw_expr *e, nw_cases *out);
bool nw_union_of(nw_affine_scope *s, const nw_expr *cond, bool holds, nw_union *out);

// Adds f >= 0. Returns false if this makes the conjunction unsatisfiable.
bool nw_conds_add(nw_affine_scope *s, nw_conds *c, const nw_form *f);
bool nw_conds_join(nw_affine_scope *s, const nw_conds *x, const nw_conds *y, nw_conds *out); // false if unsatisfiable
// Finds the cases in which both x and y hold.
bool nw_union_join(nw_affine_scope *s, const nw_union *x, const nw_union *y, nw_union *out);
void nw_union_add(nw_affine_scope *s, nw_union *u, nw_conds c);
void nw_union_not(nw_affine_scope *s, const nw_conds *c, nw_union *out);

bool nw_form_divide(nw_affine_scope *s, const nw_form *f, int64_t by, nw_form *out); // floor(f / by), by > 0
// Returns an equivalent condition with as few quotients as possible. For example, q + ... >= 0 becomes a condition on
// the dividend of q. Marks the quotients that remain in the result as used.
nw_form nw_form_plain(nw_affine_scope *s, const nw_form *cond);
void nw_form_keep(nw_affine_scope *s, const nw_form *f); // marks the quotients in f as used
