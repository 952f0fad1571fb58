// Checks the divisions in the arguments of a step. A divisor that could be zero is an error.
//
// The proof that a divisor is not zero may use the facts about sizes, and the loops and conditions around the loop or
// stage of the step.
#include "sched/args.h"
#include "sched/tree.h"
#include <stdlib.h>

typedef struct dividing {
  nw_step *st;
  const char *param;
  nw_ranges known;
} dividing;

// ---- the position of the step

static const nw_stmt *subject(nw_step *st, nw_path *path) {
  for (int i = 0; i < nw_param_count(st->primitive); i++) {
    const nw_arg *a = &st->resolved[i];
    nw_arg_kind kind = st->primitive->param[i].kind;
    if (a->kind == NW_ARG_NONE || (kind != NW_ARG_LOOP && kind != NW_ARG_STAGE)) continue;
    const nw_stmt *s = kind == NW_ARG_STAGE ? nw_stage_block(st->before, a->name) : NULL;
    if (!nw_find(st->before, s ? s->id : (int)a->i, path)) return NULL;
    if (s) path->n = nw_path_exclusive(path) + 1;
    return path->at[path->n - 1];
  }
  return NULL;
}

// ---- the divisors

static bool is_nonzero(const dividing *d, const nw_expr *e) {
  nw_pool *p = d->known.pool;
  const nw_expr *zero = nw_int(p, e->type.dtype, 0);
  return nw_prove(&d->known, nw_lt(p, zero, e)) || nw_prove(&d->known, nw_lt(p, e, zero)) ||
         nw_prove(&d->known, nw_make2(p, NW_OP_NE, e, zero));
}

static bool is_of_sizes(void *env, const nw_expr *e) {
  const nw_program *p = env;
  for (int i = 0; i < p->nsizes; i++)
    if (e->op == NW_OP_VAR && !strcmp(p->size[i].name, e->name)) return true;
  return e->op != NW_OP_VAR;
}

static const char *way_out(const dividing *d, const nw_expr *divisor, const char *text) {
  nw_ctx *c = d->st->ctx;
  if (divisor->op == NW_OP_INT) return d->st->primitive->example;
  if (!nw_visit(divisor, is_of_sizes, (void *)d->st->before)) return nw_diag_printf(c, "divide by max(%s, 1)", text);
  return nw_diag_printf(c, "first assume a lower bound: s:assume \"%s >= 1\"", text);
}

static bool refuse(const dividing *d, const nw_expr *e) {
  char *text = nw_expr_show(e), *divisor = nw_expr_show(e->arg[1]);
  nw_fail(d->st->ctx, NW_ERANGE, way_out(d, e->arg[1], divisor), "%s: %s can divide by zero: %s",
          d->st->primitive->name, d->param, text);
  free(text), free(divisor);
  return false;
}

static bool divides(dividing *d, const nw_expr *e);

static bool branch(dividing *d, const nw_expr *cond, const nw_expr *e) {
  nw_ranges_fact(&d->known, cond);
  bool ok = divides(d, e);
  nw_ranges_pop_fact(&d->known);
  return ok;
}

// True if no divisor in the expression can be 0. Otherwise reports an error. Proofs about a branch of a select use the
// condition of the select, because the branch is evaluated only under this condition.
static bool divides(dividing *d, const nw_expr *e) {
  if (e->op == NW_OP_SELECT)
    return divides(d, e->arg[0]) && branch(d, e->arg[0], e->arg[1]) &&
           branch(d, nw_apply(d->known.pool, NW_OP_NOT, 1, &e->arg[0]), e->arg[2]);
  for (int i = 0; i < e->n; i++)
    if (!divides(d, e->arg[i])) return false;
  return (e->op != NW_OP_FLOORDIV && e->op != NW_OP_FLOORMOD) || is_nonzero(d, e->arg[1]) || refuse(d, e);
}

static bool argument(dividing *d, nw_arg_kind kind, const nw_arg *a) {
  if (a->kind == NW_ARG_NONE || (kind != NW_ARG_EXPR && kind != NW_ARG_COND)) return true;
  return divides(d, a->expr[0]);
}

bool nw_args_divide(nw_step *st) {
  nw_path path;
  dividing d = {.st = st};
  bool ok = true;
  nw_ranges_around(&d.known, st->before, subject(st, &path) ? &path : NULL);
  for (int i = 0; i < nw_param_count(st->primitive) && ok; i++) {
    const nw_param *param = &st->primitive->param[i];
    const nw_arg *a = &st->resolved[i];
    d.param = param->name;
    ok = argument(&d, param->kind, a);
    for (int k = 0; ok && param->kind == NW_ARG_LIST && k < a->n; k++) ok = argument(&d, param->item, &a->item[k]);
  }
  nw_ranges_free(&d.known);
  return ok;
}
