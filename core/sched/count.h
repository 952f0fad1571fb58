// Counts the executions, operations and bytes of a program, for its log. Private to sched/.
#pragma once
#include "ir/program/program.h"

typedef struct nw_count {
  double n; // below 0 if it is unknown without the sizes
  bool exact; // if false, n is an upper bound
  const nw_expr *expr; // n as an expression of sizes, without guards; NULL if a bound depends on other loops
} nw_count;
// Returns the number of executions of the statement at the end of the path; for a loop, of its body.
nw_count nw_count_executions(const nw_program *p, const nw_path *path);
double nw_count_instances(const nw_stmt *block); // number of declared instances; below 0 if unknown
// Returns how many times each element of a block's stage is computed, counted over all pieces of the stage.
nw_count nw_count_recomputed(const nw_program *p, const nw_stmt *block);
int nw_count_operations(const nw_stmt *block); // arithmetic operations of one execution
// bytes read or written by one execution
double nw_count_bytes(const nw_program *p, const nw_stmt *block, nw_role role);
