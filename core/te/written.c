// Checks that each read of a scan's state, or of a stage inside the scan, gets an element that is already written.
// Elements are written in the order of time, then of the states, then row-major. A stage inside is written before the
// first update that needs it.
#include "te/internal.h"
#include <stdlib.h>

typedef struct reading {
  const nw_teop *scan;
  const nw_teop *own; // the update, or the stage inside the scan, that contains the read
  int turn; // it runs before the update of this state
  nw_appeal appeal;
} reading;

static int state_index(const nw_teop *scan, const nw_teop *op) {
  for (int m = 0; m < scan->nout; m++)
    if (scan->state[m]->op == op) return m;
  return -1;
}

// Returns the condition under which the index of the load is before the index of the element that is written, in
// row-major order. Only dimension d and later dimensions are compared.
const nw_expr *nw_te_before(nw_place *at, const nw_expr *load, int d) {
  nw_pool *p = at->pool;
  const nw_expr *own = at->var[d], *less = nw_lt(p, load->arg[d], own);
  if (d + 1 == load->n) return less;
  return nw_make2(p, NW_OP_OR, less, nw_and(p, nw_eq(p, load->arg[d], own), nw_te_before(at, load, d + 1)));
}

// Returns the condition under which the load reads an element that is already written. At the current time:
// - a state whose update runs earlier is complete;
// - a state of the same block is written up to the current element;
// - a state whose update runs later is not written at all.
static const nw_expr *written(const reading *r, nw_place *at, const nw_expr *load, int m) {
  const nw_teop *other = r->scan->update[m]->op;
  const nw_expr *t = at->var[0];
  bool earlier = false;
  int turn = NW_MUTATED(scan_inner_late) && r->own != r->scan->update[r->turn]->op ? r->scan->nout : r->turn;
  for (int k = 0; k < turn; k++) earlier |= r->scan->update[k]->op == other;
  if (earlier) return nw_le(at->pool, load->arg[0], t);
  return r->own == other ? nw_te_before(at, load, 0) : nw_lt(at->pool, load->arg[0], t);
}

static bool refuse(nw_place *at, const nw_expr *load, const nw_witness *w) {
  char *text = nw_te_text(load);
  nw_fail(at->ctx, NW_ERANGE, "a state may be read only at earlier times, or at earlier elements of the same time",
          "in %s, %s %s%s%s", at->op->name, text,
          w->found ? "reads an element not yet written" : "is not proven to read only elements already written",
          w->found && *w->at ? " at " : "", w->found ? w->at : "");
  free(text);
  return false;
}

static bool inside(reading *r, nw_place *at, const nw_expr *load, int d) {
  nw_pool *p = at->pool;
  const nw_expr *e = load->arg[d], *zero = nw_index(p, 0), *extent = nw_import(p, r->scan->shape[d]);
  nw_witness w;
  bool ok = nw_te_holds(at, nw_le(p, zero, e), e, &w) && nw_te_holds(at, nw_lt(p, e, extent), e, &w);
  if (!ok && !w.found) ok = nw_te_judged(&r->appeal);
  if (!ok) nw_te_refuse_read(at, load, d, extent, &w);
  free(w.at);
  return ok;
}

// Checks the read of a stage inside the scan. It has values for the times that the scan has computed.
static bool check_inner_read(reading *r, nw_place *at, const nw_expr *load) {
  nw_pool *p = at->pool;
  const nw_expr *time = load->arg[0], *first = nw_import(p, r->scan->init_rows);
  nw_witness w;
  if (NW_MUTATED(scan_inner_time)) return true;
  bool ok = nw_te_holds(at, nw_le(p, first, time), time, &w) && nw_te_holds(at, nw_le(p, time, at->var[0]), time, &w);
  if (!ok && !w.found) ok = nw_te_judged(&r->appeal);
  if (!ok) {
    char *text = nw_te_text(load), *from = nw_te_text(first);
    nw_fail(at->ctx, NW_ERANGE, "guard it: nw.select(condition, read, otherwise), or make it a state",
            "in %s, %s %s the times from %s to the current one%s%s", at->op->name, text,
            w.found ? "is not one of" : "is not proven to be one of", from, w.found && *w.at ? " at " : "",
            w.found ? w.at : "");
    free(text), free(from);
  }
  free(w.at);
  return ok;
}

static bool check_state_read(void *env, nw_place *at, const nw_expr *e) {
  reading *r = env;
  nw_tensor *t = e->op == NW_OP_LOAD ? nw_tensor_of(e) : NULL;
  if (t && nw_te_is_inner(r->scan, t->op)) return check_inner_read(r, at, e);
  int m = t ? state_index(r->scan, t->op) : -1;
  if (m < 0) return true;
  nw_witness w;
  for (int d = 0; d < e->n; d++)
    if (!inside(r, at, e, d)) return false;
  bool ok = nw_te_holds(at, written(r, at, e, m), e->arg[0], &w);
  if (!ok && !w.found) ok = nw_te_judged(&r->appeal);
  if (!ok) refuse(at, e, &w);
  free(w.at);
  return ok;
}

// Checks an update, or a stage inside the scan, which runs before the update of state `turn`.
static bool check_part(const nw_teop *scan, const nw_teop *op, int turn) {
  reading r = {.scan = scan, .own = op, .turn = turn, .appeal = {.op = scan}};
  if (op->deferred && !nw_te_check(op, scan->init_rows)) return false;
  return nw_te_walk(op, scan->init_rows, check_state_read, &r);
}

bool nw_te_check_scan(const nw_teop *scan) {
  for (int i = 0; i < scan->ninner; i++)
    if (!check_part(scan, scan->inner[i].op, scan->inner[i].turn)) return false;
  for (int k = 0; k < scan->nout; k++) {
    int turn = 0;
    while (scan->update[turn]->op != scan->update[k]->op) turn++;
    if (!check_part(scan, scan->update[k]->op, turn)) return false;
  }
  return true;
}
