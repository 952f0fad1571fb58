// Energy, by consumer.
#pragma once
#include "cost/cpu/core_time.h"

typedef struct nw_energy {
  int n;
  nw_energy_row row[NW_CLASS_COUNT * NW_ENERGY_BITS + 2 * NW_MACHINE_LEVELS + 8];
} nw_energy;

typedef struct nw_moved_bytes { // between levels; index 0: between the core and the first level
  double read[NW_MACHINE_LEVELS + 1], written[NW_MACHINE_LEVELS + 1]; // the last index is for memory
} nw_moved_bytes;

// Estimates energy: each count times its energy in the machine's table, plus static power for the run time on `cores`
// cores.
void nw_energy_of(const nw_machine *m, const nw_core_ops *all, const nw_moved_bytes *moved, double seconds, int cores,
                  nw_energy *out);
double nw_energy_joules(const nw_energy *e);
