// LRU stacks that begin with nothing known, and the summaries they make.
#include "cost/model_stack.h"
#include <stdlib.h>

typedef struct entry { // a line that is there; number 0 is none
  int64_t line;
  uint32_t prev, next; // in its set: more, and less recent
  int writer;
  uint32_t born; // the stamp when it came
  int first; // its number among the first lines, or -1: came later, or again
  uint16_t region;
  bool stayed; // since then
} entry;

typedef struct row {
  uint32_t head, tail, held, era;
  uint32_t at; // of a comparison
} row;

enum { NEAR_BITS = 2, NEAR = 4 }; // lines side by side have one place

typedef struct place { // of the hash table
  int64_t block; // of lines
  uint32_t era;
  uint32_t entry[NEAR];
} place;

struct nw_stack {
  nw_spares *spares;
  int64_t sets, mask; // mask: sets - 1 where that is a power of two, else 0
  uint32_t ways;
  uint32_t now; // stamp
  uint32_t era; // rows and places of another are empty
  row *row;
  uint32_t *used, *wide; // rows; those with too many lines for now
  int nused, nwide;
  entry *entry;
  uint32_t n, cap, spare, live; // spare: entries free again, linked by next
  place *place;
  uint32_t places, taken; // mask; of this era
  int shift;
  uint32_t *came; // by first line of the summary that is applied: its entry
  int came_cap;
  nw_stack_first *first;
  int nfirst, first_cap;
  nw_stack_counts counts;
};

void nw_stacked_free(nw_spares *spares, nw_stacked *s) {
  nw_spare_give(spares, s->first);
  nw_spare_give(spares, s->last);
}

static void new_table(nw_stack *k, int bits) {
  size_t bytes = sizeof *k->place << bits;
  k->place = memset(nw_spare_get(k->spares, bytes), 0, bytes);
  k->places = (uint32_t)((UINT64_C(1) << bits) - 1);
  k->shift = 64 - bits;
}

nw_stack *nw_stack_new(nw_spares *spares, int64_t sets, int64_t ways, nw_stack_counts counts) {
  nw_stack *k = nw_xcalloc(1, sizeof *k);
  *k = (nw_stack){
      .spares = spares, .sets = sets, .ways = (uint32_t)ways, .era = 1, .n = 1, .cap = 256, .counts = counts};
  if (!(sets & (sets - 1))) k->mask = sets - 1;
  k->row = nw_xcalloc((size_t)sets, sizeof *k->row);
  k->used = nw_xcalloc((size_t)sets, sizeof *k->used);
  k->wide = nw_xcalloc((size_t)sets, sizeof *k->wide);
  k->entry = nw_spare_get(spares, k->cap * sizeof *k->entry);
  new_table(k, 9);
  return k;
}

void nw_stack_free(nw_stack *k) {
  if (!k) return;
  free(k->row);
  free(k->used);
  free(k->wide);
  nw_spare_give(k->spares, k->entry);
  nw_spare_give(k->spares, k->place);
  nw_spare_give(k->spares, k->came);
  nw_spare_give(k->spares, k->first);
  free(k);
}

void nw_stack_clear(nw_stack *k) {
  k->era++;
  k->nused = k->nwide = k->nfirst = 0;
  k->now = 0;
  k->n = 1;
  k->spare = k->live = k->taken = 0;
}

int nw_stack_nfirst(const nw_stack *k) { return k->nfirst; }
int64_t nw_stack_size(const nw_stack *k) { return k->nfirst + (int64_t)k->live; }

// ---- lines by number

static place *place_of(const nw_stack *k, int64_t line) {
  int64_t block = line >> NEAR_BITS;
  uint32_t i = (uint32_t)((uint64_t)block * UINT64_C(0x9e3779b97f4a7c15) >> k->shift);
  while (k->place[i].era == k->era && k->place[i].block != block) i = (i + 1) & k->places;
  return &k->place[i];
}

static uint32_t find(const nw_stack *k, int64_t line) {
  const place *p = place_of(k, line);
  return p->era == k->era ? p->entry[line & (NEAR - 1)] : 0;
}

// Places of lines that are gone stay until there are too many; then those in use move to a new table.
static void renew_table(nw_stack *k) {
  place *old = k->place;
  uint32_t n = k->places + 1, used = 0;
  for (uint32_t i = 0; i < n; i++)
    used += old[i].era == k->era && (old[i].entry[0] | old[i].entry[1] | old[i].entry[2] | old[i].entry[3]);
  new_table(k, 64 - k->shift + (4 * used > n));
  k->taken = used;
  for (uint32_t i = 0; i < n; i++)
    if (old[i].era == k->era && (old[i].entry[0] | old[i].entry[1] | old[i].entry[2] | old[i].entry[3]))
      *place_of(k, old[i].block * NEAR) = old[i];
  nw_spare_give(k->spares, old);
}

static void put(nw_stack *k, int64_t line, uint32_t e) {
  place *p = place_of(k, line);
  if (p->era != k->era) {
    if (2 * ++k->taken > k->places) {
      k->taken--;
      renew_table(k);
      k->taken++;
      p = place_of(k, line);
    }
    *p = (place){.block = line >> NEAR_BITS, .era = k->era};
  }
  p->entry[line & (NEAR - 1)] = e;
}

static void take_out(nw_stack *k, int64_t line) { place_of(k, line)->entry[line & (NEAR - 1)] = 0; }

// ---- recency

static row *row_of(nw_stack *k, int64_t line) {
  int64_t set = k->mask || k->sets == 1 ? line & k->mask : line % k->sets;
  row *r = &k->row[set];
  if (r->era == k->era) return r;
  *r = (row){.era = k->era};
  k->used[k->nused++] = (uint32_t)set;
  return r;
}

static void unlink_entry(nw_stack *k, row *r, uint32_t e) {
  entry *x = &k->entry[e];
  *(x->prev ? &k->entry[x->prev].next : &r->head) = x->next;
  *(x->next ? &k->entry[x->next].prev : &r->tail) = x->prev;
}

static void link_first(nw_stack *k, row *r, uint32_t e) {
  k->entry[e].prev = 0;
  k->entry[e].next = r->head;
  *(r->head ? &k->entry[r->head].prev : &r->tail) = e;
  r->head = e;
}

static void refresh(nw_stack *k, row *r, uint32_t e) {
  if (r->head == e) return;
  unlink_entry(k, r, e);
  link_first(k, r, e);
}

static uint32_t new_entry(nw_stack *k) {
  uint32_t e = k->spare;
  if (e) return k->spare = k->entry[e].next, e;
  if (k->n == k->cap) {
    k->cap *= 2;
    k->entry = nw_spare_more(k->spares, k->entry, k->n * sizeof *k->entry, k->cap * sizeof *k->entry);
  }
  return k->n++;
}

static entry *enter(nw_stack *k, row *r, int64_t line, int region) {
  k->live++;
  uint32_t e = new_entry(k);
  k->entry[e] = (entry){.line = line, .region = (uint16_t)region, .writer = NW_CLEAN, .first = -1, .born = k->now};
  link_first(k, r, e);
  put(k, line, e);
  r->held++;
  return &k->entry[e];
}

static void drop_last(nw_stack *k, row *r) {
  uint32_t e = r->tail;
  unlink_entry(k, r, e);
  take_out(k, k->entry[e].line);
  k->entry[e].line = -1;
  k->entry[e].next = k->spare;
  k->spare = e;
  k->live--;
  r->held--;
}

// ---- what is counted

static void count(const nw_stack *k, int site, int cell) {
  if (k->counts.to) nw_counting_add(k->counts.to, site * k->counts.cells + cell, 1);
}

static void missed(const nw_stack *k, int site, bool write) {
  count(k, site, write ? k->counts.write : k->counts.read);
}

// The line goes, now or before it is asked for again. It is written back for the site that wrote it last; where that may have
// been before all this, whoever comes to know of it will count it.
static void leave(nw_stack *k, entry *x) {
  if (x->writer >= 0) count(k, x->writer, k->counts.back);
  if (x->stayed) k->first[x->first].stay = x->writer >= 0 ? NW_LEFT_DIRTY : NW_LEFT;
  x->stayed = false;
  x->writer = NW_CLEAN;
}

static int add_first(nw_stack *k, nw_stack_first f) {
  if (k->nfirst == k->first_cap) {
    k->first_cap = k->first_cap ? 2 * k->first_cap : 64;
    k->first = nw_spare_more(k->spares, k->first, (size_t)k->nfirst * sizeof *k->first,
                             (size_t)k->first_cap * sizeof *k->first);
  }
  k->first[k->nfirst] = f;
  return k->nfirst++;
}

// A line that is not there: in a set that has seen fewer lines than it holds nobody knows whether it was there before; in a
// full one, it was not.
static int bring(nw_stack *k, row *r, nw_stack_first f, entry **out) {
  int what = NW_STACK_MISS;
  if (r->held < k->ways) {
    what = add_first(k, f);
  } else {
    missed(k, f.site, f.write);
    leave(k, &k->entry[r->tail]);
    drop_last(k, r);
  }
  *out = enter(k, r, f.line, f.region);
  if (what >= 0) (*out)->first = what;
  if (what >= 0 && f.stay == NW_STAYS) (*out)->stayed = true, (*out)->writer = NW_AS_BEFORE;
  return what;
}

int nw_stack_ask(nw_stack *k, int64_t line, int region, int site, bool write) {
  uint32_t e = find(k, line);
  row *r = row_of(k, line);
  entry *x = &k->entry[e];
  int what = NW_STACK_HIT;
  if (e)
    refresh(k, r, e);
  else
    what = bring(k, r, (nw_stack_first){line, site, (uint16_t)region, write, NW_STAYS}, &x);
  if (write) x->writer = site;
  return what;
}

// ---- one summary after another

// Its first lines are asked for: no other line of it that is not there yet can be a hit. Where a line stays to its end, what it
// says of it at the end goes for the whole stay, which began here or before; where it left, that stay is over.
static int apply_first(nw_stack *k, const nw_stack_first *from, const int64_t *origin, uint32_t *came) {
  nw_stack_first f = *from;
  f.line += origin[f.region];
  uint32_t e = find(k, f.line);
  row *r = row_of(k, f.line);
  entry *x = &k->entry[e];
  if (!e) {
    int what = bring(k, r, f, &x);
    *came = r->head;
    return what;
  }
  *came = e;
  refresh(k, r, e);
  if (f.stay == NW_LEFT) leave(k, x);
  if (f.stay == NW_LEFT_DIRTY) x->writer = NW_CLEAN;
  if (f.stay == NW_LEFT_DIRTY && x->stayed) k->first[x->first].stay = NW_LEFT_DIRTY, x->stayed = false;
  return NW_STACK_HIT;
}

// The lines that stay are put into their order. Those that were not among the first come in for ones that left.
static void apply_last(nw_stack *k, const nw_stack_last *l, const int64_t *origin) {
  int64_t line = l->line + origin[l->region];
  uint32_t e = l->first >= 0 ? k->came[l->first] : 0;
  if (!e || k->entry[e].line != line) e = find(k, line);
  row *r = row_of(k, line);
  if (e)
    refresh(k, r, e);
  else
    enter(k, r, line, l->region);
  if (!e && r->held == k->ways + 1) k->wide[k->nwide++] = (uint32_t)(r - k->row);
  entry *x = &k->entry[r->head];
  if (l->writer != NW_AS_BEFORE) x->writer = l->writer;
}

static void trim(nw_stack *k) {
  for (int i = 0; i < k->nwide; i++) {
    row *r = &k->row[k->wide[i]];
    while (r->held > k->ways) drop_last(k, r);
  }
  k->nwide = 0;
}

void nw_stack_apply(nw_stack *k, const nw_stacked *s, const int64_t *origin, int *what) {
  if (s->nfirst > k->came_cap) {
    k->came_cap = 2 * s->nfirst;
    k->came = nw_spare_more(k->spares, k->came, 0, (size_t)k->came_cap * sizeof *k->came);
  }
  for (int i = 0; i < s->nfirst; i++) {
    int w = apply_first(k, &s->first[i], origin, &k->came[i]);
    if (what) what[i] = w;
  }
  for (int i = 0; i < s->nlast; i++) apply_last(k, &s->last[i], origin);
  trim(k);
}

void nw_stack_end(const nw_stack *k, const int64_t *origin, nw_stacked *out) {
  *out = (nw_stacked){.nfirst = k->nfirst,
                      .first = nw_spare_get(k->spares, (size_t)k->nfirst * sizeof *out->first),
                      .last = nw_spare_get(k->spares, (size_t)k->live * sizeof *out->last)};
  for (int i = 0; i < k->nfirst; i++) {
    out->first[i] = k->first[i];
    out->first[i].line -= origin[k->first[i].region];
  }
  for (int i = 0; i < k->nused; i++)
    for (uint32_t e = k->row[k->used[i]].tail; e; e = k->entry[e].prev) {
      const entry *x = &k->entry[e];
      out->last[out->nlast++] = (nw_stack_last){x->line - origin[x->region], x->writer, x->first, x->region, x->stayed};
    }
}

bool nw_stack_moved(nw_stack *k, const nw_stacked *s, const int64_t *origin, const int64_t *by) {
  if (k->nfirst != s->nfirst || (int)k->live != s->nlast) return false;
  for (int i = 0; i < s->nfirst; i++)
    if (k->first[i].stay != s->first[i].stay) return false;
  for (int i = 0; i < k->nused; i++) k->row[k->used[i]].at = k->row[k->used[i]].tail;
  for (int i = 0; i < s->nlast; i++) {
    const nw_stack_last *l = &s->last[i];
    int64_t line = l->line + origin[l->region] + by[l->region];
    row *r = row_of(k, line);
    const entry *x = &k->entry[r->at];
    if (!r->at || x->line != line || x->writer != l->writer || x->stayed != l->stayed) return false;
    r->at = x->prev;
  }
  return true;
}

nw_stacked nw_stacked_moved(nw_spares *spares, const nw_stacked *s, const int64_t *by) {
  nw_stacked out = *s;
  out.first = nw_spare_get(spares, (size_t)s->nfirst * sizeof *s->first);
  out.last = nw_spare_get(spares, (size_t)s->nlast * sizeof *s->last);
  memcpy(out.first, s->first, (size_t)s->nfirst * sizeof *s->first);
  for (int i = 0; i < s->nlast; i++) {
    out.last[i] = s->last[i];
    out.last[i].line += by[s->last[i].region];
    if (by[s->last[i].region]) out.last[i].first = -1;
  }
  return out;
}

// ---- steps

bool nw_stack_full(const nw_stack *k) { return k->nused == k->sets && k->live == k->sets * k->ways; }
void nw_stack_stamp(nw_stack *k, uint32_t now) { k->now = now; }

bool nw_stack_settled(const nw_stack *k, const int64_t *by) {
  for (int i = 0; i < k->nused; i++)
    for (uint32_t e = k->row[k->used[i]].head; e; e = k->entry[e].next)
      if (k->entry[e].stayed && by[k->entry[e].region]) return false;
  return true;
}

bool nw_stack_renewed(const nw_stack *k, const int64_t *by, uint32_t since) {
  for (int i = 0; i < k->nused; i++)
    for (uint32_t e = k->row[k->used[i]].head; e; e = k->entry[e].next)
      if (by[k->entry[e].region] && k->entry[e].born < since) return false;
  return true;
}

void nw_stack_dirty(const nw_stack *k, int64_t *lines) {
  for (int i = 0; i < k->nused; i++)
    for (uint32_t e = k->row[k->used[i]].head; e; e = k->entry[e].next)
      if (k->entry[e].writer >= 0) lines[k->entry[e].writer]++;
}
