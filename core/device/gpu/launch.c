// Launches a kernel: blocks are given to threads of the host in turn.
#include "device/gpu/kinds.h"
#include "run/guard.h"
#include <stdlib.h>

// ---- the kernel

// True if the kernel that was compiled last is for these numbers of blocks and threads.
static bool is_same(const nwg_kernel *k, const int64_t extent[6]) {
  return k && !memcmp(k->extent, extent, sizeof k->extent);
}

static nwg_kernel *compiled(nwg_run *r, nwg_entry *e, const nw_launch *l, const int64_t extent[6]) {
  for (int i = 0; i < r->exec->p->nbuffers; i++) {
    nwg_buffer *b = &r->buffer[i];
    b->used = b->reads = b->writes = b->atomic = b->async = false;
  }
  if (is_same(e->k, extent) && e->k->mine) {
    memcpy(r->buffer, e->k->mine, sizeof *r->buffer * (size_t)r->exec->p->nbuffers);
    return e->k;
  }
  nwg_kernel_free(e->k);
  nw_arena_free(e->arena);
  e->k = NULL;
  e->arena = nw_arena_scratch();
  e->k = nwg_compile(e->arena, r->launches->p, l, extent, &r->gpu, r->buffer);
  if (!e->k) return NULL;
  e->k->mine = NW_NEW_N(e->arena, nwg_buffer, r->exec->p->nbuffers + 1);
  memcpy(e->k->mine, r->buffer, sizeof *r->buffer * (size_t)r->exec->p->nbuffers);
  return e->k;
}

// ---- limits

static bool within(nwg_run *r, const int64_t extent[6], int64_t shared) {
  static const char *const what[6] = {"blocks in x",  "blocks in y",  "blocks in z",
                                      "threads in x", "threads in y", "threads in z"};
  const nw_launch_limit *limit = &r->gpu.limit;
  for (int d = 0; d < 6; d++)
    if (extent[d] > limit->extent[d])
      return nw_fail(r->ctx, NW_ELIMIT, "split the loop that is bound to it",
                     "%lld %s are too many for %s: at most %lld", (long long)extent[d], what[d], r->machine,
                     (long long)limit->extent[d]);
  int64_t threads = extent[3] * extent[4] * extent[5];
  if (threads > limit->threads || threads >= NWG_MOST_THREADS)
    return nw_fail(r->ctx, NW_ELIMIT, "bind smaller loops to threadIdx",
                   "a block of %lld threads is too large for %s: at most %lld", (long long)threads, r->machine,
                   (long long)(limit->threads < NWG_MOST_THREADS ? limit->threads : NWG_MOST_THREADS - 1));
  if (shared > limit->shared_bytes)
    return nw_fail(r->ctx, NW_ELIMIT, "use smaller tiles",
                   "a block uses %lld bytes of shared memory, and a block of %s can have %lld", (long long)shared,
                   r->machine, (long long)limit->shared_bytes);
  return true;
}

// ---- counts

static void add_counts(nwg_counts *to, const nwg_counts *from, int64_t times) {
  int64_t *a = (int64_t *)to;
  const int64_t *b = (const int64_t *)from;
  for (size_t i = 0; i < sizeof *to / sizeof *a; i++) a[i] += b[i] * times;
}

// Adds the counts of a worker to those of its kernel.
static void take_counts(nwg_entry *e, nwg_worker *w, int64_t times) {
  const nwg_kernel *k = w->k;
  for (int i = 0; i < k->ninstrs; i++) e->times[i] += w->times[i] * times;
  for (int i = 0; i < k->nsites; i++) {
    const nwg_pattern *last = &w->pattern[i * NWG_PATTERNS + w->last[i]];
    add_counts(&e->count[i], &w->count[i], times);
    if (last->mask) e->pattern[i] = *last;
  }
  for (int i = 0; i < k->nruns; i++) e->runs[i] += w->runs[i] * times;
  e->row.barriers += w->barriers * times;
  e->row.active += w->active * times, e->row.issued += w->issued * times;
}

static void clear_counts(nwg_worker *w) {
  memset(w->times, 0, sizeof *w->times * (size_t)w->k->ninstrs);
  memset(w->count, 0, sizeof *w->count * (size_t)w->k->nsites);
  memset(w->runs, 0, sizeof *w->runs * (size_t)w->k->nruns);
  w->barriers = w->active = w->issued = 0;
}

static bool make_counts(nwg_run *r, nwg_entry *e, const nwg_kernel *k) {
  nw_ctx *c = r->ctx;
  if (!e->times) e->times = nw_ask(c, "the counts of instructions", (uint64_t)k->ninstrs + 1, sizeof *e->times);
  if (!e->count) e->count = nw_ask(c, "the counts of accesses", (uint64_t)k->nsites + 1, sizeof *e->count);
  if (!e->runs) e->runs = nw_ask(c, "the counts of loops", (uint64_t)k->nruns + 1, sizeof *e->runs);
  if (!e->pattern) e->pattern = nw_ask(c, "the patterns of accesses", (uint64_t)k->nsites + 1, sizeof *e->pattern);
  return e->times && e->count && e->runs && e->pattern;
}

// ---- the watched blocks

// Selects the watched blocks of a launch. Returns false, with a diagnostic, if the grid does not have the first one.
static bool watch_blocks(nwg_run *r, const int64_t extent[6], int64_t *first, int64_t *blocks) {
  const nw_gpu_watch *watch = r->opts.watch;
  for (int d = 0; d < 3; d++)
    if (watch->block[d] < 0 || watch->block[d] >= extent[d])
      return nw_fail(r->ctx, NW_ERANGE, NULL,
                     "block: there is no block (%lld, %lld, %lld): the grid of kernel %d has %lld x %lld x %lld blocks",
                     (long long)watch->block[0], (long long)watch->block[1], (long long)watch->block[2],
                     watch->kernel + 1, (long long)extent[0], (long long)extent[1], (long long)extent[2]);
  int64_t warps = (extent[3] * extent[4] * extent[5] + r->gpu.limit.warp - 1) / r->gpu.limit.warp;
  if (watch->buffer && (watch->warp < 0 || watch->warp >= warps))
    return nw_fail(r->ctx, NW_ERANGE, NULL, "warp: there is no warp %d: a block of kernel %d has %lld", watch->warp,
                   watch->kernel + 1, (long long)warps);
  *first = watch->block[0] + extent[0] * (watch->block[1] + extent[1] * watch->block[2]);
  if (*blocks - *first > watch->blocks) *blocks = *first + watch->blocks;
  *blocks -= *first;
  return true;
}

// ---- the blocks

typedef struct team {
  nwg_run *run;
  nwg_entry *entry;
  int n; // number of threads
  int64_t blocks;
  int64_t first; // number of the first block
  int64_t done; // number of blocks that ran before the threads began
  nwg_classes *class[3]; // NULL: all blocks are simulated
} team;

// Simulates the first block of a class. Classes are simulated by one worker, which adds up the counts.
static void run_class(const team *all, nwg_worker *w, int64_t number) {
  int64_t at[3], times = 1, block = 0, class = number;
  for (int d = 0; d < 3; d++) {
    at[d] = number % all->class[d]->n;
    number /= all->class[d]->n;
    times *= all->class[d]->members[at[d]];
  }
  for (int d = 2; d >= 0; d--) block = block * w->k->extent[d] + all->class[d]->first[at[d]];
  nwg_run_block(w, block);
  if (!nwg_kind_block(all->entry->kinds, w, class, times)) w->failed = true;
  take_counts(all->entry, w, times);
  clear_counts(w);
}

static void work(void *arg, int t) {
  const team *all = arg;
  nwg_worker *w = &all->run->worker[t];
  for (int64_t b = all->done + t; b < all->blocks && !w->failed; b += all->n) {
    if (w->caches && !nwg_caches_begin(w, b)) w->failed = true;
    if (w->failed) break;
    if (all->class[0])
      run_class(all, w, b);
    else
      nwg_run_block(w, all->first + b);
    if (w->caches && !w->failed && !nwg_caches_end(w, b)) w->failed = true;
  }
}

// If blocks update elements of global memory atomically, one thread runs them all.
static int threads_for(const nwg_run *r, int64_t blocks) {
  int64_t n = r->nworkers < blocks ? r->nworkers : blocks;
  for (int i = 0; i < r->exec->p->nbuffers; i++)
    if (r->buffer[i].atomic && r->buffer[i].space == NWG_GLOBAL) n = 1;
  if ((r->opts.classes && r->blank) || r->opts.watch) n = 1;
  return (int)n;
}

enum { FEW = 100000 };

// Runs the first blocks by one thread, until it has executed some instructions. If there are fewer instructions than
// that, starting a team of threads and waiting for it takes longer than the team saves.
static void begin_alone(team *all) {
  nwg_worker *w = &all->run->worker[0];
  for (int64_t executed = 0; all->done < all->blocks && executed < FEW && !w->failed; all->done++) {
    nwg_run_block(w, all->first + all->done);
    executed = 0;
    for (int i = 0; i < w->k->ninstrs; i++) executed += w->times[i];
  }
}

static bool run_blocks(nwg_run *r, team *all) {
  bool no_memory = false, failed = false;
  int opened = all->n;
  if (all->n > 1 && !r->opts.threads) begin_alone(all);
  if (all->n > 1 && (all->done == all->blocks || !nw_team_prepare(all->n))) all->n = 1;
  if (all->n == 1)
    work(all, 0);
  else
    nw_team_run(all->n, work, all);
  all->n = opened;
  for (int i = 0; i < opened; i++) failed |= r->worker[i].failed, no_memory |= r->worker[i].no_memory;
  if (no_memory) return nw_fail(r->ctx, NW_EMEMORY, NULL, "there is no memory for the asynchronous copies in flight");
  return !failed || (!nw_error(r->ctx) && !nw_stopped(r->ctx));
}

// If there are no arrays, no access may depend on data. The functions that make the classes also check this, so they
// are called even if classes are not used.
static bool make_classes(const nwg_run *r, const nwg_kernel *k, const nw_gpu_kernel *row, const int64_t *var,
                         team *all) {
  bool used = r->opts.classes;
  if (used) all->blocks = 1;
  for (int d = 0; d < 3 && r->blank; d++) {
    int64_t known = used && r->caches ? 2 * nwg_wave(r, row) : 0;
    nwg_classes *found = nwg_classes_of(r, k, d, var, known < k->extent[d] ? known : k->extent[d]);
    if (!found) return false;
    if (used) all->blocks *= found->n;
    if (used)
      all->class[d] = found;
    else
      nwg_classes_free(found);
  }
  return true;
}

static void note_launch(nwg_entry *e, const nwg_kernel *k, const team *all) {
  int64_t blocks = k->extent[0] * k->extent[1] * k->extent[2];
  memcpy(e->row.extent, k->extent, sizeof e->row.extent);
  e->row.launches++;
  e->row.blocks += blocks, e->row.simulated += all->blocks, e->row.warps += blocks * k->warps;
}

static bool gather(nwg_run *r, nwg_entry *e, int n) {
  for (int t = 0; t < n; t++) {
    take_counts(e, &r->worker[t], 1);
    if (!nwg_report_findings(r->report, &r->worker[t])) return false;
  }
  return true;
}

static bool open_kinds(nwg_run *r, nwg_entry *e, int64_t classes) {
  if (!e->kinds) e->kinds = nw_xcalloc(1, sizeof *e->kinds);
  return nwg_kinds_launch(r, e->kinds, classes);
}

bool nwg_launch(nwg_run *r, int number, const nw_launch *l, const int64_t extent[6], const int64_t *var) {
  nwg_entry *e = &r->entry[number];
  const nw_gpu_watch *watch = r->opts.watch;
  if (watch && (number != watch->kernel || e->row.launches)) return true;
  if (!within(r, extent, 0)) return false;
  const nwg_kernel *k = compiled(r, e, l, extent);
  if (!k) return false;
  nwg_occupancy(r, k, r->registers[number], &e->row);
  team all = {.run = r, .entry = e, .blocks = extent[0] * extent[1] * extent[2]};
  bool good = within(r, extent, e->row.shared_bytes) && make_counts(r, e, k) && make_classes(r, k, &e->row, var, &all);
  all.n = good ? threads_for(r, all.blocks) : 0;
  if (watch) good = good && watch_blocks(r, extent, &all.first, &all.blocks);
  good = good && nwg_workers_open(r, all.n, k, var, all.blocks);
  if (good && all.class[0]) good = open_kinds(r, e, all.blocks);
  if (good && r->caches) good = nwg_caches_launch(r, e, k, all.class, all.blocks);
  for (int t = 0; t < all.n && good; t++) r->worker[t].number = number;
  good = good && run_blocks(r, &all);
  if (good) nwg_merge(r->worker, all.n), note_launch(e, k, &all);
  good = good && gather(r, e, all.n);
  if (good && all.class[0]) good = nwg_kinds_order(r, e->kinds, k, var);
  if (good && r->caches) good = nwg_caches_finish(r, e, all.class);
  nwg_caches_leave(r->caches);
  nwg_workers_close(r, all.n);
  for (int d = 0; d < 3; d++) nwg_classes_free(all.class[d]);
  return good;
}
