// Implements LRU stacks that start with unknown content and build summaries. model_stack.h defines the terms.
#include "cache/exact/model_stack.h"
#include "cache/exact/model_held.h"
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline)) // to specialize loops for each kind of sets

struct nw_stack {
  nw_held held;
  uint32_t now; // the stamp (nw_stack_stamp) that lines get when they are added
  uint32_t *came; // for each first line of the applied summary: its place (model_held.h)
  int came_cap;
  nw_stack_first *first;
  int nfirst, first_cap;
  bool *whole; // for each set, when a summary is built: nw_stack_last.whole
  nw_stack_counts counts;
};

nw_stack *nw_stack_new(nw_spares *spares, int64_t sets, int64_t ways, nw_stack_counts counts) {
  nw_stack *k = nw_xask(1, sizeof *k);
  k->counts = counts;
  k->whole = nw_xask((size_t)sets, sizeof *k->whole);
  nw_held_open(&k->held, spares, sets, ways);
  return k;
}

void nw_stack_free(nw_stack *k) {
  if (!k) return;
  nw_spares *spares = k->held.spares;
  nw_held_close(&k->held);
  nw_spare_give(spares, k->came);
  nw_spare_give(spares, k->first);
  nw_let_go(k->whole);
  nw_let_go(k);
}

void nw_stack_clear(nw_stack *k) {
  nw_held_clear(&k->held);
  k->nfirst = 0;
  k->now = 0;
}

int nw_stack_nfirst(const nw_stack *k) { return k->nfirst; }
const nw_stack_first *nw_stack_first_at(const nw_stack *k, int i) { return &k->first[i]; }
int64_t nw_stack_size(const nw_stack *k) { return k->nfirst + (int64_t)k->held.live; }

INLINE bool is_full(const nw_stack *k, bool rows, uint32_t set) {
  return nw_held_in(&k->held, rows, set) == k->held.ways;
}

INLINE void come(nw_stack *k, nw_held_line *x, int64_t line, int region, int first, bool stays) {
  *x = (nw_held_line){line, stays ? NW_AS_BEFORE : NW_CLEAN, first, k->now, (uint16_t)region, stays};
}

// ---- counting

INLINE void count(const nw_stack *k, int site, int cell) {
  if (k->counts.to) nw_counting_add(k->counts.to, site * k->counts.cells + cell, 1);
}

INLINE void missed(const nw_stack *k, int site, bool write) {
  count(k, site, write ? k->counts.write : k->counts.read);
}

// Handles a line that is evicted now, or later in the summary that is being applied. The write-back is counted for the
// site that wrote the line last. If this site is in an earlier part, it is not known yet, and the write-back is counted
// later.
INLINE void leave(nw_stack *k, nw_held_line *x) {
  if (x->writer >= 0) count(k, x->writer, k->counts.back);
  if (x->stayed) k->first[x->first].stay = x->writer >= 0 ? NW_LEFT_DIRTY : NW_LEFT;
  x->stayed = false;
  x->writer = NW_CLEAN;
}

static void more_firsts(nw_stack *k) {
  k->first_cap = k->first_cap ? 2 * k->first_cap : 64;
  k->first = nw_spare_more(k->held.spares, k->first, (size_t)k->nfirst * sizeof *k->first,
                           (size_t)k->first_cap * sizeof *k->first);
}

// Adds a line that is not in the set, and returns its place. If the set is full, the request is a miss. If the set is
// not full yet, the line may have been there before this part, so the outcome is unknown.
INLINE uint32_t bring(nw_stack *k, bool rows, uint32_t set, int64_t line, const nw_stack_first *f, int *what) {
  bool full = is_full(k, rows, set);
  uint32_t e = nw_held_enter(&k->held, rows, set, line, full);
  nw_held_line *x = &k->held.at[e];
  if (full) {
    missed(k, f->site, f->write);
    leave(k, x);
    come(k, x, line, f->region, -1, false);
    *what = NW_STACK_MISS;
    return e;
  }
  if (k->nfirst == k->first_cap) more_firsts(k);
  *what = k->nfirst++;
  k->first[*what] = (nw_stack_first){line, f->site, NW_CLEAN, f->region, f->write, f->stay, 0};
  come(k, x, line, f->region, *what, f->stay == NW_STAYS);
  return e;
}

INLINE int ask(nw_stack *k, bool rows, int64_t line, int region, int site, bool write) {
  uint32_t set = nw_held_set(&k->held, line), e = nw_held_find(&k->held, rows, set, line);
  int what = NW_STACK_HIT;
  nw_stack_first f = {.site = site, .region = (uint16_t)region, .write = write, .stay = NW_STAYS};
  if (e)
    nw_held_refresh(&k->held, rows, set, e);
  else
    e = bring(k, rows, set, line, &f, &what);
  if (write) k->held.at[e].writer = site;
  return what;
}

int nw_stack_ask(nw_stack *k, int64_t line, int region, int site, bool write) {
  return k->held.row ? ask(k, true, line, region, site, write) : ask(k, false, line, region, site, write);
}

// ---- applying summaries

// Requests a first line of a summary. If the line is still in its set at the end of the summary, it gets its final
// state now. Otherwise it is handled as evicted, but keeps its place until another line takes it.
INLINE int apply_first(nw_stack *k, bool rows, const nw_stack_first *f, const int64_t *origin, uint32_t *came) {
  int64_t line = f->line + origin[f->region];
  uint32_t set = nw_held_set(&k->held, line), e = nw_held_find(&k->held, rows, set, line);
  int what = NW_STACK_HIT;
  if (e) {
    nw_held_line *x = &k->held.at[e];
    nw_held_refresh(&k->held, rows, set, e);
    if (f->stay == NW_LEFT) leave(k, x);
    if (f->stay == NW_LEFT_DIRTY) x->writer = NW_CLEAN;
    if (f->stay == NW_LEFT_DIRTY && x->stayed) k->first[x->first].stay = NW_LEFT_DIRTY, x->stayed = false;
  } else {
    e = bring(k, rows, set, line, f, &what);
  }
  if (f->stay == NW_STAYS && f->writer != NW_AS_BEFORE) k->held.at[e].writer = f->writer;
  *came = e;
  return what;
}

// Requests a first line again, to correct the LRU order (see model_stacked.c). At this point, no line of the summary
// has been evicted.
INLINE void take_turn(nw_stack *k, bool rows, uint32_t e) {
  nw_held_refresh(&k->held, rows, nw_held_set(&k->held, k->held.at[e].line), e);
}

// Returns the place of a first line, or 0 if it was evicted.
INLINE uint32_t place_of(const nw_stack *k, bool rows, uint32_t set, int64_t line, uint32_t came) {
  return came && k->held.at[came].line == line ? came : nw_held_find(&k->held, rows, set, line);
}

// A summary may evict some of its own first lines. Makes these lines the least recent lines of their sets, so that they
// are evicted before all other lines.
INLINE void age_those_that_left(nw_stack *k, bool rows, const nw_stacked *s, const int64_t *origin) {
  for (int i = 0; i < s->nleft; i++) {
    const nw_stack_first *f = &s->first[s->left[i]];
    int64_t line = f->line + origin[f->region];
    uint32_t set = nw_held_set(&k->held, line), e = place_of(k, rows, set, line, k->came[s->left[i]]);
    if (e) nw_held_age(&k->held, rows, set, e);
  }
}

// Moves a last line to its position in the LRU order. A last line that is not a first line replaces an evicted line.
// Such an evicted line always exists, because each further line evicts a line when first lines have filled the set.
INLINE void apply_last(nw_stack *k, bool rows, const nw_stack_last *l, const int64_t *origin) {
  int64_t line = l->line + origin[l->region];
  uint32_t set = nw_held_set(&k->held, line), e = place_of(k, rows, set, line, l->first >= 0 ? k->came[l->first] : 0);
  if (e) {
    nw_held_refresh(&k->held, rows, set, e);
  } else {
    e = nw_held_enter(&k->held, rows, set, line, is_full(k, rows, set));
    come(k, &k->held.at[e], line, l->region, -1, false);
  }
  if (l->writer != NW_AS_BEFORE) k->held.at[e].writer = l->writer;
}

// Replaces all lines of a full set by the last lines of the summary. The set contains only evicted first lines. Returns
// false if the set is not full.
INLINE bool replace_whole(nw_stack *k, const nw_stack_last *l, const int64_t *origin) {
  nw_held *h = &k->held;
  uint32_t set = nw_held_set(h, l->line + origin[l->region]);
  if (!is_full(k, true, set)) return false;
  for (uint32_t place = 0; place < h->ways; place++, l++) {
    int64_t line = l->line + origin[l->region];
    nw_held_line *x = &h->at[nw_held_place(h, set, place)];
    come(k, x, line, l->region, -1, false);
    x->writer = l->writer;
    nw_held_put(h, set, place, line);
  }
  nw_held_reorder(h, set);
  return true;
}

INLINE void apply(nw_stack *k, bool rows, const nw_stacked *s, const int64_t *origin, int *what) {
  if (s->nfirst > k->came_cap) {
    k->came_cap = 2 * s->nfirst;
    k->came = nw_spare_more(k->held.spares, k->came, 0, (size_t)k->came_cap * sizeof *k->came);
  }
  const int *turn = s->turn;
  for (int i = 0; i < s->nfirst; i++) {
    int w = apply_first(k, rows, &s->first[i], origin, &k->came[i]);
    if (what) what[i] = w;
    for (uint32_t n = s->first[i].turns; n; n--) take_turn(k, rows, k->came[*turn++]);
  }
  age_those_that_left(k, rows, s, origin);
  for (int i = 0; i < s->nlate;) {
    const nw_stack_last *l = &s->last[s->late[i]];
    bool whole = rows && l->whole && replace_whole(k, l, origin);
    if (!whole) apply_last(k, rows, l, origin);
    i += whole ? (int)k->held.ways : 1;
  }
}

void nw_stack_apply(nw_stack *k, const nw_stacked *s, const int64_t *origin, int *what) {
  k->held.row ? apply(k, true, s, origin, what) : apply(k, false, s, origin, what);
}

static void end_set(const nw_stack *k, uint32_t set, const int64_t *origin, nw_stacked *out) {
  const nw_held *h = &k->held;
  uint32_t n = 0;
  int begin = out->nlast;
  bool stays = false;
  for (uint32_t e = 0; (e = nw_held_next(h, set, e, n)); n++) {
    const nw_held_line *x = &h->at[e];
    nw_stack_last l = {x->line - origin[x->region], x->writer, x->first, x->region, x->stayed, !n, false};
    out->last[out->nlast++] = l;
    if (x->stayed) out->first[x->first].writer = x->writer;
    stays = stays || x->stayed;
  }
  k->whole[set] = h->row && n == h->ways && !stays;
  if (n) out->last[begin].whole = k->whole[set];
}

void nw_stack_end(const nw_stack *k, const int64_t *origin, nw_stacked *out) {
  const nw_held *h = &k->held;
  *out = (nw_stacked){.nfirst = k->nfirst,
                      .first = nw_spare_get(h->spares, (size_t)k->nfirst * sizeof *out->first),
                      .last = nw_spare_get(h->spares, (size_t)h->live * sizeof *out->last)};
  for (int i = 0; i < k->nfirst; i++) {
    out->first[i] = k->first[i];
    out->first[i].line -= origin[k->first[i].region];
  }
  for (int i = 0; i < h->nused; i++) end_set(k, h->used[i], origin, out);
  bool *of_whole = nw_spare_get(h->spares, (size_t)k->nfirst + 1);
  for (int i = 0; i < k->nfirst; i++) of_whole[i] = k->whole[nw_held_set(h, k->first[i].line)];
  nw_stacked_order(h->spares, out, of_whole);
  nw_spare_give(h->spares, of_whole);
}

// In a summary, the last lines of a set are adjacent, from the least recent to the most recent.
bool nw_stack_moved(nw_stack *k, const nw_stacked *s, const int64_t *origin, const int64_t *by) {
  nw_held *h = &k->held;
  if (k->nfirst != s->nfirst || (int)h->live != s->nlast) return false;
  for (int i = 0; i < s->nfirst; i++)
    if (k->first[i].stay != s->first[i].stay) return false;
  uint32_t set = 0, e = 0, n = 0;
  for (int i = 0; i < s->nlast; i++) {
    const nw_stack_last *l = &s->last[i];
    int64_t line = l->line + origin[l->region] + by[l->region];
    uint32_t at = nw_held_set(h, line);
    if (!i || at != set) set = at, e = n = 0;
    if (n >= nw_held_in(h, h->row, set)) return false;
    e = nw_held_next(h, set, e, n++);
    const nw_held_line *x = &h->at[e];
    if (x->line != line || x->writer != l->writer || x->stayed != l->stayed) return false;
  }
  return true;
}

// ---- steps

bool nw_stack_full(const nw_stack *k) {
  return k->held.nused == k->held.sets && k->held.live == k->held.sets * k->held.ways;
}

void nw_stack_stamp(nw_stack *k, uint32_t now) { k->now = now; }

#define EACH_LINE(h, x)                                                                                                \
  for (int i_ = 0; i_ < (h)->nused; i_++)                                                                              \
    for (uint32_t n_ = 0, e_ = 0; (e_ = nw_held_next((h), (h)->used[i_], e_, n_)) && ((x) = &(h)->at[e_], true); n_++)

bool nw_stack_settled(const nw_stack *k, const int64_t *by) {
  const nw_held_line *x;
  EACH_LINE(&k->held, x)
  if (x->stayed && by[x->region]) return false;
  return true;
}

bool nw_stack_renewed(const nw_stack *k, const int64_t *by, uint32_t since) {
  const nw_held_line *x;
  EACH_LINE(&k->held, x)
  if (by[x->region] && x->born < since) return false;
  return true;
}

void nw_stack_dirty(const nw_stack *k, int64_t *lines) {
  const nw_held_line *x;
  EACH_LINE(&k->held, x)
  if (x->writer >= 0) lines[x->writer]++;
}
