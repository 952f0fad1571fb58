// Finds the loops of a stage's own nest, and the stages with which it exchanges values. A stage that was moved into a loop
// of another stage is also inside loops that are not its own.
#include "sched/history.h"
#include "sched/site.h"
#include "sched/tree.h"
#include <stdlib.h>

typedef struct nest {
  const nw_stmt *block; // NULL if the program does not have the stage
  int n, id[NW_MAX_DEPTH]; // the stage's own loops
} nest;

static bool has(const nest *of, int id) {
  for (int i = 0; i < of->n; i++)
    if (of->id[i] == id) return true;
  return false;
}

typedef struct same {
  const nw_stmt *as, *found;
} same;

static bool see_same(void *env, nw_stmt *s) {
  same *x = env;
  if (s->kind == NW_BLOCK && !s->block.init_part && !strcmp(s->block.origin, x->as->block.origin)) x->found = s;
  return true;
}

// Returns the block of the stage in an earlier program. If a later step made the stage as a part of another stage,
// returns the block of this other stage.
static const nw_stmt *find_earlier(const nw_program *p, const char *name, const nw_stmt *now) {
  const nw_stmt *there = nw_stage_block(p, name);
  same x = {.as = now};
  if (!there) nw_walk_from(p->root, see_same, &x);
  return there ? there : x.found;
}

// True if the step replaced one of the loops by the loop `id`.
static bool is_made_of(const nw_node *node, int id, const nest *of) {
  for (int i = 0; i < node->ngone; i++)
    for (int k = 0; k < node->gone[i].n; k++)
      if (node->gone[i].into[k] == id && has(of, node->gone[i].id)) return true;
  return false;
}

typedef struct others { // blocks that are not a part of a stage
  const nw_stmt *of;
  bool any, reads; // reads: one of them reads the stage
} others;

static bool see_other(void *env, nw_stmt *s) {
  others *x = env;
  if (s->kind != NW_BLOCK || !strcmp(s->block.origin, x->of->block.origin)) return true;
  x->any = true;
  x->reads |= nw_reads_any(s, x->of);
  return true;
}

// True if a loop around the stage is its own after a step. A loop around nothing else always is. before: the stage's nest before the step. is_new: true if the
// step made the stage.
static bool is_own(const nw_node *node, const nw_program *earlier, const nest *before, bool is_new, const nw_stmt *loop,
                   const nw_stmt *block) {
  others x = {.of = block};
  nw_walk_from(loop, see_other, &x);
  if (!x.any) return true;
  bool kept = has(before, loop->id) || is_made_of(node, loop->id, before);
  if (kept && !is_new) return true;
  if (!kept && nw_find(earlier, loop->id, NULL)) return false;
  return !x.reads;
}

// Computes the stage's nest after a step from that before it.
static nest after(const nw_node *node, const nw_program *earlier, const nest *before, const char *name,
                  const nw_stmt *now) {
  nest out = {.block = now};
  nw_path path;
  if (!now || !nw_find(node->program, now->id, &path)) return out;
  bool is_new = !nw_stage_block(earlier, name);
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_LOOP && is_own(node, earlier, before, is_new, path.at[i], now))
      out.id[out.n++] = path.at[i]->id;
  return out;
}

// Returns all loops around the stage in the naive program.
static nest first_nest(const nw_program *p, const nw_stmt *block) {
  nest out = {.block = block};
  nw_path path;
  if (!block || !nw_find(p, block->id, &path)) return out;
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_LOOP) out.id[out.n++] = path.at[i]->id;
  return out;
}

typedef void see_nest(void *env, const nw_program *p, const nest *of);

// Calls see(env, program, nest) for the stage's nest in each version that has the stage, up to the current version.
static void follow(nw_sched *s, const nw_stmt *now, see_nest *see, void *env) {
  const char *name = now->block.name;
  const nw_program *p = nw_sched_node(s, 0)->program;
  nest of = first_nest(p, find_earlier(p, name, now));
  if (nw_stage_block(p, name)) see(env, p, &of);
  nw_node **line;
  int n = nw_sched_line(s, &line);
  for (int i = 0; i < n; i++) {
    of = after(line[i], p, &of, name, find_earlier(line[i]->program, name, now));
    p = line[i]->program;
    if (nw_stage_block(p, name)) see(env, p, &of);
  }
  free(line);
}

typedef struct taken {
  int n, max;
  int *ids;
  bool first, done; // first: take the loops of the first version only
  bool reduce; // with `first`: take the loops of reduce axes, not those of the other axes
} taken;

static void take(void *env, const nw_program *p, const nest *of) {
  taken *x = env;
  if (x->done) return;
  x->n = 0;
  for (int i = 0; i < of->n && x->n < x->max; i++) {
    nw_path path;
    if (!nw_find(p, of->id[i], &path)) continue;
    bool reduce = nw_binds_reduce(of->block, path.at[path.n - 1]->loop.var->name);
    if (!x->first || reduce == x->reduce) x->ids[x->n++] = of->id[i];
  }
  x->done = x->first;
}

static bool see_first(void *env, nw_stmt *s) {
  const nw_stmt **found = env;
  if (s->kind == NW_BLOCK && !*found) *found = s;
  return true;
}

// Returns the block of a stage, or the first block of a unit. Otherwise returns NULL with a diagnostic.
static const nw_stmt *block_of(nw_sched *s, const char *name) {
  const nw_program *p = nw_sched_program(s);
  const nw_stmt *unit = nw_find_unit(p, name), *block = unit ? NULL : nw_stage_block(p, name);
  if (unit) nw_walk_from(unit, see_first, &block);
  if (!block) nw_fail_unknown_stage(s->ctx, p, name);
  return block;
}

// Removes the loops inside a unit from a list of loops, because steps cannot use them. Returns the new length.
static int outside_unit(nw_sched *s, const char *name, int n, int *ids) {
  const nw_stmt *unit = nw_find_unit(nw_sched_program(s), name);
  int kept = 0;
  for (int i = 0; i < n; i++) {
    nw_path path;
    bool inside = unit && nw_find(nw_sched_program(s), ids[i], &path) && nw_tree_has(unit, path.at[path.n - 1]);
    if (!inside) ids[kept++] = ids[i];
  }
  return kept;
}

int nw_sched_own_loops(nw_sched *s, const char *stage, int max, int *ids) {
  taken x = {.max = max, .ids = ids};
  const nw_stmt *block = s && stage ? block_of(s, stage) : NULL;
  if (!block) return 0;
  follow(s, block, take, &x);
  return outside_unit(s, stage, x.n, ids);
}

int nw_sched_axis_loops(nw_sched *s, const char *stage, bool reduce, int max, int *ids) {
  taken x = {.max = max, .ids = ids, .first = true, .reduce = reduce};
  const nw_stmt *block = s && stage ? block_of(s, stage) : NULL;
  if (block) follow(s, block, take, &x);
  return x.n;
}

// ---- neighbours

typedef struct neighbours {
  const nw_stmt *of;
  bool sources;
  int n, max;
  const char **name;
} neighbours;

static bool see_neighbour(void *env, nw_stmt *s) {
  neighbours *x = env;
  if (s->kind != NW_BLOCK || s == x->of || nw_tree_has(x->of, s)) return true;
  bool reads = x->sources ? nw_reads_any(x->of, s) : nw_reads_any(s, x->of);
  if (reads && x->n < x->max) x->name[x->n++] = s->block.name;
  return true;
}

int nw_sched_neighbours(nw_sched *s, const char *stage, bool sources, int max, const char **names) {
  const nw_stmt *unit = s && stage ? nw_find_unit(nw_sched_program(s), stage) : NULL;
  const nw_stmt *of = unit ? unit : s && stage ? block_of(s, stage) : NULL;
  if (!of) return 0;
  neighbours x = {.of = of, .sources = sources, .max = max, .name = names};
  nw_walk_from(nw_sched_program(s)->root, see_neighbour, &x);
  return x.n;
}
