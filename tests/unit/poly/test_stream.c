// Tests streaming stores, prefetches, and properties of loops. A store can become a streaming store only if the
// processor has such a store.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static char *copy(const char *dtype, int n, int lanes, const char *begin, const char *mark, const char *where,
                  const char *stream) {
  nw_str s = {0};
  nw_str_fmt(
      &s,
      "program copy\ninput A: %s[8, %d]\noutput Z: %s[8, %d]\nfor i in 0..8:\n  for j_o in 0..%d:\n    %sfor j_i in "
      "%s..%s + %d:\n      block Z of Z (i = i in 0..8, j = %d*j_o + j_i - %s in 0..%d)%s:\n        %sZ[i, j] = A[i, "
      "j]\n",
      dtype, n, dtype, n, n / lanes, mark, begin, begin, lanes, lanes, begin, n, where, stream);
  return nw_str_take(&s);
}

static void tries(void **state, const char *dtype, int n, int lanes, const char *begin, const char *mark,
                  const char *where, const char *why) {
  char *before = copy(dtype, n, lanes, begin, "", "", ""),
       *after = copy(dtype, n, lanes, begin, mark, where, "stream ");
  if (why)
    refuses(*state, before, after, NW_REFUSE_STRUCTURE, why);
  else
    accepts(*state, before, after, 0);
  free(before);
  free(after);
}

static void widths(void **state) {
  tries(state, "f32", 64, 4, "0", "vectorize ", "", NULL);
  tries(state, "f32", 64, 16, "0", "vectorize ", "", NULL);
  tries(state, "u8", 256, 128, "0", "vectorize ", "", NULL);
  tries(state, "f64", 64, 16, "5", "vectorize ", "", NULL); // the lanes need not start at 0
  tries(state, "f32", 96, 12, "0", "vectorize ", "", "16, 32 or a multiple of 64 bytes");
  tries(state, "f32", 64, 2, "0", "vectorize ", "", "16, 32 or a multiple of 64 bytes");
  tries(state, "f32", 64, 16, "0", "", "", "they are scalar");
}

static void alignment(void **state) {
  tries(state, "f32", 72, 8, "0", "vectorize ", "", NULL);
  tries(state, "f32", 36, 4, "0", "vectorize ", "", NULL);
  tries(state, "u8", 48, 48, "0", "vectorize ", "", "16, 32 or a multiple of 64 bytes");
  char before[512], after[512];
  const char *form =
      "program shift\ninput A: f32[8, 18]\noutput Z: f32[8, 18]\nfor i in 0..8:\n  %sfor j in 0..16:\n    "
      "block Z of Z (i = i in 0..8, j = j in 0..18):\n      %sZ[i, j] = A[i, j]\n  for t in 0..2:\n    block "
      "Z_1 of Z (i = i in 0..8, j = t + 16 in 0..18):\n      Z[i, j] = A[i, j]\n";
  snprintf(before, sizeof before, form, "", "");
  snprintf(after, sizeof after, form, "vectorize ", "stream ");
  refuses(*state, before, after, NW_REFUSE_STRUCTURE, "of its vectors begin at a multiple of 16 elements of Z");
}

static void mask(void **state) {
  tries(state, "f32", 64, 16, "0", "vectorize ", " where 16*j_o + j_i < 64", NULL); // the condition always holds
}

static void own_updates(void **state) {
#define SUM                                                                                                            \
  "program sum\ninput A: f32[8, 16]\noutput R: f32[16]\nfor k in 0..8:\n  vectorize for j in 0..16:\n    block R of "  \
  "R (j "                                                                                                              \
  "= j in 0..16, reduce k = k in 0..8):\n      init R[j] = 0.0\n      %sR[j] += A[k, j]\n"
  char before[512], after[512];
  snprintf(before, sizeof before, SUM, "");
  snprintf(after, sizeof after, SUM, "stream ");
  refuses(*state, before, after, NW_REFUSE_STRUCTURE, "reads the element it has just stored");
}

// A prefetch changes no result, but it must be able to have an effect.
static void prefetch(void **state) {
  const char *form =
      "program p\ninput A: f32[8, 16]\ninput B: f32[8, 16]\noutput Z: f32[8, 16]\nfor i in 0..8:\n  %s%sfor j "
      "in 0..16:\n    %sblock Z of Z (i = i in 0..8, j = j in 0..16):\n      Z[i, j] = A[i, j]\n";
  char before[512], after[512];
  snprintf(before, sizeof before, form, "", "", "");
  snprintf(after, sizeof after, form, "prefetch A[i + 1..i + 2, 0..16]\n  ", "", "");
  accepts(*state, before, after, 0);
  snprintf(after, sizeof after, form, "prefetch B[i + 1..i + 2, 0..16]\n  ", "", "");
  refuses(*state, before, after, NW_REFUSE_STRUCTURE, "does not use it");
  snprintf(after, sizeof after, form, "", "vectorize ", "prefetch A[i..i + 1, j..j + 1]\n    ");
  refuses(*state, before, after, NW_REFUSE_STRUCTURE, "lanes of one vector");
}

// A setting stays with its loop, and settings for threads are allowed only on parallel loops.
static void tags(void **state) {
  const char *form =
      "program p\ninput A: f32[8]\noutput Z: f32[8]\n%sblock Z of Z (i = %s in 0..8):\n%s  Z[i] = A[i]\n";
  char before[512], after[512];
  snprintf(before, sizeof before, form, "for i in 0..8:\n  ", "i", "  ");
  snprintf(after, sizeof after, form, "for i in 0..8 with partition = \"never\":\n  ", "i", "  ");
  accepts(*state, before, after, 'm');
  snprintf(before, sizeof before, form, "for o in 0..2:\n  for t in 0..4:\n    ", "4*o + t", "    ");
  refuses(*state, after, before, NW_REFUSE_STRUCTURE, "the property partition of i would be lost");
  snprintf(before, sizeof before, form, "for i in 0..8 with note = \"here\":\n  ", "i", "  ");
  snprintf(after, sizeof after, form, "for o in 0..2:\n  for t in 0..4:\n    ", "4*o + t", "    ");
  accepts(*state, before, after, 0);
  snprintf(after, sizeof after, form, "for i in 0..8 with chunk = 4:\n  ", "i", "  ");
  refuses(*state, before, after, NW_REFUSE_STRUCTURE, "and i is not parallel");
  snprintf(after, sizeof after, form, "parallel for i in 0..8 with schedule = \"dynamic\", chunk = 4:\n  ", "i", "  ");
  accepts(*state, before, after, 'm');
}

int main(void) {
  const struct CMUnitTest tests[] = {T(widths), T(alignment), T(mask), T(own_updates), T(prefetch), T(tags)};
  return cmocka_run_group_tests_name("poly_stream", tests, NULL, NULL);
}
