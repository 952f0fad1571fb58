// Predicts the time of a kernel on a GPU. docs/gpu_model.md derives the equations.
#include "cost/gpu/gpu_replay.h"
#include "hw/machine.h"
#include <math.h>
#include <stdlib.h>

enum {
  FIRST_OF_GPU = NW_GPU_LIMIT_L2, // the limits before it are those of one multiprocessor
  INT_LANES = 64, // number of integer lanes of a multiprocessor, if integers do not use the f32 lanes
};

typedef struct rates { // of a kernel
  double work, chain; // cycles of a block's work, and of a warp that never waits for another
  double hz; // clock frequency
  double jobs; // number of parts of a block that wait independently of each other; see jobs_of
  nw_block_kind *kind; // if the kernel has several kinds of blocks
  nw_grid_blocks grid; // the grid of these blocks; if nturns is 0, all blocks are assumed to be equal
} rates;

struct nw_gpu_cost {
  int nkernels, nparts;
  const nw_gpu_report *report; // the report that has these kernels; borrowed
  nw_gpu_time *kernel;
  rates *rates; // of each kernel
  nw_gpu_part_time *part;
  double (*cycles)[NW_GPU_LIMIT_COUNT]; // for each part, the cycles of one multiprocessor if it did all the work
};

const char *nw_gpu_limit_name(nw_gpu_limit l) {
  static const char *const name[] = {
#define NAME(id, name) name,
      NW_GPU_LIMITS(NAME)
#undef NAME
  };
  return name[l];
}

// ---- the work of parts

// Returns the multiply-adds of a multiprocessor per cycle for a peak in TFLOP/s.
static double per_cycle(const nw_machine *m, double peak) {
  return peak * 1e12 / 2 / ((double)m->gpu.sms * m->clock * 1e9);
}

static void add_arithmetic(const nw_machine *m, const nw_gpu_part *p, double *cycles) {
  const nw_machine_gpu *g = &m->gpu;
  double warp = (double)g->limit.warp, shared = (double)g->lanes_shared, lanes = (double)g->lanes;
  // Lanes that compute either f32 or integers are busy with both. The other lanes compute f32.
  double f32 = fmax(p->f32 * warp / lanes, shared > 0 ? (p->f32 + p->ints) * warp / lanes : 0);
  cycles[NW_GPU_LIMIT_ISSUE] += p->issued / (double)g->schedulers;
  cycles[NW_GPU_LIMIT_F32] += f32;
  cycles[NW_GPU_LIMIT_INT] += p->ints * warp / (shared > 0 ? shared : fmin(lanes, INT_LANES));
  if (p->f64 > 0 && g->lanes64 > 0) cycles[NW_GPU_LIMIT_F64] += p->f64 * warp / (double)g->lanes64;
  if (p->tensor > 0 && g->tensor_f16 > 0) cycles[NW_GPU_LIMIT_TENSOR] += p->tensor / per_cycle(m, g->tensor_f16);
  if (p->tensor_tf32 > 0 && g->tensor_tf32 > 0)
    cycles[NW_GPU_LIMIT_TENSOR] += p->tensor_tf32 / per_cycle(m, g->tensor_tf32);
  cycles[NW_GPU_LIMIT_SPECIAL] += p->special * warp / fmax(g->special_per_cycle, 1);
}

// Adds the cycles of a load or store. The L1 cache looks up a line per cycle, and moves a number of bytes per cycle to the
// lanes, also if several lanes get the same bytes.
static void add_access(const nw_machine_gpu *g, const nw_gpu_access *a, double *cycles) {
  double share = a->requests > 0 ? a->compiled / (double)a->requests : 0;
  if (!strcmp(a->scope, "shared") || !strcmp(a->scope, "warp")) {
    double bytes = 4 * (double)g->banks;
    cycles[NW_GPU_LIMIT_SHARED] += a->compiled_wavefronts * fmax(bytes / g->shared_per_cycle, 1);
    return;
  }
  double moved = (double)a->lanes * a->bytes / g->l1_per_cycle;
  cycles[NW_GPU_LIMIT_L1] += share * fmax(moved, (double)a->lines);
}

static nw_gpu_limit tightest(const double *seconds, int n) {
  int most = 0;
  for (int i = 1; i < n; i++)
    if (seconds[i] > seconds[most]) most = i;
  return (nw_gpu_limit)most;
}

// Returns the part around a part; -1 for a kernel.
static int around(const nw_gpu_report *r, int i) {
  int depth = nw_gpu_part_at(r, i)->depth, at = i - 1;
  if (!depth) return -1;
  while (nw_gpu_part_at(r, at)->depth >= depth) at--;
  return at;
}

static void add_work(nw_gpu_cost *k, const nw_gpu_report *r, const nw_machine *m) {
  for (int i = 0; i < k->nparts; i++) add_arithmetic(m, nw_gpu_part_at(r, i), k->cycles[i]);
  for (int i = 0; i < nw_gpu_accesses(r); i++) {
    const nw_gpu_access *a = nw_gpu_access_at(r, i);
    for (int at = a->part; at >= 0; at = around(r, at)) add_access(&m->gpu, a, k->cycles[at]);
  }
}

// A job is a part of a block that waits independently of the other parts. Returns the number of jobs of a block. If the
// block has barriers, its warps wait for each other, so the whole block is one job. Otherwise each warp that has
// something to do is a job.
static double jobs_of(bool barriers, const nw_gpu_kernel *row, double active) {
  return barriers || !row->blocks ? 1 : fmax((double)row->warps / (double)row->blocks * active, 1);
}

// Sets *out to the work of a kind of blocks.
static void set_kind(nw_block_kind *out, const nw_gpu_block_kind *k, const nw_gpu_kernel *row, const nw_machine *m) {
  double cycles[NW_GPU_LIMIT_COUNT] = {0};
  add_arithmetic(m, &k->part, cycles);
  for (int i = 0; i < k->naccesses; i++) add_access(&m->gpu, &k->access[i], cycles);
  *out = (nw_block_kind){.chain = k->part.chain, .blocks = (double)k->blocks};
  out->jobs = (int)round(jobs_of(k->barriers, row, k->part.active));
  for (int i = 0; i < NW_GPU_UNITS; i++) out->work[i] = cycles[i] / (double)k->blocks;
}

static void set_grid(rates *own, const nw_gpu_report *r, int kernel, const nw_machine *m) {
  const nw_gpu_kernel *row = nw_gpu_kernel_at(r, kernel);
  nw_grid_blocks *g = &own->grid;
  g->nkinds = nw_gpu_block_kinds(r, kernel), g->nturns = nw_gpu_turns(r, kernel);
  g->sms = (int)m->gpu.sms, g->resident = row->resident > 0 ? (int)row->resident : 1;
  if (!g->nturns) return;
  own->kind = nw_xcalloc((size_t)g->nkinds, sizeof *own->kind);
  for (int i = 0; i < g->nkinds; i++) set_kind(&own->kind[i], nw_gpu_block_kind_at(r, kernel, i), row, m);
  g->kind = own->kind, g->turn = nw_gpu_turn_at(r, kernel, 0);
}

// ---- kernels

// True if access i and access j have the same kernel, array and direction, and the array is in global memory.
static bool same_traffic(const nw_gpu_report *r, int i, int j) {
  const nw_gpu_access *a = nw_gpu_access_at(r, i), *b = nw_gpu_access_at(r, j);
  return a->kernel == b->kernel && a->write == b->write && !strcmp(a->scope, "global") && !strcmp(b->scope, "global") &&
         !strcmp(a->buffer, b->buffer);
}

// Returns the bytes that a kernel moves at least between the memory and the L2 cache: each array counts once, but with
// at most the bytes that its accesses request. Unrolling copies an access, and each copy requests only a part of the
// array, so the requests of all copies are added.
static double least_bytes(const nw_gpu_report *r, int kernel) {
  double all = 0;
  for (int i = 0; i < nw_gpu_accesses(r); i++) {
    const nw_gpu_access *a = nw_gpu_access_at(r, i);
    if (a->kernel != kernel) continue;
    bool first = true;
    double asked = 0;
    for (int j = 0; j < nw_gpu_accesses(r); j++) {
      const nw_gpu_access *b = nw_gpu_access_at(r, j);
      if (!same_traffic(r, i, j)) continue;
      first = first && j >= i;
      asked += (double)b->lanes * b->bytes;
    }
    if (first) all += fmin((double)a->array_bytes, asked);
  }
  return all;
}

// Sets the limits of the whole GPU. If the caches were not simulated, the traffic of L2 is not known.
static void set_traffic(nw_gpu_time *t, const nw_gpu_report *r, int kernel, const nw_machine *m) {
  const nw_gpu_kernel *row = nw_gpu_kernel_at(r, kernel);
  double bytes = 0, moved = row->waves ? (double)(row->dram_read + row->dram_written) : least_bytes(r, kernel);
  for (int i = 0; i < nw_gpu_accesses(r) && row->waves; i++) {
    const nw_gpu_access *a = nw_gpu_access_at(r, i);
    double share = a->requests > 0 ? a->compiled / (double)a->requests : 0;
    if (a->kernel == kernel && !strcmp(a->scope, "global"))
      bytes += share * (double)(a->sectors - a->l1_hits) * (double)m->gpu.sector;
  }
  if (m->gpu.l2_bandwidth > 0) t->limit[NW_GPU_LIMIT_L2] = bytes / (m->gpu.l2_bandwidth * 1e9);
  t->limit[NW_GPU_LIMIT_MEMORY] = moved / (m->memory.bandwidth * 1e9);
}

// Returns the time until n jobs are done that share one unit. Each needs the unit for `work` cycles in all, and waits
// elsewhere for `wait` cycles in all, in many small turns. This is the mean value analysis of a closed network with one
// queue (Reiser and Lavenberg 1980).
static double shared_time(double n, double work, double wait) {
  double queue = 0, through = 0;
  for (int i = 1; i <= (int)n; i++) {
    double stay = work * (1 + queue);
    through = i / (wait + stay);
    queue = through * stay;
  }
  return through > 0 ? n / through : 0;
}

// Returns the cycles in which a multiprocessor executes n blocks at a time.
static double blocks_time(const rates *own, double n) {
  return shared_time(round(n * own->jobs), own->work / own->jobs, own->chain);
}

// The clock falls from the usual one to the guaranteed one as the f32 units or the tensor cores become busy.
static double clock_of(const nw_machine *m, double busy) {
  double base = m->gpu.clock_base > 0 ? m->gpu.clock_base : m->clock;
  return (m->clock + (base - m->clock) * fmin(busy, 1)) * 1e9;
}

// Returns the times of a launch whose blocks take equally long. Blocks are started as long as there is room for them,
// so each multiprocessor has `resident` of them at a time. The field `busy` is the time that the launch would take if
// its blocks were spread evenly over the multiprocessors.
static nw_grid_times equal_blocks(const rates *own, const nw_gpu_kernel *row, double blocks, double sms) {
  double resident = fmax((double)row->resident, 1), rounds = floor(blocks / (resident * sms));
  double left = ceil((blocks - rounds * resident * sms) / sms), used = fmin(resident, ceil(blocks / sms));
  return (nw_grid_times){.all = rounds * blocks_time(own, resident) + blocks_time(own, left),
                         .busy = blocks / sms * blocks_time(own, used) / used};
}

// Sets the times of a kernel.
static void time_kernel(nw_gpu_time *t, rates *own, const nw_gpu_kernel *row, const nw_gpu_part *part,
                        const double *cycles, const nw_machine *m) {
  const nw_machine_gpu *g = &m->gpu;
  double launches = (double)row->launches, sms = (double)g->sms;
  double blocks = launches > 0 ? (double)row->blocks / launches : 0;
  t->limit[NW_GPU_LIMIT_LAUNCH] = launches * g->launch * 1e-6;
  if (!(blocks > 0)) return;
  double work = cycles[tightest(cycles, FIRST_OF_GPU)] / (double)row->blocks;
  own->work = work, own->chain = part->chain, own->jobs = jobs_of(row->barriers, row, part->active);
  nw_grid_times one = equal_blocks(own, row, blocks, sms);
  nw_grid_times all = {.all = launches * one.all, .busy = launches * one.busy};
  if (own->grid.nturns) all = nw_grid_replay(&own->grid, 0, NULL, NULL);
  double hz = clock_of(m, fmax(cycles[NW_GPU_LIMIT_F32], cycles[NW_GPU_LIMIT_TENSOR]) / sms / all.all);
  own->hz = hz;
  for (int i = 0; i < FIRST_OF_GPU; i++) t->limit[i] = cycles[i] / sms / hz;
  t->waves = blocks / (fmax((double)row->resident, 1) * sms);
  t->limit[NW_GPU_LIMIT_WAIT] = fmax(all.busy - (double)row->blocks / sms * work, 0) / hz;
  t->limit[NW_GPU_LIMIT_TAIL] = fmax(all.all - all.busy, 0) / hz;
}

static void finish(nw_gpu_time *t) {
  double most = 0;
  for (int i = 0; i < NW_GPU_LIMIT_WAIT; i++) most = fmax(most, t->limit[i]);
  double in_sm = 0;
  for (int i = 0; i < FIRST_OF_GPU; i++) in_sm = fmax(in_sm, t->limit[i]);
  double sm = in_sm + t->limit[NW_GPU_LIMIT_WAIT] + t->limit[NW_GPU_LIMIT_TAIL];
  t->seconds = fmax(most, sm) + t->limit[NW_GPU_LIMIT_LAUNCH];
  t->bound = tightest(t->limit, NW_GPU_LIMIT_COUNT);
}

// Products need tensor cores that execute them.
static bool has_tensor_cores(nw_ctx *c, const nw_gpu_report *r, const nw_machine *m) {
  for (int i = 0; i < nw_gpu_parts(r); i++) {
    const nw_gpu_part *p = nw_gpu_part_at(r, i);
    bool tf32 = p->tensor_tf32 > 0 && !(m->gpu.tensor_tf32 > 0);
    if (tf32 || (p->tensor > 0 && !(m->gpu.tensor_f16 > 0)))
      return nw_fail(c, NW_EINVAL, nw_diag_printf(c, "gpu.tensor_%s of its record is 0", tf32 ? "tf32" : "f16"),
                     "%s has no tensor cores that execute the products of the schedule", m->name);
  }
  return true;
}

// Sets the time of a part, at the clock that its kernel is assumed to have.
static void set_part_seconds(nw_gpu_cost *k, int i, int kernel, const nw_machine *m) {
  double hz = k->rates[kernel].hz;
  nw_gpu_part_time *t = &k->part[i];
  if (hz > 0) t->seconds = k->cycles[i][t->bound] / (double)m->gpu.sms / hz;
}

nw_gpu_cost *nw_gpu_cost_of(nw_ctx *c, const nw_gpu_report *r, const nw_machine *m) {
  if (m->kind != NW_MACHINE_GPU) return nw_fail(c, NW_EINVAL, "nw.machines() lists them", "%s is not a GPU", m->name);
  if (!has_tensor_cores(c, r, m)) return NULL;
  nw_gpu_cost *k = nw_xcalloc(1, sizeof *k);
  k->nkernels = nw_gpu_kernels(r), k->nparts = nw_gpu_parts(r), k->report = r;
  k->kernel = nw_xcalloc((size_t)k->nkernels + 1, sizeof *k->kernel);
  k->rates = nw_xcalloc((size_t)k->nkernels + 1, sizeof *k->rates);
  k->part = nw_xcalloc((size_t)k->nparts + 1, sizeof *k->part);
  k->cycles = nw_xcalloc((size_t)k->nparts + 1, sizeof *k->cycles);
  add_work(k, r, m);
  for (int i = 0; i < k->nparts; i++) {
    const nw_gpu_part *p = nw_gpu_part_at(r, i);
    nw_gpu_part_time *t = &k->part[i];
    t->bound = tightest(k->cycles[i], FIRST_OF_GPU);
    if (p->depth) continue;
    nw_gpu_time *whole = &k->kernel[p->kernel];
    set_grid(&k->rates[p->kernel], r, p->kernel, m);
    time_kernel(whole, &k->rates[p->kernel], nw_gpu_kernel_at(r, p->kernel), p, k->cycles[i], m);
    set_traffic(whole, r, p->kernel, m);
    finish(whole);
  }
  for (int i = 0; i < k->nparts; i++) set_part_seconds(k, i, nw_gpu_part_at(r, i)->kernel, m);
  return k;
}

void nw_gpu_cost_free(nw_gpu_cost *k) {
  if (!k) return;
  for (int i = 0; i < k->nkernels; i++) free(k->rates[i].kind);
  free(k->kernel);
  free(k->rates);
  free(k->part);
  free(k->cycles);
  free(k);
}

nw_gpu_time nw_gpu_cost_kernel(const nw_gpu_cost *k, int i) { return k->kernel[i]; }
nw_gpu_part_time nw_gpu_cost_part(const nw_gpu_cost *k, int i) { return k->part[i]; }

double nw_gpu_cost_blocks(const nw_gpu_cost *k, int i, int64_t n) {
  const rates *own = &k->rates[i];
  return own->hz > 0 ? blocks_time(own, (double)n) / own->hz : 0;
}

int64_t nw_gpu_cost_schedule(const nw_gpu_cost *k, int i, int64_t most, nw_gpu_block_time *out) {
  const rates *own = &k->rates[i];
  int64_t n = 0;
  if (!own->grid.nturns || !(own->hz > 0)) return 0;
  nw_grid_replay(&own->grid, most, out, &n);
  for (int64_t b = 0; b < n; b++) out[b].from /= own->hz, out[b].to /= own->hz;
  return n;
}
