// Tests the properties of a target, which follow from its machine record.
#include "target/target.h"
#include <setjmp.h>
#include <cmocka.h>

static nw_machine record(nw_machine_kind kind) {
  nw_machine m;
  nw_machine_limits(&m);
  m.kind = (int)kind;
  m.vector_bytes = 32;
  m.vector_registers = 16;
  m.memory.bytes = 1 << 30;
  return m;
}

static nw_target *made(nw_ctx *c, const nw_machine *m) {
  nw_target *t = nw_target_new(c, m);
  assert_non_null(t);
  return t;
}

static void features_are_those_of_the_machine(void **state) {
  nw_machine m = record(NW_MACHINE_CPU);
  static const struct {
    nw_isa isa;
    int64_t bytes;
    nw_features has, lacks;
  } rows[] = {
      {NW_ISA_X86_64, 16, NW_FEATURE_SSE4_2, NW_FEATURE_AVX},
      {NW_ISA_X86_64, 32, NW_FEATURE_AVX2 | NW_FEATURE_FMA, NW_FEATURE_AVX512F},
      {NW_ISA_X86_64, 64, NW_FEATURE_AVX512F | NW_FEATURE_AVX512DQ, NW_FEATURE_NEON},
      {NW_ISA_AARCH64, 64, NW_FEATURE_NEON, NW_FEATURE_SSE4_2},
  };
  for (int i = 0; i < NW_COUNT(rows); i++) {
    m.isa = (int)rows[i].isa;
    m.vector_bytes = rows[i].bytes;
    nw_target *t = made(*state, &m);
    assert_true(nw_has(t->features, rows[i].has));
    assert_false(nw_has(t->features, rows[i].lacks));
    assert_int_equal(nw_features_vector_bytes(t->features), rows[i].isa == NW_ISA_AARCH64 ? 16 : rows[i].bytes);
    assert_false(nw_target_here(t)); // the record does not say that it describes this host
    nw_target_release(t);
  }
}

static void limits_come_from_the_record(void **state) {
  nw_machine m = record(NW_MACHINE_CPU);
  m.loop_lanes = 24;
  m.stack_bytes = 4096;
  nw_target *t = made(*state, &m);
  assert_int_equal(t->limit.lanes, 24);
  assert_int_equal(nw_target_scope(t, "local")->bytes, 4096);
  assert_int_equal(nw_target_scope(t, "shared")->bytes, 48 * 1024); // the default of a GPU
  assert_int_equal(t->limit.launch.threads, 1024);
  assert_int_equal(t->limit.launch.extent[5], 64);
  assert_null(nw_target_scope(t, "register"));
  nw_target_release(t);
}

static void a_gpu_has_its_own_limits(void **state) {
  nw_machine m = record(NW_MACHINE_GPU);
  m.gpu.limit = (nw_launch_limit){
      .threads = 512, .extent = {1, 2, 3, 4, 5, 6}, .shared_bytes = 1000, .warp = 16, .registers = 128};
  nw_target *t = made(*state, &m);
  assert_int_equal(t->limit.launch.threads, 512);
  assert_int_equal(nw_target_scope(t, "shared")->bytes, 1000);
  assert_int_equal(nw_target_scope(t, "register")->bytes, 512);
  assert_int_equal(nw_target_scope(t, "warp")->bytes, 16 * 512);
  assert_int_equal(t->features, 0);
  nw_target_release(t);
}

static void an_accelerator_has_the_scopes_of_its_buffers(void **state) {
  nw_machine m = record(NW_MACHINE_ACCELERATOR);
  m.accelerator.nbuffers = 1;
  m.accelerator.buffer[0] = (nw_machine_buffer){.name = "weight", .bytes = 77};
  nw_target *t = made(*state, &m);
  memset(&m, 0, sizeof m); // the target has a copy of the record
  assert_int_equal(nw_target_scope(t, "weight")->bytes, 77);
  assert_null(nw_target_scope(t, "local"));
  nw_target_release(t);
}

static void the_host_target_describes_this_machine(void **state) {
  nw_target *t = nw_target_host(*state);
  assert_ptr_equal(t, nw_target_host(*state));
  assert_true(nw_target_here(t));
  assert_int_equal(t->features, nw_host()->features);
  assert_int_equal(t->machine.cores, nw_host()->cores);
  assert_int_equal(nw_target_scope(t, "local")->bytes, 256 * 1024);
  nw_target_retain(t);
  nw_target_release(t);
  assert_ptr_equal(t, nw_target_host(*state));
}

static void a_provided_backend_reaches_the_existing_host(void **state) {
  static const nw_backend backend = {.name = "none"};
  static const nw_cost_model model = {.name = "guess"};
  nw_target *t = nw_target_host(*state);
  assert_null(t->backend);
  nw_target_provide(*state, NW_MACHINE_CPU, &backend, &model);
  assert_ptr_equal(t->backend, &backend);
  assert_ptr_equal(t->model, &model);
  nw_machine m = record(NW_MACHINE_GPU);
  nw_target *other = made(*state, &m);
  assert_null(other->backend); // a target of another kind
  nw_target_release(other);
}

static int setup(void **state) {
  *state = nw_open();
  return 0;
}

static int teardown(void **state) {
  nw_close(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(features_are_those_of_the_machine),
      T(limits_come_from_the_record),
      T(a_gpu_has_its_own_limits),
      T(an_accelerator_has_the_scopes_of_its_buffers),
      T(the_host_target_describes_this_machine),
      T(a_provided_backend_reaches_the_existing_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
