// Tests the first program of a computation, before any step.
#include "../te/lang.h"

static void assert_program(int n, nw_tensor **out, const char *want) {
  nw_program *p = nw_te_program(nw, n, out);
  if (!p) print_error("%s\n", nw_error(nw)->message);
  assert_non_null(p);
  char *text = nw_program_print(p);
  if (strcmp(text, want)) print_error("%s", text);
  assert_string_equal(text, want);
  nw_program *again = nw_program_parse(nw, p->pool, text);
  assert_non_null(again);
  assert_true(nw_same_program(p, again));
  nw_program_release(again);
  free(text);
  nw_program_release(p);
}

static void a_product_is_one_nest(void **state) {
  (void)state;
  E M = nw_size_var(nw, "M", 1);
  assert_true(nw_size_fact(M, op2(NW_OP_EQ, op2(NW_OP_FLOORMOD, M, lit(16)), lit(0))));
  nw_tensor *A = input("A", NW_F32, DIMS(M, lit(8))), *B = input("B", NW_F32, DIMS(lit(8), lit(4)));
  nw_axis *k = raxis("k", lit(8));
  nw_build *b = begin("C", "i j", DIMS(M, lit(4)));
  E left = READ(A, ax(b, 0), var(k)), right = READ(B, var(k), ax(b, 1));
  nw_tensor *C = end(b, over("sum", mul(left, right), k));
  assert_program(1, &C,
                 "program C\n"
                 "size M >= 1\n"
                 "fact M % 16 == 0\n"
                 "input A: f32[M, 8]\n"
                 "input B: f32[8, 4]\n"
                 "output C: f32[M, 4]\n"
                 "for i in 0..M:\n"
                 "  for j in 0..4:\n"
                 "    for k in 0..8:\n"
                 "      block C of C (i = i in 0..M, j = j in 0..4, reduce k = k in 0..8):\n"
                 "        init C[i, j] = 0.0\n"
                 "        C[i, j] += A[i, k]*B[k, j]\n");
}

static void stages_share_names_without_clashing(void **state) {
  (void)state;
  nw_tensor *X = input("X", NW_F32, DIMS(lit(4), lit(8)));
  nw_axis *k = raxis("k", lit(8)), *k2 = raxis("k", lit(8));
  nw_build *b = begin("m", "i", DIMS(lit(4)));
  nw_tensor *m = end(b, over("max", READ(X, ax(b, 0), var(k)), k));
  b = begin("e", "i j", DIMS(lit(4), lit(8)));
  nw_tensor *e = end(b, op1(NW_OP_EXP, sub(READ(X, ax(b, 0), ax(b, 1)), READ(m, ax(b, 0)))));
  b = begin("s", "i", DIMS(lit(4)));
  nw_tensor *s = end(b, over("sum", READ(e, ax(b, 0), var(k2)), k2));
  b = begin("Y", "i j", DIMS(lit(4), lit(8)));
  nw_tensor *Y = end(b, op2(NW_OP_DIV, READ(e, ax(b, 0), ax(b, 1)), READ(s, ax(b, 0))));
  assert_program(1, &Y,
                 "program Y\n"
                 "input X: f32[4, 8]\n"
                 "output Y: f32[4, 8]\n"
                 "temp m: f32[4]\n"
                 "temp e: f32[4, 8]\n"
                 "temp s: f32[4]\n"
                 "alloc m[0..4]\n"
                 "for i in 0..4:\n"
                 "  for k in 0..8:\n"
                 "    block m of m (i = i in 0..4, reduce k = k in 0..8):\n"
                 "      init m[i] = f32(-inf)\n"
                 "      m[i] max= X[i, k]\n"
                 "alloc e[0..4, 0..8]\n"
                 "for i_1 in 0..4:\n"
                 "  for j in 0..8:\n"
                 "    block e of e (i = i_1 in 0..4, j = j in 0..8):\n"
                 "      e[i, j] = exp(X[i, j] - m[i])\n"
                 "alloc s[0..4]\n"
                 "for i_2 in 0..4:\n"
                 "  for k_1 in 0..8:\n"
                 "    block s of s (i = i_2 in 0..4, reduce k = k_1 in 0..8):\n"
                 "      init s[i] = 0.0\n"
                 "      s[i] += e[i, k]\n"
                 "for i_3 in 0..4:\n"
                 "  for j_1 in 0..8:\n"
                 "    block Y of Y (i = i_3 in 0..4, j = j_1 in 0..8):\n"
                 "      Y[i, j] = e[i, j] / s[i]\n");
}

static void inputs_come_in_the_order_they_were_made(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_I32, DIMS(lit(4))), *B = input("B", NW_I32, DIMS(lit(4))),
            *Z = input("A", NW_I32, DIMS(lit(4)));
  nw_build *b = begin("C", "i", DIMS(lit(4)));
  E z = READ(Z, ax(b, 0)), y = READ(B, ax(b, 0)), x = READ(A, ax(b, 0));
  nw_tensor *C = end(b, mul(z, mul(y, x)));
  nw_vec order = nw_te_order(1, &C);
  assert_int_equal(order.n, 4);
  assert_ptr_equal(order.at[0], A->op);
  assert_ptr_equal(order.at[1], B->op);
  assert_ptr_equal(order.at[2], Z->op);
  nw_vec_free(&order);
  nw_tensor *twice[] = {C, C};
  nw_program *p = nw_te_program(nw, 2, twice);
  assert_int_equal(p->nbuffers, 4);
  assert_string_equal(p->buffer[0]->name, "A");
  assert_string_equal(p->buffer[2]->name, "A_1");
  nw_program_release(p);
  refused(!nw_te_program(nw, 1, &A), "A is a placeholder: there is nothing to compute");
}

static void an_arg_reduction_has_two_targets(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(4), lit(8)));
  nw_axis *k = raxis("k", lit(8));
  nw_tensor *out[2];
  nw_build *b = begin("best", "i", DIMS(lit(4)));
  E body = over("argmax", READ(A, ax(b, 0), var(k)), k);
  int made = nw_compute_end(b, 1, &body, out);
  if (!made) print_error("%s\n", nw_error(nw)->message);
  assert_int_equal(made, 2);
  keep(out[0]), keep(out[1]);
  assert_int_equal(nw_tensor_dtype(out[1]), NW_I64);
  assert_program(1, &out[1],
                 "program best\n"
                 "input A: f32[4, 8]\n"
                 "output best.index: i64[4]\n"
                 "temp best.value: f32[4]\n"
                 "alloc best.value[0..4]\n"
                 "for i in 0..4:\n"
                 "  for k in 0..8:\n"
                 "    block best of best (i = i in 0..4, reduce k = k in 0..8):\n"
                 "      init best.value[i] = f32(-inf)\n"
                 "      best.value[i] argmax= A[i, k]\n"
                 "      init best.index[i] = -1\n"
                 "      best.index[i] argmax= k\n");
}

static void a_scan_is_init_and_update(void **state) {
  (void)state;
  E T = nw_size_var(nw, "T", 2);
  nw_tensor *X = input("X", NW_F32, DIMS(T, lit(8))), *S = keep(nw_scan_state(nw, "S_state", NW_F32, DIMS(T, lit(8))));
  nw_build *b = begin("init", "t i", DIMS(lit(1), lit(8)));
  nw_tensor *init = end(b, READ(X, ax(b, 0), ax(b, 1)));
  b = begin("update", "t i", DIMS(T, lit(8)));
  nw_tensor *update = end(b, add(READ(S, sub(ax(b, 0), lit(1)), ax(b, 1)), READ(X, ax(b, 0), ax(b, 1)))), *out = NULL;
  assert_non_null(update);
  refused(!nw_te_program(nw, 1, &update), "update reads the state of a scan, but is used outside a scan");
  assert_true(nw_scan(nw, "S", 1, &init, &update, &S, &out));
  keep(out);
  assert_program(1, &out,
                 "program S\n"
                 "size T >= 2\n"
                 "input X: f32[T, 8]\n"
                 "output S: f32[T, 8]\n"
                 "for t in 0..1:\n"
                 "  for i in 0..8:\n"
                 "    block S_init of S_init (t = t in 0..1, i = i in 0..8):\n"
                 "      S[t, i] = X[t, i]\n"
                 "for t_1 in 1..T:\n"
                 "  for i_1 in 0..8:\n"
                 "    block S of S (ordered t = t_1 in 1..T, i = i_1 in 0..8):\n"
                 "      S[t, i] = S[t - 1, i] + X[t, i]\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(a_product_is_one_nest),
      T(stages_share_names_without_clashing),
      T(inputs_come_in_the_order_they_were_made),
      T(an_arg_reduction_has_two_targets),
      T(a_scan_is_init_and_update),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
