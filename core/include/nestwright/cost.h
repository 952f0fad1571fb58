// Predicts the cost of a program with the model of a machine.
#pragma once
#include "nestwright/cache.h"
#include "nestwright/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- the cost of a program
typedef struct nw_cost_opts {
  const nw_target *target;
  const int64_t *sizes;
  int threads; // 0 or 1: a single thread does all the work
  bool conflicts; // distinguish conflict from capacity misses; this is slower
  bool full; // let each level see all accesses, not only the misses of the previous level; this is often faster
  bool in_cache; // assume that all data is in the first level, instead of simulating caches
} nw_cost_opts;
typedef struct nw_cost_total {
  double cycles, seconds; // time of the whole program
  const char *bound; // the main bottleneck of the first thread
  double flops, instructions, spills, joules; // sums over all threads
  int threads; // number of threads that have work; 1 if no loop is parallel
  double outside_cycles; // cycles outside parallel loops
  double team_seconds; // time to begin and end parallel loops
} nw_cost_total;
// A loop or a guard of the lowered program, with the cost of the first thread; number 0 is the whole program.
typedef struct nw_cost_loop {
  const char *name; // name of a loop; NULL for the whole program and for a guard
  int id; // id of the statement
  int depth; // number of enclosing loops; a loop counts itself
  int64_t entered, times; // entered: how many times the loop begins; times: total number of its iterations
  double cycles; // of the loop and everything inside it
  double carried; // cycles per iteration of the longest loop-carried dependence chain; 0 if there is no such chain
  bool parallel; // true if threads share its iterations
  const char *bound;
} nw_cost_loop;
// A limit on speed, such as the bandwidth of memory. `cycles` is the time of the first thread under this limit alone.
typedef struct nw_cost_term {
  const char *name;
  double cycles;
} nw_cost_term;
typedef struct nw_energy_row {
  char name[24];
  const char *unit; // unit of `count`
  double count, pj, joules; // pj: energy of one unit in pJ; joules: energy of all units
} nw_energy_row;
typedef struct nw_cost_buffer {
  const char *name, *where; // where: the kind of storage, such as "parameter", "workspace", "stack" or "registers"
  int64_t bytes;
} nw_cost_buffer;
typedef nw_missed nw_cost_missed;
typedef struct nw_cost nw_cost;
// Returns the caches that the cost model assumes for one of `threads` threads. They do not include the part of a shared
// cache that the other threads use.
NW_API nw_sim_opts nw_cost_caches(const nw_machine *m, int threads);
NW_API nw_cost *nw_cost_of(nw_ctx *c, const nw_program *p, const nw_cost_opts *o);
NW_API void nw_cost_free(nw_cost *k);
NW_API nw_cost_total nw_cost_total_of(const nw_cost *k);
NW_API double nw_cost_share(const nw_cost *k, int thread); // cycles of a thread in parallel loops
NW_API int nw_cost_terms(const nw_cost *k);
NW_API nw_cost_term nw_cost_term_at(const nw_cost *k, int i);
NW_API int nw_cost_loops(const nw_cost *k);
NW_API nw_cost_loop nw_cost_loop_at(const nw_cost *k, int i);
// Returns the number of rows. The rows describe the first thread, and are sorted by level, then by load or store.
NW_API int nw_cost_misses(const nw_cost *k);
NW_API nw_cost_missed nw_cost_missed_at(const nw_cost *k, int i);
// True if the counts of a level are exact, and thus equal those of the reference simulator. Otherwise *error is the
// estimated relative error of the misses.
NW_API bool nw_cost_exact(const nw_cost *k, int level, double *error);
// True if the condition of a choice depends on data, so that the accesses of both sides are counted.
NW_API bool nw_cost_counts_both(const nw_cost *k);
NW_API bool
nw_cost_calls(const nw_cost *k); // true if intrinsics are called, whose code is assumed to be good vector code
NW_API int nw_cost_levels(const nw_cost *k); // number of cache levels, plus memory
NW_API void nw_cost_moved(const nw_cost *k, int level, double *read,
                          double *written); // bytes read from and written to the level, by all threads
NW_API int nw_cost_energies(const nw_cost *k);
NW_API const nw_energy_row *nw_cost_energy(const nw_cost *k, int i);
NW_API int nw_cost_buffers(const nw_cost *k);
NW_API nw_cost_buffer nw_cost_buffer_at(const nw_cost *k, int i);

// ---- simulation of compiled code, without running it
typedef struct nw_code_time { // all fields are 0 if the code cannot be simulated, for example if it is for another CPU
  double instructions, cycles; // cycles: the time if all data is in the first cache level
  double mispredicted; // number of mispredicted branches
  double waits; // number of loads that wait until an earlier store has written to the cache
} nw_code_time;
// Simulates the assembly that nw_kernel_text returns. `expected` is the estimated number of executed instructions.
// Returns false after an interrupt.
NW_API bool nw_code_simulate(nw_ctx *c, const char *assembly, const nw_machine *m, double expected, nw_code_time *out);

#ifdef __cplusplus
}
#endif
