// A pattern is a repeating sequence of sites. For adjacent lines, it gives the site of the first access to each line.
// For example, a loop that is unrolled four times may give a pattern of four sites. Private to the model.
#pragma once
#include "base/base.h"

typedef struct nw_pattern {
  int n;
  uint64_t hash;
  int label[]; // 2 * site, plus 1 for a write
} nw_pattern;

typedef struct nw_patterns { // a set of patterns, without duplicates
  nw_arena *arena;
  nw_vec all;
  const nw_pattern **slot;
  int room;
} nw_patterns;
void nw_patterns_open(nw_patterns *p);
void nw_patterns_close(nw_patterns *p);
const nw_pattern *nw_pattern_of(nw_patterns *p, const int *label, int n);
// Returns the shortest pattern whose repetition gives these labels. Sets *phase to the position in the pattern of the
// first label.
const nw_pattern *nw_pattern_in(nw_patterns *p, const int *label, int n, int *phase);
