// Prepares affine nests for the model.
#include "cache/exact/model_making.h"
#include "access/address.h"

// ---- linear forms

nw_linear nw_making_linear(nw_making *m, int64_t rest) {
  return (nw_linear){rest, NW_NEW_N(m->a, int64_t, m->out->depth + 1)};
}

int64_t nw_linear_at(const nw_linear *f, const int64_t *val, int depth) {
  int64_t v = f->rest;
  for (int d = 0; d < depth; d++) v += f->coef[d] * val[d];
  return v;
}

void nw_linear_add(nw_linear *to, const nw_linear *f, int64_t by, int depth) {
  to->rest += by * f->rest;
  for (int d = 0; d < depth; d++) to->coef[d] += by * f->coef[d];
}

bool nw_linear_is_number(const nw_linear *f, int depth) {
  for (int d = 0; d < depth; d++)
    if (f->coef[d]) return false;
  return true;
}

nw_linear nw_making_outer(nw_making *m, const nw_linear *f, int depth) {
  nw_linear out = nw_making_linear(m, f->rest);
  for (int d = 0; d < depth; d++) out.coef[d] = f->coef[d];
  return out;
}

// Adds `by` times the value of the slot. In iteration i of a loop that is not absolute, the slot's value is start +
// step*i.
static void add_slot(nw_making *m, nw_linear *to, int slot, int64_t by, int depth) {
  for (int d = depth - 1; d >= 0; d--) {
    if (m->slot[d] != slot) continue;
    if (!m->around[d]->absolute) nw_linear_add(to, &m->start[d], by, d);
    to->coef[d] += by * m->step[d];
    return;
  }
  m->lost = true;
}

static nw_linear linear_of(nw_making *m, const nw_form *f, int depth) {
  nw_linear out = nw_making_linear(m, f->rest);
  for (int i = 0; i < f->n; i++)
    if (f->coef[i]) add_slot(m, &out, f->slot[i], f->coef[i], depth);
  return out;
}

// ---- ranges

int64_t nw_making_clamped(__int128 v) {
  __int128 far = (__int128)1 << NW_FAR;
  return (int64_t)(v > far ? far : v < -far ? -far : v);
}

// Finds the range of the sum of those terms of f that belong to the loops at depths `from` to `to` - 1.
void nw_making_range(const nw_making *m, const nw_linear *f, int from, int to, int64_t *lo, int64_t *hi) {
  __int128 least = 0, most = 0;
  for (int d = from; d < to; d++) {
    const nw_shape *l = m->around[d];
    __int128 x = (__int128)f->coef[d] * l->lo, y = (__int128)f->coef[d] * l->hi;
    least += x < y ? x : y;
    most += x < y ? y : x;
  }
  *lo = nw_making_clamped(least);
  *hi = nw_making_clamped(most);
}

static void set_range(nw_making *m, nw_shape *l) {
  int64_t lo, hi;
  l->hi = INT64_C(1) << NW_FAR;
  for (int i = 0; i < l->nend; i++) {
    nw_making_range(m, &l->end[i].f, 0, l->depth, &lo, &hi);
    int64_t v = nw_floordiv_i64(nw_making_clamped((__int128)hi + l->end[i].f.rest), l->end[i].div);
    if (v < l->hi) l->hi = v;
  }
  l->lo = l->absolute ? -(INT64_C(1) << NW_FAR) : 0;
  for (int i = 0; i < l->nbegin; i++) {
    nw_making_range(m, &l->begin[i].f, 0, l->depth, &lo, &hi);
    int64_t v = -nw_floordiv_i64(-nw_making_clamped((__int128)lo + l->begin[i].f.rest), l->begin[i].div);
    if (v > l->lo) l->lo = v;
  }
  if (l->hi < l->lo) l->hi = l->lo;
}

// ---- nodes

static nw_shape *shape_node(nw_making *m, const nw_affine_node *x, int depth);

static void shape_kids(nw_making *m, nw_shape *s, const nw_affine_node *x, int depth) {
  s->nkids = x->nkids;
  s->kid = NW_NEW_N(m->a, nw_shape *, x->nkids + 1);
  for (int i = 0; i < x->nkids; i++) s->kid[i] = shape_node(m, x->kid[i], depth);
}

static nw_bound *bounds_of(nw_making *m, const nw_affine_bound *b, int n, int depth) {
  nw_bound *out = NW_NEW_N(m->a, nw_bound, n + 1);
  for (int i = 0; i < n; i++) out[i] = (nw_bound){linear_of(m, &b[i].form, depth), b[i].div};
  return out;
}

// Rewrites the upper bounds of a loop that counts from 0. For a bound E / div, these conditions are equivalent:
//
//   slot <= E / div
//   (slot - start) / step <= (E - div*start) / (div*step)
static void count_from_zero(nw_shape *s, const nw_linear *start, int64_t step) {
  for (int i = 0; i < s->nend; i++) {
    nw_linear_add(&s->end[i].f, start, -s->end[i].div, s->depth);
    s->end[i].div *= step;
  }
}

static void shape_loop(nw_making *m, nw_shape *s, const nw_affine_node *x, int depth) {
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

// ---- statements

static void shape_stmt(nw_making *m, nw_shape *s, const nw_affine_node *x, int depth) {
  s->nrefs = x->nrefs;
  s->ref = NW_NEW_N(m->a, nw_access_form, x->nrefs + 1);
  for (int i = 0; i < x->nrefs; i++) {
    const nw_affine_ref *r = &x->ref[i];
    nw_access_form *f = &s->ref[i];
    *f = (nw_access_form){0, r->site, r->bytes, r->write, linear_of(m, &r->at, depth)};
    f->region = nw_making_region(m, m->ground[r->array], &f->at, depth);
    f->at.rest += (int64_t)m->nest->array[r->array].address;
  }
}

static nw_shape *shape_node(nw_making *m, const nw_affine_node *x, int depth) {
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

// ---- the whole nest

static int depth_of(const nw_affine_node *x) {
  int most = 0;
  for (int i = 0; i < x->nkids; i++) {
    int d = depth_of(x->kid[i]);
    if (d > most) most = d;
  }
  return most + (x->kind == NW_AFFINE_LOOP);
}

bool nw_shape_of(nw_arena *a, const nw_affine_nest *n, int line, nw_shaped *out) {
  *out = (nw_shaped){.arena = a, .depth = depth_of(n->root), .nsites = n->nsites};
  nw_making *m = NW_NEW(a, nw_making);
  *m = (nw_making){.a = a, .nest = n, .out = out, .line = line};
  nw_making_grounds(m);
  out->root = shape_node(m, n->root, 0);
  nw_making_number_regions(m);
  if (!m->lost) nw_making_depends(m, out->root);
  return !m->lost;
}
