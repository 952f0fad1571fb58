// Removes the data of a kernel from the caches, so that its next call has to load it from memory.
#pragma once
#include "run/kernel.h"

typedef struct nw_evictor {
  nw_kernel *k; // its call must have begun
  int n;
  nw_array *const *args;
  nw_chill chill;
  char *buffer; // for NW_SWEPT
  size_t bytes; // of the buffer
} nw_evictor;

void nw_flush(const void *data, size_t bytes); // removes these bytes from every cache; nothing unless nw_can_flush()

bool nw_evict_open(nw_evictor *e); // k, n, args and chill are given; false and a diagnostic if there is no memory
void nw_evict(nw_evictor *e);
void nw_evict_close(nw_evictor *e);
