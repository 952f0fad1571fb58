// The one entry point that generated code calls for a parallel loop.
#include "run/guard.h"

typedef struct region {
  nw_frame *frame;
  nw_parallel_body body;
  void *captured;
  int64_t n;
  int threads;
} region;

typedef struct part {
  const region *r;
  int t;
} part;

// Contiguous chunks: thread t gets [n*t/T, n*(t+1)/T).
static void run_part(void *arg) {
  const part *p = arg;
  const region *r = p->r;
  int64_t begin = (int64_t)((__int128)r->n * p->t / r->threads),
          end = (int64_t)((__int128)r->n * (p->t + 1) / r->threads);
  if (begin < end) r->body(r->frame, r->captured, begin, end, p->t);
}

static void run_member(void *arg, int t) {
  part p = {arg, t};
  nw_guard_seat(t > 0);
  if (p.r->frame->runtime)
    nw_guard_run(p.r->frame->runtime, t, run_part, &p);
  else
    run_part(&p);
}

void nw_parallel_for(nw_frame *f, nw_parallel_body body, void *captured, int64_t n) {
  if (n <= 0) return;
  if (f->threads <= 1) {
    body(f, captured, 0, n, 0);
    return;
  }
  region r = {f, body, captured, n, f->threads};
  if (f->runtime) nw_guard_out(f->runtime);
  nw_team_run(f->threads, run_member, &r);
  if (f->runtime) nw_guard_back(f->runtime);
}
