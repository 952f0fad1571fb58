// Measures the capacity of the reorder buffer, the delay of store forwarding, and stores to successive lines.
//
// Two loads that miss the cache overlap if the reorder buffer can hold both loads and the code between them. If they
// overlap, they take as long as one load, otherwise as long as two loads (H. Wong, "Measuring Reorder Buffer Capacity",
// 2013).
#include "run/calibrate/calibrate.h"
#include "run/timing/evict.h"

#if defined __x86_64__

#define MEMORY ((int64_t)16 << 20)

typedef struct misses {
  char *base; // memory that contains only zeros
  uint64_t mask, random;
} misses;

// Computes the next random address, in rax, from the state in a register.
#define STEP(state)                                                                                                    \
  "imul %[by], %%" state "\n\tadd $12345, %%" state "\n\tmov %%" state                                                 \
  ", %%rax\n\tshr $20, %%rax\n\tand %[mask], %%rax\n\t"
#define NOPS(n) ".rept " n "\n\tnop\n\t.endr\n\t"
#define MISSING(name, text)                                                                                            \
  static void name(int64_t rounds, void *data) {                                                                       \
    misses *m = data;                                                                                                  \
    uint64_t at = m->random;                                                                                           \
    __asm__ volatile(                                                                                                  \
        "mov %[at], %%r8\n\tlea 99(%[at]), %%r9\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t1:\n\t" text            \
        "dec %[n]\n\tjnz 1b\n\tmov %%r8, %[at]"                                                                        \
        : [n] "+r"(rounds), [at] "+r"(at)                                                                              \
        : [base] "r"(m->base), [mask] "r"(m->mask), [by] "r"(UINT64_C(6364136223846793005))                            \
        : "cc", "memory", "rax", "r8", "r9", "r10", "r11");                                                            \
    m->random = at;                                                                                                    \
  }

// There are two chains; each load waits for the previous load of its chain.
#define LATE(state, value) "add %%" value ", %%" state "\n\t" STEP(state) "mov (%[base],%%rax), %%" value "\n\t"
#define APART(n) MISSING(apart_##n, LATE("r8", "r10") NOPS(#n) LATE("r9", "r11") NOPS(#n))
MISSING(one_chain, LATE("r8", "r10"))
#define SIZES(each)                                                                                                    \
  each(64) each(96) each(128) each(160) each(192) each(224) each(256) each(320) each(384) each(448) each(512) each(640)
SIZES(APART)

#define ROW(n) {n, apart_##n},
static const struct {
  int nops;
  nw_bench_loop loop;
} apart[] = {SIZES(ROW)};

#define STORE_LOAD(move, reg) ".rept 24\n\t" move " %%" reg "0, (%1)\n\t" move " (%1), %%" reg "0\n\t.endr\n\t"
NW_BENCH_LOOP(forward_one, "", STORE_LOAD("vmovss", "xmm"), "")
NW_BENCH_LOOP(forward_ymm, "", STORE_LOAD("vmovups", "ymm"), "vzeroupper")
NW_BENCH_LOOP(forward_zmm, "", STORE_LOAD("vmovups", "zmm"), "vzeroupper")
NW_BENCH_LOOP(masked_ymm, "vpcmpeqd %%ymm15, %%ymm15, %%ymm15\n\tvpsrldq $4, %%ymm15, %%ymm15\n\t",
              ".rept 24\n\tvmaskmovps %%ymm0, %%ymm15, (%1)\n\tvmovups (%1), %%ymm0\n\t.endr\n\t", "vzeroupper")
NW_BENCH_LOOP(masked_zmm, "mov $0x0fff, %%eax\n\tkmovw %%eax, %%k1\n\t",
              ".rept 24\n\tvmovups %%zmm0, (%1)%{%%k1%}\n\tvmovups (%1), %%zmm0\n\t.endr\n\t", "vzeroupper")

NW_BENCH_LOOP(store_lines, "", ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\tmov %%rax, \\r*64(%1)\n\t.endr\n\t", "")

static void measure_forwarding(nw_calibration *k) {
  bool wide = k->width == 3;
  double one = nw_cycles_of(k, forward_one, k->data) / 24,
         whole = nw_cycles_of(k, wide ? forward_zmm : forward_ymm, k->data) / 24;
  nw_found(k, NW_CYCLES(0.5, 60), one > whole ? one : whole, "forward");
  nw_found(k, NW_CYCLES(0.5, 200), nw_cycles_of(k, wide ? masked_zmm : masked_ymm, k->data) / 24, "forward_masked");
}

// Returns the cycles of an iteration of a loop whose loads miss the caches. The lines are flushed before each loop,
// because each loop brings some of them into the caches.
static double cycles_of_misses(nw_calibration *k, nw_bench_loop loop, misses *m) {
  nw_flush(m->base, (size_t)MEMORY);
  return nw_cycles_of(k, loop, m);
}

// Returns the number of instructions between two loads at which half of their overlap is lost. The number is
// interpolated between the numbers that are tried. Returns 0 if it is not in the range of these numbers.
static double window(nw_calibration *k, misses *m) {
  double alone = cycles_of_misses(k, one_chain, m), longer = 0;
  for (int i = NW_COUNT(apart) - 1; i >= 0; i--) {
    double share = cycles_of_misses(k, apart[i].loop, m) / alone;
    if (share <= 1.5 && longer > 1.5)
      return apart[i].nops + (1.5 - share) / (longer - share) * (apart[i + 1].nops - apart[i].nops);
    longer = share;
  }
  return 0;
}

bool nw_calibrate_window(nw_calibration *k) {
  if (k->width >= 2) measure_forwarding(k);
  nw_found(k, NW_RATE(0.2, 4), 12 / nw_cycles_of(k, store_lines, k->data), "store_lines");
  char *base = nw_mem_get(&nw_session_of(k->ctx)->mem, (size_t)MEMORY, true);
  if (!base) return nw_fail(k->ctx, NW_ELIMIT, NULL, "measuring the reorder buffer needs 16 MiB of free memory"), false;
  memset(base, 0, (size_t)MEMORY);
  misses m = {base, (uint64_t)(MEMORY - 1) & ~UINT64_C(63), 5};
  bool good = nw_calibration_goes_on(k);
  if (good) nw_found(k, NW_SHARED_RATE(32, 1024), window(k, &m), "window");
  nw_mem_put(&nw_session_of(k->ctx)->mem, base);
  return good;
}

#endif
