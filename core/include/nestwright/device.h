// Runs programs on machines that are not here. The simulated GPU runs the grid of a program in warps, whose threads
// execute each statement together. It counts what the accesses to memory cost, and finds threads that race.
#pragma once
#include "nestwright/array.h"
#include "nestwright/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// Selects what to record. Then only the given blocks run, in the first launch of the given kernel. The counts are for
// these blocks only.
typedef struct nw_gpu_watch {
  int kernel; // number of the kernel
  int64_t block[3]; // the first block
  int64_t blocks; // number of blocks, in the order of their numbers: x is fastest
  // Requests: those of the warp `warp` of the first block that load or store elements of `buffer`. NULL: none.
  const char *buffer;
  bool write;
  int warp;
  int64_t skip, requests; // number of requests to leave out, and most requests to record
  int64_t spans; // most spans to record
} nw_gpu_watch;

typedef struct nw_gpu_opts {
  int threads; // number of threads of this host that simulate; 0: all cores
  const nw_machine *machine; // the GPU to count for; NULL: the program's target, or else a GPU with usual limits
  bool estimates; // the numbers of registers are estimated, also if ptxas is installed
  bool caches; // also counts hits in the L1 and L2 caches, and bytes of memory; then one thread of this host simulates
  // For nw_gpu_count: simulates only one of the blocks whose conditions and addresses are alike, and multiplies its counts.
  // The counts are those of all blocks.
  bool classes;
  const nw_gpu_watch *watch; // for nw_gpu_count; NULL: nothing is recorded, and all blocks run
} nw_gpu_opts;

// What was found. A race is two accesses to an element whose order is undefined, of which at least one is a write.
typedef enum nw_gpu_fault {
  NW_GPU_RACE, // two threads of a block, with no barrier between the accesses
  NW_GPU_RACE_BLOCKS, // two blocks
  NW_GPU_RACE_COPY, // an access while an asynchronous copy into the element is in flight
  NW_GPU_UNWRITTEN, // a read of an element that was not written
  NW_GPU_OUTSIDE, // an access outside the buffer
  NW_GPU_DIVERGED, // a barrier that some threads of the block do not reach
  NW_GPU_DIVIDED, // an integer division by zero
  NW_GPU_FAULTS
} nw_gpu_fault;
NW_API const char *nw_gpu_fault_name(nw_gpu_fault f); // "race", "race between blocks", ...

typedef struct nw_gpu_place { // an access by a thread
  int64_t block[3], thread[3]; // x, y, z
  int id, step; // id and step of the statement; 0 if it is unknown
  bool write;
} nw_gpu_place;

typedef struct nw_gpu_finding {
  nw_gpu_fault fault;
  int kernel; // number of the kernel
  const char *buffer; // NULL for a barrier
  int64_t element; // linear index
  // second: the access with the fault. first: for a race, the earlier access; for a barrier, a thread that does not
  // reach it
  nw_gpu_place first, second;
  bool has_first;
  int64_t times; // number of accesses with this fault at this statement
} nw_gpu_finding;

// Returns a sentence about a finding, on the heap. It names the threads and their blocks, but not the step.
NW_API char *nw_gpu_finding_text(const nw_gpu_finding *f);

#define NW_GPU_DEGREES 33
typedef struct nw_gpu_access { // the counts of one load or store of a kernel
  int kernel, id, step; // id and step of the statement that makes the access
  const char *buffer, *scope;
  int bytes; // of the access of one thread
  bool write, atomic, async;
  int64_t requests; // number of accesses by warps
  int64_t lanes; // number of accesses by threads
  int64_t sectors; // of global memory; a sector counts once for each request
  int64_t lines; // like `sectors`, for cache lines
  int64_t wavefronts; // of shared memory: cycles of the banks
  int64_t degree[NW_GPU_DEGREES]; // [n]: requests to shared memory with n wavefronts; the last one: with more
  int64_t l1_hits, l2_hits; // sectors that hit; 0 if no caches were simulated
  int part; // index of a part (nw_gpu_part): the innermost loop around the access, or the kernel if there is none
  double compiled; // estimated instructions that compiled code executes for it; 0 if the element is in a register
  double compiled_wavefronts; // of these instructions
  int64_t array_bytes; // of the buffer
} nw_gpu_access;

// A loop of a kernel, or a whole kernel. The numbers of instructions are an estimate of those of compiled code; they
// include those of the loops inside.
typedef struct nw_gpu_part {
  int kernel, id, depth; // id of the statement of the loop or of the launch; depth: number of parts around
  const char *name; // NULL for a kernel
  double times; // number of iterations that warps execute
  double issued, f32, f64, ints, special; // instructions of warps: all, and those of each kind of arithmetic unit
  double tensor, tensor_tf32; // multiply-adds of tensor cores, with factors of 16 bits and with those of tf32
  // For a kernel: chain: cycles that the slowest warp of a block needs if it never waits for another warp. active: the
  // mean of these cycles over all warps, divided by chain. For example, if some warps execute everything and the others
  // nothing, `active` is the share of warps that execute something.
  double chain, active;
} nw_gpu_part;

// Blocks of a kernel whose warps execute each loop, guard, load and store equally often.
typedef struct nw_gpu_block_kind {
  int64_t blocks; // of all launches
  int64_t barriers; // that they execute
  nw_gpu_part part; // the counts of these blocks, as if they were a whole kernel
  int naccesses;
  nw_gpu_access *access;
} nw_gpu_block_kind;

#define NW_GPU_CLASSES 32
typedef struct nw_gpu_kernel {
  int64_t extent[6]; // numbers of blocks in x, y and z, and of threads of a block; those of the last launch
  int64_t launches, blocks, warps; // numbers of executions
  int64_t simulated; // number of blocks that were simulated; less than `blocks` if classes of blocks were counted
  int64_t barriers; // executed by a block
  int64_t instructions[NW_GPU_CLASSES]; // executed by a warp, in each class of operations (nw_gpu_class)
  int64_t issued, active; // statements executed by a warp, and the sum of their active threads
  int64_t shared_bytes; // of a block
  int64_t registers; // of a thread
  bool assembled; // ptxas has counted the registers; otherwise the number is an estimate
  int64_t local_bytes; // of a thread, in arrays that cannot be in registers
  int64_t resident; // blocks that a multiprocessor runs at the same time; 0 if no machine is known
  double occupancy; // warps that run at the same time, divided by the largest number
  int64_t waves; // numbers of waves of blocks that run at the same time; 0 if no caches were simulated
  int64_t replayed; // number of waves that were replayed in the caches; if less than `waves`, the hits are an estimate
  bool cut; // only the first requests of the warps were replayed, and the hits are an estimate
  int64_t dram_read, dram_written; // bytes
  const char *limiter; // what limits `resident`: "warps", "blocks", "registers" or "shared memory"; NULL if unknown
} nw_gpu_kernel;

// What limits the number of blocks that a multiprocessor runs at the same time.
typedef enum nw_gpu_resource {
  NW_GPU_WARPS,
  NW_GPU_BLOCKS,
  NW_GPU_REGISTERS,
  NW_GPU_SHARED_MEMORY,
  NW_GPU_RESOURCES
} nw_gpu_resource;
NW_API const char *nw_gpu_resource_name(nw_gpu_resource r); // "warps", "blocks", "registers" or "shared memory"

#define NW_GPU_UNLIMITED INT64_MAX
typedef struct nw_gpu_occupancy {
  int64_t blocks; // that a multiprocessor runs at the same time; 0: the kernel cannot run
  int64_t limit[NW_GPU_RESOURCES]; // the blocks if each resource were the only one
  nw_gpu_resource limiter; // the first one with the fewest blocks
  double share; // warps that run at the same time, divided by the largest number
} nw_gpu_occupancy;
// Computes the occupancy of a kernel. threads: of a block, at least 1; registers: of a thread; bytes: shared memory of a
// block. Returns false, with a diagnostic, if the machine is not a GPU.
NW_API bool nw_gpu_occupancy_of(nw_ctx *c, const nw_machine *m, int64_t threads, int64_t registers, int64_t bytes,
                                nw_gpu_occupancy *out);

enum { NW_GPU_LANES = 32, NW_GPU_WORDS = 4 };
typedef struct nw_warp_request { // one request of a warp, as it was recorded
  int id, step; // of the statement
  const char *scope;
  int bytes; // of each lane
  uint32_t lanes; // bit l is set if lane l is active
  int64_t address[NW_GPU_LANES]; // of each active lane, in bytes from the beginning of the buffer
  int sectors, wavefronts; // as in nw_gpu_access
  // For shared memory: the number of words of 4 bytes of a lane, and the wavefront in which each of them is transferred,
  // counted from 0. The bank of a word is its number modulo the number of banks.
  int words;
  int8_t wavefront[NW_GPU_LANES][NW_GPU_WORDS];
} nw_warp_request;

typedef struct nw_warp_span_loop { // a loop around a span, with its current iteration
  const char *name;
  int64_t value;
} nw_warp_span_loop;

#define NW_GPU_SPAN_LOOPS 8
typedef struct nw_warp_span { // what a warp executes without waiting for other warps
  int64_t block[3];
  int warp;
  int64_t part; // number of barriers of the block before the span
  int64_t statements; // stores that the warp executes
  const char *buffer; // the buffer of the last store of the nest that is executed; NULL if there is none
  int id, step; // of this store
  int nloops; // loops that contain a barrier, outermost first
  nw_warp_span_loop loop[NW_GPU_SPAN_LOOPS];
} nw_warp_span;

typedef struct nw_gpu_units { // units of memory of the simulated machine
  int64_t sector, line; // bytes
  int64_t banks, warp; // numbers of banks, and of threads of a warp
} nw_gpu_units;

typedef struct nw_gpu_report nw_gpu_report;
// Runs the program on arrays, as nw_interpret does. Returns NULL, with a diagnostic, on failure. What the simulation
// finds is not a failure. After a fault, the values of outputs may be wrong. The caller frees the report.
NW_API nw_gpu_report *nw_gpu_simulate(nw_ctx *c, const nw_program *p, const nw_gpu_opts *o, int n,
                                      nw_array *const *args);
// Makes the counts without arrays, for these values of the sizes of the program. Fails if the accesses depend on data. Finds
// races in shared memory, but not in global memory.
NW_API nw_gpu_report *nw_gpu_count(nw_ctx *c, const nw_program *p, const nw_gpu_opts *o, const int64_t *sizes);
NW_API void nw_gpu_report_free(nw_gpu_report *r);
NW_API int nw_gpu_findings(const nw_gpu_report *r);
NW_API const nw_gpu_finding *nw_gpu_finding_at(const nw_gpu_report *r, int i);
NW_API int nw_gpu_accesses(const nw_gpu_report *r);
NW_API const nw_gpu_access *nw_gpu_access_at(const nw_gpu_report *r, int i);
NW_API int nw_gpu_kernels(const nw_gpu_report *r);
NW_API const nw_gpu_kernel *nw_gpu_kernel_at(const nw_gpu_report *r, int i);
// What nw_gpu_watch has recorded. nw_warp_requests_seen is the number of requests that it could record, including those it left out.
NW_API int nw_warp_requests(const nw_gpu_report *r);
NW_API const nw_warp_request *nw_warp_request_at(const nw_gpu_report *r, int i);
NW_API int64_t nw_warp_requests_seen(const nw_gpu_report *r);
NW_API int nw_warp_spans(const nw_gpu_report *r);
NW_API const nw_warp_span *nw_warp_span_at(const nw_gpu_report *r, int i);
NW_API nw_gpu_units nw_gpu_units_of(const nw_gpu_report *r);
NW_API int nw_gpu_parts(const nw_gpu_report *r);
NW_API const nw_gpu_part *nw_gpu_part_at(const nw_gpu_report *r, int i); // each is followed by the parts inside it
// The kinds of blocks of a kernel, if classes of blocks were simulated and there are at least two kinds; otherwise there are none.
NW_API int nw_gpu_block_kinds(const nw_gpu_report *r, int kernel);
NW_API const nw_gpu_block_kind *nw_gpu_block_kind_at(const nw_gpu_report *r, int kernel, int i);
NW_API const char *nw_gpu_class(int i); // name of a class of instructions: "fma", "int", ...; NULL after the last one
NW_API double nw_gpu_seconds(const nw_gpu_report *r); // time that the simulation took
NW_API const char *nw_gpu_machine(const nw_gpu_report *r); // name of the machine whose limits were used

#ifdef __cplusplus
}
#endif
