// Builds folds (model_fold.h) for a cache level. Such a fold contains a summary of the effect on the level
// (model_stack.h). If conflict misses are counted, it also contains a summary for the *shadow*, which is a fully
// associative cache of the same size.
#include "cache/exact/model_fold.h"
#include <stdlib.h>

// A request that may be a conflict miss, that is, a miss in the level and a hit in the shadow. `main` is its outcome in
// the level, and `shadow` is its outcome in the shadow. An outcome that is not known yet is represented by the index of
// a first line (model_stack.h).
typedef struct doubt {
  int site, main, shadow;
} doubt;

typedef struct level_fold {
  nw_fold base;
  nw_stacked main, shadow;
  doubt *doubt;
  int ndoubts;
} level_fold;

typedef struct level_folder {
  nw_folder base;
  const nw_level_of *of;
  nw_stack *main, *shadow; // `shadow` is NULL if conflicts are not counted
  doubt *doubt;
  int ndoubts, doubt_cap;
  int *came[2], came_cap; // came: outcomes of the first lines of an applied fold, in the level and in the shadow
  int64_t most;
} level_folder;

const nw_stacked *nw_fold_stacked(const nw_fold *x) { return &((const level_fold *)x)->main; }
nw_stack *nw_level_stack(const nw_folder *f) { return ((const level_folder *)f)->main; }
int64_t nw_level_lines(const nw_folder *f) { return nw_stack_nfirst(((const level_folder *)f)->main); }

void nw_level_miss_first(nw_folder *base, int64_t from, int64_t times) {
  level_folder *f = (level_folder *)base;
  for (int64_t i = from; i < nw_stack_nfirst(f->main); i++) {
    const nw_stack_first *x = nw_stack_first_at(f->main, (int)i);
    nw_counting_add(&base->count, x->site * NW_LEVEL_CELLS + (x->write ? NW_CELL_WRITE : NW_CELL_READ), times);
  }
}

static nw_folder *level_open(const void *of) {
  const nw_level_of *l = of;
  level_folder *f = nw_xcalloc(1, sizeof *f);
  f->of = l;
  f->most = 2 * (l->sets * l->ways + l->shadow);
  nw_counting_open(&f->base.count, l->nsites * NW_LEVEL_CELLS);
  nw_stack_counts counts = {&f->base.count, NW_LEVEL_CELLS, NW_CELL_READ, NW_CELL_WRITE, NW_CELL_BACK};
  f->main = nw_stack_new(l->spares, l->sets, l->ways, counts);
  if (l->shadow) f->shadow = nw_stack_new(l->spares, 1, l->shadow, (nw_stack_counts){0});
  return &f->base;
}

static void level_free(nw_folder *base) {
  level_folder *f = (level_folder *)base;
  nw_stack_free(f->main);
  nw_stack_free(f->shadow);
  nw_counting_close(&f->base.count);
  for (int i = 0; i < 2; i++) nw_spare_give(f->of->spares, f->came[i]);
  nw_spare_give(f->of->spares, f->doubt);
  free(f);
}

static void level_clear(nw_folder *base) {
  level_folder *f = (level_folder *)base;
  nw_counting_clear(&base->count);
  nw_stack_clear(f->main);
  if (f->shadow) nw_stack_clear(f->shadow);
  f->ndoubts = 0;
}

// Counts a request if it is a conflict miss. Adds it to the list of doubts if its outcomes are not known yet.
static void doubt_it(level_folder *f, doubt d) {
  if (d.main == NW_STACK_HIT || d.shadow == NW_STACK_MISS) return;
  if (d.main == NW_STACK_MISS && d.shadow == NW_STACK_HIT) {
    nw_counting_add(&f->base.count, d.site * NW_LEVEL_CELLS + NW_CELL_CONFLICT, 1);
    return;
  }
  if (f->ndoubts == f->doubt_cap) {
    f->doubt_cap = f->doubt_cap ? 2 * f->doubt_cap : 64;
    f->doubt = nw_spare_more(f->of->spares, f->doubt, (size_t)f->ndoubts * sizeof d, (size_t)f->doubt_cap * sizeof d);
  }
  f->doubt[f->ndoubts++] = d;
}

static void level_ask(nw_folder *base, int64_t line, int region, int site, bool write) {
  level_folder *f = (level_folder *)base;
  int main = nw_stack_ask(f->main, line, region, site, write);
  if (f->shadow) doubt_it(f, (doubt){site, main, nw_stack_ask(f->shadow, line, region, site, write)});
}

static void apply_both(level_folder *f, const level_fold *x, const int64_t *origin) {
  int n = x->main.nfirst > x->shadow.nfirst ? x->main.nfirst : x->shadow.nfirst;
  if (n > f->came_cap) {
    f->came_cap = 2 * n;
    for (int i = 0; i < 2; i++)
      f->came[i] = nw_spare_more(f->of->spares, f->came[i], 0, (size_t)f->came_cap * sizeof **f->came);
  }
  nw_stack_apply(f->main, &x->main, origin, f->came[0]);
  nw_stack_apply(f->shadow, &x->shadow, origin, f->came[1]);
  for (int i = 0; i < x->ndoubts; i++) {
    doubt d = x->doubt[i];
    if (d.main >= 0) d.main = f->came[0][d.main];
    if (d.shadow >= 0) d.shadow = f->came[1][d.shadow];
    doubt_it(f, d);
  }
}

static void level_apply(nw_folder *base, const nw_fold *from, const int64_t *origin) {
  level_folder *f = (level_folder *)base;
  const level_fold *x = (const level_fold *)from;
  if (f->shadow)
    apply_both(f, x, origin);
  else
    nw_stack_apply(f->main, &x->main, origin, NULL);
}

static doubt *copy_doubts(nw_spares *spares, const doubt *d, int n) {
  return memcpy(nw_spare_get(spares, (size_t)n * sizeof *d + 1), d ? d : (const doubt[1]){{0, 0, 0}},
                (size_t)n * sizeof *d);
}

static nw_fold *level_end(nw_folder *base, const int64_t *origin) {
  level_folder *f = (level_folder *)base;
  level_fold *x = nw_xcalloc(1, sizeof *x);
  nw_stack_end(f->main, origin, &x->main);
  if (f->shadow) {
    nw_stack_end(f->shadow, origin, &x->shadow);
    x->ndoubts = f->ndoubts;
    x->doubt = copy_doubts(f->of->spares, f->doubt, f->ndoubts);
  }
  x->base.weight = nw_stacked_weight(&x->main) + nw_stacked_weight(&x->shadow);
  return &x->base;
}

static bool level_moved(nw_folder *base, const nw_fold *from, const int64_t *origin, const int64_t *by) {
  level_folder *f = (level_folder *)base;
  const level_fold *x = (const level_fold *)from;
  return f->ndoubts == x->ndoubts && nw_stack_moved(f->main, &x->main, origin, by) &&
         (!f->shadow || nw_stack_moved(f->shadow, &x->shadow, origin, by));
}

static nw_fold *level_moved_on(const void *of, const nw_fold *from, const int64_t *by) {
  const nw_level_of *l = of;
  const level_fold *f = (const level_fold *)from;
  level_fold *x = nw_xcalloc(1, sizeof *x);
  *x = *f;
  x->base.kept = false;
  x->base.profile = NULL;
  x->main = nw_stacked_moved(l->spares, &f->main, by);
  if (!l->shadow) return &x->base;
  x->shadow = nw_stacked_moved(l->spares, &f->shadow, by);
  x->doubt = copy_doubts(l->spares, f->doubt, f->ndoubts);
  return &x->base;
}

static void level_drop(const void *of, nw_fold *from) {
  level_fold *x = (level_fold *)from;
  nw_spares *spares = ((const nw_level_of *)of)->spares;
  nw_stacked_free(spares, &x->main);
  nw_stacked_free(spares, &x->shadow);
  nw_spare_give(spares, x->doubt);
  free(x);
}

static int64_t level_size(nw_folder *base) {
  const level_folder *f = (const level_folder *)base;
  return nw_stack_size(f->main) + (f->shadow ? nw_stack_size(f->shadow) : 0);
}

static int64_t level_most(const nw_folder *base) { return ((const level_folder *)base)->most; }

static int64_t level_overhead(const nw_folder *base) {
  (void)base;
  return 0;
}

const nw_fold_kind nw_level_kind = {level_open,  level_free,     level_clear, level_ask,  level_apply, level_end,
                                    level_moved, level_moved_on, level_drop,  level_size, level_most,  level_overhead};
