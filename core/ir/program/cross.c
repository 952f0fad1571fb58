// Rewrites cross-thread reductions. See cross.h.
#include "ir/program/cross.h"
#include "ir/program/factor.h"

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
  int at; // position on the path of the statement around which the partial results are allocated
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

// ---- storage

// Returns the part of dimension d of the stage that one execution of the statement at position `at` computes; the whole
// dimension if it cannot be bounded.
static void part_of(const crossing *x, int d, const nw_expr **min, const nw_expr **extent) {
  const nw_factoring *f = &x->f;
  const nw_block_target *t = &f->block->block.target[0];
  const nw_expr *e = nw_block_bound(f->p, f->block, t->index[d]);
  const char *over[NW_MAX_DEPTH];
  int n = 0;
  nw_ranges r;
  nw_ranges_of(&r, f->p, &f->path);
  for (int i = x->at; i < f->path.n - 1; i++)
    if (f->path.at[i]->kind == NW_LOOP) over[n++] = f->path.at[i]->loop.var->name;
  const nw_expr *lo = nw_lower_over(&r, e, n, over), *hi = nw_upper_over(&r, e, n, over);
  bool known = lo && hi && !nw_uses_any(lo, n, over) && !nw_uses_any(hi, n, over);
  nw_pool *pool = f->p->pool;
  *min = known ? nw_simplify(&r, lo) : nw_index(pool, 0);
  *extent = known ? nw_simplify(&r, nw_add(pool, nw_sub(pool, hi, lo), nw_index(pool, 1)))
                  : nw_find_buffer(f->p, t->buffer)->shape[d];
  nw_ranges_free(&r);
}

typedef struct box {
  int n;
  const nw_expr *min[NW_MAX_DEPTH], *extent[NW_MAX_DEPTH];
} box;

// Returns the part of the partial results that is stored. The dimensions of the threads come last.
static box stored(const crossing *x) {
  box b = {0};
  for (; b.n < x->f.block->block.target[0].n; b.n++) part_of(x, b.n, &b.min[b.n], &b.extent[b.n]);
  for (int i = 0; i < x->f.nred; i++)
    if (x->f.part[i]) b.min[b.n] = nw_index(x->f.p->pool, 0), b.extent[b.n++] = x->f.red[i]->loop.extent;
  return b;
}

// Allocates the partial results around n statements of `parent`, from position pos.
static void allocate(const crossing *x, const box *b, nw_stmt *parent, int pos, int n) {
  nw_program *p = x->f.p;
  const nw_stmt *block = x->f.block;
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_stmt *alloc = nw_new_alloc(p, nw_find_buffer(p, block->block.target[t].buffer));
    alloc->step = block->step;
    for (int d = 0; d < b->n; d++) alloc->alloc.min[d] = b->min[d], alloc->alloc.extent[d] = b->extent[d];
    nw_kids_set(p, alloc, n, parent->kid + pos);
    for (int i = 0; i < n; i++) nw_kids_remove(p, parent, pos);
    nw_kids_insert(p, parent, pos, alloc);
    n = 1;
  }
}

// ---- one reduction

static bool take_step(void *env, nw_stmt *s) {
  s->step = ((const nw_stmt *)env)->step;
  s->unsafe = ((const nw_stmt *)env)->unsafe;
  s->tested = ((const nw_stmt *)env)->tested;
  return true;
}

static bool cross(nw_program *p, nw_stmt *block, const char **why) {
  crossing x = {.f = {.p = p, .block = block, .scope = NW_SHARED, .suffix = "_part"}};
  nw_factoring *f = &x.f;
  nw_find(p, block->id, &f->path);
  if (!find_loops(&x) || !can_cross(&x)) return *why = *why ? *why : x.why, false;
  for (x.at = 1; x.at < f->top && !nw_is_thread_loop(f->path.at[x.at]);) x.at++;
  f->axis = block->block.target[0].n;
  box b = stored(&x);
  const nw_stmt was = *block;
  nw_stmt *nest = nw_factor(f);
  block->step = was.step;
  nw_walk_from(nest, take_step, (void *)&was);
  nw_kids_insert(p, f->path.at[f->top - 1], f->path.pos[f->top] + 1, nest);
  allocate(&x, &b, f->path.at[x.at - 1], f->path.pos[x.at], x.at == f->top ? 2 : 1);
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
