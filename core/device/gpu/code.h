// Declares the estimate of what a compiler makes of a kernel. This header is private to code.c and report.c.
#pragma once
#include "device/gpu/run.h"

typedef struct nwg_access_code { // of a load or store of the kernel that was estimated last
  int part; // the innermost loop around, or the kernel
  double share; // compiled instructions, divided by the executions of the lowered program
  double waves; // wavefronts of shared memory for each of these instructions; 0: as in the lowered program
} nwg_access_code;

typedef struct nwg_code_room {
  nw_arena *arena; // holds the names
  nw_pool *pool;
  const nw_machine_gpu *gpu;
  int nparts;
  nw_gpu_part *part; // of all kernels
  nwg_access_code *access; // for each site
} nwg_code_room;

void nwg_estimate_code(nwg_code_room *out, const nwg_entry *e, int kernel);
