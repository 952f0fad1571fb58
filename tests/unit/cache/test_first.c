// Compares the first access to each cache line, as model_first.c computes it, with the result of a loop over all
// accesses.
#include "../lower/lowering.h"
#include "cache/exact/model_first.h"
#include "nests.h"

enum { LINE = 64, SITES = 256 };

typedef struct walked {
  int64_t accesses, asked[SITES];
  int *label; // the first access to each line: 2*site + write; -1: none
  int64_t from, n;
  bool astray; // true: an access was outside all arrays
} walked;

static bool see(void *env, const nw_ref *ref, int n) {
  walked *w = env;
  w->accesses += n;
  for (int i = 0; i < n; i++)
    for (int64_t line = (int64_t)ref[i].address / LINE; line <= (int64_t)(ref[i].address + ref[i].bytes - 1) / LINE;
         line++) {
      w->asked[ref[i].site]++;
      if (line < w->from || line >= w->from + w->n)
        w->astray = true;
      else if (w->label[line - w->from] < 0)
        w->label[line - w->from] = 2 * (int)ref[i].site + ref[i].write;
    }
  return true;
}

static walked walk_of(nw_ctx *c, const nw_affine_nest *n) {
  uint64_t from, to;
  nw_affine_span(n, &from, &to);
  walked w = {.from = (int64_t)from / LINE, .n = (int64_t)(to / LINE - from / LINE + 1)};
  w.label = nw_xmalloc((size_t)w.n * sizeof *w.label);
  memset(w.label, 0xff, (size_t)w.n * sizeof *w.label);
  assert_true(nw_affine_refs(c, n, (nw_affine_share){0}, see, &w));
  return w;
}

static void assert_same(const char *name, const nw_firsts *f, const walked *w, int nsites) {
  int64_t touched = 0, seen = 0;
  if (f->accesses != w->accesses) fail_msg("%s: %lld accesses", name, (long long)f->accesses);
  for (int s = 0; s < nsites; s++)
    if (f->asked[s] != w->asked[s]) fail_msg("%s: site %d asks for %lld lines", name, s, (long long)f->asked[s]);
  for (int r = 0; r < f->nregions; r++)
    for (int64_t line = f->from[r]; line < f->to[r]; line++) {
      const nw_first_touch *t = &f->at[f->base[r] + line - f->from[r]];
      int label = t->time == INT64_MAX ? -1 : t->label;
      if (label != w->label[line - w->from]) fail_msg("%s: line %lld, label %d", name, (long long)line, label);
      touched += label >= 0;
    }
  for (int64_t i = 0; i < w->n; i++) seen += w->label[i] >= 0;
  assert_int_equal(touched, seen);
}

// Returns false if the result cannot be computed, because references leave their arrays.
static bool compare(nw_ctx *c, const char *name, const nw_affine_nest *n) {
  nw_firsts f;
  bool found = nw_firsts_find(&f, c, n, LINE, INT64_C(1) << 40);
  walked w = walk_of(c, n);
  if (found) assert_same(name, &f, &w, n->nsites);
  if (!found && !f.astray) fail_msg("%s: not found", name);
  nw_firsts_free(&f);
  free(w.label);
  return found;
}

static int64_t cases = 2400, from = 1; // the cases 1361, 2107 and 2365 were once wrong

static void random_nests(void **state) {
  int64_t found = 0;
  for (int64_t i = from; i < from + cases; i++) {
    drawn d = draw_open();
    d.chance = (uint64_t)i;
    draw_nest(&d, i % 2);
    char name[64];
    snprintf(name, sizeof name, "nest %lld", (long long)i);
    found += compare(((lowering *)*state)->c, name, &d.nest);
    draw_close(&d);
  }
  assert_true(found > cases / 2);
}

static void known_kernels(void **state) {
  nw_ctx *c = ((lowering *)*state)->c;
  drawn a = draw_open(), b = draw_open(), t = draw_open();
  draw_polybench_gemm(&a, 20, 22, 24);
  draw_jacobi(&b, 3, 40);
  draw_triangle(&t, 60);
  assert_true(compare(c, "gemm", &a.nest) && compare(c, "jacobi", &b.nest) && compare(c, "triangle", &t.nest));
  draw_close(&a), draw_close(&b), draw_close(&t);
}

// The work depends only on the number of lines, not on the number of accesses, which is 5e9 here.
static void a_large_nest(void **state) {
  nw_ctx *c = ((lowering *)*state)->c;
  drawn d = draw_open();
  draw_polybench_gemm(&d, 1000, 1100, 1200);
  nw_firsts f;
  assert_true(nw_firsts_find(&f, c, &d.nest, LINE, 20000000));
  assert_true(f.accesses == INT64_C(5282200000));
  assert_true(f.runs < 10000);
  nw_firsts_free(&f);
  draw_close(&d);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(int argc, char **argv) {
  if (argc > 1) cases = atoll(argv[1]);
  if (argc > 2) from = atoll(argv[2]);
  const struct CMUnitTest tests[] = {T(random_nests), T(known_kernels), T(a_large_nest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
