#include "base/base.h"
#include "base/half.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

static void arena_is_zeroed_aligned_and_small(void **state) {
  (void)state;
  nw_arena *a = nw_arena_new();
  nw_arena_alloc(a, 1);
  assert_true(nw_arena_bytes(a) <= 2048);
  for (size_t n = 1; n < 5000; n += 37) {
    char *p = nw_arena_alloc(a, n);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
    memset(p, 0xff, n);
  }
  char *big = nw_arena_alloc(a, 1 << 20);
  memset(big, 1, 1 << 20);
  assert_string_equal(nw_arena_printf(a, "%d-%s", 7, "x"), "7-x");
  assert_string_equal(nw_arena_strndup(a, "abcdef", 3), "abc");
  assert_null(nw_arena_strdup(a, NULL));
  nw_arena_free(a);
  nw_arena_free(NULL);
}

static void strings_grow(void **state) {
  (void)state;
  nw_str b = {0};
  for (int i = 0; i < 1000; i++) nw_str_fmt(&b, "%d,", i);
  assert_int_equal(strlen(b.s), b.n);
  nw_str_indent(&b, 3);
  assert_string_equal(b.s + b.n - 4, ",   ");
  char *s = nw_str_take(&b);
  assert_null(b.s);
  free(s);
  s = nw_str_take(&b);
  assert_string_equal(s, "");
  free(s);
}

static void vectors_insert_and_remove(void **state) {
  (void)state;
  int x[3];
  nw_vec v = {0};
  nw_vec_push(&v, &x[0]);
  nw_vec_push(&v, &x[2]);
  nw_vec_insert(&v, 1, &x[1]);
  for (int i = 0; i < 3; i++) assert_ptr_equal(v.at[i], &x[i]);
  nw_vec_remove(&v, 0);
  assert_int_equal(v.n, 2);
  assert_ptr_equal(v.at[0], &x[1]);
  nw_vec_free(&v);
}

static void floor_division_is_right_for_negative_numbers(void **state) {
  (void)state;
  for (int64_t a = -20; a <= 20; a++)
    for (int64_t b = -7; b <= 7; b++) {
      if (!b) continue;
      int64_t q = nw_floordiv_i64(a, b), r = nw_floormod_i64(a, b);
      assert_int_equal(q, (int64_t)floor((double)a / (double)b));
      assert_int_equal(q * b + r, a);
    }
  assert_int_equal(nw_floordiv_i64(INT64_MIN, -1), INT64_MIN);
  assert_int_equal(nw_floormod_i64(INT64_MIN, -1), 0);
}

static void halves_round_trip(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    float f = nw_f16_to_f32((uint16_t)h), g = nw_bf16_to_f32((uint16_t)h);
    if (f == f)
      assert_int_equal(nw_f32_to_f16(f), h);
    else
      assert_true(isnan(nw_f16_to_f32(nw_f32_to_f16(f))));
    if (g == g)
      assert_int_equal(nw_f32_to_bf16(g), h);
    else
      assert_true(isnan(nw_bf16_to_f32(nw_f32_to_bf16(g))));
  }
}

static void halves_round_to_nearest_even(void **state) {
  (void)state;
  assert_int_equal(nw_f32_to_f16(1 + 0x1p-11f), 0x3c00);
  assert_int_equal(nw_f32_to_f16(1 + 0x3p-11f), 0x3c02);
  assert_int_equal(nw_f32_to_f16(65519), 0x7bff);
  assert_int_equal(nw_f32_to_f16(65520), 0x7c00);
  assert_int_equal(nw_f32_to_f16(0x1p-25f), 0);
  assert_int_equal(nw_f32_to_f16(0x1.8p-25f), 1);
  assert_int_equal(nw_f32_to_bf16(1 + 0x1p-8f), 0x3f80);
  assert_int_equal(nw_f32_to_bf16(1 + 0x3p-8f), 0x3f82);
  // Rounded to float first, the number becomes a tie, which is then rounded down.
  assert_int_equal(nw_f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  assert_int_equal(nw_f64_to_bf16(-(1 + 0x1p-8 + 0x1p-40)), 0xbf81);
  assert_int_equal(nw_f64_to_f16(1e300), 0x7c00);
  assert_int_equal(nw_f64_to_f16(-1e-300), 0x8000);
}

#ifdef __FLT16_MAX__
static void halves_agree_with_the_compiler(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (int i = 0; i < 200000; i++) {
    seed = nw_hash_mix(seed, (uint64_t)i);
    double d = ldexp((double)(int64_t)seed, (int)(seed % 60) - 93);
    _Float16 want = (_Float16)d;
    uint16_t bits;
    memcpy(&bits, &want, 2);
    assert_int_equal(nw_f64_to_f16(d), bits);
  }
}
#endif

static void the_first_failure_wins(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  assert_null(nw_error(c));
  assert_null(nw_fail(c, NW_ERANGE, "a hint", "index %d", 3));
  nw_fail(c, NW_ETYPE, NULL, "later");
  assert_int_equal(nw_error(c)->code, NW_ERANGE);
  assert_string_equal(nw_error(c)->message, "index 3");
  assert_string_equal(nw_error(c)->hint, "a hint");
  nw_clear(c);
  assert_null(nw_error(c));
  nw_close(c);
}

static void refusals_are_copied(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  char element[] = "C[0, 0]";
  nw_refusal r = {
      .kind = NW_REFUSE_RAW, .primitive = "parallel", .element = element, .source = "(i=0)", .sink = "(i=1)"};
  r.loops[1] = "k";
  nw_refuse(c, &r);
  element[0] = 'X';
  const nw_diag *d = nw_error(c);
  assert_int_equal(d->code, NW_EREFUSED);
  assert_string_equal(d->refusal->element, "C[0, 0]");
  assert_string_equal(d->refusal->loops[1], "k");
  assert_string_equal(d->message, "cannot parallel: C[0, 0] between (i=0) and (i=1)");
  nw_refusal_edit(c)->picture = nw_diag_printf(c, "for %s", "i");
  assert_string_equal(nw_error(c)->refusal->picture, "for i");
  nw_close(c);
}

static void set_flag(void *data) { *(int *)data = 1; }
static void count_free(void *data) { *(int *)data += 10; }

static void interrupts_reach_the_slots(void **state) {
  (void)state;
  int seen = 0;
  nw_ctx *c = nw_open();
  c->slot[NW_SLOT_POLY] = (nw_slot){&seen, count_free, set_flag, NULL};
  assert_false(nw_stopped(c));
  nw_interrupt(c);
  assert_int_equal(seen, 1);
  assert_true(nw_stopped(c));
  assert_int_equal(nw_error(c)->code, NW_EINTERRUPT);
  nw_clear(c);
  assert_false(nw_stopped(c));
  nw_close(c);
  assert_int_equal(seen, 11);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arena_is_zeroed_aligned_and_small),
      cmocka_unit_test(strings_grow),
      cmocka_unit_test(vectors_insert_and_remove),
      cmocka_unit_test(floor_division_is_right_for_negative_numbers),
      cmocka_unit_test(halves_round_trip),
      cmocka_unit_test(halves_round_to_nearest_even),
#ifdef __FLT16_MAX__
      cmocka_unit_test(halves_agree_with_the_compiler),
#endif
      cmocka_unit_test(the_first_failure_wins),
      cmocka_unit_test(refusals_are_copied),
      cmocka_unit_test(interrupts_reach_the_slots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
