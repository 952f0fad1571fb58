// Replays a refused step. Runs the programs before and after the step in the interpreter, on small integers, and
// records what the two executions in conflict (the witness) read and write. Private to check/.
#pragma once
#include "check/inside.h"
#include "check/slice.h"

typedef struct nw_touch { // the first read or write of the element by an execution
  bool is, init, unwritten, outside; // `is`: true if the access happened; for the other fields see nw_access (interp.h)
  const char *other; // name of the accessed element if it is another element at the same location; otherwise NULL
  bool foreign; // true if the location holds the value of another element at the time of the access
  int64_t when; // number of the access in the run
  long double value;
  const nw_stmt *block;
  int nvars; // number of the block's variables; `var` has their names, `at` their values
  const char **var;
  int64_t *at;
} nw_touch;

enum { NW_SOURCE, NW_SINK };

enum {
  NW_CASE_STEPS = 4000000, // limit on interpreter steps for a whole program
  NW_CASE_FILLINGS = 4, // maximal number of different inputs that are tried until one of them shows the conflict
};

typedef enum nw_race { // how two unsynchronized iterations may interleave
  NW_IN_ORDER, // the second iteration runs after the first
  NW_SECOND_STAYS, // both read, then the first writes, then the second writes; the update of the first is lost
  NW_FIRST_STAYS, // both read, then the second writes, then the first writes; the update of the second is lost
  NW_EARLY_INIT, // both initialize the reduction before one of them adds to it
  NW_UNSEEN, // the second iteration does not see the write of the first
  NW_BACKWARDS, // the second iteration runs before the first
} nw_race;

typedef struct nw_watch {
  nw_ctx *c;
  const nw_program *p;
  const nw_conflict *w;
  // for a program with other loops than those in `w`: accesses that identify the source and the sink by their
  // instances; otherwise NULL
  const nw_touch *like;
  nw_slice slice;
  nw_check_data *data;
  nw_race race; // how the iterations of source and sink in the marked loop interleave
  bool needs; // true if the slice must contain every element that it reads
  int64_t now;
  nw_touch touch[2][2]; // first index: source or sink; second index: read or write
  int64_t room; // location of the element, which other elements may share; equals known_room until the first access
  int64_t known_room; // the location that an earlier run found, or -1
  bool foreign; // the last write to the location was of another element
  // written: the element was written; unwritten: it was read before the first write; beyond: the sink is outside its
  // domain
  bool written, unwritten, beyond;
  nw_numbers contributed; // hashes of the contributions that were added to the element
  int contributions; // number of contributions when the sink read the element, or at the end of the run
  double expected; // number of contributions that the element gets in the whole computation
  bool grown; // elements were added to the slice during this run
} nw_watch;

const char *nw_element_name(nw_arena *a, const char *buffer, int n, const int64_t *at); // "C[0, 1]"
void nw_watch_init(nw_watch *x, const nw_program *p, const nw_conflict *w, nw_check_data *data);
void nw_watch_free(nw_watch *x);
// Runs the slice. If `needs` is set, repeats the run until the slice contains everything that it reads. Returns false
// if this takes too long or fails.
bool nw_watch_run(nw_watch *x);

// ---- The evidence for a conflict (replay.c finds its kind)
typedef struct nw_replay_case {
  nw_ctx *c;
  nw_sched *s;
  const nw_refused *r;
  const nw_conflict *w; // NULL if only results can be compared
  const char *name; // name of the element of w, or NULL
  const char *told; // what the interpreter says about a race of the lowered program, or NULL
  bool moved; // true if w is not the witness of the refusal, but a similar conflict
  int64_t *sizes;
  nw_check_data data;
  // if not -1: all integer inputs, which may be indices, are set to this coordinate of the element
  int index_dim;
  bool runs; // true if there is a program that can be run, and a shape for it
  const char *how; // the kind of conflict that was observed (see nw_lesson); NULL if none was
  const char *worker; // what runs an iteration of the loop that carries the conflict: "thread", "lane", ...
  bool on_grid; // true if the loop that carries the conflict is bound to blocks or threads
  // true if on_grid is true and the barriers of the lowered program separate all accesses in conflict, so that only the
  // order of these accesses may be wrong
  bool ordered;
  nw_touch before[2], after[2]; // the two accesses in the old and in the new program
  // The accesses in two runs of only the two iterations: in order (`pair`), and interleaved (`raced`). The indices are
  // those of the field `touch` of nw_watch.
  nw_touch pair[2][2], raced[2][2];
  nw_race race; // how the iterations interleave in `raced`
  bool paired, shows; // paired: both iterations accessed the element in both runs; shows: a value differs between them
  char *element; // an output with a wrong value; heap
  long double should, is; // the correct value and the wrong value of `element`
} nw_replay_case;
bool nw_case_open(nw_replay_case *x, nw_ctx *c, nw_sched *s);
void nw_case_close(nw_replay_case *x);
void nw_case_look(nw_replay_case *x);
void nw_case_fill(nw_replay_case *x, int seed); // different inputs for each seed
nw_touch nw_case_keep(const nw_replay_case *x, const nw_touch *t); // a copy that outlives the watch
char *nw_case_text(const nw_replay_case *x); // heap
bool nw_case_wrong_output(nw_replay_case *x); // sets the fields `element`, `should` and `is`

// ---- Two iterations of a marked loop (meet.c)

// True if the two executions are in the same iteration of the outer loops, and in different iterations of the marked
// loop.
bool nw_in_two_rounds(const nw_conflict *w);
nw_race nw_case_race(const nw_replay_case *x); // the first interleaving to try
// Sets the fields `pair`, `raced`, `race`, `paired` and `shows`. May replace the witness by a similar conflict, and
// change the data.
void nw_case_meet(nw_replay_case *x);
// Returns the last value that the two iterations write to the element.
long double nw_case_final(const nw_replay_case *x, const nw_touch t[2][2], nw_race race);
