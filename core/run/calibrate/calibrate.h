// Declares the micro-benchmarks that measure this machine. This header is private to run/.
//
// A loop is compared with a chain of dependent additions, because an addition takes one cycle. The loop and the chain
// are run in turn, in short runs. The time of an iteration of the loop, divided by the time of an addition, is the
// number of cycles of the iteration. So a changing clock frequency does not affect the result.
//
// A run is discarded if other work disturbed it. There are two signs of a disturbance. The chains before and after the
// run take different times. Or the core is slower than it can be, because another thread uses the core too: it dispatches
// fewer instructions per cycle, or it takes fewer branches. A thread that often waits for memory dispatches few
// instructions itself, but still takes its share of the branches. Each figure is measured in several passes, until two passes agree. A figure is not used if no two passes agree,
// or if it is outside plausible bounds.
#pragma once
#include "run/session.h"

typedef void (*nw_bench_loop)(int64_t rounds, void *data);

// Defines a loop in machine code. An iteration runs `text`; the loop has `rounds` iterations. In the text, %1 is
// `data`.
#define NW_BENCH_LOOP(name, before, text, after)                                                                       \
  static void name(int64_t rounds, void *data) {                                                                       \
    __asm__ volatile(before ".balign 64\n1:\n\t" text "dec %0\n\tjnz 1b\n\t" after                                     \
                     : "+r"(rounds)                                                                                    \
                     : "r"(data)                                                                                       \
                     : "cc", "memory", "rax", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",     \
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",       \
                       "xmm12", "xmm13", "xmm14", "xmm15");                                                            \
  }

// Properties of a figure that are known before it is measured.
typedef struct nw_bounds {
  double least, most; // plausible values
  bool rate; // true for a rate: other work makes a rate smaller, and any other figure greater
  // The share by which the figure's interval extends beyond the measured values. It is nonzero if the figure depends on
  // caches, memory or cores that other programs use too.
  double shared;
} nw_bounds;
#define NW_CYCLES(least, most) ((nw_bounds){least, most, false, 0})
#define NW_RATE(least, most) ((nw_bounds){least, most, true, 0})
#define NW_SHARED_CYCLES(least, most) ((nw_bounds){least, most, false, 0.25})
#define NW_SHARED_RATE(least, most) ((nw_bounds){least, most, true, 0.25})

#define NW_MOST_PASSES 12
#define NW_MOST_FIGURES 192

typedef struct nw_figure {
  char path[48]; // the path of the figure's field in the machine record
  nw_bounds bounds;
  int part; // number of the part of the calibration that measures the figure
  double value[NW_MOST_PASSES]; // the accepted values, at most one for each pass
  int n;
  double implausible; // a value outside the bounds; 0 if there was none
  bool settled; // true if two values agree
} nw_figure;

// How fast the core is while no other thread uses it. Another thread makes at least one of the rates smaller.
typedef struct nw_pace {
  double dispatched; // instructions per cycle
  double branches; // taken branches per cycle
} nw_pace;

// The state of a calibration.
typedef struct nw_calibration {
  nw_ctx *ctx;
  int step, part;
  int width; // index of the widest vectors that can be measured; -1 if there are none
  char *data; // NW_BENCH_BYTES bytes, page-aligned
  double hz; // clock frequency of this core
  double look; // seconds that a reading of the clock takes
  nw_pace best; // the greatest rates that were measured
  nw_pace accepted; // the value of `best` when the first of the accepted values was found
  bool shared; // true if another thread used the core all the time
  bool disturbed; // true if other work disturbed a loop that was measured since the last figure
  nw_figure figure[NW_MOST_FIGURES];
  int n;
} nw_calibration;

#define NW_BENCH_BYTES (64 << 10)
#define NW_UNSHARED 0.92 // a smaller share of a rate shows that another thread used the core
// `best` is the pace of the core when no other thread uses it. True if the given pace shows that no other thread used
// the core.
bool nw_pace_unshared(nw_pace pace, nw_pace best);

// Measures the clock frequency and the pace of the core. `dispatch` is the
// instructions per cycle in the record of this processor, or 0 if unknown.
void nw_calibrate_clock(nw_calibration *k, double dispatch);
// Returns the cycles of one iteration of the loop. Sets k->disturbed if other work disturbed most runs.
double nw_cycles_of(nw_calibration *k, nw_bench_loop loop, void *data);

// True if another pass may begin after `passes` passes, which took this time, because some figures have no two values
// that agree.
bool nw_calibration_again(int passes, double seconds);
// Reports progress. Returns false if interrupted.
bool nw_calibration_goes_on(nw_calibration *k);
// Keeps the value that this pass measured for a figure.
void nw_found(nw_calibration *k, nw_bounds bounds, double value, const char *path, ...) NW_PRINTF(4, 5);
bool nw_part_settled(const nw_calibration *k, int part); // true if two passes agree on each figure of the part
void nw_report_figures(const nw_calibration *k, nw_calibrated_fn found, void *env);

// Returns the bytes per cycle that are written back. It is computed from three rates: `written` is the rate of a loop
// that reads and writes; `before` and `after` are the rates of reading alone, measured before and after this loop. Sets
// k->disturbed if `before` and `after` differ, because the result is a difference of times. Returns infinity if the
// loop takes as long as reading alone.
double nw_back_per_cycle(nw_calibration *k, double before, double written, double after, double differ);
// Runs a loop of the STREAM benchmark once over the data; `bytes` is a multiple of 4096.
void nw_stream_pass(nw_stream loop, char *data, int64_t bytes);

// Each of these functions measures one part. It returns false if interrupted, and on failure.
bool nw_calibrate_ops(nw_calibration *k);
bool nw_calibrate_math(nw_calibration *k);
bool nw_calibrate_core(nw_calibration *k);
bool nw_calibrate_window(nw_calibration *k);
bool nw_calibrate_levels(nw_calibration *k);
bool nw_calibrate_teams(nw_calibration *k);
