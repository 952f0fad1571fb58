// Implements nw_parallel_for, which generated code calls for a parallel loop.
#include "base/share.h"
#include "run/guard.h"
#include "run/log.h"
#include <stdatomic.h>

typedef struct region {
  nw_frame *frame;
  nw_parallel_body body;
  void *captured;
  int64_t n, chunk;
  int threads;
  _Atomic int64_t next; // the first iteration that no thread has taken
} region;

typedef struct part {
  region *r;
  int t;
} part;

static void run_share(const part *p) {
  const region *r = p->r;
  nw_share share = nw_share_of(r->n, r->chunk, p->t, r->threads);
  for (int64_t begin, end; nw_share_next(&share, &begin, &end);) r->body(r->frame, r->captured, begin, end, p->t);
}

static void run_next(const part *p) {
  region *r = p->r;
  int64_t chunk = -r->chunk;
  for (int64_t begin; (begin = atomic_fetch_add(&r->next, chunk)) < r->n;)
    r->body(r->frame, r->captured, begin, r->n - begin < chunk ? r->n : begin + chunk, p->t);
}

static void run_part(void *arg) {
  const part *p = arg;
  (p->r->chunk < 0 ? run_next : run_share)(p);
}

static void run_member(void *arg, int t) {
  part p = {arg, t};
  nw_guard_seat(t > 0);
  if (p.r->frame->runtime)
    nw_guard_run(p.r->frame->runtime, t, run_part, &p);
  else
    run_part(&p);
}

static void run_team(nw_frame *f, region *r) {
  if (f->runtime) nw_guard_out(f->runtime);
  nw_team_run(f->threads, run_member, r);
  if (f->runtime) nw_guard_back(f->runtime);
}

// Runs the loop and logs it. The body of the loop is replaced by nw_log_body, which calls it.
static void run_logged(nw_frame *f, nw_parallel_body body, void *captured, int64_t n, int64_t chunk) {
  nw_logged logged = {body, captured, 0};
  region r = {.frame = f, .body = nw_log_body, .captured = &logged, .n = n, .chunk = chunk, .threads = f->threads};
  nw_log_begin(f->log, &logged);
  if (n > 0 && f->threads <= 1) nw_log_body(f, &logged, 0, n, 0);
  if (n > 0 && f->threads > 1) run_team(f, &r);
  nw_log_end(f->log, &logged);
}

void nw_parallel_for(nw_frame *f, nw_parallel_body body, void *captured, int64_t n, int64_t chunk) {
  if (f->log) return run_logged(f, body, captured, n, chunk);
  if (n <= 0) return;
  if (f->threads <= 1) {
    body(f, captured, 0, n, 0);
    return;
  }
  region r = {.frame = f, .body = body, .captured = captured, .n = n, .chunk = chunk, .threads = f->threads};
  run_team(f, &r);
}
