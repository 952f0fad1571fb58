// Measures the time of each loop, in code that reads a clock before and after each execution of a loop.
//
// The cost of a clock is measured once. It is subtracted from the time of the loop and from the times of the loops
// around it. A loop whose executions take less than COSTS times this cost gets no clock, because the clock would change
// the loop. The time of such a loop is part of the time of the loop around it.
//
// The time of an execution is first estimated: it is the time of the call without clocks, divided by the number of
// executions that the extents of the loops around the loop imply. All loops that seem long enough get clocks, and the
// times of their executions are measured. The loops that are too short lose their clocks. Then the code with clocks and
// the code without clocks are measured in turn. If their times differ by more than the cost of the clocks, the clocks
// have changed the code. In this case, the innermost clocks are removed, and the code is measured again.
#include "run/counters.h"
#include "run/kernel.h"
#include "run/timing/series.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_SECONDS 1e-3
#define USUAL_REPS 10
#define LEAST_REPS 3
#define SERIES_SECONDS 2.0 // fewer samples than usual are taken if the usual number takes longer
#define COSTS 40 // an execution is long enough if it takes at least this many times the cost of a clock
#define COST_TURNS 200
#define CHANGED                                                                                                        \
  0.05 // a greater relative difference between code with and without clocks shows that the clocks change the code

// ---- the clock

#if defined __x86_64__
static int64_t read_clock(void) { return (int64_t)__builtin_ia32_rdtsc(); }
#elif defined __aarch64__
static int64_t read_clock(void) {
  int64_t t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
}
#else
static int64_t read_clock(void) { return (int64_t)(nw_now() * 1e9); }
#endif

typedef struct cost { // the cost of a clock around one execution of a loop
  double whole, seconds; // time that the clock adds to the loop around it, in ticks and in seconds
  double inside; // the part of this time that the clock itself measures, in ticks
} cost;

static cost cost_of_clock(void) {
  cost least = {INFINITY, INFINITY, INFINITY};
  for (int i = 0; i < 20; i++) {
    volatile nw_tick sum = {0};
    double now = nw_now();
    int64_t start = read_clock();
    for (int n = 0; n < COST_TURNS; n++) {
      sum.ticks -= read_clock();
      sum.ticks += read_clock();
      sum.times++;
    }
    least.whole = fmin(least.whole, (double)(read_clock() - start) / COST_TURNS);
    least.seconds = fmin(least.seconds, (nw_now() - now) / COST_TURNS);
    least.inside = fmin(least.inside, (double)sum.ticks / COST_TURNS);
  }
  return least;
}

// ---- the loops

typedef struct loop {
  const nw_stmt *stmt;
  int around; // index of the loop around this loop; -1 if there is none
  int clock; // index of the clock of this loop; -1 if there is none
  int depth;
  bool divided; // true inside a parallel loop; each thread then runs a part of the executions
  double executions; // executions in a call that the extents of the loops around it imply
} loop;

typedef struct loops {
  int n;
  bool calls; // true if intrinsics are called
  loop *at;
  const nw_kernel *plain; // code without clocks; its sizes are known
} loops;

static double extent_of(const loops *l, const nw_stmt *s) {
  int64_t n;
  const nw_formals *f = &l->plain->formals;
  return nw_eval_size(s->loop.extent, f->nsizes, f->size, l->plain->sizes, &n) && n > 0 ? (double)n : 1;
}

// The code of an intrinsic runs instead of the loops inside its call, so these loops have no times.
static void find_loops(loops *l, const nw_stmt *s, int around) {
  int64_t n;
  if (s->kind == NW_CALL && !NW_MUTATED(clocks_in_calls)) {
    l->calls = true;
    return;
  }
  if (s->kind == NW_LOOP && !(nw_is_int(s->loop.extent, &n) && n <= 1)) {
    loop new = {.stmt = s, .around = around, .clock = -1, .executions = 1};
    if (around >= 0) {
      const loop *a = &l->at[around];
      new.depth = a->depth + 1;
      new.divided = a->divided || a->stmt->loop.mark == NW_PARALLEL;
      new.executions = extent_of(l, a->stmt) * a->executions;
    }
    if ((l->n & (l->n - 1)) == 0) l->at = nw_xrealloc(l->at, 2 * ((size_t)l->n + 1) * sizeof *l->at);
    l->at[l->n] = new;
    around = l->n++;
  }
  for (int i = 0; i < s->nkids; i++) find_loops(l, s->kid[i], around);
}

// ---- running

typedef struct shot { // the measurements of one sample
  double seconds; // seconds of a call
  double second; // seconds of a tick
  nw_tick *tick; // heap
} shot;

typedef struct subject { // a kernel that is measured
  nw_kernel *k;
  int64_t times; // calls in a sample
  int nticks;
  nw_tick *ticks; // sums over the calls of a sample, for all threads; NULL for code without clocks
  int n; // number of shots
  shot *shot; // one for each sample of code with clocks
} subject;

static double sample(void *env) {
  subject *s = env;
  size_t bytes = (size_t)s->nticks * sizeof(nw_tick);
  if (s->ticks) memset(s->ticks, 0, bytes);
  s->k->frame.ticks = s->ticks;
  double start = nw_now();
  int64_t first = read_clock();
  double seconds = nw_warm_calls(s->k, s->times), tick = (nw_now() - start) / (double)(read_clock() - first);
  if (seconds < 0 || !s->ticks) return seconds;
  if ((s->n & (s->n - 1)) == 0) s->shot = nw_xrealloc(s->shot, 2 * ((size_t)s->n + 1) * sizeof *s->shot);
  shot *t = &s->shot[s->n++];
  *t = (shot){seconds, tick, nw_xmalloc(bytes + 1)};
  memcpy(t->tick, s->ticks, bytes);
  return seconds;
}

static void forget_shots(subject *s) {
  for (int i = 0; i < s->n; i++) free(s->shot[i].tick);
  s->n = 0;
}

// Warms up, and finds the number of calls in a sample. Returns false on failure.
static bool set_times(subject *s) {
  for (;;) {
    double t = sample(s);
    if (t < 0) return false;
    if (t * (double)s->times >= SAMPLE_SECONDS || s->times >= INT64_C(1) << 24) break;
    s->times *= 2;
  }
  forget_shots(s);
  return true;
}

// ---- from clocks to times

// Returns the sum of an entry over the threads. Sets *most to the ticks of the thread with the most ticks.
static nw_tick all_threads(const subject *s, const shot *t, int entry, int64_t *most) {
  int row = s->nticks / s->k->threads;
  nw_tick sum = {0};
  *most = 0;
  for (int i = 0; i < s->k->threads; i++) {
    nw_tick one = t->tick[i * row + entry];
    sum.ticks += one.ticks;
    sum.times += one.times;
    if (one.ticks > *most) *most = one.ticks;
  }
  return sum;
}

// Returns the times of the loops in one sample. Sets *clocks to the seconds per call that all clocks took.
static nw_loop_time *times_of(const loops *l, const subject *s, const shot *t, cost c, double *clocks) {
  double second = t->second, calls = (double)s->times, team = s->k->threads;
  double *inside = nw_xcalloc((size_t)l->n + 1, sizeof *inside); // for each loop: ticks of the clocks inside the loop
  nw_loop_time *out = nw_xcalloc((size_t)l->n + 1, sizeof *out);
  *clocks = 0;
  for (int i = l->n - 1; i >= 0; i--) { // an inner loop has a larger index than the loops around it
    const loop *a = &l->at[i];
    bool parallel = a->stmt->loop.mark == NW_PARALLEL;
    out[i] = (nw_loop_time){.id = a->stmt->id, .depth = a->depth, .timed = a->clock >= 0, .parallel = parallel};
    snprintf(out[i].loop, sizeof out[i].loop, "%s", a->stmt->loop.var->name);
    double below = inside[i], threads = a->divided ? team : 1;
    nw_tick sum = {0}, part = {0};
    if (a->clock >= 0) {
      int64_t most, most_part;
      sum = all_threads(s, t, 2 * a->clock, &most);
      part = all_threads(s, t, 2 * a->clock + 1, &most_part);
      out[i].work = fmax((double)part.ticks - (double)part.times * c.inside - below, 0) / team * second / calls;
      // The threads run at the same time. So the cost of a clock that a thread reads is divided by the number of
      // threads.
      if (parallel) below = (below + (double)part.times * c.whole) / team;
      double own = fmax((double)sum.ticks - (double)sum.times * c.inside - below, 0);
      out[i].seconds = own / threads * second / calls;
      out[i].most = a->divided && sum.ticks ? own * (double)most / (double)sum.ticks * second / calls : out[i].seconds;
      if (!parallel) out[i].work = out[i].seconds;
      out[i].times = (double)sum.times / calls;
      out[i].busy = out[i].seconds * threads;
      below += (double)sum.times * c.whole;
    } else if (parallel) {
      below /= team;
    }
    if (a->around < 0) *clocks += below * second / calls;
    if (a->around >= 0) inside[a->around] += below;
  }
  free(inside);
  return out;
}

// ---- the measurement

typedef struct job {
  nw_ctx *c;
  const nw_program *p;
  const nw_build_opts *o;
  int nargs;
  nw_array *const *args;
  loops l;
  bool *wanted; // for each loop: true if it gets a clock
  subject plain, clocked;
  cost each;
} job;

// Compiles the program with clocks around the wanted loops, and begins a call. Returns false, with a diagnostic, on
// failure.
static bool begin_clocked(job *j) {
  const nw_stmt **clock = nw_xcalloc((size_t)j->l.n + 1, sizeof *clock);
  int n = 0;
  for (int i = 0; i < j->l.n; i++) {
    j->l.at[i].clock = j->wanted[i] ? n : -1;
    if (j->wanted[i]) clock[n++] = j->l.at[i].stmt;
  }
  nw_exec *e = nw_exec_with_clocks(j->l.plain->exec, n, clock);
  free(clock);
  nw_kernel *k = nw_compile_lowered(j->c, j->p, e, j->o);
  if (!k || !nw_kernel_begin(k, j->nargs, j->args)) return nw_kernel_release(k), false;
  j->clocked = (subject){.k = k, .times = 1, .nticks = nw_ticks_of(n) * k->threads};
  size_t bytes = (size_t)j->clocked.nticks * sizeof(nw_tick);
  j->clocked.ticks = nw_mem_get(&nw_session_of(j->c)->mem, bytes + 1, true);
  return j->clocked.ticks || nw_fail(j->c, NW_ELIMIT, NULL, "there is not enough memory to time the loops");
}

static void end_clocked(job *j) {
  subject *s = &j->clocked;
  if (s->ticks) nw_mem_put(&nw_session_of(j->c)->mem, s->ticks);
  if (s->k) nw_kernel_end(s->k);
  nw_kernel_release(s->k);
  forget_shots(s);
  free(s->shot);
  *s = (subject){0};
}

// Selects the loops whose executions seem long enough, from the time of a call and from the extents of the loops.
// Returns false if no loop seems long enough.
static bool select_by_extents(job *j, double call) {
  bool any = false;
  for (int i = 0; i < j->l.n; i++) {
    double threads = j->l.at[i].divided ? j->l.plain->threads : 1;
    j->wanted[i] = call * threads >= COSTS * j->each.seconds * j->l.at[i].executions;
    any = any || j->wanted[i];
  }
  return any;
}

// Deselects the loops whose measured executions are too short. Returns false on failure.
static bool deselect_short(job *j) {
  if (!begin_clocked(j) || sample(&j->clocked) < 0 || sample(&j->clocked) < 0) return false;
  double ignored;
  nw_loop_time *t = times_of(&j->l, &j->clocked, &j->clocked.shot[1], j->each, &ignored);
  for (int i = 0; i < j->l.n; i++) {
    double threads = j->l.at[i].divided ? j->l.plain->threads : 1;
    if (t[i].seconds * threads < COSTS * j->each.seconds * t[i].times) j->wanted[i] = false;
  }
  free(t);
  return true;
}

static double median_of(const nw_samples *s) {
  double *sorted = nw_sorted(s->value, s->n), median = nw_quantile(sorted, s->n, 0.5);
  free(sorted);
  return median;
}

// Returns the sample whose time is nearest to the median. All times are from one sample, so that the times of the loops
// add up.
static const shot *typical(const subject *s, const nw_samples *got) {
  double median = median_of(got), nearest = got->value[0];
  for (int i = 1; i < got->n; i++)
    if (fabs(got->value[i] - median) < fabs(nearest - median)) nearest = got->value[i];
  int at = 0;
  while (s->shot[at].seconds != nearest) at++;
  return &s->shot[at];
}

// Measures the code without clocks and the code with clocks in turn.
static bool measure(job *j, int reps, nw_loop_times *out) {
  nw_subject of[] = {{.threads = j->plain.k->threads, .once = sample, .env = &j->plain},
                     {.threads = j->clocked.k->threads, .once = sample, .env = &j->clocked}};
  nw_samples got[2];
  if (!set_times(&j->clocked) || !nw_take_samples(j->c, 2, of, reps, 0, got)) return false;
  const shot *shown = typical(&j->clocked, &got[1]);
  *out = (nw_loop_times){.n = j->l.n,
                         .threads = j->plain.k->threads,
                         .reps = got[1].n,
                         .seconds = median_of(&got[0]),
                         .clocked = shown->seconds,
                         .least = COSTS * j->each.seconds,
                         .calls = j->l.calls,
                         .disturbed = got[0].disturbed || got[1].disturbed};
  out->at = times_of(&j->l, &j->clocked, shown, j->each, &out->clocks);
  free(got[0].value);
  free(got[1].value);
  return true;
}

// Counts the events of a sample of the code without clocks. The counts are per call. Returns false on failure.
static bool count(job *j, nw_loop_times *out) {
  nw_counters k;
  nw_counters_open(&k, j->plain.k->threads);
  nw_counters_start(&k);
  bool good = sample(&j->plain) >= 0;
  nw_counters_stop(&k);
  out->ncounts = nw_counters_read(&k, out->count);
  for (int i = 0; i < out->ncounts; i++) out->count[i].value /= (double)j->plain.times;
  nw_counters_close(&k);
  return good;
}

// True if the times of the code with clocks and the code without clocks differ by more than the cost of the clocks.
// This happens if clocks change the use of registers in a loop that needs all registers.
static bool changes_code(const nw_loop_times *t) {
  return !t->disturbed && fabs(t->clocked - t->clocks - t->seconds) > CHANGED * t->seconds;
}

// Deselects the selected loops with the most loops around them. Returns false if these have no loops around them.
static bool deselect_deepest(job *j) {
  int deepest = -1;
  for (int i = 0; i < j->l.n; i++)
    if (j->wanted[i] && j->l.at[i].depth > deepest) deepest = j->l.at[i].depth;
  for (int i = 0; i < j->l.n; i++)
    if (j->l.at[i].depth == deepest) j->wanted[i] = false;
  return deepest > 0;
}

static bool measure_begun(job *j, int reps, nw_loop_times *out) {
  double call = set_times(&j->plain) ? sample(&j->plain) : -1;
  if (call < 0) return false;
  if (reps <= 0) reps = (int)fmin(fmax(SERIES_SECONDS / call, LEAST_REPS), USUAL_REPS);
  find_loops(&j->l, j->l.plain->exec->p->root, -1);
  j->wanted = nw_xcalloc((size_t)j->l.n + 1, sizeof *j->wanted);
  j->each = cost_of_clock();
  bool good = !select_by_extents(j, call) || deselect_short(j);
  end_clocked(j);
  while (good) {
    good = begin_clocked(j) && measure(j, reps, out) && count(j, out);
    end_clocked(j);
    if (!good || !changes_code(out) || !deselect_deepest(j)) break;
    free(out->at);
    out->at = NULL;
  }
  return good;
}

bool nw_measure_loops(nw_ctx *c, const nw_program *p, const nw_build_opts *o, int n, nw_array *const *args, int reps,
                      nw_loop_times *out) {
  *out = (nw_loop_times){0};
  nw_kernel *k = nw_compile(c, p, o);
  if (!k || !nw_kernel_in_process(k, "loop_times") || !nw_kernel_begin(k, n, args)) return nw_kernel_release(k), false;
  job j = {.c = c, .p = p, .o = o, .nargs = n, .args = args, .l = {.plain = k}, .plain = {.k = k, .times = 1}};
  bool good = measure_begun(&j, reps, out);
  nw_kernel_end(k);
  nw_kernel_release(k);
  free(j.wanted);
  free(j.l.at);
  return good;
}
