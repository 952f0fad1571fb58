// Keeps freed blocks of memory, so that later runs of the model in the same session reuse them. Page faults in new
// memory take longer than the writes to it. Private to the model.
#pragma once
#include "base/base.h"

typedef struct nw_spares {
  nw_vec of[64]; // of[i]: blocks of 2^i bytes
  size_t bytes; // total size of all blocks
} nw_spares;
nw_spares *nw_spares_of(nw_ctx *c);
void nw_spares_trim(nw_spares *s); // called between runs; frees blocks if their total size is above a limit
void *nw_spare_get(nw_spares *s, size_t bytes); // the block is not zeroed
void nw_spare_give(nw_spares *s, void *block); // `block` may be NULL
size_t nw_spare_room(const void *block); // size of the block in bytes
// Replaces a block with a larger one, and copies the first `used` bytes.
void *nw_spare_more(nw_spares *s, void *block, size_t used, size_t bytes);
