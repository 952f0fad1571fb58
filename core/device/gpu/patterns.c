// Counts the sectors and the bank conflicts of requests. Most requests of a load or a store have addresses that differ
// from those of an earlier request by a constant. Then the number of conflicts is the same, and the number of sectors
// depends only on the position of the first element in its sector. So the numbers are computed once for each pattern.
#include "device/gpu/gpu.h"
#include <stdlib.h>

static void find_range(nwg_pattern *p) {
  p->lo = p->hi = p->lanes = 0;
  for (uint32_t m = p->mask; m; m &= m - 1) {
    int64_t at = p->off[__builtin_ctz(m)];
    if (at < p->lo) p->lo = at;
    if (at > p->hi) p->hi = at;
    p->lanes++;
  }
}

static void find_parts(nwg_pattern *p) {
  nwg_part now = {0};
  p->nparts = 0;
  for (int l = 0; l <= NWG_LANES; l++) {
    bool live = l < NWG_LANES && p->live[l];
    int64_t step = live && now.n ? p->off[l] - p->off[l - 1] : 0;
    if (live && now.n && (now.n == 1 ? step == 0 || step == 1 : step == now.step)) {
      now.step = (int8_t)step;
      now.n++;
      continue;
    }
    if (now.n && p->nparts < NWG_PARTS) p->part[p->nparts] = now;
    p->nparts += now.n > 0;
    now = live ? (nwg_part){(int8_t)l, 1, 1, p->off[l]} : (nwg_part){0};
  }
}

static void set_pattern(nwg_pattern *p, const int64_t *index, uint32_t mask) {
  int64_t first = index[__builtin_ctz(mask)];
  p->mask = mask;
  for (int l = 0; l < NWG_LANES; l++) {
    p->live[l] = mask >> l & 1 ? -1 : 0;
    p->off[l] = (index[l] - first) & p->live[l];
  }
  find_range(p);
  find_parts(p);
  p->each = 0;
}

nwg_pattern *nwg_pattern_of(nwg_worker *w, int site, const int64_t *index, uint32_t mask) {
  nwg_pattern *p = &w->pattern[site * NWG_PATTERNS];
  int64_t first = index[__builtin_ctz(mask)];
  for (int i = 0; i < NWG_PATTERNS; i++) {
    int at = (w->last[site] + i) % NWG_PATTERNS;
    if (p[at].mask != mask || !w->f.matches(&p[at], index, first)) continue;
    w->last[site] = (uint8_t)at;
    return &p[at];
  }
  w->last[site] = (uint8_t)((w->last[site] + NWG_PATTERNS - 1) % NWG_PATTERNS);
  set_pattern(&p[w->last[site]], index, mask);
  return &p[w->last[site]];
}

// ---- distinct numbers

static int by_number(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int distinct(int64_t *v, int n) {
  bool sorted = true;
  int different = 0;
  for (int i = 1; i < n && sorted; i++) sorted = v[i] >= v[i - 1];
  if (!sorted) qsort(v, (size_t)n, sizeof *v, by_number);
  for (int i = 0; i < n; i++) different += !i || v[i] != v[i - 1];
  return different;
}

// Returns the number of units of `unit` bytes that the request touches. `each` is the number of bytes of a lane.
static int units(const nwg_pattern *p, int64_t first, int bytes, int each, int64_t unit) {
  int64_t v[NWG_LANES * 18];
  int n = 0;
  for (uint32_t m = p->mask; m; m &= m - 1) {
    int64_t at = (first + p->off[__builtin_ctz(m)]) * bytes;
    for (int64_t u = at / unit; u <= (at + each - 1) / unit; u++) v[n++] = u;
  }
  return distinct(v, n);
}

// Returns the largest number of different words in one bank, of the words of the lanes in `mask`.
static int bank_waves(int banks, const nwg_pattern *p, int64_t first, int bytes, int each, uint32_t mask) {
  int64_t v[NWG_LANES * 4];
  int n = 0, most = 0, count[NWG_MOST_BANKS] = {0};
  for (uint32_t m = mask & p->mask; m; m &= m - 1) {
    int64_t at = (first + p->off[__builtin_ctz(m)]) * bytes;
    for (int64_t u = at / 4; u <= (at + each - 1) / 4; u++) v[n++] = u;
  }
  distinct(v, n);
  for (int i = 0; i < n; i++) {
    if (i && v[i] == v[i - 1]) continue;
    int words = ++count[v[i] % banks];
    if (words > most) most = words;
  }
  return most;
}

int nwg_waves(int64_t banks, const nwg_pattern *p, int64_t first, int bytes, int each) {
  int parts = each >= 16 ? 4 : each >= 8 ? 2 : 1, lanes = NWG_LANES / parts, all = 0;
  uint32_t mask = parts == 1 ? UINT32_MAX : (1u << lanes) - 1;
  for (int i = 0; i < parts; i++) all += bank_waves((int)banks, p, first, bytes, each, mask << (i * lanes % NWG_LANES));
  return all;
}

// ---- wavefronts
//
// In each part of a request, the words of a bank are transferred one after another, in ascending order.

// Returns the number of different words in the bank of `word` that are less than it, of the words of the lanes in `mask`.
static int before_in_bank(const nwg_worker *w, const nwg_pattern *p, int64_t first, int bytes, int each, uint32_t mask,
                          int64_t word) {
  int64_t v[NWG_LANES * NW_GPU_WORDS], banks = w->k->banks;
  int n = 0;
  for (uint32_t m = mask & p->mask; m; m &= m - 1) {
    int64_t at = (first + p->off[__builtin_ctz(m)]) * bytes;
    for (int64_t u = at / 4; u <= (at + each - 1) / 4; u++)
      if (u < word && u % banks == word % banks) v[n++] = u;
  }
  return distinct(v, n);
}

int nwg_wavefronts(const nwg_worker *w, const nwg_pattern *p, int64_t first, int bytes, int each,
                   int8_t wave[NWG_LANES][NW_GPU_WORDS]) {
  int parts = each >= 16 ? 4 : each >= 8 ? 2 : 1, lanes = NWG_LANES / parts, all = 0;
  for (int i = 0; i < parts; i++) {
    uint32_t mask = parts == 1 ? UINT32_MAX : ((1u << lanes) - 1) << i * lanes;
    int most = 0;
    for (uint32_t m = mask & p->mask; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      int64_t at = (first + p->off[l]) * bytes;
      for (int64_t u = at / 4; u <= (at + each - 1) / 4; u++) {
        int n = before_in_bank(w, p, first, bytes, each, mask, u);
        wave[l][u - at / 4] = (int8_t)(all + n);
        if (n >= most) most = n + 1;
      }
    }
    all += most;
  }
  return all;
}

// ---- counting

static void forget(nwg_pattern *p, int each) {
  for (int i = 0; i < NWG_PLACES; i++) p->sectors[i] = p->lines[i] = -1;
  for (int i = 0; i < NW_COUNT(p->waves); i++) p->waves[i] = -1;
  p->each = each;
}

static int known_units(nwg_pattern *p, int16_t *known, int64_t first, int bytes, int each, int64_t unit) {
  int64_t place = (first * bytes & (unit - 1)) >> __builtin_ctz((unsigned)bytes); // all three are powers of two
  if (place >= NWG_PLACES) return units(p, first, bytes, each, unit);
  if (known[place] < 0) known[place] = (int16_t)units(p, first, bytes, each, unit);
  return known[place];
}

void nwg_count(nwg_worker *w, int site, const nwg_buffer *b, nwg_pattern *p, const int64_t *index, int elements) {
  nwg_counts *c = &w->count[site];
  int64_t first = index[__builtin_ctz(p->mask)];
  int each = b->bytes * elements;
  if (!w->counting) return;
  if (p->each != each) forget(p, each);
  int sectors = 0;
  c->requests++;
  c->lanes += p->lanes;
  if (b->space == NWG_GLOBAL || b->device) {
    c->sectors += sectors = known_units(p, p->sectors, first, b->bytes, each, w->k->sector);
    c->lines += known_units(p, p->lines, first, b->bytes, each, w->k->line);
    if (w->caches) nwg_note_request(w, site, p, index, each);
  } else if (b->space == NWG_SHARED) {
    int64_t place = (first * b->bytes & 3) >> __builtin_ctz((unsigned)b->bytes);
    if (p->waves[place] < 0) p->waves[place] = (int16_t)nwg_waves(w->k->banks, p, first, b->bytes, each);
    c->wavefronts += p->waves[place];
    c->degree[p->waves[place] < NW_GPU_DEGREES ? p->waves[place] : NW_GPU_DEGREES - 1]++;
  }
  if (w->record) nwg_record_request(w, site, p, index, each, sectors);
}
