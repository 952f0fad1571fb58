// Proves that references are inside their arrays. An inequality is proved from the ranges of slots, or from other
// inequalities by eliminating slots. If a proof fails and the nest is small, all its iterations are enumerated.
#include "access/affine/affine_inside.h"
#include "access/affine/affine_walk.h"
#include <stdlib.h>

// The limits of a proof. TRIES limits the number of eliminations. STEPS limits the number of eliminations that are
// applied to one inequality. ROWS limits the number of known inequalities.
enum { TRIES = 20000, STEPS = 5, ROWS = 200 };
static const int64_t MOST_TRIES = 50000000; // limit on the number of eliminations in all proofs together

typedef struct inequality { // a linear form that is >= 0
  bool cut; // true if the constant was rounded, so that the inequality holds only for integers
  int64_t rest;
  int64_t *coef; // one for each enclosing loop, outermost first
} inequality;

typedef struct prover {
  nw_ctx *ctx;
  const nw_affine_nest *nest;
  int depth, most; // current depth; greatest depth
  int *at; // for each slot: the depth of its loop
  int64_t *lo, *hi; // for each depth: the range of the enclosing loop at that depth
  nw_vec row; // inequality *: the inequalities known at the current position
  int64_t total; // number of eliminations in all proofs
  int tries; // number of eliminations in the current proof
  int found; // the site of a reference that was not proved to be inside its array, or -1
} prover;

static inequality *new_row(const prover *p) {
  inequality *x = nw_xcalloc(1, sizeof *x + (size_t)p->most * sizeof *x->coef);
  x->coef = (int64_t *)(x + 1);
  return x;
}

// Returns the inequality by*f + rest >= 0.
static inequality *row_of(const prover *p, const nw_form *f, int64_t by, int64_t rest) {
  inequality *x = new_row(p);
  x->rest = by * f->rest + rest;
  for (int i = 0; i < f->n; i++) x->coef[p->at[f->slot[i]]] += by * f->coef[i];
  return x;
}

static int64_t common(const prover *p, const inequality *x) {
  int64_t g = 0;
  for (int s = 0; s < p->depth; s++)
    for (int64_t b = llabs(x->coef[s]), rest; b; b = rest) rest = g % b, g = b;
  return g;
}

// Eliminates the slot from x. Returns |a|*x + sign*|c|*row, divided by the greatest common divisor of the coefficients.
// Here, a is the slot's coefficient in `row`, and c is its coefficient in x. Returns NULL if a number is too large.
static inequality *eliminated(const prover *p, const inequality *x, const inequality *row, int slot, int sign) {
  int64_t a = llabs(row->coef[slot]), c = sign * llabs(x->coef[slot]);
  inequality *y = new_row(p);
  __int128 rest = (__int128)a * x->rest + (__int128)c * row->rest;
  bool fits = rest <= INT64_MAX / 4 && rest >= INT64_MIN / 4;
  for (int s = 0; s < p->depth && fits; s++) {
    __int128 v = (__int128)a * x->coef[s] + (__int128)c * row->coef[s];
    fits = v <= INT64_MAX / 4 && v >= INT64_MIN / 4;
    y->coef[s] = (int64_t)v;
  }
  if (!fits) return free(y), NULL;
  y->rest = (int64_t)rest;
  int64_t g = common(p, y);
  y->cut = g > 1 && y->rest % g;
  if (g > 1) y->rest = nw_floordiv_i64(y->rest, g);
  for (int s = 0; s < p->depth && g > 1; s++) y->coef[s] /= g;
  return y;
}

// True if x >= 0 for all values of the slots in their ranges.
static bool holds_in_box(const prover *p, const inequality *x) {
  __int128 least = x->rest;
  for (int s = 0; s < p->depth; s++) least += (__int128)x->coef[s] * (x->coef[s] > 0 ? p->lo[s] : p->hi[s]);
  return least >= 0;
}

static bool holds(prover *p, const inequality *x, int steps);

static bool holds_by(prover *p, const inequality *x, int slot, int steps) {
  for (int i = p->row.n - 1; i >= 0 && p->tries < TRIES; i--) {
    const inequality *row = p->row.at[i];
    if (!row->coef[slot] || (row->coef[slot] > 0) != (x->coef[slot] > 0)) continue;
    p->tries++, p->total++;
    inequality *y = eliminated(p, x, row, slot, -1);
    bool yes = y && holds(p, y, steps - 1);
    free(y);
    if (yes) return true;
  }
  return false;
}

static bool holds(prover *p, const inequality *x, int steps) {
  if (holds_in_box(p, x)) return true;
  for (int slot = p->depth - 1; slot >= 0 && steps > 0; slot--)
    if (x->coef[slot] && holds_by(p, x, slot, steps)) return true;
  return false;
}

static bool form_holds(prover *p, const nw_form *f, int64_t by, int64_t rest) {
  inequality *x = row_of(p, f, by, rest);
  bool yes = false;
  p->tries = 0;
  for (int steps = 0; steps <= STEPS && !yes && p->tries < TRIES; steps++) yes = holds(p, x, steps);
  free(x);
  return yes;
}

// ---- the nest

static void look(prover *p, const nw_affine_node *x);

static void look_at_refs(prover *p, const nw_affine_node *x) {
  for (int i = 0; i < x->nrefs && p->found < 0; i++) {
    const nw_affine_ref *r = &x->ref[i];
    if (p->total > MOST_TRIES || nw_stopped(p->ctx)) p->found = r->site;
    if (!form_holds(p, &r->at, 1, 0) || !form_holds(p, &r->at, -1, p->nest->array[r->array].bytes - r->bytes))
      p->found = r->site;
  }
}

// Adds an inequality, and combines it with each earlier inequality. Adds a combination only if rounding the constant
// makes the combination stronger. For example, 4*i + 4*q <= 7 becomes i + q <= 1.
static void add_row(prover *p, inequality *row) {
  int n = p->row.n;
  for (int i = 0; i < n && p->row.n < ROWS; i++)
    for (int slot = 0; slot < p->depth; slot++) {
      const inequality *other = p->row.at[i];
      if (!row->coef[slot] || !other->coef[slot] || (row->coef[slot] > 0) == (other->coef[slot] > 0)) continue;
      inequality *y = eliminated(p, row, other, slot, 1);
      if (y && y->cut)
        nw_vec_push(&p->row, y);
      else
        free(y);
    }
  nw_vec_push(&p->row, row);
}

static const int64_t FAR = INT64_C(1) << 60;

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static bool form_range(const prover *p, const nw_form *f, int64_t *from, int64_t *to) {
  __int128 lo = f->rest, hi = f->rest;
  for (int i = 0; i < f->n; i++) {
    __int128 a = (__int128)f->coef[i] * p->lo[p->at[f->slot[i]]], b = (__int128)f->coef[i] * p->hi[p->at[f->slot[i]]];
    lo += a < b ? a : b, hi += a < b ? b : a;
  }
  *from = (int64_t)lo, *to = (int64_t)hi;
  return lo >= -FAR && hi <= FAR;
}

// Adds inequalities from the bounds of a loop. A lower bound (`sign` is -1) gives form <= div*slot. An upper bound
// (`sign` is 1) gives div*slot <= form.
static void assume(prover *p, const nw_affine_node *x, int n, const nw_affine_bound *b, int sign) {
  for (int i = 0; i < n; i++) {
    inequality *row = row_of(p, &b[i].form, sign, 0);
    row->coef[p->at[x->slot]] -= sign * b[i].div;
    add_row(p, row);
  }
}

static void range_of(prover *p, const nw_affine_node *x) {
  int64_t lo = INT64_MIN, hi = INT64_MAX, from, to;
  for (int i = 0; i < x->nbegin; i++)
    if (form_range(p, &x->begin[i].form, &from, &to)) lo = most(lo, -nw_floordiv_i64(-from, x->begin[i].div));
  for (int i = 0; i < x->nend; i++)
    if (form_range(p, &x->end[i].form, &from, &to)) hi = least(hi, nw_floordiv_i64(to, x->end[i].div));
  // If the lower bound is constant, the upper bound can be rounded down to a value that the loop takes.
  bool fixed = x->nbegin == 1 && !x->begin->form.n && x->begin->div == 1;
  if (fixed && lo <= hi && hi < FAR) hi = lo + (hi - lo) / x->step * x->step;
  p->lo[p->at[x->slot]] = most(lo, -FAR), p->hi[p->at[x->slot]] = least(hi, FAR);
}

static void look(prover *p, const nw_affine_node *x) {
  int n = p->row.n, depth = p->depth;
  if (x->kind == NW_AFFINE_LOOP) {
    p->at[x->slot] = p->depth++;
    range_of(p, x);
    assume(p, x, x->nbegin, x->begin, -1);
    assume(p, x, x->nend, x->end, 1);
  }
  for (int i = 0; x->kind == NW_AFFINE_GUARD && i < x->nconds; i++) add_row(p, row_of(p, &x->cond[i], 1, 0));
  if (x->kind == NW_AFFINE_STMT) look_at_refs(p, x);
  for (int i = 0; i < x->nkids && p->found < 0; i++) look(p, x->kid[i]);
  while (p->row.n > n) free(p->row.at[--p->row.n]);
  p->depth = depth;
}

// ---- enumeration

enum { MOST_TRIED = 1000000 }; // limit on the number of iterations plus the number of executed references

typedef struct trial {
  const nw_affine_nest *nest;
  int64_t *slot;
  int64_t left;
} trial;

static bool run(trial *t, const nw_affine_node *x);

static bool run_kids(trial *t, const nw_affine_node *x) {
  for (int i = 0; i < x->nkids; i++)
    if (!run(t, x->kid[i])) return false;
  return true;
}

static bool run_loop(trial *t, const nw_affine_node *x) {
  int64_t first, last;
  nw_affine_bounds(x, t->slot, &first, &last);
  for (int64_t n = nw_affine_rounds(x, first, last); n > 0; n--, first += x->step) {
    t->slot[x->slot] = first;
    if (--t->left < 0 || !run_kids(t, x)) return false;
  }
  return true;
}

static bool is_inside(trial *t, const nw_affine_ref *r) {
  int64_t at = nw_form_at(&r->at, t->slot);
  return --t->left >= 0 && at >= 0 && at <= t->nest->array[r->array].bytes - r->bytes;
}

// Runs a node. Returns false if a reference is outside its array, or if the limit MOST_TRIED is exceeded.
static bool run(trial *t, const nw_affine_node *x) {
  if (x->kind == NW_AFFINE_LOOP) return run_loop(t, x);
  if (x->kind == NW_AFFINE_GUARD && !nw_affine_holds(x, t->slot)) return true;
  for (int i = 0; i < x->nrefs; i++)
    if (!is_inside(t, &x->ref[i])) return false;
  return run_kids(t, x);
}

static bool all_inside(const nw_affine_nest *n) {
  trial t = {.nest = n, .slot = nw_xcalloc((size_t)n->nslots + 1, sizeof(int64_t)), .left = MOST_TRIED};
  bool inside = run(&t, n->root);
  free(t.slot);
  return inside;
}

static int loops_deep(const nw_affine_node *x) {
  int most = 0;
  for (int i = 0; i < x->nkids; i++) {
    int n = loops_deep(x->kid[i]);
    if (n > most) most = n;
  }
  return most + (x->kind == NW_AFFINE_LOOP);
}

int nw_affine_outside(nw_ctx *c, const nw_affine_nest *n) {
  prover p = {.ctx = c, .nest = n, .most = loops_deep(n->root), .found = -1};
  p.at = nw_xcalloc((size_t)n->nslots + 1, sizeof *p.at);
  p.lo = nw_xcalloc((size_t)p.most + 1, sizeof *p.lo);
  p.hi = nw_xcalloc((size_t)p.most + 1, sizeof *p.hi);
  look(&p, n->root);
  nw_vec_free(&p.row);
  free(p.at);
  free(p.lo);
  free(p.hi);
  return p.found >= 0 && !nw_stopped(c) && all_inside(n) ? -1 : p.found;
}
