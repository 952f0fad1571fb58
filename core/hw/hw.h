// The data that the operating system and the CPU report about this host, without measurements.
#pragma once
#include "hw/features.h"

typedef struct nw_cache {
  int level;
  int64_t bytes;
  int ways, line;
  int shared_by; // number of logical CPUs that share the cache
} nw_cache;

typedef struct nw_machine_info {
  char cpu[64], model[96]; // name of the model as the operating system reports it
  int cores; // logical CPUs that this process may use
  nw_isa isa;
  nw_features features;
  int vector_bytes; // size of the widest vector of floats: 64, 32 or 16
  int vector_registers;
  int ncaches;
  nw_cache cache[4]; // data and unified caches, level 1 first; from sysfs
  bool caches_assumed; // true if the system reports no caches; the values in `cache` are then those of a typical CPU
  int64_t memory_bytes, available_bytes;
} nw_machine_info;

NW_API const nw_machine_info *nw_host(void); // reads sysfs, /proc and cpuid at the first call
