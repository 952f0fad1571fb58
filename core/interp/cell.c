// Reads and writes values in memory, and converts between dtypes.
#include "base/half.h"
#include "interp/node.h"
#include "ir/expr/whole.h"

void nwi_read(nw_dtype t, const void *data, int64_t at, nwi_cell *out) {
  switch (t) {
  case NW_BOOL: out->i = ((const uint8_t *)data)[at] != 0; break;
  case NW_I8: out->i = ((const int8_t *)data)[at]; break;
  case NW_I16: out->i = ((const int16_t *)data)[at]; break;
  case NW_I32: out->i = ((const int32_t *)data)[at]; break;
  case NW_I64:
  case NW_U64: out->i = ((const int64_t *)data)[at]; break;
  case NW_U8: out->i = ((const uint8_t *)data)[at]; break;
  case NW_U16: out->i = ((const uint16_t *)data)[at]; break;
  case NW_U32: out->i = ((const uint32_t *)data)[at]; break;
  case NW_F16: out->f = nw_f16_to_f32(((const uint16_t *)data)[at]); break;
  case NW_BF16: out->f = nw_bf16_to_f32(((const uint16_t *)data)[at]); break;
  case NW_F32: out->f = ((const float *)data)[at]; break;
  case NW_F64: out->d = ((const double *)data)[at]; break;
  default: break;
  }
}

void nwi_write(nw_dtype t, void *data, int64_t at, const nwi_cell *in) {
  switch (t) {
  case NW_BOOL:
  case NW_I8:
  case NW_U8: ((uint8_t *)data)[at] = (uint8_t)in->i; break;
  case NW_I16:
  case NW_U16: ((uint16_t *)data)[at] = (uint16_t)in->i; break;
  case NW_I32:
  case NW_U32: ((uint32_t *)data)[at] = (uint32_t)in->i; break;
  case NW_I64:
  case NW_U64: ((int64_t *)data)[at] = in->i; break;
  case NW_F16: ((uint16_t *)data)[at] = nw_f32_to_f16(in->f); break;
  case NW_BF16: ((uint16_t *)data)[at] = nw_f32_to_bf16(in->f); break;
  case NW_F32: ((float *)data)[at] = in->f; break;
  case NW_F64: ((double *)data)[at] = in->d; break;
  default: break;
  }
}

// ---- casts

static float half_of(nw_dtype t, float f) {
  return t == NW_F16 ? nw_f16_to_f32(nw_f32_to_f16(f)) : t == NW_BF16 ? nw_bf16_to_f32(nw_f32_to_bf16(f)) : f;
}

static float single_of(nw_dtype t, double d) {
  return t == NW_F16 ? nw_f16_to_f32(nw_f64_to_f16(d)) : t == NW_BF16 ? nw_bf16_to_f32(nw_f64_to_bf16(d)) : (float)d;
}

#define NW_CAST(name, value)                                                                                           \
  static void name(nwi_run *r, nwi_node *n) {                                                                          \
    const nwi_cell *a = nwi_get(r, n->arg[0]);                                                                         \
    nw_dtype t = (nw_dtype)n->dtype;                                                                                   \
    (void)t;                                                                                                           \
    for (int l = 0; l < n->lanes; l++) n->v[l] = (nwi_cell)value;                                                      \
  }
NW_CAST(int_int, {.i = nw_wrap(t, a[l].i)})
NW_CAST(int_f32, {.f = half_of(t, (float)a[l].i)})
NW_CAST(int_f64, {.d = (double)a[l].i})
NW_CAST(u64_f32, {.f = half_of(t, (float)(uint64_t)a[l].i)})
NW_CAST(u64_f64, {.d = (double)(uint64_t)a[l].i})
NW_CAST(f32_int, {.i = nw_saturate(t, (double)a[l].f)})
NW_CAST(f64_int, {.i = nw_saturate(t, a[l].d)})
NW_CAST(f32_bool, {.i = !(a[l].f == 0)})
NW_CAST(f64_bool, {.i = !(a[l].d == 0)})
NW_CAST(f32_f32, {.f = half_of(t, a[l].f)})
NW_CAST(f32_f64, {.d = a[l].f})
NW_CAST(f64_f32, {.f = single_of(t, a[l].d)})
NW_CAST(f64_f64, {.d = a[l].d})

nwi_eval nwi_cast_op(nw_dtype from, nw_dtype to) {
  bool f = nw_dtype_is_float(from), t = nw_dtype_is_float(to);
  if (!f && !t) return int_int;
  if (from == NW_U64 && t) return to == NW_F64 ? u64_f64 : u64_f32;
  if (!f) return to == NW_F64 ? int_f64 : int_f32;
  if (to == NW_BOOL) return from == NW_F64 ? f64_bool : f32_bool;
  if (!t) return from == NW_F64 ? f64_int : f32_int;
  if (from == NW_F64) return to == NW_F64 ? f64_f64 : f64_f32;
  return to == NW_F64 ? f32_f64 : f32_f32;
}

// ---- bits of floats

NW_CAST(bits_f32, {.i = nw_wrap(t, nw_float_bits((nw_dtype)n->arg[0]->dtype, (double)a[l].f))})
NW_CAST(bits_f64, {.i = nw_wrap(t, nw_float_bits(NW_F64, a[l].d))})
NW_CAST(f32_bits, {.f = (float)nw_bits_float(t, a[l].i)})
NW_CAST(f64_bits, {.d = nw_bits_float(t, a[l].i)})

nwi_eval nwi_reinterpret_op(nw_dtype from, nw_dtype to) {
  if (nw_dtype_is_float(from)) return from == NW_F64 ? bits_f64 : bits_f32;
  return to == NW_F64 ? f64_bits : f32_bits;
}

// Halves are computed in f32.
void nwi_eval_ldexp(nwi_run *r, nwi_node *n) {
  const nwi_cell *x = nwi_get(r, n->arg[0]), *by = nwi_get(r, n->arg[1]);
  for (int l = 0; l < n->lanes; l++) {
    if (n->dtype == NW_F64)
      n->v[l].d = ldexp(x[l].d, (int)by[l].i);
    else
      n->v[l].f = ldexpf(x[l].f, (int)by[l].i);
  }
}
