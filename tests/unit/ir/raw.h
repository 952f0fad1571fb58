// Makes expressions that are not folded, and compares an unfolded expression with the result of the constructors.
#pragma once
#include "meaning.h"
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

// Two pools: one for unfolded trees, and one for folded trees. nw_import builds a tree again in the second pool, with
// the constructors, which fold the tree.
typedef struct workshop {
  nw_ctx *c;
  nw_pool *raw, *folded;
  uint64_t seed;
} workshop;

static inline void open_pools(workshop *w) {
  w->c = nw_open();
  w->raw = nw_pool_new(w->c);
  w->folded = nw_pool_new(w->c);
}

static inline void close_pools(workshop *w) {
  nw_pool_release(w->raw);
  nw_pool_release(w->folded);
  nw_close(w->c);
}

static inline const nw_expr *raw_node(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  return nw_raw(p, op, t, n, args);
}

static inline const nw_expr *raw_of(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b) {
  nw_type t = nw_op_has(op, 'C') ? (nw_type){NW_BOOL, a->type.lanes} : a->type;
  return nw_raw(p, op, t, b ? 2 : 1, (const nw_expr *[]){a, b});
}

// Returns the element at `at` of the memory of one dtype.
static inline const nw_expr *element(nw_pool *p, nw_dtype t, const nw_expr *at) {
  char name[] = {(char)('A' + t), 0};
  return nw_load(p, (nw_type){(uint8_t)t, at->type.lanes}, name, 1, &at);
}

// Totals over all checks of a test executable.
typedef struct figures {
  long rules, unchecked, wrong;
  long long draws;
} figures;

static figures found;

static inline void report_wrong(const char *what, const nw_expr *from, const nw_expr *to, value a, value b) {
  if (found.wrong++ > 20) return;
  nw_str s = {0};
  nw_str_fmt(&s, "%s: ", what);
  nw_expr_print(&s, from);
  nw_str_add(&s, "  is not  ");
  nw_expr_print(&s, to);
  nw_str_add(&s, ": ");
  print_value(&s, (nw_dtype)from->type.dtype, a);
  nw_str_add(&s, " and ");
  print_value(&s, (nw_dtype)from->type.dtype, b);
  fprintf(stderr, "%s\n", s.s);
  nw_str_free(&s);
}

// Returns the number of draws for a rule and a dtype: NW_DRAWS if it is set, otherwise `few`.
static inline long draws_wanted(long few) {
  const char *s = getenv("NW_DRAWS");
  return s ? atol(s) : few;
}

// Prints the figures of this executable, and writes them to the file that NW_FIGURES names, as a flat JSON object. The
// bench adds up these objects.
static inline void write_figures(void) {
  const char *path = getenv("NW_FIGURES");
  printf("rules: %ld\nrules unchecked: %ld\nrules wrong: %ld\ndraws: %lld\n", found.rules, found.unchecked, found.wrong,
         found.draws);
  FILE *f = path ? fopen(path, "w") : NULL;
  if (!f) return;
  fprintf(f,
          "{\"sound.rules\": %ld, \"sound.rules_unchecked\": %ld, \"sound.rules_wrong\": %ld, \"sound.rules_draws\": "
          "%lld}\n",
          found.rules, found.unchecked, found.wrong, found.draws);
  fclose(f);
}
