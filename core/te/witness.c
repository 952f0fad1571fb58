// Decides a condition, first from ranges and then by trying points. Points are tried in lexicographic order, sizes
// first, so the smallest counterexample is found.
#include "te/internal.h"
#include <stdlib.h>

#define MAX_VARS 16
#define MAX_POINTS 200000
// number of values tried for a symbolic size; values near constants of the condition are tried in addition
#define SIZES_TRIED 8
#define SIZE_SPAN 4096 // range that is searched for values that satisfy the facts of a size
#define WHOLE_RANGE 512 // longer axes are tried only at their ends

typedef struct search {
  nw_place *at;
  const nw_expr *cond, *e;
  nw_witness *w;
  int nsizes, nvars;
  int var[MAX_VARS]; // index into at->var
  const char *name[MAX_VARS];
  int64_t value[MAX_VARS];
  nw_point point;
  int nturns;
  // constants of the condition; the condition may change its truth value where a size reaches one of them
  int64_t turn[MAX_VARS];
  int64_t points;
  bool whole; // true if every point was tried
} search;

static bool used(const search *s, const char *var) {
  if (nw_uses_var(s->cond, var) || nw_uses_var(s->e, var)) return true;
  for (int i = 0; i < s->at->cond.n; i++)
    if (nw_uses_var(s->at->cond.at[i], var)) return true;
  return false;
}

static bool is_variable(const nw_place *at, const char *name) {
  for (int i = 0; i < at->nvars; i++)
    if (!strcmp(at->var[i]->name, name)) return true;
  return false;
}

// Chooses the sizes and variables whose values are tried. Every range belongs either to a variable of the operation or
// to a size.
static bool choose(search *s) {
  const nw_ranges *r = &s->at->ranges;
  for (int i = 0; i < r->n; i++) {
    if (is_variable(s->at, r->at[i].var)) continue;
    if (s->nsizes == MAX_VARS) return false;
    s->name[s->nsizes++] = r->at[i].var;
  }
  if (s->nsizes) s->whole = false;
  for (int i = 0; i < s->at->nvars; i++) {
    if (!used(s, s->at->var[i]->name)) continue;
    if (s->nsizes + s->nvars == MAX_VARS) return false;
    s->var[s->nvars] = i;
    s->name[s->nsizes + s->nvars++] = s->at->var[i]->name;
  }
  return true;
}

// False if a fact is false at the current point. A fact that cannot be evaluated yet counts as true.
static bool facts_hold(const search *s) {
  const nw_ranges *r = &s->at->ranges;
  for (int i = 0; i < r->nfact; i++) {
    int64_t v;
    if (nw_eval_int(r->fact[i], &s->point, &v) && !v) return false;
  }
  return true;
}

static void report(search *s) {
  nw_str b = {0};
  for (int i = 0; i < s->point.n; i++) {
    bool size = i < s->nsizes;
    if (!size && !nw_uses_var(s->e, s->name[i]) && !nw_uses_var(s->cond, s->name[i])) continue;
    char *name = nw_plain_name(NULL, s->name[i]);
    nw_str_fmt(&b, "%s%s = %lld", b.n ? ", " : "", name, (long long)s->value[i]);
    free(name);
  }
  s->w->found = true;
  s->w->at = nw_str_take(&b);
}

// Tries one point. Returns true if the search should continue. A condition that reads data cannot be evaluated, so it
// ends the search without a result.
static bool try_point(search *s) {
  int64_t v;
  if (++s->points > MAX_POINTS) return s->whole = false;
  if (!facts_hold(s)) return true;
  if (!nw_eval_int(s->cond, &s->point, &v)) return s->whole = false;
  if (v) return true;
  if (!nw_eval_int(s->e, &s->point, &s->w->value)) return s->whole = false;
  report(s);
  return false;
}

static bool try_vars(search *s, int k) {
  int64_t lo, extent;
  s->point.n = s->nsizes + k;
  if (k == s->nvars) return try_point(s);
  int v = s->var[k], at = s->nsizes + k;
  if (!nw_eval_int(s->at->lo[v], &s->point, &lo) || !nw_eval_int(s->at->extent[v], &s->point, &extent))
    return s->whole = false;
  bool all = extent <= WHOLE_RANGE;
  if (!all) s->whole = false;
  for (int64_t i = 0; i < extent; i++) {
    if (!all && i == 4) i = extent - 4;
    s->value[at] = lo + i;
    s->point.n = at + 1;
    if (!try_vars(s, k + 1)) return false;
  }
  return true;
}

static int64_t size_least(const search *s, int k) {
  const nw_ranges *r = &s->at->ranges;
  int64_t lo = 0;
  for (int i = 0; i < r->n; i++)
    if (r->at[i].var == s->name[k]) nw_is_int(r->at[i].lo, &lo);
  return lo;
}

// Collects the constants of the condition.
static bool note_constant(void *env, const nw_expr *e) {
  search *s = env;
  if (e->op == NW_OP_INT && s->nturns < MAX_VARS) s->turn[s->nturns++] = e->i;
  return true;
}

static bool near_turn(const search *s, int64_t v) {
  for (int i = 0; i < s->nturns; i++)
    if (v >= s->turn[i] - 1 && v <= s->turn[i] + 1) return true;
  return false;
}

static bool try_sizes(search *s, int k) {
  if (k == s->nsizes) return try_vars(s, 0);
  int64_t lo = size_least(s, k);
  int tried = 0;
  for (int64_t v = lo; v < lo + SIZE_SPAN; v++) {
    s->value[k] = v;
    s->point.n = k + 1;
    if ((tried >= SIZES_TRIED && !near_turn(s, v)) || !facts_hold(s)) continue;
    tried++;
    if (!try_sizes(s, k + 1)) return false;
  }
  return true;
}

bool nw_te_holds(nw_place *at, const nw_expr *cond, const nw_expr *e, nw_witness *w) {
  *w = (nw_witness){0};
  if (nw_prove(&at->ranges, cond)) return true;
  search s = {.at = at, .cond = cond, .e = e, .w = w, .whole = true};
  s.point = (nw_point){.name = s.name, .value = s.value};
  if (!choose(&s)) return false;
  nw_visit(cond, note_constant, &s);
  try_sizes(&s, 0);
  return !w->found && s.whole;
}
