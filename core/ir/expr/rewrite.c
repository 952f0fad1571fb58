// Traverses and rebuilds expressions. Each traversal visits a shared subexpression once.
#include "ir/expr/fold.h"
#include <assert.h>
#include <stdlib.h>

// ---------------------------------------------------------------- the map

void nw_memo_init(nw_memo *m) {
  m->n = 0;
  m->cap = NW_COUNT(m->room) / 2;
  m->key = m->room;
  m->value = m->room + m->cap;
  memset(m->room, 0, sizeof m->room);
}

void nw_memo_free(nw_memo *m) {
  if (m->key != m->room) free(m->key);
}

static int memo_place(const nw_memo *m, const nw_expr *key) {
  int i = (int)(key->hash & (uint64_t)(m->cap - 1));
  while (m->key[i] && m->key[i] != key) i = (i + 1) & (m->cap - 1);
  return i;
}

static void memo_grow(nw_memo *m) {
  nw_memo was = *m;
  if (was.key == m->room) {
    was.key = was.room;
    was.value = was.room + was.cap;
  }
  m->cap *= 2;
  m->key = nw_xcalloc((size_t)m->cap * 2, sizeof *m->key);
  m->value = m->key + m->cap;
  for (int k = 0; k < was.cap; k++) {
    if (!was.key[k]) continue;
    int i = memo_place(m, was.key[k]);
    m->key[i] = was.key[k];
    m->value[i] = was.value[k];
  }
  nw_memo_free(&was);
}

const nw_expr **nw_memo_at(nw_memo *m, const nw_expr *key) {
  int i = memo_place(m, key);
  if (!m->key[i]) {
    if (++m->n * 2 > m->cap) {
      memo_grow(m);
      i = memo_place(m, key);
    }
    m->key[i] = key;
  }
  return &m->value[i];
}

// ---------------------------------------------------------------- rebuilding

typedef struct rebuild {
  nw_pool *pool;
  nw_var_fn vars;
  nw_load_fn loads;
  void *env;
  const nw_expr *what, *by; // an expression and its replacement, or NULL
  nw_memo memo;
} rebuild;

static const nw_expr *rebuild_expr(rebuild *r, const nw_expr *e);

static void carry_symbol(nw_pool *to, const nw_expr *e) {
  if (e->pool == to) return;
  const nw_symbol_class *cls;
  void *object = nw_pool_symbol(e->pool, e->name, &cls);
  if (object) nw_pool_define(to, e->name, cls, object);
}

static const nw_expr *rebuild_load(rebuild *r, const nw_expr *e, const nw_expr *const *args) {
  const nw_expr *load = nw_load(r->pool, e->type, e->name, e->n, args);
  const nw_expr *by = r->loads && load ? r->loads(r->env, load) : NULL;
  if (by) return nw_import(r->pool, by);
  carry_symbol(r->pool, e);
  return load;
}

static const nw_expr *rebuild_var(rebuild *r, const nw_expr *e) {
  const nw_expr *by = r->vars ? r->vars(r->env, e) : NULL;
  if (by) return nw_import(r->pool, by);
  carry_symbol(r->pool, e);
  return e->data ? nw_data_var(r->pool, e->name, e->type) : nw_var_of(r->pool, e->name, e->type);
}

static const nw_expr *rebuild_node(rebuild *r, const nw_expr *e, const nw_expr *const *args) {
  switch (e->op) {
  case NW_OP_VAR: return rebuild_var(r, e);
  case NW_OP_INT: return nw_int(r->pool, (nw_dtype)e->type.dtype, e->i);
  case NW_OP_FLOAT: return nw_float(r->pool, (nw_dtype)e->type.dtype, e->f);
  case NW_OP_LOAD: return rebuild_load(r, e, args);
  case NW_OP_REDUCE: {
    nw_expr head = {.op = e->op, .type = e->type, .n = e->n, .i = e->i};
    return nw_intern(r->pool, &head, args);
  }
  default: return nw_make(r->pool, (nw_op)e->op, e->type, e->n, args);
  }
}

static bool unchanged(const rebuild *r, const nw_expr *e, const nw_expr *const *args) {
  if (e->pool != r->pool || e->op == NW_OP_VAR || (e->op == NW_OP_LOAD && r->loads)) return false;
  for (int i = 0; i < e->n; i++)
    if (args[i] != e->arg[i]) return false;
  return true;
}

static const nw_expr *rebuild_expr(rebuild *r, const nw_expr *e) {
  if (e == r->what) return r->by;
  const nw_expr *done = e->n ? *nw_memo_at(&r->memo, e) : NULL;
  if (done) return done;
  const nw_expr *few[8], **args = e->n <= 8 ? few : nw_xmalloc(e->n * sizeof *args);
  for (int i = 0; i < e->n; i++) args[i] = rebuild_expr(r, e->arg[i]);
  const nw_expr *made = unchanged(r, e, args) ? e : rebuild_node(r, e, args);
  if (args != few) free(args);
  if (e->n) *nw_memo_at(&r->memo, e) = made;
  return made;
}

const nw_expr *nw_rewrite(nw_pool *p, const nw_expr *e, nw_var_fn vars, nw_load_fn loads, void *env) {
  if (!e) return NULL;
  rebuild r = {.pool = p, .vars = vars, .loads = loads, .env = env};
  nw_memo_init(&r.memo);
  const nw_expr *made = rebuild_expr(&r, e);
  nw_memo_free(&r.memo);
  return made;
}

const nw_expr *nw_import(nw_pool *p, const nw_expr *e) {
  return !e || e->pool == p ? e : nw_rewrite(p, e, NULL, NULL, NULL);
}

const nw_expr *nw_replace(nw_pool *p, const nw_expr *e, const nw_expr *what, const nw_expr *by) {
  if (!e) return NULL;
  rebuild r = {.pool = p, .what = what, .by = by};
  nw_memo_init(&r.memo);
  const nw_expr *made = rebuild_expr(&r, e);
  nw_memo_free(&r.memo);
  return made;
}

typedef struct substitution {
  int n;
  const char *const *var;
  const nw_expr *const *by;
} substitution;

static const nw_expr *substitute(void *env, const nw_expr *var) {
  substitution *s = env;
  for (int i = 0; i < s->n; i++)
    if (strcmp(s->var[i], var->name) == 0) return s->by[i];
  return NULL;
}

// Substitutes all variables at once: the inserted expressions are not substituted again.
const nw_expr *nw_subst_n(nw_pool *p, const nw_expr *e, int n, const char *const *vars, const nw_expr *const *by) {
  substitution s = {n, vars, by};
  return nw_rewrite(p, e, substitute, NULL, &s);
}

const nw_expr *nw_subst(nw_pool *p, const nw_expr *e, const char *var, const nw_expr *by) {
  return nw_subst_n(p, e, 1, &var, &by);
}

// ---------------------------------------------------------------- visiting

static bool visit(nw_memo *seen, const nw_expr *e, bool (*f)(void *env, const nw_expr *e), void *env) {
  const nw_expr **mark = nw_memo_at(seen, e);
  if (*mark) return true;
  *mark = e;
  for (int i = 0; i < e->n; i++)
    if (!visit(seen, e->arg[i], f, env)) return false;
  return f(env, e);
}

bool nw_visit(const nw_expr *e, bool (*f)(void *env, const nw_expr *e), void *env) {
  if (!e) return true;
  nw_memo seen;
  nw_memo_init(&seen);
  bool all = visit(&seen, e, f, env);
  nw_memo_free(&seen);
  return all;
}

static bool is_not_var(void *name, const nw_expr *e) { return e->op != NW_OP_VAR || strcmp(e->name, name) != 0; }

static bool is_not_load(void *name, const nw_expr *e) {
  return e->op != NW_OP_LOAD || (name && strcmp(e->name, name) != 0);
}

bool nw_uses_var(const nw_expr *e, const char *var) { return !nw_visit(e, is_not_var, (void *)var); }

bool nw_uses_load(const nw_expr *e, const char *buffer) { return !nw_visit(e, is_not_load, (void *)buffer); }

// Splits a condition into at most `cap` conjuncts. If the condition has more conjuncts, some of them stay together in
// one entry. Returns the number of entries.
int nw_conjuncts(const nw_expr *cond, int cap, const nw_expr **out) {
  if (!cond) return 0;
  if (cond->op != NW_OP_AND || cap == 1) return out[0] = cond, 1;
  int n = nw_conjuncts(cond->arg[0], cap - 1, out);
  return n + nw_conjuncts(cond->arg[1], cap - n, out + n);
}

bool nw_uses_any(const nw_expr *e, int n, const char *const *vars) {
  for (int i = 0; i < n; i++)
    if (nw_uses_var(e, vars[i])) return true;
  return false;
}

// ---------------------------------------------------------------- affine parts

static int index_of(int n, const char *const *names, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

static bool uses_any(const nw_expr *e, int n, const char *const *vars) {
  for (int i = 0; i < n; i++)
    if (nw_uses_var(e, vars[i])) return true;
  return false;
}

bool nw_affine(nw_pool *p, const nw_expr *e, int n, const char *const *vars, int64_t *coef, const nw_expr **rest) {
  e = nw_import(p, e);
  memset(coef, 0, (size_t)n * sizeof *coef);
  if (!e || !nw_is_index(e) || !nw_is_exact(e)) return false;
  nw_sum s, others;
  nw_sum_init(&s, p, NW_INDEX);
  nw_sum_init(&others, p, NW_INDEX);
  nw_sum_add(&s, 1, e);
  others.constant = s.constant;
  bool ok = !s.wraps;
  for (int i = 0; i < s.n && ok; i++) {
    const nw_term *t = &s.term[i];
    int v = t->atom->op == NW_OP_VAR ? index_of(n, vars, t->atom->name) : -1;
    if (v >= 0)
      coef[v] += t->coef;
    else if (uses_any(t->atom, n, vars))
      ok = false;
    else
      nw_sum_term(&others, t->coef, t->atom);
  }
  if (ok && rest) *rest = nw_sum_expr(&others);
  nw_sum_free(&s);
  nw_sum_free(&others);
  return ok;
}
