// A refused step replayed: its witness watched in the interpreter, on small whole numbers. Private to check/.
#pragma once
#include "check/inside.h"
#include "check/slice.h"

typedef struct nw_touch { // the first time an execution reads or writes the element
  bool is, init, unwritten, outside;
  bool other; // it touches another element, in the same place
  bool foreign; // what is there by then is another element's value, put in the same place
  int64_t when;
  double value;
  const nw_stmt *block;
  int nvars; // its instance
  const char **var;
  int64_t *at;
} nw_touch;

enum { NW_SOURCE, NW_SINK };

typedef struct nw_watch {
  nw_ctx *c;
  const nw_program *p;
  const nw_conflict *w;
  const nw_touch *like; // the two executions by their instances (source, sink), for a program with other loops; or NULL
  nw_slice slice;
  nw_check_data *data;
  const char *backwards; // this loop runs from its end
  bool lost; // the source's update of the element comes to nothing
  bool needs; // all that the slice reads is in it
  int64_t now;
  nw_touch touch[2][2]; // source and sink; reading and writing
  int64_t room; // of the element, once it was touched: others may be kept there; -1 before
  bool foreign; // another element was put there since
  bool written, unwritten, beyond; // the element, ever; the sink stands outside of its domain
  nw_vec contributed; // hashes of the contributions the element took
  int contributions; // how many when the sink read it, or at the end
  double expected; // how many there are
  bool grown;
} nw_watch;

void nw_watch_init(nw_watch *x, const nw_program *p, const nw_conflict *w, nw_check_data *data);
void nw_watch_free(nw_watch *x);
// Runs the slice; with `needs`, again until everything that it reads is in it. False when it takes too long or fails.
bool nw_watch_run(nw_watch *x);

// ---- what is seen, and in replay.c how
typedef struct nw_case {
  nw_ctx *c;
  nw_sched *s;
  const nw_refused *r;
  const nw_conflict *w; // NULL: nothing to look at but the results
  int64_t *sizes;
  nw_check_data data;
  const char *how; // NULL: not seen
  bool vector; // the loop that carries it is vectorized
  nw_touch before[2], after[2]; // the two accesses in the old and in the new program
  nw_touch pair[2][2], raced[2][2]; // alone: in order, and as the two iterations may meet
  bool paired;
  char *element; // an output that comes out wrong; heap
  double should, is;
} nw_case;
bool nw_case_open(nw_case *x, nw_ctx *c, nw_sched *s);
void nw_case_close(nw_case *x);
void nw_case_look(nw_case *x);
char *nw_case_text(const nw_case *x); // heap
bool nw_case_wrong_output(nw_case *x); // fills element, should, is
