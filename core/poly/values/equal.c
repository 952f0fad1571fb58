// Decides whether a rewrite keeps the values of a stage. Each occurrence of the left side is examined as it is in the
// program: with its operands, the ranges of its variables, and the conditions around it. An occurrence is proved if both
// sides become the same expression. Otherwise both sides are tested on many values (ir/expr/trial.h).
#include "ir/expr/equality.h"
#include "ir/expr/fold.h"
#include "ir/expr/trial.h"
#include "poly/internal.h"
#include <stdlib.h>

enum { MAX_VALUES = 64, ENOUGH = 100, REACH = 1000 };

typedef struct deciding {
  const nw_program *p;
  const nw_stmt *block;
  nw_equality_verdict *out;
  bool ok;
} deciding;

// ---- proofs

static const nw_expr *canonical(const nw_ranges *r, const nw_expr *e) {
  return nw_polynomial(nw_simplify(r, nw_polynomial(nw_simplify(r, e))));
}

static bool proved(const deciding *d, const nw_occurrence *o) {
  const nw_expr *term[NW_MAX_TERMS];
  nw_ranges r;
  if (o->was == o->is) return true;
  nw_ranges_declared(&r, d->p, d->block);
  int n = nw_conjuncts(o->cond, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++)
    if (!term[i]->data && !nw_uses_load(term[i], NULL)) nw_ranges_fact(&r, term[i]);
  bool same = canonical(&r, o->was) == canonical(&r, o->is);
  nw_ranges_free(&r);
  return same;
}

// ---- tests

// The values that both sides use are the loads, the variables of the block and the sizes. Each becomes a variable.
typedef struct values {
  const deciding *d;
  nw_pool *pool;
  int n;
  const nw_expr *is[MAX_VALUES]; // a LOAD or a VAR
  nw_trial_var var[MAX_VALUES];
  char *shown[MAX_VALUES];
  bool many, sizes;
} values;

static void whole_range(nw_dtype t, int64_t *lo, int64_t *hi) {
  int bits = t == NW_BOOL ? 1 : 8 * nw_dtype_bytes(t);
  bool sign = nw_dtype_is_signed(t);
  // The values of u64 are drawn as 64 bits (check/equal.c), so its range here is that of the bits as a signed number.
  if (t == NW_U64) sign = true;
  *hi = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - sign)) - 1;
  *lo = sign ? -*hi - 1 : 0;
}

static const nw_block_var *block_var(const nw_stmt *block, const nw_expr *e) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].var == e) return &block->block.var[i];
  return NULL;
}

static void range_of(const values *x, const nw_expr *e, int64_t *lo, int64_t *hi) {
  nw_ranges r;
  whole_range((nw_dtype)e->type.dtype, lo, hi);
  if (e->op != NW_OP_VAR) return;
  nw_ranges_declared(&r, x->d->p, x->d->block);
  if (!nw_const_lower(&r, e, lo)) *lo = 0;
  if (!nw_const_upper(&r, e, hi)) *hi = *lo + REACH;
  nw_ranges_free(&r);
}

static const nw_expr *value_as_var(void *env, const nw_expr *e) {
  values *x = env;
  for (int i = 0; i < x->n; i++)
    if (x->is[i] == e) return x->var[i].var;
  if (x->n == MAX_VALUES) return x->many = true, e;
  nw_trial_var *v = &x->var[x->n];
  nw_str name = {0};
  nw_str_fmt(&name, "?%d", x->n);
  v->var = e->data ? nw_data_var(x->pool, name.s, e->type) : nw_var_of(x->pool, name.s, e->type);
  nw_str_free(&name);
  v->shown = x->shown[x->n] = nw_expr_show(e);
  range_of(x, e, &v->lo, &v->hi);
  x->sizes |= e->op == NW_OP_VAR && !block_var(x->d->block, e);
  x->is[x->n++] = e;
  return v->var;
}

// A variable that occurs only in the index of a load is not a value.
static const nw_expr *in_vars(values *x, const nw_expr *e) {
  const nw_expr *arg[3];
  if (e->op == NW_OP_LOAD || e->op == NW_OP_VAR) return value_as_var(x, e);
  if (!e->n || e->n > 3) return e;
  for (int i = 0; i < e->n; i++) arg[i] = in_vars(x, e->arg[i]);
  return nw_make(x->pool, (nw_op)e->op, e->type, e->n, arg);
}

// Returns the condition for the values: the declared ranges of the variables, and the facts if sizes occur.
static const nw_expr *condition(values *x, const nw_expr *cond) {
  nw_pool *pool = x->pool;
  for (int i = 0; i < x->n; i++) {
    const nw_block_var *v = block_var(x->d->block, x->is[i]);
    if (!v || nw_is_constant(v->extent)) continue;
    cond = nw_and(pool, cond, nw_le(pool, in_vars(x, v->lo), x->var[i].var));
    cond = nw_and(pool, cond, nw_lt(pool, x->var[i].var, in_vars(x, nw_add(pool, v->lo, v->extent))));
  }
  for (int i = 0; x->sizes && i < x->d->p->nfacts; i++) cond = nw_and(pool, cond, in_vars(x, x->d->p->fact[i]));
  return cond;
}

static bool refuse(const deciding *d, nw_refusal_kind kind, const char *why, const char *fmt, ...) {
  nw_str message = {0};
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(&message, fmt, args);
  va_end(args);
  nw_refuse(d->p->ctx, &(nw_refusal){.kind = kind, .message = message.s, .detail = true, .why = why});
  nw_str_free(&message);
  return false;
}

static bool refuse_differing(const deciding *d, const nw_occurrence *o, const nw_trial *t) {
  char *was = nw_expr_show(o->was), *is = nw_expr_show(o->is);
  refuse(d, NW_REFUSE_VALUE, "the two sides must have the same value wherever the stage computes them",
         "%s is %s and %s is %s if %s", was, t->at.old, is, t->at.new, t->at.point);
  free(was), free(is);
  return false;
}

static char *change_at(const nw_trial_point *at) {
  nw_str s = {0};
  nw_str_fmt(&s, "if %s, the value was %s and is now %s", at->point, at->old, at->new);
  return nw_str_take(&s);
}

static void keep(const deciding *d, const nw_trial *t) {
  nw_equality_verdict *v = d->out;
  v->rounds |= nw_dtype_is_float((nw_dtype)t->was->type.dtype);
  v->proved = false;
  if (!v->compared || t->compared < v->compared) v->compared = t->compared;
  v->beyond += t->beyond;
  if (t->lost && !v->lost) v->lost = change_at(&t->at);
  if (t->nan.point && !v->nan) v->nan = change_at(&t->nan);
}

static bool tested(const deciding *d, const nw_occurrence *o) {
  nw_ctx *c = d->p->ctx;
  values x = {.d = d, .pool = d->p->pool};
  nw_trial t = {.pool = x.pool};
  t.was = in_vars(&x, o->was);
  t.is = in_vars(&x, o->is);
  t.cond = condition(&x, in_vars(&x, o->cond));
  t.n = x.n;
  t.var = x.var;
  bool ok;
  if (x.many)
    ok = refuse(d, NW_REFUSE_UNDECIDED, "rewrite a smaller part", "the part uses more than %d values", MAX_VALUES);
  else if (!c->trial)
    ok = refuse(d, NW_REFUSE_UNDECIDED, "this session runs no programs", "the equality cannot be tested");
  else
    ok = c->trial(c, &t);
  if (ok && NW_RULE(c, rewrite_equal) && t.differs) ok = refuse_differing(d, o, &t);
  if (ok && NW_RULE(c, rewrite_enough) && t.compared < ENOUGH)
    ok = refuse(d, NW_REFUSE_UNDECIDED, "too few of the tested values satisfy the conditions and stay within range",
                "the equality could be tested on only %d values; at least %d are needed", t.compared, ENOUGH);
  if (ok) keep(d, &t);
  for (int i = 0; i < x.n; i++) free(x.shown[i]);
  nw_trial_free(&t);
  return ok;
}

// ---- all occurrences

static void decide(void *env, const nw_occurrence *o) {
  deciding *d = env;
  if (d->ok && !proved(d, o)) d->ok = tested(d, o);
}

static bool decide_block(void *env, nw_stmt *s) {
  deciding *d = env;
  if (s->kind != NW_BLOCK || !nw_is_rewritten(d->out->rewriting, s)) return true;
  d->block = s;
  for (int t = 0; d->ok && t < s->block.ntargets; t++)
    nw_equality_apply(d->p->pool, &d->out->rewriting->equality, s->block.target[t].value, decide, d);
  return d->ok;
}

bool nw_judge_equality(const nw_program *p, const nw_rewriting *w, nw_equality_verdict *out) {
  *out = (nw_equality_verdict){.rewriting = w, .proved = true};
  deciding d = {.p = p, .out = out, .ok = true};
  nw_walk_from(p->root, decide_block, &d);
  return d.ok && !nw_stopped(p->ctx);
}
