// Combines the partial results of threads in pairs. See halving.h.
#include "ir/program/halving.h"

// ---- storage

void nw_part_of_stage(const nw_factoring *f, const nw_stmt *block, int at, nw_part_box *box) {
  nw_program *p = f->p;
  nw_pool *pool = p->pool;
  const nw_block_target *t = &block->block.target[0];
  const char *over[NW_MAX_DEPTH];
  int n = 0;
  nw_ranges r;
  nw_ranges_of(&r, p, &f->path);
  for (int i = at; i < f->path.n - 1; i++)
    if (f->path.at[i]->kind == NW_LOOP) over[n++] = f->path.at[i]->loop.var->name;
  for (int d = 0; d < t->n; d++) {
    const nw_expr *e = nw_block_bound(p, block, t->index[d]);
    const nw_expr *lo = nw_lower_over(&r, e, n, over), *hi = nw_upper_over(&r, e, n, over);
    bool known = lo && hi && !nw_uses_any(lo, n, over) && !nw_uses_any(hi, n, over);
    box->min[d] = known ? nw_simplify(&r, lo) : nw_index(pool, 0);
    box->extent[d] = known ? nw_simplify(&r, nw_add(pool, nw_sub(pool, hi, lo), nw_index(pool, 1)))
                           : nw_find_buffer(p, t->buffer)->shape[d];
  }
  box->n = t->n;
  nw_ranges_free(&r);
}

nw_stmt *nw_allocate_part(nw_program *p, const char *buffer, const nw_part_box *box, nw_stmt *parent, int pos, int n) {
  nw_stmt *alloc = nw_new_alloc(p, nw_find_buffer(p, buffer));
  for (int d = 0; d < box->n; d++) alloc->alloc.min[d] = box->min[d], alloc->alloc.extent[d] = box->extent[d];
  if (!parent) return alloc;
  nw_kids_set(p, alloc, n, parent->kid + pos);
  for (int i = 0; i < n; i++) nw_kids_remove(p, parent, pos);
  nw_kids_insert(p, parent, pos, alloc);
  return alloc;
}

// ---- the plan

static int64_t half_of(int64_t n) {
  int64_t half = 1;
  while (2 * half < n) half *= 2;
  return half;
}

// Finds the greatest constant number of threads along each index, of the loops at or below s. Returns false if a number
// is not constant.
static bool find_threads(const nw_stmt *s, int64_t *most) {
  int64_t n;
  if (nw_is_thread_loop(s)) {
    int dim = nw_grid_dim(s);
    if (!nw_is_int(s->loop.extent, &n)) return false;
    if (n > most[dim]) most[dim] = n;
  }
  for (int i = 0; i < s->nkids; i++)
    if (!find_threads(s->kid[i], most)) return false;
  return true;
}

// True if threads with consecutive indices along x, from a multiple of a power of two that is at most a warp, and as many
// as this power, are in one warp of the machine. The threads are numbered along x first, so a row must fill whole warps or
// divide a warp, unless there is only one row.
static bool rows_fit_warps(const nw_factoring *f) {
  int64_t n[NW_GRID_DIMS] = {0}, warp = f->p->target ? f->p->target->limit.launch.warp : 0;
  int at = nw_launch_on(f->p, &f->path);
  if (at < 0 || warp < 1 || (warp & (warp - 1)) || !nw_target_scope(f->p->target, "warp")) return false;
  if (!find_threads(f->path.at[at], n) || n[3] < 1) return false;
  return (n[4] <= 1 && n[5] <= 1) || n[3] % warp == 0 || warp % n[3] == 0;
}

static bool plan_loop(nw_halving *h, int loop, bool in_warp) {
  const nw_stmt *s = h->f->red[loop];
  int64_t n;
  if (!nw_is_int(s->loop.extent, &n)) return false;
  while (n > 1) {
    int64_t half = half_of(n);
    if (h->n == NW_HALVINGS) return false;
    bool one_warp = in_warp && nw_grid_dim(s) == 3 && n <= h->f->p->target->limit.launch.warp;
    h->step[h->n].loop = loop;
    h->step[h->n].from = n;
    h->step[h->n].to = half;
    h->step[h->n++].scope = one_warp ? NW_WARP : NW_SHARED;
    n = half;
  }
  return true;
}

// Returns the greatest number of statements around a block that the steps make.
static int depth_of(const nw_halving *h) {
  int all = 2 * h->f->path.n + h->f->nred, targets = h->was.block.ntargets;
  for (int i = 0; i < h->n; i++) all += h->step[i].scope == NW_SHARED && h->around < h->f->top ? 2 * targets : targets;
  return all + 2 * targets;
}

bool nw_plan_halving(nw_halving *h) {
  const nw_factoring *f = h->f;
  bool in_warp = rows_fit_warps(f);
  h->n = 0;
  for (int i = 0; i < f->nred; i++)
    if (f->part[i] && !plan_loop(h, i, in_warp)) return false;
  return h->n && depth_of(h) < NW_MAX_DEPTH;
}

// ---- the blocks of a step

typedef struct making {
  nw_halving *h;
  nw_program *p;
  nw_pool *pool;
  nw_stmt *inside; // the block that combines the last partial result with the element, and its loops
  const nw_expr *where; // the guards of the stage along its output
  const char **part, **upper; // the buffers of the current step: the partial results, and those that are given away
  const nw_expr *now[NW_MAX_DEPTH]; // the number of threads with a partial result, for each loop of the reduction
} making;

static const nw_expr *read(const making *m, int t, const char *buffer, const nw_expr *const *index) {
  const nw_block_target *g = &m->h->f->block->block.target[t];
  nw_dtype type = nw_find_buffer(m->p, g->buffer)->dtype;
  return nw_load(m->pool, (nw_type){(uint8_t)type, 1}, buffer, g->n, index);
}

// Adds a buffer for each target, with a dimension for each loop over threads.
static const char **new_buffers(const making *m, const char *suffix, nw_scope scope, const nw_expr *const *extent) {
  const nw_factoring *f = m->h->f;
  int n = m->h->was.block.ntargets;
  const char **name = NW_NEW_N(m->p->arena, const char *, n);
  for (int t = 0; t < n; t++) {
    const nw_buffer *of = nw_find_buffer(m->p, m->h->was.block.target[t].buffer);
    const nw_expr *shape[NW_MAX_DEPTH];
    int dims = 0;
    for (; dims < of->ndim; dims++) shape[dims] = of->shape[dims];
    for (int i = 0; i < f->nred; i++)
      if (f->part[i]) shape[dims++] = extent[i];
    name[t] = nw_add_buffer(m->p, nw_arena_printf(m->p->arena, "%s%s", of->name, suffix), of->dtype, scope, NW_TEMP,
                            dims, shape)
                  ->name;
  }
  return name;
}

// Makes a block that stores value[t] to buffer[t], and its loops over threads. In the loop `step->loop`, the block starts
// at thread `from`; its variable there begins at 0.
static nw_stmt *block_of(const making *m, const char *const *buffer, const nw_expr *const *value, int along,
                         const nw_expr *first, const nw_expr *const *extent) {
  const nw_factoring *f = m->h->f;
  const nw_stmt *was = &m->h->was;
  nw_stmt *s = nw_new_stmt(m->p, NW_BLOCK), *nest = s, *inner = NULL;
  s->block = was->block;
  s->block.combiner = NW_PLAIN;
  s->block.has_init = s->block.atomic = false;
  s->block.var = NW_NEW_N(m->p->arena, nw_block_var, was->block.nvars + f->nred);
  s->block.nvars = 0;
  s->block.where = m->where;
  for (int i = 0; i < was->block.nvars; i++)
    if (was->block.var[i].kind != NW_REDUCE) s->block.var[s->block.nvars++] = was->block.var[i];
  for (int i = 0; i < f->nred; i++) {
    if (!f->part[i]) continue;
    const nw_expr *all = i == along ? nw_add(m->pool, first, extent[i]) : extent[i], *zero = nw_index(m->pool, 0);
    if (nw_is_const(all, 1)) { // only the first thread
      s->block.var[s->block.nvars++] = (nw_block_var){f->var[i], NW_SPATIAL, zero, extent[i], zero};
      continue;
    }
    nw_stmt *loop = nw_new_loop(m->p, nw_unique_loop_name(m->p, f->red[i]->loop.var->name), zero, all);
    loop->loop.mark = f->red[i]->loop.mark;
    const nw_expr *at = i == along ? nw_sub(m->pool, loop->loop.var, first) : loop->loop.var;
    s->block.var[s->block.nvars++] = (nw_block_var){f->var[i], NW_SPATIAL, zero, extent[i], at};
    if (i == along && !nw_is_const(first, 0))
      s->block.where = nw_and(m->pool, s->block.where, nw_le(m->pool, first, loop->loop.var));
    if (inner)
      nw_kids_set(m->p, inner, 1, &loop);
    else
      nest = loop;
    inner = loop;
  }
  s->block.target = NW_NEW_N(m->p->arena, nw_block_target, was->block.ntargets);
  for (int t = 0; t < was->block.ntargets; t++) {
    const nw_block_target *g = &f->block->block.target[t];
    s->block.target[t] = (nw_block_target){.buffer = buffer[t], .n = g->n, .index = g->index, .value = value[t]};
  }
  s->block.name = nw_unique_block_name(m->p, buffer[0]);
  s->block.origin = nw_unique_origin(m->p, s->block.name);
  if (inner) nw_kids_set(m->p, inner, 1, &s);
  return nest;
}

// Returns the index of a partial result. In the dimension of the loop `along`, it is `by` further.
static const nw_expr **index_of(const making *m, int along, const nw_expr *by) {
  const nw_factoring *f = m->h->f;
  const nw_block_target *g = &f->block->block.target[0];
  const nw_expr **index = NW_NEW_N(m->p->arena, const nw_expr *, g->n + 1);
  for (int d = 0; d < g->n; d++)
    index[d] = g->index[d] == f->var[along] ? nw_add(m->pool, g->index[d], by) : g->index[d];
  return index;
}

// Threads from `to` on give their partial results away.
static nw_stmt *give(const making *m, int k) {
  int loop = m->h->step[k].loop, n = m->h->was.block.ntargets;
  const nw_expr *half = nw_index(m->pool, m->h->step[k].to), *extent[NW_MAX_DEPTH];
  const nw_expr **value = NW_NEW_N(m->p->arena, const nw_expr *, n);
  memcpy(extent, m->now, sizeof extent);
  extent[loop] = nw_index(m->pool, m->h->step[k].from - m->h->step[k].to);
  for (int t = 0; t < n; t++) value[t] = read(m, t, m->part[t], (const nw_expr *const *)index_of(m, loop, half));
  return block_of(m, m->upper, value, loop, half, extent);
}

// The threads before `to` combine their partial results with those that were given away.
static nw_stmt *take(const making *m, int k, const char *const *next) {
  const nw_halving *h = m->h;
  int loop = h->step[k].loop, n = h->was.block.ntargets;
  int64_t others = h->step[k].from - h->step[k].to;
  const nw_expr *zero = nw_index(m->pool, 0), **index = index_of(m, loop, zero), *extent[NW_MAX_DEPTH];
  const nw_expr **own = NW_NEW_N(m->p->arena, const nw_expr *, 3 * n), **given = own + n, **value = given + n;
  const nw_expr *some = others < h->step[k].to ? nw_lt(m->pool, h->f->var[loop], nw_index(m->pool, others)) : NULL;
  memcpy(extent, m->now, sizeof extent);
  extent[loop] = nw_index(m->pool, h->step[k].to);
  for (int t = 0; t < n; t++) {
    own[t] = read(m, t, m->part[t], (const nw_expr *const *)index);
    given[t] = read(m, t, m->upper[t], (const nw_expr *const *)index);
    nw_dtype type = (nw_dtype)given[t]->type.dtype;
    if (some)
      given[t] = nw_choose(m->pool, some, given[t], nw_combiner_identity(m->pool, h->was.block.combiner, type, t));
  }
  for (int t = 0; t < n; t++)
    value[t] =
        nw_combine(m->pool, h->was.block.combiner, t, (const nw_expr *const *)own, (const nw_expr *const *)given);
  return block_of(m, next, value, loop, zero, extent);
}

// ---- the steps

// Returns the box of a step's buffers: this part of the stage, for each thread.
static nw_part_box box_of(const making *m, const nw_part_box *stage, const nw_expr *const *extent) {
  nw_part_box box = *stage;
  for (int i = 0; i < m->h->f->nred; i++)
    if (m->h->f->part[i]) box.min[box.n] = nw_index(m->pool, 0), box.extent[box.n++] = extent[i];
  return box;
}

// Puts allocations around the statements.
static nw_stmt *allocated(const making *m, const char *const *buffer, const nw_part_box *box, int n, nw_stmt **kid) {
  nw_stmt *inner = NULL;
  for (int t = 0; t < m->h->was.block.ntargets; t++) {
    nw_stmt *alloc = nw_allocate_part(m->p, buffer[t], box, NULL, 0, 0);
    if (inner)
      nw_kids_set(m->p, alloc, 1, &inner);
    else
      nw_kids_set(m->p, alloc, n, kid);
    inner = alloc;
  }
  return inner;
}

static nw_stmt *along_output(const making *m, nw_stmt *s) {
  return nw_nest_along_output(m->p, &m->h->f->path, m->h->f->top, &m->h->was, s, "");
}

// The steps of one warp, and the end, run for one element of the stage after another.
static nw_stmt *steps_from(making *m, int k, bool one_element);

static void one_element_box(const making *m, nw_part_box *box) {
  const nw_block_target *t = &m->h->was.block.target[0];
  for (int d = 0; d < t->n; d++) {
    box->min[d] = nw_block_bound(m->p, &m->h->was, t->index[d]);
    box->extent[d] = nw_index(m->pool, 1);
  }
  box->n = t->n;
}

static nw_stmt *step(making *m, int k, bool one_element) {
  const nw_halving *h = m->h;
  int loop = h->step[k].loop;
  bool shared = h->step[k].scope == NW_SHARED, outside = shared && h->around < h->f->top;
  const nw_expr *extent[NW_MAX_DEPTH], *others = nw_index(m->pool, h->step[k].from - h->step[k].to);
  nw_part_box stage, box;
  memcpy(extent, m->now, sizeof extent);
  extent[loop] = others;
  m->upper = new_buffers(m, "_upper", h->step[k].scope, extent);
  const char *const *upper = m->upper;
  nw_stmt *pair[] = {give(m, k), NULL};
  const nw_expr *less[NW_MAX_DEPTH];
  memcpy(less, m->now, sizeof less);
  less[loop] = nw_index(m->pool, h->step[k].to);
  const char **next = new_buffers(m, "_part", NW_LOCAL, less);
  pair[1] = take(m, k, next);
  for (int i = 0; i < 2 && !one_element; i++) pair[i] = along_output(m, pair[i]);
  if (one_element)
    one_element_box(m, &stage);
  else
    nw_part_of_stage(h->f, &h->was, h->f->top, &stage);
  box = box_of(m, &stage, extent);
  nw_stmt *kid[3] = {pair[0], pair[1], NULL};
  int n = 2;
  if (!outside) kid[0] = allocated(m, upper, &box, 2, pair), n = 1;
  m->part = next;
  m->now[loop] = less[loop];
  nw_part_box after = box_of(m, &stage, m->now);
  kid[n] = steps_from(m, k + 1, one_element);
  nw_stmt *all = allocated(m, next, &after, n + 1, kid);
  if (outside) {
    nw_part_box whole;
    nw_part_of_stage(h->f, &h->was, h->around, &whole);
    whole = box_of(m, &whole, extent);
    for (int t = 0; t < h->was.block.ntargets; t++)
      nw_allocate_part(m->p, upper[t], &whole, h->f->path.at[h->around - 1], h->f->path.pos[h->around], 1)->step =
          h->was.step;
  }
  return all;
}

// Thread 0 combines the last partial result with the element.
static nw_stmt *end(const making *m) {
  nw_stmt *s = m->inside;
  for (; s->kind == NW_LOOP; s = s->kid[0]) s->loop.extent = nw_index(m->pool, 1);
  for (int i = 0; i < s->block.nvars; i++)
    if (s->block.var[i].kind == NW_REDUCE) s->block.var[i].extent = nw_index(m->pool, 1);
  for (int t = 0; t < s->block.ntargets; t++) {
    const nw_expr *last = s->block.target[t].value;
    s->block.target[t].value = read(m, t, m->part[t], (const nw_expr *const *)last->arg);
  }
  return m->inside;
}

static nw_stmt *steps_from(making *m, int k, bool one_element) {
  if (k < m->h->n && (one_element || m->h->step[k].scope == NW_SHARED)) return step(m, k, one_element);
  if (one_element) return end(m);
  return along_output(m, steps_from(m, k, true));
}

nw_stmt *nw_halve(nw_halving *h, nw_stmt *inside) {
  const nw_factoring *f = h->f;
  making m = {.h = h, .p = f->p, .pool = f->p->pool, .inside = inside, .where = f->block->block.where};
  int n = h->was.block.ntargets;
  m.part = NW_NEW_N(f->p->arena, const char *, n);
  for (int t = 0; t < n; t++) m.part[t] = f->block->block.target[t].buffer;
  for (int i = 0; i < f->nred; i++)
    if (f->part[i]) m.now[i] = f->red[i]->loop.extent;
  return steps_from(&m, 0, false);
}
