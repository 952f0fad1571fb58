// Finds out how long the threads of a team could not run during a measurement.
//
// Linux counts, for each thread, the time in which the thread was ready but had to wait for a core. It is the second
// number in /proc/self/task/TID/schedstat. If the team has one thread, the wall-clock time minus the CPU time of this
// thread is also used, because this difference includes the time that a hypervisor took. A single thread never sleeps
// while it is measured, so the whole difference is a disturbance. In a larger team, a thread also waits for the other
// threads, so only Linux's count is used.
#include "run/watch.h"
#include "run/guard.h"
#include "hw/hw.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t delay_of(int file) {
  char text[64];
  long long ran, waited;
  ssize_t n = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
  if (n <= 0) return 0;
  text[n] = 0;
  return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : 0;
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
  w->delay = nw_xcalloc((size_t)threads + 1, sizeof *w->delay);
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
  free(w->delay);
  *w = (nw_watch){0};
}

void nw_watch_begin(nw_watch *w) {
  put(w, 0);
  for (int t = 0; t < w->threads; t++) w->delay[t] = delay_of(w->file[t]);
  w->cpu = nw_cpu_now();
  w->wall = nw_now();
}

double nw_watch_end(nw_watch *w) {
  double wall = nw_now() - w->wall, cpu = nw_cpu_now() - w->cpu, lost = w->threads == 1 ? wall - cpu : 0;
  for (int t = 0; t < w->threads; t++) {
    double waited = (double)(delay_of(w->file[t]) - w->delay[t]) * 1e-9;
    if (waited > lost) lost = waited;
  }
  put(w, w->threads);
  return wall > 0 && lost > 0 ? lost / wall : 0;
}
