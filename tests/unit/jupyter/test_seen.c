// Tests the set of received messages: a message that the set remembers must be reported as seen before.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "jupyter/seen.h"

// Returns the n-th of a sequence of pseudo-random marks (splitmix64).
static uint64_t mark(uint64_t n) {
  n *= 0x9e3779b97f4a7c15u;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
  n = (n ^ n >> 27) * 0x94d049bb133111ebu;
  return n ^ n >> 31;
}

static void counts_once(void **state) {
  (void)state;
  nwj_seen *s = nwj_seen_new();
  for (uint64_t i = 0; i < 1000; i++) assert_false(nwj_seen_before(s, mark(i)));
  for (uint64_t i = 0; i < 1000; i++) assert_true(nwj_seen_before(s, mark(i)));
  nwj_seen_free(s);
}

static void remembers_the_latest_marks(void **state) {
  (void)state;
  nwj_seen *s = nwj_seen_new();
  for (uint64_t i = 0; i < 5 * NWJ_REMEMBERED + 77; i++) {
    assert_false(nwj_seen_before(s, mark(i)));
    assert_true(i < NWJ_REMEMBERED || nwj_seen_before(s, mark(i - NWJ_REMEMBERED + 1)));
  }
  assert_false(nwj_seen_before(s, mark(0))); // forgotten, because the table is limited
  nwj_seen_free(s);
}

// Tries marks that all hash to the same slots, and a mark that looks like a free slot.
static void takes_any_mark(void **state) {
  (void)state;
  nwj_seen *s = nwj_seen_new();
  assert_false(nwj_seen_before(s, 0));
  assert_true(nwj_seen_before(s, 0));
  for (uint64_t i = 1; i < 2000; i++) assert_false(nwj_seen_before(s, i << 40 | (UINT64_MAX >> 40)));
  for (uint64_t i = 1; i < 2000; i++) assert_true(nwj_seen_before(s, i << 40 | (UINT64_MAX >> 40)));
  nwj_seen_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_once),
      cmocka_unit_test(remembers_the_latest_marks),
      cmocka_unit_test(takes_any_mark),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
