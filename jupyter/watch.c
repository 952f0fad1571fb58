// Requests that take their time: a thread tells that one is worked on and keeps it for the history, which happens after the reply
// of a quick one, and shows what a cell prints while it runs, by emptying the buffer of stdout. It is a thread of its own because
// the write waits while the pipe is full. It sleeps on a timer: to wake it for each request would take longer than `1+1`.
#include "kernel.h"
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

// The first comes after the next tick of the system: a nearer one has to be set up in the processor, which takes long.
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
