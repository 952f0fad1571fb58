// Reads and writes values in memory, and converts between dtypes.
#include "base/half.h"
#include "interp/node.h"
#include <math.h>

void nwi_read(nw_dtype t, const void *data, int64_t at, nwi_cell *out) {
  switch (t) {
  case NW_BOOL: out->i = ((const uint8_t *)data)[at] != 0; break;
  case NW_I8: out->i = ((const int8_t *)data)[at]; break;
  case NW_I16: out->i = ((const int16_t *)data)[at]; break;
  case NW_I32: out->i = ((const int32_t *)data)[at]; break;
  case NW_I64: out->i = ((const int64_t *)data)[at]; break;
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
  case NW_I64: ((int64_t *)data)[at] = in->i; break;
  case NW_F16: ((uint16_t *)data)[at] = nw_f32_to_f16(in->f); break;
  case NW_BF16: ((uint16_t *)data)[at] = nw_f32_to_bf16(in->f); break;
  case NW_F32: ((float *)data)[at] = in->f; break;
  case NW_F64: ((double *)data)[at] = in->d; break;
  default: break;
  }
}

// ---- casts

// Converts a float to an integer by truncation. A value out of range becomes the nearest integer of the type, and NaN
// becomes 0.
static int64_t saturate(nw_dtype t, double v) {
  static const double lo[] = {
      [NW_I8] = -128, [NW_I16] = -32768, [NW_I32] = -2147483648.0, [NW_I64] = -0x1p63, [NW_U8] = 0,
      [NW_U16] = 0,   [NW_U32] = 0};
  static const double hi[] = {[NW_I8] = 127, [NW_I16] = 32767, [NW_I32] = 2147483647.0, [NW_I64] = 0x1p63,
                              [NW_U8] = 255, [NW_U16] = 65535, [NW_U32] = 4294967295.0};
  if (isnan(v)) return 0;
  if (v >= hi[t]) return t == NW_I64 ? INT64_MAX : (int64_t)hi[t];
  return v <= lo[t] ? (int64_t)lo[t] : (int64_t)v;
}

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
NW_CAST(f32_int, {.i = saturate(t, a[l].f)})
NW_CAST(f64_int, {.i = saturate(t, a[l].d)})
NW_CAST(f32_bool, {.i = !(a[l].f == 0)})
NW_CAST(f64_bool, {.i = !(a[l].d == 0)})
NW_CAST(f32_f32, {.f = half_of(t, a[l].f)})
NW_CAST(f32_f64, {.d = a[l].f})
NW_CAST(f64_f32, {.f = single_of(t, a[l].d)})
NW_CAST(f64_f64, {.d = a[l].d})

nwi_eval nwi_cast_op(nw_dtype from, nw_dtype to) {
  bool f = nw_dtype_is_float(from), t = nw_dtype_is_float(to);
  if (!f && !t) return int_int;
  if (!f) return to == NW_F64 ? int_f64 : int_f32;
  if (to == NW_BOOL) return from == NW_F64 ? f64_bool : f32_bool;
  if (!t) return from == NW_F64 ? f64_int : f32_int;
  if (from == NW_F64) return to == NW_F64 ? f64_f64 : f64_f32;
  return to == NW_F64 ? f32_f64 : f32_f32;
}
