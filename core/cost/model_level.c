// Folds of a level: its stack, and where conflicts are told, that of a fully associative level beside it.
#include "cost/model_fold.h"
#include <stdlib.h>

typedef struct level_fold {
  nw_fold base;
  nw_stacked main;
} level_fold;

typedef struct level_folder {
  nw_folder base;
  nw_stack *main;
  int64_t most;
} level_folder;

const nw_stacked *nw_fold_stacked(const nw_fold *x) { return &((const level_fold *)x)->main; }

int64_t nw_level_lines(const nw_folder *f) { return nw_stack_nfirst(((const level_folder *)f)->main); }

static nw_folder *level_open(const void *of) {
  const nw_level_of *l = of;
  level_folder *f = nw_xcalloc(1, sizeof *f);
  nw_counting_open(&f->base.count, l->nsites * NW_LEVEL_CELLS);
  f->most = 2 * l->sets * l->ways;
  f->main = nw_stack_new(l->spares, l->sets, l->ways,
                         (nw_stack_counts){&f->base.count, NW_LEVEL_CELLS, NW_CELL_READ, NW_CELL_WRITE, NW_CELL_BACK});
  return &f->base;
}

static void level_free(nw_folder *base) {
  level_folder *f = (level_folder *)base;
  nw_stack_free(f->main);
  nw_counting_close(&f->base.count);
  free(f);
}

static void level_clear(nw_folder *base) {
  nw_counting_clear(&base->count);
  nw_stack_clear(((level_folder *)base)->main);
}

static void level_ask(nw_folder *base, int64_t line, int region, int site, bool write) {
  nw_stack_ask(((level_folder *)base)->main, line, region, site, write);
}

static void level_apply(nw_folder *base, const nw_fold *x, const int64_t *origin) {
  nw_stack_apply(((level_folder *)base)->main, &((const level_fold *)x)->main, origin, NULL);
}

static nw_fold *level_end(nw_folder *base, const int64_t *origin) {
  level_fold *x = nw_xcalloc(1, sizeof *x);
  nw_stack_end(((level_folder *)base)->main, origin, &x->main);
  x->base.weight = x->main.nfirst + x->main.nlast;
  return &x->base;
}

static bool level_moved(nw_folder *base, const nw_fold *x, const int64_t *origin, const int64_t *by) {
  return nw_stack_moved(((level_folder *)base)->main, &((const level_fold *)x)->main, origin, by);
}

static nw_fold *level_moved_on(const void *of, const nw_fold *from, const int64_t *by) {
  const level_fold *f = (const level_fold *)from;
  level_fold *x = nw_xcalloc(1, sizeof *x);
  *x = *f;
  x->base.kept = false;
  x->main = nw_stacked_moved(((const nw_level_of *)of)->spares, &f->main, by);
  return &x->base;
}

static void level_drop(const void *of, nw_fold *x) {
  nw_stacked_free(((const nw_level_of *)of)->spares, &((level_fold *)x)->main);
  free(x);
}

static int64_t level_size(nw_folder *base) { return nw_stack_size(((level_folder *)base)->main); }
static int64_t level_most(const nw_folder *base) { return ((const level_folder *)base)->most; }

static int64_t level_overhead(const nw_folder *base) {
  (void)base;
  return 0;
}

const nw_fold_kind nw_level_kind = {level_open,  level_free,     level_clear, level_ask,  level_apply, level_end,
                                    level_moved, level_moved_on, level_drop,  level_size, level_most,  level_overhead};
