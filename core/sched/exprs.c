// Prepares expressions that are arguments of a step. Converts the user's text or expressions to expressions in the
// program's sizes and loops.
#include "sched/args.h"
#include "sched/empty.h"

typedef struct reading {
  nw_step *st;
  const nw_param *param;
  nw_vec sizes; // nw_te_size*, in the order of the program's sizes
  const char *unknown;
} reading;

static bool is_size(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, name)) return true;
  return false;
}

// Replaces a size of the user, whose symbol has a number (M@3), by the size M of the program.
static const nw_expr *program_var(void *env, const nw_expr *v) {
  reading *r = env;
  const nw_program *p = r->st->before;
  for (int i = 0; i < r->sizes.n && i < p->nsizes; i++)
    if (!strcmp(((nw_te_size *)r->sizes.at[i])->symbol, v->name)) return nw_var(p->pool, p->size[i].name);
  if (!is_size(p, v->name) && !nw_find_loop(p, v->name) && !nw_empty_loop(r->st->sched, v->name)) r->unknown = v->name;
  return nw_var(p->pool, v->name);
}

static const nw_expr *fail(const reading *r, const char *hint, const char *what, const char *name) {
  return nw_fail(r->st->ctx, NW_EINVAL, hint, "%s: %s %s%.*s", r->st->primitive->name, r->param->name, what,
                 name ? (int)strcspn(name, "@") : 0, name ? name : "");
}

// Reports an unknown size. If the program has a size with the same name, the error says that these are two different
// sizes.
static const nw_expr *fail_unknown(const reading *r, const char *name) {
  char *plain = nw_arena_strndup(r->st->scratch, name, strcspn(name, "@"));
  if (strchr(name, '@') && is_size(r->st->before, plain))
    return fail(r, "each call of nw.size makes a new size: use the size object of the computation",
                "uses a size that is not the program's: two different sizes are named ", plain);
  bool sizes = r->param->kind == NW_ARG_SIZE || r->param->item == NW_ARG_SIZE;
  return fail(r, NULL,
              sizes ? "may use only numbers and sizes; the program has no size named "
                    : "may use only sizes and loops; the program has none named ",
              name);
}

// Parses the text. If the text is invalid, reports an error that names the argument.
static const nw_expr *parsed(const reading *r, const char *text) {
  const nw_expr *e = nw_expr_parse(r->st->before->pool, text);
  if (e) return e;
  const char *why = nw_arena_strdup(r->st->scratch, nw_error(r->st->ctx)->message);
  nw_clear(r->st->ctx);
  return nw_fail(r->st->ctx, NW_EINVAL, r->st->primitive->example, "%s: %s = \"%s\" cannot be parsed: %s",
                 r->st->primitive->name, r->param->name, text, why);
}

static bool is_whole(void *env, const nw_expr *e) {
  (void)env;
  return !nw_dtype_is_float((nw_dtype)e->type.dtype);
}

static const nw_expr *checked(reading *r, nw_arg_kind kind, const nw_expr *e) {
  bool cond = kind == NW_ARG_COND;
  if (e->type.lanes != 1 || e->type.dtype != (cond ? NW_BOOL : NW_INDEX))
    return fail(r, r->st->primitive->example, cond ? "must be a condition" : "must be a whole number", NULL);
  if (nw_uses_load(e, NULL)) return fail(r, NULL, "may use only sizes and loops, not tensors", NULL);
  if (!nw_visit(e, is_whole, NULL)) return fail(r, "write 8, not 8.0", "may use only whole numbers", NULL);
  e = nw_rewrite(r->st->before->pool, e, program_var, NULL, r);
  if (r->unknown) return fail_unknown(r, r->unknown);
  return e;
}

bool nw_arg_written(nw_step *st, const nw_param *param, nw_arg *a) {
  reading r = {.st = st, .param = param, .sizes = nw_te_sizes(st->sched->noutputs, st->sched->output)};
  const nw_expr *e = a->expr ? a->expr[0] : parsed(&r, a->name), **own = NW_NEW(st->scratch, const nw_expr *);
  if (e) e = checked(&r, a->kind, e);
  nw_vec_free(&r.sizes);
  *own = e;
  a->expr = own;
  a->n = 1;
  a->name = NULL;
  return e != NULL;
}

static bool see_size(void *env, const nw_expr *e) { return e->op != NW_OP_VAR || is_size(env, e->name); }

bool nw_expr_of_sizes(nw_step *st, const nw_param *param, const nw_expr *e) {
  if (nw_visit(e, see_size, (void *)st->before)) return true;
  return nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "%s: %s may use only sizes, not loops",
                 st->primitive->name, param->name);
}

// ---- the position of use

typedef struct outsiders {
  const nw_program *p;
  const nw_path *path;
  int loops; // number of statements of the path whose loops may be used
  const char *other;
} outsiders;

static bool see_var(void *env, const nw_expr *e) {
  outsiders *o = env;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < o->p->nsizes; i++)
    if (!strcmp(o->p->size[i].name, e->name)) return true;
  for (int i = 0; i < o->loops; i++)
    if (o->path->at[i]->kind == NW_LOOP && o->path->at[i]->loop.var == e) return true;
  o->other = e->name;
  return false;
}

bool nw_expr_known_at(nw_step *st, const nw_expr *e, const char *what, const nw_path *path) {
  outsiders o = {st->p, path, path->n - 1, NULL};
  if (nw_visit(e, see_var, &o)) return true;
  nw_fail(st->ctx, NW_EINVAL, NULL, "%s: %s may use only sizes and loops around %s; %s is neither", st->primitive->name,
          what, path->at[path->n - 1]->loop.var->name, o.other);
  return false;
}

bool nw_expr_known_in(nw_step *st, const nw_expr *e, const char *what, const nw_path *path) {
  outsiders o = {st->p, path, path->n, NULL};
  if (nw_visit(e, see_var, &o)) return true;
  return nw_fail(st->ctx, NW_EINVAL, NULL, "%s: %s may use only sizes, %s and the loops around it; %s is none of them",
                 st->primitive->name, what, path->at[path->n - 1]->loop.var->name, o.other);
}
