// A *walk* lists the memory accesses of a lowered program, in execution order, without running it.
//
// The walk lists the accesses that the interpreter (interp.h) makes when it runs the lowered program. place.h gives
// their addresses. A load that occurs several times in a statement is made once for each execution of the statement. If
// all lanes of a vector load or store are active and adjacent in memory, they are one access.
#pragma once
#include "access/place.h"

typedef struct nw_ref { // one access
  uint64_t address; // address of its first byte
  uint32_t site; // number of the load or store in the program
  uint16_t bytes; // number of contiguous bytes
  uint16_t write;
} nw_ref;

typedef struct nw_ref_site { // a load or store of the program
  const nw_placed *place;
  const nw_stmt *stmt; // the statement that contains the load or store
  const nw_stmt *loop; // the innermost enclosing loop, or NULL
  bool write;
  int lanes;
} nw_ref_site;

typedef struct nw_walker nw_walker;
// Prepares a lowered program for a walk. `sizes` holds the values of the program's symbolic sizes, in order. Returns
// NULL with a diagnostic if addresses or control flow depend on data, or if an array is too large.
nw_walker *nw_walker_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes);
// Prepares an estimate: where a choice depends on data, the accesses of both sides are listed.
nw_walker *nw_walker_estimating(nw_ctx *c, const nw_exec *e, const int64_t *sizes);
bool nw_walker_estimated(const nw_walker *w); // true if there was such a choice
// True if the program allows these sizes. Otherwise a diagnostic names the bound or fact that does not hold.
bool nw_sizes_allowed(nw_ctx *c, const nw_program *p, const int64_t *sizes);
// Lowers a scheduled program and prepares it for a walk. Returns NULL with a diagnostic if the program does not allow
// the sizes, or if its accesses cannot be listed. A thread gets the same iterations of each outermost parallel loop as
// at run time. In a loop with dynamic scheduling, however, the chunks are assigned to the threads in turn. Thread 0
// also makes all accesses outside of these loops.
nw_walker *nw_walker_for(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk);
void nw_walker_free(nw_walker *w);
int nw_walker_sites(const nw_walker *w);
const nw_ref_site *nw_walker_site(const nw_walker *w, int i);
const nw_places *nw_walker_places(const nw_walker *w);

#define NW_BATCH 2048 // the largest number of accesses in a batch
// Receives the accesses in batches, in order; returns false to end the walk.
typedef bool (*nw_refs_fn)(void *env, const nw_ref *ref, int n);
// Called when a loop begins iteration `index`, and when it ends (index -1). `time` is the number of accesses so far.
typedef void (*nw_round_fn)(void *env, const nw_stmt *loop, int64_t index, int64_t time);
// Walks the program. Returns false if interrupted, or if f ended the walk. `round` may be NULL, which is faster.
bool nw_walk_refs(nw_walker *w, nw_refs_fn f, nw_round_fn round, void *env);
// Sets the text of the progress reports of a walk. NULL means the default text.
void nw_walker_does(nw_walker *w, const char *what);
