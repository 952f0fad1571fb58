// Makes symbolic sizes, and keeps the facts known about them.
#include "te/internal.h"
#include <stdlib.h>

static void *size_retain(void *o) {
  ((nw_te_size *)o)->refs++;
  return o;
}

static void size_release(void *o) {
  nw_te_size *s = o;
  if (--s->refs) return;
  nw_vec_free(&s->facts);
  nw_pool_release(s->pool);
  free(s->name);
  free(s->symbol);
  free(s);
}

const nw_symbol_class nw_size_symbol = {size_retain, size_release};

nw_te_size *nw_size_of(const nw_expr *var) {
  const nw_symbol_class *cls;
  void *o = nw_pool_symbol(var->pool, var->name, &cls);
  return o && cls == &nw_size_symbol ? o : NULL;
}

const nw_expr *nw_size_var(nw_ctx *c, const char *name, int64_t lo) {
  if (lo < 0)
    return nw_fail(c, NW_EINVAL, NULL, "a size is at least 0, so its least value cannot be %lld", (long long)lo);
  char *own = nw_te_name(c, "a size", name, "N");
  if (!own) return NULL;
  nw_te_size *s = nw_xcalloc(1, sizeof *s);
  *s = (nw_te_size){.refs = 1, .ctx = c, .name = own, .symbol = nw_symbol_name(c, own, NULL), .lo = lo};
  s->pool = nw_pool_new(c);
  nw_pool *p = nw_lang_pool(c);
  nw_pool_define(p, s->symbol, &nw_size_symbol, s);
  const nw_expr *e = nw_var(p, s->symbol);
  size_release(s);
  return e;
}

static bool only_sizes(void *env, const nw_expr *e) {
  (void)env;
  if (e->op == NW_OP_LOAD || e->op == NW_OP_REDUCE) return false;
  return e->op != NW_OP_VAR || nw_size_of(e);
}

bool nw_speaks_of_sizes(const nw_expr *e) { return nw_visit(e, only_sizes, NULL); }

static const nw_expr *undefined_var(void *env, const nw_expr *v) { return nw_var_of(env, v->name, v->type); }

// Copies a fact into a pool without symbols. A symbol holds a reference to its size, so a size with its own symbol in
// one of its facts would never be freed.
static const nw_expr *bare(nw_pool *p, const nw_expr *e) { return nw_rewrite(p, e, undefined_var, NULL, p); }

static bool known(const nw_ranges *r, const char *var) {
  for (int i = 0; i < r->n; i++)
    if (!strcmp(r->at[i].var, var)) return true;
  return false;
}

static bool push_size(void *env, const nw_expr *e) {
  nw_ranges *r = env;
  nw_te_size *s = e->op == NW_OP_VAR ? nw_size_of(e) : NULL;
  if (!s || known(r, s->symbol)) return true;
  nw_ranges_push(r, nw_pool_name(r->pool, s->symbol), nw_index(r->pool, s->lo), NULL);
  for (int i = 0; i < s->facts.n; i++) nw_ranges_fact(r, nw_import(r->pool, s->facts.at[i]));
  return true;
}

void nw_te_push_sizes(nw_ranges *r, const nw_expr *e) { nw_visit(e, push_size, r); }

// ---- contexts of expressions

// Returns the context in which an expression of sizes is checked. Its ranges have the bounds and facts of these sizes.
static nw_place place_of(nw_ctx *c, const nw_expr *e) {
  nw_place at = {.ctx = c, .pool = nw_pool_new(c)};
  nw_ranges_init(&at.ranges, at.pool);
  nw_te_push_sizes(&at.ranges, e);
  return at;
}

static void place_free(nw_place *at) {
  nw_ranges_free(&at->ranges);
  nw_vec_free(&at->cond);
  nw_pool_release(at->pool);
}

// ---- facts

static bool is_whole(void *env, const nw_expr *e) {
  (void)env;
  return !nw_dtype_is_float((nw_dtype)e->type.dtype);
}

static bool is_fact(nw_ctx *c, const nw_expr *fact) {
  if (fact->type.dtype != NW_BOOL || fact->type.lanes != 1)
    return nw_fail(c, NW_ETYPE, NULL, "a fact is a condition, not a value of type %s", nw_dtype_name(fact->type.dtype));
  if (!nw_speaks_of_sizes(fact)) return nw_fail(c, NW_EINVAL, NULL, "a fact may use only symbolic sizes");
  if (!nw_visit(fact, is_whole, NULL))
    return nw_fail(c, NW_ETYPE, "write 8, not 8.0", "a fact may use only whole numbers");
  return true;
}

static bool contradicts(const nw_ranges *r, const nw_expr *fact) {
  nw_ctx *c = nw_pool_ctx(r->pool);
  const nw_expr *known = nw_ruled_out_by(r, fact);
  char *text = nw_te_text(fact), *other = known ? nw_te_text(known) : NULL;
  nw_fail(c, NW_EINVAL, "a fact must hold for some values of its sizes", "%s is never true%s%s%s", text,
          other ? ": " : "", other ? other : "", other ? " is known" : "");
  free(text), free(other);
  return true;
}

// True if the fact can be evaluated and contradicts no known fact.
static bool can_hold(nw_ctx *c, const nw_expr *size, const nw_expr *fact) {
  nw_place at = place_of(c, fact);
  nw_te_push_sizes(&at.ranges, size);
  fact = nw_import(at.pool, fact);
  bool ok =
      nw_te_divisions_ok(&at, "the fact", fact) && !(nw_disprove(&at.ranges, fact) && contradicts(&at.ranges, fact));
  place_free(&at);
  return ok;
}

bool nw_size_fact(const nw_expr *size, const nw_expr *fact) {
  if (!size || !fact) return false;
  nw_ctx *c = nw_pool_ctx(size->pool);
  nw_te_size *s = size->op == NW_OP_VAR ? nw_size_of(size) : NULL;
  if (!s) return nw_fail(c, NW_EINVAL, "give the result of nw.size", "a fact must be about a symbolic size");
  if (!is_fact(c, fact) || !can_hold(c, size, fact)) return false;
  nw_vec_push(&s->facts, (void *)bare(s->pool, fact));
  return true;
}

typedef struct reading {
  const nw_te_size *size;
  const char *unknown;
} reading;

static const nw_expr *named_size(void *env, const nw_expr *v) {
  reading *r = env;
  if (!strcmp(v->name, r->size->name)) return nw_var(v->pool, r->size->symbol);
  r->unknown = v->name;
  return v;
}

static const nw_expr *unreadable(nw_ctx *c, const char *text) {
  char *why = nw_xstrdup(nw_error(c)->message);
  nw_clear(c);
  nw_fail(c, NW_EINVAL, "nw.fact(M, \"M % 16 == 0\")", "the fact \"%s\" cannot be parsed: %s", text, why);
  free(why);
  return NULL;
}

const nw_expr *nw_size_fact_parse(const nw_expr *size, const char *text) {
  nw_ctx *c = nw_pool_ctx(size->pool);
  reading r = {.size = size->op == NW_OP_VAR ? nw_size_of(size) : NULL};
  if (!r.size) return size; // an error is reported by the caller
  const nw_expr *e = nw_expr_parse(size->pool, text);
  if (!e) return unreadable(c, text);
  e = nw_rewrite(size->pool, e, named_size, NULL, &r);
  if (!r.unknown) return e;
  return nw_fail(c, NW_EINVAL, "a fact about several sizes is an expression: nw.fact(M, nw.le(M, N))",
                 "a fact given as text may use only its own size; %s is not %s", r.unknown, r.size->name);
}

// ---- extents

// Rejects an extent that is negative, or divides by zero, for some value of its sizes.
static bool never_negative(nw_ctx *c, const nw_expr *e, const char *what) {
  nw_place at = place_of(c, e);
  nw_witness w = {0};
  e = nw_import(at.pool, e);
  bool ok = nw_te_divisions_ok(&at, what, e);
  if (ok) nw_te_holds(&at, nw_le(at.pool, nw_index(at.pool, 0), e), e, &w);
  if (w.found)
    nw_fail(c, NW_ERANGE, "state what is known about the size, with nw.fact or the min of nw.size",
            "%s is negative at %s: %lld", what, w.at, (long long)w.value);
  ok = ok && !w.found;
  free(w.at);
  place_free(&at);
  return ok;
}

const nw_expr *nw_te_extent(nw_ctx *c, nw_pool *p, const nw_expr *e, const char *what) {
  int64_t v;
  e = nw_te_index(c, p, e, what);
  if (!e) return NULL;
  if (!nw_visit(e, only_sizes, NULL))
    return nw_fail(c, NW_EINVAL, "an extent may use only constants and symbolic sizes", "%s is not a size", what);
  if (nw_is_int(e, &v) && v < 0) return nw_fail(c, NW_ERANGE, NULL, "%s is negative: %lld", what, (long long)v);
  return nw_is_int(e, &v) || never_negative(c, e, what) ? e : NULL;
}
