// Finds the elements that stay in registers, and the loops during which these elements stay in registers.
//
// LLVM keeps a local array in registers if all its indices are constant (LLVM's pass SROA). An element that a loop
// reads and writes at an invariant address is kept in a register during the loop (LLVM's pass LICM) if both conditions
// hold:
//
// * Every other access of the loop to the buffer is to exactly this address, or provably to a different address.
// * The loop accesses the element in every iteration.
//
// Accesses to other buffers do not matter, since buffers do not overlap.
#include "cost/cpu/core_access.h"

static bool constant_index(const nw_core_access *a) { return a->affine && !a->at.n && !a->masked && !a->scattered; }

static void find_apart(nw_core *k) {
  const nw_program *p = k->exec->p;
  k->apart = NW_NEW_N(k->arena, bool, p->nbuffers + 1);
  k->widest = NW_NEW_N(k->arena, int, p->nbuffers + 1);
  for (int i = 0; i < p->nbuffers; i++) k->apart[i] = k->exec->storage[i].kind == NW_STORE_STACK;
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *a = k->access.at[i];
    if (!constant_index(a)) k->apart[a->buffer] = false;
    if (a->lanes > k->widest[a->buffer]) k->widest[a->buffer] = a->lanes;
  }
}

static bool same_place(const nw_core_access *a, const nw_core_access *b) {
  return a->index == b->index && a->lanes == b->lanes;
}

static int64_t width(const nw_core_access *a) { return a->scattered ? 0 : a->lanes; }

// True if both accesses move by the same steps, and never touch the same element in one iteration.
static bool surely_apart(const nw_core_access *a, const nw_core_access *b) {
  if (!a->affine || !b->affine || a->scattered || b->scattered) return false;
  for (int i = 0; i < a->at.n; i++)
    if (nw_form_coef(&b->at, a->at.slot[i]) != a->at.coef[i]) return false;
  for (int i = 0; i < b->at.n; i++)
    if (nw_form_coef(&a->at, b->at.slot[i]) != b->at.coef[i]) return false;
  int64_t by = b->at.rest - a->at.rest;
  return by >= width(a) || -by >= width(b);
}

static bool always_runs(const nw_core_access *a, const nw_core_node *loop) {
  int64_t n;
  for (const nw_core_node *at = a->body; at != loop; at = at->up)
    if (at->stmt->kind == NW_GUARD || !nw_is_int(at->stmt->loop.extent, &n) || n < 1) return false;
  return true;
}

static bool moves_in(const nw_core_access *a, const nw_core_node *loop) {
  for (const nw_core_node *at = a->body; at != loop->up; at = at->up)
    if (at->stmt->kind == NW_LOOP && (!a->affine || nw_form_coef(&a->at, at->slot))) return true;
  return false;
}

static bool keeps(const nw_core *k, const nw_core_access *a, const nw_core_node *loop) {
  if (a->masked || a->scattered || moves_in(a, loop) || !always_runs(a, loop)) return false;
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *b = k->access.at[i];
    if (b->buffer != a->buffer || b == a || !nw_core_inside(b->body, loop)) continue;
    bool still = !moves_in(b, loop);
    if (!(same_place(a, b) && !b->masked) && !(still && surely_apart(a, b))) return false;
  }
  return true;
}

enum { MOST_PROMOTED = 250 }; // LICM's limit on the loads and stores of a loop (licm-mssa-max-acc-promotion)

// True if the loop exceeds the limit MOST_PROMOTED. Several loads of one element are counted separately, because LLVM
// cannot merge loads if there are stores between them.
static bool too_many(const nw_core *k, const nw_core_node *loop) {
  int n = 0;
  for (int i = 0; i < k->access.n && n <= MOST_PROMOTED; i++) {
    const nw_core_access *a = k->access.at[i];
    n += !k->apart[a->buffer] && nw_core_inside(a->body, loop);
  }
  return n > MOST_PROMOTED;
}

// Returns the depth of the outermost loop during which the element stays in a register. Checks the loops from the
// innermost loop outwards, up to a parallel loop, because the body of a parallel loop is a separate function.
static int held_through(const nw_core *k, const nw_core_access *a) {
  int depth = 0;
  for (const nw_core_node *at = a->body; at && at->stmt->kind == NW_LOOP; at = at->up) {
    if (!keeps(k, a, at) || too_many(k, at)) return depth;
    depth = at->depth;
    if (at->stmt->loop.mark == NW_PARALLEL) break;
  }
  return depth;
}

// Returns the same depth for a load. The loaded element is in a register if an enclosing loop holds it for a store.
static int held_around(const nw_core *k, const nw_core_access *a) {
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *b = k->access.at[i];
    if (!b->write || !b->held || b->buffer != a->buffer || !same_place(a, b)) continue;
    for (const nw_core_node *at = a->body; at; at = at->up)
      if (at->stmt->kind == NW_LOOP && at->depth == b->held && nw_core_inside(b->body, at)) return b->held;
  }
  return 0;
}

void nw_core_hold(nw_core *k) {
  find_apart(k);
  for (int i = 0; i < k->access.n; i++) {
    nw_core_access *a = k->access.at[i];
    if (a->write && !k->apart[a->buffer]) a->held = held_through(k, a);
  }
  for (int i = 0; i < k->access.n; i++) {
    nw_core_access *a = k->access.at[i];
    if (!a->write) a->held = held_around(k, a);
  }
}
