// Handles slow requests. If a request is slow, the thread `watch` publishes the busy status and writes the history
// before the reply. If a request is quick, the main thread does both after the reply. The thread `watch` also flushes
// the buffer of stdout, so that output is shown while a cell runs. A separate thread must do this, since a write blocks
// while the pipe is full. The thread sleeps on a timer, since waking it for each request would take longer than
// executing `1+1`.
#include "kernel.h"
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

// FIRST_NS is later than the next tick of the system's clock, because setting a timer to an earlier time takes longer.
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
