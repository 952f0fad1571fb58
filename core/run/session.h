// What this room keeps for one session: pooled memory, the JIT, and what was asked of the threads.
#pragma once
#include "run/run.h"

// Blocks given back are kept for the next request of about their size, so that a temporary is not paged in anew at
// every call and page faults do not pass for effects of a schedule.
typedef struct nw_block_list nw_block_list;
typedef struct nw_fenced nw_fenced; // fence.c
typedef struct nw_mem {
  nw_block_list *free_block;
  size_t kept; // bytes in free blocks
  unsigned colour; // large blocks start at different offsets within a page
  nw_fence fence; // where blocks lie that are asked for from now on
  size_t align; // of tensors that end at a page; 0: what their size allows
  nw_fenced *fenced; // blocks at the edge of a page
} nw_mem;
void *nw_mem_get(nw_mem *m, size_t bytes, bool zero); // 64-byte aligned; NULL when the system has no more
// Several pieces that each begin at a multiple of 64 bytes, *stride bytes apart; what they hold is undefined.
void *nw_mem_pieces(nw_mem *m, size_t bytes, int64_t pieces, int64_t *stride);
void nw_mem_put(nw_mem *m, void *data);
void nw_mem_free(nw_mem *m);
// ---- fence.c
void *nw_fenced_get(nw_mem *m, size_t bytes, int64_t pieces, size_t align, int fill, int64_t *stride);
void *nw_fenced_data(const nw_fenced *f);
bool nw_fenced_put(nw_mem *m, void *data); // false when the block is another kind of block
bool nw_fences_hold(const nw_mem *m); // nothing was written between a block and the edge of its page

typedef struct nw_worker nw_worker;
int nw_worker_end(nw_worker *w); // NULL is none

typedef struct nw_session {
  nw_mem mem;
  void *library; // nestwright-jit, once it is open
  const nw_jit_api *api;
  nw_jit *jit;
  nw_worker *worker; // NULL until one is needed
} nw_session;
nw_session *nw_session_of(nw_ctx *c);
