// Finds the values on which the accesses of a loop depend. These are the positions of its regions (model_shape.h), and
// the bounds and guards that determine which iterations run.
#include "cache/exact/model_making.h"

typedef struct gather { // the state while the nodes in a loop are visited
  nw_making *m;
  nw_shape *loop;
  int under; // index of the nearest enclosing guard in loop->classed, or -1
  int room_anchors, room_apart, room_keys, room_classes;
} gather;

// Returns the array with room for one more item. `n` is the number of its items.
static void *more(nw_making *m, void *array, int n, int *room, size_t size) {
  if (n < *room) return array;
  *room = 2 * *room + 4;
  char *out = nw_arena_alloc(m->a, (size_t)*room * size);
  if (n) memcpy(out, array, (size_t)n * size);
  return out;
}

#define MORE(g, array, n, room, type) ((array) = more((g)->m, (array), (n), &(g)->room, sizeof(type)), &(array)[(n)++])

static bool is_known(const nw_shape *l, const nw_linear *f) {
  bool any = false;
  for (int d = 0; d < l->depth; d++) any |= f->coef[d] != 0;
  for (int i = 0; any && i < l->napart; i++)
    if (!memcmp(l->apart[i].coef, f->coef, (size_t)l->depth * sizeof *f->coef)) return true;
  return !any;
}

static int64_t move_of(const nw_shape *l, const nw_access_form *r) {
  return r->at.coef[l->depth] * (l->absolute ? l->step : 1);
}

static void gather_ref(gather *g, const nw_access_form *r, int depth) {
  nw_shape *l = g->loop;
  nw_anchor *at = NULL;
  for (int i = 0; i < l->nanchors && !at; i++)
    if (l->anchor[i].region == r->region) at = &l->anchor[i];
  if (!at) {
    at = MORE(g, l->anchor, l->nanchors, room_anchors, nw_anchor);
    *at = (nw_anchor){r->region, nw_making_outer(g->m, &r->at, l->depth), move_of(l, r), INT64_MAX, INT64_MIN, 0};
  }
  nw_making_reach(g->m, l, at, r, depth, 0, &at->lo, &at->hi);
  nw_linear apart = nw_making_outer(g->m, &r->at, l->depth);
  nw_linear_add(&apart, &at->at, -1, l->depth);
  bool alike = move_of(l, r) == at->move;
  if (!alike) l->uniform = false;
  if (!alike || !nw_linear_is_number(&apart, l->depth)) at->lo = -(INT64_C(1) << NW_FAR), at->hi = INT64_C(1) << NW_FAR;
  if (nw_linear_is_number(&apart, l->depth))
    nw_making_phase(g->m, l, at, r, depth);
  else
    at->turns = ~UINT64_C(0);
  if (!is_known(l, &apart)) *MORE(g, l->apart, l->napart, room_apart, nw_linear) = apart;
}

// Splits a form into outer terms and an inner part (nw_watched). The inner part consists of the terms for the loops at
// depth `split` and deeper. For the key of a loop, `split` is the depth of this loop. For the classes of its
// iterations, `split` is the depth of the next inner loop.
static nw_watched watch(const gather *g, const nw_linear *f, int64_t div, int split, int depth) {
  nw_watched w = {.f = f, .div = div, .own = f->coef[g->loop->depth]};
  nw_making_range(g->m, f, split, depth, &w.lo, &w.hi);
  for (int d = 0; d < depth; d++) *(d < split ? &w.outer : &w.inner) |= f->coef[d] != 0;
  return w;
}

static nw_control watch_all(const gather *g, const nw_shape *s, int split) {
  nw_control c = {.loop = s->kind == NW_AFFINE_LOOP, .absolute = s->absolute, .nbegin = s->nbegin};
  c.n = c.loop ? s->nbegin + s->nend : s->nconds;
  c.at = NW_NEW_N(g->m->a, nw_watched, c.n + 1);
  for (int i = 0; i < c.n; i++) {
    const nw_bound *b = !c.loop ? NULL : i < s->nbegin ? &s->begin[i] : &s->end[i - s->nbegin];
    c.at[i] = watch(g, b ? &b->f : &s->cond[i], b ? b->div : 1, split, s->depth);
  }
  return c;
}

static bool depends(const nw_control *c, bool own) {
  for (int i = 0; i < c->n; i++)
    if (own ? c->at[i].own != 0 : c->at[i].outer) return true;
  return false;
}

static void gather_control(gather *g, nw_shape *s) {
  nw_shape *l = g->loop;
  nw_control c = watch_all(g, s, l->depth);
  if (depends(&c, false)) *MORE(g, l->keyed, l->nkeys, room_keys, nw_control) = c;
  if (s == l) return;
  c = watch_all(g, s, l->depth + 1);
  if (!depends(&c, true)) return;
  c.under = g->under;
  *MORE(g, l->classed, l->nclasses, room_classes, nw_control) = c;
  if (!c.loop) g->under = l->nclasses - 1;
}

static void gather_node(gather *g, nw_shape *s) {
  int under = g->under;
  if (s->kind == NW_AFFINE_LOOP) g->m->around[s->depth] = s;
  if (s->kind == NW_AFFINE_LOOP || s->kind == NW_AFFINE_GUARD) gather_control(g, s);
  if (s->kind == NW_AFFINE_LOOP && s != g->loop) g->loop->flat = false;
  for (int i = 0; i < s->nrefs; i++) gather_ref(g, &s->ref[i], s->depth);
  for (int i = 0; i < s->nkids; i++) gather_node(g, s->kid[i]);
  g->under = under;
}

static int most_watched(const nw_shape *l) {
  int most = 0;
  for (int i = 0; i < l->nkeys; i++)
    if (l->keyed[i].n > most) most = l->keyed[i].n;
  for (int i = 0; i < l->nclasses; i++)
    if (l->classed[i].n > most) most = l->classed[i].n;
  return most;
}

void nw_making_depends(nw_making *m, nw_shape *s) {
  if (s->kind == NW_AFFINE_LOOP) {
    gather g = {.m = m, .loop = s, .under = -1};
    s->uniform = s->flat = true;
    gather_node(&g, s);
    nw_making_rivals(m, s);
    s->scratch = NW_NEW_N(m->a, int64_t, most_watched(s) + 1);
    s->dead = NW_NEW_N(m->a, bool, s->nclasses + 1);
  }
  for (int i = 0; i < s->nkids; i++) nw_making_depends(m, s->kid[i]);
}
