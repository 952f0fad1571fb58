// Declares the state of core/run for one session: pooled memory, the JIT, and the worker.
#pragma once
#include "run/run.h"

// Freed blocks are kept for later requests of a similar size. So a call does not cause page faults for a temporary
// again. The time of such page faults could be mistaken for an effect of the schedule.
typedef struct nw_block_list nw_block_list;
typedef struct nw_fenced nw_fenced; // fence.c
typedef struct nw_mem {
  nw_block_list *free_block;
  size_t kept; // bytes in free blocks
  unsigned colour; // selects the offset within a page at which the next large block starts
  nw_fence fence; // where new blocks are placed relative to a guard page
  size_t align; // alignment of tensors that end at a guard page; 0: a tensor ends exactly where the guard page begins
  nw_fenced *fenced; // blocks next to guard pages
} nw_mem;
void *nw_mem_get(nw_mem *m, size_t bytes, bool zero); // 64-byte aligned; NULL if there is not enough memory
// Like nw_mem_get, but the block is a new mapping, on huge pages if the system has them.
void *nw_mem_huge(nw_mem *m, size_t bytes);
// Allocates several pieces, each 64-byte aligned, with undefined contents. Sets *stride to the bytes from one piece to
// the next. Returns the first piece, or NULL if there is not enough memory.
void *nw_mem_pieces(nw_mem *m, size_t bytes, int64_t pieces, int64_t *stride);
void nw_mem_put(nw_mem *m, void *data);
void nw_mem_free(nw_mem *m);
// ---- fence.c
void *nw_fenced_get(nw_mem *m, size_t bytes, int64_t pieces, size_t align, int fill, int64_t *stride);
void *nw_fenced_data(const nw_fenced *f);
bool nw_fenced_put(nw_mem *m, void *data); // returns false if the block is not a fenced block
bool nw_fences_hold(const nw_mem *m); // true if nothing was written between a block and the edge of its page

typedef struct nw_worker nw_worker;
typedef struct nw_gpu nw_gpu;
typedef enum nw_gpu_kind { NW_GPU_CUDA, NW_GPU_OPENCL, NW_GPU_KINDS } nw_gpu_kind; // the drivers for GPUs
int nw_worker_end(nw_worker *w); // w may be NULL

typedef struct nw_session {
  nw_mem mem;
  void *library; // nestwright-jit, once it is open
  const nw_jit_api *api;
  nw_jit *jit;
  nw_worker *worker; // NULL until needed
  nw_gpu *gpu[NW_GPU_KINDS]; // the workers for GPUs (run/gpu/gpu.h); NULL until needed
  struct nw_ptxas *ptxas; // what ptxas has said (run/gpu/ptxas.h)
} nw_session;
nw_session *nw_session_of(nw_ctx *c);
