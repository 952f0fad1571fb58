// Declares arrays, which hold data in memory.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

NW_API nw_array *nw_array_new(nw_ctx *c, nw_dtype t, int ndim, const int64_t *shape); // zeros, 64-byte aligned
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
NW_API int64_t nw_array_count(const nw_array *a);
NW_API void *nw_array_data(nw_array *a);
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
NW_API bool nw_array_save(nw_ctx *c, const nw_array *a, const char *path);

#ifdef __cplusplus
}
#endif
