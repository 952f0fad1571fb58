--- The program in C that runs the kernels of a packed schedule (packed.lua).
return [==[
// Runs the kernels of plan.h on an NVIDIA GPU, checks their results, and measures their time. Needs only the driver's
// library, libcuda.so.1. Usage: run MODULE, where MODULE is a file with PTX or a cubin. Prints one line of JSON.
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "plan.h"

typedef int status;
typedef unsigned long long address;

#define FUNCTIONS(X)                                                                                                   \
  X(cuInit, (unsigned))                                                                                                \
  X(cuDeviceGet, (int *, int))                                                                                         \
  X(cuDeviceGetName, (char *, int, int))                                                                               \
  X(cuDeviceGetAttribute, (int *, int, int))                                                                           \
  X(cuDevicePrimaryCtxRetain, (void **, int))                                                                          \
  X(cuCtxSetCurrent, (void *))                                                                                         \
  X(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))                                             \
  X(cuModuleGetFunction, (void **, void *, const char *))                                                              \
  X(cuFuncSetAttribute, (void *, int, int))                                                                            \
  X(cuFuncGetAttribute, (int *, int, void *))                                                                          \
  X(cuMemAlloc_v2, (address *, size_t))                                                                                \
  X(cuMemcpyHtoD_v2, (address, const void *, size_t))                                                                  \
  X(cuMemcpyDtoH_v2, (void *, address, size_t))                                                                        \
  X(cuMemsetD8_v2, (address, unsigned char, size_t))                                                                   \
  X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,    \
                     void **))                                                                                         \
  X(cuCtxSynchronize, (void))                                                                                          \
  X(cuEventCreate, (void **, unsigned))                                                                                \
  X(cuEventRecord, (void *, void *))                                                                                   \
  X(cuEventSynchronize, (void *))                                                                                      \
  X(cuEventElapsedTime, (float *, void *, void *))

#define DECLARE(name, types) static status(*name) types;
FUNCTIONS(DECLARE)

static const char *module_name;

static void fail(const char *what, int code) {
  printf("{\"task\": \"%s\", \"module\": \"%s\", \"status\": \"error\", \"error\": \"%s", TASK, module_name, what);
  if (code) printf(": %d", code);
  printf("\"}\n");
  exit(1);
}

#define DO(call)                                                                                                       \
  do {                                                                                                                 \
    int code_ = (call);                                                                                                \
    if (code_) fail(#call, code_);                                                                                     \
  } while (0)

static void load_driver(void) {
  void *lib = dlopen("libcuda.so.1", RTLD_NOW);
  if (!lib) fail("there is no NVIDIA driver on this machine (libcuda.so.1)", 0);
#define FIND(name, types)                                                                                              \
  if (!(*(void **)&name = dlsym(lib, #name))) fail("libcuda.so.1 has no function " #name, 0);
  FUNCTIONS(FIND)
}

static void *read_file(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  if (!f) fail(path, 0);
  fseek(f, 0, SEEK_END);
  *bytes = (size_t)ftell(f);
  rewind(f);
  char *data = calloc(*bytes + 1, 1);
  if (!data || fread(data, 1, *bytes, f) != *bytes) fail(path, 0);
  fclose(f);
  return data;
}

// Reads the elements of a .npy file.
static void *read_elements(const char *path, size_t size) {
  size_t bytes, head;
  unsigned char *data = read_file(path, &bytes);
  head = bytes > 10 ? 10 + data[8] + 256 * (size_t)data[9] : bytes;
  if (bytes < head || bytes - head != size) fail(path, (int)bytes);
  memmove(data, data + head, size);
  return data;
}

static address at[NARRAYS + 1];
static void *function[NLAUNCHES + 1];

static void launch_all(void) {
  for (int i = 0; i < NLAUNCHES; i++) {
    const launch *l = &launches[i];
    int64_t number[MOST_ARGUMENTS];
    void *argument[MOST_ARGUMENTS];
    for (int k = 0; k < l->n; k++) {
      number[k] = l->argument[k].value;
      argument[k] = l->argument[k].array >= 0 ? (void *)&at[l->argument[k].array] : (void *)&number[k];
    }
    DO(cuLaunchKernel(function[i], l->blocks[0], l->blocks[1], l->blocks[2], l->threads[0], l->threads[1], l->threads[2],
                      l->shared, NULL, argument, NULL));
  }
}

static double value_of(const array *a, const void *data, int64_t i) {
  if (!strcmp(a->dtype, "f32")) return ((const float *)data)[i];
  if (!strcmp(a->dtype, "f64")) return ((const double *)data)[i];
  if (!strcmp(a->dtype, "i32")) return ((const int32_t *)data)[i];
  if (!strcmp(a->dtype, "i64")) return (double)((const int64_t *)data)[i];
  if (!strcmp(a->dtype, "i16")) return ((const int16_t *)data)[i];
  if (!strcmp(a->dtype, "i8")) return ((const int8_t *)data)[i];
  return a->bytes == 1 ? ((const uint8_t *)data)[i] : a->bytes == 2 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

int main(int argc, char **argv) {
  int device, sms, major, minor, registers = 0;
  char name[128];
  void *context, *module, *event[2];
  size_t bytes;
  module_name = argc > 1 ? argv[1] : "kernel.ptx";
  load_driver();
  DO(cuInit(0));
  DO(cuDeviceGet(&device, 0));
  DO(cuDeviceGetName(name, sizeof name, device));
  DO(cuDeviceGetAttribute(&sms, 16, device));
  DO(cuDeviceGetAttribute(&major, 75, device));
  DO(cuDeviceGetAttribute(&minor, 76, device));
  DO(cuDevicePrimaryCtxRetain(&context, device));
  DO(cuCtxSetCurrent(context));
  void *code = read_file(module_name, &bytes);
  static char log[8192];
  int option[] = {5, 6}; // the buffer for messages about errors, and its size
  void *value[] = {log, (void *)(intptr_t)sizeof log};
  if (cuModuleLoadDataEx(&module, code, 2, option, value)) {
    fprintf(stderr, "%s\n", log);
    fail("the driver does not accept the module", 0);
  }
  for (int i = 0; i < NLAUNCHES; i++) {
    int r = 0;
    DO(cuModuleGetFunction(&function[i], module, launches[i].kernel));
    if (launches[i].shared) DO(cuFuncSetAttribute(function[i], 8, (int)launches[i].shared));
    DO(cuFuncGetAttribute(&r, 4, function[i]));
    registers = r > registers ? r : registers;
  }
  for (int i = 0; i < NARRAYS; i++) {
    size_t size = (size_t)arrays[i].elements * arrays[i].bytes;
    DO(cuMemAlloc_v2(&at[i], size + 256));
    DO(cuMemsetD8_v2(at[i], 0xff, size + 256));
    if (arrays[i].input) {
      void *data = read_elements(arrays[i].input, size);
      DO(cuMemcpyHtoD_v2(at[i], data, size));
      free(data);
    }
  }
  launch_all();
  DO(cuCtxSynchronize());
  int64_t checked = 0, different = 0, wrong = 0;
  double worst = 0;
  for (int i = 0; i < NARRAYS; i++) {
    const array *a = &arrays[i];
    if (!a->expected) continue;
    size_t size = (size_t)a->elements * a->bytes;
    void *expected = read_elements(a->expected, size), *got = malloc(size + 1);
    if (!got) fail("there is too little memory", 0);
    DO(cuMemcpyDtoH_v2(got, at[i], size));
    for (int64_t k = 0; k < a->elements; k++) {
      double x = value_of(a, got, k), y = value_of(a, expected, k), d = fabs(x - y);
      int same = !memcmp((char *)got + k * a->bytes, (char *)expected + k * a->bytes, a->bytes) || (isnan(x) && isnan(y));
      checked++, different += !same;
      if (same) continue;
      if (!(d <= worst)) worst = d;
      wrong += !(d <= TOLERANCE * (fabs(y) + SCALE));
    }
    free(expected), free(got);
  }
  // Times: as many launches in a sample as take about a millisecond.
  float ms = 0;
  int each = 1;
  for (int k = 0; k < 2; k++) DO(cuEventCreate(&event[k], 0));
  for (;; each *= 2) {
    DO(cuEventRecord(event[0], NULL));
    for (int k = 0; k < each; k++) launch_all();
    DO(cuEventRecord(event[1], NULL));
    DO(cuEventSynchronize(event[1]));
    DO(cuEventElapsedTime(&ms, event[0], event[1]));
    if (ms > 1 || each >= 1 << 14) break;
  }
  printf("{\"version\": \"%s\", \"task\": \"%s\", \"module\": \"%s\", \"target\": \"%s\", \"machine\": \"%s\", \"capability\": "
         "\"%d.%d\", \"sms\": %d, \"registers\": %d, \"trace\": %s, \"seed\": %d, \"status\": \"%s\", \"checked\": %lld, "
         "\"different\": %lld, \"worst\": %.3g, \"times\": [",
         VERSION, TASK, module_name, TARGET, name, major, minor, sms, registers, TRACE, SEED, wrong ? "wrong" : "ok",
         (long long)checked, (long long)different, worst);
  for (int n = 0; n < SAMPLES; n++) {
    DO(cuEventRecord(event[0], NULL));
    for (int k = 0; k < each; k++) launch_all();
    DO(cuEventRecord(event[1], NULL));
    DO(cuEventSynchronize(event[1]));
    DO(cuEventElapsedTime(&ms, event[0], event[1]));
    printf("%s%.6g", n ? ", " : "", ms / each * 1e-3);
  }
  printf("]}\n");
  return wrong != 0;
}
]==]
