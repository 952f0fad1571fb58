// Models the calls of intrinsics. The code of an intrinsic is unknown: the program has only a nest that does the same work.
// An intrinsic is assumed to be good vector code. It does the operations, loads and stores of the nest in vectors of the
// machine's full width, with enough independent accumulators, and without instructions for its loops.
#include "cost/cpu/core_called.h"

// Returns the average number of elements of this class in a vector.
static double lanes_of(const nw_machine *m, const double *numbers) {
  double all = 0, vectors = 0;
  for (int b = 0; b < NW_ENERGY_BITS; b++) {
    double lanes = (double)(m->vector_bytes >> b);
    all += numbers[b];
    vectors += numbers[b] / (lanes > 1 ? lanes : 1);
  }
  return vectors > 0 ? all / vectors : 1;
}

static void vectorize(const nw_machine *m, nw_core_node *at) {
  nw_core_ops *ops = &at->ops;
  int wide = nw_width_of(m->vector_bytes);
  for (int c = 0; c < NW_CLASS_COUNT; c++) {
    double lanes = lanes_of(m, ops->numbers[c]), scalar = ops->op[c][0];
    ops->op[c][0] = 0;
    if (c != NW_CLASS_INT || lanes > 1) ops->op[c][wide] += scalar / lanes;
  }
  for (int u = 0; u < NW_CORE_UNITS; u++) ops->unit[u] = 0;
  ops->waiting = 0;
  at->chain.n = 0;
  at->live = at->held = 0;
}

static void look(const nw_machine *m, nw_core_node *at) {
  if (at->called && !NW_MUTATED(called_scalar)) vectorize(m, at);
  for (int i = 0; i < at->nkids; i++) look(m, at->kid[i]);
}

void nw_core_call(nw_core *k) { look(k->machine, k->root); }

static bool has_call(const nw_core_node *at) {
  bool has = at->called;
  for (int i = 0; i < at->nkids; i++) has |= has_call(at->kid[i]);
  return has;
}

bool nw_core_calls(const nw_core *k) { return has_call(k->root); }
