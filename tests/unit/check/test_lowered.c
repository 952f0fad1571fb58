// A lowered program must compute the same as its scheduled program, and its machine code must give the same bits. The
// inputs are whole numbers, and the sizes include 0 and 1. Each row is a program that some pass could treat wrongly.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "check/inside.h"

#define MAX_SHAPES 6

typedef struct row {
  const char *name, *text;
  int nshapes;
  int64_t size[MAX_SHAPES][2];
} row;

#define ONCE                                                                                                           \
  1, {                                                                                                                 \
    { 0 }                                                                                                              \
  }

static const row rows[] = {
    {"guarded serial tail",
     "program p\nsize N >= 0\ninput A: f32[N]\noutput B: f32[N]\n"
     "for o in 0..(N + 3) // 4:\n"
     "  for x in 0..4:\n"
     "    block B of B (i = 4*o + x in 0..N) where 4*o + x < N:\n"
     "      B[i] = A[i] + 1.0\n",
     6,
     {{0}, {1}, {3}, {4}, {5}, {13}}},
    {"masked vector tail",
     "program p\nsize N >= 0\ninput A: f32[N]\noutput B: f32[N]\n"
     "for o in 0..(N + 7) // 8:\n"
     "  vectorize for x in 0..8:\n"
     "    block B of B (i = 8*o + x in 0..N) where 8*o + x < N:\n"
     "      B[i] = A[i]*A[i] + 1.0\n",
     6,
     {{0}, {1}, {7}, {8}, {9}, {31}}},
    {"masked rows and columns, reduction inside the vector loop",
     "program p\nsize M >= 0\nsize N >= 0\ninput A: f32[M, 5]\ninput W: f32[5, N]\noutput C: f32[M, N]\n"
     "for i_o in 0..(M + 2) // 3:\n"
     "  for j_o in 0..(N + 3) // 4:\n"
     "    unroll for i_i in 0..3:\n"
     "      vectorize for j_i in 0..4:\n"
     "        for r in 0..5:\n"
     "          block C of C (i = 3*i_o + i_i in 0..M, j = 4*j_o + j_i in 0..N, reduce k = r in 0..5) where "
     "3*i_o + i_i < M and 4*j_o + j_i < N:\n"
     "            init C[i, j] = 0.0\n"
     "            C[i, j] += A[i, k]*W[k, j]\n",
     6,
     {{0, 0}, {1, 1}, {3, 4}, {4, 5}, {7, 3}, {2, 9}}},
    {"reduction outermost, split with a guarded tail",
     "program p\nsize K >= 1\ninput A: f32[6, K]\noutput s: f32[6]\n"
     "for k_o in 0..(K + 3) // 4:\n"
     "  for r in 0..6:\n"
     "    for k_i in 0..4:\n"
     "      block s of s (i = r in 0..6, reduce k = 4*k_o + k_i in 0..K) where 4*k_o + k_i < K:\n"
     "        init s[i] = 0.0\n"
     "        s[i] += A[i, k]\n",
     5,
     {{1}, {3}, {4}, {5}, {11}}},
    {"reduction cut in two",
     "program p\nsize K >= 1\ninput A: f32[6, K]\noutput s: f32[6]\n"
     "for r in 0..6:\n"
     "  for k_o in 0..K // 4:\n"
     "    for k_i in 0..4:\n"
     "      block s of s (i = r in 0..6, reduce k = 4*k_o + k_i in 0..K):\n"
     "        init s[i] = 0.0\n"
     "        s[i] += A[i, k]\n"
     "  for k_t in 0..K - 4*(K // 4):\n"
     "    block s.tail of s (i = r in 0..6, reduce k = 4*(K // 4) + k_t in 0..K):\n"
     "      init s[i] = 0.0\n"
     "      s[i] += A[i, k]\n",
     5,
     {{1}, {3}, {4}, {5}, {11}}},
    {"a masked register tile",
     "program p\nsize N >= 0\ninput A: f32[4, 8]\ninput B: f32[8, N]\noutput C: f32[4, N]\ntemp T: f32[4, N] local\n"
     "for j_o in 0..(N + 15) // 16:\n"
     "  alloc T[0..4, 16*j_o..16*j_o + 16]:\n"
     "    for r in 0..8:\n"
     "      unroll for i_1 in 0..4:\n"
     "        vectorize for j_i in 0..16:\n"
     "          block T of T (i = i_1 in 0..4, j = 16*j_o + j_i in 0..N, reduce k = r in 0..8) where 16*j_o + j_i < "
     "N:\n"
     "            init T[i, j] = 0.0\n"
     "            T[i, j] += A[i, k]*B[k, j]\n"
     "    unroll for i_2 in 0..4:\n"
     "      vectorize for j_2 in 0..16:\n"
     "        block C of C (i = i_2 in 0..4, j = 16*j_o + j_2 in 0..N) where 16*j_o + j_2 < N:\n"
     "          C[i, j] = T[i, j]\n",
     5,
     {{0}, {1}, {15}, {16}, {37}}},
    {"a reduction over nothing",
     "program p\nsize K >= 0\ninput A: f32[6, K]\noutput s: f32[6]\n"
     "for r in 0..6:\n"
     "  for q in 0..K:\n"
     "    block s of s (i = r in 0..6, reduce k = q in 0..K):\n"
     "      init s[i] = -inf\n"
     "      s[i] max= A[i, k]\n",
     3,
     {{0}, {1}, {5}}},
    {"spatial and reduce loops fused",
     "program p\ninput A: f32[8, 6]\noutput s: f32[8]\n"
     "for f in 0..fuse(6, 8):\n"
     "  block s of s (i = f % 8 in 0..8, reduce k = f // 8 in 0..6):\n"
     "    init s[i] = 0.0\n"
     "    s[i] += A[i, k]\n",
     ONCE},
    {"lazy select: padding in a vector loop",
     "program p\nsize N >= 0\ninput A: f32[N]\noutput B: f32[N + 2]\n"
     "for o in 0..(N + 9) // 8:\n"
     "  vectorize for x in 0..8:\n"
     "    block B of B (i = 8*o + x in 0..N + 2) where 8*o + x < N + 2:\n"
     "      B[i] = select(1 <= i and i <= N, A[i - 1], 0.0)\n",
     5,
     {{0}, {1}, {6}, {7}, {20}}},
    {"lazy select: a condition on the row, and a load that is the same in all lanes",
     "program p\ninput A: f32[4, 16]\ninput w: f32[3]\noutput B: f32[6, 18]\n"
     "for y in 0..6:\n"
     "  vectorize for x in 0..18:\n"
     "    block B of B (i = y in 0..6, j = x in 0..18):\n"
     "      B[i, j] = select(1 <= i and i <= 4 and 1 <= j and j <= 16, A[i - 1, j - 1]*w[i % 3], -1.0)\n",
     ONCE},
    {"strided loads and stores, a transposed copy",
     "program p\ninput A: f32[8, 16]\noutput B: f32[16, 8]\n"
     "for y in 0..8:\n"
     "  vectorize for x in 0..16:\n"
     "    block B of B (i = x in 0..16, j = y in 0..8):\n"
     "      B[i, j] = A[j, i]\n",
     ONCE},
    {"a symbolic stride between lanes",
     "program p\nsize N >= 0\ninput A: f32[4, N]\noutput B: f32[N, 4]\n"
     "for y in 0..N:\n"
     "  vectorize for x in 0..4:\n"
     "    block B of B (j = y in 0..N, i = x in 0..4):\n"
     "      B[j, i] = A[i, j] + 1.0\n",
     3,
     {{0}, {1}, {7}}},
    {"a fused vector loop",
     "program p\ninput A: f32[4, 6]\noutput B: f32[6, 4]\n"
     "vectorize for f in 0..fuse(4, 6):\n"
     "  block B of B (i = f // 6 in 0..4, j = f % 6 in 0..6):\n"
     "    B[j, i] = A[i, j]\n",
     ONCE},
    {"a clamped gather",
     "program p\ninput A: f32[10]\ninput x: i32[24]\noutput B: f32[24]\n"
     "for o in 0..3:\n"
     "  vectorize for l in 0..8:\n"
     "    block B of B (i = 8*o + l in 0..24):\n"
     "      B[i] = A[min(max(i64(x[i]), 0), 9)]\n",
     ONCE},
    {"division guarded by a select",
     "program p\ninput x: i32[24]\noutput B: i32[24]\n"
     "for o in 0..3:\n"
     "  vectorize for l in 0..8:\n"
     "    block B of B (i = 8*o + l in 0..24):\n"
     "      B[i] = select(x[i] == i32(0), i32(7), i32(100) // x[i])\n",
     ONCE},
    {"an allocation inside the vector loop",
     "program p\ninput A: f32[16, 4]\noutput B: f32[16]\ntemp T: f32[16, 4] local\n"
     "vectorize for x in 0..16:\n"
     "  alloc T[x..x + 1, 0..4]:\n"
     "    for y in 0..4:\n"
     "      block T of T (i = x in 0..16, j = y in 0..4):\n"
     "        T[i, j] = A[i, j] + 1.0\n"
     "    block B of B (i = x in 0..16):\n"
     "      B[i] = T[i, 1]*T[i, 2] + T[i, i % 4]\n",
     ONCE},
    {"a producer computed in tiles; its box moves, and ends where the tensor ends",
     "program p\nsize N >= 0\ninput A: f32[N + 2]\noutput B: f32[N]\ntemp T: f32[N + 2]\n"
     "for o in 0..(N + 7) // 8:\n"
     "  alloc T[8*o..8*o + 10]:\n"
     "    for y in 0..10:\n"
     "      block T of T (t = 8*o + y in 0..N + 2) where 8*o + y < N + 2:\n"
     "        T[t] = A[t]*2.0\n"
     "    vectorize for x in 0..8:\n"
     "      block B of B (i = 8*o + x in 0..N) where 8*o + x < N:\n"
     "        B[i] = T[i] + T[i + 1] + T[i + 2]\n",
     5,
     {{0}, {1}, {7}, {8}, {19}}},
    {"a packed copy with a layout, whole and in panels",
     "program p\ninput A: f32[12, 16]\noutput B: f32[12, 16]\n"
     "temp P: f32[12, 16] global layout [_1 // 8, _0, _1 % 8] in [2, 12, 8]\n"
     "for q in 0..2:\n"
     "  alloc P[0..12, 8*q..8*q + 8]:\n"
     "    for y in 0..12:\n"
     "      vectorize for x in 0..8:\n"
     "        block P of P (i = y in 0..12, j = 8*q + x in 0..16):\n"
     "          P[i, j] = A[i, j]\n"
     "    for y2 in 0..12:\n"
     "      vectorize for x2 in 0..8:\n"
     "        block B of B (i = y2 in 0..12, j = 8*q + x2 in 0..16):\n"
     "          B[i, j] = P[i, j] + P[11 - i, j]\n",
     ONCE},
    {"argmax and argmin with ties, vectorized over rows",
     "program p\ninput A: f32[16, 7]\noutput m: f32[16]\noutput at: i64[16]\n"
     "for r in 0..7:\n"
     "  vectorize for x in 0..16:\n"
     "    block m of m (i = x in 0..16, reduce k = r in 0..7):\n"
     "      init m[i] = -inf\n"
     "      m[i] argmax= A[i, k]\n"
     "      init at[i] = -1\n"
     "      at[i] argmax= k\n",
     ONCE},
    {"argmin over integers, scalar",
     "program p\ninput A: i32[5, 7]\noutput m: i32[5]\noutput at: i64[5]\n"
     "for x in 0..5:\n"
     "  for r in 0..7:\n"
     "    block m of m (i = x in 0..5, reduce k = r in 0..7):\n"
     "      init m[i] = i32(2147483647)\n"
     "      m[i] argmin= A[i, k]\n"
     "      init at[i] = -1\n"
     "      at[i] argmin= k\n",
     ONCE},
    {"a scan with a vectorized row",
     "program p\nsize T >= 1\ninput X: f32[T, 8]\noutput S: f32[T, 8]\n"
     "vectorize for j_1 in 0..8:\n"
     "  block S_init of S_init (t = 0 in 0..1, j = j_1 in 0..8):\n"
     "    S[t, j] = X[t, j]\n"
     "for t_1 in 1..T:\n"
     "  vectorize for j_2 in 0..8:\n"
     "    block S of S (ordered t = t_1 in 1..T, j = j_2 in 0..8):\n"
     "      S[t, j] = S[t - 1, j] + X[t, j]\n",
     3,
     {{1}, {2}, {9}}},
    {"f16 sum and product",
     "program p\ninput A: f16[8, 6]\noutput s: f16[8]\noutput B: f16[8, 6]\n"
     "for r in 0..6:\n"
     "  vectorize for x in 0..8:\n"
     "    block s of s (i = x in 0..8, reduce k = r in 0..6):\n"
     "      init s[i] = f16(0.0)\n"
     "      s[i] += A[i, k]\n"
     "for y in 0..8:\n"
     "  for z in 0..6:\n"
     "    block B of B (i = y in 0..8, j = z in 0..6):\n"
     "      B[i, j] = select(A[i, j] < f16(0.0), -A[i, j], A[i, j]*A[i, j] + f16(f32(A[i, j])))\n",
     ONCE},
    {"bf16 with a constant",
     "program p\ninput A: bf16[16]\noutput B: bf16[16]\n"
     "vectorize for x in 0..16:\n"
     "  block B of B (i = x in 0..16):\n"
     "    B[i] = max(A[i], bf16(0.0))*bf16(1.5) + exp(A[i])*bf16(0.0)\n",
     ONCE},
    {"parallel rows, per-thread temporary",
     "program p\nsize N >= 0\ninput A: f32[N, 6]\noutput B: f32[N]\ntemp T: f32[N, 6]\n"
     "parallel for y in 0..N:\n"
     "  alloc T[y..y + 1, 0..6]:\n"
     "    for x in 0..6:\n"
     "      block T of T (i = y in 0..N, j = x in 0..6):\n"
     "        T[i, j] = A[i, j]*A[i, j]\n"
     "    for x2 in 0..6:\n"
     "      block B of B (i = y in 0..N, reduce k = x2 in 0..6):\n"
     "        init B[i] = 0.0\n"
     "        B[i] += T[i, k]\n",
     3,
     {{0}, {1}, {9}}},
    {"a loop whose extent differs between lanes",
     "program p\ninput A: f32[8, 8]\noutput B: f32[8]\n"
     "vectorize for z in 0..8:\n"
     "  block zero of zero (i = z in 0..8):\n"
     "    B[i] = 0.0\n"
     "vectorize for x in 0..8:\n"
     "  for y in x..8:\n"
     "    block B of B (i = x in 0..8, j = y in 0..8):\n"
     "      B[i] += A[i, j]\n",
     ONCE},
    {"loops of one iteration, an empty loop",
     "program p\ninput A: f32[3]\noutput B: f32[3]\n"
     "for a in 0..1:\n"
     "  for b in 2..3:\n"
     "    for c in 0..3:\n"
     "      block B of B (i = c + b - 2 + a in 0..3):\n"
     "        B[i] = A[i]\n"
     "for d in 0..0:\n"
     "  block C of C (i = d in 0..3):\n"
     "    B[i] = 0.0\n",
     ONCE},
    {"a scalar",
     "program p\ninput A: f32[4]\noutput s: f32[]\ntemp T: f32[]\n"
     "alloc T[]:\n"
     "  for x in 0..4:\n"
     "    block T of T (reduce k = x in 0..4):\n"
     "      init T[] = 0.0\n"
     "      T[] += A[k]\n"
     "  block s of s ():\n"
     "    s[] = T[]*2.0\n",
     ONCE},
    {"integers that wrap, booleans",
     "program p\ninput A: i8[16]\ninput m: bool[16]\noutput B: i8[16]\noutput c: bool[16]\n"
     "vectorize for x in 0..16:\n"
     "  block B of B (i = x in 0..16):\n"
     "    B[i] = select(m[i], A[i]*A[i]*A[i]*A[i], -A[i])\n"
     "vectorize for y in 0..16:\n"
     "  block c of c (i = y in 0..16):\n"
     "    c[i] = m[i] or A[i] < i8(0)\n",
     ONCE},
};

typedef struct session {
  nw_ctx *c;
  nw_pool *pool;
} session;

static void die(const session *s, const row *r, const char *what, const char *text) {
  const nw_diag *d = nw_error(s->c);
  fail_msg("%s: %s: %s\n%s", r->name, what, d ? d->message : "?", text ? text : r->text);
}

static bool interpreted(nw_program *p, nw_exec *e, const int64_t *sizes, const nw_check_data *d) {
  nw_view *v = nw_check_views(d);
  bool ok = e ? nw_interp_exec(p->ctx, e, sizes, v, NULL) : nw_interp_program(p->ctx, p, sizes, v, NULL);
  free(v);
  return ok;
}

typedef struct trial {
  const session *s;
  const row *r;
  nw_program *p;
  nw_exec *e;
  nw_kernel *k;
  char *text;
} trial;

static void same(const trial *t, const char *shape, const nw_check_data *a, const nw_check_data *b, const char *what) {
  for (int i = nw_check_inputs(t->p); i < a->n; i++) {
    int64_t at = nw_check_differs(a->array[i], b->array[i], NW_CHECK_BITS);
    if (at < 0) continue;
    fail_msg("%s: %s: element %ld of output %d is %g, %s %g\n%s", t->r->name, shape, (long)at, i,
             nw_array_get(a->array[i], at), what, nw_array_get(b->array[i], at), t->text);
  }
}

static void run_shape(const trial *t, const int64_t *sizes) {
  nw_check_data d[3];
  char *shape = nw_check_shape_text(t->p, sizes);
  if (!nw_check_data_make(&d[0], t->p, sizes, 7)) die(t->s, t->r, "no data", NULL);
  for (int i = 1; i < 3; i++) {
    if (!nw_check_data_outputs(&d[i], t->p, &d[0])) die(t->s, t->r, "no data", NULL);
  }
  if (!interpreted(t->p, NULL, sizes, &d[0])) die(t->s, t->r, "the scheduled program", shape);
  if (!interpreted(t->p, t->e, sizes, &d[1])) die(t->s, t->r, shape, t->text);
  if (!nw_kernel_call(t->k, d[2].n, d[2].array)) die(t->s, t->r, shape, t->text);
  same(t, shape, &d[0], &d[1], "lowered");
  same(t, shape, &d[1], &d[2], "compiled");
  for (int i = 0; i < 3; i++) nw_check_data_free(&d[i]);
  free(shape);
}

static void check_row(const session *s, const row *r) {
  trial t = {.s = s, .r = r, .p = nw_program_parse(s->c, s->pool, r->text)};
  if (!t.p) die(s, r, "parse", NULL);
  t.e = nw_lower(t.p, NULL);
  if (!t.e) die(s, r, "lower", NULL);
  t.text = nw_program_show(t.e->p, NULL);
  t.k = nw_compile(s->c, t.p, NULL);
  if (!t.k) die(s, r, "compile", t.text);
  for (int k = 0; k < r->nshapes; k++) run_shape(&t, r->size[k]);
  nw_kernel_release(t.k);
  nw_exec_release(t.e);
  nw_program_release(t.p);
  free(t.text);
}

static void lowered_programs_compute_the_same(void **state) {
  (void)state;
  for (int i = 0; i < NW_COUNT(rows); i++) {
    session s = {.c = nw_open()};
    s.pool = nw_pool_new(s.c);
    check_row(&s, &rows[i]);
    nw_pool_release(s.pool);
    nw_close(s.c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lowered_programs_compute_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
