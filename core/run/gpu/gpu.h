// The session's side of the workers for GPUs: one for NVIDIA's driver and one for OpenCL. A worker starts when its driver
// is first needed. If a call of the driver fails, if a kernel hangs, or if the user interrupts it, the worker is ended, and with it all memory and all modules on
// the GPU. The next call starts a new worker.
#pragma once
#include "run/gpu/plan.h"
#include "run/gpu/wire.h"
#include "run/session.h"

// Returns the first GPU of a driver, or NULL, with a diagnostic, if there is no GPU or no driver.
const nw_gpu_facts *nw_gpu_open(nw_ctx *c, nw_gpu_kind kind);
void nw_gpu_close(nw_gpu *g); // g may be NULL
int nw_gpu_pid(nw_ctx *c, nw_gpu_kind kind); // the process of the worker; 0 if there is none

// A number that grows with each new worker. Memories and modules are only valid in the worker that made them.
uint64_t nw_gpu_generation(nw_ctx *c, nw_gpu_kind kind);

// A module on the GPU. Each kernel of a program has one, and is loaded again after a new worker has started.
typedef struct nw_gpu_module {
  uint64_t number, generation; // 0: not loaded yet
  int n;
  nw_gpu_function *function;
} nw_gpu_module;
// Does nothing if the module is loaded.
bool nw_gpu_load(nw_ctx *c, nw_gpu_kind kind, nw_gpu_module *m, const nw_launches *l, const char *text);
void nw_gpu_unload(nw_ctx *c, nw_gpu_kind kind, nw_gpu_module *m);

bool nw_gpu_alloc(nw_ctx *c, nw_gpu_kind kind, const char *name, int64_t bytes, uint64_t *memory);
void nw_gpu_free(nw_ctx *c, nw_gpu_kind kind, uint64_t memory); // does nothing if there is no worker
bool nw_gpu_put(nw_ctx *c, nw_gpu_kind kind, uint64_t to, const void *from, int64_t bytes);
bool nw_gpu_get(nw_ctx *c, nw_gpu_kind kind, void *to, uint64_t from, int64_t bytes);
// Runs the launches of a plan `times` times, each timed by the GPU. `memory` has the memory of each buffer of the plan,
// and `ms` gets the milliseconds of each time.
bool nw_gpu_run(nw_ctx *c, nw_gpu_kind kind, const nw_gpu_module *m, const nw_plan *p, const uint64_t *memory,
                int times, float *ms);
