// Finds out how long the threads of a team could not run during a measurement.
//
// Linux counts, for each thread, its time on a core, the time in which it was ready but had to wait for a core, and how
// often it began to run. If a thread did not begin to run again during a sample, it did not leave its core. Then the
// wall-clock time minus its CPU time is the time that a hypervisor or an interrupt took. If it left its core, it may
// also have slept until the other threads were ready, so only the time of waiting for a core is used. A single thread
// never sleeps while it is measured, so all the time without its core is a disturbance.
#include "run/timing/watch.h"
#include "run/guard.h"
#include "hw/hw.h"
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The number of a clock of Linux that shows the CPU time of one thread of this process. glibc computes it in the same
// way in pthread_getcpuclockid, which needs a pthread_t.
static clockid_t cpu_clock(int id) { return (clockid_t)((~(unsigned)id << 3) | 6); }

// /proc/self/task/ID/schedstat has the CPU time, the time of waiting, and the number of turns. Its CPU time is brought
// up to date only at the ticks of the scheduler, which are milliseconds apart, so the clock is read instead.
static nw_thread_use use_of(int id, int file) {
  char text[64];
  long long ran, waited, turns;
  struct timespec t;
  nw_thread_use use = {0};
  ssize_t n = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = 0;
  if (sscanf(text, "%lld %lld %lld", &ran, &waited, &turns) == 3) use.delay = (double)waited * 1e-9, use.turns = turns;
  if (!clock_gettime(cpu_clock(id), &t)) use.cpu = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
  return use;
}

static void note_id(void *ids, int t) { ((int *)ids)[t] = (int)syscall(SYS_gettid); }

void nw_team_ids(int threads, int *id) {
  if (threads > 1)
    nw_team_run(threads, note_id, id);
  else if (threads == 1)
    note_id(id, 0);
}

// ---- places

// Returns an array on the heap. It contains, for each thread, the core on which the thread runs during a sample, and
// then, for each thread, its usual cores. If `given` is NULL, threads are moved only if the team has several threads
// and as many threads as there are cores. Returns NULL if threads are not moved.
static cpu_set_t *places_of(const nw_watch *w, const int *given) {
  cpu_set_t all;
  if (w->threads < 1 || sched_getaffinity(0, sizeof all, &all)) return NULL;
  if (!given && (w->threads < 2 || CPU_COUNT(&all) != w->threads)) return NULL;
  cpu_set_t *places = nw_xcalloc(2 * (size_t)w->threads, sizeof *places);
  for (int t = 0, cpu = 0; t < w->threads; t++, cpu++) {
    while (!given && !CPU_ISSET(cpu, &all)) cpu++;
    CPU_SET(given ? given[t] : cpu, &places[t]);
    if (sched_getaffinity(w->id[t], sizeof *places, &places[w->threads + t])) places[w->threads + t] = all;
  }
  return places;
}

// Puts each thread on its own core if `from` is 0, and back to its usual cores if `from` is the number of threads.
// Threads stay on their own cores only during a sample. No memory is requested during a sample, because a failed
// request would end the call and leave the threads on these cores.
static void put(const nw_watch *w, int from) {
  const cpu_set_t *places = w->places;
  for (int t = 0; places && t < w->threads; t++) sched_setaffinity(w->id[t], sizeof *places, &places[from + t]);
}

// Writes the CPUs of a set in the form of Linux, for example "0-3,8".
static void write_cpus(nw_str *b, const cpu_set_t *set) {
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    int last = cpu;
    if (!CPU_ISSET(cpu, set)) continue;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set)) last++;
    nw_str_fmt(b, "%s%d", b->n ? "," : "", cpu);
    if (last > cpu) nw_str_fmt(b, "-%d", last);
    cpu = last;
  }
}

static bool not_allowed(nw_ctx *c, int cpu, const cpu_set_t *all) {
  nw_str b = {0};
  write_cpus(&b, all);
  nw_fail(c, NW_ERANGE, "the affinity mask of the process limits them; taskset changes it",
          "pin: CPU %d is not one of the CPUs that this process may use, which are %s", cpu, b.s ? b.s : "unknown");
  nw_str_free(&b);
  return false;
}

bool nw_places_check(nw_ctx *c, int threads, int n, const int *cpu) {
  cpu_set_t all, used;
  CPU_ZERO(&all);
  CPU_ZERO(&used);
  sched_getaffinity(0, sizeof all, &all);
  for (int i = 0; i < n; i++) {
    if (cpu[i] < 0 || cpu[i] >= CPU_SETSIZE || !CPU_ISSET(cpu[i], &all)) return not_allowed(c, cpu[i], &all);
    if (CPU_ISSET(cpu[i], &used))
      return nw_fail(c, NW_EINVAL, NULL, "pin: CPU %d is given twice; each thread needs a CPU of its own", cpu[i]);
    CPU_SET(cpu[i], &used);
  }
  return n == threads || nw_fail(c, NW_EINVAL, "the option threads of s:build sets the number of threads",
                                 "pin: %d CPU%s given for %d thread%s; give one for each thread", n, n == 1 ? "" : "s",
                                 threads, threads == 1 ? "" : "s");
}

// ---- samples

void nw_watch_open(nw_watch *w, int threads, const int *cpu) {
  *w = (nw_watch){.threads = threads};
  if (threads > nw_host()->cores) w->threads = 0; // the threads always wait for each other, so the team is not watched
  threads = w->threads;
  w->id = nw_xcalloc((size_t)threads + 1, sizeof *w->id);
  w->file = nw_xcalloc((size_t)threads + 1, sizeof *w->file);
  w->use = nw_xcalloc((size_t)threads + 1, sizeof *w->use);
  nw_team_ids(threads, w->id);
  for (int t = 0; t < threads; t++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", w->id[t]);
    w->file[t] = open(path, O_RDONLY | O_CLOEXEC);
  }
  w->places = places_of(w, cpu);
}

void nw_watch_close(nw_watch *w) {
  for (int t = 0; t < w->threads; t++)
    if (w->file[t] >= 0) close(w->file[t]);
  free(w->places);
  free(w->id);
  free(w->file);
  free(w->use);
  *w = (nw_watch){0};
}

void nw_watch_begin(nw_watch *w) {
  put(w, 0);
  for (int t = 0; t < w->threads; t++) w->use[t] = use_of(w->id[t], w->file[t]);
  w->wall = nw_now();
}

double nw_watch_end(nw_watch *w) {
  double wall = nw_now() - w->wall, lost = 0;
  for (int t = 0; t < w->threads; t++) {
    nw_thread_use now = use_of(w->id[t], w->file[t]), *was = &w->use[t];
    bool stayed = now.turns == was->turns && w->file[t] >= 0;
    lost = fmax(lost, now.delay - was->delay);
    if (w->threads == 1 || stayed) lost = fmax(lost, wall - (now.cpu - was->cpu));
  }
  put(w, w->threads);
  return wall > 0 && lost > 0 ? lost / wall : 0;
}
