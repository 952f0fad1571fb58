// Interprets compiled code instruction by instruction, without running it on the CPU. code_core.h computes the time of
// the interpreted instructions.
//
// The input is assembly for x86-64 in AT&T syntax, as the compiler prints it. Integers, branches, addresses, integer
// vectors and masks are computed as on the CPU. Floating-point numbers are not computed, so values that depend on them
// are unknown. Only three parts of memory are represented: the stack, the constants, and the frame that contains the
// kernel's pointers.
#pragma once
#include "base/base.h"
#include "hw/machine.h"

// The numbers of registers, which are used to track dependences. Integer registers have the numbers 0 to 15.
enum {
  NW_CODE_VECTOR = 16, // the first vector register
  NW_CODE_MASK = 48, // the first mask register
  NW_CODE_FLAGS = 56,
  NW_CODE_REGISTERS = 57,
  NW_CODE_NONE = 255,
  NW_CODE_STACK_POINTER = 4,
  NW_CODE_COUNTER = 1, // cl
};

typedef enum nw_code_op {
  NW_CODE_NOTHING,
  // integers
  NW_CODE_MOVE,
  NW_CODE_MOVE_ZERO, // moves with zero extension
  NW_CODE_MOVE_SIGN,
  NW_CODE_LEA,
  NW_CODE_ADD,
  NW_CODE_ADC,
  NW_CODE_SUB,
  NW_CODE_SBB,
  NW_CODE_AND,
  NW_CODE_OR,
  NW_CODE_XOR,
  NW_CODE_COMPARE,
  NW_CODE_TEST,
  NW_CODE_INC,
  NW_CODE_DEC,
  NW_CODE_NEG,
  NW_CODE_NOT,
  NW_CODE_IMUL,
  NW_CODE_MUL,
  NW_CODE_MULX,
  NW_CODE_DIV,
  NW_CODE_IDIV,
  NW_CODE_SHL,
  NW_CODE_SHR,
  NW_CODE_SAR,
  NW_CODE_SHLX,
  NW_CODE_SHRX,
  NW_CODE_SARX,
  NW_CODE_ANDN,
  NW_CODE_BT,
  NW_CODE_CMOV,
  NW_CODE_SET,
  NW_CODE_WIDEN, // sign-extends the low half of rax
  NW_CODE_SIGN, // fills rdx with the sign of rax
  NW_CODE_PUSH,
  NW_CODE_POP,
  NW_CODE_BRANCH,
  NW_CODE_JUMP,
  NW_CODE_CALL,
  NW_CODE_RETURN,
  NW_CODE_PREFETCH,
  // vectors whose lanes are computed
  NW_CODE_V_MOVE,
  NW_CODE_V_FROM, // moves one element into or out of a vector
  NW_CODE_V_BROADCAST,
  NW_CODE_V_LANES, // an operation on each lane (nw_code_lane)
  NW_CODE_V_SHIFT,
  NW_CODE_V_COMPARE,
  NW_CODE_V_SIGNS, // moves the sign bits of the lanes into a mask
  NW_CODE_V_EXTRACT,
  NW_CODE_V_INSERT,
  NW_CODE_V_WIDEN,
  NW_CODE_V_TERNARY,
  NW_CODE_V_PICK, // moves one element into an integer register
  NW_CODE_GATHER,
  NW_CODE_SCATTER,
  // masks
  NW_CODE_K_MOVE,
  NW_CODE_K_BITS, // a bitwise operation, or an addition, of masks (nw_code_lane)
  NW_CODE_K_UNPACK,
  NW_CODE_K_SHIFT,
  NW_CODE_K_TEST,
  NW_CODE_OTHER, // the result is unknown
} nw_code_op;

typedef enum nw_code_lane {
  NW_LANE_ADD,
  NW_LANE_SUB,
  NW_LANE_MUL,
  NW_LANE_MUL_LOW, // multiplies the lower halves
  NW_LANE_AND,
  NW_LANE_ANDN,
  NW_LANE_OR,
  NW_LANE_XOR,
  NW_LANE_XNOR,
  NW_LANE_NOT,
  NW_LANE_MIN,
  NW_LANE_MAX,
  NW_LANE_LEFT,
  NW_LANE_RIGHT,
  NW_LANE_RIGHT_SIGN,
} nw_code_lane;

typedef enum nw_code_kind { NW_OPERAND_NONE, NW_OPERAND_REGISTER, NW_OPERAND_NUMBER, NW_OPERAND_MEMORY } nw_code_kind;

typedef struct nw_code_operand {
  uint8_t kind, reg, size; // `size`: bytes of a register
  bool high; // true for bits 8 to 15 of a register, such as ah
  uint8_t base, index, scale;
  int64_t value; // an immediate, or the offset of an address
} nw_code_operand;

typedef struct nw_code_ins {
  char name[16];
  nw_code_operand arg[4]; // the last operand is the destination
  int nargs;
  uint8_t op, lane;
  uint8_t size; // bytes of an integer, or of a mask
  uint8_t elem; // bytes of a lane
  bool is_signed;
  uint8_t condition;
  uint8_t mask; // {%k}: the number of the mask register
  bool zeroing, broadcast; // {z} {1to16}
  uint8_t width; // bytes of the instruction's widest vector
  int target; // for a jump: the number of the target instruction
  // The following fields are the resources that the instruction needs (code_needs.c).
  uint8_t nsrc, src[8], ndst, dst[3], naddress, address[3]; // registers
  uint8_t parts; // number of micro-operations that are dispatched
  uint8_t more; // number of micro-operations, in addition to the first, that need one of more_ports
  uint8_t busy; // number of cycles for which the instruction occupies its port
  uint16_t ports, more_ports;
  double latency;
  bool load, store, fused; // `fused`: true for a branch that is fused with the preceding instruction
  uint8_t lanes; // lanes of a gather or scatter
  uint16_t bytes; // bytes of an access
  uint32_t at; // offset in the code
  uint8_t aligned; // log2 of the alignment
} nw_code_ins;

typedef struct nw_compiled {
  nw_code_ins *ins;
  int n, entry;
  nw_vec symbol; // nw_code_symbol *
  uint8_t *constant; // bytes of read-only sections
  int nconstants;
  nw_arena *arena;
} nw_compiled;

// Parses assembly. Returns NULL if the assembly has no entry point, or has an unknown instruction because it is for
// another CPU.
nw_compiled *nw_code_read(const char *assembly);
void nw_code_free(nw_compiled *k);
bool nw_code_name(nw_code_ins *x); // sets the fields that x->name determines; returns false if the name is unknown
void nw_code_needs(nw_compiled *k, const nw_machine *m); // sets the resources and the offset of each instruction

// ---- execution

// The base addresses of the parts of memory. They are far apart, so the parts do not overlap.
#define NW_CODE_TEXT INT64_C(0x100000000000) // instruction i is at this address + i
#define NW_CODE_CONSTANTS INT64_C(0x200000000000)
#define NW_CODE_FRAME INT64_C(0x300000000000)
#define NW_CODE_PARALLEL INT64_C(0x400000000000) // the run-time function for parallel loops
#define NW_CODE_STACK INT64_C(0x700000000000) // the end of the stack

enum { NW_CODE_STACK_BYTES = 1 << 20, NW_CODE_FRAME_BYTES = 8192, NW_CODE_CALLS = 64, NW_CODE_LANES = 16 };

typedef struct nw_code_value { // the value of a vector register
  bool known;
  union {
    uint64_t q[8];
    uint32_t d[16];
    uint8_t b[64];
  };
} nw_code_value;

typedef struct nw_code_state {
  const nw_compiled *code;
  int at; // the next instruction
  uint64_t reg[16];
  bool zero, sign, carry, overflow;
  nw_code_value vector[32];
  struct {
    bool known;
    uint64_t bits;
  } mask[8];
  uint8_t *stack;
  bool *known; // for each group of 4 bytes of the stack: true if their value is known
  uint8_t frame[NW_CODE_FRAME_BYTES];
  int back[NW_CODE_CALLS], ncalls; // back: return addresses of the current calls
  // The following fields describe the last instruction that was executed.
  uint64_t address[NW_CODE_LANES]; // addresses of its accesses
  int naddress;
  bool taken; // true if the instruction was a taken branch
  bool partial; // true if the instruction was a masked access with inactive or unknown lanes
} nw_code_state;

nw_code_state *nw_code_begin(const nw_compiled *k);
void nw_code_end(nw_code_state *s);
bool nw_code_step(nw_code_state *s); // executes an instruction; returns false if it was the last instruction

// code_step.c and code_vectors.c share the following functions.
uint64_t nw_code_address(const nw_code_state *s, const nw_code_operand *o);
uint8_t *nw_code_memory(nw_code_state *s, uint64_t address, int bytes); // NULL if this memory is not represented
bool nw_code_on_stack(uint64_t address, int bytes);
void nw_code_touch(nw_code_state *s, uint64_t address);
void nw_code_know(nw_code_state *s, uint64_t address, int bytes, bool known);
bool nw_code_is_known(const nw_code_state *s, uint64_t address, int bytes);
uint64_t nw_code_get(nw_code_state *s, const nw_code_operand *o, int bytes);
void nw_code_put(nw_code_state *s, const nw_code_operand *o, int bytes, uint64_t v);
void nw_code_vector(nw_code_state *s, const nw_code_ins *x);
