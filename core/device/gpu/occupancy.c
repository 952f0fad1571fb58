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

static void limit(nw_gpu_kernel *row, int64_t blocks, const char *by) {
  if (row->limiter && blocks >= row->resident) return;
  row->resident = blocks;
  row->limiter = by;
}

void nwg_occupancy(const nwg_run *r, const nwg_kernel *k, int64_t counted, nw_gpu_kernel *row) {
  const nw_machine_gpu *g = &r->gpu;
  row->shared_bytes = k->launch->shared_bytes;
  row->local_bytes = local_in(k, k->root);
  row->assembled = counted > 0;
  row->registers = counted > 0 ? counted : nwg_registers(k);
  if (row->registers > g->limit.registers && g->limit.registers) row->registers = g->limit.registers;
  row->limiter = NULL, row->resident = 0, row->occupancy = 0;
  if (!g->warps) return;
  limit(row, g->warps / k->warps, "warps");
  limit(row, g->blocks, "blocks");
  int64_t unit = g->register_unit, part = g->schedulers, each = rounded(row->registers * g->limit.warp, unit);
  limit(row, g->registers / part / each * part / k->warps, "registers");
  if (row->shared_bytes)
    limit(row, g->shared / rounded(row->shared_bytes + g->shared_reserved, g->shared_unit), "shared memory");
  row->occupancy = (double)(row->resident * k->warps) / (double)g->warps;
}
