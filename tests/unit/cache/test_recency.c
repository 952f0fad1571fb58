// Compares stack distances with their definition, and with a cache.
#include "../lower/lowering.h"
#include "access/view/recency.h"
#include "cache/sim/sim.h"

enum { MOST = 20000 };

// Counts the different lines that were requested since the last request for `line`.
static int64_t counted(const uint32_t *asked, int n, uint32_t line, uint32_t lines) {
  uint8_t *seen = nw_xcalloc(lines + 1, 1);
  int64_t others = 0;
  int i = n - 1;
  for (; i >= 0 && asked[i] != line; i--) others += !seen[asked[i]]++;
  free(seen);
  return i < 0 ? -1 : others;
}

static uint32_t next(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

static void as_defined(void **state) {
  (void)state;
  uint32_t *asked = nw_xmalloc(MOST * sizeof *asked);
  for (uint32_t lines = 1; lines < 2000; lines = lines * 7 + 1) {
    nw_recency r;
    uint64_t seed = lines;
    nw_recency_init(&r, lines);
    for (int n = 0; n < MOST; n++) {
      uint32_t spread = n / 1000 % 2 ? lines : lines / 8 + 1;
      asked[n] = next(&seed) % spread + 1;
      int64_t got = nw_recency_ask(&r, asked[n]);
      if (n % 37 == 0) assert_int_equal(got, counted(asked, n, asked[n], lines));
    }
    nw_recency_free(&r);
  }
  free(asked);
}

static void a_ring(void **state) {
  (void)state;
  nw_recency r;
  nw_recency_init(&r, 5);
  for (int n = 0; n < 40; n++) assert_int_equal(nw_recency_ask(&r, (uint32_t)n % 5 + 1), n < 5 ? -1 : 4);
  assert_int_equal(nw_recency_ask(&r, 5), 0);
  nw_recency_free(&r);
}

// An access hits in a fully associative cache if its stack distance is less than the number of lines of the cache.
static void distances_agree_with_a_cache(void **state) {
  lowering *l = *state;
  for (int room = 1; room < 200; room = room * 3 + 1) {
    nw_sim_opts o = {.nlevels = 1, .level = {{64 * room, 0}}, .line = 64};
    nw_sim *k = nw_sim_new(l->c, &o, 0, 64 * 300, 1);
    nw_recency r;
    uint64_t seed = 7;
    nw_recency_init(&r, 300);
    for (int n = 0; n < MOST; n++) {
      uint32_t line = next(&seed) % (next(&seed) % 300 + 1);
      uint8_t out;
      nw_sim_feed(k, &(nw_ref){.address = line * 64, .bytes = 1}, 1, &out);
      int64_t distance = nw_recency_ask(&r, line + 1);
      assert_int_equal(out == NW_HIT, distance >= 0 && distance < room);
    }
    nw_recency_free(&r);
    nw_sim_free(k);
  }
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)

int main(void) {
  const struct CMUnitTest tests[] = {T(as_defined), T(a_ring), T(distances_agree_with_a_cache)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
