// Micro-benchmarks of this machine: their form, their timing, and when a figure is accepted. Private to run/.
//
// A loop is compared with a chain of dependent additions, each of which takes one cycle. The two are run alternately,
// in short runs. The time of an iteration of the loop, divided by the time of an addition, is the number of cycles. So a
// changing clock frequency does not affect the result.
//
// A run is discarded if other work disturbed it: if the chains before and after it take different times, or if the core
// dispatched fewer instructions than it can, because another thread shared it. Each figure is measured in several
// passes, until two passes agree. A figure that no two passes agree on, or that is outside plausible bounds, is not used.
#pragma once
#include "run/session.h"

typedef void (*nw_bench_loop)(int64_t rounds, void *data);

// A loop in machine code for the calibration. It runs the text `rounds` times; data is %1.
#define NW_BENCH_LOOP(name, before, text, after)                                                                       \
  static void name(int64_t rounds, void *data) {                                                                       \
    __asm__ volatile(before ".balign 64\n1:\n\t" text "dec %0\n\tjnz 1b\n\t" after                                     \
                     : "+r"(rounds)                                                                                    \
                     : "r"(data)                                                                                       \
                     : "cc", "memory", "rax", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",     \
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",       \
                       "xmm12", "xmm13", "xmm14", "xmm15");                                                            \
  }

// What is known about a figure before it is measured.
typedef struct nw_bounds {
  double least, most; // plausible values
  bool rate; // other work makes a rate smaller, and any other figure greater
  // Nonzero if the figure depends on caches, memory or cores that other programs use too: the share by which its interval
  // extends beyond the measured values.
  double shared;
} nw_bounds;
#define NW_CYCLES(least, most) ((nw_bounds){least, most, false, 0})
#define NW_RATE(least, most) ((nw_bounds){least, most, true, 0})
#define NW_SHARED_CYCLES(least, most) ((nw_bounds){least, most, false, 0.25})
#define NW_SHARED_RATE(least, most) ((nw_bounds){least, most, true, 0.25})

#define NW_MOST_PASSES 12
#define NW_MOST_FIGURES 192

typedef struct nw_figure {
  char path[48]; // of its field in the machine record
  nw_bounds bounds;
  int part; // the part of the calibration that measures it
  double value[NW_MOST_PASSES]; // accepted values, one for each pass
  int n;
  double implausible; // a value outside the bounds; 0 if there was none
  bool settled; // two values agree
} nw_figure;

// The state of a calibration.
typedef struct nw_calibration {
  nw_ctx *ctx;
  int step, part;
  int width; // index of the widest vectors that can be measured; -1 if there are none
  char *data; // NW_BENCH_BYTES bytes, page-aligned
  double hz; // clock frequency of this core
  double look; // seconds to read the clock
  double widest; // most instructions per cycle that the core dispatched in a run
  double accepted; // the value of `widest` when the first of the accepted values was found
  bool shared; // another thread used the core all the time
  bool disturbed; // other work disturbed a loop that was measured since the last figure
  nw_figure figure[NW_MOST_FIGURES];
  int n;
} nw_calibration;

#define NW_BENCH_BYTES (64 << 10)
#define NW_UNSHARED 0.92 // a smaller share of the dispatch rate shows that another thread used the core

// Measures the clock and how many instructions the core can dispatch. dispatch: what the record of this processor says
// about it; 0 if unknown.
void nw_calibrate_clock(nw_calibration *k, double dispatch);
// Returns the cycles of one iteration.
double nw_cycles_of(nw_calibration *k, nw_bench_loop loop, void *data);

// Reports progress. Returns false when interrupted.
bool nw_calibration_goes_on(nw_calibration *k);
// Keeps the value that this pass measured for a figure.
void nw_found(nw_calibration *k, nw_bounds bounds, double value, const char *path, ...) NW_PRINTF(4, 5);
bool nw_part_settled(const nw_calibration *k, int part); // whether two passes agree on each of its figures
void nw_report_figures(const nw_calibration *k, nw_calibrated_fn found, void *env);

// Runs a loop of the STREAM benchmark once over the data; `bytes` is a multiple of 4096.
void nw_stream_pass(nw_stream loop, char *data, int64_t bytes);

// Each of these functions measures one part. It returns false when interrupted or on failure.
bool nw_calibrate_ops(nw_calibration *k);
bool nw_calibrate_math(nw_calibration *k);
bool nw_calibrate_core(nw_calibration *k);
bool nw_calibrate_window(nw_calibration *k);
bool nw_calibrate_levels(nw_calibration *k);
bool nw_calibrate_teams(nw_calibration *k);
