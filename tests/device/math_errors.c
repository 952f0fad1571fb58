// Prints the largest errors of the math functions that kernels for a GPU have (tests/spec/device/ptx_math_spec.lua).
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
float exp_f32(float), log_f32(float), tanh_f32(float), erf_f32(float), pow_f32(float, float);
double exp_f64(double), log_f64(double), tanh_f64(double), erf_f64(double), pow_f64(double, double);

enum { N = 1000000 };

// Returns the distance of a result from the exact value, in units in the last place of f32 or f64. The sign of a zero counts.
static double ulps(long double want, double got, int narrow) {
  int e, least = narrow ? -125 : -1021;
  double rounded = narrow ? (float)want : (double)want;
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e9;
  if (rounded == got && !signbit(rounded) == !signbit(got)) return 0;
  if (isinf(rounded) || isinf(got) || want == 0) return 1e9;
  frexpl(want, &e);
  return (double)(fabsl(got - want) / ldexpl(1, (e < least ? least : e) - (narrow ? 24 : 53)));
}

static uint64_t state = 1;
static uint64_t draw(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  return (z ^ z >> 27) * 0x94d049bb133111ebu >> 1;
}

// Returns special values first, then random bits and random numbers of usual size.
static float narrow(int i) {
  static const float special[] = {0,      -0.F,     1,        -1,       INFINITY, -INFINITY, NAN,
                                  1e-45F, 88.7228F, 88.7229F, -103.97F, -104.1F,  3.4e38F,   2.5F};
  uint32_t u = (uint32_t)draw();
  float x;
  if (i < 14) return special[i];
  memcpy(&x, &u, sizeof x);
  return i % 2 ? x : (float)((double)(int32_t)u / (i % 4 ? 1e8 : 2e9));
}

static double wide(int i) {
  uint64_t u = draw() << 1 ^ draw();
  double x;
  if (i < 14) return narrow(i);
  memcpy(&x, &u, sizeof x);
  return i % 2 ? x : (double)(int64_t)u / (i % 4 ? 1.4e16 : 9.3e18);
}
static void measure32(const char *name, float (*f)(float), double (*exact)(double)) {
  double worst = 0;
  for (int i = 0; i < N; i++) {
    float x = narrow(i);
    worst = fmax(worst, ulps(exact(x), f(x), 1));
  }
  printf("%s_f32 %.3f\n", name, worst);
}

static void measure64(const char *name, double (*f)(double), long double (*exact)(long double)) {
  double worst = 0;
  for (int i = 0; i < N; i++) {
    double x = wide(i);
    worst = fmax(worst, ulps(exact(x), f(x), 0));
  }
  printf("%s_f64 %.3f\n", name, worst);
}

int main(void) {
  measure32("exp", exp_f32, exp);
  measure32("log", log_f32, log);
  measure32("tanh", tanh_f32, tanh);
  measure32("erf", erf_f32, erf);
  measure64("exp", exp_f64, expl);
  measure64("log", log_f64, logl);
  measure64("tanh", tanh_f64, tanhl);
  measure64("erf", erf_f64, erfl);
  double worst = 0;
  for (int i = 0; i < N; i++) {
    float x = narrow(i), y = i < 196 ? narrow(i / 14) : i % 3 ? narrow(i) : (float)(int)(narrow(4 * i + 2) * 3);
    if (i < 196) x = narrow(i % 14);
    worst = fmax(worst, ulps(pow(x, y), pow_f32(x, y), 1));
  }
  printf("pow_f32 %.3f\n", worst);
  worst = 0;
  for (int i = 0; i < N; i++) {
    double x = wide(i), y = i < 196 ? wide(i / 14) : i % 3 ? wide(i) : (double)(int)(narrow(4 * i + 2) * 3);
    if (i < 196) x = wide(i % 14);
    if (i % 5 == 4) x = 1 + (x - floor(x)) / 64, y = fmod(y, 5e4); // large powers of numbers near 1
    worst = fmax(worst, ulps(powl(x, y), pow_f64(x, y), 0));
  }
  printf("pow_f64 %.3f\n", worst);
}
