// Computes the time of compiled code on a core, with all data in the first cache level.
//
// All instructions are executed, but only samples are timed. The samples are spread over the execution (Wunderlich and
// others, SMARTS, ISCA 2003). Before each sample, LEARNT instructions train the branch predictor. Then WARM
// instructions warm up the simulated core.
#include "cost/asm/code_core.h"
#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 60, MOST_SAMPLES = 300, LEARNT = 20000, WARM = 1500, TIMED = 2500, LOOK = 1 << 16 };

typedef enum pace { FOLLOW, LEARN, TIME } pace;
static const int64_t most_followed = 400000000; // limit on executed instructions

typedef struct simulation {
  nw_ctx *ctx;
  nw_code_state *state;
  nw_code_core *core;
  int64_t followed, timed;
  double cycles;
  bool more; // true if there are more instructions
  bool stopped;
} simulation;

static void look(simulation *k) {
  if (k->followed % LOOK) return;
  k->stopped = nw_stopped(k->ctx);
  k->more = k->more && !k->stopped && k->followed < most_followed;
}

static void go(simulation *k, int64_t n, pace how) {
  for (; n > 0 && k->more; n--) {
    int at = k->state->at;
    k->more = nw_code_step(k->state);
    k->followed++;
    if (how == TIME) nw_code_core_run(k->core, k->state, at);
    if (how == LEARN) nw_code_core_skip(k->core, k->state, at);
    look(k);
  }
}

static void time_some(simulation *k) {
  go(k, WARM, TIME);
  double before = nw_code_core_now(k->core);
  int64_t n = k->followed;
  go(k, TIMED, TIME);
  k->cycles += nw_code_core_now(k->core) - before;
  k->timed += k->followed - n;
}

// Divides the execution into periods, and times a sample at a random position in each period.
static void run(simulation *k, double expected) {
  int64_t period = expected / SAMPLES < WARM + TIMED ? WARM + TIMED : (int64_t)(expected / SAMPLES);
  uint64_t random = 1;
  for (int n = 0; k->more; n++) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int64_t room = period - WARM - TIMED, before = room > 0 ? (int64_t)((random >> 33) % (uint64_t)room) : 0;
    if (n >= MOST_SAMPLES) before = room = INT64_MAX / 2;
    go(k, before - LEARNT, FOLLOW);
    go(k, before < LEARNT ? before : LEARNT, LEARN);
    time_some(k);
    go(k, room - before, FOLLOW);
  }
}

// Computes the result. If the code ended before a sample was timed, the result is the time of the whole execution.
static void finish(const simulation *k, double expected, nw_code_time *out) {
  double followed = (double)k->followed, timed = k->timed ? (double)k->timed : followed;
  double cycles = k->timed ? k->cycles : nw_code_core_now(k->core);
  nw_code_events e = nw_code_core_events(k->core);
  double run = k->timed ? timed * (WARM + TIMED) / TIMED : followed;
  double all = k->followed < most_followed ? followed : fmax(followed, expected);
  out->instructions = all;
  out->cycles = timed > 0 ? all * cycles / timed : 0;
  out->mispredicted = run > 0 ? all * e.missed / run : 0;
  out->waits = run > 0 ? all * e.waits / run : 0;
}

bool nw_code_simulate(nw_ctx *c, const char *assembly, const nw_machine *m, double expected, nw_code_time *out) {
  *out = (nw_code_time){0};
  if (!(expected >= 0 && expected < 1e18)) expected = 0;
  nw_compiled *code = nw_code_read(assembly);
  if (!code) return true; // the code cannot be simulated
  nw_code_needs(code, m);
  simulation k = {.ctx = c, .state = nw_code_begin(code), .core = nw_code_core_new(code, m), .more = true};
  run(&k, expected);
  finish(&k, expected, out);
  nw_code_core_free(k.core);
  nw_code_end(k.state);
  nw_code_free(code);
  return !k.stopped || nw_fail(c, NW_EINTERRUPT, NULL, "the simulation of compiled code was interrupted");
}
