// What this machine can do at most: a loop of independent fused multiply-adds, and the clock it runs at.
#include "run/guard.h"
#include "hw/hw.h"

#define ROUNDS 20000
#define CHAINS 24 // independent accumulators: two units with a latency of four need eight at least

#if defined __x86_64__

// Registers by name: an array of vectors is spilled by some compilers, and the figure would be half of the truth.
#define EACH(OP)                                                                                                       \
  OP(0)                                                                                                                \
  OP(1)                                                                                                                \
  OP(2)                                                                                                                \
  OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11) OP(12) OP(13) OP(14) OP(15) OP(16) OP(17) OP(18) OP(19)      \
      OP(20) OP(21) OP(22) OP(23)
#define FMA512(n) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #n "\n\t"
#define ZERO512(n) "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"

__attribute__((target("avx512f"))) static void fma_avx512(int64_t rounds) {
  __asm__ volatile(EACH(ZERO512) ZERO512(30) ZERO512(31) "1:\n\t" EACH(FMA512) "dec %0\n\tjnz 1b\n\tvzeroupper"
                   : "+r"(rounds)
                   :
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21",
                     "xmm22", "xmm23", "xmm30", "xmm31");
}

#define EACH12(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define FMA256(n) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #n "\n\t"
#define ZERO256(n) "vxorps %%ymm" #n ", %%ymm" #n ", %%ymm" #n "\n\t"

__attribute__((target("avx2,fma"))) static void fma_avx2(int64_t rounds) {
  __asm__ volatile(EACH12(ZERO256) ZERO256(14) ZERO256(15) "1:\n\t" EACH12(FMA256)
                       EACH12(FMA256) "dec %0\n\tjnz 1b\n\tvzeroupper"
                   : "+r"(rounds)
                   :
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm14", "xmm15");
}

#define MULADD128(n) "mulps %%xmm15, %%xmm" #n "\n\taddps %%xmm14, %%xmm" #n "\n\t"
#define ZERO128(n) "xorps %%xmm" #n ", %%xmm" #n "\n\t"

static void fma_sse(int64_t rounds) {
  __asm__ volatile(EACH12(ZERO128) ZERO128(14) ZERO128(15) "1:\n\t" EACH12(MULADD128)
                       EACH12(MULADD128) "dec %0\n\tjnz 1b"
                   : "+r"(rounds)
                   :
                   : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm14", "xmm15");
}

static int64_t add_chain(int64_t rounds) {
  int64_t x = 1, y = 3;
  __asm__ volatile("1:\n\t.rept 64\n\tadd %1, %0\n\t.endr\n\tdec %2\n\tjnz 1b" : "+r"(x) : "r"(y), "r"(rounds) : "cc");
  return x;
}

typedef void (*fma_loop)(int64_t rounds);

static fma_loop widest(int *lanes) {
  *lanes = __builtin_cpu_supports("avx512f")                                 ? 16
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 8
                                                                             : 4;
  return *lanes == 16 ? fma_avx512 : *lanes == 8 ? fma_avx2 : fma_sse;
}

typedef struct job {
  nw_frame frame;
  fma_loop loop;
} job;

static void loop_once(nw_frame *f, void *env, int64_t begin, int64_t end, int64_t thread) {
  (void)f, (void)thread;
  for (int64_t i = begin; i < end; i++) ((job *)env)->loop(ROUNDS);
}

static void all_threads(nw_frame *f) { nw_parallel_for(f, loop_once, f, f->threads); }

// The best of several rounds of about two milliseconds; by the thread's own clock when there is one thread.
double nw_peak_flops(nw_ctx *c, int threads) {
  int lanes;
  job j = {.loop = widest(&lanes)};
  if (threads <= 0) threads = nw_host()->cores;
  j.frame = (nw_frame){.threads = threads < NW_MAX_TEAM ? threads : NW_MAX_TEAM, .name = "the peak loop"};
  double best = 0, work = 2.0 * ROUNDS * CHAINS * lanes * j.frame.threads;
  double (*clock)(void) = threads > 1 ? nw_now : nw_cpu_now;
  for (int i = 0; i < 12; i++) {
    double start = clock();
    if (!nw_guarded_call(c, all_threads, &j.frame)) return 0;
    double rate = work / (clock() - start);
    if (i > 1 && rate > best) best = rate;
  }
  return best;
}

// Cycles a second while this core computes: a chain of dependent adds takes one cycle each.
double nw_core_hz(void) {
  double best = 0;
  for (int i = 0; i < 8; i++) {
    double start = nw_cpu_now();
    volatile int64_t sink = add_chain(50000);
    (void)sink;
    double rate = 50000.0 * 64 / (nw_cpu_now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

// The measured peak of one thread against two units of full width: what the loop above would do at best on cores that
// have two. A peak loop that spilled would flatter everything compared with it.
double nw_peak_vs_ports(nw_ctx *c) {
  int lanes;
  widest(&lanes);
  double peak = nw_peak_flops(c, 1), hz = nw_core_hz();
  return hz > 0 ? peak / (hz * lanes * 2 * 2) : 0;
}

#else

double nw_peak_flops(nw_ctx *c, int threads) {
  (void)threads;
  nw_fail(c, NW_ELIMIT, NULL, "the peak is measured on x86-64 only");
  return 0;
}

double nw_core_hz(void) { return 0; }

double nw_peak_vs_ports(nw_ctx *c) { return nw_peak_flops(c, 1); }

#endif
