// Simulates caches, as sim.h describes.
#include "cache/sim/sim.h"
#include "cache/sim/lru.h"
#include <stdlib.h>

typedef struct level {
  bool full; // fully associative
  nw_sets sets;
  nw_list list;
  bool shadowed;
  nw_list shadow; // a fully associative cache of the same size, to detect conflict misses
  uint64_t *seen; // one bit for each line that was requested from this level
  nw_sim_counts *count; // for each site
} level;

struct nw_sim {
  nw_sim_opts o;
  int nsites, shift;
  uint64_t from; // line of the first address
  uint32_t *writer; // for each line: the site that wrote it last
  level level[NW_MAX_LEVELS];
};

// ---- construction

static bool is_level(nw_ctx *c, const nw_sim_opts *o, int i) {
  const nw_sim_level *l = &o->level[i];
  int64_t lines = o->line > 0 ? l->bytes / o->line : 0;
  if (lines <= 0 || l->bytes % o->line)
    return nw_fail(c, NW_EINVAL, "Give a size in bytes that is a positive multiple of the line size.",
                   "level %d has %lld bytes, which is not a multiple of the line size, %d bytes", i + 1,
                   (long long)l->bytes, o->line);
  if (l->ways < 0 || (l->ways && lines % l->ways))
    return nw_fail(c, NW_EINVAL, "Give 0 ways for a fully associative level.",
                   "level %d has %lld lines, which is not a multiple of its %d ways", i + 1, (long long)lines, l->ways);
  if (lines >= UINT32_MAX / 2) return nw_fail(c, NW_ERANGE, NULL, "level %d is too large to be simulated", i + 1);
  return true;
}

bool nw_sim_allowed(nw_ctx *c, const nw_sim_opts *o) {
  if (o->line < 1 || (o->line & (o->line - 1)))
    return nw_fail(c, NW_EINVAL, NULL, "a line of %d bytes is not a power of two", o->line);
  if (o->nlevels < 1 || o->nlevels > NW_MAX_LEVELS)
    return nw_fail(c, NW_EINVAL, NULL, "a cache has 1 to %d levels, not %d", NW_MAX_LEVELS, o->nlevels);
  for (int i = 0; i < o->nlevels; i++)
    if (!is_level(c, o, i)) return false;
  return true;
}

static void level_init(nw_sim *k, int i, uint32_t lines) {
  const nw_sim_level *from = &k->o.level[i];
  level *l = &k->level[i];
  int64_t room = from->bytes / k->o.line, part = k->o.part ? room / k->o.part : room;
  l->full = from->ways == 0 || from->ways == room;
  if (l->full)
    nw_list_init(&l->list, part, lines);
  else
    nw_sets_init(&l->sets, room, from->ways, k->from - 1);
  l->shadowed = k->o.conflicts && !l->full;
  if (l->shadowed) nw_list_init(&l->shadow, part, lines);
  l->seen = nw_xask(lines / 64 + 2, sizeof *l->seen);
  l->count = nw_xask((size_t)k->nsites + 1, sizeof *l->count);
}

nw_sim *nw_sim_new(nw_ctx *c, const nw_sim_opts *o, uint64_t from, uint64_t to, int nsites) {
  if (!nw_sim_allowed(c, o)) return NULL;
  nw_sim *k = nw_xask(1, sizeof *k);
  k->o = *o;
  k->nsites = nsites;
  k->shift = __builtin_ctz((unsigned)o->line);
  k->from = from >> k->shift;
  uint64_t lines = (to >> k->shift) - k->from + 2;
  if (lines >= UINT32_MAX / 2) {
    nw_let_go(k);
    return nw_fail(c, NW_ERANGE, NULL, "the program touches too much memory to be simulated");
  }
  k->writer = nw_xask(lines + 1, sizeof *k->writer);
  for (int i = 0; i < o->nlevels; i++) level_init(k, i, (uint32_t)lines);
  return k;
}

void nw_sim_free(nw_sim *k) {
  for (int i = 0; k && i < k->o.nlevels; i++) {
    level *l = &k->level[i];
    if (l->full) nw_list_free(&l->list);
    if (!l->full) nw_sets_free(&l->sets);
    if (l->shadowed) nw_list_free(&l->shadow);
    nw_let_go(l->seen);
    nw_let_go(l->count);
  }
  if (k) nw_let_go(k->writer);
  nw_let_go(k);
}

// ---- requests

static bool first_time(level *l, uint32_t line) {
  uint64_t bit = UINT64_C(1) << (line & 63), *word = &l->seen[line >> 6];
  bool first = !(*word & bit);
  *word |= bit;
  return first;
}

static bool soil(level *l, uint32_t line) {
  return l->full ? nw_list_soil(&l->list, line) : nw_sets_soil(&l->sets, line);
}

// Writes back a dirty line that level i evicted. The line is written to its copy in an outer level, or to memory if
// there is no copy. The write-back is counted for the site that wrote the line last.
static void write_back(nw_sim *k, int i, uint32_t line) {
  k->level[i].count[k->writer[line]].written_back++;
  for (int next = i + 1; k->o.misses && next < k->o.nlevels; next++)
    if (soil(&k->level[next], line)) return;
}

static nw_outcome miss(level *l, uint32_t line, bool shadow_has_it, nw_sim_counts *n, bool write) {
  nw_outcome what = first_time(l, line) ? NW_COLD : shadow_has_it ? NW_CONFLICT : NW_CAPACITY;
  n->outcome[what]++;
  *(write ? &n->write_misses : &n->read_misses) += 1;
  return what;
}

static nw_outcome ask_level(nw_sim *k, int i, uint32_t line, uint32_t site, bool write) {
  level *l = &k->level[i];
  nw_sim_counts *n = &l->count[site];
  n->asked++;
  bool shadow = l->shadowed && nw_list_ask(&l->shadow, line, false).hit;
  nw_lru_answer a = l->full ? nw_list_ask(&l->list, line, write) : nw_sets_ask(&l->sets, line, write);
  if (a.hit) return NW_HIT;
  if (a.dirty) write_back(k, i, a.gone);
  return miss(l, line, shadow, n, write);
}

// Handles a request for a line that is the most recent in its set of the first level. Returns false if the line is not
// the most recent. This is a fast path, because most requests are for such lines.
static bool is_recent(nw_sim *k, uint32_t line, const nw_ref *r) {
  level *l = &k->level[0];
  if (l->full || !k->o.misses) return false;
  uint32_t *way = l->sets.way + (size_t)nw_sets_row(&l->sets, line) * (size_t)l->sets.ways;
  if (*way >> 1 != line) return false;
  *way |= r->write;
  l->count[r->site].asked++;
  if (l->shadowed && l->shadow.next[0] != line) nw_list_ask(&l->shadow, line, false);
  return true;
}

static void ask(nw_sim *k, uint32_t line, const nw_ref *r, uint8_t *out) {
  if (r->write) k->writer[line] = r->site;
  if (is_recent(k, line, r)) return;
  for (int i = 0; i < k->o.nlevels; i++) {
    nw_outcome what = ask_level(k, i, line, r->site, r->write);
    if (out && what > out[i]) out[i] = (uint8_t)what;
    if (k->o.misses && what == NW_HIT) return;
  }
}

void nw_sim_feed(nw_sim *k, const nw_ref *ref, int n, uint8_t *out) {
  if (out) memset(out, NW_HIT, (size_t)n * (size_t)k->o.nlevels);
  for (int i = 0; i < n; i++) {
    const nw_ref *r = &ref[i];
    uint32_t first = (uint32_t)((r->address >> k->shift) - k->from) + 1;
    uint32_t last = (uint32_t)(((r->address + r->bytes - 1) >> k->shift) - k->from) + 1;
    for (uint32_t line = first; line <= last; line++) ask(k, line, r, out);
    if (out) out += k->o.nlevels;
  }
}

// ---- sets

bool nw_sim_by_misses(const nw_sim *k) { return k->o.misses; }

uint32_t nw_sim_set(const nw_sim *k, int lv, uint64_t line) {
  const level *l = &k->level[lv];
  return l->full ? 0 : nw_sets_row(&l->sets, (uint32_t)(line - k->from) + 1);
}

int nw_sim_held(const nw_sim *k, int lv, uint32_t set) {
  const level *l = &k->level[lv];
  if (l->full) return (int)l->list.held;
  int n = 0;
  for (int way = 0; way < l->sets.ways; way++) n += l->sets.way[(size_t)set * (size_t)l->sets.ways + (size_t)way] != 0;
  return n;
}

// ---- counts

const nw_sim_counts *nw_sim_site(const nw_sim *k, int lv, int site) {
  nw_sim_counts *n = &k->level[lv].count[site];
  n->outcome[NW_HIT] = n->asked - n->outcome[NW_COLD] - n->outcome[NW_CAPACITY] - n->outcome[NW_CONFLICT];
  return n;
}

void nw_sim_counts_add(nw_sim_counts *sum, const nw_sim_counts *n) {
  sum->asked += n->asked;
  for (int i = 0; i < NW_OUTCOMES; i++) sum->outcome[i] += n->outcome[i];
  sum->read_misses += n->read_misses;
  sum->write_misses += n->write_misses;
  sum->written_back += n->written_back;
}

nw_sim_counts nw_sim_total(const nw_sim *k, int lv) {
  nw_sim_counts sum = {0};
  for (int s = 0; s < k->nsites; s++) nw_sim_counts_add(&sum, nw_sim_site(k, lv, s));
  return sum;
}
