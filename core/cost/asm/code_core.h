// Simulates the timing of a core. The input is the sequence of executed instructions, with the addresses that they
// access. For each instruction, the simulation computes when it is fetched, dispatched, issued to a port, completed and
// retired. All data is assumed to be in the first cache level.
#pragma once
#include "cost/asm/code.h"

enum {
  NW_PORT_0 = 1 << 0,
  NW_PORT_1 = 1 << 1,
  NW_PORT_5 = 1 << 2,
  NW_PORT_6 = 1 << 3,
  NW_PORT_10 = 1 << 4,
  NW_PORT_LOAD = 7 << 5,
  NW_PORT_LOAD_WIDE = 3 << 5,
  NW_PORT_ADDRESS = 3 << 8, // addresses of stores
  NW_PORT_DATA = 3 << 10,
  NW_PORT_DATA_WIDE = 1 << 10,
};

typedef struct nw_code_core nw_code_core;

nw_code_core *nw_code_core_new(const nw_compiled *k, const nw_machine *m);
void nw_code_core_free(nw_code_core *c);
// Simulates the timing of instruction `at`. It must be called after nw_code_step has executed the instruction.
void nw_code_core_run(nw_code_core *c, const nw_code_state *s, int at);
// Updates only the branch predictor for instruction `at`. It must be called after nw_code_step has executed the
// instruction.
void nw_code_core_skip(nw_code_core *c, const nw_code_state *s, int at);
double nw_code_core_now(const nw_code_core *c); // the cycle in which the last instruction was retired

typedef struct nw_code_events { // events of the instructions that were simulated
  double missed; // number of mispredicted branches
  double waits; // number of loads that waited until an earlier store had written to the cache
} nw_code_events;
nw_code_events nw_code_core_events(const nw_code_core *c);

// ---- branch prediction: code_branch.c

typedef struct nw_code_guesses nw_code_guesses;
nw_code_guesses *nw_code_guesses_new(int instructions);
void nw_code_guesses_free(nw_code_guesses *g);
// Predicts whether the branch at `at` is taken, and updates the predictor. Returns true if the prediction was right.
bool nw_code_foretold(nw_code_guesses *g, int at, bool taken);
void nw_code_path(nw_code_guesses *g, int from, int to); // records a taken branch
