// A library of functions for the worker to run. Most of the functions misbehave.
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

void add(const int64_t *a, int64_t *out, int64_t n, int64_t more);
void crash(void);
void stop(void);
void leave(void);
void hang(void);
void killed(void);
void deaf(void);
void grandchild(void);
void beyond(int64_t *out, int64_t at);
void many(int64_t *out, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h);

void add(const int64_t *a, int64_t *out, int64_t n, int64_t more) {
  for (int64_t i = 0; i < n; i++) out[i] = a[i] + more;
}

void crash(void) { *(volatile int *)8 = 1; }

void stop(void) { abort(); }

void leave(void) { _exit(7); }

void hang(void) {
  for (volatile int i = 0;; i++) {}
}

void killed(void) { kill(getpid(), SIGKILL); }

void deaf(void) {
  close(3);
  hang();
}

void grandchild(void) {
  if (!fork()) pause();
  hang();
}

void beyond(int64_t *out, int64_t at) { out[at] = 1; }

void many(int64_t *out, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h) {
  *out = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
