// This machine, measured.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

// Lets steps report the cost of threads on this machine. It is measured by the first step that needs it, once per process,
// unless the machine is too busy.
NW_API void nw_measure_threads(nw_ctx *c);
// Measured peak of fused multiply-adds of NW_F32 or NW_F64, flop/s.
NW_API double nw_peak_flops(nw_ctx *c, nw_dtype type, int threads);
// Bandwidth in bytes per second of a loop over `bytes` of memory, counting only named reads and writes, as STREAM does.
// Writes at most `most` samples and returns their number; 0: failure.
typedef enum nw_stream { NW_STREAM_READ, NW_STREAM_COPY, NW_STREAM_TRIAD, NW_STREAM_WRITE } nw_stream;
NW_API int nw_bandwidth(nw_ctx *c, nw_stream loop, int64_t bytes, int threads, int most, double *rate);
// Measures this machine in about two seconds; calls `found` for each figure with the path of its field in the record
// (hw/machine.h).
typedef void (*nw_calibrated_fn)(void *env, const char *path, double value);
NW_API bool nw_calibrate(nw_ctx *c, nw_calibrated_fn found, void *env);
// An energy counter of a package ("package-0") or of its memory ("dram").
typedef struct nw_energy_zone {
  char zone[64], name[32];
  double joules, limit; // current value; value at which it wraps to 0
} nw_energy_zone;
// Returns the number of zones, in order; 0 with a failure: none. root: NULL is /sys/class/powercap.
NW_API int nw_energy_zones(nw_ctx *c, const char *root, nw_energy_zone *zone, int most);
NW_API double nw_energy_used(const nw_energy_zone *before, const nw_energy_zone *after); // joules
NW_API double nw_core_hz(void); // clock of this core, measured with a chain of dependent adds; 0: unknown
// peak of one thread divided by that of two full-width units at the measured clock
NW_API double nw_peak_vs_ports(nw_ctx *c);
NW_API char *nw_machine_text(nw_ctx *c); // CPU, features, caches and cores as text
// The n-th cache of this machine, from 0, the one nearest to a core first. False if there is none.
NW_API bool nw_machine_cache(int n, int64_t *bytes, int *ways, int *line);
NW_API int nw_machine_cache_cpus(int n); // logical CPUs that share it

#ifdef __cplusplus
}
#endif
