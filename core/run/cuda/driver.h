// Declares the functions of libcuda, the interface of NVIDIA's driver, that the worker for GPUs calls. The declarations
// are our own, so that a build needs no toolkit. The library is opened when a GPU is first needed.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int nw_cu_result, nw_cu_device;
typedef uint64_t nw_cu_address;
typedef void *nw_cu_handle; // a context, module, function, stream or event

// X(field, name in the library, parameters)
#define NW_CU_FUNCTIONS(X)                                                                                             \
  X(init, "cuInit", (unsigned flags))                                                                                  \
  X(version, "cuDriverGetVersion", (int *version))                                                                     \
  X(error_name, "cuGetErrorName", (nw_cu_result error, const char **name))                                             \
  X(error_text, "cuGetErrorString", (nw_cu_result error, const char **text))                                           \
  X(count, "cuDeviceGetCount", (int *n))                                                                               \
  X(device, "cuDeviceGet", (nw_cu_device * device, int i))                                                             \
  X(name, "cuDeviceGetName", (char *name, int room, nw_cu_device device))                                              \
  X(memory, "cuDeviceTotalMem_v2", (size_t * bytes, nw_cu_device device))                                              \
  X(attribute, "cuDeviceGetAttribute", (int *value, int attribute, nw_cu_device device))                               \
  X(retain, "cuDevicePrimaryCtxRetain", (nw_cu_handle * context, nw_cu_device device))                                 \
  X(use, "cuCtxSetCurrent", (nw_cu_handle context))                                                                    \
  X(synchronize, "cuCtxSynchronize", (void))                                                                           \
  X(load, "cuModuleLoadDataEx", (nw_cu_handle * module, const void *text, unsigned n, int *option, void **value))      \
  X(unload, "cuModuleUnload", (nw_cu_handle module))                                                                   \
  X(function, "cuModuleGetFunction", (nw_cu_handle * function, nw_cu_handle module, const char *name))                 \
  X(function_set, "cuFuncSetAttribute", (nw_cu_handle function, int attribute, int value))                             \
  X(function_get, "cuFuncGetAttribute", (int *value, int attribute, nw_cu_handle function))                            \
  X(alloc, "cuMemAlloc_v2", (nw_cu_address * at, size_t bytes))                                                        \
  X(release, "cuMemFree_v2", (nw_cu_address at))                                                                       \
  X(put, "cuMemcpyHtoD_v2", (nw_cu_address to, const void *from, size_t bytes))                                        \
  X(get, "cuMemcpyDtoH_v2", (void *to, nw_cu_address from, size_t bytes))                                              \
  X(launch, "cuLaunchKernel",                                                                                          \
    (nw_cu_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,              \
     unsigned shared, nw_cu_handle stream, void **arguments, void **extra))                                            \
  X(event_create, "cuEventCreate", (nw_cu_handle * event, unsigned flags))                                             \
  X(event_record, "cuEventRecord", (nw_cu_handle event, nw_cu_handle stream))                                          \
  X(event_synchronize, "cuEventSynchronize", (nw_cu_handle event))                                                     \
  X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, nw_cu_handle from, nw_cu_handle to))                    \
  X(event_destroy, "cuEventDestroy_v2", (nw_cu_handle event))

typedef struct nw_cu {
#define NW_CU_FIELD(field, name, parameters) nw_cu_result(*field) parameters;
  NW_CU_FUNCTIONS(NW_CU_FIELD)
#undef NW_CU_FIELD
} nw_cu;

enum { // results
  NW_CU_SUCCESS = 0,
  NW_CU_OUT_OF_MEMORY = 2,
  NW_CU_NO_DEVICE = 100,
};
enum { // options of load
  NW_CU_ERROR_LOG = 5,
  NW_CU_ERROR_LOG_BYTES = 6,
};
enum { // attributes of functions
  NW_CU_FUNCTION_LOCAL = 3,
  NW_CU_FUNCTION_REGISTERS = 4,
  NW_CU_FUNCTION_DYNAMIC_SHARED = 8,
};
enum { // attributes of devices
  NW_CU_THREADS_PER_BLOCK = 1,
  NW_CU_BLOCK_X = 2,
  NW_CU_BLOCK_Y = 3,
  NW_CU_BLOCK_Z = 4,
  NW_CU_MULTIPROCESSORS = 16,
  NW_CU_CLOCK_KHZ = 13,
  NW_CU_MAJOR = 75,
  NW_CU_MINOR = 76,
  NW_CU_MEMORY_KHZ = 36,
  NW_CU_MEMORY_BITS = 37,
  NW_CU_L2_BYTES = 38,
  NW_CU_THREADS_PER_MULTIPROCESSOR = 39,
  NW_CU_SHARED_PER_MULTIPROCESSOR = 81,
  NW_CU_SHARED_PER_BLOCK = 97,
  NW_CU_BLOCKS_PER_MULTIPROCESSOR = 106,
};
