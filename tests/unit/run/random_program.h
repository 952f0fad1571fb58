// Makes random lowered programs with every operation, dtype, width and kind of memory access that generated code
// supports.
#pragma once
#include "run/run.h"
#include <stdlib.h>

#define SIZE 600 // elements of every buffer
#define OUTER 5 // iterations of the loop around a store
#define DEPTH_MOST 4

typedef struct maker {
  nw_pool *pool;
  nw_program *p;
  uint64_t seed;
  const nw_expr *v; // the loop variable, in 0..OUTER
  int temps;
} maker;

static uint64_t draw(maker *m, uint64_t n) {
  uint64_t z = m->seed += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (z ^ z >> 31) % n;
}

static const int widths[] = {1, 1, 1, 2, 3, 4, 5, 8, 16, 17, 32};
static const nw_expr *random_expr(maker *m, nw_dtype t, int lanes, int depth);

static const nw_expr *spread(maker *m, const nw_expr *e, int lanes) {
  return lanes > 1 && e->type.lanes == 1 ? nw_broadcast(m->pool, e, lanes) : e;
}

// Makes a select without promotion, because nw_select treats an f64 constant as a literal.
static const nw_expr *pick(maker *m, const nw_expr *cond, const nw_expr *a, const nw_expr *b) {
  return nw_make(m->pool, NW_OP_SELECT, a->type, 3, (const nw_expr *[]){cond, a, b});
}

static const nw_expr *random_constant(maker *m, nw_dtype t, int lanes) {
  static const double reals[] = {0, -0.0, 1, -1, 0.5, 3.75, -2.25, 1e-40, 1e30, 65504, 300, -1e300, 1e-8};
  static const int64_t ints[] = {0,   1,    -1,  2,     3,         7,         -5,        8,
                                 127, -128, 255, 65535, INT64_MAX, INT64_MIN, INT32_MIN, 1000003};
  const nw_expr *e = t == NW_BOOL           ? nw_int(m->pool, t, (int64_t)draw(m, 2))
                     : nw_dtype_is_float(t) ? nw_float(m->pool, t, reals[draw(m, NW_COUNT(reals))])
                                            : nw_int(m->pool, t, ints[draw(m, NW_COUNT(ints))]);
  return spread(m, e, lanes);
}

static void input_name(char *out, nw_dtype t) {
  out[0] = 'X';
  strcpy(out + 1, nw_dtype_name(t));
}

// Makes an index for an access. The access is contiguous, backwards or strided, reads one element for all lanes, or
// uses an index that is read from data and clamped.
static const nw_expr *random_index(maker *m, int lanes) {
  int64_t strides[] = {1, 1, 1, -1, 2, 3, 7}, s = strides[draw(m, 7)], span = lanes * (s < 0 ? -s : s);
  int64_t from = (int64_t)draw(m, (uint64_t)(SIZE - OUTER - span)) + (s < 0 ? span : 0);
  const nw_expr *base = nw_add(m->pool, nw_index(m->pool, from), m->v);
  if (draw(m, 6) == 0) {
    const nw_expr *i = random_expr(m, NW_I64, lanes, 1);
    return nw_make2(m->pool, NW_OP_FLOORMOD, i, spread(m, nw_index(m->pool, SIZE), lanes));
  }
  if (lanes == 1) return base;
  if (draw(m, 8) == 0) return nw_broadcast(m->pool, base, lanes);
  return nw_ramp(m->pool, base, nw_index(m->pool, s), lanes);
}

static const nw_expr *random_load(maker *m, nw_dtype t, int lanes) {
  char name[8];
  input_name(name, t);
  if (lanes > 1 && draw(m, 4) == 0) return spread(m, random_load(m, t, 1), lanes);
  const nw_expr *args[] = {random_index(m, lanes), NULL};
  int n = draw(m, 4) == 0 ? 2 : 1;
  if (n == 2) args[1] = random_expr(m, NW_BOOL, lanes, 1);
  return nw_load(m->pool, (nw_type){(uint8_t)t, (uint16_t)lanes}, nw_pool_name(m->pool, name), n, args);
}

static const nw_expr *random_leaf(maker *m, nw_dtype t, int lanes) {
  switch (draw(m, 6)) {
  case 0: return random_constant(m, t, lanes);
  case 1: {
    const nw_expr *i =
        lanes > 1 && draw(m, 2) ? nw_ramp(m->pool, m->v, nw_index(m->pool, 3), lanes) : spread(m, m->v, lanes);
    return nw_cast(m->pool, t, i);
  }
  default: return random_load(m, t, lanes);
  }
}

static nw_dtype any_dtype(maker *m) { return (nw_dtype)draw(m, NW_DTYPE_COUNT); }

static nw_dtype computing_dtype(maker *m) {
  for (;;) {
    nw_dtype t = any_dtype(m);
    if (t != NW_F16 && t != NW_BF16 && t != NW_BOOL) return t;
  }
}

static const nw_expr *random_bool(maker *m, int lanes, int depth) {
  static const nw_op compares[] = {NW_OP_LT, NW_OP_LE, NW_OP_EQ, NW_OP_NE};
  static const nw_op logic[] = {NW_OP_AND, NW_OP_OR};
  if (draw(m, 3) == 0) {
    const nw_expr *a = random_expr(m, NW_BOOL, lanes, depth - 1), *b = random_expr(m, NW_BOOL, lanes, depth - 1);
    return draw(m, 3) ? nw_make2(m->pool, logic[draw(m, 2)], a, b) : nw_make1(m->pool, NW_OP_NOT, a);
  }
  nw_dtype t = computing_dtype(m);
  const nw_expr *a = random_expr(m, t, lanes, depth - 1), *b = random_expr(m, t, lanes, depth - 1);
  return nw_make2(m->pool, compares[draw(m, 4)], a, b);
}

static const nw_expr *random_division(maker *m, nw_dtype t, int lanes, int depth) {
  const nw_expr *a = random_expr(m, t, lanes, depth - 1), *d = random_expr(m, t, lanes, depth - 1);
  const nw_expr *one = spread(m, nw_int(m->pool, t, 1), lanes), *zero = spread(m, nw_int(m->pool, t, 0), lanes);
  static const int64_t constants[] = {1, 2, 3, 7, 8, 64, -3, -1, 100, -128};
  nw_op op = draw(m, 2) ? NW_OP_FLOORDIV : NW_OP_FLOORMOD;
  if (draw(m, 2)) {
    const nw_expr *c = nw_int(m->pool, t, constants[draw(m, 10)]);
    return nw_make2(m->pool, op, a, c->i ? spread(m, c, lanes) : one);
  }
  const nw_expr *bad = nw_make2(m->pool, NW_OP_EQ, d, zero);
  if (lanes == 1 && draw(m, 2)) return pick(m, bad, a, nw_make2(m->pool, op, a, d));
  return nw_make2(m->pool, op, a, pick(m, bad, one, d));
}

// Makes a shift by a constant, by data, or by a remainder, so that some counts are out of range.
static const nw_expr *random_shift(maker *m, nw_dtype t, int lanes, const nw_expr *a) {
  int64_t most = 8 * nw_dtype_bytes(t);
  const nw_expr *n = spread(m, nw_int(m->pool, t, (int64_t)draw(m, (uint64_t)most + 4) - 2), lanes);
  if (draw(m, 3) == 0) n = random_leaf(m, t, lanes);
  if (draw(m, 3) == 0)
    n = nw_make2(m->pool, NW_OP_FLOORMOD, random_leaf(m, t, lanes), spread(m, nw_int(m->pool, t, most - 1), lanes));
  return nw_make2(m->pool, draw(m, 2) ? NW_OP_SHL : NW_OP_SHR, a, n);
}

static const nw_expr *random_int(maker *m, nw_dtype t, int lanes, int depth) {
  static const nw_op ones[] = {NW_OP_NEG, NW_OP_ABS, NW_OP_BITNOT, NW_OP_POPCOUNT};
  static const nw_op ops[] = {NW_OP_ADD, NW_OP_SUB,    NW_OP_MUL,   NW_OP_MIN,
                              NW_OP_MAX, NW_OP_BITAND, NW_OP_BITOR, NW_OP_BITXOR};
  const nw_expr *a = random_expr(m, t, lanes, depth - 1);
  switch (draw(m, 6)) {
  case 0: return nw_make1(m->pool, ones[draw(m, NW_COUNT(ones))], a);
  case 1: return random_division(m, t, lanes, depth);
  case 2: return random_shift(m, t, lanes, a);
  case 3:
    if (t == NW_I32)
      return nw_make1(m->pool, NW_OP_EXPONENT, random_expr(m, draw(m, 2) ? NW_F32 : NW_F64, lanes, depth - 1));
    // fallthrough
  default: return nw_make2(m->pool, ops[draw(m, NW_COUNT(ops))], a, random_expr(m, t, lanes, depth - 1));
  }
}

static const nw_expr *random_ldexp(maker *m, int lanes, int depth, const nw_expr *a) {
  int64_t most = a->type.dtype == NW_F64 ? 2200 : 300;
  const nw_expr *n = draw(m, 4) ? spread(m, nw_int(m->pool, NW_I32, (int64_t)draw(m, 2 * (uint64_t)most) - most), lanes)
                                : random_expr(m, NW_I32, lanes, depth - 1);
  return nw_make2(m->pool, NW_OP_LDEXP, a, n);
}

// Makes a value of dtype t from the bits of a value of another dtype of the same width. Returns NULL if there is none.
static const nw_expr *random_bits(maker *m, nw_dtype t, int lanes, int depth) {
  for (int tries = 0; t != NW_BOOL && tries < 20; tries++) {
    nw_dtype from = any_dtype(m);
    bool same = from != NW_BOOL && from != t && nw_dtype_bytes(from) == nw_dtype_bytes(t);
    if (same) return nw_reinterpret(m->pool, t, random_expr(m, from, lanes, depth - 1));
  }
  return NULL;
}

static const nw_expr *random_float(maker *m, nw_dtype t, int lanes, int depth) {
  static const nw_op twos[] = {NW_OP_ADD, NW_OP_SUB, NW_OP_MUL, NW_OP_DIV, NW_OP_MIN, NW_OP_MAX, NW_OP_POW};
  static const nw_op ones[] = {NW_OP_NEG, NW_OP_ABS, NW_OP_FLOOR, NW_OP_CEIL, NW_OP_SQRT,
                               NW_OP_EXP, NW_OP_LOG, NW_OP_TANH,  NW_OP_ERF,  NW_OP_MANTISSA};
  const nw_expr *a = random_expr(m, t, lanes, depth - 1);
  switch (draw(m, 6)) {
  case 3: return random_ldexp(m, lanes, depth, a);
  case 0:
  case 1: return nw_make1(m->pool, ones[draw(m, NW_COUNT(ones))], a);
  case 2: {
    const nw_expr *args[] = {a, random_expr(m, t, lanes, depth - 1), random_expr(m, t, lanes, depth - 1)};
    return nw_make(m->pool, NW_OP_FMA, a->type, 3, args);
  }
  default: return nw_make2(m->pool, twos[draw(m, NW_COUNT(twos))], a, random_expr(m, t, lanes, depth - 1));
  }
}

static const nw_expr *random_expr(maker *m, nw_dtype t, int lanes, int depth) {
  if (depth <= 0 || draw(m, 5) == 0) return random_leaf(m, t, lanes);
  const nw_expr *bits = draw(m, 9) ? NULL : random_bits(m, t, lanes, depth);
  if (bits) return bits;
  if (draw(m, 5) == 0 || t == NW_F16 || t == NW_BF16)
    return nw_cast(m->pool, t, random_expr(m, any_dtype(m), lanes, depth - 1));
  if (draw(m, 6) == 0)
    return pick(m, random_expr(m, NW_BOOL, lanes, depth - 1), random_expr(m, t, lanes, depth - 1),
                random_expr(m, t, lanes, depth - 1));
  if (t == NW_BOOL) return random_bool(m, lanes, depth);
  return nw_dtype_is_float(t) ? random_float(m, t, lanes, depth) : random_int(m, t, lanes, depth);
}

static void output_name(char *out, nw_dtype t) {
  out[0] = 'Y';
  strcpy(out + 1, nw_dtype_name(t));
}

static nw_stmt *store_to(maker *m, const char *buffer, const nw_expr *index, const nw_expr *value,
                         const nw_expr *mask) {
  nw_stmt *s = nw_new_stmt(m->p, NW_STORE);
  s->store.buffer = nw_pool_name(m->pool, buffer);
  s->store.index = index;
  s->store.value = value;
  s->store.mask = mask;
  return s;
}

// Each iteration writes its own OUTER elements or vectors, so that the order of parallel iterations does not matter.
static nw_stmt *random_store(maker *m) {
  char name[8];
  nw_dtype t = any_dtype(m);
  int lanes = widths[draw(m, NW_COUNT(widths))];
  int64_t s = (int64_t)draw(m, 3) + 1, step = lanes * s;
  output_name(name, t);
  const nw_expr *base = nw_mul(m->pool, m->v, nw_index(m->pool, step)), *index = base;
  if (lanes > 1) index = nw_ramp(m->pool, base, nw_index(m->pool, s), lanes);
  const nw_expr *mask = draw(m, 3) ? NULL : random_expr(m, NW_BOOL, lanes, 2);
  return store_to(m, name, index, random_expr(m, t, lanes, DEPTH_MOST), mask);
}

static nw_stmt *guarded(maker *m, nw_stmt *s) {
  nw_stmt *g = nw_new_stmt(m->p, NW_GUARD);
  g->guard.cond = random_expr(m, NW_BOOL, 1, 2);
  nw_kids_set(m->p, g, 1, &s);
  return g;
}

// Makes a small local array that is written completely and read back, at constant or varying positions.
static nw_stmt *through_local(maker *m, nw_dtype t) {
  char name[16], out[8];
  snprintf(name, sizeof name, "L%d", m->temps++);
  output_name(out, t);
  const nw_expr *n = nw_index(m->pool, 32), *zero = nw_index(m->pool, 0), *one = nw_index(m->pool, 1);
  nw_add_buffer(m->p, name, t, NW_LOCAL, NW_TEMP, 1, &n);
  nw_stmt *a = nw_new_stmt(m->p, NW_ALLOC), *kids[3];
  a->alloc.buffer = nw_pool_name(m->pool, name);
  a->alloc.n = 1;
  a->alloc.min = NW_NEW(m->p->arena, const nw_expr *);
  a->alloc.extent = NW_NEW(m->p->arena, const nw_expr *);
  a->alloc.min[0] = zero;
  a->alloc.extent[0] = n;
  for (int i = 0; i < 2; i++)
    kids[i] = store_to(m, name, nw_ramp(m->pool, nw_index(m->pool, 16 * i), one, 16), random_expr(m, t, 16, 2), NULL);
  const nw_expr *from =
      draw(m, 2) ? nw_index(m->pool, (int64_t)draw(m, 16)) : nw_mul(m->pool, m->v, nw_index(m->pool, 3));
  const nw_expr *at = nw_ramp(m->pool, from, one, 16);
  const nw_expr *back = nw_load(m->pool, (nw_type){(uint8_t)t, 16}, a->alloc.buffer, 1, &at);
  kids[2] = store_to(m, out, nw_ramp(m->pool, nw_mul(m->pool, m->v, nw_index(m->pool, 16)), one, 16), back, NULL);
  nw_kids_set(m->p, a, 3, kids);
  return a;
}

static nw_stmt *random_loop(maker *m, int number) {
  char name[16];
  snprintf(name, sizeof name, "v%d", number);
  bool parallel = draw(m, 4) == 0;
  nw_stmt *l =
      nw_new_loop(m->p, name, nw_index(m->pool, 0), draw(m, 5) ? nw_index(m->pool, OUTER) : nw_var(m->pool, "M"));
  m->v = l->loop.var;
  if (parallel) l->loop.mark = NW_PARALLEL;
  nw_stmt *kids[3];
  int n = 1 + (int)draw(m, 3);
  for (int i = 0; i < n; i++) {
    kids[i] = draw(m, 4) ? random_store(m) : through_local(m, any_dtype(m));
    if (draw(m, 5) == 0) kids[i] = guarded(m, kids[i]);
  }
  if (parallel) n = 1;
  nw_kids_set(m->p, l, n, kids);
  return l;
}

// Makes inputs and outputs of every dtype, one size M <= OUTER, and a few loops of stores.
static nw_program *random_program(nw_ctx *c, nw_pool *pool, uint64_t seed) {
  maker m = {.pool = pool, .p = nw_program_new(c, pool, "random"), .seed = seed};
  const nw_expr *size = nw_index(pool, SIZE);
  char name[8];
  nw_program *p = m.p;
  p->nsizes = 1;
  p->size = NW_NEW(p->arena, nw_size);
  p->size[0] = (nw_size){nw_pool_name(pool, "M"), nw_index(pool, 0)};
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    input_name(name, (nw_dtype)t);
    nw_add_buffer(p, name, (nw_dtype)t, NW_GLOBAL, NW_INPUT, 1, &size);
  }
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    output_name(name, (nw_dtype)t);
    nw_add_buffer(p, name, (nw_dtype)t, NW_GLOBAL, NW_OUTPUT, 1, &size);
  }
  nw_stmt *kids[3];
  int n = 1 + (int)draw(&m, 3);
  for (int i = 0; i < n; i++) kids[i] = random_loop(&m, i);
  nw_kids_set(p, p->root, n, kids);
  return nw_program_freeze(p);
}

static nw_exec *exec_of(nw_program *p) {
  nw_exec *e = nw_xcalloc(1, sizeof *e);
  *e = (nw_exec){.refs = 1, .p = p, .nstorage = p->nbuffers, .parallel = true, .instructions = 1};
  e->storage = nw_xcalloc((size_t)p->nbuffers, sizeof *e->storage);
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_buffer *b = p->buffer[i];
    e->storage[i] =
        (nw_storage){b->name, b->dtype, b->role == NW_TEMP ? NW_STORE_STACK : NW_STORE_PARAM, b->shape[0], false};
  }
  return e;
}
