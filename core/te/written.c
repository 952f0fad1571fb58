// Checks that each read of a scan's state gets an element that is already written. Elements are written in the order of
// time, then of the states, then row-major.
#include "te/internal.h"
#include <stdlib.h>

typedef struct reading {
  const nw_teop *scan;
  int update; // number of the state whose update contains the read
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
  const nw_teop *own = r->scan->update[r->update]->op, *other = r->scan->update[m]->op;
  const nw_expr *t = at->var[0];
  bool earlier = false;
  for (int k = 0; k < r->scan->nout && r->scan->update[k]->op != own; k++) earlier |= r->scan->update[k]->op == other;
  if (earlier) return nw_le(at->pool, load->arg[0], t);
  return own == other ? nw_te_before(at, load, 0) : nw_lt(at->pool, load->arg[0], t);
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

static bool check_state_read(void *env, nw_place *at, const nw_expr *e) {
  reading *r = env;
  nw_tensor *t = e->op == NW_OP_LOAD ? nw_tensor_of(e) : NULL;
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

bool nw_te_check_scan(const nw_teop *scan) {
  for (int k = 0; k < scan->nout; k++) {
    const nw_teop *u = scan->update[k]->op;
    reading r = {.scan = scan, .update = k, .appeal = {.op = scan}};
    if (u->deferred && !nw_te_check(u, scan->init_rows)) return false;
    if (!nw_te_walk(u, scan->init_rows, check_state_read, &r)) return false;
  }
  return true;
}
