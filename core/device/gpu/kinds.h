// Declares the kinds of blocks of a kernel. This header is private to device/gpu.
//
// Two blocks are of one kind if their warps execute each loop, guard, load and store equally often. So the blocks of a kind take
// equally long, in contrast to those of different kinds: the parts of a fused grid, or blocks at the edge of an array.
#pragma once
#include "device/gpu/run.h"
#include "device/gpu/turns.h"

enum {
  NWG_KINDS = 64, // of a kernel; if there are more, kinds that follow each other are merged
  NWG_MOST_ORDERED = 1 << 17, // blocks of all launches whose order is kept
};

typedef struct nwg_kind {
  int64_t blocks, barriers;
  uint64_t hash; // of the counts of a block; 0 for kinds that were merged
  int64_t *runs; // of all blocks, as in nwg_entry
  nwg_counts *count;
} nwg_kind;

typedef struct nwg_kinds { // of a kernel
  int n;
  nwg_kind kind[NWG_KINDS];
  // The order in which blocks begin: groups of blocks of the same kind.
  int norder, caporder;
  nw_gpu_turn *order;
  int64_t ordered; // number of their blocks
  bool lost; // the order is not known: there are too many blocks
  uint8_t *of; // of the current launch: the kind of each class of blocks
  int64_t classes;
} nwg_kinds;

// Called in this order for a launch whose classes of blocks are simulated. nwg_kind_block: the counts of the worker are those of
// one block of class `number`, of which the grid has `times`. These functions return false, with a diagnostic, if there is not
// enough memory.
bool nwg_kinds_launch(nwg_run *r, nwg_kinds *all, int64_t classes);
bool nwg_kind_block(nwg_kinds *all, nwg_worker *w, int64_t number, int64_t times);
bool nwg_kinds_order(nwg_run *r, nwg_kinds *all, const nwg_kernel *k, const int64_t *var);
void nwg_kinds_free(nwg_kinds *all); // all may be NULL
