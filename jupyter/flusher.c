// What a cell prints is shown while it runs: a thread empties the buffer of stdout now and then. It is a thread of its own
// because the write waits while the pipe is full.
#include "kernel.h"
#include <stdio.h>
#include <unistd.h>

enum { EVERY_US = 60000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *run(void *arg) {
  nwj *k = arg;
  for (;;) {
    pthread_mutex_lock(&lock);
    while (!k->busy && !k->leaving) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (k->leaving) return NULL;
    usleep(EVERY_US);
    fflush(stdout);
  }
}

void nwj_busy(nwj *k, bool busy) {
  pthread_mutex_lock(&lock);
  k->busy = busy;
  k->hurry = !busy;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

bool nwj_flusher_start(nwj *k) {
  pthread_t thread;
  return pthread_create(&thread, NULL, run, k) == 0 && pthread_detach(thread) == 0;
}
