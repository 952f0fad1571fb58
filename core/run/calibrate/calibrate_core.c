// Measures the cycles that a core needs for loops, calls, mispredicted branches, accesses that cross lines and pages,
// loads that alias with stores, and gathers.
#include "run/calibrate/calibrate.h"
#include "hw/machine.h"
#include <math.h>

#if defined __x86_64__

#define REPEATED 8 // times that a loop body contains the call or the access that is measured
NW_BENCH_LOOP(empty, "", "", "")
// The calls write below the stack pointer, where the enclosing function may keep data, so the stack pointer is moved
// first.
NW_BENCH_LOOP(called, "sub $256, %%rsp\n\tjmp 1f\n\t3: ret\n\t", ".rept 8\n\tcall 3b\n\t.endr\n\t", "add $256, %%rsp")
NW_BENCH_LOOP(not_called, "", ".rept 8\n\tnop\n\t.endr\n\t", "")

// One loop branches on a bit of a random number, the other loop on a bit that is always 0. Each run continues the
// sequence of random numbers. If each run began with the same number, a processor could learn the whole sequence.
#define RANDOM                                                                                                         \
  "mov %%r8, %%rax\n\tshl $13, %%rax\n\txor %%rax, %%r8\n\tmov %%r8, %%rax\n\tshr $7, %%rax\n\txor %%rax, %%r8\n\t"    \
  "mov %%r8, %%rax\n\tshl $17, %%rax\n\txor %%rax, %%r8\n\t"
#define BRANCH(mask) RANDOM "mov %%r8, %%rax\n\tand $" mask ", %%rax\n\tjz 2f\n\tadd $1, %%r9\n\t2:\n\t"
NW_BENCH_LOOP(branch_random, "mov (%1), %%r8\n\t", BRANCH("1"), "mov %%r8, (%1)")
NW_BENCH_LOOP(branch_steady, "mov (%1), %%r8\n\t", BRANCH("0"), "mov %%r8, (%1)")

// LOADS and STORES access eight lines in turn. PAGE_LOADS loads eight times from the same address, near the end of a
// page. Depending on `at`, each access crosses into the next line or page. PAGE_LOADS does not use several pages,
// because their lines would share a cache set, and the processor may confuse their addresses.
#define LINES(text) ".irp r,0,1,2,3,4,5,6,7\n\t" text "\n\t.endr\n\t"
#define LOADS(reg, at) LINES("vmovups " at "+\\r*64(%1), %%" reg "\\r")
#define STORES(reg, at) LINES("vmovups %%" reg "\\r, " at "+\\r*64(%1)")
#define PAGE_LOADS(reg, at) LINES("vmovups " at "(%1), %%" reg "\\r")
#define CROSSING(reg, half)                                                                                            \
  NW_BENCH_LOOP(load_##reg, "", LOADS(#reg, "0"), "vzeroupper")                                                        \
  NW_BENCH_LOOP(load_crossing_##reg, "", LOADS(#reg, half), "vzeroupper")                                              \
  NW_BENCH_LOOP(page_crossing_##reg, "", PAGE_LOADS(#reg, "3968+" half), "vzeroupper")                                 \
  NW_BENCH_LOOP(store_##reg, "", STORES(#reg, "0"), "vzeroupper")                                                      \
  NW_BENCH_LOOP(store_crossing_##reg, "", STORES(#reg, half), "vzeroupper")
CROSSING(ymm, "48")
CROSSING(zmm, "32")

// These loops load soon after they store to another page. In `aliased`, the load has the offset of the store in its
// page. In `not_aliased`, it has a different offset.
#define STORE_LOAD(at) LINES("mov %%r8, \\r*64(%1)\n\tmov " at "+\\r*64(%1), %%r9")
NW_BENCH_LOOP(aliased, "", STORE_LOAD("4096"), "")
NW_BENCH_LOOP(not_aliased, "", STORE_LOAD("6144"), "")

NW_BENCH_LOOP(gather_ymm, "vmovdqu (%1), %%ymm15\n\t",
              LINES("vpcmpeqd %%ymm14, %%ymm14, %%ymm14\n\tvgatherdps %%ymm14, (%1,%%ymm15,4), %%ymm\\r"), "vzeroupper")
NW_BENCH_LOOP(gather_zmm, "vmovdqu32 (%1), %%zmm15\n\t",
              LINES("kxnorw %%k1, %%k1, %%k1\n\tvgatherdps (%1,%%zmm15,4), %%zmm\\r%{%%k1%}"), "vzeroupper")

NW_BENCH_LOOP(scatter_zmm, "vmovdqu32 (%1), %%zmm15\n\t",
              LINES("kxnorw %%k1, %%k1, %%k1\n\tvscatterdps %%zmm14, (%1,%%zmm15,4)%{%%k1%}"), "vzeroupper")
// An iteration of this loop runs an inner loop. The first number of the data is the number of iterations of the inner
// loop.
NW_BENCH_LOOP(inner, "", "mov (%1), %%r8\n\t.balign 64\n\t2:\n\tdec %%r8\n\tjnz 2b\n\t", "")

#define ERROR 0.2 // cycles: the largest error of a difference between two loops

// Returns by how many cycles `loop` takes longer than the loop `than`, divided by `each`. If `loop` seems to take fewer
// cycles, other work disturbed it.
static double more(nw_calibration *k, nw_bench_loop loop, void *data, nw_bench_loop than, void *other, double each) {
  double cycles = (nw_cycles_of(k, loop, data) - nw_cycles_of(k, than, other)) / each;
  if (cycles < -ERROR) k->disturbed = true;
  return cycles > ERROR ? cycles : 0;
}

// Returns the cycles of a misprediction. Half of the random branches are mispredicted.
static double branch_miss(nw_calibration *k) {
  uint64_t random = UINT64_C(88172645463325252) + (uint64_t)k->step;
  return more(k, branch_random, &random, branch_steady, &random, 0.5);
}

// Returns the additional cycles of a load whose page offset is that of an earlier store. Some processors compare a hash
// of the address instead of the page offset, and the hashes of a few pairs of pages are equal by chance. So the result
// is the minimum over several pairs of pages.
static double alias(nw_calibration *k) {
  double least = INFINITY;
  for (int page = 0; page < 6; page++) {
    char *base = k->data + 4096 * page;
    least = fmin(least, more(k, aliased, base, not_aliased, base, REPEATED));
  }
  return least;
}

static void measure_branches(nw_calibration *k) {
  nw_found(k, NW_CYCLES(0.3, 4), nw_cycles_of(k, empty, k->data), "loop");
  nw_found(k, NW_CYCLES(0.5, 30), more(k, called, k->data, not_called, k->data, REPEATED), "call");
  nw_found(k, NW_CYCLES(5, 60), branch_miss(k), "branch_miss");
  nw_found(k, NW_CYCLES(0, 60), alias(k), "alias_4k");
}

// Measures the longest loop whose end the processor predicts: the number of iterations at which the end of the loop
// costs half of a misprediction. The number is interpolated between 4, 8, 16 and so on, which are tried in turn.
static void measure_foretold(nw_calibration *k) {
  int64_t *trips = (void *)k->data;
  double each = nw_cycles_of(k, empty, k->data), half = branch_miss(k) / 2, last = 0, found = 0;
  for (*trips = 4; *trips <= 1024 && !found; *trips *= 2) {
    double cost = fmax(nw_cycles_of(k, inner, k->data) - (double)*trips * each, 0);
    if (cost >= half) found = (double)*trips * pow(2, last < half ? -(cost - half) / (cost - last) : -1);
    last = cost;
  }
  *trips = 0;
  // The prediction depends on the branches that the processor has seen before. Therefore the share in nw_bounds is 1.
  nw_bounds bounds = {4, 1024, true, 1};
  nw_found(k, bounds, found > 0 ? found : 1024, "foretold");
}

// Returns the additional cycles of an access that crosses a boundary, as the mean over several distances to the
// boundary. Every loop is measured twice, and the faster time is used.
static double crossing(nw_calibration *k, nw_bench_loop across, nw_bench_loop within) {
  enum { DISTANCES = 4 };
  static const int distance[DISTANCES] = {-12, -4, 4, 12};
  char *base = k->data + 64;
  double least[DISTANCES] = {INFINITY, INFINITY, INFINITY, INFINITY}, without = INFINITY, sum = 0;
  for (int i = 0; i < 2 * DISTANCES; i++) {
    double *at = &least[i % DISTANCES];
    *at = fmin(*at, nw_cycles_of(k, across, base + distance[i % DISTANCES]));
    without = fmin(without, nw_cycles_of(k, within, base));
  }
  for (int i = 0; i < DISTANCES; i++) sum += (least[i] - without) / REPEATED;
  return fmax(sum / DISTANCES, 0);
}

static void measure_crossing(nw_calibration *k) {
  bool wide = k->width == 3;
  nw_bench_loop load = wide ? load_zmm : load_ymm, store = wide ? store_zmm : store_ymm;
  nw_bounds bounds = NW_CYCLES(0.05, 60);
  nw_found(k, bounds, crossing(k, wide ? load_crossing_zmm : load_crossing_ymm, load), "line_crossing");
  nw_found(k, bounds, crossing(k, wide ? store_crossing_zmm : store_crossing_ymm, store), "store_crossing");
  bounds.most = 400;
  nw_found(k, bounds, crossing(k, wide ? page_crossing_zmm : page_crossing_ymm, load), "page_crossing");
}

// Measures gathers and scatters. Each lane uses a different line, and all lines are in the first level of cache. No
// lane uses the first line, because it contains the indices, and a scatter must not change them.
static void measure_gather(nw_calibration *k) {
  int lanes = k->width == 3 ? 16 : 8;
  for (int i = 0; i < lanes; i++) ((int32_t *)(void *)k->data)[i] = 16 * (i + 1);
  double cycles = nw_cycles_of(k, lanes == 16 ? gather_zmm : gather_ymm, k->data);
  nw_found(k, NW_CYCLES(0.1, 20), cycles / REPEATED / lanes, "gather");
  if (lanes == 16) nw_found(k, NW_CYCLES(0.1, 20), nw_cycles_of(k, scatter_zmm, k->data) / REPEATED / lanes, "scatter");
}

bool nw_calibrate_core(nw_calibration *k) {
  if (!nw_calibration_goes_on(k)) return false;
  measure_branches(k);
  measure_foretold(k);
  if (!nw_calibration_goes_on(k)) return false;
  if (k->width >= 2) measure_crossing(k);
  if (k->width >= 2) measure_gather(k);
  return true;
}

#endif
