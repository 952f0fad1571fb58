// Records when each iteration (*round*) of a loop begins and ends during a walk (walker.h).
#include "access/rounds.h"

static bool is_in(const nw_vec *v, const void *p) {
  for (int i = v->n - 1; i >= 0; i--)
    if (v->at[i] == p) return true;
  return false;
}

// Counts one more iteration of the loop. Returns false if the loop now has more than `most` iterations.
static bool room_for(nw_rounds *r, const nw_stmt *loop) {
  if (!r->most) return true;
  if (is_in(&r->many, loop)) return false;
  int i = r->seen.n - 1;
  while (i >= 0 && r->seen.at[i] != loop) i--;
  if (i < 0) {
    nw_vec_push(&r->seen, (void *)loop);
    nw_vec_push(&r->count, (void *)(intptr_t)0);
    i = r->seen.n - 1;
  }
  intptr_t n = (intptr_t)r->count.at[i] + 1;
  r->count.at[i] = (void *)n;
  if (n <= r->most) return true;
  nw_vec_push(&r->many, (void *)loop);
  return false;
}

static const char *name_of(nw_rounds *r, const nw_stmt *loop) {
  for (int i = r->round.n - 1; i >= 0 && i > r->round.n - 64; i--) {
    const nw_iteration *x = r->round.at[i];
    if (!strcmp(x->loop, loop->loop.var->name)) return x->loop;
  }
  return nw_arena_strdup(r->arena, loop->loop.var->name);
}

static void begin(nw_rounds *r, const nw_stmt *loop, int depth, int64_t index, int64_t time) {
  r->loop[depth] = loop;
  r->open[depth] = NULL;
  if (!room_for(r, loop)) return;
  nw_iteration *x = r->open[depth] = NW_NEW(r->arena, nw_iteration);
  *x = (nw_iteration){name_of(r, loop), depth, index, time, time};
}

static void end(nw_rounds *r, int depth, int64_t time) {
  nw_iteration *x = r->open[depth];
  if (!x) return;
  x->to = time;
  nw_vec_push(&r->round, x);
}

// An iteration ends when the next one begins, or when the loop ends. For a loop without iterations, only its end is
// reported.
void nw_rounds_see(nw_rounds *r, const nw_stmt *loop, int64_t index, int64_t time) {
  bool again = r->depth > 0 && r->loop[r->depth - 1] == loop;
  if (again) end(r, r->depth - 1, time);
  if (index < 0)
    r->depth -= again;
  else
    begin(r, loop, again ? r->depth - 1 : r->depth++, index, time);
}

void nw_rounds_close(nw_rounds *r) {
  int n = 0;
  for (int i = 0; i < r->round.n; i++) {
    const nw_iteration *x = r->round.at[i];
    bool many = false;
    for (int k = 0; k < r->many.n && !many; k++) many = !strcmp(((nw_stmt *)r->many.at[k])->loop.var->name, x->loop);
    if (!many) r->round.at[n++] = r->round.at[i];
  }
  r->round.n = n;
}

void nw_rounds_free(nw_rounds *r) {
  nw_vec_free(&r->round);
  nw_vec_free(&r->many);
  nw_vec_free(&r->seen);
  nw_vec_free(&r->count);
}
