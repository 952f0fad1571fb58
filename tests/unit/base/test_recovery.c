// Tests calls that are aborted, and requests for memory that fail.
#include "base/base.h"
#include <setjmp.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void an_abandoned_call_jumps_to_its_recovery_point(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_recovery r;
  nw_recovery_open(&r);
  if (!setjmp(r.jump)) {
    nw_arena_alloc(nw_arena_scratch(), 1 << 20);
    nw_xask(1 << 20, 1);
    nw_refuse_memory(1);
    nw_xmalloc(8);
    fail_msg("the request was not refused");
  }
  assert_int_equal(r.code, NW_EMEMORY);
  assert_non_null(strstr(r.message, "out of memory: this call needs 8 bytes"));
  nw_recovery_recover(c, &r); // the leak checker shows whether everything was freed
  nw_close(c);
}

static void an_inner_recovery_point_comes_first(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_recovery outer, inner;
  volatile int seen = 0;
  nw_recovery_open(&outer);
  if (!setjmp(outer.jump)) {
    nw_recovery_open(&inner);
    if (!setjmp(inner.jump)) nw_give_up(NW_EINTERNAL, "", "first");
    seen = 1;
    nw_give_up(inner.code, inner.hint, "%s, and on", inner.message);
  }
  assert_int_equal(seen, 1);
  assert_string_equal(outer.message, "first, and on");
  nw_recovery_recover(c, &outer);
  nw_close(c);
}

static void kept_objects_outlive_the_call(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_recovery r;
  nw_arena *volatile kept = NULL;
  char *volatile block = NULL;
  nw_recovery_open(&r);
  if (!setjmp(r.jump)) {
    nw_arena_keep(kept = nw_arena_scratch());
    block = nw_xask(8, 1);
    nw_recovery_keep();
    nw_xask(8, 1);
    nw_give_up(NW_EINTERNAL, "", "over");
  }
  nw_recovery_recover(c, &r);
  memset(nw_arena_alloc(kept, 64), 1, 64);
  block = nw_ask_more(c, "it", block, 1 << 20, 1);
  memset(block, 1, 1 << 20);
  nw_let_go(block);
  nw_arena_free(kept);
  nw_close(c);
}

static void a_broken_invariant_is_reported_as_a_bug(void **state) {
  (void)state;
  nw_recovery r;
  nw_ctx *c = nw_open();
  nw_recovery_open(&r);
  if (!setjmp(r.jump)) nw_broken("x > 0", "/somewhere/core/ir/program/edit.c", 17);
  assert_int_equal(r.code, NW_EINTERNAL);
  assert_string_equal(r.message, "a bug in Nestwright: x > 0 does not hold (edit.c, line 17)");
  assert_non_null(strstr(r.hint, "s:trace()"));
  nw_recovery_recover(c, &r);
  nw_close(c);
}

// In a test build, a broken invariant ends the process instead of raising an error.
static void a_broken_invariant_ends_a_test(void **state) {
  (void)state;
#ifdef NW_MUTANTS
  char text[64];
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (!child) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    NW_MUST(state == NULL);
    _exit(0);
  }
  close(ends[1]);
  ssize_t n = read(ends[0], text, sizeof text - 1);
  text[n < 0 ? 0 : n] = 0;
  close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  assert_non_null(strstr(text, "test_recovery.c"));
#else
  skip();
#endif
}

static void a_size_is_checked_and_the_limit_named(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  assert_null(nw_ask(c, "the list", (uint64_t)1 << 61, 16));
  assert_int_equal(nw_error(c)->code, NW_EMEMORY);
  assert_non_null(strstr(nw_error(c)->message, "no memory for the list of more than 18 EB"));
  nw_clear(c);
  assert_null(nw_ask(c, "the list", (uint64_t)1 << 46, 8));
  assert_non_null(strstr(nw_error(c)->message, "no memory for the list of 563 TB"));
  nw_clear(c);
  struct rlimit was, small;
  getrlimit(RLIMIT_AS, &was);
  small = was;
  small.rlim_cur = (rlim_t)2 << 40; // a sanitizer has already mapped more than this, so no mapping can follow
  if (setrlimit(RLIMIT_AS, &small)) skip();
  void *p = nw_ask(c, "the list", (uint64_t)3 << 40, 1);
  const char *message = p ? "it was given" : nw_error(c)->message;
  bool named = strstr(message, "ulimit -v") || strstr(message, "memory of this machine");
  setrlimit(RLIMIT_AS, &was);
  if (!named) fail_msg("%s", message);
  nw_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_abandoned_call_jumps_to_its_recovery_point),
      cmocka_unit_test(an_inner_recovery_point_comes_first),
      cmocka_unit_test(kept_objects_outlive_the_call),
      cmocka_unit_test(a_broken_invariant_is_reported_as_a_bug),
      cmocka_unit_test(a_broken_invariant_ends_a_test),
      cmocka_unit_test(a_size_is_checked_and_the_limit_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
