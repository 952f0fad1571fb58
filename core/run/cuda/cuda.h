// Declares the back end for NVIDIA GPUs.
#pragma once
#include "run/run.h"

extern const nw_backend nw_cuda;
