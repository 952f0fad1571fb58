// Estimates the energy of a program, with a row for each kind of event.
#pragma once
#include "cost/cpu/core_time.h"

typedef struct nw_energy {
  int n;
  nw_energy_row row[NW_CLASS_COUNT * NW_ENERGY_BITS + 2 * NW_MACHINE_LEVELS + 8];
} nw_energy;

// The bytes that are read from and written to each level of the memory hierarchy. Index 0 is for the first cache level.
// The index after the last cache level is for memory.
typedef struct nw_moved_bytes {
  double read[NW_MACHINE_LEVELS + 1], written[NW_MACHINE_LEVELS + 1];
} nw_moved_bytes;

// Estimates the energy. The dynamic energy is a sum over the kinds of events. Each kind adds its number of events times
// the energy of one event in the machine's record. The static energy is the static power of `cores` cores times
// `seconds`.
void nw_energy_of(const nw_machine *m, const nw_core_ops *all, const nw_moved_bytes *moved, double seconds, int cores,
                  nw_energy *out);
double nw_energy_joules(const nw_energy *e);
