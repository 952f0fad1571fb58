// Parses assembly that the compiler printed.
#include "cost/asm/code.h"
#include "codegen/codegen.h" // NW_PARALLEL_SYMBOL
#include <stdio.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct nw_code_symbol {
  const char *name;
  int n; // number of letters
  int64_t value;
} nw_code_symbol;

typedef struct span { // a range of text
  const char *from, *to;
} span;

static span trimmed(span s) {
  while (s.from < s.to && isspace((unsigned char)*s.from)) s.from++;
  while (s.to > s.from && isspace((unsigned char)s.to[-1])) s.to--;
  return s;
}

static bool begins(span s, const char *with) {
  size_t n = strlen(with);
  return (size_t)(s.to - s.from) >= n && !memcmp(s.from, with, n);
}

static bool is(span s, const char *text) { return begins(s, text) && (size_t)(s.to - s.from) == strlen(text); }

// ---- symbols and constants

static nw_code_symbol *symbol(const nw_compiled *k, span s) {
  for (int i = 0; i < k->symbol.n; i++) {
    nw_code_symbol *x = k->symbol.at[i];
    if (x->n == s.to - s.from && !memcmp(x->name, s.from, (size_t)x->n)) return x;
  }
  return NULL;
}

static void add_symbol(nw_compiled *k, span s, int64_t value) {
  nw_code_symbol *x = NW_NEW(k->arena, nw_code_symbol);
  *x = (nw_code_symbol){s.from, (int)(s.to - s.from), value};
  nw_vec_push(&k->symbol, x);
}

static int64_t value_of(const nw_compiled *k, span s) {
  if (is(s, NW_PARALLEL_SYMBOL)) return NW_CODE_PARALLEL;
  nw_code_symbol *x = symbol(k, s);
  return x ? x->value : 0;
}

// Evaluates a sum of numbers and symbols. The global offset table is assumed to be at address 0.
static int64_t expression(const nw_compiled *k, span s) {
  int64_t all = 0;
  int sign = 1;
  while (s.from < s.to) {
    char c = *s.from;
    if (c == '+' || c == '-') {
      sign = c == '-' ? -1 : 1;
      s.from++;
      continue;
    }
    span word = {s.from, s.from};
    while (word.to < s.to && *word.to != '+' && *word.to != '-') word.to++;
    s.from = word.to;
    const char *at = memchr(word.from, '@', (size_t)(word.to - word.from));
    if (at) word.to = at;
    uint64_t v = isdigit((unsigned char)c) ? strtoull(word.from, NULL, 0) : (uint64_t)value_of(k, word);
    all += sign * (int64_t)v;
  }
  return all;
}

static void add_constant(nw_compiled *k, uint64_t v, int bytes) {
  k->constant = nw_xrealloc(k->constant, (size_t)(k->nconstants + bytes));
  memset(k->constant + k->nconstants, 0, (size_t)bytes);
  memcpy(k->constant + k->nconstants, &v, (size_t)(bytes < 8 ? bytes : 8));
  k->nconstants += bytes;
}

enum { MOST_ZEROS = 1 << 20 };

static void directive(nw_compiled *k, span s) {
  static const struct {
    const char *name;
    int bytes;
  } kinds[] = {{".quad", 8}, {".long", 4}, {".short", 2}, {".byte", 1}, {".zero", 0}};
  for (int i = 0; i < 5; i++) {
    if (!begins(s, kinds[i].name)) continue;
    int64_t v = strtoll(s.from + strlen(kinds[i].name), NULL, 0);
    bool zeros = kinds[i].bytes == 0;
    if (!zeros || (v > 0 && v <= MOST_ZEROS)) add_constant(k, zeros ? 0 : (uint64_t)v, zeros ? (int)v : kinds[i].bytes);
  }
}

// ---- operands

static uint8_t numbered(span s, int first, int most) {
  int n = s.from < s.to ? atoi(s.from) : most;
  return (uint8_t)(n >= 0 && n < most ? first + n : NW_CODE_NONE);
}

static bool is_integer(span s, nw_code_operand *o) {
  static const char *const names[16] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
  for (int i = 0; i < 8; i++) {
    char wide[3][8] = {"", "", ""};
    snprintf(wide[0], 8, "r%s", names[i]), snprintf(wide[1], 8, "e%s", names[i]);
    snprintf(wide[2], 8, i < 4 ? "%.1sl" : "%sl", names[i]);
    o->reg = (uint8_t)i;
    if (is(s, wide[0])) return o->size = 8, true;
    if (is(s, wide[1])) return o->size = 4, true;
    if (is(s, names[i])) return o->size = 2, true;
    if (is(s, wide[2])) return o->size = 1, true;
    o->high = i < 4 && s.to - s.from == 2 && s.from[0] == names[i][0] && s.from[1] == 'h';
    if (o->high) return o->size = 1, true;
  }
  if (*s.from != 'r' || s.to - s.from < 2 || !isdigit((unsigned char)s.from[1])) return false;
  char last = s.to[-1];
  o->reg = numbered((span){s.from + 1, s.to}, 0, 16);
  o->size = last == 'd' ? 4 : last == 'w' ? 2 : last == 'b' ? 1 : 8;
  return o->reg != NW_CODE_NONE;
}

static bool read_register(span s, nw_code_operand *o) {
  if (begins(s, "xmm") || begins(s, "ymm") || begins(s, "zmm")) {
    o->reg = numbered((span){s.from + 3, s.to}, NW_CODE_VECTOR, 32);
    o->size = s.from[0] == 'x' ? 16 : s.from[0] == 'y' ? 32 : 64;
    return o->reg != NW_CODE_NONE;
  }
  if (s.to - s.from == 2 && *s.from == 'k') {
    o->reg = numbered((span){s.from + 1, s.to}, NW_CODE_MASK, 8);
    o->size = 8;
    return o->reg != NW_CODE_NONE;
  }
  return s.from < s.to && is_integer(s, o);
}

static uint8_t register_named(span s) {
  nw_code_operand o = {.reg = NW_CODE_NONE};
  if (s.from < s.to && *s.from == '%') s.from++;
  return read_register(s, &o) ? o.reg : NW_CODE_NONE;
}

// Reads the base, index and scale of an address.
static void read_address(nw_code_operand *o, span s) {
  for (int part = 0; s.from < s.to && part < 3; part++) {
    span word = {s.from, s.from};
    while (word.to < s.to && *word.to != ',') word.to++;
    s.from = word.to < s.to ? word.to + 1 : s.to;
    word = trimmed(word);
    if (part == 0) o->base = register_named(word);
    if (part == 1) o->index = register_named(word);
    if (part == 2) o->scale = (uint8_t)atoi(word.from);
  }
  if (o->base != NW_CODE_NONE && o->base >= NW_CODE_VECTOR) o->base = NW_CODE_NONE;
}

static uint8_t mask_named(span s) {
  uint8_t reg = register_named(s);
  return reg >= NW_CODE_MASK && reg < NW_CODE_FLAGS ? reg : NW_CODE_NONE;
}

// Reads the suffixes of an operand in braces: {%k1}, {z} and {1to16}. Returns the operand without them.
static span decorations(nw_code_ins *x, span s) {
  const char *first = memchr(s.from, '{', (size_t)(s.to - s.from));
  for (const char *at = first; at && at + 1 < s.to; at++) {
    if (*at != '{') continue;
    if (at[1] == '%' && at + 4 <= s.to) x->mask = mask_named((span){at + 1, at + 4});
    if (at[1] == 'z') x->zeroing = true;
    if (at[1] == '1') x->broadcast = true;
  }
  if (first) s.to = first;
  return trimmed(s);
}

static void read_operand(const nw_compiled *k, nw_code_ins *x, span s) {
  s = decorations(x, trimmed(s));
  if (s.from == s.to || x->nargs == 4) return;
  nw_code_operand *o = &x->arg[x->nargs++];
  o->base = o->index = NW_CODE_NONE;
  o->scale = 1;
  if (*s.from == '*') s.from++;
  if (*s.from == '%') {
    o->kind = read_register((span){s.from + 1, s.to}, o) ? NW_OPERAND_REGISTER : NW_OPERAND_NONE;
    return;
  }
  bool number = *s.from == '$';
  o->kind = number ? NW_OPERAND_NUMBER : NW_OPERAND_MEMORY;
  const char *open = number ? NULL : memchr(s.from, '(', (size_t)(s.to - s.from));
  o->value = expression(k, (span){s.from + number, open ? open : s.to});
  if (open) read_address(o, (span){open + 1, s.to - 1});
}

static bool jumps(const nw_code_ins *x) {
  return x->op == NW_CODE_JUMP || x->op == NW_CODE_BRANCH || x->op == NW_CODE_CALL;
}

// Reads the operands, which are separated by commas outside of parentheses.
static void read_operands(const nw_compiled *k, nw_code_ins *x, span s) {
  s = trimmed(s);
  if (jumps(x) && s.from < s.to && *s.from != '*') {
    nw_code_symbol *to = symbol(k, s);
    x->target = to && to->value >= NW_CODE_TEXT && to->value < NW_CODE_CONSTANTS ? (int)(to->value - NW_CODE_TEXT) : -1;
    return;
  }
  while (s.from < s.to) {
    span word = {s.from, s.from};
    for (int depth = 0; word.to < s.to && (*word.to != ',' || depth); word.to++)
      depth += (*word.to == '(') - (*word.to == ')');
    read_operand(k, x, word);
    s.from = word.to < s.to ? word.to + 1 : s.to;
  }
}

static bool read_instruction(const nw_compiled *k, nw_code_ins *x, span s) {
  const char *comment = memchr(s.from, '#', (size_t)(s.to - s.from));
  if (comment) s.to = comment;
  s = trimmed(s);
  span name = {s.from, s.from};
  while (name.to < s.to && !isspace((unsigned char)*name.to)) name.to++;
  snprintf(x->name, sizeof x->name, "%.*s", (int)(name.to - name.from), name.from);
  x->mask = NW_CODE_NONE;
  x->target = -1;
  if (!nw_code_name(x)) return false;
  read_operands(k, x, (span){name.to, s.to});
  for (int i = 0; i < x->nargs; i++) {
    const nw_code_operand *o = &x->arg[i];
    bool is_vector = o->kind == NW_OPERAND_REGISTER && o->reg >= NW_CODE_VECTOR && o->reg < NW_CODE_MASK;
    if (is_vector && o->size > x->width) x->width = o->size;
  }
  return true;
}

// ---- lines

typedef enum line_kind { OTHER_LINE, LABEL, INSTRUCTION, DIRECTIVE } line_kind;

static line_kind kind_of(span s) {
  if (s.to - s.from < 2 || *s.from == '#') return OTHER_LINE;
  if (*s.from == '\t')
    return s.from[1] == '.' ? DIRECTIVE : isalpha((unsigned char)s.from[1]) ? INSTRUCTION : OTHER_LINE;
  const char *colon = memchr(s.from, ':', (size_t)(s.to - s.from)),
             *space = memchr(s.from, ' ', (size_t)(s.to - s.from));
  return colon && (!space || colon < space) ? LABEL : OTHER_LINE;
}

// Reads the lines. The first pass, with `places` set, finds the positions of symbols. The second pass reads the
// instructions.
static bool read_lines(nw_compiled *k, const char *text, bool places) {
  bool in_text = true;
  int n = 0;
  for (const char *at = text; *at;) {
    span s = {at, at + strcspn(at, "\n")};
    at = *s.to ? s.to + 1 : s.to;
    switch (kind_of(s)) {
    case LABEL:
      if (places)
        add_symbol(k, (span){s.from, memchr(s.from, ':', (size_t)(s.to - s.from))},
                   in_text ? NW_CODE_TEXT + n : NW_CODE_CONSTANTS + k->nconstants);
      break;
    case DIRECTIVE:
      s = trimmed(s);
      if (begins(s, ".section") || begins(s, ".text"))
        in_text = !memmem(s.from, (size_t)(s.to - s.from), ".rodata", 7);
      else if (!in_text && places)
        directive(k, s);
      else if (!places && begins(s, ".p2align") && n < k->n)
        k->ins[n].aligned = (uint8_t)(atoi(s.from + strlen(".p2align")) & 7);
      break;
    case INSTRUCTION:
      if (!places && !read_instruction(k, &k->ins[n], s)) return false;
      n++;
      break;
    case OTHER_LINE: break;
    }
  }
  k->n = n;
  return true;
}

nw_compiled *nw_code_read(const char *assembly) {
  nw_compiled *k = nw_xcalloc(1, sizeof *k);
  k->arena = nw_arena_scratch();
  bool good = read_lines(k, assembly, true);
  k->ins = nw_xcalloc((size_t)k->n + 1, sizeof *k->ins);
  nw_code_symbol *entry = symbol(k, (span){"kernel_entry", "kernel_entry" + 12});
  good = good && entry && entry->value >= NW_CODE_TEXT && entry->value < NW_CODE_TEXT + k->n;
  if (good) k->entry = (int)(entry->value - NW_CODE_TEXT);
  if (good && read_lines(k, assembly, false)) return k;
  nw_code_free(k);
  return NULL;
}

void nw_code_free(nw_compiled *k) {
  if (!k) return;
  nw_vec_free(&k->symbol);
  nw_arena_free(k->arena);
  free(k->constant);
  free(k->ins);
  free(k);
}
