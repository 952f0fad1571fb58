// Tests the judge's checks of rewrites: which programs may come out of a rewrite, and which equalities are proved.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// A program with the values `p` of a temporary P and `z` of the output Z.
static nw_program *program(env *e, const char *dtype, const char *p, const char *z) {
  nw_str s = {0};
  nw_str_fmt(&s,
             "program one\ninput A: %s[8]\ninput B: %s[8]\noutput Z: %s[8]\ntemp P: %s[8]\nalloc P[0..8]:\n  for i in "
             "0..8:\n    "
             "block P of P (i = i in 0..8):\n      P[i] = %s\n  for i_1 in 0..8:\n    block Z of Z (i = i_1 in 0..8):\n"
             "      Z[i] = %s\n",
             dtype, dtype, dtype, dtype, p, z);
  nw_program *made = parsed(e, s.s);
  nw_str_free(&s);
  return made;
}

static nw_rewriting rewriting(const nw_program *p, nw_dtype t, const char *origin, const char *from, const char *to) {
  nw_rewriting w = {origin, {nw_pattern_parse(p, t, from), nw_pattern_parse(p, t, to)}};
  assert_non_null(w.equality.from);
  assert_non_null(w.equality.to);
  return w;
}

// Judges the step from the values p, z to the values p_new, z_new as the rewrite of Z. `why`: a part of the refusal, or
// NULL if the step must be accepted.
static void judges(env *e, const char *from, const char *to, const char *p, const char *z, const char *p_new,
                   const char *z_new, const char *why) {
  nw_program *before = program(e, "i32", p, z), *after = program(e, "i32", p_new, z_new);
  nw_rewriting w = rewriting(before, NW_I32, "Z", from, to);
  bool holds = nw_judge_rewrite(before, after, &w);
  if (!why && !holds) print_refusal(e->c);
  assert_int_equal(holds, !why);
  if (why) assert_non_null(strstr(nw_error(e->c)->refusal->why, why));
  nw_clear(e->c);
  nw_program_release(before);
  nw_program_release(after);
}

static void only_the_values(void **state) {
  const char *p = "A[i]", *z = "P[i]*A[i] + P[i]*B[i]", *by = "P[i]*(A[i] + B[i])";
  judges(*state, "x*y + x*z", "x*(y + z)", p, z, p, by, NULL);
  judges(*state, "x*y + x*z", "x*(y + z)", p, z, "B[i]", by, "more would change than the values of Z");
  judges(*state, "x*y + x*z", "x*(y + z)", p, z, p, "P[i]*(A[i] - B[i])", "more would change than the values of Z");
  judges(*state, "x*y + x*z", "x*(y + z)", p, z, p, z, "more would change than the values of Z");
}

// A read of a temporary must not leave the condition under which its element is written.
static void reads(void **state) {
  judges(*state, "select(y < z, x, w)", "w + x - w", "A[i]", "select(A[i] < B[i], P[i], B[i])", "A[i]", "P[i]",
         "would read an element of P that it did not read before");
  judges(*state, "select(y < z, x, w)", "w + x - w", "A[i]", "select(A[i] < B[i], B[i], P[i])", "A[i]", "B[i]",
         NULL); // an input can be read anywhere
}

static bool proves(env *e, nw_dtype t, const char *z, const char *from, const char *to) {
  nw_program *p = program(e, nw_dtype_name(t), "A[i]", z);
  nw_rewriting w = rewriting(p, t, "Z", from, to);
  nw_equality_verdict v;
  bool ok = nw_judge_equality(p, &w, &v); // there is no interpreter here, so only a proof is accepted
  assert_true(!ok || v.proved);
  nw_clear(e->c);
  nw_program_release(p);
  return ok;
}

static void proofs(void **state) {
  static const nw_dtype all[] = {NW_I8, NW_I16, NW_I32, NW_I64, NW_U8, NW_U16, NW_U32, NW_U64};
  for (int k = 0; k < NW_COUNT(all); k++) {
    nw_dtype t = all[k];
    assert_true(proves(*state, t, "A[i]*B[i] + A[i]*P[i]", "x*y + x*z", "x*(y + z)"));
    assert_true(proves(*state, t, "(A[i] + B[i])*(A[i] - B[i])", "(x + y)*(x - y)", "x*x - y*y"));
    assert_true(
        proves(*state, t, "(A[i] + B[i])*(P[i] + B[i])*A[i]", "(x + y)*(z + y)*x", "x*x*z + x*x*y + x*y*z + x*y*y"));
    assert_false(proves(*state, t, "(A[i] + B[i])*(A[i] - B[i])", "(x + y)*(x - y)", "x*x + y*y"));
    assert_false(proves(*state, t, "A[i]*B[i] + A[i]*P[i]", "x*y + x*z", "x*(y - z)"));
    assert_false(proves(*state, t, "A[i]*B[i] + A[i]*P[i]", "x*y + x*z", "x*(y + z) + 1"));
  }
  assert_false(proves(*state, NW_F32, "A[i]*B[i] + A[i]*P[i]", "x*y + x*z", "x*(y + z)")); // floats round
}

int main(void) {
  const struct CMUnitTest tests[] = {T(only_the_values), T(reads), T(proofs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
