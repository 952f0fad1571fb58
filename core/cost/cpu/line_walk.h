// How an access goes from line to line: side by side, as prefetchers like it, or in jumps.
#pragma once
#include "cost/cpu/core.h"

typedef struct nw_line_walk {
  bool loads_jump, stores_jump; // too few lines lie side by side for one to be fetched ahead
  double unforeseen; // 0..1: the part of its lines that nothing fetches ahead, though some may be next to one another
  double crowding; // 0..1: how few sets share those it jumps to
} nw_line_walk;

void nw_line_spans(nw_core *k); // finds what lies side by side, which nw_line_walk_of reads
nw_line_walk nw_line_walk_of(const nw_core *k, const nw_core_access *a);
