// Computes the cycles of bodies.
//
// A body takes as long as its busiest resource. The resources are dispatch, load and store ports, execution units, and
// transfers from other levels. A *chain* is a sequence of operations in which each operation needs the result of the
// previous operation, as in a reduction. A core executes independent instructions at the same time if they are in its
// instruction window. So if several bodies fit in the window, their uses of each resource are added up before the
// busiest resource is determined. A chain that ends with its loop overlaps the chain of the loop's next execution.
#include "cost/cpu/core_time.h"
#include "cost/cpu/core_access.h"
#include "cost/cpu/core_chain.h"
#include <math.h>

// Returns the name of a bound. Transfers into the last cache level come from memory, so the name of their bound is
// "memory".
const char *nw_core_bound_name(const nw_machine *m, int bound) {
  static const char *const names[] = {"dispatch",
                                      "loads",
                                      "stores",
                                      "arithmetic",
                                      "division",
                                      "integers",
                                      "branches",
                                      "store forwarding",
                                      "outstanding cache misses",
                                      "L2 to L1",
                                      "L3 to L2",
                                      "L4 to L3",
                                      "memory",
                                      "latency"};
  return names[bound == NW_BOUND_LEVEL + m->nlevels - 1 ? NW_CORE_BOUNDS - 1 : bound];
}

// ---- resources of one run of a body

static double rate(const nw_machine *m, int class, int width) {
  double r = m->op[class].per_cycle[width];
  for (int w = width; r <= 0 && w >= 0; w--) r = m->op[class].per_cycle[w] / (1 << (width - w));
  return r > 0 ? r : 1;
}

static bool is_call(int class) { return class >= NW_CLASS_EXP && class <= NW_CLASS_POW64; }

static int unit_of(int class, int width) {
  if (class == NW_CLASS_LOAD) return NW_BOUND_LOAD;
  if (class == NW_CLASS_STORE) return NW_BOUND_STORE;
  if (class >= NW_CLASS_DIV && class <= NW_CLASS_SQRT64) return NW_BOUND_DIVIDE;
  if (class >= NW_CLASS_INT && class <= NW_CLASS_INTDIV && !width) return NW_BOUND_INTEGER;
  return NW_BOUND_FLOAT;
}

enum { PAGE = 4096 };

// Returns the cycles of an access that crosses into the next line, averaged over the lines of a page. A crossing from
// the last line of a page leads into another page and costs more.
static double crossing(const nw_machine *m) {
  return m->line_crossing + (m->page_crossing - m->line_crossing) * (double)m->level[0].line / PAGE;
}

static nw_core_cost own_cost(const nw_machine *m, const nw_core_ops *ops) {
  nw_core_cost c = {0};
  const double *unit = ops->unit;
  for (int k = 0; k < NW_CLASS_COUNT; k++)
    for (int w = 0; w < NW_WIDTHS; w++) {
      if (!ops->op[k][w]) continue;
      double cycles = ops->op[k][w] / rate(m, k, w);
      c.busy[unit_of(k, w)] += cycles;
      c.instructions += is_call(k) ? cycles * m->dispatch : ops->op[k][w];
    }
  c.busy[NW_BOUND_LOAD] += unit[NW_CORE_LOAD_CROSSING] * crossing(m) + unit[NW_CORE_GATHER] * m->gather;
  c.busy[NW_BOUND_STORE] += unit[NW_CORE_STORE_CROSSING] * m->store_crossing + unit[NW_CORE_SCATTER] * m->scatter;
  c.busy[NW_BOUND_STORE] = fmax(c.busy[NW_BOUND_STORE], unit[NW_CORE_STORE_LINE] / m->store_lines);
  c.busy[NW_BOUND_BRANCH] += unit[NW_CORE_BRANCH] * m->loop;
  c.busy[NW_BOUND_LOAD] += unit[NW_CORE_SPILL] / rate(m, NW_CLASS_LOAD, nw_width_of(m->vector_bytes));
  c.instructions += m->gather_instructions * (unit[NW_CORE_GATHER] + unit[NW_CORE_SCATTER]) + unit[NW_CORE_SPILL] +
                    unit[NW_CORE_BRANCH] - unit[NW_CORE_FOLDED];
  c.busy[NW_BOUND_DISPATCH] = c.instructions / m->dispatch;
  c.waiting = ops->waiting;
  return c;
}

// Adds the cycles of transfers. The node has the totals of all executions, so they are divided by the number of
// executions.
static void add_transfers(const nw_machine *m, const nw_core_node *at, nw_core_cost *c) {
  if (!at->times) return;
  for (int i = 0; i < m->nlevels; i++) c->busy[NW_BOUND_LEVEL + i] += at->transfer[i] / (double)at->times;
  c->busy[NW_BOUND_LINES] += hypot(fmax(at->under_way[0], at->under_way[2]), at->under_way[1]) / (double)at->times;
}

static void add_times(nw_core_cost *to, const nw_core_cost *c, double times) {
  for (int i = 0; i < NW_CORE_BOUNDS; i++) to->busy[i] += times * c->busy[i];
  to->instructions += times * c->instructions;
  to->waiting += times * c->waiting;
}

// Finds the busiest resource, and returns its cycles. In the ECM model, transfers do not overlap loads and stores, so
// their cycles are added.
static double busiest_unit(const nw_machine *m, const nw_core_cost *c, int *bound) {
  double most = 0, apart = 0;
  for (int i = 0; i < NW_CORE_BOUNDS; i++)
    if (c->busy[i] > most) most = c->busy[i], *bound = i;
  if (m->combine == NW_COMBINE_MAX) return most;
  apart = fmax(c->busy[NW_BOUND_LOAD], c->busy[NW_BOUND_STORE]);
  for (int i = 0; i < m->nlevels; i++) {
    bool overlaps = i + 1 < m->nlevels ? m->level[i + 1].overlaps : m->memory.overlaps;
    if (!overlaps) apart += c->busy[NW_BOUND_LEVEL + i];
  }
  return fmax(most, apart);
}

// Does the same as busiest_unit, but also considers loads that wait until stores are in the cache (core_blocked.c).
// This wait overlaps little with other work, because the stores wait for earlier stores, and later instructions wait
// for the loads.
static double busiest(const nw_machine *m, const nw_core_cost *c, int *bound) {
  double most = busiest_unit(m, c, bound), blocked = c->busy[NW_BOUND_FORWARD];
  if (!blocked) return most;
  blocked += fmax(c->busy[NW_BOUND_STORE], c->busy[NW_BOUND_DISPATCH]);
  if (blocked > most) *bound = NW_BOUND_FORWARD;
  return sqrt(hypot(most * most, blocked * blocked));
}

// Adds the cycles in which loads wait until stores are in the cache. There is no wait if the instructions between the
// stores and the loads fill the window, because the stores are then already in the cache.
static void add_blocked(const nw_machine *m, const nw_core_node *at, nw_core_cost *c) {
  if (!at->blocked || c->instructions > m->window * at->blocked) return;
  c->busy[NW_BOUND_FORWARD] += at->blocked * m->forward_masked;
}

// ---- bodies

static bool is_loop(const nw_core_node *at) { return at->stmt->kind == NW_LOOP; }

static double average(const nw_core_node *at) { return at->entered ? (double)at->times / (double)at->entered : 0; }

static nw_core_cost time_of(nw_core *k, nw_core_node *at);

// Returns the cycles from the end of a chain to the end of the next, independent chain. Chains that are in the
// instruction window at the same time overlap. If a body is smaller than the window, the window contains several
// bodies. Otherwise, the next body begins when the remaining instructions of this body fit in the window.
static double beside(const nw_machine *m, const nw_core_cost *c) {
  double wait = c->wait, windows = fmax(c->instructions / m->window, c->waiting / m->scheduler);
  if (windows < 1) return wait / (1 + 1 / fmax(windows, 1e-9));
  return windows < 2 ? wait / 2 : wait * (1 - 1 / windows);
}

// Adds the resources of the child bodies to `all`. Returns the time of the children and of the body's own instructions
// (`own`) if they run one after the other. Sets *bound to the limit of the part that takes longest.
static double one_by_one(nw_core *k, nw_core_node *at, const nw_core_cost *own, nw_core_cost *all, int *bound) {
  double longest = busiest(k->machine, own, bound), sum = longest;
  for (int i = 0; i < at->nkids; i++) {
    nw_core_node *kid = at->kid[i];
    nw_core_cost c = time_of(k, kid);
    double times = at->times ? (double)kid->entered / (double)at->times : 0;
    double cycles = times * hypot(c.cycles, beside(k->machine, &c));
    add_times(all, &c, times);
    sum += cycles;
    if (cycles > longest) longest = cycles, *bound = kid->bound;
  }
  return sum;
}

static nw_core_cost body_time(nw_core *k, nw_core_node *at, int *bound) {
  const nw_machine *m = k->machine;
  nw_core_cost all = own_cost(m, &at->ops), own;
  add_transfers(m, at, &all);
  own = all;
  int longest = NW_BOUND_DISPATCH;
  double apart = one_by_one(k, at, &own, &all, &longest);
  add_blocked(m, at, &all);
  bool merged = all.instructions <= m->window;
  nw_core_cost inside = all;
  inside.wait = nw_core_longest_chain(k, at, false);
  double together = busiest(m, &all, bound), chain = beside(m, &inside), waits = merged ? chain : fmax(chain, apart);
  all.cycles = merged ? hypot(together, waits) : fmax(together, waits);
  if (waits > 1.05 * together) *bound = waits > chain ? longest : NW_BOUND_LATENCY;
  return all;
}

// Returns the delay of a mispredicted loop exit. No new instructions arrive during the delay, but instructions that
// wait in the window are executed and hide a part of it.
static double exit_miss(const nw_machine *m, const nw_core_node *at, const nw_core_cost *c) {
  int64_t n;
  bool constant = nw_is_int(at->stmt->loop.extent, &n);
  if (constant && (double)n <= m->foretold) return 0;
  double ahead =
      fmin(1, m->window / fmax(c->instructions, 1)) * (fmax(c->cycles, c->wait) - c->instructions / m->dispatch);
  return fmax(0, m->branch_miss - fmax(0, ahead));
}

static nw_core_cost time_of(nw_core *k, nw_core_node *at) {
  int bound = NW_BOUND_DISPATCH;
  nw_core_cost body = body_time(k, at, &bound), all = {0};
  double n = is_loop(at) || at->stmt->kind == NW_GUARD ? average(at) : 1;
  add_times(&all, &body, n);
  if (is_loop(at) && !at->called) body.cycles = fmax(body.cycles, k->machine->loop);
  all.cycles = n * body.cycles;
  if (is_loop(at)) {
    at->carried = nw_core_longest_chain(k, at, true);
    all.wait = n * at->carried;
    if (at->carried > body.cycles) bound = NW_BOUND_LATENCY;
    all.cycles += exit_miss(k->machine, at, &all);
  }
  at->bound = bound;
  at->cycles = fmax(all.cycles, all.wait) * (double)at->entered;
  return all;
}

// Limits the cycles of each loop to those of the loop around it. This matters for a loop with a long chain that
// overlaps other chains.
static void limit(nw_core_node *at, double most) {
  at->cycles = fmin(at->cycles, most);
  for (int i = 0; i < at->nkids; i++) limit(at->kid[i], at->cycles);
}

nw_core_cost nw_core_time(nw_core *k) {
  nw_core_cost c = time_of(k, k->root);
  limit(k->root, k->root->cycles);
  return c;
}

static void add_ops(nw_core_ops *to, const nw_core_ops *ops, double times) {
  for (int c = 0; c < NW_CLASS_COUNT; c++) {
    for (int w = 0; w < NW_WIDTHS; w++) to->op[c][w] += times * ops->op[c][w];
    for (int b = 0; b < NW_ENERGY_BITS; b++) to->numbers[c][b] += times * ops->numbers[c][b];
  }
  for (int u = 0; u < NW_CORE_UNITS; u++) to->unit[u] += times * ops->unit[u];
}

static void add_body(const nw_core_node *at, nw_core_ops *to) {
  add_ops(to, &at->ops, (double)at->times);
  for (int i = 0; i < at->nkids; i++) add_body(at->kid[i], to);
}

void nw_core_add_all(const nw_core *k, nw_core_ops *to) { add_body(k->root, to); }

double nw_core_instructions(const nw_core_ops *ops) {
  double n = ops->unit[NW_CORE_BRANCH] + ops->unit[NW_CORE_SPILL] + ops->unit[NW_CORE_GATHER] +
             ops->unit[NW_CORE_SCATTER] - ops->unit[NW_CORE_FOLDED];
  for (int c = 0; c < NW_CLASS_COUNT; c++)
    for (int w = 0; w < NW_WIDTHS; w++) n += ops->op[c][w];
  return n;
}
