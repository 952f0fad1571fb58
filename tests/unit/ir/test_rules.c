// Tests every row of rules.def: with values for the letters, the constructors must turn the pattern into the
// replacement.
#include "ir/program/program.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct {
  const char *kind, *from, *to, *where;
} rows[] = {
#define NW_RULE(kind, from, to, where) {kind, from, to, where},
#include "ir/expr/rules.def"
#undef NW_RULE
};

static const char letters[] = "xyzwcd";
static const char *const numbers[] = {"a", "b", "c", "e"};
static const char *const floats[] = {"f32(a)", "f32(b)", "f32(c)", "f32(e)"};
static const char *const data[] = {"i64(f32(a))", "i64(f32(b))", "i64(f32(c))", "i64(f32(e))"};
static const char *const bools[] = {"(f32(a) < f32(b))", "(f32(b) < f32(c))", "(f32(c) < f32(e))", "(f32(e) < f32(a))"};

// Replaces the letters of a text by values. The values of the constants are `c` and `d`.
static char *spell(const char *s, const char *const *by, const char *x, int c, int d) {
  nw_str out = {0};
  for (const char *p = s; *p; p++) {
    bool alone = !(p > s && isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[1]);
    const char *at = alone ? strchr(letters, *p) : NULL;
    if (!at)
      nw_str_addn(&out, p, 1);
    else if (*at == 'c')
      nw_str_fmt(&out, "%d", c);
    else if (*at == 'd')
      nw_str_fmt(&out, "%d", d);
    else
      nw_str_add(&out, *at == 'x' && x ? x : by[at - letters]);
  }
  return nw_str_take(&out);
}

static const nw_expr *read_row(nw_pool *p, const char *s, const char *const *by, const char *x, int c, int d) {
  char *text = spell(s, by, x, c, d);
  const nw_expr *e = nw_expr_parse(p, text);
  if (!e) fail_msg("does not parse: %s", text);
  free(text);
  return e;
}

static void check_row(nw_pool *p, int row, const char *const *by, const char *x) {
  for (int c = 1; c <= 8; c++)
    for (int d = 1; d <= 8; d++) {
      if (*rows[row].where && !nw_is_const(read_row(p, rows[row].where, by, x, c, d), 1)) continue;
      if (read_row(p, rows[row].from, by, x, c, d) == read_row(p, rows[row].to, by, x, c, d)) continue;
      fail_msg("%s does not become %s (c=%d, d=%d)", rows[row].from, rows[row].to, c, d);
    }
}

// True for a rule about bits. Such operations on indices become arithmetic, so the rule is seen on data only.
static bool is_of_bits(const char *from) { return strpbrk(from, "&|~") || strstr(from, "<<") || strstr(from, ">>"); }

static void every_rule_does_what_it_says(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_pool *p = nw_pool_new(c);
  for (int i = 0; i < NW_COUNT(rows); i++) {
    bool select = strstr(rows[i].from, "select") != NULL;
    char kind = *rows[i].kind;
    check_row(p, i,
              kind == 'b' && !select     ? bools
              : kind == 'f'              ? floats
              : kind == 'b'              ? bools
              : is_of_bits(rows[i].from) ? data
                                         : numbers,
              select ? "(f32(a) < 7.0)" : NULL);
  }
  nw_pool_release(p);
  nw_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_rule_does_what_it_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
