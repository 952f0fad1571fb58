// Makes a compute. nw_compute_begin makes its axes, and nw_compute_end takes one body per output.
#include "ir/program/reducer.h"
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

// Makes axis i of a compute in progress. Returns false and leaves an error if its name or its range is not valid.
static bool make_axis(nw_teop *op, int i, const char *name, const nw_expr *lo, const nw_expr *extent) {
  char what[120], *axis = nw_te_name(op->ctx, "an axis", name, "i");
  if (!axis) return false;
  op->axis_name[op->naxes++] = axis;
  snprintf(what, sizeof what, "the extent of %.80s", axis);
  if (!(op->extent[i] = nw_te_extent(op->ctx, op->pool, extent, what))) return false;
  snprintf(what, sizeof what, "the start of %.80s", axis);
  if (op->lo && !(op->lo[i] = nw_te_extent(op->ctx, op->pool, lo, what))) return false;
  char *symbol = nw_symbol_name(op->ctx, axis, NULL);
  op->axis[i] = nw_var(op->pool, symbol);
  free(symbol);
  return true;
}

nw_build *nw_compute_begin(nw_ctx *c, const char *name, int naxes, const char *const *names,
                           const nw_expr *const *extents) {
  return nw_te_begin(c, name, naxes, names, NULL, extents);
}

nw_build *nw_te_begin(nw_ctx *c, const char *name, int naxes, const char *const *names, const nw_expr *const *lo,
                      const nw_expr *const *extents) {
  char *own = nw_te_name(c, "a tensor", name, "T");
  if (!own) return NULL;
  nw_pool *pool = nw_pool_new(c);
  nw_build *b = nw_xcalloc(1, sizeof *b);
  nw_teop *op = b->op = nw_teop_new(c, NW_TE_COMPUTE, own, pool);
  nw_pool_release(pool);
  free(own);
  b->ctx = c;
  b->outer = nw_pen_of(c)->build;
  nw_pen_of(c)->build = b;
  op->axis = nw_xcalloc((size_t)naxes + 1, sizeof *op->axis);
  op->axis_name = nw_xcalloc((size_t)naxes + 1, sizeof *op->axis_name);
  op->extent = nw_xcalloc((size_t)naxes + 1, sizeof *op->extent);
  op->lo = lo ? nw_xcalloc((size_t)naxes + 1, sizeof *op->lo) : NULL;
  for (int i = 0; i < naxes; i++)
    if (!make_axis(op, i, names ? names[i] : NULL, lo ? lo[i] : NULL, extents[i])) break;
  if (op->naxes == naxes && (!naxes || op->axis[naxes - 1]))
    nw_pen_turn(c); // not earlier, since this call may free the pool of the extents
  else
    nw_build_drop(b), b = NULL;
  return b;
}

const nw_expr *nw_build_axis(const nw_build *b, int i) { return i < 0 || i >= b->op->naxes ? NULL : b->op->axis[i]; }

// Removes b from the stack of computes in progress, and frees b.
void nw_build_drop(nw_build *b) {
  if (!b) return;
  nw_build **at = &nw_pen_of(b->ctx)->build;
  while (*at && *at != b) at = &(*at)->outer;
  if (*at) *at = b->outer;
  nw_teop_release(b->op);
  nw_tensor_release(b->of);
  nw_tensor_release(b->state);
  for (int i = 0; i < b->defs.n; i++) nw_tensor_release(b->defs.at[i]);
  nw_vec_free(&b->defs);
  nw_vec_free(&b->reads);
  nw_ctx *c = b->ctx;
  free(b);
  nw_pen_turn(c);
}

// ---- conditions on bodies

static bool no_reduction(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_REDUCE;
}

static bool own_axis(const nw_teop *op, const nw_expr *v) {
  for (int i = 0; i < op->naxes; i++)
    if (op->axis[i] == v) return true;
  for (int i = 0; i < op->nreduce; i++)
    if (!strcmp(op->reduce[i]->var->name, v->name)) return true;
  return nw_size_of(v) != NULL;
}

static bool check_var(void *env, const nw_expr *e) {
  const nw_teop *op = env;
  if (e->op != NW_OP_VAR || own_axis(op, e)) return true;
  char *name = nw_plain_name(NULL, e->name);
  if (nw_axis_of(e))
    nw_fail(op->ctx, NW_EINVAL, NULL, "%s uses the reduce axis %s outside a reduction over it", op->name, name);
  else
    nw_fail(op->ctx, NW_EINVAL, "use the axes this function was given", "%s is not an axis of %s%s", name, op->name,
            strchr(e->name, '@') ? ": it belongs to another compute" : "");
  free(name);
  return false;
}

static bool check_reduction_place(nw_teop *op, const nw_expr *body) {
  for (int i = 0; i < body->n; i++)
    if (!nw_visit(body->arg[i], no_reduction, NULL))
      return nw_fail(op->ctx, NW_EINVAL, "make it a separate stage",
                     "in %s, a reduction is part of a larger expression; it must be the whole body", op->name);
  return true;
}

// ---- the operation's bodies

static int terms_of(const nw_expr *reduce) {
  nw_combiner k = (nw_combiner)reduce->i;
  return k >= NW_OWN ? nw_reducer_of(nw_pool_ctx(reduce->pool), k)->n : nw_combiner_is_joint(k) ? 2 : 1;
}

static bool is_joint(const nw_expr *reduce) { return nw_combiner_is_joint((nw_combiner)reduce->i); }

static void take_axes(nw_teop *op, const nw_expr *reduce) {
  int nt = terms_of(reduce);
  op->combiner = (nw_combiner)reduce->i;
  op->nreduce = reduce->n - nt;
  op->reduce = nw_xcalloc((size_t)op->nreduce, sizeof *op->reduce);
  for (int i = 0; i < op->nreduce; i++) op->reduce[i] = nw_axis_retain(nw_axis_of(reduce->arg[nt + i]));
}

static bool same_reduction(const nw_expr *a, const nw_expr *b) {
  if (a->op != NW_OP_REDUCE && b->op != NW_OP_REDUCE) return true;
  if (a->op != b->op) return false;
  int nt = terms_of(a);
  if (a->i != b->i || a->n != b->n || is_joint(a)) return false;
  return !memcmp(a->arg + nt, b->arg + nt, sizeof *a->arg * (size_t)(a->n - nt));
}

static bool check_bodies(nw_teop *op, int n, const nw_expr *const *bodies) {
  const char *hint = "return an expression";
  if (n < 1) return nw_fail(op->ctx, NW_EINVAL, hint, "the function of %s returned nothing", op->name);
  for (int i = 0; i < n; i++) {
    if (!bodies[i]) return nw_fail(op->ctx, NW_EINVAL, hint, "the function of %s returned nothing", op->name);
    if (!check_reduction_place(op, bodies[i])) return false;
    if (i && !same_reduction(bodies[0], bodies[i]))
      return nw_fail(op->ctx, NW_EINVAL, "make a compute for each", "the outputs of %s do not share one reduction",
                     op->name);
  }
  return true;
}

static void set_bodies(nw_teop *op, int n, const nw_expr *const *bodies) {
  bool reduce = bodies[0]->op == NW_OP_REDUCE, joint = reduce && is_joint(bodies[0]);
  op->nout = joint ? terms_of(bodies[0]) : n;
  op->body = nw_xcalloc((size_t)op->nout, sizeof *op->body);
  op->dtype = nw_xcalloc((size_t)op->nout, sizeof *op->dtype);
  if (reduce) take_axes(op, bodies[0]);
  for (int i = 0; i < op->nout; i++) {
    op->body[i] = !reduce ? bodies[i] : joint ? bodies[0]->arg[i] : bodies[i]->arg[0];
    op->dtype[i] = op->body[i]->type.dtype;
  }
  op->ndim = op->naxes;
  op->shape = nw_xcalloc((size_t)op->ndim + 1, sizeof *op->shape);
  if (op->ndim) memcpy(op->shape, op->extent, sizeof *op->shape * (size_t)op->ndim);
}

typedef struct read_list {
  nw_vec v;
  nw_teop *op;
} read_list;

static void add_once(nw_vec *v, void *t) {
  for (int i = 0; i < v->n; i++)
    if (v->at[i] == t) return;
  nw_vec_push(v, t);
}

static bool collect_read(void *env, const nw_expr *e) {
  read_list *l = env;
  nw_tensor *t = e->op == NW_OP_LOAD ? nw_tensor_of(e) : NULL;
  if (!t) return true;
  add_once(&l->v, t);
  if (t->op->is_state || t->op->deferred) l->op->deferred = true;
  return true;
}

// Lists the tensors that the bodies read, in the order in which the user wrote the reads. `written` has the tensors
// that were read since the compute began. A body may also contain an expression that was made before the compute began.
// The tensors of such an expression come last.
static void set_reads(nw_teop *op, const nw_vec *written) {
  read_list in = {.op = op};
  nw_vec order = {0};
  for (int i = 0; i < op->nout; i++) nw_visit(op->body[i], collect_read, &in);
  nw_visit(op->target, collect_read, &in);
  for (int i = 0; i < written->n; i++)
    for (int j = 0; j < in.v.n; j++)
      if (written->at[i] == in.v.at[j]) nw_vec_push(&order, in.v.at[j]);
  for (int j = 0; j < in.v.n; j++) add_once(&order, in.v.at[j]);
  nw_vec_free(&in.v);
  op->nreads = order.n;
  op->reads = (nw_tensor **)order.at;
}

// Returns the name of an output. A single output has the name of its compute.
char *nw_te_output_name(const nw_teop *op, const char *name, int out) {
  nw_str b = {0};
  bool own = op->combiner >= NW_OWN, arg = !own && nw_combiner_is_joint(op->combiner);
  nw_str_add(&b, name);
  if (op->nout > 1 && own) nw_str_fmt(&b, ".%s", nw_reducer_of(op->ctx, op->combiner)->part[out]);
  if (op->nout > 1 && arg) nw_str_add(&b, out ? ".index" : ".value");
  if (op->nout > 1 && !arg && !own) nw_str_fmt(&b, ".v%d", out);
  return nw_str_take(&b);
}

static void name_outputs(nw_teop *op, nw_tensor **outputs) {
  for (int i = 0; i < op->nout; i++) {
    char *name = nw_te_output_name(op, op->name, i);
    outputs[i] = nw_tensor_new(op, i, name);
    free(name);
  }
}

// Checks the reads of a compute. An update of a scan reads its state at earlier times, which do not exist at time 0.
// Only nw_scan knows whether a compute is an update. So if the compute may be an update, its errors are reported later.
// All other errors are reported here.
static bool check_bounds(nw_teop *op) {
  nw_ctx *c = op->ctx;
  bool clean = !nw_error(c);
  if (nw_te_check(op, NULL)) return true;
  if (!clean || nw_error(c)->code != NW_ERANGE || !nw_te_looks_like_update(op)) return false;
  nw_clear(c);
  return op->deferred = true;
}

bool nw_te_fill(nw_teop *op, const nw_vec *written, int n, const nw_expr *const *bodies) {
  if (!check_bodies(op, n, bodies)) return false;
  set_bodies(op, n, bodies);
  for (int i = 0; i < op->nout; i++)
    if (!op->target && !nw_te_addressable(op, i)) return false;
  for (int i = 0; i < op->nout; i++)
    if (!nw_visit(op->body[i], check_var, op)) return false;
  if (!nw_visit(op->target, check_var, op) || !nw_visit(op->when, check_var, op)) return false;
  set_reads(op, written);
  return true;
}

static bool finish(nw_teop *op, const nw_vec *written, int n, const nw_expr *const *bodies) {
  if (!nw_te_fill(op, written, n, bodies) || !(op->deferred || check_bounds(op))) return false;
  return !op->call.in || op->deferred || nw_te_check_call(op);
}

// Ends the build in every case, even on failure. `outputs` must have space for max(nbodies, NW_MAX_REDUCED) tensors.
int nw_compute_end(nw_build *b, int nbodies, const nw_expr *const *bodies, nw_tensor **outputs) {
  if (!b) return 0;
  nw_teop *op = b->op;
  const nw_expr **own = nw_xcalloc((size_t)nbodies + 1, sizeof *own);
  int made = 0;
  for (int i = 0; i < nbodies; i++) own[i] = bodies[i] ? nw_import(op->pool, bodies[i]) : NULL;
  if (finish(op, &b->reads, nbodies, own)) {
    name_outputs(op, outputs);
    made = op->nout;
  }
  free(own);
  nw_build_drop(b);
  return made;
}
