// Computes the cost of a program. The cost follows from the model of a core (cpu/core.h), the bytes that the caches
// move, the number of threads and the energy.
#include "cost/cpu/core_called.h"
#include "cost/energy.h"
#include "cost/traffic.h"
#include "poly/poly.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

struct nw_cost {
  nw_core *core;
  nw_traffic *traffic; // misses of the first thread
  nw_machine machine; // the machine's record, with the memory bandwidth that one thread can use
  nw_core_cost whole;
  nw_core_ops all; // operations of all threads
  nw_moved_bytes moved;
  nw_energy energy;
  int threads, nregions; // `threads` is 1 if no loop is parallel
  double share[MOST_THREADS]; // for each thread: the cycles inside of parallel loops
  double outside, cycles, seconds, team_seconds;
  int nloops;
  const nw_core_node **loop;
};

// ---- one thread

static bool is_region(const nw_core_node *at) {
  return at->stmt->kind == NW_LOOP && at->stmt->loop.mark == NW_PARALLEL;
}

static bool has_region(const nw_core_node *at) {
  bool has = is_region(at);
  for (int i = 0; i < at->nkids; i++) has |= has_region(at->kid[i]);
  return has;
}

// Clears the counts of the code outside of parallel loops, because only the first thread runs this code.
static void clear_outside(nw_core_node *at) {
  if (is_region(at)) return;
  at->times = 0;
  for (int i = 0; i < at->nkids; i++) clear_outside(at->kid[i]);
}

static double cycles_in_regions(const nw_core_node *at, int *entered) {
  if (is_region(at)) return *entered += (int)fmin((double)at->entered, 1e9), at->cycles;
  double all = 0;
  for (int i = 0; i < at->nkids; i++) all += cycles_in_regions(at->kid[i], entered);
  return all;
}

// Adds the bytes that move between levels. A line that misses in a level is loaded from the next level. An evicted
// dirty line is written back to the next level.
static void add_moved(nw_cost *k, const nw_traffic *t) {
  for (int i = 0; i < t->n; i++) {
    const nw_traffic_row *r = &t->row[i];
    double line = (double)k->machine.level[r->level].line;
    k->moved.read[r->level + 1] += line * (double)(r->count.read_misses + r->count.write_misses);
    k->moved.written[r->level + 1] += line * (double)r->count.written_back;
  }
}

static bool same_share(const nw_core_node *at, const int64_t *times, int *n) {
  bool same = times[(*n)++] == at->times;
  for (int i = 0; i < at->nkids; i++) same &= same_share(at->kid[i], times, n);
  return same;
}

static void note_share(const nw_core_node *at, int64_t *times, int *n) {
  times[(*n)++] = at->times;
  for (int i = 0; i < at->nkids; i++) note_share(at->kid[i], times, n);
}

static int count_bodies(const nw_core_node *at) {
  int n = 1;
  for (int i = 0; i < at->nkids; i++) n += count_bodies(at->kid[i]);
  return n;
}

// Computes the cost of a thread. If the thread runs every body as many times as the previously handled thread, its
// misses are assumed to be the same.
static bool run_thread(nw_ctx *c, nw_cost *k, const nw_cost_opts *o, int thread, int64_t *before,
                       nw_traffic **traffic) {
  int n = 0, entered = 0, threads = k->threads > 1 ? k->threads : 0;
  if (!nw_core_count(k->core, thread, threads)) return false;
  if (!o->in_cache && (thread == 0 || !*traffic || !same_share(k->core->root, before, &n))) {
    nw_traffic_free(*traffic);
    *traffic = nw_traffic_of(c, k->core->exec, o, thread, threads);
    if (!*traffic) return false;
  }
  n = 0;
  note_share(k->core->root, before, &n);
  if (*traffic) nw_traffic_charge(*traffic, k->core);
  k->whole = nw_core_time(k->core);
  if (*traffic) add_moved(k, *traffic);
  k->share[thread] = cycles_in_regions(k->core->root, &entered);
  k->outside = k->core->root->cycles - k->share[thread];
  k->nregions = entered;
  if (thread) clear_outside(k->core->root);
  nw_core_add_all(k->core, &k->all);
  return true;
}

// Computes the cost of each thread. The first thread is handled last, because its results are shown and must stay in k.
static bool run_threads(nw_ctx *c, nw_cost *k, const nw_cost_opts *o) {
  int64_t *before = NW_NEW_N(k->core->arena, int64_t, count_bodies(k->core->root));
  bool ok = true;
  for (int t = k->threads - 1; ok && t >= 0; t--) ok = run_thread(c, k, o, t, before, &k->traffic);
  return ok;
}

// ---- together

// Returns the machine's record, with the memory bandwidth that one of the threads can use. All other numbers of the
// record already are for one thread.
static nw_machine shared_machine(const nw_machine *m, int threads) {
  nw_machine one = *m;
  if (one.memory.bandwidth * threads > one.memory.bandwidth_all)
    one.memory.bandwidth = one.memory.bandwidth_all / threads;
  return one;
}

static void add_up(nw_cost *k) {
  const nw_machine *m = &k->machine;
  double most = 0, spawn = 0, barrier = 0;
  for (int t = 0; t < k->threads; t++) most = fmax(most, k->share[t]);
  if (k->threads > 1 && k->nregions)
    k->team_seconds = k->nregions * 1e-6 * nw_machine_team_us(m, k->threads, &spawn, &barrier);
  k->cycles = k->outside + most + k->team_seconds * m->clock * 1e9;
  k->seconds = k->cycles / (m->clock * 1e9);
  for (int b = 0; b < NW_ENERGY_BITS; b++) {
    k->moved.read[0] += k->all.numbers[NW_CLASS_LOAD][b] * (1 << b);
    k->moved.written[0] += k->all.numbers[NW_CLASS_STORE][b] * (1 << b);
  }
  nw_energy_of(m, &k->all, &k->moved, k->seconds, k->threads, &k->energy);
}

static void list_bodies(nw_cost *k, const nw_core_node *at) {
  k->loop[k->nloops++] = at;
  for (int i = 0; i < at->nkids; i++) list_bodies(k, at->kid[i]);
}

static bool find_cost(nw_ctx *c, nw_cost *k, const nw_program *p, const nw_cost_opts *o) {
  nw_exec *e = nw_judge_harmless(p, "modelled") ? nw_lower(p, NULL) : NULL;
  k->core = e ? nw_core_new(c, e, o->sizes, &k->machine) : NULL;
  nw_exec_release(e);
  if (!k->core || !nw_core_shape(k->core)) return false;
  if (!has_region(k->core->root)) k->threads = 1, k->machine = o->target->machine;
  if (!run_threads(c, k, o)) return false;
  add_up(k);
  k->loop = NW_NEW_N(k->core->arena, const nw_core_node *, count_bodies(k->core->root));
  list_bodies(k, k->core->root);
  return true;
}

// Computes the cost with the model of a core and its caches.
static nw_cost *core_cost(nw_ctx *c, const nw_program *p, const nw_cost_opts *o) {
  const nw_machine *m = &o->target->machine;
  if (o->threads > MOST_THREADS || o->threads > m->cores)
    return nw_fail(c, NW_ERANGE, NULL, "threads: %d is more than the %d cores of %s, or more than the limit of %d",
                   o->threads, (int)m->cores, m->name, MOST_THREADS);
  if (!nw_sizes_allowed(c, p, o->sizes)) return NULL;
  nw_cost *k = nw_xcalloc(1, sizeof *k);
  k->threads = o->threads > 1 ? o->threads : 1;
  k->machine = shared_machine(m, k->threads);
  if (find_cost(c, k, p, o)) return k;
  nw_cost_free(k);
  return NULL;
}

void nw_models_provide(nw_ctx *c) {
  static const nw_cost_model core = {"core", "cycles of a core and misses of its caches", core_cost};
  nw_target_provide(c, NW_MACHINE_CPU, NULL, &core);
}

nw_cost *nw_cost_of(nw_ctx *c, const nw_program *p, const nw_cost_opts *o) {
  if (o->target->model) return o->target->model->cost(c, p, o);
  return nw_fail(c, NW_EINVAL, "nw.machine{} is this host; nw.machines() lists others.",
                 "%s is not a CPU; only CPUs can be modelled", o->target->machine.name);
}

void nw_cost_free(nw_cost *k) {
  if (!k) return;
  nw_core_free(k->core);
  nw_traffic_free(k->traffic);
  free(k);
}

// ---- reading

static double flops(const nw_cost *k) {
  double n = 0;
  for (int b = 0; b < NW_ENERGY_BITS; b++) {
    n += 2 * k->all.numbers[NW_CLASS_FMA][b];
    for (int c = NW_CLASS_ADD; c <= NW_CLASS_POW64; c++)
      if (c != NW_CLASS_CAST) n += k->all.numbers[c][b];
  }
  return n;
}

nw_cost_total nw_cost_total_of(const nw_cost *k) {
  return (nw_cost_total){.cycles = k->cycles,
                         .seconds = k->seconds,
                         .bound = nw_core_bound_name(&k->machine, k->core->root->bound),
                         .flops = flops(k),
                         .instructions = nw_core_instructions(&k->all),
                         .spills = k->all.unit[NW_CORE_SPILL],
                         .joules = nw_energy_joules(&k->energy),
                         .threads = k->threads,
                         .outside_cycles = k->outside,
                         .team_seconds = k->team_seconds};
}

double nw_cost_share(const nw_cost *k, int thread) { return k->share[thread]; }
int nw_cost_levels(const nw_cost *k) { return k->machine.nlevels + 1; }

void nw_cost_moved(const nw_cost *k, int level, double *read, double *written) {
  *read = k->moved.read[level];
  *written = k->moved.written[level];
}

int nw_cost_energies(const nw_cost *k) { return k->energy.n; }
const nw_energy_row *nw_cost_energy(const nw_cost *k, int i) { return &k->energy.row[i]; }

int nw_cost_buffers(const nw_cost *k) { return k->core->places.n; }

nw_cost_buffer nw_cost_buffer_at(const nw_cost *k, int i) {
  static const char *const kinds[] = {"parameter", "workspace", "workspace of each thread", "stack", "grid"};
  const nw_placed *x = &k->core->places.at[i];
  bool apart = k->core->apart[i];
  return (nw_cost_buffer){x->buffer->name, apart ? "registers" : kinds[k->core->exec->storage[i].kind], x->bytes};
}

nw_cost_missed nw_cost_missed_at(const nw_cost *k, int i) {
  const nw_traffic_row *r = &k->traffic->row[i];
  return (nw_cost_missed){.level = r->level,
                          .tensor = r->site->place->buffer->name,
                          .loop = r->site->loop ? r->site->loop->loop.var->name : NULL,
                          .write = r->site->write,
                          .count = r->count};
}

int nw_cost_misses(const nw_cost *k) { return k->traffic ? k->traffic->n : 0; }

bool nw_cost_exact(const nw_cost *k, int level, double *error) {
  *error = k->traffic->error[level];
  return k->traffic->exact[level];
}

bool nw_cost_counts_both(const nw_cost *k) { return k->traffic && nw_walker_estimated(k->traffic->walker); }

bool nw_cost_calls(const nw_cost *k) { return nw_core_calls(k->core); }

int nw_cost_terms(const nw_cost *k) { return (void)k, NW_CORE_BOUNDS + 1; }

// Returns the cycles of resource i. The term after the last resource is the longest dependence chain.
nw_cost_term nw_cost_term_at(const nw_cost *k, int i) {
  return (nw_cost_term){nw_core_bound_name(&k->machine, i), i < NW_CORE_BOUNDS ? k->whole.busy[i] : k->whole.wait};
}

int nw_cost_loops(const nw_cost *k) { return k->nloops; }

nw_cost_loop nw_cost_loop_at(const nw_cost *k, int i) {
  const nw_core_node *at = k->loop[i];
  return (nw_cost_loop){.name = at->stmt->kind == NW_LOOP ? at->stmt->loop.var->name : NULL,
                        .id = at->stmt->id,
                        .depth = at->depth,
                        .entered = at->entered,
                        .times = at->times,
                        .cycles = at->cycles,
                        .carried = at->carried,
                        .parallel = is_region(at),
                        .bound = nw_core_bound_name(&k->machine, at->bound)};
}
