// Implements tensors in memory. They are row-major, aligned and reference-counted. view.c makes views of them.
#include "base/half.h"
#include "run/gpu/resident.h"
#include "run/session.h"
#include <math.h>
#include <stdlib.h>

// Returns the number of bytes, and sets *count to the number of elements. Returns -1, with a diagnostic, if a size is
// negative or the number of bytes does not fit in an int64_t.
static int64_t bytes_of(nw_ctx *c, nw_dtype t, int ndim, const int64_t *shape, int64_t *count) {
  int64_t n = 1, bytes;
  bool too_big = false, empty = false;
  for (int d = 0; d < ndim; d++) {
    if (shape[d] < 0)
      return nw_fail(c, NW_ERANGE, NULL, "shape: dimension %d of a tensor is %ld; it must be 0 or more", d + 1,
                     (long)shape[d]),
             -1;
    empty |= shape[d] == 0;
  }
  for (int d = 0; d < ndim && !empty; d++) too_big |= __builtin_mul_overflow(n, shape[d], &n);
  if (empty) n = 0;
  too_big = too_big || __builtin_mul_overflow(n, (int64_t)nw_dtype_bytes(t), &bytes);
  if (too_big)
    return nw_fail(c, NW_EMEMORY, "give a smaller shape", "a tensor of this shape has more than 2^63 bytes"), -1;
  *count = n;
  return bytes;
}

// Makes a tensor of zeros, aligned to 64 bytes. Returns NULL, with a diagnostic, if the tensor does not fit in the
// available memory, because a later access to the tensor could then crash.
nw_array *nw_array_new(nw_ctx *c, nw_dtype t, int ndim, const int64_t *shape) {
  int64_t count, bytes = bytes_of(c, t, ndim, shape, &count);
  if (bytes < 0) return NULL;
  if (!nw_memory_for(c, "a tensor", (uint64_t)bytes, 1)) return NULL;
  void *data = nw_mem_get(&nw_session_of(c)->mem, (size_t)bytes, true);
  if (!data) return nw_no_memory(c, "a tensor", (uint64_t)bytes);
  nw_array *a = nw_xcalloc(1, sizeof *a);
  *a = (nw_array){.refs = 1, .ctx = c, .dtype = t, .ndim = ndim, .count = count, .data = data, .block = data};
  a->shape = nw_xcalloc(2 * (size_t)ndim + 1, sizeof *a->shape);
  a->stride = a->shape + ndim;
  int64_t stride = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    a->shape[d] = shape[d];
    a->stride[d] = stride;
    if (shape[d] && __builtin_mul_overflow(stride, shape[d], &stride)) stride = 1; // only if the tensor is empty
  }
  nw_array_measure(a);
  return a;
}

nw_array *nw_array_retain(nw_array *a) {
  if (a) a->refs++;
  return a;
}

void nw_array_release(nw_array *a) {
  if (!a || --a->refs) return;
  nw_resident_free(a);
  nw_mem_put(&nw_session_of(a->ctx)->mem, a->block);
  nw_array_release(a->owner);
  free(a->shape);
  free(a);
}

nw_dtype nw_array_dtype(const nw_array *a) { return a->dtype; }

int nw_array_ndim(const nw_array *a) { return a->ndim; }

const int64_t *nw_array_shape(const nw_array *a) { return a->shape; }

int64_t nw_array_count(const nw_array *a) { return a->count; }

const int64_t *nw_array_strides(const nw_array *a) { return a->stride; }

bool nw_array_is_dense(const nw_array *a) { return a->dense; }

bool nw_array_is_view(const nw_array *a) { return a->owner != NULL; }

void *nw_array_data(nw_array *a) { return a->data; }

#define AT(type) (((type *)a->data)[a->dense ? flat : nw_array_offset(a, flat)])

double nw_array_get(const nw_array *a, int64_t flat) {
  switch (a->dtype) {
  case NW_F16: return nw_f16_to_f32(AT(uint16_t));
  case NW_BF16: return nw_bf16_to_f32(AT(uint16_t));
  case NW_F32: return AT(float);
  case NW_F64: return AT(double);
  case NW_U64: return (double)AT(uint64_t);
  default: return (double)nw_array_get_int(a, flat);
  }
}

// Converts a float to an integer. The result is truncated towards zero, and saturates at the limits of i64. NaN becomes
// 0.
static int64_t cut(double v) {
  if (v != v) return 0;
  return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

int64_t nw_array_get_int(const nw_array *a, int64_t flat) {
  switch (a->dtype) {
  case NW_BOOL:
  case NW_U8: return AT(uint8_t);
  case NW_I8: return AT(int8_t);
  case NW_I16: return AT(int16_t);
  case NW_U16: return AT(uint16_t);
  case NW_I32: return AT(int32_t);
  case NW_U32: return AT(uint32_t);
  case NW_I64: return AT(int64_t);
  case NW_U64: return (int64_t)AT(uint64_t);
  default: return cut(nw_array_get(a, flat));
  }
}

// Stores a value, rounded to the dtype. For an integer dtype, the value is truncated and wraps around.
void nw_array_set(nw_array *a, int64_t flat, double v) {
  switch (a->dtype) {
  case NW_BOOL: AT(uint8_t) = v != 0; break;
  case NW_F16: AT(uint16_t) = nw_f64_to_f16(v); break;
  case NW_BF16: AT(uint16_t) = nw_f64_to_bf16(v); break;
  case NW_F32: AT(float) = (float)v; break;
  case NW_F64: AT(double) = v; break;
  case NW_U64: AT(uint64_t) = v >= 0x1p64 ? UINT64_MAX : v >= 0x1p63 ? (uint64_t)v : (uint64_t)cut(v); break;
  default: nw_array_set_int(a, flat, cut(v));
  }
}

void nw_array_set_int(nw_array *a, int64_t flat, int64_t v) {
  switch (a->dtype) {
  case NW_BOOL: AT(uint8_t) = v != 0; break;
  case NW_I8:
  case NW_U8: AT(uint8_t) = (uint8_t)v; break;
  case NW_I16:
  case NW_U16: AT(uint16_t) = (uint16_t)v; break;
  case NW_I32:
  case NW_U32: AT(uint32_t) = (uint32_t)v; break;
  case NW_I64:
  case NW_U64: AT(int64_t) = v; break;
  case NW_F32: AT(float) = (float)v; break;
  default: nw_array_set(a, flat, (double)v);
  }
}

// Fills the tensor with random numbers. The same seed gives the same numbers on every machine. Returns false if
// interrupted.
bool nw_array_fill_random(nw_array *a, uint64_t seed, double lo, double hi) {
  bool whole = !nw_dtype_is_float(a->dtype);
  double span = whole ? floor(hi) - ceil(lo) + 1 : hi - lo, from = whole ? ceil(lo) : lo;
  for (int64_t i = 0; i < a->count; i++) {
    if (nw_elements_stopped(a->ctx, i)) return false;
    double u = (double)(nw_draw(&seed) >> 11) * 0x1p-53;
    nw_array_set(a, i, from + (whole ? floor(u * span) : u * span));
  }
  return true;
}
