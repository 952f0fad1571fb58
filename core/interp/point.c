// Holds the entry points for evaluating the definition of tensors without a program. Also evaluates single elements on
// demand.
#include "interp/naive.h"
#include "interp/values.h"
#include <stdlib.h>

// ---- single elements that were computed: a hash table in o->memo, at most half full

typedef struct slot {
  int64_t key; // position of the element plus 1; 0 for a free slot
  nwi_cell *v;
} slot;

static slot *find(nw_vec *table, int64_t at) {
  uint64_t h = nw_hash_mix(0, (uint64_t)at) >> 32;
  for (;; h++) {
    slot *s = (slot *)table->at + (h & (uint64_t)(table->cap - 1));
    if (!s->key || s->key == at + 1) return s;
  }
}

// Doubles the table if it is half full. A vector is used as the hash table: its array `at` has `cap` slots.
static void make_room(nw_vec *table) {
  if (table->n * 2 < table->cap) return;
  nw_vec old = *table;
  *table = (nw_vec){.n = old.n, .cap = old.cap ? old.cap * 2 : 64};
  table->at = nw_xask((uint64_t)table->cap, sizeof(slot));
  for (int i = 0; i < old.cap; i++) {
    slot *s = (slot *)old.at + i;
    if (s->key) *find(table, s->key - 1) = *s;
  }
  nw_let_go(old.at);
}

static void set_axes(nwi_naive *x, const nwi_op *o, int64_t at) {
  for (int d = o->op->naxes - 1; d >= 0; d--) {
    x->run.slot[o->axis + d] = at % o->shape[d];
    at /= o->shape[d];
  }
}

const nwi_cell *nwi_point(nwi_naive *x, nwi_op *o, int64_t at) {
  nw_vec *table = &o->memo;
  make_room(table);
  slot *s = find(table, at);
  if (s->key) return s->v;
  nwi_cell *v = NW_NEW_N(x->arena, nwi_cell, o->op->nout);
  if (o->op->kind == NW_TE_COMPUTE) {
    set_axes(x, o, at);
    if (!nwi_element(x, o, v)) return NULL;
  } else {
    uint64_t epoch = x->run.epoch;
    if (!nwi_whole(x, o)) return x->run.failed = true, NULL;
    x->run.epoch = epoch;
    for (int k = 0; k < o->op->nout; k++) nwi_read(o->op->dtype[k], o->data[k], at, &v[k]);
  }
  *s = (slot){at + 1, v};
  table->n++;
  return v;
}

// ---- setting up

static bool bind_sizes(nwi_naive *x, int n, nw_tensor *const *outputs, const char *const *names, const int64_t *values,
                       int count) {
  nw_vec sizes = nw_te_sizes(n, outputs);
  bool ok = true;
  x->cap = sizes.n + 16;
  x->run.slot = nw_xcalloc((size_t)x->cap, sizeof *x->run.slot);
  x->nslots = sizes.n;
  for (int i = 0; i < sizes.n && ok; i++) {
    const nw_te_size *s = sizes.at[i];
    char *name = nw_te_size_name(&sizes, i);
    int k = 0;
    while (k < count && strcmp(names[k], name) && strcmp(names[k], s->symbol)) k++;
    ok = k < count || nw_fail(x->run.ctx, NW_EINVAL, NULL, "the size %s has no value", name);
    if (ok) x->run.slot[i] = values[k];
    nwi_bind(&x->scope, nw_arena_strdup(x->arena, s->symbol), i);
    free(name);
  }
  nw_vec_free(&sizes);
  return ok;
}

static bool attach_input(nwi_naive *x, const nw_teop *op, const nw_view *v) {
  nwi_op *o = nwi_op_of(x, op);
  if (!o) return false;
  if (v->dtype != op->dtype[0] || v->count < o->count)
    return nw_fail(x->run.ctx, NW_EINVAL, NULL, "%s needs %lld elements of %s", op->name, (long long)o->count,
                   nw_dtype_name(op->dtype[0]));
  o->data[0] = v->data;
  return o->whole = true;
}

static bool attach_inputs(nwi_naive *x, int n, nw_tensor *const *outputs, int ninputs, const nw_view *inputs) {
  nw_vec order = nw_te_order(n, outputs);
  bool ok = true;
  int used = 0;
  for (int i = 0; i < order.n && ok; i++) {
    const nw_teop *op = order.at[i];
    if (op->kind != NW_TE_PLACEHOLDER) continue;
    ok = used < ninputs || nw_fail(x->run.ctx, NW_EINVAL, NULL, "there is no data for %s", op->name);
    ok = ok && attach_input(x, op, &inputs[used++]);
  }
  nw_vec_free(&order);
  return ok;
}

static void start(nwi_naive *x, nw_ctx *c) {
  *x = (nwi_naive){.arena = nw_arena_scratch()};
  x->run = (nwi_run){.ctx = c, .host = x};
  x->scope = (nwi_scope){.arena = x->arena, .ctx = c, .load = nwi_naive_load, .host = x};
}

static void finish(nwi_naive *x) {
  for (int i = 0; i < x->op.n; i++) {
    nwi_op *o = x->op.at[i];
    for (int k = 0; k < o->op->nout; k++)
      if (o->own[k]) nw_let_go(o->data[k]);
    nw_let_go(o->memo.at);
  }
  nw_vec_free(&x->op);
  nwi_scope_free(&x->scope);
  free(x->run.slot);
  nw_arena_free(x->arena);
}

static bool attach_output(nwi_naive *x, nw_tensor *t, nw_view *v) {
  nwi_op *o = nwi_op_of(x, t->op);
  if (!o) return false;
  if (v->dtype != nw_tensor_dtype(t) || v->count < o->count)
    return nw_fail(x->run.ctx, NW_EINVAL, NULL, "the result %s needs %lld elements of %s", t->name, (long long)o->count,
                   nw_dtype_name(nw_tensor_dtype(t)));
  if (!o->data[t->out]) o->data[t->out] = v->data;
  return true;
}

// Computes an output. If the same output is requested twice, it is computed once and then copied. Returns false on
// failure.
static bool copy_output(nwi_naive *x, nw_tensor *t, nw_view *v) {
  nwi_op *o = nwi_op_of(x, t->op);
  if (!nwi_whole(x, o)) return false;
  size_t bytes = (size_t)o->count * (size_t)nw_dtype_bytes(nw_tensor_dtype(t));
  if (o->data[t->out] != v->data) memcpy(v->data, o->data[t->out], bytes);
  return true;
}

bool nw_naive_eval(nw_ctx *c, int n, nw_tensor *const *outputs, const char *const *size_names, const int64_t *sizes,
                   int nsizes, int ninputs, const nw_view *inputs, nw_view *out) {
  nwi_naive x;
  start(&x, c);
  bool ok = bind_sizes(&x, n, outputs, size_names, sizes, nsizes) && attach_inputs(&x, n, outputs, ninputs, inputs);
  for (int i = 0; i < n && ok; i++) ok = attach_output(&x, outputs[i], &out[i]);
  for (int i = 0; i < n && ok; i++) ok = copy_output(&x, outputs[i], &out[i]);
  finish(&x);
  return ok;
}

static bool inside(nwi_naive *x, const nwi_op *o, const int64_t *index, int64_t *at) {
  *at = 0;
  for (int d = 0; d < o->op->ndim; d++) {
    if (index[d] < 0 || index[d] >= o->shape[d])
      return nw_fail(x->run.ctx, NW_ERANGE, NULL, "%s has no element at index %lld of dimension %d", o->op->name,
                     (long long)index[d], d);
    *at = *at * o->shape[d] + index[d];
  }
  return true;
}

bool nw_naive_point(nw_ctx *c, nw_tensor *output, const char *const *size_names, const int64_t *sizes, int nsizes,
                    int ninputs, const nw_view *inputs, const int64_t *index, double *value) {
  nwi_naive x;
  int64_t at;
  start(&x, c);
  x.points = true;
  nwi_op *o = NULL;
  bool ok = bind_sizes(&x, 1, &output, size_names, sizes, nsizes) && attach_inputs(&x, 1, &output, ninputs, inputs) &&
            (o = nwi_op_of(&x, output->op)) && inside(&x, o, index, &at);
  const nwi_cell *v = ok ? nwi_point(&x, o, at) : NULL;
  if (v) { *value = nwi_number(nw_tensor_dtype(output), &v[output->out]); }
  finish(&x);
  return v != NULL;
}
