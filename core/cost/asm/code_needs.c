// Finds the registers, ports and cycles that each instruction needs.
//
// The ports are those of Intel's server cores since 2021 (Intel 64 and IA-32 Architectures Optimization Reference
// Manual, Golden Cove):
// * Ports 0, 1, 5, 6 and 10 execute integer instructions.
// * Ports 0, 1 and 5 also execute vector instructions. Vectors of 64 bytes need port 0 or 5.
// * Three ports execute loads. Two of them can load 64 bytes at once.
// * Two ports compute the addresses of stores, and two ports move the data of stores.
// The ports of each instruction are from uops.info (Abel and Reineke, ASPLOS 2019). So are the latencies that are not
// in the machine's record. For other cores, these numbers are estimates.
#include "cost/asm/code_core.h"
#include <math.h>
#include <string.h>

enum {
  P0 = NW_PORT_0,
  P1 = NW_PORT_1,
  P5 = NW_PORT_5,
  P6 = NW_PORT_6,
  ANY = P0 | P1 | P5 | P6 | NW_PORT_10,
  EVEN = P0 | P6, // for shifts, conditions and branches
};

// The resources of a vector instruction. The first row whose `name` is a prefix of the instruction's name is used.
typedef struct need {
  const char *name;
  uint16_t ports, wide; // `wide`: the ports for vectors of 64 bytes
  double latency; // if negative, the latency of `class` in the machine's record is used
  uint16_t more; // the ports of a second micro-operation; 0 if there is none
  int class;
} need;

static const need needs[] = {
    {"vfm", P0 | P1, P0 | P5, -1, 0, NW_CLASS_FMA},
    {"vfn", P0 | P1, P0 | P5, -1, 0, NW_CLASS_FMA},
    {"vaddp", P1 | P5, P0 | P5, -1, 0, NW_CLASS_ADD},
    {"vadds", P1 | P5, P0 | P5, -1, 0, NW_CLASS_ADD},
    {"vsubp", P1 | P5, P0 | P5, -1, 0, NW_CLASS_ADD},
    {"vsubs", P1 | P5, P0 | P5, -1, 0, NW_CLASS_ADD},
    {"vmul", P0 | P1, P0 | P5, -1, 0, NW_CLASS_MUL},
    {"vmax", P0 | P1, P0 | P5, -1, 0, NW_CLASS_MINMAX},
    {"vmin", P0 | P1, P0 | P5, -1, 0, NW_CLASS_MINMAX},
    {"vdivpd", P0, P0, -1, 0, NW_CLASS_DIV64},
    {"vdivsd", P0, P0, -1, 0, NW_CLASS_DIV64},
    {"vdiv", P0, P0, -1, 0, NW_CLASS_DIV},
    {"vsqrtpd", P0, P0, -1, 0, NW_CLASS_SQRT64},
    {"vsqrtsd", P0, P0, -1, 0, NW_CLASS_SQRT64},
    {"vsqrt", P0, P0, -1, 0, NW_CLASS_SQRT},
    {"vrnd", P0 | P1, P0 | P5, -1, P0 | P1, NW_CLASS_ROUND},
    {"vcvtps2pd", P0 | P1, P0 | P5, 7, P5, 0},
    {"vcvtpd2ps", P0 | P1, P0 | P5, 7, P5, 0},
    {"vcvt", P0 | P1, P0 | P5, -1, 0, NW_CLASS_CAST},
    {"vpmull", P0 | P1, P0, -1, P0 | P1, NW_CLASS_INTMUL},
    {"vpmul", P0 | P1, P0, 5, 0, 0},
    {"vpmadd", P0 | P1, P0, 5, 0, 0},
    {"vpsll", P0 | P1, P0, 1, 0, 0},
    {"vpsrl", P0 | P1, P0, 1, 0, 0},
    {"vpsra", P0 | P1, P0, 1, 0, 0},
    {"vpmovm2", P0 | P5, P0 | P5, 3, 0, 0},
    {"vpmovd2m", P0, P0, 3, 0, 0},
    {"vpmovq2m", P0, P0, 3, 0, 0},
    {"vpmovzx", P5, P5, 3, 0, 0},
    {"vpmovsx", P5, P5, 3, 0, 0},
    {"vpmov", P5, P5, 4, P5, 0},
    {"vpermilp", P5, P5, 1, 0, 0},
    {"vperm", P5, P5, -1, 0, NW_CLASS_SHUFFLE},
    {"valign", P5, P5, -1, 0, NW_CLASS_SHUFFLE},
    {"vshufp", P1 | P5, P5, 1, 0, 0},
    {"vshuf", P5, P5, -1, 0, NW_CLASS_SHUFFLE},
    {"vpshuf", P1 | P5, P5, 1, 0, 0},
    {"vpunpck", P1 | P5, P5, 1, 0, 0},
    {"vunpck", P1 | P5, P5, 1, 0, 0},
    {"vpalign", P1 | P5, P5, 1, 0, 0},
    {"vmovs", P1 | P5, P5, 1, 0, 0},
    {"vmovd", P1 | P5, P5, 1, 0, 0},
    {"vmovh", P1 | P5, P5, 1, 0, 0},
    {"vmovl", P1 | P5, P5, 1, 0, 0},
    {"vinsertps", P5, P5, 1, 0, 0},
    {"vinsert", P5, P5, -1, 0, NW_CLASS_SHUFFLE},
    {"vextractps", P0, P0, 3, P5, 0},
    {"vextract", P5, P5, -1, 0, NW_CLASS_SHUFFLE},
    {"vpextr", P0, P0, 4, P5, 0},
    {"vpinsr", P5, P5, 4, P5, 0},
    {"vbroadcast", P5, P5, -1, 0, NW_CLASS_SHUFFLE},
    {"vpbroadcast", P5, P5, -1, 0, NW_CLASS_SHUFFLE},
    {"vcompress", P5, P5, 6, P5, 0},
    {"vexpand", P5, P5, 6, P5, 0},
    {"vp", P0 | P1 | P5, P0 | P5, 1, 0, 0},
    {"vand", P0 | P1 | P5, P0 | P5, 1, 0, 0},
    {"vor", P0 | P1 | P5, P0 | P5, 1, 0, 0},
    {"vxor", P0 | P1 | P5, P0 | P5, 1, 0, 0},
    {"vblend", P0 | P1 | P5, P0 | P5, 1, 0, 0},
    {"v", P0 | P1, P0 | P5, 4, 0, 0},
};

static bool begins(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

static bool ends(const char *s, const char *with) {
  size_t n = strlen(s), m = strlen(with);
  return n >= m && !strcmp(s + n - m, with);
}

static bool is_vector(const nw_code_operand *o) {
  return o->kind == NW_OPERAND_REGISTER && o->reg >= NW_CODE_VECTOR && o->reg < NW_CODE_MASK;
}

static bool is_mask(const nw_code_operand *o) {
  return o->kind == NW_OPERAND_REGISTER && o->reg >= NW_CODE_MASK && o->reg < NW_CODE_FLAGS;
}

static const nw_code_operand *last(const nw_code_ins *x) { return x->nargs ? &x->arg[x->nargs - 1] : NULL; }

static void reads(nw_code_ins *x, int reg) {
  if (reg < NW_CODE_REGISTERS && x->nsrc < 8) x->src[x->nsrc++] = (uint8_t)reg;
}

static void writes(nw_code_ins *x, int reg) {
  if (reg < NW_CODE_REGISTERS && x->ndst < 3) x->dst[x->ndst++] = (uint8_t)reg;
}

static void addresses(nw_code_ins *x, int reg) {
  if (reg < NW_CODE_REGISTERS && x->naddress < 3) x->address[x->naddress++] = (uint8_t)reg;
}

static void set(nw_code_ins *x, int ports, double latency) { x->ports = (uint16_t)ports, x->latency = latency; }

// ---- bytes of an access

static int part_of_vector(const nw_code_ins *x) {
  const char *n = x->name;
  if (begins(n, "vinsertps") || begins(n, "vextractps")) return 4;
  if (strstr(n, "x4") && strstr(n, "64")) return 32;
  if (strstr(n, "x8")) return 32;
  return begins(n, "vbroadcast") && strstr(n, "x2") ? 8 : 16;
}

static int vector_access(const nw_code_ins *x) {
  const char *n = x->name;
  if (x->broadcast) return ends(n, "q") || ends(n, "pd") ? 8 : 4;
  if (x->op == NW_CODE_V_FROM || x->op == NW_CODE_V_BROADCAST) return x->elem;
  if (begins(n, "vmovl") || begins(n, "vmovhp") || begins(n, "vmovddup")) return 8;
  if (ends(n, "ss")) return 4;
  if (ends(n, "sd")) return 8;
  if (begins(n, "vextract") || begins(n, "vinsert") || begins(n, "vbroadcast")) return part_of_vector(x);
  if (begins(n, "vpmovzx") || begins(n, "vpmovsx") || begins(n, "vcvtps2pd") || begins(n, "vpmov")) return x->width / 2;
  return x->width ? x->width : 16;
}

static int access_bytes(const nw_code_ins *x) {
  if (x->name[0] == 'v') return vector_access(x);
  int n = x->op == NW_CODE_MOVE_ZERO || x->op == NW_CODE_MOVE_SIGN ? x->elem : x->size;
  return n ? n : 8;
}

static bool only_looks(const nw_code_ins *x) {
  return x->op == NW_CODE_COMPARE || x->op == NW_CODE_TEST || x->op == NW_CODE_BT || x->op == NW_CODE_K_TEST ||
         begins(x->name, "vucomi") || begins(x->name, "vcomi") || !strcmp(x->name, "vptest");
}

// True if the instruction writes its destination without reading it.
static bool overwrites(const nw_code_ins *x) {
  if (x->name[0] == 'v')
    return !(begins(x->name, "vfm") || begins(x->name, "vfn") || x->op == NW_CODE_V_TERNARY ||
             strstr(x->name, "permi2") || strstr(x->name, "permt2"));
  switch (x->op) {
  case NW_CODE_MOVE:
  case NW_CODE_MOVE_ZERO:
  case NW_CODE_MOVE_SIGN:
  case NW_CODE_LEA:
  case NW_CODE_POP:
  case NW_CODE_MULX:
  case NW_CODE_SHLX:
  case NW_CODE_SHRX:
  case NW_CODE_SARX:
  case NW_CODE_ANDN: return true;
  case NW_CODE_IMUL: return x->nargs == 3;
  default: return x->name[0] == 'k';
  }
}

static void in_memory(nw_code_ins *x, const nw_code_operand *o, bool is_last) {
  bool to = is_last && !only_looks(x) && x->op != NW_CODE_PUSH && x->op != NW_CODE_CALL && x->op != NW_CODE_JUMP;
  if (x->op == NW_CODE_LEA) return reads(x, o->base), reads(x, o->index);
  addresses(x, o->base), addresses(x, o->index);
  x->store = to && x->op != NW_CODE_PREFETCH;
  x->load = !to || x->op == NW_CODE_PREFETCH || !overwrites(x);
  x->bytes = (uint16_t)access_bytes(x);
}

// ---- registers

// True if the instruction sets a register to zero by an operation on equal operands. Such an instruction needs no
// execution unit.
static bool clears(const nw_code_ins *x) {
  bool itself = x->nargs >= 2 && x->arg[0].kind == NW_OPERAND_REGISTER && x->arg[1].kind == NW_OPERAND_REGISTER &&
                x->arg[0].reg == x->arg[1].reg;
  bool vector = x->op == NW_CODE_V_LANES && x->lane == NW_LANE_XOR && x->nargs == 3;
  return itself && (x->op == NW_CODE_XOR || x->op == NW_CODE_SUB || vector);
}

static bool writes_flags(const nw_code_ins *x) {
  bool arithmetic = x->op >= NW_CODE_ADD && x->op <= NW_CODE_SAR && x->op != NW_CODE_NOT && x->op != NW_CODE_MULX;
  return arithmetic || only_looks(x) || x->op == NW_CODE_ANDN;
}

static bool reads_flags(const nw_code_ins *x) {
  return x->op == NW_CODE_BRANCH || x->op == NW_CODE_CMOV || x->op == NW_CODE_SET || x->op == NW_CODE_ADC ||
         x->op == NW_CODE_SBB;
}

static void in_register(nw_code_ins *x, const nw_code_operand *o, bool is_last) {
  if (x->op == NW_CODE_MULX && o == &x->arg[1]) return writes(x, o->reg); // mulx has two results
  if (!is_last || only_looks(x)) return reads(x, o->reg);
  writes(x, o->reg);
  if (!overwrites(x) || (x->mask != NW_CODE_NONE && !x->zeroing)) reads(x, o->reg);
}

// Adds the implicit operands of an instruction.
static void hidden(nw_code_ins *x) {
  enum { RAX = 0, RDX = 2 };
  bool one = x->nargs == 1;
  if (x->op == NW_CODE_MULX) reads(x, RDX);
  if ((x->op == NW_CODE_MUL || x->op == NW_CODE_IMUL) && one) reads(x, RAX), writes(x, RAX), writes(x, RDX);
  if (x->op == NW_CODE_DIV || x->op == NW_CODE_IDIV) reads(x, RAX), reads(x, RDX), writes(x, RAX), writes(x, RDX);
  if (x->op == NW_CODE_WIDEN) reads(x, RAX), writes(x, RAX);
  if (x->op == NW_CODE_SIGN) reads(x, RAX), writes(x, RDX);
  if (x->op == NW_CODE_PUSH) x->store = true, x->bytes = 8, addresses(x, NW_CODE_STACK_POINTER);
  if (x->op == NW_CODE_POP) x->load = true, x->store = false, x->bytes = 8, addresses(x, NW_CODE_STACK_POINTER);
}

static void registers(nw_code_ins *x) {
  for (int i = 0; i < x->nargs && !clears(x); i++) {
    if (x->arg[i].kind == NW_OPERAND_MEMORY) in_memory(x, &x->arg[i], i == x->nargs - 1);
    if (x->arg[i].kind == NW_OPERAND_REGISTER) in_register(x, &x->arg[i], i == x->nargs - 1);
  }
  if (clears(x)) return writes(x, last(x)->reg);
  hidden(x);
  if (x->mask != NW_CODE_NONE) reads(x, x->mask);
  if (reads_flags(x)) reads(x, NW_CODE_FLAGS);
  bool borrow =
      x->op == NW_CODE_SBB && x->nargs == 2 && x->arg[0].kind == NW_OPERAND_REGISTER && x->arg[0].reg == x->arg[1].reg;
  if (borrow) x->nsrc = 1, x->src[0] = NW_CODE_FLAGS; // a register minus itself depends only on the carry flag
}

// ---- ports and cycles

static void by_class(nw_code_ins *x, const need *n, const nw_machine *m) {
  const nw_op_cost *op = &m->op[n->class];
  int width = x->width == 64 ? 3 : x->width == 32 ? 2 : 1;
  if (n->latency < 0) x->latency = round(op->latency);
  bool division = n->class >= NW_CLASS_DIV && n->class <= NW_CLASS_SQRT64;
  if (division && ends(x->name, "s") == 0) width = 0;
  double rate = op->per_cycle[division && (ends(x->name, "ss") || ends(x->name, "sd")) ? 0 : width];
  if (division && rate > 0) x->busy = (uint8_t)(1 / rate < 200 ? 1 / rate + 0.5 : 200);
}

// True for a move that needs no execution unit. A move between registers only renames a register. Other such moves only
// access memory.
static bool moves_alone(const nw_code_ins *x) {
  bool memory = x->load || x->store,
       scalar = begins(x->name, "vmovs") || begins(x->name, "vmovd") || begins(x->name, "vmovl");
  if (x->op == NW_CODE_V_BROADCAST || x->op == NW_CODE_V_FROM) return memory && x->mask == NW_CODE_NONE;
  if (x->op == NW_CODE_V_MOVE) return x->mask == NW_CODE_NONE || (memory && (x->store || x->zeroing));
  if (begins(x->name, "vextract")) return x->store;
  return scalar && memory && x->nargs == 2;
}

static void compares(nw_code_ins *x) {
  bool mask = last(x) && is_mask(last(x));
  set(x, mask ? P5 : P0 | P1, mask ? 3 : begins(x->name, "vp") ? 1 : 4);
}

static void vector(nw_code_ins *x, const nw_machine *m) {
  if (moves_alone(x)) return set(x, 0, 0);
  if (begins(x->name, "vcmp") || begins(x->name, "vpcmp") || begins(x->name, "vptest")) return compares(x);
  bool wide = x->width == 64;
  if (x->op == NW_CODE_V_FROM) return set(x, is_vector(&x->arg[0]) ? P0 : P5, 3);
  if (x->op == NW_CODE_V_MOVE) return set(x, wide ? P0 | P5 : P0 | P1 | P5, 1);
  const need *n = needs;
  while (!begins(x->name, n->name)) n++;
  set(x, wide ? n->wide : n->ports, n->latency);
  by_class(x, n, m);
  if (n->more) x->more = 1, x->more_ports = n->more;
  if (begins(x->name, "vinsert") && x->load) set(x, P0 | P1 | P5, 1);
}

static void mask(nw_code_ins *x) {
  bool from = is_mask(&x->arg[0]), to = last(x) && is_mask(last(x));
  switch (x->op) {
  case NW_CODE_K_MOVE: return x->store ? set(x, 0, 0) : set(x, from ? P0 : P5, from && to ? 1 : x->load ? 1 : 3);
  case NW_CODE_K_TEST: return set(x, P0, 3);
  case NW_CODE_K_BITS: return set(x, x->lane == NW_LANE_ADD ? P5 : P0, x->lane == NW_LANE_ADD ? 4 : 1);
  default: return set(x, P5, 4);
  }
}

static void integer(nw_code_ins *x) {
  bool memory = x->load || x->store;
  switch (x->op) {
  case NW_CODE_NOTHING: return set(x, 0, 0);
  case NW_CODE_MOVE: {
    bool number = x->arg[0].kind == NW_OPERAND_NUMBER;
    return set(x, !memory && number ? ANY : 0, number);
  }
  case NW_CODE_MOVE_ZERO:
  case NW_CODE_MOVE_SIGN: return set(x, memory ? 0 : ANY, !memory);
  case NW_CODE_IMUL:
  case NW_CODE_MUL:
  case NW_CODE_MULX: return set(x, P1, x->op == NW_CODE_MULX ? 4 : 3);
  case NW_CODE_DIV:
  case NW_CODE_IDIV: x->parts = 4, x->busy = 6; return set(x, P1, 14);
  case NW_CODE_SHL:
  case NW_CODE_SHR:
  case NW_CODE_SAR:
  case NW_CODE_SHLX:
  case NW_CODE_SHRX:
  case NW_CODE_SARX:
  case NW_CODE_CMOV:
  case NW_CODE_SET:
  case NW_CODE_ADC:
  case NW_CODE_SBB:
  case NW_CODE_BT:
  case NW_CODE_BRANCH: return set(x, EVEN, 1);
  case NW_CODE_JUMP:
  case NW_CODE_CALL:
  case NW_CODE_RETURN: return set(x, P6, 1);
  case NW_CODE_PUSH:
  case NW_CODE_POP:
  case NW_CODE_PREFETCH: return set(x, 0, 0);
  default: return set(x, ANY, 1);
  }
}

// Sets the resources of a gather or scatter, which needs one access for each lane and a few more micro-operations.
static void each_lane(nw_code_ins *x) {
  bool gather = x->op == NW_CODE_GATHER;
  const nw_code_operand *o = gather ? &x->arg[0] : last(x), *v = gather ? last(x) : &x->arg[0];
  const char *n = x->name;
  bool wide_index = strstr(n, "erq") || strstr(n, "rqp") || strstr(n, "rqd") || strstr(n, "rqq");
  x->bytes = ends(n, "pd") || ends(n, "q") ? 8 : 4;
  x->elem = wide_index ? 8 : 4;
  int index = o->index >= NW_CODE_VECTOR && o->index < NW_CODE_MASK,
      most = wide_index ? x->width / 8 : v->size / x->bytes;
  x->lanes = (uint8_t)(!index ? 0 : most > NW_CODE_LANES ? NW_CODE_LANES : most);
  addresses(x, o->base), addresses(x, o->index);
  if (gather) writes(x, v->reg);
  if (!gather) reads(x, v->reg);
  if (x->mask != NW_CODE_NONE) reads(x, x->mask), writes(x, x->mask);
  x->load = gather, x->store = !gather;
  x->parts = (uint8_t)(x->lanes + 4), x->more = 2, x->more_ports = P0 | P5;
  set(x, P0, 3);
}

// ---- code

// Returns the approximate number of bytes of the instruction's encoding.
static int length(const nw_code_ins *x) {
  int n = x->name[0] == 'v'   ? (x->width == 64 || x->mask != NW_CODE_NONE || x->broadcast ? 6 : 4)
          : x->name[0] == 'k' ? 4
                              : 3;
  int unit = n == 6 && x->bytes ? x->bytes : 1; // a one-byte offset is a multiple of this number of bytes
  if (x->target >= 0) return x->op == NW_CODE_CALL ? 5 : 3;
  if (!strcmp(x->name, "movabsq")) return 10;
  for (int i = 0; i < x->nargs; i++) {
    const nw_code_operand *o = &x->arg[i];
    int64_t v = o->kind == NW_OPERAND_MEMORY && o->value % unit == 0 ? o->value / unit : o->value;
    bool is_short = v >= -128 && v < 128;
    if (o->kind == NW_OPERAND_NUMBER) n += is_short ? 1 : 4;
    if (o->kind == NW_OPERAND_MEMORY)
      n += (o->index != NW_CODE_NONE || o->base == NW_CODE_STACK_POINTER) + (v ? is_short ? 1 : 4 : 0);
  }
  return n;
}

static void one(nw_code_ins *x, const nw_machine *m) {
  x->parts = 1;
  if ((x->op == NW_CODE_GATHER || x->op == NW_CODE_SCATTER) && x->nargs == 2) return each_lane(x);
  registers(x);
  if (writes_flags(x)) writes(x, NW_CODE_FLAGS);
  if (clears(x)) return set(x, 0, 0);
  if (!strcmp(x->name, "vzeroupper")) return x->parts = 4, set(x, 0, 0);
  if (x->name[0] == 'v') return vector(x, m);
  x->name[0] == 'k' ? mask(x) : integer(x);
}

static bool fuses(const nw_code_ins *x) {
  bool may = x->op == NW_CODE_COMPARE || x->op == NW_CODE_TEST || x->op == NW_CODE_ADD || x->op == NW_CODE_SUB ||
             x->op == NW_CODE_AND || x->op == NW_CODE_INC || x->op == NW_CODE_DEC;
  return may && !x->store;
}

void nw_code_needs(nw_compiled *k, const nw_machine *m) {
  uint32_t at = 0;
  for (int i = 0; i < k->n; i++) {
    nw_code_ins *x = &k->ins[i];
    one(x, m);
    uint32_t unit = UINT32_C(1) << x->aligned;
    x->at = (at + unit - 1) / unit * unit;
    at = x->at + (uint32_t)length(x);
    x->fused = i > 0 && x->op == NW_CODE_BRANCH && fuses(x - 1);
  }
}
