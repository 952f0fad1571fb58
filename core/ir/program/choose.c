#include "ir/program/choose.h"
#include <stdlib.h>

enum {
  MOST_RESIDUES = 256, // the largest modulus of a node that tests a residue
  MOST_QUESTIONS = 1 << 15, // when the tree has this many nodes, further nodes test all facts of a version at once
  MOST_KNOWN = 8, // the largest number of residues that are known at a node
};

// ---- facts in the forms that the tree can test

typedef enum term_kind { WITHIN, REMAINS, OTHER } term_kind;

typedef struct term {
  term_kind kind;
  int size;
  int64_t lo, hi; // WITHIN: inclusive. REMAINS: lo is the residue modulo hi
  const nw_expr *fact;
} term;

typedef struct version {
  int number, n;
  term *term;
} version;

// A residue that is known from the answers on the path to a node.
typedef struct residue {
  int size;
  int64_t modulo, value;
} residue;

typedef struct maker {
  nw_choices *t;
  nw_pool *pool;
  int nsizes;
  const char *const *size;
  int64_t *lo, *hi; // known range of each size, inclusive
  residue known[MOST_KNOWN];
  int nknown;
} maker;

// Writes a - b as coef*size + rest. Returns false if a - b does not have this form.
static bool in_one_size(const maker *x, const nw_expr *a, const nw_expr *b, int *size, int64_t *coef, int64_t *rest) {
  const nw_expr *e = nw_sub(x->pool, a, b), *left;
  for (*size = 0; *size < x->nsizes; (*size)++)
    if (nw_uses_var(e, x->size[*size])) break;
  return *size < x->nsizes && nw_affine(x->pool, e, 1, &x->size[*size], coef, &left) && nw_is_int(left, rest) &&
         *coef != 0 && INT32_MIN < *coef && *coef <= INT32_MAX && INT64_MIN / 2 < *rest && *rest < INT64_MAX / 2;
}

// Returns the interval of the size v in which coef*v + rest <= 0.
static term at_most(int size, int64_t coef, int64_t rest) {
  term t = {.kind = WITHIN, .size = size, .lo = INT64_MIN, .hi = INT64_MAX};
  if (coef > 0)
    t.hi = nw_floordiv_i64(-rest, coef);
  else
    t.lo = -nw_floordiv_i64(-rest, -coef);
  return t;
}

static term exactly(int size, int64_t coef, int64_t rest) {
  bool whole = rest % coef == 0;
  return (term){.kind = WITHIN, .size = size, .lo = whole ? -rest / coef : 1, .hi = whole ? -rest / coef : 0};
}

static bool is_residue(const maker *x, const nw_expr *a, const nw_expr *b, term *out) {
  int64_t modulo, value;
  if (a->op != NW_OP_FLOORMOD || a->arg[0]->op != NW_OP_VAR || !nw_is_int(a->arg[1], &modulo) || !nw_is_int(b, &value))
    return false;
  *out = (term){.kind = REMAINS, .lo = value, .hi = modulo};
  while (out->size < x->nsizes && strcmp(a->arg[0]->name, x->size[out->size])) out->size++;
  return out->size < x->nsizes && modulo >= 1 && modulo <= MOST_RESIDUES;
}

static term term_of(const maker *x, const nw_expr *fact) {
  term t = {.kind = OTHER};
  int size;
  int64_t coef, rest;
  bool less = fact->op == NW_OP_LT, compares = less || fact->op == NW_OP_LE || fact->op == NW_OP_EQ;
  if (fact->op == NW_OP_EQ &&
      (is_residue(x, fact->arg[0], fact->arg[1], &t) || is_residue(x, fact->arg[1], fact->arg[0], &t)))
    t.kind = REMAINS;
  else if (compares && in_one_size(x, fact->arg[0], fact->arg[1], &size, &coef, &rest))
    t = fact->op == NW_OP_EQ ? exactly(size, coef, rest) : at_most(size, coef, rest + less);
  else
    t = (term){.kind = OTHER};
  t.fact = fact;
  return t;
}

// ---- evaluation of facts at a node

typedef enum answer { NO, YES, OPEN } answer;

static answer within(const maker *x, const term *t) {
  if (t->lo > x->hi[t->size] || t->hi < x->lo[t->size] || t->lo > t->hi) return NO;
  return t->lo <= x->lo[t->size] && t->hi >= x->hi[t->size] ? YES : OPEN;
}

static answer remains(const maker *x, const term *t) {
  if (t->lo < 0 || t->lo >= t->hi) return NO;
  if (x->lo[t->size] == x->hi[t->size]) return nw_floormod_i64(x->lo[t->size], t->hi) == t->lo ? YES : NO;
  for (int i = 0; i < x->nknown; i++)
    if (x->known[i].size == t->size && x->known[i].modulo % t->hi == 0)
      return x->known[i].value % t->hi == t->lo ? YES : NO;
  return OPEN;
}

static answer holds(const maker *x, const term *t) {
  switch (t->kind) {
  case WITHIN: return within(x, t);
  case REMAINS: return remains(x, t);
  default: return OPEN;
  }
}

static answer all_hold(const maker *x, const version *v) {
  answer all = YES;
  for (int i = 0; i < v->n && all != NO; i++) {
    answer one = holds(x, &v->term[i]);
    if (one != YES) all = one;
  }
  return all;
}

// Stores the versions that may still be selected at this node, and returns their number. If all facts of a version are
// known to hold, the versions after it cannot be selected.
static int possible(const maker *x, int n, version *const *from, version **out) {
  int m = 0;
  for (int i = 0; i < n; i++) {
    answer a = all_hold(x, from[i]);
    if (a == NO) continue;
    out[m++] = from[i];
    if (a == YES) break;
  }
  return m;
}

// ---- the tree

static int new_choice(nw_choices *t, nw_choice c) {
  if (t->n == t->cap) t->at = nw_xrealloc(t->at, (size_t)(t->cap = 2 * t->cap + 16) * sizeof *t->at);
  t->at[t->n] = c;
  return t->n++;
}

static int new_answers(nw_choices *t, int n) {
  while (t->nnext + n > t->capnext)
    t->next = nw_xrealloc(t->next, (size_t)(t->capnext = 2 * t->capnext + 16) * sizeof *t->next);
  t->nnext += n;
  return t->nnext - n;
}

static int make(maker *x, int n, version *const *from);

static int by_number(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

// Stores the ends of a size's intervals that are inside the known range of the size, and returns their number. The ends
// are sorted, and each is stored once.
static int borders(const maker *x, int n, version *const *v, int size, int64_t *out) {
  int m = 0, kept = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < v[i]->n; k++) {
      const term *t = &v[i]->term[k];
      if (t->kind != WITHIN || t->size != size || within(x, t) != OPEN) continue;
      if (t->lo > x->lo[size]) out[m++] = t->lo;
      if (t->hi < x->hi[size]) out[m++] = t->hi + 1;
    }
  qsort(out, (size_t)m, sizeof *out, by_number);
  for (int i = 0; i < m; i++)
    if (!kept || out[kept - 1] != out[i]) out[kept++] = out[i];
  return kept;
}

static int most_terms(int n, version *const *v) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += 2 * v[i]->n;
  return sum;
}

// Chooses the size whose intervals have the largest number of ends, and bisects the range of this size at the middle
// end. Returns false if no interval has an end in the known range of its size.
static bool halving(const maker *x, int n, version *const *v, nw_choice *out) {
  int64_t *border = nw_xcalloc((size_t)most_terms(n, v) + 1, sizeof *border);
  int most = 0;
  for (int size = 0; size < x->nsizes; size++) {
    int m = borders(x, n, v, size, border);
    if (m > most) *out = (nw_choice){.kind = NW_BELOW, .size = size, .number = border[m / 2]}, most = m;
  }
  free(border);
  return most > 0;
}

// Chooses the undecided residue with the largest modulus, since it also determines the residues modulo the divisors of
// this modulus. Returns false if no residue is undecided, or if too many residues are known.
static bool dividing(const maker *x, int n, version *const *v, nw_choice *out) {
  *out = (nw_choice){.kind = NW_RESIDUE};
  for (int i = 0; i < n; i++)
    for (int k = 0; k < v[i]->n; k++) {
      const term *t = &v[i]->term[k];
      if (t->kind == REMAINS && remains(x, t) == OPEN && t->hi > out->number) out->size = t->size, out->number = t->hi;
    }
  return out->number > 0 && x->nknown < MOST_KNOWN;
}

// Makes a node that tests all undecided facts of a version at once.
static nw_choice asking(const maker *x, const version *v) {
  nw_choice c = {.kind = NW_HOLDING};
  for (int i = 0; i < v->n; i++)
    if (holds(x, &v->term[i]) == OPEN) c.fact = nw_and(x->pool, c.fact, v->term[i].fact);
  return c;
}

static void answer_below(maker *x, int at, const nw_choice *c, int n, version *const *v) {
  int64_t lo = x->lo[c->size], hi = x->hi[c->size];
  x->hi[c->size] = c->number - 1;
  int yes = make(x, n, v);
  x->hi[c->size] = hi;
  x->lo[c->size] = c->number;
  int no = make(x, n, v);
  x->lo[c->size] = lo;
  x->t->next[at] = yes;
  x->t->next[at + 1] = no;
}

static void answer_residue(maker *x, int at, const nw_choice *c, int n, version *const *v) {
  for (int64_t r = 0; r < c->number; r++) {
    x->known[x->nknown++] = (residue){c->size, c->number, r};
    int next = make(x, n, v);
    x->nknown--;
    x->t->next[at + r] = next;
  }
}

static void answer_fact(maker *x, int at, int n, version *const *v) {
  int yes = new_choice(x->t, (nw_choice){.kind = NW_CHOSEN, .next = v[0]->number}), no = make(x, n - 1, v + 1);
  x->t->next[at] = yes;
  x->t->next[at + 1] = no;
}

static int make(maker *x, int n, version *const *from) {
  version **v = nw_xcalloc((size_t)n, sizeof *v);
  n = possible(x, n, from, v);
  nw_choice c;
  bool few = x->t->n < MOST_QUESTIONS;
  if (all_hold(x, v[0]) == YES)
    c = (nw_choice){.kind = NW_CHOSEN, .next = v[0]->number};
  else if (!(few && (halving(x, n, v, &c) || dividing(x, n, v, &c))))
    c = asking(x, v[0]);
  int here = new_choice(x->t, c), answers = c.kind == NW_RESIDUE ? (int)c.number : 2;
  if (c.kind != NW_CHOSEN) {
    int at = x->t->at[here].next = new_answers(x->t, answers);
    if (c.kind == NW_BELOW) answer_below(x, at, &c, n, v);
    if (c.kind == NW_RESIDUE) answer_residue(x, at, &c, n, v);
    if (c.kind == NW_HOLDING) answer_fact(x, at, n, v);
  }
  free(v);
  return here;
}

static int count_parts(const nw_expr *fact) {
  return fact->op == NW_OP_AND ? count_parts(fact->arg[0]) + count_parts(fact->arg[1]) : 1;
}

static void add_parts(const maker *x, const nw_expr *fact, version *out) {
  if (fact->op == NW_OP_AND) {
    add_parts(x, fact->arg[0], out);
    add_parts(x, fact->arg[1], out);
  } else if (!nw_is_const(fact, 1)) { // a fact that always holds is no question
    out->term[out->n++] = term_of(x, fact);
  }
}

static void read_version(const maker *x, int number, int n, const nw_expr *const *fact, version *out) {
  int parts = 0;
  for (int i = 0; i < n; i++) parts += count_parts(fact[i]);
  *out = (version){.number = number, .term = nw_xcalloc((size_t)parts + 1, sizeof *out->term)};
  for (int i = 0; i < n; i++) add_parts(x, fact[i], out);
}

void nw_choices_make(nw_choices *t, nw_pool *pool, int nsizes, const char *const *size, int n,
                     const nw_version_facts *from) {
  maker x = {.t = t, .pool = pool, .nsizes = nsizes, .size = size};
  version *all = nw_xcalloc((size_t)n, sizeof *all), **list = nw_xcalloc((size_t)n, sizeof *list);
  x.lo = nw_xcalloc((size_t)nsizes + 1, sizeof *x.lo);
  x.hi = nw_xcalloc((size_t)nsizes + 1, sizeof *x.hi);
  *t = (nw_choices){0};
  for (int i = 0; i < nsizes; i++) x.lo[i] = INT64_MIN, x.hi[i] = INT64_MAX;
  for (int i = 0; i < n; i++) {
    read_version(&x, i, i < n - 1 ? from[i].nfacts : 0, from[i].fact, &all[i]);
    list[i] = &all[i];
  }
  make(&x, n, list);
  for (int i = 0; i < n; i++) free(all[i].term);
  free(all);
  free(list);
  free(x.lo);
  free(x.hi);
}

void nw_choices_free(nw_choices *t) {
  free(t->at);
  free(t->next);
  *t = (nw_choices){0};
}

// ---- depth and text

static int answers_of(const nw_choice *c) {
  if (c->kind == NW_CHOSEN) return 0;
  return c->kind == NW_RESIDUE ? (int)c->number : 2;
}

static int depth_of(const nw_choices *t, int at) {
  const nw_choice *c = &t->at[at];
  int deepest = 0;
  for (int i = 0; i < answers_of(c); i++) {
    int d = 1 + depth_of(t, t->next[c->next + i]);
    if (d > deepest) deepest = d;
  }
  return deepest;
}

int nw_choices_depth(const nw_choices *t) { return depth_of(t, 0); }

static void show(nw_str *s, const nw_choices *t, const char *const *size, int at, int indent);

static void show_answer(nw_str *s, const nw_choices *t, const char *const *size, int at, int indent) {
  if (t->at[at].kind == NW_CHOSEN) {
    nw_str_fmt(s, " version %d\n", t->at[at].next + 1);
    return;
  }
  nw_str_add(s, "\n");
  show(s, t, size, at, indent + 2);
}

static void show(nw_str *s, const nw_choices *t, const char *const *size, int at, int indent) {
  const nw_choice *c = &t->at[at];
  for (int i = 0; i < answers_of(c); i++) {
    nw_str_fmt(s, "%*s", indent, "");
    if (c->kind == NW_RESIDUE)
      nw_str_fmt(s, "%s %% %lld == %d:", size[c->size], (long long)c->number, i);
    else if (i)
      nw_str_add(s, "otherwise:");
    else if (c->kind == NW_BELOW)
      nw_str_fmt(s, "%s < %lld:", size[c->size], (long long)c->number);
    else
      nw_expr_print(s, c->fact), nw_str_add(s, ":");
    show_answer(s, t, size, t->next[c->next + i], indent);
  }
  if (c->kind == NW_CHOSEN) nw_str_fmt(s, "version %d\n", c->next + 1);
}

char *nw_choices_show(const nw_choices *t, const char *const *size) {
  nw_str s = {0};
  show(&s, t, size, 0, 0);
  return nw_str_take(&s);
}
