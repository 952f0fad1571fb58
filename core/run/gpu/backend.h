// Declares the back ends for GPUs.
#pragma once
#include "run/session.h"

#define NW_GPU_FILES "f:export \"kernel.ptx\" (PTX), \"kernel.cu\" (CUDA C) or \"kernel.cl\" (OpenCL C)"
extern const nw_backend nw_cuda, nw_opencl;
bool nw_kernel_has_driver(const nw_kernel *k); // true if a driver of a GPU runs the kernel
nw_gpu_kind nw_kernel_gpu(const nw_kernel *k); // the driver for which such a kernel was compiled
