// Says which loops a compiler unrolls, and which local arrays are then in registers. The estimates of instructions (code.c)
// and of registers (registers.c) use the same answers.
#include "device/gpu/gpu.h"
#include "ir/program/intrinsic.h"

enum {
  MOST_TIMES = 32, // iterations of a loop that is unrolled
  MOST_COPIES = 1024, // statements of the body of a loop after unrolling
  MOST_LOCAL = 1024, // bytes of a local array that can be in registers
};

// ---- loops

static bool is_short(const nwg_stmt *s) { return s->fixed && s->times <= MOST_TIMES; }

// Returns the number of statements after unrolling.
static double copies(const nwg_stmt *s) {
  double all = s->kind == NW_STORE;
  for (int i = 0; i < s->nkids; i++) all += copies(s->kid[i]);
  return s->kind == NW_LOOP && is_short(s) ? all * (double)s->times : all;
}

bool nwg_has_barrier(const nwg_stmt *s) {
  bool any = s->kind == NW_BARRIER && !s->stmt->barrier.warp;
  for (int i = 0; i < s->nkids && !any; i++) any = nwg_has_barrier(s->kid[i]);
  return any;
}

bool nwg_is_unrolled(const nwg_stmt *s) {
  if (s->kind != NW_LOOP || !s->fixed || nwg_has_barrier(s)) return false;
  if (s->times == 1 || s->stmt->loop.mark == NW_UNROLLED) return true;
  return is_short(s) && copies(s) <= MOST_COPIES;
}

// ---- local arrays

typedef struct around { // the loops around a statement
  const nwg_kernel *k;
  int n;
  const nwg_stmt *loop[NW_MAX_DEPTH];
  bool unrolled[NW_MAX_DEPTH];
  nw_vec stores; // to local arrays, each index once
} around;

// True if e uses only variables of unrolled loops.
static bool known_after(void *env, const nw_expr *e) {
  const around *a = env;
  if (e->op == NW_OP_LOAD) return false;
  if (e->op != NW_OP_VAR) return true;
  for (int i = a->n - 1; i >= 0; i--)
    if (!strcmp(a->loop[i]->stmt->loop.var->name, e->name)) return a->unrolled[i];
  return false;
}

// Returns the number of elements that an index takes in the loops around.
static int64_t elements(const around *a, const nw_expr *index) {
  int64_t n = index->type.lanes;
  for (int i = 0; i < a->n; i++)
    if (nw_uses_var(index, a->loop[i]->stmt->loop.var->name)) n *= a->loop[i]->times;
  return n;
}

static nwg_buffer *local_of(const nwg_kernel *k, const char *name) {
  int i = 0;
  while (strcmp(k->buffer[i].name, name)) i++;
  return k->buffer[i].space == NWG_LOCAL ? &k->buffer[i] : NULL;
}

// A local array needs registers for the elements that are accessed, which may be fewer than those of the array.
static void note_index(const around *a, const char *buffer, const nw_expr *index) {
  nwg_buffer *b = local_of(a->k, buffer);
  if (b) b->steady &= nw_visit(index, known_after, (void *)a) && elements(a, index) * b->bytes <= MOST_LOCAL;
}

// Counts the elements that a store writes, unless another store has the same index.
static void note_store(around *a, const nw_stmt *s) {
  nwg_buffer *b = local_of(a->k, s->store.buffer);
  note_index(a, s->store.buffer, s->store.index);
  for (int i = 0; i < a->stores.n && b; i++) {
    const nw_stmt *other = a->stores.at[i];
    if (other->store.index == s->store.index && !strcmp(other->store.buffer, s->store.buffer)) return;
  }
  if (!b) return;
  nw_vec_push(&a->stores, (void *)s);
  b->places += elements(a, s->store.index);
}

static bool see_load(void *env, const nw_expr *e) {
  if (e->op == NW_OP_LOAD) note_index(env, e->name, e->arg[0]);
  return true;
}

// The result of a load of matrices is written by no store.
static void note_instruction(around *a, const nwg_stmt *s) {
  const nw_intrinsic *in = s->intrinsic;
  for (int i = 0; i < in->nargs; i++) {
    const nw_tile *t = &s->stmt->call.tile[i];
    nwg_buffer *b = in->arg[i].fragment.n ? local_of(a->k, t->buffer) : NULL;
    if (!b) continue;
    note_index(a, t->buffer, t->index);
    if (!in->instruction->depth) b->places += elements(a, t->index) * in->arg[i].fragment.n;
  }
}

static void note(around *a, const nwg_stmt *s) {
  if (s->intrinsic) note_instruction(a, s);
  bool loop = s->kind == NW_LOOP && a->n < NW_MAX_DEPTH;
  if (loop) a->unrolled[a->n] = nwg_is_unrolled(s), a->loop[a->n++] = s;
  if (s->kind == NW_STORE) {
    note_store(a, s->stmt);
    nw_visit(s->stmt->store.value, see_load, a);
    nw_visit(s->stmt->store.index, see_load, a);
  }
  if (s->kind == NW_GUARD) nw_visit(s->stmt->guard.cond, see_load, a);
  for (int i = 0; i < s->nkids; i++) note(a, s->kid[i]);
  if (loop) a->n--;
}

void nwg_note_steady(nwg_kernel *k) {
  around a = {.k = k};
  for (int i = 0; i < k->nbuffers; i++) k->buffer[i].steady = k->buffer[i].space == NWG_LOCAL, k->buffer[i].places = 0;
  note(&a, k->root);
  nw_vec_free(&a.stores);
}
