// The state of a run of the model over a nest. A *round* is one iteration of a loop. Private to the model.
#pragma once
#include "cache/exact/model_run.h"

typedef struct nw_known { // a loop, or some of its iterations, that was folded
  uint64_t hash;
  int n;
  int64_t *key; // NULL: none
  nw_fold *fold; // NULL: seen but not folded
  bool borrowed; // the fold belongs to another entry
} nw_known;

typedef struct nw_record { // of a loop
  int64_t made, used; // numbers of folds made, and of reuses of folds
  int64_t no_room; // number of successive times that its lines did not fit in the sets
  int still; // whether its iterations may become stationary (model_still.c): 0: unknown, 1: no, 2: yes
} nw_record;

typedef struct nw_run nw_run;
struct nw_run {
  nw_fold_run *job;
  const nw_fold_kind *kind;
  int shift; // log2 of the bytes of a line
  int64_t val[64]; // values of the enclosing loops
  int64_t *origin, *by; // by region: its first line, and how far it moves
  int64_t *key;
  uint8_t *fact[2];
  nw_vec folders, folds; // unused, kept for reuse
  nw_known *memo;
  int nknown, memo_room;
  int accesses; // the cell that counts accesses, or -1
  bool inside, stop; // inside: in a parallel loop; stop: the run must end
  int64_t polled;
  double times; // estimated number of times that the current part still has to run
  nw_run *roomy; // a run that folds as if one set had the capacity of all sets; NULL: not needed, or this is that run
  int64_t room; // for the roomy run: it stops when it has this many lines
  uint32_t *held; // number of lines by set
  nw_record *record; // by loop
  int8_t *fitted; // by loop: 1: the lines of a step fit before; -n: they did not fit in n attempts
};

enum { NW_RUN_POLL = 1 << 16 }; // touches between checks for an interrupt

// ---- model_run.c

void nw_run_open(nw_run *e, nw_fold_run *r);
void nw_run_close(nw_run *e);
void nw_run_touch(nw_run *e, int64_t n);
void nw_run_check_room(nw_run *e, nw_folder *f);
nw_folder *nw_run_take(nw_run *e);
void nw_run_give(nw_run *e, nw_folder *f);
int64_t nw_run_address(const nw_run *e, int region, const nw_linear *f, int depth);
// Computes the lines of the regions of a loop in one iteration, into e->origin.
void nw_run_place(nw_run *e, const nw_shape *l, int64_t round);
// Builds a fold from f. The regions have their positions of iteration `round`.
nw_fold *nw_run_end(nw_run *e, nw_folder *f, const nw_shape *l, int64_t round);
nw_fold *nw_run_fold_nothing(nw_run *e, const nw_shape *l);
void nw_run_put_behind(nw_run *e, nw_folder *f, const nw_fold *x, const nw_shape *l, int64_t round);
void nw_run_drop(nw_run *e, nw_fold *x);

// ---- model_repeat.c

int64_t nw_run_sets(const nw_run *e); // the number of sets that are distinguished
int64_t nw_run_period(const nw_run *e, const nw_shape *l, int64_t sets);
// Computes how far the regions move in this many iterations, into e->by.
void nw_run_move(nw_run *e, const nw_shape *l, __int128 rounds);
// Repeats `once`, a fold of p iterations, `times` times, from iteration `from` on.
nw_fold *nw_run_repeat(nw_run *e, const nw_shape *l, nw_fold *once, int64_t times, int64_t from, int64_t p);

// model_nodes.c. `first` is the value of a loop in iteration 0. Iterations from..to exclude `to`.
void nw_run_node(nw_run *e, const nw_shape *s, nw_folder *f);
void nw_run_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
// For iterations that all run the same inner iterations.
void nw_run_each_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
nw_fold *nw_run_fold_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to);
nw_fold *nw_run_fold_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);
int64_t nw_run_end_of_class(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *same);
// Returns the end of the iterations from `from` on in which drifting regions are apart. If they are not apart at
// `from`, returns the end of the iterations that must be run one by one.
int64_t nw_run_end_apart(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *apart);
void nw_run_range(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
void nw_run_share(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f);

// ---- model_still.c

// Returns the number of equal iterations from `from` on.
int64_t nw_run_still(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to);
// Multiplies the counts since `before` by `times`.
void nw_run_times(nw_run *e, nw_folder *f, nw_tally *before, int64_t times);

// ---- model_pace.c

typedef struct nw_pace { // progress of a loop at the last check: the iterations and the touches so far
  int64_t rounds, touched;
} nw_pace;
// Sets e->times for the iterations from..to-1, of `all` iterations, as one part. Returns its old value.
double nw_run_set_times(nw_run *e, int64_t from, int64_t to, int64_t all);
// Gives up (stop, hopeless) if the remaining iterations would take too long.
void nw_run_look_ahead(nw_run *e, const nw_shape *l, nw_pace *p, int64_t rounds, int64_t all);

// ---- model_steps.c

// Runs iterations from..to-1, which all run the same inner iterations: one by one, or several at once.
void nw_run_same(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);

// ---- model_drift.c

enum { NW_DRIFT_STEPS = 16 }; // least number of steps, and limit of the periods of the sets
// NULL: the method does not apply to these iterations.
nw_fold *nw_run_fold_drift(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);

// ---- model_memo.c

void nw_run_rounds(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f); // all iterations
enum { NW_RUN_KEY = 4 }; // free elements of e->key after the key of a loop
int nw_run_key(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, int64_t *key);
// Finds the entry of a key; its fold may be NULL. Returns NULL if the key was never seen.
nw_known *nw_run_recall(const nw_run *e, const int64_t *key, int n);
// Keeps x under a key, which is copied. x == NULL: only marks the key as seen.
nw_fold *nw_run_keep(nw_run *e, const int64_t *key, int n, nw_fold *x);
nw_fold *nw_run_fold_in_sets(nw_run *e, const nw_shape *l, int64_t first, int64_t last);
bool nw_run_is_new_in_vain(nw_run *e, const nw_shape *l); // true if a new fold would hardly be reused
// Folds the loop. If its fold would hardly be reused, appends its iterations to f instead and returns NULL.
nw_fold *nw_run_fold_or_run(nw_run *e, const nw_shape *l, int64_t first, int64_t last, nw_folder *f);

// model_profile.c: checks, for a kept fold, whether a set would get more lines than it can hold. The positions of
// regions are in e->origin.
bool nw_run_has_profile(nw_run *e, const nw_fold *x, const nw_shape *l); // true if it is not larger than the fold
bool nw_run_fits_profile(nw_run *e, nw_fold *x, const nw_shape *l, int64_t ways);

// ---- model_room.c

void nw_run_join(nw_run *other, const nw_run *e, const nw_shape *l); // moves `other` to the same position in the nest
// True if no set gets more lines than it can hold: wherever the regions are, or where they are in iteration `round`.
bool nw_run_fits_anywhere(nw_run *e, nw_fold *x, const nw_shape *l);
bool nw_run_fits(nw_run *e, nw_fold *x, const nw_shape *l, int64_t round);
int64_t nw_run_peak(nw_run *e, const nw_stacked *s, const nw_shape *l);
nw_fold *nw_run_fold_loop(nw_run *e, const nw_shape *l); // NULL: no iterations
void nw_run_loop_once(nw_run *e, const nw_shape *l, nw_folder *f); // for a loop that will not be run again
nw_fold *nw_run_fold_with_room(nw_run *e, const nw_shape *l); // NULL: the lines of some set do not fit
