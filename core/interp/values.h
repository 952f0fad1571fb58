// Evaluates expressions of scalar variables, without reads.
#pragma once
#include "interp/node.h"

typedef struct nwi_values {
  nw_arena *arena;
  nwi_run run;
  nwi_scope scope;
} nwi_values;

void nwi_values_open(nwi_values *v, nw_ctx *c, int n, const nw_expr *const *var);
void nwi_values_close(nwi_values *v);
// Returns the value of a node at a point, which has a value for each variable. Returns false if an integer is divided by
// zero. After the call, nwi_values_done tells which nodes were needed.
bool nwi_values_at(nwi_values *v, nwi_node *n, nwi_cell *out);
void nwi_values_point(nwi_values *v, const nwi_cell *at); // begins a new point
static inline bool nwi_values_done(const nwi_values *v, const nwi_node *n) { return n->epoch == v->run.epoch; }
double nwi_number(nw_dtype t, const nwi_cell *c); // the value as a number
