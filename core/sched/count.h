// Counts the executions, operations and bytes of a program, for its log. Private to sched/.
#pragma once
#include "ir/program/program.h"

typedef struct nw_count {
  double n; // below 0 if the number is not known without the sizes
  bool exact; // if false, n is an upper bound
  const nw_expr *expr; // n as an expression of sizes, ignoring guards; NULL if an extent depends on other loops
} nw_count;
// Returns the number of executions of the last statement of the path. For a loop, returns the number of executions of
// its body.
nw_count nw_count_executions(const nw_program *p, const nw_path *path);
double nw_count_instances(const nw_stmt *block); // number of declared instances; -1 if it is not known
// Returns how many times an element of the block's stage is computed on average, counted over all pieces of the stage.
nw_count nw_count_recomputed(const nw_program *p, const nw_stmt *block);
int nw_count_operations(const nw_stmt *block); // arithmetic operations of one execution
// Returns the bytes that one execution reads from and writes to buffers with this role.
double nw_count_bytes(const nw_program *p, const nw_stmt *block, nw_role role);
