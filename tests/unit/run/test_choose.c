// A chain of conditions defines which version of a kernel a call uses. Compares the decision tree, which finds the
// version faster, with this chain.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "run/kernel.h"

enum { SIZES = 3, MOST = 24, FACTS = 3, LARGEST = 70 };

typedef struct env {
  nw_ctx *c;
  nw_pool *pool;
  uint64_t seed;
  const char *size[SIZES];
  const nw_expr *fact[MOST][FACTS];
  nw_version_facts version[MOST];
  int n;
} env;

static int setup(void **state) {
  static const char *const names[] = {"M", "N", "K"};
  env *e = nw_xcalloc(1, sizeof *e);
  e->c = nw_open();
  e->pool = nw_pool_new(e->c);
  for (int i = 0; i < SIZES; i++) e->size[i] = nw_pool_name(e->pool, names[i]);
  *state = e;
  return 0;
}

static int teardown(void **state) {
  env *e = *state;
  nw_pool_release(e->pool);
  nw_close(e->c);
  free(e);
  return 0;
}

static int64_t draw(env *e, int64_t lo, int64_t hi) {
  e->seed = nw_hash_mix(e->seed, 0x9e3779b97f4a7c15);
  return lo + (int64_t)(e->seed % (uint64_t)(hi - lo + 1));
}

static const nw_expr *number(env *e, int64_t lo, int64_t hi) { return nw_index(e->pool, draw(e, lo, hi)); }

static const nw_expr *random_fact(env *e) {
  nw_pool *p = e->pool;
  const nw_expr *v = nw_var(p, e->size[draw(e, 0, SIZES - 1)]), *w = nw_var(p, e->size[draw(e, 0, SIZES - 1)]);
  const nw_expr *n = number(e, -2, LARGEST);
  switch (draw(e, 0, 8)) {
  case 0: return nw_lt(p, v, n);
  case 1: return nw_le(p, n, v);
  case 2: return nw_eq(p, v, n);
  case 3: return nw_eq(p, nw_floormod(p, v, number(e, 1, 12)), number(e, -1, 11));
  case 4: return nw_eq(p, nw_floormod(p, v, nw_index(p, 4)), number(e, 0, 3));
  case 5: return nw_le(p, nw_mul(p, number(e, -5, 5), v), n);
  case 6: return nw_eq(p, nw_mul(p, number(e, -5, 5), v), n);
  case 7: return nw_and(p, nw_le(p, n, v), nw_lt(p, v, nw_add(p, n, nw_index(p, 9))));
  default: return nw_lt(p, v, w);
  }
}

static void random_versions(env *e, int n) {
  e->n = n;
  for (int i = 0; i < n; i++) {
    e->version[i] = (nw_version_facts){i < n - 1 ? (int)draw(e, 1, FACTS) : 0, e->fact[i]};
    for (int k = 0; k < e->version[i].nfacts; k++) e->fact[i][k] = random_fact(e);
  }
}

static int by_chain(const env *e, const int64_t *sizes) {
  for (int i = 0; i < e->n; i++) {
    bool all = true;
    for (int k = 0; k < e->version[i].nfacts; k++) {
      int64_t v;
      all = all && nw_eval_size(e->version[i].fact[k], SIZES, e->size, sizes, &v) && v;
    }
    if (all) return i;
  }
  return e->n - 1;
}

static void the_tree_finds_the_version_of_the_chain(void **state) {
  env *e = *state;
  for (e->seed = 1; e->seed < 200; e->seed++) {
    uint64_t seed = e->seed;
    random_versions(e, (int)draw(e, 1, MOST));
    nw_choices t;
    nw_choices_make(&t, e->pool, SIZES, e->size, e->n, e->version);
    nw_formals f = {.nsizes = SIZES, .size = e->size};
    for (int k = 0; k < 300; k++) {
      int64_t sizes[] = {draw(e, 0, LARGEST), draw(e, 0, LARGEST), k % 7 ? draw(e, 0, 3) : INT64_C(1) << 60};
      assert_int_equal(nw_choices_take(&t, &f, sizes), by_chain(e, sizes));
    }
    nw_choices_free(&t);
    e->seed = seed;
  }
}

// The conditions are M == 0, M == 1, and so on, so that the tree can use bisection.
static void intervals_are_found_by_halves(void **state) {
  env *e = *state;
  enum { N = 200 };
  const nw_expr *fact[N];
  nw_version_facts version[N + 1] = {{0}};
  for (int i = 0; i < N; i++) {
    fact[i] = nw_eq(e->pool, nw_var(e->pool, "M"), nw_index(e->pool, i));
    version[i] = (nw_version_facts){1, &fact[i]};
  }
  nw_choices t;
  nw_choices_make(&t, e->pool, 1, e->size, N + 1, version);
  assert_true(nw_choices_depth(&t) <= 9);
  nw_choices_free(&t);
}

// No condition allows bisection, and every version has several facts. The size of the tree must not grow with the
// number of combinations of facts.
static void facts_of_several_sizes_make_a_chain(void **state) {
  env *e = *state;
  enum { N = 60 };
  const nw_expr *fact[N][2], *m = nw_var(e->pool, "M"), *n = nw_var(e->pool, "N");
  nw_version_facts version[N + 1] = {{0}};
  for (int i = 0; i < N; i++) {
    fact[i][0] = nw_lt(e->pool, m, nw_mul(e->pool, nw_index(e->pool, i + 2), n));
    fact[i][1] = nw_lt(e->pool, n, nw_mul(e->pool, nw_index(e->pool, i + 2), m));
    version[i] = (nw_version_facts){2, fact[i]};
  }
  nw_choices t;
  nw_choices_make(&t, e->pool, 2, e->size, N + 1, version);
  assert_int_equal(t.n, 2 * N + 1);
  nw_choices_free(&t);
}

static void the_tree_is_printed(void **state) {
  env *e = *state;
  nw_pool *p = e->pool;
  const nw_expr *m = nw_var(p, "M");
  const nw_expr *fact[] = {nw_lt(p, m, nw_index(p, 8)), nw_eq(p, nw_floormod(p, m, nw_index(p, 2)), nw_index(p, 0))};
  nw_version_facts version[] = {{1, &fact[0]}, {1, &fact[1]}, {0}};
  nw_choices t;
  nw_choices_make(&t, p, 1, e->size, 3, version);
  char *text = nw_choices_show(&t, e->size);
  assert_string_equal(text, "M < 8: version 1\notherwise:\n  M % 2 == 0: version 2\n  M % 2 == 1: version 3\n");
  free(text);
  nw_choices_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_tree_finds_the_version_of_the_chain, setup, teardown),
      cmocka_unit_test_setup_teardown(intervals_are_found_by_halves, setup, teardown),
      cmocka_unit_test_setup_teardown(facts_of_several_sizes_make_a_chain, setup, teardown),
      cmocka_unit_test_setup_teardown(the_tree_is_printed, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
