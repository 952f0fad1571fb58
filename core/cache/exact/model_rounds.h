// Holds the state of one run of the model over a nest, for one cache level or for all accessed lines. Private to the
// model. Terms:
//
//   fold    the summary of the accesses of a part of the nest (model_fold.h); to fold a part is to build its fold
//   memo    the folds that were built so far; each has a key, which has the numbers that determine its accesses
//   region  a set of references; each iteration moves all of them by the same number of bytes (model_shape.h)
//   touch   a line request that the model makes
//   round   one iteration of a loop
#pragma once
#include "cache/exact/model_run.h"

typedef struct nw_known { // an entry of the memo, for a loop or for some of its iterations
  uint64_t hash;
  int n;
  int64_t *key; // NULL in a free entry
  nw_fold *fold; // NULL if the key was seen, but no fold was made
  bool borrowed; // true if the fold belongs to another entry
} nw_known;

typedef struct nw_record { // what is known about the folds of one loop
  int64_t made, used; // `made`: number of folds that were built; `used`: number of times that a fold was reused
  int64_t no_room; // number of consecutive attempts in which the lines of the loop did not fit in the sets
  // 2 if some consecutive iterations may request the same lines (model_still.c); 1 if there are no such iterations; 0
  // if this is unknown
  int still;
} nw_record;

typedef struct nw_run nw_run;
struct nw_run {
  nw_fold_run *job;
  const nw_fold_kind *kind;
  int shift; // log2 of the bytes of a line
  int64_t val[64]; // values of the enclosing loops
  int64_t *origin; // for each region: the line at which it begins
  int64_t *by; // for each region: the number of lines by which it moves
  int64_t *key;
  uint8_t *fact[2];
  nw_vec folders, folds; // folders and folds that are not in use, and can be reused
  nw_known *memo;
  int nknown, memo_room;
  int accesses; // index of the cell that counts accesses (nw_lines_of); -1 in the run for a level
  bool inside, stop; // `inside`: true in a parallel loop; `stop`: true if the run must end
  int64_t polled;
  double times; // estimated number of times that the current part of the nest will still run
  // A second run, which makes folds for a single set with the capacity of all sets (nw_run_open_roomy); it may be NULL.
  nw_run *roomy;
  int64_t room; // in a second run: the number of lines at which it stops; 0 in other runs
  uint32_t *held; // number of lines in each set
  nw_record *record; // one for each loop
  // For each loop: 1 if the lines of a step (model_steps.c) fit in the sets; -n if they did not fit in n attempts.
  int8_t *fitted;
};

enum { NW_RUN_POLL = 1 << 16 }; // number of touches between checks for an interrupt

// ---- model_run.c

void nw_run_open(nw_run *e, nw_fold_run *r);
void nw_run_close(nw_run *e);
void nw_run_touch(nw_run *e, int64_t n);
void nw_run_check_room(nw_run *e, nw_folder *f);
nw_folder *nw_run_take(nw_run *e);
void nw_run_give(nw_run *e, nw_folder *f);
int64_t nw_run_address(const nw_run *e, int region, const nw_linear *f, int depth);
// Sets e->origin to the lines at which the regions of a loop begin in iteration `round`.
void nw_run_place(nw_run *e, const nw_shape *l, int64_t round);
// Returns the fold of all accesses in f. Its lines are relative to the positions of the regions in iteration `round`.
nw_fold *nw_run_end(nw_run *e, nw_folder *f, const nw_shape *l, int64_t round);
nw_fold *nw_run_fold_nothing(nw_run *e, const nw_shape *l);
void nw_run_put_behind(nw_run *e, nw_folder *f, const nw_fold *x, const nw_shape *l, int64_t round);
void nw_run_drop(nw_run *e, nw_fold *x);

// ---- model_repeat.c

int64_t nw_run_sets(const nw_run *e); // the number of sets of the level; 1 in an estimate, which ignores sets
int64_t nw_run_period(const nw_run *e, const nw_shape *l, int64_t sets);
// Sets e->by to the number of lines by which each region moves in `rounds` iterations.
void nw_run_move(nw_run *e, const nw_shape *l, __int128 rounds);
// Returns the fold of times * p iterations, beginning with `from`. `once` is the fold of the first p iterations.
nw_fold *nw_run_repeat(nw_run *e, const nw_shape *l, nw_fold *once, int64_t times, int64_t from, int64_t p);

// ---- model_nodes.c

// In these functions, `first` is the value of the loop in iteration 0. The iterations are `from` to `to` - 1.
void nw_run_node(nw_run *e, const nw_shape *s, nw_folder *f);
void nw_run_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
// Does the same as nw_run_each, for iterations that all run the same inner iterations.
void nw_run_each_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
nw_fold *nw_run_fold_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to);
nw_fold *nw_run_fold_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);
int64_t nw_run_end_of_class(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *same);
// Two regions *drift* if an iteration moves them by different numbers of bytes. They are *apart* if they do not share a
// line. If all drifting regions are apart in iteration `from`, sets *apart and returns the end of the iterations in
// which they stay apart. Otherwise clears *apart and returns the end of the iterations that must be run one by one.
int64_t nw_run_end_apart(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *apart);
void nw_run_range(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
void nw_run_share(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f);

// ---- model_still.c

// Returns the number of consecutive iterations, beginning with `from`, that request the same lines.
int64_t nw_run_still(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to);
// Multiplies by `times` the counts that were added to f since it had the counts `before`.
void nw_run_times(nw_run *e, nw_folder *f, nw_tally *before, int64_t times);

// ---- model_pace.c

typedef struct nw_pace { // the progress of a loop at the last check
  int64_t rounds; // number of iterations of the loop that had run
  int64_t touched; // number of touches of the run
} nw_pace;
// Sets e->times before the iterations `from` to `to` - 1 are run, in a loop with `all` iterations. Returns the old
// value.
double nw_run_set_times(nw_run *e, int64_t from, int64_t to, int64_t all);
// Stops the run, with e->job->hopeless set, if the remaining iterations are expected to take too long.
void nw_run_look_ahead(nw_run *e, const nw_shape *l, nw_pace *p, int64_t rounds, int64_t all);

// ---- model_steps.c

// Runs the iterations `from` to `to` - 1, one by one or several at once. All of these iterations must run the same
// inner iterations.
void nw_run_same(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);

// ---- model_drift.c

// The method of model_drift.c is tried only if the iterations consist of at least this number of steps, as defined
// there, but of fewer than this number of periods (nw_run_period).
enum { NW_DRIFT_STEPS = 16 };
// Makes the fold of whole steps, beginning with iteration `from`, and sets *until to their end. Returns NULL if the
// method does not apply to these iterations.
nw_fold *nw_run_fold_drift(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);

// ---- model_memo.c

void nw_run_rounds(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f); // runs all iterations
enum { NW_RUN_KEY = 4 }; // number of elements that e->key has in addition to the longest key of a loop
int nw_run_key(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, int64_t *key);
// Returns the entry of a key. The fold of the entry may be NULL. Returns NULL if the key was never seen.
nw_known *nw_run_recall(const nw_run *e, const int64_t *key, int n);
// Stores x in the memo under a copy of the key. If x is NULL, only marks the key as seen.
nw_fold *nw_run_keep(nw_run *e, const int64_t *key, int n, nw_fold *x);
nw_fold *nw_run_fold_in_sets(nw_run *e, const nw_shape *l, int64_t first, int64_t last);
bool nw_run_is_new_in_vain(nw_run *e, const nw_shape *l); // true if a new fold is unlikely to be reused
// Returns the fold of the loop. If this fold is unlikely to be reused, appends the iterations to f instead, and returns
// NULL.
nw_fold *nw_run_fold_or_run(nw_run *e, const nw_shape *l, int64_t first, int64_t last, nw_folder *f);

// ---- model_profile.c

// True if x is in the memo, and a profile of x (model_profile.c) is at most as large as x.
bool nw_run_has_profile(nw_run *e, const nw_fold *x, const nw_shape *l);
// True if no set gets more than `ways` lines of x when the regions are at e->origin. Makes the profile if necessary.
bool nw_run_fits_profile(nw_run *e, nw_fold *x, const nw_shape *l, int64_t ways);

// ---- model_room.c

void nw_run_join(nw_run *other, const nw_run *e, const nw_shape *l); // moves `other` to the position of e in the nest
// True if no set gets more lines than it can hold, for any positions of the regions.
bool nw_run_fits_anywhere(nw_run *e, nw_fold *x, const nw_shape *l);
// True if no set gets more lines than it can hold, for the positions of the regions in iteration `round`.
bool nw_run_fits(nw_run *e, nw_fold *x, const nw_shape *l, int64_t round);
int64_t nw_run_peak(nw_run *e, const nw_stacked *s, const nw_shape *l);
nw_fold *nw_run_fold_loop(nw_run *e, const nw_shape *l); // returns NULL if the loop has no iterations
void nw_run_loop_once(nw_run *e, const nw_shape *l, nw_folder *f); // runs a loop that will not be run again
// Makes the fold of a loop in the run with one set. Returns NULL if some set gets more lines than it can hold.
nw_fold *nw_run_fold_with_room(nw_run *e, const nw_shape *l);
