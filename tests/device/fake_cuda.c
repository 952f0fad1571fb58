// A stand-in for libcuda.so.1, for tests on machines without a GPU. The memory of the GPU is memory of the process. A kernel
// named "copy_kernel", "twice_kernel" or "sum_kernel" computes with f32: its last buffer becomes the first one, twice the
// first one, or the sum of the first two. Other kernels do nothing. The environment variable FAKE_CUDA says what fails:
// "none" (no GPU), "memory", "ptx", "launch" (from then on, everything fails), "hang" or "crash".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int result;
enum { OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_PTX = 218, ILLEGAL_ADDRESS = 700, MOST = 64 };

static struct {
  char name[80];
  int dynamic;
} kernels[MOST];
static int nkernels, broken, live;
static size_t sizes[4096];
static void *blocks[4096];

static int fails(const char *what) {
  const char *asked = getenv("FAKE_CUDA");
  return asked && !strcmp(asked, what);
}

static result now(void) { return broken ? ILLEGAL_ADDRESS : 0; }

result cuInit(unsigned flags) { return flags ? 1 : 0; }
result cuDriverGetVersion(int *v) { return *v = 12040, 0; }
result cuGetErrorName(result e, const char **name) {
  *name = e == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : e == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
                             : "CUDA_ERROR_ILLEGAL_ADDRESS";
  return 0;
}
result cuGetErrorString(result e, const char **text) {
  *text = e == OUT_OF_MEMORY ? "out of memory"
          : e == INVALID_PTX ? "a PTX JIT compilation failed"
                             : "an illegal memory access was encountered";
  return 0;
}
result cuDeviceGetCount(int *n) { return *n = fails("none") ? 0 : 1, 0; }
result cuDeviceGet(int *d, int i) { return *d = i, 0; }
result cuDeviceGetName(char *name, int room, int d) {
  (void)d;
  snprintf(name, (size_t)room, "%s", getenv("FAKE_CUDA_NAME") ? getenv("FAKE_CUDA_NAME") : "NVIDIA A100-SXM4-80GB");
  return 0;
}
result cuDeviceTotalMem_v2(size_t *n, int d) { return (void)d, *n = (size_t)80 << 30, 0; }
result cuDeviceGetAttribute(int *v, int what, int d) {
  static const int known[][2] = {{16, 108},       {13, 1410000},   {75, 8},        {76, 0},
                                 {36, 1593000},   {37, 5120},      {38, 40 << 20}, {39, 2048},
                                 {81, 164 << 10}, {97, 163 << 10}, {106, 32}};
  (void)d;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i][0] == what) return *v = known[i][1], 0;
  return 1;
}
result cuDevicePrimaryCtxRetain(void **c, int d) { return (void)d, *c = &live, 0; }
result cuCtxSetCurrent(void *c) { return c != &live; }
result cuCtxSynchronize(void) { return now(); }

result cuModuleLoadDataEx(void **m, const void *text, unsigned n, int *option, void **value) {
  if (now()) return now();
  if (!strstr(text, ".version") || !strstr(text, ".entry") || fails("ptx")) {
    for (unsigned i = 0; i < n; i++)
      if (option[i] == 5) strcpy(value[i], "ptxas application ptx input, line 1; fatal : what a fake does not like");
    return INVALID_PTX;
  }
  return *m = &nkernels, 0;
}
result cuModuleUnload(void *m) { return m != &nkernels; }
result cuModuleGetFunction(void **f, void *m, const char *name) {
  if (m != &nkernels) return 1;
  snprintf(kernels[nkernels].name, sizeof kernels->name, "%s", name);
  *f = &kernels[nkernels];
  nkernels = (nkernels + 1) % MOST;
  return 0;
}
result cuFuncSetAttribute(void *f, int what, int v) { return ((void)f, what == 8 && v > 48 << 10) ? 0 : 1; }
result cuFuncGetAttribute(int *v, int what, void *f) { return (void)f, *v = what == 4 ? 32 : 0, 0; }

result cuMemAlloc_v2(uint64_t *at, size_t n) {
  if (now()) return now();
  if (fails("memory")) return OUT_OF_MEMORY;
  for (int i = 0; i < 4096; i++)
    if (!blocks[i]) {
      blocks[i] = aligned_alloc(256, (n + 255) / 256 * 256);
      sizes[i] = n;
      memset(blocks[i], 0xa5, n);
      *at = (uint64_t)(uintptr_t)blocks[i];
      live++;
      return 0;
    }
  return OUT_OF_MEMORY;
}
static int block_of(uint64_t at, size_t n) {
  for (int i = 0; i < 4096; i++) {
    uint64_t start = (uint64_t)(uintptr_t)blocks[i];
    if (blocks[i] && at >= start && at + n <= start + sizes[i]) return i;
  }
  return -1;
}
result cuMemFree_v2(uint64_t at) {
  int i = block_of(at, 0);
  if (i < 0) return 1;
  free(blocks[i]);
  blocks[i] = NULL;
  live--;
  return now();
}
result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) {
  if (now() || block_of(to, n) < 0) return now() ? now() : 1;
  return memcpy((void *)(uintptr_t)to, from, n), 0;
}
result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) {
  if (now() || block_of(from, n) < 0) return now() ? now() : 1;
  return memcpy(to, (void *)(uintptr_t)from, n), 0;
}

static float *argument(void **a, int i, size_t *n) {
  uint64_t at = *(uint64_t *)a[i];
  int b = block_of(at, 0);
  if (b < 0) exit(7);
  if (sizes[b] / sizeof(float) < *n) *n = sizes[b] / sizeof(float);
  return (float *)(uintptr_t)at;
}

result cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **a, void **extra) {
  const char *name = f;
  size_t n = SIZE_MAX;
  if (now()) return now();
  if (stream || extra || shared > 227 << 10 || !gx || !gy || !gz || (size_t)bx * by * bz > 1024) return 1;
  if (fails("launch")) return broken = 1, 0;
  if (fails("crash")) abort();
  if (fails("hang"))
    for (;;) pause();
  if (!strcmp(name, "copy_kernel") || !strcmp(name, "twice_kernel")) {
    float *in = argument(a, 0, &n), *out = argument(a, 1, &n);
    for (size_t i = 0; i < n; i++) out[i] = in[i] * (*name == 't' ? 2 : 1);
  }
  if (!strcmp(name, "sum_kernel")) {
    float *x = argument(a, 0, &n), *y = argument(a, 1, &n), *out = argument(a, 2, &n);
    for (size_t i = 0; i < n; i++) out[i] = x[i] + y[i];
  }
  return 0;
}

result cuEventCreate(void **e, unsigned flags) { return (void)flags, *e = &broken, 0; }
result cuEventRecord(void *e, void *s) { return e != &broken || s; }
result cuEventSynchronize(void *e) { return (void)e, now(); }
result cuEventElapsedTime(float *ms, void *a, void *b) { return (void)a, (void)b, *ms = 0.25F, now(); }
result cuEventDestroy_v2(void *e) { return e != &broken; }
