// Measures caches and memory: the latency of a line, the bytes per cycle, and the usable part of the last level.
//
// A latency is measured with loads at random addresses, each of which depends on the previous load. The cycles of the
// arithmetic between the loads are measured with loads that hit in the first level, and are subtracted. Memory is
// measured after its lines were flushed from every cache, so that the buffer need not be larger than the largest cache.
#include "run/calibrate/calibrate.h"
#include "run/timing/evict.h"
#include "run/guard.h"
#include "hw/machine.h"
#include <math.h>
#include <stdlib.h>

#if defined __x86_64__

#define LINE 64
#define MEMORY ((int64_t)32 << 20) // bytes measured in memory
#define MOST ((int64_t)128 << 20) // limit on the bytes measured in a cache
#define SAMPLES 3
#define ZEROS (32 << 10) // offset in bytes of the part of k->data that is always zero
#define PAGE 4096

typedef struct chase {
  char *base; // memory that contains only zeros
  uint64_t mask, random;
} chase;

static void chase_random(int64_t rounds, void *data) {
  chase *c = data;
  __asm__ volatile(
      "xor %%r9d, %%r9d\n\t1:\n\timul %4, %0\n\tlea 12345(%0,%%r9), %0\n\tmov %0, %%rax\n\tshr $20, %%rax\n\t"
      "and %3, %%rax\n\tmov (%2,%%rax), %%r9\n\tdec %1\n\tjnz 1b"
      : "+r"(c->random), "+r"(rounds)
      : "r"(c->base), "r"(c->mask), "r"(UINT64_C(6364136223846793005))
      : "cc", "memory", "rax", "r9");
}

NW_BENCH_LOOP(chase_self, "mov %1, %%r8\n\t", ".rept 24\n\tmov (%%r8), %%r8\n\t.endr\n\t", "")

static int64_t power_of_two(int64_t v) {
  int64_t p = 1;
  while (p <= v / 2) p *= 2;
  return p;
}

static double random_cycles(nw_calibration *k, char *base, int64_t bytes) {
  chase c = {base, (uint64_t)(power_of_two(bytes) - 1) & ~UINT64_C(63), 1};
  for (int64_t i = 0; i < bytes; i += LINE) *(volatile char *)(base + i);
  return nw_cycles_of(k, chase_random, &c);
}

// ---- latency

static double first_latency(nw_calibration *k) {
  void **self = (void **)(void *)k->data;
  *self = self;
  double cycles = nw_cycles_of(k, chase_self, k->data) / 24;
  *self = NULL;
  return cycles;
}

static double memory_latency(nw_calibration *k, char *base, int64_t bytes) {
  chase c = {base, (uint64_t)(power_of_two(bytes) - 1) & ~UINT64_C(63), 7};
  nw_flush(base, (size_t)bytes);
  return nw_cycles_of(k, chase_random, &c);
}

// Returns the bytes of the usable part of a level. The sizes `from`, 2 * `from`, 4 * `from` and so on are tried in
// turn, up to `to`. The result is the last size before the latency exceeds the geometric mean of the latencies of the
// level and of memory.
static int64_t effective(nw_calibration *k, char *base, int64_t from, int64_t to, double level, double memory) {
  int64_t found = from;
  for (int64_t bytes = 2 * from; bytes <= to; bytes *= 2) {
    if (!nw_calibration_goes_on(k) || random_cycles(k, base, bytes) > sqrt(level * memory)) break;
    found = bytes;
  }
  return found;
}

static bool measure_latencies(nw_calibration *k, char *base, int64_t room) {
  const nw_machine_info *m = nw_host();
  double first = first_latency(k), idle = random_cycles(k, k->data + ZEROS, PAGE),
         memory = memory_latency(k, base, MEMORY) - idle + first;
  nw_found(k, NW_CYCLES(2, 12), first, "caches[1].latency");
  for (int i = 1; i < m->ncaches; i++) {
    if (!nw_calibration_goes_on(k)) return false;
    bool last = i == m->ncaches - 1;
    int64_t above = power_of_two(m->cache[i - 1].bytes), bytes = last ? 4 * above : power_of_two(m->cache[i].bytes / 2);
    if (bytes > room) bytes = room;
    double cycles = random_cycles(k, base, bytes) - idle + first;
    nw_found(k, last ? NW_SHARED_CYCLES(8, 500) : NW_CYCLES(5, 100), cycles, "caches[%d].latency", i + 1);
    if (last) {
      int64_t most = m->cache[i].bytes < room ? m->cache[i].bytes : room;
      int64_t held = effective(k, base, bytes, most, cycles + idle - first, memory + idle - first);
      // The sizes that are tried are a factor of two apart, so the true size may be up to twice the result.
      // Therefore the share in nw_bounds is 1.
      nw_bounds bounds = {1, 1e15, true, 1};
      nw_found(k, bounds, (double)(held * 2 > most ? m->cache[i].bytes : held), "caches[%d].effective_bytes", i + 1);
    }
  }
  nw_found(k, NW_SHARED_CYCLES(20, 1500), memory / k->hz * 1e9, "memory.latency");
  return !nw_stopped(k->ctx);
}

// ---- bytes per cycle

typedef struct stream {
  nw_stream loop;
  char *base;
  int64_t bytes;
} stream;

static void stream_passes(int64_t rounds, void *data) {
  stream *s = data;
  for (int64_t i = 0; i < rounds; i++) nw_stream_pass(s->loop, s->base, s->bytes);
}

static double bytes_per_cycle(nw_calibration *k, nw_stream loop, char *base, int64_t bytes) {
  stream s = {loop, base, bytes / PAGE * PAGE};
  return (double)s.bytes / nw_cycles_of(k, stream_passes, &s);
}

// A loop that writes fetches every line and writes it back. So the time of writing back is the time of the loop minus the
// time of fetching. If a processor does both at the same time, the result is implausibly high, and is not used.
double nw_back_per_cycle(nw_calibration *k, double before, double written, double after, double differ) {
  double back = 1 / written - (1 / before + 1 / after) / 2;
  if (fmax(before, after) > (1 + differ) * fmin(before, after)) k->disturbed = true;
  return back > 0 ? 1 / back : INFINITY;
}

#define MOST_PER_CYCLE 260 // slightly more than the bytes of two loads and two stores of the widest vectors
#define BACK_TRIES 4
#define DIFFER                                                                                                         \
  0.03 // the largest difference of two bandwidths of reading between which the loop that writes is measured
#define DIFFER_SHARED 0.08

// Measures the bytes per cycle that are written back. Other work on a shared cache changes the time of reading, so the
// reading is measured before and after the writing. If the two differ, the measurement is repeated. Returns the last
// result.
static double written_back(nw_calibration *k, nw_bounds bounds, double read, char *base, int64_t bytes) {
  double back = 0;
  for (int i = 0; i < BACK_TRIES; i++) {
    k->disturbed = false;
    double written = bytes_per_cycle(k, NW_STREAM_WRITE, base, bytes),
           after = bytes_per_cycle(k, NW_STREAM_READ, base, bytes);
    back = nw_back_per_cycle(k, read, written, after, bounds.shared > 0 ? DIFFER_SHARED : DIFFER);
    if (!k->disturbed && back <= bounds.most) break;
    read = after;
  }
  return back;
}

static void measure_rates(nw_calibration *k, int level, bool last, char *base, int64_t bytes) {
  nw_bounds bounds = last ? NW_SHARED_RATE(0.2, 130) : NW_RATE(0.5, level == 1 ? MOST_PER_CYCLE : 130);
  double read = bytes_per_cycle(k, NW_STREAM_READ, base, bytes);
  nw_found(k, bounds, read, "caches[%d].bytes_per_cycle", level);
  double back =
      level == 1 ? bytes_per_cycle(k, NW_STREAM_WRITE, base, bytes) : written_back(k, bounds, read, base, bytes);
  nw_found(k, bounds, back, "caches[%d].back_per_cycle", level);
}

typedef struct columns { // an array that is accessed by columns of lines
  char *base;
  int64_t bytes, step, column; // `step`: bytes of a row; `column`: byte in the row at which the next column begins
} columns;

#define COLUMNS(name, access, after)                                                                                   \
  static void name(int64_t rounds, void *data) {                                                                       \
    columns *c = data;                                                                                                 \
    for (int64_t i = 0; i < rounds; i++, c->column = (c->column + LINE) % c->step) {                                   \
      char *at = c->base + c->column, *end = at + c->bytes;                                                            \
      __asm__ volatile("1:\n\t" access "\n\tadd %2, %0\n\tcmp %1, %0\n\tjb 1b\n\t" after                               \
                       : "+r"(at)                                                                                      \
                       : "r"(end), "r"(c->step)                                                                        \
                       : "cc", "memory", "rax", "xmm0", "xmm1", "xmm2");                                               \
    }                                                                                                                  \
  }
// Each step makes nine loads, which all cross into a second line. They are like the loads of a window of three rows and
// three columns.
#define THREE(reg, row) ".irp r,0,1,2\n\tvmovups 36+4*\\r(%0" row "), %%" reg "\\r\n\t.endr\n\t"
#define WINDOW(reg) THREE(reg, "") THREE(reg, ",%2") THREE(reg, ",%2,2")
#define WINDOW_LOADS 9
COLUMNS(load_columns, "mov (%0), %%rax", "")
COLUMNS(store_columns, "mov %%rax, (%0)", "")
COLUMNS(across_ymm, WINDOW("ymm"), "vzeroupper")
COLUMNS(across_zmm, WINDOW("zmm"), "vzeroupper")

static double of_columns(nw_calibration *k, nw_bench_loop loop, char *base, int64_t bytes, int64_t step) {
  columns c = {base, bytes / step * step, step, 0};
  loop(step / LINE, &c);
  return nw_cycles_of(k, loop, &c) / (double)(bytes / step);
}

// Measures accesses by columns. If the length of a row is an odd multiple of four lines, a column uses many cache sets.
// If the length is a whole page, a column uses only a few sets.
static void measure_columns(nw_calibration *k, int level, bool last, char *base, int64_t bytes) {
  nw_bounds bounds = last ? NW_SHARED_CYCLES(0.1, 1000) : NW_CYCLES(0.1, 400);
  int64_t step = PAGE - 4 * LINE;
  nw_found(k, bounds, of_columns(k, load_columns, base, bytes, step), "caches[%d].strided", level);
  nw_found(k, bounds, of_columns(k, store_columns, base, bytes, step), "caches[%d].strided_store", level);
  nw_found(k, bounds, of_columns(k, store_columns, base, bytes, PAGE), "caches[%d].crowded_store", level);
  if (k->width < 2) return;
  double across = of_columns(k, k->width == 3 ? across_zmm : across_ymm, base, bytes, step);
  nw_found(k, bounds, across / WINDOW_LOADS, "caches[%d].strided_across", level);
}

static bool measure_levels(nw_calibration *k) {
  const nw_machine_info *m = nw_host();
  for (int i = 0; i < m->ncaches; i++) {
    if (!nw_calibration_goes_on(k)) return false;
    bool last = i > 0 && i == m->ncaches - 1;
    int64_t bytes = last ? 4 * m->cache[i - 1].bytes : m->cache[i].bytes / 2;
    char *base = nw_mem_get(&nw_session_of(k->ctx)->mem, (size_t)bytes + 5 * PAGE, true);
    if (!base) return nw_fail(k->ctx, NW_ELIMIT, NULL, "there is not enough memory to measure the caches"), false;
    memset(base, 0, (size_t)bytes + 5 * PAGE); // pages that were never written all share one page of zeros
    char *page = base + -(uintptr_t)base % PAGE;
    measure_rates(k, i + 1, last, page, bytes);
    if (i > 0) measure_columns(k, i + 1, last, page, bytes);
    nw_mem_put(&nw_session_of(k->ctx)->mem, base);
  }
  return true;
}

// ---- memory

typedef struct team {
  char *base;
  int64_t each; // bytes for each thread
} team;

static void flush_part(void *arg, int t) {
  team *x = arg;
  nw_flush(x->base + t * x->each, (size_t)x->each);
}

static void read_part(void *arg, int t) {
  team *x = arg;
  nw_stream_pass(NW_STREAM_READ, x->base + t * x->each, x->each);
}

static double memory_bandwidth(char *base, int64_t bytes, int threads) {
  team x = {base, bytes / threads / 4096 * 4096};
  double best = 0;
  for (int i = 0; i < SAMPLES; i++) {
    nw_team_run(threads, flush_part, &x);
    double start = nw_now();
    nw_team_run(threads, read_part, &x);
    best = fmax(best, (double)(x.each * threads) / (nw_now() - start));
  }
  return best / 1e9;
}

static bool measure_memory(nw_calibration *k, char *base) {
  int threads = nw_host()->cores < 64 ? nw_host()->cores : 64;
  if (!nw_team_prepare(threads)) threads = 1;
  if (!nw_calibration_goes_on(k)) return false;
  double one = memory_bandwidth(base, MEMORY, 1);
  nw_found(k, NW_SHARED_RATE(0.1, 3000), one, "memory.bandwidth");
  if (!nw_calibration_goes_on(k)) return false;
  nw_found(k, NW_SHARED_RATE(0.1, 30000), threads > 1 ? fmax(one, memory_bandwidth(base, MEMORY, threads)) : one,
           "memory.bandwidth_all");
  return true;
}

bool nw_calibrate_levels(nw_calibration *k) {
  if (!measure_levels(k)) return false;
  int64_t room = power_of_two(nw_memory_left() / 4);
  if (room > MOST) room = MOST;
  char *base = room >= MEMORY ? nw_mem_get(&nw_session_of(k->ctx)->mem, (size_t)room, true) : NULL;
  if (!base) return nw_fail(k->ctx, NW_ELIMIT, NULL, "measuring memory needs 128 MiB of free memory"), false;
  memset(base, 0, (size_t)room);
  bool good = measure_latencies(k, base, room) && measure_memory(k, base);
  nw_mem_put(&nw_session_of(k->ctx)->mem, base);
  return good;
}

#endif
