// Turns a prefetch of a box of elements into loops over its rows and over the cache lines of each row. An address
// outside the buffer is replaced by the nearest address inside the buffer, so that no other page is accessed.
#include "lower/pass.h"

enum { LINE = 64, FEW = 16 }; // LINE: bytes of a cache line; FEW: a loop of at most this many iterations is unrolled

typedef struct lines {
  nw_program *p;
  nw_ranges *r;
  const nw_physical *place;
  nw_stmt *s;
  nw_stmt *loop[NW_MAX_DEPTH]; // outermost first
  int nloops;
} lines;

static const nw_expr *over(lines *x, const nw_expr *extent) {
  nw_pool *pool = x->p->pool;
  extent = nw_simplify(x->r, extent);
  if (nw_is_const(extent, 1) || x->nloops == NW_MAX_DEPTH) return nw_index(pool, 0);
  nw_stmt *loop = nw_new_loop(x->p, nw_unique_loop_name(x->p, "line"), nw_index(pool, 0), extent);
  int64_t n;
  loop->step = x->s->step;
  if (nw_is_int(extent, &n) && n <= FEW) loop->loop.mark = NW_UNROLLED;
  nw_scope_push(x->r, loop);
  x->loop[x->nloops++] = loop;
  return loop->loop.var;
}

// Returns the number of neighbouring elements along the last dimension that are in one cache line. Returns 1 if this
// number is not known, or if it is not a whole number. Sets *aligned to true if every row begins at the start of a
// line.
static int64_t per_line(lines *x, const nw_expr *const *index, bool *aligned) {
  int last = x->s->prefetch.n - 1;
  int64_t each = nw_dtype_bytes(x->place->buffer->dtype), coef;
  const nw_expr *probe[NW_MAX_DEPTH], *rest, *var = nw_var(x->p->pool, "_along");
  const char *name = var->name;
  for (int d = 0; d < last; d++) probe[d] = index[d];
  probe[last] = nw_add(x->p->pool, index[last], var);
  *aligned = false;
  if (!nw_affine(x->p->pool, nw_physical_index(x->place, x->r, probe), 1, &name, &coef, &rest)) return 1;
  if (coef < 1 || coef * each >= LINE || LINE % (coef * each)) return 1;
  *aligned = nw_divides(x->r, rest, LINE / each);
  return LINE / (coef * each);
}

// Makes a loop over the cache lines of a row of n elements. Returns the offset, along the last dimension, of an element
// in the line of the current iteration. If rows are not aligned, the offset in the last iteration is that of the row's
// last element.
static const nw_expr *along(lines *x, const nw_expr *n, int64_t per, bool aligned) {
  nw_pool *pool = x->p->pool;
  const nw_expr *step = nw_index(pool, per), *last = nw_sub(pool, n, nw_index(pool, 1));
  if (per == 1) return over(x, n);
  const nw_expr *rounds =
      aligned ? nw_ceildiv(pool, n, step) : nw_add(pool, nw_ceildiv(pool, last, step), nw_index(pool, 1));
  const nw_expr *at = nw_mul(pool, step, over(x, rounds));
  return aligned ? at : nw_min(pool, at, last);
}

static const nw_expr *inside(lines *x, const nw_expr *at) {
  nw_pool *pool = x->p->pool;
  const nw_expr *zero = nw_index(pool, 0), *last = nw_sub(pool, x->place->elements, nw_index(pool, 1));
  if (!nw_prove(x->r, nw_le(pool, at, last))) at = nw_min(pool, at, last);
  return nw_prove(x->r, nw_le(pool, zero, at)) ? at : nw_max(pool, at, zero);
}

static nw_stmt *nest(lines *x, nw_stmt *body) {
  while (x->nloops) {
    nw_stmt *loop = x->loop[--x->nloops];
    nw_scope_pop(x->r, loop);
    nw_kids_set(x->p, loop, 1, &body);
    body = loop;
  }
  return body;
}

nw_stmt *nw_lower_prefetch(nw_program *p, nw_ranges *r, const nw_physical *place, nw_stmt *s) {
  lines x = {.p = p, .r = r, .place = place, .s = s};
  const nw_expr *index[NW_MAX_DEPTH];
  bool aligned = false;
  int last = s->prefetch.n - 1;
  for (int d = 0; d < last; d++) index[d] = nw_add(p->pool, s->prefetch.min[d], over(&x, s->prefetch.extent[d]));
  if (last >= 0) {
    index[last] = s->prefetch.min[last];
    int64_t per = per_line(&x, index, &aligned);
    index[last] = nw_add(p->pool, index[last], along(&x, s->prefetch.extent[last], per, aligned));
  }
  nw_stmt *line = nw_new_like(p, NW_PREFETCH, s);
  line->prefetch.buffer = s->prefetch.buffer;
  line->prefetch.n = 1;
  line->prefetch.min = NW_NEW_N(p->arena, const nw_expr *, 1);
  line->prefetch.extent = NW_NEW_N(p->arena, const nw_expr *, 1);
  line->prefetch.min[0] = nw_simplify(r, inside(&x, nw_physical_index(place, r, index)));
  return nest(&x, line);
}
