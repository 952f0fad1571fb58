// Declares the order in which the blocks of a simulated kernel begin. The cost model replays it.
#pragma once
#include "nestwright/device.h"

// Blocks that begin one after another, and are of one kind.
typedef struct nw_gpu_turn {
  int kind;
  int64_t blocks;
  bool first; // they are the first ones of a launch
} nw_gpu_turn;

// The order in which the blocks of these kinds begin, in all launches. There is none for grids with very many blocks.
int nw_gpu_turns(const nw_gpu_report *r, int kernel);
const nw_gpu_turn *nw_gpu_turn_at(const nw_gpu_report *r, int kernel, int i);
