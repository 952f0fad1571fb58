// Compares a nest with the description of an instruction of a warp.
//
// The instruction does not see indices. It takes an element from a place of a lane. So the nest is compared place by
// place: the nest and the description are executed, iteration by iteration, and must combine the same places. The
// fragment of a buffer is given by the last two dimensions of its layout, which are the lane and the place in the lane.
#include "ir/expr/unify.h"
#include <stdio.h>
#include <stdlib.h>

enum {
  MOST_ITERATIONS = 1 << 14,
  MOST_USES = 4, // accesses of a description
  MOST_LOOPS = 16,
};

typedef struct spread { // the positions of an access in the iterations of the nest
  const nw_unify_use *use;
  bool held; // a fragment; otherwise the argument is in memory
  const nw_expr *lane, *place; // of a fragment
  const nw_expr *base[NW_MAX_TILE_DIMS]; // in memory: the physical position in the first iteration
  const nw_expr *moved[NW_MAX_TILE_DIMS]; // and the distance of each iteration from it
  const nw_expr *row[2]; // the last two logical indices, less those of the first iteration; NULL if they are not known
} spread;

typedef struct point { // an iteration
  uint64_t key; // the elements of the fragments that it combines
  int64_t at[MOST_LOOPS]; // the variables of the loops: of the lanes first
} point;

typedef struct warp {
  nw_unifying *u;
  int nuses;
  spread use[MOST_USES];
  int nvars;
  const char *var[NW_MAX_DEPTH];
  int64_t begin[NW_MAX_DEPTH], extent[NW_MAX_DEPTH];
} warp;

static char *text(const char *fmt, ...) NW_PRINTF(1, 2);
static char *text(const char *fmt, ...) {
  nw_str s = {0};
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(&s, fmt, args);
  va_end(args);
  return nw_str_take(&s);
}

static bool differs(const warp *w, char *expected, char *found) {
  return nw_unify_differs(w->u, w->u->out->block, expected, found);
}

static bool evaluated(const warp *w, const nw_expr *e, const int64_t *at, int64_t *out) {
  return nw_eval_int(e, &(nw_point){w->nvars, w->var, at}, out);
}

// ---- loops

static bool take_loops(warp *w) {
  nw_unifying *u = w->u;
  int64_t all = 1;
  w->var[0] = u->lane->loop.var->name;
  w->begin[0] = 0, w->extent[0] = NW_FRAGMENT_LANES;
  w->nvars = 1;
  if (u->nloops >= MOST_LOOPS || u->in->nloops >= MOST_LOOPS)
    return differs(w, text("fewer than %d loops", MOST_LOOPS), text("%d", u->nloops + 1));
  for (int i = 0; i < u->nloops; i++) {
    const nw_stmt *s = u->loop[i];
    w->var[w->nvars] = s->loop.var->name;
    if (!nw_is_int(s->loop.begin, &w->begin[w->nvars]) || !nw_is_int(s->loop.extent, &w->extent[w->nvars]))
      return differs(w, text("loops with constant bounds"), text("%s", s->loop.var->name));
    w->nvars++;
  }
  for (int i = 0; i < w->nvars && all <= MOST_ITERATIONS; i++) all *= w->extent[i];
  int64_t want = 1, n;
  for (int i = 0; i < u->in->nloops; i++) want *= nw_is_int(u->in->loop[i]->loop.extent, &n) ? n : 0;
  if (all == want && all <= MOST_ITERATIONS) return true;
  return differs(w, text("%lld iterations of all lanes", (long long)want), text("%lld", (long long)all));
}

// Returns e in the first iteration of the nest.
static const nw_expr *at_first(const warp *w, const nw_expr *e) {
  for (int i = 0; i < w->nvars; i++) e = nw_subst(w->u->p->pool, e, w->var[i], nw_index(w->u->p->pool, w->begin[i]));
  return nw_simplify(&w->u->r, e);
}

static bool is_own(void *env, const nw_expr *e) {
  const warp *w = env;
  if (e->op == NW_OP_LOAD) return false;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < w->nvars; i++)
    if (!strcmp(w->var[i], e->name)) return true;
  return false;
}

// Returns e less its value in the first iteration. Returns NULL if the difference depends on something outside the nest.
static const nw_expr *moved(const warp *w, const nw_expr *e, const nw_expr *first) {
  const nw_expr *by = nw_simplify(&w->u->r, nw_sub(w->u->p->pool, e, first));
  return nw_visit(by, is_own, (void *)w) ? by : NULL;
}

// ---- accesses

static const nw_expr *in_loops(const warp *w, const nw_expr *e) {
  nw_unifying *u = w->u;
  return nw_settle(&u->r, nw_unify_without_units(u, nw_block_bound(u->p, u->out->block, e)));
}

static const char *scope_of(const nw_buffer *b) {
  static const char *const names[NW_SCOPE_COUNT] = {"global", "local", "shared", "warp"};
  return names[b->scope];
}

static bool in_scope(const warp *w, const nw_unify_use *a, nw_scope scope, const char *name) {
  const nw_buffer *b = nw_find_buffer(w->u->p, a->buffer);
  if (b->role == NW_TEMP && b->scope == scope) return true;
  return differs(w, text("%s in storage of scope %s", a->arg->name, name),
                 b->role == NW_TEMP ? text("%s, of scope %s", b->name, scope_of(b))
                                    : text("%s, an argument of the kernel", b->name));
}

static bool take_held(warp *w, spread *s, int n, const nw_expr *const *at) {
  nw_window *win = &w->u->out->window[s->use->arg - w->u->in->arg];
  nw_pool *pool = w->u->p->pool;
  if (!in_scope(w, s->use, NW_WARP, "warp")) return false;
  if (n < 2)
    return differs(w, text("%s with a layout whose last dimensions are the lane and the place", s->use->arg->name),
                   text("%s, with %d dimension", s->use->buffer, n));
  if (nw_find_buffer(w->u->p, s->use->buffer)->nstrides)
    return differs(w, text("adjacent places of %s", s->use->arg->name), text("aligned strides of %s", s->use->buffer));
  *win = (nw_window){.buffer = s->use->buffer, .n = n};
  for (int d = 0; d < n - 2; d++) {
    win->at[d] = at[d];
    if (nw_unify_uses_loops(w->u, at[d]))
      return differs(w, text("one fragment of %s", s->use->arg->name), text("several of %s", s->use->buffer));
  }
  win->at[n - 2] = win->at[n - 1] = nw_index(pool, 0);
  s->lane = at[n - 2], s->place = at[n - 1];
  s->held = nw_visit(s->lane, is_own, w) && nw_visit(s->place, is_own, w);
  return s->held || differs(w, text("the same lanes of %s in every call", s->use->arg->name),
                            text("%s, where they depend on loops outside the nest", s->use->buffer));
}

static bool take_memory(warp *w, spread *s, int n, const nw_expr *const *at) {
  if (!in_scope(w, s->use, NW_SHARED, "shared")) return false;
  for (int d = 0; d < n; d++) {
    s->base[d] = at_first(w, at[d]);
    s->moved[d] = moved(w, at[d], s->base[d]);
    if (!s->moved[d])
      return differs(w, text("one tile of %s", s->use->arg->name), text("several of %s", s->use->buffer));
  }
  return true;
}

// Finds how the last two indices move, for messages.
static void take_rows(warp *w, spread *s) {
  int n = nw_find_buffer(w->u->p, s->use->buffer)->ndim;
  for (int d = 0; d < 2 && n >= 2; d++) {
    const nw_expr *e = in_loops(w, s->use->theirs[n - 2 + d]);
    s->row[d] = moved(w, e, at_first(w, e));
  }
}

static bool same_indices(int n, const nw_expr *const *a, const nw_expr *const *b) {
  for (int d = 0; d < n; d++)
    if (a[d] != b[d]) return false;
  return true;
}

// True if the access was seen before: a body may read an element several times.
static bool is_known(const warp *w, const nw_unify_use *a) {
  for (int i = 0; i < w->nuses; i++) {
    const nw_unify_use *b = w->use[i].use;
    if (a->arg == b->arg && !strcmp(a->buffer, b->buffer) && same_indices(a->n, a->mine, b->mine) &&
        same_indices(nw_find_buffer(w->u->p, a->buffer)->ndim, a->theirs, b->theirs))
      return true;
  }
  return false;
}

static bool take_use(warp *w, nw_unify_use *a) {
  const nw_expr *at[NW_MAX_TILE_DIMS];
  if (is_known(w, a)) return true;
  if (w->nuses == MOST_USES)
    return differs(w, text("at most %d accesses", MOST_USES), text("another one, to %s", a->buffer));
  spread *s = &w->use[w->nuses++];
  *s = (spread){.use = a};
  int n = a->nphysical = nw_unify_physical(w->u, a, at);
  if (n < 0) return differs(w, text("at most %d dimensions", NW_MAX_TILE_DIMS), text("%s", a->buffer));
  for (int d = 0; d < n; d++) at[d] = in_loops(w, at[d]);
  take_rows(w, s);
  return a->arg->fragment.n ? take_held(w, s, n, at) : take_memory(w, s, n, at);
}

// ---- iterations

// Sets *element to the element that the instruction expects in the place of the access.
static bool element_at(const warp *w, const spread *s, const int64_t *at, int *element) {
  const nw_fragment *f = &s->use->arg->fragment;
  int64_t lane = -1, place = -1;
  bool known = evaluated(w, s->lane, at, &lane) && evaluated(w, s->place, at, &place);
  if (known && lane >= 0 && lane < NW_FRAGMENT_LANES && place >= 0 && place < f->n)
    return *element = f->element[lane * f->n + place], true;
  return differs(w, text("%d places in each of %d lanes of %s", f->n, NW_FRAGMENT_LANES, s->use->arg->name),
                 text("%s in lane %lld, place %lld", s->use->buffer, (long long)lane, (long long)place));
}

// Compares the place with that of the element that the nest means there. The elements of a tile are counted from its
// first one.
static bool agrees(const warp *w, const spread *s, const int64_t *at, int element) {
  const nw_intrinsic_arg *a = s->use->arg;
  int64_t row[2];
  if (!s->row[0] || !s->row[1] || !evaluated(w, s->row[0], at, &row[0]) || !evaluated(w, s->row[1], at, &row[1]))
    return true; // the comparison of all iterations decides
  if (a->ndim != 2 || row[0] < 0 || row[1] < 0 || row[0] >= a->dim[0].extent || row[1] >= a->dim[1].extent) return true;
  int meant = (int)(row[0] * a->dim[1].extent + row[1]), n = a->fragment.n;
  if (meant == element) return true;
  int right = a->fragment.place[meant], wrong = a->fragment.place[element];
  char *name = nw_fragment_element(a, meant);
  differs(w, text("%s in lane %d, place %d", name, right / n, right % n),
          text("it in lane %d, place %d of %s", wrong / n, wrong % n, s->use->buffer));
  free(name);
  return false;
}

// The lane that executes an iteration must hold the element that it writes.
static bool is_holder(const warp *w, const spread *s, const int64_t *at, int element) {
  const nw_fragment *f = &s->use->arg->fragment;
  int lane = f->place[element] / f->n;
  if (!s->use->arg->output || at[0] == lane) return true;
  char *name = nw_fragment_element(s->use->arg, element);
  differs(w, text("%s computed by lane %d, which holds it", name, lane),
          text("it computed by lane %lld", (long long)at[0]));
  free(name);
  return false;
}

static bool nest_point(const warp *w, point *p) {
  p->key = 0;
  for (int i = 0; i < w->nuses; i++) {
    int element = 0;
    if (!w->use[i].held) continue;
    if (!element_at(w, &w->use[i], p->at, &element) || !agrees(w, &w->use[i], p->at, element) ||
        !is_holder(w, &w->use[i], p->at, element))
      return false;
    p->key = p->key << 16 | (uint64_t)element;
  }
  return true;
}

// Returns the row-major number of the element of the tile that the description accesses.
static int64_t described(const warp *w, const nw_unify_use *a, const int64_t *at) {
  int64_t coef[NW_MAX_DEPTH], element = 0;
  for (int d = 0; d < a->arg->ndim; d++) {
    int64_t index = 0;
    nw_intrinsic_index(w->u->in, a->mine[d], coef, &index);
    for (int i = 0; i < w->u->in->nloops; i++) index += coef[i] * at[i];
    element = element * a->arg->dim[d].extent + index;
  }
  return element;
}

static bool described_point(const warp *w, point *p) {
  p->key = 0;
  for (int i = 0; i < w->nuses; i++)
    if (w->use[i].held) p->key = p->key << 16 | (uint64_t)described(w, w->use[i].use, p->at);
  return true;
}

static int by_key(const void *a, const void *b) {
  uint64_t x = ((const point *)a)->key, y = ((const point *)b)->key;
  return (x > y) - (x < y);
}

// Lists the iterations of some loops, sorted by their keys. The caller frees the list. Returns NULL if one has no key.
static point *list(const warp *w, int n, const int64_t *begin, const int64_t *extent,
                   bool (*set)(const warp *w, point *p), int *count) {
  point *all = nw_xcalloc(MOST_ITERATIONS, sizeof *all);
  int64_t total = 1;
  for (int i = 0; i < n; i++) total *= extent[i];
  for (*count = 0; *count < total; ++*count) {
    int64_t rest = *count;
    for (int i = n - 1; i >= 0; i--) {
      all[*count].at[i] = begin[i] + rest % extent[i];
      rest /= extent[i];
    }
    if (!set(w, &all[*count])) return free(all), NULL;
  }
  qsort(all, (size_t)*count, sizeof *all, by_key);
  return all;
}

static point *list_described(const warp *w, int *count) {
  int64_t begin[NW_MAX_DEPTH], extent[NW_MAX_DEPTH];
  for (int i = 0; i < w->u->in->nloops; i++) {
    begin[i] = 0, extent[i] = 1;
    nw_is_int(w->u->in->loop[i]->loop.begin, &begin[i]);
    nw_is_int(w->u->in->loop[i]->loop.extent, &extent[i]);
  }
  return list(w, w->u->in->nloops, begin, extent, described_point, count);
}

// ---- tiles in memory

// Sets moves[e] to the distance of element e of the tile from the position in the first iteration.
static void distances(const warp *w, const spread *s, int n, const point *mine, const point *theirs,
                      int64_t (*moves)[NW_MAX_TILE_DIMS]) {
  for (int i = 0; i < n; i++)
    for (int d = 0; d < s->use->nphysical; d++)
      evaluated(w, s->moved[d], theirs[i].at, &moves[described(w, s->use, mine[i].at)][d]);
}

// Sets the window of the tile: its elements must be at equal distances along each of its two dimensions.
static bool set_window(const warp *w, const spread *s, int n, const point *mine, const point *theirs) {
  const nw_intrinsic_arg *a = s->use->arg;
  nw_window *win = &w->u->out->window[a - w->u->in->arg];
  int64_t columns = a->dim[1].extent, (*moves)[NW_MAX_TILE_DIMS] = nw_xcalloc((size_t)n, sizeof *moves);
  bool even = true;
  distances(w, s, n, mine, theirs, moves);
  *win = (nw_window){.buffer = s->use->buffer, .n = s->use->nphysical};
  for (int d = 0; d < win->n; d++) {
    win->step[0][d] = moves[columns][d] - moves[0][d], win->step[1][d] = moves[1][d] - moves[0][d];
    win->at[d] = nw_add(w->u->p->pool, s->base[d], nw_index(w->u->p->pool, moves[0][d]));
    for (int e = 0; e < n; e++)
      even &= moves[e][d] == moves[0][d] + e / columns * win->step[0][d] + e % columns * win->step[1][d];
  }
  free(moves);
  if (!even) return differs(w, text("rows of %s at equal distances", a->name), text("other places in %s", win->buffer));
  if (nw_unify_wrong_stride(w->u, s->use, win) >= 0)
    return differs(w, text("rows of %s whose elements are adjacent", a->name),
                   text("another stride in %s", win->buffer));
  int64_t along = 16 / nw_dtype_bytes(a->dtype);
  return nw_unify_aligned(w->u, win, along) ||
         differs(w, text("rows of %s that begin at multiples of 16 bytes", a->name),
                 text("%s, for which this is not proven", win->buffer));
}

static bool same_points(const warp *w, int n, const point *mine, const point *theirs) {
  for (int i = 0; i < n; i++)
    if (mine[i].key != theirs[i].key)
      return differs(w, text("each element of the tiles combined as in the instruction"),
                     text("lanes that combine other elements"));
  for (int i = 0; i < w->nuses; i++)
    if (!w->use[i].held && !set_window(w, &w->use[i], n, mine, theirs)) return false;
  return true;
}

bool nw_unify_warp(nw_unifying *u) {
  warp *w = nw_xcalloc(1, sizeof *w);
  w->u = u;
  bool good = take_loops(w);
  for (int i = 0; i < u->naccesses && good; i++) good = take_use(w, &u->access[i]);
  int n = 0;
  point *theirs = good ? list(w, w->nvars, w->begin, w->extent, nest_point, &n) : NULL;
  point *mine = theirs ? list_described(w, &n) : NULL;
  good = mine && same_points(w, n, mine, theirs);
  free(mine);
  free(theirs);
  free(w);
  return good;
}
