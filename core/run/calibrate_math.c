// Functions: exp, log and the like, by width, as generated code calls them.
#include "run/calibrate.h"
#include "hw/machine.h"
#include "interp/interp.h"

#if defined __x86_64__

typedef struct call {
  const nw_math_row *row;
  bool clean; // there are upper halves
  _Alignas(64) char in[64];
  _Alignas(64) char out[64];
} call;

// What vector code leaves in the upper halves of registers would slow down what comes after it.
static void calls(int64_t rounds, void *data) {
  call *c = data;
  if (c->clean) __asm__ volatile("vzeroupper" ::: "memory");
  for (int64_t i = 0; i < rounds; i++) c->row->apply(c->out, c->in, c->in);
}

static void fill(call *c) {
  for (int i = 0; i < 16 && c->row->dtype == NW_F32; i++) ((float *)(void *)c->in)[i] = 0.5f + 0.03f * (float)i;
  for (int i = 0; i < 8 && c->row->dtype == NW_F64; i++) ((double *)(void *)c->in)[i] = 0.5 + 0.06 * i;
}

static void measure_function(nw_calibration *k, nw_op op, nw_dtype type, nw_class of) {
  call c = {.clean = k->width >= 0};
  for (int w = 0; w <= (k->width < 0 ? 0 : k->width); w++) {
    int lanes = w ? (8 << w) / nw_dtype_bytes(type) : 1;
    c.row = nw_math_find(op, type, lanes);
    fill(&c);
    if (c.row->lanes == lanes)
      nw_found(k, 1 / nw_cycles_of(calls, &c), "ops.%s.per_cycle[%d]", nw_class_name(of), w + 1);
  }
}

bool nw_calibrate_math(nw_calibration *k) {
  static const struct {
    nw_op op;
    nw_class f32, f64;
  } functions[] = {{NW_OP_EXP, NW_CLASS_EXP, NW_CLASS_EXP64},
                   {NW_OP_LOG, NW_CLASS_LOG, NW_CLASS_LOG64},
                   {NW_OP_TANH, NW_CLASS_TANH, NW_CLASS_TANH64},
                   {NW_OP_ERF, NW_CLASS_ERF, NW_CLASS_ERF64},
                   {NW_OP_POW, NW_CLASS_POW, NW_CLASS_POW64}};
  for (int i = 0; i < NW_COUNT(functions); i++) {
    if (!nw_calibration_goes_on(k)) return false;
    measure_function(k, functions[i].op, NW_F32, functions[i].f32);
    measure_function(k, functions[i].op, NW_F64, functions[i].f64);
  }
  return true;
}

#endif
