// The cache model against the reference simulator.
#include "../lower/lowering.h"
#include "nests.h"

static void gemm(void **state) {
  lowering *l = *state;
  drawn d = draw_open();
  draw_gemm(&d, 20, 24, 28, 8);
  nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{4096, 8}, {16384, 0}}, .line = 64}};
  assert_modelled(l->c, "gemm", &d.nest, &o);
  draw_close(&d);
}

// How many nests it is told apart by is an argument: ./unit_cost_test_model 100000
static int64_t cases = 400, from = 1;

static void by_chance(nw_ctx *c, bool wild) {
  for (int64_t i = from; i < from + cases; i++) {
    drawn d = draw_open();
    d.chance = (uint64_t)i * 2 + wild;
    draw_nest(&d, wild);
    nw_cache_opts o = draw_caches(&d);
    char name[64];
    snprintf(name, sizeof name, "%s nest %lld", wild ? "wild" : "plain", (long long)i);
    assert_modelled(c, name, &d.nest, &o);
    draw_close(&d);
  }
}

static void rectangles_by_chance(void **state) { by_chance(((lowering *)*state)->c, false); }
static void nests_by_chance(void **state) { by_chance(((lowering *)*state)->c, true); }

// Rounds whose arrays drift apart within the sets.
static void streams_by_chance(void **state) {
  for (int64_t i = from; i < from + cases; i++) {
    drawn d = draw_open();
    d.chance = (uint64_t)i;
    draw_stream(&d);
    nw_cache_opts o = draw_small_cache(&d);
    char name[64];
    snprintf(name, sizeof name, "stream %lld", (long long)i);
    assert_modelled(((lowering *)*state)->c, name, &d.nest, &o);
    draw_close(&d);
  }
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(int argc, char **argv) {
  if (argc > 1) cases = atoll(argv[1]);
  if (argc > 2) from = atoll(argv[2]);
  const struct CMUnitTest tests[] = {T(gemm), T(rectangles_by_chance), T(nests_by_chance), T(streams_by_chance)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
