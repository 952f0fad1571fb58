// A machine record describes a CPU, a GPU or an accelerator for the cost models. It consists of numbers with units.
//
// Every field has a row in one table (machine_rows.c), with its name, unit, kind, default and doc text. The rows are
// used to read, validate and print records, and to make the help texts and the reference. A finished record has a value
// in every field that its kind of machine has. All other fields are 0. A record is plain data and is copied by
// assignment.
#pragma once
#include "hw/hw.h"

typedef enum nw_machine_kind {
  NW_MACHINE_CPU,
  NW_MACHINE_GPU,
  NW_MACHINE_ACCELERATOR,
  NW_MACHINE_KINDS
} nw_machine_kind;

// The operations of a class have the same cost. A class whose name ends in 64 is for an operation that is slower on f64
// than on f32.
//
// NW_CLASS(id, name, otherwise, doc)   otherwise: the default cost, in one of two forms:
//   "fma"      the cost of the class with this name
//   "0.2 13"   instructions per cycle, then the latency in cycles; if the first word is "-", the user must give the
//              instructions per cycle
#define NW_CLASSES(NW_CLASS)                                                                                           \
  NW_CLASS(FMA, "fma", "- 4", "fused multiply-adds; on a machine without them, a multiplication and an addition")      \
  NW_CLASS(ADD, "add", "fma", "additions and subtractions of floats")                                                  \
  NW_CLASS(MUL, "mul", "fma", "multiplications of floats")                                                             \
  NW_CLASS(MINMAX, "minmax", "add", "minimum, maximum, absolute value, sign, comparison and select of floats")         \
  NW_CLASS(ROUND, "round", "add", "floor and ceil")                                                                    \
  NW_CLASS(CAST, "cast", "add", "conversions between types")                                                           \
  NW_CLASS(DIV, "div", "0.2 13", "divisions of f32")                                                                   \
  NW_CLASS(DIV64, "div64", "div", "divisions of f64")                                                                  \
  NW_CLASS(SQRT, "sqrt", "div", "square roots of f32")                                                                 \
  NW_CLASS(SQRT64, "sqrt64", "div64", "square roots of f64")                                                           \
  NW_CLASS(EXP, "exp", "0.05 20", "exp of f32; as for log, tanh, erf and pow, this includes the function call")        \
  NW_CLASS(EXP64, "exp64", "exp", "exp of f64")                                                                        \
  NW_CLASS(LOG, "log", "exp", "log of f32")                                                                            \
  NW_CLASS(LOG64, "log64", "exp64", "log of f64")                                                                      \
  NW_CLASS(TANH, "tanh", "exp", "tanh of f32")                                                                         \
  NW_CLASS(TANH64, "tanh64", "exp64", "tanh of f64")                                                                   \
  NW_CLASS(ERF, "erf", "exp", "erf of f32")                                                                            \
  NW_CLASS(ERF64, "erf64", "exp64", "erf of f64")                                                                      \
  NW_CLASS(POW, "pow", "exp", "pow of f32")                                                                            \
  NW_CLASS(POW64, "pow64", "exp64", "pow of f64")                                                                      \
  NW_CLASS(INT, "int", "- 1", "addition, comparison, logic and shifts of integers")                                    \
  NW_CLASS(INTMUL, "intmul", "mul", "multiplications of integers")                                                     \
  NW_CLASS(INTDIV, "intdiv", "div", "divisions and remainders of integers")                                            \
  NW_CLASS(SHUFFLE, "shuffle", "add", "permutations and broadcasts of registers")                                      \
  NW_CLASS(LOAD, "load", "- 0", "loads that hit the first cache level; latency 0: the latency of that level")          \
  NW_CLASS(STORE, "store", "- 0", "stores")

typedef enum nw_class {
#define NW_CLASS(id, name, otherwise, doc) NW_CLASS_##id,
  NW_CLASSES(NW_CLASS)
#undef NW_CLASS
      NW_CLASS_COUNT,
  NW_CLASS_NONE = NW_CLASS_COUNT
} nw_class;

#define NW_WIDTHS 4 // number of widths of instructions: one number, and vectors of 16, 32 and 64 bytes
#define NW_ENERGY_BITS 4 // number of widths of numbers: 8, 16, 32 and 64 bits
#define NW_MACHINE_LEVELS 4
#define NW_MACHINE_TEAMS 12
#define NW_MACHINE_BUFFERS 8
#define NW_MACHINE_UNITS 8
#define NW_MACHINE_QUEUES 16
#define NW_MACHINE_INSTRUCTIONS 16
#define NW_MACHINE_SOURCES 768 // more than there are fields, because a calibration gives each field a source
#define NW_LANES_ROOM 256 // size of arrays with one element for each lane; also the largest value of loop_lanes

typedef struct nw_op_cost {
  // instructions per cycle (for functions: calls per cycle); 0 if there is no instruction of that width
  double per_cycle[NW_WIDTHS];
  double latency; // cycles until a dependent instruction can begin
} nw_op_cost;

typedef struct nw_machine_level { // a data cache
  int64_t bytes, ways, line, shared_by; // line: in bytes; shared_by: number of logical CPUs
  int64_t effective_bytes; // the bytes that one program can use if other programs share the cache
  double latency; // cycles
  double bytes_per_cycle; // bandwidth to the next level nearer to the core; for the first level, to the registers
  double back_per_cycle; // bandwidth of writes from the next level nearer to the core, in bytes per cycle
  // strided: cycles per loaded line that is not adjacent to the previously loaded line; strided_store: the same for
  // stored lines; 0: not known
  double strided, strided_store;
  double crowded_store; // like strided_store, but for lines that map to few sets; 0: not known
  double strided_across; // extra cycles of a load that crosses a line, if loaded lines are not adjacent; 0: not known
  int write_allocate; // 1 if a written line is fetched first, otherwise 0
  int overlaps; // 1 if transfers of this level overlap other transfers, otherwise 0; used if combine = "ecm"
  double read_pj, write_pj; // in pJ per byte
} nw_machine_level;

typedef struct nw_machine_memory {
  int64_t bytes;
  double latency; // nanoseconds
  double bandwidth, bandwidth_all; // in GB/s; bandwidth: of one thread; bandwidth_all: of all threads together
  int overlaps;
  double read_pj, write_pj; // in pJ per byte
} nw_machine_memory;

typedef struct nw_machine_team { // overhead of a parallel loop with this number of threads
  int64_t threads;
  double spawn; // microseconds until the last thread has started
  double barrier; // microseconds from the end of the last thread's work to the end of the loop
} nw_machine_team;

typedef struct nw_machine_energy {
  double op_pj[NW_CLASS_COUNT][NW_ENERGY_BITS]; // pJ of an operation of each class on one number of each width
  double instruction; // pJ for fetching, decoding and scheduling any instruction
  double static_watts; // static power of one core; for a GPU or an accelerator, of the whole device
} nw_machine_energy;

typedef enum nw_overlap { NW_COMBINE_MAX, NW_COMBINE_ECM } nw_overlap;

typedef struct nw_launch_limit { // limits of the launch of a grid on a GPU
  int64_t threads; // per block
  int64_t extent[6]; // number of blocks in x, y and z, then number of threads in x, y and z
  int64_t shared_bytes; // per block
  int64_t warp; // number of threads of a warp
  int64_t registers; // of 32 bits, per thread
} nw_launch_limit;

typedef struct nw_machine_gpu {
  nw_launch_limit limit;
  int64_t sms, lanes, lanes_shared, lanes64, warps, blocks, schedulers;
  int64_t registers, register_unit;
  int64_t shared, shared_reserved, shared_unit, banks;
  int64_t sector, line, l1_bytes, l2_bytes;
  double l1_per_cycle, shared_per_cycle, l2_bandwidth, special_per_cycle;
  double clock_base; // GHz when all units are busy; 0: as the machine's clock
  double l1_latency, shared_latency, l2_latency; // cycles
  double tensor_f16, tensor_tf32, tensor_int8; // dense peak of the tensor cores, in TFLOP/s (int8: in TOP/s)
  double launch; // microseconds
  double capability; // compute capability of an NVIDIA GPU, for example 8.0; 0 for another GPU
  double host_bandwidth; // GB/s
  char simulates[40]; // the name of the GPU that this host simulates; empty for a real GPU
} nw_machine_gpu;

typedef struct nw_machine_buffer { // a buffer of an accelerator
  char name[24];
  int64_t bytes, count, word_bits;
  double bytes_per_cycle, read_pj, write_pj; // read_pj and write_pj: in pJ per byte
} nw_machine_buffer;

typedef struct nw_machine_unit { // a unit of an accelerator; it executes its instructions in order
  char name[24];
  int64_t queue; // number of instructions that can wait for the unit; 0: unlimited
} nw_machine_unit;

// A queue of tokens. The unit `to` can wait until the unit `from` has executed an instruction.
typedef struct nw_machine_queue {
  char from[24], to[24];
  int64_t tokens; // capacity; 0: unlimited
} nw_machine_queue;

typedef enum nw_chip_kind { // of an instruction
  NW_CHIP_COPY, // copies a box of elements between two memories
  NW_CHIP_FILL, // sets elements to a constant
  NW_CHIP_TENSOR, // computes tiles of a fixed size; an intrinsic describes them
  NW_CHIP_ALU, // computes elements from elements at the same positions
  NW_CHIP_KINDS
} nw_chip_kind;

// An instruction of an accelerator. Several rows may have the same name; they differ in the memories that the
// instruction accesses.
typedef struct nw_machine_instruction {
  char name[24], unit[24];
  int kind; // nw_chip_kind
  char from[72], to[72]; // the scopes that it may read and write, separated by spaces; for TENSOR, `from` has one for
      // each operand, in order
  double latency; // cycles before the first element
  double interval; // TENSOR: cycles for a tile; ALU: cycles for an operation on `lanes` elements
  double bytes_per_cycle; // COPY and FILL
  int64_t dims; // COPY and FILL: number of dimensions of the box; the last is consecutive in both memories
  int pads; // COPY: 1 if elements outside of the tensor can be replaced by a constant, otherwise 0
  int multicast; // COPY: 1 if an element that is copied to several places is read once, otherwise 0
  char uncounted[72]; // memories whose accesses by it are not counted, and cost no energy, separated by spaces
  int64_t lanes; // ALU
  int64_t loops, micro_ops; // TENSOR: the most loops that one instruction executes, and the most tiles inside them
  // TENSOR: the operand whose tile does not change in these loops: input, weight or sum; empty if all may change
  char stationary[8];
  char form[24]; // TENSOR: the product, for example "mk,kn->mn"; empty if the user describes it
  int64_t m, n, k;
  char input[8], weight[8], sum[8]; // TENSOR: dtypes
  double pj; // for a tile, an operation on one element, or a byte
} nw_machine_instruction;

typedef struct nw_machine_accelerator {
  int64_t rows, columns, depth; // their product is the number of multiply-adds per cycle
  int64_t input_bits, weight_bits, sum_bits;
  int64_t queue; // capacity of a queue between two modules, in tokens
  double load_latency, store_latency; // cycles before the first byte
  double load_per_cycle, store_per_cycle; // bytes per cycle
  double network_pj; // pJ per byte, from one unit to the next
  double fetch; // cycles between the starts of two instructions, for all units together
  int nbuffers;
  nw_machine_buffer buffer[NW_MACHINE_BUFFERS];
  int nunits;
  nw_machine_unit unit[NW_MACHINE_UNITS];
  int nqueues;
  nw_machine_queue queue_of[NW_MACHINE_QUEUES];
  int ninstructions;
  nw_machine_instruction instruction[NW_MACHINE_INSTRUCTIONS];
} nw_machine_accelerator;

// Says where the values of some fields come from. `path` is the path of one field, or a prefix of the paths of several
// fields.
typedef struct nw_machine_source {
  char path[48], text[160];
} nw_machine_source;

struct nw_machine {
  char name[40], about[200];
  int kind; // nw_machine_kind
  int64_t loop_lanes; // limit on the lanes of a vectorized loop
  int64_t stack_bytes; // limit on the bytes of each thread's buffers in the scope `local`
  int64_t cores; // number of logical CPUs that can run threads; a GPU or an accelerator has other fields for its units
  double clock; // GHz under load
  double clock_ratio; // core cycles per cycle of the time-stamp counter; 0: not measured
  // the next fields, up to `level`, are only for a CPU
  int isa; // nw_isa
  char cpu[40]; // LLVM's name of the CPU; "host": the CPU of this session
  int64_t vector_bytes, vector_registers;
  double dispatch; // instructions per cycle
  nw_op_cost op[NW_CLASS_COUNT];
  double gather, scatter; // cycles per lane
  double gather_least; // a gather with fewer lanes costs as much as a gather with this number of lanes
  double gather_instructions; // instructions per lane
  // extra cycles of a load that crosses a line, of a load that crosses a page, and of a store that crosses a line
  double line_crossing, page_crossing, store_crossing;
  double alias_4k; // extra cycles of a load soon after a store to the same offset in another page
  double window; // maximal number of instructions in flight
  double scheduler; // maximal number of instructions that wait for their operands
  double forward; // cycles from a store to a load of the stored value
  double forward_masked; // cycles from a masked store to a load of the stored value
  double store_lines; // number of different lines per cycle that stores can write
  // cycles of a mispredicted branch, of an iteration of an empty loop, and of a call of an empty function
  double branch_miss, loop, call;
  double foretold; // the end of a loop is predicted correctly if the loop has at most this number of iterations
  int combine; // nw_overlap
  int nlevels;
  nw_machine_level level[NW_MACHINE_LEVELS]; // the level nearest to the core is first
  nw_machine_memory memory;
  int nteams;
  nw_machine_team team[NW_MACHINE_TEAMS]; // in ascending order of threads
  nw_machine_energy energy;
  nw_machine_gpu gpu;
  nw_machine_accelerator accelerator;
  int nsources;
  nw_machine_source source[NW_MACHINE_SOURCES];
};

// ---- the rows

typedef enum nw_field_kind { NW_FIELD_REAL, NW_FIELD_WHOLE, NW_FIELD_FLAG, NW_FIELD_WORD, NW_FIELD_TEXT } nw_field_kind;

// A REAL is a double or an array of doubles, a WHOLE is an int64_t, a FLAG or a WORD is an int, and a TEXT is an array
// of char.
typedef struct nw_field {
  const char *name, *unit; // unit: "" if the field has no unit
  nw_field_kind kind;
  size_t offset;
  int count; // number of array elements; for TEXT, number of bytes
  double least, most; // limits of the value, for REAL and WHOLE
  // The default is a number, a word, or the name of a field of the same section. It is NULL if the field is required.
  const char *otherwise;
  const char *words; // for WORD: the possible words, for example "max ecm"
  const char *doc;
} nw_field;

// A section is a part of the record. Each of its fields has a row. A record can have several instances of a section, in
// a list (caches[1], caches[2]) or with names (ops.fma, ops.add).
typedef struct nw_section {
  const char *path; // for example "caches", "ops" or "memory"; "" for the record itself
  unsigned kinds; // bit k is set if machines of kind k have the section
  size_t offset, stride; // stride: bytes from an instance to the next; 0 if there is a single instance
  size_t number; // for a list: offset of the number of instances, an int
  int most; // maximal number of instances
  int least; // for a list: minimal number of instances
  const char *(*key)(int i); // for named instances: returns the name of instance i, or NULL after the last one
  const nw_field *row;
  int nrows;
  const char *doc;
} nw_section;

NW_API const nw_section *nw_machine_sections(int *n);

// ---- a record

typedef struct nw_value {
  nw_field_kind kind; // REAL (also for WHOLE), FLAG or TEXT (also for WORD)
  double number;
  bool flag;
  const char *text;
} nw_value;

NW_API void nw_machine_init(nw_machine *m); // makes all fields unset
void nw_machine_limits(nw_machine *m); // sets the default limits of programs, and all other fields to 0
// Sets the field with this path, for example "clock", "ops.fma.per_cycle[1]" or "caches[2].bytes". Indices count from
// 1. The index after the last element extends a list. Returns false on failure. The diagnostic then names the field and
// its unit. If the field is unknown, the diagnostic suggests the most similar name.
NW_API bool nw_machine_set(nw_ctx *c, nw_machine *m, const char *path, nw_value v);
// Sets the source of the value of a field, or of the values of all fields whose paths begin with `path`. Returns false
// on failure.
NW_API bool nw_machine_cite(nw_ctx *c, nw_machine *m, const char *path, const char *text);
// Fills in the defaults, and checks that required fields are set and that the values are consistent. Returns false if a
// check fails.
NW_API bool nw_machine_finish(nw_ctx *c, nw_machine *m);
// Calls `fn` for every field that this kind of machine has, in the order of the rows.
typedef void (*nw_machine_fn)(void *env, const char *path, const nw_section *s, const nw_field *f, nw_value v);
NW_API void nw_machine_each(const nw_machine *m, nw_machine_fn fn, void *env);
NW_API const char *nw_machine_cited(const nw_machine *m,
                                    const char *path); // source of the value of the field; NULL if none is given

// Returns effective_bytes divided by the bytes of a way, rounded down, but at least 1. A way has one line for each set.
int64_t nw_machine_effective_ways(const nw_machine_level *l);
const char *nw_class_name(nw_class k);
nw_class nw_class_of_f64(nw_class k); // the class of the same operation on f64; k if there is no such class
// Returns the limits of launches for this machine. A machine that cannot launch grids has the limits of the
// interpreter, which are the default limits of a GPU.
nw_launch_limit nw_machine_launch_limit(const nw_machine *m);
bool nw_machine_is_host(const nw_machine *m); // true if the record is for the host of this session
// Returns the features of the machine's instruction set, without those that need vectors of more than m->vector_bytes
// bytes. For the host, only detected features are returned. Returns 0 for a machine that is not a CPU.
nw_features nw_machine_features(const nw_machine *m);
// Returns the next instruction of this name after `after`, or the first one if `after` is NULL; NULL if there is none.
const nw_machine_instruction *nw_machine_instruction_next(const nw_machine *m, const char *name,
                                                          const nw_machine_instruction *after);
// True if the words of a list, separated by spaces, include this one.
bool nw_has_word(const char *words, const char *word);
// Returns the index into per_cycle of the smallest width that holds a vector of `bytes` bytes. Index 0 is the width of
// a single number.
int nw_width_of(int64_t bytes);
// Returns the overhead of a parallel loop with `threads` threads, in microseconds. Between the numbers of threads in
// the rows of `team`, the overhead is interpolated linearly. For fewer or more threads, the first or the last row
// applies. The overhead is 0 for one thread, or if there are no rows. `spawn` and `barrier` receive the two parts of
// the overhead. They may be NULL.
double nw_machine_team_us(const nw_machine *m, int threads, double *spawn, double *barrier);
