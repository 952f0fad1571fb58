// Tests random tilings of small reductions. The programs are made as text. They have loops in any order, guards if a
// factor does not divide the extent, a vector loop at any depth, unrolled loops, and selects with branches that read
// outside a tensor where they are not taken. The lowered and the compiled program must compute the same as the
// scheduled program. A failure prints the program, so that the case can be repeated without the seed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/inside.h"

#define CASES 400
#define COMPILED_EVERY 8

typedef struct loop {
  char name[8];
  int extent, dim; // dim is 0 for i, 1 for j, and 2 for k
} loop;

typedef struct tiling {
  uint64_t h;
  int size[3];
  int n;
  loop at[6];
  char bind[3][64];
  nw_str where;
} tiling;

static int pick(tiling *t, int n) {
  t->h = nw_hash_mix(t->h, 0x9e37);
  return (int)(t->h % (uint64_t)n);
}

static void add_loop(tiling *t, const char *name, int extent, int dim) {
  loop *l = &t->at[t->n++];
  snprintf(l->name, sizeof l->name, "%s", name);
  l->extent = extent;
  l->dim = dim;
}

static void split_dim(tiling *t, int d) {
  static const char *const whole[] = {"x", "y", "z"}, *const outer[] = {"x_o", "y_o", "z_o"},
                           *const inner[] = {"x_i", "y_i", "z_i"};
  int factor = 2 + pick(t, 4), n = t->size[d];
  if (pick(t, 3) == 0) {
    add_loop(t, whole[d], n, d);
    snprintf(t->bind[d], sizeof t->bind[d], "%s", whole[d]);
    return;
  }
  add_loop(t, outer[d], (n + factor - 1) / factor, d);
  add_loop(t, inner[d], factor, d);
  snprintf(t->bind[d], sizeof t->bind[d], "%d*%s + %s", factor, outer[d], inner[d]);
  if (n % factor) nw_str_fmt(&t->where, "%s%s < %d", t->where.n ? " and " : " where ", t->bind[d], n);
}

static void shuffle(tiling *t) {
  for (int i = t->n - 1; i > 0; i--) {
    int j = pick(t, i + 1);
    loop l = t->at[i];
    t->at[i] = t->at[j];
    t->at[j] = l;
  }
}

static void print_loops(tiling *t, nw_str *out) {
  int vector = pick(t, t->n);
  for (int i = 0; i < t->n; i++) {
    const loop *l = &t->at[i];
    bool unroll = pick(t, 4) == 0;
    nw_str_indent(out, 2 * i);
    nw_str_add(out, i == vector && l->dim < 2 ? "vectorize " : unroll ? "unroll " : "");
    nw_str_fmt(out, "for %s in 0..%d:\n", l->name, l->extent);
  }
}

static const char *const bodies[] = {
    "A[i, k]*B[k, j]",
    "select((i + k) % 3 == 0, A[i, k], T(1))*B[k, j]",
    "select(1 <= i, A[i - 1, k], T(0))*select(j + 1 < N, B[k, j + 1], T(2))",
    "select(i < j and j < k, A[j, i], B[k, j])",
    "A[i, k] + B[k, (i + j) % N]",
};

static void replace_word(nw_str *out, const char *body, const char *type, int n) {
  for (; *body; body++) {
    if (*body == 'T')
      nw_str_add(out, type);
    else if (*body == 'N')
      nw_str_fmt(out, "%d", n);
    else
      nw_str_addn(out, body, 1);
  }
}

// A, B and C are square. Their extent is the largest of the three sizes, so that every body may read any row.
static char *random_program(uint64_t seed) {
  static const char *const types[] = {"f32", "i32", "f16", "f64", "u8"};
  static const char *const combiners[] = {"+=", "max=", "min="}, *const inits[] = {"0", "-7", "7"};
  tiling t = {.h = nw_hash_mix(seed, 1)};
  nw_str out = {0};
  const char *type = types[pick(&t, NW_COUNT(types))];
  int c = pick(&t, NW_COUNT(combiners)), n = 1;
  for (int d = 0; d < 3; d++) t.size[d] = 1 + pick(&t, 9);
  for (int d = 0; d < 3; d++) n = t.size[d] > n ? t.size[d] : n;
  for (int d = 0; d < 3; d++) split_dim(&t, d);
  shuffle(&t);
  nw_str_fmt(&out, "program p\ninput A: %s[%d, %d]\ninput B: %s[%d, %d]\noutput C: %s[%d, %d]\n", type, n, n, type, n,
             n, type, t.size[0], t.size[1]);
  print_loops(&t, &out);
  nw_str_indent(&out, 2 * t.n);
  nw_str_fmt(&out, "block C of C (i = %s in 0..%d, j = %s in 0..%d, reduce k = %s in 0..%d)%s:\n", t.bind[0], t.size[0],
             t.bind[1], t.size[1], t.bind[2], t.size[2], t.where.n ? t.where.s : "");
  nw_str_indent(&out, 2 * t.n + 2);
  nw_str_fmt(&out, "init C[i, j] = %s(%s)\n", type, inits[c]);
  nw_str_indent(&out, 2 * t.n + 2);
  nw_str_fmt(&out, "C[i, j] %s ", combiners[c]);
  replace_word(&out, bodies[pick(&t, NW_COUNT(bodies))], type, n);
  nw_str_add(&out, "\n");
  nw_str_free(&t.where);
  return nw_str_take(&out);
}

static const char *complaint(nw_ctx *c) { return nw_error(c) ? nw_error(c)->message : "?"; }

static void same(nw_program *p, const nw_check_data *a, const nw_check_data *b, const char *what, const char *text) {
  int64_t at = nw_check_differs(a->array[2], b->array[2], NW_CHECK_BITS);
  if (at < 0) return;
  char *lowered = nw_lower_text(p->ctx, p, NULL);
  fail_msg("element %ld is %g, %s %g\n%s\n%s", (long)at, nw_array_get(a->array[2], at), what,
           nw_array_get(b->array[2], at), text, lowered);
}

static void run_compiled(nw_program *p, const nw_check_data *want, const char *text) {
  nw_check_data d;
  nw_kernel *k = nw_compile(p->ctx, p, NULL);
  if (!k || !nw_check_data_outputs(&d, p, want) || !nw_kernel_call(k, d.n, d.array))
    fail_msg("%s\n%s", complaint(p->ctx), text);
  same(p, want, &d, "compiled", text);
  nw_check_data_free(&d);
  nw_kernel_release(k);
}

static void run_case(nw_ctx *c, const char *text, bool compiled) {
  nw_check_data d[2];
  nw_pool *pool = nw_pool_new(c);
  nw_program *p = nw_program_parse(c, pool, text);
  nw_exec *e = p ? nw_lower(p, NULL) : NULL;
  if (!e || !nw_check_data_make(&d[0], p, NULL, 3) || !nw_check_data_outputs(&d[1], p, &d[0]))
    fail_msg("%s\n%s", complaint(c), text);
  nw_view *v[2] = {nw_check_views(&d[0]), nw_check_views(&d[1])};
  if (!nw_interp_program(c, p, NULL, v[0], NULL) || !nw_interp_exec(c, e, NULL, v[1], NULL)) {
    char *lowered = nw_program_show(e->p, NULL);
    fail_msg("%s\n%s\n%s", complaint(c), text, lowered);
  }
  same(p, &d[0], &d[1], "lowered", text);
  if (compiled) run_compiled(p, &d[1], text);
  for (int i = 0; i < 2; i++) {
    free(v[i]);
    nw_check_data_free(&d[i]);
  }
  nw_exec_release(e);
  nw_program_release(p);
  nw_pool_release(pool);
}

static void random_tilings(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  for (int i = 0; i < CASES; i++) {
    char *text = random_program((uint64_t)i);
    run_case(c, text, i % COMPILED_EVERY == 0);
    free(text);
  }
  nw_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_tilings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
