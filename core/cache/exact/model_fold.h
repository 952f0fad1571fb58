// A *fold* is the summary of the accesses of a part of a nest. Folds can be concatenated and repeated. A fold can also
// be moved, so that it summarizes the same accesses at other addresses. The addresses of a fold are relative to its
// *regions*, which are sets of references that move together (model_shape.h). A *folder* builds a fold. There are two
// kinds of folders. The first kind keeps the lines in a cache level (model_level.c), and the second kind keeps all
// accessed lines (model_lines.c). Private to the model.
#pragma once
#include "cache/exact/model_pattern.h"
#include "cache/exact/model_stack.h"

typedef struct nw_profile nw_profile; // see model_profile.c
typedef struct nw_fold {
  nw_tally *tally; // the counts of the fold
  int64_t weight; // the cost of appending the fold to another fold
  int64_t lines; // number of accessed lines, in a fold of kind nw_lines_kind
  // The next three fields are for a fold that was made by the run with one set (nw_run_open_roomy).
  int64_t peak; // upper bound of the lines in a set of the level, for any positions of the regions
  int64_t peak_sets; // number of sets of that level
  nw_profile *profile; // NULL until it is built
  bool kept; // true if a memo (model_rounds.h) contains it
} nw_fold;

typedef struct nw_folder {
  nw_counting count;
} nw_folder;

typedef struct nw_fold_kind {
  nw_folder *(*open)(const void *of);
  void (*free)(nw_folder *f);
  void (*clear)(nw_folder *f);
  void (*ask)(nw_folder *f, int64_t line, int region, int site, bool write);
  void (*apply)(nw_folder *f, const nw_fold *x, const int64_t *origin); // `origin`: the first line of each region
  // Builds the fold of all accesses in the folder, with lines relative to the origins. The caller sets the tally of the
  // fold. The folder does not change.
  nw_fold *(*end)(nw_folder *f, const int64_t *origin);
  // The first fold that was applied to f must be x, at `origin`. Returns true if f now has the state that it had after
  // this fold, moved by `by`.
  bool (*moved)(nw_folder *f, const nw_fold *x, const int64_t *origin, const int64_t *by);
  nw_fold *(*moved_on)(const void *of, const nw_fold *x, const int64_t *by); // returns x with its final state moved
  void (*drop)(const void *of, nw_fold *x);
  int64_t (*size)(nw_folder *f); // the weight of the fold that `end` makes from f
  int64_t (*most)(const nw_folder *f); // maximum weight of a fold
  int64_t (*overhead)(const nw_folder *f); // cost of apply, in addition to the weight of the applied fold
} nw_fold_kind;

typedef struct nw_level_of { // a level of a cache
  int64_t sets, ways;
  int64_t shadow; // lines of a fully associative cache of the same size, to detect conflicts; 0 if not needed
  int nsites;
  nw_spares *spares;
} nw_level_of;
// The cells of each site in a tally.
enum { NW_CELL_READ, NW_CELL_WRITE, NW_CELL_BACK, NW_CELL_CONFLICT, NW_LEVEL_CELLS };
extern const nw_fold_kind nw_level_kind; // its parameter `of` is an nw_level_of
const nw_stacked *nw_fold_stacked(const nw_fold *x);
nw_stack *nw_level_stack(const nw_folder *f);
// Adds `times` misses for each first line (model_stack.h) with index `from` or higher.
void nw_level_miss_first(nw_folder *f, int64_t from, int64_t times);
int64_t nw_level_lines(const nw_folder *f); // number of different lines, at most the number that the level can hold

typedef struct nw_lines_of { // the parameter of a folder that keeps all accessed lines
  int nsites; // for each site, a cell counts the requested lines; the last cell counts accesses
  int nregions, ngrounds;
  const int *ground; // the ground of each region (model_shape.h); grounds are ordered by number
  const int64_t *from, *to; // for each region: the range of lines that it may access
  bool *astray; // set if a region accessed a line outside its range
  nw_patterns *patterns;
} nw_lines_of;
typedef struct nw_run_of_lines { // adjacent lines
  int64_t from, to;
  const nw_pattern *pattern; // the sites of the first accesses to the lines
  int phase; // position of line `from` in the pattern
  uint16_t region;
} nw_run_of_lines;
extern const nw_fold_kind nw_lines_kind; // its parameter `of` is an nw_lines_of
const nw_run_of_lines *nw_fold_lines(const nw_fold *x, int *n);
