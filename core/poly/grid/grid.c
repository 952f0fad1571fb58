// Checks the loops that are bound to blocks and threads of a GPU's grid. The checks concern the nesting of these loops,
// the number of threads of a launch, and the places where buffers are allocated.
#include "poly/internal.h"

typedef struct grid {
  const nw_model *m;
  const nw_launch_limit *limit;
  nw_answer answer;
} grid;

static const char *tag_of(const nw_stmt *loop) { return nw_loop_kind_name(loop->loop.mark); }

// Refuses the program. `message` names the fault, and `fmt` is a sentence that gives the reason.
static bool refuse(grid *g, const nw_stmt *loop, const char *message, const char *fmt, ...) NW_PRINTF(4, 5);
static bool refuse(grid *g, const nw_stmt *loop, const char *message, const char *fmt, ...) {
  nw_str why = {0};
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(&why, fmt, args);
  va_end(args);
  g->answer = nw_tell(g->m, NW_REFUSE_STRUCTURE, loop, message, "%s", why.s);
  nw_refusal *r = nw_refusal_edit(g->m->p->ctx);
  if (r) r->detail = message != NULL;
  nw_str_free(&why);
  return false;
}

static const char *inside(grid *g, const nw_stmt *s, const nw_stmt *around) {
  return nw_arena_printf(g->m->arena, "%s is inside %s", s->loop.var->name, around->loop.var->name);
}

// ---- nesting

static bool stands_in(grid *g, const nw_stmt *s, const nw_stmt *around) {
  const char *outer = around->loop.var->name;
  if (nw_is_vector_loop(around))
    return refuse(g, s, inside(g, s, around), "%s is vectorized, and a vector lane is not a GPU thread", outer);
  if (s->loop.mark == around->loop.mark && nw_grid_dim(s) >= 0)
    return refuse(g, s, inside(g, s, around),
                  "%s is already bound to %s, and a thread has only one value of that index", outer, tag_of(s));
  if (nw_is_block_loop(s) && nw_is_bound_loop(around) && !nw_is_block_loop(around))
    return refuse(g, s, inside(g, s, around),
                  "%s is bound to %s: blocks contain threads, so the block loop must be outside", outer,
                  tag_of(around));
  return true;
}

static bool nests(grid *g, const nw_path *path) {
  const nw_stmt *s = path->at[path->n - 1], *bound = nw_find_bound(g->m->p->root);
  if (s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL)
    return refuse(g, s, "a program runs either on a GPU grid or on CPU threads",
                  "%s is marked parallel, which uses CPU threads, and %s is bound to %s", s->loop.var->name,
                  bound->loop.var->name, tag_of(bound));
  for (int i = 0; i < path->n - 1 && nw_is_bound_loop(s); i++)
    if (path->at[i]->kind == NW_LOOP && !stands_in(g, s, path->at[i])) return false;
  return true;
}

static bool same_for_all(grid *g, const nw_path *path) {
  const nw_stmt *s = path->at[path->n - 1];
  for (int i = 0; i < path->n - 1 && nw_is_bound_loop(s); i++) {
    const nw_stmt *around = path->at[i];
    if (!nw_is_bound_loop(around)) continue;
    const char *var = around->loop.var->name;
    if (nw_uses_var(s->loop.extent, var))
      return refuse(g, s, nw_arena_printf(g->m->arena, "the extent of %s depends on %s", s->loop.var->name, var),
                    "%s is bound to %s, and the extent of %s must be the same in all iterations of that loop", var,
                    tag_of(around), tag_of(s));
  }
  return true;
}

// ---- extents

typedef struct widening {
  const nw_program *p;
  nw_launch *out;
  const nw_stmt *loop; // the loop that exceeds the limit
} widening;

// Returns an upper bound of the extent that uses no variables of enclosing loops; NULL if there is none.
static const nw_expr *plain_extent(const nw_ranges *r, const nw_path *path) {
  const char *var[NW_MAX_DEPTH];
  int n = 0;
  const nw_expr *e = path->at[path->n - 1]->loop.extent;
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && nw_uses_var(e, path->at[i]->loop.var->name))
      var[n++] = path->at[i]->loop.var->name;
  e = n ? nw_upper_over(r, e, n, var) : e;
  return e ? nw_simplify(r, e) : NULL;
}

static bool widen(void *env, const nw_path *path) {
  widening *w = env;
  const nw_stmt *s = path->at[path->n - 1];
  int dim = nw_grid_dim(s);
  bool inside = false;
  for (int i = 0; i < path->n; i++) inside |= path->at[i] == w->out->at;
  if (dim < 0 || !inside) return true;
  nw_ranges r;
  nw_ranges_around(&r, w->p, path);
  const nw_expr *e = plain_extent(&r, path), **most = &w->out->extent[dim];
  bool fits = e && (!*most || nw_prove(&r, nw_le(r.pool, e, *most)) || nw_prove(&r, nw_le(r.pool, *most, e)));
  if (fits && (!*most || !nw_prove(&r, nw_le(r.pool, e, *most)))) *most = e;
  nw_ranges_free(&r);
  if (!fits) w->loop = s;
  return fits;
}

bool nw_launch_extents(const nw_program *p, const nw_path *path, nw_launch *out) {
  *out = (nw_launch){.at = path->at[path->n - 1]};
  return nw_walk(p, widen, &(widening){p, out, NULL});
}

// Returns the loop in s that was last bound to dimension `dim` of the grid, or to any dimension of a block if `dim` is -1.
static const nw_stmt *last_bound(const nw_stmt *s, int dim) {
  int own = nw_grid_dim(s);
  const nw_stmt *found = own >= 0 && (dim < 0 ? own >= 3 : own == dim) ? s : NULL;
  for (int i = 0; i < s->nkids; i++) {
    const nw_stmt *other = last_bound(s->kid[i], dim);
    if (other && (!found || other->step > found->step)) found = other;
  }
  return found;
}

static bool too_many(grid *g, const nw_stmt *loop, const char *fmt, const char *what, int64_t n, int64_t limit) {
  g->answer = nw_tell(g->m, NW_REFUSE_CAPACITY, loop, NULL, fmt, what, (long long)n, (long long)limit);
  return false;
}

static bool within_limits(grid *g, const nw_launch *l) {
  nw_ranges r;
  nw_ranges_of(&r, g->m->p, NULL);
  int64_t threads = 1, n;
  bool ok = true;
  for (int d = 0; d < NW_GRID_DIMS && ok; d++) {
    if (!l->extent[d]) continue;
    const char *tag = nw_loop_kind_name((nw_loop_kind)(NW_BLOCK_X + d));
    bool known = nw_const_upper(&r, l->extent[d], &n);
    if (d < 3 && !known)
      continue; // the number of blocks may depend on sizes; the launch itself fails if there are too many
    if (!known) {
      g->answer = nw_tell(g->m, NW_REFUSE_CAPACITY, NULL, NULL,
                          "the extent of %s has no constant bound, and a block has at most %lld threads", tag,
                          (long long)g->limit->threads);
      ok = false;
    } else if (n > g->limit->extent[d]) {
      ok = too_many(g, last_bound(l->at, d), "%s would have %lld values; the limit of the target is %lld", tag, n,
                    g->limit->extent[d]);
    } else if (d >= 3) {
      threads *= n > 1 ? n : 1;
    }
  }
  nw_ranges_free(&r);
  if (ok && threads > g->limit->threads)
    return too_many(g, last_bound(l->at, -1), "%s would have %lld threads; the limit is %lld", "a block", threads,
                    g->limit->threads);
  return ok;
}

static bool launch_fits(grid *g, const nw_path *path) {
  if (nw_launch_on(g->m->p, path) != path->n - 1) return true;
  nw_launch l = {.at = path->at[path->n - 1]};
  widening w = {g->m->p, &l, NULL};
  if (nw_walk(g->m->p, widen, &w)) return within_limits(g, &l);
  return refuse(g, w.loop, nw_arena_printf(g->m->arena, "%s has no extent that is known at launch", tag_of(w.loop)),
                "the extent of %s cannot be compared with those of the other loops bound to %s, so the largest extent "
                "is not known",
                w.loop->loop.var->name, tag_of(w.loop));
}

// ---- storage

static bool block_below(const nw_stmt *s) {
  bool any = nw_is_block_loop(s);
  for (int i = 0; i < s->nkids && !any; i++) any = block_below(s->kid[i]);
  return any;
}

static const char *const owners[NW_SCOPE_COUNT] = {[NW_LOCAL] = "local: each thread has its own",
                                                   [NW_SHARED] = "shared: each block has its own",
                                                   [NW_WARP] = "warp: each warp has its own",
                                                   [NW_CHIP] = "a buffer of an accelerator"};

static bool lives_right(grid *g, const nw_path *path) {
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_ALLOC) return true;
  nw_scope scope = nw_find_buffer(g->m->p, s->alloc.buffer)->scope;
  if (scope != NW_GLOBAL && block_below(s))
    return refuse(g, NULL,
                  nw_arena_printf(g->m->arena, "%s is allocated outside the blocks that use it", s->alloc.buffer),
                  "its scope is %s", owners[scope]);
  for (int i = 0; i < path->n - 1; i++) {
    bool apart = scope == NW_SHARED ? nw_is_thread_loop(path->at[i])
                                    : scope == NW_WARP && nw_grid_dim(path->at[i]) == 3; // threadIdx.x
    if (apart)
      return refuse(
          g, path->at[i],
          nw_arena_printf(g->m->arena, "%s is allocated inside %s", s->alloc.buffer, path->at[i]->loop.var->name),
          "a buffer of scope %s belongs to a whole %s, but each value of %s would have its own buffer",
          scope == NW_SHARED ? "shared" : "warp", scope == NW_SHARED ? "block" : "warp", tag_of(path->at[i]));
  }
  return true;
}

// True if the threads of the launch can be divided into groups of `warp` threads with consecutive indices along x, such
// that no group is divided between two warps of the machine. The threads are numbered along x first. If there are
// threads along y or z, a row along x must therefore fill whole warps, or divide a warp.
static bool whole_warps(const nw_ranges *r, const nw_launch *l, int64_t warp) {
  int64_t x = 1, lo, other;
  bool row = true;
  if (l->extent[3] && !(nw_const_upper(r, l->extent[3], &x) && nw_const_lower(r, l->extent[3], &lo) && lo == x))
    return false;
  for (int d = 4; d < NW_GRID_DIMS; d++)
    row &= !l->extent[d] || (nw_const_upper(r, l->extent[d], &other) && other <= 1);
  return row || x % warp == 0 || (x > 0 && warp % x == 0);
}

static bool warps_divide(grid *g, const nw_path *path) {
  const nw_stmt *s = path->at[path->n - 1];
  nw_launch l;
  if (s->kind != NW_ALLOC || nw_find_buffer(g->m->p, s->alloc.buffer)->scope != NW_WARP) return true;
  nw_path upto = *path;
  int at = nw_launch_on(g->m->p, path);
  if (at < 0) return true;
  upto.n = at + 1;
  if (!nw_launch_extents(g->m->p, &upto, &l)) return true; // launch_fits refuses it
  nw_ranges r;
  nw_ranges_of(&r, g->m->p, NULL);
  bool whole = whole_warps(&r, &l, g->limit->warp);
  nw_ranges_free(&r);
  return whole || refuse(g, NULL, nw_arena_printf(g->m->arena, "%s has scope warp", s->alloc.buffer),
                         "the threads along x must have a constant number that %lld divides or that divides %lld",
                         (long long)g->limit->warp, (long long)g->limit->warp);
}

// ---- all checks

static bool check_stmt(void *env, const nw_path *path) {
  grid *g = env;
  nw_ctx *c = g->m->p->ctx;
  return (!NW_RULE(c, grid_nesting) || nests(g, path)) && (!NW_RULE(c, grid_bounds) || same_for_all(g, path)) &&
         (!NW_RULE(c, grid_extent) || launch_fits(g, path)) && (!NW_RULE(c, grid_scope) || lives_right(g, path)) &&
         (!NW_RULE(c, grid_warp) || warps_divide(g, path));
}

nw_answer nw_check_grid(const nw_model *m) {
  grid g = {m, &m->p->target->limit.launch, NW_HOLDS};
  if (nw_find_bound(m->p->root)) nw_walk(m->p, check_stmt, &g);
  return g.answer;
}
