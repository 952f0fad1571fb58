// The program nestwright-cuda. It opens NVIDIA's driver, gets requests from a socket and runs them one at a time, until
// the socket is closed. It loads neither LLVM nor the library of the session. See run/cuda/wire.h.
#include "run/cuda/driver.h"
#include "run/cuda/wire.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIBRARY "libcuda.so.1"

static nw_cu cu;
static struct {
  char *data;
  size_t bytes;
} shared;

typedef struct module {
  nw_cu_handle handle;
  int n;
  nw_cu_handle *function;
} module;
static module *modules;
static int nmodules;

// ---- the socket

static bool write_all(const void *data, size_t n) {
  for (const char *p = data; n;) {
    ssize_t done = send(NW_CUDA_FD, p, n, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

static bool read_all(void *data, size_t n) {
  for (char *p = data; n;) {
    ssize_t done = read(NW_CUDA_FD, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

// Reads a request. With NW_CUDA_MAP comes a file descriptor.
static bool receive(nw_cuda_request *q, int *fd) {
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {q, sizeof *q};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n;
  *fd = -1;
  while ((n = recvmsg(NW_CUDA_FD, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
  if (n <= 0) return false;
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  if (c && c->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(c), sizeof *fd);
  return (size_t)n == sizeof *q || read_all((char *)q + n, sizeof *q - (size_t)n);
}

// ---- failures

static bool fail(nw_cuda_reply *r, nw_cuda_failure what, const char *text) {
  r->failed = what;
  snprintf(r->text, sizeof r->text, "%s", text);
  return false;
}

// True if the driver's call succeeded.
static bool done(nw_cuda_reply *r, nw_cu_result error, nw_cuda_failure what, const char *doing) {
  const char *name = NULL, *text = NULL;
  if (error == NW_CU_SUCCESS) return true;
  if (cu.error_name) cu.error_name(error, &name);
  if (cu.error_text) cu.error_text(error, &text);
  if (error == NW_CU_OUT_OF_MEMORY) what = NW_CUDA_NO_MEMORY;
  if (error == NW_CU_NO_DEVICE) what = NW_CUDA_NO_GPU;
  r->failed = what;
  r->error = error;
  if (text && name)
    snprintf(r->text, sizeof r->text, "%s: %s (%s)", doing, text, name);
  else
    snprintf(r->text, sizeof r->text, "%s: error %d", doing, error);
  return false;
}

// ---- opening

static bool open_library(nw_cuda_reply *r) {
  static const struct {
    const char *name;
    size_t offset;
  } all[] = {
#define ENTRY(field, name, parameters) {name, offsetof(nw_cu, field)},
      NW_CU_FUNCTIONS(ENTRY)
#undef ENTRY
  };
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(r, NW_CUDA_NO_DRIVER, dlerror());
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    void *at = dlsym(library, all[i].name);
    if (!at) return fail(r, NW_CUDA_NO_DRIVER, dlerror());
    memcpy((char *)&cu + all[i].offset, &at, sizeof at);
  }
  return true;
}

static void describe(nw_cuda_gpu *g, nw_cu_device device) {
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
             {&g->shared_block, NW_CU_SHARED_PER_BLOCK}};
  size_t memory = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) cu.attribute(all[i].to, all[i].attribute, device);
  cu.name(g->name, sizeof g->name, device);
  cu.memory(&memory, device);
  cu.version(&g->driver);
  g->memory = (int64_t)memory;
}

static bool open_gpu(nw_cuda_reply *r, nw_cuda_gpu *g) {
  nw_cu_handle context;
  nw_cu_device device;
  int n = 0;
  if (!open_library(r) || !done(r, cu.init(0), NW_CUDA_NO_DRIVER, "cuInit")) return false;
  if (!done(r, cu.count(&n), NW_CUDA_NO_GPU, "cuDeviceGetCount")) return false;
  if (n < 1) return fail(r, NW_CUDA_NO_GPU, "the driver finds no GPU");
  if (!done(r, cu.device(&device, 0), NW_CUDA_NO_GPU, "cuDeviceGet") ||
      !done(r, cu.retain(&context, device), NW_CUDA_BROKEN, "cuDevicePrimaryCtxRetain") ||
      !done(r, cu.use(context), NW_CUDA_BROKEN, "cuCtxSetCurrent"))
    return false;
  describe(g, device);
  return true;
}

// ---- modules

static bool load_text(nw_cuda_reply *r, module *m, const char *text) {
  static char log[900];
  int option[] = {NW_CU_ERROR_LOG, NW_CU_ERROR_LOG_BYTES};
  void *value[] = {log, (void *)(uintptr_t)sizeof log};
  *log = 0;
  nw_cu_result error = cu.load(&m->handle, text, 2, option, value);
  if (done(r, error, NW_CUDA_BAD_CODE, "cuModuleLoadDataEx")) return true;
  size_t n = strlen(r->text);
  log[sizeof log - 1] = 0;
  if (*log && r->failed == NW_CUDA_BAD_CODE) snprintf(r->text + n, sizeof r->text - n, ": %s", log);
  return false;
}

static bool load(nw_cuda_reply *r, const nw_cuda_request *q, const char *data, nw_cuda_function *out, int room) {
  const char *end = data + q->bytes, *name = data + q->a;
  module m = {0};
  if (!q->a || q->a >= q->bytes || data[q->a - 1] || end[-1]) return fail(r, NW_CUDA_BAD_REQUEST, "no PTX");
  if (!load_text(r, &m, data)) return false;
  m.function = calloc((size_t)room, sizeof *m.function);
  for (; name < end && m.n < room; name += strlen(name) + 1, m.n++) {
    if (!m.function || !done(r, cu.function(&m.function[m.n], m.handle, name), NW_CUDA_BAD_CODE, name)) return false;
    cu.function_get(&out[m.n].registers, NW_CU_FUNCTION_REGISTERS, m.function[m.n]);
    cu.function_get(&out[m.n].local_bytes, NW_CU_FUNCTION_LOCAL, m.function[m.n]);
  }
  module *more = realloc(modules, ((size_t)nmodules + 1) * sizeof *more);
  if (!more) return fail(r, NW_CUDA_NO_MEMORY, "no memory for a module");
  modules = more;
  modules[nmodules] = m;
  r->value = (uint64_t)nmodules++;
  r->bytes = (uint32_t)((size_t)m.n * sizeof *out);
  return true;
}

static bool unload(nw_cuda_reply *r, uint64_t at) {
  if (at >= (uint64_t)nmodules || !modules[at].handle) return fail(r, NW_CUDA_BAD_REQUEST, "no such module");
  nw_cu_result error = cu.unload(modules[at].handle);
  free(modules[at].function);
  modules[at] = (module){0};
  return done(r, error, NW_CUDA_BROKEN, "cuModuleUnload");
}

// ---- launches

enum { MOST_ARGUMENTS = 4096 };

static bool launch_one(nw_cuda_reply *r, const module *m, const nw_cuda_launch *l, uint64_t *argument) {
  static void *at[MOST_ARGUMENTS];
  nw_cu_handle f = m->function[l->kernel];
  for (uint32_t i = 0; i < l->narguments; i++) at[i] = &argument[i];
  if (l->shared &&
      !done(r, cu.function_set(f, NW_CU_FUNCTION_DYNAMIC_SHARED, (int)l->shared), NW_CUDA_BROKEN, "cuFuncSetAttribute"))
    return false;
  return done(r,
              cu.launch(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared, NULL,
                        at, NULL),
              NW_CUDA_BROKEN, "cuLaunchKernel");
}

static bool launch_all(nw_cuda_reply *r, const module *m, char *data, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    nw_cuda_launch l;
    if (bytes - at < sizeof l) return fail(r, NW_CUDA_BAD_REQUEST, "half a launch");
    memcpy(&l, data + at, sizeof l);
    at += sizeof l;
    if (l.kernel >= (uint32_t)m->n || l.narguments > MOST_ARGUMENTS || bytes - at < l.narguments * sizeof(uint64_t))
      return fail(r, NW_CUDA_BAD_REQUEST, "a launch of no kernel");
    if (!launch_one(r, m, &l, (uint64_t *)(void *)(data + at))) return false;
    at += l.narguments * sizeof(uint64_t);
  }
  return true;
}

// Runs the launches `times` times, each between two events.
static bool run(nw_cuda_reply *r, const nw_cuda_request *q, char *data, float *ms) {
  nw_cu_handle event[2] = {NULL, NULL};
  if (q->a >= (uint64_t)nmodules || !modules[q->a].handle || q->b > NW_CUDA_MOST_TIMES)
    return fail(r, NW_CUDA_BAD_REQUEST, "no such module");
  bool good = true;
  for (int i = 0; i < 2 && good; i++) good = done(r, cu.event_create(&event[i], 0), NW_CUDA_BROKEN, "cuEventCreate");
  for (uint64_t i = 0; i < q->b && good; i++)
    good = done(r, cu.event_record(event[0], NULL), NW_CUDA_BROKEN, "cuEventRecord") &&
           launch_all(r, &modules[q->a], data, q->bytes) &&
           done(r, cu.event_record(event[1], NULL), NW_CUDA_BROKEN, "cuEventRecord") &&
           done(r, cu.event_synchronize(event[1]), NW_CUDA_BROKEN, "the kernel") &&
           done(r, cu.event_elapsed(&ms[i], event[0], event[1]), NW_CUDA_BROKEN, "cuEventElapsedTime");
  for (int i = 0; i < 2; i++)
    if (event[i]) cu.event_destroy(event[i]);
  r->bytes = good ? (uint32_t)(q->b * sizeof *ms) : 0;
  return good;
}

// ---- memory

static bool map(nw_cuda_reply *r, uint64_t bytes, int fd) {
  if (shared.data) munmap(shared.data, shared.bytes);
  shared.bytes = bytes;
  shared.data = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared.data != MAP_FAILED) return true;
  shared.data = NULL;
  return fail(r, NW_CUDA_NO_MEMORY, strerror(errno));
}

static bool copy(nw_cuda_reply *r, const nw_cuda_request *q) {
  if (!shared.data || q->b > shared.bytes || q->c > shared.bytes - q->b)
    return fail(r, NW_CUDA_BAD_REQUEST, "a copy outside the shared memory");
  if (q->what == NW_CUDA_PUT) return done(r, cu.put(q->a, shared.data + q->b, q->c), NW_CUDA_BROKEN, "cuMemcpyHtoD");
  return done(r, cu.get(shared.data + q->b, q->a, q->c), NW_CUDA_BROKEN, "cuMemcpyDtoH");
}

static bool allocate(nw_cuda_reply *r, uint64_t bytes) {
  nw_cu_address at = 0;
  bool good = done(r, cu.alloc(&at, bytes), NW_CUDA_BROKEN, "cuMemAlloc");
  r->value = at;
  return good;
}

// ---- requests

// Answers one request. `extra` has room for what follows the answer.
static void answer(nw_cuda_reply *r, const nw_cuda_request *q, char *data, int fd, void *extra) {
  static bool open;
  if (q->what != NW_CUDA_OPEN && q->what != NW_CUDA_MAP && !open) {
    fail(r, NW_CUDA_BAD_REQUEST, "the driver is not open");
    return;
  }
  switch (q->what) {
  case NW_CUDA_OPEN:
    open = open_gpu(r, extra);
    r->bytes = open ? sizeof(nw_cuda_gpu) : 0;
    break;
  case NW_CUDA_MAP: map(r, q->a, fd); break;
  case NW_CUDA_LOAD: load(r, q, data, extra, NW_CUDA_MOST_TIMES / 2); break;
  case NW_CUDA_UNLOAD: unload(r, q->a); break;
  case NW_CUDA_ALLOC: allocate(r, q->a); break;
  case NW_CUDA_FREE: done(r, cu.release(q->a), NW_CUDA_BROKEN, "cuMemFree"); break;
  case NW_CUDA_PUT:
  case NW_CUDA_GET: copy(r, q); break;
  case NW_CUDA_RUN: run(r, q, data, extra); break;
  default: fail(r, NW_CUDA_BAD_REQUEST, "an unknown request");
  }
}

static bool serve(void) {
  static char extra[sizeof(float) * NW_CUDA_MOST_TIMES];
  static nw_cuda_reply r;
  nw_cuda_request q;
  int fd;
  if (!receive(&q, &fd) || q.bytes > NW_CUDA_MOST) return false;
  char *data = malloc((size_t)q.bytes + 1);
  bool good = data && read_all(data, q.bytes);
  if (good) {
    r = (nw_cuda_reply){.word = NW_CUDA_READY};
    answer(&r, &q, data, fd, extra);
    good = write_all(&r, sizeof r) && write_all(extra, r.bytes);
  }
  if (fd >= 0) close(fd);
  free(data);
  return good;
}

int main(void) {
  nw_cuda_reply ready = {.word = NW_CUDA_READY};
  prctl(PR_SET_PDEATHSIG, SIGKILL); // ends with the session, even if a kernel does not
  if (!write_all(&ready, sizeof ready)) return 1;
  while (serve()) {}
  return 0;
}
