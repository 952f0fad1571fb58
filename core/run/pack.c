// Converts tensors between the shape of a computation and the shape that a layout gives to a parameter.
#include "ir/program/physical.h"
#include "run/formals.h"
#include <stdlib.h>

typedef struct packing {
  nw_ctx *c;
  const nw_program *p;
  const nw_buffer *b;
  int64_t *sizes; // of the program; a size that does not occur in the shape of the parameter is 0
  const char **name; // the names of the sizes, then the names of the indices, _0, _1, ...
  int64_t *value; // the values of these names
  int64_t shape[NW_MAX_DEPTH], extent[NW_MAX_DEPTH]; // shape: of the computation; extent: of the layout
  // The position of an element is the sum of offset[d][index d], if each component of the layout uses at most one
  // index. Otherwise `offset` is NULL.
  int64_t *offset[NW_MAX_DEPTH];
  bool separate;
} packing;

static bool evaluate(packing *x, const nw_expr *e, int64_t *out) {
  return nw_eval_size(e, x->p->nsizes + x->b->ndim, x->name, x->value, out) ||
         nw_fail(x->c, NW_ERANGE, NULL, "%s: its layout cannot be computed for this shape", x->b->name);
}

// Returns the number of the index that an expression of the layout uses, -1 if it uses none, or -2 if it uses several.
static int index_in(const packing *x, const nw_expr *e) {
  int found = -1;
  for (int d = 0; d < x->b->ndim; d++) {
    if (!nw_uses_var(e, x->name[x->p->nsizes + d])) continue;
    if (found >= 0) return -2;
    found = d;
  }
  return found;
}

// Adds component k of the layout to the offsets of the elements.
static bool add_offsets(packing *x, int k, int64_t stride) {
  int d = index_in(x, x->b->layout[k]);
  int64_t *value = &x->value[x->p->nsizes], at;
  if (d == -1) return evaluate(x, x->b->layout[k], &at) && (x->offset[x->b->ndim][0] += at * stride, true);
  for (value[d] = 0; value[d] < x->shape[d]; value[d]++) {
    if (nw_elements_stopped(x->c, value[d]) || !evaluate(x, x->b->layout[k], &at)) return false;
    x->offset[d][value[d]] += at * stride;
  }
  return true;
}

static bool make_offsets(packing *x) {
  x->separate = true;
  for (int k = 0; k < x->b->nlayout; k++) x->separate &= index_in(x, x->b->layout[k]) != -2;
  if (!x->separate) return true;
  for (int d = 0; d <= x->b->ndim; d++) {
    uint64_t n = d < x->b->ndim ? (uint64_t)x->shape[d] : 1;
    x->offset[d] = nw_ask(x->c, x->b->name, n + 1, sizeof(int64_t));
    if (!x->offset[d]) return false;
    memset(x->offset[d], 0, (n + 1) * sizeof(int64_t));
  }
  int64_t stride = 1;
  for (int k = x->b->nlayout - 1; k >= 0; stride *= x->extent[k--])
    if (!add_offsets(x, k, stride)) return false;
  return true;
}

static bool position(packing *x, const int64_t *index, int64_t *at) {
  if (x->separate) {
    *at = x->offset[x->b->ndim][0];
    for (int d = 0; d < x->b->ndim; d++) *at += x->offset[d][index[d]];
    return true;
  }
  memcpy(&x->value[x->p->nsizes], index, (size_t)x->b->ndim * sizeof *index);
  *at = 0;
  for (int k = 0; k < x->b->nlayout; k++) {
    int64_t i;
    if (!evaluate(x, x->b->layout[k], &i)) return false;
    *at = *at * x->extent[k] + i;
  }
  return true;
}

static void end(packing *x) {
  for (int d = 0; d <= x->b->ndim; d++) nw_let_go(x->offset[d]);
  free(x->name);
  free(x->value);
}

// Computes the shapes from the sizes.
static bool begin(packing *x, nw_ctx *c, const nw_program *p, int param, const int64_t *sizes) {
  *x = (packing){.c = c, .p = p, .b = p->buffer[param]};
  size_t n = (size_t)(p->nsizes + x->b->ndim) + 1;
  x->name = nw_xcalloc(n, sizeof *x->name);
  x->value = nw_xcalloc(n, sizeof *x->value);
  for (int i = 0; i < p->nsizes; i++) x->name[i] = p->size[i].name, x->value[i] = sizes[i];
  for (int d = 0; d < x->b->ndim; d++) x->name[p->nsizes + d] = nw_dim_name(p->pool, d);
  for (int d = 0; d < x->b->ndim; d++)
    if (!evaluate(x, x->b->shape[d], &x->shape[d])) return false;
  for (int k = 0; k < x->b->nlayout; k++)
    if (!evaluate(x, x->b->layout_shape[k], &x->extent[k])) return false;
  for (int d = 0; d < x->b->ndim; d++)
    if (x->shape[d] < 0) x->shape[d] = 0;
  for (int k = 0; k < x->b->nlayout; k++)
    if (x->extent[k] < 0) x->extent[k] = 0;
  return x->b->nlayout == 0 || make_offsets(x);
}

static bool same_shape(const nw_array *a, int n, const int64_t *shape) {
  bool same = nw_array_ndim(a) == n;
  for (int d = 0; d < n && same; d++) same = nw_array_shape(a)[d] == shape[d];
  return same;
}

// Copies all elements from `from` to `to`. The layout applies to `to` if `packs` is true, and to `from` otherwise.
static bool copy(packing *x, nw_array *from, nw_array *to, bool packs) {
  size_t each = (size_t)nw_dtype_bytes(x->b->dtype);
  char *source = nw_array_data(from), *target = nw_array_data(to);
  int64_t index[NW_MAX_DEPTH] = {0}, count = nw_array_count(packs ? from : to),
          room = nw_array_count(packs ? to : from);
  for (int64_t i = 0; i < count; i++) {
    int64_t at;
    if (nw_elements_stopped(x->c, i) || !position(x, index, &at)) return false;
    if (at < 0 || at >= room) return nw_fail(x->c, NW_EINTERNAL, NULL, "an element of %s has no position", x->b->name);
    memcpy(target + (size_t)(packs ? at : i) * each, source + (size_t)(packs ? i : at) * each, each);
    for (int d = x->b->ndim - 1; d >= 0 && ++index[d] == x->shape[d]; d--) index[d] = 0;
  }
  return true;
}

static void fill(nw_array *a, const nw_expr *pad) {
  for (int64_t i = 0; pad && i < nw_array_count(a); i++)
    pad->op == NW_OP_FLOAT ? nw_array_set(a, i, pad->f) : nw_array_set_int(a, i, pad->i);
}

static nw_array *converted(packing *x, nw_array *a, bool packs) {
  int n = packs ? x->b->nlayout : x->b->ndim;
  nw_array *to = nw_array_new(x->c, x->b->dtype, n, packs ? x->extent : x->shape);
  if (to && packs) fill(to, x->b->pad);
  if (to && copy(x, a, to, packs)) return to;
  nw_array_release(to);
  return NULL;
}

// Returns a copy with the strides that the caller's array must have.
static nw_array *spread(packing *x, nw_array *a) {
  int64_t stride[NW_MAX_DEPTH];
  for (int d = 0; d < x->b->ndim; d++)
    if (!evaluate(x, x->b->pitch[d], &stride[d])) return NULL;
  nw_array *to = nw_array_strided(x->c, a->dtype, a->ndim, a->shape, stride);
  if (!to || nw_array_copy_to(to, a)) return to;
  nw_array_release(to);
  return NULL;
}

static nw_array *laid_out(packing *x, nw_array *a, bool packs) {
  if (packs && x->b->pitch) return spread(x, a);
  nw_array *plain = nw_array_dense(a);
  nw_array *to = plain && x->b->nlayout ? converted(x, plain, packs) : nw_array_retain(plain);
  nw_array_release(plain);
  return to;
}

nw_array *nw_relayout(nw_ctx *c, const nw_program *p, int param, const int64_t *sizes, nw_array *a, bool packs) {
  packing x;
  nw_array *to = NULL;
  if (begin(&x, c, p, param, sizes)) {
    int n = packs ? x.b->ndim : nw_physical_dims(x.b);
    const int64_t *shape = packs || !x.b->nlayout ? x.shape : x.extent;
    if (nw_array_dtype(a) != x.b->dtype || !same_shape(a, n, shape))
      nw_fail(c, NW_EINVAL, NULL, "the tensor does not have the type and shape of %s", x.b->name);
    else
      to = laid_out(&x, a, packs);
  }
  end(&x);
  return to;
}

// ---- conversions by the user

static int param_named(nw_ctx *c, const nw_program *p, const char *name) {
  nw_str all = {0};
  int found = -1;
  for (int i = 0; i < p->nbuffers && p->buffer[i]->role != NW_TEMP; i++) {
    nw_str_fmt(&all, "%s%s", i ? ", " : "", p->buffer[i]->name);
    if (!strcmp(p->buffer[i]->name, name)) found = i;
  }
  if (found < 0)
    nw_fail(c, NW_EINVAL, nw_diag_printf(c, "the arguments are %s", all.s ? all.s : ""),
            "%s is not an input or an output", name);
  nw_str_free(&all);
  return found;
}

// Sets the given sizes; the others are -1.
static int64_t *sizes_given(const nw_program *p, int n, const char *const *names, const int64_t *values) {
  int64_t *sizes = nw_xcalloc((size_t)p->nsizes + 1, sizeof *sizes);
  for (int i = 0; i < p->nsizes; i++) {
    sizes[i] = -1;
    for (int k = 0; k < n; k++)
      if (!strcmp(names[k], p->size[i].name)) sizes[i] = values[k];
  }
  return sizes;
}

// Sizes that occur in the shape of the computation but not in that of the layout cannot be found from a packed tensor.
static bool sizes_known(nw_ctx *c, const nw_program *p, const nw_buffer *b, const int64_t *given) {
  for (int i = 0; i < p->nsizes; i++)
    for (int d = 0; d < b->ndim; d++)
      if (given[i] < 0 && nw_uses_var(b->shape[d], p->size[i].name))
        return nw_fail(c, NW_EINVAL, nw_diag_printf(c, "s:unpack(\"%s\", tensor, {%s = 37})", b->name, p->size[i].name),
                       "unpack: the size %s does not follow from the shape of the tensor", p->size[i].name);
  return true;
}

nw_array *nw_pack(nw_ctx *c, const nw_program *p, const char *param, nw_array *a, bool packs, int n,
                  const char *const *names, const int64_t *values) {
  int at = param_named(c, p, param);
  if (at < 0) return NULL;
  const nw_buffer *b = p->buffer[at];
  if (!b->nlayout) return nw_array_retain(a); // the kernel takes this shape, and checks it
  int64_t *sizes = sizes_given(p, n, names, values);
  nw_formal one = {.name = b->name, .dtype = b->dtype, .ndim = b->ndim, .shape = (const nw_expr *const *)b->shape};
  if (!packs) one.ndim = nw_physical_dims(b), one.shape = nw_physical_shape(b);
  nw_array *to = NULL;
  if ((packs || sizes_known(c, p, b, sizes)) && nw_formals_check_one(c, p, &one, a, sizes))
    to = nw_relayout(c, p, at, sizes, a, packs);
  free(sizes);
  return to;
}
