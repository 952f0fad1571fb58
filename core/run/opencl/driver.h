// Declares the functions of libOpenCL that the worker for OpenCL calls. The declarations are our own, so that a build
// needs no headers of OpenCL. The library is opened when a device is first needed.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int32_t nw_cl_int;
typedef void *nw_cl_handle; // a platform, device, context, queue, program, kernel, memory or event

// X(field, name in the library, type of the result, parameters)
#define NW_CL_FUNCTIONS(X)                                                                                             \
  X(platforms, "clGetPlatformIDs", nw_cl_int, (uint32_t room, nw_cl_handle * out, uint32_t * n))                       \
  X(devices, "clGetDeviceIDs", nw_cl_int,                                                                              \
    (nw_cl_handle platform, uint64_t type, uint32_t room, nw_cl_handle * out, uint32_t * n))                           \
  X(device_info, "clGetDeviceInfo", nw_cl_int,                                                                         \
    (nw_cl_handle device, uint32_t what, size_t room, void *out, size_t *n))                                           \
  X(context, "clCreateContext", nw_cl_handle,                                                                          \
    (const intptr_t *properties, uint32_t n, const nw_cl_handle *device, void (*f)(void), void *data,                  \
     nw_cl_int *error))                                                                                                \
  X(queue, "clCreateCommandQueue", nw_cl_handle,                                                                       \
    (nw_cl_handle context, nw_cl_handle device, uint64_t properties, nw_cl_int * error))                               \
  X(program, "clCreateProgramWithSource", nw_cl_handle,                                                                \
    (nw_cl_handle context, uint32_t n, const char **text, const size_t *length, nw_cl_int *error))                     \
  X(build, "clBuildProgram", nw_cl_int,                                                                                \
    (nw_cl_handle program, uint32_t n, const nw_cl_handle *device, const char *options, void (*f)(void), void *data))  \
  X(build_info, "clGetProgramBuildInfo", nw_cl_int,                                                                    \
    (nw_cl_handle program, nw_cl_handle device, uint32_t what, size_t room, void *out, size_t *n))                     \
  X(program_release, "clReleaseProgram", nw_cl_int, (nw_cl_handle program))                                            \
  X(kernel, "clCreateKernel", nw_cl_handle, (nw_cl_handle program, const char *name, nw_cl_int *error))                \
  X(kernel_info, "clGetKernelWorkGroupInfo", nw_cl_int,                                                                \
    (nw_cl_handle kernel, nw_cl_handle device, uint32_t what, size_t room, void *out, size_t *n))                      \
  X(kernel_release, "clReleaseKernel", nw_cl_int, (nw_cl_handle kernel))                                               \
  X(argument, "clSetKernelArg", nw_cl_int, (nw_cl_handle kernel, uint32_t i, size_t bytes, const void *value))         \
  X(buffer, "clCreateBuffer", nw_cl_handle,                                                                            \
    (nw_cl_handle context, uint64_t flags, size_t bytes, void *host, nw_cl_int *error))                                \
  X(buffer_release, "clReleaseMemObject", nw_cl_int, (nw_cl_handle memory))                                            \
  X(write, "clEnqueueWriteBuffer", nw_cl_int,                                                                          \
    (nw_cl_handle queue, nw_cl_handle memory, uint32_t wait, size_t offset, size_t bytes, const void *from,            \
     uint32_t n, const nw_cl_handle *after, nw_cl_handle *event))                                                      \
  X(read, "clEnqueueReadBuffer", nw_cl_int,                                                                            \
    (nw_cl_handle queue, nw_cl_handle memory, uint32_t wait, size_t offset, size_t bytes, void *to, uint32_t n,        \
     const nw_cl_handle *after, nw_cl_handle *event))                                                                  \
  X(launch, "clEnqueueNDRangeKernel", nw_cl_int,                                                                       \
    (nw_cl_handle queue, nw_cl_handle kernel, uint32_t dimensions, const size_t *offset, const size_t *all,            \
     const size_t *group, uint32_t n, const nw_cl_handle *after, nw_cl_handle *event))                                 \
  X(finish, "clFinish", nw_cl_int, (nw_cl_handle queue))                                                               \
  X(event_info, "clGetEventInfo", nw_cl_int, (nw_cl_handle event, uint32_t what, size_t room, void *out, size_t *n))   \
  X(event_time, "clGetEventProfilingInfo", nw_cl_int,                                                                  \
    (nw_cl_handle event, uint32_t what, size_t room, void *out, size_t *n))                                            \
  X(event_release, "clReleaseEvent", nw_cl_int, (nw_cl_handle event))

typedef struct nw_cl {
#define NW_CL_FIELD(field, name, type, parameters) type(*field) parameters;
  NW_CL_FUNCTIONS(NW_CL_FIELD)
#undef NW_CL_FIELD
} nw_cl;

// X(name, number): the errors that have a name in messages
#define NW_CL_ERRORS(X)                                                                                                \
  X(CL_DEVICE_NOT_FOUND, -1)                                                                                           \
  X(CL_DEVICE_NOT_AVAILABLE, -2)                                                                                       \
  X(CL_COMPILER_NOT_AVAILABLE, -3)                                                                                     \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                                              \
  X(CL_OUT_OF_RESOURCES, -5)                                                                                           \
  X(CL_OUT_OF_HOST_MEMORY, -6)                                                                                         \
  X(CL_BUILD_PROGRAM_FAILURE, -11)                                                                                     \
  X(CL_INVALID_VALUE, -30)                                                                                             \
  X(CL_INVALID_KERNEL_NAME, -46)                                                                                       \
  X(CL_INVALID_KERNEL_ARGS, -52)                                                                                       \
  X(CL_INVALID_WORK_GROUP_SIZE, -54)                                                                                   \
  X(CL_INVALID_WORK_ITEM_SIZE, -55)                                                                                    \
  X(CL_INVALID_BUFFER_SIZE, -61)                                                                                       \
  X(CL_INVALID_GLOBAL_WORK_SIZE, -63)                                                                                  \
  X(CL_PLATFORM_NOT_FOUND_KHR, -1001)

enum {
#define NW_CL_ERROR(name, number) NW_##name = number,
  NW_CL_ERRORS(NW_CL_ERROR)
#undef NW_CL_ERROR
};
enum {
  NW_CL_QUEUE_PROFILING = 1 << 1,
  NW_CL_READ_WRITE = 1 << 0,
  NW_CL_CPU = 1 << 1,
  NW_CL_GPU = 1 << 2,
  NW_CL_ACCELERATOR = 1 << 3,
  NW_CL_ANY = -1,
  NW_CL_EXACT_DIVISION = 1 << 7,
  NW_CL_BUILD_LOG = 0x1183,
  NW_CL_PRIVATE_BYTES = 0x11B4, // of a work-item of a kernel
  NW_CL_EVENT_STATUS = 0x11D3,
  NW_CL_EVENT_START = 0x1282,
  NW_CL_EVENT_END = 0x1283,
};
enum { // what a device reports
  NW_CL_TYPE = 0x1000,
  NW_CL_UNITS = 0x1002,
  NW_CL_GROUP = 0x1004,
  NW_CL_GROUP_EXTENTS = 0x1005,
  NW_CL_MHZ = 0x100C,
  NW_CL_SINGLE = 0x101B, // what f32 can do
  NW_CL_CACHE = 0x101E,
  NW_CL_MEMORY = 0x101F,
  NW_CL_LOCAL = 0x1023,
  NW_CL_AVAILABLE = 0x1027,
  NW_CL_NAME = 0x102B,
  NW_CL_VERSION = 0x102F,
};
