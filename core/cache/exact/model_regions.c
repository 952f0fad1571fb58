// Finds the grounds (sets of arrays that share lines), the regions (sets of references that move together), and the
// ranges of their addresses. See model_shape.h.
#include "cache/exact/model_making.h"

enum {
  MOST_REGIONS = 6, // limit of regions per ground; a reference beyond the limit joins the first region
  ROWS = 6 // maximum number of row widths that are tried for a pair of regions
};

typedef struct nw_region_moves {
  int ground;
  int64_t *coef; // for each loop: the bytes by which an iteration moves the region
  bool *has; // for each loop: true if it contains a reference to the region
} nw_region_moves;

// ---- regions

static bool moves_alike(const nw_making *m, const nw_region_moves *x, const nw_linear *f, int depth) {
  for (int d = 0; d < depth; d++) {
    int id = m->around[d]->id;
    if (x->has[id] && x->coef[id] != f->coef[d]) return false;
  }
  return true;
}

static void join(const nw_making *m, nw_region_moves *x, const nw_linear *f, int depth) {
  for (int d = 0; d < depth; d++) {
    x->coef[m->around[d]->id] = f->coef[d];
    x->has[m->around[d]->id] = true;
  }
}

// Returns the first region on the ground that every loop moves by the same distance as the reference. If there is no
// such region, makes a new one. If the ground already has MOST_REGIONS regions, returns the first of them instead.
int nw_making_region(nw_making *m, int ground, const nw_linear *f, int depth) {
  int n = 0, first = 0;
  for (int i = 0; i < m->region.n; i++) {
    nw_region_moves *x = m->region.at[i];
    if (x->ground != ground) continue;
    if (!n++) first = i;
    if (!moves_alike(m, x, f, depth)) continue;
    join(m, x, f, depth);
    return i;
  }
  if (n == MOST_REGIONS) return first;
  nw_region_moves *x = NW_NEW(m->a, nw_region_moves);
  *x = (nw_region_moves){ground, NW_NEW_N(m->a, int64_t, m->nloops + 1), NW_NEW_N(m->a, bool, m->nloops + 1)};
  join(m, x, f, depth);
  nw_vec_push(&m->region, x);
  return m->region.n - 1;
}

// ---- grounds

static int loops_in(const nw_affine_node *x) {
  int n = x->kind == NW_AFFINE_LOOP;
  for (int i = 0; i < x->nkids; i++) n += loops_in(x->kid[i]);
  return n;
}

// Finds the grounds. Since the arrays are sorted by address, arrays that share lines are adjacent.
void nw_making_grounds(nw_making *m) {
  const nw_affine_nest *n = m->nest;
  int line = m->line;
  int *ground = NW_NEW_N(m->a, int, n->narrays + 1), at = -1;
  m->from = NW_NEW_N(m->a, int64_t, n->narrays + 1);
  m->to = NW_NEW_N(m->a, int64_t, n->narrays + 1);
  for (int i = 0; i < n->narrays; i++) {
    int64_t from = (int64_t)(n->array[i].address / (uint64_t)line),
            to = ((int64_t)n->array[i].address + n->array[i].bytes - 1) / line + 1;
    if (at < 0 || from >= m->to[at]) m->from[++at] = from;
    m->to[at] = to;
    ground[i] = at;
  }
  m->ground = ground;
  m->nloops = loops_in(n->root);
}

void nw_making_number_regions(nw_making *m) {
  nw_shaped *out = m->out;
  out->nregions = m->region.n;
  out->ngrounds = m->nest->narrays;
  out->ground = NW_NEW_N(m->a, int, out->nregions + 1);
  out->from = NW_NEW_N(m->a, int64_t, out->nregions + 1);
  out->to = NW_NEW_N(m->a, int64_t, out->nregions + 1);
  for (int i = 0; i < out->nregions; i++) {
    int ground = out->ground[i] = ((const nw_region_moves *)m->region.at[i])->ground;
    out->from[i] = m->from[ground];
    out->to[i] = m->to[ground];
  }
  nw_vec_free(&m->region);
}

// ---- rivals

void nw_making_reach(const nw_making *m, const nw_shape *loop, const nw_anchor *at, const nw_access_form *r, int depth,
                     int64_t wide, int64_t *lo, int64_t *hi) {
  int64_t least, most, coef[64], apart = r->at.rest - at->at.rest;
  nw_linear f = r->at;
  if (wide) {
    f = (nw_linear){0, coef};
    for (int d = 0; d < depth; d++) coef[d] = nw_shape_rest(r->at.coef[d], wide);
  }
  nw_making_range(m, &f, loop->depth + 1, depth, &least, &most);
  least = nw_making_clamped((__int128)least + apart);
  most = nw_making_clamped((__int128)most + apart + r->bytes);
  if (least < *lo) *lo = least;
  if (most > *hi) *hi = most;
}

static int64_t size(int64_t v) { return v < 0 ? -v : v; }

typedef struct widths {
  int64_t at[ROWS];
  int n;
} widths;

// Collects the widths of rows (model_apart.c) to try. A width is the number of bytes by which an iteration of the loop,
// or of an inner loop, moves the region. Leaves out widths of less than two lines.
static void add_widths(const nw_making *m, const nw_shape *s, int from, int region, widths *w) {
  for (int i = 0; i < s->nrefs; i++)
    for (int d = from; d < s->depth && s->ref[i].region == region; d++) {
      int64_t step = size(s->ref[i].at.coef[d]);
      bool known = step < 2 * m->line;
      for (int k = 0; k < w->n && !known; k++) known = w->at[k] == step;
      if (!known && w->n < ROWS) w->at[w->n++] = step;
    }
  for (int i = 0; i < s->nkids; i++) add_widths(m, s->kid[i], from, region, w);
}

static void reach_rows(nw_making *m, const nw_shape *loop, nw_shape *s, const nw_anchor *at, int64_t wide, int64_t *lo,
                       int64_t *hi) {
  if (s->kind == NW_AFFINE_LOOP) m->around[s->depth] = s;
  for (int i = 0; i < s->nrefs; i++)
    if (s->ref[i].region == at->region) nw_making_reach(m, loop, at, &s->ref[i], s->depth, wide, lo, hi);
  for (int i = 0; i < s->nkids; i++) reach_rows(m, loop, s->kid[i], at, wide, lo, hi);
}

// Returns the number of bytes of a row that neither of two regions uses.
static int64_t free_of(int64_t wide, const int64_t *lo, const int64_t *hi) {
  __int128 left = (__int128)wide - ((__int128)hi[0] - lo[0]) - ((__int128)hi[1] - lo[1]);
  return left < 0 ? 0 : (int64_t)left;
}

static nw_rivals rivals_of(nw_making *m, nw_shape *l, int a, int b) {
  int64_t most = 0;
  const nw_anchor *x = &l->anchor[a], *y = &l->anchor[b];
  nw_linear apart = nw_making_outer(m, &x->at, l->depth);
  nw_linear_add(&apart, &y->at, -1, l->depth);
  nw_rivals r = {a, b, x->move != y->move, apart, .known = nw_linear_is_number(&apart, l->depth)};
  if (x->hi == INT64_C(1) << NW_FAR || y->hi == INT64_C(1) << NW_FAR) return r;
  widths w = {0};
  add_widths(m, l, l->depth, x->region, &w);
  add_widths(m, l, l->depth, y->region, &w);
  for (int k = 0; k < w.n; k++) {
    int64_t lo[2] = {INT64_MAX, INT64_MAX}, hi[2] = {INT64_MIN, INT64_MIN};
    for (int i = 0; i < 2; i++) reach_rows(m, l, l, i ? y : x, w.at[k], &lo[i], &hi[i]);
    int64_t free = free_of(w.at[k], lo, hi);
    if (free <= most) continue;
    most = free;
    r.wide = w.at[k];
    memcpy(r.lo, lo, sizeof lo);
    memcpy(r.hi, hi, sizeof hi);
  }
  return r;
}

static bool on_one_ground(const nw_making *m, const nw_shape *l, int a, int b) {
  return m->out->ground[l->anchor[a].region] == m->out->ground[l->anchor[b].region];
}

void nw_making_rivals(nw_making *m, nw_shape *l) {
  int n = 0;
  for (int a = 0; a < l->nanchors; a++)
    for (int b = 0; b < a; b++) n += on_one_ground(m, l, a, b);
  l->rivals = NW_NEW_N(m->a, nw_rivals, n + 1);
  for (int a = 0; a < l->nanchors; a++)
    for (int b = 0; b < a; b++) {
      if (!on_one_ground(m, l, a, b)) continue;
      nw_rivals r = rivals_of(m, l, a, b);
      l->rivals[l->nrivals++] = r;
      // If one of the two regions moves, even by a single byte, the distance between them in lines can change. So every
      // position within a line matters.
      l->anchor[a].turns = l->anchor[b].turns = ~UINT64_C(0);
      l->drifts |= r.drift;
    }
}
