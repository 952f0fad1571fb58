// Finds chains. A chain is a sequence of updates of one element, in which each update needs the result of the previous
// update. A loop *carries* a chain if the update in an iteration continues the chain of the previous iteration.
#include "cost/cpu/core_chain.h"
#include "cost/cpu/core_access.h"
#include <math.h>

static bool is_loop(const nw_core_node *at) { return at->stmt->kind == NW_LOOP; }

// Returns the number of elements between the first accesses of two consecutive iterations of a loop. In each iteration,
// an inner loop may begin at a later value, as after a skew.
static int64_t step_of(const nw_core_access *a, const nw_core_node *loop) {
  int64_t step = nw_form_coef(&a->at, loop->slot);
  for (const nw_core_node *at = a->body; at != loop; at = at->up) {
    int64_t later = is_loop(at) && at->affine ? nw_form_coef(&at->from, loop->slot) : 0;
    if (later) step += later * step_of(a, at);
  }
  return step;
}

// True if the iterations of a loop access different elements. If an inner loop begins at a later value in each
// iteration, the elements may be the same although the index contains the loop's variable.
static bool moves_in(const nw_core_access *a, const nw_core_node *loop) {
  return !a->affine || (nw_form_coef(&a->at, loop->slot) && step_of(a, loop));
}

static bool is_chained(const nw_core_access *a) {
  for (int i = 0; i < a->body->chain.n; i++)
    if (((nw_core_chain *)a->body->chain.at[i])->store == a) return true;
  return false;
}

static bool uses(const nw_expr *e, const nw_core_node *loop) { return nw_uses_var(e, loop->stmt->loop.var->name); }

// True if the condition of a guard may hold in some iterations of a loop but not in others.
static bool differs_in(const nw_core_node *guard, const nw_core_node *loop) {
  const nw_expr *cond = guard->stmt->guard.cond;
  if (uses(cond, loop)) return true;
  for (const nw_core_node *at = guard->up; at != loop; at = at->up)
    if (is_loop(at) && uses(cond, at) && (uses(at->stmt->loop.begin, loop) || uses(at->stmt->loop.extent, loop)))
      return true;
  return false;
}

// True if each iteration that runs the update `a` also runs the store `b`.
static bool runs_with(const nw_core_access *b, const nw_core_access *a, const nw_core_node *loop) {
  for (const nw_core_node *at = b->body; at != loop; at = at->up)
    if (at->stmt->kind == NW_GUARD && !nw_core_inside(a->body, at) && differs_in(at, loop)) return false;
  return true;
}

// True if each iteration of the loop also stores values that do not depend on the old content of the buffer. Then an
// iteration is assumed not to depend on the previous iteration. An init that only the first iteration runs does not
// count.
static bool begins_in(const nw_core *k, const nw_core_access *a, const nw_core_node *loop) {
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *b = k->access.at[i];
    if (b->write && b->buffer == a->buffer && nw_core_inside(b->body, loop) && !is_chained(b) && runs_with(b, a, loop))
      return true;
  }
  return false;
}

// Returns the cycles of the chain through one element in an iteration of a loop around the store. Each iteration of a
// loop in between adds an update to the chain. But if its iterations use different elements or first store a new value,
// such a loop adds only one update. The chain goes through memory if no loop holds the element in a register.
static double chain_in(const nw_core *k, const nw_core_chain *c, const nw_core_node *loop) {
  const nw_core_access *a = c->store;
  bool apart = k->apart[a->buffer];
  double cycles = c->latency;
  if (c->through_memory) cycles += a->masked || a->scattered ? k->machine->forward_masked : k->machine->forward;
  for (const nw_core_node *at = a->body; at != loop; at = at->up) {
    double runs = at->up->times ? (double)at->times / (double)at->up->times : 0;
    bool apart_each = is_loop(at) && (moves_in(a, at) || begins_in(k, a, at));
    cycles *= apart_each ? fmin(1, runs) : runs;
    if (!apart && a->held == at->depth && is_loop(at) && !apart_each) cycles += k->machine->forward;
  }
  return cycles;
}

typedef struct chained { // the chain through one element
  const nw_core_access *a;
  double cycles;
} chained;

enum { MOST_CHAINS = 1024 };

typedef struct chaining {
  const nw_core *k;
  const nw_core_node *loop;
  bool carried; // true to consider only chains that continue in the next iteration
  int n;
  double most;
  chained list[MOST_CHAINS];
} chaining;

// True if the store of the next iteration must wait for this masked store. A masked store is assumed to cover its whole
// vector.
static bool overlaps_next(const nw_core_access *a, const nw_core_node *loop) {
  if (!a->masked || a->scattered || !a->affine || a->body != loop) return false;
  int64_t lanes = 1, step = nw_form_coef(&a->at, loop->slot);
  while (lanes < a->lanes) lanes *= 2;
  return step && step < lanes && -step < lanes;
}

static void add_chain(chaining *c, const nw_core_chain *chain) {
  const nw_core_access *a = chain->store;
  if (c->carried && overlaps_next(a, c->loop)) c->most = fmax(c->most, chain->latency + c->k->machine->forward_masked);
  if (c->carried && (moves_in(a, c->loop) || begins_in(c->k, a, c->loop))) return;
  int e = 0;
  while (e < c->n && !(c->list[e].a->buffer == a->buffer && c->list[e].a->index == a->index)) e++;
  if (e == MOST_CHAINS) return;
  if (e == c->n) c->list[c->n++] = (chained){a, 0};
  c->list[e].cycles += chain_in(c->k, chain, c->loop);
  c->most = fmax(c->most, c->list[e].cycles);
}

static void add_chains(chaining *c, const nw_core_node *at) {
  for (int i = 0; i < at->chain.n; i++) add_chain(c, at->chain.at[i]);
  for (int i = 0; i < at->nkids; i++) add_chains(c, at->kid[i]);
}

double nw_core_longest_chain(const nw_core *k, const nw_core_node *loop, bool carried) {
  chaining c;
  c.k = k, c.loop = loop, c.carried = carried, c.n = 0, c.most = 0;
  add_chains(&c, loop);
  return c.most;
}
