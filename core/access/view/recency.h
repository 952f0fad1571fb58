// Computes stack distances. The stack distance of an access to a cache line is the number of different lines accessed
// since the last access to the same line.
//
// Each accessed line has a slot. If the last access to one line is later than the last access to another line, its slot
// is higher. A bit for each slot says whether the slot holds a line. A Fenwick tree over 64-bit words of these bits
// gives the number of lines in the slots after a slot. When all slots have been used, the lines are moved to the first
// slots.
//
// See Olken, "Efficient Methods for Calculating the Success Function of Fixed Space Replacement Policies", 1981, and
// Fenwick, "A New Data Structure for Cumulative Frequency Tables", 1994.
#pragma once
#include "base/base.h"

typedef struct nw_recency {
  uint32_t *slot; // for each line: its slot (1 or higher), or 0 if the line was never accessed
  uint32_t *line; // for each slot: its line
  uint64_t *here; // one bit for each slot: 1 if the slot holds a line
  uint32_t *tree; // Fenwick tree of the numbers of bits in the words of `here`
  uint32_t slots, words, next; // next: the first free slot
  uint32_t live; // number of lines accessed so far
} nw_recency;
void nw_recency_init(nw_recency *r, uint32_t lines); // lines are numbered 1..lines
void nw_recency_free(nw_recency *r);
// Records an access to the line, and returns its stack distance; -1 if it is the first access to the line.
int64_t nw_recency_ask(nw_recency *r, uint32_t line);
