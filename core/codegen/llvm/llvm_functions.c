// Emits math functions for a GPU, because PTX has no instructions for them. Each becomes a function of the module, made of
// plain operations, so that it gives the same bits on every GPU. The result is at most 1.4 units in the last place from the
// exact value, and pow of f32 at most 0.6; tests/spec/device/ptx_math_spec.lua measures this.
//
// exp, log and tanh of f32 have the polynomials of Cephes (Moshier), and erf those of Juffa. exp, log and erf of f64
// use the polynomials of fdlibm (Sun Microsystems), and tanh of f64 uses that of Cephes. pow of f32 is computed in f64,
// and pow of f64 by a logarithm that is a sum of two numbers.
#include "codegen/llvm/llvm.h"
#include <math.h>
#include <stdio.h>

typedef struct math { // a function under construction, on values of type t
  nwc *g;
  LLVMTypeRef t, bits; // bits: the integer of the same width
  bool wide; // f64
} math;

typedef LLVMValueRef value;

// ---- short names for operations

static value num(const math *m, double x) { return LLVMConstReal(m->t, x); }
static value whole(const math *m, int64_t x) { return LLVMConstInt(m->bits, (unsigned long long)x, true); }
static value add(const math *m, value a, value b) { return LLVMBuildFAdd(m->g->b, a, b, ""); }
static value sub(const math *m, value a, value b) { return LLVMBuildFSub(m->g->b, a, b, ""); }
static value mul(const math *m, value a, value b) { return LLVMBuildFMul(m->g->b, a, b, ""); }
static value divide(const math *m, value a, value b) { return LLVMBuildFDiv(m->g->b, a, b, ""); }
static value negative(const math *m, value a) { return LLVMBuildFNeg(m->g->b, a, ""); }
static value choose(const math *m, value c, value a, value b) { return LLVMBuildSelect(m->g->b, c, a, b, ""); }
static value both(const math *m, value a, value b) { return LLVMBuildAnd(m->g->b, a, b, ""); }
static value either(const math *m, value a, value b) { return LLVMBuildOr(m->g->b, a, b, ""); }
static value less(const math *m, value a, value b) { return LLVMBuildFCmp(m->g->b, LLVMRealOLT, a, b, ""); }
static value same(const math *m, value a, value b) { return LLVMBuildFCmp(m->g->b, LLVMRealOEQ, a, b, ""); }
static value size_of(const math *m, value a) { return nwc_intrinsic1(m->g, "llvm.fabs", a); }
static value nearest(const math *m, value a) { return nwc_intrinsic1(m->g, "llvm.rint", a); }
static value with_sign(const math *m, value a, value sign) { return nwc_intrinsic2(m->g, "llvm.copysign", a, sign); }
static value bits_of(const math *m, value a) { return LLVMBuildBitCast(m->g->b, a, m->bits, ""); }
static value real_of(const math *m, value a) { return LLVMBuildBitCast(m->g->b, a, m->t, ""); }

static value fma_of(const math *m, value a, value b, value c) {
  value args[] = {a, b, c};
  LLVMTypeRef t = m->t;
  return nwc_intrinsic(m->g, "llvm.fma", 1, &t, 3, args);
}

static value to_whole(const math *m, value a) {
  LLVMTypeRef over[] = {m->bits, m->t};
  return nwc_intrinsic(m->g, "llvm.fptosi.sat", 2, over, 1, &a);
}

// Returns c[0] * x^(n-1) + ... + c[n-1].
static value polynomial(const math *m, value x, int n, const double *c) {
  value p = num(m, c[0]);
  for (int i = 1; i < n; i++) p = fma_of(m, p, x, num(m, c[i]));
  return p;
}
#define POLYNOMIAL(m, x, ...)                                                                                          \
  polynomial(m, x, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double)), (const double[]){__VA_ARGS__})

// ---- exp

// Returns y * 2^n, also if 2^n alone is out of range: n is added to the exponent in two parts.
static value scaled(const math *m, value y, value n) {
  int fraction = m->wide ? 52 : 23, bias = m->wide ? 1023 : 127;
  LLVMBuilderRef b = m->g->b;
  value i = to_whole(m, n), half = LLVMBuildAShr(b, i, whole(m, 1), ""), part[] = {half, LLVMBuildSub(b, i, half, "")};
  for (int k = 0; k < 2; k++) {
    value biased = LLVMBuildAdd(b, part[k], whole(m, bias), "");
    y = mul(m, y, real_of(m, LLVMBuildShl(b, biased, whole(m, fraction), "")));
  }
  return y;
}

static value clamped(const math *m, value x, double low, double high) {
  x = choose(m, less(m, x, num(m, low)), num(m, low), x);
  return choose(m, less(m, num(m, high), x), num(m, high), x);
}

static value exp32(const math *m, value x) {
  x = clamped(m, x, -104, 89);
  value n = nearest(m, mul(m, x, num(m, 1.44269504088896341)));
  value r = fma_of(m, n, num(m, -0.693359375), x);
  r = fma_of(m, n, num(m, 2.12194440e-4), r);
  value p = POLYNOMIAL(m, r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
                       5.0000001201e-1);
  return scaled(m, add(m, fma_of(m, mul(m, r, r), p, r), num(m, 1)), n);
}

// Returns exp(x + rest), where rest is much less than 1.
static value exp_of_sum(const math *m, value x, value rest) {
  x = clamped(m, x, -746, 710);
  value n = nearest(m, mul(m, x, num(m, 1.44269504088896338700)));
  value high = fma_of(m, n, num(m, -6.93147180369123816490e-01), x),
        low = sub(m, mul(m, n, num(m, 1.90821492927058770002e-10)), rest);
  value r = sub(m, high, low), t = mul(m, r, r);
  value p = POLYNOMIAL(m, t, 4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05,
                       -2.77777777770155933842e-03, 1.66666666666666019037e-01);
  value c = sub(m, r, mul(m, t, p));
  value tail = sub(m, sub(m, low, divide(m, mul(m, r, c), sub(m, num(m, 2), c))), high);
  return scaled(m, sub(m, num(m, 1), tail), n);
}

static value exp64(const math *m, value x) { return exp_of_sum(m, x, num(m, 0)); }

// ---- log

// Replaces the result for numbers that have no finite logarithm.
static value log_or_special(const math *m, value x, value result) {
  value zero = num(m, 0), infinite = num(m, INFINITY);
  result = choose(m, same(m, x, infinite), infinite, result);
  result = choose(m, LLVMBuildFCmp(m->g->b, LLVMRealUGE, x, zero, ""), result, num(m, NAN));
  result = choose(m, same(m, x, zero), num(m, -INFINITY), result);
  return choose(m, LLVMBuildFCmp(m->g->b, LLVMRealUNO, x, x, ""), x, result);
}

// Splits x into f and e, where x = (1 + f) * 2^e, and 1 + f is between the square roots of 1/2 and of 2.
static value split(const math *m, value x, value *e) {
  int fraction = m->wide ? 52 : 23;
  int64_t root = m->wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3, one = m->wide ? 0x3ff0000000000000 : 0x3f800000;
  LLVMBuilderRef b = m->g->b;
  value small = less(m, x, num(m, m->wide ? 0x1p-1022 : 0x1p-126));
  x = choose(m, small, mul(m, x, num(m, m->wide ? 0x1p54 : 0x1p25)), x);
  value i = LLVMBuildAdd(b, bits_of(m, x), whole(m, one - root), "");
  value k = LLVMBuildSub(b, LLVMBuildLShr(b, i, whole(m, fraction), ""), whole(m, m->wide ? 1023 : 127), "");
  k = LLVMBuildSub(b, k, LLVMBuildSelect(b, small, whole(m, m->wide ? 54 : 25), whole(m, 0), ""), "");
  *e = LLVMBuildSIToFP(b, k, m->t, "");
  value rest = LLVMBuildAnd(b, i, whole(m, ((int64_t)1 << fraction) - 1), "");
  return sub(m, real_of(m, LLVMBuildAdd(b, rest, whole(m, root), "")), num(m, 1));
}

static value log32(const math *m, value x) {
  value e, f = split(m, x, &e), z = mul(m, f, f);
  value p = POLYNOMIAL(m, f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                       -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1);
  value y = mul(m, mul(m, f, z), p);
  y = fma_of(m, e, num(m, -2.12194440e-4), y);
  y = fma_of(m, z, num(m, -0.5), y);
  return log_or_special(m, x, fma_of(m, e, num(m, 0.693359375), add(m, f, y)));
}

static value log64(const math *m, value x) {
  value e, f = split(m, x, &e), s = divide(m, f, add(m, f, num(m, 2))), z = mul(m, s, s), w = mul(m, z, z);
  value even = POLYNOMIAL(m, w, 1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01);
  value odd = POLYNOMIAL(m, w, 1.479819860511658591e-01, 1.818357216161805012e-01, 2.857142874366239149e-01,
                         6.666666666666735130e-01);
  value r = add(m, mul(m, z, odd), mul(m, w, even)), half = mul(m, num(m, 0.5), mul(m, f, f));
  value y = add(m, mul(m, s, add(m, half, r)), mul(m, e, num(m, 1.90821492927058770002e-10)));
  y = add(m, sub(m, y, half), f);
  return log_or_special(m, x, add(m, y, mul(m, e, num(m, 6.93147180369123816490e-01))));
}

// ---- tanh and erf

static value tanh_of(const math *m, value x) {
  value a = size_of(m, x), z = mul(m, x, x), small;
  if (m->wide) {
    value p = POLYNOMIAL(m, z, -9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3);
    value q = POLYNOMIAL(m, z, 1, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3);
    small = fma_of(m, mul(m, z, divide(m, p, q)), x, x);
  } else {
    value p =
        POLYNOMIAL(m, z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1);
    small = fma_of(m, mul(m, z, p), x, x);
  }
  value power = (m->wide ? exp64 : exp32)(m, add(m, a, a));
  value large = sub(m, num(m, 1), divide(m, num(m, 2), add(m, power, num(m, 1))));
  return with_sign(m, choose(m, less(m, a, num(m, 0.625)), small, large), x);
}

static value erf32(const math *m, value x) {
  value a = size_of(m, x), s = mul(m, x, x);
  value r = fma_of(m, num(m, -1.72853470e-5), a, num(m, 3.83197126e-4));
  value u = fma_of(m, num(m, -3.88396438e-3), a, num(m, 2.42546219e-2));
  r = fma_of(m, r, s, u);
  r = fma_of(m, r, a, num(m, -1.06777877e-1));
  r = fma_of(m, r, a, num(m, -6.34846687e-1));
  r = fma_of(m, r, a, num(m, -1.28717512e-1));
  r = fma_of(m, r, a, negative(m, a));
  value large = with_sign(m, sub(m, num(m, 1), exp32(m, r)), x);
  value p =
      POLYNOMIAL(m, s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1);
  return choose(m, less(m, num(m, 0.927734375), a), large, fma_of(m, p, x, x));
}

static value erf64(const math *m, value x) {
  value a = size_of(m, x), z = mul(m, x, x), one = num(m, 1);
  value p = POLYNOMIAL(m, z, -2.37630166566501626084e-05, -5.77027029648944159157e-03, -2.84817495755985104766e-02,
                       -3.25042107247001499370e-01, 1.28379167095512558561e-01);
  value q = POLYNOMIAL(m, z, -3.96022827877536812320e-06, 1.32494738004321644526e-04, 5.08130628187576562776e-03,
                       6.50222499887672944485e-02, 3.97917223959155352819e-01, 1);
  value small = fma_of(m, x, divide(m, p, q), x), s = sub(m, a, one);
  p = POLYNOMIAL(m, s, -2.16637559486879084300e-03, 3.54783043256182359371e-02, -1.10894694282396677476e-01,
                 3.18346619901161753674e-01, -3.72207876035701323847e-01, 4.14856118683748331666e-01,
                 -2.36211856075265944077e-03);
  q = POLYNOMIAL(m, s, 1.19844998467991074170e-02, 1.36370839120290507362e-02, 1.26171219808761642112e-01,
                 7.18286544141962662868e-02, 5.40397917702171048937e-01, 1.06420880400844228286e-01, 1);
  value middle = add(m, num(m, 8.45062911510467529297e-01), divide(m, p, q));
  value b = choose(m, less(m, a, num(m, 6)), a, num(m, 6)); // the result for more than 6 is 1
  s = divide(m, one, mul(m, b, b));
  p = POLYNOMIAL(m, s, -9.81432934416914548592e+00, -8.12874355063065934246e+01, -1.84605092906711035994e+02,
                 -1.62396669462573470355e+02, -6.23753324503260060396e+01, -1.05586262253232909814e+01,
                 -6.93858572707181764372e-01, -9.86494403484714822705e-03);
  q = POLYNOMIAL(m, s, -6.04244152148580987438e-02, 6.57024977031928170135e+00, 1.08635005541779435134e+02,
                 4.29008140027567833386e+02, 6.45387271733267880336e+02, 4.34565877475229228821e+02,
                 1.37657754143519042600e+02, 1.96512716674392571292e+01, 1);
  value near = divide(m, p, q);
  p = POLYNOMIAL(m, s, -4.83519191608651397019e+02, -1.02509513161107724954e+03, -6.37566443368389627722e+02,
                 -1.60636384855821916062e+02, -1.77579549177547519889e+01, -7.99283237680523006574e-01,
                 -9.86494292470009928597e-03);
  q = POLYNOMIAL(m, s, -2.24409524465858183362e+01, 4.74528541206955367215e+02, 2.55305040643316442583e+03,
                 3.19985821950859553908e+03, 1.53672958608443695994e+03, 3.25792512996573918826e+02,
                 3.03380607434824582924e+01, 1);
  value rest = choose(m, less(m, b, num(m, 1 / 0.35)), near, divide(m, p, q));
  value power = exp64(m, fma_of(m, negative(m, b), b, sub(m, rest, num(m, 0.5625))));
  value large = sub(m, one, divide(m, power, b));
  value result = choose(m, less(m, a, num(m, 1.25)), middle, large);
  result = choose(m, less(m, a, num(m, 0.84375)), small, result);
  result = with_sign(m, result, x);
  return choose(m, LLVMBuildFCmp(m->g->b, LLVMRealUNO, x, x, ""), x, result);
}

// ---- sums of two numbers, of which the second is small

typedef struct pair {
  value high, low;
} pair;

// Returns a + b for a number a that is not smaller than b.
static pair sum_of(const math *m, value a, value b, value low) {
  value high = add(m, a, b);
  return (pair){high, add(m, add(m, sub(m, a, high), b), low)};
}

static pair product_of(const math *m, pair a, pair b) {
  value high = mul(m, a.high, b.high), low = fma_of(m, a.high, b.high, negative(m, high));
  return (pair){high, fma_of(m, a.high, b.low, fma_of(m, a.low, b.high, low))};
}

// Returns the logarithm of a number that is greater than 0, with about 64 bits: the series of the inverse hyperbolic
// tangent of s = f / (2 + f), where x = (1 + f) * 2^e. Only the first two terms of the series are computed as sums of
// two numbers; one f64 is enough for the other terms.
static pair log_pair(const math *m, value x) {
  value e, f = split(m, x, &e), two = num(m, 2), zero = num(m, 0);
  pair below = sum_of(m, two, f, zero), s;
  s.high = divide(m, f, below.high);
  value left = fma_of(m, negative(m, s.high), below.low, fma_of(m, negative(m, s.high), below.high, f));
  s.low = divide(m, left, below.high);
  pair z = product_of(m, s, s);
  value p = POLYNOMIAL(m, z.high, 1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                       1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5);
  pair t = product_of(m, z, (pair){p, zero});
  pair q = sum_of(m, num(m, 1.0 / 3), t.high, add(m, num(m, 0x1.5555555555555p-56), t.low));
  pair u = product_of(m, s, product_of(m, z, q));
  pair half = sum_of(m, s.high, u.high, add(m, s.low, u.low));
  value rest = fma_of(m, e, num(m, 1.90821492927058770002e-10), mul(m, two, half.low));
  return sum_of(m, mul(m, e, num(m, 6.93147180369123816490e-01)), mul(m, two, half.high), rest);
}

// ---- pow

// Returns x^y, given |x|^y.
static value pow_signed(const math *m, value x, value y, value result) {
  LLVMBuilderRef b = m->g->b;
  value a = size_of(m, x), is_whole = same(m, nearest(m, y), y), half = mul(m, y, num(m, 0.5));
  value odd = both(m, is_whole, LLVMBuildFCmp(b, LLVMRealUNE, nearest(m, half), half, ""));
  value below = LLVMBuildICmp(b, LLVMIntSLT, bits_of(m, x), whole(m, 0), "");
  result = choose(m, both(m, below, odd), negative(m, result), result);
  value finite = both(m, less(m, x, num(m, 0)), less(m, a, num(m, INFINITY)));
  value undefined = both(m, finite, LLVMBuildNot(b, is_whole, ""));
  result = choose(m, undefined, num(m, NAN), result);
  value endless = same(m, size_of(m, y), num(m, INFINITY));
  value one =
      either(m, same(m, y, num(m, 0)), either(m, same(m, x, num(m, 1)), both(m, same(m, a, num(m, 1)), endless)));
  return choose(m, one, num(m, 1), result);
}

// Computes pow of f32 in f64, where the errors of log and exp do not matter.
static value pow32(const math *m, value x, value y) {
  math w = {m->g, LLVMDoubleTypeInContext(m->g->lc), LLVMInt64TypeInContext(m->g->lc), true};
  LLVMBuilderRef b = m->g->b;
  value base = LLVMBuildFPExt(b, x, w.t, ""), to = LLVMBuildFPExt(b, y, w.t, "");
  value result = exp64(&w, mul(&w, to, log64(&w, size_of(&w, base))));
  return LLVMBuildFPTrunc(b, pow_signed(&w, base, to, result), m->t, "");
}

static value pow64(const math *m, value x, value y) {
  value a = size_of(m, x), zero = num(m, 0);
  pair log = log_pair(m, a);
  value usual = both(m, less(m, zero, a), less(m, a, num(m, INFINITY)));
  log = (pair){log_or_special(m, a, log.high), choose(m, usual, log.low, zero)};
  pair product = product_of(m, log, (pair){y, zero});
  value inside = less(m, size_of(m, product.high), num(m, 1024)); // otherwise the result is 0 or infinite
  value high = add(m, product.high, choose(m, inside, product.low, zero));
  value low = add(m, sub(m, product.high, high), product.low);
  return pow_signed(m, x, y, exp_of_sum(m, high, choose(m, inside, low, zero)));
}

// ---- functions of the module

static value body_of(const math *m, nw_op op, value x, value y) {
  switch (op) {
  case NW_OP_EXP: return m->wide ? exp64(m, x) : exp32(m, x);
  case NW_OP_LOG: return m->wide ? log64(m, x) : log32(m, x);
  case NW_OP_TANH: return tanh_of(m, x);
  case NW_OP_ERF: return m->wide ? erf64(m, x) : erf32(m, x);
  case NW_OP_POW: return m->wide ? pow64(m, x, y) : pow32(m, x, y);
  default: return NULL;
  }
}

// Returns the function that computes an operation, or NULL if there is no code for it.
static value function_of(nwc *g, nw_op op, int n, LLVMTypeRef t) {
  char name[48];
  math m = {.g = g, .t = t, .wide = LLVMGetTypeKind(t) == LLVMDoubleTypeKind};
  m.bits = LLVMIntTypeInContext(g->lc, m.wide ? 64 : 32);
  snprintf(name, sizeof name, "%s_f%d", nw_op_name(op), m.wide ? 64 : 32);
  value f = LLVMGetNamedFunction(g->module, name);
  if (f) return f;
  LLVMTypeRef params[] = {t, t};
  LLVMBasicBlockRef here = nwc_here(g);
  f = LLVMAddFunction(g->module, name, LLVMFunctionType(t, params, (unsigned)n, false));
  LLVMSetLinkage(f, LLVMInternalLinkage);
  nwc_for_target(g, f);
  nwc_at(g, LLVMAppendBasicBlockInContext(g->lc, f, "entry"));
  value result = body_of(&m, op, LLVMGetParam(f, 0), n > 1 ? LLVMGetParam(f, 1) : NULL);
  if (result) LLVMBuildRet(g->b, result);
  nwc_at(g, here);
  if (!result) LLVMDeleteFunction(f);
  return result ? f : NULL;
}

LLVMValueRef nwc_device_function(nwc *g, nw_op op, nw_type t, int n, LLVMValueRef *args) {
  LLVMTypeRef one = nwc_type(g, (nw_type){t.dtype, 1});
  value f = function_of(g, op, n, one), all = t.lanes > 1 ? LLVMGetPoison(nwc_type(g, t)) : NULL;
  if (!f) {
    nwc_fail(g, "this code generator has no code for %s of %s on a GPU", nw_op_name(op), nw_dtype_name(t.dtype));
    return LLVMGetUndef(nwc_type(g, t));
  }
  for (int i = 0; i < t.lanes; i++) {
    value part[2];
    for (int k = 0; k < n; k++) part[k] = nwc_slice(g, args[k], i, 1);
    value v = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, part, (unsigned)n, "");
    all = all ? LLVMBuildInsertElement(g->b, all, v, nwc_i64(g, i), "") : v;
  }
  return all;
}
