// Tests the GEMM tutorial, from naive to packed, tiled and parallel. Every step must be legal, and must be checked
// quickly.
#include "judging.h"

// Returns a program of the tutorial as text, with the given sizes.
static char *text(const char *sizes, const char *m, const char *n, const char *k, const char *body) {
  nw_str s = {0};
  nw_str_fmt(&s, "program gemm\n%sinput A: f32[%s, %s]\ninput B: f32[%s, %s]\noutput C: f32[%s, %s]\n", sizes, m, k, k,
             n, m, n);
  nw_str_add(&s, body);
  return nw_str_take(&s);
}

static char *with(const char *form, const char *m, const char *n, const char *k) {
  nw_str s = {0};
  for (; *form; form++) {
    if (*form == '$') {
      form++;
      nw_str_add(&s, *form == 'M' ? m : *form == 'N' ? n : k);
    } else {
      nw_str_addn(&s, form, 1);
    }
  }
  return nw_str_take(&s);
}

typedef struct step {
  const char *what;
  char question;
  const char *temps, *body;
} step;

#define BODY(i, j, k, where)                                                                                           \
  "block C of C (i = " i " in 0..$M, j = " j " in 0..$N, reduce k = " k " in 0..$K)" where ":\n"
#define WORK "init C[i, j] = 0.0\n"

static const step walk[] = {
    {"naive", 0, "",
     "for i in 0..$M:\n"
     "  for j in 0..$N:\n"
     "    for k in 0..$K:\n"
     "      block C of C (i = i in 0..$M, j = j in 0..$N, reduce k = k in 0..$K):\n"
     "        init C[i, j] = 0.0\n"
     "        C[i, j] += A[i, k]*B[k, j]\n"},
    {"split i", 'o', "",
     "for i_o in 0..($M + 31) // 32:\n"
     "  for i_i in 0..32:\n"
     "    for j in 0..$N:\n"
     "      for k in 0..$K:\n"
     "        block C of C (i = 32*i_o + i_i in 0..$M, j = j in 0..$N, reduce k = k in 0..$K) where 32*i_o + i_i < "
     "$M:\n"
     "          init C[i, j] = 0.0\n"
     "          C[i, j] += A[i, k]*B[k, j]\n"},
    {"tile", 'o', "",
     "for i_o in 0..($M + 31) // 32:\n"
     "  for j_o in 0..($N + 31) // 32:\n"
     "    for i_i in 0..32:\n"
     "      for j_i in 0..32:\n"
     "        for k in 0..$K:\n"
     "          block C of C (i = 32*i_o + i_i in 0..$M, j = 32*j_o + j_i in 0..$N, reduce k = k in 0..$K) where "
     "32*i_o + i_i < $M and 32*j_o + j_i < $N:\n"
     "            init C[i, j] = 0.0\n"
     "            C[i, j] += A[i, k]*B[k, j]\n"},
    {"split k, reorder", 'o', "",
     "for i_o in 0..($M + 31) // 32:\n"
     "  for j_o in 0..($N + 31) // 32:\n"
     "    for k_o in 0..($K + 3) // 4:\n"
     "      for i_i in 0..32:\n"
     "        for k_i in 0..4:\n"
     "          for j_i in 0..32:\n"
     "            block C of C (i = 32*i_o + i_i in 0..$M, j = 32*j_o + j_i in 0..$N, reduce k = 4*k_o + k_i in 0..$K) "
     "where 32*i_o + i_i < $M and 32*j_o + j_i < $N and 4*k_o + k_i < $K:\n"
     "              init C[i, j] = 0.0\n"
     "              C[i, j] += A[i, k]*B[k, j]\n"},
    {"vectorize", 'm', "",
     "for i_o in 0..($M + 31) // 32:\n"
     "  for j_o in 0..($N + 31) // 32:\n"
     "    for k_o in 0..($K + 3) // 4:\n"
     "      for i_i in 0..32:\n"
     "        for k_i in 0..4:\n"
     "          vectorize for j_i in 0..32:\n"
     "            block C of C (i = 32*i_o + i_i in 0..$M, j = 32*j_o + j_i in 0..$N, reduce k = 4*k_o + k_i in 0..$K) "
     "where 32*i_o + i_i < $M and 32*j_o + j_i < $N and 4*k_o + k_i < $K:\n"
     "              init C[i, j] = 0.0\n"
     "              C[i, j] += A[i, k]*B[k, j]\n"},
    {"pack B", 'v', "temp P: f32[$K, $N] layout [_1 // 32, _0, _1 % 32] in [($N + 31) // 32, $K, 32]\n",
     "alloc P[0..$K, 0..$N]:\n"
     "  for y in 0..$K:\n"
     "    for x in 0..$N:\n"
     "      block P of P (y = y in 0..$K, x = x in 0..$N):\n"
     "        P[y, x] = B[y, x]\n"
     "  for i_o in 0..($M + 31) // 32:\n"
     "    for j_o in 0..($N + 31) // 32:\n"
     "      for k_o in 0..($K + 3) // 4:\n"
     "        for i_i in 0..32:\n"
     "          for k_i in 0..4:\n"
     "            vectorize for j_i in 0..32:\n"
     "              block C of C (i = 32*i_o + i_i in 0..$M, j = 32*j_o + j_i in 0..$N, reduce k = 4*k_o + k_i in "
     "0..$K) where 32*i_o + i_i < $M and 32*j_o + j_i < $N and 4*k_o + k_i < $K:\n"
     "                init C[i, j] = 0.0\n"
     "                C[i, j] += A[i, k]*P[k, j]\n"},
    {"cache write", 'v',
     "temp P: f32[$K, $N] layout [_1 // 32, _0, _1 % 32] in [($N + 31) // 32, $K, 32]\ntemp L: f32[$M, $N] local\n",
     "alloc P[0..$K, 0..$N]:\n"
     "  for y in 0..$K:\n"
     "    for x in 0..$N:\n"
     "      block P of P (y = y in 0..$K, x = x in 0..$N):\n"
     "        P[y, x] = B[y, x]\n"
     "  for i_o in 0..($M + 31) // 32:\n"
     "    for j_o in 0..($N + 31) // 32:\n"
     "      alloc L[32*i_o..32*i_o + 32, 32*j_o..32*j_o + 32]:\n"
     "        for k_o in 0..($K + 3) // 4:\n"
     "          for i_i in 0..32:\n"
     "            for k_i in 0..4:\n"
     "              vectorize for j_i in 0..32:\n"
     "                block C of C (i = 32*i_o + i_i in 0..$M, j = 32*j_o + j_i in 0..$N, reduce k = 4*k_o + k_i in "
     "0..$K) where 32*i_o + i_i < $M and 32*j_o + j_i < $N and 4*k_o + k_i < $K:\n"
     "                  init L[i, j] = 0.0\n"
     "                  L[i, j] += A[i, k]*P[k, j]\n"
     "        for a in 0..32:\n"
     "          for b in 0..32:\n"
     "            block W of W (i = 32*i_o + a in 0..$M, j = 32*j_o + b in 0..$N) where 32*i_o + a < $M and 32*j_o + b "
     "< $N:\n"
     "              C[i, j] = L[i, j]\n"},
    {"register tile", 'o',
     "temp P: f32[$K, $N] layout [_1 // 32, _0, _1 % 32] in [($N + 31) // 32, $K, 32]\ntemp L: f32[$M, $N] local\n",
     "alloc P[0..$K, 0..$N]:\n"
     "  for y in 0..$K:\n"
     "    for x_o in 0..($N + 31) // 32:\n"
     "      for x_i in 0..32:\n"
     "        block P of P (y = y in 0..$K, x = 32*x_o + x_i in 0..$N) where 32*x_o + x_i < $N:\n"
     "          P[y, x] = B[y, x]\n"
     "  for i_o in 0..($M + 31) // 32:\n"
     "    for j_o in 0..($N + 31) // 32:\n"
     "      alloc L[32*i_o..32*i_o + 32, 32*j_o..32*j_o + 32]:\n"
     "        for k_o in 0..($K + 3) // 4:\n"
     "          for i_i_o in 0..4:\n"
     "            for k_i in 0..4:\n"
     "              unroll for i_i_i in 0..8:\n"
     "                vectorize for j_i in 0..32:\n"
     "                  block C of C (i = 32*i_o + 8*i_i_o + i_i_i in 0..$M, j = 32*j_o + j_i in 0..$N, reduce k = "
     "4*k_o + k_i in 0..$K) where 32*i_o + 8*i_i_o + i_i_i < $M and 32*j_o + j_i < $N and 4*k_o + k_i < $K:\n"
     "                    init L[i, j] = 0.0\n"
     "                    L[i, j] += A[i, k]*P[k, j]\n"
     "        for a in 0..32:\n"
     "          vectorize for b in 0..32:\n"
     "            block W of W (i = 32*i_o + a in 0..$M, j = 32*j_o + b in 0..$N) where 32*i_o + a < $M and 32*j_o + b "
     "< $N:\n"
     "              C[i, j] = L[i, j]\n"},
    {"parallel", 'm',
     "temp P: f32[$K, $N] layout [_1 // 32, _0, _1 % 32] in [($N + 31) // 32, $K, 32]\ntemp L: f32[$M, $N] local\n",
     "alloc P[0..$K, 0..$N]:\n"
     "  parallel for y in 0..$K:\n"
     "    for x_o in 0..($N + 31) // 32:\n"
     "      vectorize for x_i in 0..32:\n"
     "        block P of P (y = y in 0..$K, x = 32*x_o + x_i in 0..$N) where 32*x_o + x_i < $N:\n"
     "          P[y, x] = B[y, x]\n"
     "  parallel for i_o in 0..($M + 31) // 32:\n"
     "    for j_o in 0..($N + 31) // 32:\n"
     "      alloc L[32*i_o..32*i_o + 32, 32*j_o..32*j_o + 32]:\n"
     "        for k_o in 0..($K + 3) // 4:\n"
     "          for i_i_o in 0..4:\n"
     "            for k_i in 0..4:\n"
     "              unroll for i_i_i in 0..8:\n"
     "                vectorize for j_i in 0..32:\n"
     "                  block C of C (i = 32*i_o + 8*i_i_o + i_i_i in 0..$M, j = 32*j_o + j_i in 0..$N, reduce k = "
     "4*k_o + k_i in 0..$K) where 32*i_o + 8*i_i_o + i_i_i < $M and 32*j_o + j_i < $N and 4*k_o + k_i < $K:\n"
     "                    init L[i, j] = 0.0\n"
     "                    L[i, j] += A[i, k]*P[k, j]\n"
     "        for a in 0..32:\n"
     "          vectorize for b in 0..32:\n"
     "            block W of W (i = 32*i_o + a in 0..$M, j = 32*j_o + b in 0..$N) where 32*i_o + a < $M and 32*j_o + b "
     "< $N:\n"
     "              C[i, j] = L[i, j]\n"},
};

static void walk_with(env *e, const char *sizes, const char *m, const char *n, const char *k) {
  nw_program *before = NULL;
  for (int i = 0; i < NW_COUNT(walk); i++) {
    nw_str form = {0};
    nw_str_fmt(&form, "%s%s", walk[i].temps, walk[i].body);
    char *body = with(form.s, m, n, k), *whole = text(sizes, m, n, k, body);
    nw_program *p = parsed(e, whole);
    double t = now_ms();
    bool fine = before ? nw_judge(before, p) : nw_judge_first(p);
    t = now_ms() - t;
    print_message("  %-18s %c %7.2f ms\n", walk[i].what, nw_judge_question(e->c), t);
    if (!fine) {
      print_refusal(e->c);
      fail_msg("refused: %s", walk[i].what);
    }
    if (walk[i].question) assert_int_equal(nw_judge_question(e->c), walk[i].question);
    free(body);
    free(whole);
    nw_str_free(&form);
    nw_program_release(before);
    before = p;
  }
  nw_program_release(before);
}

static void constant(void **state) { walk_with(*state, "", "1024", "1024", "1024"); }
static void awkward(void **state) { walk_with(*state, "", "1031", "517", "1021"); }
static void symbolic(void **state) { walk_with(*state, "size M >= 1\nsize N >= 1\nsize K >= 1\n", "M", "N", "K"); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(constant, setup, teardown),
      cmocka_unit_test_setup_teardown(awkward, setup, teardown),
      cmocka_unit_test_setup_teardown(symbolic, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
