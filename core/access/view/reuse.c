// Counts the reuse distances (recency.h) of a program's accesses, for each tensor.
#include "access/view/recency.h"
#include "access/walker.h"
#include <stdlib.h>

enum { SUB = 6, EXACT = 1 << SUB, OCTAVES = 32, BINS = EXACT * OCTAVES };

typedef struct tensor {
  const char *name;
  uint64_t address;
  int64_t first; // number of first accesses to a line
  int64_t *count; // number of accesses in each bin of reuse distances
} tensor;

struct nw_reuse {
  nw_arena *arena;
  int n;
  tensor **at;
};

typedef struct measuring {
  nw_recency recency;
  int shift;
  uint64_t before; // address of line 0 divided by the line size
  tensor **of; // the tensor of each site
} measuring;

// ---- bins

static int bin_of(int64_t distance) {
  if (distance < EXACT) return (int)distance;
  int octave = 63 - __builtin_clzll((uint64_t)distance) - SUB;
  return EXACT * octave + (int)(distance >> octave);
}

int nw_reuse_bins(const nw_reuse *r) { return (void)r, BINS; }

int64_t nw_reuse_from(const nw_reuse *r, int bin) {
  (void)r;
  if (bin < 2 * EXACT) return bin;
  int octave = bin / EXACT - 1;
  return (int64_t)(bin - EXACT * octave) << octave;
}

// ---- measuring

static bool measure(void *env, const nw_ref *ref, int n) {
  measuring *x = env;
  for (int i = 0; i < n; i++) {
    tensor *t = x->of[ref[i].site];
    uint64_t last = (ref[i].address + ref[i].bytes - 1) >> x->shift;
    for (uint64_t line = ref[i].address >> x->shift; line <= last; line++) {
      int64_t distance = nw_recency_ask(&x->recency, (uint32_t)(line - x->before));
      *(distance < 0 ? &t->first : &t->count[bin_of(distance)]) += 1;
    }
  }
  return true;
}

static tensor *tensor_of(nw_reuse *r, const nw_placed *p) {
  for (int i = 0; i < r->n; i++)
    if (r->at[i]->address == p->address) return r->at[i];
  tensor *t = r->at[r->n++] = NW_NEW(r->arena, tensor);
  *t = (tensor){.name = nw_arena_strdup(r->arena, p->buffer->name), .address = p->address};
  t->count = NW_NEW_N(r->arena, int64_t, BINS);
  return t;
}

static int by_address(const void *a, const void *b) {
  const tensor *x = *(tensor *const *)a, *y = *(tensor *const *)b;
  return (x->address > y->address) - (x->address < y->address);
}

static bool measure_all(nw_ctx *c, nw_reuse *r, nw_walker *w, int line) {
  const nw_places *places = nw_walker_places(w);
  int n = nw_walker_sites(w), shift = __builtin_ctz((unsigned)line);
  measuring x = {.shift = shift, .before = (places->from >> shift) - 1, .of = NW_NEW_N(r->arena, tensor *, n + 1)};
  uint64_t lines = (places->to >> shift) - x.before + 1;
  if (lines >= UINT32_MAX / 2) return nw_fail(c, NW_ERANGE, NULL, "the program touches too much memory");
  r->at = NW_NEW_N(r->arena, tensor *, n + 1);
  for (int i = 0; i < n; i++) x.of[i] = tensor_of(r, nw_walker_site(w, i)->place);
  qsort(r->at, (size_t)r->n, sizeof *r->at, by_address);
  nw_recency_init(&x.recency, (uint32_t)lines);
  bool ok = nw_walk_refs(w, measure, NULL, &x);
  nw_recency_free(&x.recency);
  return ok;
}

nw_reuse *nw_reuse_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int line) {
  if (line < 1 || (line & (line - 1)))
    return nw_fail(c, NW_EINVAL, NULL, "a line of %d bytes is not a power of two", line);
  nw_walker *w = nw_walker_for(c, p, walk);
  if (!w) return NULL;
  nw_reuse *r = nw_xcalloc(1, sizeof *r);
  r->arena = nw_arena_scratch();
  bool ok = measure_all(c, r, w, line);
  nw_walker_free(w);
  if (ok) return r;
  nw_reuse_free(r);
  return NULL;
}

void nw_reuse_free(nw_reuse *r) {
  if (r) nw_arena_free(r->arena);
  free(r);
}

int nw_reuse_tensors(const nw_reuse *r) { return r->n; }
const char *nw_reuse_tensor(const nw_reuse *r, int i) { return r->at[i]->name; }
int64_t nw_reuse_first(const nw_reuse *r, int i) { return r->at[i]->first; }
int64_t nw_reuse_count(const nw_reuse *r, int i, int bin) { return r->at[i]->count[bin]; }
