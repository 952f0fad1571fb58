#include "fixture.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

static nw_program *parsed(env *e, const char *text) {
  nw_program *p = nw_program_parse(e->c, e->pool, text);
  if (!p) print_error("%s\n", nw_error(e->c)->message);
  assert_non_null(p);
  return p;
}

// ---- the full form

static const char *const texts[] = {
    "program empty\n",
    "program gemm\n"
    "size M >= 1\n"
    "fact M % 16 == 0\n"
    "input A: f32[M, 1024]\n"
    "input B: f32[1024, 1024]\n"
    "output C: f32[M, 1024]\n"
    "temp B_packed: f32[1024, 1024] layout [_1 // 32, _0, _1 % 32] in [32, 1024, 32]\n"
    "alloc B_packed[0..1024, 0..1024]\n"
    "for y in 0..1024:\n"
    "  for x in 0..1024:\n"
    "    block B_packed of B_packed (y = y in 0..1024, x = x in 0..1024):\n"
    "      B_packed[y, x] = B[y, x]\n"
    "parallel for i_o in 0..(M + 31) // 32:\n"
    "  for f in 0..fuse(32, 8):\n"
    "    unroll for j_i in 0..4:\n"
    "      for k in 0..1024:\n"
    "        block C of C (i = 32*i_o + f // 8 in 0..M, j = 128*(f % 8) + 32*j_i in 0..1024, reduce k = k in 0..1024)"
    " where 32*i_o + f // 8 < M:\n"
    "          init C[i, j] = 0.0\n"
    "          C[i, j] += A[i, k]*B_packed[k, j]\n",
    "program arg\n"
    "input A: f64[8, 9]\n"
    "output V: f64[8]\n"
    "output I: i64[8]\n"
    "for i in 0..8:\n"
    "  init block V_init of V (i = i in 0..8):\n"
    "    V[i] = f64(inf)\n"
    "    I[i] = -1\n"
    "  for k in 2..9:\n"
    "    block V of V (i = i in 0..8, reduce k = k in 2..9):\n"
    "      init V[i] = f64(inf) elsewhere\n"
    "      V[i] argmin= A[i, k]\n"
    "      init I[i] = -1 elsewhere\n"
    "      I[i] argmin= k\n",
    "program calls\n"
    "input A: i32[8, 4]\n"
    "output C: i32[8]\n"
    "for i in 0..8:\n"
    "  call \"sum:1c9a2f07\":\n"
    "    for k in 0..4:\n"
    "      block C of C (i = i in 0..8, reduce k = k in 0..4):\n"
    "        init C[i] = i32(0)\n"
    "        C[i] += A[i, k]\n"
    "call \"copy:2\" (A[4; 1, 4], C[0; 1], C[0]):\n"
    "  C[0] = A[4]\n",
    "program units\n"
    "output C: f32[8]\n"
    "for i_o in 0..2:\n"
    "  if i_o < 2:\n"
    "    unit C_o:\n"
    "      for i_i in 0..4:\n"
    "        unit C_o.i:\n"
    "          block C of C (i = 4*i_o + i_i in 0..8):\n"
    "            C[i] = 1.0\n",
    "program a_buffer_named_like_a_word\n"
    "output unit: f32[8]\n"
    "unit[0] = 1.0\n",
    "program scan\n"
    "input X: i8[9]\n"
    "output S: i8[4, 9]\n"
    "temp s: bool[] shared\n"
    "for t in 1..4:\n"
    "  alloc s[]:\n"
    "    block s of s ():\n"
    "      s[] = X[0] == i8(0)\n"
    "    for i in t..2*t:\n"
    "      block S of S (ordered t = t in 1..4, i = i in 0..9) where i < 9:\n"
    "        S[t, i] = select(s[], S[t - 1, i], max(X[i], i8(-3)))\n",
    "program lowered\n"
    "size n >= 0\n"
    "input x: f32[n]\n"
    "output y: f32[n]\n"
    "temp acc: f32[16] local\n"
    "alloc acc[0..16]:\n"
    "  for i_o in 0..n // 16:\n"
    "    acc[ramp(0, 1, 16)] = fma(x[ramp(16*i_o, 1, 16)], broadcast(2.0, 16), broadcast(-0.5, 16))\n"
    "    y[ramp(16*i_o, 1, 16)] = acc[ramp(0, 1, 16)]\n"
    "  if not n % 16 == 0:\n"
    "    y[ramp(n // 16*16, 1, 16); ramp(n // 16*16, 1, 16) < broadcast(n, 16)] ="
    " x[ramp(n // 16*16, 1, 16); ramp(n // 16*16, 1, 16) < broadcast(n, 16)]\n",
    "program awkward\n"
    "output init: f32[4]\n"
    "output for: f32[4]\n"
    "temp block: f32[4]\n"
    "for reduce in 0..4 with note = \"a \\\"b\\\" \\\\ c\":\n"
    "  init[reduce] = 1.0\n"
    "  for[reduce] = f32(reduce)\n"
    "  seq:\n"
    "    pass\n"
    "for if in 0..4:\n"
    "  init block init of block (reduce = if in 0..4):\n"
    "    init[reduce] = 0.0\n"
    "  block block of block (ordered = if in 0..4):\n"
    "    init init[ordered] = 0.0\n"
    "    init[ordered] += 1.0\n",
    "program without_statements\n"
    "output y: f32[4]\n"
    "temp x: f32[4]\n"
    "alloc x[0..4]\n",
};

static void printed_programs_parse_back(void **state) {
  env *e = *state;
  for (int i = 0; i < NW_COUNT(texts); i++) {
    nw_program *p = parsed(e, texts[i]);
    char *text = nw_program_print(p);
    nw_program *q = parsed(e, text);
    assert_true(nw_same_program(p, q));
    char *again = nw_program_print(q);
    assert_string_equal(text, again);
    nw_program_release(q);
    nw_program_release(p);
    free(text);
    free(again);
  }
}

static void the_full_form_is_canonical(void **state) {
  for (int i = 0; i < NW_COUNT(texts); i++) {
    nw_program *p = parsed(*state, texts[i]);
    char *text = nw_program_print(p);
    if (strcmp(p->name, "lowered")) assert_string_equal(text, texts[i]);
    nw_program_release(p);
    free(text);
  }
}

static void blanks_and_comments_do_not_matter(void **state) {
  env *e = *state;
  nw_program *p = parsed(
      e, "\n# head\nprogram p # here\n\n  # inside\noutput C: f32[4]\r\nfor i in 0..4:\n\n       C[ i ]=1.0 # end");
  char *text = nw_program_print(p);
  assert_string_equal(text, "program p\noutput C: f32[4]\nfor i in 0..4:\n  C[i] = 1.0\n");
  free(text);
  nw_program_release(p);
}

// ---- errors

#define P "program p\noutput C: f32[4]\n"
static const struct {
  const char *text, *says;
} wrong[] = {
    {"", "1:1: expected 'program' on the first line, found the end of the text"},
    {"progam p\n", "1:1: expected 'program' on the first line, found 'progam'"},
    {"program and\n", "1:9: 'and' is a reserved word"},
    {"program p q\n", "1:11: expected the end of the line, found 'q'"},
    {P "output C: f32[4]\n", "3:8: there are two buffers named C"},
    {P "temp D: float[4]\n", "3:9: expected a type, found 'float'"},
    {P "temp D: f32[4] layout [_0] in [2, 2]\n", "3:23: the layout has 1 positions, but 2 extents"},
    {P "temp D: f32[4] layout [_1] in [2]\n",
     "3:1: a layout uses _1, which is not a dimension of the buffer or a size"},
    {P "temp D: f32[C[0]]\n", "3:13: this extent is f32 and must be i64"},
    {P "temp D: i64[4]\ntemp E: f32[D[0]]\n", "4:1: the shape of a buffer reads D"},
    {P "for i in 0..4\n  C[i] = 1.0\n", "3:14: expected ':' before the body, found the end of the line"},
    {P "for i in 0..4:\nC[i] = 1.0\n", "4:1: expected an indented line (or pass), found 'C'"},
    {P "for i in 0..4:\n    C[i] = 1.0\n  C[i] = 2.0\n", "5:3: the indentation of this line, 2, matches no line above"},
    {P "for i in 0..4:\n\tC[i] = 1.0\n", "4:1: expected an indented line (or pass), found a tab"},
    {P "for i in 0:\n  pass\n", "3:11: expected '..' in a range, found ':'"},
    {P "for i in 0..1.5:\n  pass\n", "3:13: this bound is f32 and must be i64"},
    {P "if 3:\n  pass\n", "3:4: this condition is i64 and must be bool"},
    {P "C[0] = D[0]\n", "3:8: D is not a buffer"},
    {P "C[0] = C[0\n", "3:11: expected ',' or ']' in the indices, found the end of the line"},
    {P "C[0] = foo(1)\n", "3:8: there is no function named foo"},
    {P "C[0] = max(1.0)\n", "3:8: max takes 2 arguments, not 1"},
    {P "C[0] = 1.0 +\n", "3:13: expected an expression, found the end of the line"},
    {P "C[0] = (1.0\n", "3:12: expected ')' to close the parenthesis, found the end of the line"},
    {P "C[0] = broadcast(1.0, 4) + 1.0\n", "3:26: the operands have 4 and 1 lanes"},
    {P "C[0] = f32(99999999999999999999)\n", NULL},
    {P "C[99999999999999999999] = 1.0\n", "3:3: this number does not fit into 64 bits"},
    {P "C[i] = 1.0\n", "3:1: an index uses i, which is not an enclosing loop or a size"},
    {P "C[0] = 1\n", "3:1: a value is i64 with 1 lanes, but must be f32 with 1"},
    {P "for i in 0..4:\n  for i in 0..4:\n    pass\n", "4:1: there are two loops or sizes named i"},
    {P "unit T:\n  C[0] = 1.0\nunit T:\n  C[1] = 1.0\n", "5:1: there are two units named T"},
    {P "unit T:\n  pass\n", "3:1: the unit T is empty"},
    {P "unit:\n  C[0] = 1.0\n", "3:5: expected the name of a unit, found ':'"},
    {P "block C of C (i = 0 in 0..4):\n  C[i] ?= 1.0\n",
     "4:8: expected an assignment: =, +=, *=, min=, max=, argmin=, argmax=, or that of a reducer, found "
     "'?'"},
    {P "reducer R (x: f32 from 0.0) = a0 + b0\nreducer R (y: f32 from 0.0) = a0 + b0\n",
     "4:9: the reducer R is there already"},
    {P "reducer R (x: f32 from 0.0) = a0 + c\n", "3:36: c is not a component of the two states, a0, b0 and so on"},
    {P "reducer R (x: f32 from 0.0) = a0 + C[0]\n", "3:31: a reducer reads no tensors"},
    {P "reducer R () = 0.0\n", "3:9: a reducer has at least one component"},
    {P "reducer R (x: f32 from 0.0) = a0 + b0\nblock C of C (i = 0 in 0..4):\n  C[i] R= 1.0\n  C[i] R= 1.0\n",
     "4:1: block C has 2 targets, but its reduction has 1"},
    {P "block C of C (i = 0 in 0..4):\n  init C[0] = 0.0\n  C[i] += 1.0\n",
     "4:3: an init must set the element that the next line updates"},
    {P "block C of C (i = 0 in 0..4):\n  init C[i] = 0.0\n  C[i] = 1.0\n",
     "3:1: block C has an init but is not a reduction"},
    {P "fuse\n", "3:5: expected '[' after the buffer, found the end of the line"},
};

static void errors_say_where_and_what(void **state) {
  env *e = *state;
  for (int i = 0; i < NW_COUNT(wrong); i++) {
    nw_program *p = nw_program_parse(e->c, e->pool, wrong[i].text);
    if (wrong[i].says) {
      if (p) print_error("accepted:\n%s", wrong[i].text);
      assert_null(p);
      assert_int_equal(nw_error(e->c)->code, NW_EPARSE);
      assert_string_equal(nw_error(e->c)->message, wrong[i].says);
    }
    nw_program_release(p);
    nw_clear(e->c);
  }
}

static char *repeated(const char *head, const char *text, int n, const char *tail) {
  nw_str b = {0};
  nw_str_add(&b, head);
  for (int i = 0; i < n; i++) nw_str_add(&b, text);
  nw_str_add(&b, tail);
  return nw_str_take(&b);
}

static void depth_and_length_have_limits(void **state) {
  env *e = *state;
  char *bad[] = {
      repeated(P "C[0] = ", "(", 100000, "1.0\n"),
      repeated(P "C[0] = ", "-", 100000, "C[0]\n"),
      repeated(P "C[0] = 1.0", " + C[0]", 100000, "\n"),
      repeated(P "C[0] = 1.0", " + max(1.0, C[0]", 100000, "\n"),
      repeated(P "C[0] = C[", "0, ", 100000, "0]\n"),
      repeated(P "block C of C (", "i = 0 in 0..1, ", 100000, "):\n"),
      repeated(P "temp D: f32[", "1, ", 100000, "1]\n"),
      repeated("program ", "p", 100000, "\n"),
      repeated("program p\n", "fact true\n", 100000, "\n"),
  };
  for (int i = 0; i < NW_COUNT(bad); i++) {
    assert_null(nw_program_parse(e->c, e->pool, bad[i]));
    assert_int_equal(nw_error(e->c)->code, NW_ELIMIT);
    nw_clear(e->c);
    free(bad[i]);
  }
}

static void nesting_has_a_limit(void **state) {
  env *e = *state;
  for (int depth = 60; depth < 70; depth++) {
    nw_str b = {0};
    nw_str_add(&b, P);
    for (int i = 0; i < depth; i++) nw_str_indent(&b, i), nw_str_fmt(&b, "for i_%d in 0..1:\n", i);
    nw_str_indent(&b, depth), nw_str_add(&b, "C[0] = 1.0\n");
    nw_program *p = nw_program_parse(e->c, e->pool, b.s);
    assert_int_equal(p != NULL, depth < 63);
    nw_program_release(p);
    nw_clear(e->c);
    nw_str_free(&b);
  }
}

static void an_expression_parses_alone(void **state) {
  env *e = *state;
  assert_ptr_equal(nw_expr_parse(e->pool, "_1 // 32"),
                   nw_floordiv(e->pool, nw_var(e->pool, "_1"), nw_index(e->pool, 32)));
  assert_ptr_equal(nw_expr_parse(e->pool, "4 > x"), nw_expr_parse(e->pool, "x < 4"));
  assert_ptr_equal(nw_expr_parse(e->pool, "-9223372036854775808"), nw_index(e->pool, INT64_MIN));
  assert_null(nw_expr_parse(e->pool, "x + "));
  assert_string_equal(nw_error(e->c)->message, "1:5: expected an expression, found the end of the text");
  nw_clear(e->c);
  assert_null(nw_expr_parse(e->pool, "x y"));
  nw_clear(e->c);
  assert_null(nw_expr_parse(e->pool, "A[0]"));
}

static void parsing_a_sum_gives_the_expression_that_building_it_gives(void **state) {
  nw_pool *p = ((env *)*state)->pool;
  const nw_expr *a = nw_var(p, "a"), *b = nw_var(p, "b");
  assert_ptr_equal(nw_expr_parse(p, "b - a + 3 - (a - 1)"),
                   nw_add(p, nw_sub(p, b, nw_mul(p, nw_index(p, 2), a)), nw_index(p, 4)));
  assert_ptr_equal(nw_expr_parse(p, "a - a"), nw_index(p, 0));
  assert_ptr_equal(nw_expr_parse(p, "i32(a) + b + 1.5"), nw_expr_parse(p, "(i32(a) + b) + 1.5"));
  char *text = repeated("x", " + a_1 - a_2", 450, "");
  assert_non_null(nw_expr_parse(p, text));
  free(text);
}

// ---- the short form

static void assert_shown(const nw_program *p, const nw_show_opts *o, const char *want) {
  char *text = nw_program_show(p, o);
  assert_string_equal(text, want);
  free(text);
}

static const char tiled[] =
    "program gemm\n"
    "input A: f32[1000, 64]\n"
    "output C: f32[1000, 64]\n"
    "temp L: f32[1000, 64] local\n"
    "for i_o in 0..32:\n"
    "  alloc L[32*i_o..32*i_o + 32, 0..64]:\n"
    "    parallel for i_i in 0..32:\n"
    "      for k_o in 0..8:\n"
    "        for k_i in 0..8:\n"
    "          block L of L (i = 32*i_o + i_i in 0..1000, reduce k = 8*k_o + k_i in 0..64) where 32*i_o + i_i < 1000:\n"
    "            init L[i, 0] = 0.0\n"
    "            L[i, 0] += A[i, k]\n"
    "    for w in 0..32:\n"
    "      block C.w of C (i = 32*i_o + w in 0..1000) where i_o < 32:\n"
    "        C[i, 0] = L[i, 0]\n";

static void the_short_form_has_loop_variables_as_indices(void **state) {
  nw_program *p = parsed(*state, tiled);
  assert_shown(p, NULL,
               "for i_o in 0..32:\n"
               "  alloc L[32, 64] local\n"
               "  parallel for i_i in 0..32:\n"
               "    for k_o in 0..8:\n"
               "      for k_i in 0..8:\n"
               "        if 32*i_o + i_i < 1000:\n"
               "          L[32*i_o + i_i, 0] += A[32*i_o + i_i, 8*k_o + k_i]  # from 0 at the first k_o, k_i\n"
               "  for w in 0..32:\n"
               "    C[32*i_o + w, 0] = L[32*i_o + w, 0]  # C.w\n");
  nw_program_release(p);
}

static void remarks_are_aligned_in_a_column(void **state) {
  nw_program *p = parsed(*state, tiled);
  int mark[] = {nw_find_loop(p, "i_o")->id, nw_find_loop(p, "k_o")->id};
  const char *remark[] = {"here", "carries the dependence, distance 1"};
  assert_shown(p, &(nw_show_opts){.nmarks = 2, .mark = mark, .remark = remark, .only_marked = true},
               "for i_o in 0..32:      <- here\n"
               "  alloc L[32, 64] local\n"
               "  parallel for i_i in 0..32:\n"
               "    for k_o in 0..8:   <- carries the dependence, distance 1\n"
               "      ...\n"
               "  ...\n");
  nw_program_release(p);
}

static void changes_are_marked(void **state) {
  nw_program *p = parsed(*state, tiled), *q = nw_program_clone(p);
  nw_find_loop(q, "w")->loop.mark = NW_VECTORIZED;
  nw_find_loop(q, "w")->step = q->step;
  nw_program_freeze(q);
  char *text = nw_program_show(q, &(nw_show_opts){.changed_since = 1});
  assert_non_null(strstr(text, "\n+   vectorize for w in 0..32:\n      C["));
  assert_int_equal(strncmp(text, "  for i_o", 9), 0);
  free(text);
  nw_program_release(q);
  nw_program_release(p);
}

static void styles_mark_the_same_text(void **state) {
  nw_program *p = parsed(*state, tiled);
  char *ansi = nw_program_show(p, &(nw_show_opts){.style = NW_TEXT_ANSI});
  char *html = nw_program_show(p, &(nw_show_opts){.style = NW_TEXT_HTML});
  assert_non_null(strstr(ansi, "\033[34mfor \033[0m\033[1mi_o\033[0m"));
  assert_non_null(strstr(html, "<span class=\"nw-keyword\">if </span>32*i_o + i_i &lt; 1000:"));
  assert_null(strstr(html, " < "));
  free(ansi);
  free(html);
  nw_program_release(p);
}

static void long_indices_are_abbreviated(void **state) {
  nw_program *p = parsed(
      *state, "program p\ninput A: f32[9, 9]\noutput C: f32[9, 9]\n"
              "for first_loop in 0..3:\n  for second_loop in 0..3:\n"
              "    block C of C (i = 3*first_loop + second_loop in 0..9, j = min(first_loop, second_loop) in 0..9):\n"
              "      C[i, j] = A[i, j]*A[i, i]*A[j, j]*A[0, 0]\n");
  assert_shown(p, NULL,
               "for first_loop in 0..3:\n  for second_loop in 0..3:\n"
               "    C[3*first_loop + ..., min(first_loop, second_loop)] = "
               "A[3*first_loop + ..., min(first_loop, second_loop)]*A[3*first_loop + ..., 3*first_loop + "
               "...]*A[min(first_loop, second_loop), min(first_loop, second_loop)]*A[0, 0]\n");
  nw_program_release(p);
}

static void abbreviated_indices_stay_distinct(void **state) {
  nw_program *p =
      parsed(*state, "program p\ninput A: f32[99]\noutput C: f32[99]\n"
                     "for first_loop in 0..3:\n  for second_loop in 0..3:\n"
                     "    block C of C (i = 9*first_loop + 3*second_loop + 9 in 0..99):\n"
                     "      C[i] = A[i - 1]*0.25 + A[i]*0.5 + A[max(i - 2, 9)]*0.25 + A[max(i - 3, 9)]*0.25\n");
  assert_shown(p, NULL,
               "for first_loop in 0..3:\n  for second_loop in 0..3:\n"
               "    C[9*first_loop + ... + 9] = A[9*first_loop + ... + 8]*0.25 + A[9*first_loop + ... + 9]*0.5 + "
               "A[max(9*first_loop + ... + 7, 9)]*0.25 + A[max(9*first_loop + ... + 6, 9)]*0.25\n");
  nw_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      TEST(printed_programs_parse_back),
      TEST(the_full_form_is_canonical),
      TEST(blanks_and_comments_do_not_matter),
      TEST(errors_say_where_and_what),
      TEST(depth_and_length_have_limits),
      TEST(nesting_has_a_limit),
      TEST(an_expression_parses_alone),
      TEST(parsing_a_sum_gives_the_expression_that_building_it_gives),
      TEST(the_short_form_has_loop_variables_as_indices),
      TEST(remarks_are_aligned_in_a_column),
      TEST(changes_are_marked),
      TEST(styles_mark_the_same_text),
      TEST(long_indices_are_abbreviated),
      TEST(abbreviated_indices_stay_distinct),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
