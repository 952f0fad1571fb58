// Compares the cache model with the reference simulator.
#include "../lower/lowering.h"
#include "nests.h"
#include "simulating.h"

static void gemm(void **state) {
  lowering *l = *state;
  drawn d = draw_open();
  draw_gemm(&d, 20, 24, 28, 8);
  nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{4096, 8}, {16384, 0}}, .line = 64}};
  assert_modelled(l->c, "gemm", &d.nest, &o);
  draw_close(&d);
}

// The number of nests can be given as an argument: ./unit_cache_test_model 100000
static int64_t cases = 250, from = 1;

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

static void random_rectangles(void **state) { by_chance(((lowering *)*state)->c, false); }
static void random_nests(void **state) { by_chance(((lowering *)*state)->c, true); }

// The arrays are accessed with different strides, so the distance between their lines, in sets, changes.
static void random_streams(void **state) {
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

static int64_t misses_of(const nw_cached *m, int level) {
  nw_sim_counts n = nw_cached_total(m, level);
  return n.read_misses + n.write_misses;
}

// These counts were published by Gysi et al., "A Fast Analytical Model of Fully Associative Caches" (PLDI 2019), and by
// Morelli and Reineke, "Warping Cache Simulation of Polyhedral Programs" (PLDI 2022). A simulation needs 15e9 accesses.
static void published_counts(void **state) {
  lowering *l = *state;
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{32768, 0}}, .line = 64}};
  drawn d = draw_open(), e = draw_open();
  draw_polybench_gemm(&d, 1000, 1100, 1200);
  draw_jacobi(&e, 500, 1300);
  nw_cached *m = nw_cached_of(l->c, &d.nest, &o), *n = nw_cached_of(l->c, &e.nest, &o);
  assert_true(nw_cached_exact(m, 0) && nw_cached_exact(n, 0));
  assert_int_equal(nw_cached_accesses(m), 5282200000);
  assert_int_equal(misses_of(m, 0), 165287500);
  assert_int_equal(misses_of(n, 0), 843702000);
  assert_true(nw_cached_touched(m) < 1000000 && nw_cached_touched(n) < 1000000);
  nw_cached_free(m);
  nw_cached_free(n);
  draw_close(&d);
  draw_close(&e);
}

// The nest sweeps 10^15 times over a row that does not fit into the cache, and accesses one line 10^18 times.
static void a_huge_number_of_iterations(void **state) {
  lowering *l = *state;
  drawn d = draw_open();
  int slot[] = {0, 1, 2};
  int a = add_array(&d, 8, 8000, 4096), b = add_array(&d, 8, 64, 4096);
  nw_affine_node *s = stmt_of(&d, 2);
  add_ref(&d, s, a, form_of(&d, 0, 3, slot, (int64_t[]){0, 0, 8}), 8, true);
  add_ref(&d, s, b, number(&d, 0), 8, false);
  d.nest.root = upto(&d, 0, 1000000000, upto(&d, 1, 1000000, upto(&d, 2, 1000, s)));
  nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{4096, 8}, {16384, 0}}, .line = 64}};
  nw_cached *m = nw_cached_of(l->c, &d.nest, &o);
  if (!m) fail_msg("%s", nw_error(l->c)->message);
  assert_true(nw_cached_exact(m, 0) && nw_cached_exact(m, 1));
  assert_int_equal(nw_cached_accesses(m), 2000000000000000000);
  assert_int_equal(misses_of(m, 1), 126);
  assert_int_equal(nw_cached_site(m, 0, 0)->written_back, 125000000000000000 - 63);
  nw_cached_free(m);
  draw_close(&d);
}

static void beyond_the_budget(void **state) {
  lowering *l = *state;
  drawn d = draw_open();
  draw_triangle(&d, 160);
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{8192, 8}}, .line = 64}, .budget = 20000, .exact = true};
  assert_null(nw_cached_of(l->c, &d.nest, &o));
  assert_int_equal(nw_error(l->c)->code, NW_ELIMIT);
  assert_has(nw_error(l->c)->message, "20000 line requests");
  nw_clear(l->c);
  o.exact = false;
  o.budget = 400000;
  nw_cached *m = nw_cached_of(l->c, &d.nest, &o);
  if (!m) fail_msg("%s", nw_error(l->c)->message);
  assert_false(nw_cached_exact(m, 0));
  nw_sim *k = simulate(l->c, &d.nest, o.share, &o.caches);
  nw_sim_counts n = nw_sim_total(k, 0);
  double ratio = (double)misses_of(m, 0) / (double)(n.read_misses + n.write_misses);
  assert_true(ratio > 0.5 && ratio < 2);
  nw_sim_free(k);
  nw_cached_free(m);
  draw_close(&d);
}

// A row that is longer than its array continues in the next array, whose own reference has other strides.
static void out_of_an_array(void **state) {
  lowering *l = *state;
  drawn d = draw_open();
  int slot[] = {0, 1};
  int a = add_array(&d, 8, 640, 64), b = add_array(&d, 8, 64000, 64);
  nw_affine_node *s = stmt_of(&d, 2);
  add_ref(&d, s, a, form_of(&d, 0, 2, slot, (int64_t[]){64, 8}), 8, false);
  add_ref(&d, s, b, form_of(&d, 0, 2, slot, (int64_t[]){0, 64}), 8, true);
  d.nest.root = upto(&d, 0, 200, upto(&d, 1, 100, s));
  nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{1024, 8}, {4096, 0}}, .line = 64}};
  assert_modelled(l->c, "astray", &d.nest, &o);
  draw_close(&d);
}

static void levels_that_receive_misses(void **state) {
  lowering *l = *state;
  drawn d = draw_open();
  draw_gemm(&d, 40, 44, 48, 4);
  nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{1024, 8}, {4096, 8}}, .line = 64, .misses = true}};
  assert_modelled(l->c, "gemm", &d.nest, &o);
  draw_close(&d);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(int argc, char **argv) {
  if (argc > 1) cases = atoll(argv[1]);
  if (argc > 2) from = atoll(argv[2]);
  const struct CMUnitTest tests[] = {T(gemm),
                                     T(random_rectangles),
                                     T(random_nests),
                                     T(random_streams),
                                     T(published_counts),
                                     T(a_huge_number_of_iterations),
                                     T(beyond_the_budget),
                                     T(out_of_an_array),
                                     T(levels_that_receive_misses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
