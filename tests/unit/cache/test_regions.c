// Compares the cache model with the reference simulator, on nests in which references to one array move with different
// strides.
#include "../lower/lowering.h"
#include "nests.h"

static int64_t cases = 150, from = 1; // arguments of the program, as in test_model.c

// Makes a statement with a few references to one or two arrays. Each reference moves by rows, by columns or with
// another loop.
static nw_affine_node *draw_apart(drawn *d, int nloops, const int64_t *rounds, int narrays) {
  static const int64_t pitch[] = {64, 96, 136, 320, 328};
  nw_affine_node *s = stmt_of(d, 6);
  int64_t reach[2] = {8, 8}, row[2] = {pitch[roll(d, 5)], pitch[roll(d, 5)]};
  for (int64_t n = between(d, 2, 4); n > 0; n--) {
    int a = (int)roll(d, narrays);
    int64_t by[4] = {0}, rest = roll(d, 3) ? 0 : row[a] * between(d, 0, 30), end = rest + 8;
    int slot[] = {0, 1, 2, 3};
    for (int i = 0; i < nloops; i++) {
      by[i] = (int64_t[]){0, 8, row[a], row[a], 2 * row[a], 16}[roll(d, 6)];
      end += by[i] * (rounds[i] - 1);
    }
    if (end > reach[a]) reach[a] = end;
    add_ref(d, s, a, form_of(d, rest, nloops, slot, by), 8, !roll(d, 3));
  }
  for (int a = 0; a < narrays; a++) add_array(d, 8, reach[a], roll(d, 3) ? 64 : 8);
  return s;
}

static void random_references_that_move_apart(void **state) {
  for (int64_t i = from; i < from + cases; i++) {
    drawn d = draw_open();
    d.chance = (uint64_t)i;
    int nloops = (int)between(&d, 2, 4);
    int64_t rounds[4], left = 30000;
    for (int k = 0; k < nloops; k++) {
      rounds[k] = between(&d, 2, k ? 40 : 90);
      if (rounds[k] > left) rounds[k] = left;
      left /= rounds[k];
    }
    nw_affine_node *x = draw_apart(&d, nloops, rounds, (int)between(&d, 1, 2));
    for (int k = nloops - 1; k >= 0; k--) x = upto(&d, k, rounds[k], x);
    d.nest.root = x;
    nw_cache_opts o = draw_caches(&d);
    o.share = (nw_affine_share){0};
    char name[64];
    snprintf(name, sizeof name, "apart %lld", (long long)i);
    assert_modelled(((lowering *)*state)->c, name, &d.nest, &o);
    draw_close(&d);
  }
}

// A[0][j] += A[i][j]: in every iteration of i, row 0 and row i are accessed.
static void a_row_beside_others(void **state) {
  drawn d = draw_open();
  int slot[] = {0, 1};
  int a = add_array(&d, 8, 8 * 600 * 320, 64);
  nw_affine_node *s = stmt_of(&d, 3);
  nw_form row = form_of(&d, 0, 2, slot, (int64_t[]){0, 8});
  add_ref(&d, s, a, row, 8, false);
  add_ref(&d, s, a, form_of(&d, 0, 2, slot, (int64_t[]){8 * 320, 8}), 8, false);
  add_ref(&d, s, a, row, 8, true);
  d.nest.root = upto(&d, 0, 600, upto(&d, 1, 320, s));
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{4096, 0}}, .line = 64}};
  assert_true(touched_of(((lowering *)*state)->c, "a row", &d, &o) < 0.02);
}

// A[i][0] += A[i][j]: in every iteration of j, column 0 and column j are accessed. The model can distinguish the
// columns only if it divides the array into rows.
static void a_column_beside_others(void **state) {
  drawn d = draw_open();
  int slot[] = {0, 1};
  int a = add_array(&d, 8, 8 * 20 * 8000, 64);
  nw_affine_node *s = stmt_of(&d, 3);
  nw_form column = form_of(&d, 0, 2, slot, (int64_t[]){0, 8 * 8000});
  add_ref(&d, s, a, column, 8, false);
  add_ref(&d, s, a, form_of(&d, 0, 2, slot, (int64_t[]){8, 8 * 8000}), 8, false);
  add_ref(&d, s, a, column, 8, true);
  d.nest.root = upto(&d, 0, 8000, upto(&d, 1, 20, s));
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{2048, 0}}, .line = 64}};
  assert_true(touched_of(((lowering *)*state)->c, "a column", &d, &o) < 0.1);
}

// C[i][j] += A[i][k]*A[j][k]: two rows of one matrix are read, and they are the same row if i == j.
static void rows_that_meet(void **state) {
  drawn d = draw_open();
  int slot[] = {0, 1, 2};
  int64_t n = 80, k = 256;
  int a = add_array(&d, 8, 8 * n * k, 64), c = add_array(&d, 8, 8 * n * n, 64);
  nw_affine_node *s = stmt_of(&d, 4);
  nw_form at = form_of(&d, 0, 3, slot, (int64_t[]){8 * n, 8, 0});
  add_ref(&d, s, c, at, 8, false);
  add_ref(&d, s, a, form_of(&d, 0, 3, slot, (int64_t[]){8 * k, 0, 8}), 8, false);
  add_ref(&d, s, a, form_of(&d, 0, 3, slot, (int64_t[]){0, 8 * k, 8}), 8, false);
  add_ref(&d, s, c, at, 8, true);
  d.nest.root = upto(&d, 0, n, upto(&d, 1, n, upto(&d, 2, k, s)));
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{8192, 0}}, .line = 64}};
  assert_true(touched_of(((lowering *)*state)->c, "rows", &d, &o) < 0.1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(int argc, char **argv) {
  if (argc > 1) cases = atoll(argv[1]);
  if (argc > 2) from = atoll(argv[2]);
  const struct CMUnitTest tests[] = {T(random_references_that_move_apart), T(a_row_beside_others),
                                     T(a_column_beside_others), T(rows_that_meet)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
