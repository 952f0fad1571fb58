// Makes copies of arrays at chosen places in memory, and finds out how many bytes are on huge pages.
#include "run/session.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_ALIGN ((int64_t)2 << 20) // the size of a huge page

static bool is_place(nw_ctx *c, const nw_address *p, nw_dtype t) {
  int bytes = nw_dtype_bytes(t);
  if (p->align < 1 || p->align > MOST_ALIGN || (p->align & (p->align - 1)))
    return nw_fail(c, NW_ERANGE, "give 16, 32, 64 or 4096",
                   "align: %" PRId64 " is not an alignment: expected a power of two, up to %" PRId64, p->align,
                   MOST_ALIGN);
  if (p->offset < 0 || p->offset >= p->align)
    return nw_fail(c, NW_ERANGE, "a larger align allows a larger offset",
                   "offset: %" PRId64 " is out of range: give 0 to %" PRId64 ", less than align", p->offset,
                   p->align - 1);
  if (p->align % bytes)
    return nw_fail(c, NW_ERANGE, "give 16, 32, 64 or 4096",
                   "align: %" PRId64 " is less than the %d bytes of an element (%s)", p->align, bytes,
                   nw_dtype_name(t));
  return p->offset % bytes == 0 || nw_fail(c, NW_ERANGE, "elements cannot lie there",
                                           "offset: %" PRId64 " is not a multiple of the %d bytes of an element (%s)",
                                           p->offset, bytes, nw_dtype_name(t));
}

// Returns the first address from `p` that is an odd multiple of the alignment, plus the offset. An even multiple would
// have a larger alignment than requested.
static char *placed(char *p, const nw_address *place) {
  uintptr_t align = (uintptr_t)place->align, mask = 2 * align - 1;
  return p + ((align - (uintptr_t)p) & mask) + place->offset;
}

nw_array *nw_array_placed(nw_array *from, const nw_address *place) {
  nw_ctx *c = from->ctx;
  if (!is_place(c, place, from->dtype)) return NULL;
  size_t bytes = from->bytes + 3 * (size_t)place->align;
  if (!nw_memory_for(c, "a copy of a tensor", bytes, 1)) return NULL;
  nw_mem *m = &nw_session_of(c)->mem;
  void *block = place->huge ? nw_mem_huge(m, bytes) : nw_mem_get(m, bytes, false);
  if (!block) return nw_no_memory(c, "a copy of a tensor", bytes);
  nw_array *a = nw_xcalloc(1, sizeof *a);
  *a = *from;
  a->refs = 1;
  a->block = block;
  a->owner = NULL;
  a->low = placed(block, place);
  a->data = (char *)a->low + ((char *)from->data - (char *)from->low);
  a->shape = nw_xcalloc(2 * (size_t)a->ndim + 1, sizeof *a->shape);
  a->stride = a->shape + a->ndim;
  memcpy(a->shape, from->shape, 2 * sizeof *a->shape * (size_t)a->ndim);
  memcpy(a->low, from->low, a->bytes);
  return a;
}

// ---- huge pages

static bool holds_one(uintptr_t from, uintptr_t to, int n, nw_array *const *a) {
  for (int i = 0; i < n; i++)
    if ((uintptr_t)a[i]->data >= from && (uintptr_t)a[i]->data < to) return true;
  return false;
}

// Reads /proc/self/smaps, which has a line such as "7f00-7f08 rw-p ..." for each mapping, and then one line for each
// count of the mapping.
bool nw_huge_bytes(int n, nw_array *const *a, int64_t *huge, int64_t *mapped) {
  FILE *f = fopen("/proc/self/smaps", "re");
  char line[512];
  bool counted = false;
  *huge = *mapped = 0;
  while (f && fgets(line, sizeof line, f)) {
    uintptr_t from, to;
    int64_t kib;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
      counted = holds_one(from, to, n, a);
      *mapped += counted ? (int64_t)(to - from) : 0;
    } else if (counted && sscanf(line, "AnonHugePages: %" SCNd64 " kB", &kib) == 1) {
      *huge += kib << 10;
    }
  }
  if (f) fclose(f);
  return *mapped > 0;
}
