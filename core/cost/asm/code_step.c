// Executes one instruction. This file handles integers, branches and addresses; code_vectors.c handles vectors and
// masks.
#include "cost/asm/code.h"
#include <stdlib.h>
#include <string.h>

// ---- memory

static bool lies_in(uint64_t address, int bytes, int64_t from, int64_t size) {
  uint64_t at = address - (uint64_t)from; // wraps around if the address is below `from`
  return bytes >= 0 && size >= bytes && at <= (uint64_t)(size - bytes);
}

static const int64_t stack_from = NW_CODE_STACK - NW_CODE_STACK_BYTES;

bool nw_code_on_stack(uint64_t address, int bytes) { return lies_in(address, bytes, stack_from, NW_CODE_STACK_BYTES); }

uint8_t *nw_code_memory(nw_code_state *s, uint64_t address, int bytes) {
  if (nw_code_on_stack(address, bytes)) return s->stack + (address - (uint64_t)stack_from);
  if (lies_in(address, bytes, NW_CODE_CONSTANTS, s->code->nconstants))
    return s->code->constant + (address - (uint64_t)NW_CODE_CONSTANTS);
  if (lies_in(address, bytes, NW_CODE_FRAME, NW_CODE_FRAME_BYTES))
    return s->frame + (address - (uint64_t)NW_CODE_FRAME);
  return NULL;
}

void nw_code_know(nw_code_state *s, uint64_t address, int bytes, bool known) {
  if (!nw_code_on_stack(address, bytes)) return;
  for (int i = 0; i < bytes; i += 4) s->known[(address + (uint64_t)i - (uint64_t)stack_from) / 4] = known;
}

bool nw_code_is_known(const nw_code_state *s, uint64_t address, int bytes) {
  if (lies_in(address, bytes, NW_CODE_CONSTANTS, s->code->nconstants)) return true;
  bool known = nw_code_on_stack(address, bytes);
  for (int i = 0; known && i < bytes; i += 4) known = s->known[(address + (uint64_t)i - (uint64_t)stack_from) / 4];
  return known;
}

uint64_t nw_code_address(const nw_code_state *s, const nw_code_operand *o) {
  uint64_t at = (uint64_t)o->value;
  if (o->base < 16) at += s->reg[o->base];
  if (o->index < 16) at += s->reg[o->index] * o->scale;
  return at;
}

void nw_code_touch(nw_code_state *s, uint64_t address) {
  s->address[0] = address;
  s->naddress = 1;
}

static uint64_t load(nw_code_state *s, uint64_t address, int bytes) {
  uint64_t v = 0;
  uint8_t *from = nw_code_memory(s, address, bytes);
  nw_code_touch(s, address);
  if (from) memcpy(&v, from, (size_t)bytes);
  return v;
}

static void store(nw_code_state *s, uint64_t address, int bytes, uint64_t v) {
  uint8_t *to =
      lies_in(address, bytes, NW_CODE_CONSTANTS, s->code->nconstants) ? NULL : nw_code_memory(s, address, bytes);
  nw_code_touch(s, address);
  if (to) memcpy(to, &v, (size_t)bytes);
  nw_code_know(s, address, bytes, true);
}

// ---- operands

static uint64_t cut(uint64_t v, int bytes) { return bytes >= 8 ? v : v & ((UINT64_C(1) << (8 * bytes)) - 1); }

static int64_t extended(uint64_t v, int bytes) {
  int by = 64 - 8 * bytes;
  return (int64_t)(v << by) >> by;
}

static bool is_integer(const nw_code_operand *o) { return o->kind == NW_OPERAND_REGISTER && o->reg < 16; }

uint64_t nw_code_get(nw_code_state *s, const nw_code_operand *o, int bytes) {
  if (is_integer(o)) return cut(o->high ? s->reg[o->reg] >> 8 : s->reg[o->reg], bytes);
  if (o->kind == NW_OPERAND_NUMBER) return cut((uint64_t)o->value, bytes);
  return o->kind == NW_OPERAND_MEMORY ? load(s, nw_code_address(s, o), bytes) : 0;
}

static void put_register(uint64_t *r, const nw_code_operand *o, int bytes, uint64_t v) {
  int by = o->high ? 8 : 0;
  // a write of 4 bytes clears the upper half of the register
  uint64_t kept = bytes >= 4 ? 0 : ~(((UINT64_C(1) << (8 * bytes)) - 1) << by);
  *r = (*r & kept) | cut(v, bytes) << by;
}

void nw_code_put(nw_code_state *s, const nw_code_operand *o, int bytes, uint64_t v) {
  if (is_integer(o)) put_register(&s->reg[o->reg], o, bytes, v);
  if (o->kind == NW_OPERAND_MEMORY) store(s, nw_code_address(s, o), bytes, v);
}

// ---- flags

static uint64_t set_result(nw_code_state *s, uint64_t v, int bytes) {
  v = cut(v, bytes);
  s->zero = v == 0;
  s->sign = v >> (8 * bytes - 1) & 1;
  return v;
}

static uint64_t logic(nw_code_state *s, uint64_t v, int bytes) {
  s->carry = s->overflow = false;
  return set_result(s, v, bytes);
}

static uint64_t add(nw_code_state *s, uint64_t a, uint64_t b, bool carry, int bytes) {
  uint64_t v = set_result(s, a + b + carry, bytes);
  s->carry = v < a || (carry && v == a);
  s->overflow = ((a ^ v) & (b ^ v)) >> (8 * bytes - 1) & 1;
  return v;
}

static uint64_t subtract(nw_code_state *s, uint64_t a, uint64_t b, bool carry, int bytes) {
  uint64_t v = set_result(s, a - b - carry, bytes);
  s->carry = a < b || (carry && a == b);
  s->overflow = ((a ^ b) & (a ^ v)) >> (8 * bytes - 1) & 1;
  return v;
}

static bool holds(const nw_code_state *s, int condition) {
  const bool less = s->sign != s->overflow;
  const bool is[8] = {s->overflow, s->carry, s->zero, s->carry || s->zero, s->sign, false, less, s->zero || less};
  return is[condition >> 1 & 7] != (condition & 1);
}

// ---- arithmetic

static uint64_t shifted(int op, uint64_t v, uint64_t by, int bytes) {
  by &= bytes == 8 ? 63 : 31;
  if (op == NW_CODE_SHL || op == NW_CODE_SHLX) return v << by;
  return op == NW_CODE_SHR || op == NW_CODE_SHRX ? v >> by : (uint64_t)(extended(v, bytes) >> by);
}

static uint64_t combined(nw_code_state *s, int op, uint64_t a, uint64_t b, int bytes) {
  switch (op) {
  case NW_CODE_ADD: return add(s, a, b, false, bytes);
  case NW_CODE_ADC: return add(s, a, b, s->carry, bytes);
  case NW_CODE_SUB:
  case NW_CODE_COMPARE: return subtract(s, a, b, false, bytes);
  case NW_CODE_SBB: return subtract(s, a, b, s->carry, bytes);
  case NW_CODE_OR: return logic(s, a | b, bytes);
  case NW_CODE_XOR: return logic(s, a ^ b, bytes);
  default: return logic(s, a & b, bytes);
  }
}

static void with_two(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *to = &x->arg[1];
  uint64_t b = nw_code_get(s, &x->arg[0], x->size), a = nw_code_get(s, to, x->size);
  uint64_t v = combined(s, x->op, a, b, x->size);
  if (x->op != NW_CODE_COMPARE && x->op != NW_CODE_TEST) nw_code_put(s, to, x->size, v);
  if (x->arg[0].kind == NW_OPERAND_MEMORY) nw_code_touch(s, nw_code_address(s, &x->arg[0]));
}

static void with_one(nw_code_state *s, const nw_code_ins *x) {
  uint64_t a = nw_code_get(s, &x->arg[0], x->size), v = ~a;
  bool carry = s->carry;
  if (x->op == NW_CODE_INC) v = add(s, a, 1, false, x->size);
  if (x->op == NW_CODE_DEC) v = subtract(s, a, 1, false, x->size);
  if (x->op == NW_CODE_NEG) v = subtract(s, 0, a, false, x->size);
  if (x->op == NW_CODE_INC || x->op == NW_CODE_DEC) s->carry = carry;
  nw_code_put(s, &x->arg[0], x->size, v);
}

static void shift(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *to = &x->arg[x->nargs ? x->nargs - 1 : 0];
  uint64_t by = x->nargs == 1 ? 1 : nw_code_get(s, &x->arg[0], 1);
  nw_code_put(s, to, x->size, logic(s, shifted(x->op, nw_code_get(s, to, x->size), by, x->size), x->size));
}

static void shift_apart(nw_code_state *s, const nw_code_ins *x) {
  uint64_t by = nw_code_get(s, &x->arg[0], x->size), v = nw_code_get(s, &x->arg[1], x->size);
  nw_code_put(s, &x->arg[2], x->size, shifted(x->op, v, by, x->size));
}

static void multiply(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *to = &x->arg[x->nargs ? x->nargs - 1 : 0];
  uint64_t a = nw_code_get(s, &x->arg[0], x->size);
  if (x->op == NW_CODE_MULX) {
    unsigned __int128 v = (unsigned __int128)s->reg[2] * a;
    nw_code_put(s, &x->arg[1], x->size, (uint64_t)v);
    return nw_code_put(s, to, x->size, (uint64_t)(v >> 64));
  }
  if (x->nargs > 1) return nw_code_put(s, to, x->size, a * nw_code_get(s, x->nargs == 3 ? &x->arg[1] : to, x->size));
  unsigned __int128 v = (unsigned __int128)s->reg[0] * a;
  if (x->op == NW_CODE_IMUL) v = (unsigned __int128)((__int128)(int64_t)s->reg[0] * (int64_t)a);
  s->reg[0] = (uint64_t)v, s->reg[2] = (uint64_t)(v >> 64);
}

static void divide(nw_code_state *s, const nw_code_ins *x) {
  int n = x->size;
  int64_t by = extended(nw_code_get(s, &x->arg[0], n), n), of = extended(s->reg[0], n);
  uint64_t uby = cut((uint64_t)by, n), uof = cut((uint64_t)of, n);
  if (by == 0 || by == -1) by = 1, uby = uby ? uby : 1; // a division by 0 traps, and a division by -1 may overflow
  bool is_signed = x->op == NW_CODE_IDIV;
  s->reg[0] = cut(is_signed ? (uint64_t)(of / by) : uof / uby, n);
  s->reg[2] = cut(is_signed ? (uint64_t)(of % by) : uof % uby, n);
}

static void move(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *from = &x->arg[0], *to = &x->arg[1];
  if (x->op == NW_CODE_LEA) return nw_code_put(s, to, x->size, nw_code_address(s, from));
  uint64_t v = nw_code_get(s, from, x->op == NW_CODE_MOVE ? x->size : x->elem);
  if (x->op == NW_CODE_MOVE_SIGN) v = (uint64_t)extended(v, x->elem);
  nw_code_put(s, to, x->size, v);
}

static void choose(nw_code_state *s, const nw_code_ins *x) {
  uint64_t v = nw_code_get(s, &x->arg[0], x->size), kept = nw_code_get(s, &x->arg[1], x->size);
  nw_code_put(s, &x->arg[1], x->size, holds(s, x->condition) ? v : kept);
}

static void push(nw_code_state *s, uint64_t v) { store(s, s->reg[NW_CODE_STACK_POINTER] -= 8, 8, v); }

static uint64_t pop(nw_code_state *s) {
  s->reg[NW_CODE_STACK_POINTER] += 8;
  return load(s, s->reg[NW_CODE_STACK_POINTER] - 8, 8);
}

// ---- jumps

static int place_of(const nw_code_state *s, uint64_t v) {
  return v >= (uint64_t)NW_CODE_TEXT && v < (uint64_t)NW_CODE_TEXT + (uint64_t)s->code->n ? (int)(v - NW_CODE_TEXT)
                                                                                          : -1;
}

static int target_of(nw_code_state *s, const nw_code_ins *x) {
  return x->target >= 0 || !x->nargs ? x->target : place_of(s, nw_code_get(s, &x->arg[0], 8));
}

// Prepares a single call of a parallel loop's body that runs all iterations, because the code is executed on one
// thread. The arguments of the body are (frame, captured, begin, end, thread). Returns the body's first instruction.
static int parallel_body(nw_code_state *s) {
  int body = place_of(s, s->reg[6]);
  s->reg[6] = s->reg[2], s->reg[2] = 0, s->reg[8] = 0; // rcx already is the number of iterations, which is `end`
  return body;
}

// True if the call is to the function for parallel loops. Such a call is indirect: it reads the function's address
// from a table of symbols.
static bool calls_parallel(const nw_code_state *s, const nw_code_ins *x) {
  return x->nargs && x->arg[0].kind == NW_OPERAND_MEMORY &&
         nw_code_address(s, &x->arg[0]) == (uint64_t)NW_CODE_PARALLEL;
}

// Executes a call and returns the next instruction. Calls of external functions are skipped.
static int call(nw_code_state *s, const nw_code_ins *x) {
  bool parallel = calls_parallel(s, x);
  int to = parallel ? parallel_body(s) : target_of(s, x);
  if (to < 0 || s->ncalls == NW_CODE_CALLS) return s->at + 1;
  s->back[s->ncalls++] = s->at + 1;
  push(s, 0);
  s->taken = true;
  return to;
}

static int jump(nw_code_state *s, const nw_code_ins *x) {
  int next = s->at + 1;
  switch (x->op) {
  case NW_CODE_CALL: return call(s, x);
  case NW_CODE_JUMP: s->taken = true; return target_of(s, x);
  case NW_CODE_BRANCH: s->taken = holds(s, x->condition); return s->taken ? x->target : next;
  default:
    pop(s);
    s->taken = true;
    return s->ncalls ? s->back[--s->ncalls] : -1;
  }
}

// ---- all

static void integer(nw_code_state *s, const nw_code_ins *x) {
  switch (x->op) {
  case NW_CODE_MOVE:
  case NW_CODE_MOVE_ZERO:
  case NW_CODE_MOVE_SIGN:
  case NW_CODE_LEA: return move(s, x);
  case NW_CODE_ADD:
  case NW_CODE_ADC:
  case NW_CODE_SUB:
  case NW_CODE_SBB:
  case NW_CODE_AND:
  case NW_CODE_OR:
  case NW_CODE_XOR:
  case NW_CODE_COMPARE:
  case NW_CODE_TEST: return with_two(s, x);
  case NW_CODE_INC:
  case NW_CODE_DEC:
  case NW_CODE_NEG:
  case NW_CODE_NOT: return with_one(s, x);
  case NW_CODE_IMUL:
  case NW_CODE_MUL:
  case NW_CODE_MULX: return multiply(s, x);
  case NW_CODE_DIV:
  case NW_CODE_IDIV: return divide(s, x);
  case NW_CODE_SHL:
  case NW_CODE_SHR:
  case NW_CODE_SAR: return shift(s, x);
  case NW_CODE_SHLX:
  case NW_CODE_SHRX:
  case NW_CODE_SARX: return shift_apart(s, x);
  case NW_CODE_ANDN: {
    uint64_t v = nw_code_get(s, &x->arg[0], x->size) & ~nw_code_get(s, &x->arg[1], x->size);
    return nw_code_put(s, &x->arg[2], x->size, logic(s, v, x->size));
  }
  case NW_CODE_BT: {
    uint64_t by = nw_code_get(s, &x->arg[0], x->size) & (x->size == 8 ? 63 : 31);
    s->carry = nw_code_get(s, &x->arg[1], x->size) >> by & 1;
    return;
  }
  case NW_CODE_CMOV: return choose(s, x);
  case NW_CODE_SET: return nw_code_put(s, &x->arg[0], 1, holds(s, x->condition));
  case NW_CODE_WIDEN: s->reg[0] = (uint64_t)extended(s->reg[0], 4); return;
  case NW_CODE_SIGN: s->reg[2] = cut((uint64_t)(extended(s->reg[0], x->elem) >> 63), x->elem); return;
  case NW_CODE_PUSH: return push(s, nw_code_get(s, &x->arg[0], 8));
  case NW_CODE_POP: return nw_code_put(s, &x->arg[0], 8, pop(s));
  case NW_CODE_PREFETCH: return nw_code_touch(s, nw_code_address(s, &x->arg[0]));
  default: return;
  }
}

bool nw_code_step(nw_code_state *s) {
  const nw_code_ins *x = &s->code->ins[s->at];
  int next = s->at + 1;
  s->naddress = 0;
  s->taken = s->partial = false;
  if (x->op >= NW_CODE_V_MOVE)
    nw_code_vector(s, x);
  else if (x->op >= NW_CODE_BRANCH && x->op <= NW_CODE_RETURN)
    next = jump(s, x);
  else
    integer(s, x);
  if (next < 0 || next >= s->code->n) return false;
  s->at = next;
  return true;
}

// ---- start

enum { FRAME_PARAMS = 0, FRAME_SIZES = 8, FRAME_WORK = 16, FRAME_STRIDES = 24, TABLE_BYTES = 1024 };

static void put_frame(nw_code_state *s, int at, int64_t v) { memcpy(s->frame + at, &v, 8); }

// Makes the frame. As for large arrays in a session (run/mem.c), each array begins a few lines further in its page than
// the previous array.
static void make_frame(nw_code_state *s) {
  static const int fields[] = {FRAME_PARAMS, FRAME_SIZES, FRAME_WORK, FRAME_STRIDES};
  for (int i = 0; i < 4; i++) put_frame(s, fields[i], NW_CODE_FRAME + (i + 1) * TABLE_BYTES);
  for (int i = 0; i < TABLE_BYTES / 8; i++) {
    int64_t array = (INT64_C(1) << 28) + (i + 1) * (INT64_C(1) << 26) + 64 + i % 8 * 17 * 64;
    put_frame(s, TABLE_BYTES + 8 * i, array);
    put_frame(s, 3 * TABLE_BYTES + 8 * i, array);
  }
}

nw_code_state *nw_code_begin(const nw_compiled *k) {
  nw_code_state *s = nw_xcalloc(1, sizeof *s);
  s->code = k;
  s->stack = nw_xcalloc(NW_CODE_STACK_BYTES, 1);
  s->known = nw_xcalloc(NW_CODE_STACK_BYTES / 4 + 1, 1);
  make_frame(s);
  s->reg[7] = NW_CODE_FRAME;
  s->reg[NW_CODE_STACK_POINTER] = NW_CODE_STACK - 4096 - 8;
  s->at = k->entry;
  return s;
}

void nw_code_end(nw_code_state *s) {
  if (!s) return;
  free(s->stack);
  free(s->known);
  free(s);
}
