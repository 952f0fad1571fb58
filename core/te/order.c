// Lists all operations that the outputs need, producers first, and the sizes that they use.
#include "te/internal.h"
#include <stdlib.h>

static bool has(const nw_vec *v, const void *x) {
  for (int i = v->n - 1; i >= 0; i--) // backwards, since a producer is usually near the end
    if (v->at[i] == x) return true;
  return false;
}

// True if op is a state of the scan, or a stage inside it.
static bool is_own(const nw_teop *scan, const nw_teop *op) {
  for (int k = 0; k < scan->ndefs; k++)
    if (scan->state[k]->op == op) return true;
  return nw_te_is_inner(scan, op);
}

static void add_reads(nw_vec *needs, const nw_teop *op, const nw_teop *scan) {
  for (int i = 0; i < op->nreads; i++)
    if (!scan || !is_own(scan, op->reads[i]->op)) nw_vec_push(needs, op->reads[i]->op);
}

// True if the init is a compute with one output. The values of such an init are written directly to the scan's first
// rows, or to the updated stage. A stage with updates does not take over a reduction: its elements change their values,
// so the init of the reduction would have to be a block of its own. Calls of an intrinsic write a stage of their own.
bool nw_te_absorbs_init(const nw_teop *op, int k) {
  const nw_teop *i = op->init[k]->op;
  return i->kind == NW_TE_COMPUTE && i->nout == 1 && !i->call.in && (op->kind == NW_TE_SCAN || i->combiner == NW_PLAIN);
}

static bool has_definitions(const nw_teop *op) { return op->kind == NW_TE_SCAN || op->kind == NW_TE_UPDATE; }

// An operation whose producers are being ordered.
typedef struct visit {
  const nw_teop *op;
  nw_vec needs; // its producers, nw_teop *
  int next;
} visit;

nw_vec nw_te_producers(const nw_teop *op) {
  nw_vec needs = {0};
  for (int k = 0; has_definitions(op) && k < op->nout; k++) {
    if (nw_te_absorbs_init(op, k))
      add_reads(&needs, op->init[k]->op, NULL);
    else
      nw_vec_push(&needs, op->init[k]->op);
  }
  for (int i = 0; i < op->ninner; i++) add_reads(&needs, op->inner[i].op, op);
  for (int k = 0; k < op->ndefs; k++) add_reads(&needs, op->update[k]->op, op);
  if (op->kind == NW_TE_COMPUTE) add_reads(&needs, op, NULL);
  return needs;
}

static visit *begin(const nw_teop *op) {
  visit *v = nw_xcalloc(1, sizeof *v);
  *v = (visit){.op = op, .needs = nw_te_producers(op)};
  return v;
}

// The function keeps its own stack in a vector, since recursion over a long chain of operations would overflow the call
// stack.
void nw_te_order_since(nw_vec *order, const nw_teop *op, uint64_t since) {
  nw_vec open = {0};
  if (!has(order, op)) nw_vec_push(&open, begin(op));
  while (open.n) {
    visit *v = open.at[open.n - 1];
    if (v->next < v->needs.n) {
      const nw_teop *need = v->needs.at[v->next++];
      if (need->serial >= since && !has(order, need)) nw_vec_push(&open, begin(need));
      continue;
    }
    nw_vec_push(order, (void *)v->op);
    nw_vec_free(&v->needs);
    free(v);
    open.n--;
  }
  nw_vec_free(&open);
}

static void add_leaf(nw_vec *order, const nw_teop *op, const nw_teop *scan) {
  for (int i = 0; i < op->nreads; i++) {
    const nw_teop *r = op->reads[i]->op;
    if (!(scan && is_own(scan, r)) && !has(order, r)) nw_vec_push(order, (void *)r);
  }
}

void nw_te_alone_order(nw_vec *order, const nw_teop *op) {
  if (op->kind == NW_TE_COMPUTE) add_leaf(order, op, NULL);
  for (int k = 0; has_definitions(op) && k < op->nout; k++) {
    const nw_teop *init = op->init[k]->op;
    if (nw_te_absorbs_init(op, k))
      add_leaf(order, init, NULL);
    else if (!has(order, init))
      nw_vec_push(order, (void *)init);
  }
  for (int i = 0; i < op->ninner; i++) add_leaf(order, op->inner[i].op, op);
  for (int k = 0; k < op->ndefs; k++) add_leaf(order, op->update[k]->op, op);
  nw_vec_push(order, (void *)op);
}

// Inputs come first, in the order of their creation. So the order of a kernel's parameters does not depend on the order
// of reads.
static int by_input(const void *a, const void *b) {
  const nw_teop *x = *(nw_teop *const *)a, *y = *(nw_teop *const *)b;
  return (x->serial > y->serial) - (x->serial < y->serial);
}

static void inputs_first(nw_vec *order) {
  int inputs = 0;
  for (int i = 0; i < order->n; i++) {
    nw_teop *op = order->at[i];
    if (op->kind != NW_TE_PLACEHOLDER) continue;
    nw_vec_remove(order, i);
    nw_vec_insert(order, inputs++, op);
  }
  if (inputs) qsort(order->at, (size_t)inputs, sizeof *order->at, by_input);
}

nw_vec nw_te_order(int n, nw_tensor *const *outputs) {
  nw_vec order = {0};
  for (int i = 0; i < n; i++) nw_te_order_since(&order, outputs[i]->op, 0);
  inputs_first(&order);
  return order;
}

// ---- sizes

static bool size_in(void *env, const nw_expr *e) {
  nw_te_size *s = e->op == NW_OP_VAR ? nw_size_of(e) : NULL;
  if (s && !has(env, s)) nw_vec_push(env, s);
  return true;
}

static void sizes_of_op(nw_vec *sizes, const nw_teop *op) {
  for (int d = 0; d < op->ndim; d++) nw_visit(op->shape[d], size_in, sizes);
  for (int d = 0; op->pitch && d < op->ndim; d++) nw_visit(op->pitch[d], size_in, sizes);
  for (int i = 0; i < op->nreduce; i++) {
    nw_visit(op->reduce[i]->lo, size_in, sizes);
    nw_visit(op->reduce[i]->extent, size_in, sizes);
  }
  for (int i = 0; op->body && i < op->nout; i++) nw_visit(op->body[i], size_in, sizes);
  for (int i = 0; op->lo && i < op->naxes; i++) nw_visit(op->lo[i], size_in, sizes);
  nw_visit(op->target, size_in, sizes);
  nw_visit(op->when, size_in, sizes);
  for (int k = 0; op->init && k < op->nout; k++) sizes_of_op(sizes, op->init[k]->op);
  for (int i = 0; i < op->ninner; i++) sizes_of_op(sizes, op->inner[i].op);
  for (int k = 0; k < op->ndefs; k++) sizes_of_op(sizes, op->update[k]->op);
}

nw_vec nw_te_sizes_of(const nw_vec *order) {
  nw_vec sizes = {0};
  for (int i = 0; i < order->n; i++) sizes_of_op(&sizes, order->at[i]);
  return sizes;
}

nw_vec nw_te_sizes(int n, nw_tensor *const *outputs) {
  nw_vec order = nw_te_order(n, outputs), sizes = nw_te_sizes_of(&order);
  nw_vec_free(&order);
  return sizes;
}

// If two sizes have the name M, the later one is called M_1.
char *nw_te_size_name(const nw_vec *sizes, int i) {
  const nw_te_size *s = sizes->at[i];
  nw_str b = {0};
  int before = 0;
  for (int j = 0; j < i; j++) before += !strcmp(((nw_te_size *)sizes->at[j])->name, s->name);
  nw_str_add(&b, s->name);
  if (before) nw_str_fmt(&b, "_%d", before);
  return nw_str_take(&b);
}
