// Represents a program that is prepared for a walk (walker.h). Each store has a list of *acts*. These are the loads of
// the store and the store itself, with their addresses, and jumps over the loads that are not executed.
#pragma once
#include "access/address.h"
#include "access/walker.h"

typedef struct nw_site_code {
  nw_ref_site site;
  uint32_t number; // index of the site in the walker
  bool affine;
  nw_form at; // if affine: the index, in elements
  nw_calc *index; // if not affine: the index
  nw_calc *mask; // NULL if all lanes are active
  const nw_expr *where, *when; // the index and the mask, as expressions
  // true if several acts of the statement are this access; only the first of these acts that runs makes the access
  bool repeated;
  int64_t done; // if repeated: the number of the last execution of the statement in which this access was made
  int elem; // bytes of an element
  uint64_t base;
} nw_site_code;

typedef enum nw_act_kind { NW_ACT_TOUCH, NW_ACT_UNLESS, NW_ACT_JUMP } nw_act_kind;

// TOUCH makes an access. UNLESS jumps to act number `to` if cond is false. JUMP always jumps to act number `to`.
typedef struct nw_act {
  nw_act_kind kind;
  uint32_t site;
  nw_calc *cond;
  const nw_expr *when; // cond as an expression
  int to;
} nw_act;

// A store to a temporary, as a walk repeats it in the table of the temporary (tables.h).
typedef struct nw_keep {
  const nw_table *to;
  int lanes;
  nw_calc *index, *value, *mask; // `mask` is NULL if all lanes are active
} nw_keep;

typedef struct nw_nest nw_nest;
struct nw_nest {
  const nw_stmt *stmt;
  int nkids;
  nw_nest **kid;
  int at; // the child that runs now
  int slot; // LOOP
  nw_calc *begin, *extent; // LOOP
  nw_calc *cond; // GUARD
  int nacts; // STORE
  nw_act *act;
  nw_keep *keep; // STORE: NULL if it does not change a table
  bool keeps; // true if it contains stores that change a table
  bool plain; // STORE: true if all acts are TOUCH, and each act makes one access at an affine address
  bool flat; // LOOP: true if the loop contains only plain stores, with at most NW_BATCH / 4 accesses per iteration
  int nrefs; // if flat: the accesses of an iteration, with the step of each address
  nw_ref *ref;
  uint64_t *step;
  const nw_site_code **from;
};

struct nw_walker {
  nw_ctx *ctx;
  nw_exec *exec; // holds a reference
  nw_arena *arena;
  int64_t *slot;
  int nslots;
  nw_names names;
  nw_vec tables; // const nw_table *
  nw_vec filling; // const char *: the temporaries whose tables are being filled
  bool estimates; // true if a choice that depends on data counts the accesses of both sides
  bool estimated; // true if there was such a choice
  nw_places places;
  nw_vec site; // nw_site_code *
  nw_nest *root;
  int thread, threads; // only accesses of thread number `thread` are listed; if `threads` is 0, all accesses are listed
  // The following fields are used during a walk.
  bool inside; // true inside a parallel loop
  bool silent; // true in iterations of other threads, which are walked only because they change tables
  nw_ref *batch;
  int n;
  int64_t time; // number of accesses passed to `f` so far
  int64_t tell; // the value of `time` at which progress is reported next
  const char *what; // the text of the progress report
  int64_t execution; // number of the current statement execution
  unsigned ticks;
  bool stop;
  nw_refs_fn f;
  nw_round_fn round;
  void *env;
};

bool nw_walker_ready(nw_walker *w); // prepares the program: ready.c
double nw_walk_part(const nw_walker *w); // the fraction of the walk that is done: progress.c
