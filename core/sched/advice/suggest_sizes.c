// If a step fails only for small sizes, suggests an assumption that a size is at least some number.
#include "sched/args.h"
#include "sched/advice/attempt.h"
#include "sched/advice/suggest.h"

enum { SMALL = 64, LARGE = 256 }; // if a step fails for a size less than SMALL, assumptions up to LARGE are tried

static nw_candidate *first_at_least(nw_step *st, const char *primitive, int size, int64_t n) {
  nw_pool *pool = st->before->pool;
  nw_arg args[NW_MAX_PARAMS] = {0};
  args[0] = cond_arg(st, nw_le(pool, nw_index(pool, n), nw_var(pool, st->before->size[size].name)));
  const nw_arg *about = &st->resolved[0];
  if (!strcmp(primitive, "specialize") && about->kind == NW_ARG_LOOP) args[1] = *about;
  nw_candidate *c = nw_step_candidate(st, primitive, args, 2);
  c->then = nw_step_again(st);
  return c;
}

static bool helps(nw_step *st, const char *primitive, int size, int64_t n) {
  return nw_attempt_way(st->sched, first_at_least(st, primitive, size, n), NW_TRY_BUDGET);
}

// Returns the smallest lower bound on a size that makes the step legal, or 0 if there is none. `fails` is a size for
// which the step is illegal. A bisection finds the bound, because a step that is legal under a bound is also legal
// under any larger bound.
static int64_t enough(nw_step *st, int size, int64_t fails) {
  int64_t least = LARGE;
  if (fails < 0 || fails >= SMALL || !helps(st, "assume", size, least)) return 0;
  while (least - fails > 1 && !st->ctx->interrupted) {
    int64_t n = (fails + least) / 2;
    if (helps(st, "assume", size, n))
      least = n;
    else
      fails = n;
  }
  return least;
}

int nw_ways_by_size(nw_step *st, const nw_conflict *at, const nw_candidate **out) {
  int64_t n = 0;
  int size = 0, made = 0;
  if (!at) return 0;
  while (size < at->nsizes && size < st->before->nsizes && !(n = enough(st, size, at->size[size]))) size++;
  if (!n || st->ctx->interrupted) return 0;
  out[made++] = first_at_least(st, "assume", size, n);
  if (helps(st, "specialize", size, n)) out[made++] = first_at_least(st, "specialize", size, n);
  return made;
}
