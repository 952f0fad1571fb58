// The computations of tests/bench/programs as plain loops in C. A program gets the sizes n, and the arrays p: first the inputs, then
// the outputs. It is the definition against which the results of Nestwright are checked, and the peer against which they are timed.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

// clang-format off
#define PROGRAMS(X) \
  X(axpy) X(dot_rows) X(gemv) X(gemv_t) X(ger) X(gemm) X(batched_gemm) X(syrk) X(trmv) X(tri_solve) X(complex_gemv) X(covariance) \
  X(kronecker) X(distances) X(transpose) X(ell_spmv) X(floyd_warshall) X(pagerank) \
  X(softmax) X(log_softmax) X(layernorm) X(rmsnorm) X(gelu) X(gated) X(bias_relu) X(batchnorm) X(attention) X(rope) X(embedding) \
  X(conv2d) X(depthwise3) X(pointwise) X(maxpool) X(avgpool) X(gemm_i8) X(argmax_rows) X(kmeans) X(ragged_mean) X(cross_entropy) \
  X(gauss) X(box_filter) X(sobel) X(erosion) X(grey) X(lookup) X(resize) X(downsample) X(life) X(integral) X(blend) X(upsample) \
  X(prefix_sum) X(moving_average) X(smith_waterman) X(levenshtein) X(subsequence) X(viterbi) X(knapsack) X(wave) X(running_max) \
  X(lstm) X(jacobi) X(heat3d) X(nbody) X(black_scholes) X(mandelbrot) X(horner) X(fft_stage) X(bitonic) X(moving_max) X(logistic) \
  X(hamming) X(unpack4) X(xorshift) X(splitmix) X(radix_count) X(own_exp) \
  X(welford) X(online_softmax) X(csr_spmv) X(segments) X(triangle) \
  X(lu) X(cholesky) X(substitution) X(gauss_seidel) X(row_sums) X(histogram) X(histogram_atomic) X(radix_offsets) X(scatter_add)
// clang-format on

#define PROGRAM(name) void program_##name(const long *n, void *const *p)
#define DECLARE(name) PROGRAM(name);
PROGRAMS(DECLARE)
