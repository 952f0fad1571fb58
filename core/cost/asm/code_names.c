// Finds the operation of an instruction by its name.
#include "cost/asm/code.h"
#include <stdio.h>
#include <string.h>

// The name of an instruction, or the first letters of a name, and the operation. `elem` is the number of bytes of a
// lane.
typedef struct row {
  const char *name;
  uint8_t op, lane, elem;
  bool is_signed;
} row;

static const row integers[] = {
    {"movabs", NW_CODE_MOVE, 0, 0, false}, {"mov", NW_CODE_MOVE, 0, 0, false},   {"lea", NW_CODE_LEA, 0, 0, false},
    {"adc", NW_CODE_ADC, 0, 0, false},     {"add", NW_CODE_ADD, 0, 0, false},    {"sub", NW_CODE_SUB, 0, 0, false},
    {"sbb", NW_CODE_SBB, 0, 0, false},     {"andn", NW_CODE_ANDN, 0, 0, false},  {"and", NW_CODE_AND, 0, 0, false},
    {"or", NW_CODE_OR, 0, 0, false},       {"xor", NW_CODE_XOR, 0, 0, false},    {"cmp", NW_CODE_COMPARE, 0, 0, false},
    {"test", NW_CODE_TEST, 0, 0, false},   {"inc", NW_CODE_INC, 0, 0, false},    {"dec", NW_CODE_DEC, 0, 0, false},
    {"neg", NW_CODE_NEG, 0, 0, false},     {"not", NW_CODE_NOT, 0, 0, false},    {"imul", NW_CODE_IMUL, 0, 0, false},
    {"mulx", NW_CODE_MULX, 0, 0, false},   {"mul", NW_CODE_MUL, 0, 0, false},    {"idiv", NW_CODE_IDIV, 0, 0, false},
    {"div", NW_CODE_DIV, 0, 0, false},     {"shlx", NW_CODE_SHLX, 0, 0, false},  {"shrx", NW_CODE_SHRX, 0, 0, false},
    {"sarx", NW_CODE_SARX, 0, 0, false},   {"shl", NW_CODE_SHL, 0, 0, false},    {"sal", NW_CODE_SHL, 0, 0, false},
    {"shr", NW_CODE_SHR, 0, 0, false},     {"sar", NW_CODE_SAR, 0, 0, false},    {"bt", NW_CODE_BT, 0, 0, false},
    {"push", NW_CODE_PUSH, 0, 0, false},   {"pop", NW_CODE_POP, 0, 0, false},    {"call", NW_CODE_CALL, 0, 0, false},
    {"ret", NW_CODE_RETURN, 0, 0, false},  {"cltq", NW_CODE_WIDEN, 0, 0, false}, {"cqto", NW_CODE_SIGN, 0, 8, false},
    {"cltd", NW_CODE_SIGN, 0, 4, false},   {"jmp", NW_CODE_JUMP, 0, 0, false},   {NULL, 0, 0, 0, false},
};

// The first row whose name is a prefix of the instruction's name is used. So a row with a longer prefix must come
// first.
static const row vectors[] = {
    {"vmovdqa", NW_CODE_V_MOVE, 0, 8, false},
    {"vmovdqu", NW_CODE_V_MOVE, 0, 8, false},
    {"vmovaps", NW_CODE_V_MOVE, 0, 4, false},
    {"vmovups", NW_CODE_V_MOVE, 0, 4, false},
    {"vmovapd", NW_CODE_V_MOVE, 0, 8, false},
    {"vmovupd", NW_CODE_V_MOVE, 0, 8, false},
    {"vmovnt", NW_CODE_V_MOVE, 0, 4, false},
    {"vpbroadcastq", NW_CODE_V_BROADCAST, 0, 8, false},
    {"vpbroadcastd", NW_CODE_V_BROADCAST, 0, 4, false},
    {"vbroadcastsd", NW_CODE_V_BROADCAST, 0, 8, false},
    {"vbroadcastss", NW_CODE_V_BROADCAST, 0, 4, false},
    {"vpaddq", NW_CODE_V_LANES, NW_LANE_ADD, 8, false},
    {"vpaddd", NW_CODE_V_LANES, NW_LANE_ADD, 4, false},
    {"vpsubq", NW_CODE_V_LANES, NW_LANE_SUB, 8, false},
    {"vpsubd", NW_CODE_V_LANES, NW_LANE_SUB, 4, false},
    {"vpmullq", NW_CODE_V_LANES, NW_LANE_MUL, 8, false},
    {"vpmulld", NW_CODE_V_LANES, NW_LANE_MUL, 4, false},
    {"vpmuludq", NW_CODE_V_LANES, NW_LANE_MUL_LOW, 8, false},
    {"vpandn", NW_CODE_V_LANES, NW_LANE_ANDN, 8, false},
    {"vandnp", NW_CODE_V_LANES, NW_LANE_ANDN, 8, false},
    {"vpand", NW_CODE_V_LANES, NW_LANE_AND, 8, false},
    {"vandp", NW_CODE_V_LANES, NW_LANE_AND, 8, false},
    {"vpxor", NW_CODE_V_LANES, NW_LANE_XOR, 8, false},
    {"vxorp", NW_CODE_V_LANES, NW_LANE_XOR, 8, false},
    {"vpor", NW_CODE_V_LANES, NW_LANE_OR, 8, false},
    {"vorp", NW_CODE_V_LANES, NW_LANE_OR, 8, false},
    {"vpminsq", NW_CODE_V_LANES, NW_LANE_MIN, 8, true},
    {"vpminsd", NW_CODE_V_LANES, NW_LANE_MIN, 4, true},
    {"vpmaxsq", NW_CODE_V_LANES, NW_LANE_MAX, 8, true},
    {"vpmaxsd", NW_CODE_V_LANES, NW_LANE_MAX, 4, true},
    {"vpminuq", NW_CODE_V_LANES, NW_LANE_MIN, 8, false},
    {"vpminud", NW_CODE_V_LANES, NW_LANE_MIN, 4, false},
    {"vpmaxuq", NW_CODE_V_LANES, NW_LANE_MAX, 8, false},
    {"vpmaxud", NW_CODE_V_LANES, NW_LANE_MAX, 4, false},
    {"vpsllq", NW_CODE_V_SHIFT, NW_LANE_LEFT, 8, false},
    {"vpslld", NW_CODE_V_SHIFT, NW_LANE_LEFT, 4, false},
    {"vpsrlq", NW_CODE_V_SHIFT, NW_LANE_RIGHT, 8, false},
    {"vpsrld", NW_CODE_V_SHIFT, NW_LANE_RIGHT, 4, false},
    {"vpsraq", NW_CODE_V_SHIFT, NW_LANE_RIGHT_SIGN, 8, false},
    {"vpsrad", NW_CODE_V_SHIFT, NW_LANE_RIGHT_SIGN, 4, false},
    {"vpmovd2m", NW_CODE_V_SIGNS, 0, 4, false},
    {"vpmovq2m", NW_CODE_V_SIGNS, 0, 8, false},
    {"vpmovsxdq", NW_CODE_V_WIDEN, 0, 8, true},
    {"vpmovzxdq", NW_CODE_V_WIDEN, 0, 8, false},
    {"vpternlog", NW_CODE_V_TERNARY, 0, 8, false},
    {"vpextrq", NW_CODE_V_PICK, 0, 8, false},
    {"vextracti", NW_CODE_V_EXTRACT, 0, 8, false},
    {"vextractf", NW_CODE_V_EXTRACT, 0, 8, false},
    {"vinserti", NW_CODE_V_INSERT, 0, 8, false},
    {"vinsertf", NW_CODE_V_INSERT, 0, 8, false},
    {"vpgather", NW_CODE_GATHER, 0, 0, false},
    {"vgather", NW_CODE_GATHER, 0, 0, false},
    {"vpscatter", NW_CODE_SCATTER, 0, 0, false},
    {"vscatter", NW_CODE_SCATTER, 0, 0, false},
    {"vzeroupper", NW_CODE_NOTHING, 0, 0, false},
    {NULL, 0, 0, 0, false},
};

static const row masks[] = {
    {"kmov", NW_CODE_K_MOVE, 0, 0, false},
    {"kandn", NW_CODE_K_BITS, NW_LANE_ANDN, 0, false},
    {"kand", NW_CODE_K_BITS, NW_LANE_AND, 0, false},
    {"kortest", NW_CODE_K_TEST, NW_LANE_OR, 0, false},
    {"ktest", NW_CODE_K_TEST, NW_LANE_AND, 0, false},
    {"kor", NW_CODE_K_BITS, NW_LANE_OR, 0, false},
    {"kxnor", NW_CODE_K_BITS, NW_LANE_XNOR, 0, false},
    {"kxor", NW_CODE_K_BITS, NW_LANE_XOR, 0, false},
    {"knot", NW_CODE_K_BITS, NW_LANE_NOT, 0, false},
    {"kadd", NW_CODE_K_BITS, NW_LANE_ADD, 0, false},
    {"kunpck", NW_CODE_K_UNPACK, 0, 0, false},
    {"kshiftl", NW_CODE_K_SHIFT, NW_LANE_LEFT, 0, false},
    {"kshiftr", NW_CODE_K_SHIFT, NW_LANE_RIGHT, 0, false},
    {NULL, 0, 0, 0, false},
};

static bool begins(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

static int letter_bytes(char c) { return c == 'b' ? 1 : c == 'w' ? 2 : c == 'l' || c == 'd' ? 4 : c == 'q' ? 8 : 0; }

static int condition_of(const char *s) {
  static const char *const names[16] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                        "s", "ns", "p", "np", "l", "ge", "le", "g"};
  for (int i = 0; i < 16; i++)
    if (!strcmp(s, names[i])) return i;
  return -1;
}

static void take(nw_code_ins *x, const row *r) {
  x->op = r->op, x->lane = r->lane, x->elem = r->elem, x->is_signed = r->is_signed;
}

// Reads names such as vpcmpltuq. Floating-point comparisons are not simulated.
static void compare(nw_code_ins *x) {
  static const char *const how[] = {"eq", "lt", "le", "gt", "neq", "nlt", "nle"};
  size_t n = strlen(x->name);
  char type = x->name[n - 1];
  x->op = NW_CODE_OTHER;
  for (int i = 0; i < 7; i++)
    if (begins(x->name, "vpcmp") && begins(x->name + 5, how[i]) && (type == 'q' || type == 'd')) {
      x->op = NW_CODE_V_COMPARE;
      x->condition = (uint8_t)(i == 3 ? 6 : i); // gt has the same meaning as nle
    }
  x->elem = type == 'q' ? 8 : 4;
  x->is_signed = x->name[n - 2] != 'u';
}

static void vector(nw_code_ins *x) {
  if (begins(x->name, "vpcmp") || begins(x->name, "vcmp")) return compare(x);
  x->op = NW_CODE_OTHER;
  if (!strcmp(x->name, "vmovq") || !strcmp(x->name, "vmovd")) {
    x->op = NW_CODE_V_FROM;
    x->elem = (uint8_t)letter_bytes(x->name[4]);
    return;
  }
  for (const row *r = vectors; r->name; r++)
    if (begins(x->name, r->name)) return take(x, r);
}

static void mask(nw_code_ins *x) {
  x->op = NW_CODE_OTHER;
  for (const row *r = masks; r->name; r++)
    if (begins(x->name, r->name)) {
      take(x, r);
      break;
    }
  char last = x->name[strlen(x->name) - (x->op == NW_CODE_K_UNPACK ? 2 : 1)]; // kunpckbw joins two halves of size b
  x->size = (uint8_t)letter_bytes(last);
}

// Reads names that contain a condition, such as cmovlq, setb and jae. If `sized` is true, the last letter is a size, as
// the q in cmovlq.
static bool conditional(nw_code_ins *x, const char *stem, int op, bool sized) {
  size_t stem_n = strlen(stem), n = strlen(x->name);
  char c[16];
  if (!begins(x->name, stem) || n <= stem_n + sized) return false;
  snprintf(c, sizeof c, "%.*s", (int)(n - stem_n) - sized, x->name + stem_n);
  int condition = condition_of(c);
  if (condition < 0) return false;
  x->op = (uint8_t)op, x->condition = (uint8_t)condition;
  x->size = sized ? (uint8_t)letter_bytes(x->name[n - 1]) : 1;
  return true;
}

// Reads the names of moves from one size to another, such as movzbl and movslq.
static bool extension(nw_code_ins *x) {
  if (strlen(x->name) != 6 || !(begins(x->name, "movz") || begins(x->name, "movs"))) return false;
  x->op = x->name[3] == 'z' ? NW_CODE_MOVE_ZERO : NW_CODE_MOVE_SIGN;
  x->elem = (uint8_t)letter_bytes(x->name[4]);
  x->size = (uint8_t)letter_bytes(x->name[5]);
  return x->elem && x->size;
}

static bool integer(nw_code_ins *x) {
  for (const row *r = integers; r->name; r++) {
    size_t n = strlen(r->name);
    const char *rest = x->name + n;
    if (!begins(x->name, r->name) || (*rest && (rest[1] || !letter_bytes(*rest)))) continue;
    take(x, r);
    x->size = (uint8_t)(*rest ? letter_bytes(*rest) : 8);
    return true;
  }
  return false;
}

bool nw_code_name(nw_code_ins *x) {
  if (x->name[0] == 'v') return vector(x), true;
  if (x->name[0] == 'k' && strlen(x->name) > 3) return mask(x), true;
  if (begins(x->name, "prefetch")) return x->op = NW_CODE_PREFETCH, true;
  if (begins(x->name, "nop") || begins(x->name, "sfence") || begins(x->name, "ud2")) return true;
  return integer(x) || extension(x) || conditional(x, "cmov", NW_CODE_CMOV, true) ||
         conditional(x, "set", NW_CODE_SET, false) || conditional(x, "j", NW_CODE_BRANCH, false);
}
