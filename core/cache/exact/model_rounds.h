// A run of the model over a nest, while it is going on. Private to the model.
#pragma once
#include "cache/exact/model_run.h"

typedef struct nw_known { // a loop that was folded, or some rounds of it
  uint64_t hash;
  int n;
  int64_t *key; // NULL: none
  nw_fold *fold; // NULL: it was seen, and not folded
  bool borrowed; // the fold belongs to another
} nw_known;

typedef struct nw_record { // of a loop
  int64_t made, used; // folds, and how often they were used again
  int64_t no_room; // how often, one after the other, sets had no room for it
  int still; // may rounds stand still (model_still.c)? 0: not known, 1: no, 2: yes
} nw_record;

typedef struct nw_run nw_run;
struct nw_run {
  nw_fold_run *job;
  const nw_fold_kind *kind;
  int shift; // of a line
  int64_t val[64]; // of loops around
  int64_t *origin, *by; // by region
  int64_t *key;
  uint8_t *fact[2];
  nw_vec folders, folds; // not in use; kept
  nw_known *memo;
  int nknown, memo_room;
  int accesses; // the cell that counts them, or -1
  bool inside, stop; // of a parallel loop
  int64_t polled;
  double times; // that what is run now is still to be run, as far as is known
  nw_run *roomy; // folds as if there were one set with the room of all; NULL: there is, or it is that one
  int64_t room; // of such a run: it gives up (stop) where it gets so many lines
  uint32_t *held; // lines by set
  nw_record *record; // by loop
  int8_t *fitted; // by loop: has a step of it fitted before? Less than 0: how often it has not
};

enum { NW_RUN_POLL = 1 << 16 }; // touches between two looks at whether it is to stop

// model_run.c
void nw_run_open(nw_run *e, nw_fold_run *r);
void nw_run_close(nw_run *e);
void nw_run_touch(nw_run *e, int64_t n);
void nw_run_check_room(nw_run *e, nw_folder *f);
nw_folder *nw_run_take(nw_run *e);
void nw_run_give(nw_run *e, nw_folder *f);
int64_t nw_run_address(const nw_run *e, int region, const nw_linear *f, int depth);
// The lines in which the regions of a loop are in one of its rounds, into e->origin.
void nw_run_place(nw_run *e, const nw_shape *l, int64_t round);
nw_fold *nw_run_end(nw_run *e, nw_folder *f, const nw_shape *l,
                    int64_t round); // f as a fold; round: where its regions begin
nw_fold *nw_run_fold_nothing(nw_run *e, const nw_shape *l);
void nw_run_put_behind(nw_run *e, nw_folder *f, const nw_fold *x, const nw_shape *l, int64_t round);
void nw_run_drop(nw_run *e, nw_fold *x);

// model_repeat.c
int64_t nw_run_sets(const nw_run *e); // as many as are told apart
int64_t nw_run_period(const nw_run *e, const nw_shape *l, int64_t sets);
void nw_run_move(nw_run *e, const nw_shape *l,
                 __int128 rounds); // by how much regions move in so many rounds, into e->by
// `once`, which is p rounds, so many times, the first of them at round `from`.
nw_fold *nw_run_repeat(nw_run *e, const nw_shape *l, nw_fold *once, int64_t times, int64_t from, int64_t p);

// model_nodes.c; `first` is the value of a loop in round 0
void nw_run_node(nw_run *e, const nw_shape *s, nw_folder *f);
void nw_run_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
void nw_run_each_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to,
                       nw_folder *f); // all run the same iterations
nw_fold *nw_run_fold_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to);
nw_fold *nw_run_fold_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);
int64_t nw_run_end_of_class(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *same);
// The end of the rounds from `from` on in which regions that drift are apart; where they are not, of those that are to be run each.
int64_t nw_run_end_apart(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *apart);
void nw_run_range(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
void nw_run_share(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f);

// model_still.c
int64_t nw_run_still(nw_run *e, const nw_shape *l, int64_t first, int64_t from,
                     int64_t to); // rounds alike from `from` on
// What was counted since `before` was taken goes for so many times.
void nw_run_times(nw_run *e, nw_folder *f, nw_tally *before, int64_t times);

// model_pace.c
typedef struct nw_pace { // of the rounds of a loop, at the last look: those made, and what was touched until then
  int64_t rounds, touched;
} nw_pace;
// Sets e->times for its rounds from..to-1, as one, and returns what it was.
double nw_run_set_times(nw_run *e, int64_t from, int64_t to, int64_t all);
// Gives up (stop, hopeless) where the rounds that are left would take too long.
void nw_run_look_ahead(nw_run *e, const nw_shape *l, nw_pace *p, int64_t rounds, int64_t all);

// model_steps.c
// Rounds from..to, which all run the same iterations, one after the other or some at once.
void nw_run_same(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);

// model_drift.c
enum { NW_DRIFT_STEPS = 16 }; // that are worth it
// NULL: the rounds are not of this kind.
nw_fold *nw_run_fold_drift(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);

// model_memo.c
void nw_run_rounds(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f); // all of them
enum { NW_RUN_KEY = 4 }; // room in e->key behind that of a loop
int nw_run_key(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, int64_t *key);
nw_known *nw_run_recall(const nw_run *e, const int64_t *key, int n); // its fold may be NULL; NULL: never seen
nw_fold *nw_run_keep(nw_run *e, const int64_t *key, int n, nw_fold *x); // under a key, which is copied; NULL: seen
nw_fold *nw_run_fold_in_sets(nw_run *e, const nw_shape *l, int64_t first, int64_t last);
bool nw_run_is_new_in_vain(nw_run *e, const nw_shape *l); // would its fold hardly be used again?
// NULL, and its rounds are put behind f: its fold would hardly be used again.
nw_fold *nw_run_fold_or_run(nw_run *e, const nw_shape *l, int64_t first, int64_t last, nw_folder *f);

// model_profile.c: sets that would get more lines than they hold, of a fold that is kept; where regions lie as in e->origin
bool nw_run_has_profile(nw_run *e, const nw_fold *x, const nw_shape *l); // not larger than the fold itself
bool nw_run_fits_profile(nw_run *e, nw_fold *x, const nw_shape *l, int64_t ways);

// model_room.c
void nw_run_join(nw_run *other, const nw_run *e, const nw_shape *l); // brings another run to the same place of the nest
// Does no set get more lines than it holds, wherever regions lie, or where they are in a round?
bool nw_run_fits_anywhere(nw_run *e, nw_fold *x, const nw_shape *l);
bool nw_run_fits(nw_run *e, nw_fold *x, const nw_shape *l, int64_t round);
int64_t nw_run_peak(nw_run *e, const nw_stacked *s, const nw_shape *l);
nw_fold *nw_run_fold_loop(nw_run *e, const nw_shape *l); // NULL: it has no rounds
void nw_run_loop_once(nw_run *e, const nw_shape *l, nw_folder *f); // one that will not come again
nw_fold *nw_run_fold_with_room(nw_run *e, const nw_shape *l); // NULL: some set has no room
