// Compares the simulation of some sets with the simulation of all sets.
#include "../lower/lowering.h"
#include "cache/sim/sampled.h"
#include <math.h>

#define LINE 64

static const nw_sim_opts caches = {.nlevels = 3,
                                   .level = {{64 * 2 * LINE, 2}, {128 * 4 * LINE, 4}, {1024 * LINE, 0}},
                                   .line = LINE,
                                   .conflicts = true};

typedef struct both {
  nw_sim *all;
  nw_sampled *some;
} both;

static both begin(lowering *l, const nw_sim_opts *o) {
  return (both){nw_sim_new(l->c, o, 0, 1 << 20, 2), nw_sampled_new(l->c, o, 0, 1 << 20, 2)};
}

static void end(both *b) {
  nw_sim_free(b->all);
  nw_sampled_free(b->some);
}

static void feed(both *b, uint64_t address, int bytes, bool write) {
  nw_ref r = {.address = address, .bytes = (uint16_t)bytes, .write = write, .site = write};
  nw_sim_feed(b->all, &r, 1, NULL);
  nw_sampled_feed(b->some, &r, 1);
}

static int64_t missed(const nw_sim_counts *n) { return n->read_misses + n->write_misses; }

// Adjacent lines are accessed repeatedly, so every set behaves in the same way.
static void sets_that_behave_alike(void **state) {
  for (int misses = 0; misses < 2; misses++) {
    nw_sim_opts o = caches;
    o.misses = misses;
    both b = begin(*state, &o);
    for (int round = 0; round < 3; round++)
      for (uint64_t line = 0; line < 4096; line++) feed(&b, line * LINE, 8, line % 2);
    for (int level = 0; level < o.nlevels; level++)
      for (int site = 0; site < 2; site++) {
        nw_sim_counts want = *nw_sim_site(b.all, level, site), got = nw_sampled_site(b.some, level, site);
        assert_memory_equal(&want, &got, sizeof want);
        assert_true(nw_sampled_error(b.some, level) == 0);
      }
    end(&b);
  }
}

// The accesses are random, and some of them cross into another line. The error of the result must be at most the stated
// error.
static void sets_that_differ(void **state) {
  both b = begin(*state, &caches);
  uint64_t chance = 7;
  for (int i = 0; i < 60000; i++) {
    chance = nw_hash_mix(chance + 1, 0x9e3779b97f4a7c15u);
    uint64_t far = chance & 1 ? 1 << 19 : 1 << 14;
    feed(&b, (chance >> 20) % far, 16, chance >> 60 > 12);
  }
  for (int level = 0; level < caches.nlevels; level++) {
    int64_t want = 0, got = 0;
    for (int site = 0; site < 2; site++) {
      nw_sim_counts all = *nw_sim_site(b.all, level, site), some = nw_sampled_site(b.some, level, site);
      if (!level) assert_int_equal(all.asked, some.asked);
      assert_int_equal(some.asked, some.outcome[0] + some.outcome[1] + some.outcome[2] + some.outcome[3]);
      want += missed(&all), got += missed(&some);
    }
    double error = nw_sampled_error(b.some, level);
    assert_true(error > 0 && error < 0.1);
    assert_true(want > 1000 && fabs((double)(got - want)) <= error * (double)want);
  }
  end(&b);
}

static void levels_with_too_few_sets(void **state) {
  (void)state;
  assert_true(nw_sampled_can(&caches));
  nw_sim_opts o = caches;
  o.level[0] = (nw_sim_level){32 * 2 * LINE, 2};
  assert_false(nw_sampled_can(&o));
  o.level[0] = (nw_sim_level){32 * LINE, 0};
  assert_false(nw_sampled_can(&o));
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {T(sets_that_behave_alike), T(sets_that_differ), T(levels_with_too_few_sets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
