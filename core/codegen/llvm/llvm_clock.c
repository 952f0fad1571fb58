// Emits code that reads the clock before and after each loop that is timed, and adds the time to a counter.
#include "codegen/llvm/llvm.h"
#include <stddef.h>

static int clock_of(const nwc *g, const nw_stmt *loop) {
  for (int i = 0; i < g->exec->nclocks; i++)
    if (g->exec->clock[i] == loop) return i;
  return -1;
}

static LLVMValueRef at_byte(nwc *g, LLVMValueRef base, LLVMValueRef offset) {
  return LLVMBuildGEP2(g->b, LLVMInt8TypeInContext(g->lc), base, &offset, 1, "");
}

static void add_to(nwc *g, LLVMValueRef base, size_t offset, LLVMValueRef by) {
  LLVMValueRef at = at_byte(g, base, nwc_i64(g, (int64_t)offset));
  LLVMValueRef old = LLVMBuildLoad2(g->b, LLVMTypeOf(by), at, "");
  LLVMBuildStore(g->b, LLVMBuildAdd(g->b, old, by, ""), at);
}

// Returns the address of the nw_tick to which a clock adds the time on the current thread.
static LLVMValueRef entry(nwc *g, int clock, bool part) {
  LLVMValueRef table = at_byte(g, g->f->frame, nwc_i64(g, offsetof(nw_frame, ticks)));
  int64_t row = (int64_t)sizeof(nw_tick) * nw_ticks_of(g->exec->nclocks);
  LLVMValueRef mine = LLVMBuildMul(g->b, g->f->thread, nwc_i64(g, row), "");
  LLVMValueRef base = at_byte(g, LLVMBuildLoad2(g->b, nwc_ptr(g), table, ""), mine);
  return at_byte(g, base, nwc_i64(g, (int64_t)sizeof(nw_tick) * (2 * clock + part)));
}

// Subtracts the starting time from the counter in memory. If a register kept the starting time until the end of the
// loop, the loop would have one register less.
void nwc_clock_start(nwc *g, const nw_stmt *loop, bool part) {
  int clock = clock_of(g, loop);
  if (clock < 0) return;
  add_to(g, entry(g, clock, part), offsetof(nw_tick, ticks), LLVMBuildNeg(g->b, nwc_read_clock(g), ""));
}

void nwc_clock_stop(nwc *g, const nw_stmt *loop, bool part) {
  int clock = clock_of(g, loop);
  if (clock < 0) return;
  LLVMValueRef now = nwc_read_clock(g), at = entry(g, clock, part);
  add_to(g, at, offsetof(nw_tick, ticks), now);
  add_to(g, at, offsetof(nw_tick, times), nwc_i64(g, 1));
}
