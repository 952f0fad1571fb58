// Integer expressions and conditions as affine forms, case by case.
//
// min, max and select become cases that exclude each other; a floor division by a number becomes a quotient: a slot whose value a
// loop of one round gives, unless ranges or the shape of what it is used in make it unneeded.
#pragma once
#include "access/affine/affine.h"

#define NW_MOST_CASES 64

typedef struct nw_conds { // all of them >= 0
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

typedef struct nw_union { // of what excludes each other; n = 0: never
  int n;
  nw_conds *at;
} nw_union;

typedef struct nw_quotient { // slot = floor(of / by)
  int slot;
  nw_form of;
  int64_t by;
  bool used; // by what was made
} nw_quotient;

typedef struct nw_affine_scope { // what expressions are read in
  nw_ctx *ctx;
  nw_arena *arena;
  nw_vec name, value; // const char *, nw_form *: innermost last
  int lanes, lane; // lane -1: all of them at once, by the step of forms
  int nslots, cap;
  int64_t *lo, *hi; // by slot: between these
  nw_vec quotient; // nw_quotient *, in the order in which they were made
} nw_affine_scope;

void nw_affine_scope_free(nw_affine_scope *s);
// A new slot with values in lo..hi.
int nw_affine_scope_slot(nw_affine_scope *s, int64_t lo, int64_t hi);
void nw_affine_scope_push(nw_affine_scope *s, const char *name, const nw_form *value);
void nw_affine_scope_pop(nw_affine_scope *s);

nw_form nw_form_sum(nw_arena *a, const nw_form *x, int64_t by, const nw_form *y, int64_t rest); // x + by*y + rest
nw_form nw_form_scaled(nw_arena *a, const nw_form *f, int64_t by);
nw_form nw_form_slot(nw_arena *a, int slot);
nw_form nw_form_in_lane(const nw_form *f, int lane);
bool nw_form_same(const nw_form *x, const nw_form *y);
bool nw_form_range(const nw_affine_scope *s, const nw_form *f, int64_t *lo, int64_t *hi); // false: beyond 2^60

// False, with a diagnostic: it is none of integers, or has more cases than anyone would look at.
bool nw_cases_of(nw_affine_scope *s, const nw_expr *e, nw_cases *out);
bool nw_union_of(nw_affine_scope *s, const nw_expr *cond, bool holds, nw_union *out);

// Adds f >= 0. False: then nothing is left.
bool nw_conds_add(nw_affine_scope *s, nw_conds *c, const nw_form *f);
bool nw_conds_join(nw_affine_scope *s, const nw_conds *x, const nw_conds *y, nw_conds *out); // false: nothing is left
bool nw_union_join(nw_affine_scope *s, const nw_union *x, const nw_union *y, nw_union *out); // where both hold
void nw_union_add(nw_affine_scope *s, nw_union *u, nw_conds c);
void nw_union_not(nw_affine_scope *s, const nw_conds *c, nw_union *out);

bool nw_form_divide(nw_affine_scope *s, const nw_form *f, int64_t by, nw_form *out); // floor(f / by), by > 0
// The same without quotients, where those allow: q + ... >= 0 says as much of what is divided. Marks those that stay as used.
nw_form nw_form_plain(nw_affine_scope *s, const nw_form *cond);
void nw_form_keep(nw_affine_scope *s, const nw_form *f); // marks its quotients as used
