// Compares the cache model with the reference simulator. In some nests, iterations request the same lines again. In
// other nests, no state of the cache occurs twice.
#include "../lower/lowering.h"
#include "nests.h"

static int64_t cases = 150, from = 1; // arguments of the program, as in test_model.c

// Makes a statement with many references to rows of two arrays. The address of a reference depends on some of the loops
// or on none.
static nw_affine_node *draw_rows(drawn *d, const int64_t *rounds, int64_t inner) {
  static const int64_t pitch[] = {64, 128, 320, 328, 272, 400, 16};
  nw_affine_node *s = stmt_of(d, 40);
  int64_t reach[2] = {16, 16}, row[2] = {pitch[roll(d, 7)], pitch[roll(d, 7)]}, by = 1 << between(d, 0, 4);
  for (int64_t n = between(d, 1, roll(d, 3) ? 8 : 40); n > 0; n--) {
    int a = (int)roll(d, 2), bytes = roll(d, 5) ? 1 : (int)between(d, 1, 9);
    int64_t move[] = {roll(d, 3) ? row[a] : 0, roll(d, 4) ? by : 0, roll(d, 2) ? row[a] : 0};
    int64_t rest = row[a] * between(d, 0, 30) + between(d, 0, 9);
    int64_t end = rest + move[0] * rounds[0] + move[1] * rounds[1] + move[2] * inner + bytes;
    if (end > reach[a]) reach[a] = end;
    add_ref(d, s, a, form_of(d, rest, 3, (int[]){0, 1, 2}, move), bytes, !roll(d, 3));
  }
  for (int a = 0; a < 2; a++) add_array(d, 8, reach[a], roll(d, 3) ? 64 : 8);
  return s;
}

static void random_rows(void **state) {
  for (int64_t i = from; i < from + cases; i++) {
    drawn d = draw_open();
    d.chance = (uint64_t)i;
    int64_t rounds[] = {between(&d, 1, 20), between(&d, 2, 100)}, inner = roll(&d, 2) ? 1 : between(&d, 2, 12);
    nw_affine_node *x = draw_rows(&d, rounds, inner);
    if (inner > 1) x = upto(&d, 2, inner, x);
    d.nest.root = upto(&d, 0, rounds[0], upto(&d, 1, rounds[1], x));
    nw_cache_opts o = draw_caches(&d);
    char name[64];
    snprintf(name, sizeof name, "rows %lld", (long long)i);
    assert_modelled(((lowering *)*state)->c, name, &d.nest, &o);
    draw_close(&d);
  }
}

// X[0] is read while X[j] is written, and the cache has three lines. When j reaches the second line of X, the loop uses
// four lines. In the first iteration with four lines, X[0] hits in a line that was written. The second iteration with
// four lines evicts this line. From the third iteration with four lines on, all iterations have the same counts.
static void a_line_written_before(void **state) {
  drawn d = draw_open();
  int slot[] = {0};
  int a = add_array(&d, 1, 64, 64), x = add_array(&d, 1, 128, 64), b = add_array(&d, 1, 64, 64);
  nw_affine_node *s = stmt_of(&d, 4);
  add_ref(&d, s, a, number(&d, 0), 1, false);
  add_ref(&d, s, x, number(&d, 0), 1, false);
  add_ref(&d, s, b, number(&d, 0), 1, false);
  add_ref(&d, s, x, form_of(&d, 0, 1, slot, (int64_t[]){1}), 1, true);
  d.nest.root = upto(&d, 0, 128, s);
  nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{192, 0}, {192, 3}}, .line = 64}};
  assert_modelled(((lowering *)*state)->c, "written before", &d.nest, &o);
  draw_close(&d);
}

// The body has 80 references, which access more lines than the cache holds. In the inner loop, 40 of the references
// move along a row, and the other 40 keep their addresses.
static void a_body_that_does_not_fit(void **state) {
  drawn d = draw_open();
  nw_affine_node *s = stmt_of(&d, 80);
  int slot[] = {0, 1};
  int c = add_array(&d, 1, 40 * 832, 64), a = add_array(&d, 1, 40 * 832, 64);
  for (int64_t row = 0; row < 40; row++) {
    add_ref(&d, s, c, form_of(&d, 832 * row, 2, slot, (int64_t[]){0, 1}), 1, row % 2);
    add_ref(&d, s, a, form_of(&d, 832 * row, 2, slot, (int64_t[]){8, 0}), 8, false);
  }
  d.nest.root = upto(&d, 0, 100, upto(&d, 1, 832, s));
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{2048, 4}}, .line = 64}};
  assert_true(touched_of(((lowering *)*state)->c, "a body", &d, &o) < 0.08);
}

// Y[c][y][x] += X[c][y + r][x + q] for 8 channels at a time. Rows of X and Y have different lengths. The distance in
// sets between the accesses to X and to Y therefore changes from row to row, and no two columns begin at the same sets.
static void columns_that_drift(void **state) {
  drawn d = draw_open();
  enum { CS, X, Y, C, R, Q };
  int slot[] = {CS, X, Y, C, R, Q};
  int64_t h = 112, pad = 114, n = 2;
  int x = add_array(&d, 4, 4 * 8 * n * pad * pad, 4096), y = add_array(&d, 4, 4 * 8 * n * h * h, 4096);
  nw_affine_node *s = stmt_of(&d, 3);
  nw_form at = form_of(&d, 0, 6, slot, (int64_t[]){4 * 8 * h * h, 4, 4 * h, 4 * h * h, 0, 0});
  add_ref(&d, s, x, form_of(&d, 0, 6, slot, (int64_t[]){4 * 8 * pad * pad, 4, 4 * pad, 4 * pad * pad, 4 * pad, 4}), 4,
          false);
  add_ref(&d, s, y, at, 4, false);
  add_ref(&d, s, y, at, 4, true);
  nw_affine_node *inner = upto(&d, C, 8, upto(&d, R, 3, upto(&d, Q, 3, s)));
  d.nest.root = upto(&d, CS, n, upto(&d, X, h, upto(&d, Y, 50, inner)));
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{49152, 12}}, .line = 64}};
  assert_true(touched_of(((lowering *)*state)->c, "columns", &d, &o) < 0.1);
}

// A[i][j][k] += A[1][j][k + 1] by columns. A row of a plane is not a whole number of lines, and each column
// visits all sets twice.
static void columns_of_odd_rows(void **state) {
  drawn d = draw_open();
  int slot[] = {0, 1, 2};
  int64_t row = 204, plane = 640 * row, n = 40;
  int a = add_array(&d, 12, n * plane, 4096);
  nw_affine_node *s = stmt_of(&d, 3);
  nw_form at = form_of(&d, 0, 3, slot, (int64_t[]){plane, 12, row});
  add_ref(&d, s, a, at, 12, false);
  add_ref(&d, s, a, form_of(&d, plane + 12, 3, slot, (int64_t[]){0, 12, row}), 12, false);
  add_ref(&d, s, a, at, 12, true);
  d.nest.root = upto(&d, 0, n, upto(&d, 1, 16, upto(&d, 2, 640, s)));
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{24576, 12}}, .line = 64}};
  assert_true(touched_of(((lowering *)*state)->c, "odd rows", &d, &o) < 0.35);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(int argc, char **argv) {
  if (argc > 1) cases = atoll(argv[1]);
  if (argc > 2) from = atoll(argv[2]);
  const struct CMUnitTest tests[] = {T(random_rows), T(a_line_written_before), T(a_body_that_does_not_fit),
                                     T(columns_that_drift), T(columns_of_odd_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
