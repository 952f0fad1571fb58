// What a program costs, by the model of a machine.
#pragma once
#include "nestwright/cache.h"
#include "nestwright/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- what a program costs
typedef struct nw_cost_opts {
  const nw_target *target;
  const int64_t *sizes;
  int threads; // 0 or 1: one, which does everything
  bool conflicts; // tell conflict misses from those of capacity: takes longer
  bool full; // every level is asked everything, not what the one before has not: often quicker
  bool in_cache; // no caches are counted: all data is in the first one
} nw_cost_opts;
typedef struct nw_cost_total {
  double cycles, seconds; // of all
  const char *bound; // what the first thread is limited by most
  double flops, instructions, spills, joules; // of all threads
  int threads; // that have something to do: one where no loop is parallel
  double outside_cycles; // of parallel loops
  double team_seconds; // to begin and end parallel loops
} nw_cost_total;
typedef struct
    nw_cost_loop { // a loop or a guard of the lowered program, outermost first; number 0 is the whole; of the first thread
  const char *name; // of a loop; NULL: the whole, or a guard
  int id; // of the statement
  int depth; // loops around, itself included
  int64_t entered, times; // how often it begins; iterations in all
  double cycles; // with all that is inside
  const char *bound;
} nw_cost_loop;
typedef struct nw_cost_term { // cycles that one thing would take the first thread if all else were free
  const char *name;
  double cycles;
} nw_cost_term;
typedef struct nw_energy_row {
  char name[24];
  const char *unit; // of count
  double count, pj, joules;
} nw_energy_row;
typedef struct nw_cost_buffer {
  const char *name, *where; // where: parameter, workspace, workspace of each thread, stack, registers
  int64_t bytes;
} nw_cost_buffer;
typedef nw_missed nw_cost_missed;
typedef struct nw_cost nw_cost;
// The caches that the cost model gives to one thread of so many: what others leave of each, shared out.
NW_API nw_sim_opts nw_cost_caches(const nw_machine *m, int threads);
NW_API nw_cost *nw_cost_of(nw_ctx *c, const nw_program *p, const nw_cost_opts *o);
NW_API void nw_cost_free(nw_cost *k);
NW_API nw_cost_total nw_cost_total_of(const nw_cost *k);
NW_API double nw_cost_share(const nw_cost *k, int thread); // cycles inside of parallel loops
NW_API int nw_cost_terms(const nw_cost *k);
NW_API nw_cost_term nw_cost_term_at(const nw_cost *k, int i);
NW_API int nw_cost_loops(const nw_cost *k);
NW_API nw_cost_loop nw_cost_loop_at(const nw_cost *k, int i);
NW_API int nw_cost_misses(const nw_cost *k); // of the first thread, by level, then load or store
NW_API nw_cost_missed nw_cost_missed_at(const nw_cost *k, int i);
// Are a level's counts those of the reference simulator? If not, *error is a part of the misses.
NW_API bool nw_cost_exact(const nw_cost *k, int level, double *error);
NW_API int nw_cost_levels(const nw_cost *k); // of caches, and memory
NW_API void nw_cost_moved(const nw_cost *k, int level, double *read,
                          double *written); // bytes out of and into it, of all threads
NW_API int nw_cost_energies(const nw_cost *k);
NW_API const nw_energy_row *nw_cost_energy(const nw_cost *k, int i);
NW_API int nw_cost_buffers(const nw_cost *k);
NW_API nw_cost_buffer nw_cost_buffer_at(const nw_cost *k, int i);

// ---- compiled code, followed without being run
typedef struct nw_code_time { // all 0: code of a processor that is not known here
  double instructions, cycles; // cycles: with all data in the first cache
  double mispredicted; // branches
  double waits; // of loads until what they read was in the cache
} nw_code_time;
// Of the assembly that nw_kernel_text gives; expected: about how many instructions run. False when interrupted.
NW_API bool nw_code_simulate(nw_ctx *c, const char *assembly, const nw_machine *m, double expected, nw_code_time *out);

#ifdef __cplusplus
}
#endif
