// Handles slow requests, in the thread `watch`. For a slow request, this thread publishes the busy status and writes
// the history before the reply. For a quick request, the main thread does both after the reply. The thread `watch` also
// flushes the buffer of stdout, so that output is shown while a cell runs. A separate thread does this, because a flush
// blocks while the pipe is full. The thread sleeps on a timer, because waking it for each request would take longer
// than executing `1+1`.
#include "kernel.h"
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

// A request is slow if it takes longer than FIRST_NS. While it runs, the thread wakes up every EVERY_NS. FIRST_NS is
// longer than a tick of the system's clock, because it takes longer to set a timer to a time before the next tick.
enum { FIRST_NS = 5000000, EVERY_NS = 60000000 };

static int timer = -1;

static void *run(void *arg) {
  nwj *k = arg;
  uint64_t times;
  while (read(timer, &times, sizeof times) > 0 && !k->leaving) {
    nwj_history_write();
    nwj_publish_held();
    fflush(stdout);
  }
  return NULL;
}

void nwj_watch(bool on) {
  struct itimerspec when = {0};
  if (on) when = (struct itimerspec){.it_value.tv_nsec = FIRST_NS, .it_interval.tv_nsec = EVERY_NS};
  timerfd_settime(timer, 0, &when, NULL);
}

bool nwj_watch_start(nwj *k) {
  pthread_t thread;
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  return timer >= 0 && pthread_create(&thread, NULL, run, k) == 0 && pthread_detach(thread) == 0;
}
