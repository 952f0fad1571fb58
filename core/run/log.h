// Declares a log of the iterations that each thread ran, with their times. During a call, each thread writes to its own
// memory, which is allocated before the call. A region is one execution of a parallel loop. A span is a range of
// iterations that a thread ran in one call of the loop's body.
#pragma once
#include "run/run.h"

// A logged parallel loop: the original body and its captured values.
typedef struct nw_logged {
  nw_parallel_body body;
  void *captured;
  int64_t region;
} nw_logged;

void nw_log_begin(nw_log *l, nw_logged *r); // called on the thread that starts the loop
void nw_log_end(nw_log *l, const nw_logged *r);
// Runs a part of a logged loop, and logs this part. `captured` is the loop's nw_logged.
void nw_log_body(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread);
