// Finds the reads and writes of each site of a program. (A site is a block, or the init of a reduction block; see
// internal.h.) A read in a branch of a select happens only under the condition of that branch.
#include "ir/expr/known.h"
#include "poly/internal.h"

typedef struct gather {
  nw_model *m;
  nw_site *s;
  int nallocs;
  const nw_stmt *const *alloc;
  const int *depth;
  int cap;
  int nconds;
  nw_guarded cond[NW_MAX_DEPTH];
} gather;

// Returns the indices without the reads of indices that are known (ir/expr/known.h). Such a read is an access of its own.
static const nw_expr *const *proved(const gather *g, int n, const nw_expr *const *index) {
  const nw_expr **out = NULL;
  for (int d = 0; d < n; d++) {
    const nw_expr *e = nw_as_proved(g->m->p->pool, index[d]);
    if (e == index[d]) continue;
    if (!out) memcpy(out = NW_NEW_N(g->m->arena, const nw_expr *, n), index, (size_t)n * sizeof *out);
    out[d] = e;
  }
  return out ? out : index;
}

static nw_use *new_access(gather *g, const char *buffer, int n, const nw_expr *const *index) {
  nw_site *s = g->s;
  index = proved(g, n, index);
  if (s->nuses == g->cap) {
    nw_use *old = s->use;
    g->cap = g->cap ? 2 * g->cap : 8;
    s->use = NW_NEW_N(g->m->arena, nw_use, g->cap);
    if (old) memcpy(s->use, old, (size_t)s->nuses * sizeof *old);
  }
  nw_use *a = &s->use[s->nuses++];
  *a = (nw_use){.site = s, .buffer = nw_find_buffer(g->m->p, buffer), .n = n, .index = index, .nconds = g->nconds};
  nw_guarded *cond = NW_NEW_N(g->m->arena, nw_guarded, g->nconds + 1);
  memcpy(cond, g->cond, (size_t)g->nconds * sizeof *cond);
  a->cond = cond;
  for (int i = g->nallocs - 1; i >= 0 && !a->alloc; i--)
    if (!strcmp(g->alloc[i]->alloc.buffer, buffer)) {
      a->alloc = g->alloc[i];
      a->depth = g->depth[i];
    }
  if (!a->alloc && a->buffer) a->alloc = a->buffer->alloc;
  return a;
}

static bool seen(const gather *g, const nw_expr *load) {
  for (int i = 0; i < g->s->nuses; i++) {
    const nw_use *a = &g->s->use[i];
    if (a->load == load && a->nconds <= g->nconds && !memcmp(a->cond, g->cond, (size_t)a->nconds * sizeof *a->cond))
      return true;
  }
  return false;
}

static void reads(gather *g, const nw_expr *e);

// Adds the reads of e, which is a branch of a select. In selects that are nested deeper than NW_MAX_DEPTH, conditions
// are ignored.
static void reads_under(gather *g, const nw_expr *cond, bool want, const nw_expr *e) {
  int saved = g->nconds;
  if (g->nconds < NW_MAX_DEPTH) g->cond[g->nconds++] = (nw_guarded){cond, want};
  reads(g, e);
  g->nconds = saved;
}

static void reads(gather *g, const nw_expr *e) {
  if (e->op == NW_OP_LOAD && !seen(g, e)) new_access(g, e->name, e->n, e->arg)->load = e;
  if (e->op == NW_OP_SELECT) {
    reads(g, e->arg[0]);
    reads_under(g, e->arg[0], true, e->arg[1]);
    reads_under(g, e->arg[0], false, e->arg[2]);
    return;
  }
  for (int i = 0; i < e->n; i++) reads(g, e->arg[i]);
}

// Numbers an access, so that results about the access can be stored and reused. Two accesses get the same number if
// they agree in the number of the site, in `depth` and `update`, and in the conditions and the index in terms of the
// loops.
static void number_access(gather *g, nw_use *a) {
  const nw_stmt *block = a->site->block;
  nw_key k = {0};
  nw_key_add(&k, 'a');
  nw_key_add(&k, (uintptr_t)a->site->number);
  nw_key_add(&k, (uintptr_t)a->depth);
  nw_key_add(&k, (uintptr_t)a->update);
  a->bound = NW_NEW_N(g->m->arena, const nw_expr *, a->n + 1);
  a->loops = NW_NEW_N(g->m->arena, uint64_t, a->n + 1);
  for (int i = 0; i < a->n; i++) {
    a->bound[i] = nw_block_bound(g->m->p, block, a->index[i]);
    a->loops[i] = nw_site_loops_of(a->site, a->bound[i]);
    nw_key_ptr(&k, a->bound[i]);
  }
  nw_key_add(&k, 'c');
  for (int i = 0; i < a->nconds; i++) {
    nw_key_ptr(&k, nw_block_bound(g->m->p, block, a->cond[i].cond));
    nw_key_add(&k, a->cond[i].want);
  }
  a->number = nw_fact_number(g->m->f, &k);
  nw_key_free(&k);
}

void nw_site_uses(nw_model *m, nw_site *s, int nallocs, const nw_stmt *const *alloc, const int *depth) {
  gather g = {.m = m, .s = s, .nallocs = nallocs, .alloc = alloc, .depth = depth};
  const nw_stmt *b = s->block;
  for (int i = 0; i < b->block.ntargets; i++) {
    const nw_block_target *t = &b->block.target[i];
    reads(&g, s->init ? t->init : t->value);
    for (int d = 0; d < t->n; d++) reads(&g, t->index[d]);
  }
  for (int i = 0; i < b->block.ntargets; i++) {
    const nw_block_target *t = &b->block.target[i];
    nw_use *w = new_access(&g, t->buffer, t->n, t->index);
    w->write = true;
    w->update = !s->init && b->block.combiner != NW_PLAIN;
  }
  for (int i = 0; i < s->nuses; i++) number_access(&g, &s->use[i]);
}

// ---- relations

// Returns the conditions of the access as a set over the loops and the opaque dimensions of v (expr.c explains them).
isl_set *nw_use_conditions(const nw_program *p, const nw_use *a, const nw_space *v) {
  isl_set *set = nw_space_all(v);
  for (int i = 0; i < a->nconds; i++) {
    const nw_expr *cond = nw_block_bound(p, a->site->block, a->cond[i].cond);
    set = isl_set_intersect(set, nw_space_cond(v, cond, a->cond[i].want));
  }
  return set;
}

// Initializes v with the loops of the site, and with an opaque dimension for each non-affine part of the access's index
// and conditions.
void nw_use_space(const nw_program *p, const nw_use *a, nw_space *v) {
  nw_space_init(v, a->site->view.f);
  for (int i = 0; i < a->site->nloops; i++) nw_space_loop(v, a->site->loop[i]);
  for (int i = 0; i < a->n; i++) nw_space_scan(v, a->bound[i]);
  for (int i = 0; i < a->nconds; i++) nw_space_scan(v, nw_block_bound(p, a->site->block, a->cond[i].cond));
  nw_space_bound_loops(v, a->site);
}

// Returns the map execution -> (iterations of the loops around the allocation, index), for the executions in which the
// access happens.
isl_map *nw_use_map(const nw_model *m, nw_use *a) {
  if (a->map) {
    if (!NW_MUTATED(model_for_free)) nw_price_charge(m->f->s, &a->price);
    return a->map;
  }
  nw_kept *known = nw_kept_find(m->f, a->number);
  if (known && !a->site->maybe && !a->site->pieces) {
    a->price = known->price;
    if (!NW_MUTATED(model_for_free)) nw_price_charge(m->f->s, &a->price);
    a->exact = known->exact;
    return a->map = isl_map_copy(known->map);
  }
  nw_space v;
  nw_price_begin(m->f->s, &a->price);
  nw_use_space(m->p, a, &v);
  isl_set *domain = isl_set_add_dims(isl_set_copy(a->site->domain), isl_dim_set, (unsigned)v.opaque.n);
  isl_pw_aff_list *value = nw_values_dims(nw_values(&v), &v, 0, a->site->dim[a->depth]);
  for (int i = 0; i < a->n; i++) value = nw_values_expr(value, &v, a->bound[i]);
  a->map = nw_values_at(&v, isl_set_intersect(domain, nw_use_conditions(m->p, a, &v)), value);
  a->exact = a->site->exact && v.opaque.n == 0;
  for (int i = 0; i < a->nconds; i++) a->exact = a->exact && nw_cond_exact(a->cond[i].cond);
  nw_space_free(&v);
  nw_price_end(m->f->s, &a->price);
  if (a->map && !a->site->maybe && !a->site->pieces)
    nw_keep(m->f, a->number, (nw_kept){.map = isl_map_copy(a->map), .exact = a->exact, .price = a->price});
  return a->map;
}
