// Reads counters of events through perf_event_open. A virtual machine or a container often lacks some or all of the
// counters. The counts of these events are then left out, without an error.
#include "run/counters.h"
#include "run/timing/watch.h"
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __linux__
#include <linux/perf_event.h>

#define MISSES_OF(cache) ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct event {
  const char *name;
  uint32_t type;
  uint64_t config;
} events[NW_MOST_COUNTS] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"branch misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"L1 misses", PERF_TYPE_HW_CACHE, MISSES_OF(PERF_COUNT_HW_CACHE_L1D)},
    {"last-cache misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"TLB misses", PERF_TYPE_HW_CACHE, MISSES_OF(PERF_COUNT_HW_CACHE_DTLB)},
    {"page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

static int open_event(const struct event *e, int thread) {
  struct perf_event_attr a = {.size = sizeof a, .type = e->type, .config = e->config, .disabled = 1};
  a.exclude_kernel = a.exclude_hv = 1; // so that an ordinary user may count
  a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return (int)syscall(SYS_perf_event_open, &a, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void nw_counters_open(nw_counters *k, int threads) {
  int *id = nw_xcalloc((size_t)threads, sizeof *id);
  nw_team_ids(threads, id);
  *k = (nw_counters){.threads = threads, .n = NW_MOST_COUNTS * threads};
  k->file = nw_xcalloc((size_t)k->n, sizeof *k->file);
  for (int i = 0; i < k->n; i++) k->file[i] = open_event(&events[i / threads], id[i % threads]);
  free(id);
}

static void tell(const nw_counters *k, unsigned long request) {
  for (int i = 0; i < k->n; i++)
    if (k->file[i] >= 0) ioctl(k->file[i], request, 0);
}

void nw_counters_start(const nw_counters *k) {
  tell(k, PERF_EVENT_IOC_RESET);
  tell(k, PERF_EVENT_IOC_ENABLE);
}

void nw_counters_stop(const nw_counters *k) { tell(k, PERF_EVENT_IOC_DISABLE); }

// Returns the count of an event on one thread, or -1 if the event was not counted. If there are more events than
// counters, the system counts each event for a part of the time, and the count is extrapolated.
static double count_of(int file) {
  struct {
    uint64_t value, enabled, running;
  } r = {0};
  if (file < 0 || read(file, &r, sizeof r) != sizeof r || !r.running) return -1;
  return (double)r.value * ((double)r.enabled / (double)r.running);
}

int nw_counters_read(const nw_counters *k, nw_event_count *out) {
  int n = 0;
  for (int e = 0; e < NW_MOST_COUNTS; e++) {
    double sum = 0;
    bool counted = true;
    for (int t = 0; t < k->threads; t++) {
      double one = count_of(k->file[e * k->threads + t]);
      counted = counted && one >= 0;
      sum += one;
    }
    if (counted) out[n++] = (nw_event_count){events[e].name, sum};
  }
  return n;
}

void nw_counters_close(nw_counters *k) {
  for (int i = 0; i < k->n; i++)
    if (k->file[i] >= 0) close(k->file[i]);
  free(k->file);
  *k = (nw_counters){0};
}

#else

void nw_counters_open(nw_counters *k, int threads) { *k = (nw_counters){.threads = threads}; }
void nw_counters_start(const nw_counters *k) { (void)k; }
void nw_counters_stop(const nw_counters *k) { (void)k; }
int nw_counters_read(const nw_counters *k, nw_event_count *out) { return (void)k, (void)out, 0; }
void nw_counters_close(nw_counters *k) { (void)k; }

#endif
