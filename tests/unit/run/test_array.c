// Tests arrays and .npy files, including damaged files.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "run/run.h"

static char path[] = "/tmp/nw-test-npy-XXXXXX";

static int setup(void **state) {
  int fd = mkstemp(path);
  *state = nw_open();
  return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state) {
  nw_close(*state);
  return unlink(path);
}

static void test_zeros_aligned_and_pooled(void **state) {
  nw_ctx *c = *state;
  for (int round = 0; round < 3; round++)
    for (int64_t n = 0; n < (int64_t)4 << 20; n = n * 3 + 1) {
      nw_array *a = nw_array_new(c, NW_F32, 1, &n);
      assert_int_equal((uintptr_t)nw_array_data(a) % 64, 0);
      float *data = nw_array_data(a);
      for (int64_t i = 0; i < n; i++) assert_true(data[i] == 0);
      for (int64_t i = 0; i < n; i++) data[i] = 1;
      nw_array_release(a);
    }
}

static void test_too_large(void **state) {
  nw_ctx *c = *state;
  const int64_t shapes[][3] = {{1 << 20, 1 << 20, 16}, {INT64_MAX, 1, 1}, {INT64_MAX, INT64_MAX, 2}, {4, -1, 2}};
  for (int i = 0; i < 4; i++) {
    assert_null(nw_array_new(c, NW_F64, 3, shapes[i]));
    assert_int_equal(nw_error(c)->code, shapes[i][1] < 0 ? NW_ERANGE : NW_EMEMORY);
    nw_clear(c);
  }
  const int64_t empty[] = {INT64_MAX, 0, INT64_MAX};
  nw_array *a = nw_array_new(c, NW_F64, 3, empty);
  assert_int_equal(nw_array_count(a), 0);
  nw_array_release(a);
}

static void test_get_set(void **state) {
  nw_ctx *c = *state;
  const int64_t n = 3;
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    nw_array *a = nw_array_new(c, (nw_dtype)t, 1, &n);
    nw_array_set(a, 1, 1);
    assert_true(nw_array_get(a, 1) == 1);
    nw_array_set_int(a, 2, 1);
    assert_int_equal(nw_array_get_int(a, 2), 1);
    if (nw_dtype_is_signed(nw_array_dtype(a))) {
      nw_array_set(a, 0, -7);
      assert_true(nw_array_get(a, 0) == -7);
      assert_int_equal(nw_array_get_int(a, 0), -7);
    }
    nw_array_release(a);
  }
}

static void test_loops_over_elements_stop(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  const int64_t n = 1000;
  nw_array *a = nw_array_new(c, NW_F64, 1, &n);
  nw_interrupt(c);
  assert_false(nw_array_fill_random(a, 7, 1, 2));
  assert_int_equal(nw_error(c)->code, NW_EINTERRUPT);
  assert_true(nw_array_get(a, 0) == 0);
  nw_clear(c);
  nw_interrupt(c);
  char other[sizeof path + 8];
  snprintf(other, sizeof other, "%s.stopped", path);
  assert_false(nw_array_save(c, a, other));
  assert_int_equal(access(other, F_OK), -1);
  nw_clear(c);
  nw_array_release(a);
  nw_close(c);
}

static void test_random_is_the_same_everywhere(void **state) {
  nw_ctx *c = *state;
  const int64_t n = 1000;
  nw_array *a = nw_array_new(c, NW_F64, 1, &n), *b = nw_array_new(c, NW_F64, 1, &n), *i = nw_array_new(c, NW_I8, 1, &n);
  nw_array_fill_random(a, 7, -1, 1);
  nw_array_fill_random(b, 7, -1, 1);
  assert_memory_equal(nw_array_data(a), nw_array_data(b), 8000);
  nw_array_fill_random(i, 7, -3, 3);
  bool low = false, high = false;
  for (int64_t k = 0; k < n; k++) {
    int64_t v = nw_array_get_int(i, k);
    assert_in_range(v + 3, 0, 6);
    low |= v == -3, high |= v == 3;
  }
  assert_true(low && high);
  nw_array_release(a), nw_array_release(b), nw_array_release(i);
}

static void test_round_trip(void **state) {
  nw_ctx *c = *state;
  const int64_t shapes[][3] = {{2, 3, 5}, {1, 1, 1}, {0, 3, 5}};
  for (int t = 0; t < NW_DTYPE_COUNT; t++)
    for (int s = 0; s < 3; s++)
      for (int ndim = 0; ndim <= 3; ndim++) {
        nw_array *a = nw_array_new(c, (nw_dtype)t, ndim, shapes[s]);
        nw_array_fill_random(a, 1, 0, 1);
        if (t == NW_BF16) {
          assert_false(nw_array_save(c, a, path));
          nw_clear(c);
        } else {
          assert_true(nw_array_save(c, a, path));
          nw_array *b = nw_array_load(c, path);
          assert_non_null(b);
          assert_int_equal(nw_array_dtype(b), t);
          assert_int_equal(nw_array_ndim(b), ndim);
          assert_int_equal(nw_array_count(b), nw_array_count(a));
          if (a->bytes) assert_memory_equal(nw_array_data(a), nw_array_data(b), a->bytes);
          nw_array_release(b);
        }
        nw_array_release(a);
      }
}

static void write_file(const char *header, int version, const void *data, size_t n) {
  FILE *f = fopen(path, "wb");
  size_t len = strlen(header);
  unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0, len & 255, len >> 8, 0, 0};
  fwrite(start, 1, version > 1 ? 12 : 10, f);
  fwrite(header, 1, len, f);
  fwrite(data, 1, n, f);
  fclose(f);
}

static void test_foreign_files(void **state) {
  nw_ctx *c = *state;
  const unsigned char big[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
  for (int version = 1; version <= 3; version++) {
    write_file("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }  \n", version, big, sizeof big);
    nw_array *a = nw_array_load(c, path);
    assert_non_null(a);
    const int64_t want[] = {1, 3, 5, 2, 4, 6};
    for (int i = 0; i < 6; i++) assert_int_equal(nw_array_get_int(a, i), want[i]);
    nw_array_release(a);
  }
  const float one = 1.5f;
  write_file("{\"shape\": (), \"descr\": \"<f4\", \"fortran_order\": False}", 1, &one, 4);
  nw_array *a = nw_array_load(c, path);
  assert_non_null(a);
  assert_true(nw_array_get(a, 0) == 1.5);
  nw_array_release(a);
}

static void refused(nw_ctx *c) {
  assert_null(nw_array_load(c, path));
  assert_int_equal(nw_error(c)->code, NW_EIO);
  nw_clear(c);
}

static void test_damaged_files(void **state) {
  nw_ctx *c = *state;
  static const char *const headers[] = {
      "",
      "{}",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
      "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000000, 1000000000)}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': ",
      "{'descr': '",
      "{'shape': (1,), 'descr'"};
  for (int i = 0; i < NW_COUNT(headers); i++) {
    write_file(headers[i], 1, "1234", 4);
    refused(c);
  }
  write_file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 9, "1234", 4);
  refused(c);
}

// A file that contains more than the array is refused.
static void test_files_with_more_than_an_array(void **state) {
  nw_ctx *c = *state;
#define HEADER "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)"
  static const struct {
    const char *header, *data, *wrong;
  } cases[] = {
      {HEADER "}", "12345", "it has more data than its shape"},
      {HEADER ", }   \n", "123456781234", "it has more data than its shape"},
      {HEADER "} and more\n", "1234", "text after the dictionary"},
      {HEADER "}}", "1234", "text after the dictionary"},
      {HEADER " x}", "1234", "text after a value"},
      {HEADER "5, }", "1234", "text after a value"},
      {HEADER ", 'shape': (1,)}", "1234", "a key that does not belong there"},
      {HEADER ", 'more': 1}", "1234", "a key that does not belong there"},
      {"{'descr': '<f4x', 'fortran_order': False, 'shape': (1,)}", "1234", "its element type is not one of"},
      {"{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (1,)}", "1234", "text after a value"},
  };
#undef HEADER
  for (int i = 0; i < NW_COUNT(cases); i++)
    for (int version = 1; version <= 3; version++) {
      write_file(cases[i].header, version, cases[i].data, strlen(cases[i].data));
      assert_null(nw_array_load(c, path));
      assert_non_null(strstr(nw_error(c)->message, cases[i].wrong));
      nw_clear(c);
    }
}

static void test_cut_at_every_byte(void **state) {
  nw_ctx *c = *state;
  const int64_t shape[] = {3, 5};
  nw_array *a = nw_array_new(c, NW_F32, 2, shape);
  assert_true(nw_array_save(c, a, path));
  for (long n = 64 * 2 + 60 - 1; n >= 0; n--) {
    assert_int_equal(truncate(path, n), 0);
    refused(c);
  }
  nw_array_release(a);
  assert_null(nw_array_load(c, "/nonexistent/x.npy"));
  assert_int_equal(nw_error(c)->code, NW_EIO);
  nw_clear(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_zeros_aligned_and_pooled),
      cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_get_set),
      cmocka_unit_test(test_loops_over_elements_stop),
      cmocka_unit_test(test_random_is_the_same_everywhere),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_foreign_files),
      cmocka_unit_test(test_damaged_files),
      cmocka_unit_test(test_files_with_more_than_an_array),
      cmocka_unit_test(test_cut_at_every_byte),
  };
  return cmocka_run_group_tests_name("array", tests, setup, teardown);
}
