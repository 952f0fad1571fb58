// A family holds what the programs of one schedule share: the space of their sizes, the user's facts about the sizes,
// and the facts that the judge has proven.
#include "poly/internal.h"
#include <stdio.h>
#include <stdlib.h>

// ---- sizes

static bool same_sizes(const nw_family *f, const nw_program *p) {
  if (f->pool != p->pool || f->nsizes != p->nsizes || f->nfacts != p->nfacts) return false;
  for (int i = 0; i < p->nsizes; i++)
    if (strcmp(f->size[i].name, p->size[i].name) || f->size[i].lo != p->size[i].lo) return false;
  for (int i = 0; i < p->nfacts; i++)
    if (f->fact[i] != p->fact[i]) return false;
  return true;
}

static isl_space *named_params(isl_ctx *isl, int n, const nw_size *size) {
  isl_space *space = isl_space_params_alloc(isl, (unsigned)n);
  for (int i = 0; i < n; i++) space = isl_space_set_dim_name(space, isl_dim_param, (unsigned)i, size[i].name);
  return space;
}

static isl_set *at_least(nw_space *v, isl_set *set, const nw_size *size) {
  isl_pw_aff *lo = nw_space_aff(v, size->lo);
  isl_pw_aff *it = nw_space_aff(v, nw_var(v->f->pool, size->name));
  return isl_set_intersect(set, isl_pw_aff_ge_set(it, lo));
}

// Returns the set of all values of the sizes that satisfy the lower bounds of the sizes and the user's facts. The
// non-affine parts of facts are treated as unknown values.
static isl_set *known_of_sizes(nw_family *f) {
  nw_space v;
  nw_space_init(&v, f);
  for (int i = 0; i < f->nsizes; i++) nw_space_scan(&v, f->size[i].lo);
  for (int i = 0; i < f->nfacts; i++) nw_space_scan(&v, f->fact[i]);
  isl_set *known = nw_space_all(&v);
  for (int i = 0; i < f->nsizes; i++) known = at_least(&v, known, &f->size[i]);
  for (int i = 0; i < f->nfacts; i++) known = isl_set_intersect(known, nw_space_cond(&v, f->fact[i], true));
  nw_space_free(&v);
  return isl_set_params(known);
}

static nw_family *family_new(const nw_program *p) {
  nw_family *f = nw_xcalloc(1, sizeof *f);
  f->refs = 1;
  f->s = nw_proofs_retain(nw_proofs_of(p->ctx));
  f->pool = nw_pool_retain(p->pool);
  f->nsizes = p->nsizes;
  f->size = nw_xcalloc((size_t)p->nsizes + 1, sizeof *f->size);
  for (int i = 0; i < p->nsizes; i++) f->size[i] = (nw_size){nw_pool_name(p->pool, p->size[i].name), p->size[i].lo};
  f->nfacts = p->nfacts;
  f->fact = nw_xcalloc((size_t)p->nfacts + 1, sizeof *f->fact);
  for (int i = 0; i < p->nfacts; i++) f->fact[i] = p->fact[i];
  f->params = named_params(f->s->isl, f->nsizes, f->size);
  f->context = isl_set_universe(isl_space_copy(f->params));
  isl_set *known = known_of_sizes(f);
  isl_set_free(f->context);
  f->context = known;
  return f;
}

bool nw_family_abandoned(const nw_family *f) { return f->s != nw_proofs_of(nw_pool_ctx(f->pool)); }

nw_family *nw_family_for(const nw_program *p, nw_family *known) {
  return known && !nw_family_abandoned(known) && same_sizes(known, p) ? nw_family_retain(known) : family_new(p);
}

nw_family *nw_family_retain(nw_family *f) {
  f->refs++;
  return f;
}

static void kept_clear(nw_family *f) {
  for (int i = 0; i < f->verdicts.cap && f->nkept; i++) {
    if (!f->kept[i]) continue;
    isl_set_free(f->kept[i]->domain);
    isl_map_free(f->kept[i]->map);
    free(f->kept[i]);
    f->kept[i] = NULL;
  }
  f->nkept = 0;
}

static void verdicts_clear(nw_verdicts *m) {
  for (int i = 0; i < m->cap; i++) free(m->at[i].key);
  free(m->at);
  free(m->verdict);
  free(m->price);
  *m = (nw_verdicts){0};
}

void nw_family_release(nw_family *f) {
  if (!f || --f->refs) return;
  kept_clear(f);
  free(f->kept);
  verdicts_clear(&f->verdicts);
  nw_vec_free(&f->product);
  isl_set_free(f->context);
  isl_space_free(f->params);
  nw_proofs_release(f->s);
  nw_pool_release(f->pool);
  free(f->size);
  free(f->fact);
  free(f);
}

isl_space *nw_family_space(const nw_family *f, int ndims) {
  isl_space *set = isl_space_set_from_params(isl_space_copy(f->params));
  return isl_space_add_dims(set, isl_dim_set, (unsigned)ndims);
}

static int size_position(const nw_family *f, const char *name) {
  for (int i = 0; i < f->nsizes; i++)
    if (!strcmp(f->size[i].name, name)) return i;
  return -1;
}

typedef struct size_use {
  const nw_family *f;
  bool only;
} size_use;

static bool only_sizes(void *env, const nw_expr *e) {
  size_use *u = env;
  u->only = e->op != NW_OP_LOAD && (e->op != NW_OP_VAR || size_position(u->f, e->name) >= 0);
  return u->only;
}

static bool least_value(const nw_family *f, const nw_expr *e, int64_t *lo) {
  nw_ranges r;
  nw_ranges_init(&r, f->pool);
  for (int i = 0; i < f->nsizes; i++) nw_ranges_push(&r, f->size[i].name, f->size[i].lo, NULL);
  for (int i = 0; i < f->nfacts; i++) nw_ranges_fact(&r, f->fact[i]);
  bool known = nw_const_lower(&r, e, lo);
  nw_ranges_free(&r);
  return known;
}

static int product_new(nw_family *f, const nw_expr *e) {
  char name[32];
  snprintf(name, sizeof name, "product %d", f->product.n);
  unsigned at = (unsigned)(f->nsizes + f->product.n);
  nw_vec_push(&f->product, (void *)e);
  f->params = isl_space_add_dims(f->params, isl_dim_param, 1);
  f->params = isl_space_set_dim_name(f->params, isl_dim_param, at, name);
  f->context = isl_set_align_params(f->context, isl_space_copy(f->params));
  int64_t lo;
  if (least_value(f, e, &lo) && lo >= 0)
    f->context = isl_set_lower_bound_si(f->context, isl_dim_param, at, lo > 1 << 30 ? 1 << 30 : (int)lo);
  return (int)at;
}

static isl_pw_aff *of_sizes(nw_family *f, const nw_expr *e) {
  nw_space v;
  nw_space_init(&v, f);
  return nw_space_aff(&v, e);
}

static void know(nw_family *f, isl_set *relation) {
  f->context = isl_set_intersect(f->context, isl_set_params(relation));
}

// If e is b*(a // b), stores a and b. The dividend or the divisor may be a product.
static bool is_rounded(nw_family *f, const nw_expr *e, const nw_expr **a, const nw_expr **b) {
  if (e->op != NW_OP_MUL) return false;
  for (int side = 0; side < 2; side++) {
    const nw_expr *q = e->arg[side];
    if (q->op != NW_OP_FLOORDIV || nw_mul(f->pool, q->arg[1], q) != e) continue;
    *a = q->arg[0];
    *b = q->arg[1];
    return true;
  }
  return false;
}

// If e is x*(y + z) or x*(y - z), stores x*y and x*z or -x*z.
static bool is_multiple_of_sum(nw_family *f, const nw_expr *e, const nw_expr **a, const nw_expr **b) {
  for (int side = 0; e->op == NW_OP_MUL && side < 2; side++) {
    const nw_expr *sum = e->arg[side], *x = e->arg[1 - side];
    if (sum->op != NW_OP_ADD && sum->op != NW_OP_SUB) continue;
    *a = nw_mul(f->pool, x, sum->arg[0]);
    *b = nw_mul(f->pool, x, sum->arg[1]);
    if (sum->op == NW_OP_SUB) *b = nw_sub(f->pool, nw_index(f->pool, 0), *b);
    return nw_is_exact(e) && nw_is_exact(*a) && nw_is_exact(*b);
  }
  return false;
}

// Adds what is known about a new parameter e: x*(y + z) = x*y + x*z, a remainder is less than its divisor,
// b*(a // b) + a % b = a, and a quotient is at most its dividend.
static void relate(nw_family *f, const nw_expr *e) {
  const nw_expr *a, *b;
  int64_t lo;
  if (is_multiple_of_sum(f, e, &a, &b)) {
    isl_pw_aff *sum = isl_pw_aff_add(of_sizes(f, a), of_sizes(f, b));
    know(f, isl_pw_aff_eq_set(of_sizes(f, e), sum));
  }
  if (is_rounded(f, e, &a, &b)) nw_family_param(f, nw_floormod(f->pool, a, b));
  if (e->op != NW_OP_FLOORMOD && e->op != NW_OP_FLOORDIV) return;
  a = e->arg[0];
  b = e->arg[1];
  if (!least_value(f, b, &lo) || lo < 1 || !least_value(f, a, &lo) || lo < 0) return;
  if (e->op == NW_OP_FLOORDIV) {
    isl_pw_aff *quotient = of_sizes(f, e);
    return know(f, isl_pw_aff_le_set(quotient, of_sizes(f, a)));
  }
  isl_pw_aff *rest = of_sizes(f, e), *whole = of_sizes(f, nw_mul(f->pool, b, nw_floordiv(f->pool, a, b)));
  know(f, isl_pw_aff_lt_set(isl_pw_aff_copy(rest), of_sizes(f, b)));
  know(f, isl_pw_aff_eq_set(isl_pw_aff_add(rest, whole), of_sizes(f, a)));
}

// Each product of sizes, and each other non-affine expression of sizes, becomes a parameter, so that M*N is the same
// parameter everywhere.
static int product_position(nw_family *f, const nw_expr *e) {
  for (int i = 0; i < f->product.n; i++)
    if (f->product.at[i] == e) return f->nsizes + i;
  size_use u = {f, true};
  nw_visit(e, only_sizes, &u);
  if (!u.only || e->type.dtype != NW_INDEX) return -1;
  int at = product_new(f, e);
  relate(f, e);
  return at;
}

int nw_family_param(nw_family *f, const nw_expr *e) {
  return e->op == NW_OP_VAR ? size_position(f, e->name) : product_position(f, e);
}

// ---- stored facts

void nw_key_add(nw_key *k, uintptr_t word) {
  if (k->n == k->cap) {
    k->cap = k->cap ? 2 * k->cap : 32;
    k->word = nw_xrealloc(k->word, (size_t)k->cap * sizeof *k->word);
  }
  k->word[k->n++] = word;
}

void nw_key_ptr(nw_key *k, const void *p) { nw_key_add(k, (uintptr_t)p); }

void nw_key_free(nw_key *k) {
  free(k->word);
  *k = (nw_key){0};
}

static uint64_t hash_words(const uintptr_t *word, int n) {
  uint64_t h = (uint64_t)n;
  for (int i = 0; i < n; i++) h = nw_hash_mix(h, word[i]);
  return h;
}

static nw_verdict_key *slot_of(const nw_verdicts *m, uint64_t hash, const uintptr_t *word, int n) {
  int i = (int)(hash & (uint64_t)(m->cap - 1));
  for (; m->at[i].key; i = (i + 1) & (m->cap - 1)) {
    const nw_verdict_key *e = &m->at[i];
    if (e->hash == hash && e->n == n && !memcmp(e->key, word, (size_t)n * sizeof *word)) break;
  }
  return &m->at[i];
}

static void verdicts_grow(nw_family *f) {
  nw_verdicts *m = &f->verdicts, old = *m;
  m->cap = old.cap ? 2 * old.cap : 256;
  m->at = nw_xcalloc((size_t)m->cap, sizeof *m->at);
  for (int i = 0; i < old.cap; i++)
    if (old.at[i].key) *slot_of(m, old.at[i].hash, old.at[i].key, old.at[i].n) = old.at[i];
  free(old.at);
  m->verdict = nw_xrealloc(m->verdict, (size_t)m->cap);
  memset(m->verdict + old.cap, 0, (size_t)(m->cap - old.cap));
  m->price = nw_xrealloc(m->price, (size_t)m->cap * sizeof *m->price);
  memset(m->price + old.cap, 0, (size_t)(m->cap - old.cap) * sizeof *m->price);
  f->kept = nw_xrealloc(f->kept, (size_t)m->cap * sizeof *f->kept);
  memset(f->kept + old.cap, 0, (size_t)(m->cap - old.cap) * sizeof *f->kept);
}

static nw_verdict_key *verdict_key_of(nw_family *f, const uintptr_t *word, int n) {
  nw_verdicts *m = &f->verdicts;
  if (2 * (m->n + 1) > m->cap) verdicts_grow(f);
  uint64_t hash = hash_words(word, n);
  nw_verdict_key *e = slot_of(m, hash, word, n);
  if (e->key) return e;
  *e = (nw_verdict_key){.hash = hash, .n = n, .number = ++m->n};
  e->key = nw_xmalloc(((size_t)n + 1) * sizeof *word);
  memcpy(e->key, word, (size_t)n * sizeof *word);
  return e;
}

int nw_fact_number(nw_family *f, const nw_key *k) { return verdict_key_of(f, k->word, k->n)->number; }

int nw_fact_of(nw_family *f, int what, int a, int b, int c, int d) {
  uintptr_t word[] = {(uintptr_t)what, (uintptr_t)a, (uintptr_t)b, (uintptr_t)c, (uintptr_t)d};
  return verdict_key_of(f, word, NW_COUNT(word))->number;
}

// True if the fact is known with the verdict `as`. If the fact has no verdict, the caller decides the fact next, so the
// cost of the decision is counted from now on.
static bool is_known(nw_family *f, int number, char as) {
  nw_price *price = &f->verdicts.price[number];
  if (f->verdicts.verdict[number] == as) return nw_price_charge(f->s, price), true;
  if (!f->verdicts.verdict[number]) nw_price_begin(f->s, price);
  return false;
}

// Nothing is learned after isl has failed, since a check may take a result that isl could not compute for an empty one.
static void learn(nw_family *f, int number, char as) {
  if (isl_ctx_last_error(f->s->isl) != isl_error_none && !NW_MUTATED(limit_holds)) return;
  f->verdicts.verdict[number] = as;
  nw_price_end(f->s, &f->verdicts.price[number]);
}

bool nw_fact_proved(nw_family *f, int number) { return is_known(f, number, 1); }

void nw_fact_prove(nw_family *f, int number) { learn(f, number, 1); }

bool nw_fact_denied(nw_family *f, int number) { return is_known(f, number, 2); }

void nw_fact_deny(nw_family *f, int number) { learn(f, number, 2); }

// ---- sets and maps

enum { MOST_KEPT = 8192 };

nw_kept *nw_kept_find(const nw_family *f, int number) { return f->kept[number]; }

void nw_keep(nw_family *f, int number, nw_kept kept) {
  if (f->nkept == MOST_KEPT) kept_clear(f);
  f->kept[number] = nw_xmalloc(sizeof kept);
  *f->kept[number] = kept;
  f->nkept++;
}
