// Plants faults in lowered programs: each must be found by the simulated GPU, with the threads and the element.
#include "../lower/lowering.h"
#include "device/gpu/run.h"

// Thread x copies an element of a row, and thread x reads the element of thread 39 - x.
static const char rows[] = "program rows\n"
                           "input A: i32[3, 40]\n"
                           "output Y: i32[3, 40]\n"
                           "temp X: i32[3, 40] shared\n"
                           "blockIdx.x for i in 0..3:\n"
                           "  alloc X[i..i + 1, 0..40]:\n"
                           "    threadIdx.x for a in 0..40:\n"
                           "      block X of X (i = i in 0..3, j = a in 0..40):\n"
                           "        X[i, j] = A[i, j]\n"
                           "    threadIdx.x for b in 0..40:\n"
                           "      block Y of Y (i = i in 0..3, j = b in 0..40):\n"
                           "        Y[i, j] = X[i, 39 - j]*A[i, j]\n";

typedef void (*planting)(nw_program *p);

static nw_stmt *first(nw_stmt *s, nw_stmt_kind kind) {
  if (s->kind == kind) return s;
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *found = first(s->kid[i], kind);
    if (found) return found;
  }
  return NULL;
}

static void drop(nw_program *p, const nw_stmt *s) {
  nw_path path;
  nw_find(p, s->id, &path);
  nw_kids_remove(p, path.at[path.n - 2], path.pos[path.n - 1]);
}

// Simulates the program after the faults were planted. The caller frees the report.
static nw_gpu_report *simulated(lowering *l, const char *text, planting plant, int threads) {
  static int32_t a[120], y[120];
  nw_program *p = parsed(l, text);
  nw_exec *kept = nw_lower(p, NULL), *e = nw_exec_with_clocks(kept, 0, NULL);
  nw_program *q = nw_program_clone(e->p);
  nw_exec_release(kept);
  for (int i = 0; i < 120; i++) a[i] = i % 7;
  if (plant) plant(q);
  nw_program_release(e->p);
  e->p = nw_program_freeze(q);
  assert_non_null(e->p);
  nw_view views[] = {{NW_I32, 120, a}, {NW_I32, 120, y}};
  nw_gpu_report *r = nwg_simulate(l->c, e, NULL, views, &(nw_gpu_opts){.threads = threads});
  if (!r) fail_msg("%s", nw_error(l->c)->message);
  for (int i = 0; !plant && i < 120; i++) assert_int_equal(y[i], a[i / 40 * 40 + 39 - i % 40] * a[i]);
  nw_exec_release(e);
  nw_program_release(p);
  return r;
}

// Checks that there is one finding, and returns it.
static nw_gpu_finding found(lowering *l, const char *text, planting plant, nw_gpu_fault fault) {
  nw_gpu_report *r = simulated(l, text, plant, 1);
  if (!nw_gpu_findings(r)) fail_msg("no fault was found, but a %s was planted", nw_gpu_fault_name(fault));
  nw_gpu_finding f = *nw_gpu_finding_at(r, 0);
  assert_string_equal(nw_gpu_fault_name(f.fault), nw_gpu_fault_name(fault));
  static char name[40];
  if (f.buffer) f.buffer = strcpy(name, f.buffer);
  nw_gpu_report_free(r);
  return f;
}

static void nothing_is_found_in_a_right_program(void **state) {
  for (int threads = 1; threads < 4; threads++) {
    nw_gpu_report *r = simulated(*state, rows, NULL, threads);
    assert_int_equal(nw_gpu_findings(r), 0);
    assert_int_equal(nw_gpu_kernels(r), 1);
    assert_int_equal(nw_gpu_kernel_at(r, 0)->barriers, 3);
    nw_gpu_report_free(r);
  }
}

static void drop_barrier(nw_program *p) { drop(p, first(p->root, NW_BARRIER)); }

static void a_missing_barrier_is_a_race_of_two_threads(void **state) {
  nw_gpu_finding f = found(*state, rows, drop_barrier, NW_GPU_RACE);
  assert_string_equal(f.buffer, "X");
  assert_true(f.has_first && f.first.write && !f.second.write);
  assert_int_equal(f.first.thread[0], 39 - f.second.thread[0]); // thread x reads the element of thread 39 - x
  assert_int_equal(f.element, f.first.thread[0]);
  assert_int_equal(f.second.block[0], f.first.block[0]);
  assert_true(f.first.id != f.second.id);
  assert_int_equal(f.times, 3 * 32 + 3 * 8); // each thread of each block
}

// A warp of 32 threads executes in lockstep, so its values are right, but its threads still race.
static void threads_of_a_warp_are_unordered(void **state) {
  nw_gpu_finding f = found(*state, rows, drop_barrier, NW_GPU_RACE);
  assert_true(f.first.thread[0] / 32 != f.second.thread[0] / 32 || f.first.thread[0] != f.second.thread[0]);
  static const char one[] = "program one\ninput A: i32[3, 40]\noutput Y: i32[3, 40]\ntemp X: i32[3, 40] shared\n"
                            "blockIdx.x for i in 0..3:\n  alloc X[i..i + 1, 0..16]:\n"
                            "    threadIdx.x for a in 0..16:\n"
                            "      block X of X (i = i in 0..3, j = a in 0..40):\n        X[i, j] = A[i, j]\n"
                            "    threadIdx.x for b in 0..16:\n"
                            "      block Y of Y (i = i in 0..3, j = b in 0..40):\n        Y[i, j] = X[i, 15 - j]\n";
  f = found(*state, one, drop_barrier, NW_GPU_RACE);
  assert_int_equal(f.first.thread[0], 15 - f.second.thread[0]);
}

// 60 threads share a sum: one partial result is given to another warp, and then five times to another lane.
static const char sums[] = "program sums\ninput A: i32[2, 60]\noutput Y: i32[2]\n"
                           "blockIdx.x for i in 0..2:\n  threadIdx.x for k in 0..60:\n"
                           "    block Y of Y (i = i in 0..2, reduce k = k in 0..60):\n"
                           "      init Y[i] = i32(0)\n      Y[i] += A[i, k]\n";

static int number; // of the barrier in which a fault is planted

static nw_stmt *numbered(nw_stmt *s, int *n) {
  if (s->kind == NW_BARRIER && (*n)-- == 0) return s;
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *one = numbered(s->kid[i], n);
    if (one) return one;
  }
  return NULL;
}

static nw_stmt *chosen(nw_program *p) {
  int n = number;
  return numbered(p->root, &n);
}

static void drop_chosen(nw_program *p) { drop(p, chosen(p)); }
static void for_warps(nw_program *p) { chosen(p)->barrier.warp = true; }

static void each_barrier_between_partial_results_is_needed(void **state) {
  for (number = 0; number < 6; number++) {
    nw_gpu_finding f = found(*state, sums, drop_chosen, NW_GPU_RACE);
    assert_memory_equal(f.buffer, "Y_upper", 7);
    assert_true(f.has_first && f.first.write && f.first.thread[0] > f.second.thread[0]);
  }
  number = 0;
  nw_gpu_finding f = found(*state, sums, for_warps, NW_GPU_RACE); // threads of two warps are not ordered
  assert_string_equal(f.buffer, "Y_upper");
}

static void guard_barrier(nw_program *p) {
  nw_stmt *barrier = first(p->root, NW_BARRIER), *store = first(p->root, NW_STORE);
  nw_path path;
  drop(p, barrier);
  nw_find(p, store->id, &path);
  nw_stmt *loop = path.at[path.n - 2], *guard = nw_new_stmt(p, NW_GUARD);
  guard->guard.cond = nw_lt(p->pool, loop->loop.var, nw_index(p->pool, 17));
  nw_kids_set(p, guard, 1, &barrier);
  nw_kids_insert(p, loop, loop->nkids, guard);
}

static void a_barrier_under_a_condition_is_found(void **state) {
  nw_gpu_finding f = found(*state, rows, guard_barrier, NW_GPU_DIVERGED);
  assert_int_equal(f.second.thread[0], 0); // reaches the barrier
  assert_int_equal(f.first.thread[0], 17); // does not
  assert_null(f.buffer);
}

static void a_barrier_under_a_condition_orders_nothing(void **state) {
  nw_gpu_report *r = simulated(*state, rows, guard_barrier, 1);
  int races = 0;
  for (int i = 0; i < nw_gpu_findings(r); i++) races += nw_gpu_finding_at(r, i)->fault == NW_GPU_RACE;
  assert_int_equal(races, 1);
  nw_gpu_report_free(r);
}

static void drop_store(nw_program *p) { drop(p, first(p->root, NW_STORE)); }

static void a_missing_store_is_a_read_of_nothing(void **state) {
  nw_gpu_finding f = found(*state, rows, drop_store, NW_GPU_UNWRITTEN);
  assert_string_equal(f.buffer, "X");
  assert_false(f.has_first);
  assert_int_equal(f.times, 120);
}

static void shift_store(nw_program *p) {
  nw_stmt *s = first(p->root, NW_STORE);
  s->store.index = nw_add(p->pool, s->store.index, nw_index(p->pool, 3));
}

static void an_access_outside_is_found(void **state) {
  nw_gpu_finding f = found(*state, rows, shift_store, NW_GPU_OUTSIDE);
  assert_string_equal(f.buffer, "X");
  assert_true(f.second.write);
  assert_int_equal(f.element, 40);
  assert_int_equal(f.second.thread[0], 37);
  assert_int_equal(f.times, 9);
}

static void store_everywhere(nw_program *p) {
  nw_stmt *y = NULL;
  for (nw_stmt *s = p->root; s->nkids; s = s->kid[s->nkids - 1]) y = s->kid[s->nkids - 1];
  y->store.index = nw_floormod(p->pool, y->store.index, nw_index(p->pool, 40));
}

static void blocks_that_write_the_same_elements_race(void **state) {
  for (int threads = 1; threads < 4; threads++) {
    nw_gpu_report *r = simulated(*state, rows, store_everywhere, threads);
    assert_true(nw_gpu_findings(r) > 0);
    const nw_gpu_finding *f = nw_gpu_finding_at(r, 0);
    assert_int_equal(f->fault, NW_GPU_RACE_BLOCKS);
    assert_string_equal(f->buffer, "Y");
    assert_true(f->first.block[0] != f->second.block[0]);
    assert_int_equal(f->first.thread[0], f->second.thread[0]);
    nw_gpu_report_free(r);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_lowering, close_lowering)
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_found_in_a_right_program),
      TEST(a_missing_barrier_is_a_race_of_two_threads),
      TEST(threads_of_a_warp_are_unordered),
      TEST(a_barrier_under_a_condition_is_found),
      TEST(a_missing_store_is_a_read_of_nothing),
      TEST(an_access_outside_is_found),
      TEST(blocks_that_write_the_same_elements_race),
      TEST(a_barrier_under_a_condition_orders_nothing),
      TEST(each_barrier_between_partial_results_is_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
