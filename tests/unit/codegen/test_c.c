// Tests the text of generated C: names, constants, parentheses, conversions, checks of sizes, and whole files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "codegen/c/c.h"
#include "ir/expr/fold.h"
#include "lower/lower.h"

static const char program_text[] = "program scale\n"
                                   "size M >= 2\n"
                                   "fact M % 2 == 0\n"
                                   "input A: f32[M, 8]\n"
                                   "output for: f32[M, 8]\n"
                                   "parallel for i in 0..M:\n"
                                   "  for j in 0..8:\n"
                                   "    block for of for (i = i in 0..M, j = j in 0..8):\n"
                                   "      for[i, j] = A[i, j]*2.0\n";

typedef struct writing {
  nw_ctx *c;
  nw_pool *pool;
  nw_program *p;
  nw_exec *e;
  nwt g;
} writing;

static int begin(void **state) {
  writing *w = *state = nw_xcalloc(1, sizeof *w);
  w->c = nw_open();
  w->pool = nw_pool_new(w->c);
  w->p = nw_program_parse(w->c, w->pool, program_text);
  w->e = w->p ? nw_lower_loops(w->p) : NULL;
  if (!w->e) return print_error("%s\n", nw_error(w->c)->message), -1;
  nwt_begin(&w->g, w->e, NULL);
  return 0;
}

static int end(void **state) {
  writing *w = *state;
  nwt_end(&w->g);
  nw_exec_release(w->e);
  nw_program_release(w->p);
  nw_pool_release(w->pool);
  nw_close(w->c);
  free(w);
  return 0;
}

static void writes(writing *w, const nw_expr *e, const char *text) {
  w->g.out.n = 0;
  nwt_expr(&w->g, e);
  assert_string_equal(w->g.out.s, text);
}

// ---- names

static void names_are_one_to_one(void **state) {
  nwt *g = &((writing *)*state)->g;
  assert_string_equal(nwt_name(g, "a.b"), "a_b");
  assert_string_equal(nwt_name(g, "a_b"), "a_b_1");
  assert_string_equal(nwt_name(g, "a/b"), "a_b_2");
  assert_string_equal(nwt_name(g, "a.b"), "a_b");
  assert_string_equal(nwt_name(g, "a_b_1"), "a_b_1_1");
}

// No generated name may be a keyword of C, or a name that <math.h>, the runtime or the file itself declares.
static void names_of_c_are_not_used(void **state) {
  nwt *g = &((writing *)*state)->g;
  const char *const taken[] = {"for",  "double",   "restrict",           "exp",      "expf",   "y0",
                               "NAN",  "nw_x",     "omp_get_thread_num", "memcpy",   "NULL",   "INT64_MAX",
                               "M_PI", "RAND_MAX", "EXIT_SUCCESS",       "HUGE_VAL", "size_t", "int64_t"};
  for (int i = 0; i < NW_COUNT(taken); i++) {
    char want[40];
    snprintf(want, sizeof want, "%s_1", taken[i]);
    if (i < 7 || !strcmp(taken[i], "memcpy")) assert_string_equal(nwt_name(g, taken[i]), want);
    assert_string_not_equal(nwt_name(g, taken[i]), taken[i]);
  }
}

// ---- constants

static void integers(void **state) {
  writing *w = *state;
  writes(w, nw_int(w->pool, NW_I32, 7), "7");
  writes(w, nw_int(w->pool, NW_I32, INT32_MIN), "INT32_MIN");
  writes(w, nw_int(w->pool, NW_I64, INT64_MIN), "INT64_MIN");
  writes(w, nw_int(w->pool, NW_I64, INT64_C(1) << 40), "INT64_C(1099511627776)");
  writes(w, nw_int(w->pool, NW_U32, UINT32_MAX), "4294967295u");
}

static void floats(void **state) {
  writing *w = *state;
  writes(w, nw_float(w->pool, NW_F32, 2), "2.0f");
  writes(w, nw_float(w->pool, NW_F64, 0.1), "0.10000000000000001");
  writes(w, nw_float(w->pool, NW_F32, 1e30), "1.00000002e+30f");
  writes(w, nw_float(w->pool, NW_F32, -0.0), "-0.0f");
  writes(w, nw_float(w->pool, NW_F64, -INFINITY), "-INFINITY");
  writes(w, nw_float(w->pool, NW_F32, NAN), "NAN");
}

// ---- operators

static const nw_expr *two(writing *w, nw_op op, const nw_expr *a, const nw_expr *b) {
  return nw_raw(w->pool, op, a->type, 2, (const nw_expr *[]){a, b});
}

// Floats are not reassociated: a + (b + c) keeps its parentheses, but (a + b) + c needs no parentheses.
static void operands_keep_their_order(void **state) {
  writing *w = *state;
  const nw_expr *x[3];
  const char *const name[] = {"x", "y", "z"};
  const nw_expr *zero = nw_index(w->pool, 0);
  for (int i = 0; i < 3; i++) x[i] = nw_load(w->pool, (nw_type){NW_F32, 1}, name[i], 1, &zero);
  writes(w, two(w, NW_OP_ADD, two(w, NW_OP_ADD, x[0], x[1]), x[2]), "x[0] + y[0] + z[0]");
  writes(w, two(w, NW_OP_ADD, x[0], two(w, NW_OP_ADD, x[1], x[2])), "x[0] + (y[0] + z[0])");
  writes(w, two(w, NW_OP_SUB, x[0], two(w, NW_OP_SUB, x[1], x[2])), "x[0] - (y[0] - z[0])");
  writes(w, two(w, NW_OP_MUL, two(w, NW_OP_ADD, x[0], x[1]), x[2]), "(x[0] + y[0]) * z[0]");
  writes(w, two(w, NW_OP_DIV, x[0], two(w, NW_OP_MUL, x[1], x[2])), "x[0] / (y[0] * z[0])");
  const nw_expr *less = nw_raw(w->pool, NW_OP_LT, (nw_type){NW_BOOL, 1}, 2, (const nw_expr *[]){x[0], x[1]});
  const nw_expr *chosen = nw_raw(w->pool, NW_OP_SELECT, x[0]->type, 3, (const nw_expr *[]){less, x[1], x[2]});
  writes(w, two(w, NW_OP_MUL, chosen, x[0]), "(x[0] < y[0] ? y[0] : z[0]) * x[0]");
}

// Arithmetic on signed data wraps. In C, signed overflow is undefined, so these operations are written with unsigned
// types. Index arithmetic does not overflow, so it is written without casts.
static void integers_wrap(void **state) {
  writing *w = *state;
  const nw_expr *zero = nw_index(w->pool, 0), *i = nw_load(w->pool, (nw_type){NW_I32, 1}, "x", 1, &zero);
  const nw_expr *u = nw_load(w->pool, (nw_type){NW_U32, 1}, "u", 1, &zero), *n = nw_var(w->pool, "n");
  writes(w, two(w, NW_OP_ADD, i, i), "(int32_t)((uint32_t)x[0] + (uint32_t)x[0])");
  writes(w, two(w, NW_OP_MUL, u, u), "u[0] * u[0]");
  writes(w, two(w, NW_OP_ADD, n, nw_index(w->pool, -3)), "n - 3");
}

// Division rounds down. If neither operand can be negative, the code uses the division of C. Otherwise it calls a
// helper function, which is written into the file.
static void quotients_round_down(void **state) {
  writing *w = *state;
  const nw_expr *size = nw_var(w->pool, "M"), *any = nw_var(w->pool, "n"), *four = nw_index(w->pool, 4);
  writes(w, two(w, NW_OP_FLOORDIV, size, four), "M / 4");
  writes(w, two(w, NW_OP_FLOORMOD, size, four), "M % 4");
  char room[32];
  const char *helper = nwt_call(&w->g, NWT_FLOORDIV, NW_I64, room, sizeof room);
  char want[64];
  snprintf(want, sizeof want, "%s(n, 4)", helper);
  writes(w, two(w, NW_OP_FLOORDIV, any, four), want);
  nw_str helpers = {0};
  nwt_helpers(&w->g, &helpers);
  assert_non_null(strstr(helpers.s, helper));
  nw_str_free(&helpers);
}

// ---- whole files

static bool has(const char *text, const char *part) { return strstr(text, part) != NULL; }

static void a_file_checks_sizes_and_facts(void **state) {
  writing *w = *state;
  char *text = nw_program_c(w->c, w->p);
  assert_non_null(text);
  const char *const parts[] = {"#pragma omp parallel for", "for_1",
                               "if (!(2 <= M)) return 2;", "if (!(M % 2 == 0)) return 2;",
                               "float *restrict for_1",    "const float *restrict A"};
  for (int i = 0; i < NW_COUNT(parts); i++)
    if (!has(text, parts[i])) fail_msg("no '%s' in\n%s", parts[i], text);
  free(text);
}

static void an_expression_without_a_form_in_c_is_an_error(void **state) {
  writing *w = *state;
  const nw_expr *zero = nw_index(w->pool, 0);
  const nw_expr *masked =
      nw_load(w->pool, (nw_type){NW_F32, 1}, "x", 2, (const nw_expr *[]){zero, nw_int(w->pool, NW_BOOL, 1)});
  nwt_expr(&w->g, masked);
  assert_true(w->g.failed);
  assert_non_null(strstr(nw_error(w->c)->message, "a masked load of x cannot be written in C"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {T(names_are_one_to_one),
                                     T(names_of_c_are_not_used),
                                     T(integers),
                                     T(floats),
                                     T(operands_keep_their_order),
                                     T(integers_wrap),
                                     T(quotients_round_down),
                                     T(a_file_checks_sizes_and_facts),
                                     T(an_expression_without_a_form_in_c_is_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
