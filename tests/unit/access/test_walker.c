// The walker must list the accesses that the interpreter makes, in the same order.
#include "walking.h"

#define GEMM(loops) "program gemm\ninput A: f32[20, 12]\ninput B: f32[12, 24]\noutput C: f32[20, 24]\n" loops
#define BODY(i, j, k, where)                                                                                           \
  "block C of C (i = " i " in 0..20, j = " j " in 0..24, reduce k = " k " in 0..12)" where ":\n"
#define STORES(in) in "  init C[i, j] = 0.0\n" in "  C[i, j] += A[i, k]*B[k, j]\n"

static void plain_loops(void **state) {
  int64_t n = assert_walked(
      *state,
      GEMM("for i in 0..20:\n  for j in 0..24:\n    for k in 0..12:\n      " BODY("i", "j", "k", "") STORES("      ")),
      NULL);
  assert_int_equal(n, 20 * 24 * (1 + 12 * 4));
}

static void guards_and_vectors(void **state) {
  assert_walked(*state,
                GEMM("for i_o in 0..3:\n  for i_i in 0..8:\n    for k in 0..12:\n      for j_o in 0..3:\n"
                     "        vectorize for j_i in 0..8:\n          " BODY(
                         "8*i_o + i_i", "8*j_o + j_i", "k", " where 8*i_o + i_i < 20") STORES("          ")),
                NULL);
}

static void strides_and_steps_back(void **state) {
  assert_walked(*state,
                "program p\ninput A: f32[64]\noutput B: f32[8, 4]\nfor i in 0..8:\n  for j in 0..4:\n"
                "    block B of B (i = 7 - i in 0..8, j = j in 0..4):\n"
                "      B[i, j] = A[8*j + i] + A[63 - i] + A[(i*3 + j) % 5] + A[max(i - j, 0)]\n",
                NULL);
}

// A read in a branch of a select is made only if the select takes this branch. If a statement contains the same read
// several times, the read is made once.
static void selects_are_lazy(void **state) {
  int64_t n =
      assert_walked(*state,
                    "program p\ninput A: f32[10]\noutput B: f32[12]\nfor i in 0..12:\n"
                    "  block B of B (i = i in 0..12):\n"
                    "    B[i] = select(1 <= i and i < 11, A[i - 1]*A[i - 1], 1.0) + select(i < 5, A[i], A[i - 2])\n",
                    NULL);
  assert_true(n > 12 + 10 + 12 - 1);
}

static void sizes_are_given(void **state) {
  const char *text =
      "program p\nsize N >= 0\ninput A: f32[N, N]\noutput B: f32[N]\nfor i in 0..N:\n  for j in 0..N:\n"
      "    block B of B (i = i in 0..N, reduce j = j in 0..N):\n      init B[i] = 0.0\n      B[i] += A[i, j]\n";
  for (int64_t n = 0; n < 6; n++) assert_int_equal(assert_walked(*state, text, &n), n * (1 + 3 * n));
}

// A small local array is kept in registers, but a workspace is in memory.
static void registers_are_not_memory(void **state) {
#define SUMS(scope)                                                                                                    \
  "program p\ninput A: f32[8, 16]\noutput B: f32[8]\ntemp S: f32[8] " scope "\nfor i in 0..8:\n  alloc S[i..i + 1]:\n" \
  "    for j in 0..16:\n      block S of S (i = i in 0..8, reduce j = j in 0..16):\n        init S[i] = 0.0\n"         \
  "        S[i] += A[i, j]\n    block B of B (i = i in 0..8):\n      B[i] = S[i]\n"
  assert_int_equal(assert_walked(*state, SUMS("local"), NULL), 8 * 16 + 8);
  assert_int_equal(assert_walked(*state, SUMS("global"), NULL), 8 * (16 * 3 + 1 + 2));
}

static void accesses_that_depend_on_data_are_refused(void **state) {
  lowering *l = *state;
  nw_program *p = parsed(l, "program p\ninput A: f32[8]\ninput I: i64[8]\noutput B: f32[8]\nfor i in 0..8:\n"
                            "  block B of B (i = i in 0..8):\n    B[i] = A[min(max(I[i], 0), 7)]\n");
  nw_exec *e = nw_lower(p, NULL);
  assert_null(nw_walker_new(l->c, e, NULL));
  assert_int_equal(nw_error(l->c)->code, NW_ELIMIT);
  assert_has(nw_error(l->c)->message, "depends on the contents of I");
  nw_clear(l->c);
  nw_exec_release(e);
  nw_program_release(p);
}

typedef struct rounds {
  int begun, ended;
  int64_t last;
} rounds;

static void count_round(void *env, const nw_stmt *loop, int64_t index, int64_t time) {
  rounds *r = env;
  (void)loop;
  assert_true(time >= r->last);
  r->last = time;
  *(index < 0 ? &r->ended : &r->begun) += 1;
}

static bool three_batches(void *env, const nw_ref *ref, int n) {
  (void)env, (void)ref;
  assert_true(n > 0);
  return true;
}

static void iterations_are_reported(void **state) {
  lowering *l = *state;
  nw_program *p = parsed(l, GEMM("for i in 0..20:\n  for j in 0..24:\n    for k in 0..12:\n      " BODY(
                                "i", "j", "k", "") STORES("      ")));
  nw_exec *e = nw_lower(p, NULL);
  nw_walker *w = nw_walker_new(l->c, e, NULL);
  rounds r = {0};
  assert_true(nw_walk_refs(w, three_batches, count_round, &r));
  assert_int_equal(r.begun, 20 + 20 * 24 + 20 * 24 * 12);
  assert_int_equal(r.ended, 1 + 20 + 20 * 24);
  assert_int_equal(r.last, 20 * 24 * (1 + 12 * 4));
  nw_interrupt(l->c);
  assert_false(nw_walk_refs(w, three_batches, NULL, NULL));
  assert_int_equal(nw_error(l->c)->code, NW_EINTERRUPT);
  nw_clear(l->c);
  nw_walker_free(w);
  nw_exec_release(e);
  nw_program_release(p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {
      T(plain_loops),
      T(guards_and_vectors),
      T(strides_and_steps_back),
      T(selects_are_lazy),
      T(sizes_are_given),
      T(registers_are_not_memory),
      T(accesses_that_depend_on_data_are_refused),
      T(iterations_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
