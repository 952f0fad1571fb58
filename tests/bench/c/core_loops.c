// These loops measure two costs of this core without the calibration. They are plain C over arrays.
#include "peers.h"
#include <stdlib.h>
#include <time.h>
#if defined __AVX2__
#include <immintrin.h>
#endif

#define BRANCHES (1 << 20)
#define TURNS 15

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Returns the seconds of one core cycle. Each multiplication of 64-bit integers needs the result of the previous
// multiplication and takes three cycles.
static double cycle(void) {
  double least = 1e9;
  for (int turn = 0; turn < TURNS; turn++) {
    uint64_t x = 3;
    double start = now();
    for (int i = 0; i < 1000000; i++) {
      x *= 0x9E3779B97F4A7C15u;
      __asm__ volatile("" : "+r"(x));
    }
    double t = (now() - start) / 3e6;
    if (t < least) least = t;
  }
  return least;
}

static double seconds_of_branches(const uint8_t *taken) {
  double least = 1e9;
  for (int turn = 0; turn < TURNS; turn++) {
    uint64_t sum = 0;
    double start = now();
    for (int i = 0; i < BRANCHES; i++) {
      if (taken[i]) { __asm__ volatile("add $1, %0" : "+r"(sum)); }
    }
    double t = now() - start;
    if (t < least) least = t;
  }
  return least;
}

double peer_branch_miss(void) {
  uint8_t *taken = calloc(BRANCHES, 1);
  if (!taken) return 0;
  double steady = seconds_of_branches(taken);
  srand((unsigned)time(NULL));
  for (int i = 0; i < BRANCHES; i++) taken[i] = (uint8_t)(rand() >> 13 & 1);
  double random = seconds_of_branches(taken);
  free(taken);
  return (random - steady) / (BRANCHES / 2.0) / cycle();
}

#if defined __AVX2__

// Returns the seconds of 1000 passes over 8 KiB with adjacent loads of 32 bytes. If `from` is not aligned, every second
// load crosses into the next cache line. The loop is aligned, so that the loads limit the speed.
__attribute__((noinline, optimize("align-loops=64"))) static double seconds_of_loads(const char *from) {
  double least = 1e9;
  for (int turn = 0; turn < TURNS; turn++) {
    double start = now();
    for (int pass = 0; pass < 1000; pass++) {
      for (int at = 0; at < 8192; at += 128) {
        const __m256i *p = (const __m256i *)(from + at);
        __m256i a = _mm256_loadu_si256(p), b = _mm256_loadu_si256(p + 1), c = _mm256_loadu_si256(p + 2),
                d = _mm256_loadu_si256(p + 3);
        __asm__ volatile("" : : "x"(a), "x"(b), "x"(c), "x"(d) : "memory");
      }
    }
    double t = now() - start;
    if (t < least) least = t;
  }
  return least;
}

double peer_line_crossing(void) {
  char *data = aligned_alloc(64, 16384);
  if (!data) return 0;
  for (int i = 0; i < 16384; i++) data[i] = (char)i;
  double within = seconds_of_loads(data), across = seconds_of_loads(data + 44);
  free(data);
  return (across - within) / (1000.0 * 8192 / 64) / cycle();
}

#else

double peer_line_crossing(void) { return 0; }

#endif
