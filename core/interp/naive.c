// Evaluates each operation into whole arrays. Handles elementwise operations, scans, updates, and reads of other
// operations.
#include "interp/naive.h"
#include "ir/program/reducer.h"
#include "te/internal.h"
#include <stdlib.h>

// ---- reads

// Returns the position of the element that a read accesses, or -1 after a failure.
static int64_t position(nwi_run *r, const nwi_node *n, const nwi_op *o) {
  int64_t at = 0;
  for (int d = 0; d < n->nargs; d++) {
    int64_t i = nwi_int(r, n->arg[d]);
    if (i < 0 || i >= o->shape[d]) {
      nwi_fail(r, NW_ERANGE, "%s is read at index %lld of dimension %d (extent %lld)", o->op->name, (long long)i, d,
               (long long)o->shape[d]);
      return -1;
    }
    at = at * o->shape[d] + i;
  }
  return at;
}

static void load(nwi_run *r, nwi_node *n) {
  nwi_naive *x = r->host;
  nwi_op *o = n->buffer;
  int out = n->slot;
  int64_t at = position(r, n, o);
  n->v->i = 0;
  if (at < 0) return;
  if (o->whole) return nwi_read(o->op->dtype[out], o->data[out], at, n->v);
  const nwi_cell *v = nwi_point(x, o, at);
  if (v) *n->v = v[out];
}

bool nwi_naive_load(nwi_scope *s, nwi_node *n) {
  nw_tensor *t = nw_tensor_of(n->expr);
  n->buffer = t ? nwi_op_of(s->host, t->op) : NULL;
  n->slot = t ? t->out : 0;
  n->eval = load;
  return n->buffer || nw_fail(s->ctx, NW_EINVAL, NULL, "something that is not a tensor is read");
}

// ---- operations

static int new_slots(nwi_naive *x, int n) {
  int first = x->nslots;
  x->nslots += n;
  if (x->nslots > x->cap) {
    x->cap = x->nslots * 2 + 16;
    x->run.slot = nw_xrealloc(x->run.slot, sizeof *x->run.slot * (size_t)x->cap);
  }
  for (int i = first; i < x->nslots; i++) x->run.slot[i] = 0;
  return first;
}

static bool set_shape(nwi_naive *x, nwi_op *o) {
  const nw_teop *op = o->op;
  o->shape = NW_NEW_N(x->arena, int64_t, op->ndim + 1);
  o->count = 1;
  for (int d = 0; d < op->ndim; d++) {
    nwi_node *n = nwi_make(&x->scope, op->shape[d]);
    if (!n) return false;
    nwi_turn(&x->run);
    o->shape[d] = nwi_int(&x->run, n);
    if (o->shape[d] < 0) o->shape[d] = 0;
    if (__builtin_mul_overflow(o->count, o->shape[d], &o->count))
      return nw_fail(x->run.ctx, NW_ERANGE, NULL, "%s is too large", op->name);
  }
  return true;
}

// Makes the nodes of a reducer that a user has defined.
static bool make_combination(nwi_naive *x, nwi_op *o) {
  const nw_teop *op = o->op;
  const nw_reducer *r = nw_reducer_of(x->run.ctx, op->combiner);
  nwi_scope *s = &x->scope;
  bool ok = true;
  o->combine = NW_NEW_N(x->arena, nwi_node *, r->n);
  o->states = new_slots(x, 2 * r->n);
  for (int i = 0; i < 2 * r->n; i++)
    nwi_bind(s, nw_reducer_var(op->pool, i >= r->n, i % r->n, r->dtype[i % r->n])->name, o->states + i);
  for (int i = 0; i < r->n; i++) ok = (o->combine[i] = nwi_make(s, nw_import(op->pool, r->combine[i]))) && ok;
  for (int i = 0; i < 2 * r->n; i++) nwi_unbind(s);
  return ok;
}

static bool make_definition(nwi_naive *x, nwi_op *o) {
  const nw_teop *op = o->op;
  nwi_scope *s = &x->scope;
  bool ok = (o->target = nwi_make(s, op->target)) && (!op->when || (o->when = nwi_make(s, op->when)));
  o->start = NW_NEW_N(x->arena, int64_t, op->naxes + 1);
  for (int i = 0; i < op->naxes && ok; i++) {
    nwi_node *lo = nwi_make(s, op->lo[i]);
    ok = lo != NULL;
    nwi_turn(&x->run);
    if (ok) o->start[i] = nwi_int(&x->run, lo);
  }
  return ok;
}

static bool make_bodies(nwi_naive *x, nwi_op *o) {
  const nw_teop *op = o->op;
  nwi_scope *s = &x->scope;
  bool ok = true;
  o->axis = new_slots(x, op->naxes);
  o->reduce = new_slots(x, op->nreduce);
  for (int i = 0; i < op->naxes; i++) nwi_bind(s, op->axis[i]->name, o->axis + i);
  for (int i = 0; i < op->nreduce; i++) nwi_bind(s, op->reduce[i]->var->name, o->reduce + i);
  nwi_node **all = NW_NEW_N(x->arena, nwi_node *, 2 * op->nout + 4 * op->nreduce + 1);
  o->body = all, o->identity = all + op->nout, o->lo = o->identity + op->nout, o->extent = o->lo + op->nreduce;
  o->from = o->extent + op->nreduce, o->to = o->from + op->nreduce;
  // If this operation reads another operation, the calls below also make the nodes of that operation. Those nodes must
  // not be mixed with the nodes of this operation.
  nw_vec made_expr = s->expr, made_node = s->node;
  s->expr = s->node = (nw_vec){0};
  for (int k = 0; k < op->nout; k++) ok = (o->body[k] = nwi_make(s, op->body[k])) && ok;
  for (int k = 0; k < op->nout && op->combiner != NW_PLAIN; k++)
    ok = (o->identity[k] = nwi_make(s, nw_combiner_identity(op->pool, op->combiner, op->dtype[k], k))) && ok;
  if (op->combiner >= NW_OWN) ok = make_combination(x, o) && ok;
  for (int i = 0; i < op->nreduce; i++) {
    ok = (o->lo[i] = nwi_make(s, op->reduce[i]->lo)) && ok;
    ok = (o->extent[i] = nwi_make(s, op->reduce[i]->extent)) && ok;
    if (op->reduce[i]->from) ok = (o->from[i] = nwi_make(s, op->reduce[i]->from)) && ok;
    if (op->reduce[i]->to) ok = (o->to[i] = nwi_make(s, op->reduce[i]->to)) && ok;
  }
  ok = ok && (!op->target || make_definition(x, o));
  nw_vec_free(&s->expr), nw_vec_free(&s->node);
  s->expr = made_expr, s->node = made_node;
  return ok;
}

nwi_op *nwi_op_of(nwi_naive *x, const nw_teop *op) {
  for (int i = 0; i < x->op.n; i++)
    if (((nwi_op *)x->op.at[i])->op == op) return x->op.at[i];
  nwi_op *o = NW_NEW(x->arena, nwi_op);
  o->op = op;
  o->data = NW_NEW_N(x->arena, char *, op->nout + 1);
  o->own = NW_NEW_N(x->arena, bool, op->nout + 1);
  nw_vec_push(&x->op, o);
  if (!set_shape(x, o)) return NULL;
  if (op->kind == NW_TE_COMPUTE && !make_bodies(x, o)) return NULL;
  return o;
}

// ---- whole arrays

static bool make_arrays(nwi_naive *x, nwi_op *o) {
  for (int k = 0; k < o->op->nout; k++) {
    if (o->data[k]) continue;
    o->data[k] = nw_ask(x->run.ctx, o->op->name, (uint64_t)o->count, (uint64_t)nw_dtype_bytes(o->op->dtype[k]));
    if (!o->data[k]) return false;
    o->own[k] = true;
  }
  return true;
}

// Calls f in row-major order for all points of the axes of o, beginning with axis number `axis`. `at` is the linear
// position of the current point in the earlier axes.
typedef bool (*each_fn)(nwi_naive *x, nwi_op *o, int64_t at, void *env);

static bool each(nwi_naive *x, nwi_op *o, int axis, int64_t at, each_fn f, void *env) {
  if (axis == o->op->naxes) return !nwi_stop(&x->run) && f(x, o, at, env);
  for (int64_t i = 0; i < o->shape[axis]; i++) {
    x->run.slot[o->axis + axis] = (o->start ? o->start[axis] : 0) + i;
    if (!each(x, o, axis + 1, at * o->shape[axis] + i, f, env)) return false;
  }
  return true;
}

static bool write_element(nwi_naive *x, nwi_op *o, int64_t at, void *env) {
  nwi_cell *v = env;
  if (!nwi_element(x, o, v)) return false;
  for (int k = 0; k < o->op->nout; k++) nwi_write(o->op->dtype[k], o->data[k], at, &v[k]);
  return true;
}

static bool whole_reads(nwi_naive *x, const nw_teop *op, const nw_teop *scan) {
  for (int i = 0; i < op->nreads; i++) {
    const nw_teop *r = op->reads[i]->op;
    bool state = false;
    for (int k = 0; scan && k < scan->ndefs; k++) state |= scan->state[k]->op == r;
    nwi_op *o = state ? NULL : nwi_op_of(x, r);
    if (!state && (!o || !nwi_whole(x, o))) return false;
  }
  return true;
}

// ---- scans

typedef struct updating {
  nwi_op *scan;
  nwi_cell *v;
} updating;

static bool write_update(nwi_naive *x, nwi_op *u, int64_t at, void *env) {
  updating *w = env;
  const nw_teop *scan = w->scan->op;
  if (!nwi_element(x, u, w->v)) return false;
  for (int k = 0; k < scan->nout; k++)
    if (scan->update[k]->op == u->op) nwi_write(scan->dtype[k], w->scan->data[k], at, &w->v[scan->update[k]->out]);
  return true;
}

static bool copy_init(nwi_naive *x, nwi_op *o, int k, int64_t *rows) {
  const nw_teop *scan = o->op;
  nwi_op *init = nwi_op_of(x, scan->init[k]->op);
  if (!init || !nwi_whole(x, init)) return false;
  *rows = init->shape[0];
  memcpy(o->data[k], init->data[scan->init[k]->out], (size_t)init->count * (size_t)nw_dtype_bytes(scan->dtype[k]));
  return true;
}

// Lets the definition k of a scan or of an update read the array of its stage, which is output number `out`.
static bool prepare_update(nwi_naive *x, nwi_op *o, int k, int out) {
  nwi_op *state = nwi_op_of(x, o->op->state[k]->op), *u = nwi_op_of(x, o->op->update[k]->op);
  if (!state || !u) return false;
  state->data[0] = o->data[out];
  state->whole = true;
  return x->points || whole_reads(x, u->op, o->op);
}

// ---- the parts of a scan that have other arrays while it runs: its states, and the stages inside it

typedef struct arrays {
  nwi_op *o;
  char **data;
  bool *own, whole;
} arrays;

static arrays set_aside(nwi_naive *x, nwi_op *o) {
  arrays old = {o, o->data, o->own, o->whole};
  o->data = NW_NEW_N(x->arena, char *, o->op->nout + 1);
  o->own = NW_NEW_N(x->arena, bool, o->op->nout + 1);
  o->whole = false;
  return old;
}

static void put_back(const arrays *old) {
  nwi_op *o = old->o;
  for (int k = 0; k < o->op->nout; k++)
    if (o->own[k]) nw_let_go(o->data[k]);
  o->data = old->data, o->own = old->own, o->whole = old->whole;
}

// Gives a stage inside a scan arrays for all times. The scan fills them row by row.
static bool prepare_inner(nwi_naive *x, const nw_teop *scan, int i) {
  nwi_op *o = nwi_op_of(x, scan->inner[i].op);
  if (!make_arrays(x, o)) return false;
  o->whole = true;
  return x->points || whole_reads(x, o->op, scan);
}

static bool is_first(const nw_teop *scan, int k) {
  for (int j = 0; j < k; j++)
    if (scan->update[j]->op == scan->update[k]->op) return false;
  return true;
}

// Computes the elements at time t of an update of a scan. If `scan` is NULL, o is a stage inside a scan.
static bool step_row(nwi_naive *x, nwi_op *o, int64_t t, nwi_op *scan) {
  updating w = {scan, nw_xcalloc((size_t)o->op->nout, sizeof *w.v)};
  x->run.slot[o->axis] = t;
  bool ok = scan ? each(x, o, 1, t, write_update, &w) : each(x, o, 1, t, write_element, w.v);
  free(w.v);
  return ok;
}

static bool step(nwi_naive *x, nwi_op *o, int64_t t) {
  for (int k = 0, i = 0; k < o->op->nout; k++) {
    nwi_op *u = nwi_op_of(x, o->op->update[k]->op);
    if (!is_first(o->op, k)) continue;
    for (; i < o->op->ninner && o->op->inner[i].turn == k; i++)
      if (!step_row(x, nwi_op_of(x, o->op->inner[i].op), t, NULL)) return false;
    if (!step_row(x, u, t, o)) return false;
  }
  return true;
}

// Runs the steps of time after the first rows.
static bool run_steps(nwi_naive *x, nwi_op *o, int64_t rows) {
  for (int i = 0; i < o->op->ninner; i++)
    if (!prepare_inner(x, o->op, i)) return false;
  for (int k = 0; k < o->op->nout; k++)
    if (!prepare_update(x, o, k, k)) return false;
  for (int64_t t = rows; t < o->shape[0]; t++)
    if (!step(x, o, t)) return false;
  return true;
}

static bool whole_scan(nwi_naive *x, nwi_op *o) {
  const nw_teop *scan = o->op;
  int n = 0;
  bool ok = true;
  int64_t rows = 0;
  for (int k = 0; k < scan->nout; k++)
    if (!copy_init(x, o, k, &rows)) return false;
  arrays *old = nw_xcalloc((size_t)(scan->nout + scan->ninner), sizeof *old);
  for (int i = 0; i < scan->nout + scan->ninner && ok; i++) {
    nwi_op *part = nwi_op_of(x, i < scan->nout ? scan->state[i]->op : scan->inner[i - scan->nout].op);
    ok = part != NULL;
    if (ok) old[n++] = set_aside(x, part);
  }
  ok = ok && run_steps(x, o, rows);
  while (n > 0 && !NW_MUTATED(naive_scan_leaks)) put_back(&old[--n]);
  free(old);
  return ok;
}

// ---- updates

// Writes the element of a definition at the current axes, if its condition holds there.
static bool write_definition(nwi_naive *x, nwi_op *def, int64_t at, void *env) {
  nwi_op *stage = env;
  nwi_cell v;
  nwi_turn(&x->run);
  if (def->when && !nwi_int(&x->run, def->when)) return true;
  at = position(&x->run, def->target, stage);
  if (at < 0 || !nwi_element(x, def, &v)) return false;
  nwi_write(stage->op->dtype[0], stage->data[0], at, &v);
  return true;
}

// Runs the definitions first..last-1 of an update inside their `level` outermost loops, which they share.
static bool run_definitions(nwi_naive *x, nwi_op *o, int first, int last, int level) {
  nw_tensor *const *def = o->op->update;
  for (int d = first, end; d < last; d = end) {
    nwi_op *one = nwi_op_of(x, def[d]->op);
    for (end = d + 1; end < last && def[end]->op->shared > level;) end++;
    if (end == d + 1) {
      if (!each(x, one, level, 0, write_definition, o)) return false;
      continue;
    }
    for (int64_t i = 0; i < one->shape[level]; i++) {
      for (int k = d; k < end; k++) {
        nwi_op *same = nwi_op_of(x, def[k]->op);
        x->run.slot[same->axis + level] = one->start[level] + i;
      }
      if (!run_definitions(x, o, d, end, level + 1)) return false;
    }
  }
  return true;
}

// Computes the scans and updates that op reads, also through other operations. If op is a definition of a stage,
// `stage` is this stage: its own states are not computed here.
static bool settle_reads(nwi_naive *x, const nw_teop *op, const nw_teop *stage) {
  for (int i = 0; i < op->nreads; i++) {
    const nw_teop *r = op->reads[i]->op;
    nwi_op *o = nw_te_is_state(stage, r) ? NULL : nwi_op_of(x, r);
    if (nw_te_is_state(stage, r) || (o && o->settled)) continue;
    if (!o) return false;
    o->settled = true;
    if (r->ndefs ? !nwi_whole(x, o) : !settle_reads(x, r, stage)) return false;
  }
  return true;
}

// Prepares all definitions of an update. First, everything that the definitions read is computed. Only then do they get
// the array of their stage. The order matters because two stages may share the same definitions: the computation of the
// other stage sets the states to its own array.
static bool prepare_definitions(nwi_naive *x, nwi_op *o) {
  for (int k = 0; k < o->op->ndefs && !NW_MUTATED(states_early); k++) {
    nwi_op *u = nwi_op_of(x, o->op->update[k]->op);
    if (!u || !(x->points ? settle_reads(x, u->op, o->op) : whole_reads(x, u->op, o->op))) return false;
  }
  for (int k = 0; k < o->op->ndefs; k++)
    if (!prepare_update(x, o, k, 0)) return false;
  return true;
}

static bool whole_update(nwi_naive *x, nwi_op *o) {
  int64_t rows;
  if (!copy_init(x, o, 0, &rows)) return false;
  return prepare_definitions(x, o) && run_definitions(x, o, 0, o->op->ndefs, 0);
}

static bool whole_compute(nwi_naive *x, nwi_op *o) {
  if (!x->points && !whole_reads(x, o->op, NULL)) return false;
  nwi_cell *v = nw_xcalloc((size_t)o->op->nout, sizeof *v);
  bool ok = each(x, o, 0, 0, write_element, v);
  free(v);
  return ok;
}

bool nwi_whole(nwi_naive *x, nwi_op *o) {
  if (o->whole) return true;
  if (o->op->kind == NW_TE_PLACEHOLDER)
    return nw_fail(x->run.ctx, NW_EINVAL, NULL, "there is no data for %s", o->op->name);
  if (!make_arrays(x, o)) return false;
  nw_teop_kind kind = o->op->kind;
  bool ok = kind == NW_TE_SCAN ? whole_scan(x, o) : kind == NW_TE_UPDATE ? whole_update(x, o) : whole_compute(x, o);
  return o->whole = ok;
}
