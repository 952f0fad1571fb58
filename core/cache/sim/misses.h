// Builds a list of misses.
#pragma once
#include "cache/sim/sim.h"

nw_misses *nw_misses_new(int most);
void nw_misses_add(nw_misses *m, int level, const char *tensor, const char *loop, bool write,
                   const nw_sim_counts *count);
