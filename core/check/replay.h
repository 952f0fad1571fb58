// Replays a refused step: watches its witness in the interpreter, on small integers. Private to check/.
#pragma once
#include "check/inside.h"
#include "check/slice.h"

typedef struct nw_touch { // the first time an execution reads or writes the element
  bool is, init, unwritten, outside;
  const char *other; // another element, in the same storage, that it touches; or NULL
  bool foreign; // the storage then holds the value of another element
  int64_t when;
  double value;
  const nw_stmt *block;
  int nvars; // its instance
  const char **var;
  int64_t *at;
} nw_touch;

enum { NW_SOURCE, NW_SINK };

enum {
  NW_CASE_STEPS = 4000000, // limit for a whole program
  NW_CASE_FILLINGS = 4, // inputs to try until one shows the conflict
};

typedef enum nw_race { // how two unsynchronized iterations may interleave
  NW_IN_ORDER, // one after the other, in order
  NW_SECOND_STAYS, // both read, then both write, the second last: the first update is lost
  NW_FIRST_STAYS, // the first last
  NW_EARLY_INIT, // both initialize the reduction before either adds to it
  NW_UNSEEN, // the second does not see the write of the first
  NW_BACKWARDS, // the second comes first
} nw_race;

typedef struct nw_watch {
  nw_ctx *c;
  const nw_program *p;
  const nw_conflict *w;
  const nw_touch *like; // the two executions by their instances (source, sink), for a program with other loops; or NULL
  nw_slice slice;
  nw_check_data *data;
  nw_race race; // between source and sink, in the marked loop
  bool needs; // the slice contains everything that it reads
  int64_t now;
  nw_touch touch[2][2]; // source and sink; reading and writing
  int64_t room; // storage of the element, once touched, which other elements may share; before that, known_room
  int64_t known_room; // from an earlier run, or -1
  bool foreign; // another element was stored there since
  bool written, unwritten, beyond; // the element was ever written, or read unwritten; the sink is outside its domain
  nw_numbers contributed; // hashes of the contributions the element took
  int contributions; // their number when the sink read the element, or at the end
  double expected; // the total number
  bool grown;
} nw_watch;

const char *nw_element_name(nw_arena *a, const char *buffer, int n, const int64_t *at); // C[0, 1]
void nw_watch_init(nw_watch *x, const nw_program *p, const nw_conflict *w, nw_check_data *data);
void nw_watch_free(nw_watch *x);
// Runs the slice; with `needs`, repeats until the slice contains everything that it reads. False if it takes too long or fails.
bool nw_watch_run(nw_watch *x);

// ---- the evidence, and in replay.c its kind
typedef struct nw_replay_case {
  nw_ctx *c;
  nw_sched *s;
  const nw_refused *r;
  const nw_conflict *w; // NULL: only results can be compared
  const char *name; // of its element, or NULL
  bool moved; // not the witness of the refusal but a similar one
  int64_t *sizes;
  nw_check_data data;
  int index_dim; // coordinate of the element that all integer inputs, read as indices, hold; -1: none
  bool runs; // there is a program to run, and a shape to run it with
  const char *how; // NULL: not seen
  const char *worker; // what runs an iteration of the loop that carries the conflict: "thread", "lane", ...
  bool on_grid; // that loop is bound to blocks or threads
  bool ordered; // ... and barriers of the lowered program separate all conflicts: only the order is wrong
  nw_touch before[2], after[2]; // the two accesses in the old and in the new program
  nw_touch pair[2][2], raced[2][2]; // run in isolation: in order, and as the two iterations may interleave
  nw_race race; // how they interleave
  bool paired, shows; // both runs touched the element; a value differs
  char *element; // an output with a wrong value; heap
  double should, is;
} nw_replay_case;
bool nw_case_open(nw_replay_case *x, nw_ctx *c, nw_sched *s);
void nw_case_close(nw_replay_case *x);
void nw_case_look(nw_replay_case *x);
void nw_case_fill(nw_replay_case *x, int seed); // different inputs for each seed
nw_touch nw_case_keep(const nw_replay_case *x, const nw_touch *t); // a copy that outlives the watch
char *nw_case_text(const nw_replay_case *x); // heap
bool nw_case_wrong_output(nw_replay_case *x); // fills element, should, is

// ---- meet.c: the two iterations of a marked loop, alone
bool nw_in_two_rounds(
    const nw_conflict *w); // in one iteration of the outer loops, and in two iterations of the marked loop
nw_race nw_case_race(const nw_replay_case *x); // the first interleaving to try
void nw_case_meet(
    nw_replay_case *x); // fills pair, raced, race, paired, shows; may move the witness and change the data
double nw_case_final(const nw_replay_case *x, const nw_touch t[2][2], nw_race race); // the last value that is written
