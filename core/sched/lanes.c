// Temporaries that are computed in the lanes of a vector loop. Each lane has its own elements, so an element becomes a
// vector, which can be kept in registers. Therefore such a temporary gets the scope local.
#include "sched/site.h"
#include "sched/tree.h"

enum { STACK_SHARE = 16 }; // a larger part of the stack than 1/STACK_SHARE is no gain over a workspace

static const nw_stmt *vector_around(const nw_path *path) {
  for (int i = 0; i < path->n - 1; i++)
    if (nw_is_vector_loop(path->at[i])) return path->at[i];
  return NULL;
}

typedef struct look {
  const char *buffer;
  bool found;
} look;

static bool in_no_lane(void *env, const nw_path *path) {
  look *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, x->buffer) && vector_around(path)) x->found = true;
  return !x->found;
}

// True if the buffer was in lanes before the step, or was made by the step. Its scope was then chosen.
static bool has_chosen(const nw_step *st, const char *buffer) {
  look x = {.buffer = buffer};
  if (!nw_find_buffer(st->before, buffer)) return true;
  nw_walk(st->before, in_no_lane, &x);
  return x.found;
}

// Returns the number of elements that a lane stores, or -1 if it has no constant bound.
static int64_t elements_of(const nw_step *st, const nw_path *path) {
  const nw_stmt *a = path->at[path->n - 1];
  int64_t all = 1, n;
  nw_ranges r;
  nw_ranges_of(&r, st->p, path);
  for (int d = 0; d < a->alloc.n && all >= 0; d++)
    if (!nw_const_upper(&r, a->alloc.extent[d], &n) || __builtin_mul_overflow(all, n > 0 ? n : 0, &all)) all = -1;
  nw_ranges_free(&r);
  return all;
}

static bool hold(void *env, const nw_path *path) {
  nw_step *st = env;
  const nw_stmt *s = path->at[path->n - 1], *loop = vector_around(path);
  if (s->kind != NW_ALLOC || !loop) return true;
  nw_buffer *b = nw_find_buffer(st->p, s->alloc.buffer);
  const nw_scope_limit *l = nw_target_scope(st->p->target, "local");
  int64_t lanes, n = elements_of(st, path), bytes;
  if (b->scope != NW_GLOBAL || !l || n < 0 || !nw_is_int(loop->loop.extent, &lanes) || has_chosen(st, b->name))
    return true;
  if (__builtin_mul_overflow(n, lanes * nw_dtype_bytes(b->dtype), &bytes) || bytes > l->bytes / STACK_SHARE)
    return true;
  b->scope = NW_LOCAL;
  nw_step_note(st, "each lane of %s has its own %s: its scope is now local, and each of its %lld elements is a vector",
               loop->loop.var->name, b->name, (long long)n);
  return true;
}

void nw_hold_in_lanes(nw_step *st) { nw_walk(st->p, hold, st); }
