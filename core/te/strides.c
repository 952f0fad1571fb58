// Gives tensors strides: the array of a parameter need not be row-major.
#include "ir/program/pitch.h"
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

static bool read_strides(nw_tensor *t, const nw_expr *const *stride, const nw_expr **pitch) {
  nw_teop *op = t->op;
  for (int d = 0; d < op->ndim; d++) {
    char what[120];
    snprintf(what, sizeof what, "stride %d of %.80s", d, op->name);
    if (!(pitch[d] = nw_te_extent(op->ctx, op->pool, stride[d], what))) return false;
  }
  return true;
}

static char *list_text(int n, const nw_expr *const *e) {
  nw_str s = {0};
  nw_str_add(&s, "[");
  for (int d = 0; d < n; d++) {
    char *one = nw_te_text(e[d]);
    nw_str_fmt(&s, "%s%s", d ? ", " : "", one);
    free(one);
  }
  nw_str_add(&s, "]");
  return nw_str_take(&s);
}

static bool overlaps(const nw_teop *op, const nw_expr *const *pitch) {
  char *shape = list_text(op->ndim, op->shape), *strides = list_text(op->ndim, pitch);
  nw_fail(op->ctx, NW_EINVAL,
          "each stride must be larger than the distance between elements that differ only in the dimensions with "
          "smaller strides; nw.fact states what is known about a size",
          "strides: with the strides %s, elements of %s, of shape %s, overlap", strides, op->name, shape);
  free(shape);
  free(strides);
  return false;
}

// Finds the conditions under which no two elements are at the same place. Returns false, with a diagnostic, if there are
// none.
static bool find_conditions(nw_teop *op, const nw_expr *const *pitch) {
  nw_ranges r;
  nw_ranges_init(&r, op->pool);
  for (int d = 0; d < op->ndim; d++) nw_te_push_sizes(&r, op->shape[d]), nw_te_push_sizes(&r, pitch[d]);
  op->nests = nw_xcalloc((size_t)op->ndim + 1, sizeof *op->nests);
  bool found = nw_pitch_nests(&r, op->ndim, op->shape, pitch, op->nests, &op->nnests);
  nw_ranges_free(&r);
  return found || overlaps(op, pitch);
}

bool nw_tensor_set_strides(nw_tensor *t, int n, const nw_expr *const *stride) {
  if (!t) return false;
  nw_teop *op = t->op;
  if (op->pitch) return nw_fail(op->ctx, NW_EINVAL, NULL, "strides: %s has strides already", t->name);
  if (n != op->ndim)
    return nw_fail(op->ctx, NW_EINVAL, "give a stride for each dimension, in elements: strides = {lda, 1}",
                   "strides: %s has %d dimensions, but %d strides are given", t->name, op->ndim, n);
  const nw_expr **pitch = nw_xcalloc((size_t)n + 1, sizeof *pitch);
  if (read_strides(t, stride, pitch) && find_conditions(op, pitch)) return op->pitch = pitch, true;
  free(pitch);
  free(op->nests);
  op->nests = NULL;
  op->nnests = 0;
  return false;
}

bool nw_tensor_has_strides(const nw_tensor *t) { return t->op->pitch != NULL; }

static bool is_output(const nw_teop *op, int n, nw_tensor *const *outputs) {
  bool found = false;
  for (int i = 0; i < n; i++) found |= outputs[i]->op == op;
  return found;
}

static bool refuse(const nw_teop *op, const char *why) {
  return nw_fail(op->ctx, NW_EINVAL, "give strides only to placeholders and outputs", "%s has strides, but is %s",
                 op->name, why);
}

// Strides that no array of the caller would have are an error.
bool nw_te_strides_meant(const nw_vec *order, int n, nw_tensor *const *outputs) {
  for (int i = 0; i < order->n; i++) {
    const nw_teop *op = order->at[i];
    if (op->pitch && op->kind != NW_TE_PLACEHOLDER && !is_output(op, n, outputs))
      return refuse(op, "neither a placeholder nor an output");
    for (int k = 0; op->init && k < op->nout; k++)
      if (op->init[k]->op->pitch && nw_te_absorbs_init(op, k))
        return refuse(op->init[k]->op, "stored in the tensor that it begins");
    for (int k = 0; k < op->ninner; k++)
      if (op->inner[k].op->pitch) return refuse(op->inner[k].op, "a stage inside a scan");
    for (int k = 0; k < op->ndefs; k++)
      if (op->update[k]->op->pitch || op->state[k]->op->pitch)
        return refuse(op->update[k]->op->pitch ? op->update[k]->op : op->state[k]->op, "a part of another tensor");
  }
  return true;
}
