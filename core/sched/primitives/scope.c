// Checks that every read and write of a temporary is inside an allocation of the temporary. This is checked after each
// step, because a step can move reads, writes and allocations.
#include "sched/tidy.h"
#include "sched/tree.h"

typedef struct uses {
  nw_step *st;
  const nw_path *path;
  const char *missing;
} uses;

static bool exists(void *env, const nw_expr *e) {
  uses *u = env;
  if (e->op != NW_OP_LOAD || nw_is_allocated(u->path, u->st->p, e->name)) return true;
  u->missing = e->name;
  return false;
}

static bool target_holds(uses *u, const nw_block_target *t) {
  if (!nw_is_allocated(u->path, u->st->p, t->buffer)) return u->missing = t->buffer, false;
  for (int i = 0; i < t->n; i++)
    if (!nw_visit(t->index[i], exists, u)) return false;
  return nw_visit(t->value, exists, u) && (!t->init || nw_visit(t->init, exists, u));
}

static bool block_holds(void *env, const nw_path *path) {
  uses *u = env;
  const nw_stmt *s = path->at[path->n - 1];
  u->path = path;
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++)
    if (!target_holds(u, &s->block.target[t]))
      return nw_step_refuse(u->st, "all uses of a temporary must be inside the loop that allocates it", NULL,
                            "%s would use %s outside its allocation", s->block.name, u->missing);
  return true;
}

bool nw_storage_holds(nw_step *st) { return nw_walk(st->p, block_holds, &(uses){.st = st}); }
