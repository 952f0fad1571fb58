// Estimates the registers of a thread, and computes how many blocks a multiprocessor runs at the same time.
#include "device/gpu/run.h"
#include <stdlib.h>

enum {
  FIXED = 8, // registers for addresses of buffers and for the stack, in every kernel
  MOST_LOCAL = 1024, // bytes of a local array that can be in registers
};

// ---- registers

static int words_of(const nwg_instr *in) {
  switch (in->op) {
  case NWG_CONST:
  case NWG_CONST_F:
  case NWG_CONST_D: return 0; // constants are parts of instructions
  default: break;
  }
  bool wide = in->op >= NWG_ADD_D && in->op <= NWG_FMA_D;
  return wide || in->op == NWG_WIDEN || in->op == NWG_CONST_D ? 2 * in->n : in->n;
}

// Returns the largest number of values that are needed at the same time while the instructions are executed.
static int live_in(const nwg_kernel *k, nwg_code code) {
  int most = 0, n = code.to - code.from;
  if (n <= 0) return 0;
  int *change = nw_xcalloc((size_t)n + 2, sizeof *change);
  for (int i = code.from; i < code.to; i++) {
    const nwg_instr *in = &k->instr[i];
    int last = i;
    for (int j = i + 1; j < code.to; j++) {
      const nwg_instr *use = &k->instr[j];
      if (in->dst && (use->a == in->dst || use->b == in->dst || use->c == in->dst)) last = j;
    }
    if (!in->dst) continue;
    change[i - code.from] += words_of(in);
    change[last - code.from + 1] -= words_of(in);
  }
  for (int i = 0, live = 0; i < n; i++) {
    live += change[i];
    if (live > most) most = live;
  }
  free(change);
  return most;
}

static int largest(int a, int b) { return a > b ? a : b; }

// Returns the registers for a statement and the statements inside it. A loop's variable has a register; so has its number
// of iterations, unless it is constant.
static int registers_in(const nwg_kernel *k, const nwg_stmt *s) {
  int own = largest(live_in(k, s->value), largest(live_in(k, s->cond), live_in(k, s->extent))), inner = 0;
  int held = s->kind == NW_LOOP ? 2 - s->fixed : 0;
  if (s->kind == NW_ALLOC) {
    const nwg_buffer *b = &k->buffer[s->buffer];
    if (b->space == NWG_LOCAL && b->steady) held = (int)((b->count * b->bytes + 3) / 4);
  }
  for (int i = 0; i < s->nkids; i++) inner = largest(inner, registers_in(k, s->kid[i]));
  return largest(own, inner) + held;
}

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

void nwg_occupancy(const nwg_run *r, const nwg_kernel *k, nw_gpu_kernel *row) {
  const nw_machine_gpu *g = &r->gpu;
  row->shared_bytes = k->launch->shared_bytes;
  row->local_bytes = local_in(k, k->root);
  row->registers = registers_in(k, k->root) + FIXED;
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
