// The machine record: what a cost model must know of a processor, a GPU or an accelerator, in numbers with units.
//
// Every field is a row of one table (machine_rows.c): path, unit, kind, default, doc. Reading, validation, printing, help and
// the reference are made from the rows. A finished record has a value in every field that its kind of machine has; the others
// are 0. It is plain data: copied by assignment, owned by whoever has it.
#pragma once
#include "hw/hw.h"

typedef enum nw_machine_kind {
  NW_MACHINE_CPU,
  NW_MACHINE_GPU,
  NW_MACHINE_ACCELERATOR,
  NW_MACHINE_KINDS
} nw_machine_kind;

// Classes of operations with a cost of their own. The names with 64 are of f64 where it is slower than f32.
//   NW_CLASS(id, name, otherwise, doc)   otherwise: the class it is like where a record does not say; or instructions per
//                                        cycle, which "-" must be said, and latency
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
  NW_CLASS(EXP, "exp", "0.05 20", "exp of f32; like the rows below, this includes the function call")                  \
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

#define NW_WIDTHS 4 // of instructions: one number, and vectors of 16, 32 and 64 bytes
#define NW_ENERGY_BITS 4 // of numbers: 8, 16, 32, 64
#define NW_MACHINE_LEVELS 4
#define NW_MACHINE_TEAMS 12
#define NW_MACHINE_BUFFERS 8
#define NW_MACHINE_SOURCES 128
#define NW_LANES_ROOM 256 // of arrays with an element for each lane: no record may say more

typedef struct nw_op_cost {
  double per_cycle[NW_WIDTHS]; // instructions (calls, of functions); 0: there are none of that width
  double latency; // cycles until what depends on it can begin
} nw_op_cost;

typedef struct nw_machine_level { // of data cache
  int64_t bytes, ways, line, shared_by; // shared_by: logical cpus
  int64_t effective_bytes; // what a program can count on, where others share it
  double latency; // cycles
  double bytes_per_cycle; // to the level above, or to the registers
  double back_per_cycle; // bytes written back into it from the level above
  double strided,
      strided_store; // cycles per line that comes from it where no line is next to the one before; 0: not known
  double crowded_store; // the same into few sets
  double strided_across; // cycles of a load that reaches into a second line, where these come one by one; 0: not known
  int write_allocate; // 0, 1: a line that is written is fetched first
  int overlaps; // 0, 1: its transfers go on while others do; for combine = "ecm"
  double read_pj, write_pj; // per byte
} nw_machine_level;

typedef struct nw_machine_memory {
  int64_t bytes;
  double latency; // nanoseconds
  double bandwidth, bandwidth_all; // GB/s, one thread and all
  int overlaps;
  double read_pj, write_pj; // per byte
} nw_machine_memory;

typedef struct nw_machine_team { // what a parallel loop of so many threads costs beside its work
  int64_t threads;
  double spawn,
      barrier; // microseconds: until the last thread has begun; from the last one's end until the loop is over
} nw_machine_team;

typedef struct nw_machine_energy {
  double op_pj[NW_CLASS_COUNT][NW_ENERGY_BITS]; // of one number of so many bits
  double instruction; // pJ, whatever it does: fetch, decode, schedule
  double static_watts; // of the part that a core has; of all of it on a GPU or an accelerator
} nw_machine_energy;

typedef enum nw_overlap { NW_COMBINE_MAX, NW_COMBINE_ECM } nw_overlap;

typedef struct nw_launch_limit { // what is allowed of one launch
  int64_t threads; // of a block
  int64_t extent[6]; // blockIdx.x, y, z, threadIdx.x, y, z
  int64_t shared_bytes; // of a block
} nw_launch_limit;

typedef struct nw_machine_gpu {
  nw_launch_limit limit;
  int64_t sms, lanes, lanes64, warp, warps, blocks, schedulers;
  int64_t registers, registers_thread, register_unit;
  int64_t shared, shared_reserved, shared_unit, banks;
  int64_t sector, line, l1_bytes, l2_bytes;
  double l1_per_cycle, shared_per_cycle, l2_bandwidth, special_per_cycle;
  double tensor_f16, tensor_tf32, tensor_int8; // TFLOP/s, TOP/s, dense
  double launch, host_bandwidth; // microseconds; GB/s
} nw_machine_gpu;

typedef struct nw_machine_buffer { // of an accelerator
  char name[24];
  int64_t bytes, count, word_bits;
  double bytes_per_cycle, read_pj, write_pj; // pJ per byte
} nw_machine_buffer;

typedef struct nw_machine_accelerator {
  int64_t rows, columns, depth; // multiply-adds a cycle: their product
  int64_t input_bits, weight_bits, sum_bits;
  int64_t queue; // tokens between two modules
  double load_latency, store_latency; // cycles, before the first byte
  double load_per_cycle, store_per_cycle; // bytes
  double network_pj; // per byte, from one unit to the next
  int nbuffers;
  nw_machine_buffer buffer[NW_MACHINE_BUFFERS];
} nw_machine_accelerator;

typedef struct nw_machine_source { // where numbers come from: the path of a field, or the beginning of paths
  char path[40], text[160];
} nw_machine_source;

struct nw_machine {
  char name[40], about[200];
  int kind; // nw_machine_kind
  int64_t loop_lanes, stack_bytes; // limits of programs: of a vectorized loop; of scope local in a thread
  int64_t cores; // logical cpus to run threads on; units of a GPU or accelerator are fields of theirs
  double clock; // GHz, while it computes
  double clock_ratio; // core cycles per cycle of the time-stamp counter; 0: not measured
  // cpu
  int isa; // nw_isa
  char cpu[40]; // LLVM's name of it; "host": the one of this session
  int64_t vector_bytes, vector_registers;
  double dispatch; // instructions per cycle
  nw_op_cost op[NW_CLASS_COUNT];
  double gather, scatter; // cycles per lane
  double gather_least, gather_instructions; // lanes that one takes as long as at least; instructions per lane
  double line_crossing, page_crossing, store_crossing; // cycles that a load, or a store, costs more when it crosses
  double alias_4k; // cycles that a load costs more after a store to the same offset of another page
  double window; // instructions that can be under way at once
  double scheduler; // of these, that can wait for their operands
  double forward; // cycles from a store to a load of what it stored
  double forward_masked; // the same where the store has a mask
  double store_lines; // lines per cycle that stores can write to, one after the other
  double branch_miss, loop,
      call; // cycles: of a mispredicted branch; of an iteration of an empty loop; of an empty function
  double foretold; // iterations of a loop whose end is predicted
  int combine; // nw_overlap
  int nlevels;
  nw_machine_level level[NW_MACHINE_LEVELS]; // the nearest to the core first
  nw_machine_memory memory;
  int nteams;
  nw_machine_team team[NW_MACHINE_TEAMS]; // by number of threads
  nw_machine_energy energy;
  nw_machine_gpu gpu;
  nw_machine_accelerator accelerator;
  int nsources;
  nw_machine_source source[NW_MACHINE_SOURCES];
};

// ---- the rows

typedef enum nw_field_kind { NW_FIELD_REAL, NW_FIELD_WHOLE, NW_FIELD_FLAG, NW_FIELD_WORD, NW_FIELD_TEXT } nw_field_kind;

// REAL is a double or several side by side, WHOLE an int64_t, FLAG and WORD an int, TEXT an array of char.
typedef struct nw_field {
  const char *name, *unit; // unit: "" where there is none
  nw_field_kind kind;
  size_t offset;
  int count; // of numbers side by side; TEXT: bytes
  double least, most; // REAL, WHOLE
  // When a record does not say: NULL: it must; a number, a word, or the name of a field of the same section.
  const char *otherwise;
  const char *words; // WORD: "max ecm"
  const char *doc;
} nw_field;

// A section of the record: caches[] or op.*; its fields are rows. Of lists and of named ones there are several side by side.
typedef struct nw_section {
  const char *path; // "": the record itself; "caches", "ops", "memory"
  unsigned kinds; // of machines that have it: bits
  size_t offset, stride; // stride 0: there is one
  size_t number; // LIST: offset of how many there are, an int
  int most; // LIST: of them
  int least;
  const char *(*key)(int i); // of named ones: the name of the i-th, NULL behind the last
  const nw_field *row;
  int nrows;
  const char *doc;
} nw_section;

NW_API const nw_section *nw_machine_sections(int *n);

// ---- a record

typedef struct nw_value {
  nw_field_kind kind; // REAL (whole ones too), FLAG or TEXT (words too)
  double number;
  bool flag;
  const char *text;
} nw_value;

NW_API void nw_machine_init(nw_machine *m); // nothing said yet
void nw_machine_limits(nw_machine *m); // of a record that says nothing: limits of programs; all else is 0
// Sets one field: "clock", "ops.fma.per_cycle[1]", "caches[2].bytes"; indices count from 1, and lists grow by one. False, and a
// failure that names the field, its unit and, for one that there is not, the nearest name.
NW_API bool nw_machine_set(nw_ctx *c, nw_machine *m, const char *path, nw_value v);
// Where the numbers of a field, or of all fields whose paths begin so, come from.
NW_API bool nw_machine_cite(nw_ctx *c, nw_machine *m, const char *path, const char *text);
// Fills in what was not said, and checks what was: fields that must be there, and how they go together.
NW_API bool nw_machine_finish(nw_ctx *c, nw_machine *m);
// Every field that this kind of machine has, in the order of the rows.
typedef void (*nw_machine_fn)(void *env, const char *path, const nw_section *s, const nw_field *f, nw_value v);
NW_API void nw_machine_each(const nw_machine *m, nw_machine_fn fn, void *env);
NW_API const char *nw_machine_cited(const nw_machine *m,
                                    const char *path); // where the number comes from; NULL: not said

// The ways of a level that leave effective_bytes of it, with as many sets as it has; at least one.
int64_t nw_machine_effective_ways(const nw_machine_level *l);
const char *nw_class_name(nw_class k);
nw_class nw_class_of_f64(nw_class k); // the class of the same operation on f64; k where it has none of its own
// Of the launches of a program that is made for it. Without a grid of its own a machine has the interpreter's, which allows what a
// GPU does whose record says nothing of it.
nw_launch_limit nw_machine_launch_limit(const nw_machine *m);
bool nw_machine_is_host(const nw_machine *m); // says that it is the one that this session runs on
nw_features nw_machine_features(const nw_machine *m); // of its processor; of the host those that it has
int nw_width_of(int64_t bytes); // of a vector: the index into per_cycle of the least width that holds it; 0: one number
// Microseconds that a parallel loop of so many threads costs beside its work: between two rows on a line, outside of them as
// the nearest; spawn and barrier may be NULL.
double nw_machine_team_us(const nw_machine *m, int threads, double *spawn, double *barrier);
