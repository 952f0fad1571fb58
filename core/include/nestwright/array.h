// Declares arrays, which hold data in memory.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

NW_API nw_array *nw_array_new(nw_ctx *c, nw_dtype t, int ndim, const int64_t *shape); // zeros, 64-byte aligned
// Makes an array of zeros in which the elements have the given strides, which are 0 or more, in elements. The memory
// between the elements belongs to the array. Returns NULL, with a diagnostic, on failure.
NW_API nw_array *nw_array_strided(nw_ctx *c, nw_dtype t, int ndim, const int64_t *shape, const int64_t *stride);
// A place in memory: `offset` bytes after an address that is a multiple of `align`, but not of 2 * align. `align` is a
// power of two.
typedef struct nw_address {
  int64_t align, offset;
  bool huge; // true: the array has its own mapping, for which the system is asked to use huge pages
} nw_address;
// Returns a copy of an array at this place; NULL if elements of the array's dtype cannot be at such an address.
NW_API nw_array *nw_array_placed(nw_array *from, const nw_address *place);
// Sets *mapped to the size in bytes of the mappings that hold these arrays, and *huge to the bytes of them that are on
// huge pages. The arrays must have been placed with `huge`, since other arrays share mappings. Returns false if the
// system does not report the numbers.
NW_API bool nw_huge_bytes(int n, nw_array *const *a, int64_t *huge, int64_t *mapped);
// For tests: places tensors and temporaries directly before an inaccessible page, or directly after such a page. An
// access outside a tensor then crashes, and the crash is reported as an error. `align` is the alignment in bytes of the
// tensors that end at an inaccessible page. It is a power of two. If `align` is 0, the alignment follows from the size
// of the tensor. This alignment may be less than code with streaming stores requires.
typedef enum nw_fence { NW_FENCE_OFF, NW_FENCE_AFTER, NW_FENCE_BEFORE } nw_fence;
NW_API void nw_fences(nw_ctx *c, nw_fence fence, size_t align);
NW_API nw_array *nw_array_retain(nw_array *a);
NW_API void nw_array_release(nw_array *a);
NW_API nw_dtype nw_array_dtype(const nw_array *a);
NW_API int nw_array_ndim(const nw_array *a);
NW_API const int64_t *nw_array_shape(const nw_array *a);
NW_API const int64_t *nw_array_strides(const nw_array *a); // in elements
NW_API int64_t nw_array_count(const nw_array *a);
NW_API bool nw_array_is_dense(const nw_array *a); // true if the elements are in row-major order, without gaps
NW_API bool nw_array_is_view(const nw_array *a);
NW_API void *nw_array_data(nw_array *a); // the address of the first element
// Arrays on the GPU of this machine. nw_array_to_gpu returns a copy of an array that stays there while kernels for the GPU
// use it; the outputs of such kernels stay there, too. nw_array_fetch copies the elements of such an array to the memory of
// this host if they are not there, and must be called before they are read there. nw_array_touch must be called when they
// have been written there. nw_array_on_gpu is true if the GPU has the elements. All arrays may be given to these functions.
// Those that can fail return NULL or false, with a diagnostic.
NW_API nw_array *nw_array_to_gpu(nw_ctx *c, nw_array *a, const char *driver); // "cuda" or "opencl"
NW_API bool nw_array_fetch(nw_array *a);
NW_API void nw_array_touch(nw_array *a);
NW_API bool nw_array_on_gpu(const nw_array *a);
// A part of a dimension: the element `from`, or the elements from `from` on, before `to`, with a step. A negative bound
// counts from the end. Without `from`, the part begins at the first element, or at the last one if the step is
// negative; without `to`, it ends at the other end.
typedef struct nw_portion {
  bool one, has_from, has_to;
  int64_t from, to, step;
} nw_portion;
// These functions return a view: an array that uses the memory of another array. The memory exists as long as one of
// its views. Each returns NULL, with a diagnostic, on failure.
//
// nw_array_slice takes the parts of the first n dimensions, and the whole of the others. A dimension of which it takes
// one element is not a dimension of the view. nw_array_transpose has the dimensions in another order: dimension d of the
// view is dimension order[d] of the array. The order may be NULL: then it is reversed. nw_array_reshape has the
// same elements in row-major order; at most one extent may be -1, and is computed. It fails if no strides give this
// order.
NW_API nw_array *nw_array_slice(nw_array *a, int n, const nw_portion *part);
NW_API nw_array *nw_array_transpose(nw_array *a, int n, const int64_t *order);
NW_API nw_array *nw_array_reshape(nw_array *a, int ndim, const int64_t *shape);
NW_API nw_array *nw_array_copy(nw_array *a); // a new array with the same elements, in row-major order
// Copies all elements of `from`, which has the same shape and dtype. The two arrays may be views of one buffer; the
// result is as if `from` were read completely before.
NW_API bool nw_array_assign(nw_array *to, nw_array *from);
NW_API double nw_array_get(const nw_array *a, int64_t flat);
NW_API int64_t nw_array_get_int(const nw_array *a, int64_t flat);
NW_API void nw_array_set(nw_array *a, int64_t flat, double v);
NW_API void nw_array_set_int(nw_array *a, int64_t flat, int64_t v);
// Fills the array with random numbers. Integers are drawn from lo to hi, including both. Returns false after an
// interrupt; then only a part of the array is filled.
NW_API bool nw_array_fill_random(nw_array *a, uint64_t seed, double lo, double hi);
// For loops over elements, where `i` is the number of an element. Returns true and leaves a diagnostic if the session
// was interrupted. To save time, the function tests for an interrupt only at every 65,536th element.
static inline bool nw_elements_stopped(nw_ctx *c, int64_t i) { return !(i & 65535) && nw_stopped(c); }
// Loads a .npy file of version 1.0 or 2.0. The data may be in C or Fortran order, and little or big endian.
NW_API nw_array *nw_array_load(nw_ctx *c, const char *path);
NW_API bool nw_array_save(nw_ctx *c, nw_array *a, const char *path);

#ifdef __cplusplus
}
#endif
