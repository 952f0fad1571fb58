// Computes how many blocks a multiprocessor runs at the same time.
#include "device/gpu/run.h"
#include <stdlib.h>

// ---- memory of a thread

static int64_t local_in(const nwg_kernel *k, const nwg_stmt *s) {
  int64_t all = 0;
  for (int i = 0; i < s->nkids; i++) all += local_in(k, s->kid[i]);
  if (s->kind != NW_ALLOC) return all;
  const nwg_buffer *b = &k->buffer[s->buffer];
  return all + (b->space == NWG_LOCAL && !b->steady ? b->count * b->bytes : 0);
}

// ---- blocks of a multiprocessor

static int64_t rounded(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

static void limit(nw_gpu_occupancy *o, nw_gpu_resource by, int64_t blocks) {
  o->limit[by] = blocks;
  if (o->blocks <= blocks) return;
  o->blocks = blocks;
  o->limiter = by;
}

// Registers are given to whole warps. A warp has those of its scheduler's part of the multiprocessor.
static int64_t by_registers(const nw_machine_gpu *g, int64_t warps, int64_t registers) {
  int64_t each = rounded(registers * g->limit.warp, g->register_unit), parts = g->schedulers;
  if (g->limit.registers && registers > g->limit.registers) return 0;
  return each ? g->registers / parts / each * parts / warps : NW_GPU_UNLIMITED;
}

// A driver may need some shared memory of each block for itself.
static int64_t by_shared(const nw_machine_gpu *g, int64_t bytes) {
  if (bytes > g->limit.shared_bytes) return 0;
  return bytes ? g->shared / rounded(bytes + g->shared_reserved, g->shared_unit) : NW_GPU_UNLIMITED;
}

static nw_gpu_occupancy occupancy_of(const nw_machine_gpu *g, int64_t threads, int64_t registers, int64_t bytes) {
  int64_t warps = (threads + g->limit.warp - 1) / g->limit.warp;
  nw_gpu_occupancy o = {.blocks = NW_GPU_UNLIMITED};
  limit(&o, NW_GPU_WARPS, threads > g->limit.threads ? 0 : g->warps / warps);
  limit(&o, NW_GPU_BLOCKS, g->blocks);
  limit(&o, NW_GPU_REGISTERS, by_registers(g, warps, registers));
  limit(&o, NW_GPU_SHARED_MEMORY, by_shared(g, bytes));
  o.share = (double)(o.blocks * warps) / (double)g->warps;
  return o;
}

const char *nw_gpu_resource_name(nw_gpu_resource r) {
  static const char *const name[] = {"warps", "blocks", "registers", "shared memory"};
  return name[r];
}

bool nw_gpu_occupancy_of(nw_ctx *c, const nw_machine *m, int64_t threads, int64_t registers, int64_t bytes,
                         nw_gpu_occupancy *out) {
  if (m->kind != NW_MACHINE_GPU)
    return nw_fail(c, NW_EINVAL, "nw.machines() lists them", "%s is not a GPU", m->name), false;
  *out = occupancy_of(&m->gpu, threads, registers, bytes);
  return true;
}

// Returns the most registers of a thread with which a block can run. A compiler that knows the number of threads uses no more.
static int64_t most_registers(const nw_machine_gpu *g, int64_t warps) {
  int64_t parts = g->schedulers, of_a_part = (warps + parts - 1) / parts;
  int64_t fit = g->registers / parts / of_a_part / g->register_unit * g->register_unit / g->limit.warp;
  if (g->limit.registers && fit > g->limit.registers) fit = g->limit.registers;
  return fit > 1 ? fit : 1;
}

void nwg_occupancy(const nwg_run *r, const nwg_kernel *k, int64_t counted, nw_gpu_kernel *row) {
  const nw_machine_gpu *g = &r->gpu;
  row->shared_bytes = k->launch->shared_bytes;
  row->local_bytes = local_in(k, k->root);
  row->assembled = counted > 0;
  row->registers = counted > 0 ? counted : nwg_registers(k);
  row->limiter = NULL, row->resident = 0, row->occupancy = 0;
  if (!g->warps) return;
  int64_t most = most_registers(g, k->warps);
  if (row->registers > most) row->registers = most;
  nw_gpu_occupancy o = occupancy_of(g, k->threads, row->registers, row->shared_bytes);
  row->resident = o.blocks, row->occupancy = o.share, row->limiter = nw_gpu_resource_name(o.limiter);
}
