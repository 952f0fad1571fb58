// Rewrites cross-thread reductions. See cross.h.
#include "ir/program/cross.h"
#include "ir/program/halving.h"

bool nw_crosses(const nw_stmt *block, const nw_stmt *loop) {
  return nw_is_thread_loop(loop) && block->block.combiner != NW_PLAIN && !block->block.atomic &&
         nw_binds_reduce(block, loop->loop.var->name);
}

static bool not_crossing(void *env, const nw_path *path) {
  const nw_stmt *s = path->at[path->n - 1];
  nw_vec *found = env;
  bool crosses = false;
  for (int i = 0; s->kind == NW_BLOCK && i < path->n - 1; i++) crosses |= nw_crosses(s, path->at[i]);
  if (crosses && found) nw_vec_push(found, (void *)s);
  return !crosses || found;
}

bool nw_has_crossing(const nw_program *p) { return !nw_walk(p, not_crossing, NULL); }

// ---- conditions

typedef struct crossing {
  nw_factoring f;
  const char *why;
} crossing;

static bool fails(crossing *x, const char *fmt, const char *a, const char *b) {
  x->why = nw_arena_printf(x->f.p->arena, fmt, a, b);
  return false;
}

// Adds the loops of the reduction: first those of the threads, z before y before x, and then the others.
static bool find_loops(crossing *x) {
  nw_factoring *f = &x->f;
  x->f.top = f->path.n - 1;
  for (int n = NW_GRID_DIMS - 1; n >= -1; n--) {
    int dim = n >= 0 && NW_MUTATED(cross_order) ? NW_GRID_DIMS - 1 - n : n;
    for (int i = f->path.n - 2; i > 0; i--) {
      nw_stmt *s = f->path.at[i];
      int own = nw_is_thread_loop(s) ? nw_grid_dim(s) : -1;
      if (s->kind != NW_LOOP || own != dim || !nw_loop_binds(f->block, s, true)) continue;
      if (nw_loop_binds(f->block, s, false))
        return fails(x, "%s runs over both the reduction and the output of %s", s->loop.var->name,
                     f->block->block.name);
      if (!nw_factor_bounds(f, s))
        return fails(x, "the bounds of %s depend on other loops, so the threads would have different numbers of terms",
                     s->loop.var->name, NULL);
      if (i < f->top) f->top = i;
      f->part[f->nred] = dim >= 0;
      f->red[f->nred++] = s;
    }
  }
  return true;
}

static bool uses_reduction(const nw_factoring *f, const nw_expr *e) {
  for (int i = 0; i < f->nred; i++)
    if (nw_uses_var(e, f->red[i]->loop.var->name)) return true;
  return false;
}

static bool lets_through(crossing *x, const nw_stmt *s) {
  const nw_factoring *f = &x->f;
  const char *block = f->block->block.name;
  if (s->kind == NW_GUARD) return fails(x, "a condition around %s is inside its reduction", block, NULL);
  if (s->kind == NW_ALLOC && nw_block_writes(f->block, s->alloc.buffer))
    return fails(x, "%s is allocated inside the reduction of %s", s->alloc.buffer, block);
  if (s->kind != NW_LOOP) return true;
  if (nw_is_block_loop(s)) return fails(x, "the blocks of %s are inside the reduction of %s", s->loop.var->name, block);
  if (uses_reduction(f, s->loop.begin) || uses_reduction(f, s->loop.extent))
    return fails(x, "the bounds of %s depend on the reduction of %s", s->loop.var->name, block);
  return true;
}

typedef struct writers {
  const nw_stmt *block;
  const char *buffer;
} writers;

static bool writes_alone(void *env, nw_stmt *s) {
  const writers *w = env;
  if (s->kind != NW_BLOCK || s == w->block || !nw_block_writes(s, w->buffer)) return true;
  return s->block.init_part && !strcmp(s->block.origin, w->block->block.origin);
}

static bool can_cross(crossing *x) {
  const nw_factoring *f = &x->f;
  const nw_stmt *block = f->block;
  for (int i = 0; i < f->path.n - 1; i++)
    if (f->path.at[i]->kind == NW_CALL) return fails(x, "an intrinsic computes %s", block->block.name, NULL);
  for (int i = f->top; i < f->path.n - 1; i++)
    if (!lets_through(x, f->path.at[i])) return false;
  if (!nw_factor_guards(f))
    return fails(x, "a condition of %s depends on both the reduction and the output", block->block.name, NULL);
  for (int t = 0; t < block->block.ntargets; t++) {
    const char *buffer = block->block.target[t].buffer;
    if (!nw_walk_from(f->p->root, writes_alone, &(writers){block, buffer}))
      return fails(x, "another nest writes %s, too", buffer, NULL);
  }
  return true;
}

// ---- one reduction

static bool take_step(void *env, nw_stmt *s) {
  s->step = ((const nw_stmt *)env)->step;
  s->unsafe = ((const nw_stmt *)env)->unsafe;
  s->tested = ((const nw_stmt *)env)->tested;
  return true;
}

// Adds the dimensions of the threads, which come last.
static void add_threads(const nw_factoring *f, nw_part_box *box) {
  for (int i = 0; i < f->nred; i++)
    if (f->part[i]) box->min[box->n] = nw_index(f->p->pool, 0), box->extent[box->n++] = f->red[i]->loop.extent;
}

// Returns the position of the outermost loop over threads, outside of which shared storage is allocated.
static int around_threads(const nw_factoring *f) {
  int at = 1;
  while (at < f->top && !nw_is_thread_loop(f->path.at[at])) at++;
  return at;
}

static bool cross(nw_program *p, nw_stmt *block, const char **why) {
  crossing x = {.f = {.p = p, .block = block, .suffix = "_part"}};
  nw_factoring *f = &x.f;
  nw_find(p, block->id, &f->path);
  if (!find_loops(&x) || !can_cross(&x)) return *why = *why ? *why : x.why, false;
  nw_halving h = {.f = f, .was = *block, .around = around_threads(f)};
  bool halves = nw_plan_halving(&h);
  int at = halves ? f->top : h.around;
  nw_part_box box;
  nw_part_of_stage(f, block, at, &box);
  add_threads(f, &box);
  f->scope = halves ? NW_LOCAL : NW_SHARED;
  f->axis = block->block.target[0].n;
  nw_stmt *inside = nw_factor_inside(f);
  nw_stmt *nest = halves ? nw_halve(&h, inside) : nw_nest_along_output(p, &f->path, f->top, &h.was, inside, "");
  nw_walk_from(nest, take_step, (void *)&h.was);
  nw_kids_insert(p, f->path.at[f->top - 1], f->path.pos[f->top] + 1, nest);
  for (int t = 0, n = at == f->top ? 2 : 1; t < h.was.block.ntargets; t++, n = 1)
    nw_allocate_part(p, block->block.target[t].buffer, &box, f->path.at[at - 1], f->path.pos[at], n)->step = h.was.step;
  block->step = h.was.step;
  return true;
}

bool nw_cross_threads(nw_program *p, const char **why) {
  nw_vec blocks = {0};
  const char *first = NULL;
  nw_walk(p, not_crossing, &blocks);
  for (int i = 0; i < blocks.n; i++) cross(p, blocks.at[i], &first);
  nw_vec_free(&blocks);
  if (why) *why = first;
  return !first;
}

nw_program *nw_crossed(const nw_program *p, const char **why) {
  nw_program *q = nw_program_clone(p);
  const char *first = NULL;
  if (nw_cross_threads(q, &first)) return nw_program_freeze(q);
  if (why) *why = nw_diag_printf(p->ctx, "%s", first);
  nw_program_release(q);
  return NULL;
}
