// Compares the cache model with the reference simulator. In some nests, loops begin at different bytes of the same
// lines. In other nests, the cache holds the same lines in another order after a loop.
#include "../lower/lowering.h"
#include "nests.h"

static int64_t cases = 150, from = 1; // arguments of the program, as in test_model.c

// Draws short and long loops over elements of odd sizes and strides, by columns and by rows. The first access may begin
// at any byte of a line.
static void random_first_bytes(void **state) {
  static const int64_t step[] = {1, 3, 4, 8, 12, 20, 32, 60, 64, 68, 128, 192, 200};
  for (int64_t i = from; i < from + cases; i++) {
    drawn d = draw_open();
    d.chance = (uint64_t)i;
    int slot[] = {0, 1, 2};
    int64_t rounds[] = {between(&d, 1, 12), between(&d, 1, 40), between(&d, 1, 24)};
    nw_affine_node *s = stmt_of(&d, 4);
    int64_t reach[3] = {0};
    for (int a = 0; a < 3; a++) {
      int64_t move[3], rest = between(&d, 0, 70), bytes = between(&d, 1, 70);
      for (int k = 0; k < 3; k++) move[k] = roll(&d, 4) ? step[roll(&d, 13)] : 0;
      reach[a] = rest + bytes;
      for (int k = 0; k < 3; k++) reach[a] += move[k] * rounds[k];
      add_ref(&d, s, a, form_of(&d, rest, 3, slot, move), (int)bytes, !roll(&d, 2));
    }
    for (int a = 0; a < 3; a++) add_array(&d, 1, reach[a], roll(&d, 2) ? 64 : 4);
    d.nest.root = upto(&d, 0, rounds[0], upto(&d, 1, rounds[1], upto(&d, 2, rounds[2], s)));
    nw_cache_opts o = draw_caches(&d);
    char name[64];
    snprintf(name, sizeof name, "bytes %lld", (long long)i);
    assert_modelled(((lowering *)*state)->c, name, &d.nest, &o);
    draw_close(&d);
  }
}

// x[i] += A[j][i]*y[j]. A row of A is a whole number of lines, so eight adjacent columns access the same lines.
static void columns_of_whole_lines(void **state) {
  drawn d = draw_open();
  int slot[] = {0, 1};
  int a = add_array(&d, 8, 400 * 3200, 64), x = add_array(&d, 8, 3200, 64), y = add_array(&d, 8, 3200, 64);
  nw_affine_node *s = stmt_of(&d, 4);
  nw_form at = form_of(&d, 0, 2, slot, (int64_t[]){8, 0});
  add_ref(&d, s, x, at, 8, false);
  add_ref(&d, s, a, form_of(&d, 0, 2, slot, (int64_t[]){8, 3200}), 8, false);
  add_ref(&d, s, y, form_of(&d, 0, 2, slot, (int64_t[]){0, 8}), 8, false);
  add_ref(&d, s, x, at, 8, true);
  d.nest.root = upto(&d, 0, 400, upto(&d, 1, 400, s));
  nw_cache_opts o = {.caches = {.nlevels = 1, .level = {{16384, 8}}, .line = 64}};
  assert_true(touched_of(((lowering *)*state)->c, "columns", &d, &o) < 0.16); // if bytes are compared, it is 0.21
}

// A[j][i] is read while A[i][j] is written, `apart` bytes further. The number of lines between the two references
// depends on `apart`.
static void an_array_by_rows_and_by_columns(void **state) {
  for (int64_t apart = 0; apart < 80; apart += 4) {
    drawn d = draw_open();
    int slot[] = {0, 1};
    int a = add_array(&d, 4, 40 * 256 + 80, 64);
    nw_affine_node *s = stmt_of(&d, 2);
    add_ref(&d, s, a, form_of(&d, 0, 2, slot, (int64_t[]){4, 256}), 4, false);
    add_ref(&d, s, a, form_of(&d, apart, 2, slot, (int64_t[]){256, 4}), 4, true);
    d.nest.root = upto(&d, 0, 40, upto(&d, 1, 40, s));
    nw_cache_opts o = {.caches = {.nlevels = 2, .level = {{1024, 4}, {2048, 0}}, .line = 64}};
    assert_modelled(((lowering *)*state)->c, "two ways", &d.nest, &o);
    draw_close(&d);
  }
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(int argc, char **argv) {
  if (argc > 1) cases = atoll(argv[1]);
  if (argc > 2) from = atoll(argv[2]);
  const struct CMUnitTest tests[] = {T(random_first_bytes), T(columns_of_whole_lines),
                                     T(an_array_by_rows_and_by_columns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
