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

// ---- partial results that were combined in pairs

typedef struct pairs {
  int n; // number of partial results, 3 or 4
  const char *taken; // the value that Q gets in addition
  const char *given; // the value that is given away
  const char *last; // the value that R stores
} pairs;

static void write_pairs(char *out, size_t size, const pairs *x) {
  snprintf(out, size,
           "program p\ninput A: i32[4, %d]\noutput C: i32[4]\ntemp P: i32[4, %d]\ntemp U: i32[4, %d]\n"
           "temp Q: i32[4, 2]\ntemp V: i32[4, 1]\ntemp R: i32[4, 1]\nalloc P[0..4, 0..%d]:\n alloc U[0..4, 0..%d]:\n"
           "  alloc Q[0..4, 0..2]:\n   alloc V[0..4, 0..1]:\n    alloc R[0..4, 0..1]:\n     for i in 0..4:\n"
           "      for t in 0..%d:\n       block P of P (i = i in 0..4, t = t in 0..%d):\n        P[i, t] = A[i, t]\n"
           "      for t_1 in 0..%d:\n       block U of U (i = i in 0..4, t = t_1 in 0..%d):\n        U[i, t] = %s\n"
           "      for t_2 in 0..2:\n       block Q of Q (i = i in 0..4, t = t_2 in 0..2):\n        Q[i, t] = %s\n"
           "      block V of V (i = i in 0..4, t = 0 in 0..1):\n       V[i, t] = Q[i, t + 1]\n"
           "      block R of R (i = i in 0..4, t = 0 in 0..1):\n       R[i, t] = %s\n"
           "      for t_3 in 0..1:\n       block C of C (i = i in 0..4, reduce t = t_3 in 0..1):\n"
           "        init C[i] = i32(0)\n        C[i] += R[i, t]\n",
           x->n, x->n, x->n - 2, x->n, x->n - 2, x->n, x->n, x->n - 2, x->n - 2, x->given, x->taken, x->last);
}

static void write_row_sums(char *out, size_t size, int n) {
  snprintf(
      out, size,
      "program p\ninput A: i32[4, %d]\noutput C: i32[4]\nfor i in 0..4:\n  for k in 0..%d:\n"
      "    block C of C (i = i in 0..4, reduce k = k in 0..%d):\n      init C[i] = i32(0)\n      C[i] += A[i, k]\n",
      n, n, n);
}

static void in_pairs(void **state, const pairs *x) {
  char before[1024], after[2048];
  write_row_sums(before, sizeof before, x->n);
  write_pairs(after, sizeof after, x);
  accepts(*state, before, after, 'v');
}

static void not_in_pairs(void **state, const pairs *x, nw_refusal_kind kind, const char *why) {
  char before[1024], after[2048];
  write_row_sums(before, sizeof before, x->n);
  write_pairs(after, sizeof after, x);
  refuses(*state, before, after, kind, why);
}

#define SUM "Q[i, t] + V[i, t]"

static void combined_in_pairs(void **state) {
  in_pairs(state, &(pairs){4, "P[i, t] + U[i, t]", "P[i, t + 2]", SUM});
  in_pairs(state, &(pairs){3, "P[i, t] + select(t < 1, U[i, t], i32(0))", "P[i, t + 2]", SUM});
}

static void combined_in_wrong_pairs(void **state) {
  const char *why = "is not part of the computation";
  not_in_pairs(state, &(pairs){4, "P[i, t] - U[i, t]", "P[i, t + 2]", SUM}, NW_REFUSE_VALUE, why);
  not_in_pairs(state, &(pairs){4, "P[i, t] + U[i, t]", "P[i, t + 2]", "Q[i, t]*V[i, t]"}, NW_REFUSE_VALUE, why);
  not_in_pairs(state, &(pairs){4, "P[i, t] + U[i, t]", "P[i, t + 1]", SUM}, NW_REFUSE_VALUE, why);
  not_in_pairs(state, &(pairs){4, "P[i, t] + U[i, 1 - t]", "P[i, t + 2]", SUM}, NW_REFUSE_VALUE, why);
  not_in_pairs(state, &(pairs){4, "P[i, t] + select(t < 1, U[i, t], i32(0))", "P[i, t + 2]", SUM}, NW_REFUSE_VALUE,
               why);
  not_in_pairs(state, &(pairs){3, "P[i, t] + select(t < 1, U[i, t], i32(1))", "P[i, t + 2]", SUM}, NW_REFUSE_VALUE,
               why);
  not_in_pairs(state, &(pairs){4, "P[i, t] + U[i, t]", "P[3 - i, t + 2]", SUM}, NW_REFUSE_VALUE, why);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(made_of_parts),          T(some_left_out),           T(combined_another_way),      T(wrong_neutral_elements),
      T(one_contribution_twice), T(one_contribution_lost),   T(one_contribution_too_many), T(another_term),
      T(combined_in_pairs),      T(combined_in_wrong_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
