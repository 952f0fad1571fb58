// A walk made ready: statements with their accesses as addresses.
#pragma once
#include "access/address.h"
#include "access/walker.h"

typedef struct nw_site_code {
  nw_ref_site site;
  uint32_t number; // among the sites of the walk
  bool affine;
  nw_form at; // affine: elements from the start of the buffer
  nw_calc *index; // otherwise
  nw_calc *mask; // NULL: all lanes
  const nw_expr *where, *when; // the same as expressions
  bool repeated; // stands in the statement more than once: made the first time one of them is reached
  int64_t done; // repeated: the execution that made it last
  int elem; // bytes
  uint64_t base;
} nw_site_code;

typedef enum nw_act_kind { NW_ACT_TOUCH, NW_ACT_UNLESS, NW_ACT_JUMP } nw_act_kind;

// What a statement does, in order. UNLESS: goes on at `to` where cond is false.
typedef struct nw_act {
  nw_act_kind kind;
  uint32_t site;
  nw_calc *cond;
  const nw_expr *when; // the same as an expression
  int to;
} nw_act;

typedef struct nw_nest nw_nest;
struct nw_nest {
  const nw_stmt *stmt;
  int nkids;
  nw_nest **kid;
  int at; // the kid that runs now
  int slot; // LOOP
  nw_calc *begin, *extent; // LOOP
  nw_calc *cond; // GUARD
  int nacts; // STORE
  nw_act *act;
  bool plain; // STORE: touches, each of them one access, at an affine address
  bool flat; // LOOP: nothing inside but plain stores, and few enough
  int nrefs; // flat: accesses of an iteration, with what an iteration adds to each address
  nw_ref *ref;
  uint64_t *step;
  const nw_site_code **from;
};

struct nw_walker {
  nw_ctx *ctx;
  nw_exec *exec; // counted
  nw_arena *arena;
  int64_t *slot;
  int nslots;
  nw_names names;
  nw_places places;
  nw_vec site; // nw_site_code *
  nw_nest *root;
  int thread, threads; // whose share is walked; 0 threads: all
  // while it walks
  bool inside; // of a parallel loop
  nw_ref *batch;
  int n;
  int64_t time; // accesses handed on
  int64_t tell; // when it says next how far it is
  const char *what; // it then says that it does
  int64_t execution; // of a statement
  unsigned ticks;
  bool stop;
  nw_refs_fn f;
  nw_round_fn round;
  void *env;
};

bool nw_walker_ready(nw_walker *w); // compiles the program: ready.c
double nw_walk_part(const nw_walker *w); // how much of the walk is done, 0..1: progress.c
