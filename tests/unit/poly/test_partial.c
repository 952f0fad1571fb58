// Tests reductions in parts. The combined partial results must be the complete result.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// ---- C[i] = the sum of n numbers, and the same sum from partial results P[i, r]

static void write_whole(char *out, size_t size, int n) {
  snprintf(out, size,
           "program p\ninput A: f32[8, 32]\noutput C: f32[8]\nfor i in 0..8:\n  for k in 0..%d:\n"
           "    block C of C (i = i in 0..8, reduce k = k in 0..%d):\n      init C[i] = 0.0\n      C[i] += A[i, k]\n",
           n, n);
}

typedef struct parts {
  const char *init, *op, *term; // the parts of the reduction of P, which runs over s
  int s;
} parts;

static void write_parts(char *out, size_t size, const parts *p) {
  snprintf(out, size,
           "program p\ninput A: f32[8, 32]\noutput C: f32[8]\ntemp P: f32[8, 4]\nalloc P[0..8, 0..4]:\n"
           "  for i in 0..8:\n    for r in 0..4:\n      for s in 0..%d:\n"
           "        block P of P (i = i in 0..8, r = r in 0..4, reduce s = s in 0..%d):\n"
           "          init P[i, r] = %s\n          P[i, r] %s= %s\n"
           "  for j in 0..8:\n    for q in 0..4:\n"
           "      block C of C (i = j in 0..8, reduce q = q in 0..4):\n"
           "        init C[i] = 0.0\n        C[i] += P[i, q]\n",
           p->s, p->s, p->init, p->op, p->term);
}

static void whole_from(void **state, int n, const parts *p) {
  char before[1024], after[2048];
  write_whole(before, sizeof before, n);
  write_parts(after, sizeof after, p);
  accepts(*state, before, after, 'v');
}

static void not_from(void **state, int n, const parts *p, nw_refusal_kind kind, const char *why) {
  char before[1024], after[2048];
  write_whole(before, sizeof before, n);
  write_parts(after, sizeof after, p);
  refuses(*state, before, after, kind, why);
}

static void made_of_parts(void **state) {
  whole_from(state, 16, &(parts){"0.0", "+", "A[i, 4*s + r]", 4});
  whole_from(state, 16, &(parts){"0.0", "+", "A[i, s + 4*r]", 4});
  whole_from(state, 16, &(parts){"0.0", "+", "A[i, 15 - 4*s - r]", 4});
}

static void some_left_out(void **state) {
  whole_from(state, 13, &(parts){"0.0", "+", "select(4*s + r < 13, A[i, 4*s + r], 0.0)", 4});
  not_from(state, 13, &(parts){"0.0", "+", "select(4*s + r < 12, A[i, 4*s + r], 0.0)", 4}, NW_REFUSE_REDUCTION,
           "in none of the parts");
}

static void combined_another_way(void **state) {
  not_from(state, 16, &(parts){"0.0", "max", "A[i, 4*s + r]", 4}, NW_REFUSE_VALUE, "not part of the computation");
}

static void wrong_neutral_elements(void **state) {
  not_from(state, 16, &(parts){"1.0", "+", "A[i, 4*s + r]", 4}, NW_REFUSE_VALUE, "not part of the computation");
  not_from(state, 13, &(parts){"0.0", "+", "select(4*s + r < 13, A[i, 4*s + r], 1.0)", 4}, NW_REFUSE_VALUE,
           "not part of the computation");
}

static void one_contribution_twice(void **state) {
  not_from(state, 16, &(parts){"0.0", "+", "A[i, 2*s + r]", 7}, NW_REFUSE_REDUCTION, "in two of the parts");
}

static void one_contribution_lost(void **state) {
  not_from(state, 16, &(parts){"0.0", "+", "A[i, 4*s + r]", 3}, NW_REFUSE_REDUCTION, "in none of the parts");
  not_from(state, 16, &(parts){"0.0", "+", "A[i, 4*s + r + 1]", 4}, NW_REFUSE_REDUCTION, "in none of the parts");
}

static void one_contribution_too_many(void **state) {
  not_from(state, 16, &(parts){"0.0", "+", "A[i, 4*s + r]", 5}, NW_REFUSE_REDUCTION, "that the stage does not have");
}

static void another_term(void **state) {
  not_from(state, 16, &(parts){"0.0", "+", "A[i, 4*s + r]*2.0", 4}, NW_REFUSE_VALUE, "not part of the computation");
  not_from(state, 8, &(parts){"0.0", "+", "A[s, 4*s + r]", 2}, NW_REFUSE_VALUE, "not part of the computation");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(made_of_parts),          T(some_left_out),         T(combined_another_way),      T(wrong_neutral_elements),
      T(one_contribution_twice), T(one_contribution_lost), T(one_contribution_too_many), T(another_term),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
