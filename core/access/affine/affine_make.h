// Builds an affine nest from a program.
#pragma once
#include "access/affine/cases.h"
#include "access/ready.h"

typedef struct nw_maker {
  nw_affine_scope s;
  const nw_walker *w;
  nw_affine_nest *nest;
  int *array; // for each buffer: the number of its array in the nest
  bool inside; // true inside a parallel loop
  int nodes;
  nw_conds path; // the path condition: the conditions under which the current access is made
  nw_vec site, under; // sites that the statement has accessed (nw_site_code *), and the path condition of each access
} nw_maker;

nw_affine_node *nw_maker_node(nw_maker *m, nw_affine_kind kind);
// Adds a child. Adjacent statements are merged. Returns false with a diagnostic if there are too many nodes.
bool nw_maker_add(nw_maker *m, nw_affine_node *to, nw_affine_node *kid);
// Returns the parent for children that run only if c holds. This is `to` itself if c is empty, otherwise a new guard in
// `to`. Returns NULL if there are too many nodes.
nw_affine_node *nw_maker_where(nw_maker *m, nw_affine_node *to, const nw_conds *c);
// Removes nodes without accesses.
void nw_maker_prune(nw_affine_node *x);
// Wraps a node in one-iteration loops that set the used quotients (cases.h) with number n and higher. Removes these
// quotients from the scope.
nw_affine_node *nw_maker_wrap(nw_maker *m, nw_affine_node *x, int n);

// ---- bounds of loops: affine_bounds.c

#define NW_MOST_BOUNDS 16

// The bound of a loop. A lower bound is the maximum of ceil(form / div) over all entries. An upper bound is the minimum
// of floor(form / div) over all entries.
typedef struct nw_bounds {
  int n;
  nw_affine_bound at[NW_MOST_BOUNDS];
} nw_bounds;

// Adds an entry to a lower bound if `begin` is true, otherwise to an upper bound. Returns false if there are too many
// entries.
bool nw_bounds_add(nw_affine_scope *s, nw_bounds *to, nw_affine_bound b, bool begin);
// Writes e + `plus` as a lower bound if `begin` is true, otherwise as an upper bound. Returns false without a
// diagnostic if the sum cannot be written as a bound.
bool nw_bounds_of(nw_affine_scope *s, const nw_expr *e, const nw_form *plus, bool begin, nw_bounds *out);
// Finds the range *lo..*hi of a loop's values. An unknown *lo is set to INT64_MIN, and an unknown *hi to INT64_MAX.
void nw_bounds_range(const nw_affine_scope *s, const nw_bounds *begin, const nw_bounds *end, int64_t *lo, int64_t *hi);
nw_affine_bound *nw_bounds_keep(nw_affine_scope *s, const nw_bounds *b); // returns a copy in the arena
// Finds the form of e. Returns false, without a diagnostic, if e has several cases (cases.h).
bool nw_one_form(nw_affine_scope *s, const nw_expr *e, nw_form *out);

// ---- parts of programs

bool nw_make_store(nw_maker *m, const nw_nest *c, nw_affine_node *to); // affine_store.c
bool nw_make_loop(nw_maker *m, const nw_nest *c, nw_affine_node *to); // affine_loop.c
bool nw_make_nest(nw_maker *m, const nw_nest *c, nw_affine_node *to);
