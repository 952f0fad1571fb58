// A refused step replayed: its witness watched in the interpreter, on small whole numbers. Private to check/.
#pragma once
#include "check/inside.h"
#include "check/slice.h"

typedef struct nw_touch { // the first time an execution reads or writes the element
  bool is, init, unwritten, outside;
  const char *other; // it touches this other element, in the same place; or NULL
  bool foreign; // what is there by then is another element's value, put in the same place
  int64_t when;
  double value;
  const nw_stmt *block;
  int nvars; // its instance
  const char **var;
  int64_t *at;
} nw_touch;

enum { NW_SOURCE, NW_SINK };

enum {
  NW_CASE_STEPS = 4000000, // that a whole program may take
  NW_CASE_FILLINGS = 4, // inputs that are tried until one shows the conflict
};

typedef enum nw_race { // how two iterations meet that nothing keeps apart
  NW_IN_ORDER, // they do not
  NW_SECOND_STAYS, // both read, then both write, the second last: the first update is lost
  NW_FIRST_STAYS, // the first last
  NW_EARLY_INIT, // both set what the reduction starts from before either adds to it
  NW_UNSEEN, // the second does not see what the first writes
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
  bool needs; // all that the slice reads is in it
  int64_t now;
  nw_touch touch[2][2]; // source and sink; reading and writing
  int64_t room; // of the element, once it was touched: others may be kept there; before, known_room
  int64_t known_room; // from a run before; or -1
  bool foreign; // another element was put there since
  bool written, unwritten, beyond; // the element, ever; the sink stands outside of its domain
  nw_numbers contributed; // hashes of the contributions the element took
  int contributions; // how many when the sink read it, or at the end
  double expected; // how many there are
  bool grown;
} nw_watch;

const char *nw_element_name(nw_arena *a, const char *buffer, int n, const int64_t *at); // C[0, 1]
void nw_watch_init(nw_watch *x, const nw_program *p, const nw_conflict *w, nw_check_data *data);
void nw_watch_free(nw_watch *x);
// Runs the slice; with `needs`, again until everything that it reads is in it. False when it takes too long or fails.
bool nw_watch_run(nw_watch *x);

// ---- what is seen, and in replay.c how
typedef struct nw_replay_case {
  nw_ctx *c;
  nw_sched *s;
  const nw_refused *r;
  const nw_conflict *w; // NULL: nothing to look at but the results
  const char *name; // of its element, or NULL
  bool moved; // it is not the witness of the refusal but one like it
  int64_t *sizes;
  nw_check_data data;
  int index_dim; // whole numbers, read as indices, name this coordinate of the element; -1: they need not
  bool runs; // there is a program to run, and a shape to run it with
  const char *how; // NULL: not seen
  const char *worker; // does a round of the loop that carries it: "thread", "lane", ...
  bool on_grid; // that loop is bound to blocks or threads
  bool ordered; // ... and lowered, barriers keep all apart that meet: what is wrong is the order
  nw_touch before[2], after[2]; // the two accesses in the old and in the new program
  nw_touch pair[2][2], raced[2][2]; // alone: in order, and as the two iterations may meet
  nw_race race; // how they do
  bool paired, shows; // both runs met the element; a value tells them apart
  char *element; // an output that comes out wrong; heap
  double should, is;
} nw_replay_case;
bool nw_case_open(nw_replay_case *x, nw_ctx *c, nw_sched *s);
void nw_case_close(nw_replay_case *x);
void nw_case_look(nw_replay_case *x);
void nw_case_fill(nw_replay_case *x, int seed); // other inputs for each
nw_touch nw_case_keep(const nw_replay_case *x, const nw_touch *t); // a copy that outlives the watch
char *nw_case_text(const nw_replay_case *x); // heap
bool nw_case_wrong_output(nw_replay_case *x); // fills element, should, is

// ---- meet.c: the two iterations of a marked loop, alone
bool nw_in_two_rounds(const nw_conflict *w); // in one iteration of the loops around the marked one, and in two of it
nw_race nw_case_race(const nw_replay_case *x); // the first way of meeting to think of
void nw_case_meet(
    nw_replay_case *x); // fills pair, raced, race, paired, shows; may move the witness and change the data
double nw_case_final(const nw_replay_case *x, const nw_touch t[2][2], nw_race race); // what the last of the two writes
