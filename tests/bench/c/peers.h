// The benches compare Nestwright with these programs, which are plain C as a careful programmer writes it.
#pragma once
#include <stdint.h>
void peer_conv1d_scatter(int n, int taps, const float *restrict a, const float *restrict w, float *restrict out);
void peer_gemm_ijk(int n, const float *restrict a, const float *restrict b, float *restrict c);
void peer_depthwise(int channels, int h, int w, const float *restrict in, const float *restrict k, float *restrict out);
void peer_blur_u16(int h, int w, const uint16_t *restrict in, uint16_t *restrict tmp, uint16_t *restrict out);
void peer_blur_f32(int h, int w, const float *restrict in, float *restrict tmp, float *restrict out);
void peer_triad(long n, const float *restrict b, const float *restrict c, float *restrict a);
void peer_copy(long bytes, const void *restrict from, void *restrict to);
double peer_branch_miss(void); // core cycles that a mispredicted branch costs
double peer_line_crossing(void); // additional core cycles of a load of 32 bytes that crosses a cache line
void peer_softmax(int rows, int n, const float *restrict in, float *restrict out);
