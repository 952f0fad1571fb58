// Draws trees for the rows of rewrites.def. Some rows are applied by the constructors in ir, and the others by a pass.
#pragma once
#include "ir/expr/rewrites.h"
#include "trees.h"

typedef struct drawn_row {
  const char *name;
  nw_rewrite_id id;
  const profile *check;
} drawn_row;

typedef struct drawing {
  const drawn_row *row;
  int number; // the number of the row
  nw_dtype t;
  const char *what; // the row and the dtype, in words
} drawing;

// Calls draw(w, env) `trees` times, and returns the sum of the results. Makes new pools after every `a_pool` trees.
static inline long draw_trees(workshop *w, long trees, long a_pool, long (*draw)(workshop *w, void *env), void *env) {
  long done = 0;
  for (long n = 0; n < trees; n++) {
    if (n % a_pool == 0) open_pools(w);
    done += draw(w, env);
    if (n % a_pool == a_pool - 1 || n == trees - 1) close_pools(w);
  }
  return done;
}

// Draws trees for one row and dtype. The row counts as unchecked if too few values were compared. It also counts as
// unchecked if `applies` is true, but the row was seldom applied.
static inline void draw_row(drawing *d, uint64_t seed, long trees, long a_pool, bool applies,
                            long (*draw)(workshop *w, void *drawing)) {
  workshop w = {.seed = seed};
  char what[64];
  snprintf(what, sizeof what, "%s of %s", d->row->name, nw_dtype_name(d->t));
  d->what = what;
  uint64_t before = nw_rewrite_uses(d->row->id);
  long done = draw_trees(&w, trees, a_pool, draw, d);
  uint64_t uses = nw_rewrite_uses(d->row->id) - before;
  found.rules++;
  found.draws += done;
  if (done >= trees && (!applies || !NW_REWRITES_COUNTED || uses >= (uint64_t)trees / 50)) return;
  fprintf(stderr, "%s: applied %llu times in %ld trees, %ld values compared\n", what, (unsigned long long)uses, trees,
          done);
  found.unchecked++;
}

// Calls draw_row for n rows, and for every dtype of each row. If the function `applies` is NULL, every row applies.
static inline void every_row_holds(int n, const drawn_row *rows, uint64_t seed, long trees, long a_pool,
                                   bool (*applies)(const drawn_row *row, nw_dtype t),
                                   long (*draw)(workshop *w, void *drawing)) {
  for (int row = 0; row < n; row++)
    for (int t = 0; t < NW_DTYPE_COUNT; t++) {
      drawing d = {.row = &rows[row], .number = row, .t = (nw_dtype)t};
      if (!profile_has(d.row->check, d.t)) continue;
      draw_row(&d, seed + (uint64_t)row * 64 + (uint64_t)t, trees, a_pool, !applies || applies(d.row, d.t), draw);
    }
  write_figures();
  assert_int_equal(found.wrong, 0);
  assert_int_equal(found.unchecked, 0);
}
