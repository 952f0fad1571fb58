// The program nestwright-opencl: the worker for OpenCL. It uses a GPU if some platform has one, otherwise another device.
// See run/gpu/serve.h.
#include "run/opencl/driver.h"
#include "run/gpu/serve.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLATFORMS = 32 };

static nw_cl cl;
static nw_cl_handle device, context, queue;

static const char *name_of(nw_cl_int error) {
  switch (error) {
#define NAME(name, number)                                                                                             \
  case number: return #name;
    NW_CL_ERRORS(NAME)
#undef NAME
  default: return "no name";
  }
}

// True if a function of OpenCL succeeded.
static bool done(nw_gpu_reply *r, nw_cl_int error, nw_gpu_failure what, const char *doing) {
  if (!error) return true;
  if (error == NW_CL_MEM_OBJECT_ALLOCATION_FAILURE || error == NW_CL_INVALID_BUFFER_SIZE ||
      error == NW_CL_OUT_OF_HOST_MEMORY)
    what = NW_GPU_NO_MEMORY;
  r->failed = what;
  r->error = error;
  snprintf(r->text, sizeof r->text, "%s: error %d (%s)", doing, error, name_of(error));
  return false;
}

// ---- opening

static bool open_library(nw_gpu_reply *r) {
  static const nw_gpu_symbol all[] = {
#define ENTRY(field, name, type, parameters) {name, offsetof(nw_cl, field)},
      NW_CL_FUNCTIONS(ENTRY)
#undef ENTRY
  };
  return nw_gpu_open_library(r, "libOpenCL.so.1", (int)(sizeof all / sizeof *all), all, &cl);
}

static bool find_device(nw_gpu_reply *r) {
  static const uint64_t types[] = {NW_CL_GPU, NW_CL_ACCELERATOR, (uint32_t)NW_CL_ANY};
  nw_cl_handle platform[MOST_PLATFORMS];
  uint32_t n = 0;
  nw_cl_int error = cl.platforms(MOST_PLATFORMS, platform, &n);
  if (error || !n) return nw_gpu_failed(r, NW_GPU_NO_GPU, "it finds no driver of a device");
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (uint32_t i = 0; i < n && i < MOST_PLATFORMS; i++) {
      uint32_t found = 0;
      if (!cl.devices(platform[i], types[t], 1, &device, &found) && found) return true;
    }
  return nw_gpu_failed(r, NW_GPU_NO_GPU, "its drivers find no device");
}

// Returns a number that the device reports, with `bytes` bytes; 0 if it does not report it.
static int64_t number(uint32_t what, size_t bytes) {
  uint64_t value = 0;
  return cl.device_info(device, what, bytes, &value, NULL) ? 0 : (int64_t)value;
}

static int32_t small(int64_t value) { return value > INT32_MAX ? INT32_MAX : (int32_t)value; }

static void describe(nw_gpu_facts *g) {
  char version[200] = "";
  size_t extent[16] = {0}, room = sizeof extent;
  int major = 0, minor = 0;
  cl.device_info(device, NW_CL_NAME, sizeof g->name, g->name, NULL);
  g->name[sizeof g->name - 1] = 0;
  cl.device_info(device, NW_CL_VERSION, sizeof version - 1, version, NULL);
  sscanf(version, "OpenCL %d.%d", &major, &minor);
  g->driver = 1000 * major + 10 * minor;
  g->memory = number(NW_CL_MEMORY, sizeof(uint64_t));
  g->multiprocessors = small(number(NW_CL_UNITS, sizeof(uint32_t)));
  g->clock_khz = small(1000 * number(NW_CL_MHZ, sizeof(uint32_t)));
  g->l2_bytes = small(number(NW_CL_CACHE, sizeof(uint64_t)));
  g->shared = g->shared_block = small(number(NW_CL_LOCAL, sizeof(uint64_t)));
  g->threads_block = small(number(NW_CL_GROUP, sizeof(size_t)));
  g->is_gpu = (number(NW_CL_TYPE, sizeof(uint64_t)) & NW_CL_GPU) != 0;
  cl.device_info(device, NW_CL_GROUP_EXTENTS, room, extent, NULL);
  for (int i = 0; i < 3; i++) g->extent_block[i] = small((int64_t)extent[i]);
}

static bool open(nw_gpu_reply *r, nw_gpu_facts *g) {
  nw_cl_int error = 0;
  if (!open_library(r) || !find_device(r)) return false;
  context = cl.context(NULL, 1, &device, NULL, NULL, &error);
  if (!done(r, error, NW_GPU_BROKEN, "clCreateContext")) return false;
  queue = cl.queue(context, device, NW_CL_QUEUE_PROFILING, &error);
  if (!done(r, error, NW_GPU_BROKEN, "clCreateCommandQueue")) return false;
  describe(g);
  return true;
}

// ---- modules

typedef struct module {
  nw_cl_handle program;
  int n;
  nw_cl_handle kernel[];
} module;

// pocl 3.1 computes wrong results if it optimises a kernel in which a private array is used on both sides of a barrier.
static bool is_pocl(void) {
  char version[200] = "";
  cl.device_info(device, NW_CL_VERSION, sizeof version - 1, version, NULL);
  return strstr(version, "PoCL") || strstr(version, "pocl");
}

// Divisions and square roots round as in the program if the device can do this.
static const char *options(void) {
  static char all[100];
  bool exact = number(NW_CL_SINGLE, sizeof(uint64_t)) & NW_CL_EXACT_DIVISION;
  snprintf(all, sizeof all, "%s%s", exact ? "-cl-fp32-correctly-rounded-divide-sqrt " : "",
           is_pocl() ? "-cl-opt-disable" : "");
  return all;
}

static bool build(nw_gpu_reply *r, module *m, const char *text) {
  nw_cl_int error = 0;
  m->program = cl.program(context, 1, &text, NULL, &error);
  if (!done(r, error, NW_GPU_BROKEN, "clCreateProgramWithSource")) return false;
  error = cl.build(m->program, 1, &device, options(), NULL, NULL);
  if (done(r, error, NW_GPU_BAD_CODE, "clBuildProgram")) return true;
  size_t n = strlen(r->text), room = 0;
  char *log = NULL;
  if (!cl.build_info(m->program, device, NW_CL_BUILD_LOG, 0, NULL, &room) && room > 1) log = calloc(1, room + 1);
  if (log && !cl.build_info(m->program, device, NW_CL_BUILD_LOG, room, log, NULL))
    snprintf(r->text + n, sizeof r->text - n, ": %s", log);
  free(log);
  return false;
}

static bool load(nw_gpu_reply *r, const char *text, int n, const char *const *name, nw_gpu_function *out,
                 void **loaded) {
  module *m = calloc(1, sizeof *m + (size_t)n * sizeof *m->kernel);
  if (!m) return nw_gpu_failed(r, NW_GPU_NO_MEMORY, "no memory for a module");
  *loaded = m;
  if (!build(r, m, text)) return false;
  for (; m->n < n; m->n++) {
    nw_cl_int error = 0;
    uint64_t bytes = 0;
    m->kernel[m->n] = cl.kernel(m->program, name[m->n], &error);
    if (!done(r, error, NW_GPU_BAD_CODE, name[m->n])) return false;
    cl.kernel_info(m->kernel[m->n], device, NW_CL_PRIVATE_BYTES, sizeof bytes, &bytes, NULL);
    out[m->n] = (nw_gpu_function){.local_bytes = small((int64_t)bytes)};
  }
  return true;
}

static bool unload(nw_gpu_reply *r, void *loaded) {
  module *m = loaded;
  (void)r;
  for (int i = 0; i < m->n; i++) cl.kernel_release(m->kernel[i]);
  if (m->program) cl.program_release(m->program);
  free(m);
  return true;
}

// ---- launches

static nw_cl_handle first, last; // the events of the first and of the last launch

static bool begin(nw_gpu_reply *r) {
  (void)r;
  first = last = NULL;
  return true;
}

static bool launch(nw_gpu_reply *r, void *loaded, const nw_gpu_launch *l, uint64_t *argument) {
  nw_cl_handle k = ((module *)loaded)->kernel[l->kernel], event = NULL;
  size_t all[3], group[3];
  // a memory is a pointer, and so has as many bytes as a number
  for (uint32_t i = 0; i < l->narguments; i++)
    if (!done(r, cl.argument(k, i, sizeof *argument, &argument[i]), NW_GPU_BROKEN, "clSetKernelArg")) return false;
  for (int i = 0; i < 3; i++) group[i] = l->block[i], all[i] = (size_t)l->block[i] * l->grid[i];
  if (!done(r, cl.launch(queue, k, 3, NULL, all, group, 0, NULL, &event), NW_GPU_BROKEN, "clEnqueueNDRangeKernel"))
    return false;
  if (last && last != first) cl.event_release(last);
  last = event;
  if (!first) first = event;
  return true;
}

static bool time_of(nw_gpu_reply *r, nw_cl_handle event, uint32_t what, uint64_t *ns) {
  nw_cl_int status = 0;
  if (!done(r, cl.event_info(event, NW_CL_EVENT_STATUS, sizeof status, &status, NULL), NW_GPU_BROKEN, "clGetEventInfo"))
    return false;
  return done(r, status < 0 ? status : 0, NW_GPU_BROKEN, "the kernel") &&
         done(r, cl.event_time(event, what, sizeof *ns, ns, NULL), NW_GPU_BROKEN, "clGetEventProfilingInfo");
}

static bool end(nw_gpu_reply *r, float *ms) {
  uint64_t from = 0, to = 0;
  nw_cl_int error = cl.finish(queue);
  bool good = !ms || done(r, error, NW_GPU_BROKEN, "the kernel");
  if (good && ms && first) good = time_of(r, first, NW_CL_EVENT_START, &from) && time_of(r, last, NW_CL_EVENT_END, &to);
  if (ms) *ms = (float)((double)(to - from) * 1e-6);
  if (last && last != first) cl.event_release(last);
  if (first) cl.event_release(first);
  first = last = NULL;
  return good;
}

// ---- memory

static bool alloc(nw_gpu_reply *r, uint64_t bytes, uint64_t *memory) {
  nw_cl_int error = 0;
  nw_cl_handle at = cl.buffer(context, NW_CL_READ_WRITE, bytes, NULL, &error);
  *memory = (uint64_t)(uintptr_t)at;
  return done(r, error, NW_GPU_BROKEN, "clCreateBuffer");
}

static bool release(nw_gpu_reply *r, uint64_t memory) {
  return done(r, cl.buffer_release((nw_cl_handle)(uintptr_t)memory), NW_GPU_BROKEN, "clReleaseMemObject");
}

static bool put(nw_gpu_reply *r, uint64_t memory, uint64_t offset, const void *from, uint64_t bytes) {
  nw_cl_handle at = (nw_cl_handle)(uintptr_t)memory;
  return done(r, cl.write(queue, at, 1, offset, bytes, from, 0, NULL, NULL), NW_GPU_BROKEN, "clEnqueueWriteBuffer");
}

static bool get(nw_gpu_reply *r, uint64_t memory, uint64_t offset, void *to, uint64_t bytes) {
  nw_cl_handle at = (nw_cl_handle)(uintptr_t)memory;
  return done(r, cl.read(queue, at, 1, offset, bytes, to, 0, NULL, NULL), NW_GPU_BROKEN, "clEnqueueReadBuffer");
}

_Static_assert(sizeof(nw_cl_handle) == sizeof(uint64_t), "an argument of a kernel has 64 bits");

int main(void) {
  static const nw_gpu_driver all = {open, load, unload, alloc, release, put, get, begin, launch, end};
  return nw_gpu_serve(&all);
}
