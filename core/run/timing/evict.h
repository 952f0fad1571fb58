// Removes the data of a kernel from the caches, so that the next call of the kernel has to load the data from memory.
#pragma once
#include "run/kernel.h"

typedef struct nw_evictor {
  nw_kernel *k; // nw_kernel_begin must have been called for this kernel
  int n;
  nw_array *const *args;
  nw_chill chill;
  char *buffer; // for NW_SWEPT
  size_t bytes; // size of the buffer
} nw_evictor;

// Removes these bytes from every cache. Does nothing if nw_can_flush() is false.
void nw_flush(const void *data, size_t bytes);

// The caller sets k, n, args and chill. Returns false, with a diagnostic, if there is not enough memory.
bool nw_evict_open(nw_evictor *e);
void nw_evict(nw_evictor *e);
void nw_evict_close(nw_evictor *e);
