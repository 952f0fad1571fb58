// Finds the accesses of a lowered program, the bodies that contain them, and their instructions.
#pragma once
#include "cost/cpu/core.h"

typedef void nw_core_store_fn(void *env, nw_core_node *body, const nw_stmt *s);
typedef void nw_core_body_fn(void *env, nw_core_node *body, bool opens);

// Calls `store` for each store of a body and of the bodies inside it, in program order. The enclosing loop variables
// are then in k->names. Calls `enter` before and after each body, with `opens` true before it and false after it.
void nw_core_go(nw_core *k, nw_core_node *body, nw_core_store_fn *store, nw_core_body_fn *enter, void *env);
void nw_core_collect(nw_core *k); // fills k->access with every load and store
// Adds the instructions of a load or a store. An access is split into pieces that are at most as wide as the machine's
// vectors, and each piece needs one instruction.
void nw_core_add_memory(const nw_core *k, nw_core_ops *to, const nw_core_access *a);
// Returns the average number of pieces of an access that cross into a second cache line.
double nw_core_crossings(const nw_core *k, const nw_core_access *a);
bool nw_core_inside(const nw_core_node *at, const nw_core_node *loop); // true if `at` is the loop, or inside it
