// The back ends for GPUs. For NVIDIA GPUs, LLVM makes PTX, which the GPU's driver compiles and runs. For other devices,
// OpenCL C is made, which the device's driver compiles and runs.
#include "run/gpu/backend.h"
#include "run/gpu/gpu.h"
#include "run/gpu/resident.h"
#include "run/kernel.h"
#include <stdlib.h>

static const nw_kernel *first_case(const nw_kernel *k) { return k->ncases ? k->one[0] : k; }

nw_gpu_kind nw_kernel_gpu(const nw_kernel *k) {
  return first_case(k)->backend == &nw_opencl ? NW_GPU_OPENCL : NW_GPU_CUDA;
}

bool nw_kernel_has_driver(const nw_kernel *k) {
  return first_case(k)->backend == &nw_opencl || first_case(k)->backend == &nw_cuda;
}

// ---- code

static char *text_by_llvm(nw_kernel *k, const char *view) {
  char error[1024] = "";
  nw_jit *j = nw_session_jit(k->ctx, k->exec->instructions);
  char *text =
      j ? nw_session_of(k->ctx)->api->device(j, k->exec, k->launches, k->opt, view, error, sizeof error) : NULL;
  if (j && !text && *error) nw_fail(k->ctx, NW_ECODEGEN, NULL, "%s", error);
  return text;
}

static bool compile_ptx(nw_kernel *k, const nw_build_opts *o) {
  k->opt = o->opt;
  k->launches = nw_launches_of(k->exec);
  k->device_text = k->launches ? text_by_llvm(k, "ptx") : NULL;
  return k->device_text != NULL;
}

static char *text_cuda(nw_kernel *k, const char *view) {
  return strcmp(view, "ptx") ? text_by_llvm(k, view) : nw_xstrdup(k->device_text);
}

static bool compile_opencl(nw_kernel *k, const nw_build_opts *o) {
  k->opt = o->opt;
  k->launches = nw_launches_of(k->exec);
  k->device_text = k->launches ? nw_grid_text(k->ctx, k->source, "opencl", NULL) : NULL;
  return k->device_text != NULL;
}

static char *text_opencl(nw_kernel *k, const char *view) {
  if (!strcmp(view, "opencl")) return nw_xstrdup(k->device_text);
  if (strcmp(view, "ptx")) return NULL;
  return nw_fail(k->ctx, NW_ECODEGEN, "give its record the field gpu.capability if it is an NVIDIA GPU",
                 "no PTX is made for %s, whose record has no compute capability", k->exec->p->target->machine.name);
}

// ---- running

typedef struct nw_held {
  nw_gpu_module module;
  nw_plan *plan; // of the call in progress
  uint64_t *memory; // of each buffer of the plan
  bool *own; // true if the memory of the buffer is freed after the call
} nw_held;

// The memory of a call is freed also after a failure.
static void end(nw_kernel *k) {
  nw_held *h = k->held;
  if (!h || !h->plan) return;
  for (int i = 0; i < h->plan->nbuffers; i++)
    if (h->own[i]) nw_gpu_free(k->ctx, nw_kernel_gpu(k), h->memory[i]);
  free(h->memory);
  free(h->own);
  nw_plan_free(h->plan);
  h->memory = NULL;
  h->plan = NULL;
}

// True if the GPU runs code of the kernel's target.
static bool fits_gpu(nw_kernel *k) {
  const nw_gpu_facts *g = nw_gpu_open(k->ctx, nw_kernel_gpu(k));
  const nw_machine *m = &k->exec->p->target->machine;
  if (!g) return false;
  if (nw_kernel_gpu(k) == NW_GPU_OPENCL) return true;
  double here = g->major + g->minor / 10.0;
  return here + 0.01 >= m->gpu.capability ||
         nw_fail(k->ctx, NW_EINVAL, "s:retarget \"cuda\" makes a schedule for the GPU of this machine",
                 "%s is code for %s, of compute capability %.1f; %s has %.1f", k->formals.callee, m->name,
                 m->gpu.capability, g->name, here);
}

// True if argument i stays on the kernel's GPU.
static bool stays(const nw_kernel *k, int i) {
  return k->arg[i] && k->arg[i]->resident && k->arg[i]->resident->kind == nw_kernel_gpu(k);
}

// Gives a buffer its memory on the GPU, and copies its elements there if a kernel reads them.
static bool place(nw_kernel *k, int i) {
  nw_held *h = k->held;
  const nw_plan_buffer *b = &h->plan->buffer[i];
  bool reads = b->role != NW_TEMP && b->read;
  nw_array *a = k->arg[i];
  if (!b->read && !b->written) return true;
  if (stays(k, i)) return nw_resident_memory(a, b->name, reads, &h->memory[i]);
  if (a && (reads || a->resident) && !nw_array_fetch(a)) return false;
  h->own[i] = nw_gpu_alloc(k->ctx, nw_kernel_gpu(k), b->name, b->bytes, &h->memory[i]);
  return h->own[i] &&
         (!reads || !b->bytes || nw_gpu_put(k->ctx, nw_kernel_gpu(k), h->memory[i], k->params[i], b->bytes));
}

static bool begin(nw_kernel *k) {
  if (!k->held) k->held = nw_xcalloc(1, sizeof *k->held);
  nw_held *h = k->held;
  if (!fits_gpu(k) || !nw_gpu_load(k->ctx, nw_kernel_gpu(k), &h->module, k->launches, k->device_text)) return false;
  h->plan = nw_plan_of(k->exec, k->launches, k->sizes);
  if (!h->plan) return false;
  h->memory = nw_xcalloc((size_t)h->plan->nbuffers + 1, sizeof *h->memory);
  h->own = nw_xcalloc((size_t)h->plan->nbuffers + 1, sizeof *h->own);
  for (int i = 0; i < h->plan->nbuffers; i++)
    if (!place(k, i)) return false;
  return true;
}

static double seconds(nw_kernel *k, int64_t times) {
  enum { AT_ONCE = 1000 };
  float ms[AT_ONCE];
  double sum = 0;
  for (int64_t done = 0, n; done < times; done += n) {
    n = times - done < AT_ONCE ? times - done : AT_ONCE;
    if (!nw_gpu_run(k->ctx, nw_kernel_gpu(k), &k->held->module, k->held->plan, k->held->memory, (int)n, ms)) return -1;
    for (int64_t i = 0; i < n; i++) sum += ms[i];
  }
  for (int i = 0; i < k->held->plan->nbuffers; i++)
    if (stays(k, i) && k->held->plan->buffer[i].written) nw_resident_written(k->arg[i]);
  return sum / 1e3 / (double)times;
}

static bool call(nw_kernel *k) {
  const nw_held *h = k->held;
  if (seconds(k, 1) < 0) return false;
  for (int i = 0; i < h->plan->nbuffers; i++) {
    const nw_plan_buffer *b = &h->plan->buffer[i];
    if (b->role == NW_TEMP || !b->written || !b->bytes || stays(k, i)) continue;
    nw_array_touch(k->arg[i]);
    if (!nw_gpu_get(k->ctx, nw_kernel_gpu(k), k->params[i], h->memory[i], b->bytes)) return false;
  }
  return true;
}

static void unload(nw_kernel *k) {
  if (k->held) {
    end(k);
    nw_gpu_unload(k->ctx, nw_kernel_gpu(k), &k->held->module);
    free(k->held);
  }
  nw_launches_free(k->launches);
  free(k->device_text);
}

static int64_t code_bytes(const nw_kernel *k) { return k->device_text ? (int64_t)strlen(k->device_text) : 0; }

// ---- what others ask

bool nw_gpu_here(nw_ctx *c, const char *driver, nw_gpu_info *out) {
  nw_gpu_kind kind = !strcmp(driver, nw_opencl.name) ? NW_GPU_OPENCL : NW_GPU_CUDA;
  const nw_gpu_facts *g = nw_gpu_open(c, kind);
  if (!g) return false;
  *out = (nw_gpu_info){.name = g->name,
                       .capability = g->major + g->minor / 10.0,
                       .memory = g->memory,
                       .shared = g->shared,
                       .shared_block = g->shared_block,
                       .driver = g->driver,
                       .multiprocessors = g->multiprocessors,
                       .clock_khz = g->clock_khz,
                       .memory_khz = g->memory_khz,
                       .memory_bits = g->memory_bits,
                       .l2_bytes = g->l2_bytes,
                       .threads = g->threads,
                       .blocks = g->blocks,
                       .threads_block = g->threads_block,
                       .extent_block = {g->extent_block[0], g->extent_block[1], g->extent_block[2]},
                       .is_gpu = g->is_gpu != 0,
                       .worker = nw_gpu_pid(c, kind)};
  return true;
}

// PTX is made for a compute capability.
static bool is_nvidia(const nw_machine *m) { return m->gpu.capability > 0 && !*m->gpu.simulates; }

static bool is_real(const nw_machine *m) { return !*m->gpu.simulates; }

const nw_backend nw_cuda = {.name = "cuda",
                            .doc = "PTX by LLVM for NVIDIA GPUs, run by their driver",
                            .compile = compile_ptx,
                            .text = text_cuda,
                            .call = call,
                            .unload = unload,
                            .bytes = code_bytes,
                            .begin = begin,
                            .end = end,
                            .seconds = seconds,
                            .serves = is_nvidia,
                            .views = "lowered, llvm, llvm-plain, ptx, cuda or opencl",
                            .files = NW_GPU_FILES};
const nw_backend nw_opencl = {.name = "opencl",
                              .no_shuffles = true,
                              .doc = "OpenCL C, compiled and run by the driver of a device",
                              .compile = compile_opencl,
                              .text = text_opencl,
                              .call = call,
                              .unload = unload,
                              .bytes = code_bytes,
                              .begin = begin,
                              .end = end,
                              .seconds = seconds,
                              .serves = is_real,
                              .views = "lowered, opencl or cuda",
                              .files = "f:export \"kernel.cl\" (OpenCL C) or \"kernel.cu\" (CUDA C)"};
