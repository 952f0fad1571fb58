// Tests views of arrays: the overlap of random views against a count of bytes, memory that stays alive, and strides.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "run/run.h"

static int setup(void **state) { return *state = nw_open(), 0; }

static int teardown(void **state) { return nw_close(*state), 0; }

enum { ROWS = 7, COLUMNS = 9, PLANES = 5 };

static int64_t draw(uint64_t *seed, int64_t n) { return (int64_t)(nw_draw(seed) >> 33) % n; }

// Returns a random slice of an array, perhaps transposed.
static nw_array *random_view(nw_array *a, uint64_t *seed) {
  nw_portion part[3];
  for (int d = 0; d < 3; d++) {
    int64_t n = nw_array_shape(a)[d], from = draw(seed, n), step = 1 + draw(seed, 3);
    part[d] = (nw_portion){.one = draw(seed, 4) == 0, .has_from = true, .has_to = true, .from = from, .step = step};
    part[d].to = from + 1 + draw(seed, n - from);
    if (draw(seed, 3) == 0) part[d].step = -step, part[d].has_to = false;
  }
  nw_array *v = nw_array_slice(a, 3, part);
  assert_non_null(v);
  nw_array *t = draw(seed, 2) ? nw_array_transpose(v, 0, NULL) : nw_array_retain(v);
  nw_array_release(v);
  return t;
}

// Marks the bytes of an array in a map of the bytes from `start` on. Returns the number of bytes that had been marked.
static int mark(nw_array *a, const char *start, char *map) {
  int twice = 0;
  for (int64_t i = 0; i < nw_array_count(a); i++) {
    const char *at = (const char *)a->data + nw_array_offset(a, i) * nw_dtype_bytes(a->dtype);
    for (int k = 0; k < nw_dtype_bytes(a->dtype); k++) twice += map[at - start + k]++;
  }
  return twice;
}

static void test_overlap_of_random_views(void **state) {
  nw_ctx *c = *state;
  const int64_t shape[] = {ROWS, COLUMNS, PLANES};
  nw_array *a = nw_array_new(c, NW_F32, 3, shape);
  int apart = 0, shared = 0;
  uint64_t seed = 5;
  for (int round = 0; round < 3000; round++) {
    nw_array *x = random_view(a, &seed), *y = random_view(a, &seed);
    char *map = calloc(1, a->bytes);
    assert_int_equal(mark(x, a->data, map), 0);
    bool overlap = mark(y, a->data, map) > 0;
    assert_int_equal(nw_arrays_overlap(x, y), overlap);
    assert_int_equal(nw_arrays_overlap(y, x), overlap);
    overlap ? shared++ : apart++;
    free(map);
    nw_array_release(x);
    nw_array_release(y);
  }
  assert_true(shared > 100 && apart > 100);
  nw_array_release(a);
}

// Views of different dtypes do not come from the language, but the test must not depend on that.
static void test_overlap_counts_bytes(void **state) {
  nw_ctx *c = *state;
  const int64_t n = 16;
  nw_array *a = nw_array_new(c, NW_F32, 1, &n);
  nw_portion odd = {.has_from = true, .from = 1, .step = 2};
  nw_array *x = nw_array_slice(a, 1, &odd), *y = nw_array_copy(x);
  assert_false(nw_arrays_overlap(x, y));
  nw_array halves = *x;
  halves.dtype = NW_F16;
  for (int byte = -4; byte < 8; byte++) {
    halves.data = (char *)x->data + byte;
    int64_t stride = 4, strides[] = {stride};
    halves.stride = strides;
    nw_array_measure(&halves);
    char map[128] = {0};
    mark(x, (char *)a->data - 16, map);
    assert_int_equal(nw_arrays_overlap(x, &halves), mark(&halves, (char *)a->data - 16, map) > 0);
  }
  nw_array_release(a);
  nw_array_release(x);
  nw_array_release(y);
}

static void test_memory_stays_as_long_as_a_view(void **state) {
  nw_ctx *c = *state;
  const int64_t shape[] = {1 << 10, 1 << 10}, flat[] = {-1};
  nw_array *a = nw_array_new(c, NW_F64, 2, shape);
  nw_array_set(a, (1 << 20) - 1, 7);
  nw_portion last = {.one = true, .from = -1};
  nw_array *row = nw_array_slice(a, 1, &last), *again = nw_array_reshape(row, 1, flat);
  nw_array_release(a);
  nw_array_release(row);
  nw_array *other = nw_array_new(c, NW_F64, 2, shape); // would reuse the memory if it were free
  assert_true(nw_array_data(other) != (char *)nw_array_data(again) - (((int64_t)1 << 20) - 1024) * 8);
  assert_true(nw_array_get(again, 1023) == 7);
  nw_array_release(again);
  nw_array_release(other);
}

static void test_arrays_with_strides(void **state) {
  nw_ctx *c = *state;
  const int64_t shape[] = {3, 4}, wide[] = {10, 1}, columns[] = {1, 3}, huge[] = {INT64_MAX / 2, 1}, empty[] = {3, 0};
  nw_array *a = nw_array_strided(c, NW_I32, 2, shape, wide), *b = nw_array_strided(c, NW_I32, 2, shape, columns);
  assert_int_equal(a->bytes, 24 * 4);
  assert_int_equal(b->bytes, 12 * 4);
  assert_false(a->dense || b->dense);
  for (int64_t i = 0; i < 12; i++) nw_array_set_int(a, i, i);
  assert_true(nw_array_assign(b, a));
  for (int64_t i = 0; i < 12; i++) assert_int_equal(nw_array_get_int(b, i), i);
  assert_int_equal(((int32_t *)b->data)[1], 4);
  assert_null(nw_array_strided(c, NW_I32, 2, shape, huge));
  assert_int_equal(nw_error(c)->code, NW_EMEMORY);
  nw_clear(c);
  nw_array *none = nw_array_strided(c, NW_I32, 2, empty, huge);
  assert_int_equal(none->bytes, 0);
  nw_array_release(none);
  nw_array_release(a);
  nw_array_release(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_overlap_of_random_views),
      cmocka_unit_test(test_overlap_counts_bytes),
      cmocka_unit_test(test_memory_stays_as_long_as_a_view),
      cmocka_unit_test(test_arrays_with_strides),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
