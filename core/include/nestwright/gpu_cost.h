// Predicts the time of kernels on a GPU from the counts of the simulated GPU.
#pragma once
#include "nestwright/device.h"

#ifdef __cplusplus
extern "C" {
#endif

// The limits on speed. The first ones are of a multiprocessor, L2 and MEMORY are of the whole GPU.
#define NW_GPU_LIMITS(LIMIT)                                                                                           \
  LIMIT(ISSUE, "issue of instructions")                                                                                \
  LIMIT(F32, "f32 units")                                                                                              \
  LIMIT(TENSOR, "tensor cores")                                                                                        \
  LIMIT(INT, "integer units")                                                                                          \
  LIMIT(F64, "f64 units")                                                                                              \
  LIMIT(SPECIAL, "special function units")                                                                             \
  LIMIT(L1, "L1 cache")                                                                                                \
  LIMIT(SHARED, "shared memory")                                                                                       \
  LIMIT(L2, "L2 cache")                                                                                                \
  LIMIT(MEMORY, "memory")                                                                                              \
  LIMIT(WAIT, "latency")                                                                                               \
  LIMIT(TAIL, "idle multiprocessors")                                                                                  \
  LIMIT(LAUNCH, "launch")

typedef enum nw_gpu_limit {
#define NW_GPU_LIMIT(id, name) NW_GPU_LIMIT_##id,
  NW_GPU_LIMITS(NW_GPU_LIMIT)
#undef NW_GPU_LIMIT
      NW_GPU_LIMIT_COUNT
} nw_gpu_limit;
NW_API const char *nw_gpu_limit_name(nw_gpu_limit l);

typedef struct nw_gpu_time {
  double seconds; // of all launches of the kernel
  // For each limit, the seconds that the kernel would take if it were the only one. WAIT: seconds in which no warp of a
  // multiprocessor is ready; TAIL: seconds lost because multiprocessors have unequal numbers of blocks; LAUNCH: seconds
  // of launching. These three are added to the longest of the others.
  double limit[NW_GPU_LIMIT_COUNT];
  nw_gpu_limit bound; // the limit with the most seconds
  double waves; // of blocks; the last one may not be full
  double flops;
} nw_gpu_time;

typedef struct nw_gpu_part_time {
  double seconds; // as long as the tightest limit of a multiprocessor demands, for all blocks
  nw_gpu_limit bound;
} nw_gpu_part_time;

typedef struct nw_gpu_cost nw_gpu_cost;
// Returns the predicted times of the kernels and parts of a report, which must outlive the result. The caller frees the
// result. Returns NULL, with a diagnostic, if the machine is not a GPU. docs/gpu_model.md explains the model.
NW_API nw_gpu_cost *nw_gpu_cost_of(nw_ctx *c, const nw_gpu_report *r, const nw_machine *m);
NW_API void nw_gpu_cost_free(nw_gpu_cost *k);
NW_API nw_gpu_time nw_gpu_cost_kernel(const nw_gpu_cost *k, int i); // in the order of the report's kernels
NW_API nw_gpu_part_time nw_gpu_cost_part(const nw_gpu_cost *k, int i); // in the order of the report's parts

// Returns the seconds in which a multiprocessor executes n blocks of a kernel at the same time.
NW_API double nw_gpu_cost_blocks(const nw_gpu_cost *k, int kernel, int64_t n);

typedef struct nw_gpu_block_time {
  int sm, place; // the multiprocessor, and its place among those for blocks at the same time
  int kind; // as in nw_gpu_block_kind_at
  double from, to; // seconds
} nw_gpu_block_time;

// Returns the number of blocks whose times are known: those of all launches of a kernel with several kinds of blocks, but at most
// `most`. Sets out[0], ... to them, in the order in which they end.
NW_API int64_t nw_gpu_cost_schedule(const nw_gpu_cost *k, int kernel, int64_t most, nw_gpu_block_time *out);

#ifdef __cplusplus
}
#endif
