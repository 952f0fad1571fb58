// What the model keeps of a part of a run: a fold. Folds follow one another, move with their regions, and repeat; a folder puts
// one together. There are two kinds: of the lines a level keeps (model_level.c), and of all lines ever touched (model_lines.c).
// Private to the model.
#pragma once
#include "cache/exact/model_pattern.h"
#include "cache/exact/model_stack.h"

typedef struct nw_profile nw_profile; // see model_profile.c
typedef struct nw_fold {
  nw_tally *tally; // what was counted in it
  int64_t weight; // what it costs to put it behind others
  int64_t lines; // of everything touched: how many
  int64_t peak,
      peak_sets; // of a level with one set: the most lines any of so many sets could get, wherever regions lie
  nw_profile *profile; // of such a level; NULL: not made
  bool kept; // by a memo
} nw_fold;

typedef struct nw_folder {
  nw_counting count;
} nw_folder;

typedef struct nw_fold_kind {
  nw_folder *(*open)(const void *of);
  void (*free)(nw_folder *f);
  void (*clear)(nw_folder *f);
  void (*ask)(nw_folder *f, int64_t line, int region, int site, bool write);
  void (*apply)(nw_folder *f, const nw_fold *x, const int64_t *origin); // origin: by region, in lines
  // The fold of all that came, relative to origins; its tally is the caller's to set. The folder is left as it is.
  nw_fold *(*end)(nw_folder *f, const int64_t *origin);
  // f began with x at `origin`, then more came. Did the latter only move what x leaves behind by `by`?
  bool (*moved)(nw_folder *f, const nw_fold *x, const int64_t *origin, const int64_t *by);
  nw_fold *(*moved_on)(const void *of, const nw_fold *x, const int64_t *by); // x, with what it leaves behind moved
  void (*drop)(const void *of, nw_fold *x);
  int64_t (*size)(nw_folder *f); // the weight of what it would end in
  int64_t (*most)(const nw_folder *f); // of any
  int64_t (*overhead)(const nw_folder *f); // of apply, besides the weight of what is applied
} nw_fold_kind;

typedef struct nw_level_of { // a level of a cache
  int64_t sets, ways;
  int64_t shadow; // lines of a fully associative one as large, that tells conflicts; 0: none
  int nsites;
  nw_spares *spares;
} nw_level_of;
// Cells of a tally, by site.
enum { NW_CELL_READ, NW_CELL_WRITE, NW_CELL_BACK, NW_CELL_CONFLICT, NW_LEVEL_CELLS };
extern const nw_fold_kind nw_level_kind; // of an nw_level_of
const nw_stacked *nw_fold_stacked(const nw_fold *x);
nw_stack *nw_level_stack(const nw_folder *f);
void nw_level_miss_first(nw_folder *f, int64_t from, int64_t times); // counts first lines from that number on as misses
int64_t nw_level_lines(const nw_folder *f); // different ones, up to as many as the level holds

typedef struct nw_lines_of { // everything touched
  int nsites; // a cell each: lines it asked for; one more: accesses
  int nregions, ngrounds;
  const int *ground; // by region; grounds lie in the order of their numbers
  const int64_t *from, *to; // by region: the lines it may touch
  bool *astray; // is set where something else was touched
  nw_patterns *patterns;
} nw_lines_of;
typedef struct nw_run_of_lines { // side by side
  int64_t from, to;
  const nw_pattern *pattern; // of those who touched them first
  int phase; // of line `from` in it
  uint16_t region;
} nw_run_of_lines;
extern const nw_fold_kind nw_lines_kind; // of an nw_lines_of
const nw_run_of_lines *nw_fold_lines(const nw_fold *x, int *n);
