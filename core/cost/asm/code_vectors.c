// Executes instructions on integer vectors and masks. The addresses and masks of memory accesses depend on their
// results.
#include "cost/asm/code.h"
#include <string.h>

typedef nw_code_value value;

static bool is_vector(const nw_code_operand *o) {
  return o->kind == NW_OPERAND_REGISTER && o->reg >= NW_CODE_VECTOR && o->reg < NW_CODE_MASK;
}

static bool is_mask(const nw_code_operand *o) {
  return o->kind == NW_OPERAND_REGISTER && o->reg >= NW_CODE_MASK && o->reg < NW_CODE_FLAGS;
}

static const nw_code_operand *last(const nw_code_ins *x) { return &x->arg[x->nargs ? x->nargs - 1 : 0]; }

// ---- lanes

static uint64_t lane(const value *v, int i, int bytes) { return bytes == 4 ? v->d[i] : v->q[i]; }

static void set_lane(value *v, int i, int bytes, uint64_t to) {
  if (bytes == 4)
    v->d[i] = (uint32_t)to;
  else
    v->q[i] = to;
}

static int64_t as_signed(uint64_t v, int bytes) { return bytes == 4 ? (int32_t)v : (int64_t)v; }

static bool is_less(const nw_code_ins *x, uint64_t a, uint64_t b) {
  return x->is_signed ? as_signed(a, x->elem) < as_signed(b, x->elem) : a < b;
}

static uint64_t shifted(int how, uint64_t v, uint64_t by, int bytes) {
  uint64_t bits = 8 * (uint64_t)bytes;
  if (how == NW_LANE_RIGHT_SIGN) return (uint64_t)(as_signed(v, bytes) >> (by < bits ? by : bits - 1));
  return by >= bits ? 0 : how == NW_LANE_LEFT ? v << by : v >> by;
}

// Combines two lanes. As in the assembly, b is the first operand and a is the second operand. So a subtraction gives
// a - b.
static uint64_t combined(const nw_code_ins *x, uint64_t b, uint64_t a) {
  switch (x->lane) {
  case NW_LANE_ADD: return a + b;
  case NW_LANE_SUB: return a - b;
  case NW_LANE_MUL: return a * b;
  case NW_LANE_MUL_LOW: return (a & UINT32_MAX) * (b & UINT32_MAX);
  case NW_LANE_AND: return a & b;
  case NW_LANE_ANDN: return ~a & b;
  case NW_LANE_OR: return a | b;
  case NW_LANE_XOR: return a ^ b;
  case NW_LANE_XNOR: return ~(a ^ b);
  case NW_LANE_NOT: return ~b;
  case NW_LANE_MIN: return is_less(x, a, b) ? a : b;
  case NW_LANE_MAX: return is_less(x, a, b) ? b : a;
  default: return shifted(x->lane, a, b, x->elem);
  }
}

// ---- operands

static value in_memory(nw_code_state *s, const nw_code_operand *o, int bytes) {
  uint64_t at = nw_code_address(s, o);
  value v = {.known = bytes > 0 && nw_code_is_known(s, at, bytes)};
  nw_code_touch(s, at);
  if (v.known) memcpy(v.b, nw_code_memory(s, at, bytes), (size_t)bytes);
  return v;
}

static void repeat(value *v, int bytes) {
  for (int i = 1; i * bytes < 64; i++) memcpy(v->b + i * bytes, v->b, (size_t)bytes);
}

static value get(nw_code_state *s, const nw_code_ins *x, const nw_code_operand *o, int bytes) {
  if (is_vector(o)) return s->vector[o->reg - NW_CODE_VECTOR];
  if (o->kind != NW_OPERAND_MEMORY) return (value){0};
  value v = in_memory(s, o, x->broadcast ? x->elem : bytes);
  if (x->broadcast) repeat(&v, x->elem);
  return v;
}

static bool mask_of(const nw_code_state *s, const nw_code_ins *x, uint64_t *bits) {
  if (x->mask == NW_CODE_NONE) return *bits = UINT64_MAX, true;
  *bits = s->mask[x->mask - NW_CODE_MASK].bits;
  return s->mask[x->mask - NW_CODE_MASK].known;
}

// Writes a vector register. Inactive lanes keep their value or become zero. Bytes from number `bytes` on become zero.
static void put(nw_code_state *s, const nw_code_ins *x, const nw_code_operand *o, value v, int bytes) {
  if (!is_vector(o)) return;
  value *to = &s->vector[o->reg - NW_CODE_VECTOR];
  uint64_t bits;
  bool sure = mask_of(s, x, &bits) && (x->mask == NW_CODE_NONE || x->zeroing || to->known);
  v.known = v.known && sure;
  for (int i = 0; v.known && x->mask != NW_CODE_NONE && x->elem && i * x->elem < 64; i++)
    if (!(bits >> i & 1)) set_lane(&v, i, x->elem, x->zeroing ? 0 : lane(to, i, x->elem));
  if (bytes < 64) memset(v.b + bytes, 0, (size_t)(64 - bytes));
  *to = v;
}

static void put_mask(nw_code_state *s, const nw_code_operand *o, uint64_t bits, bool known) {
  if (!is_mask(o)) return;
  s->mask[o->reg - NW_CODE_MASK].bits = bits;
  s->mask[o->reg - NW_CODE_MASK].known = known;
}

// Stores a vector. If v is NULL, or if its value is unknown, the stored memory becomes unknown.
static void put_memory(nw_code_state *s, const nw_code_operand *o, const value *v, int bytes) {
  uint64_t at = nw_code_address(s, o);
  bool known = v && v->known && nw_code_on_stack(at, bytes);
  nw_code_touch(s, at);
  if (known) memcpy(nw_code_memory(s, at, bytes), v->b, (size_t)bytes);
  nw_code_know(s, at, bytes, known);
}

// ---- vectors

static void move(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *to = last(x);
  value v = get(s, x, &x->arg[0], x->width);
  if (to->kind == NW_OPERAND_MEMORY)
    put_memory(s, to, x->mask == NW_CODE_NONE ? &v : NULL, x->bytes);
  else
    put(s, x, to, v, x->width);
}

static void broadcast(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *from = &x->arg[0];
  value v = {.known = true};
  if (from->kind == NW_OPERAND_REGISTER && from->reg < 16)
    v.q[0] = s->reg[from->reg];
  else
    v = get(s, x, from, x->elem);
  repeat(&v, x->elem);
  put(s, x, last(x), v, x->width);
}

static bool same_registers(const nw_code_ins *x) {
  return x->nargs == 3 && is_vector(&x->arg[0]) && is_vector(&x->arg[1]) && x->arg[0].reg == x->arg[1].reg;
}

static void lanes(nw_code_state *s, const nw_code_ins *x) {
  value b = get(s, x, &x->arg[0], x->width), a = get(s, x, &x->arg[x->nargs == 3 ? 1 : 0], x->width), v = {0};
  bool cleared = x->lane == NW_LANE_XOR && same_registers(x);
  v.known = cleared || (a.known && b.known);
  for (int i = 0; v.known && !cleared && i * x->elem < 64; i++)
    set_lane(&v, i, x->elem, combined(x, lane(&b, i, x->elem), lane(&a, i, x->elem)));
  put(s, x, last(x), v, x->width);
}

// Shifts all lanes by an immediate. The results of other shifts are unknown.
static void shift(nw_code_state *s, const nw_code_ins *x) {
  value a = get(s, x, &x->arg[1], x->width), v = {.known = a.known && x->arg[0].kind == NW_OPERAND_NUMBER};
  for (int i = 0; v.known && i * x->elem < 64; i++)
    set_lane(&v, i, x->elem, shifted(x->lane, lane(&a, i, x->elem), (uint64_t)x->arg[0].value, x->elem));
  put(s, x, last(x), v, x->width);
}

static bool holds(const nw_code_ins *x, uint64_t a, uint64_t b) {
  bool less = is_less(x, a, b), equal = a == b;
  switch (x->condition) {
  case 0: return equal;
  case 1: return less;
  case 2: return less || equal;
  case 4: return !equal;
  case 5: return !less;
  default: return !less && !equal;
  }
}

static void compare(nw_code_state *s, const nw_code_ins *x) {
  value b = get(s, x, &x->arg[0], x->width), a = get(s, x, &x->arg[1], x->width), ones = {.known = true};
  uint64_t under, bits = 0;
  bool known = mask_of(s, x, &under) && a.known && b.known;
  for (int i = 0; known && i * x->elem < x->width; i++)
    bits |= (uint64_t)holds(x, lane(&a, i, x->elem), lane(&b, i, x->elem)) << i;
  if (is_mask(last(x))) return put_mask(s, last(x), bits & under, known);
  memset(ones.b, 255, sizeof ones.b);
  ones.known = x->condition == 0 && same_registers(x);
  put(s, x, last(x), ones, x->width);
}

static void signs(nw_code_state *s, const nw_code_ins *x) {
  value v = get(s, x, &x->arg[0], x->width);
  uint64_t bits = 0;
  for (int i = 0; i * x->elem < x->width; i++) bits |= (uint64_t)(as_signed(lane(&v, i, x->elem), x->elem) < 0) << i;
  put_mask(s, last(x), bits, v.known);
}

// Moves one element into or out of a vector.
static void one_element(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *from = &x->arg[0], *to = last(x);
  value v = {.known = true};
  if (is_vector(from))
    v = s->vector[from->reg - NW_CODE_VECTOR];
  else if (from->kind == NW_OPERAND_MEMORY)
    v = in_memory(s, from, x->elem);
  else
    v.q[0] = nw_code_get(s, from, x->elem);
  if (is_vector(to)) return put(s, x, to, v, x->elem);
  if (to->kind == NW_OPERAND_MEMORY) return put_memory(s, to, &v, x->elem);
  nw_code_put(s, to, x->elem, v.known ? v.q[0] : 0);
}

static void extract(nw_code_state *s, const nw_code_ins *x) {
  if (x->nargs < 3) return;
  int bytes = is_vector(last(x)) ? last(x)->size : x->bytes;
  value v = get(s, x, &x->arg[1], x->width);
  int from = (int)(x->arg[0].value * bytes) & 63;
  if (from + bytes <= 64) memmove(v.b, v.b + from, (size_t)bytes);
  if (is_vector(last(x))) return put(s, x, last(x), v, bytes);
  put_memory(s, last(x), &v, bytes);
}

static void insert(nw_code_state *s, const nw_code_ins *x) {
  if (x->nargs < 4) return;
  int bytes = is_vector(&x->arg[1]) ? x->arg[1].size : x->bytes;
  value part = get(s, x, &x->arg[1], bytes), v = get(s, x, &x->arg[2], x->width);
  int to = (int)(x->arg[0].value * bytes) & 63;
  v.known = v.known && part.known;
  if (to + bytes <= 64) memcpy(v.b + to, part.b, (size_t)bytes);
  put(s, x, last(x), v, x->width);
}

static void widen(nw_code_state *s, const nw_code_ins *x) {
  value from = get(s, x, &x->arg[0], x->width / 2), v = {.known = from.known};
  for (int i = 0; i < 8; i++) v.q[i] = x->is_signed ? (uint64_t)as_signed(from.d[i], 4) : from.d[i];
  put(s, x, last(x), v, x->width);
}

// Only the ternary operation that sets all bits is computed. The results of other ternary operations are unknown.
static void ternary(nw_code_state *s, const nw_code_ins *x) {
  value v = {.known = x->arg[0].kind == NW_OPERAND_NUMBER && (x->arg[0].value & 255) == 255};
  memset(v.b, 255, sizeof v.b);
  get(s, x, &x->arg[1], x->width);
  put(s, x, last(x), v, x->width);
}

static void pick(nw_code_state *s, const nw_code_ins *x) {
  value v = get(s, x, &x->arg[1], 16);
  nw_code_put(s, last(x), 8, v.known ? v.q[x->arg[0].value & 1] : 0);
}

// ---- gathers and scatters

static void each_lane(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *o = x->op == NW_CODE_GATHER ? &x->arg[0] : last(x);
  const value *index =
      o->index >= NW_CODE_VECTOR && o->index < NW_CODE_MASK ? &s->vector[o->index - NW_CODE_VECTOR] : NULL;
  nw_code_operand base = *o;
  uint64_t bits;
  bool sure = mask_of(s, x, &bits);
  base.index = NW_CODE_NONE;
  s->naddress = 0;
  for (int i = 0; i < x->lanes; i++) {
    if (sure && !(bits >> i & 1)) continue;
    int64_t at = index && index->known ? as_signed(lane(index, i, x->elem), x->elem) : 0;
    s->address[s->naddress++] = nw_code_address(s, &base) + (uint64_t)at * o->scale;
  }
  if (x->op == NW_CODE_GATHER && is_vector(last(x))) s->vector[last(x)->reg - NW_CODE_VECTOR].known = false;
  if (x->mask != NW_CODE_NONE) s->mask[x->mask - NW_CODE_MASK].bits = 0, s->mask[x->mask - NW_CODE_MASK].known = true;
}

// ---- masks

static uint64_t all_bits(const nw_code_ins *x) {
  return x->size >= 8 || !x->size ? UINT64_MAX : (UINT64_C(1) << (8 * x->size)) - 1;
}

static uint64_t bits_of(const nw_code_state *s, const nw_code_operand *o) {
  return is_mask(o) ? s->mask[o->reg - NW_CODE_MASK].bits : 0;
}

static bool sure_of(const nw_code_state *s, const nw_code_operand *o) {
  return !is_mask(o) || s->mask[o->reg - NW_CODE_MASK].known;
}

static void move_mask(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *from = &x->arg[0], *to = last(x);
  uint64_t bits = is_mask(from) ? bits_of(s, from) : nw_code_get(s, from, x->size);
  bool sure =
      sure_of(s, from) && (from->kind != NW_OPERAND_MEMORY || nw_code_is_known(s, nw_code_address(s, from), x->size));
  if (is_mask(to)) return put_mask(s, to, bits & all_bits(x), sure);
  nw_code_put(s, to, to->kind == NW_OPERAND_MEMORY ? x->size : 8, bits & all_bits(x));
  if (to->kind == NW_OPERAND_MEMORY) nw_code_know(s, nw_code_address(s, to), x->size, sure);
}

static void mask_bits(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *b = &x->arg[0], *a = &x->arg[x->nargs > 1 && x->lane != NW_LANE_NOT ? 1 : 0];
  bool same = is_mask(a) && is_mask(b) && a->reg == b->reg && (x->lane == NW_LANE_XOR || x->lane == NW_LANE_XNOR);
  uint64_t v = combined(x, bits_of(s, b), bits_of(s, a));
  put_mask(s, last(x), v & all_bits(x), same || (sure_of(s, a) && sure_of(s, b)));
}

static void mask_rest(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *b = &x->arg[0], *a = &x->arg[1];
  uint64_t all = all_bits(x), v = combined(x, bits_of(s, b), bits_of(s, a)) & all;
  if (x->op == NW_CODE_K_UNPACK)
    put_mask(s, last(x), (bits_of(s, b) & all) | (bits_of(s, a) & all) << (8 * x->size),
             sure_of(s, a) && sure_of(s, b));
  if (x->op == NW_CODE_K_SHIFT)
    put_mask(s, last(x), shifted(x->lane, bits_of(s, a) & all, (uint64_t)b->value & 255, 8) & all, sure_of(s, a));
  if (x->op != NW_CODE_K_TEST) return;
  s->zero = v == 0;
  s->carry = x->lane == NW_LANE_OR && v == all;
  s->sign = s->overflow = false;
}

// ---- all

static void unknown(nw_code_state *s, const nw_code_ins *x) {
  const nw_code_operand *to = last(x);
  for (int i = 0; i < x->nargs; i++)
    if (x->arg[i].kind == NW_OPERAND_MEMORY) nw_code_touch(s, nw_code_address(s, &x->arg[i]));
  if (is_vector(to)) s->vector[to->reg - NW_CODE_VECTOR].known = false;
  if (is_mask(to)) s->mask[to->reg - NW_CODE_MASK].known = false;
  if (to->kind == NW_OPERAND_MEMORY && x->store) nw_code_know(s, s->address[0], x->bytes, false);
  if (to->kind == NW_OPERAND_REGISTER && to->reg < 16) s->reg[to->reg] = 0;
}

static void note_mask(nw_code_state *s, const nw_code_ins *x) {
  uint64_t bits, all = x->elem && x->bytes < 64 * x->elem ? (UINT64_C(1) << (x->bytes / x->elem)) - 1 : UINT64_MAX;
  bool sure = mask_of(s, x, &bits);
  s->partial = x->mask != NW_CODE_NONE && (!sure || (bits & all) != all);
}

void nw_code_vector(nw_code_state *s, const nw_code_ins *x) {
  if ((x->load || x->store) && x->mask != NW_CODE_NONE) note_mask(s, x);
  switch (x->op) {
  case NW_CODE_V_MOVE: return move(s, x);
  case NW_CODE_V_FROM: return one_element(s, x);
  case NW_CODE_V_BROADCAST: return broadcast(s, x);
  case NW_CODE_V_LANES: return lanes(s, x);
  case NW_CODE_V_SHIFT: return shift(s, x);
  case NW_CODE_V_COMPARE: return compare(s, x);
  case NW_CODE_V_SIGNS: return signs(s, x);
  case NW_CODE_V_EXTRACT: return extract(s, x);
  case NW_CODE_V_INSERT: return insert(s, x);
  case NW_CODE_V_WIDEN: return widen(s, x);
  case NW_CODE_V_TERNARY: return ternary(s, x);
  case NW_CODE_V_PICK: return pick(s, x);
  case NW_CODE_GATHER:
  case NW_CODE_SCATTER: return each_lane(s, x);
  case NW_CODE_K_MOVE: return move_mask(s, x);
  case NW_CODE_K_BITS: return mask_bits(s, x);
  case NW_CODE_K_UNPACK:
  case NW_CODE_K_SHIFT:
  case NW_CODE_K_TEST: return mask_rest(s, x);
  default: return unknown(s, x);
  }
}
