--- Small intrinsics for tests. Each has a description, and C code that computes the same.
local nw = require "nestwright"

local kernels = {}

local C_TYPES = {f32 = "float", f64 = "double", i32 = "int32_t", i64 = "int64_t", i8 = "int8_t", u8 = "uint8_t"}

--- Returns the tensors {A, B, C} of C[i, j] = sum(A[i, k]*B[k, j], k). If `bt` is true, B is transposed: B[j, k].
function kernels.gemm_tensors(m, n, k, dtype, bt)
  local A = nw.placeholder({m, k}, dtype, "A")
  local B = nw.placeholder(bt and {n, k} or {k, n}, dtype, "B")
  local r = nw.reduce_axis(k, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, r) * (bt and B(j, r) or B(r, j)), r) end, "C")
  return {A, B, C}
end

--- Returns C code for the computation of kernels.gemm_tensors. It takes the options of kernels.gemm. All strides are arguments.
function kernels.gemm_source(o)
  local t = C_TYPES[o.dtype or "i32"]
  return ([[
#include <stdint.h>
void NAME(const T *A, const T *B, T *C, int64_t ai, int64_t ak, int64_t b0, int64_t b1, int64_t ci, int64_t cj) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      T sum = INIT;
      for (int k = 0; k < K; k++) sum += A[i*ai + k*ak] * B[BI];
      C[i*ci + j*cj] = sum;
    }
}
]]):gsub("%f[%w]%u+%f[%W]", {NAME = o.name, T = t, M = o.m, N = o.n, K = o.k,
    INIT = o.accumulate == false and "0" or "C[i*ci + j*cj]", BI = o.bt and "j*b0 + k*b1" or "k*b0 + j*b1"})
end

local ANY = {A = {"any", "any"}, B = {"any", "any"}, C = {"any", "any"}}

--- Returns the intrinsic C[i, j] += A[i, k]*B[k, j] for extents m, n, k. The options `o` are {name, m, n, k, dtype, accumulate,
--- bt}. Defaults: dtype = "i32", accumulate = true, bt = false.
function kernels.gemm(o)
  local source = kernels.gemm_source(o)
  return nw.intrinsic {name = o.name, args = kernels.gemm_tensors(o.m, o.n, o.k, o.dtype or "i32", o.bt),
    accumulate = o.accumulate ~= false, strides = ANY, source = source}
end

--- Returns the intrinsic Z[i] = X[i] + Y[i] for extent n.
function kernels.add(name, n, dtype)
  dtype = dtype or "i32"
  local X, Y = nw.placeholder({n}, dtype, "X"), nw.placeholder({n}, dtype, "Y")
  local Z = nw.compute({n}, function(i) return X(i) + Y(i) end, "Z")
  return nw.intrinsic {name = name, args = {X, Y, Z}, strides = {X = {"any"}, Y = {"any"}, Z = {"any"}}, source = ([[
#include <stdint.h>
void %s(const %s *X, const %s *Y, %s *Z, int64_t x, int64_t y, int64_t z) {
  for (int i = 0; i < %d; i++) Z[i*z] = X[i*x] + Y[i*y];
}]]):format(name, C_TYPES[dtype], C_TYPES[dtype], C_TYPES[dtype], n)}
end

return kernels
