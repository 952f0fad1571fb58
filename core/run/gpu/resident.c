// Moves arrays between the memory of this host and that of the GPU.
#include "run/gpu/resident.h"
#include "run/gpu/backend.h"
#include "run/gpu/gpu.h"
#include <stdlib.h>

static nw_resident *resident_of(const nw_array *a) { return a->owner ? a->owner->resident : a->resident; }

void nw_resident_make(nw_array *a, nw_gpu_kind kind) {
  a->resident = nw_xcalloc(1, sizeof *a->resident);
  *a->resident = (nw_resident){.kind = kind, .here = true};
}

void nw_resident_free(nw_array *a) {
  nw_resident *r = a->resident;
  if (!r) return;
  if (r->generation && r->generation == nw_gpu_generation(a->ctx, r->kind)) nw_gpu_free(a->ctx, r->kind, r->memory);
  free(r);
  a->resident = NULL;
}

static bool lost(const nw_array *a) {
  return nw_fail(a->ctx, NW_ESTALE, "compute it again",
                 "the elements of the array were only on the GPU, and were lost when its worker ended");
}

// True if the memory on the GPU is that of the current worker. Memory of an earlier worker is gone.
static bool is_there(const nw_array *a, nw_resident *r) {
  if (r->generation && r->generation == nw_gpu_generation(a->ctx, r->kind)) return true;
  r->generation = 0;
  r->there = false;
  return false;
}

bool nw_resident_memory(nw_array *a, const char *name, bool reads, uint64_t *memory) {
  nw_resident *r = a->resident;
  bool allocated = is_there(a, r);
  if (!r->here && !r->there && reads) return lost(a);
  if (!allocated) {
    if (!nw_gpu_alloc(a->ctx, r->kind, name, (int64_t)a->bytes, &r->memory)) return false;
    r->generation = nw_gpu_generation(a->ctx, r->kind);
  }
  if (reads && !r->there && a->bytes && !nw_gpu_put(a->ctx, r->kind, r->memory, a->low, (int64_t)a->bytes))
    return false;
  r->there |= reads;
  *memory = r->memory;
  return true;
}

void nw_resident_written(nw_array *a) {
  a->resident->there = true;
  a->resident->here = false;
}

// ---- what the rest of the program calls

nw_array *nw_array_to_gpu(nw_ctx *c, nw_array *a, const char *driver) {
  uint64_t memory;
  nw_gpu_kind kind = !strcmp(driver, nw_opencl.name) ? NW_GPU_OPENCL : NW_GPU_CUDA;
  nw_array *out = nw_array_fetch(a) ? nw_array_copy(a) : NULL;
  if (!out) return NULL;
  nw_resident_make(out, kind);
  if (nw_gpu_open(c, kind) && nw_resident_memory(out, "the array", true, &memory)) return out;
  nw_array_release(out);
  return NULL;
}

bool nw_array_fetch(nw_array *a) {
  nw_resident *r = resident_of(a);
  nw_array *whole = a->owner ? a->owner : a;
  if (!r || r->here) return true;
  if (!is_there(whole, r)) return lost(whole);
  r->here = !whole->bytes || nw_gpu_get(a->ctx, r->kind, whole->low, r->memory, (int64_t)whole->bytes);
  const nw_diag *d = r->here ? NULL : nw_error(a->ctx);
  if (!d || d->code != NW_ECRASH || is_there(whole, r)) return r->here;
  nw_clear(a->ctx); // the worker ended during the copy
  return lost(whole);
}

void nw_array_touch(nw_array *a) {
  nw_resident *r = resident_of(a);
  if (r) r->there = false;
}

bool nw_array_on_gpu(const nw_array *a) {
  const nw_resident *r = resident_of(a);
  return r && r->there;
}
