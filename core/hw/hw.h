// Declares the data that the operating system and the CPU report about this host. Nothing is measured.
#pragma once
#include "hw/features.h"

typedef struct nw_cache {
  int level;
  int64_t bytes;
  int ways, line; // line: in bytes
  int shared_by; // number of logical CPUs that share the cache
} nw_cache;

typedef struct nw_machine_info {
  char cpu[64], model[96]; // cpu: vendor, family and model number; model: the name in /proc/cpuinfo
  int cores; // logical CPUs that this process may use
  nw_isa isa;
  nw_features features;
  int vector_bytes; // bytes of the widest vector of floats: 64, 32 or 16
  int vector_registers;
  int ncaches;
  nw_cache cache[4]; // data caches and unified caches, level 1 first
  bool caches_assumed; // true if the system reports no caches; `cache` then describes a typical CPU
  int64_t memory_bytes, available_bytes;
} nw_machine_info;

NW_API const nw_machine_info *nw_host(void); // reads sysfs, /proc and CPUID at the first call
