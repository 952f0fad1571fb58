// Gets requests from a socket and runs them one at a time, until the socket is closed. See run/gpu/wire.h.
#include "run/gpu/serve.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const nw_gpu_driver *driver;
static struct {
  char *data;
  size_t bytes;
} shared;

typedef struct module {
  void *handle; // NULL if it was unloaded
  int n; // number of kernels
} module;
static module *modules;
static int nmodules;

// ---- the socket

static bool write_all(const void *data, size_t n) {
  for (const char *p = data; n;) {
    ssize_t done = send(NW_GPU_FD, p, n, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

static bool read_all(void *data, size_t n) {
  for (char *p = data; n;) {
    ssize_t done = read(NW_GPU_FD, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

// Reads a request. With NW_GPU_MAP comes a file descriptor.
static bool receive(nw_gpu_request *q, int *fd) {
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {q, sizeof *q};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n;
  *fd = -1;
  while ((n = recvmsg(NW_GPU_FD, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
  if (n <= 0) return false;
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  if (c && c->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(c), sizeof *fd);
  return (size_t)n == sizeof *q || read_all((char *)q + n, sizeof *q - (size_t)n);
}

// ---- what drivers use

bool nw_gpu_failed(nw_gpu_reply *r, nw_gpu_failure what, const char *text) {
  r->failed = what;
  snprintf(r->text, sizeof r->text, "%s", text);
  return false;
}

bool nw_gpu_open_library(nw_gpu_reply *r, const char *name, int n, const nw_gpu_symbol *symbol, void *table) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return nw_gpu_failed(r, NW_GPU_NO_DRIVER, dlerror());
  for (int i = 0; i < n; i++) {
    void *at = dlsym(library, symbol[i].name);
    if (!at) return nw_gpu_failed(r, NW_GPU_NO_DRIVER, dlerror());
    memcpy((char *)table + symbol[i].offset, &at, sizeof at);
  }
  return true;
}

// ---- modules

static bool load(nw_gpu_reply *r, const nw_gpu_request *q, const char *data, nw_gpu_function *out, int room) {
  const char *end = data + q->bytes, *at = data + q->a;
  module m = {0};
  if (!q->a || q->a >= q->bytes || data[q->a - 1] || end[-1]) return nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "no code");
  module *more = realloc(modules, ((size_t)nmodules + 1) * sizeof *more);
  if (more) modules = more;
  const char **name = calloc((size_t)room, sizeof *name);
  if (!more || !name) return free(name), nw_gpu_failed(r, NW_GPU_NO_MEMORY, "no memory for a module");
  for (; at < end && m.n < room; at += strlen(at) + 1) name[m.n++] = at;
  bool good = driver->load(r, data, m.n, name, out, &m.handle);
  free(name);
  if (!good) {
    nw_gpu_reply other = {0};
    if (m.handle) driver->unload(&other, m.handle);
    return false;
  }
  modules[nmodules] = m;
  r->value = (uint64_t)nmodules++;
  r->bytes = (uint32_t)((size_t)m.n * sizeof *out);
  return true;
}

static bool unload(nw_gpu_reply *r, uint64_t at) {
  if (at >= (uint64_t)nmodules || !modules[at].handle) return nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "no such module");
  void *handle = modules[at].handle;
  modules[at] = (module){0};
  return driver->unload(r, handle);
}

// ---- launches

static bool launch_all(nw_gpu_reply *r, const module *m, char *data, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    nw_gpu_launch l;
    if (bytes - at < sizeof l) return nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "half a launch");
    memcpy(&l, data + at, sizeof l);
    at += sizeof l;
    if (l.kernel >= (uint32_t)m->n || l.narguments > NW_GPU_MOST_ARGUMENTS ||
        bytes - at < l.narguments * sizeof(uint64_t))
      return nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "a launch of no kernel");
    if (!driver->launch(r, m->handle, &l, (uint64_t *)(void *)(data + at))) return false;
    at += l.narguments * sizeof(uint64_t);
  }
  return true;
}

// Runs the launches `times` times, and times each of them.
static bool run(nw_gpu_reply *r, const nw_gpu_request *q, char *data, float *ms) {
  if (q->a >= (uint64_t)nmodules || !modules[q->a].handle || q->b > NW_GPU_MOST_TIMES)
    return nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "no such module");
  bool good = true;
  for (uint64_t i = 0; i < q->b && good; i++) {
    good = driver->begin(r) && launch_all(r, &modules[q->a], data, q->bytes);
    good = driver->end(r, good ? &ms[i] : NULL) && good;
  }
  r->bytes = good ? (uint32_t)(q->b * sizeof *ms) : 0;
  return good;
}

// ---- memory

static bool map(nw_gpu_reply *r, uint64_t bytes, int fd) {
  if (shared.data) munmap(shared.data, shared.bytes);
  shared.bytes = bytes;
  shared.data = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared.data != MAP_FAILED) return true;
  shared.data = NULL;
  return nw_gpu_failed(r, NW_GPU_NO_MEMORY, strerror(errno));
}

static bool copy(nw_gpu_reply *r, const nw_gpu_request *q) {
  if (!shared.data || q->b > shared.bytes || q->c > shared.bytes - q->b)
    return nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "a copy outside the shared memory");
  return q->what == NW_GPU_PUT ? driver->put(r, q->a, q->d, shared.data + q->b, q->c)
                               : driver->get(r, q->a, q->d, shared.data + q->b, q->c);
}

// ---- requests

// Answers one request. `extra` has room for what follows the answer.
static void answer(nw_gpu_reply *r, const nw_gpu_request *q, char *data, int fd, void *extra) {
  static bool open;
  if (q->what != NW_GPU_OPEN && q->what != NW_GPU_MAP && !open) {
    nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "the driver is not open");
    return;
  }
  switch (q->what) {
  case NW_GPU_OPEN:
    open = driver->open(r, extra);
    r->bytes = open ? sizeof(nw_gpu_facts) : 0;
    break;
  case NW_GPU_MAP: map(r, q->a, fd); break;
  case NW_GPU_LOAD: load(r, q, data, extra, NW_GPU_MOST_TIMES / 2); break;
  case NW_GPU_UNLOAD: unload(r, q->a); break;
  case NW_GPU_ALLOC: driver->alloc(r, q->a, &r->value); break;
  case NW_GPU_FREE: driver->release(r, q->a); break;
  case NW_GPU_PUT:
  case NW_GPU_GET: copy(r, q); break;
  case NW_GPU_RUN: run(r, q, data, extra); break;
  default: nw_gpu_failed(r, NW_GPU_BAD_REQUEST, "an unknown request");
  }
}

static bool serve(void) {
  static char extra[sizeof(float) * NW_GPU_MOST_TIMES];
  static nw_gpu_reply r;
  nw_gpu_request q;
  int fd;
  if (!receive(&q, &fd) || q.bytes > NW_GPU_MOST) return false;
  char *data = malloc((size_t)q.bytes + 1);
  bool good = data && read_all(data, q.bytes);
  if (good) {
    r = (nw_gpu_reply){.word = NW_GPU_READY};
    answer(&r, &q, data, fd, extra);
    good = write_all(&r, sizeof r) && write_all(extra, r.bytes);
  }
  if (fd >= 0) close(fd);
  free(data);
  return good;
}

int nw_gpu_serve(const nw_gpu_driver *d) {
  nw_gpu_reply ready = {.word = NW_GPU_READY};
  driver = d;
  prctl(PR_SET_PDEATHSIG, SIGKILL); // ends with the session, even if a kernel does not
  if (!write_all(&ready, sizeof ready)) return 1;
  while (serve()) {}
  return 0;
}
