// Declares the simulated GPU (prefix nwg_). A kernel (lower/launch.h) is compiled to code for warps. An instruction of
// this code computes a value for all threads of a warp, which are called lanes. Registers are arrays with one number
// for each lane.
//
// A block runs in parts between barriers. Each warp runs a part to its end before the next warp begins it. This order
// has no effect on programs without races, and races are found by comparing the recorded accesses, in whatever order
// the threads run.
#pragma once
#include "interp/node.h"
#include "lower/launch.h"
#include "nestwright/device.h"

enum {
  NWG_LANES = 32, // threads of a warp, at most
  NWG_MOST_THREADS = 1 << 15, // of a block; the number of a thread fits in a stamp
  NWG_PARTS = 8,
  NWG_PATTERNS = 4, // for each access, the last patterns of addresses are kept
  NWG_PLACES = 128, // elements of a sector or a line, at most
  NWG_SELECTS = 64, // nested selects, at most
  NWG_MOST_BANKS = 128,
  NWG_FINDINGS = 64, // for each thread of the host
};

typedef enum nwg_op {
  NWG_CONST,
  NWG_CONST_F,
  NWG_CONST_D,
  NWG_COPY, // a: 64-bit numbers
  NWG_ADD,
  NWG_SUB,
  NWG_MUL,
  NWG_ADD_BY, // the second operand is the constant i
  NWG_MUL_BY,
  NWG_SHIFT_BY, // times 2^i
  NWG_DIV,
  NWG_MOD,
  NWG_DIV_BY,
  NWG_MOD_BY,
  NWG_MIN,
  NWG_MAX,
  NWG_LT,
  NWG_LE,
  NWG_EQ,
  NWG_NE,
  NWG_AND,
  NWG_OR,
  NWG_NOT,
  NWG_NEG,
  NWG_WRAP, // to the dtype i
  NWG_SELECT, // the branches have 64-bit numbers
  NWG_SELECT_F,
  NWG_ADD_F,
  NWG_SUB_F,
  NWG_MUL_F,
  NWG_DIV_F,
  NWG_NEG_F,
  NWG_FMA_F,
  NWG_ADD_D,
  NWG_SUB_D,
  NWG_MUL_D,
  NWG_DIV_D,
  NWG_NEG_D,
  NWG_FMA_D,
  NWG_LT_F,
  NWG_LE_F,
  NWG_EQ_F,
  NWG_LT_D,
  NWG_LE_D,
  NWG_EQ_D,
  NWG_WIDEN, // from f32 to f64
  NWG_RAMP,
  NWG_SPREAD, // to several elements for each lane: 64-bit numbers
  NWG_SPREAD_F,
  NWG_CALL, // any other operation, evaluated by the interpreter's function
  NWG_LOAD,
  NWG_ONLY, // continue with the lanes in which a is true; jump to i if there are none
  NWG_OTHERS, // continue with the other lanes of the last NWG_ONLY; jump to i if there are none
  NWG_ALL, // continue with all lanes from before the last NWG_ONLY
} nwg_op;

typedef struct nwg_call { // an operation that the interpreter evaluates
  nwi_eval eval;
  uint8_t dtype, of[3]; // dtypes of the result and of the operands
  int nargs, nrows;
  const nw_math_row **row; // a math function: the rows for the elements of one lane
  bool divides; // the second operand must not be 0
  const nw_expr *expr;
} nwg_call;

typedef struct nwg_instr {
  uint8_t op, class; // class: nw_class
  uint16_t n; // number of elements for each lane; 1 for a scalar of the program
  uint32_t dst, a, b, c; // offsets of registers in bytes
  union {
    int64_t i;
    double d;
    float f;
    const nwg_call *call;
  };
} nwg_instr;

typedef struct nwg_code { // a sequence of instructions
  int from, to;
  uint32_t reg; // the register with the result
} nwg_code;

// An array of scope warp belongs to a group of threads. The threads along x are divided into parts of as many threads
// as a warp has. A group consists of the threads of one part that have the same indices along y and z.
typedef enum nwg_space { NWG_GLOBAL, NWG_SHARED, NWG_WARP, NWG_LOCAL } nwg_space;

typedef struct nwg_buffer {
  const char *name;
  nw_dtype dtype;
  int bytes, room; // of an element, and of its register
  nwg_space space;
  int64_t count;
  char *data; // global only
  uint8_t *written; // global only: for each element, whether it was written; NULL for an input
  bool used, reads, writes, atomic, async; // what the kernel does with the buffer
  bool device; // shared only: the memory of each block is in global memory
  bool steady; // a local array, all of whose indices are known after loops are unrolled: its elements are in registers
  int64_t places; // local only: elements that stores with such indices write
} nwg_buffer;

typedef struct nwg_site { // a load or a store
  const nw_stmt *stmt;
  const nw_expr *index;
  int buffer;
  bool write, atomic, async;
  bool own; // a read that is a part of an atomic update
  bool held; // the element is in a register, so that the access is not counted
  bool whole; // the elements of a lane are adjacent
  uint16_t n; // number of elements for each lane
} nwg_site;

struct nw_intrinsic;
typedef struct nwg_fragment { // an argument of an instruction of a warp
  int buffer;
  uint32_t
      index; // register: where the elements of the lane begin; for a tile in memory, the row that the lane has loaded
} nwg_fragment;

typedef struct nwg_stmt nwg_stmt;
struct nwg_stmt {
  nw_stmt_kind kind;
  const nw_stmt *stmt;
  bool wide; // all warps of the block execute it together, because it contains a barrier
  bool fixed; // LOOP: `begin` and `extent` are constants
  int number; // LOOP, GUARD, CALL: among those of the kernel
  int nkids;
  nwg_stmt **kid;
  nwg_code cond, begin, extent; // GUARD, LOOP
  int64_t first, times; // LOOP, if fixed
  uint32_t var, var_begin, var_extent; // LOOP: registers
  int loop; // LOOP, if wide: number among the wide loops
  nwg_code value; // STORE
  uint32_t index, mask; // STORE: registers; mask 0: none
  int site; // STORE
  int buffer; // ALLOC
  int groups; // WAIT
  const struct nw_intrinsic *intrinsic; // CALL: an instruction of a warp, or NULL
  nwg_fragment fragment[3]; // its arguments
};

typedef struct nwg_kernel {
  const nw_launch *launch;
  int64_t extent[6];
  int threads, warps, lanes; // threads: threads of a block; warps: warps of a block; lanes: threads of a warp
  int groups; // number of groups of a block; each group has its own copy of an array of scope warp (see nwg_space)
  int ninstrs, nsites, nwide; // nwide: number of wide loops, and of wide guards
  int nruns; // number of loops, guards and calls
  nwg_instr *instr;
  nwg_site *site;
  nwg_stmt *root;
  int nbuffers;
  nwg_buffer *buffer, *mine; // mine: the buffers, as they were after this kernel was compiled
  uint32_t bytes; // of all registers
  uint32_t index[6]; // registers of the thread's indices
  uint32_t *size, *var; // registers of the sizes and of the variables of the host
  int64_t sector, line, banks; // of the machine; sector and line are powers of two
} nwg_kernel;

// Compiles a kernel for these numbers of blocks and threads. The result is in the arena, and nwg_kernel_free frees the
// rest. Returns NULL, with a diagnostic, on failure. `buffer` has an entry for each buffer of the program.
nwg_kernel *nwg_compile(nw_arena *arena, const nw_program *p, const nw_launch *l, const int64_t extent[6],
                        const nw_machine_gpu *gpu, nwg_buffer *buffer);
void nwg_kernel_free(nwg_kernel *k); // k may be NULL

// ---- unroll.c: what a compiler does with loops and local arrays
bool nwg_has_barrier(const nwg_stmt *s); // true if all threads of the block wait for each other in s
bool nwg_is_unrolled(const nwg_stmt *s);
void nwg_note_steady(nwg_kernel *k); // finds the local arrays whose elements are in registers

// ---- running

// A stamp records an access to an element: the time, the site, whether the access is atomic, and the thread of the
// block. The time of a host thread increases at each barrier, at each allocation and at each block. 0: no access.
#define NWG_TIME_SHIFT 28
#define NWG_SITE_SHIFT 16
#define NWG_MOST_SITES 4095 // a greater number of a site is recorded as 0
#define NWG_ATOMIC 0x8000u
#define NWG_THREAD 0x7fffu

typedef struct nwg_mem { // a buffer, as one thread of the host sees it
  char *data;
  uint8_t *written; // as in nwg_buffer
  // for each element, the last write, the last read and an earlier read (shadow.c); NULL if no access is recorded
  uint64_t *write, *read, *other;
  uint8_t *flying; // for each element: an asynchronous copy into it is in flight
  uint64_t *since; // for each warp: the stamp of the last allocation; older writes do not count
  // The stamp at the beginning of this launch: accesses with lower stamps do not count. Accesses with stamps from here to
  // the beginning of the block are of other blocks.
  uint64_t from;
} nwg_mem;

typedef struct nwg_part { // consecutive lanes that access one element (step 0) or adjacent elements (step 1)
  int8_t lane, n, step;
  int64_t off; // offset of the first one
} nwg_part;

typedef struct nwg_pattern { // the addresses of a request, relative to the first one
  uint32_t mask; // the active lanes; 0: unused
  int64_t off[NWG_LANES], live[NWG_LANES]; // live: -1 for an active lane, otherwise 0
  int64_t lo, hi; // least and greatest offset
  int lanes; // number of active lanes
  int nparts; // number of parts of the active lanes; if there are more than NWG_PARTS, `part` is not set
  nwg_part part[NWG_PARTS];
  int each; // bytes of a lane for which the next numbers are known
  // Numbers of sectors, lines and wavefronts. The index is the position of the first element in its sector, line or word.
  // -1: not computed yet.
  int16_t sectors[NWG_PLACES], lines[NWG_PLACES], waves[4];
} nwg_pattern;

typedef struct nwg_counts {
  int64_t requests, lanes, sectors, lines, wavefronts, degree[NW_GPU_DEGREES], l1_hits, l2_hits;
} nwg_counts;

typedef struct nwg_flight { // an asynchronous copy
  int buffer, thread;
  int64_t at, group;
} nwg_flight;

typedef struct nwg_record { // what nw_gpu_watch records
  const nw_gpu_watch *watch;
  int nrequests, nspans, caprequests, capspans;
  int64_t seen; // number of requests of the watched warp and buffer
  nw_warp_request *request;
  nw_warp_span *span;
} nwg_record;

struct nwg_worker;
typedef struct nwg_area { // the shadow of a buffer, for an access of the current warp
  uint64_t *write, *read, *other;
  uint8_t *flying;
  uint64_t from, since, begin, barrier;
  uint64_t stamp, thread; // the stamp of this access without its thread; the first thread of the warp
} nwg_area;

typedef struct nwg_functions { // these functions have a version for each kind of CPU (lanes.c)
  void (*execute)(struct nwg_worker *w, nwg_code code, uint32_t mask); // executes instructions for the lanes in `mask`
  // Check and record accesses to n elements from `at` on, by as many threads. n is a multiple of 4. Return false, and
  // record nothing, if there is a fault.
  bool (*read_run)(const nwg_area *a, int64_t at, int n, uint64_t thread);
  bool (*write_run)(const nwg_area *a, int64_t at, int n, uint64_t thread);
  // True if the addresses, relative to the first one, are those of the pattern.
  bool (*matches)(const nwg_pattern *p, const int64_t *index, int64_t first);
} nwg_functions;

typedef struct nwg_worker { // a thread of the host
  nw_ctx *ctx;
  const nwg_kernel *k;
  nwg_functions f;
  int id;
  char *reg, *reg_room; // the registers, aligned, in reg_room
  nwg_mem *mem; // for each buffer
  int64_t *times, *ignored; // executions of each instruction; how many of them were repetitions, which are not counted
  int64_t *runs; // for each loop and guard, the number of times that warps execute what is inside
  int64_t active, issued; // sum of the active lanes of the statements, and number of these
  nwg_counts *count; // for each site
  nwg_pattern *pattern; // NWG_PATTERNS for each site, and the number of the last one that was found
  uint8_t *last;
  int64_t *lane_index; // for each warp and each dimension, the indices of the threads
  int64_t *group; // for each warp, the groups of its threads
  uint32_t *full; // for each warp, the lanes with a thread
  uint32_t *masks; // for each level of wide statements, the active lanes of each warp
  int64_t *wide_begin, *wide_extent; // for each wide loop, each warp and each lane
  const nwg_stmt *wide[NW_MAX_DEPTH]; // the wide loops around, and their iterations
  int64_t wide_at[NW_MAX_DEPTH];
  int nwide, level;
  int warp; // the current warp
  uint64_t now, barrier, begin; // stamps: the current time, the last barrier, the begin of the block
  uint64_t warp_barrier; // stamp of the last barrier of warps, which orders accesses to buffers of scope warp
  int64_t block[3];
  int64_t nblocks; // number of blocks so far in this launch, with their numbers and the stamps of their begins
  int64_t *block_number;
  uint64_t *block_begin;
  int64_t *commits; // for each thread of the block
  nwg_flight *flight;
  int nflights, capflights;
  int64_t barriers;
  int nfindings;
  nw_gpu_finding *finding;
  struct nwg_caches *caches; // NULL if no caches are simulated
  bool failed, no_memory; // failed: out of memory, or interrupted
  bool blank; // there are no arrays: all data is 0
  int number; // of the kernel in the report
  bool counting; // false: only values are computed
  nwg_record *record; // NULL if nothing is recorded
} nwg_worker;

#define NWG_I(w, at) ((int64_t *)((w)->reg + (at)))
#define NWG_F(w, at) ((float *)((w)->reg + (at)))
#define NWG_D(w, at) ((double *)((w)->reg + (at)))

static inline int nwg_size_of(nw_dtype t) { return nw_dtype_is_float(t) && t != NW_F64 ? 4 : 8; }

void nwg_run_block(nwg_worker *w, int64_t number); // block.c
nwg_functions nwg_functions_here(void); // lanes.c: the versions for this CPU

// ---- accesses (access.c)
void nwg_load(nwg_worker *w, const nwg_instr *in, uint32_t mask);
void nwg_store(nwg_worker *w, const nwg_stmt *s, uint32_t mask);
// ---- instruction.c
void nwg_run_instruction(nwg_worker *w, const nwg_stmt *s, uint32_t mask);
// ---- patterns.c
// Returns the pattern of the addresses of a request.
nwg_pattern *nwg_pattern_of(nwg_worker *w, int site, const int64_t *index, uint32_t mask);
void nwg_count(nwg_worker *w, int site, const nwg_buffer *b, nwg_pattern *p, const int64_t *index, int elements);
// Sets the wavefront in which each word of each lane is transferred, and returns the number of wavefronts.
int nwg_wavefronts(const nwg_worker *w, const nwg_pattern *p, int64_t first, int bytes, int each,
                   int8_t wave[NWG_LANES][NW_GPU_WORDS]);
// ---- report.c
const char *nwg_scope_name(const nwg_buffer *b); // the memory in which the elements are: "global", "shared", ...
// ---- watch.c
// Records a request of the current warp, if it is watched.
void nwg_record_request(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index, int each, int sectors);
// Records that the current warp has executed a nest, in which it executed this number of stores.
void nwg_record_span(nwg_worker *w, const nwg_stmt *s, int64_t statements);
// Returns the wavefronts of a request to shared memory. `each` is the number of bytes of a lane. A request of 8 bytes for
// each lane is made in two halves, and one of 16 bytes in four quarters.
int nwg_waves(int64_t banks, const nwg_pattern *p, int64_t first, int bytes, int each);
// ---- shadow.c
void nwg_read_shadow(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index);
void nwg_write_shadow(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index);
uint32_t nwg_inside(nwg_worker *w, int site, const int64_t *index, uint32_t mask); // the lanes whose element exists
void nwg_merge(nwg_worker *w, int n); // finds races between blocks of different workers
// ---- findings.c
// Records a fault of an access by a thread of the current block. `earlier`: the stamp of the other access; 0: none.
void nwg_found(nwg_worker *w, nw_gpu_fault f, int site, int64_t at, int thread, uint64_t earlier);
// Records a race between accesses that two threads of the host have recorded.
void nwg_found_apart(nwg_worker *a, uint64_t s, const nwg_worker *b, uint64_t t, bool write, int buffer, int64_t at);
void nwg_found_flying(nwg_worker *w, const nwg_flight *f);
void nwg_found_divergence(nwg_worker *w, const nw_stmt *barrier, int here, int away);
// ---- flights.c
void nwg_depart(nwg_worker *w, int site, const int64_t *index, uint32_t mask);
void nwg_commit(nwg_worker *w, uint32_t mask);
void nwg_wait(nwg_worker *w, uint32_t mask, int groups);
void nwg_landed(nwg_worker *w); // called at the end of a block
// ---- traces.c
// Record a request, of `each` bytes for each lane, and a barrier, for the simulation of caches.
void nwg_note_request(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index, int each);
void nwg_note_barrier(nwg_worker *w);
