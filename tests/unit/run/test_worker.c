// Tests the worker process: jobs that succeed, and jobs that crash, exit, hang or are interrupted.
#include <signal.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "run/worker/worker.h"

typedef struct fixture {
  nw_ctx *c;
  nw_shared *memory;
  nw_segment segment[2];
} fixture;

static fixture *begin(void) {
  static fixture f;
  f.c = nw_open();
  size_t page = nw_page(1);
  f.memory = nw_shared_new(f.c, 2 * page);
  assert_non_null(f.memory);
  f.segment[0] = (nw_segment){"A", 0, page, false};
  f.segment[1] = (nw_segment){"C", page, page, true};
  return &f;
}

static void end(fixture *f) {
  nw_shared_free(f->memory);
  nw_close(f->c);
}

static int64_t *at(const fixture *f, int segment) { return (int64_t *)(f->memory->data + f->segment[segment].offset); }

static bool run(fixture *f, const char *symbol, double timeout, int n, const nw_word *word) {
  nw_job j = {.library = NW_TEST_JOBS, .symbol = symbol, .nwords = n, .word = word, .timeout = timeout};
  j.nsegments = 2;
  j.segment = f->segment;
  j.memory = f->memory;
  return nw_worker_run(f->c, &j);
}

static void fails(fixture *f, nw_code code, const char *says, const char *symbol, double timeout, int n,
                  const nw_word *word) {
  assert_false(run(f, symbol, timeout, n, word));
  const nw_diag *d = nw_error(f->c);
  assert_non_null(d);
  if (!strstr(d->message, says)) print_error("%s\n", d->message);
  assert_non_null(strstr(d->message, says));
  assert_int_equal(d->code, code);
  nw_clear(f->c);
}

static bool add_works(fixture *f) {
  for (int i = 0; i < 10; i++) at(f, 0)[i] = i, at(f, 1)[i] = -1;
  bool good = run(f, "add", 5, 4, (nw_word[]){{0, 0}, {1, 8}, {-1, 5}, {-1, 100}});
  return good && at(f, 1)[0] == -1 && at(f, 1)[1] == 100 && at(f, 1)[5] == 104 && at(f, 1)[6] == -1;
}

static void runs_jobs(void **state) {
  (void)state;
  fixture *f = begin();
  assert_true(add_works(f));
  int pid = nw_worker_pid(f->c);
  assert_true(add_works(f));
  assert_int_equal(nw_worker_pid(f->c), pid);
  assert_true(run(f, "many", 5, 9,
                  (nw_word[]){{1, 0}, {-1, 1}, {-1, 2}, {-1, 3}, {-1, 4}, {-1, 5}, {-1, 6}, {-1, 7}, {-1, 8}}));
  assert_int_equal(at(f, 1)[0], 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64);
  end(f);
}

static void crashes_are_errors(void **state) {
  (void)state;
  fixture *f = begin();
  int64_t words = (int64_t)f->segment[1].bytes / 8;
  fails(f, NW_ECRASH, "crashed: Segmentation fault", "crash", 5, 0, NULL);
  assert_true(add_works(f));
  fails(f, NW_ECRASH, "crashed: Aborted", "stop", 5, 0, NULL);
  fails(f, NW_ECRASH, "ended its process, with status 7", "leave", 5, 0, NULL);
  fails(f, NW_ECRASH, "8 bytes before C", "beyond", 5, 2, (nw_word[]){{1, 0}, {-1, -1}});
  fails(f, NW_ECRASH, "0 bytes after the end of C", "beyond", 5, 2, (nw_word[]){{1, 0}, {-1, words}});
  fails(f, NW_ECRASH, "writes A, which it may only read", "beyond", 5, 2, (nw_word[]){{0, 0}, {-1, 3}});
  assert_true(add_works(f));
  end(f);
}

static void missing_functions_and_libraries_are_reported(void **state) {
  (void)state;
  fixture *f = begin();
  fails(f, NW_EINVAL, "has no function nothing", "nothing", 5, 0, NULL);
  nw_job j = {.library = "/no/such.so", .symbol = "f", .memory = f->memory, .timeout = 5};
  assert_false(nw_worker_run(f->c, &j));
  assert_non_null(strstr(nw_error(f->c)->message, "cannot load /no/such.so"));
  nw_clear(f->c);
  assert_true(add_works(f));
  end(f);
}

static void hangs_are_killed(void **state) {
  (void)state;
  fixture *f = begin();
  double start = nw_now();
  fails(f, NW_ECRASH, "did not end within 0.3 seconds", "hang", 0.3, 0, NULL);
  fails(f, NW_ECRASH, "did not end within 0.3 seconds", "grandchild", 0.3, 0, NULL);
  assert_true(nw_now() - start < 5);
  assert_true(add_works(f));
  end(f);
}

static void *press(void *c) {
  usleep(200000);
  nw_interrupt(c);
  return NULL;
}

static void interrupt_ends_a_job(void **state) {
  (void)state;
  fixture *f = begin();
  pthread_t t;
  pthread_create(&t, NULL, press, f->c);
  double start = nw_now();
  fails(f, NW_EINTERRUPT, "interrupted", "hang", 60, 0, NULL);
  assert_true(nw_now() - start < 5);
  pthread_join(t, NULL);
  nw_clear(f->c);
  assert_true(add_works(f));
  end(f);
}

static void a_dead_worker_is_replaced(void **state) {
  (void)state;
  fixture *f = begin();
  assert_true(add_works(f));
  int pid = nw_worker_pid(f->c);
  kill(pid, SIGKILL);
  siginfo_t info;
  waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
  assert_true(add_works(f));
  assert_int_not_equal(nw_worker_pid(f->c), pid);
  end(f);
}

static void *kill_it(void *pid) {
  usleep(200000);
  kill(*(pid_t *)pid, SIGKILL);
  return NULL;
}

static void a_worker_killed_during_a_job_is_reported(void **state) {
  (void)state;
  fixture *f = begin();
  pthread_t t;
  assert_true(add_works(f));
  pid_t pid = nw_worker_pid(f->c);
  pthread_create(&t, NULL, kill_it, &pid);
  double start = nw_now();
  fails(f, NW_EIO, "the worker was killed while hang was running (signal 9", "hang", 60, 0, NULL);
  assert_true(nw_now() - start < 5);
  pthread_join(t, NULL);
  assert_true(add_works(f));
  fails(f, NW_EIO, "the worker was killed while killed was running (signal 9", "killed", 5, 0, NULL);
  fails(f, NW_ECRASH, "deaf closed the worker's connection", "deaf", 5, 0, NULL);
  assert_true(add_works(f));
  end(f);
}

// Runs scripts in place of a worker. The first script kills itself, the second exits, and the third gives a wrong
// answer.
static void a_worker_that_does_not_start_is_reported(void **state) {
  (void)state;
  const char *const body[] = {"kill -9 $$", "exit 3", "echo nonsense >&3; sleep 60"};
  const char *const says[] = {"did not start: it was ended by signal 9", "did not start: it ended with status 3",
                              "did not start: it is another program"};
  const char *before = getenv("NESTWRIGHT_WORKER");
  char path[] = P_tmpdir "/nestwright-worker-XXXXXX";
  close(mkstemp(path));
  fixture *f = begin();
  for (int i = 0; i < 3; i++) {
    FILE *script = fopen(path, "w");
    fprintf(script, "#!/bin/sh\n%s\n", body[i]);
    fclose(script);
    chmod(path, 0700);
    setenv("NESTWRIGHT_WORKER", path, 1);
    for (int again = 0; again < 2; again++) fails(f, NW_EIO, says[i], "add", 5, 0, NULL);
    if (before)
      setenv("NESTWRIGHT_WORKER", before, 1);
    else
      unsetenv("NESTWRIGHT_WORKER");
    assert_true(add_works(f));
    nw_worker_close(f->c);
  }
  unlink(path);
  end(f);
}

static int open_files(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

static void nothing_is_left_behind(void **state) {
  (void)state;
  int files = open_files();
  for (int i = 0; i < 5; i++) {
    fixture *f = begin();
    assert_true(add_works(f));
    fails(f, NW_ECRASH, "crashed", "crash", 5, 0, NULL);
    fails(f, NW_ECRASH, "did not end", "hang", 0.1, 0, NULL);
    fails(f, NW_EIO, "was killed", "killed", 5, 0, NULL);
    assert_true(add_works(f));
    end(f);
  }
  assert_int_equal(open_files(), files);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_jobs),
      cmocka_unit_test(crashes_are_errors),
      cmocka_unit_test(missing_functions_and_libraries_are_reported),
      cmocka_unit_test(hangs_are_killed),
      cmocka_unit_test(interrupt_ends_a_job),
      cmocka_unit_test(a_dead_worker_is_replaced),
      cmocka_unit_test(a_worker_killed_during_a_job_is_reported),
      cmocka_unit_test(a_worker_that_does_not_start_is_reported),
      cmocka_unit_test(nothing_is_left_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
