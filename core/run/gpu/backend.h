// Declares the back ends for GPUs.
#pragma once
#include "run/session.h"

extern const nw_backend nw_cuda, nw_opencl;
nw_gpu_kind nw_kernel_gpu(const nw_kernel *k); // the driver for which a kernel was compiled
