// Assigns addresses to buffers. Buffers are placed one after the other in program order, and each buffer starts at a
// page boundary. So the cache sets of a buffer are the same in every run. A buffer of scope `local` that is on the
// stack, and that fits into the vector registers, is in registers and not in memory.
#pragma once
#include "access/address.h"
#include "lower/lower.h"

#define NW_PAGE 4096
#define NW_REGISTER_BYTES 2048 // 32 vector registers of 64 bytes

typedef struct nw_placed { // a buffer
  const nw_buffer *buffer;
  uint64_t address;
  int64_t bytes;
  bool memory; // false if the buffer is in registers
} nw_placed;

typedef struct nw_places {
  int n; // number of buffers of the program
  nw_placed *at; // for each buffer, in program order
  uint64_t from, to; // the range of all addresses
} nw_places;

// Adds the names of a program's sizes, with the slots 0, 1, ...
void nw_name_sizes(nw_names *names, const nw_program *p);
bool nw_place_all(nw_ctx *c, nw_arena *a, const nw_exec *e, const int64_t *sizes, nw_places *out);
nw_placed *nw_place_named(const nw_places *x, const char *buffer); // NULL if there is none
