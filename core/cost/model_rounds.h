// A run of the model over a nest, while it is going on. Private to the model.
#pragma once
#include "cost/model_run.h"

typedef struct nw_known { // a loop that was folded
  uint64_t hash;
  int n;
  int64_t *key;
  nw_fold *fold;
} nw_known;

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
  nw_run *roomy; // folds as if there were one set with the room of all; NULL: there is, or it is that one
  int64_t room; // of such a run: it gives up (stop) where it gets so many lines
  uint32_t *held; // lines by set
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
nw_fold *nw_run_fold_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to);
nw_fold *nw_run_fold_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);
int64_t nw_run_end_of_class(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *same);
// The end of the rounds from `from` on in which regions that drift are apart; where they are not, of those that are to be run each.
int64_t nw_run_end_apart(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *apart);
void nw_run_range(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);
void nw_run_share(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f);

// model_steps.c
// Rounds from..to, which all run the same iterations, one after the other or some at once.
void nw_run_same(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f);

// model_drift.c
enum { NW_DRIFT_STEPS = 16 }; // that are worth it
// NULL: the rounds are not of this kind.
nw_fold *nw_run_fold_drift(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);

// model_memo.c
void nw_run_rounds(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f); // all of them
nw_fold *nw_run_fold_in_sets(nw_run *e, const nw_shape *l, int64_t first, int64_t last);

// model_room.c
void nw_run_join(nw_run *other, const nw_run *e, const nw_shape *l); // brings another run to the same place of the nest
// Does no set get more lines than it holds, wherever regions lie, or where they are in a round?
bool nw_run_fits_anywhere(nw_run *e, nw_fold *x, const nw_shape *l);
bool nw_run_fits(nw_run *e, nw_fold *x, const nw_shape *l, int64_t round);
int64_t nw_run_peak(nw_run *e, const nw_stacked *s, const nw_shape *l);
nw_fold *nw_run_fold_loop(nw_run *e, const nw_shape *l); // NULL: it has no rounds
void nw_run_loop_once(nw_run *e, const nw_shape *l, nw_folder *f); // one that will not come again: what fits is folded
