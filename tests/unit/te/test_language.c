// Tests programs that the language accepts, and programs that it refuses as soon as they are written.
#include "../te/lang.h"

static nw_tensor *gemm(int64_t m, int64_t n, int64_t kk) {
  nw_tensor *A = input("A", NW_F32, DIMS(lit(m), lit(kk))), *B = input("B", NW_F32, DIMS(lit(kk), lit(n)));
  nw_axis *k = raxis("k", lit(kk));
  nw_build *b = begin("C", "i j", DIMS(lit(m), lit(n)));
  return end(b, over("sum", mul(READ(A, ax(b, 0), var(k)), READ(B, var(k), ax(b, 1))), k));
}

static void assert_shown(const nw_tensor *t, const char *want) {
  char *s = nw_tensor_show(t);
  assert_string_equal(s, want);
  free(s);
}

static void a_matrix_product_shows_as_written(void **state) {
  (void)state;
  assert_shown(gemm(4, 5, 6), "C[i, j] = sum(A[i, k]*B[k, j], k)");
}

static void reads_are_counted_and_typed(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(4), lit(5)));
  refused(!READ(A, lit(1)), "A has 2 dimensions, but is read with 1 index");
  refused(!READ(A, lit(1), lit(2), lit(3)), "A has 2 dimensions, but is read with 3 indices");
  refused(!READ(A, lit(1), flit(NW_F32, 2)), "index 2 of A is of type f32");
}

static void an_index_out_of_range_is_named(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(16), lit(4)));
  nw_build *b = begin("B", "i k", DIMS(lit(16), lit(4)));
  refused(!end(b, READ(A, add(ax(b, 0), lit(1)), ax(b, 1))),
          "in B, A[i + 1, k] reads index 16 of dimension 0 (extent 16) at i = 15");
  b = begin("B", "i k", DIMS(lit(16), lit(4)));
  E here = READ(A, ax(b, 0), ax(b, 1));
  refused(!end(b, sub(READ(A, sub(ax(b, 0), lit(1)), ax(b, 1)), here)),
          "in B, A[i - 1, k] reads index -1 of dimension 0 (extent 16) at i = 0");
  assert_non_null(end(begin("D", "i", DIMS(lit(3))), READ(A, lit(15), lit(3))));
  refused(!end(begin("D", "i", DIMS(lit(3))), READ(A, lit(16), lit(3))),
          "in D, A[16, 3] reads index 16 of dimension 0 (extent 16)");
}

static void a_select_guards_its_branches(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(16)));
  nw_build *b = begin("P", "i", DIMS(lit(18)));
  E at = sub(ax(b, 0), lit(1)), zero = flit(NW_F32, 0);
  assert_non_null(end(b, pick(both(le(lit(0), at), lt(at, lit(16))), READ(A, at), zero)));
  b = begin("P", "i", DIMS(lit(18)));
  at = sub(ax(b, 0), lit(1));
  refused(!end(b, pick(le(lit(0), at), READ(A, at), zero)),
          "in P, A[i - 1] reads index 16 of dimension 0 (extent 16) at i = 17");
  b = begin("P", "i", DIMS(lit(18)));
  at = sub(ax(b, 0), lit(1));
  assert_non_null(end(b, pick(op2(NW_OP_OR, lt(at, lit(0)), le(lit(16), at)), zero, READ(A, at))));
}

static void symbolic_sizes_are_tried_small(void **state) {
  (void)state;
  E M = nw_size_var(nw, "M", 1);
  nw_tensor *A = input("A", NW_F32, DIMS(M));
  nw_build *b = begin("B", "i", DIMS(M));
  assert_non_null(end(b, READ(A, sub(sub(M, lit(1)), ax(b, 0)))));
  b = begin("B", "i", DIMS(M));
  refused(!end(b, READ(A, add(ax(b, 0), lit(1)))),
          "in B, A[i + 1] reads index 1 of dimension 0 (extent M) at M = 1, i = 0");
}

static void facts_help(void **state) {
  (void)state;
  E M = nw_size_var(nw, "M", 1);
  nw_tensor *A = input("A", NW_F32, DIMS(lit(4)));
  nw_build *b = begin("B", "i", DIMS(M));
  refused(!end(b, READ(A, ax(b, 0))), "in B, A[i] reads index 4 of dimension 0 (extent 4) at M = 5, i = 4");
  assert_true(nw_size_fact(M, le(M, lit(4))));
  b = begin("B", "i", DIMS(M));
  assert_non_null(end(b, READ(A, ax(b, 0))));
  refused(!nw_size_fact(M, M), "a fact is a condition, not a value of type i64");
}

static void data_must_be_clamped(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(16))), *I = input("I", NW_I32, DIMS(lit(5)));
  nw_build *b = begin("G", "i", DIMS(lit(5)));
  assert_false(end(b, READ(A, READ(I, ax(b, 0)))));
  assert_string_equal(nw_error(nw)->message,
                      "in G, A[i64(I[i])] has an index that depends on data and can leave dimension 0 (extent 16)");
  assert_string_equal(nw_error(nw)->hint, "clamp it: nw.min(nw.max(I(i), 0), 15)");
  nw_clear(nw);
  b = begin("G", "i", DIMS(lit(5)));
  assert_non_null(end(b, READ(A, least(most(READ(I, ax(b, 0)), nw_int(nw_lang_pool(nw), NW_I32, 0)),
                                       nw_int(nw_lang_pool(nw), NW_I32, 15)))));
  nw_tensor *U = input("U", NW_U8, DIMS(lit(5))), *T = input("T", NW_F32, DIMS(lit(256)));
  b = begin("L", "i", DIMS(lit(5)));
  assert_non_null(end(b, READ(T, READ(U, ax(b, 0)))));
}

static void integers_are_not_divided_by_zero(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_I32, DIMS(lit(4))), *D = input("D", NW_I32, DIMS(lit(4)));
  nw_build *b = begin("Q", "i", DIMS(lit(4)));
  refused(!end(b, op2(NW_OP_FLOORDIV, READ(A, ax(b, 0)), READ(D, ax(b, 0)))), "in Q, A[i] // D[i] can divide by zero");
  b = begin("Q", "i", DIMS(lit(4)));
  refused(!end(b, op2(NW_OP_FLOORMOD, lit(8), ax(b, 0))), "in Q, 8 % i can divide by zero at i = 0");
  b = begin("Q", "i", DIMS(lit(4)));
  assert_non_null(end(b, op2(NW_OP_FLOORMOD, lit(8), add(ax(b, 0), lit(1)))));
  b = begin("Q", "i", DIMS(lit(4)));
  E d = READ(D, ax(b, 0)), none = nw_int(nw_lang_pool(nw), NW_I32, 0);
  assert_non_null(end(b, pick(op2(NW_OP_NE, d, none), op2(NW_OP_FLOORDIV, READ(A, ax(b, 0)), d), none)));
}

static void a_reduction_is_a_whole_body(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(4), lit(4)));
  nw_axis *k = raxis("k", lit(4));
  nw_build *b = begin("C", "i", DIMS(lit(4)));
  E sum = over("sum", READ(A, ax(b, 0), var(k)), k);
  E more = sum ? add(sum, flit(NW_F32, 1)) : NULL;
  nw_tensor *t = end(b, more);
  assert_null(t);
  assert_string_equal(nw_error(nw)->hint, "make it a separate stage");
  nw_clear(nw);
  b = begin("C", "i", DIMS(lit(4)));
  refused(!end(b, READ(A, ax(b, 0), var(k))), "C uses the reduce axis k outside a reduction over it");
  refused(!over("mean", flit(NW_F32, 1), k), "there is no reduction named 'mean'");
}

static void axes_of_other_computes_are_refused(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(4)));
  nw_build *b = begin("B", "i", DIMS(lit(4)));
  E i = ax(b, 0);
  nw_pool *p = nw_pool_retain(nw_expr_pool(i));
  assert_non_null(end(b, READ(A, i)));
  nw_build *d = begin("D", "j", DIMS(lit(4)));
  refused(!end(d, READ(A, i)), "i is not an axis of D: it belongs to another compute");
  nw_pool_release(p);
}

static void shapes_are_checked(void **state) {
  (void)state;
  refused(!nw_placeholder(nw, "A", NW_F32, DIMS(lit(-1))), "dimension 0 of A is negative: -1");
  refused(!nw_placeholder(nw, "A", NW_F32, DIMS(flit(NW_F32, 2))), "dimension 0 of A is of type f32");
  refused(!begin("C", "i", DIMS(lit(-3))), "the extent of i is negative: -3");
  refused(!nw_placeholder(nw, "1A", NW_F32, DIMS(lit(1))), "a tensor cannot be named '1A'");
  E N = nw_size_var(nw, "N", 1);
  refused(!begin("C", "i", DIMS(sub(N, lit(2)))), "the extent of i is negative at N = 1: -1");
  assert_true(nw_size_fact(N, le(lit(2), N)));
  nw_build_drop(begin("C", "i", DIMS(sub(N, lit(2)))));
  nw_tensor *A = input("A", NW_F32, DIMS(lit(0)));
  nw_build *b = begin("B", "i", DIMS(lit(0)));
  assert_non_null(end(b, READ(A, ax(b, 0))));
  nw_axis *k = raxis("k", lit(0));
  b = nw_compute_begin(nw, "S", 0, NULL, NULL);
  nw_tensor *S = end(b, over("sum", READ(A, var(k)), k));
  assert_int_equal(nw_tensor_ndim(S), 0);
}

static void a_plain_placeholder_can_be_a_state(void **state) {
  (void)state;
  E T = nw_size_var(nw, "T", 1);
  nw_tensor *S = input("S", NW_F32, DIMS(T)), *X = input("X", NW_F32, DIMS(T)), *out = NULL;
  nw_build *b = begin("init", "t", DIMS(lit(1)));
  nw_tensor *init = end(b, READ(X, ax(b, 0)));
  b = begin("next", "t", DIMS(T));
  E now = READ(X, ax(b, 0));
  nw_tensor *next = end(b, add(READ(S, sub(ax(b, 0), lit(1))), now));
  assert_non_null(next);
  const char *why = "in next, S[t - 1] reads index -1 of dimension 0 (extent T) at T = 1, t = 0";
  refused(!nw_te_program(nw, 1, &next), why);
  b = begin("D", "t", DIMS(T));
  nw_tensor *reader = end(b, READ(next, ax(b, 0)));
  assert_non_null(reader);
  refused(!nw_te_program(nw, 1, &reader), why);
  assert_true(nw_scan(nw, "P", 1, &init, &next, &S, &out));
  keep(out);
  b = begin("two", "t", DIMS(T));
  now = READ(S, ax(b, 0));
  refused(!end(b, add(READ(S, sub(ax(b, 0), lit(2))), now)),
          "in two, S[t - 2] reads index -2 of dimension 0 (extent T) at T = 1, t = 0");
  b = begin("bad", "t", DIMS(T));
  now = READ(S, add(ax(b, 0), lit(1)));
  refused(!end(b, add(READ(S, sub(ax(b, 0), lit(1))), now)),
          "in bad, S[t - 1] reads index -1 of dimension 0 (extent T) at T = 1, t = 0");
}

static void a_dropped_build_restores_the_pool(void **state) {
  (void)state;
  nw_pool *before = nw_lang_pool(nw);
  nw_build *outer = begin("B", "i", DIMS(lit(4))), *inner = begin("D", "i", DIMS(lit(4)));
  nw_build_drop(outer);
  assert_ptr_equal(nw_lang_pool(nw), nw_expr_pool(ax(inner, 0)));
  nw_build_drop(inner);
  assert_ptr_equal(nw_lang_pool(nw), before);
}

static void memory_does_not_grow(void **state) {
  (void)state;
  size_t first = 0;
  for (int n = 0; n < 200; n++) {
    gemm(4, 4, 4);
    for (int i = 0; i < tensors.n; i++) nw_tensor_release(tensors.at[i]);
    for (int i = 0; i < axes.n; i++) nw_axis_release(axes.at[i]);
    tensors.n = axes.n = 0;
    if (n == 2) first = nw_pool_bytes(nw_lang_pool(nw));
  }
  assert_true(nw_pool_bytes(nw_lang_pool(nw)) < first + (2 << 20));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(a_matrix_product_shows_as_written),
      T(reads_are_counted_and_typed),
      T(an_index_out_of_range_is_named),
      T(a_select_guards_its_branches),
      T(symbolic_sizes_are_tried_small),
      T(facts_help),
      T(data_must_be_clamped),
      T(integers_are_not_divided_by_zero),
      T(a_reduction_is_a_whole_body),
      T(axes_of_other_computes_are_refused),
      T(shapes_are_checked),
      T(a_plain_placeholder_can_be_a_state),
      T(a_dropped_build_restores_the_pool),
      T(memory_does_not_grow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
