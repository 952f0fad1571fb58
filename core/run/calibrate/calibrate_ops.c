// Measures the instructions per cycle and the latency of each class of instructions. The instructions per cycle are
// measured for each width of vectors.
#include "run/calibrate/calibrate.h"
#include "hw/machine.h"
#include <stdlib.h>

#if defined __x86_64__

#define MANY 24 // instructions per iteration
#define REGISTERS "0,1,2,3,4,5,6,7,8,9,10,11"
#define EACH(text) ".irp r," REGISTERS "," REGISTERS "\n\t" text "\n\t.endr\n\t"
#define CHAIN(text) ".rept 24\n\t" text "\n\t.endr\n\t"
// Fills all registers with numbers near 1, so that no number is denormal or special.
#define FILL(reg) ".irp r," REGISTERS ",14,15\n\tvmovups (%1), %%" reg "\\r\n\t.endr\n\t"

// RATE makes independent instructions. LATE makes instructions that each need the previous result. The digit is the
// number of operands.
#define RATE3(ins, reg) EACH(ins " %%" reg "14, %%" reg "15, %%" reg "\\r")
#define LATE3(ins, reg) CHAIN(ins " %%" reg "15, %%" reg "0, %%" reg "0")
#define RATE2(ins, reg) EACH(ins " %%" reg "15, %%" reg "\\r")
#define LATE2(ins, reg) CHAIN(ins " %%" reg "0, %%" reg "0")

#define SCALAR(name, one) NW_BENCH_LOOP(name##_rate0, FILL("xmm"), RATE##one, "vzeroupper")
#define VECTOR(name, form, ins128, ins256, ins512)                                                                     \
  NW_BENCH_LOOP(name##_rate1, FILL("xmm"), RATE##form(ins128, "xmm"), "vzeroupper")                                    \
  NW_BENCH_LOOP(name##_rate2, FILL("ymm"), RATE##form(ins256, "ymm"), "vzeroupper")                                    \
  NW_BENCH_LOOP(name##_rate3, FILL("zmm"), RATE##form(ins512, "zmm"), "vzeroupper")                                    \
  NW_BENCH_LOOP(name##_late1, FILL("xmm"), LATE##form(ins128, "xmm"), "vzeroupper")                                    \
  NW_BENCH_LOOP(name##_late2, FILL("ymm"), LATE##form(ins256, "ymm"), "vzeroupper")                                    \
  NW_BENCH_LOOP(name##_late3, FILL("zmm"), LATE##form(ins512, "zmm"), "vzeroupper")
#define SAME3(name, one, ins)                                                                                          \
  SCALAR(name, 3(one, "xmm"))                                                                                          \
  VECTOR(name, 3, ins, ins, ins)
#define SAME2(name, one, ins)                                                                                          \
  SCALAR(name, one)                                                                                                    \
  VECTOR(name, 2, ins, ins, ins)

SAME3(fma, "vfmadd231ss", "vfmadd231ps")
SAME3(add, "vaddss", "vaddps")
SAME3(mul, "vmulss", "vmulps")
SAME3(minmax, "vminss", "vminps")
SAME3(div, "vdivss", "vdivps")
SAME3(div64, "vdivsd", "vdivpd")
SAME2(sqrt, 3("vsqrtss", "xmm"), "vsqrtps")
SAME2(sqrt64, 3("vsqrtsd", "xmm"), "vsqrtpd")
SAME2(cast, 2("vcvtdq2ps", "xmm"), "vcvtdq2ps")
SCALAR(round, 3("vroundss $1,", "xmm"))
VECTOR(round, 2, "vroundps $1,", "vroundps $1,", "vrndscaleps $1,")
SCALAR(shuffle, 3("vpermilps", "xmm"))
VECTOR(shuffle, 3, "vpermilps", "vpermps", "vpermps")
VECTOR(int, 3, "vpaddd", "vpaddd", "vpaddd")
VECTOR(intmul, 3, "vpmulld", "vpmulld", "vpmulld")

#define EIGHT "8,9,10,11,12,13,14,15"
#define EIGHTS EIGHT "," EIGHT "," EIGHT
NW_BENCH_LOOP(int_one, "", ".irp r," EIGHTS "\n\tadd $1, %%r\\r\n\t.endr\n\t", "")
NW_BENCH_LOOP(intmul_one, "", ".irp r," EIGHTS "\n\timul %%r\\r, %%r\\r\n\t.endr\n\t", "")
#define DIVIDE "mov %%r8d, %%eax\n\txor %%edx, %%edx\n\tdivl %%r9d\n\t"
NW_BENCH_LOOP(intdiv_rate, "mov $1000003, %%r8d\n\tmov $17, %%r9d\n\t", ".rept 24\n\t" DIVIDE ".endr\n\t", "")
NW_BENCH_LOOP(intdiv_late, "mov $-1, %%eax\n\tmov $3, %%r9d\n\t",
              ".rept 24\n\txor %%edx, %%edx\n\tdivl %%r9d\n\tor $0x7fffff00, %%eax\n\t.endr\n\t", "")

// These loops load and store adjacent elements, like loops over arrays.
#define LOADED(move, reg, bytes)                                                                                       \
  ".irp r," REGISTERS "," REGISTERS "\n\t" move " \\r*" bytes "(%1), %%" reg "\\r\n\t.endr\n\t"
#define STORED(move, reg, bytes)                                                                                       \
  ".irp r," REGISTERS "," REGISTERS "\n\t" move " %%" reg "\\r, \\r*" bytes "(%1)\n\t.endr\n\t"
NW_BENCH_LOOP(load0, "", ".irp r," EIGHTS "\n\tmov \\r*8(%1), %%r\\r\n\t.endr\n\t", "")
NW_BENCH_LOOP(load1, "", LOADED("vmovaps", "xmm", "16"), "")
NW_BENCH_LOOP(load2, "", LOADED("vmovaps", "ymm", "32"), "vzeroupper")
NW_BENCH_LOOP(load3, "", LOADED("vmovaps", "zmm", "64"), "vzeroupper")
NW_BENCH_LOOP(store0, "", ".irp r," EIGHTS "\n\tmov %%r\\r, \\r*8(%1)\n\t.endr\n\t", "")
NW_BENCH_LOOP(store1, FILL("xmm"), STORED("vmovaps", "xmm", "16"), "")
NW_BENCH_LOOP(store2, FILL("ymm"), STORED("vmovaps", "ymm", "32"), "vzeroupper")
NW_BENCH_LOOP(store3, FILL("zmm"), STORED("vmovaps", "zmm", "64"), "vzeroupper")

typedef struct bench { // the loops of a class
  nw_class of;
  bool f64;
  nw_bench_loop rate[NW_WIDTHS], late[NW_WIDTHS];
} bench;

#define RATES(name)                                                                                                    \
  { name##_rate0, name##_rate1, name##_rate2, name##_rate3 }
#define ROW(id, name, f64)                                                                                             \
  {                                                                                                                    \
    NW_CLASS_##id, f64, RATES(name), { NULL, name##_late1, name##_late2, name##_late3 }                                \
  }
static const bench benches[] = {
    ROW(FMA, fma, false),
    ROW(ADD, add, false),
    ROW(MUL, mul, false),
    ROW(MINMAX, minmax, false),
    ROW(ROUND, round, false),
    ROW(CAST, cast, false),
    ROW(DIV, div, false),
    ROW(DIV64, div64, true),
    ROW(SQRT, sqrt, false),
    ROW(SQRT64, sqrt64, true),
    ROW(SHUFFLE, shuffle, false),
    {NW_CLASS_INT, false, {int_one, int_rate1, int_rate2, int_rate3}, {NULL, int_late1, int_late2, int_late3}},
    {NW_CLASS_INTMUL,
     false,
     {intmul_one, intmul_rate1, intmul_rate2, intmul_rate3},
     {NULL, intmul_late1, intmul_late2, intmul_late3}},
    {NW_CLASS_INTDIV, false, {intdiv_rate}, {intdiv_late}},
    {NW_CLASS_LOAD, false, {load0, load1, load2, load3}, {NULL}},
    {NW_CLASS_STORE, false, {store0, store1, store2, store3}, {NULL}},
};

// Fills the data with numbers near 1. It is filled again for each class, because loops with stores change it.
static void fill_data(nw_calibration *k, bool f64) {
  for (int i = 0; i < 16 && !f64; i++) ((float *)(void *)k->data)[i] = 1.0001f;
  for (int i = 0; i < 8 && f64; i++) ((double *)(void *)k->data)[i] = 1.0001;
}

static void measure_class(nw_calibration *k, const bench *b) {
  const char *name = nw_class_name(b->of);
  int most = b->rate[1] ? k->width : 0;
  fill_data(k, b->f64);
  for (int w = 0; w <= most; w++)
    nw_found(k, NW_RATE(1e-3, 9), MANY / nw_cycles_of(k, b->rate[w], k->data), "ops.%s.per_cycle[%d]", name, w + 1);
  fill_data(k, b->f64);
  double and_or = b->of == NW_CLASS_INTDIV; // cycles of the other instruction of the chain
  if (b->late[most])
    nw_found(k, NW_CYCLES(0.9, 200), nw_cycles_of(k, b->late[most], k->data) / MANY - and_or, "ops.%s.latency", name);
}

// Measures all classes. If AVX2 or FMA is missing, measures only the classes that have no vector instructions.
bool nw_calibrate_ops(nw_calibration *k) {
  k->disturbed = k->shared;
  nw_found(k, NW_RATE(2, 16), k->best.dispatched, "dispatch");
  for (int i = 0; i < NW_COUNT(benches); i++) {
    if (!nw_calibration_goes_on(k)) return false;
    if (k->width >= 0 || !benches[i].rate[1]) measure_class(k, &benches[i]);
  }
  return true;
}

#endif
