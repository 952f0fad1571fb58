// Compares the simulator with results that were computed by hand, and with a simulation by the definition of LRU.
#include "../lower/lowering.h"
#include "cache/sim/sim.h"

#define LINE 64

typedef struct stream {
  nw_ref ref[4096];
  int n;
} stream;

static void add(stream *s, uint64_t line, bool write) {
  s->ref[s->n++] = (nw_ref){.address = line * LINE, .bytes = 4, .write = write};
}

static nw_sim_counts fed(lowering *l, const nw_sim_opts *o, const stream *s, uint8_t *out, int level) {
  nw_sim *k = nw_sim_new(l->c, o, 0, 1 << 20, 1);
  if (!k) fail_msg("%s", nw_error(l->c)->message);
  nw_sim_feed(k, s->ref, s->n, out);
  nw_sim_counts n = nw_sim_total(k, level);
  nw_sim_free(k);
  return n;
}

static nw_sim_opts one(int64_t lines, int ways) {
  return (nw_sim_opts){.nlevels = 1, .level = {{lines * LINE, ways}}, .line = LINE, .conflicts = true};
}

// Four lines are accessed in turn, and the cache holds three lines. Under LRU, every access misses.
static void a_ring_larger_than_the_cache(void **state) {
  stream s = {0};
  for (int i = 0; i < 12; i++) add(&s, (uint64_t)i % 4, false);
  nw_sim_opts o = one(3, 0);
  nw_sim_counts n = fed(*state, &o, &s, NULL, 0);
  assert_int_equal(n.asked, 12);
  assert_int_equal(n.outcome[NW_COLD], 4);
  assert_int_equal(n.outcome[NW_CAPACITY], 8);
  assert_int_equal(n.outcome[NW_HIT], 0);
  o = one(4, 0);
  assert_int_equal(fed(*state, &o, &s, NULL, 0).outcome[NW_HIT], 8);
}

// Lines 0, 4 and 8 are in the same set of a cache of 8 lines, which has 4 sets and 2 ways.
static void lines_that_share_a_set(void **state) {
  stream s = {0};
  uint8_t out[16];
  for (int i = 0; i < 9; i++) add(&s, 4 * ((uint64_t)i % 3), false);
  nw_sim_opts o = one(8, 2);
  nw_sim_counts n = fed(*state, &o, &s, out, 0);
  assert_int_equal(n.outcome[NW_COLD], 3);
  assert_int_equal(n.outcome[NW_CONFLICT], 6);
  for (int i = 0; i < 9; i++) assert_int_equal(out[i], i < 3 ? NW_COLD : NW_CONFLICT);
}

static void evicted_dirty_lines_are_written_back(void **state) {
  stream s = {0};
  add(&s, 0, true), add(&s, 1, false), add(&s, 2, false), add(&s, 3, true), add(&s, 3, false), add(&s, 4, false);
  nw_sim_opts o = one(2, 0);
  nw_sim_counts n = fed(*state, &o, &s, NULL, 0);
  assert_int_equal(n.written_back, 1); // line 0; line 3 is still in the cache
  assert_int_equal(n.write_misses, 2);
  assert_int_equal(n.read_misses, 3);
  assert_int_equal(n.outcome[NW_HIT], 1);
}

// An access that covers two lines requests both lines.
static void a_line_counts_once_for_each_access(void **state) {
  stream s = {.n = 2, .ref = {{.address = 60, .bytes = 8}, {.address = 0, .bytes = 64}}};
  nw_sim_opts o = one(4, 0);
  nw_sim_counts n = fed(*state, &o, &s, NULL, 0);
  assert_int_equal(n.asked, 3);
  assert_int_equal(n.outcome[NW_COLD], 2);
}

// The second level gets only the misses of the first. It gets a written line only when the first level evicts the line.
static void a_second_level(void **state) {
  stream s = {0};
  add(&s, 0, true), add(&s, 0, false), add(&s, 1, false), add(&s, 2, false), add(&s, 0, false);
  nw_sim_opts o = {.nlevels = 2, .level = {{LINE, 0}, {2 * LINE, 0}}, .line = LINE, .misses = true};
  assert_int_equal(fed(*state, &o, &s, NULL, 1).asked, 4);
  assert_int_equal(fed(*state, &o, &s, NULL, 1).outcome[NW_HIT], 0);
  assert_int_equal(fed(*state, &o, &s, NULL, 1).written_back, 1);
  o.misses = false;
  assert_int_equal(fed(*state, &o, &s, NULL, 1).asked, 5);
  assert_int_equal(fed(*state, &o, &s, NULL, 1).outcome[NW_HIT], 1);
}

// ---- simulation by definition
//
// A request for a line hits if fewer than `ways` other lines of the set were requested since the last request for the
// line.

static int others_since(const stream *s, int i, uint64_t sets) {
  uint64_t line = s->ref[i].address / LINE;
  int n = 0;
  for (int k = i - 1; k >= 0; k--) {
    uint64_t other = s->ref[k].address / LINE;
    if (other == line) return n;
    bool again = other % sets != line % sets;
    for (int j = k + 1; j < i && !again; j++) again = s->ref[j].address / LINE == other;
    n += !again;
  }
  return -1;
}

static void by_definition(void **state) {
  uint64_t chance = 7;
  for (int round = 0; round < 40; round++) {
    static stream s;
    static uint8_t out[4096];
    s.n = 0;
    for (int i = 0; i < 300; i++) {
      chance = nw_hash_mix(chance + 1, 0x9e3779b97f4a7c15u);
      add(&s, 1 + (chance >> 33) % (8 + (uint64_t)round), chance & 1);
    }
    int ways = 1 + round % 4, sets = 1 + round % 5;
    nw_sim_opts o = one(ways * sets, sets == 1 ? 0 : ways);
    fed(*state, &o, &s, out, 0);
    for (int i = 0; i < s.n; i++) {
      int all = others_since(&s, i, 1), near = others_since(&s, i, (uint64_t)sets);
      nw_outcome want = near < 0 ? NW_COLD : near < ways ? NW_HIT : all < ways * sets ? NW_CONFLICT : NW_CAPACITY;
      assert_int_equal(out[i], want);
    }
  }
}

static void refuses(lowering *l, nw_sim_opts o, const char *why) {
  assert_null(nw_sim_new(l->c, &o, 0, 1 << 20, 1));
  assert_has(nw_error(l->c)->message, why);
  nw_clear(l->c);
}

static void invalid_cache_sizes_are_refused(void **state) {
  refuses(*state, (nw_sim_opts){.nlevels = 1, .level = {{100, 2}}, .line = 64}, "not a multiple of the line");
  refuses(*state, (nw_sim_opts){.nlevels = 1, .level = {{640, 3}}, .line = 64}, "not a multiple of its 3 ways");
  refuses(*state, (nw_sim_opts){.nlevels = 1, .level = {{640, 2}}, .line = 60}, "power of two");
  refuses(*state, (nw_sim_opts){.nlevels = 0, .line = 64}, "1 to 4 levels");
  refuses(*state, (nw_sim_opts){.nlevels = 1, .level = {{0, 2}}, .line = 64}, "not a multiple of the line");
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {
      T(a_ring_larger_than_the_cache),       T(lines_that_share_a_set), T(evicted_dirty_lines_are_written_back),
      T(a_line_counts_once_for_each_access), T(a_second_level),         T(by_definition),
      T(invalid_cache_sizes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
