// Represents a program that is prepared for a walk (walker.h): its statements with the addresses of their accesses.
#pragma once
#include "access/address.h"
#include "access/walker.h"

typedef struct nw_site_code {
  nw_ref_site site;
  uint32_t number; // index among the sites of the walk
  bool affine;
  nw_form at; // if affine: elements from the start of the buffer
  nw_calc *index; // if not affine: the index
  nw_calc *mask; // NULL if all lanes are active
  const nw_expr *where, *when; // `where`: the index as an expression; `when`: the mask as an expression
  bool repeated; // true if it occurs more than once in the statement; each execution makes the access only once
  int64_t done; // if repeated: the number of the last statement execution that made this access
  int elem; // bytes of an element
  uint64_t base;
} nw_site_code;

typedef enum nw_act_kind { NW_ACT_TOUCH, NW_ACT_UNLESS, NW_ACT_JUMP } nw_act_kind;

// A step of a statement. TOUCH makes an access; UNLESS jumps to step `to` if cond is false; JUMP always jumps to `to`.
typedef struct nw_act {
  nw_act_kind kind;
  uint32_t site;
  nw_calc *cond;
  const nw_expr *when; // cond as an expression
  int to;
} nw_act;

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
  bool plain; // STORE: all its acts are TOUCH, and each makes one access at an affine address
  bool flat; // LOOP: contains only plain stores, with at most NW_BATCH / 4 accesses per iteration
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
  nw_places places;
  nw_vec site; // nw_site_code *
  nw_nest *root;
  int thread, threads; // only the share of `thread` is walked; if `threads` is 0, everything is walked
  // during a walk
  bool inside; // true inside a parallel loop
  nw_ref *batch;
  int n;
  int64_t time; // number of accesses handed out so far
  int64_t tell; // time of the next progress report
  const char *what; // the text of that report
  int64_t execution; // number of the current statement execution
  unsigned ticks;
  bool stop;
  nw_refs_fn f;
  nw_round_fn round;
  void *env;
};

bool nw_walker_ready(nw_walker *w); // prepares the program: ready.c
double nw_walk_part(const nw_walker *w); // returns the fraction of the walk that is done: progress.c
