// Starts the workers for GPUs, and sends requests to them.
#include "run/gpu/gpu.h"
#include "run/kernel.h"
#include "run/worker/process.h"
#include "run/worker/worker.h"
#include <stdlib.h>

#define WITHOUT "nw.target \"a100\" makes schedules and PTX for an A100 without a GPU"
#define WITHOUT_OPENCL "s:show \"opencl\" shows the code of a schedule for a GPU without a device"

enum {
  STAGE = 64 << 20, // most bytes of shared memory through which data is copied
  SECONDS = 24 * 3600, // a kernel may run that long; the user can interrupt it
};

// What differs between the drivers.
typedef struct driver {
  const char *program, *variable; // of the worker, and the environment variable that replaces its path
  const char *none, *get; // a message if the driver cannot be opened, and how to get it
  const char *no_device, *without;
  const char *name; // in messages
} driver;
static const driver drivers[NW_GPU_KINDS] = {
    [NW_GPU_CUDA] = {"nestwright-cuda", "NESTWRIGHT_CUDA_WORKER",
                     "no GPU can be used, because NVIDIA's driver is not there or is too old",
                     "install NVIDIA's driver, in Debian the package nvidia-driver; " WITHOUT,
                     "NVIDIA's driver is installed, but it finds no GPU that it can use", WITHOUT, "NVIDIA's driver"},
    [NW_GPU_OPENCL] =
        {"nestwright-opencl", "NESTWRIGHT_OPENCL_WORKER",
         "OpenCL cannot be used, because its library libOpenCL.so.1 is not there or is too old",
         "install it, in Debian the packages ocl-icd-libopencl1 and pocl-opencl-icd, which runs OpenCL on "
         "the CPU; " WITHOUT_OPENCL,
         "OpenCL is installed, but it finds no device that it can use",
         "install the driver of a device, in Debian the package pocl-opencl-icd, which runs OpenCL on the "
         "CPU; " WITHOUT_OPENCL,
         "the driver for OpenCL"},
};

struct nw_gpu {
  const driver *driver;
  nw_worker *worker; // NULL if it was ended
  nw_shared *stage; // NULL until data is copied
  nw_gpu_facts info;
  uint64_t generation;
};

// ---- the worker

void nw_gpu_close(nw_gpu *g) {
  if (!g) return;
  nw_worker_end(g->worker);
  nw_shared_free(g->stage);
  free(g);
}

int nw_gpu_pid(nw_ctx *c, nw_gpu_kind kind) {
  const nw_gpu *g = nw_session_of(c)->gpu[kind];
  return g && g->worker ? (int)g->worker->pid : 0;
}

static void end(nw_gpu *g) {
  nw_worker_end(g->worker);
  g->worker = NULL;
  nw_shared_free(g->stage);
  g->stage = NULL;
}

uint64_t nw_gpu_generation(nw_ctx *c, nw_gpu_kind kind) {
  nw_gpu *g = nw_session_of(c)->gpu[kind];
  if (g && g->worker && nw_worker_is_gone(g->worker, 0)) end(g);
  return g && g->worker ? g->generation : 0;
}

// ---- requests

static bool lost(nw_ctx *c, nw_gpu *g, nw_heard h, const char *doing) {
  end(g);
  if (h == NW_INTERRUPTED) return nw_fail(c, NW_EINTERRUPT, NULL, "interrupted while %s", doing);
  return nw_fail(c, NW_ECRASH, "call it again: a new worker starts", "the worker for the GPU ended while %s", doing);
}

static bool refused(nw_ctx *c, nw_gpu *g, const nw_gpu_reply *r, const char *doing) {
  switch (r->failed) {
  case NW_GPU_NO_DRIVER: end(g); return nw_fail(c, NW_EIO, g->driver->get, "%s: %s", g->driver->none, r->text);
  case NW_GPU_NO_GPU: end(g); return nw_fail(c, NW_EIO, g->driver->without, "%s: %s", g->driver->no_device, r->text);
  case NW_GPU_NO_MEMORY:
    return nw_fail(c, NW_EMEMORY, "give smaller tensors, or let go of arrays on the GPU",
                   "the GPU has not enough memory for %s: %s", doing, r->text);
  case NW_GPU_BAD_CODE:
    return nw_fail(c, NW_ECODEGEN, "a newer driver may accept it", "%s does not accept the code: %s", g->driver->name,
                   r->text);
  default:
    end(g);
    return nw_fail(c, NW_ECRASH, "call it again: a new worker starts; arrays on the GPU are lost",
                   "the GPU failed while %s: %s", doing, r->text);
  }
}

// Sends a request, and reads the answer and up to `room` bytes after it. `doing` says in messages what is being done.
static bool ask(nw_ctx *c, nw_gpu *g, nw_gpu_request q, const nw_str *data, int fd, nw_gpu_reply *r, void *after,
                size_t room, const char *doing) {
  double until = nw_now() + SECONDS;
  const char *during = q.what == NW_GPU_ALLOC ? "memory was allocated" : doing;
  q.bytes = data ? (uint32_t)data->n : 0;
  if (data && data->n > NW_GPU_MOST) return nw_fail(c, NW_ELIMIT, NULL, "a call has too many launches for one request");
  if (!nw_worker_send(g->worker, &q, sizeof q, fd) ||
      (data && data->n && !nw_worker_send(g->worker, data->s, data->n, -1)))
    return lost(c, g, NW_CLOSED, during);
  nw_heard h = nw_worker_hear(c, g->worker, r, sizeof *r, until);
  if (h == NW_HEARD && r->word == NW_GPU_READY && r->bytes <= room)
    h = nw_worker_hear(c, g->worker, after, r->bytes, until);
  else if (h == NW_HEARD)
    h = NW_CLOSED;
  if (h != NW_HEARD) return lost(c, g, h, during);
  return r->failed ? refused(c, g, r, r->failed == NW_GPU_NO_MEMORY ? doing : during) : true;
}

// Starts a worker, which opens the driver.
static bool start(nw_ctx *c, nw_gpu *g) {
  nw_gpu_reply r = {0};
  g->worker = nw_worker_start(c, g->driver->variable, g->driver->program);
  if (!g->worker || !nw_worker_greeted(c, &g->worker, NW_GPU_READY)) return false;
  size_t rest = sizeof r - sizeof r.word;
  nw_heard h = nw_worker_hear(c, g->worker, (char *)&r + sizeof r.word, rest, nw_now() + 1);
  if (h != NW_HEARD) return lost(c, g, h, "it was starting");
  g->generation++;
  return ask(c, g, (nw_gpu_request){.what = NW_GPU_OPEN}, NULL, -1, &r, &g->info, sizeof g->info,
             "the driver was opened");
}

// Returns the GPU with a running worker.
static nw_gpu *gpu_of(nw_ctx *c, nw_gpu_kind kind) {
  nw_session *s = nw_session_of(c);
  if (nw_stopped(c) || nw_error(c)) return NULL;
  if (!s->gpu[kind]) s->gpu[kind] = nw_xcalloc(1, sizeof *s->gpu[kind]);
  nw_gpu *g = s->gpu[kind];
  g->driver = &drivers[kind];
  if (g->worker && nw_worker_is_gone(g->worker, 0)) end(g);
  return g->worker || start(c, g) ? g : NULL;
}

const nw_gpu_facts *nw_gpu_open(nw_ctx *c, nw_gpu_kind kind) {
  nw_gpu *g = gpu_of(c, kind);
  return g ? &g->info : NULL;
}

// ---- modules

bool nw_gpu_load(nw_ctx *c, nw_gpu_kind kind, nw_gpu_module *m, const nw_launches *l, const char *text) {
  nw_gpu *g = gpu_of(c, kind);
  nw_str data = {0};
  nw_gpu_reply r;
  if (!g) return false;
  if (m->generation == g->generation) return true;
  nw_str_addn(&data, text, strlen(text) + 1);
  nw_gpu_request q = {.what = NW_GPU_LOAD, .a = data.n};
  for (int i = 0; i < l->n; i++) nw_str_addn(&data, l->launch[i].name, strlen(l->launch[i].name) + 1);
  if (!m->function) m->function = nw_xcalloc((size_t)l->n + 1, sizeof *m->function);
  m->n = l->n;
  bool good = ask(c, g, q, &data, -1, &r, m->function, (size_t)l->n * sizeof *m->function, "the code was loaded");
  nw_str_free(&data);
  if (!good) return false;
  m->number = r.value;
  m->generation = g->generation;
  return true;
}

void nw_gpu_unload(nw_ctx *c, nw_gpu_kind kind, nw_gpu_module *m) {
  nw_gpu *g = nw_session_of(c)->gpu[kind];
  nw_gpu_reply r;
  if (m->generation && g && g->worker && m->generation == g->generation && !nw_error(c)) {
    ask(c, g, (nw_gpu_request){.what = NW_GPU_UNLOAD, .a = m->number}, NULL, -1, &r, NULL, 0, "code was unloaded");
    nw_clear(c);
  }
  free(m->function);
  *m = (nw_gpu_module){0};
}

// ---- memory

bool nw_gpu_alloc(nw_ctx *c, nw_gpu_kind kind, const char *name, int64_t bytes, uint64_t *memory) {
  nw_gpu *g = gpu_of(c, kind);
  nw_gpu_reply r;
  nw_gpu_request q = {.what = NW_GPU_ALLOC, .a = bytes > 0 ? (uint64_t)bytes : 1};
  if (!g || !ask(c, g, q, NULL, -1, &r, NULL, 0, name)) return false;
  *memory = r.value;
  return true;
}

// Frees memory also after a failure, whose diagnostic is kept.
void nw_gpu_free(nw_ctx *c, nw_gpu_kind kind, uint64_t memory) {
  nw_gpu *g = nw_session_of(c)->gpu[kind];
  nw_gpu_reply r = {0};
  nw_gpu_request q = {.what = NW_GPU_FREE, .a = memory};
  if (!memory || !g || !g->worker) return;
  double until = nw_now() + SECONDS;
  bool good = nw_worker_send(g->worker, &q, sizeof q, -1) &&
              nw_worker_hear(c, g->worker, &r, sizeof r, until) == NW_HEARD && r.word == NW_GPU_READY && !r.failed;
  if (!good) end(g);
}

static bool open_stage(nw_ctx *c, nw_gpu *g, int64_t bytes) {
  size_t want = (size_t)(bytes < STAGE ? bytes : STAGE);
  nw_gpu_reply r;
  if (g->stage && g->stage->bytes >= want) return true;
  nw_shared_free(g->stage);
  g->stage = nw_shared_new(c, want);
  nw_gpu_request q = {.what = NW_GPU_MAP, .a = g->stage ? g->stage->bytes : 0};
  return g->stage && ask(c, g, q, NULL, g->stage->fd, &r, NULL, 0, "memory was shared with it");
}

bool nw_gpu_put(nw_ctx *c, nw_gpu_kind kind, uint64_t to, const void *from, int64_t bytes) {
  nw_gpu *g = gpu_of(c, kind);
  nw_gpu_reply r;
  bool good = g && open_stage(c, g, bytes);
  for (int64_t done = 0, n; good && done < bytes; done += n) {
    n = bytes - done < (int64_t)g->stage->bytes ? bytes - done : (int64_t)g->stage->bytes;
    memcpy(g->stage->data, (const char *)from + done, (size_t)n);
    nw_gpu_request q = {.what = NW_GPU_PUT, .a = to, .c = (uint64_t)n, .d = (uint64_t)done};
    good = ask(c, g, q, NULL, -1, &r, NULL, 0, "data was copied to it");
  }
  return good;
}

bool nw_gpu_get(nw_ctx *c, nw_gpu_kind kind, void *to, uint64_t from, int64_t bytes) {
  nw_gpu *g = gpu_of(c, kind);
  nw_gpu_reply r;
  bool good = g && open_stage(c, g, bytes);
  for (int64_t done = 0, n; good && done < bytes; done += n) {
    n = bytes - done < (int64_t)g->stage->bytes ? bytes - done : (int64_t)g->stage->bytes;
    nw_gpu_request q = {.what = NW_GPU_GET, .a = from, .c = (uint64_t)n, .d = (uint64_t)done};
    good = ask(c, g, q, NULL, -1, &r, NULL, 0, "data was copied from it");
    if (good) memcpy((char *)to + done, g->stage->data, (size_t)n);
  }
  return good;
}

// ---- launches

static void add_launch(nw_str *s, const nw_plan_launch *l, const uint64_t *memory) {
  nw_gpu_launch out = {.kernel = (uint32_t)l->kernel,
                       .narguments = (uint32_t)(l->nbuffers + l->nnumbers),
                       .shared = (uint32_t)l->shared};
  for (int i = 0; i < 3; i++) out.grid[i] = (uint32_t)l->extent[i], out.block[i] = (uint32_t)l->extent[3 + i];
  nw_str_addn(s, (const char *)&out, sizeof out);
  for (int i = 0; i < l->nbuffers; i++) nw_str_addn(s, (const char *)&memory[l->buffer[i]], sizeof(uint64_t));
  nw_str_addn(s, (const char *)l->number, (size_t)l->nnumbers * sizeof *l->number);
}

bool nw_gpu_run(nw_ctx *c, nw_gpu_kind kind, const nw_gpu_module *m, const nw_plan *p, const uint64_t *memory,
                int times, float *ms) {
  nw_gpu *g = gpu_of(c, kind);
  nw_str data = {0};
  nw_gpu_reply r;
  if (!g) return false;
  for (int i = 0; i < p->n; i++) add_launch(&data, &p->launch[i], memory);
  nw_gpu_request q = {.what = NW_GPU_RUN, .a = m->number, .b = (uint64_t)times};
  bool good = ask(c, g, q, &data, -1, &r, ms, (size_t)times * sizeof *ms, "a kernel was running");
  nw_str_free(&data);
  return good;
}
