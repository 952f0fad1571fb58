// Declares the replay of a grid whose blocks do not take equally long. This header is private to cost/gpu.
#pragma once
#include "device/gpu/turns.h"
#include "nestwright/gpu_cost.h"

enum { NW_GPU_UNITS = NW_GPU_LIMIT_L2 }; // the limits of a multiprocessor, each of which is a unit

typedef struct nw_block_kind { // a block
  double work[NW_GPU_UNITS]; // cycles in which it needs each unit of a multiprocessor
  double chain; // cycles of a warp that never waits for another
  int jobs; // number of its parts that wait independently of each other
  double blocks; // number of blocks of this kind
} nw_block_kind;

typedef struct nw_grid_blocks {
  int nkinds, nturns, sms, resident; // resident: blocks of a multiprocessor at the same time
  const nw_block_kind *kind;
  const nw_gpu_turn *turn;
} nw_grid_blocks;

typedef struct nw_grid_times { // in cycles, for all launches
  double all; // until the last block has ended
  double busy; // the mean over all multiprocessors of the time in which they have a block
} nw_grid_times;

// Replays the grid. If `out` is not NULL, it gets the times of the first `most` blocks, in cycles; *n is set to their number.
nw_grid_times nw_grid_replay(const nw_grid_blocks *g, int64_t most, nw_gpu_block_time *out, int64_t *n);
