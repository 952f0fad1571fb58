// Finds the accesses of a lowered program, the bodies that contain them, and their instructions.
#include "cost/cpu/core_access.h"
#include "cost/cpu/core_class.h"
#include <math.h>

static void go(nw_core *k, nw_core_node *body, const nw_stmt *s, int *kid, nw_core_store_fn *store,
               nw_core_body_fn *enter, void *env);

void nw_core_go(nw_core *k, nw_core_node *body, nw_core_store_fn *store, nw_core_body_fn *enter, void *env) {
  bool loop = body->stmt->kind == NW_LOOP;
  int kid = 0;
  if (loop) nw_vec_push(&k->names.name, (void *)body->stmt->loop.var->name);
  if (loop) nw_vec_push(&k->names.slot, (void *)(intptr_t)body->slot);
  if (enter) enter(env, body, true);
  for (int i = 0; i < body->stmt->nkids; i++) go(k, body, body->stmt->kid[i], &kid, store, enter, env);
  if (enter) enter(env, body, false);
  if (loop) k->names.name.n--, k->names.slot.n--;
}

static void go(nw_core *k, nw_core_node *body, const nw_stmt *s, int *kid, nw_core_store_fn *store,
               nw_core_body_fn *enter, void *env) {
  if (s->kind == NW_STORE) return store(env, body, s);
  if (s->kind == NW_LOOP || s->kind == NW_GUARD) return nw_core_go(k, body->kid[(*kid)++], store, enter, env);
  for (int i = 0; i < s->nkids; i++) go(k, body, s->kid[i], kid, store, enter, env);
}

static void list_bodies(nw_vec *out, nw_core_node *at) {
  nw_vec_push(out, at);
  for (int i = 0; i < at->nkids; i++) list_bodies(out, at->kid[i]);
}

// True if the code gathers the lanes: codegen/llvm reverses a vector in a register only if no mask is needed.
static bool is_backwards_in_part(const nw_lowered_access *a) {
  return a->lanes > 1 && a->step == -1 && a->masked && !NW_MUTATED(backwards_whole);
}

// The list `body` has the order of the lowered program. So the body numbers in nw_lowered_access are indices of this
// list.
void nw_core_collect(nw_core *k) {
  nw_vec body = {0};
  list_bodies(&body, k->root);
  for (int i = 0; i < k->lowered->access.n; i++) {
    const nw_lowered_access *of = k->lowered->access.at[i];
    nw_core_access *a = NW_NEW(k->arena, nw_core_access);
    *a = (nw_core_access){.stmt = of->stmt,
                          .load = of->load,
                          .buffer = of->buffer,
                          .index = of->index,
                          .affine = of->affine,
                          .at = of->at,
                          .lanes = of->lanes,
                          .elem = of->elem,
                          .write = of->write,
                          .masked = of->masked,
                          .scattered = of->scattered,
                          .gathered = of->scattered || is_backwards_in_part(of),
                          .body = body.at[of->body]};
    nw_vec_push(&k->access, a);
  }
  nw_vec_free(&body);
}

bool nw_core_inside(const nw_core_node *at, const nw_core_node *loop) {
  while (at && at != loop) at = at->up;
  return at != NULL;
}

// ---- as instructions

// Returns the fraction of the possible start positions at which a vector of `bytes` bytes crosses into a second line.
static double crossing(const nw_core *k, const nw_core_access *a, int64_t bytes, int64_t offset) {
  int64_t line = k->machine->level[0].line, step = line;
  if (!a->affine || bytes > line) return 0;
  for (int i = 0; i < a->at.n; i++) step = nw_gcd(step, a->at.coef[i] * a->elem);
  int64_t first = (a->at.rest * a->elem + offset) % step, over = 0;
  if (first < 0) first += step;
  for (int64_t at = first; at < line; at += step) over += at + bytes > line;
  return (double)over * (double)step / (double)line;
}

// Adds gathers or scatters. The number of lanes of each instruction is a power of two, and at most the number of 64-bit
// addresses in a vector. A single lane is an ordinary load or store.
static void add_scattered(const nw_machine *m, nw_core_ops *to, const nw_core_access *a) {
  int most = (int)m->vector_bytes / 8;
  nw_core_unit unit = a->write ? NW_CORE_SCATTER : NW_CORE_GATHER;
  for (int left = a->lanes, piece; left > 0; left -= piece) {
    for (piece = most; piece > left;) piece /= 2;
    if (piece > 1)
      to->unit[unit] += fmax(piece, m->gather_least);
    else
      to->op[a->write ? NW_CLASS_STORE : NW_CLASS_LOAD][0]++;
    if (a->lanes > most) to->op[NW_CLASS_SHUFFLE][1]++; // moves the piece into or out of a wider vector
    if (piece > 1) to->op[NW_CLASS_INT][NW_WIDTHS - 1] += 2; // computes the addresses of the piece
  }
}

// Returns the number of bytes of the next piece of an access. `left` is the number of bytes of the access that remain.
// One instruction accesses a piece.
static int64_t piece_of(const nw_core *k, const nw_core_access *a, int64_t left) {
  int64_t piece = k->machine->vector_bytes;
  while (piece > left && piece > a->elem) piece /= 2;
  return piece;
}

double nw_core_crossings(const nw_core *k, const nw_core_access *a) {
  double all = 0;
  int64_t left = a->lanes > 1 && !a->gathered ? (int64_t)a->lanes * a->elem : 0;
  for (int64_t offset = 0, piece; left > 0; offset += piece, left -= piece) {
    piece = piece_of(k, a, left);
    all += crossing(k, a, piece, offset);
  }
  return all;
}

void nw_core_add_memory(const nw_core *k, nw_core_ops *to, const nw_core_access *a) {
  const nw_machine *m = k->machine;
  nw_class c = a->write ? NW_CLASS_STORE : NW_CLASS_LOAD;
  to->numbers[c][nw_core_bits((nw_dtype)k->exec->p->buffer[a->buffer]->dtype)] += a->lanes;
  if (a->gathered) return add_scattered(m, to, a);
  int64_t left = (int64_t)a->lanes * a->elem;
  for (int64_t piece; left > 0; left -= piece) {
    piece = piece_of(k, a, left);
    to->op[c][piece > a->elem || a->lanes > 1 ? nw_width_of(piece) : 0]++;
  }
  to->unit[a->write ? NW_CORE_STORE_CROSSING : NW_CORE_LOAD_CROSSING] += nw_core_crossings(k, a);
}
