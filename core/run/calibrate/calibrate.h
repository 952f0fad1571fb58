// Micro-benchmarks of this machine: their form and their timing. Private to run/.
//
// A loop is compared with a chain of dependent additions, each of which takes one cycle. The two are run alternately,
// in short runs. The minimum time of an iteration of the loop, divided by the minimum time of an addition, is the
// number of cycles. So neither a changing clock frequency nor other processes affect the result.
#pragma once
#include "run/session.h"

typedef void (*nw_bench_loop)(int64_t rounds, void *data);

// Returns the cycles of one iteration.
double nw_cycles_of(nw_bench_loop loop, void *data);
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

// The state of a calibration. Each step reports its results under the path of a field of the machine record.
typedef struct nw_calibration {
  nw_ctx *ctx;
  nw_calibrated_fn found;
  void *env;
  int step, steps;
  double hz; // clock frequency of this core
  int width; // index of the widest vectors that can be measured; -1 if there are none
  char *data; // NW_BENCH_BYTES bytes, page-aligned
} nw_calibration;

#define NW_BENCH_BYTES (64 << 10)

// Reports progress. Returns false when interrupted.
bool nw_calibration_goes_on(nw_calibration *k);
void nw_found(nw_calibration *k, double value, const char *path, ...) NW_PRINTF(3, 4);

// Runs a loop of the STREAM benchmark once over the data; `bytes` is a multiple of 4096.
void nw_stream_pass(nw_stream loop, char *data, int64_t bytes);

void nw_flush(char *base, int64_t bytes); // flushes these bytes from every cache

// Each of these functions measures one part. It returns false when interrupted or on failure.
bool nw_calibrate_ops(nw_calibration *k);
bool nw_calibrate_math(nw_calibration *k);
bool nw_calibrate_core(nw_calibration *k);
bool nw_calibrate_window(nw_calibration *k);
bool nw_calibrate_levels(nw_calibration *k);
bool nw_calibrate_teams(nw_calibration *k);
