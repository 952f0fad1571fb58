// Affine nests made ready for the model.
#include "cost/model_shape.h"
#include "cost/address.h"

enum { FAR = 62 }; // ranges end at 2^62, which means: anything

typedef struct making {
  nw_arena *a;
  const nw_affine_nest *nest;
  nw_shaped *out;
  const int *region; // by array
  nw_shape *around[64];
  nw_linear start[64]; // of the slot of a loop: what it is in the first round
  int slot[64];
  int64_t step[64]; // of its slot
  bool lost; // a slot without a loop, or too deep
} making;

// ---- linear forms

static nw_linear new_linear(making *m, int64_t rest) {
  return (nw_linear){rest, NW_NEW_N(m->a, int64_t, m->out->depth + 1)};
}

int64_t nw_linear_at(const nw_linear *f, const int64_t *val, int depth) {
  int64_t v = f->rest;
  for (int d = 0; d < depth; d++) v += f->coef[d] * val[d];
  return v;
}

static void add_times(nw_linear *to, const nw_linear *f, int64_t by, int depth) {
  to->rest += by * f->rest;
  for (int d = 0; d < depth; d++) to->coef[d] += by * f->coef[d];
}

// The slot of a loop that counts from 0 is where it starts and its step times the round.
static void add_slot(making *m, nw_linear *to, int slot, int64_t by, int depth) {
  for (int d = depth - 1; d >= 0; d--) {
    if (m->slot[d] != slot) continue;
    if (!m->around[d]->absolute) add_times(to, &m->start[d], by, d);
    to->coef[d] += by * m->step[d];
    return;
  }
  m->lost = true;
}

static nw_linear linear_of(making *m, const nw_form *f, int depth) {
  nw_linear out = new_linear(m, f->rest);
  for (int i = 0; i < f->n; i++)
    if (f->coef[i]) add_slot(m, &out, f->slot[i], f->coef[i], depth);
  return out;
}

// ---- ranges

static int64_t clamped(__int128 v) {
  __int128 far = (__int128)1 << FAR;
  return (int64_t)(v > far ? far : v < -far ? -far : v);
}

// Of the part of loops from..to-1.
static void part_range(const making *m, const nw_linear *f, int from, int to, int64_t *lo, int64_t *hi) {
  __int128 least = 0, most = 0;
  for (int d = from; d < to; d++) {
    const nw_shape *l = m->around[d];
    __int128 x = (__int128)f->coef[d] * l->lo, y = (__int128)f->coef[d] * l->hi;
    least += x < y ? x : y;
    most += x < y ? y : x;
  }
  *lo = clamped(least);
  *hi = clamped(most);
}

static void set_range(making *m, nw_shape *l) {
  int64_t lo, hi;
  l->hi = INT64_C(1) << FAR;
  for (int i = 0; i < l->nend; i++) {
    part_range(m, &l->end[i].f, 0, l->depth, &lo, &hi);
    int64_t v = nw_floordiv_i64(clamped((__int128)hi + l->end[i].f.rest), l->end[i].div);
    if (v < l->hi) l->hi = v;
  }
  l->lo = l->absolute ? -(INT64_C(1) << FAR) : 0;
  for (int i = 0; i < l->nbegin; i++) {
    part_range(m, &l->begin[i].f, 0, l->depth, &lo, &hi);
    int64_t v = -nw_floordiv_i64(-clamped((__int128)lo + l->begin[i].f.rest), l->begin[i].div);
    if (v > l->lo) l->lo = v;
  }
  if (l->hi < l->lo) l->hi = l->lo;
}

// ---- nodes

static nw_shape *shape_node(making *m, const nw_affine_node *x, int depth);

static void shape_kids(making *m, nw_shape *s, const nw_affine_node *x, int depth) {
  s->nkids = x->nkids;
  s->kid = NW_NEW_N(m->a, nw_shape *, x->nkids + 1);
  for (int i = 0; i < x->nkids; i++) s->kid[i] = shape_node(m, x->kid[i], depth);
}

static nw_bound *bounds_of(making *m, const nw_affine_bound *b, int n, int depth) {
  nw_bound *out = NW_NEW_N(m->a, nw_bound, n + 1);
  for (int i = 0; i < n; i++) out[i] = (nw_bound){linear_of(m, &b[i].form, depth), b[i].div};
  return out;
}

// Slot <= E/div means that (slot - start)/step <= (E - div*start) / (div*step).
static void count_from_zero(nw_shape *s, const nw_linear *start, int64_t step) {
  for (int i = 0; i < s->nend; i++) {
    add_times(&s->end[i].f, start, -s->end[i].div, s->depth);
    s->end[i].div *= step;
  }
}

static void shape_loop(making *m, nw_shape *s, const nw_affine_node *x, int depth) {
  if (depth >= 63) {
    m->lost = true;
    return;
  }
  s->id = m->out->nloops++;
  s->absolute = x->nbegin != 1 || x->begin[0].div != 1;
  s->parallel = x->parallel;
  s->chunk = x->chunk;
  s->nend = x->nend;
  s->end = bounds_of(m, x->end, x->nend, depth);
  s->step = s->absolute ? x->step : 1;
  m->step[depth] = s->absolute ? 1 : x->step;
  m->slot[depth] = x->slot;
  m->around[depth] = s;
  if (s->absolute) {
    s->nbegin = x->nbegin;
    s->begin = bounds_of(m, x->begin, x->nbegin, depth);
  } else {
    m->start[depth] = linear_of(m, &x->begin[0].form, depth);
    count_from_zero(s, &m->start[depth], x->step);
  }
  set_range(m, s);
  shape_kids(m, s, x, depth + 1);
}

static void shape_stmt(making *m, nw_shape *s, const nw_affine_node *x, int depth) {
  s->nrefs = x->nrefs;
  s->ref = NW_NEW_N(m->a, nw_access_form, x->nrefs + 1);
  for (int i = 0; i < x->nrefs; i++) {
    const nw_affine_ref *r = &x->ref[i];
    nw_access_form *f = &s->ref[i];
    *f = (nw_access_form){m->region[r->array], r->site, r->bytes, r->write, linear_of(m, &r->at, depth)};
    f->at.rest += (int64_t)m->nest->array[r->array].address;
  }
}

static nw_shape *shape_node(making *m, const nw_affine_node *x, int depth) {
  nw_shape *s = NW_NEW(m->a, nw_shape);
  s->kind = x->kind;
  s->depth = depth;
  switch (x->kind) {
  case NW_AFFINE_LOOP: shape_loop(m, s, x, depth); break;
  case NW_AFFINE_STMT: shape_stmt(m, s, x, depth); break;
  case NW_AFFINE_GUARD:
    s->nconds = x->nconds;
    s->cond = NW_NEW_N(m->a, nw_linear, x->nconds + 1);
    for (int i = 0; i < x->nconds; i++) s->cond[i] = linear_of(m, &x->cond[i], depth);
    shape_kids(m, s, x, depth);
    break;
  case NW_AFFINE_SEQ: shape_kids(m, s, x, depth); break;
  }
  return s;
}

// ---- what a loop depends on

typedef struct gather { // over the nodes in a loop
  making *m;
  nw_shape *loop;
  int under; // the guard around that classifies rounds, or -1
  int room_anchors, room_apart, room_keys, room_classes;
} gather;

// One more of n things of a size, in an array with so much room.
static void *more(making *m, void *array, int n, int *room, size_t size) {
  if (n < *room) return array;
  *room = 2 * *room + 4;
  char *out = nw_arena_alloc(m->a, (size_t)*room * size);
  if (n) memcpy(out, array, (size_t)n * size);
  return out;
}

#define MORE(g, array, n, room, type) ((array) = more((g)->m, (array), (n), &(g)->room, sizeof(type)), &(array)[(n)++])

static nw_linear outer_part(making *m, const nw_linear *f, int depth) {
  nw_linear out = new_linear(m, f->rest);
  for (int d = 0; d < depth; d++) out.coef[d] = f->coef[d];
  return out;
}

static bool is_known(const nw_shape *l, const nw_linear *f) {
  bool any = false;
  for (int d = 0; d < l->depth; d++) any |= f->coef[d] != 0;
  for (int i = 0; any && i < l->napart; i++)
    if (!memcmp(l->apart[i].coef, f->coef, (size_t)l->depth * sizeof *f->coef)) return true;
  return !any;
}

static void gather_ref(gather *g, const nw_access_form *r) {
  nw_shape *l = g->loop;
  nw_anchor *at = NULL;
  for (int i = 0; i < l->nanchors && !at; i++)
    if (l->anchor[i].region == r->region) at = &l->anchor[i];
  if (!at) {
    at = MORE(g, l->anchor, l->nanchors, room_anchors, nw_anchor);
    *at =
        (nw_anchor){r->region, outer_part(g->m, &r->at, l->depth), r->at.coef[l->depth] * (l->absolute ? l->step : 1)};
    return;
  }
  if (r->at.coef[l->depth] * (l->absolute ? l->step : 1) != at->move) l->uniform = false;
  nw_linear apart = outer_part(g->m, &r->at, l->depth);
  add_times(&apart, &at->at, -1, l->depth);
  if (!is_known(l, &apart)) *MORE(g, l->apart, l->napart, room_apart, nw_linear) = apart;
}

// Of the loop itself `inner` begins behind its own number; of what is keyed, with it.
static nw_watched watch(const gather *g, const nw_linear *f, int64_t div, int split, int depth) {
  nw_watched w = {.f = f, .div = div, .own = f->coef[g->loop->depth]};
  part_range(g->m, f, split, depth, &w.lo, &w.hi);
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
  for (int i = 0; i < s->nrefs; i++) gather_ref(g, &s->ref[i]);
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

static void gather_all(making *m, nw_shape *s) {
  if (s->kind == NW_AFFINE_LOOP) {
    gather g = {m, s, -1, 0, 0, 0, 0};
    s->uniform = s->flat = true;
    gather_node(&g, s);
    s->scratch = NW_NEW_N(m->a, int64_t, most_watched(s) + 1);
    s->dead = NW_NEW_N(m->a, bool, s->nclasses + 1);
  }
  for (int i = 0; i < s->nkids; i++) gather_all(m, s->kid[i]);
}

// ---- regions

static int depth_of(const nw_affine_node *x) {
  int most = 0;
  for (int i = 0; i < x->nkids; i++) {
    int d = depth_of(x->kid[i]);
    if (d > most) most = d;
  }
  return most + (x->kind == NW_AFFINE_LOOP);
}

// Arrays lie in the order of their addresses; those that share a line are one region, since they cannot move on their own.
static const int *find_regions(nw_arena *a, const nw_affine_nest *n, int line, nw_shaped *out) {
  int *region = NW_NEW_N(a, int, n->narrays + 1);
  out->from = NW_NEW_N(a, int64_t, n->narrays + 1);
  out->to = NW_NEW_N(a, int64_t, n->narrays + 1);
  int at = -1;
  for (int i = 0; i < n->narrays; i++) {
    int64_t from = (int64_t)(n->array[i].address / (uint64_t)line),
            to = ((int64_t)n->array[i].address + n->array[i].bytes - 1) / line + 1;
    if (at < 0 || from >= out->to[at]) out->from[++at] = from;
    out->to[at] = to;
    region[i] = at;
  }
  out->nregions = at + 1;
  return region;
}

bool nw_shape_of(nw_arena *a, const nw_affine_nest *n, int line, nw_shaped *out) {
  *out = (nw_shaped){.arena = a, .depth = depth_of(n->root), .nsites = n->nsites};
  making *m = NW_NEW(a, making);
  *m = (making){.a = a, .nest = n, .out = out};
  m->region = find_regions(a, n, line, out);
  out->root = shape_node(m, n->root, 0);
  if (!m->lost) gather_all(m, out->root);
  return !m->lost;
}
