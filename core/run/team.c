// Runs functions on a team of threads. These are the threads of OpenMP. ThreadSanitizer does not understand libgomp, so
// a build with ThreadSanitizer uses a separate pool of threads.
#include "run/guard.h"
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#ifndef __SANITIZE_THREAD__

void nw_team_run(int threads, void (*fn)(void *arg, int t), void *arg) {
#pragma omp parallel num_threads(threads)
  fn(arg, omp_get_thread_num());
}

#else

typedef struct team {
  pthread_mutex_t lock;
  pthread_cond_t begin, end;
  int threads, made, waiting_for;
  unsigned long round;
  void (*fn)(void *arg, int t);
  void *arg;
} team;
static team pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .begin = PTHREAD_COND_INITIALIZER, .end = PTHREAD_COND_INITIALIZER};

// The function of thread t of the pool. From its creation on, the thread takes part in each call of nw_team_run with
// more than t threads.
static void *work(void *number) {
  int t = (int)(intptr_t)number;
  pthread_mutex_lock(&pool.lock);
  unsigned long seen = pool.round - 1;
  for (;;) {
    while (pool.round == seen || t >= pool.threads) {
      seen = pool.round;
      pthread_cond_wait(&pool.begin, &pool.lock);
    }
    seen = pool.round;
    pthread_mutex_unlock(&pool.lock);
    pool.fn(pool.arg, t);
    pthread_mutex_lock(&pool.lock);
    if (--pool.waiting_for == 0) pthread_cond_signal(&pool.end);
  }
  return NULL;
}

// Runs fn on threads of the pool. The teams of several sessions run one after another.
void nw_team_run(int threads, void (*fn)(void *arg, int t), void *arg) {
  static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&turn);
  pthread_mutex_lock(&pool.lock);
  pool.round++;
  pool.threads = threads;
  pool.waiting_for = threads - 1;
  pool.fn = fn;
  pool.arg = arg;
  for (pthread_t id; pool.made < threads - 1; pool.made++) {
    if (pthread_create(&id, NULL, work, (void *)(intptr_t)(pool.made + 1))) abort();
    pthread_detach(id);
  }
  pthread_cond_broadcast(&pool.begin);
  pthread_mutex_unlock(&pool.lock);
  fn(arg, 0);
  pthread_mutex_lock(&pool.lock);
  while (pool.waiting_for) pthread_cond_wait(&pool.end, &pool.lock);
  pool.threads = 0;
  pthread_mutex_unlock(&pool.lock);
  pthread_mutex_unlock(&turn);
}

#endif

static void seat(void *arg, int t) {
  (void)arg;
  nw_guard_seat(t > 0);
}

static void *wait_for(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

// True if the system can create the threads. libgomp ends the process if it cannot create a thread, so the same number
// of idle threads is created first, as a test.
static bool can_make(int threads) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t *id = nw_xask((uint64_t)threads, sizeof *id);
  int made = 0;
  pthread_mutex_lock(&gate);
  while (made < threads && !pthread_create(&id[made], NULL, wait_for, &gate)) made++;
  pthread_mutex_unlock(&gate);
  for (int t = 0; t < made; t++) pthread_join(id[t], NULL);
  nw_let_go(id);
  return made == threads;
}

// New threads inherit the signal mask, so the signals that the user may send are blocked first.
bool nw_team_prepare(int threads) {
  static __thread int prepared;
  if (prepared == threads) return true;
  sigset_t old;
  nw_guard_block_user(&old);
  bool can = can_make(threads);
  if (can) nw_team_run(threads, seat, NULL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (can) prepared = threads;
  return can;
}
