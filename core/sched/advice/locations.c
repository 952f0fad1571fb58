// Finds the possible locations of a stage. Also finds the cost of each location: the number of recomputed instances,
// and the size of the storage.
#include "ir/program/physical.h"
#include "sched/advice/attempt.h"
#include "sched/count.h"
#include "sched/history.h"
#include "sched/tree.h"
#include <stdlib.h>

// ---- the cost of a location

// Returns the greatest value of an extent over all iterations of the loops on the path. If this value is not known,
// returns the extent itself.
static const nw_expr *widest(const nw_program *p, const nw_path *path, const nw_expr *extent) {
  nw_ranges r;
  const char *over[NW_MAX_DEPTH];
  int n = 0;
  nw_ranges_of(&r, p, path);
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_LOOP) over[n++] = path->at[i]->loop.var->name;
  const nw_expr *e = nw_upper_over(&r, extent, n, over);
  nw_ranges_free(&r);
  return e ? e : extent;
}

// Measures storage that has a layout, such as that of rolling_buffer, or aligned strides. Returns false if its size has
// no bound.
static bool measure_layout(const nw_program *p, const nw_buffer *b, const nw_path *path, const nw_stmt *alloc,
                           nw_location *l) {
  const char *loop[NW_MAX_DEPTH];
  int n = 0;
  int64_t count;
  nw_ranges r;
  nw_arena *scratch = nw_arena_new();
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_LOOP) loop[n++] = path->at[i]->loop.var->name;
  nw_ranges_of(&r, p, path);
  const nw_physical *place = nw_physical_alloc(scratch, p, &r, alloc, n, loop);
  nw_ranges_free(&r);
  if (place) {
    l->size = nw_expr_show(place->elements);
    if (nw_is_int(place->elements, &count)) l->bytes = (double)count * nw_dtype_bytes(b->dtype);
  }
  nw_arena_free(scratch);
  return place != NULL;
}

static void measure_storage(const nw_program *p, const char *buffer, nw_location *l) {
  const nw_stmt *alloc = nw_find_alloc(p, buffer);
  const nw_buffer *b = nw_find_buffer(p, buffer);
  nw_path path;
  nw_str size = {0};
  l->bytes = -1;
  if (!alloc || !b || !nw_find(p, alloc->id, &path)) return;
  if ((b->nlayout || b->nstrides) && measure_layout(p, b, &path, alloc, l)) return;
  l->bytes = nw_dtype_bytes(b->dtype);
  for (int d = 0; d < alloc->alloc.n; d++) {
    const nw_expr *e = widest(p, &path, alloc->alloc.extent[d]);
    int64_t n;
    char *text = nw_expr_show(e);
    nw_str_fmt(&size, "%s%s", d ? "*" : "", text);
    free(text);
    l->bytes = l->bytes >= 0 && nw_is_int(e, &n) ? l->bytes * (double)n : -1;
  }
  l->size = nw_str_take(&size);
}

// ---- the locations

typedef struct places {
  nw_sched *s;
  const nw_stmt *block;
  const char *stage, *buffer;
  const nw_stmt *home; // the loop at which the stage is currently computed; NULL at the root
  nw_location *at;
  int n;
} places;

static void measure(places *x, const nw_program *p, nw_location *l) {
  l->recompute = nw_count_recomputed(p, x->block).n;
  measure_storage(p, x->buffer, l);
  nw_clear(x->s->ctx); // the size of a layout may have no bound
}

static void try_place(places *x, const nw_stmt *loop) {
  nw_location *l = &x->at[x->n++];
  const char *name = loop ? loop->loop.var->name : NULL;
  *l = (nw_location){.loop = name ? nw_xstrdup(name) : NULL, .recompute = -1, .bytes = -1};
  l->current = loop == x->home;
  if (l->current) return measure(x, nw_sched_program(x->s), l);
  nw_arg args[NW_MAX_PARAMS] = {{.kind = NW_ARG_STAGE, .name = x->stage}};
  if (loop) args[1] = (nw_arg){.kind = NW_ARG_LOOP, .name = name};
  nw_program *p =
      nw_attempt(x->s, nw_primitive_find(loop ? "compute_at" : "compute_root"), args, NW_TRY_BUDGET, &l->why);
  if (p) measure(x, p, l);
  nw_program_release(p);
}

static bool see_loop(void *env, nw_stmt *s) {
  if (s->kind == NW_LOOP) nw_vec_push(env, s);
  return true;
}

// Returns the innermost loop around the stage that is not a loop of the stage's own nest, or NULL if there is none.
static const nw_stmt *home_of(places *x, const nw_program *p) {
  int ids[NW_MAX_DEPTH], n = nw_sched_own_loops(x->s, x->block->block.name, NW_MAX_DEPTH, ids);
  const nw_stmt *loop = NULL;
  nw_path path;
  if (!nw_find(p, x->block->id, &path)) return NULL;
  for (int i = 0; i < path.n; i++) {
    if (path.at[i]->kind != NW_LOOP) continue;
    if (n > 0 && path.at[i]->id == ids[0]) break;
    loop = path.at[i];
  }
  return loop;
}

static bool see_last(void *env, nw_stmt *s) {
  if (s->kind == NW_BLOCK) *(const nw_stmt **)env = s;
  return true;
}

// Finds the stage, or the last stage of a unit, which moves as a whole.
static bool find_stage(places *x, const char *stage) {
  const nw_program *p = nw_sched_program(x->s);
  const nw_stmt *unit = stage ? nw_find_unit(p, stage) : NULL;
  x->block = stage ? nw_stage_block(p, stage) : NULL;
  if (unit) nw_walk_from(unit, see_last, &x->block);
  if (!x->block) return nw_fail_unknown_stage(x->s->ctx, p, stage ? stage : ""), false;
  x->stage = unit ? unit->unit.name : x->block->block.name;
  x->buffer = x->block->block.target[0].buffer;
  const nw_buffer *b = nw_find_buffer(p, x->buffer);
  if (b && b->role == NW_OUTPUT)
    return nw_fail(x->s->ctx, NW_EINVAL, "use cache_write to compute into a temporary that can be moved",
                   "%s is an output, which cannot be moved", x->stage);
  x->home = home_of(x, p);
  return true;
}

int nw_sched_locations(nw_sched *s, const char *stage, nw_location **out) {
  places x = {.s = s};
  *out = NULL;
  if (!s || nw_error(s->ctx) || !find_stage(&x, stage)) return -1;
  nw_vec loops = {0};
  nw_walk_from(nw_sched_program(s)->root, see_loop, &loops);
  x.at = nw_xcalloc((size_t)loops.n + 1, sizeof *x.at);
  try_place(&x, NULL);
  for (int i = 0; i < loops.n && !s->ctx->interrupted; i++) try_place(&x, loops.at[i]);
  nw_vec_free(&loops);
  *out = x.at;
  if (!nw_stopped(s->ctx)) return x.n;
  nw_locations_free(x.n, x.at);
  *out = NULL;
  return -1;
}

void nw_locations_free(int n, nw_location *l) {
  for (int i = 0; l && i < n; i++) {
    free(l[i].loop);
    free(l[i].why);
    free(l[i].size);
  }
  free(l);
}
