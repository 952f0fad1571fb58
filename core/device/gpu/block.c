// Runs a block. Statements that contain a barrier are executed by all warps together. Any other statement is executed
// by one warp after another.
#include "device/gpu/gpu.h"

static bool stopped(nwg_worker *w) {
  if (atomic_load_explicit(&w->ctx->interrupted, memory_order_relaxed)) w->failed = true;
  return w->failed;
}

// Returns a bit for each lane whose number is not 0.
static uint32_t lanes_of(const int64_t *v) {
  uint32_t m = 0;
  for (int l = 0; l < NWG_LANES; l++) m |= (uint32_t)(v[l] != 0) << l;
  return m;
}

static void fill(int64_t *v, int64_t value) {
  for (int l = 0; l < NWG_LANES; l++) v[l] = value;
}

// Returns the lanes that execute iteration `at`, of those in `mask`.
static uint32_t lanes_within(const int64_t *extent, uint32_t mask, int64_t at) {
  uint32_t m = 0;
  for (int l = 0; l < NWG_LANES; l++) m |= (uint32_t)(extent[l] > at) << l;
  return m & mask;
}

// Returns the number of iterations that all lanes in `mask` execute.
static int64_t common(const int64_t *extent, uint32_t mask) {
  int64_t least = INT64_MAX;
  for (int l = 0; l < NWG_LANES; l++)
    if (mask >> l & 1 && extent[l] < least) least = extent[l];
  return least;
}

// ---- one warp

static void run(nwg_worker *w, const nwg_stmt *s, uint32_t mask);

static void run_kids(nwg_worker *w, const nwg_stmt *s, uint32_t mask) {
  for (int i = 0; i < s->nkids && !w->failed; i++) run(w, s->kid[i], mask);
}

static void run_fixed(nwg_worker *w, const nwg_stmt *s, uint32_t mask) {
  int64_t *var = NWG_I(w, s->var);
  w->runs[s->number] += s->times;
  for (int64_t i = 0; i < s->times && !stopped(w); i++) {
    fill(var, s->first + i);
    run_kids(w, s, mask);
  }
}

static void run_loop(nwg_worker *w, const nwg_stmt *s, uint32_t mask) {
  if (s->fixed) return run_fixed(w, s, mask);
  w->f.execute(w, s->begin, mask);
  w->f.execute(w, s->extent, mask);
  int64_t *var = NWG_I(w, s->var), *begin = NWG_I(w, s->var_begin), *extent = NWG_I(w, s->var_extent);
  int64_t least = common(extent, mask);
  for (int64_t i = 0; mask && !stopped(w); i++) {
    if (i >= least) mask = lanes_within(extent, mask, i);
    if (!mask) break;
    w->runs[s->number]++;
    for (int l = 0; l < NWG_LANES; l++) var[l] = begin[l] + i;
    run_kids(w, s, mask);
  }
}

static void run(nwg_worker *w, const nwg_stmt *s, uint32_t mask) {
  switch (s->kind) {
  case NW_LOOP: run_loop(w, s, mask); break;
  case NW_GUARD:
    w->f.execute(w, s->cond, mask);
    mask &= lanes_of(NWG_I(w, s->cond.reg));
    if (!mask) break;
    w->runs[s->number]++;
    run_kids(w, s, mask);
    break;
  case NW_STORE: nwg_store(w, s, mask); break;
  case NW_CALL:
    if (s->intrinsic)
      nwg_run_instruction(w, s, mask);
    else
      run_kids(w, s, mask);
    break;
  case NW_ALLOC:
    w->now += UINT64_C(1) << NWG_TIME_SHIFT;
    w->mem[s->buffer].since[w->warp] = w->now;
    run_kids(w, s, mask);
    break;
  case NW_COMMIT: nwg_commit(w, mask); break;
  case NW_WAIT: nwg_wait(w, mask, s->groups); break;
  case NW_BARRIER:
  case NW_PREFETCH: break;
  default: run_kids(w, s, mask); break;
  }
}

// ---- all warps of a block

static void run_wide(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks);

static int64_t *at_warp(int64_t *all, const nwg_worker *w, int loop, int warp) {
  return all + ((int64_t)loop * w->k->warps + warp) * NWG_LANES;
}

// Sets the registers that have other values in each warp.
static void enter_warp(nwg_worker *w, int warp) {
  w->warp = warp;
  for (int d = 0; d < 3; d++)
    memcpy(NWG_I(w, w->k->index[3 + d]), w->lane_index + (warp * 3 + d) * NWG_LANES, sizeof(int64_t[NWG_LANES]));
  for (int i = 0; i < w->nwide; i++) {
    const nwg_stmt *s = w->wide[i];
    int64_t *var = NWG_I(w, s->var);
    const int64_t *begin = at_warp(w->wide_begin, w, s->loop, warp);
    for (int l = 0; l < NWG_LANES; l++) var[l] = begin[l] + w->wide_at[i];
  }
}

// Runs a statement, and records each nest of a list by itself: in a fused grid, a block executes only one of them.
static void run_recorded(nwg_worker *w, const nwg_stmt *s, uint32_t mask) {
  if (s->kind == NW_SEQ) {
    for (int i = 0; i < s->nkids && !w->failed; i++) run_recorded(w, s->kid[i], mask);
    return;
  }
  int64_t before = w->issued;
  run(w, s, mask);
  nwg_record_span(w, s, w->issued - before);
}

static void run_warps(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  for (int i = 0; i < w->k->warps && !w->failed; i++) {
    if (!masks[i]) continue;
    enter_warp(w, i);
    (w->record ? run_recorded : run)(w, s, masks[i]);
  }
}

static uint32_t *next_masks(nwg_worker *w) { return w->masks + (int64_t)w->level++ * w->k->warps; }

static bool any(const nwg_worker *w, const uint32_t *masks) {
  for (int i = 0; i < w->k->warps; i++)
    if (masks[i]) return true;
  return false;
}

static void wide_kids(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  for (int i = 0; i < s->nkids && !w->failed; i++) run_wide(w, s->kid[i], masks);
}

static void wide_guard(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  uint32_t *inner = next_masks(w);
  for (int i = 0; i < w->k->warps; i++) {
    inner[i] = masks[i];
    if (!masks[i]) continue;
    enter_warp(w, i);
    w->f.execute(w, s->cond, masks[i]);
    inner[i] &= lanes_of(NWG_I(w, s->cond.reg));
    w->runs[s->number] += inner[i] != 0;
  }
  if (any(w, inner)) wide_kids(w, s, inner);
  w->level--;
}

// Computes the range of a loop for each lane of a warp.
static void set_range(nwg_worker *w, const nwg_stmt *s, int warp, uint32_t mask) {
  int64_t *begin = at_warp(w->wide_begin, w, s->loop, warp), *extent = at_warp(w->wide_extent, w, s->loop, warp);
  if (s->fixed) {
    fill(begin, s->first);
    fill(extent, s->times);
    return;
  }
  enter_warp(w, warp);
  w->f.execute(w, s->begin, mask);
  w->f.execute(w, s->extent, mask);
  memcpy(begin, NWG_I(w, s->var_begin), sizeof(int64_t[NWG_LANES]));
  memcpy(extent, NWG_I(w, s->var_extent), sizeof(int64_t[NWG_LANES]));
}

static void wide_loop(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  uint32_t *inner = next_masks(w);
  for (int i = 0; i < w->k->warps; i++) set_range(w, s, i, inner[i] = masks[i]);
  int at = w->nwide++;
  w->wide[at] = s;
  for (int64_t n = 0; !stopped(w); n++) {
    for (int i = 0; i < w->k->warps; i++)
      if (inner[i]) {
        inner[i] = lanes_within(at_warp(w->wide_extent, w, s->loop, i), inner[i], n);
        w->runs[s->number] += inner[i] != 0;
      }
    if (!any(w, inner)) break;
    w->wide_at[at] = n;
    wide_kids(w, s, inner);
  }
  w->nwide--;
  w->level--;
}

// True if all threads reach the barrier. Otherwise it is reported with one thread that does and one that does not.
static bool check_masks(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  int here = -1, away = -1;
  for (int i = 0; i < w->k->warps; i++) {
    uint32_t missing = w->full[i] & ~masks[i];
    if (masks[i] && here < 0) here = i * w->k->lanes + __builtin_ctz(masks[i]);
    if (missing && away < 0) away = i * w->k->lanes + __builtin_ctz(missing);
  }
  if (away >= 0) nwg_found_divergence(w, s->stmt, here, away);
  return away < 0;
}

static void barrier(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  bool all = check_masks(w, s, masks);
  w->now += UINT64_C(1) << NWG_TIME_SHIFT;
  if (s->stmt->barrier.warp) {
    if (all) w->warp_barrier = w->now;
    return;
  }
  if (all) w->barrier = w->now; // a barrier that some threads do not reach orders nothing
  w->barriers++;
  if (w->caches) nwg_note_barrier(w);
}

static void wide_alloc(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  w->now += UINT64_C(1) << NWG_TIME_SHIFT;
  for (int i = 0; i < w->k->warps; i++) w->mem[s->buffer].since[i] = w->now;
  wide_kids(w, s, masks);
}

static void run_wide(nwg_worker *w, const nwg_stmt *s, const uint32_t *masks) {
  if (!s->wide) return run_warps(w, s, masks);
  switch (s->kind) {
  case NW_LOOP: wide_loop(w, s, masks); break;
  case NW_GUARD: wide_guard(w, s, masks); break;
  case NW_ALLOC: wide_alloc(w, s, masks); break;
  case NW_BARRIER: barrier(w, s, masks); break;
  default: wide_kids(w, s, masks); break;
  }
}

void nwg_run_block(nwg_worker *w, int64_t number) {
  const nwg_kernel *k = w->k;
  int64_t x = k->extent[0], y = k->extent[1];
  w->block[0] = number % x, w->block[1] = number / x % y, w->block[2] = number / x / y;
  for (int d = 0; d < 3; d++) fill(NWG_I(w, k->index[d]), w->block[d]);
  w->now += UINT64_C(1) << NWG_TIME_SHIFT;
  w->begin = w->barrier = w->warp_barrier = w->now;
  w->block_number[w->nblocks] = number;
  w->block_begin[w->nblocks++] = w->now;
  w->nwide = w->level = 0;
  run_wide(w, k->root, w->full);
  if (!w->failed) nwg_landed(w);
}
