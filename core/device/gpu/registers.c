// Estimates the registers of a thread. ptxas keeps the elements of small local arrays in registers, unrolls loops, and issues the
// loads of several iterations before the values are used. So a thread needs registers for
//   * the elements of local arrays whose indices are known after loops are unrolled (unroll.c),
//   * the values that the statements of a list load, in as many iterations as are executed together,
//   * the operands of the largest expression,
//   * the address of each buffer, of 64 bits, and the variables of long loops.
// The numbers of iterations were chosen by comparing with ptxas.
#include "device/gpu/run.h"
#include <stdlib.h>

enum {
  FIXED = 6, // registers for the indices of the thread and for the stack, in every kernel
  LIST = 64, // most stores of a list that are executed together
  TOGETHER = 8, // statements, or loaded values, of several iterations that are executed together
  OF_A_COPY = 2, // more registers for a value that is only copied, because it has an address of its own
};

static int most(int a, int b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int words_of(nw_type t) {
  return t.lanes * (nw_dtype_bytes((nw_dtype)t.dtype) > 4 && t.dtype != NW_INDEX ? 2 : 1);
}

static nwg_buffer *buffer_of(const nwg_kernel *k, const char *name) {
  int i = 0;
  while (strcmp(k->buffer[i].name, name)) i++;
  return &k->buffer[i];
}

static int held_by(const nwg_kernel *k, const nwg_stmt *s) {
  const nwg_buffer *b = &k->buffer[s->buffer];
  bool held = s->kind == NW_ALLOC && b->steady;
  return held ? (int)((least(b->count, b->places) * b->bytes + 3) / 4) : 0;
}

// ---- operands

static int words_made(const nwg_instr *in) {
  switch (in->op) {
  case NWG_CONST:
  case NWG_CONST_F:
  case NWG_CONST_D: return 0; // constants are parts of instructions
  case NWG_RAMP: return 1; // the index of a vector is that of its first element
  default: break;
  }
  bool wide = (in->op >= NWG_ADD_D && in->op <= NWG_FMA_D) || in->op == NWG_WIDEN;
  return wide ? 2 * in->n : in->n;
}

// Returns the largest number of values that are needed at the same time while the instructions are executed.
static int live_in(const nwg_kernel *k, nwg_code code) {
  int largest = 0, n = code.to - code.from;
  if (n <= 0) return 0;
  int *change = nw_xcalloc((size_t)n + 2, sizeof *change);
  for (int i = code.from; i < code.to; i++) {
    const nwg_instr *in = &k->instr[i];
    int last = i;
    if (!in->dst) continue;
    for (int j = i + 1; j < code.to; j++) {
      const nwg_instr *use = &k->instr[j];
      if (use->a == in->dst || use->b == in->dst || use->c == in->dst) last = j;
    }
    change[i - code.from] += words_made(in);
    change[last - code.from + 1] -= words_made(in);
  }
  for (int i = 0, live = 0; i < n; i++) {
    live += change[i];
    largest = most(largest, live);
  }
  free(change);
  return largest;
}

// ---- loads of a list of statements

typedef struct loads {
  const nwg_kernel *k;
  const nw_stmt *store;
  nw_vec seen; // the loads, as expressions
  int words, addresses, lanes, stores;
} loads;

static bool is_held(const nwg_kernel *k, const char *buffer) { return buffer_of(k, buffer)->steady; }

// Elements that are in registers, and the element that the statement updates, need no others.
static bool add_load(void *env, const nw_expr *e) {
  loads *l = env;
  if (e->op != NW_OP_LOAD || is_held(l->k, e->name)) return true;
  if (!strcmp(e->name, l->store->store.buffer) && e->arg[0] == l->store->store.index) return true;
  for (int i = 0; i < l->seen.n; i++)
    if (l->seen.at[i] == e) return true;
  nw_vec_push(&l->seen, (void *)e);
  l->words += words_of(e->type);
  l->lanes = most(l->lanes, e->type.lanes);
  return true;
}

static void add_store(loads *l, const nw_stmt *s) {
  int before = l->words;
  l->stores++;
  l->store = s;
  nw_visit(s->store.value, add_load, l);
  if (s->store.value->op == NW_OP_LOAD && l->words > before) l->addresses += OF_A_COPY;
}

// Returns the registers for the loads of neighbouring stores, in the iterations that are executed together, and forgets them.
static int take_loads(loads *l, int64_t times) {
  int64_t together = most(2, TOGETHER / most(1, most(l->stores, l->lanes)));
  int registers = (l->words + l->addresses) * (int)least(together, times);
  nw_vec_free(&l->seen);
  *l = (loads){.k = l->k};
  return registers;
}

// Returns the largest number of registers for the loads of neighbouring stores of a list. `times`: iterations of the loops
// around.
static int loaded_in(const nwg_kernel *k, const nwg_stmt *s, int64_t times) {
  loads l = {.k = k};
  int largest = 0;
  for (int i = 0; i < s->nkids; i++) {
    if (s->kid[i]->kind == NW_STORE) add_store(&l, s->kid[i]->stmt);
    if (l.stores == LIST) largest = most(largest, take_loads(&l, TOGETHER));
  }
  return most(largest, take_loads(&l, times));
}

// ---- statements

// Returns the registers for a statement and the statements inside it. `times`: iterations of the loops around it, up to
// TOGETHER.
static int registers_in(const nwg_kernel *k, const nwg_stmt *s, int64_t times) {
  int own = most(live_in(k, s->value), most(live_in(k, s->cond), live_in(k, s->extent))), inner = 0;
  bool loop = s->kind == NW_LOOP, is_long = loop && (!s->fixed || s->times > TOGETHER);
  if (loop) times = is_long ? TOGETHER : least(TOGETHER, times * s->times);
  for (int i = 0; i < s->nkids; i++) inner = most(inner, registers_in(k, s->kid[i], times));
  return most(own, most(inner, loaded_in(k, s, times))) + held_by(k, s) + is_long;
}

int64_t nwg_registers(const nwg_kernel *k) {
  int addresses = 0;
  for (int i = 0; i < k->nbuffers; i++) addresses += k->buffer[i].used && k->buffer[i].space == NWG_GLOBAL ? 2 : 0;
  return FIXED + addresses + registers_in(k, k->root, 1);
}
