// Draws a random legal step, for searches and for tests.
#include "sched/advice/attempt.h"
#include "sched/advice/sensible.h"
#include "sched/args.h"
#include "sched/history.h"
#include "sched/tree.h"
#include <stdlib.h>

enum { DRAWS = 1000, LOOPS = 512 };

// True if a kernel takes arguments of the same shapes after the step. A search compares kernels on the same arguments.
static bool same_arguments(const nw_program *was, const nw_program *is) {
  for (int i = 0; i < was->nbuffers && was->buffer[i]->role != NW_TEMP; i++)
    if (was->buffer[i]->nlayout != is->buffer[i]->nlayout || was->buffer[i]->laid != is->buffer[i]->laid) return false;
  return true;
}

// Tries a random primitive at a loop. Returns true if the step is legal and changes the program.
static bool draw(nw_sched *s, int loop, uint64_t *random, nw_random_step *out) {
  nw_sensible m;
  nw_arg args[NW_MAX_PARAMS];
  const nw_primitive *row = nw_primitive_at((int)(nw_draw(random) % (uint64_t)nw_primitive_count()));
  bool filled = nw_sensible_begin(&m, s, loop);
  m.random = random;
  filled = filled && nw_sensible_fill(&m, row, args);
  nw_program *p = filled ? nw_sched_try(s, row, args, NULL) : NULL;
  out->refused += filled && !p;
  if (p && !same_arguments(nw_sched_program(s), p)) nw_program_release(p), p = NULL;
  if (p && !nw_same_program(nw_sched_program(s), p)) {
    *out = (nw_random_step){row, {{0}}, p, nw_step_show(row, args), out->draws, out->refused, nw_arena_new()};
    memcpy(out->args, nw_args_copy(out->arena, s->pool, row, args), sizeof out->args);
    p = NULL;
  }
  nw_program_release(p);
  nw_sensible_end(&m);
  return out->primitive;
}

nw_random_step *nw_sched_random_step(nw_sched *s, uint64_t seed) {
  if (!s || nw_error(s->ctx)) return NULL;
  nw_random_step *out = nw_xcalloc(1, sizeof *out);
  int loop[LOOPS], n = nw_sched_loops(s, NULL, NW_COUNT(loop), loop);
  while (n > 0 && out->draws < DRAWS && !s->ctx->interrupted) {
    out->draws++;
    if (draw(s, loop[nw_draw(&seed) % (uint64_t)n], &seed, out)) break;
    nw_clear(s->ctx);
  }
  if (!nw_stopped(s->ctx)) return out;
  nw_random_step_free(out);
  return NULL;
}

void nw_random_step_free(nw_random_step *r) {
  if (!r) return;
  nw_program_release(r->program);
  free(r->text);
  nw_arena_free(r->arena);
  free(r);
}
