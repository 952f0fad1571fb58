// Finds the stages inside a scan, and checks them. A compute that reads a state, perhaps through other stages, has a
// value only while the scan runs. If an update needs it, it becomes a stage inside the scan: each step of time computes
// it for this time, before the first update that needs it. So its first dimension is the time.
#include "te/internal.h"
#include <stdlib.h>

bool nw_te_is_inner(const nw_teop *scan, const nw_teop *op) {
  for (int i = 0; i < scan->ninner; i++)
    if (scan->inner[i].op == op) return true;
  return false;
}

typedef struct search {
  nw_teop *scan;
  nw_vec order; // const nw_teop *: what the updates need, producers first
  bool *depends; // for each entry of `order`, whether it depends on a state
} search;

bool nw_te_is_state(const nw_teop *stage, const nw_teop *op) {
  for (int k = 0; k < stage->ndefs; k++)
    if (stage->state[k]->op == op) return true;
  return false;
}

static bool is_update(const nw_teop *scan, const nw_teop *op) {
  for (int k = 0; k < scan->ndefs; k++)
    if (scan->update[k]->op == op) return true;
  return false;
}

static bool depends(const search *x, int before, const nw_teop *op) {
  for (int i = before - 1; i >= 0; i--)
    if (x->order.at[i] == op) return x->depends[i];
  return false;
}

// Checks what an update or a stage inside the scan reads.
static bool check_reads(const search *x, int i) {
  const nw_teop *op = x->order.at[i];
  for (int j = 0; j < op->nreads; j++) {
    const nw_teop *r = op->reads[j]->op;
    if (r->is_state && !nw_te_is_state(x->scan, r))
      return nw_fail(op->ctx, NW_EINVAL, "make it a state of this scan, or read the result of the other scan",
                     "%s reads %s, which is not a state of this scan", op->name, r->name);
    if (is_update(x->scan, r))
      return nw_fail(op->ctx, NW_EINVAL,
                     "read the state at the same time instead, and list it before the states that need it",
                     "%s reads %s, which is an update of the scan", op->name, r->name);
    if (r->deferred && !depends(x, i, r)) return nw_te_refuse_deferred(r);
  }
  return true;
}

static bool refuse_time(const search *x, const nw_teop *op) {
  const nw_teop *state = x->scan->state[0]->op;
  char *own = op->ndim ? nw_te_text(op->shape[0]) : NULL, *time = nw_te_text(state->shape[0]);
  if (own)
    nw_fail(op->ctx, NW_EINVAL, "make the time its first dimension, as in the update",
            "%s reads the state %s, so its first dimension is the time, but its extent is %s and the scan has %s times",
            op->name, state->name, own, time);
  else
    nw_fail(op->ctx, NW_EINVAL, "give it the time as its first dimension",
            "%s reads the state %s, so its first dimension must be the time, but it has no dimension", op->name,
            state->name);
  free(own), free(time);
  return false;
}

// Adds entry i of the order to the stages inside the scan. The update of state `turn` needs it first.
static bool add_inner(search *x, int i, int turn) {
  nw_teop *scan = x->scan;
  const nw_teop *op = x->order.at[i];
  if (op->kind != NW_TE_COMPUTE)
    return nw_fail(op->ctx, NW_EINVAL, "write it with nw.compute, or make it a state of this scan",
                   "%s %s, and cannot depend on the state of another scan", op->name,
                   op->kind == NW_TE_SCAN ? "is a scan" : "has updates");
  if (op->call.in)
    return nw_fail(op->ctx, NW_EINVAL, "write the expression, and use s:tensorize",
                   "%s is computed by calls of an intrinsic, and depends on a state of the scan", op->name);
  if (!op->ndim || !nw_te_same_size(scan->pool, op->shape[0], scan->shape[0])) return refuse_time(x, op);
  scan->inner = nw_xrealloc(scan->inner, sizeof *scan->inner * (size_t)(scan->ninner + 1));
  scan->inner[scan->ninner++] = (nw_te_inner){op, turn};
  return true;
}

static bool examine(search *x, int i, int turn) {
  const nw_teop *op = x->order.at[i];
  nw_vec needs = nw_te_producers(op);
  x->depends[i] = nw_te_is_state(x->scan, op);
  for (int j = 0; j < needs.n; j++) x->depends[i] = x->depends[i] || depends(x, i, needs.at[j]);
  nw_vec_free(&needs);
  bool update = is_update(x->scan, op);
  if (!update && (!x->depends[i] || nw_te_is_state(x->scan, op))) return true;
  return check_reads(x, i) && (update || add_inner(x, i, turn));
}

bool nw_te_find_inner(nw_teop *scan) {
  search x = {.scan = scan};
  bool ok = true;
  uint64_t since = scan->serial; // nothing that is older than all states depends on one
  for (int k = 0; k < scan->ndefs; k++)
    if (scan->state[k]->op->serial < since) since = scan->state[k]->op->serial;
  for (int k = 0; k < scan->ndefs && ok; k++) {
    int from = x.order.n;
    nw_te_order_since(&x.order, scan->update[k]->op, since);
    x.depends = nw_xrealloc(x.depends, sizeof *x.depends * (size_t)(x.order.n + 1));
    for (int i = from; i < x.order.n && ok; i++) ok = examine(&x, i, k);
  }
  nw_vec_free(&x.order);
  free(x.depends);
  return ok;
}
