// Who ran what when: written by the threads of a call while it runs, each into memory of its own, all of it made before.
#pragma once
#include "run/run.h"

// A parallel loop on its way: what stands in for its body and what that captured.
typedef struct nw_logged {
  nw_parallel_body body;
  void *captured;
  int64_t region;
} nw_logged;

void nw_log_begin(nw_log *l, nw_logged *r); // on the thread that calls the loop
void nw_log_end(nw_log *l, const nw_logged *r);
// Runs a part of the loop that `captured`, a nw_logged, stands for, and writes it down.
void nw_log_body(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread);
