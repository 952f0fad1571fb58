// Declares the caches of the simulated GPU. While a block runs, the requests of its warps to global memory are recorded
// (traces.c). The blocks that run at the same time are a wave. Their requests are then replayed, interleaved, in the caches
// (waves.c).
#pragma once
#include "device/gpu/run.h"

// A request for sectors of one line: the access, the sectors, and the line.
#define NWG_SITE_AT 52
#define NWG_SECTORS_AT 44
#define NWG_LINE_MASK ((UINT64_C(1) << NWG_SECTORS_AT) - 1)
#define NWG_ALL_WAIT UINT64_MAX // the warp waits at a barrier
enum { NWG_MOST_SECTORS = 8, NWG_MOST_CACHED_SITES = 4095 }; // of a line, and of a kernel

typedef struct nwg_queue { // the requests of a warp
  uint64_t *at;
  int64_t n, cap;
} nwg_queue;

typedef struct nwg_trace { // the requests of a block: a queue for each warp
  nwg_queue *warp;
  bool cut; // a warp had more requests than are recorded
} nwg_trace;

enum { NWG_WAYS = 16 }; // machine records have no number of ways
typedef struct nwg_set { // of lines, the last used line first
  uint32_t tag[NWG_WAYS]; // number of the line, plus 1; 0: unused
  uint8_t valid[NWG_WAYS], dirty[NWG_WAYS]; // sectors of the line
} nwg_set;

typedef struct nwg_level {
  int64_t sets;
  nwg_set *set;
} nwg_level;

typedef struct nwg_hits { // of an access, in sectors
  int64_t sectors, l1, l2, written; // written: to memory, now or later
} nwg_hits;

struct nwg_caches {
  int64_t sms, line, sector; // line and sector: bytes
  nwg_level l1, l2; // l1: the sets of all multiprocessors
  uint64_t *base; // address of each buffer
  bool fits; // all buffers together are not larger than L2
  // ---- the launch in progress
  const nwg_kernel *k;
  int64_t blocks, wave; // number of blocks of the grid, and of blocks that run at the same time
  bool recording; // the requests of the current block are recorded
  int64_t most; // recorded requests of a warp
  nwg_trace now; // of the current block
  int64_t ntraces;
  nwg_trace *trace; // of the blocks of a wave, or of the classes of blocks that `slot` names
  int64_t *slot; // for each class of blocks, the number of its trace, or -1; NULL if all blocks are simulated
  int64_t *before; // for each access, its sectors before this launch
  nwg_hits *first, *rest; // for each access, in the first wave, and in the waves after it that were replayed
  int64_t replayed; // number of blocks
  bool cut; // only the first requests of some warps were recorded
};

// ---- caches.c
bool nwg_l1_open(nwg_run *r, const nw_gpu_kernel *row);
// Looks up the sectors of a request of a multiprocessor in L1 and L2, and counts the hits.
void nwg_look_up(struct nwg_caches *c, int64_t sm, uint64_t line, uint32_t sectors, const nwg_site *s, nwg_hits *h);
void nwg_l2_clear(struct nwg_caches *c);
// ---- traces.c
void nwg_trace_free(const nwg_kernel *k, nwg_trace *t);
// ---- waves.c
// Replays the blocks from `from` to `to`, which run at the same time. Block b has trace of[b - from], or its own trace if `of` is
// NULL; `shift` has for each of them and each access the number of lines that are added. Returns false if interrupted.
bool nwg_replay(struct nwg_caches *c, nw_ctx *ctx, int64_t from, int64_t to, const int64_t *of, const int64_t *shift);
