// Makes random unfolded expressions, with the operations and dtypes that a profile names.
#pragma once
#include "raw.h"

typedef struct profile {
  const char *root; // operations of the root; "": any operation of `ops`
  const char *ops; // operations of the other nodes
  const char *dtypes; // dtypes of the operands, one letter each: i integers, f floats, h halves, x index, a all
  int depth, lanes; // `lanes` is 0 for scalars
  bool ranges; // true: variables have small ranges, and there are facts
} profile;

enum { SEEN = 40, OPS = 40 };

typedef struct grower {
  workshop *w;
  const profile *of;
  nw_dtype t; // the dtype of compared operands, and of most leaves
  int nroot, nops, nseen;
  nw_op root[OPS], op[OPS];
  const nw_expr *seen[SEEN]; // subtrees of this tree that can be used again
} grower;

static inline int read_ops(const char *text, nw_op *out) {
  int n = 0;
  char name[16];
  for (int used = 0; sscanf(text, "%15s%n", name, &used) == 1; text += used)
    if (!nw_op_parse(name, &out[n++])) fail_msg("no such operation: %s", name);
  return n;
}

static inline bool profile_has(const profile *p, nw_dtype t) {
  for (const char *s = p->dtypes; *s; s++)
    if (*s == 'a' || (*s == 'i' && is_integer(t)) || (*s == 'f' && is_float(t)) || (*s == 'h' && is_half(t)) ||
        (*s == 'x' && t == NW_INDEX))
      return true;
  return false;
}

static inline int64_t pick(grower *g, int64_t n) { return random_to(&g->w->seed, n); }

static inline nw_type typed(nw_dtype t, int lanes) { return (nw_type){(uint8_t)t, (uint16_t)(lanes ? lanes : 1)}; }

static inline const nw_expr *grow(grower *g, nw_dtype t, int lanes, int depth, bool root);

static inline const nw_expr *small_variable(grower *g) {
  static const char *const names[] = {"i", "j", "k"};
  return nw_var(g->w->raw, names[pick(g, 3)]);
}

// Makes an index that is usually inside the memory: a number, a variable, or a clamped index.
static inline const nw_expr *place_of(grower *g) {
  nw_pool *p = g->w->raw;
  const nw_expr *v = small_variable(g), *c = nw_index(p, pick(g, 5) - 2);
  switch (g->of->ranges ? pick(g, 5) : 0) {
  case 1: return v;
  case 2: return raw_of(p, NW_OP_MAX, raw_of(p, NW_OP_ADD, v, c), nw_index(p, 0));
  case 3: return raw_of(p, NW_OP_MIN, raw_of(p, NW_OP_ADD, v, c), nw_index(p, MEMORY - 1));
  case 4: return raw_of(p, NW_OP_ADD, v, c);
  default: return nw_index(p, pick(g, 3));
  }
}

static inline const nw_expr *constant_of(grower *g, nw_dtype t) {
  nw_pool *p = g->w->raw;
  if (is_float(t)) return nw_float(p, t, random_float(&g->w->seed, t));
  if (t == NW_BOOL) return nw_int(p, t, pick(g, 2));
  if (pick(g, 4)) return nw_int(p, t, pick(g, 3) ? pick(g, 12) + 1 : -pick(g, 20));
  return nw_int(p, t, random_integer(&g->w->seed, t));
}

static inline const nw_expr *leaf(grower *g, nw_dtype t, int lanes) {
  nw_pool *p = g->w->raw;
  if (lanes > 1) {
    const nw_expr *one = nw_index(p, 1), *e = leaf(g, t, 1);
    nw_expr lanes_of = {.op = NW_OP_BROADCAST, .type = typed(t, lanes), .n = 1, .i = lanes};
    nw_expr ramp = {.op = NW_OP_RAMP, .type = typed(t, lanes), .n = 2, .i = lanes};
    nw_expr places = {.op = NW_OP_RAMP, .type = typed(NW_INDEX, lanes), .n = 2, .i = lanes};
    int kind = (int)pick(g, 5);
    if (kind < 2) return nw_intern(p, &lanes_of, &e);
    const nw_expr *step = kind == 2 ? constant_of(g, t) : nw_int(p, t, pick(g, 3));
    if (kind < 4 && is_integer(t)) return nw_intern(p, &ramp, (const nw_expr *[]){e, step});
    return element(p, t, nw_intern(p, &places, (const nw_expr *[]){nw_index(p, pick(g, 3)), one}));
  }
  if (pick(g, 3) == 0) return constant_of(g, t);
  if (t == NW_INDEX && pick(g, 3)) return small_variable(g);
  return element(p, t, place_of(g));
}

// Returns a dtype with as many bits as t, or NW_DTYPE_COUNT for bool.
static inline nw_dtype alike_in_width(grower *g, nw_dtype t) {
  for (int tries = 0; t != NW_BOOL && tries < 200; tries++) {
    nw_dtype other = (nw_dtype)pick(g, NW_DTYPE_COUNT);
    if (other != NW_BOOL && width_of_bits(other) == width_of_bits(t)) return other;
  }
  return NW_DTYPE_COUNT;
}

// Returns the count of an ldexp: often a small number, and sometimes 0.
static inline const nw_expr *count_of(grower *g, int lanes, int depth) {
  if (pick(g, 3) == 0) return grow(g, NW_I32, lanes, depth, false);
  if (lanes > 1) return leaf(g, NW_I32, lanes);
  return nw_int(g->w->raw, NW_I32, pick(g, 5) ? pick(g, 400) - 200 : 0);
}

// Returns the dtype of the operands of `op` for a result of dtype `t`, or NW_DTYPE_COUNT if `op` has no such result.
static inline nw_dtype operands_of(grower *g, nw_op op, nw_dtype t) {
  bool order = op == NW_OP_LT || op == NW_OP_LE, division = op == NW_OP_FLOORDIV || op == NW_OP_FLOORMOD;
  if (nw_op_has(op, 'C')) return t != NW_BOOL || (order && g->t == NW_BOOL) ? NW_DTYPE_COUNT : g->t;
  if (nw_op_has(op, 'B')) return t == NW_BOOL ? t : NW_DTYPE_COUNT;
  if (op == NW_OP_CAST) return pick(g, 3) ? (nw_dtype)pick(g, NW_DTYPE_COUNT) : t;
  if (op == NW_OP_SELECT) return t;
  if (op == NW_OP_REINTERPRET) return alike_in_width(g, t);
  if (op == NW_OP_LDEXP) return is_float(t) ? t : NW_DTYPE_COUNT;
  if (nw_op_has(op, 'W')) return t != NW_I32 ? NW_DTYPE_COUNT : is_float(g->t) ? g->t : NW_F32;
  bool whole = division || nw_op_has(op, 'I');
  if (t == NW_BOOL || (whole && !is_integer(t)) || (nw_op_has(op, 'F') && !is_float(t))) return NW_DTYPE_COUNT;
  return t;
}

static inline const nw_expr *branch(grower *g, nw_op op, nw_dtype t, int lanes, int depth) {
  nw_dtype of = operands_of(g, op, t);
  const nw_expr *a[3];
  if (of == NW_DTYPE_COUNT) return NULL;
  int n = nw_op_arity(op);
  for (int i = 0; i < n; i++) {
    bool divisor = i == 1 && (op == NW_OP_FLOORDIV || op == NW_OP_FLOORMOD);
    bool scalar = op == NW_OP_SELECT && i == 0 && pick(g, 2);
    if (divisor && pick(g, 4))
      a[i] = lanes > 1 ? leaf(g, of, lanes) : nw_int(g->w->raw, of, 1 + pick(g, 12));
    else if (op == NW_OP_LDEXP && i == 1)
      a[i] = count_of(g, lanes, depth - 1);
    else
      a[i] = grow(g, op == NW_OP_SELECT && i == 0 ? NW_BOOL : of, scalar ? 1 : lanes, depth - 1, false);
  }
  return raw_node(g->w->raw, op, typed(t, lanes), n, a);
}

static inline const nw_expr *seen_before(grower *g, nw_type t) {
  for (int tries = 0; tries < 4 && g->nseen; tries++) {
    const nw_expr *e = g->seen[pick(g, g->nseen)];
    if (e->type.dtype == t.dtype && e->type.lanes == t.lanes) return e;
  }
  return NULL;
}

static inline const nw_expr *grow(grower *g, nw_dtype t, int lanes, int depth, bool root) {
  const nw_expr *e = !root && !pick(g, 4) ? seen_before(g, typed(t, lanes)) : NULL;
  if (e) return e;
  bool ends = !root && (depth <= 0 || !pick(g, 6));
  for (int tries = 0; tries < 12 && !e && !ends; tries++) {
    bool first = root && g->nroot;
    e = branch(g, first ? g->root[pick(g, g->nroot)] : g->op[pick(g, g->nops)], t, lanes, depth);
  }
  if (!e) e = leaf(g, t, lanes);
  if (g->nseen < SEEN) g->seen[g->nseen++] = e;
  return e;
}

// Makes a tree whose root is an operation of the profile. The dtype of the tree is `t`, or bool if the root compares
// values of `t`.
static inline const nw_expr *grow_tree(grower *g) {
  g->nseen = 0;
  bool truth = g->nroot && (nw_op_has(g->root[0], 'C') || nw_op_has(g->root[0], 'B'));
  return grow(g, truth ? NW_BOOL : g->t, g->of->lanes, g->of->depth, true);
}

static inline grower start_growing(workshop *w, const profile *p, nw_dtype t) {
  grower g = {.w = w, .of = p, .t = t};
  g.nroot = read_ops(p->root, g.root);
  g.nops = read_ops(p->ops, g.op);
  return g;
}

// Fills the memory with data of every dtype, and variables with values in the range of indices.
static inline void fill_memory(uint64_t *seed, memory *m) {
  m->overflow = false;
  for (int t = 0; t < NW_DTYPE_COUNT; t++)
    for (int i = 0; i < MEMORY; i++) m->of[t][i] = random_value(seed, (nw_dtype)t);
  for (int i = 0; i < VARIABLES; i++)
    m->var[i] = next_random(seed) % 4 ? random_to(seed, 200) - 60 : random_integer(seed, NW_INDEX) >> 17;
}
