// Tests calls of kernels: checks of arguments, sizes, workspaces, threads, views, times, freed code.
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "run/run.h"

// C[i] = A[i] + T[i], with a temporary T = 2*B, a parallel loop, and a fact about a size.
static const char program_text[] = "program add\n"
                                   "size M >= 2\n"
                                   "fact M % 2 == 0\n"
                                   "input A: f32[M]\n"
                                   "input B: f32[M]\n"
                                   "output C: f32[M]\n"
                                   "temp T: f32[M] global\n"
                                   "alloc T[0..M]:\n"
                                   "  for t in 0..M:\n"
                                   "    block T of T (i = t in 0..M):\n"
                                   "      T[i] = B[i]*2.0\n"
                                   "  parallel for i_1 in 0..M:\n"
                                   "    block C of C (i = i_1 in 0..M):\n"
                                   "      C[i] = A[i] + T[i]\n";

typedef struct fixture {
  nw_ctx *c;
  nw_pool *pool;
  nw_program *p;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = nw_open();
  f->pool = nw_pool_new(f->c);
  f->p = nw_program_parse(f->c, f->pool, program_text);
  *state = f;
  return f->p ? 0 : -1;
}

static int teardown(void **state) {
  fixture *f = *state;
  nw_program_release(f->p);
  nw_pool_release(f->pool);
  nw_close(f->c);
  free(f);
  return 0;
}

static nw_kernel *compiled(fixture *f, int threads) {
  nw_build_opts o = {.threads = threads, .opt = 1};
  nw_kernel *k = nw_compile(f->c, f->p, &o);
  if (!k) fail_msg("%s", nw_error(f->c)->message);
  return k;
}

static nw_array *vector(fixture *f, nw_dtype t, int64_t n) {
  nw_array *a = nw_array_new(f->c, t, 1, &n);
  for (int64_t i = 0; i < n; i++) nw_array_set(a, i, (double)i);
  return a;
}

static void drop(int n, nw_array **a) {
  for (int i = 0; i < n; i++) nw_array_release(a[i]);
}

static void test_runs_on_any_number_of_threads(void **state) {
  fixture *f = *state;
  for (int threads = 1; threads <= 5; threads++) {
    nw_kernel *k = compiled(f, threads);
    for (int64_t n = 2; n < 200000; n *= 10) {
      nw_array *a[] = {vector(f, NW_F32, n), vector(f, NW_F32, n), NULL};
      assert_true(nw_kernel_outputs(k, a, &a[2]));
      assert_true(nw_kernel_call(k, 3, a));
      for (int64_t i = 0; i < n; i++) assert_true(nw_array_get(a[2], i) == 3.0 * (double)i);
      drop(3, a);
    }
    nw_kernel_release(k);
  }
}

static void refused(fixture *f, nw_kernel *k, int n, nw_array **a, nw_code code, const char *text) {
  assert_false(nw_kernel_call(k, n, a));
  const nw_diag *d = nw_error(f->c);
  assert_int_equal(d->code, code);
  if (!strstr(d->message, text)) fail_msg("'%s' does not say '%s'", d->message, text);
  nw_clear(f->c);
}

static void test_arguments_are_checked(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 1);
  nw_array *a = vector(f, NW_F32, 4), *b = vector(f, NW_F32, 4), *c = vector(f, NW_F32, 4), *odd = vector(f, NW_F32, 5);
  nw_array *none = vector(f, NW_F32, 0), *whole = vector(f, NW_I32, 4);
  const int64_t square[] = {2, 2};
  nw_array *two = nw_array_new(f->c, NW_F32, 2, square);
  refused(f, k, 2, (nw_array *[]){a, b}, NW_EINVAL, "add takes 3 tensors (A, B, C), not 2");
  refused(f, k, 3, (nw_array *[]){a, whole, c}, NW_ETYPE, "B is i32; it must be f32");
  refused(f, k, 3, (nw_array *[]){two, b, c}, NW_EINVAL, "A has shape [2, 2]; it must be [M]");
  refused(f, k, 3, (nw_array *[]){a, odd, c}, NW_EINVAL, "B has shape [5]; it must be [M] with M = 4");
  refused(f, k, 3, (nw_array *[]){odd, odd, odd}, NW_EINVAL, "M % 2 == 0 does not hold with M = 5");
  refused(f, k, 3, (nw_array *[]){none, none, none}, NW_ERANGE, "M is 0; it must be at least 2");
  refused(f, k, 3, (nw_array *[]){a, b, b}, NW_EINVAL, "output C overlaps B");
  assert_true(nw_kernel_call(k, 3, (nw_array *[]){a, a, c}));
  assert_true(nw_array_get(c, 3) == 9);
  drop(7, (nw_array *[]){a, b, c, odd, none, whole, two});
  nw_kernel_release(k);
}

static void test_parameters(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 1);
  static const char *const names[] = {"A", "B", "C"};
  assert_int_equal(nw_kernel_params(k), 3);
  for (int i = 0; i < 3; i++) {
    bool out;
    assert_string_equal(nw_kernel_param(k, i, &out), names[i]);
    assert_int_equal(out, i == 2);
  }
  nw_kernel_release(k);
}

static void test_views(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 2);
  static const char *const views[][2] = {
      {"lowered", "parallel"}, {"llvm", "define"}, {"llvm-plain", "noalias"}, {"asm", "ret"}};
  for (int i = 0; i < NW_COUNT(views); i++) {
    char *text = nw_kernel_text(k, views[i][0]);
    assert_non_null(text);
    assert_non_null(strstr(text, views[i][1]));
    free(text);
  }
  assert_null(nw_kernel_text(k, "ptx"));
  nw_clear(f->c);
  nw_kernel_release(k);
}

static void test_objects_are_cached_by_content(void **state) {
  fixture *f = *state;
  nw_kernel *a = compiled(f, 1);
  assert_false(nw_kernel_was_cached(a));
  nw_kernel *b = compiled(f, 2);
  assert_true(nw_kernel_was_cached(b));
  nw_kernel_release(a);
  nw_kernel_release(b);
  nw_kernel *c = compiled(f, 1);
  assert_true(nw_kernel_was_cached(c));
  nw_build_opts anew = {.threads = 1, .opt = 1, .no_cache = true};
  nw_kernel *d = nw_compile(f->c, f->p, &anew);
  assert_false(nw_kernel_was_cached(d));
  nw_kernel_release(c);
  nw_kernel_release(d);
}

// A folder named by NESTWRIGHT_CACHE keeps objects for other processes. A damaged object is compiled again.
static void test_objects_on_disk(void **state) {
  fixture *f = *state;
  char dir[] = "/tmp/nw-test-objects-XXXXXX", command[128];
  assert_non_null(mkdtemp(dir));
  setenv("NESTWRIGHT_CACHE", dir, 1);
  static const bool want[] = {false, true, false};
  for (int i = 0; i < 3; i++) {
    fixture other = {.c = nw_open()};
    other.pool = nw_pool_new(other.c);
    other.p = nw_program_parse(other.c, other.pool, program_text);
    nw_kernel *k = compiled(&other, 1);
    assert_int_equal(nw_kernel_was_cached(k), want[i]);
    nw_array *a[] = {vector(&other, NW_F32, 4), vector(&other, NW_F32, 4), vector(&other, NW_F32, 4)};
    assert_true(nw_kernel_call(k, 3, a));
    assert_true(nw_array_get(a[2], 3) == 9);
    drop(3, a);
    nw_kernel_release(k);
    nw_program_release(other.p);
    nw_pool_release(other.pool);
    nw_close(other.c);
    if (i != 1) continue;
    snprintf(command, sizeof command, "for o in %s/*.o; do truncate -s -9 $o; done", dir);
    assert_int_equal(system(command), 0);
  }
  unsetenv("NESTWRIGHT_CACHE");
  snprintf(command, sizeof command, "rm -r %s", dir);
  assert_int_equal(system(command), 0);
  assert_null(nw_error(f->c));
}

static void test_times(void **state) {
  fixture *f = *state;
  nw_kernel *k[] = {compiled(f, 1), compiled(f, 2)};
  nw_array *a[] = {vector(f, NW_F32, 100), vector(f, NW_F32, 100), vector(f, NW_F32, 100)};
  nw_array *const *args[] = {a, a};
  nw_time t[2];
  assert_true(nw_kernel_time(k[0], 3, a, 5, 0, NULL, t));
  assert_int_equal(t->reps, 5);
  assert_true(t->min > 0 && t->min <= t->median && t->min < 1e-3);
  free(t->sample);
  assert_true(nw_kernel_compare(2, k, (int[]){3, 3}, args, 4, NULL, t));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(t[i].reps, 4);
    assert_int_equal(t[i].threads, i + 1);
    free(t[i].sample);
  }
  drop(3, a);
  nw_kernel_release(k[0]);
  nw_kernel_release(k[1]);
}

// A kernel that ran with arrays at another place, or with cold caches, gives the same elements.
static void test_conditions(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 1);
  nw_array *a[3], *given[3] = {vector(f, NW_F32, 100), vector(f, NW_F32, 100), vector(f, NW_F32, 100)};
  for (int i = 0; i < 3; i++) {
    a[i] = nw_array_placed(given[i], &(nw_address){32, 4, i == 1});
    assert_int_equal((uintptr_t)nw_array_data(a[i]) % 64, 36);
  }
  int64_t huge, mapped;
  assert_true(nw_huge_bytes(1, &a[1], &huge, &mapped));
  assert_int_equal(mapped, 2 << 20);
  assert_true(huge >= 0 && huge <= mapped);
  for (nw_chill chill = NW_WARM; chill <= NW_SWEPT; chill++) {
    nw_time t;
    if (chill == NW_FLUSHED && !nw_can_flush()) continue;
    assert_true(nw_kernel_time(k, 3, a, 2, 0, &(nw_conditions){.chill = chill, .offset = 4}, &t));
    assert_int_equal(t.align, 32);
    assert_true((t.clock > 0) == (chill != NW_WARM));
    free(t.sample);
  }
  assert_true(nw_kernel_call(k, 3, given));
  for (int i = 0; i < 100; i++) assert_true(nw_array_get(a[2], i) == nw_array_get(given[2], i));
  nw_time t;
  assert_false(nw_kernel_time(k, 3, a, 2, 0, &(nw_conditions){.ncpus = 1, .cpu = (int[]){100000}}, &t));
  assert_non_null(strstr(nw_error(f->c)->message, "CPU 100000 is not one of"));
  nw_clear(f->c);
  assert_null(nw_array_placed(given[0], &(nw_address){48, 0, false}));
  nw_clear(f->c);
  drop(3, a);
  drop(3, given);
  nw_kernel_release(k);
}

static long resident_kib(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void test_freed_code_is_gone(void **state) {
  fixture *f = *state;
  nw_build_opts o = {.threads = 1, .opt = 1, .no_cache = true};
  long after_warm_up = 0;
  for (int i = 0; i < 220; i++) {
    if (i == 20) after_warm_up = resident_kib();
    nw_kernel_release(nw_compile(f->c, f->p, &o));
  }
  assert_null(nw_error(f->c));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (!getenv("NW_EMULATED"))
    assert_true(resident_kib() - after_warm_up < 2048); // not in an emulator, which keeps translated code
#endif
}

static void test_a_temporary_too_large_for_memory(void **state) {
  fixture *f = *state;
  static const char text[] = "program big\ninput A: f32[4]\noutput C: f32[4]\ntemp T: f32[1099511627776] global\n"
                             "alloc T[0..1099511627776]:\n  for i_1 in 0..4:\n    block C of C (i = i_1 in 0..4):\n"
                             "      C[i] = A[i]\n";
  nw_program *p = nw_program_parse(f->c, f->pool, text);
  if (!p) fail_msg("%s", nw_error(f->c)->message);
  nw_kernel *k = nw_compile(f->c, p, NULL);
  assert_non_null(k);
  nw_array *a[] = {vector(f, NW_F32, 4), vector(f, NW_F32, 4)};
  refused(f, k, 2, a, NW_EMEMORY, "T, a temporary of 4398.0 GB, does not fit in memory");
  drop(2, a);
  nw_kernel_release(k);
  nw_program_release(p);
}

#ifndef __SANITIZE_THREAD__
static double told_at;

static void *tell_later(void *arg) {
  (void)arg;
  usleep(20000);
  told_at = nw_now();
  while (!nw_guard_interrupt()) usleep(100);
  return NULL;
}

// Another thread stops a long kernel. The kernel is serial, or each of its threads has one long chunk. Afterwards, the
// kernel is called again.
static void test_interrupting_generated_code(void **state) {
  fixture *f = *state;
  static const char text[] = "program long\nsize M >= 1\ninput A: f32[M]\noutput C: f32[4]\n"
                             "%sfor i_1 in 0..4:\n  for k_1 in 0..M:\n    for k_2 in 0..M:\n"
                             "      block C of C (i = i_1 in 0..4, reduce k = k_1 in 0..M, reduce l = k_2 in 0..M):\n"
                             "        init C[i] = 0.0\n        C[i] += A[k]*A[l]\n";
  for (int threads = 1; threads <= 4; threads++) {
    char full[1024];
    snprintf(full, sizeof full, text, threads > 1 ? "parallel " : "");
    nw_program *p = nw_program_parse(f->c, f->pool, full);
    if (!p) fail_msg("%s", nw_error(f->c)->message);
    nw_build_opts o = {.threads = threads, .opt = 1};
    nw_kernel *k = nw_compile(f->c, p, &o);
    nw_array *slow[] = {vector(f, NW_F32, 1000000), vector(f, NW_F32, 4)}, *quick[] = {vector(f, NW_F32, 3), slow[1]};
    pthread_t id;
    pthread_create(&id, NULL, tell_later, NULL);
    assert_false(nw_kernel_call(k, 2, slow));
    assert_true(nw_now() - told_at < 5);
    pthread_join(id, NULL);
    assert_int_equal(nw_error(f->c)->code, NW_EINTERRUPT);
    nw_clear(f->c);
    assert_true(nw_kernel_call(k, 2, quick));
    assert_true(nw_array_get(quick[1], 3) == 9);
    drop(2, slow);
    nw_array_release(quick[0]);
    nw_kernel_release(k);
    nw_program_release(p);
  }
}
#else
static void test_interrupting_generated_code(void **state) {
  (void)state;
  print_message("skipped: ThreadSanitizer delays signals until the next call that it knows\n");
  skip();
}
#endif

static void test_the_interpreter_on_arrays(void **state) {
  fixture *f = *state;
  nw_array *a[] = {vector(f, NW_F32, 6), vector(f, NW_F32, 6), vector(f, NW_F32, 6)};
  for (int lowered = 0; lowered < 2; lowered++) {
    assert_true(nw_interpret(f->c, f->p, lowered, 0, 3, a));
    assert_true(nw_array_get(a[2], 5) == 15);
  }
  assert_false(nw_interpret(f->c, f->p, false, 0, 2, a));
  nw_clear(f->c);
  drop(3, a);
}

static void test_peak_and_frequency_are_known(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 2; i++) {
    nw_rates r;
    assert_true(nw_peak_flops(f->c, i ? NW_F64 : NW_F32, 1, &r));
    assert_true(r.n >= 12 && nw_rates_peak(&r) > 0);
    free(r.rate);
  }
  assert_true(nw_core_hz() > 0);
  char *m = nw_machine_text(f->c);
  assert_non_null(strstr(m, "memory"));
  free(m);
}

// The sizes are not multiples of a vector. The values of the bandwidths are not checked here, but in the specs of
// roofline plots.
static void test_bandwidths(void **state) {
  fixture *f = *state;
  for (int loop = NW_STREAM_READ; loop <= NW_STREAM_WRITE; loop++)
    for (int threads = 1; threads <= 3; threads++) {
      nw_rates r;
      assert_true(nw_bandwidth(f->c, (nw_stream)loop, threads * 10007, threads, &r));
      assert_true(r.n >= 3 && r.rate[0] > 0 && r.rate[1] > 0);
      free(r.rate);
    }
  nw_rates few, none;
  assert_true(nw_bandwidth(f->c, NW_STREAM_TRIAD, 1, 2, &few));
  free(few.rate);
  assert_false(nw_bandwidth(f->c, NW_STREAM_READ, (int64_t)1 << 60, 1, &none));
  assert_int_equal(nw_error(f->c)->code, NW_ELIMIT);
  nw_clear(f->c);
}

// Measures the time of one run. A run that takes too long is stopped.
static void test_one_run(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 1);
  nw_array *a[] = {vector(f, NW_F32, 100), vector(f, NW_F32, 100), vector(f, NW_F32, 100)};
  double t = nw_kernel_once(k, 3, a, 100);
  assert_true(t > 0 && t < 1);
  assert_true(nw_kernel_once(k, 2, a, 100) < 0);
  nw_clear(f->c);
  drop(3, a);
  nw_kernel_release(k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_objects_are_cached_by_content),
      cmocka_unit_test(test_objects_on_disk),
      cmocka_unit_test(test_runs_on_any_number_of_threads),
      cmocka_unit_test(test_arguments_are_checked),
      cmocka_unit_test(test_parameters),
      cmocka_unit_test(test_views),
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_conditions),
      cmocka_unit_test(test_freed_code_is_gone),
      cmocka_unit_test(test_a_temporary_too_large_for_memory),
      cmocka_unit_test(test_interrupting_generated_code),
      cmocka_unit_test(test_the_interpreter_on_arrays),
      cmocka_unit_test(test_peak_and_frequency_are_known),
      cmocka_unit_test(test_bandwidths),
      cmocka_unit_test(test_one_run),
  };
  return cmocka_run_group_tests_name("call", tests, setup, teardown);
}
