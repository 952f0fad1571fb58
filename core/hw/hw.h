// What is known of a machine without measuring it: for now, this host.
#pragma once
#include "base/base.h"

typedef struct nw_cache {
  int level;
  int64_t bytes;
  int ways, line;
  int shared_by; // logical cpus
} nw_cache;

typedef struct nw_machine_info {
  char cpu[64], model[96]; // the kernel's name for it
  int cores; // logical cpus this process may use
  int vector_bytes; // widest float vector: 64, 32, 16
  bool fma, avx512, f16c;
  int vector_registers;
  int ncaches;
  nw_cache cache[4]; // data or unified, level 1 first; from sysfs
  bool caches_assumed; // the system hides its caches: these are what such processors have
  int64_t memory_bytes, available_bytes;
} nw_machine_info;

NW_API const nw_machine_info *nw_host(void); // read once; from sysfs, /proc and cpuid
// What a GPU allows one launch; "default" is what every CUDA device of the last ten years allows.
typedef struct nw_gpu_info {
  int64_t threads; // of a block
  int64_t extent[6]; // blockIdx.x, y, z, threadIdx.x, y, z
  int64_t shared_bytes; // of a block
} nw_gpu_info;
const nw_gpu_info *nw_gpu_find(const char *name); // NULL if there is none
// Limits the judge holds programs to.
#define NW_STACK_LIMIT (256 * 1024) // bytes of scope "local" alive at once in one thread
#define NW_MAX_LANES 256
