// Arrays that are on the GPU. Such an array has memory here, too. Its elements are copied between the two places when they
// are needed: to the GPU when a kernel there reads them, and back when anything else does.
#pragma once
#include "run/session.h"

struct nw_resident {
  nw_gpu_kind kind; // the driver of the GPU
  uint64_t memory,
      generation; // the memory on the GPU, and of which worker it is; the generation is 0 before it is allocated
  bool here, there; // true if the elements are valid in the memory of this host, and in that of the GPU
};

// Gives the memory on the GPU of a resident array, with its elements if they are needed. Returns false, with a
// diagnostic, on failure.
bool nw_resident_memory(nw_array *a, const char *name, bool reads, uint64_t *memory);
void nw_resident_written(nw_array *a); // a kernel has written the array on the GPU
void nw_resident_make(nw_array *a, nw_gpu_kind kind); // makes a resident, without memory on the GPU yet
void nw_resident_free(nw_array *a); // called when the array is freed
