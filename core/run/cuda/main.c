// The program nestwright-cuda: the worker for NVIDIA's driver. See run/gpu/serve.h.
#include "run/cuda/driver.h"
#include "run/gpu/serve.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nw_cu cu;

// True if the driver's call succeeded.
static bool done(nw_gpu_reply *r, nw_cu_result error, nw_gpu_failure what, const char *doing) {
  const char *name = NULL, *text = NULL;
  if (error == NW_CU_SUCCESS) return true;
  if (cu.error_name) cu.error_name(error, &name);
  if (cu.error_text) cu.error_text(error, &text);
  if (error == NW_CU_OUT_OF_MEMORY) what = NW_GPU_NO_MEMORY;
  if (error == NW_CU_NO_DEVICE) what = NW_GPU_NO_GPU;
  r->failed = what;
  r->error = error;
  if (text && name)
    snprintf(r->text, sizeof r->text, "%s: %s (%s)", doing, text, name);
  else
    snprintf(r->text, sizeof r->text, "%s: error %d", doing, error);
  return false;
}

// ---- opening

static bool open_library(nw_gpu_reply *r) {
  static const nw_gpu_symbol all[] = {
#define ENTRY(field, name, parameters) {name, offsetof(nw_cu, field)},
      NW_CU_FUNCTIONS(ENTRY)
#undef ENTRY
  };
  return nw_gpu_open_library(r, "libcuda.so.1", (int)(sizeof all / sizeof *all), all, &cu);
}

static void describe(nw_gpu_facts *g, nw_cu_device device) {
  const struct {
    int32_t *to;
    int attribute;
  } all[] = {{&g->major, NW_CU_MAJOR},
             {&g->minor, NW_CU_MINOR},
             {&g->multiprocessors, NW_CU_MULTIPROCESSORS},
             {&g->clock_khz, NW_CU_CLOCK_KHZ},
             {&g->memory_khz, NW_CU_MEMORY_KHZ},
             {&g->memory_bits, NW_CU_MEMORY_BITS},
             {&g->l2_bytes, NW_CU_L2_BYTES},
             {&g->threads, NW_CU_THREADS_PER_MULTIPROCESSOR},
             {&g->blocks, NW_CU_BLOCKS_PER_MULTIPROCESSOR},
             {&g->shared, NW_CU_SHARED_PER_MULTIPROCESSOR},
             {&g->shared_block, NW_CU_SHARED_PER_BLOCK},
             {&g->threads_block, NW_CU_THREADS_PER_BLOCK},
             {&g->extent_block[0], NW_CU_BLOCK_X},
             {&g->extent_block[1], NW_CU_BLOCK_Y},
             {&g->extent_block[2], NW_CU_BLOCK_Z}};
  size_t memory = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) cu.attribute(all[i].to, all[i].attribute, device);
  cu.name(g->name, sizeof g->name, device);
  cu.memory(&memory, device);
  cu.version(&g->driver);
  g->memory = (int64_t)memory;
  g->is_gpu = 1;
}

static bool open(nw_gpu_reply *r, nw_gpu_facts *g) {
  nw_cu_handle context;
  nw_cu_device device;
  int n = 0;
  if (!open_library(r) || !done(r, cu.init(0), NW_GPU_NO_DRIVER, "cuInit")) return false;
  if (!done(r, cu.count(&n), NW_GPU_NO_GPU, "cuDeviceGetCount")) return false;
  if (n < 1) return nw_gpu_failed(r, NW_GPU_NO_GPU, "the driver finds no GPU");
  if (!done(r, cu.device(&device, 0), NW_GPU_NO_GPU, "cuDeviceGet") ||
      !done(r, cu.retain(&context, device), NW_GPU_BROKEN, "cuDevicePrimaryCtxRetain") ||
      !done(r, cu.use(context), NW_GPU_BROKEN, "cuCtxSetCurrent"))
    return false;
  describe(g, device);
  return true;
}

// ---- modules

typedef struct module {
  nw_cu_handle handle;
  nw_cu_handle function[];
} module;

static bool load_text(nw_gpu_reply *r, module *m, const char *text) {
  static char log[900];
  int option[] = {NW_CU_ERROR_LOG, NW_CU_ERROR_LOG_BYTES};
  void *value[] = {log, (void *)(uintptr_t)sizeof log};
  *log = 0;
  nw_cu_result error = cu.load(&m->handle, text, 2, option, value);
  if (done(r, error, NW_GPU_BAD_CODE, "cuModuleLoadDataEx")) return true;
  size_t n = strlen(r->text);
  log[sizeof log - 1] = 0;
  if (*log && r->failed == NW_GPU_BAD_CODE) snprintf(r->text + n, sizeof r->text - n, ": %s", log);
  return false;
}

static bool load(nw_gpu_reply *r, const char *text, int n, const char *const *name, nw_gpu_function *out,
                 void **loaded) {
  module *m = calloc(1, sizeof *m + (size_t)n * sizeof *m->function);
  if (!m) return nw_gpu_failed(r, NW_GPU_NO_MEMORY, "no memory for a module");
  *loaded = m;
  if (!load_text(r, m, text)) return false;
  for (int i = 0; i < n; i++) {
    if (!done(r, cu.function(&m->function[i], m->handle, name[i]), NW_GPU_BAD_CODE, name[i])) return false;
    cu.function_get(&out[i].registers, NW_CU_FUNCTION_REGISTERS, m->function[i]);
    cu.function_get(&out[i].local_bytes, NW_CU_FUNCTION_LOCAL, m->function[i]);
  }
  return true;
}

static bool unload(nw_gpu_reply *r, void *loaded) {
  module *m = loaded;
  nw_cu_result error = m->handle ? cu.unload(m->handle) : NW_CU_SUCCESS;
  free(m);
  return done(r, error, NW_GPU_BROKEN, "cuModuleUnload");
}

// ---- launches

static nw_cu_handle event[2]; // before and after the launches

static bool begin(nw_gpu_reply *r) {
  for (int i = 0; i < 2; i++)
    if (!done(r, cu.event_create(&event[i], 0), NW_GPU_BROKEN, "cuEventCreate")) return false;
  return done(r, cu.event_record(event[0], NULL), NW_GPU_BROKEN, "cuEventRecord");
}

static bool launch(nw_gpu_reply *r, void *loaded, const nw_gpu_launch *l, uint64_t *argument) {
  static void *at[NW_GPU_MOST_ARGUMENTS];
  nw_cu_handle f = ((module *)loaded)->function[l->kernel];
  for (uint32_t i = 0; i < l->narguments; i++) at[i] = &argument[i];
  if (l->shared &&
      !done(r, cu.function_set(f, NW_CU_FUNCTION_DYNAMIC_SHARED, (int)l->shared), NW_GPU_BROKEN, "cuFuncSetAttribute"))
    return false;
  return done(r,
              cu.launch(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared, NULL,
                        at, NULL),
              NW_GPU_BROKEN, "cuLaunchKernel");
}

static bool end(nw_gpu_reply *r, float *ms) {
  bool good = !ms || (done(r, cu.event_record(event[1], NULL), NW_GPU_BROKEN, "cuEventRecord") &&
                      done(r, cu.event_synchronize(event[1]), NW_GPU_BROKEN, "the kernel") &&
                      done(r, cu.event_elapsed(ms, event[0], event[1]), NW_GPU_BROKEN, "cuEventElapsedTime"));
  for (int i = 0; i < 2; i++) {
    if (event[i]) cu.event_destroy(event[i]);
    event[i] = NULL;
  }
  return good;
}

// ---- memory

static bool alloc(nw_gpu_reply *r, uint64_t bytes, uint64_t *memory) {
  return done(r, cu.alloc(memory, bytes), NW_GPU_BROKEN, "cuMemAlloc");
}

static bool release(nw_gpu_reply *r, uint64_t memory) {
  return done(r, cu.release(memory), NW_GPU_BROKEN, "cuMemFree");
}

static bool put(nw_gpu_reply *r, uint64_t memory, uint64_t offset, const void *from, uint64_t bytes) {
  return done(r, cu.put(memory + offset, from, bytes), NW_GPU_BROKEN, "cuMemcpyHtoD");
}

static bool get(nw_gpu_reply *r, uint64_t memory, uint64_t offset, void *to, uint64_t bytes) {
  return done(r, cu.get(to, memory + offset, bytes), NW_GPU_BROKEN, "cuMemcpyDtoH");
}

int main(void) {
  static const nw_gpu_driver all = {open, load, unload, alloc, release, put, get, begin, launch, end};
  return nw_gpu_serve(&all);
}
