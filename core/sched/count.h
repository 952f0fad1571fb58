// How much a program does, for its log: executions of blocks, operations, bytes. Private to sched/.
#pragma once
#include "ir/program/program.h"

typedef struct nw_count {
  double n; // below 0: not known without the sizes
  bool exact; // else an upper bound
  const nw_expr *expr; // in sizes, guards left out; NULL where a bound depends on other loops
} nw_count;
// How often the statement at the end of the path is executed, or its own body where it is a loop.
nw_count nw_count_executions(const nw_program *p, const nw_path *path);
double nw_count_instances(const nw_stmt *block); // declared ones; below 0: not known
// How often each element of a block's stage is computed, all its pieces together.
nw_count nw_count_recomputed(const nw_program *p, const nw_stmt *block);
int nw_count_operations(const nw_stmt *block); // arithmetic in one execution
double nw_count_bytes(const nw_program *p, const nw_stmt *block, nw_role role); // moved by one execution
