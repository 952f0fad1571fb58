// Streams of instructions for an accelerator, and their simulation in time. Each unit of the machine executes its
// instructions in order, at the same time as the other units. Tokens in queues between units say what must wait for what.
#pragma once
#include "nestwright/array.h"
#include "nestwright/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nw_acc nw_acc;

// Makes the stream of a program for its target, which is an accelerator. sizes: the values of the symbolic sizes, in order.
// Returns NULL, with a diagnostic, if a statement is not an instruction of the machine.
NW_API nw_acc *nw_acc_of(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_acc_free(nw_acc *s);

NW_API bool nw_acc_unsafe(const nw_acc *s); // true if a step of the schedule was not checked by the judge
NW_API int64_t nw_acc_left_out(const nw_acc *s); // tokens that would be needed, but that stages ignore

typedef struct nw_acc_unit {
  const char *name;
  int64_t instructions;
} nw_acc_unit;
NW_API int nw_acc_units(const nw_acc *s);
NW_API nw_acc_unit nw_acc_unit_at(const nw_acc *s, int i);

typedef struct nw_acc_queue {
  const char *from, *to;
  int64_t tokens; // put into it by the whole stream
} nw_acc_queue;
NW_API int nw_acc_queues(const nw_acc *s);
NW_API nw_acc_queue nw_acc_queue_at(const nw_acc *s, int i);

typedef struct nw_acc_memory {
  const char *name;
  int64_t used, bytes; // used: at most, at the same time
} nw_acc_memory;
NW_API int nw_acc_memories(const nw_acc *s); // those on the chip
NW_API nw_acc_memory nw_acc_memory_at(const nw_acc *s, int i);

typedef struct nw_acc_instr {
  const char *name, *unit;
  int id, step; // of the statement
  int thread; // the virtual thread that it belongs to, from 0; -1 if there are none
  uint32_t pop, push; // bit q: a token of queue q
  uint32_t ignores; // bit q: its stage takes no tokens from queue q (s:annotate)
  int64_t elements, dram_bytes, macs;
  double cycles; // that its unit needs for it
} nw_acc_instr;
NW_API int nw_acc_length(const nw_acc *s);
NW_API nw_acc_instr nw_acc_instr_at(const nw_acc *s, int i);

enum { NW_ACC_DIMS = 12 };
typedef struct nw_acc_operand { // a part of a memory that an instruction accesses
  const char *memory, *array; // memory: "global" outside of the chip
  bool read, write;
  int64_t from, to; // bytes of the memory, or outside of the chip of the array, between which it lies
  int64_t bytes; // that are accessed; less than to - from if there are gaps
  int64_t row; // consecutive bytes
  int ndims;
  int64_t times[NW_ACC_DIMS], stride[NW_ACC_DIMS]; // numbers of rows, and bytes from one row to the next
} nw_acc_operand;
// Returns the number of operands of an instruction; sets at most `most` of them, the result first.
NW_API int nw_acc_operands(const nw_acc *s, int i, nw_acc_operand *out, int most);

typedef struct nw_acc_token {
  int queue, put, take; // the instructions that put it and take it; -1 if none does
} nw_acc_token;
// Returns the number of tokens; sets at most `most` of them, by queue, and in each queue in the order of their puts.
NW_API int nw_acc_tokens(const nw_acc *s, nw_acc_token *out, int most);

// Returns a text for an instruction, such as "load dma_copy2d A_inp[0:64] <- A[128, 8 x 8]", on the heap.
NW_API char *nw_acc_instr_text(const nw_acc *s, int i);
// Returns the stream as text, on the heap. Consecutive iterations of a loop that have the same instructions and tokens are
// shown once. lines: most lines to show; 0: all.
NW_API char *nw_acc_text(const nw_acc *s, int64_t lines);

// Removes a token of queue q, which instruction `at` puts into it or takes from it. If `alone`, the instruction at the other end
// of the token still expects it. Returns false, with a diagnostic, if the instruction has no token of this queue.
NW_API bool nw_acc_drop(nw_acc *s, int at, int q, bool alone);
// Adds a token: instruction `at` puts one into queue q, or takes one.
NW_API bool nw_acc_add(nw_acc *s, int at, int q, bool put);

// ---- what is wrong with the tokens of a stream, at any latency

typedef enum nw_acc_fault {
  NW_ACC_RAW, // a read that tokens do not order after the write
  NW_ACC_WAR, // a write that they do not order after the read
  NW_ACC_WAW,
  NW_ACC_DEADLOCK, // an instruction waits for a token that nothing puts, or units wait for each other
  NW_ACC_LEFT, // tokens that nothing takes
  NW_ACC_FULL, // a queue would hold more tokens than its capacity, whatever the latencies are
  NW_ACC_FAULTS
} nw_acc_fault;
NW_API const char *nw_acc_fault_name(nw_acc_fault f); // "RAW hazard", ...

enum { NW_ACC_WAITS = 8 }; // as many as there are units

typedef struct nw_acc_finding {
  nw_acc_fault fault;
  int first, second; // instructions: for a hazard, in the order of the program; otherwise `second` is that which waits
  const char *memory; // for a hazard
  int64_t from, to; // the bytes in it
  int queue; // or -1
  // For a unit that waits forever: the instruction at which it waits, that of the unit for which it waits, and so on. The last of
  // them waits for the unit of instruction `again` of this list; -1: for a unit that has executed all its instructions.
  int waiting, wait[NW_ACC_WAITS], again;
  int64_t times; // of this fault between these two statements
} nw_acc_finding;

// Examines the tokens. Returns the number of findings, or -1, with a diagnostic, on failure. Two accesses of different units
// to the same byte, of which one is a write, are a hazard if neither the order of a unit nor tokens order them.
NW_API int nw_acc_check(nw_acc *s, nw_acc_finding *out, int most);
// Returns a sentence about a finding, on the heap.
NW_API char *nw_acc_finding_text(const nw_acc *s, const nw_acc_finding *f);

// ---- a run in time

typedef struct nw_acc_opts {
  bool serial; // the units take turns: each instruction waits for the one before it in the stream
  bool no_war, no_tokens; // tokens that an earlier unit waits for, or all tokens, have no effect
  bool values; // computes the values, for the given arrays: one for each parameter, in order
  int nargs;
  nw_array *const *args;
} nw_acc_opts;

typedef struct nw_acc_span { // the execution of an instruction
  double from, to; // cycles
  double put; // when it put its tokens, which may wait for room in a queue; -1 if it never did
  double ready; // when its unit was free for it
  int waits; // the queue whose token came last, if the unit waited for it; otherwise -1
  double port; // cycles for which it waited for the memory outside of the chip
} nw_acc_span;

typedef struct nw_acc_usage { // of a unit
  double busy, port; // port: cycles of `busy` that it waited for the memory
  double waits[16]; // cycles that it waited for tokens, by queue
  double full; // cycles that it waited until a queue had room
} nw_acc_usage;

typedef struct nw_acc_report {
  double cycles;
  int units, instructions;
  nw_acc_usage usage[8];
  int64_t dram_read, dram_written, macs;
  // For each memory on the chip, the bytes that instructions read and write. An element that a tile uses several times is
  // read once for each tile.
  int64_t read[8], written[8];
  double pj; // energy of the instructions, without that of memories
  int64_t depth[16]; // the most tokens in each queue
  nw_acc_span *span; // for each instruction; its end is -1 if it never began
  bool stuck; // a unit waits forever
} nw_acc_report;

// Runs the stream. Returns false, with a diagnostic, on failure. The caller frees the report.
NW_API bool nw_acc_run(nw_acc *s, const nw_acc_opts *o, nw_acc_report *out);
NW_API void nw_acc_report_free(nw_acc_report *r);

// Finds the hazards that happened in a run: pairs of instructions of different units that access the same byte, one of
// which writes it, where the later one in the program began before the earlier one ended. Returns their number, or -1,
// with a diagnostic, on failure. Sets at most `most` of them. Other latencies may show other hazards: nw_acc_check.
NW_API int nw_acc_happened(nw_acc *s, const nw_acc_report *r, nw_acc_finding *out, int most);

// ---- a prediction

// The iterations of a loop that has the same instructions and tokens in each: `prologue` cycles pass until each iteration
// takes `interval` cycles.
typedef struct nw_acc_steady {
  const char *loop; // NULL if there is none
  int iterations;
  double prologue, interval, cycles; // cycles: interval * iterations
} nw_acc_steady;

typedef struct nw_acc_work { // of a stream, or of all iterations of a loop
  double cycles;
  double busy[8]; // cycles of each unit if it never waits
  double port; // cycles of the port to the memory outside of the chip
  int64_t instructions, macs;
  int64_t dram_read, dram_written;
  int64_t read[8], written[8]; // as in nw_acc_report
  double pj;
} nw_acc_work;

enum { NW_ACC_LOOPS = 64 }; // at most

typedef struct nw_acc_part { // a loop of the lowered program
  const char *loop;
  int id, depth; // depth: number of loops around it
  nw_acc_work work;
} nw_acc_part;

typedef struct nw_acc_model {
  nw_acc_work all;
  int units;
  nw_acc_steady steady; // of the loop that takes longest
  int nparts; // in the order of the program
  nw_acc_part part[NW_ACC_LOOPS];
} nw_acc_model;

// Predicts the cycles of a stream from the steady state of its loops. The effort does not depend on their iterations.
NW_API void nw_acc_predict(const nw_acc *s, nw_acc_model *out);

#ifdef __cplusplus
}
#endif
