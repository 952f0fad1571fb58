// Makes and frees operations and tensors. Also makes placeholders, and the expressions that read a tensor.
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

// ---- operations

nw_teop *nw_teop_new(nw_ctx *c, nw_teop_kind kind, const char *name, nw_pool *pool) {
  nw_teop *op = nw_xcalloc(1, sizeof *op);
  *op = (nw_teop){.refs = 1, .ctx = c, .kind = kind, .name = nw_xstrdup(name), .pool = nw_pool_retain(pool)};
  op->serial = ++c->serial;
  return op;
}

static void release_all(int n, nw_tensor **t) {
  for (int i = 0; t && i < n; i++) nw_tensor_release(t[i]);
  free(t);
}

static void free_op(nw_teop *op) {
  for (int i = 0; i < op->naxes; i++) free(op->axis_name[i]);
  for (int i = 0; i < op->nreduce; i++) nw_axis_release(op->reduce[i]);
  release_all(op->nout, op->init);
  release_all(op->ndefs, op->update);
  release_all(op->ndefs, op->state);
  free(op->axis), free(op->axis_name), free(op->lo), free(op->extent), free(op->reduce), free(op->reads);
  free(op->body), free(op->dtype), free(op->shape), free(op->name), free(op->inner), free(op->pitch), free(op->nests);
  nw_pool_release(op->pool);
  free(op);
}

// Releases a reference to an operation, and frees the operation if this was its last reference. An operation that loses
// its last reference during this waits in a list, since recursion over a long chain of operations would overflow the
// stack. The function allocates no memory, because Lua's garbage collector calls it, and a failed allocation would then
// be fatal.
void nw_teop_release(nw_teop *op) {
  static _Thread_local nw_teop *waiting;
  static _Thread_local bool busy;
  if (!op || --op->refs) return;
  op->waiting = waiting, waiting = op;
  if (busy) return;
  busy = true;
  while (waiting) {
    nw_teop *next = waiting;
    waiting = next->waiting;
    free_op(next);
  }
  busy = false;
}

// ---- tensors

nw_tensor *nw_tensor_new(nw_teop *op, int out, const char *name) {
  nw_tensor *t = nw_xcalloc(1, sizeof *t);
  *t = (nw_tensor){
      .refs = 1, .op = op, .out = out, .name = nw_xstrdup(name), .symbol = nw_symbol_name(op->ctx, name, NULL)};
  op->refs++;
  return t;
}

nw_tensor *nw_tensor_retain(nw_tensor *t) {
  if (t) t->refs++;
  return t;
}

void nw_tensor_release(nw_tensor *t) {
  if (!t || --t->refs) return;
  nw_teop_release(t->op);
  free(t->name);
  free(t->symbol);
  free(t);
}

static void *symbol_retain(void *o) { return nw_tensor_retain(o); }
static void symbol_release(void *o) { nw_tensor_release(o); }
const nw_symbol_class nw_tensor_symbol = {symbol_retain, symbol_release};

nw_tensor *nw_tensor_of(const nw_expr *load) {
  const nw_symbol_class *cls;
  void *o = nw_pool_symbol(load->pool, load->name, &cls);
  return o && cls == &nw_tensor_symbol ? o : NULL;
}

const char *nw_tensor_name(const nw_tensor *t) { return t->name; }
nw_dtype nw_tensor_dtype(const nw_tensor *t) { return t->op->dtype[t->out]; }
int nw_tensor_ndim(const nw_tensor *t) { return t->op->ndim; }
const nw_expr *nw_tensor_dim(const nw_tensor *t, int d) { return d < 0 || d >= t->op->ndim ? NULL : t->op->shape[d]; }
bool nw_tensor_is_placeholder(const nw_tensor *t) { return t->op->kind == NW_TE_PLACEHOLDER; }

// ---- placeholders

static bool set_shape(nw_teop *op, int ndim, const nw_expr *const *shape) {
  op->ndim = ndim;
  op->shape = nw_xcalloc((size_t)ndim + 1, sizeof *op->shape);
  for (int d = 0; d < ndim; d++) {
    char what[120];
    snprintf(what, sizeof what, "dimension %d of %.80s", d, op->name);
    if (!(op->shape[d] = nw_te_extent(op->ctx, op->pool, shape[d], what))) return false;
  }
  return true;
}

bool nw_te_addressable(const nw_teop *op, int out) {
  int64_t bytes = nw_dtype_bytes(op->dtype[out]), n;
  bool fits = true;
  for (int d = 0; d < op->ndim; d++)
    if (nw_is_int(op->shape[d], &n) && n > 0) fits = fits && !__builtin_mul_overflow(bytes, n, &bytes);
  return fits || nw_fail(op->ctx, NW_ERANGE, NULL, "a tensor with the shape of %s has more than 2^63 bytes", op->name);
}

static nw_tensor *placeholder(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape,
                              bool state) {
  char *own = nw_te_name(c, "a tensor", name, state ? "S" : "A");
  if (!own) return NULL;
  nw_pool *p = nw_pool_new(c);
  nw_teop *op = nw_teop_new(c, NW_TE_PLACEHOLDER, own, p);
  nw_tensor *out = NULL;
  op->nout = 1;
  op->is_state = state;
  op->dtype = nw_xmalloc(sizeof *op->dtype);
  op->dtype[0] = t;
  if (set_shape(op, ndim, shape) && nw_te_addressable(op, 0)) out = nw_tensor_new(op, 0, own);
  nw_teop_release(op);
  nw_pool_release(p);
  free(own);
  return out;
}

nw_tensor *nw_placeholder(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape) {
  return placeholder(c, name, t, ndim, shape, false);
}

nw_tensor *nw_scan_state(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape) {
  return placeholder(c, name, t, ndim, shape, true);
}

// ---- reads

static const nw_expr *read_index(nw_ctx *c, nw_pool *p, const nw_tensor *t, int d, const nw_expr *e) {
  char what[140];
  snprintf(what, sizeof what, "index %d of %.80s", d + 1, t->name);
  return nw_te_index(c, p, e, what);
}

static void note_read(nw_ctx *c, nw_tensor *t) {
  nw_build *b = nw_pen_of(c)->build;
  if (!b) return;
  for (int i = 0; i < b->reads.n; i++)
    if (b->reads.at[i] == t) return;
  nw_vec_push(&b->reads, t);
}

// True if an update is being written, whose definitions cannot read stages inside a scan.
static bool in_update(nw_ctx *c) {
  const nw_build *b = nw_pen_of(c)->build;
  return b && b->state;
}

// Makes the read A(i, k). The result has the dtype of the tensor. The bounds are checked later, when the compute that
// contains the read is complete.
const nw_expr *nw_tensor_read(nw_tensor *t, int n, const nw_expr *const *index) {
  if (!t) return NULL;
  nw_ctx *c = t->op->ctx;
  if (t->op->deferred && in_update(c) && !nw_te_refuse_deferred(t->op)) return NULL;
  if (n != t->op->ndim)
    return nw_fail(c, NW_ETYPE, NULL, "%s has %d dimension%s, but is read with %d ind%s", t->name, t->op->ndim,
                   t->op->ndim == 1 ? "" : "s", n, n == 1 ? "ex" : "ices");
  nw_pool *p = nw_lang_pool(c);
  const nw_expr **at = nw_xcalloc((size_t)n + 1, sizeof *at), *e = NULL;
  int d = 0;
  while (d < n && (at[d] = read_index(c, p, t, d, index[d]))) d++;
  if (d == n) {
    nw_pool_define(p, t->symbol, &nw_tensor_symbol, t);
    note_read(c, t);
    e = nw_load(p, (nw_type){t->op->dtype[t->out], 1}, t->symbol, n, at);
  }
  free(at);
  return e;
}
