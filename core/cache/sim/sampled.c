// Simulates a sample of the sets.
#include "cache/sim/sampled.h"
#include <math.h>
#include <stdlib.h>

// The class of a line is its number modulo CLASSES. PICKED of the classes are simulated. The numbers of two picked
// classes never differ by a power of two, because the distances between rows of matrices are often powers of two.
enum { CLASSES = 64, PICKED = 8, PART = CLASSES / PICKED };

struct nw_sampled {
  nw_sim *sim;
  int shift, nlevels, nsites;
  int8_t pick[CLASSES]; // index among the picked classes, or -1
  int64_t *asked; // for each site: the number of requested lines, in all classes
  int64_t missed[NW_MAX_LEVELS][PICKED];
  nw_ref ref[2 * NW_BATCH]; // the parts of accesses that are in picked lines
  uint8_t out[2 * NW_BATCH * NW_MAX_LEVELS];
};

bool nw_sampled_can(const nw_sim_opts *o) {
  for (int i = 0; i < o->nlevels; i++) {
    const nw_sim_level *l = &o->level[i];
    int64_t lines = l->bytes / o->line, sets = l->ways ? lines / l->ways : 1;
    if (lines < CLASSES || (sets > 1 && sets % CLASSES)) return false;
  }
  return true;
}

// Returns the caches to simulate. A fully associative level gets only one of PART lines, so its size is divided by
// PART.
static nw_sim_opts part_of(const nw_sim_opts *o) {
  nw_sim_opts part = *o;
  part.part = PART;
  return part;
}

nw_sampled *nw_sampled_new(nw_ctx *c, const nw_sim_opts *o, uint64_t from, uint64_t to, int nsites) {
  nw_sim_opts part = part_of(o);
  nw_sim *sim = nw_sim_new(c, &part, from, to, nsites);
  if (!sim) return NULL;
  nw_sampled *k = nw_xask(1, sizeof *k);
  *k = (nw_sampled){.sim = sim, .shift = __builtin_ctz((unsigned)o->line), .nlevels = o->nlevels, .nsites = nsites};
  k->asked = nw_xask((size_t)nsites + 1, sizeof *k->asked);
  for (int i = 0; i < CLASSES; i++) k->pick[i] = -1;
  for (int i = 0; i < PICKED; i++) k->pick[PART * i + 3 * i % PART] = (int8_t)i;
  return k;
}

void nw_sampled_free(nw_sampled *k) {
  if (!k) return;
  nw_sim_free(k->sim);
  nw_let_go(k->asked);
  nw_let_go(k);
}

static int pick_of(const nw_sampled *k, uint64_t address) { return k->pick[(address >> k->shift) % CLASSES]; }

// Returns the part of an access that is in one line.
static nw_ref within(const nw_ref *r, uint64_t line, int shift) {
  uint64_t from = line << shift, to = (line + 1) << shift, end = r->address + r->bytes;
  nw_ref part = *r;
  if (from > r->address) part.address = from;
  part.bytes = (uint16_t)((end < to ? end : to) - part.address);
  return part;
}

static void simulate(nw_sampled *k, int n) {
  nw_sim_feed(k->sim, k->ref, n, k->out);
  for (int i = 0; i < n; i++)
    for (int level = 0; level < k->nlevels; level++)
      k->missed[level][pick_of(k, k->ref[i].address)] += k->out[i * k->nlevels + level] != NW_HIT;
}

void nw_sampled_feed(nw_sampled *k, const nw_ref *ref, int n) {
  int picked = 0;
  for (int i = 0; i < n; i++) {
    const nw_ref *r = &ref[i];
    uint64_t last = (r->address + r->bytes - 1) >> k->shift;
    for (uint64_t line = r->address >> k->shift; line <= last; line++) {
      k->asked[r->site]++;
      if (k->pick[line % CLASSES] < 0) continue;
      k->ref[picked++] = within(r, line, k->shift);
      if (picked == 2 * NW_BATCH) simulate(k, picked), picked = 0;
    }
  }
  simulate(k, picked);
}

// ---- the counts

static int64_t scaled(int64_t n, double by) { return llround((double)n * by); }

nw_sim_counts nw_sampled_site(const nw_sampled *k, int level, int site) {
  int64_t asked = nw_sim_site(k->sim, 0, site)->asked;
  double by = asked ? (double)k->asked[site] / (double)asked : 0;
  nw_sim_counts n = *nw_sim_site(k->sim, level, site);
  n.asked = asked ? scaled(n.asked, by) : k->asked[site];
  n.read_misses = scaled(n.read_misses, by);
  n.write_misses = scaled(n.write_misses, by);
  n.written_back = scaled(n.written_back, by);
  n.outcome[NW_COLD] = scaled(n.outcome[NW_COLD], by);
  n.outcome[NW_CONFLICT] = scaled(n.outcome[NW_CONFLICT], by);
  n.outcome[NW_CAPACITY] = n.read_misses + n.write_misses - n.outcome[NW_COLD] - n.outcome[NW_CONFLICT];
  n.outcome[NW_HIT] = n.asked - n.read_misses - n.write_misses;
  return n;
}

int64_t nw_sampled_looked(const nw_sampled *k, int site) { return nw_sim_site(k->sim, 0, site)->asked; }

double nw_sampled_error(const nw_sampled *k, int level) {
  double sum = 0, squares = 0;
  for (int i = 0; i < PICKED; i++) sum += (double)k->missed[level][i];
  double mean = sum / PICKED;
  if (!(mean > 0)) return 0;
  for (int i = 0; i < PICKED; i++) {
    double apart = (double)k->missed[level][i] - mean;
    squares += apart * apart;
  }
  double rest = 1 - 1.0 / PART; // the simulated part of the counts has no error
  return 2 * sqrt(squares / (PICKED - 1) / PICKED * rest) / mean;
}
