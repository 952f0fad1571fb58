// The cache model against the reference simulator.
#include "../lower/lowering.h"
#include "nests.h"

static void gemm(void **state) {
  lowering *l = *state;
  drawn d = draw_open();
  draw_gemm(&d, 20, 24, 28, 8);
  nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{4096, 8}, {16384, 0}}, .line = 64}};
  assert_modelled(l->c, &d.nest, &o);
  draw_close(&d);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {T(gemm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
