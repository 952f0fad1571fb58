// Measures the math functions (exp, log, ...) that generated code calls, for each width of vectors.
#include "run/calibrate/calibrate.h"
#include "interp/interp.h"
#include "ir/ops.h"
#include <alloca.h>
#include <math.h>

#if defined __x86_64__

// Clears the upper halves of vector registers. Otherwise, each change between AVX and SSE encodings in later code may
// cost hundreds of cycles.
static void forget_upper_halves(void) { __asm__ volatile("vzeroupper" ::: "memory"); }

typedef struct call {
  const nw_math_row *row;
  bool upper; // true if the registers have upper halves
  _Alignas(64) char in[64];
  _Alignas(64) char out[64];
} call;

static void calls(int64_t rounds, void *data) {
  call *c = data;
  if (c->upper) forget_upper_halves();
  for (int64_t i = 0; i < rounds; i++) c->row->apply(c->out, c->in, c->in);
}

// Returns the cycles of a call whose data and stack frame lie `shift` bytes lower on the stack.
static double cycles_at(nw_calibration *k, const call *of, size_t shift) {
  uintptr_t room = (uintptr_t)alloca(shift + sizeof *of + _Alignof(call));
  call *c = (call *)((room + _Alignof(call) - 1) & ~(uintptr_t)(_Alignof(call) - 1));
  *c = *of;
  return nw_cycles_of(k, calls, c);
}

// Returns the cycles of a call. Some functions take more than twice as long if their tables have the page offsets of
// the data or of the stack frame. These offsets differ between two runs of this program. So several offsets are tried,
// and the fastest call is used.
static double cycles_of_call(nw_calibration *k, const call *c) {
  double least = INFINITY;
  for (size_t shift = 0; shift < 4096; shift += 1088) least = fmin(least, cycles_at(k, c, shift));
  return least;
}

// ---- latency of the scalar function (the argument of each call is the previous result)

typedef struct chain {
  void (*function)(void);
  double x, y; // for f32, only the first four bytes of each are used
} chain;

__attribute__((naked)) static void same(void) { __asm__("ret"); }

// Defines a chain of calls. The code moves the stack pointer below the data of the enclosing function, and aligns it
// for calls.
#define CHAINED(name, s)                                                                                               \
  static void name(int64_t rounds, void *data) {                                                                       \
    register int64_t n __asm__("r12") = rounds;                                                                        \
    register void *at __asm__("r13") = data;                                                                           \
    __asm__ volatile("mov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tand $-64, %%rsp\n\tmov" s " 8(%1), %%xmm0\n\t1:\n\t"      \
                     "sub" s " %%xmm0, %%xmm0\n\tmov" s " 16(%1), %%xmm1\n\tadd" s " 8(%1), %%xmm0\n\t"                \
                     "call *(%1)\n\tdec %0\n\tjnz 1b\n\tmov %%rbx, %%rsp"                                              \
                     : "+r"(n)                                                                                         \
                     : "r"(at)                                                                                         \
                     : "cc", "memory", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",     \
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",       \
                       "xmm12", "xmm13", "xmm14", "xmm15");                                                            \
  }
CHAINED(chained_f32, "ss")
CHAINED(chained_f64, "sd")

static double latency(nw_calibration *k, const nw_math_row *row) {
  bool f64 = row->dtype == NW_F64;
  chain c = {.x = 0.75, .y = 1.25}, empty;
  if (!f64) memcpy(&c.x, &(float){0.75f}, 4), memcpy(&c.y, &(float){1.25f}, 4);
  empty = c;
  memcpy(&c.function, &row->address, sizeof c.function);
  empty.function = same;
  nw_bench_loop loop = f64 ? chained_f64 : chained_f32;
  double cycles = nw_cycles_of(k, loop, &c) - nw_cycles_of(k, loop, &empty);
  return cycles > 1 ? cycles : 1;
}

static void fill(call *c) {
  for (int i = 0; i < 16 && c->row->dtype == NW_F32; i++) ((float *)(void *)c->in)[i] = 0.5f + 0.03f * (float)i;
  for (int i = 0; i < 8 && c->row->dtype == NW_F64; i++) ((double *)(void *)c->in)[i] = 0.5 + 0.06 * i;
}

static void measure_function(nw_calibration *k, nw_op op, nw_dtype type, nw_class of) {
  call c = {.upper = k->width >= 0};
  for (int w = 0; w <= (k->width < 0 ? 0 : k->width); w++) {
    int lanes = w ? (8 << w) / nw_dtype_bytes(type) : 1;
    c.row = nw_math_find(nw_host()->features, op, type, lanes);
    fill(&c);
    if (c.row->lanes == lanes)
      nw_found(k, NW_RATE(1e-4, 1), 1 / cycles_of_call(k, &c), "ops.%s.per_cycle[%d]", nw_class_name(of), w + 1);
  }
  if (c.upper) forget_upper_halves();
  nw_found(k, NW_CYCLES(2, 2000), latency(k, nw_math_find(nw_host()->features, op, type, 1)), "ops.%s.latency",
           nw_class_name(of));
}

// Measures each class of math functions by the function that has the name of the class.
bool nw_calibrate_math(nw_calibration *k) {
  for (int op = 0; op < NW_OP_COUNT; op++) {
    nw_class of = nw_op_class((nw_op)op, true);
    if (!nw_op_has((nw_op)op, 'M') || strcmp(nw_class_name(of), nw_op_name((nw_op)op))) continue;
    if (!nw_calibration_goes_on(k)) return false;
    measure_function(k, (nw_op)op, NW_F32, of);
    measure_function(k, (nw_op)op, NW_F64, nw_class_of_f64(of));
  }
  return true;
}

#endif
