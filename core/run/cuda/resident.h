// Arrays that are on the GPU. Such an array has memory here, too. Its elements are copied between the two places when they
// are needed: to the GPU when a kernel there reads them, and back when anything else does.
#pragma once
#include "run/run.h"

struct nw_resident {
  uint64_t address, generation; // of the memory on the GPU; the generation is 0 before it is allocated
  bool here, there; // true if the elements are valid in the memory of this host, and in that of the GPU
};

// Returns the address on the GPU of a resident array, with its elements if they are needed. Returns false, with a
// diagnostic, on failure.
bool nw_resident_address(nw_array *a, const char *name, bool reads, uint64_t *address);
void nw_resident_written(nw_array *a); // a kernel has written the array on the GPU
void nw_resident_make(nw_array *a); // makes a resident, without memory on the GPU yet
void nw_resident_free(nw_array *a); // called when the array is freed
