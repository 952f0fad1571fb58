// Tests crashes and interrupts in native code. The call ends, and the session continues.
#include <signal.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "run/session.h"
#include <stdlib.h>

static volatile int64_t sink;
static volatile int *volatile nowhere = (volatile int *)8; // no process has a page here

static void null_write(nw_frame *f) {
  (void)f;
  *nowhere = 1;
}

static void forever(nw_frame *f) {
  (void)f;
  for (;;) sink++;
}

static void divide(nw_frame *f) {
  (void)f;
  __asm__ volatile("xor %%ecx, %%ecx; mov $1, %%eax; cltd; idiv %%ecx" ::: "eax", "ecx", "edx", "cc");
}

static void illegal(nw_frame *f) {
  (void)f;
  __asm__ volatile("ud2");
}

static int64_t dig(int64_t n) {
  volatile char big[4096];
  big[0] = (char)n;
  return n < 0 ? 0 : dig(n + 1) + big[0];
}

static void stops(nw_frame *f) {
  (void)f;
  abort();
}

static void overflow(nw_frame *f) {
  (void)f;
  sink = dig(0);
}

// ---- fences

typedef struct reach {
  int64_t by, bytes; // `by`: offset from the beginning of params[0]; `bytes`: number of bytes to touch
  bool write;
} reach;
static reach reached;

static void touches(nw_frame *f) {
  volatile char *at = (volatile char *)((char **)f->params)[0] + reached.by;
  for (int64_t i = 0; i < reached.bytes; i++) {
    if (reached.write)
      at[i] = 1;
    else
      sink = at[i];
  }
}

// Touches r.bytes bytes at offset r.by from the beginning of a tensor of 1001 f32. Returns false if an error is
// detected.
static bool reaches(nw_ctx *c, nw_fence fence, size_t align, reach r) {
  int64_t shape[] = {1001};
  nw_fences(c, fence, align);
  nw_array *a = nw_array_new(c, NW_F32, 1, shape);
  nw_fences(c, NW_FENCE_OFF, 0);
  void *params[] = {nw_array_data(a)};
  nw_frame f = {.params = params, .threads = 1};
  reached = r;
  bool good = nw_guarded_call(c, touches, &f) && nw_fences_hold(&nw_session_of(c)->mem);
  nw_array_release(a);
  nw_clear(c);
  return good;
}

static void accesses_beside_a_tensor_are_detected(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  for (int write = 0; write < 2; write++) {
    assert_true(reaches(c, NW_FENCE_AFTER, 0, (reach){0, 4004, write}));
    assert_false(reaches(c, NW_FENCE_AFTER, 0, (reach){4004, 4, write}));
    assert_true(reaches(c, NW_FENCE_BEFORE, 0, (reach){0, 4004, write}));
    assert_false(reaches(c, NW_FENCE_BEFORE, 0, (reach){-4, 4, write}));
  }
  // A write beside the tensor that does not reach the inaccessible page does not trap. The write is detected after the
  // call.
  assert_false(reaches(c, NW_FENCE_AFTER, 0, (reach){-4, 4, true}));
  assert_false(reaches(c, NW_FENCE_BEFORE, 0, (reach){4004, 4, true}));
  assert_false(reaches(c, NW_FENCE_AFTER, 64, (reach){4004, 4, true}));
  assert_false(reaches(c, NW_FENCE_AFTER, 64, (reach){4032, 4, false}));
  nw_close(c);
}

static void accesses_beyond_a_piece_are_detected(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_mem *m = &nw_session_of(c)->mem;
  int64_t stride;
  nw_fences(c, NW_FENCE_AFTER, 0);
  for (int64_t bytes = 0; bytes <= 8192; bytes += 4096) {
    char *p = nw_mem_pieces(m, (size_t)bytes, 3, &stride);
    void *params[] = {p};
    nw_frame f = {.params = params, .threads = 1};
    for (int64_t i = 0; i < 3; i++) {
      reached = (reach){i * stride, bytes, true};
      assert_true(nw_guarded_call(c, touches, &f));
      reached = (reach){i * stride + bytes, 1, false};
      assert_false(nw_guarded_call(c, touches, &f));
      nw_clear(c);
    }
    assert_true(nw_fences_hold(m));
    nw_mem_put(m, p);
  }
  assert_null(nw_mem_pieces(m, SIZE_MAX / 2, 3, &stride));
  assert_null(nw_mem_pieces(m, 1 << 30, INT64_MAX / 2, &stride));
  nw_fences(c, NW_FENCE_OFF, 0);
  assert_null(nw_mem_pieces(m, 1 << 30, INT64_MAX / 2, &stride));
  assert_null(nw_mem_pieces(m, SIZE_MAX, 1, &stride));
  nw_close(c);
}

static void fine(nw_frame *f) { ((int64_t **)f->params)[0][0]++; }

static void body_forever(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread) {
  (void)f, (void)captured, (void)begin, (void)end, (void)thread;
  for (volatile int64_t local = 0;;) local++;
}

static void body_crash_on_last(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread) {
  (void)captured;
  if (end < 1000) body_forever(f, captured, begin, end, thread);
  *nowhere = 1;
}

static void body_count(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread) {
  (void)captured;
  int64_t *per_thread = f->params[0];
  for (int64_t i = begin; i < end; i++) per_thread[thread * 8]++;
}

static void parallel_forever(nw_frame *f) { nw_parallel_for(f, body_forever, NULL, 1000, 0); }

static void parallel_crash(nw_frame *f) { nw_parallel_for(f, body_crash_on_last, NULL, 1000, 0); }

static void parallel_count(nw_frame *f) {
  for (int i = 0; i < 10; i++) nw_parallel_for(f, body_count, NULL, 1003, i % 5 * (i % 2 ? 7 : -7));
}

static void still_works(nw_ctx *c) {
  int64_t value = 0, *p = &value;
  void *params[] = {p};
  nw_frame f = {.params = params, .threads = 1};
  nw_clear(c);
  assert_true(nw_guarded_call(c, fine, &f));
  assert_int_equal(value, 1);
  int64_t counts[64] = {0};
  params[0] = counts;
  f.threads = 3;
  assert_true(nw_guarded_call(c, parallel_count, &f));
  assert_int_equal(counts[0] + counts[8] + counts[16], 10030);
}

static void crashes(nw_ctx *c, nw_entry e, int threads, const char *signal) {
  nw_frame f = {.threads = threads, .name = "gemm"};
  for (int i = 0; i < 3; i++) {
    nw_clear(c);
    assert_false(nw_guarded_call(c, e, &f));
    assert_int_equal(nw_error(c)->code, NW_ECRASH);
    assert_non_null(strstr(nw_error(c)->message, signal));
    assert_non_null(strstr(nw_error(c)->message, "gemm"));
    still_works(c);
  }
}

static void test_crashes(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  crashes(c, null_write, 1, "SEGV");
  crashes(c, divide, 1, "FPE");
  crashes(c, illegal, 1, "ILL");
  crashes(c, stops, 1, "ABRT");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  crashes(c, overflow, 1, "SEGV");
#endif
  nw_close(c);
}

#ifndef __SANITIZE_THREAD__

static void test_crash_on_one_thread(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  crashes(c, parallel_crash, 2, "SEGV");
  crashes(c, parallel_crash, 4, "SEGV");
  nw_close(c);
}

static double told_at;

static void *tell_later(void *arg) {
  (void)arg;
  usleep(30000);
  told_at = nw_now();
  while (!nw_guard_interrupt()) usleep(1000);
  return NULL;
}

static void interrupts(nw_ctx *c, nw_entry e, int threads) {
  nw_frame f = {.threads = threads, .name = "gemm"};
  pthread_t id;
  pthread_create(&id, NULL, tell_later, NULL);
  assert_false(nw_guarded_call(c, e, &f));
  double late = nw_now() - told_at;
  pthread_join(id, NULL);
  assert_int_equal(nw_error(c)->code, NW_EINTERRUPT);
  assert_true(late < 5);
  still_works(c);
}

static void test_interrupt_from_another_thread(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  for (int i = 0; i < 3; i++) {
    interrupts(c, forever, 1);
    interrupts(c, parallel_forever, 2);
    interrupts(c, parallel_forever, 5);
  }
  assert_false(nw_guard_interrupt());
  nw_close(c);
}

static void test_a_call_that_takes_too_long(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_entry entries[] = {forever, parallel_forever, parallel_forever};
  for (int i = 0; i < 6; i++) {
    nw_frame f = {.threads = i % 3 + 1, .name = "gemm"};
    assert_false(nw_guarded_call_within(c, entries[i % 3], &f, 0.01));
    assert_int_equal(nw_error(c)->code, NW_ELIMIT);
    assert_non_null(strstr(nw_error(c)->message, "gemm was stopped after 0.01 s"));
    still_works(c);
    int64_t value = 0, *p = &value;
    void *params[] = {p};
    nw_frame quick = {.params = params, .threads = 1};
    assert_true(nw_guarded_call_within(c, fine, &quick, 1e6));
    assert_int_equal(value, 1);
  }
  nw_close(c);
}

static nw_ctx *session;
static volatile sig_atomic_t handled, finished;

static void on_sigint(int sig) {
  (void)sig;
  handled++;
  nw_guard_interrupt();
  nw_interrupt(session);
  finished++;
}

static void *send_sigint(void *arg) {
  sigset_t s;
  (void)arg;
  sigfillset(&s);
  pthread_sigmask(SIG_BLOCK, &s, NULL);
  usleep(30000);
  told_at = nw_now();
  kill(getpid(), SIGINT);
  return NULL;
}

// The interrupt leaves the call by a jump. The signal handler must have returned before this jump.
static void test_interrupt_from_the_handler(void **state) {
  (void)state;
  session = nw_open();
  struct sigaction a = {.sa_handler = on_sigint}, old;
  sigaction(SIGINT, &a, &old);
  nw_entry entries[] = {forever, parallel_forever, parallel_forever};
  for (int i = 0; i < 9; i++) {
    nw_frame f = {.threads = i % 3 + 1, .name = "gemm"};
    pthread_t id;
    pthread_create(&id, NULL, send_sigint, NULL);
    assert_false(nw_guarded_call(session, entries[i % 3], &f));
    assert_true(nw_now() - told_at < 5);
    pthread_join(id, NULL);
    assert_int_equal(nw_error(session)->code, NW_EINTERRUPT);
    assert_int_equal(handled, i + 1);
    assert_int_equal(finished, i + 1);
    still_works(session);
  }
  sigaction(SIGINT, &old, NULL);
  nw_close(session);
}
#else
static void skipped(void **state) {
  (void)state;
  print_message("skipped: ThreadSanitizer delays signals until the next call that it knows\n");
  skip();
}
#define test_crash_on_one_thread skipped
#define test_interrupt_from_another_thread skipped
#define test_a_call_that_takes_too_long skipped
#define test_interrupt_from_the_handler skipped
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accesses_beside_a_tensor_are_detected),
      cmocka_unit_test(accesses_beyond_a_piece_are_detected),
      cmocka_unit_test(test_crashes),
      cmocka_unit_test(test_crash_on_one_thread),
      cmocka_unit_test(test_interrupt_from_another_thread),
      cmocka_unit_test(test_a_call_that_takes_too_long),
      cmocka_unit_test(test_interrupt_from_the_handler),
  };
  return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
