// Finds the first access to each line, for each reference separately.
//
// Every access of the nest has a time. The first access to a line is the access with the least time. So the references
// can be processed in any order, and so can the iterations of the loops around a reference. For two kinds of loops, not
// all iterations are enumerated:
//
//   If a loop does not change the address of the reference, a later iteration accesses new lines only if it extends the
//   range of an inner loop. Then only the new iterations of the inner loop are enumerated.
//
//   If an iteration of a loop changes the address by at most a line, and no bound or guard inside depends on the loop,
//   the reference accesses adjacent lines. These lines are processed all at once.
#include "cache/exact/model_path.h"
#include <stdlib.h>

enum { SOME = 1 << 22 }; // the least limit of ticks (nw_firsts_find)
static const int64_t MOST_LINES = INT64_C(1) << 23; // arrays of half a gigabyte, if a line has 64 bytes

typedef struct going { // the enumeration of the iterations of a reference
  nw_firsts *f;
  const nw_around *p;
  const nw_affine_ref *ref;
  int region, label;
  int order[NW_AROUND_DEEP], norder; // the free loops (nw_around) that change the address
  bool run; // true if the last of these loops is processed as one sequence of lines
  const nw_affine_node *fresh[NW_AROUND_DEEP]; // for each node: the result of fresh_of
} going;

bool nw_firsts_enough(nw_firsts *f, int64_t n) {
  f->ticks += n;
  if (f->ticks < f->polled) return f->stop;
  f->polled = f->ticks + (1 << 20);
  if (f->ticks > f->most || nw_stopped(f->ctx)) f->stop = true;
  return f->stop;
}

// ---- lines

static void touch_line(going *g, int64_t line, int64_t time) {
  nw_firsts *f = g->f;
  if (line < f->from[g->region] || line >= f->to[g->region]) {
    f->astray = f->stop = true;
    return;
  }
  nw_first_touch *at = &f->at[f->base[g->region] + line - f->from[g->region]];
  if (time < at->time) *at = (nw_first_touch){time, g->label};
}

static int64_t line_of(const going *g, int64_t address) { return address >> g->f->shift; }

// Processes n accesses that are `step` bytes apart. The first access has the given address and time. `between` is the
// time from one access to the next.
static void touch_run(going *g, int64_t address, int64_t step, int64_t n, int64_t time, int64_t between) {
  int64_t line = INT64_C(1) << g->f->shift, low = line_of(g, address), high = line_of(g, address + g->ref->bytes - 1);
  for (int64_t l = low; l <= high; l++) touch_line(g, l, time);
  int64_t end = address + step * (n - 1);
  if (step > 0)
    for (int64_t l = high + 1, last = line_of(g, end + g->ref->bytes - 1); l <= last; l++)
      touch_line(g, l, time + (l * line - address - g->ref->bytes + step) / step * between);
  else if (step < 0)
    for (int64_t l = low - 1, last = line_of(g, end); l >= last; l--)
      touch_line(g, l, time + (address - l * line - line - step) / -step * between);
  g->f->runs++;
  nw_firsts_enough(g->f,
                   1 + (line_of(g, end > address ? end : address) - line_of(g, end > address ? address : end)) / 4);
}

// ---- iterations

static int64_t move_of(const going *g, const nw_affine_node *l) { return nw_form_coef(&g->ref->at, l->slot); }

static int64_t past(int64_t first, int64_t step, int64_t last) { // the first value after `last`
  return last < first ? first : first + ((last - first) / step + 1) * step;
}

// Returns the first value of loop k that is new. A value is new if loop k did not have it in the previous iteration of
// the outer loop that extends the range of loop k (fresh_of).
static int64_t first_fresh(going *g, int k, int64_t first) {
  int64_t *slot = g->f->slot, out = first;
  for (int i = 0; i < k; i++) {
    const nw_affine_node *l = g->p->node[i];
    if (g->fresh[i] != g->p->node[k] || g->f->first[i] == slot[l->slot]) continue;
    int64_t a, b;
    slot[l->slot] -= l->step;
    nw_affine_bounds(g->p->node[k], slot, &a, &b);
    slot[l->slot] += l->step;
    int64_t v = past(first, g->p->node[k]->step, b);
    if (v > out) out = v;
  }
  return out;
}

// Enumerates the iterations of the free loops from order[i] on.
static void go_free(going *g, int i, int64_t address, int64_t time) {
  if (i == g->norder) {
    touch_run(g, address, 0, 1, time, 0);
    return;
  }
  int k = g->order[i];
  const nw_affine_node *l = g->p->node[k];
  int64_t first, last, *slot = g->f->slot;
  nw_affine_bounds(l, slot, &first, &last);
  first = first_fresh(g, k, first);
  int64_t rounds = nw_affine_rounds(l, first, last), by = move_of(g, l) * l->step, between = g->p->span[k] * l->step;
  address += move_of(g, l) * first;
  time += (first - g->p->lo[k]) * g->p->span[k];
  if (!rounds) return; // no new iterations
  if (g->run && i == g->norder - 1) {
    touch_run(g, address, by, rounds, time, between);
    return;
  }
  for (int64_t r = 0; r < rounds && !g->f->stop; r++) go_free(g, i + 1, address + r * by, time + r * between);
}

// Processes the free loops. It is called when all loops that are not free have values.
static void go_leaf(going *g, int64_t address, int64_t time) {
  for (int k = 0; k < g->p->n; k++) {
    if (!g->p->free[k]) continue;
    int64_t first, last;
    nw_affine_bounds(g->p->node[k], g->f->slot, &first, &last);
    if (last < first) return;
    if (move_of(g, g->p->node[k])) continue;
    if (first_fresh(g, k, first) > first) return;
    time += (first - g->p->lo[k]) * g->p->span[k];
  }
  go_free(g, 0, address, time);
}

static void go(going *g, int k, int64_t address, int64_t time) {
  const nw_around *p = g->p;
  while (k < p->n && (p->free[k] || (p->node[k]->kind == NW_AFFINE_GUARD && nw_affine_holds(p->node[k], g->f->slot))))
    k++;
  if (k == p->n) {
    go_leaf(g, address, time);
    return;
  }
  const nw_affine_node *l = p->node[k];
  if (l->kind == NW_AFFINE_GUARD) return;
  int64_t first, last, *slot = &g->f->slot[l->slot], by = move_of(g, l);
  nw_affine_bounds(l, g->f->slot, &first, &last);
  g->f->first[k] = first;
  for (int64_t v = first_fresh(g, k, first); v <= last && !nw_firsts_enough(g->f, 1); v += l->step) {
    *slot = v;
    go(g, k + 1, address + by * v, time + (v - p->lo[k]) * p->span[k]);
    if (g->fresh[k] == l) break; // later iterations add nothing
  }
}

// For a loop that is not free and does not change the address of the reference, returns one of the following:
//
//   the loop itself, if only its first iteration accesses new lines
//   an inner loop, if later iterations only add iterations at the end of this inner loop
//   NULL otherwise
//
// Returns NULL for all other loops.
static const nw_affine_node *fresh_of(const going *g, int k) {
  const nw_affine_node *l = g->p->node[k], *grows = NULL;
  if (g->p->free[k] || l->kind != NW_AFFINE_LOOP || move_of(g, l)) return NULL;
  for (int i = k + 1; i < g->p->n; i++) {
    nw_change c = nw_change_of(g->p->node[i], l->slot);
    if (c.elsewhere || (c.at_end && grows)) return NULL;
    if (c.at_end) grows = g->p->node[i];
  }
  return grows ? grows : l;
}

static int64_t size(int64_t v) { return v < 0 ? -v : v; }

// Sorts the free loops that move the reference by the distance of the move in one iteration, the largest distance
// first.
static void find_order(going *g) {
  for (int k = 0; k < g->p->n; k++) {
    g->fresh[k] = fresh_of(g, k);
    if (!g->p->free[k] || !move_of(g, g->p->node[k])) continue;
    int i = g->norder++;
    for (; i && size(move_of(g, g->p->node[g->order[i - 1]]) * g->p->node[g->order[i - 1]]->step) <
                    size(move_of(g, g->p->node[k]) * g->p->node[k]->step);
         i--)
      g->order[i] = g->order[i - 1];
    g->order[i] = k;
  }
  const nw_affine_node *l = g->norder ? g->p->node[g->order[g->norder - 1]] : NULL;
  g->run = l && size(move_of(g, l) * l->step) <= INT64_C(1) << g->f->shift;
}

static void first_of_ref(nw_firsts *f, const nw_around *p, const nw_affine_ref *r, int64_t time) {
  going g = {.f = f, .p = p, .ref = r, .region = f->region[r->array], .label = 2 * r->site + r->write};
  find_order(&g);
  go(&g, 0, (int64_t)f->nest->array[r->array].address + r->at.rest, time);
}

// ---- the nest

static void visit(nw_firsts *f, nw_around *p, const nw_affine_node *x, int64_t time);

static void visit_stmt(nw_firsts *f, nw_around *p, const nw_affine_node *x, int64_t time) {
  nw_path_find_free(p);
  if (!f->counted) {
    nw_path_count(f, p, x);
    return;
  }
  for (int i = 0; i < x->nrefs && !f->stop; i++) first_of_ref(f, p, &x->ref[i], time + i);
}

static void visit_kids(nw_firsts *f, nw_around *p, const nw_affine_node *x, int64_t time) {
  for (int i = 0; i < x->nkids && !f->stop; i++) {
    visit(f, p, x->kid[i], time);
    time += nw_path_span(f, x->kid[i]);
  }
}

static void visit(nw_firsts *f, nw_around *p, const nw_affine_node *x, int64_t time) {
  bool steers = x->kind == NW_AFFINE_LOOP || x->kind == NW_AFFINE_GUARD;
  if (steers && p->n == NW_AROUND_DEEP) f->stop = true;
  if (f->stop) return;
  if (steers) p->node[p->n++] = x;
  if (x->kind == NW_AFFINE_LOOP) {
    p->span[p->n - 1] = nw_path_round_span(f, x);
    p->lo[p->n - 1] = f->lo[x->slot];
  }
  if (x->kind == NW_AFFINE_STMT)
    visit_stmt(f, p, x, time);
  else
    visit_kids(f, p, x, time);
  if (steers) p->n--;
}

// Finds the regions. In this file, a region is a set of adjacent arrays that share lines. The arrays are sorted by
// address.
static void find_regions(nw_firsts *f) {
  const nw_affine_nest *n = f->nest;
  for (int i = 0; i < n->narrays; i++) {
    int64_t from = (int64_t)(n->array[i].address >> f->shift),
            to = (int64_t)((n->array[i].address + (uint64_t)n->array[i].bytes - 1) >> f->shift) + 1;
    int at = f->nregions - 1;
    if (at < 0 || from >= f->to[at]) {
      at = f->nregions++;
      f->from[at] = f->to[at] = from;
      f->base[at] = f->n;
    }
    f->n += to > f->to[at] ? to - f->to[at] : 0;
    if (to > f->to[at]) f->to[at] = to;
    f->region[i] = at;
  }
}

static int64_t *numbers(int n) { return nw_xcalloc((size_t)n + 1, sizeof(int64_t)); }

bool nw_firsts_find(nw_firsts *f, nw_ctx *c, const nw_affine_nest *n, int line, int64_t most) {
  *f = (nw_firsts){.ctx = c, .nest = n, .shift = __builtin_ctz((unsigned)line), .most = most};
  f->region = nw_xcalloc((size_t)n->narrays + 1, sizeof *f->region);
  f->from = numbers(n->narrays), f->to = numbers(n->narrays), f->base = numbers(n->narrays);
  f->slot = numbers(n->nslots), f->lo = numbers(n->nslots), f->hi = numbers(n->nslots);
  f->asked = numbers(n->nsites);
  find_regions(f);
  if (f->n > MOST_LINES || line > 4096) return false;
  f->at = nw_xmalloc((size_t)(f->n + 1) * sizeof *f->at);
  for (int64_t i = 0; i < f->n; i++) f->at[i].time = INT64_MAX;
  nw_around *p = nw_xcalloc(1, sizeof *p);
  nw_path_span(f, n->root);
  visit(f, p, n->root, 0);
  f->counted = !f->stop;
  if (f->accesses / 4 + SOME < f->most) f->most = f->accesses / 4 + SOME; // otherwise a simulation is faster
  if (f->counted) visit(f, p, n->root, 0);
  free(p);
  return !f->stop;
}

void nw_firsts_free(nw_firsts *f) {
  free(f->region);
  free(f->from);
  free(f->to);
  free(f->base);
  free(f->slot);
  free(f->lo);
  free(f->hi);
  free(f->asked);
  free(f->at);
}

bool nw_firsts_fit(const nw_firsts *f, const nw_level_of *l) {
  int64_t *held = numbers((int)l->sets);
  bool all = true;
  for (int r = 0; r < f->nregions; r++)
    for (int64_t line = f->from[r]; line < f->to[r] && all; line++)
      if (f->at[f->base[r] + line - f->from[r]].time != INT64_MAX) all = ++held[line % l->sets] <= l->ways;
  free(held);
  return all;
}
