// The affine nest of a program must make the same accesses as the program, from the same references and in the same
// order.
#include "access/affine/affine_program.h"
#include "access/affine/affine_walk.h"
#include "access/ready.h"
#include "walking.h"

typedef struct list {
  nw_ref *at;
  int64_t n, cap;
} list;

static bool collect(void *env, const nw_ref *ref, int n) {
  list *l = env;
  if (l->n + n > l->cap) l->at = nw_xrealloc(l->at, (size_t)(l->cap = 2 * (l->n + n)) * sizeof *l->at);
  memcpy(l->at + l->n, ref, (size_t)n * sizeof *ref);
  l->n += n;
  return true;
}

static void assert_same(const list *want, const list *got) {
  for (int64_t i = 0; i < want->n && i < got->n; i++) {
    const nw_ref *x = &want->at[i], *y = &got->at[i];
    if (x->address != y->address || x->bytes != y->bytes || x->site != y->site || x->write != y->write)
      fail_msg("access %lld is %d:%llu x%d, expected %d:%llu x%d", (long long)i, (int)y->site,
               (unsigned long long)y->address, y->bytes, (int)x->site, (unsigned long long)x->address, x->bytes);
  }
  assert_int_equal(got->n, want->n);
}

static int loops_in(const nw_affine_node *x) {
  int n = x->kind == NW_AFFINE_LOOP;
  for (int i = 0; i < x->nkids; i++) n += loops_in(x->kid[i]);
  return n;
}

static int nodes_of(const nw_affine_node *x, nw_affine_kind kind) {
  int n = x->kind == kind;
  for (int i = 0; i < x->nkids; i++) n += nodes_of(x->kid[i], kind);
  return n;
}

// Compares the accesses of each of `threads` threads. If `threads` is 0, compares all accesses in serial order.
static void assert_shares(lowering *l, nw_walker *w, const nw_affine_nest *nest, int threads) {
  for (int t = 0; t < (threads ? threads : 1); t++) {
    list want = {0}, got = {0};
    w->thread = t, w->threads = threads;
    assert_true(nw_walk_refs(w, collect, NULL, &want));
    assert_true(nw_affine_refs(l->c, nest, (nw_affine_share){t, threads}, collect, &got));
    assert_same(&want, &got);
    free(want.at);
    free(got.at);
  }
  w->thread = w->threads = 0;
}

typedef struct made {
  int64_t accesses;
  int loops, guards;
} made;

static made converted(lowering *l, const char *text, const int64_t *sizes) {
  nw_program *p = parsed(l, text);
  nw_exec *e = nw_lower(p, NULL);
  nw_walker *w = nw_walker_new(l->c, e, sizes);
  if (!w) fail_msg("%s", nw_error(l->c)->message);
  nw_arena *a = nw_arena_new();
  nw_affine_nest *nest = nw_affine_of(a, w);
  if (!nest) fail_msg("%s", nw_error(l->c)->message);
  list all = {0};
  for (int threads = 0; threads <= 3; threads++) assert_shares(l, w, nest, threads);
  assert_true(nw_affine_refs(l->c, nest, (nw_affine_share){0}, collect, &all));
  made out = {all.n, loops_in(nest->root), nodes_of(nest->root, NW_AFFINE_GUARD)};
  free(all.at);
  nw_arena_free(a);
  nw_walker_free(w);
  nw_exec_release(e);
  nw_program_release(p);
  return out;
}

#define GEMM(loops) "program gemm\ninput A: f32[20, 12]\ninput B: f32[12, 24]\noutput C: f32[20, 24]\n" loops
#define BODY(i, j, k, where)                                                                                           \
  "block C of C (i = " i " in 0..20, j = " j " in 0..24, reduce k = " k " in 0..12)" where ":\n"
#define STORES(in) in "  init C[i, j] = 0.0\n" in "  C[i, j] += A[i, k]*B[k, j]\n"

static void plain_loops(void **state) {
  made m = converted(
      *state,
      GEMM("for i in 0..20:\n  for j in 0..24:\n    for k in 0..12:\n      " BODY("i", "j", "k", "") STORES("      ")),
      NULL);
  assert_int_equal(m.accesses, 20 * 24 * (1 + 12 * 4));
  assert_int_equal(m.guards, 0);
}

static void guards_and_vectors(void **state) {
  converted(*state,
            GEMM("for i_o in 0..3:\n  for i_i in 0..8:\n    for k in 0..12:\n      for j_o in 0..3:\n"
                 "        vectorize for j_i in 0..8:\n          " BODY("8*i_o + i_i", "8*j_o + j_i", "k",
                                                                       " where 8*i_o + i_i < 20") STORES("          ")),
            NULL);
}

// If a vector extends beyond the end of an array, some of its lanes are inactive. Then each active lane is a separate
// access.
static void masked_lanes_make_no_access(void **state) {
  converted(
      *state,
      GEMM("for i in 0..20:\n  for k in 0..12:\n    for j_o in 0..4:\n      vectorize for j_i in 0..7:\n        " BODY(
          "i", "7*j_o + j_i", "k", " where 7*j_o + j_i < 24") STORES("        ")),
      NULL);
}

static void strides_and_clamps(void **state) {
  converted(*state,
            "program p\ninput A: f32[64]\noutput B: f32[8, 4]\nfor i in 0..8:\n  for j in 0..4:\n"
            "    block B of B (i = 7 - i in 0..8, j = j in 0..4):\n"
            "      B[i, j] = A[8*j + i] + A[63 - i] + A[(i*3 + j) % 5] + A[max(i - j, 0)]\n",
            NULL);
}

static void selects_are_lazy(void **state) {
  converted(*state,
            "program p\ninput A: f32[10]\noutput B: f32[12]\nfor i in 0..12:\n"
            "  block B of B (i = i in 0..12):\n"
            "    B[i] = select(1 <= i and i < 11, A[i - 1]*A[i - 1], 1.0) + select(i < 5, A[i], A[i - 2])\n",
            NULL);
  converted(*state,
            "program p\ninput A: f32[12]\noutput B: f32[12]\nfor i in 0..12:\n"
            "  block B of B (i = i in 0..12):\n"
            "    B[i] = select(i < 3 or i % 4 == 1, A[i], A[0]) + select(i != 5, A[i], 1.0) + A[0]\n",
            NULL);
}

static void sizes_are_given(void **state) {
  const char *text =
      "program p\nsize N >= 0\ninput A: f32[N, N]\noutput B: f32[N]\nfor i in 0..N:\n  for j in 0..N:\n"
      "    block B of B (i = i in 0..N, reduce j = j in 0..N):\n      init B[i] = 0.0\n      B[i] += A[i, j]\n";
  for (int64_t n = 0; n < 6; n++) assert_int_equal(converted(*state, text, &n).accesses, n * (1 + 3 * n));
}

// A fused loop over a box becomes one loop for each dimension of the box, so that no quotient remains.
static void a_fused_loop(void **state) {
  made m = converted(*state,
                     "program p\ninput A: f32[6, 8]\noutput B: f32[8, 6]\nfor f in 0..48:\n"
                     "  block B of B (i = f % 8 in 0..8, j = f // 8 in 0..6):\n    B[i, j] = A[j, i]\n",
                     NULL);
  assert_int_equal(m.loops, 2);
  assert_int_equal(m.guards, 0);
}

static void shares_of_threads(void **state) {
  static const char *const tags[] = {"", " with chunk = 3", " with schedule = \"dynamic\"",
                                     " with schedule = \"dynamic\", chunk = 2"};
  for (int i = 0; i < NW_COUNT(tags); i++) {
    char text[600];
    snprintf(text, sizeof text,
             GEMM("parallel for i in 0..20%s:\n  for j in 0..24:\n    for k in 0..12:\n      %s" STORES("      ")),
             tags[i], BODY("i", "j", "k", ""));
    converted(*state, text, NULL);
  }
}

// A program that cannot become an affine nest is refused with a reason. The refusal has no other effect.
static void refused(void **state) {
  lowering *l = *state;
  nw_program *p = parsed(l, "program p\ninput A: f32[64]\noutput B: f32[8, 8]\nfor i in 0..8:\n  for j in 0..8:\n"
                            "    block B of B (i = i in 0..8, j = j in 0..8):\n      B[i, j] = A[i*j]\n");
  nw_exec *e = nw_lower(p, NULL);
  nw_walker *w = nw_walker_new(l->c, e, NULL);
  nw_arena *a = nw_arena_new();
  assert_non_null(w);
  assert_null(nw_affine_of(a, w));
  assert_int_equal(nw_error(l->c)->code, NW_ELIMIT);
  assert_has(nw_error(l->c)->message, "multiplied");
  nw_clear(l->c);
  nw_arena_free(a);
  nw_walker_free(w);
  nw_exec_release(e);
  nw_program_release(p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {T(plain_loops),        T(guards_and_vectors), T(masked_lanes_make_no_access),
                                     T(strides_and_clamps), T(selects_are_lazy),   T(sizes_are_given),
                                     T(a_fused_loop),       T(shares_of_threads),  T(refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
