#include "hw/hw.h"
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

static void the_host_is_plausible(void **state) {
  (void)state;
  const nw_machine_info *m = nw_host();
  assert_ptr_equal(m, nw_host());
  assert_true(m->cores >= 1 && m->cores < 100000);
  assert_true(m->vector_bytes == 16 || m->vector_bytes == 32 || m->vector_bytes == 64);
  assert_true(m->vector_registers >= 16);
  assert_true(m->memory_bytes > 1 << 20);
  assert_true(m->available_bytes > 0 && m->available_bytes <= m->memory_bytes);
  assert_true(strlen(m->model) > 0 && strlen(m->cpu) > 0);
  if (nw_has(m->features, NW_FEATURE_AVX512VL)) assert_int_equal(m->vector_bytes, 64);
  print_message("%s (%s), %d cpus, %d-byte vectors\n", m->model, m->cpu, m->cores, m->vector_bytes);
}

static void caches_grow_outwards(void **state) {
  (void)state;
  const nw_machine_info *m = nw_host();
  assert_true(m->ncaches >= 1 && m->ncaches <= NW_COUNT(m->cache));
  for (int i = 0; i < m->ncaches; i++) {
    const nw_cache *c = &m->cache[i];
    print_message("L%d %lld KiB, %d ways, line %d, shared by %d\n", c->level, (long long)c->bytes >> 10, c->ways,
                  c->line, c->shared_by);
    assert_true(c->bytes >= 1024 && c->line >= 16 && c->shared_by >= 1);
    if (i > 0) assert_true(c->level > m->cache[i - 1].level);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_host_is_plausible),
      cmocka_unit_test(caches_grow_outwards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
