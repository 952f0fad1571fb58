// Measures this machine.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

// Lets steps report the cost of starting threads on this machine. This cost is measured once per process, when a step
// first needs it. It is not measured if the machine is too busy.
NW_API void nw_measure_threads(nw_ctx *c);
typedef struct nw_rates { // samples of a rate; the rate is per second of wall-clock time
  int n;
  double *rate; // heap, the caller frees it
  int retaken; // number of samples that were taken again because other work disturbed them
  bool disturbed; // other work disturbed most of the samples
} nw_rates;
// Returns the upper quartile of the rates. Higher rates may be errors of the clock, and lower rates may be disturbed.
NW_API double nw_rates_peak(const nw_rates *r);
// Measures the peak rate of fused multiply-adds of NW_F32 or NW_F64, in flop/s. If `threads` is 0, all cores are used.
NW_API bool nw_peak_flops(nw_ctx *c, nw_dtype type, int threads, nw_rates *out);
// Measures the bandwidth of a loop over `bytes` of memory, in bytes per second. As in the STREAM benchmark, the bytes
// that the loop itself reads and writes are counted, and additional transfers of the caches are not counted.
typedef enum nw_stream { NW_STREAM_READ, NW_STREAM_COPY, NW_STREAM_TRIAD, NW_STREAM_WRITE } nw_stream;
NW_API bool nw_bandwidth(nw_ctx *c, nw_stream loop, int64_t bytes, int threads, nw_rates *out);
typedef struct nw_calibrated { // a figure of the calibration
  const char *path; // the path of the figure's field in the machine record (hw/machine.h)
  double value;
  double lo, hi; // interval in which a later calibration is expected to find the value
  bool shared; // true if the value depends on caches, memory or cores that other programs use too
  const char *doubt; // why the value must not be used; NULL if it can be used
} nw_calibrated;
// nw_calibrate measures this machine, in several passes that take some seconds in all. At the end, it calls `found` for
// each figure. `dispatch` is the number of instructions per cycle in the record of this processor, or 0 if it is
// unknown. If the core always stays clearly below this number, another thread shares the core. Then no figure can be
// used.
typedef void (*nw_calibrated_fn)(void *env, const nw_calibrated *figure);
NW_API bool nw_calibrate(nw_ctx *c, double dispatch, nw_calibrated_fn found, void *env);
// An energy counter of a package ("package-0") or of its memory ("dram").
typedef struct nw_energy_zone {
  char zone[64], name[32];
  double joules, limit; // joules: the current value; limit: the value in joules at which the counter wraps to 0
} nw_energy_zone;
// Stores at most `most` zones in order, and returns their number. Returns 0 with a diagnostic if there are no zones.
// `root` is the directory to read; NULL means /sys/class/powercap.
NW_API int nw_energy_zones(nw_ctx *c, const char *root, nw_energy_zone *zone, int most);
NW_API double nw_energy_used(const nw_energy_zone *before, const nw_energy_zone *after); // joules
NW_API double nw_core_hz(void); // clock of this core in Hz, measured with a chain of dependent adds; 0 if unknown
// Returns the measured peak flop/s of one thread, divided by the peak of two full-width FMA units at the measured
// clock. Returns 0 on failure.
NW_API double nw_peak_vs_ports(nw_ctx *c);
NW_API char *nw_machine_text(nw_ctx *c); // CPU, features, caches and cores as text
// Describes cache n of this machine; cache 0 is the nearest to a core. Returns false if there is no such cache.
NW_API bool nw_machine_cache(int n, int64_t *bytes, int *ways, int *line);
NW_API int nw_machine_cache_cpus(int n); // number of logical CPUs that share cache n

#ifdef __cplusplus
}
#endif
