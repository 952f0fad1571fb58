// Declares the simulated accelerator (prefix nwd_): units that execute streams of instructions, decoupled from one
// another (decoupled access-execute). A *site* is an instruction of the lowered program, that is, a call of one of the
// machine's instructions, together with the loops around the call that the instruction itself executes. A stream has an
// instruction for each execution of a site, in the order of the program. The units get their instructions in this
// order, each executes its own in order, and tokens order the instructions of different units.
#pragma once
#include "interp/node.h"
#include "ir/program/intrinsic.h"
#include "lower/lower.h"
#include "nestwright/accelerator.h"

enum {
  NWD_LOOPS = 12, // most loops of a site, around its tile and inside it
  NWD_ACCESSES = 12, // most accesses of a site
};

// A memory of the machine, or an array in the memory outside of the chip.
typedef struct nwd_memory {
  const char *name; // of the memory, or of the array
  const char *scope; // "global", or the name of the memory
  int64_t bytes; // in use
  int64_t word; // bytes of a word; a word is the unit for which accesses are remembered (shadow.c)
  bool own; // `data` belongs to the stream
  char *data; // NULL before the first run
} nwd_memory;

typedef struct nwd_access { // of a site; number 0 is the result
  int memory;
  nw_dtype dtype;
  bool read, write; // a reduction reads and writes its result
  nwi_node *index; // of the first element, in elements of the array or of the allocation
  int64_t stride[NWD_LOOPS]; // elements
  int buffer; // of the program
  const nw_expr *load; // the load in `value` that makes this access; NULL for the result
} nwd_access;

typedef struct nwd_site {
  const nw_stmt *call;
  const nw_intrinsic *in;
  const nw_machine_instruction *row;
  int unit;
  int around; // number of loops around the call that the instruction executes; they are the first ones
  int nloops;
  nwi_node *begin[NWD_LOOPS], *extent[NWD_LOOPS];
  int slot[NWD_LOOPS]; // of the variables
  int64_t size[NWD_LOOPS]; // extents, if they are constant; otherwise -1
  int naccesses;
  nwd_access access[NWD_ACCESSES];
  int nconds; // conditions inside the nest
  nwi_node *cond[NWD_LOOPS];
  nwi_node *pads; // of a padded copy: where this is false, the element gets the constant; otherwise NULL
  bool boxed; // the extents are constant, and there is no condition: all executions access boxes of the same size
  uint16_t ignores; // bit q: its instructions do not take the tokens of queue q
  int ops; // arithmetic operations for each element of an ALU's result
  int kinds; // the kind that was added last; -1 if there is none
  const nw_expr *value; // the expression of an element of the result; each of its loads is one of the accesses
  struct nwd_kernel *kernel; // compiled code that computes `value` (values.c)
} nwd_site;

// The numbers of an instruction are at stream->number[at]: the first element of each access, in bytes of its memory. If
// the site is not boxed, more numbers follow for each loop: first all extents. Then the first iteration, and the number
// of iterations, in which the instruction accesses elements. Then the same two numbers for the reads of a padded copy.
typedef struct nwd_instr {
  int site, at;
  int kind; // number of what is known about all instructions like this one; -1: nothing
  uint8_t unit;
  uint16_t pop, push; // bit q: takes a token from queue q before it begins; puts one into it when it has ended
  int16_t thread; // the virtual thread that it belongs to, from 0; -1 if there are none
} nwd_instr;

typedef struct nwd_work { // of an instruction
  int64_t elements; // number of elements of its result
  int64_t dram_bytes; // bytes that it moves to or from the memory outside of the chip
  int64_t macs;
  int64_t read[NW_MACHINE_BUFFERS], written[NW_MACHINE_BUFFERS]; // bytes of each memory on the chip
  double cycles, pj;
} nwd_work;

// Instructions of the same site with the same numbers of iterations have the same work, and only the places of their elements
// differ. So their work is computed once.
typedef struct nwd_kind {
  int site, before; // before: the kind of this site that was added before; -1 if there is none
  int64_t written[NWD_LOOPS], read[NWD_LOOPS]; // iterations
  nwd_work work;
  struct nwd_plan *plan; // how its values are computed (values.c); NULL before the first run
} nwd_kind;

typedef struct nwd_mark { // where loops of the program begin and end in the stream
  int at; // number of the instruction after the mark
  enum { NWD_LOOP, NWD_TURN, NWD_END } kind; // a loop begins; an iteration begins; the loop ends
  const nw_stmt *loop;
  int64_t value; // NWD_TURN: of the variable
} nwd_mark;

struct nw_acc {
  nw_ctx *ctx;
  nw_program *source; // the scheduled program from which `exec` was lowered; holds a reference
  nw_exec *exec; // holds a reference
  nw_target *target; // holds a reference
  const nw_machine_accelerator *machine;
  nw_arena *arena;
  nw_pool *pool;
  nwi_run run; // slots of loops and sizes
  nwi_scope scope;
  int nslots;
  int nmemories;
  nwd_memory *memory; // those of the machine, then the arrays in the order of the program
  int64_t *base; // for each buffer of the program: where its current allocation begins in its memory, in bytes
  int64_t top[NW_MACHINE_BUFFERS], most[NW_MACHINE_BUFFERS]; // bytes in use, now and at most
  int nsites, capsites;
  nwd_site *site;
  int nkinds, capkinds;
  nwd_kind *kind;
  int ninstrs, capinstrs;
  nwd_instr *instr;
  int nnumbers, capnumbers;
  int64_t *number;
  int thread, threads; // thread: the virtual thread that is being executed; threads: the number of virtual threads
  int nmarks, capmarks;
  nwd_mark *mark;
  bool edited; // tokens were changed by hand, or left out
  bool misfit; // the diagnostic says that a nest does not fit an instruction
  int64_t left_out; // number of tokens that instructions ignore
};

// A part of a memory that an instruction accesses: rows of consecutive bytes.
typedef struct nwd_box {
  int access; // of the site
  int memory, n;
  bool read, write;
  int64_t at; // bytes
  int64_t size[NWD_LOOPS], stride[NWD_LOOPS]; // numbers of rows, and bytes from one to the next
  int64_t row; // bytes
} nwd_box;

// ---- stream.c
int nwd_unit_named(const nw_acc *s, const char *name); // its number; the record has it
nwd_instr *nwd_add_instr(nw_acc *s, nwd_instr in); // adds an instruction at the end, and returns it
// Lists the instructions of each unit in order. The caller frees the result, to which the lists belong.
int *nwd_by_unit(const nw_acc *s, int *list[NW_MACHINE_UNITS], int n[NW_MACHINE_UNITS]);
// ---- walk.c
nw_acc *nwd_stream_new(nw_ctx *c, const nw_program *p, const int64_t *sizes);
// ---- site.c
int nwd_buffer_named(const nw_acc *s, const char *name); // its number in the lowered program
int nwd_memory_of(const nw_acc *s, int buffer); // the number of the memory that holds a buffer
typedef struct nwd_operands { // numbers of memories
  int result, nreads, read[NWD_ACCESSES];
  bool pads; // it is a padded copy
} nwd_operands;
// Returns the first row of an instruction for these memories, or NULL.
const nw_machine_instruction *nwd_row_of(const nw_acc *s, const char *name, const nwd_operands *o);
// Makes the site of a call, with loops around it, outermost first. Returns its number, or -1, with a diagnostic. If the reason is
// the shape of the nest, s->misfit is true.
int nwd_site_make(nw_acc *s, const nw_stmt *call, int nloops, const nw_stmt *const *loop);
// Adds the instructions of an execution of a site.
bool nwd_site_emit(nw_acc *s, int site);
// Returns the boxes that an instruction accesses, at most NWD_ACCESSES.
int nwd_boxes(const nw_acc *s, const nwd_instr *i, nwd_box *out);
// ---- work.c
void nwd_find_kind(nw_acc *s, nwd_instr *in); // sets the kind of an instruction, whose numbers are known
// Returns the work of an instruction: the cycles for which it occupies its unit, without waiting, and pj, its energy
// without that of memories. The result is in *room, or belongs to the stream.
const nwd_work *nwd_work_of(const nw_acc *s, const nwd_instr *i, nwd_work *room);
int64_t nwd_elements(const nw_acc *s, const nwd_instr *i); // of its result
double nwd_cycles(const nw_acc *s, const nwd_instr *i);
int64_t nwd_dram_bytes(const nw_acc *s, const nwd_instr *i);
// ---- text.c: marks of loops
int nwd_loop_end(const nw_acc *s, int mark); // the mark at which the loop ends that begins at `mark`
int nwd_turn_end(const nw_acc *s, int mark); // the mark at which the iteration ends that begins at `mark`
// Iterations with the same hash have the same instructions and tokens.
uint64_t nwd_turn_hash(const nw_acc *s, int from, int to);
// ---- stream.c
// Iterations of a loop that are shown once: their number, and the number of instructions of each.
typedef struct nwd_fold {
  int64_t times, length;
} nwd_fold;
// Returns the text of an instruction in the first iterations of some folds, the outermost one first. An operand on the chip that
// uses a few places in turns, such as a double buffer, is shown with all of them. Heap.
char *nwd_folded_text(const nw_acc *s, int i, int nfolds, const nwd_fold *fold);
// ---- tokens.c
bool nwd_tokens(nw_acc *s); // inserts the tokens that the accesses need
// Returns the queues to a unit whose tokens the stages of a call ignore (s:annotate). Bit q: queue q.
uint16_t nwd_ignored(const nw_acc *s, const nw_stmt *call, int unit);
// ---- check.c
uint32_t nwd_full_queues(nw_acc *s); // bit q: a unit waits forever until queue q has room
// ---- values.c
bool nwd_kernel_make(nw_acc *s, nwd_site *t); // prepares to compute the values of a site
// Computes the elements from `from` to `to` of an instruction, in the order of its nest.
void nwd_execute(nw_acc *s, const nwd_instr *i, int64_t from, int64_t to);
// ---- macs.c
typedef struct nwd_macs_loop {
  int64_t n, c, a, b; // iterations, and bytes from one to the next
} nwd_macs_loop;

// Loops that add the products of bytes a and b to sums c of 32 bits. Vectors compute the innermost part.
typedef struct nwd_macs nwd_macs;
typedef void (*nwd_macs_fn)(const nwd_macs *p, char *c, const char *a, const char *b);
struct nwd_macs {
  nwd_macs_fn body;
  int64_t length; // of the innermost loop
  nwd_macs_loop sum, rows; // loops inside the body
  bool exchanged; // a and b are exchanged
  int loops;
  nwd_macs_loop list[NWD_LOOPS + 1]; // the loops around the body
};
// Plans a nest of n loops: `times` iterations each, and for each operand the bytes from one iteration to the next. Returns false
// if no loop suits the vectors of a processor.
bool nwd_macs_plan(nwd_macs *p, int n, const int64_t *times, const int64_t *step_c, const int64_t *step_a,
                   const int64_t *step_b);
void nwd_macs_run(const nwd_macs *p, char *c, const char *a, const char *b);
// ---- site.c
typedef struct nwd_part { // a part of the iterations of a nest: the first iteration of each loop, and their number
  int64_t lo[NWD_LOOPS], n[NWD_LOOPS];
} nwd_part;
// Sets the iterations in which an instruction makes access i. Only a padded copy reads in fewer iterations than it writes.
void nwd_part_of(const nw_acc *s, const nwd_instr *in, int i, nwd_part *out);
// ---- shadow.c
// Remembers the last accesses to each word of the memories.
typedef struct nwd_shadow nwd_shadow;
nwd_shadow *nwd_shadow_new(const nw_acc *s); // NULL, with a diagnostic, if there is not enough memory
void nwd_shadow_free(nwd_shadow *h);
typedef struct nwd_conflict {
  int with, unit; // the instruction that accessed the word before, and its unit
  bool wrote; // the earlier access was a write; otherwise it was a read
  bool reads, writes; // what the later access does
  int memory;
  int64_t from, to; // bytes of the word
} nwd_conflict;
// Calls f for each earlier access of another unit that an access of the instruction conflicts with, once for each word.
void nwd_shadow_look(nwd_shadow *h, const nwd_instr *in, void (*f)(void *env, const nwd_conflict *c), void *env);
void nwd_shadow_keep(nwd_shadow *h, int i); // remembers the accesses of instruction i
// Returns the queue from one unit to another, or -1 if there is none.
int nwd_queue_between(const nw_acc *s, int from, int to);
