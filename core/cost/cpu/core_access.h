// Finds the accesses of a lowered program, the bodies that contain them, and their instructions.
#pragma once
#include "cost/cpu/core.h"

typedef void nw_core_store_fn(void *env, nw_core_node *body, const nw_stmt *s);
typedef void nw_core_body_fn(void *env, nw_core_node *body, bool opens);

// Visits the stores of a body and the bodies inside it, in order, with their loop variables in scope.
void nw_core_go(nw_core *k, nw_core_node *body, nw_core_store_fn *store, nw_core_body_fn *enter, void *env);
void nw_core_collect(nw_core *k); // fills k->access with every load and store
// Adds the instructions of a load or a store, in pieces as wide as the machine's vectors.
void nw_core_add_memory(const nw_core *k, nw_core_ops *to, const nw_core_access *a);
// Returns the average number of these pieces that cross into a second cache line.
double nw_core_crossings(const nw_core *k, const nw_core_access *a);
bool nw_core_inside(const nw_core_node *at, const nw_core_node *loop); // true if `at` is the loop, or inside it
