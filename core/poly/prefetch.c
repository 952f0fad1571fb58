// Checks prefetches. A prefetch changes no value, so its addresses are not checked. But a prefetch must be useful. So
// the buffer must exist where it is prefetched, and the enclosing loop must use the buffer. No code can be generated if
// the buffer does not exist, or if vector lanes prefetch. These two errors are refused even in unsafe steps.
#include "poly/internal.h"

typedef struct look {
  const nw_model *m;
  bool structure; // check only whether the prefetch can be lowered
  const char *buffer;
  nw_answer answer;
} look;

static bool untouched(void *env, nw_stmt *s) {
  const look *l = env;
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) {
    const nw_block_target *g = &s->block.target[t];
    if (!strcmp(g->buffer, l->buffer) || nw_uses_load(g->value, l->buffer)) return false;
  }
  return true;
}

static bool exists(const look *l, const nw_path *path) {
  const nw_buffer *b = nw_find_buffer(l->m->p, l->buffer);
  if (b->role != NW_TEMP || b->alloc) return true;
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_ALLOC && !strcmp(path->at[i]->alloc.buffer, l->buffer)) return true;
  return false;
}

static const nw_stmt *around(const nw_path *path, bool vector) {
  for (int i = path->n - 2; i >= 0; i--)
    if (path->at[i]->kind == NW_LOOP && (!vector || nw_is_vector_loop(path->at[i]))) return path->at[i];
  return NULL;
}

static bool refuse(look *l, const nw_stmt *loop, const char *why) {
  l->answer = nw_tell(l->m, NW_REFUSE_STRUCTURE, loop, NULL, why, l->buffer, loop ? loop->loop.var->name : "");
  return false;
}

static bool check_one(void *env, const nw_path *path) {
  look *l = env;
  const nw_stmt *s = path->at[path->n - 1], *loop = around(path, false), *vector = around(path, true);
  if (s->kind != NW_PREFETCH || !NW_RULE(l->m->p->ctx, prefetch_used)) return true;
  l->buffer = s->prefetch.buffer;
  if (!exists(l, path)) return refuse(l, loop, "%s is prefetched where it is not allocated%.0s");
  if (vector) return refuse(l, vector, "%s is prefetched inside %s, whose iterations are lanes of one vector");
  if (l->structure) return true;
  if (nw_walk_from(loop ? loop : l->m->seen->root, untouched, l))
    return refuse(l, loop, "%s is prefetched inside %s, which does not use it");
  return true;
}

nw_answer nw_check_prefetches(const nw_model *m, bool structure) {
  look l = {.m = m, .structure = structure, .answer = NW_HOLDS};
  nw_walk(m->seen, check_one, &l);
  return l.answer;
}
