// Micro-benchmarks of this machine: what one of them is, and how it is timed. Private to run/.
//
// A loop is timed next to a chain of dependent additions, which take a cycle each, in short turns; cycles are the least of the
// one over the least of the other. So neither a clock that changes from minute to minute nor other processes show.
#pragma once
#include "run/session.h"

typedef void (*nw_bench_loop)(int64_t rounds, void *data);

// Cycles of a round.
double nw_cycles_of(nw_bench_loop loop, void *data);
// A loop in machine code for the calibration: `rounds` times the text; data is %1.
#define NW_BENCH_LOOP(name, before, text, after)                                                                       \
  static void name(int64_t rounds, void *data) {                                                                       \
    __asm__ volatile(before ".balign 64\n1:\n\t" text "dec %0\n\tjnz 1b\n\t" after                                     \
                     : "+r"(rounds)                                                                                    \
                     : "r"(data)                                                                                       \
                     : "cc", "memory", "rax", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",     \
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",       \
                       "xmm12", "xmm13", "xmm14", "xmm15");                                                            \
  }

// What a calibration goes through, step by step; each says what it found by the path of a machine record's field.
typedef struct nw_calibration {
  nw_ctx *ctx;
  nw_calibrated_fn found;
  void *env;
  int step, steps;
  double hz; // of this core
  int width; // index of the widest vectors that can be measured; -1: none
  char *data; // page-aligned, NW_BENCH_BYTES of it
} nw_calibration;

#define NW_BENCH_BYTES (64 << 10)

// Tells how far it is; false: interrupted.
bool nw_calibration_goes_on(nw_calibration *k);
void nw_found(nw_calibration *k, double value, const char *path, ...) NW_PRINTF(3, 4);

// One pass of a loop of STREAM over the bytes, a multiple of 4096.
void nw_stream_pass(nw_stream loop, char *data, int64_t bytes);

void nw_flush(char *base, int64_t bytes); // out of every cache

// Each measures its part: false when interrupted, or with a failure.
bool nw_calibrate_ops(nw_calibration *k);
bool nw_calibrate_math(nw_calibration *k);
bool nw_calibrate_core(nw_calibration *k);
bool nw_calibrate_window(nw_calibration *k);
bool nw_calibrate_levels(nw_calibration *k);
bool nw_calibrate_teams(nw_calibration *k);
