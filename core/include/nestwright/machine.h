// This machine, measured.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

// Lets steps speak of what threads cost on this machine: measured at the first step that asks, once
// a process where the machine is not too busy for it.
NW_API void nw_measure_threads(nw_ctx *c);
// Measured peak of fused multiply-adds of NW_F32 or NW_F64, flop/s.
NW_API double nw_peak_flops(nw_ctx *c, nw_dtype type, int threads);
// Bytes a second of a loop over `bytes` of memory: what it reads and writes by name, as STREAM counts. Fills at most `most`
// samples and answers how many; 0: failed.
typedef enum nw_stream { NW_STREAM_READ, NW_STREAM_COPY, NW_STREAM_TRIAD, NW_STREAM_WRITE } nw_stream;
NW_API int nw_bandwidth(nw_ctx *c, nw_stream loop, int64_t bytes, int threads, int most, double *rate);
// Measures this machine in about two seconds and tells of each figure under the path of a machine record's field (machine.h).
typedef void (*nw_calibrated_fn)(void *env, const char *path, double value);
NW_API bool nw_calibrate(nw_ctx *c, nw_calibrated_fn found, void *env);
// A counter of energy: of a package ("package-0") or of its memory ("dram").
typedef struct nw_energy_zone {
  char zone[64], name[32];
  double joules, limit; // what it says; where it begins anew
} nw_energy_zone;
// How many there are, in the order of their zones; 0, and a failure: none. root: /sys/class/powercap where NULL.
NW_API int nw_energy_zones(nw_ctx *c, const char *root, nw_energy_zone *zone, int most);
NW_API double nw_energy_used(const nw_energy_zone *before, const nw_energy_zone *after); // joules
NW_API double nw_core_hz(void); // clock of this core, from a chain of dependent adds; 0 unknown
NW_API double nw_peak_vs_ports(nw_ctx *c); // that peak of one thread against two full-width units at that clock
NW_API char *nw_machine_text(nw_ctx *c); // cpu, features, caches, cores: text
// The n-th cache of this machine, from 0, the one nearest to a core first. False: there is none.
NW_API bool nw_machine_cache(int n, int64_t *bytes, int *ways, int *line);
NW_API int nw_machine_cache_cpus(int n); // logical cpus that share it

#ifdef __cplusplus
}
#endif
