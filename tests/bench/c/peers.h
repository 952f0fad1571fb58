// What the benches compare with: plain C as a careful person writes it, and a vendor library.
#pragma once
void peer_conv1d_scatter(int n, int taps, const float *restrict a, const float *restrict w, float *restrict out);
void peer_gemm_ijk(int n, const float *restrict a, const float *restrict b, float *restrict c);
