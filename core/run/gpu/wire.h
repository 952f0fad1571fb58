// The protocol between a session and a worker that uses a GPU through its driver: nestwright-cuda, which uses NVIDIA's
// driver, or nestwright-opencl.
//
// The worker first sends a nw_gpu_reply with the word NW_GPU_READY. After that, the session sends requests, and the
// worker answers each with one reply. A request is a nw_gpu_request, followed by `bytes` bytes. A reply is a
// nw_gpu_reply, followed by `bytes` bytes. All data of arrays goes through one block of shared memory, whose file
// descriptor comes with NW_GPU_MAP.
#pragma once
#include <stdint.h>

typedef enum nw_gpu_what {
  NW_GPU_OPEN, // opens the driver and the first GPU; the answer is followed by a nw_gpu_facts
  NW_GPU_MAP, // a is the number of bytes of the shared memory
  NW_GPU_LOAD, // followed by a bytes of code with its NUL (PTX or OpenCL C), then by the names of the kernels, each with its NUL; the value of
  // the answer is the number of the module, and the answer is followed by a nw_gpu_function for each kernel
  NW_GPU_UNLOAD, // a is a module
  NW_GPU_ALLOC, // a is a number of bytes; the value of the answer names the memory
  NW_GPU_FREE, // a is a memory
  NW_GPU_PUT, // copies c bytes from byte b of the shared memory to byte d of memory a
  NW_GPU_GET, // copies c bytes from byte d of memory a to byte b of the shared memory
  // Runs the launches of module a, b times, and waits for their end. Followed by a nw_gpu_launch for each launch, each
  // with its arguments. The answer is followed by b floats, the milliseconds of each time.
  NW_GPU_RUN,
} nw_gpu_what;

typedef struct nw_gpu_request {
  uint32_t what, bytes;
  uint64_t a, b, c, d;
} nw_gpu_request;

#define NW_GPU_READY 0x6e770102u // must be changed whenever the protocol changes

typedef struct nw_gpu_reply {
  uint32_t word; // NW_GPU_READY
  uint32_t bytes;
  int32_t failed; // nw_gpu_failure
  int32_t error; // the driver's number of the error, or 0
  uint64_t value;
  char text[1000]; // why it failed
} nw_gpu_reply;

typedef enum nw_gpu_failure {
  NW_GPU_FINE,
  NW_GPU_NO_DRIVER, // the library of the driver cannot be opened, or is too old
  NW_GPU_NO_GPU,
  NW_GPU_NO_MEMORY,
  NW_GPU_BAD_CODE, // the driver does not accept the code
  NW_GPU_BAD_REQUEST,
  NW_GPU_BROKEN, // any other error; the worker must be ended, because all later calls of the driver may fail
} nw_gpu_failure;

typedef struct nw_gpu_facts { // a number that the driver does not report is 0
  char name[160];
  int64_t memory; // bytes
  int32_t driver; // version of CUDA or OpenCL that the driver supports, times 1000
  int32_t major, minor; // compute capability of an NVIDIA GPU
  int32_t multiprocessors, clock_khz, memory_khz, memory_bits, l2_bytes;
  int32_t threads, blocks, shared; // limits of a multiprocessor
  int32_t shared_block, threads_block, extent_block[3]; // limits of a block
  int32_t is_gpu; // 0 if it is a CPU that runs OpenCL
} nw_gpu_facts;

typedef struct nw_gpu_function {
  int32_t registers, local_bytes; // of a thread; 0 if they are not known
} nw_gpu_function;

typedef struct nw_gpu_launch {
  uint32_t kernel, narguments; // followed by the arguments, of 64 bits each
  uint32_t grid[3], block[3];
  uint32_t shared, reserved;
} nw_gpu_launch;

#define NW_GPU_FD 3 // the file descriptor of the socket in the worker (NW_WORKER_FD)
enum { NW_GPU_MOST = 64 << 20, NW_GPU_MOST_TIMES = 100000 }; // largest numbers of bytes of a request and of runs
