// The memory accesses of an executable program, in the order in which it makes them, without running it.
//
// Accesses are those of the lowered program as the interpreter makes them (interp.h): each load and store of a statement
// once, lanes side by side as one, at the addresses of place.h.
#pragma once
#include "access/place.h"

typedef struct nw_ref { // one access
  uint64_t address; // of its first byte
  uint32_t site; // the load or store it comes from
  uint16_t bytes; // side by side
  uint16_t write;
} nw_ref;

typedef struct nw_ref_site { // a load or store of the program
  const nw_placed *place;
  const nw_stmt *stmt; // the store it stands in
  const nw_stmt *loop; // the innermost around; NULL: none
  bool write;
  int lanes;
} nw_ref_site;

typedef struct nw_walker nw_walker;
// sizes: values of the program's symbolic sizes, in order. Fails (NULL) where the addresses, or what runs, depend on data.
nw_walker *nw_walker_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes);
// Does a program allow these sizes? False, and a diagnostic that says why not.
bool nw_sizes_allowed(nw_ctx *c, const nw_program *p, const int64_t *sizes);
// Of a scheduled program, lowered; the sizes must be ones it allows. A thread does its share of each outermost parallel loop, as
// the run-time hands it out (one that goes to whoever is free is dealt in turn), and thread 0 what is outside of them.
nw_walker *nw_walker_for(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk);
void nw_walker_free(nw_walker *w);
int nw_walker_sites(const nw_walker *w);
const nw_ref_site *nw_walker_site(const nw_walker *w, int i);
const nw_places *nw_walker_places(const nw_walker *w);

#define NW_BATCH 2048 // accesses handed on at a time, at most
// Gets the accesses in parts, in order; returns false to end the walk.
typedef bool (*nw_refs_fn)(void *env, const nw_ref *ref, int n);
// A loop begins an iteration, or ends (index -1), before access number `time`.
typedef void (*nw_round_fn)(void *env, const nw_stmt *loop, int64_t index, int64_t time);
// False when interrupted, or when f ended it. `round` may be NULL; to ask for it costs time.
bool nw_walk_refs(nw_walker *w, nw_refs_fn f, nw_round_fn round, void *env);
// What people are told that walks do from now on, where it takes long; NULL: that they walk the accesses.
void nw_walker_does(nw_walker *w, const char *what);
