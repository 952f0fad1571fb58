// Finds the iterations of a loop that run the same iterations of the inner loops.
#include "cache/exact/model_shape.h"

static int64_t ceil_div(int64_t a, int64_t b) { return -nw_floordiv_i64(-a, b); }

void nw_shape_bounds(const nw_shape *l, const int64_t *val, int64_t *first, int64_t *last) {
  *first = l->absolute ? INT64_MIN : 0;
  *last = INT64_MAX;
  for (int i = 0; i < l->nbegin; i++) {
    int64_t v = ceil_div(nw_linear_at(&l->begin[i].f, val, l->depth), l->begin[i].div);
    if (v > *first) *first = v;
  }
  for (int i = 0; i < l->nend; i++) {
    int64_t v = nw_floordiv_i64(nw_linear_at(&l->end[i].f, val, l->depth), l->end[i].div);
    if (v < *last) *last = v;
  }
}

bool nw_shape_holds(const nw_shape *g, const int64_t *val) {
  for (int i = 0; i < g->nconds; i++)
    if (nw_linear_at(&g->cond[i], val, g->depth) < 0) return false;
  return true;
}

// ---- keys

// True if a is never less than b, for any values of the inner loops. The quotients are compared before they are rounded
// down; rounding does not change the order.
static bool never_less(const nw_watched *a, int64_t at_a, const nw_watched *b, int64_t at_b) {
  return ((__int128)at_a + a->lo) * b->div >= ((__int128)at_b + b->hi) * a->div;
}

// True if upper bound i is redundant, because some other upper bound is never greater. Of two equal bounds, the first
// is kept.
static bool is_idle(const nw_control *c, const int64_t *at, int i) {
  for (int j = c->nbegin; j < c->n; j++)
    if (j != i && never_less(&c->at[i], at[i], &c->at[j], at[j]) &&
        (j < i || !never_less(&c->at[j], at[j], &c->at[i], at[i])))
      return true;
  return false;
}

static void evaluate(const nw_control *c, const int64_t *val, int depth, int64_t *at) {
  for (int i = 0; i < c->n; i++) at[i] = nw_linear_at(c->at[i].f, val, depth);
}

static int64_t status(const nw_watched *w, int64_t at) {
  if ((__int128)at + w->lo >= 0) return 1;
  return (__int128)at + w->hi < 0 ? 0 : 2;
}

static int key_of_guard(const nw_control *c, const int64_t *at, int64_t *key) {
  int n = 0;
  for (int i = 0; i < c->n; i++) {
    int64_t s = c->at[i].outer ? status(&c->at[i], at[i]) : 1;
    key[n++] = s;
    key[n++] = s == 2 ? at[i] : 0;
  }
  return n;
}

static bool has_inner(const nw_control *c) {
  for (int i = 0; i < c->n; i++)
    if (c->at[i].inner) return true;
  return false;
}

static int key_of_loop(const nw_control *c, const int64_t *at, int64_t *key) {
  if (!c->absolute && !has_inner(c)) {
    int64_t last = INT64_MAX;
    for (int i = 0; i < c->n; i++) {
      int64_t v = nw_floordiv_i64(at[i], c->at[i].div);
      if (v < last) last = v;
    }
    key[0] = last < -1 ? -1 : last;
    return 1;
  }
  for (int i = 0; i < c->n; i++) key[i] = i >= c->nbegin && is_idle(c, at, i) ? INT64_MAX : at[i];
  return c->n;
}

int nw_shape_key(const nw_shape *l, const int64_t *val, int64_t *key) {
  int64_t *at = l->scratch;
  int n = 0;
  for (int i = 0; i < l->nkeys; i++) {
    const nw_control *c = &l->keyed[i];
    evaluate(c, val, l->depth, at);
    n += (c->loop ? key_of_loop : key_of_guard)(c, at, key + n);
  }
  return n;
}

int nw_shape_key_room(const nw_shape *l) {
  int n = 1;
  for (int i = 0; i < l->nkeys; i++) n += 2 * l->keyed[i].n + 1;
  return n;
}

// ---- classes of iterations

static bool class_of_guard(const nw_control *c, const int64_t *at, uint8_t *fact) {
  bool same = true;
  for (int i = 0; i < c->n; i++) {
    int64_t s = c->at[i].own ? status(&c->at[i], at[i]) : 1;
    fact[2 * i] = s == 1;
    fact[2 * i + 1] = s == 0;
    same = same && s != 2;
  }
  return same;
}

// Computes the facts about the bounds of a loop. If the loop has no iterations, its bounds do not matter.
static bool class_of_loop(const nw_control *c, const int64_t *at, uint8_t *fact) {
  bool same = true, empty = false;
  for (int i = 0; i < c->n; i++) {
    for (int j = 0; j < c->n; j++) *fact++ = i != j && never_less(&c->at[i], at[i], &c->at[j], at[j]);
    bool none = i >= c->nbegin && !c->absolute && (__int128)at[i] + c->at[i].hi < 0;
    *fact++ = none;
    empty = empty || none;
    if (c->at[i].own && (i < c->nbegin || !is_idle(c, at, i))) same = false;
  }
  return same || empty;
}

static int facts_of(const nw_control *c) { return c->loop ? c->n * (c->n + 1) : 2 * c->n; }

static bool never_holds(const nw_control *guard, const uint8_t *fact) {
  for (int i = 0; i < guard->n; i++)
    if (fact[2 * i + 1]) return true;
  return false;
}

// Loops and guards inside a guard that never holds have no effect, so their facts are 0. If two iterations have the
// same facts for the guard, all iterations between them have these facts, too. So nw_shape_class keeps its guarantee.
bool nw_shape_class(const nw_shape *l, const int64_t *val, uint8_t *fact) {
  int64_t *at = l->scratch;
  bool same = true;
  for (int i = 0; i < l->nclasses; i++) {
    const nw_control *c = &l->classed[i];
    bool dead = c->under >= 0 && l->dead[c->under];
    evaluate(c, val, l->depth + 1, at);
    if (dead)
      memset(fact, 0, (size_t)facts_of(c));
    else if (!(c->loop ? class_of_loop : class_of_guard)(c, at, fact))
      same = false;
    l->dead[i] = dead || (!c->loop && never_holds(c, fact));
    fact += facts_of(c);
  }
  return same;
}

int nw_shape_facts(const nw_shape *l) {
  int n = 0;
  for (int i = 0; i < l->nclasses; i++) n += facts_of(&l->classed[i]);
  return n;
}
