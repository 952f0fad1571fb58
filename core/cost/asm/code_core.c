// Computes when a core fetches, dispatches, issues, completes and retires each instruction.
//
// Instructions are processed in program order. An instruction occupies a port in the first cycle in which its operands
// are ready and the port is free. This cycle may be earlier than the cycle of a preceding instruction. A ring buffer,
// indexed by cycle, stores which ports are occupied. Another ring buffer, indexed by instruction, stores when
// instructions retire.
#include "cost/asm/code_core.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  CYCLES = 1 << 13, // limit on the cycles between dispatch and the latest issue
  INSTRUCTIONS = 1 << 10,
  STORES = 1 << 7,
  STORE_BUFFER = 112,
  FETCHED = 8, // limit on the micro-operations fetched per cycle; all must be in one window
  WINDOW_BYTES = 64, // bytes of a window, which is an aligned block of code
  AHEAD = 24, // limit on the cycles between the fetch of an instruction and its dispatch
  RETIRED = 8, // limit on the number of instructions retired per cycle
  CODE_SETS = 64,
  CODE_WAYS = 8, // ways of the micro-op cache, and of the instruction cache
  DECODED = 16, // bytes of code that are decoded per cycle if the code is not in the micro-op cache
  CODE_MISS = 6, // cycles to fetch a window from the second level of cache
};
static const double vector_load = 2; // extra cycles of a vector load
static const double commit = 3; // cycles from the retirement of a store until the store may write to the cache
static const double masked_forward = 1.8; // extra cycles to forward the data of a masked store with all lanes active
static const double lanes_joined = 8; // cycles from the last load of a gather to the gather's result

typedef struct stored {
  uint64_t from, to; // the range of addresses
  double data, commit; // data: the cycle in which the data is ready; commit: the cycle in which it is in the cache
  bool partial, masked;
} stored;

struct nw_code_core {
  const nw_machine *machine;
  const nw_compiled *code;
  nw_code_guesses *guesses;
  nw_code_events events;
  // dispatch
  int64_t now; // the current cycle
  double width; // micro-operations dispatched per cycle
  double taken; // micro-operations dispatched in this cycle
  double fetched_at, fetch_from;
  int fetched;
  uint64_t window; // the last window that was fetched
  uint64_t decoded[CODE_SETS][CODE_WAYS], cached[CODE_SETS][CODE_WAYS];
  uint16_t ports[CYCLES], issued[CYCLES]; // for each cycle: the occupied ports, and the number of issued instructions
  int64_t waiting; // number of instructions in the scheduler
  double ready[NW_CODE_REGISTERS]; // for each register: the cycle in which its value is ready
  double retired[INSTRUCTIONS], last; // for each micro-operation: the cycle in which it retires; `last`: the last cycle
  int64_t n; // number of micro-operations so far
  int retired_now;
  // stores
  stored store[STORES];
  int64_t nstores;
  double last_commit;
  uint64_t last_line;
};

nw_code_core *nw_code_core_new(const nw_compiled *k, const nw_machine *m) {
  nw_code_core *c = nw_xcalloc(1, sizeof *c);
  c->machine = m, c->code = k;
  c->guesses = nw_code_guesses_new(k->n);
  c->width = fmax(1, round(m->dispatch));
  return c;
}

void nw_code_core_free(nw_code_core *c) {
  if (!c) return;
  nw_code_guesses_free(c->guesses);
  free(c);
}

double nw_code_core_now(const nw_code_core *c) { return c->last; }
nw_code_events nw_code_core_events(const nw_code_core *c) { return c->events; }

// ---- advancing time

static void pass(nw_code_core *c, int64_t to) {
  for (; c->now < to; c->taken = 0) {
    c->ports[c->now & (CYCLES - 1)] = 0;
    uint16_t *issued = &c->issued[++c->now & (CYCLES - 1)];
    c->waiting -= *issued;
    *issued = 0;
  }
}

// Chooses one of the free ports. An integer instruction that can use all ports gets a port that vector instructions
// cannot use, if such a port is free.
static int chosen(int free_ports, int wanted) {
  static const int order[] = {NW_PORT_10, NW_PORT_6, NW_PORT_1, NW_PORT_0};
  bool whole = wanted & NW_PORT_10;
  for (int i = 0; whole && i < 4; i++)
    if (free_ports & order[i]) return order[i];
  return free_ports & -free_ports;
}

// Finds the first cycle, from cycle `from` on, in which one of the ports is free. Occupies the port for `busy` cycles.
static int64_t issue(nw_code_core *c, double from, int ports, int busy) {
  int64_t at = (int64_t)ceil(from - 1e-9), most = c->now + CYCLES - 256;
  if (at <= c->now) at = c->now + 1;
  while (ports && at < most && !(ports & ~c->ports[at & (CYCLES - 1)])) at++;
  if (!ports || at >= most) return at;
  int port = chosen(ports & ~c->ports[at & (CYCLES - 1)], ports);
  for (int i = 0; i < (busy ? busy : 1); i++) c->ports[(at + i) & (CYCLES - 1)] |= (uint16_t)port;
  return at;
}

// ---- fetching

static bool touch_code(uint64_t sets[CODE_SETS][CODE_WAYS], uint64_t window) {
  uint64_t *set = sets[window % CODE_SETS];
  int i = 0;
  while (i < CODE_WAYS - 1 && set[i] != window + 1) i++;
  bool there = set[i] == window + 1;
  memmove(set + 1, set, (size_t)i * sizeof *set);
  set[0] = window + 1;
  return there;
}

// Fetches instruction x. In one cycle, up to FETCHED micro-operations are fetched from one window, up to a taken
// branch. Code that is not in the micro-op cache takes longer.
static void fetch(nw_code_core *c, const nw_code_ins *x) {
  uint64_t window = x->at / WINDOW_BYTES;
  c->fetched_at = fmax(c->fetched_at, (double)c->now - AHEAD);
  if (c->fetch_from > c->fetched_at) c->fetched_at = c->fetch_from, c->fetched = 0;
  if (x->fused) return;
  if (window != c->window || c->fetched + x->parts > FETCHED) {
    c->fetched_at += c->fetched > 0;
    c->fetched = 0;
    if (window != c->window && !touch_code(c->decoded, window)) c->fetched_at += WINDOW_BYTES / DECODED;
    if (window != c->window && !touch_code(c->cached, window)) c->fetched_at += CODE_MISS;
    c->window = window;
  }
  c->fetched += x->parts;
}

static void end_fetch(nw_code_core *c) {
  c->fetched_at += 1;
  c->fetched = 0;
  c->window = UINT64_MAX;
}

// ---- dispatch

// Dispatches instruction x. Instructions are dispatched in order, when there is space in all buffers.
static void dispatch(nw_code_core *c, const nw_code_ins *x) {
  const nw_machine *m = c->machine;
  int64_t window = (int64_t)fmin(m->window, INSTRUCTIONS - 64);
  double from = fmax((double)c->now, c->fetched_at), parts = x->fused ? 0 : x->parts;
  if (c->n >= window) from = fmax(from, c->retired[(c->n - window) & (INSTRUCTIONS - 1)]);
  if (x->store && c->nstores >= STORE_BUFFER)
    from = fmax(from, c->store[(c->nstores - STORE_BUFFER) & (STORES - 1)].commit);
  pass(c, (int64_t)ceil(from));
  while (c->waiting >= (int64_t)m->scheduler) pass(c, c->now + 1);
  if (c->taken && c->taken + parts > c->width) pass(c, c->now + 1);
  for (c->taken += parts; c->taken > c->width;) {
    double rest = c->taken - c->width;
    pass(c, c->now + 1);
    c->taken = rest;
  }
}

static double ready(const nw_code_core *c, const uint8_t *reg, int n) {
  double at = (double)c->now + 1;
  for (int i = 0; i < n; i++) at = fmax(at, c->ready[reg[i]]);
  return at;
}

// ---- loads

// Returns the cycle in which a load of the bytes `from` to `to` - 1 gets its data. `there` is the cycle in which data
// from the cache arrives. If an earlier store to these bytes is not in the cache yet, the data of the youngest such
// store is forwarded. If forwarding is impossible, the load waits until the store is in the cache.
static double forwarded(nw_code_core *c, double at, double there, uint64_t from, uint64_t to) {
  const nw_machine *m = c->machine;
  for (int64_t i = c->nstores - 1; i >= 0 && i >= c->nstores - STORE_BUFFER; i--) {
    const stored *s = &c->store[i & (STORES - 1)];
    if (s->commit <= at) break;
    if (s->from >= to || s->to <= from) continue;
    if (s->from <= from && s->to >= to && !s->partial)
      return fmax(there, s->data + m->forward + (s->masked ? masked_forward : 0));
    c->events.waits++;
    return fmax(there, s->commit + m->forward_masked - m->level[0].latency);
  }
  return there;
}

static bool crosses(uint64_t from, uint64_t to, uint64_t unit) { return from / unit != (to - 1) / unit; }

// Returns the cycle in which the loaded data is ready. Sets *issued to the cycle in which the instruction's last access
// began.
static double load(nw_code_core *c, const nw_code_state *s, const nw_code_ins *x, double from, double *issued) {
  int ports = x->bytes > 32 ? NW_PORT_LOAD_WIDE : NW_PORT_LOAD;
  double latency = round(c->machine->level[0].latency) + (x->name[0] == 'v' ? vector_load : 0), all = from;
  for (int i = 0; i < s->naddress; i++) {
    uint64_t at = s->address[i], to = at + x->bytes;
    double begin = (double)issue(c, from, ports, 1);
    if (crosses(at, to, (uint64_t)c->machine->level[0].line)) issue(c, begin, ports, 1);
    *issued = fmax(*issued, begin);
    all = fmax(all, forwarded(c, begin, begin + latency, at, to));
  }
  return all + (x->lanes ? lanes_joined : 0);
}

// ---- stores

static double store(nw_code_core *c, const nw_code_state *s, const nw_code_ins *x, double from, double data,
                    double *issued) {
  double done = data;
  for (int i = 0; i < s->naddress; i++) {
    double address = (double)issue(c, from, NW_PORT_ADDRESS, 1);
    double value = (double)issue(c, data, x->bytes > 32 ? NW_PORT_DATA_WIDE : NW_PORT_DATA, 1);
    *issued = fmax(*issued, fmax(address, value));
    done = fmax(done, fmax(address, value) + 1);
  }
  return done;
}

// Records when the stores of an instruction write to the cache. Stores do this in order, after they retire. Two stores
// per cycle are possible if they are in the same line.
static void leave(nw_code_core *c, const nw_code_state *s, const nw_code_ins *x, double data) {
  uint64_t line = (uint64_t)c->machine->level[0].line;
  for (int i = 0; i < s->naddress; i++) {
    uint64_t from = s->address[i], to = from + x->bytes;
    double by = crosses(from, to, line)       ? 1 + c->machine->store_crossing
                : from / line == c->last_line ? 0.5
                                              : 1 / c->machine->store_lines;
    c->last_commit = fmax(c->last + commit, c->last_commit + by);
    c->last_line = (to - 1) / line;
    bool masked = x->mask != NW_CODE_NONE && !x->lanes;
    c->store[c->nstores++ & (STORES - 1)] = (stored){from, to, data, c->last_commit, s->partial && masked, masked};
  }
}

// ---- whole instructions

static void retire(nw_code_core *c, const nw_code_ins *x, double done) {
  double at = fmax(done, c->last);
  c->retired_now = at > c->last ? 1 : c->retired_now + 1;
  if (c->retired_now > RETIRED) at += 1, c->retired_now = 1;
  c->last = at;
  for (int i = 0; i < (x->parts ? x->parts : 1); i++) c->retired[c->n++ & (INSTRUCTIONS - 1)] = at;
}

static void wait_in_scheduler(nw_code_core *c, double until) {
  int64_t at = (int64_t)until;
  if (at <= c->now || at >= c->now + CYCLES) return;
  c->issued[at & (CYCLES - 1)]++;
  c->waiting++;
}

static void branch(nw_code_core *c, const nw_code_state *s, const nw_code_ins *x, int at, double done) {
  enum { FRONT = 4 }; // cycles of the misprediction penalty that pass between fetch and dispatch
  bool missed = x->op == NW_CODE_BRANCH && !nw_code_foretold(c->guesses, at, s->taken);
  if (missed) c->events.missed++, c->fetch_from = fmax(c->fetch_from, done + c->machine->branch_miss - FRONT);
  if (!s->taken) return;
  nw_code_path(c->guesses, at, s->at);
  end_fetch(c);
}

void nw_code_core_run(nw_code_core *c, const nw_code_state *s, int at) {
  const nw_code_ins *x = &c->code->ins[at];
  fetch(c, x);
  dispatch(c, x);
  double operands = ready(c, x->src, x->nsrc), addresses = ready(c, x->address, x->naddress), issued = 0;
  if (x->lanes) operands = addresses = fmax(operands, addresses);
  if (x->load) operands = fmax(operands, load(c, s, x, addresses, &issued));
  double done = operands + x->latency;
  if (x->ports) {
    issued = fmax(issued, (double)issue(c, operands, x->ports, x->busy));
    done = issued + x->latency;
  }
  for (int i = 0; i < x->more; i++) issue(c, operands, x->more_ports, 1);
  double data = done;
  if (x->store) done = store(c, s, x, addresses, data, &issued);
  wait_in_scheduler(c, issued);
  for (int i = 0; i < x->ndst; i++) c->ready[x->dst[i]] = done;
  retire(c, x, done);
  if (x->store) leave(c, s, x, data);
  branch(c, s, x, at, done);
}

void nw_code_core_skip(nw_code_core *c, const nw_code_state *s, int at) {
  if (c->code->ins[at].op == NW_CODE_BRANCH) nw_code_foretold(c->guesses, at, s->taken);
  if (s->taken) nw_code_path(c->guesses, at, s->at);
}
