// Writes small C functions for operations that C lacks. In the text of a function, $T stands for its type, $U for the
// unsigned type in which it computes, and $n for the name of the dtype. $L and $H stand for the least and the greatest
// integer of the type, $l and $h for the same limits as floats, and $B for its number of bits. $V is the unsigned type of
// the same width, and $w is "ll" if it has 64 bits. For a float, $F stands for the number of bits of its fraction, $E for its
// greatest exponent, $I for the bits of infinity, $Q for those of NaN, $A for all bits but the sign, and $P for 2^($F + 2).
#include "codegen/c/c_dialect.h"
#include <math.h>
#include <stdio.h>

#define BITS                                                                                                           \
  "static inline uint32_t nw_bits(float f) {\n"                                                                        \
  "  uint32_t u;\n"                                                                                                    \
  "  memcpy(&u, &f, sizeof u);\n"                                                                                      \
  "  return u;\n"                                                                                                      \
  "}\n"                                                                                                                \
  "static inline float nw_float(uint32_t u) {\n"                                                                       \
  "  float f;\n"                                                                                                       \
  "  memcpy(&f, &u, sizeof f);\n"                                                                                      \
  "  return f;\n"                                                                                                      \
  "}\n"

// The text of a function that computes `op` on sizes and sets *big on overflow.
#define OVERFLOWS(op)                                                                                                  \
  "static inline int64_t nw_size_" op "(int64_t a, int64_t b, int *big) {\n"                                           \
  "  int64_t r = 0;\n"                                                                                                 \
  "  *big |= __builtin_" op "_overflow(a, b, &r);\n"                                                                   \
  "  return r;\n"                                                                                                      \
  "}\n"

static const struct {
  const char *name, *whole, *real; // text for integers and for floats
} helper[NWT_HELPERS] = {
    [NWT_FLOORDIV] = {"nw_floordiv_$n",
                      "static inline $T nw_floordiv_$n($T a, $T b) { // rounds towards minus infinity\n"
                      "  if (b == -1) return ($T)(0 - ($U)a);\n"
                      "  return ($T)(a / b - (a % b != 0 && (a ^ b) < 0));\n"
                      "}\n",
                      NULL},
    [NWT_FLOORMOD] = {"nw_floormod_$n",
                      "static inline $T nw_floormod_$n($T a, $T b) { // has the sign of b\n"
                      "  $T r = b == -1 ? 0 : ($T)(a % b);\n"
                      "  return r != 0 && (r ^ b) < 0 ? ($T)(r + b) : r;\n"
                      "}\n",
                      NULL},
    [NWT_MIN] = {"nw_min_$n", "static inline $T nw_min_$n($T a, $T b) { return a < b ? a : b; }\n",
                 "static inline $T nw_min_$n($T a, $T b) { // NaN if either is; -0 is less than +0\n"
                 "  return isnan(a) ? a : isnan(b) ? b : a < b || (a == b && signbit(a)) ? a : b;\n"
                 "}\n"},
    [NWT_MAX] = {"nw_max_$n", "static inline $T nw_max_$n($T a, $T b) { return a > b ? a : b; }\n",
                 "static inline $T nw_max_$n($T a, $T b) { // NaN if either is; +0 is more than -0\n"
                 "  return isnan(a) ? a : isnan(b) ? b : a > b || (a == b && !signbit(a)) ? a : b;\n"
                 "}\n"},
    [NWT_ABS] = {"nw_abs_$n", "static inline $T nw_abs_$n($T a) { return a < 0 ? ($T)(0 - ($U)a) : a; }\n", NULL},
    [NWT_SHL] = {"nw_shl_$n",
                 "static inline $T nw_shl_$n($T a, $T n) { // 0 if n is out of range\n"
                 "  return ($U)n < $B ? ($T)(($U)a << n) : 0;\n"
                 "}\n",
                 NULL},
    [NWT_SHR] = {"nw_shr_$n",
                 "static inline $T nw_shr_$n($T a, $T n) { // if n is out of range, all bits are shifted out\n"
                 "  return ($T)(($U)n < $B ? a >> n : a >> ($B - 1) >> 1);\n"
                 "}\n",
                 NULL},
    [NWT_POPCOUNT] = {"nw_popcount_$n",
                      "static inline $T nw_popcount_$n($T a) { return ($T)__builtin_popcount$w(($V)a); }\n", NULL},
    [NWT_BITS_OF] = {"nw_bits_of_$n", NULL,
                     "static inline $V nw_bits_of_$n($T x) { // every NaN has the same bits\n"
                     "  $V u;\n"
                     "  memcpy(&u, &x, sizeof u);\n"
                     "  return (u & $A) > $I ? $Q : u;\n"
                     "}\n"},
    [NWT_OF_BITS] = {"nw_of_bits_$n", NULL,
                     "static inline $T nw_of_bits_$n($V u) {\n"
                     "  $T x;\n"
                     "  memcpy(&x, &u, sizeof x);\n"
                     "  return x;\n"
                     "}\n"},
    [NWT_LDEXP] =
        {"nw_ldexp_$n", NULL,
         "static inline $T nw_ldexp_$n($T x, int32_t n) { // x*2^n, rounded once\n"
         "  for (int step = 0; step < 3; step++) {\n"
         "    int32_t most = $E, least = 1 - $E, low = step < 2 ? least + $F + 1 : least, rest = step < 2 ? 0 : n;\n"
         "    int32_t part = n > most ? most : n < least ? low : rest;\n"
         "    $V power = ($V)(part + $E) << $F;\n"
         "    $T by;\n"
         "    memcpy(&by, &power, sizeof by);\n"
         "    x *= by;\n"
         "    n -= part;\n"
         "  }\n"
         "  return x;\n"
         "}\n"},
    [NWT_MANTISSA] = {"nw_mantissa_$n", NULL,
                      "static inline $T nw_mantissa_$n($T x) { // in 0.5..1, or x if it is 0, infinite or NaN\n"
                      "  $V u, all = $I;\n"
                      "  memcpy(&u, &x, sizeof u);\n"
                      "  if (x == 0 || (u & all) == all) return x;\n"
                      "  $T y = u & all ? x : x * $P;\n"
                      "  memcpy(&u, &y, sizeof u);\n"
                      "  u = (u & ~all) | ($V)($E - 1) << $F;\n"
                      "  memcpy(&y, &u, sizeof y);\n"
                      "  return y;\n"
                      "}\n"},
    [NWT_EXPONENT] = {"nw_exponent_$n", NULL,
                      "static inline int32_t nw_exponent_$n($T x) { // x is mantissa*2^exponent\n"
                      "  $V u, all = $I;\n"
                      "  memcpy(&u, &x, sizeof u);\n"
                      "  if (x == 0 || (u & all) == all) return 0;\n"
                      "  int scaled = !(u & all);\n"
                      "  $T y = scaled ? x * $P : x;\n"
                      "  memcpy(&u, &y, sizeof u);\n"
                      "  return (int32_t)((u & all) >> $F) - ($E - 1) - (scaled ? $F + 2 : 0);\n"
                      "}\n"},
    [NWT_TO_INT] = {"nw_to_$n",
                    "static inline $T nw_to_$n(double x) { // saturates; NaN becomes 0\n"
                    "  return isnan(x) ? 0 : x <= $l ? $L : x >= $h ? $H : ($T)x;\n"
                    "}\n",
                    NULL},
    [NWT_SIZE_ADD] = {"nw_size_add", OVERFLOWS("add"), NULL},
    [NWT_SIZE_SUB] = {"nw_size_sub", OVERFLOWS("sub"), NULL},
    [NWT_SIZE_MUL] = {"nw_size_mul", OVERFLOWS("mul"), NULL},
    [NWT_SIZE_MIN] =
        {"nw_size_min",
         "static inline int64_t nw_size_min(int64_t a, int64_t b, int *big) { return (void)big, a < b ? a : b; }\n",
         NULL},
    [NWT_SIZE_MAX] =
        {"nw_size_max",
         "static inline int64_t nw_size_max(int64_t a, int64_t b, int *big) { return (void)big, a > b ? a : b; }\n",
         NULL},
    [NWT_SIZE_DIV] =
        {"nw_size_div",
         "static inline int64_t nw_size_div(int64_t a, int64_t b, int *big) { // rounds towards minus infinity\n"
         "  if (b == 0 || (b == -1 && a == INT64_MIN)) return *big = 1, 0;\n"
         "  return a / b - (a % b != 0 && (a ^ b) < 0);\n"
         "}\n",
         NULL},
    [NWT_SIZE_MOD] = {"nw_size_mod",
                      "static inline int64_t nw_size_mod(int64_t a, int64_t b, int *big) { // has the sign of b\n"
                      "  int64_t r = b == 0 ? (*big = 1, 0) : b == -1 ? 0 : a % b;\n"
                      "  return r != 0 && (r ^ b) < 0 ? r + b : r;\n"
                      "}\n",
                      NULL},
    [NWT_WIDEN] = {"nw_from_$n", NULL, NULL},
    [NWT_NARROW] = {"nw_to_$n", NULL, NULL},
    [NWT_NARROW_F64] = {"nw_f64_to_$n", NULL, NULL},
};

static const char f16_text[] =
    "static inline float nw_from_f16(uint16_t h) {\n"
    "  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;\n"
    "  if (e == 31) return nw_float(sign | 0x7f800000 | m << 13);\n"
    "  if (e) return nw_float(sign | (e + 112) << 23 | m << 13);\n"
    "  return nw_float(nw_bits((float)m * 0x1p-24f) | sign);\n"
    "}\n"
    "static inline uint16_t nw_to_f16(float f) { // to nearest, ties to even\n"
    "  uint32_t u = nw_bits(f), m = u & 0x7fffff, drop, low;\n"
    "  uint16_t sign = (uint16_t)(u >> 16 & 0x8000);\n"
    "  int e = (int)(u >> 23 & 255);\n"
    "  if (e == 255) return (uint16_t)(sign | 0x7c00 | (m ? 0x200 | m >> 13 : 0));\n"
    "  if (e >= 143) return (uint16_t)(sign | 0x7c00);\n"
    "  if (e < 102) return sign;\n"
    "  m = e >= 113 ? (uint32_t)(e - 112) << 23 | m : m | 0x800000;\n"
    "  drop = e >= 113 ? 13 : (uint32_t)(126 - e);\n"
    "  low = m & ((1u << drop) - 1);\n"
    "  m >>= drop;\n"
    "  return (uint16_t)(sign | (m + (low > 1u << (drop - 1) || (low == 1u << (drop - 1) && (m & 1)))));\n"
    "}\n";

static const char bf16_text[] = "static inline float nw_from_bf16(uint16_t h) { return nw_float((uint32_t)h << 16); }\n"
                                "static inline uint16_t nw_to_bf16(float f) { // to nearest, ties to even\n"
                                "  uint32_t u = nw_bits(f);\n"
                                "  if (isnan(f)) return (uint16_t)(u >> 16 | 0x40);\n"
                                "  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);\n"
                                "}\n";

static const char odd_text[] =
    "static inline float nw_round_to_odd(double d) { // a second rounding then equals a single one\n"
    "  float f = (float)d;\n"
    "  uint32_t u = nw_bits(f);\n"
    "  if (isnan(d) || (double)f == d || (u & 1)) return f;\n"
    "  if (f == 0 && d < 0) u |= 0x80000000u;\n"
    "  return nw_float(fabs((double)f) > fabs(d) ? u - 1 : u + 1);\n"
    "}\n"
    "static inline uint16_t nw_f64_to_f16(double d) { return nw_to_f16(nw_round_to_odd(d)); }\n"
    "static inline uint16_t nw_f64_to_bf16(double d) { return nw_to_bf16(nw_round_to_odd(d)); }\n";

// ---- limits of the integers, for saturation

static void limit(nw_str *out, nw_dtype t, char which) {
  int bits = 8 * nw_dtype_bytes(t);
  bool sign = nw_dtype_is_signed(t);
  const char *u = sign ? "" : "U";
  double high = ldexp(1, bits - sign) - (bits < 64 ? 1 : 0), low = sign ? -ldexp(1, bits - 1) : 0;
  if (which == 'B') nw_str_fmt(out, "%d", bits);
  if (which == 'l') nw_str_fmt(out, "%.1f", low);
  if (which == 'h') nw_str_fmt(out, "%.1f", high);
  if (which == 'H') nw_str_fmt(out, "%sINT%d_MAX", u, bits);
  if (which == 'L') nw_str_fmt(out, sign ? "INT%d_MIN" : "0", bits);
}

static int fraction_of(nw_dtype t) { return t == NW_F64 ? 52 : t == NW_F32 ? 23 : t == NW_F16 ? 10 : 7; }

static void put_bits(nw_str *out, int width, uint64_t v) {
  nw_str_fmt(out, width > 32 ? "UINT64_C(0x%llx)" : "0x%llxu", (unsigned long long)v);
}

// Writes a property of a float's format.
static void format(nw_str *out, nw_dtype t, char which) {
  int width = 8 * nw_dtype_bytes(t), fraction = fraction_of(t);
  uint64_t sign = UINT64_C(1) << (width - 1), infinity = ((sign >> fraction) - 1) << fraction;
  if (which == 'A') put_bits(out, width, sign - 1);
  if (which == 'I') put_bits(out, width, infinity);
  if (which == 'Q') put_bits(out, width, infinity | UINT64_C(1) << (fraction - 1));
  if (which == 'F') nw_str_fmt(out, "%d", fraction);
  if (which == 'E') nw_str_fmt(out, "%d", (int)((sign >> fraction) - 1) / 2);
  if (which == 'P') nw_str_fmt(out, "0x1p%d%s", fraction + 2, t == NW_F64 ? "" : "f");
}

#define INLINE "static inline " // before each function above

static void expand(const nwt *g, nw_str *out, const char *text, nw_dtype t) {
  for (const char *c = text; *c; c++) {
    if (g->dialect && !strncmp(c, INLINE, strlen(INLINE))) {
      nw_str_add(out, g->dialect->function);
      c += strlen(INLINE) - 1;
      continue;
    }
    if (*c != '$') {
      nw_str_addn(out, c, 1);
      continue;
    }
    switch (*++c) {
    case 'T': nw_str_add(out, nwt_type(t)); break;
    case 'U': nw_str_add(out, nw_dtype_bytes(t) > 4 ? "uint64_t" : "uint32_t"); break;
    case 'V': nw_str_fmt(out, "uint%d_t", 8 * nw_dtype_bytes(t)); break;
    case 'w': nw_str_add(out, nw_dtype_bytes(t) > 4 ? "ll" : ""); break;
    case 'n': nw_str_add(out, nw_dtype_name(t)); break;
    default: (nw_dtype_is_float(t) ? format : limit)(out, t, *c);
    }
  }
}

const char *nwt_call(nwt *g, nwt_helper h, nw_dtype t, char *room, size_t n) {
  g->used[h][t] = true;
  nw_str name = {0};
  expand(g, &name, helper[h].name, t);
  snprintf(room, n, "%s", name.s);
  nw_str_free(&name);
  return room;
}

static bool any(const nwt *g, nwt_helper h) { return g->used[h][NW_F16] || g->used[h][NW_BF16]; }

static void halves(const nwt *g, nw_str *out) {
  bool wide = any(g, NWT_NARROW_F64);
  if (!wide && !any(g, NWT_WIDEN) && !any(g, NWT_NARROW)) return;
  bool all = wide || !g->dialect; // compilers for GPUs warn about functions that are not used
  bool f16 = all || g->used[NWT_WIDEN][NW_F16] || g->used[NWT_NARROW][NW_F16];
  bool bf16 = all || g->used[NWT_WIDEN][NW_BF16] || g->used[NWT_NARROW][NW_BF16];
  const char *const texts[] = {BITS, f16 ? f16_text : "", bf16 ? bf16_text : "", wide ? odd_text : ""};
  for (int i = 0; i < NW_COUNT(texts); i++) expand(g, out, texts[i], NW_F32);
}

void nwt_helpers(const nwt *g, nw_str *out) {
  for (int h = 0; h < NWT_WIDEN; h++)
    for (int t = 0; t < NW_DTYPE_COUNT; t++)
      if (g->used[h][t]) expand(g, out, nw_dtype_is_float((nw_dtype)t) ? helper[h].real : helper[h].whole, (nw_dtype)t);
  halves(g, out);
}
