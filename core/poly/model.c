// Makes the sites of a program: one for each block, and one or two for each init that is still a part of its block
// (add_block). A site has the set of its executions, and the instance of each execution.
#include "ir/program/lift.h"
#include "poly/whole/whole.h"
#include <assert.h>

typedef struct build {
  nw_model *m;
  int seq;
  int nloops, nwhere, nallocs;
  const nw_stmt *loop[NW_MAX_DEPTH];
  const nw_expr *where[NW_MAX_DEPTH];
  const nw_stmt *alloc[NW_MAX_DEPTH];
  int alloc_depth[NW_MAX_DEPTH];
} build;

// ---- domains

static isl_set *between(isl_set *set, isl_pw_aff *x, isl_pw_aff *lo, isl_pw_aff *extent) {
  isl_pw_aff *hi = isl_pw_aff_add(isl_pw_aff_copy(lo), extent);
  set = isl_set_intersect(set, isl_pw_aff_ge_set(isl_pw_aff_copy(x), lo));
  return isl_set_intersect(set, isl_pw_aff_lt_set(x, hi));
}

static bool is_small(const nw_expr *e, int64_t *out) {
  return nw_is_int(e, out) && *out > -(1 << 30) && *out < 1 << 30;
}

// Adds lo <= dim < lo + extent. Constant bounds are added directly, since isl expressions would take ten times as long.
static isl_set *bounded(const nw_space *v, isl_set *set, int dim, const nw_expr *lo, const nw_expr *extent) {
  int64_t from, n;
  if (!is_small(lo, &from) || !is_small(extent, &n))
    return between(set, nw_space_dim(v, dim), nw_space_aff(v, lo), nw_space_aff(v, extent));
  set = isl_set_lower_bound_si(set, isl_dim_set, (unsigned)dim, (int)from);
  return isl_set_upper_bound_si(set, isl_dim_set, (unsigned)dim, (int)(from + n - 1));
}

static isl_pw_aff *zero(const nw_space *v) { return nw_space_aff(v, nw_index(v->f->pool, 0)); }

// A loop with a negative extent has no iterations, so an extent of max(n, 0) is equivalent to n.
static const nw_expr *plain_extent(const nw_expr *e) {
  if (e->op != NW_OP_MAX) return e;
  return nw_is_const(e->arg[0], 0) ? e->arg[1] : nw_is_const(e->arg[1], 0) ? e->arg[0] : e;
}

static bool no_extreme(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_MIN && e->op != NW_OP_MAX;
}

static bool has_extremes(const nw_stmt *l) {
  return !nw_visit(l->loop.begin, no_extreme, NULL) || !nw_visit(l->loop.extent, no_extreme, NULL);
}

// Adds the bounds of a loop as two conditions. Otherwise, a loop whose end is a minimum would split the set into
// several pieces.
static isl_set *plain_bounds(const nw_space *v, const nw_stmt *l, isl_set *set) {
  nw_pool *pool = v->f->pool;
  const nw_expr *end = nw_add(pool, l->loop.begin, plain_extent(l->loop.extent));
  set = isl_set_intersect(set, nw_space_cond(v, nw_le(pool, l->loop.begin, l->loop.var), true));
  return isl_set_intersect(set, nw_space_cond(v, nw_lt(pool, l->loop.var, end), true));
}

isl_set *nw_loop_bounds(const nw_space *v, const nw_stmt *l, isl_set *set) {
  int first = nw_space_first(v, l->loop.var->name);
  if (!l->loop.nfused && !v->opaque.n && has_extremes(l)) return plain_bounds(v, l, set);
  if (!l->loop.nfused) return bounded(v, set, first, l->loop.begin, l->loop.extent);
  for (int d = 0; d < l->loop.nfused; d++) set = bounded(v, set, first + d, nw_index(v->f->pool, 0), l->loop.fused[d]);
  return set;
}

// Fixes a reduce loop at its first value, even if it has no iterations.
static isl_set *at_begin(const nw_site *s, int i, isl_set *set) {
  const nw_stmt *l = s->loop[i];
  if (!l->loop.nfused)
    return isl_set_intersect(
        set, isl_pw_aff_eq_set(nw_space_dim(&s->view, s->dim[i]), nw_space_aff(&s->view, l->loop.begin)));
  for (int d = 0; d < l->loop.nfused; d++) set = isl_set_fix_si(set, isl_dim_set, (unsigned)(s->dim[i] + d), 0);
  return set;
}

static isl_set *guards(const nw_site *s, isl_set *set) {
  for (int i = 0; i < s->nwhere; i++) set = isl_set_intersect(set, nw_space_cond(&s->view, s->where[i], true));
  return set;
}

static isl_set *guards_of_init(const nw_model *m, const nw_site *s, isl_set *set) {
  const nw_expr *own = nw_where_of_init(m->p, s->block);
  for (int i = 0; i < s->nwhere - (own != NULL); i++)
    set = isl_set_intersect(set, nw_space_cond(&s->view, s->where[i], true));
  return own ? isl_set_intersect(set, nw_space_cond(&s->view, own, true)) : set;
}

static isl_set *first_reduce(const nw_site *s, isl_set *set) {
  for (int i = 0; i < s->block->block.nvars; i++) {
    const nw_block_var *v = &s->block->block.var[i];
    if (v->kind != NW_REDUCE) continue;
    set = isl_set_intersect(set, isl_pw_aff_eq_set(nw_space_aff(&s->view, v->bind), nw_space_aff(&s->view, v->lo)));
  }
  return set;
}

static isl_set *start(const nw_site *s) {
  return isl_set_intersect_params(nw_space_all(&s->view), isl_set_copy(s->view.f->context));
}

static bool surely_runs(const nw_stmt *loop) {
  int64_t extent;
  return nw_is_int(loop->loop.extent, &extent) && extent > 0;
}

// Returns the executions of an init in which a reduce loop has no iterations. If the reduction is declared to be empty,
// a lifted init (lift.c) runs even in these executions, since the result of an empty reduction is its init. Otherwise,
// the loops run only a part of the reduction, and the init may or may not run (`maybe`). Then no proof may rely on the
// write or on its absence.
static isl_set *empty_reduction(const nw_model *m, const nw_site *s) {
  isl_set *none = isl_set_empty(nw_family_space(s->view.f, s->view.ndims + s->view.opaque.n)), *all = start(s);
  for (int i = 0; i < s->nloops; i++) {
    const nw_stmt *l = s->loop[i];
    if (!nw_binds_reduce(s->block, l->loop.var->name)) {
      all = nw_loop_bounds(&s->view, l, all);
      continue;
    }
    all = at_begin(s, i, all);
    if (!surely_runs(l))
      none = isl_set_union(none, isl_pw_aff_le_set(nw_space_aff(&s->view, l->loop.extent), zero(&s->view)));
  }
  return isl_set_intersect(first_reduce(s, guards_of_init(m, s, all)), none);
}

static bool may_lack_updates(const nw_model *m, const nw_site *s) {
  for (int i = 0; i < s->nloops; i++)
    if (nw_binds_reduce(s->block, s->loop[i]->loop.var->name) && !surely_runs(s->loop[i]))
      return nw_init_lifts(m->p, s->block);
  return false;
}

// Returns the sizes for which the reduction is declared to be empty.
static isl_set *declared_empty(const nw_site *s) {
  isl_set *set = isl_set_empty(nw_family_space(s->view.f, s->view.ndims + s->view.opaque.n));
  for (int i = 0; i < s->block->block.nvars; i++) {
    const nw_block_var *v = &s->block->block.var[i];
    if (v->kind == NW_REDUCE)
      set = isl_set_union(set, isl_pw_aff_le_set(nw_space_aff(&s->view, v->extent), zero(&s->view)));
  }
  return set;
}

// Adds the executions of an init for empty reductions. Sets s->pieces if there are such executions.
static isl_set *with_empty(const nw_model *m, nw_site *s, isl_set *set) {
  isl_set *more = isl_set_intersect(empty_reduction(m, s), declared_empty(s));
  isl_bool none = isl_set_is_empty(more);
  s->pieces = none == isl_bool_false;
  if (none != isl_bool_true) return isl_set_union(set, none < 0 ? isl_set_free(more) : more);
  isl_set_free(more);
  return set;
}

static isl_set *executions(const nw_model *m, nw_site *s) {
  if (s->maybe) return isl_set_subtract(empty_reduction(m, s), declared_empty(s));
  isl_set *set = start(s);
  for (int i = 0; i < s->nloops; i++) set = nw_loop_bounds(&s->view, s->loop[i], set);
  set = guards(s, set);
  if (!s->init) return set;
  set = first_reduce(s, set);
  return may_lack_updates(m, s) ? with_empty(m, s, set) : set;
}

// ---- sites

void nw_scan_loop(nw_space *v, const nw_stmt *l) {
  nw_space_scan(v, l->loop.begin);
  if (!l->loop.nfused) nw_space_scan(v, l->loop.extent);
  for (int d = 0; d < l->loop.nfused; d++) nw_space_scan(v, l->loop.fused[d]);
}

static void scan_site(const nw_model *m, nw_site *s) {
  for (int i = 0; i < s->nloops; i++) nw_scan_loop(&s->view, s->loop[i]);
  for (int i = 0; i < s->nwhere; i++) nw_space_scan(&s->view, s->where[i]);
  if (s->block->block.when) nw_space_scan(&s->view, nw_block_bound(m->p, s->block, s->block->block.when));
  for (int i = 0; i < s->block->block.nvars; i++) {
    nw_space_scan(&s->view, s->block->block.var[i].bind);
    nw_space_scan(&s->view, s->block->block.var[i].lo);
    if (s->init) nw_space_scan(&s->view, s->block->block.var[i].extent);
  }
}

static bool exact_site(const nw_site *s) {
  for (int i = 0; i < s->nwhere; i++)
    if (!nw_cond_exact(s->where[i])) return false;
  const nw_expr *when = s->block->block.when;
  return s->view.opaque.n == 0 && (!when || nw_cond_exact(when));
}

void nw_key_loop(nw_key *k, const nw_stmt *l) {
  nw_key_ptr(k, l->loop.var);
  nw_key_ptr(k, l->loop.begin);
  nw_key_ptr(k, l->loop.extent);
  nw_key_add(k, (uintptr_t)l->loop.nfused);
  for (int d = 0; d < l->loop.nfused; d++) nw_key_ptr(k, l->loop.fused[d]);
}

void nw_key_var(nw_key *k, const nw_block_var *v) {
  nw_key_add(k, v->kind);
  nw_key_ptr(k, v->bind);
  nw_key_ptr(k, v->lo);
  nw_key_ptr(k, v->extent);
}

static void number_site(const nw_model *m, nw_site *s) {
  nw_key k = {0};
  nw_key_add(&k, 's');
  nw_key_add(&k, s->init + 2 * s->pieces + 4 * s->maybe);
  for (int i = 0; i < s->nloops; i++) nw_key_loop(&k, s->loop[i]);
  nw_key_add(&k, 'w');
  for (int i = 0; i < s->nwhere; i++) nw_key_ptr(&k, s->where[i]);
  nw_key_add(&k, 'v');
  for (int i = 0; i < s->block->block.nvars; i++) nw_key_var(&k, &s->block->block.var[i]);
  const nw_expr *when = s->block->block.when;
  if (when) nw_key_ptr(&k, nw_block_bound(m->p, s->block, when));
  s->number = nw_fact_number(s->view.f, &k);
  nw_key_free(&k);
}

static void site_vars(nw_site *s, nw_arena *arena) {
  s->var = NW_NEW_N(arena, const nw_block_var *, s->block->block.nvars + 1);
  for (int i = 0; i < s->block->block.nvars; i++) {
    const nw_block_var *v = &s->block->block.var[i];
    if (!s->init || v->kind != NW_REDUCE) s->var[s->nvars++] = v;
  }
}

static isl_map *instances(const nw_site *s, nw_arena *arena) {
  const nw_expr **bind = NW_NEW_N(arena, const nw_expr *, s->nvars + 1);
  for (int i = 0; i < s->nvars; i++) bind[i] = s->var[i]->bind;
  return nw_space_map(&s->view, isl_set_copy(s->domain), s->nvars, bind);
}

// Makes the executions of a site, and their instances.
static void make_sets(nw_model *m, nw_site *s) {
  isl_set *wide = executions(m, s);
  s->domain = isl_set_project_out(wide, isl_dim_set, (unsigned)s->view.ndims, (unsigned)s->view.opaque.n);
  s->instance = instances(s, m->arena);
}

// Gives a site its sets. If another program of the schedule has a site with the same number, the sets of that site are
// copied. The sets of an init that may have no updates are always made, since its number does not determine them.
static void site_sets(nw_model *m, nw_site *s) {
  if (s->maybe || (s->init && may_lack_updates(m, s))) {
    make_sets(m, s);
    return number_site(m, s);
  }
  number_site(m, s);
  nw_kept *known = nw_kept_find(m->f, s->number), fresh = {0};
  if (known) {
    if (!NW_MUTATED(model_for_free)) nw_price_charge(m->f->s, &known->price);
    s->domain = isl_set_copy(known->domain);
    s->instance = isl_map_copy(known->map);
    return;
  }
  nw_price_begin(m->f->s, &fresh.price);
  make_sets(m, s);
  nw_price_end(m->f->s, &fresh.price);
  if (!s->domain || !s->instance) return;
  fresh.domain = isl_set_copy(s->domain);
  fresh.map = isl_map_copy(s->instance);
  nw_keep(m->f, s->number, fresh);
}

static nw_site *add_site(build *b, const nw_stmt *block, bool init, bool maybe) {
  nw_model *m = b->m;
  nw_site *s = NW_NEW(m->arena, nw_site);
  s->block = block;
  s->init = init;
  s->maybe = maybe;
  s->seq = b->seq++;
  nw_space_init(&s->view, m->f);
  s->nloops = b->nloops;
  for (int i = 0; i < b->nloops; i++) {
    s->loop[i] = b->loop[i];
    s->dim[i] = s->view.ndims;
    nw_space_loop(&s->view, b->loop[i]);
  }
  s->dim[s->nloops] = s->view.ndims;
  s->nwhere = b->nwhere + (block->block.where != NULL);
  s->where = NW_NEW_N(m->arena, const nw_expr *, s->nwhere + 1);
  memcpy(s->where, b->where, (size_t)b->nwhere * sizeof *s->where);
  if (block->block.where) s->where[s->nwhere - 1] = block->block.where;
  s->parts = NW_NEW(m->arena, nw_parts);
  s->parts->n = -1;
  site_vars(s, m->arena);
  scan_site(m, s);
  s->exact = exact_site(s);
  site_sets(m, s);
  nw_site_uses(m, s, b->nallocs, b->alloc, b->alloc_depth);
  m->site[m->nsites++] = s;
  return s;
}

static void site_free(nw_site *s) {
  for (int i = 0; i < s->nuses; i++) isl_map_free(s->use[i].map);
  nw_space_free(&s->view);
  isl_map_free(s->instance);
  isl_set_free(s->domain);
}

static void forget_if_empty(nw_model *m, nw_site *s) {
  if (isl_set_is_empty(s->domain) != isl_bool_true) return;
  site_free(s);
  m->nsites--;
}

// Adds the sites of a block. If the init is a part of the block, the site of the init comes first. If the reduction may
// be empty, a second site has those executions of the init that may or may not happen (`maybe`). The block itself comes
// last.
static void add_block(build *b, const nw_stmt *block) {
  if (block->block.has_init) {
    const nw_site *init = add_site(b, block, true, false);
    if (may_lack_updates(b->m, init)) forget_if_empty(b->m, add_site(b, block, true, true));
  }
  add_site(b, block, false, false);
}

// ---- the model

static void build_tree(build *b, const nw_stmt *s) {
  build saved = *b;
  if (s->kind == NW_LOOP) b->loop[b->nloops++] = s;
  if (s->kind == NW_GUARD) b->where[b->nwhere++] = s->guard.cond;
  if (s->kind == NW_ALLOC) {
    b->alloc_depth[b->nallocs] = b->nloops;
    b->alloc[b->nallocs++] = s;
  }
  if (s->kind == NW_BLOCK) add_block(b, s);
  for (int i = 0; i < s->nkids; i++) build_tree(b, s->kid[i]);
  b->nloops = saved.nloops;
  b->nwhere = saved.nwhere;
  b->nallocs = saved.nallocs;
}

static int count_blocks(const nw_stmt *s) {
  int n = s->kind == NW_BLOCK;
  for (int i = 0; i < s->nkids; i++) n += count_blocks(s->kid[i]);
  return n;
}

// Stores the new model in its program. If isl fails while the model is made, nothing is stored.
nw_model *nw_model_of(const nw_program *p, nw_family *known) {
  if (p->model && nw_family_abandoned(((nw_model *)p->model)->f)) {
    ((nw_program *)p)->model = NULL;
    ((nw_program *)p)->model_free = NULL;
  }
  if (p->model) {
    if (!NW_MUTATED(model_for_free)) nw_price_charge(((nw_model *)p->model)->f->s, &((nw_model *)p->model)->price);
    return p->model;
  }
  nw_price price = {0};
  nw_price_begin(nw_proofs_of(p->ctx), &price);
  nw_arena *arena = nw_arena_new();
  nw_model *m = NW_NEW(arena, nw_model);
  m->arena = arena;
  m->p = m->seen = p;
  m->f = nw_family_for(p, known);
  m->site = NW_NEW_N(arena, nw_site *, 3 * count_blocks(p->root) + 1);
  build b = {.m = m};
  build_tree(&b, p->root);
  for (int i = 0; i < m->nsites; i++) {
    if (m->site[i]->domain && m->site[i]->instance) continue;
    nw_proofs_lost(m->f->s);
    nw_model_free(m);
    return NULL;
  }
  nw_model_index(m);
  nw_price_end(m->f->s, &price);
  m->price = price;
  ((nw_program *)p)->model = m;
  ((nw_program *)p)->model_free = nw_model_free;
  return m;
}

nw_model *nw_model_judged(const nw_program *p, nw_family *known) { return nw_model_cut(p, known, NULL); }

nw_model *nw_model_cut(const nw_program *p, nw_family *known, const nw_program *other) {
  const nw_whole *w = nw_whole_of(p, known, other);
  nw_model *m = w ? nw_model_of(w->p ? w->p : p, known) : NULL;
  if (!m || !w->p) return m;
  m->seen = p;
  m->whole = w;
  return m;
}

void nw_model_drop(const nw_program *p) {
  nw_program *own = (nw_program *)p;
  if (own->model) own->model_free(own->model);
  own->model = NULL;
  own->model_free = NULL;
}

void nw_model_free(void *model) {
  nw_model *m = model;
  for (int i = 0; i < m->nsites; i++) site_free(m->site[i]);
  nw_family *f = m->f;
  nw_arena_free(m->arena);
  nw_family_release(f);
}

bool nw_site_same_work(const nw_site *a, const nw_site *b) {
  bool init_a = a->init || a->block->block.init_part, init_b = b->init || b->block->block.init_part;
  return init_a == init_b && !strcmp(a->block->block.origin, b->block->block.origin);
}
