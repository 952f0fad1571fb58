// Measures the peak rate of floating-point operations of this machine, with a loop of independent fused multiply-adds.
// Also measures the clock frequency.
#include "run/guard.h"
#include "run/timing/series.h"
#include "hw/hw.h"
#include <stdlib.h>

#define ROUNDS 20000
#define SAMPLE_SECONDS 2e-3 // seconds of a sample with one thread
#define TEAM_SECONDS 1e-2 // seconds with several threads: much longer than starting threads takes on a busy machine
#define ADDS (64 * 125000)
#define SAMPLES 12
// Number of multiply-adds in an iteration. They have 24 or 12 independent accumulators. Two units with a latency of
// four cycles need at least eight accumulators.
#define CHAINS 24

#if defined __x86_64__

// Registers are named explicitly, because some compilers spill an array of vectors. Spilling would halve the rate.
#define EACH(registers, text) ".irp r, " registers "\n\t" text "\n\t.endr\n\t"
#define FIRST12 "0,1,2,3,4,5,6,7,8,9,10,11"
#define FIRST24 FIRST12 ",12,13,14,15,16,17,18,19,20,21,22,23"
#define CLOBBER12                                                                                                      \
  "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14",     \
      "xmm15"
#define LOOP "dec %0\n\tjnz 1b\n\t"

#define LOOPS(type, mul, add, fma)                                                                                     \
  __attribute__((target("avx512f"))) static void type##_avx512(int64_t rounds) {                                       \
    __asm__ volatile(EACH(FIRST24 ",30,31", "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r") "1:\n\t" EACH(                      \
                         FIRST24, fma " %%zmm30, %%zmm31, %%zmm\\r") LOOP "vzeroupper"                                 \
                     : "+r"(rounds)                                                                                    \
                     :                                                                                                 \
                     : CLOBBER12, "xmm12", "xmm13", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",     \
                       "xmm23", "xmm30", "xmm31");                                                                     \
  }                                                                                                                    \
  __attribute__((target("avx2,fma"))) static void type##_avx2(int64_t rounds) {                                        \
    __asm__ volatile(EACH(FIRST12 ",14,15", "vxorps %%ymm\\r, %%ymm\\r, %%ymm\\r") "1:\n\t" EACH(                      \
                         FIRST12 "," FIRST12, fma " %%ymm14, %%ymm15, %%ymm\\r") LOOP "vzeroupper"                     \
                     : "+r"(rounds)                                                                                    \
                     :                                                                                                 \
                     : CLOBBER12);                                                                                     \
  }                                                                                                                    \
  static void type##_sse(int64_t rounds) {                                                                             \
    __asm__ volatile(EACH(FIRST12 ",14,15", "xorps %%xmm\\r, %%xmm\\r") "1:\n\t" EACH(                                 \
                         FIRST12 "," FIRST12, mul " %%xmm15, %%xmm\\r\n\t" add " %%xmm14, %%xmm\\r") LOOP              \
                     : "+r"(rounds)                                                                                    \
                     :                                                                                                 \
                     : CLOBBER12);                                                                                     \
  }

// With twelve accumulators, each is used twice per iteration, so that every loop does CHAINS operations per iteration.
LOOPS(f32, "mulps", "addps", "vfmadd231ps")
LOOPS(f64, "mulpd", "addpd", "vfmadd231pd")

static int64_t add_chain(int64_t rounds) {
  int64_t x = 1, y = 3;
  __asm__ volatile("1:\n\t.rept 64\n\tadd %1, %0\n\t.endr\n\tdec %2\n\tjnz 1b" : "+r"(x) : "r"(y), "r"(rounds) : "cc");
  return x;
}

typedef void (*fma_loop)(int64_t rounds);

// Returns the loop with the widest vectors, and sets *lanes to the number of elements in one of these vectors.
static fma_loop widest(nw_dtype type, int *lanes) {
  static const fma_loop loops[][3] = {{f32_sse, f32_avx2, f32_avx512}, {f64_sse, f64_avx2, f64_avx512}};
  int width = __builtin_cpu_supports("avx512f")                                 ? 2
              : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1
                                                                                : 0;
  *lanes = (16 << width) / nw_dtype_bytes(type);
  return loops[type == NW_F64][width];
}

typedef struct job {
  nw_frame frame;
  fma_loop loop;
  int times; // runs of the loop per thread in a sample
} job;

static void loop_once(nw_frame *f, void *env, int64_t begin, int64_t end, int64_t thread) {
  (void)f, (void)thread;
  job *j = env;
  for (int64_t i = begin; i < end; i++)
    for (int k = 0; k < j->times; k++) j->loop(ROUNDS);
}

static void all_threads(nw_frame *f) { nw_parallel_for(f, loop_once, f, f->threads, 0); }

// Returns the number of runs of the loop in a sample, computed from the fastest of three runs.
static int fits(fma_loop loop, double sample) {
  double best = sample;
  for (int i = 0; i < 3; i++) {
    double start = nw_cpu_now();
    loop(ROUNDS);
    double t = nw_cpu_now() - start;
    if (t < best) best = t;
  }
  return best > 0 ? (int)(sample / best) : 1;
}

typedef struct peak_job {
  nw_ctx *c;
  job job;
  double work; // operations in a sample
} peak_job;

static double rate(void *env) {
  peak_job *p = env;
  double start = nw_now();
  return nw_guarded_call(p->c, all_threads, &p->job.frame) ? p->work / (nw_now() - start) : -1;
}

bool nw_peak_flops(nw_ctx *c, nw_dtype type, int threads, nw_rates *out) {
  int lanes, most = threads > 0 ? threads : nw_host()->cores;
  peak_job p = {.c = c, .job = {.loop = widest(type, &lanes)}};
  p.job.frame = (nw_frame){.threads = most < NW_MAX_TEAM ? most : NW_MAX_TEAM, .name = "the peak loop"};
  p.job.times = fits(p.job.loop, p.job.frame.threads > 1 ? TEAM_SECONDS : SAMPLE_SECONDS);
  p.work = 2.0 * ROUNDS * p.job.times * CHAINS * lanes * p.job.frame.threads;
  *out = (nw_rates){0};
  if (!(rate(&p) > 0)) return false; // the first call also creates the threads
  return nw_rates_of(c, &(nw_subject){p.job.frame.threads, rate, &p, NULL}, SAMPLES, out);
}

// Returns the cycles per second of this core while it computes. They are measured with a chain of dependent additions,
// which take one cycle each.
double nw_core_hz(void) {
  double rate[12];
  for (int i = 0; i < NW_COUNT(rate); i++) {
    double start = nw_cpu_now();
    volatile int64_t sink = add_chain(ADDS / 64);
    (void)sink;
    rate[i] = ADDS / (nw_cpu_now() - start);
  }
  return nw_rates_peak(&(nw_rates){.n = NW_COUNT(rate), .rate = rate});
}

// Returns the ratio of the measured peak of one thread to the peak of two full-width units. A small ratio shows that
// the peak loop spills registers. Its result is then too low, and every kernel looks too good in comparison. Returns 0
// on failure.
double nw_peak_vs_ports(nw_ctx *c) {
  int lanes;
  widest(NW_F32, &lanes);
  nw_rates r;
  double hz = nw_core_hz();
  if (!nw_peak_flops(c, NW_F32, 1, &r)) return 0;
  double peak = nw_rates_peak(&r);
  free(r.rate);
  return hz > 0 ? peak / (hz * lanes * 2 * 2) : 0;
}

#else

bool nw_peak_flops(nw_ctx *c, nw_dtype type, int threads, nw_rates *out) {
  (void)type, (void)threads;
  *out = (nw_rates){0};
  return nw_fail(c, NW_ELIMIT, NULL, "the peak is measured on x86-64 only");
}

double nw_core_hz(void) { return 0; }

double nw_peak_vs_ports(nw_ctx *c) {
  nw_rates none;
  return nw_peak_flops(c, NW_F32, 1, &none), 0;
}

#endif
