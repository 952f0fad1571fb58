// Where buffers lie: in the order of the program, each from the start of a page, so that which buffers share sets of a cache
// is always the same. Storage in registers is not memory: what has scope local, is on the stack and is no larger than the
// vector registers are.
#pragma once
#include "access/address.h"
#include "lower/lower.h"

#define NW_PAGE 4096
#define NW_REGISTER_BYTES 2048 // 32 vector registers of 64 bytes

typedef struct nw_placed { // a buffer
  const nw_buffer *buffer;
  uint64_t address;
  int64_t bytes;
  bool memory; // false: in registers
} nw_placed;

typedef struct nw_places {
  int n; // as many as the program has buffers, in its order
  nw_placed *at;
  uint64_t from, to; // of all addresses
} nw_places;

// The sizes of a program as names, in slots 0, 1, ...; of a walk more follow.
void nw_name_sizes(nw_names *names, const nw_program *p);
bool nw_place_all(nw_ctx *c, nw_arena *a, const nw_exec *e, const int64_t *sizes, nw_places *out);
nw_placed *nw_place_named(const nw_places *x, const char *buffer); // NULL: there is none
