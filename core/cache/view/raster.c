// Draws all accesses of a program as pixels.
#include "access/rounds.h"
#include "cache/sim/sim.h"
#include <stdlib.h>

enum { BRACKETS = 300 };

typedef struct axis { // maps the addresses of a site to rows of pixels
  nw_lane *lane;
  uint64_t from; // the address at which row 0 begins
  // The number of rows per byte, in units of 2^-32. `up` is rounded up; it gives the first row of an access. `down` is
  // rounded down; it gives the last row. So a byte is never painted in the row before or after its own row.
  uint64_t up, down;
} axis;

struct nw_raster {
  nw_arena *arena;
  int64_t time;
  int width, height, n;
  nw_lane **lane;
  nw_rounds rounds;
  int64_t *touched; // for each column: the number of lines touched so far
  int line;
};

typedef struct painting {
  nw_raster *r;
  nw_walker *w;
  nw_sim *sim;
  int level, nlevels, shift;
  bool by_line, by_set;
  uint64_t sets;
  axis set; // maps sets to rows
  axis *at; // for each site
  int column;
  int64_t until; // the number of the first access in the next column
  int64_t time, lines;
  uint64_t first;
  uint64_t *seen; // one bit per line
  uint8_t *out;
} painting;

// ---- the first walk: counts the accesses, and finds the loops

static bool count_refs(void *env, const nw_ref *ref, int n) {
  (void)ref;
  ((nw_raster *)env)->time += n;
  return true;
}

static void see_round(void *env, const nw_stmt *loop, int64_t index, int64_t time) {
  nw_rounds_see(&((nw_raster *)env)->rounds, loop, index, time);
}

// ---- the second walk: paints the pixels

static void worst(uint8_t *pixel, uint8_t value) {
  if (*pixel < value) *pixel = value;
}

// Paints the rows of the positions `from` to `to` - 1. Positions are bytes or sets; `scale` maps them to rows.
static void paint_part(const painting *x, const axis *a, const axis *scale, uint64_t from, uint64_t to, uint8_t value) {
  int last = x->r->height - 1, row = (int)(from * scale->up >> 32), top = (int)((to * scale->down - 1) >> 32);
  if (row > last) row = last;
  if (top > last) top = last;
  uint8_t *pixel = a->lane->pixel + (size_t)row * (size_t)x->r->width + x->column;
  worst(pixel, value);
  for (; row < top; row++) worst(pixel += x->r->width, value);
}

// Paints an access. If the rows show lines, the whole line is painted, even if only a part of it is accessed.
static void paint(const painting *x, const nw_ref *ref, uint8_t value) {
  const axis *a = &x->at[ref->site];
  uint64_t in_line = x->by_line ? (UINT64_C(1) << x->shift) - 1 : 0;
  uint64_t start = ref->address & ~in_line, end = (ref->address + ref->bytes + in_line) & ~in_line;
  if (!x->by_set) return paint_part(x, a, a, start - a->from, end - a->from, value);
  for (uint64_t l = ref->address >> x->shift; l <= (end - 1) >> x->shift; l++)
    paint_part(x, a, &x->set, l % x->sets, l % x->sets + 1, value);
}

static void next_column(painting *x) {
  int64_t width = x->r->width;
  while (x->time >= x->until) {
    x->column++;
    x->until = (int64_t)(((__int128)(x->column + 1) * x->r->time + width - 1) / width);
  }
}

static void see_lines(painting *x, const nw_ref *ref) {
  for (uint64_t l = ref->address >> x->shift; l <= (ref->address + ref->bytes - 1) >> x->shift; l++) {
    uint64_t bit = UINT64_C(1) << ((l - x->first) & 63), *word = &x->seen[(l - x->first) >> 6];
    if (!(*word & bit)) *word |= bit, x->lines++;
  }
  x->r->touched[x->column] = x->lines;
}

// Returns the number of the first level with a hit, counted from 1. Returns nlevels + 1 if no level hits. A level that
// was not accessed has the outcome NW_HIT.
static uint8_t found_in(const painting *x, const uint8_t *out) {
  int n = 0;
  while (n < x->nlevels && out[n] != NW_HIT) n++;
  return (uint8_t)(n + 1);
}

static bool paint_refs(void *env, const nw_ref *ref, int n) {
  painting *x = env;
  nw_sim_feed(x->sim, ref, n, x->out);
  for (int i = 0; i < n; i++) {
    const uint8_t *out = x->out + (size_t)i * (size_t)x->nlevels;
    uint8_t what = out[x->level < 0 ? 0 : x->level];
    nw_lane *lane = x->at[ref[i].site].lane;
    if (x->time >= x->until) next_column(x);
    x->time++;
    lane->accesses++;
    lane->outcome[what]++;
    paint(x, &ref[i],
          x->level < 0     ? found_in(x, out)
          : what == NW_HIT ? (uint8_t)(1 + ref[i].write)
                           : (uint8_t)(2 + what));
    if (out[0] == NW_COLD) see_lines(x, &ref[i]);
  }
  return true;
}

void nw_raster_shrink(const uint8_t *pixel, int width, int height, int to_width, int to_height, uint8_t *out) {
  memset(out, 0, (size_t)to_width * (size_t)to_height);
  for (int y = 0; y < height; y++) {
    uint8_t *row = out + (size_t)((int64_t)y * to_height / height) * (size_t)to_width;
    for (int x = 0; x < width; x++)
      worst(&row[(int64_t)x * to_width / width], pixel[(size_t)y * (size_t)width + (size_t)x]);
  }
}

// ---- lanes

static nw_lane *lane_of(nw_raster *r, const nw_placed *p) {
  for (int i = 0; i < r->n; i++)
    if (!strcmp(r->lane[i]->tensor, p->buffer->name)) return r->lane[i];
  nw_lane *lane = r->lane[r->n++] = NW_NEW(r->arena, nw_lane);
  *lane = (nw_lane){.tensor = nw_arena_strdup(r->arena, p->buffer->name)};
  lane->pixel = NW_NEW_N(r->arena, uint8_t, (size_t)r->width * (size_t)r->height);
  return lane;
}

static void set_range(painting *x, nw_lane *lane, const nw_placed *p, nw_raster_y y, int line) {
  int64_t elem = nw_dtype_bytes(p->buffer->dtype);
  switch (y) {
  case NW_Y_INDEX: lane->from = 0, lane->to = p->bytes / elem; break;
  case NW_Y_ADDRESS: lane->from = (int64_t)p->address, lane->to = (int64_t)p->address + p->bytes; break;
  case NW_Y_LINE:
    lane->from = (int64_t)p->address / line, lane->to = ((int64_t)p->address + p->bytes + line - 1) / line;
    break;
  case NW_Y_SET: lane->from = 0, lane->to = (int64_t)x->sets; break;
  }
}

static axis scaled(const nw_raster *r, uint64_t units) {
  unsigned __int128 one = (unsigned __int128)r->height << 32;
  return (axis){.up = (uint64_t)((one + units - 1) / units), .down = (uint64_t)(one / units)};
}

static int by_address(const void *a, const void *b) {
  const nw_placed *x = *(const nw_placed *const *)a, *y = *(const nw_placed *const *)b;
  return (x->address > y->address) - (x->address < y->address);
}

static void make_lanes(painting *x, nw_raster_y y, int line) {
  nw_raster *r = x->r;
  int n = nw_walker_sites(x->w);
  const nw_placed **place = NW_NEW_N(r->arena, const nw_placed *, n + 1);
  r->lane = NW_NEW_N(r->arena, nw_lane *, n + 1);
  x->at = NW_NEW_N(r->arena, axis, n + 1);
  for (int i = 0; i < n; i++) place[i] = nw_walker_site(x->w, i)->place;
  qsort(place, (size_t)n, sizeof *place, by_address);
  for (int i = 0; i < n; i++) set_range(x, lane_of(r, place[i]), place[i], y, line);
  for (int i = 0; i < n; i++) {
    const nw_placed *p = nw_walker_site(x->w, i)->place;
    uint64_t from = p->address, to = from + (p->bytes ? (uint64_t)p->bytes : 1), unit = (uint64_t)line;
    if (y == NW_Y_LINE) from = from / unit * unit, to = (to + unit - 1) / unit * unit;
    x->at[i] = scaled(r, to - from);
    x->at[i].lane = lane_of(r, p);
    x->at[i].from = from;
  }
}

// ---- the whole picture

static bool paint_all(nw_ctx *c, painting *x, const nw_sim_opts *o, nw_raster_y y) {
  nw_raster *r = x->r;
  const nw_places *places = nw_walker_places(x->w);
  const nw_sim_level *level = &o->level[x->level < 0 ? 0 : x->level];
  nw_walker_does(x->w, "counting the accesses");
  if (!nw_walk_refs(x->w, count_refs, see_round, r)) return false;
  nw_walker_does(x->w, NULL);
  nw_rounds_close(&r->rounds);
  x->sim = nw_sim_new(c, o, places->from, places->to, nw_walker_sites(x->w));
  if (!x->sim) return false;
  x->shift = __builtin_ctz((unsigned)o->line);
  x->by_line = y == NW_Y_LINE;
  x->by_set = y == NW_Y_SET;
  x->sets = level->ways ? (uint64_t)(level->bytes / o->line / level->ways) : 1;
  x->set = scaled(r, x->sets);
  x->column = -1;
  x->first = places->from >> x->shift;
  x->seen = nw_xask(((places->to >> x->shift) - x->first) / 64 + 2, sizeof *x->seen);
  x->out = nw_xask((size_t)o->nlevels * NW_BATCH, 1);
  r->touched = NW_NEW_N(r->arena, int64_t, r->width);
  make_lanes(x, y, o->line);
  bool ok = nw_walk_refs(x->w, paint_refs, NULL, x);
  for (int i = 1; i < r->width; i++)
    if (!r->touched[i]) r->touched[i] = r->touched[i - 1];
  return ok;
}

nw_raster *nw_raster_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o, int level,
                        nw_raster_y y, int width, int height) {
  nw_walker *w = nw_walker_for(c, p, walk);
  if (!w) return NULL;
  nw_raster *r = nw_xask(1, sizeof *r);
  r->arena = r->rounds.arena = nw_arena_scratch();
  r->rounds.most = BRACKETS;
  r->width = width;
  r->height = height;
  r->line = o->line;
  painting x = {.r = r, .w = w, .level = level, .nlevels = o->nlevels};
  bool ok = paint_all(c, &x, o, y);
  nw_sim_free(x.sim);
  nw_let_go(x.seen);
  nw_let_go(x.out);
  nw_walker_free(w);
  if (ok) return r;
  nw_raster_free(r);
  return NULL;
}

void nw_raster_free(nw_raster *r) {
  if (!r) return;
  nw_rounds_free(&r->rounds);
  nw_arena_free(r->arena);
  nw_let_go(r);
}

int64_t nw_raster_time(const nw_raster *r) { return r->time; }
int nw_raster_lanes(const nw_raster *r) { return r->n; }
const nw_lane *nw_raster_lane(const nw_raster *r, int i) { return r->lane[i]; }
int64_t nw_raster_touched(const nw_raster *r, int column) { return r->touched[column] * r->line; }
int64_t nw_raster_iterations(const nw_raster *r) { return r->rounds.round.n; }
const nw_iteration *nw_raster_iteration(const nw_raster *r, int64_t i) { return r->rounds.round.at[i]; }
