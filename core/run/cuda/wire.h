// The protocol between a session and nestwright-cuda, the worker that uses NVIDIA's driver.
//
// The worker first sends a nw_cuda_reply with the word NW_CUDA_READY. After that, the session sends requests, and the
// worker answers each with one reply. A request is a nw_cuda_request, followed by `bytes` bytes. A reply is a
// nw_cuda_reply, followed by `bytes` bytes. All data of arrays goes through one block of shared memory, whose file
// descriptor comes with NW_CUDA_MAP.
#pragma once
#include <stdint.h>

typedef enum nw_cuda_what {
  NW_CUDA_OPEN, // opens the driver and the first GPU; the answer is followed by a nw_cuda_gpu
  NW_CUDA_MAP, // a is the number of bytes of the shared memory
  NW_CUDA_LOAD, // followed by a's worth of PTX with its NUL, then by the names of the kernels, each with its NUL; the value of
  // the answer is the number of the module, and the answer is followed by a nw_cuda_function for each kernel
  NW_CUDA_UNLOAD, // a is a module
  NW_CUDA_ALLOC, // a is a number of bytes; the value of the answer is the address
  NW_CUDA_FREE, // a is an address
  NW_CUDA_PUT, // copies c bytes from byte b of the shared memory to address a
  NW_CUDA_GET, // copies c bytes from address a to byte b of the shared memory
  // Runs the launches of module a, b times, and waits for their end. Followed by a nw_cuda_launch for each launch, each
  // with its arguments. The answer is followed by b floats, the milliseconds of each time.
  NW_CUDA_RUN,
} nw_cuda_what;

typedef struct nw_cuda_request {
  uint32_t what, bytes;
  uint64_t a, b, c;
} nw_cuda_request;

#define NW_CUDA_READY 0x6e770101u // must be changed whenever the protocol changes

typedef struct nw_cuda_reply {
  uint32_t word; // NW_CUDA_READY
  uint32_t bytes;
  int32_t failed; // nw_cuda_failure
  int32_t error; // the driver's number of the error, or 0
  uint64_t value;
  char text[1000]; // why it failed
} nw_cuda_reply;

typedef enum nw_cuda_failure {
  NW_CUDA_FINE,
  NW_CUDA_NO_DRIVER, // libcuda cannot be opened, or is too old
  NW_CUDA_NO_GPU,
  NW_CUDA_NO_MEMORY,
  NW_CUDA_BAD_CODE, // the driver does not accept the PTX
  NW_CUDA_BAD_REQUEST,
  NW_CUDA_BROKEN, // any other error; the worker must be ended, because all later calls of the driver may fail
} nw_cuda_failure;

typedef struct nw_cuda_gpu {
  char name[96];
  int64_t memory; // bytes
  int32_t driver; // version of CUDA that the driver supports, times 1000
  int32_t major, minor, multiprocessors, clock_khz, memory_khz, memory_bits, l2_bytes, threads, blocks, shared,
      shared_block;
} nw_cuda_gpu;

typedef struct nw_cuda_function {
  int32_t registers, local_bytes; // of a thread
} nw_cuda_function;

typedef struct nw_cuda_launch {
  uint32_t kernel, narguments; // followed by the arguments, of 64 bits each
  uint32_t grid[3], block[3];
  uint32_t shared, reserved;
} nw_cuda_launch;

#define NW_CUDA_FD 3 // the file descriptor of the socket in the worker (NW_WORKER_FD)
enum { NW_CUDA_MOST = 64 << 20, NW_CUDA_MOST_TIMES = 100000 }; // largest numbers of bytes of a request and of runs
