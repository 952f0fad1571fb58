// Describes the loops and guards around a statement, and how they depend on each other. Private to the model.
#pragma once
#include "cache/exact/model_first.h"

enum { NW_AROUND_DEEP = 64 };

typedef struct nw_around { // the path from the root to the statement
  const nw_affine_node *node[NW_AROUND_DEEP];
  int n;
  bool free[NW_AROUND_DEEP]; // for a loop: true if no bound or guard inside it depends on its variable
  int64_t span[NW_AROUND_DEEP]; // for a loop: the number of time units of one iteration
  int64_t lo[NW_AROUND_DEEP]; // for a loop: its least value
} nw_around;

bool nw_firsts_enough(nw_firsts *f, int64_t n); // counts n more ticks; returns true if the search must stop

// Says how the iterations of a loop or guard change when the value of a slot grows. New iterations may follow the last
// iteration (at_end), or iterations may change in another way (elsewhere).
typedef struct nw_change {
  bool any, at_end, elsewhere;
} nw_change;
nw_change nw_change_of(const nw_affine_node *x, int slot);
void nw_path_find_free(nw_around *p);

// Returns the number of time units of a node. Time units only order the accesses, so that a later access has a greater
// time. Sets the ranges of the slots inside the node. Stops f if the number is too large.
int64_t nw_path_span(nw_firsts *f, const nw_affine_node *x);
int64_t nw_path_round_span(nw_firsts *f, const nw_affine_node *loop); // returns the time units of one iteration
void nw_path_count(nw_firsts *f, const nw_around *p, const nw_affine_node *stmt); // counts the accesses of stmt
