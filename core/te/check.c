// Finds the errors of a compute: reads outside a tensor, divisors that may be zero, and indices that overflow.
#include "te/internal.h"
#include "poly/poly.h"
#include <stdio.h>
#include <stdlib.h>

static bool reads(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_LOAD;
}

static bool depends_on_data(const nw_expr *e) { return !nw_visit(e, reads, NULL); }

// Asks the judge (poly/) about the whole operation, at most once. Called if a condition can be decided neither from the
// ranges of the variables nor by trying points.
bool nw_te_judged(nw_appeal *k) {
  nw_ctx *c = k->op->ctx;
  if (k->asked) return k->trusted;
  k->asked = true;
  nw_program *p = nw_te_alone(k->op);
  k->trusted = p && nw_judge_first(p);
  nw_program_release(p);
  if (!k->trusted && nw_error(c) && nw_error(c)->code != NW_EINTERRUPT) nw_clear(c);
  return k->trusted;
}

// ---- reads

// Returns the text of an index as the user typed it: reads have parentheses, and widening casts are left out.
static char *typed_text(const nw_expr *index) {
  if (index->op == NW_OP_CAST && index->type.dtype == NW_I64) index = index->arg[0];
  char *text = nw_te_text(index);
  for (char *c = text; *c; c++) *c = *c == '[' ? '(' : *c == ']' ? ')' : *c;
  return text;
}

static bool refuse_data(nw_place *at, const nw_expr *load, int d, const nw_expr *extent) {
  char *text = nw_te_text(load), *index = typed_text(load->arg[d]), *size = nw_te_text(extent);
  const nw_expr *last = nw_sub(at->pool, extent, nw_index(at->pool, 1));
  char *end = nw_te_text(last), hint[400];
  snprintf(hint, sizeof hint, "clamp it: nw.min(nw.max(%.120s, 0), %.120s)", index, end);
  nw_fail(at->ctx, NW_ERANGE, hint,
          "in %s, %s has an index that depends on data and can leave dimension %d (extent %s)", at->op->name, text, d,
          size);
  free(text), free(index), free(size), free(end);
  return false;
}

static bool is_called_alike(const char *symbol, const char *other) {
  size_t n = strcspn(symbol, "@");
  return strcmp(symbol, other) && n == strcspn(other, "@") && !strncmp(symbol, other, n);
}

static bool is_axis(const nw_place *at, const char *symbol) {
  for (int i = 0; i < at->nvars; i++)
    if (!strcmp(at->var[i]->name, symbol)) return true;
  return false;
}

// Returns the symbol of a size in the extent that has the same name as another size of the operation, or NULL if there
// is no such size.
static const char *namesake(const nw_place *at, const nw_expr *extent) {
  const nw_ranges *r = &at->ranges;
  for (int i = 0; i < r->n; i++)
    for (int k = 0; k < r->n && nw_uses_var(extent, r->at[i].var); k++)
      if (is_called_alike(r->at[i].var, r->at[k].var) && !is_axis(at, r->at[k].var)) return r->at[i].var;
  return NULL;
}

static const char *outside_hint(const nw_place *at, const nw_expr *load, const nw_expr *extent) {
  const char *twice = namesake(at, extent);
  if (at->written && nw_tensor_of(load)->op->is_state)
    return "give the axes other ranges, {1, n - 1}, or return a condition as the third value";
  if (twice)
    return nw_diag_printf(at->ctx, "two different sizes are named %.*s: each call of nw.size makes a new size",
                          (int)strcspn(twice, "@"), twice);
  if (nw_tensor_of(load)->op->kind != NW_TE_PLACEHOLDER)
    return "guard it: nw.select(condition, read, otherwise), or clamp the index with nw.min and nw.max";
  return "guard it: nw.select(condition, read, otherwise), or clamp the index with nw.min and nw.max; for a recurrence "
         "use nw.scan";
}

bool nw_te_refuse_read(nw_place *at, const nw_expr *load, int d, const nw_expr *extent, const nw_witness *w) {
  char *text = nw_te_text(load), *size = nw_te_text(extent);
  const char *hint = outside_hint(at, load, extent), *does = load == at->written ? "writes" : "reads";
  if (w->found)
    nw_fail(at->ctx, NW_ERANGE, hint, "in %s, %s %s index %lld of dimension %d (extent %s)%s%s", at->op->name, text,
            does, (long long)w->value, d, size, *w->at ? " at " : "", w->at);
  else
    nw_fail(at->ctx, NW_ERANGE, hint, "in %s, %s is not proven to stay inside dimension %d (extent %s)", at->op->name,
            text, d, size);
  free(text), free(size);
  return false;
}

static bool check_index(nw_appeal *k, nw_place *at, const nw_expr *load, int d, const nw_expr *extent) {
  nw_pool *p = at->pool;
  const nw_expr *e = load->arg[d], *zero = nw_index(p, 0);
  nw_witness w;
  extent = nw_import(p, extent);
  bool ok = nw_te_holds(at, nw_le(p, zero, e), e, &w) && nw_te_holds(at, nw_lt(p, e, extent), e, &w);
  if (!ok && !w.found) ok = nw_te_judged(k);
  if (!ok && !w.found && depends_on_data(e)) return refuse_data(at, load, d, extent);
  if (!ok) nw_te_refuse_read(at, load, d, extent, &w);
  free(w.at);
  return ok;
}

static bool check_read(nw_appeal *k, nw_place *at, const nw_expr *load) {
  nw_tensor *t = nw_tensor_of(load);
  if (!t) return nw_fail(at->ctx, NW_EINVAL, NULL, "in %s, something that is not a tensor is read", at->op->name);
  if (t->op->is_state && !k->states) return true;
  for (int d = 0; d < load->n; d++)
    if (!check_index(k, at, load, d, t->op->shape[d])) return false;
  return true;
}

// ---- divisions

static bool nonzero(nw_place *at, const nw_expr *b, nw_witness *w) {
  nw_pool *p = at->pool;
  const nw_expr *plain = nw_te_uncast(b), *zero = nw_int(p, plain->type.dtype, 0);
  *w = (nw_witness){0};
  if (plain->type.dtype != NW_BOOL &&
      (nw_prove(&at->ranges, nw_lt(p, zero, plain)) || nw_prove(&at->ranges, nw_lt(p, plain, zero))))
    return true;
  return nw_te_holds(at, nw_te_nonzero(p, plain), plain, w);
}

static const char *nonzero_hint(const nw_place *at) {
  return at->op ? "guard it: nw.select(nw.ne(d, 0), a // d, otherwise)"
                : "state what is known about the size, with nw.fact or the min of nw.size";
}

static bool check_division(const char *where, nw_place *at, const nw_expr *e) {
  if (e->arg[1]->op == NW_OP_INT && e->arg[1]->i != 0) return true;
  nw_witness w;
  bool ok = nonzero(at, e->arg[1], &w);
  if (!ok) {
    char *text = nw_te_text(e);
    nw_fail(at->ctx, NW_ERANGE, nonzero_hint(at), "in %s, %s can divide by zero%s%s", where, text,
            w.found ? " at " : "", w.found ? w.at : "");
    free(text);
  }
  free(w.at);
  return ok;
}

static bool is_division(const nw_expr *e) {
  return (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && !nw_dtype_is_float(e->type.dtype);
}

static bool check_node(void *env, nw_place *at, const nw_expr *e) {
  if (nw_stopped(at->ctx) || !nw_te_fits(at, e)) return false;
  if (e->op == NW_OP_LOAD) return check_read(env, at, e);
  return !is_division(e) || check_division(at->op->name, at, e);
}

static bool check_division_of(void *what, nw_place *at, const nw_expr *e) {
  return !is_division(e) || check_division(what, at, e);
}

bool nw_te_divisions_ok(nw_place *at, const char *what, const nw_expr *e) {
  return nw_te_walk_at(at, e, check_division_of, (void *)what);
}

bool nw_te_check(const nw_teop *op, const nw_expr *from) {
  nw_appeal k = {.op = op};
  return nw_te_walk(op, from, check_node, &k);
}

bool nw_te_check_definition(const nw_teop *def, const nw_teop *update) {
  nw_appeal k = {.op = update, .states = true};
  return nw_te_walk(def, NULL, check_node, &k);
}

// ---- computes that may become the update of a scan

#define MOST_INIT_ROWS 8

typedef struct lag {
  const nw_tensor *state;
  // `later`: some read may access an element that is not yet written. `earlier`: some read accesses an earlier time.
  bool later, earlier;
} lag;

static bool note_lag(void *env, nw_place *at, const nw_expr *e) {
  lag *l = env;
  if (e->op != NW_OP_LOAD || nw_tensor_of(e) != l->state) return true;
  const nw_expr *t = at->var[0];
  if (nw_prove(&at->ranges, nw_lt(at->pool, e->arg[0], t)))
    l->earlier = true;
  else if (!nw_prove(&at->ranges, nw_te_before(at, e, 0)))
    l->later = true;
  return true;
}

static bool could_be_state(const nw_teop *op, const nw_tensor *t) {
  bool same =
      t->op->kind == NW_TE_PLACEHOLDER && op->ndim == t->op->ndim && op->ndim > 0 && op->dtype[0] == t->op->dtype[0];
  for (int d = 0; same && d < op->ndim; d++) same = nw_import(op->pool, t->op->shape[d]) == op->shape[d];
  if (!same) return false;
  lag l = {.state = t};
  nw_te_walk(op, NULL, note_lag, &l);
  return l.earlier && !l.later;
}

bool nw_te_looks_like_update(const nw_teop *op) {
  bool candidate = false;
  int64_t times;
  for (int i = 0; i < op->nreads; i++) candidate = candidate || could_be_state(op, op->reads[i]);
  if (!candidate) return false;
  for (int64_t from = 1; from <= MOST_INIT_ROWS; from++) {
    if (from > 1 && nw_is_int(op->shape[0], &times) && from >= times) return false;
    nw_diag kept = op->ctx->diag;
    op->ctx->diag = (nw_diag){0};
    bool well = nw_te_check(op, nw_index(op->pool, from));
    op->ctx->diag = kept;
    if (well) return true;
  }
  return false;
}

// Returns the operation because of which op is deferred: op itself, or a producer of it.
static const nw_teop *first_deferred(const nw_teop *op) {
  for (int i = 0; i < op->nreads; i++)
    if (op->reads[i]->op->deferred) op = op->reads[i]->op, i = -1;
  return op;
}

bool nw_te_refuse_deferred(const nw_teop *op) {
  nw_ctx *c = op->ctx;
  const nw_teop *first = first_deferred(op);
  if (!nw_te_check(first, NULL)) return false;
  return nw_fail(c, NW_EINVAL,
                 "pass it to nw.scan as the update, or read it in the update, and use the result of nw.scan",
                 "%s reads the state of a scan, but is used outside a scan", op->name);
}
