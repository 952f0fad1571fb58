// Computes dependences, times and execution counts for the loops around a statement.
#include "cache/exact/model_path.h"
#include <stdlib.h>

// ---- dependences

static void signs_of(const nw_affine_bound *b, int n, int slot, bool *up, bool *down) {
  for (int i = 0; i < n; i++) {
    int64_t c = nw_form_coef(&b[i].form, slot);
    *up |= c > 0;
    *down |= c < 0;
  }
}

nw_change nw_change_of(const nw_affine_node *x, int slot) {
  bool end_up = false, end_down = false, begin_up = false, begin_down = false, up = false, down = false;
  if (x->kind == NW_AFFINE_GUARD) {
    for (int i = 0; i < x->nconds; i++) {
      int64_t c = nw_form_coef(&x->cond[i], slot);
      up |= c > 0;
      down |= c < 0;
    }
    return (nw_change){up || down, false, up};
  }
  signs_of(x->end, x->nend, slot, &end_up, &end_down);
  signs_of(x->begin, x->nbegin, slot, &begin_up, &begin_down);
  bool moves = begin_up || begin_down; // the first value changes, and if the step is not 1, all values change
  return (nw_change){end_up || end_down || moves, end_up, begin_down || (moves && x->step > 1)};
}

void nw_path_find_free(nw_around *p) {
  for (int k = 0; k < p->n; k++) {
    p->free[k] = p->node[k]->kind == NW_AFFINE_LOOP;
    for (int i = k + 1; i < p->n && p->free[k]; i++) p->free[k] = !nw_change_of(p->node[i], p->node[k]->slot).any;
  }
}

// ---- times

static const int64_t FAR = INT64_C(1) << 60;

static bool range_of(const nw_firsts *f, const nw_form *form, int64_t *lo, int64_t *hi) {
  __int128 least = form->rest, most = form->rest;
  for (int i = 0; i < form->n; i++) {
    __int128 a = (__int128)form->coef[i] * f->lo[form->slot[i]], b = (__int128)form->coef[i] * f->hi[form->slot[i]];
    least += a < b ? a : b;
    most += a < b ? b : a;
  }
  *lo = (int64_t)least, *hi = (int64_t)most;
  return least > -FAR && most < FAR;
}

static void set_range(nw_firsts *f, const nw_affine_node *l) {
  int64_t *lo = &f->lo[l->slot], *hi = &f->hi[l->slot], a, b;
  int64_t from = -FAR, to = FAR;
  for (int i = 0; i < l->nbegin; i++) {
    if (!range_of(f, &l->begin[i].form, &a, &b)) f->stop = true;
    a = -nw_floordiv_i64(-a, l->begin[i].div);
    if (a > from) from = a;
  }
  for (int i = 0; i < l->nend; i++) {
    if (!range_of(f, &l->end[i].form, &a, &b)) f->stop = true;
    b = nw_floordiv_i64(b, l->end[i].div);
    if (b < to) to = b;
  }
  *lo = from;
  *hi = to < from ? from : to;
}

static int64_t span_of_kids(nw_firsts *f, const nw_affine_node *x) {
  int64_t sum = 1;
  for (int i = 0; i < x->nkids; i++)
    if (__builtin_add_overflow(sum, nw_path_span(f, x->kid[i]), &sum)) f->stop = true;
  return sum;
}

int64_t nw_path_round_span(nw_firsts *f, const nw_affine_node *loop) {
  set_range(f, loop);
  return span_of_kids(f, loop);
}

int64_t nw_path_span(nw_firsts *f, const nw_affine_node *x) {
  if (x->kind == NW_AFFINE_STMT) return x->nrefs + 1;
  if (x->kind != NW_AFFINE_LOOP) return span_of_kids(f, x);
  int64_t one = nw_path_round_span(f, x), all;
  if (__builtin_mul_overflow(one, f->hi[x->slot] - f->lo[x->slot] + 1, &all) || all > FAR) f->stop = true;
  return f->stop ? 1 : all;
}

// ---- execution counts

typedef struct counting {
  nw_firsts *f;
  const nw_around *p;
  const nw_affine_node *stmt;
  int64_t *each; // for each reference: the number of lines that an access requests, or 0 if it varies
} counting;

static int64_t line_of(const nw_firsts *f) { return INT64_C(1) << f->shift; }
static int64_t lines_from(const nw_firsts *f, int64_t at, int bytes) { return ((at + bytes - 1) >> f->shift) + 1; }

static int64_t base_of(const nw_firsts *f, const nw_affine_ref *r) {
  return (int64_t)f->nest->array[r->array].address + r->at.rest;
}

// Returns the number of lines that an access requests, if it is the same for all start positions within a line.
// Otherwise returns 0.
static int64_t even_lines(const nw_firsts *f, const nw_affine_ref *r) {
  int64_t g = line_of(f);
  for (int i = 0; i < r->at.n; i++) g = nw_gcd(g, r->at.coef[i]);
  int64_t least = nw_floormod_i64(base_of(f, r), g);
  int64_t lines = lines_from(f, least, r->bytes);
  return lines == lines_from(f, line_of(f) - g + least, r->bytes) ? lines : 0;
}

// at[b] is the number of accesses that start at byte b of a line. Updates these numbers for a loop of n iterations that
// moves each access by `move` bytes per iteration.
static void spread(int64_t *at, int64_t line, int64_t move, int64_t n) {
  int64_t out[4096] = {0};
  move = nw_floormod_i64(move, line);
  int64_t period = line / nw_gcd(move, line);
  for (int64_t r = 0; r < line; r++)
    for (int64_t k = 0; at[r] && k < period && k < n; k++)
      out[(r + k * move) % line] += at[r] * (n / period + (k < n % period));
  memcpy(at, out, (size_t)line * sizeof *at);
}

static int64_t lines_uneven(counting *c, const nw_affine_ref *r) {
  int64_t at[4096] = {0}, line = line_of(c->f), address = base_of(c->f, r), sum = 0, first, last;
  for (int k = 0; k < c->p->n; k++) {
    const nw_affine_node *l = c->p->node[k];
    if (l->kind != NW_AFFINE_LOOP) continue;
    first = c->f->slot[l->slot];
    if (c->p->free[k]) nw_affine_bounds(l, c->f->slot, &first, &last);
    address += nw_form_coef(&r->at, l->slot) * first;
  }
  at[address & (line - 1)] = 1;
  for (int k = 0; k < c->p->n; k++) {
    const nw_affine_node *l = c->p->node[k];
    if (!c->p->free[k]) continue;
    nw_affine_bounds(l, c->f->slot, &first, &last);
    spread(at, line, nw_form_coef(&r->at, l->slot) * l->step, nw_affine_rounds(l, first, last));
  }
  for (int64_t b = 0; b < line; b++) sum += at[b] * lines_from(c->f, b, r->bytes);
  c->f->ticks += line;
  return sum;
}

static void count_leaf(counting *c) {
  nw_firsts *f = c->f;
  int64_t times = 1, first, last, all;
  for (int k = 0; k < c->p->n; k++) {
    if (!c->p->free[k]) continue;
    nw_affine_bounds(c->p->node[k], f->slot, &first, &last);
    if (__builtin_mul_overflow(times, nw_affine_rounds(c->p->node[k], first, last), &times)) f->stop = true;
  }
  if (__builtin_mul_overflow(times, 1024 * (int64_t)(c->stmt->nrefs + 1), &all) || f->accesses > FAR - all)
    f->stop = true;
  if (!times || f->stop) return;
  f->accesses += times * c->stmt->nrefs;
  for (int i = 0; i < c->stmt->nrefs; i++) {
    const nw_affine_ref *r = &c->stmt->ref[i];
    f->asked[r->site] += c->each[i] ? times * c->each[i] : lines_uneven(c, r);
  }
}

static void count(counting *c, int k) {
  const nw_around *p = c->p;
  nw_firsts *f = c->f;
  while (k < p->n && (p->free[k] || (p->node[k]->kind == NW_AFFINE_GUARD && nw_affine_holds(p->node[k], f->slot)))) k++;
  if (k == p->n) {
    count_leaf(c);
    return;
  }
  const nw_affine_node *l = p->node[k];
  if (l->kind == NW_AFFINE_GUARD) return;
  int64_t first, last;
  nw_affine_bounds(l, f->slot, &first, &last);
  for (int64_t v = first; v <= last && !nw_firsts_enough(f, 1); v += l->step) {
    f->slot[l->slot] = v;
    count(c, k + 1);
  }
}

void nw_path_count(nw_firsts *f, const nw_around *p, const nw_affine_node *stmt) {
  counting c = {f, p, stmt, nw_xcalloc((size_t)stmt->nrefs + 1, sizeof *c.each)};
  for (int i = 0; i < stmt->nrefs; i++) c.each[i] = even_lines(f, &stmt->ref[i]);
  count(&c, 0);
  free(c.each);
}
