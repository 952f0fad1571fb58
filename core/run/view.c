// Makes views, which are arrays that use the memory of other arrays, and copies arrays with strides.
#include "run/session.h"
#include <stdlib.h>

static bool row_major(const nw_array *a) {
  int64_t stride = 1;
  for (int d = a->ndim - 1; d >= 0; d--) {
    if (a->shape[d] != 1 && a->stride[d] != stride) return false;
    stride *= a->shape[d];
  }
  return true;
}

void nw_array_measure(nw_array *a) {
  int64_t before = 0, after = 0, each = nw_dtype_bytes(a->dtype);
  a->dense = !a->count || row_major(a);
  for (int d = 0; d < a->ndim && a->count; d++) {
    int64_t reach = a->stride[d] * (a->shape[d] - 1) * each;
    if (reach < 0) before -= reach;
    if (reach > 0) after += reach;
  }
  a->low = (char *)a->data - before;
  a->bytes = a->count ? (size_t)(before + after + each) : 0;
}

int64_t nw_array_offset(const nw_array *a, int64_t flat) {
  int64_t at = 0;
  for (int d = a->ndim - 1; d >= 0; d--) {
    at += flat % a->shape[d] * a->stride[d];
    flat /= a->shape[d];
  }
  return at;
}

// ---- making views
//
// A view is made in two steps. view_of makes an array with the data of another one, but without a shape. The caller sets
// the shape, the strides and the first element. Then finish computes the rest.

static nw_array *view_of(nw_array *a, int ndim) {
  nw_array *v = nw_xcalloc(1, sizeof *v);
  *v = (nw_array){.refs = 1, .ctx = a->ctx, .dtype = a->dtype, .ndim = ndim, .data = a->data};
  v->owner = nw_array_retain(a->owner ? a->owner : a);
  v->shape = nw_xcalloc(2 * (size_t)ndim + 1, sizeof *v->shape);
  v->stride = v->shape + ndim;
  return v;
}

// No view may use memory that does not belong to its owner.
static nw_array *finish(nw_array *v) {
  v->count = 1;
  for (int d = 0; d < v->ndim; d++) v->count *= v->shape[d];
  if (!v->count) v->data = v->owner->data;
  nw_array_measure(v);
  const char *from = v->owner->low, *low = v->low;
  NW_MUST(low >= from && low + v->bytes <= from + v->owner->bytes);
  return v;
}

static char *range_text(const nw_portion *r) {
  nw_str s = {0};
  if (r->has_from) nw_str_fmt(&s, "from = %ld", (long)r->from);
  if (r->has_to) nw_str_fmt(&s, "%sto = %ld", s.n ? ", " : "", (long)r->to);
  nw_str_fmt(&s, "%sstep = %ld", s.n ? ", " : "", (long)r->step);
  return nw_str_take(&s);
}

// Returns the position that a bound of a range means in a dimension of n elements: -1 is the last element.
static int64_t bound(int64_t at, int64_t n) { return at < 0 ? at + n : at; }

// Computes the first element and the number of elements of a range. Returns false if a bound is outside the dimension,
// or if the range ends before it begins.
static bool resolve(const nw_portion *r, int64_t n, int64_t *first, int64_t *count) {
  if (r->one) return *first = bound(r->from, n), *count = 1, *first >= 0 && *first < n;
  bool up = r->step > 0;
  int64_t from = r->has_from ? bound(r->from, n) : up ? 0 : n - 1, to = r->has_to ? bound(r->to, n) : up ? n : -1;
  int64_t reach = up ? to - from : from - to, step = up ? r->step : -(r->step + 1) + 1;
  *first = from;
  *count = reach <= 0 ? 0 : (reach - 1) / step + 1;
  if (up) return from >= 0 && to <= n && from <= to;
  return from < n && from >= -1 && to >= -1 && from >= to && (!r->has_to || to >= 0) && (!r->has_from || from >= 0);
}

static bool bad_range(nw_array *a, int d, const nw_portion *r) {
  int64_t n = a->shape[d];
  if (r->one)
    return nw_fail(a->ctx, NW_ERANGE, "indices count from 0, or from the end: -1 is the last",
                   "slice: index %ld is not in dimension %d, which has %ld elements", (long)r->from, d, (long)n);
  if (!r->step || r->step == INT64_MIN)
    return nw_fail(a->ctx, NW_ERANGE, "a step of -1 reverses the dimension",
                   "slice: the step of dimension %d is %ld; it must not be 0", d, (long)r->step);
  char *text = range_text(r);
  nw_fail(a->ctx, NW_ERANGE, "indices count from 0, or from the end: -1 is the last; `to` is not included",
          "slice: {%s} is not a part of dimension %d, which has %ld elements", text, d, (long)n);
  free(text);
  return false;
}

nw_array *nw_array_slice(nw_array *a, int n, const nw_portion *part) {
  if (!a) return NULL;
  if (n > a->ndim)
    return nw_fail(a->ctx, NW_EINVAL, NULL, "slice: %d parts for a tensor with %d dimensions", n, a->ndim);
  int kept = a->ndim;
  for (int d = 0; d < n; d++) kept -= part[d].one;
  nw_array *v = view_of(a, kept);
  int64_t at = 0;
  for (int d = 0, to = 0; d < a->ndim; d++) {
    const nw_portion all = {.step = 1}, *r = d < n ? &part[d] : &all;
    int64_t first, count;
    if ((!r->one && (!r->step || r->step == INT64_MIN)) || !resolve(r, a->shape[d], &first, &count))
      return bad_range(a, d, r), nw_array_release(v), NULL;
    at += count ? first * a->stride[d] : 0;
    if (r->one) continue;
    v->shape[to] = count;
    v->stride[to++] = count > 1 ? a->stride[d] * r->step : a->stride[d];
  }
  v->data = (char *)a->data + at * nw_dtype_bytes(a->dtype);
  return finish(v);
}

nw_array *nw_array_transpose(nw_array *a, int n, const int64_t *order) {
  if (!a) return NULL;
  if (order && n != a->ndim)
    return nw_fail(a->ctx, NW_EINVAL, "name each dimension once, counted from 0: a:transpose(1, 0)",
                   "transpose: %d dimensions for a tensor with %d", n, a->ndim);
  nw_array *v = view_of(a, a->ndim);
  for (int d = 0; d < a->ndim; d++) {
    int64_t from = order ? order[d] : a->ndim - 1 - d;
    bool twice = false;
    for (int k = 0; k < d && order; k++) twice |= order[k] == from;
    if (from < 0 || from >= a->ndim || twice) {
      nw_array_release(v);
      return nw_fail(a->ctx, NW_EINVAL, "name each dimension once, counted from 0: a:transpose(1, 0)",
                     "transpose: dimension %ld %s", (long)from, twice ? "is there twice" : "does not exist");
    }
    v->shape[d] = a->shape[from];
    v->stride[d] = a->stride[from];
  }
  return finish(v);
}

// ---- reshaping

char *nw_numbers_text(int n, const int64_t *at) {
  nw_str s = {0};
  nw_str_add(&s, "[");
  for (int d = 0; d < n; d++) nw_str_fmt(&s, d ? ", %ld" : "%ld", (long)at[d]);
  nw_str_add(&s, "]");
  return nw_str_take(&s);
}

static bool bad_shape(const nw_array *a, int ndim, const int64_t *shape, const char *hint, const char *why) {
  char *has = nw_numbers_text(a->ndim, a->shape), *wants = nw_numbers_text(ndim, shape);
  nw_fail(a->ctx, NW_EINVAL, hint, "reshape: a tensor of shape %s cannot become %s: %s", has, wants, why);
  free(has);
  free(wants);
  return false;
}

// Copies the shape, and computes the extent that is -1.
static bool set_shape(nw_array *v, const nw_array *a, const int64_t *shape) {
  int64_t rest = 1;
  int open = -1;
  bool bad = false;
  for (int d = 0; d < v->ndim; d++) {
    v->shape[d] = shape[d];
    bad |= shape[d] < -1 || (shape[d] == -1 && open >= 0);
    if (shape[d] == -1)
      open = d;
    else
      bad |= __builtin_mul_overflow(rest, shape[d], &rest);
  }
  if (bad) return bad_shape(a, v->ndim, shape, NULL, "give sizes from 0 on, and at most one -1");
  if (open >= 0 && rest && a->count % rest == 0) v->shape[open] = a->count / rest, rest = a->count;
  return (rest == a->count && (open < 0 || v->shape[open] >= 0)) ||
         bad_shape(a, v->ndim, shape, NULL, "the numbers of elements differ");
}

// Sets the strides of dimensions from..to-1 of v, so that they go through elements at multiples of a stride.
static void set_strides(nw_array *v, int from, int to, int64_t stride) {
  for (int d = to - 1; d >= from; d--) {
    v->stride[d] = stride;
    stride *= v->shape[d] ? v->shape[d] : 1;
  }
}

// Finds strides for the shape of v. Dimensions of both shapes are put together until their numbers of elements agree;
// these dimensions of `a` must be equivalent to one dimension. Returns false if they are not.
static bool find_strides(nw_array *v, const nw_array *a) {
  int from = 0, d = 0;
  while (d < a->ndim) {
    if (a->shape[d] == 1) {
      d++;
      continue;
    }
    int first = d, to = from;
    int64_t old = a->shape[d++], new = 1;
    while (old != new) {
      if (new < old) {
        new *= v->shape[to++];
      } else {
        while (a->shape[d] == 1) d++;
        old *= a->shape[d++];
      }
    }
    int64_t stride = a->stride[first];
    for (int k = first + 1; k < d; k++) {
      if (a->shape[k] == 1) continue;
      if (stride != a->stride[k] * a->shape[k]) return false;
      stride = a->stride[k];
    }
    set_strides(v, from, to, stride);
    from = to;
  }
  set_strides(v, from, v->ndim, 1);
  return true;
}

nw_array *nw_array_reshape(nw_array *a, int ndim, const int64_t *shape) {
  if (!a) return NULL;
  nw_array *v = view_of(a, ndim);
  if (!set_shape(v, a, shape)) return nw_array_release(v), NULL;
  if (a->dense) {
    set_strides(v, 0, ndim, 1);
  } else if (!find_strides(v, a)) {
    nw_array_release(v);
    bad_shape(a, ndim, shape, "a:copy():reshape{...} gives a copy this shape",
              "no strides give its elements this order without a copy");
    return NULL;
  }
  return finish(v);
}

// ---- copies

bool nw_array_copy_to(nw_array *to, const nw_array *from) {
  size_t each = (size_t)nw_dtype_bytes(to->dtype);
  if (to->dense && from->dense) return memcpy(to->data, from->data, to->bytes), true;
  int64_t *index = nw_xcalloc((size_t)to->ndim + 1, sizeof *index), i = 0;
  char *put = to->data;
  const char *get = from->data;
  for (; i < to->count && !nw_elements_stopped(to->ctx, i); i++) {
    memcpy(put, get, each);
    for (int d = to->ndim - 1; d >= 0; d--) {
      put += to->stride[d] * (int64_t)each;
      get += from->stride[d] * (int64_t)each;
      if (++index[d] < to->shape[d]) break;
      put -= to->stride[d] * (int64_t)each * to->shape[d];
      get -= from->stride[d] * (int64_t)each * to->shape[d];
      index[d] = 0;
    }
  }
  free(index);
  return i == to->count;
}

nw_array *nw_array_copy(nw_array *a) {
  nw_array *to = a ? nw_array_new(a->ctx, a->dtype, a->ndim, a->shape) : NULL;
  if (!to || nw_array_copy_to(to, a)) return to;
  nw_array_release(to);
  return NULL;
}

nw_array *nw_array_dense(nw_array *a) { return a && !a->dense ? nw_array_copy(a) : nw_array_retain(a); }

nw_array *nw_array_strided(nw_ctx *c, nw_dtype t, int ndim, const int64_t *shape, const int64_t *stride) {
  int64_t span = 1, reach;
  bool too_big = false, empty = false;
  for (int d = 0; d < ndim; d++) empty |= shape[d] == 0;
  for (int d = 0; d < ndim && !empty; d++)
    too_big |= __builtin_mul_overflow(shape[d] - 1, stride[d], &reach) || __builtin_add_overflow(span, reach, &span);
  if (too_big)
    return nw_fail(c, NW_EMEMORY, "give a smaller shape or smaller strides",
                   "a tensor of this shape and these strides has more than 2^63 bytes");
  if (empty) span = 0;
  nw_array *all = nw_array_new(c, t, 1, &span);
  if (!all) return NULL;
  nw_array *v = view_of(all, ndim);
  nw_array_release(all);
  for (int d = 0; d < ndim; d++) v->shape[d] = shape[d], v->stride[d] = stride[d];
  return finish(v);
}

bool nw_array_assign(nw_array *to, nw_array *from) {
  if (!to || !from) return false;
  bool same = to->ndim == from->ndim;
  for (int d = 0; d < to->ndim && same; d++) same = to->shape[d] == from->shape[d];
  if (!same || to->dtype != from->dtype) {
    char *has = nw_numbers_text(from->ndim, from->shape), *wants = nw_numbers_text(to->ndim, to->shape);
    nw_fail(to->ctx, same ? NW_ETYPE : NW_EINVAL, NULL, "assign: from is %s%s; it must be %s%s",
            nw_dtype_name(from->dtype), has, nw_dtype_name(to->dtype), wants);
    free(has);
    free(wants);
    return false;
  }
  nw_array *source = nw_arrays_overlap(to, from) ? nw_array_copy(from) : nw_array_retain(from);
  bool good = source && nw_array_copy_to(to, source);
  nw_array_release(source);
  return good;
}
