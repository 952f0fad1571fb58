// Finds the costs that a loop adds to its body: counters, a branch, the lines of its stores, and register spills.
#include "cost/cpu/core_loop.h"
#include "cost/cpu/core_access.h"
#include <stdlib.h>

// ---- counters

static int64_t step_of(const nw_core_access *a, const nw_core_node *loop) {
  int64_t step = a->affine ? nw_form_coef(&a->at, loop->slot) * a->elem : 0;
  return step < 0 ? -step : step;
}

// Returns the number of different steps by which the loop moves addresses. Steps of 1, 2, 4 and 8 bytes are not
// counted, because such addresses use the loop counter with a scale.
static int strides_of(const nw_core *k, const nw_core_node *loop) {
  int64_t found[64];
  int n = 0;
  for (int i = 0; i < k->access.n && n < 64; i++) {
    const nw_core_access *a = k->access.at[i];
    int64_t step = nw_core_inside(a->body, loop) && !k->apart[a->buffer] ? step_of(a, loop) : 0;
    if (step == 0 || step == 1 || step == 2 || step == 4 || step == 8) continue;
    int at = 0;
    while (at < n && found[at] != step) at++;
    if (at == n) found[n++] = step;
  }
  return n;
}

// Adds one increment for each address step, a comparison and a branch. The instructions that initialize the loop's
// registers are added to the body around the loop.
void nw_core_add_loop(const nw_core *k, nw_core_node *loop) {
  loop->strides = strides_of(k, loop);
  loop->ops.op[NW_CLASS_INT][0] += 1 + loop->strides;
  loop->ops.unit[NW_CORE_BRANCH]++;
  loop->up->ops.op[NW_CLASS_INT][0] += 2 + loop->strides;
}

// ---- lines

// True if access b begins less than a line away from access a, since both are then usually in the same line. `moved` is
// the number of elements by which b moves between the two accesses.
static bool same_line(const nw_core *k, const nw_core_access *a, const nw_core_access *b, int64_t moved) {
  if (a->buffer != b->buffer || !a->affine || !b->affine || a->scattered || b->scattered) return false;
  int64_t by = (b->at.rest + moved - a->at.rest) * a->elem;
  return llabs(by) < k->machine->level[0].line;
}

void nw_core_add_line(const nw_core *k, nw_core_node *body, const nw_core_access *a) {
  if (body->last_store && !same_line(k, body->last_store, a, 0)) body->ops.unit[NW_CORE_STORE_LINE]++;
  if (!body->first_store) body->first_store = a;
  body->last_store = a;
}

void nw_core_close_lines(const nw_core *k, nw_core_node *body) {
  if (!body->first_store) return;
  bool loop = body->stmt->kind == NW_LOOP && body->first_store->affine;
  int64_t moved = loop ? nw_form_coef(&body->first_store->at, body->slot) : 0;
  if (!loop || !same_line(k, body->last_store, body->first_store, moved)) body->ops.unit[NW_CORE_STORE_LINE]++;
}

// ---- registers

// Adds register spills. A spilled live-in value is reloaded. A spilled held element is reloaded and stored.
static void spill(const nw_core *k, nw_core_node *at) {
  for (int i = 0; i < at->nkids; i++) spill(k, at->kid[i]);
  if (at->stmt->kind != NW_LOOP) return;
  int over = at->live + at->held + 2 - (int)k->machine->vector_registers;
  if (over <= 0) return;
  int loads = over < at->live ? over : at->live, both = over - loads < at->held ? over - loads : at->held;
  at->ops.unit[NW_CORE_SPILL] += loads + 2 * both;
}

static int count_apart(const nw_core *k) {
  int n = 0;
  for (int i = 0; i < k->places.n; i++)
    if (k->apart[i]) n += (int)((k->places.at[i].bytes + k->machine->vector_bytes - 1) / k->machine->vector_bytes);
  return n;
}

void nw_core_spill(nw_core *k) {
  k->root->held = count_apart(k);
  spill(k, k->root);
}
