// Compares the results of interpreted programs with the results of their definitions.
#include "running.h"

static void a_product(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(64), lit(64))), *B = input("B", NW_F32, DIMS(lit(64), lit(64)));
  nw_axis *k = raxis("k", lit(64));
  nw_build *b = begin("C", "i j", DIMS(lit(64), lit(64)));
  E l = READ(A, ax(b, 0), var(k)), r = READ(B, var(k), ax(b, 1));
  nw_tensor *C = end(b, over("sum", mul(l, r), k));
  job j = job1(C);
  fill_f32(&j.view[0], 1);
  fill_f32(&j.view[1], 2);
  assert_agree(&j);
  double want = 0, got;
  const float *a = j.view[0].data, *bb = j.view[1].data, *c = j.view[2].data;
  for (int x = 0; x < 64; x++) want = (double)((float)want + a[3 * 64 + x] * bb[x * 64 + 5]);
  assert_true((float)want == c[3 * 64 + 5]);
  assert_true(nw_naive_point(nw, C, NULL, NULL, 0, 2, j.view, (int64_t[]){3, 5}, &got));
  assert_true(got == want);
  job_free(&j);
}

static void padding_by_select(void **state) {
  (void)state;
  E N = nw_size_var(nw, "N", 1);
  nw_tensor *X = input("X", NW_F32, DIMS(N)), *W = input("W", NW_F32, DIMS(lit(3)));
  nw_build *b = begin("P", "i", DIMS(add(N, lit(2))));
  E at = sub(ax(b, 0), lit(1));
  nw_tensor *P = end(b, pick(both(le(lit(0), at), lt(at, N)), READ(X, at), flit(NW_F32, 0)));
  nw_axis *k = raxis("k", lit(3));
  b = begin("Y", "i", DIMS(N));
  E x = READ(P, add(ax(b, 0), var(k))), w = READ(W, var(k));
  nw_tensor *Y = end(b, over("sum", mul(x, w), k));
  for (int64_t n = 1; n < 6; n++) {
    job j = job_of(1, &Y, 1, &n);
    fill_f32(&j.view[0], 1);
    fill_f32(&j.view[1], 2);
    assert_agree(&j);
    const float *xs = j.view[0].data, *ws = j.view[1].data, *y = j.view[2].data;
    float want = 0 * ws[0] + xs[0] * ws[1] + (n > 1 ? xs[1] : 0) * ws[2];
    assert_true(y[0] == want);
    double got;
    assert_true(nw_naive_point(nw, Y, (const char *[]){"N"}, &n, 1, 2, j.view, (int64_t[]){0}, &got));
    assert_true(got == (double)want);
    job_free(&j);
  }
}

static void a_prefix_sum(void **state) {
  (void)state;
  E T = nw_size_var(nw, "T", 1);
  nw_tensor *X = input("X", NW_I32, DIMS(T)), *S = keep(nw_scan_state(nw, "S", NW_I32, DIMS(T)));
  nw_build *b = begin("init", "t", DIMS(lit(1)));
  nw_tensor *init = end(b, READ(X, ax(b, 0)));
  b = begin("update", "t", DIMS(T));
  nw_tensor *update = end(b, add(READ(S, sub(ax(b, 0), lit(1))), READ(X, ax(b, 0)))), *out = NULL;
  assert_true(nw_scan(nw, "P", 1, &init, &update, &S, &out));
  keep(out);
  for (int64_t n = 1; n < 20; n += 6) {
    job j = job_of(1, &out, 1, &n);
    for (int i = 0; i < n; i++) ((int32_t *)j.view[0].data)[i] = i * i - 3;
    assert_agree(&j);
    int32_t sum = 0;
    for (int i = 0; i < n; i++) assert_int_equal(((int32_t *)j.view[1].data)[i], sum += i * i - 3);
    double got;
    assert_true(nw_naive_point(nw, out, (const char *[]){"T"}, &n, 1, 1, j.view, (int64_t[]){n - 1}, &got));
    assert_true((int32_t)got == sum);
    job_free(&j);
  }
}

// u[t, x] is computed from its neighbours at t - 1. In a sweep, u[t, x] also depends on the left neighbour at t.
static void heat_and_a_sweep(void **state) {
  (void)state;
  nw_tensor *U0 = input("U0", NW_F64, DIMS(lit(1), lit(9))),
            *S = keep(nw_scan_state(nw, "S", NW_F64, DIMS(lit(5), lit(9))));
  nw_build *b = begin("step", "t x", DIMS(lit(5), lit(9)));
  E t = ax(b, 0), x = ax(b, 1), before = sub(t, lit(1));
  E left = pick(lt(lit(0), x), READ(S, t, sub(x, lit(1))), flit(NW_F64, 0)),
    right = READ(S, before, least(add(x, lit(1)), lit(8)));
  nw_tensor *step = end(b, mul(flit(NW_F64, 0.5), add(left, right))), *U = NULL;
  assert_true(nw_scan(nw, "U", 1, &U0, &step, &S, &U));
  keep(U);
  job j = job1(U);
  for (int i = 0; i < 9; i++) ((double *)j.view[0].data)[i] = i == 4;
  assert_agree(&j);
  double u[5][9] = {{0, 0, 0, 0, 1}};
  for (int a = 1; a < 5; a++)
    for (int i = 0; i < 9; i++) u[a][i] = 0.5 * ((i ? u[a][i - 1] : 0) + u[a - 1][i < 8 ? i + 1 : 8]);
  assert_memory_equal(u, j.view[1].data, sizeof u);
  job_free(&j);
}

static void a_state_not_yet_written_is_refused(void **state) {
  (void)state;
  nw_tensor *U0 = input("U0", NW_F64, DIMS(lit(1), lit(9))),
            *S = keep(nw_scan_state(nw, "S", NW_F64, DIMS(lit(5), lit(9))));
  nw_tensor *out = NULL;
  nw_build *b = begin("u", "t x", DIMS(lit(5), lit(9)));
  nw_tensor *same = end(b, READ(S, ax(b, 0), ax(b, 1)));
  refused(!nw_scan(nw, "U", 1, &U0, &same, &S, &out), "in u, S[t, x] reads an element not yet written at t = 1");
  b = begin("u", "t x", DIMS(lit(5), lit(9)));
  nw_tensor *next = end(b, READ(S, ax(b, 0), least(add(ax(b, 1), lit(1)), lit(8))));
  refused(!nw_scan(nw, "U", 1, &U0, &next, &S, &out),
          "in u, S[t, min(x + 1, 8)] reads an element not yet written at t = 1, x = 0");
  b = begin("u", "t x", DIMS(lit(5), lit(9)));
  nw_tensor *far = end(b, READ(S, sub(ax(b, 0), lit(2)), ax(b, 1)));
  refused(!nw_scan(nw, "U", 1, &U0, &far, &S, &out),
          "in u, S[t - 2, x] reads index -1 of dimension 0 (extent 5) at t = 1");
}

static void two_states(void **state) {
  (void)state;
  nw_tensor *I = input("I", NW_I64, DIMS(lit(1))), *F = keep(nw_scan_state(nw, "F", NW_I64, DIMS(lit(9))));
  nw_tensor *G = keep(nw_scan_state(nw, "G", NW_I64, DIMS(lit(9))));
  nw_build *b = begin("f", "t", DIMS(lit(9)));
  nw_tensor *f = end(b, READ(G, sub(ax(b, 0), lit(1))));
  b = begin("g", "t", DIMS(lit(9)));
  nw_tensor *g = end(b, add(READ(F, ax(b, 0)), READ(F, sub(ax(b, 0), lit(1)))));
  nw_tensor *out[2], *init[] = {I, I}, *update[] = {f, g}, *st[] = {F, G};
  assert_true(nw_scan(nw, "fib", 2, init, update, st, out));
  keep(out[0]), keep(out[1]);
  job j = job_of(2, out, 0, (int64_t[]){0});
  *(int64_t *)j.view[0].data = 1;
  assert_agree(&j);
  assert_string_equal(j.p->buffer[2]->name, "fib.v1");
  job_free(&j);
}

static void softmax(void **state) {
  (void)state;
  nw_tensor *X = input("X", NW_F32, DIMS(lit(3), lit(7)));
  nw_axis *k = raxis("k", lit(7)), *l = raxis("l", lit(7));
  nw_build *b = begin("m", "i", DIMS(lit(3)));
  nw_tensor *m = end(b, over("max", READ(X, ax(b, 0), var(k)), k));
  b = begin("e", "i j", DIMS(lit(3), lit(7)));
  nw_tensor *e = end(b, op1(NW_OP_EXP, sub(READ(X, ax(b, 0), ax(b, 1)), READ(m, ax(b, 0)))));
  b = begin("s", "i", DIMS(lit(3)));
  nw_tensor *s = end(b, over("sum", READ(e, ax(b, 0), var(l)), l));
  b = begin("Y", "i j", DIMS(lit(3), lit(7)));
  nw_tensor *Y = end(b, op2(NW_OP_DIV, READ(e, ax(b, 0), ax(b, 1)), READ(s, ax(b, 0))));
  job j = job1(Y);
  fill_f32(&j.view[0], 7);
  assert_agree(&j);
  float total = 0;
  for (int i = 0; i < 7; i++) total += ((float *)j.view[1].data)[i];
  assert_true(fabsf(total - 1) < 1e-6f);
  double got;
  assert_true(nw_naive_point(nw, Y, NULL, NULL, 0, 1, j.view, (int64_t[]){2, 6}, &got));
  assert_true(got == (double)((float *)j.view[1].data)[20]);
  job_free(&j);
}

static void arg_reductions_choose_the_lowest_index_of_a_tie(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_F32, DIMS(lit(5), lit(6)));
  nw_axis *k = raxis("k", lit(6));
  nw_tensor *out[2];
  nw_build *b = begin("best", "i", DIMS(lit(5)));
  E body = over("argmax", READ(A, ax(b, 0), var(k)), k);
  assert_int_equal(nw_compute_end(b, 1, &body, out), 2);
  keep(out[0]), keep(out[1]);
  job j = job_of(2, out, 0, (int64_t[]){0});
  float in[5][6] = {{1, 3, 3, 2, 3, 0},
                    {NAN, 1, NAN, 2, 3, 4},
                    {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
                    {0, -0.0f, 0, -0.0f, 0, 0},
                    {1, 2, NAN, 9, NAN, 9}};
  int64_t want[] = {1, 0, 0, 0, 2};
  memcpy(j.view[0].data, in, sizeof in);
  assert_agree(&j);
  assert_memory_equal(want, j.view[2].data, sizeof want);
  job_free(&j);
}

static void a_clamped_gather(void **state) {
  (void)state;
  nw_tensor *A = input("A", NW_I16, DIMS(lit(10))), *I = input("I", NW_I32, DIMS(lit(6)));
  nw_build *b = begin("G", "i", DIMS(lit(6)));
  E at = cast(NW_I64, READ(I, ax(b, 0)));
  nw_tensor *G = end(b, READ(A, least(most(at, lit(0)), lit(9))));
  job j = job1(G);
  int32_t index[] = {3, -5, 9, 10, INT32_MAX, INT32_MIN};
  for (int i = 0; i < j.ninputs; i++) {
    if (j.view[i].dtype == NW_I32)
      memcpy(j.view[i].data, index, sizeof index);
    else
      for (int x = 0; x < 10; x++) ((int16_t *)j.view[i].data)[x] = (int16_t)(x * 11);
  }
  int16_t want[] = {33, 0, 99, 99, 99, 0};
  assert_agree(&j);
  assert_memory_equal(want, j.view[2].data, sizeof want);
  job_free(&j);
}

static void zero_dimensions_and_empty_axes(void **state) {
  (void)state;
  E N = nw_size_var(nw, "N", 0);
  nw_tensor *A = input("A", NW_I32, DIMS(N));
  nw_axis *k = raxis("k", N);
  nw_build *b = nw_compute_begin(nw, "S", 0, NULL, NULL);
  nw_tensor *S = end(b, over("sum", READ(A, var(k)), k));
  for (int64_t n = 0; n < 3; n++) {
    job j = job_of(1, &S, 1, &n);
    for (int i = 0; i < n; i++) ((int32_t *)j.view[0].data)[i] = 5;
    bool ran = run(&j);
    assert_true(ran && run_naive(&j));
    if (n) assert_int_equal(*(int32_t *)j.view[1].data, 5 * n);
    assert_int_equal(*(int32_t *)j.again[0].data, 5 * n);
    job_free(&j);
  }
}

// ---- traps

static nw_program *parsed(const char *text) {
  nw_pool *p = nw_pool_new(nw);
  nw_program *prog = nw_program_parse(nw, p, text);
  if (!prog) print_error("%s\n", nw_error(nw)->message);
  assert_non_null(prog);
  nw_pool_release(p);
  return prog;
}

static void assert_trap(const char *text, const char *message) {
  nw_program *p = parsed(text);
  float a[8] = {0}, c[8] = {0};
  nw_view v[] = {{NW_F32, 8, a}, {NW_F32, 8, c}};
  refused(!nw_interp_program(nw, p, NULL, v, NULL), message);
  nw_program_release(p);
}

#define HEAD "program p\ninput A: f32[8]\noutput C: f32[8]\n"

static void bad_accesses_are_trapped(void **state) {
  (void)state;
  assert_trap(HEAD "for i in 0..8:\n  block C of C (i = i in 0..8):\n    C[i] = A[i + 1]\n",
              "A[8] is read outside its box [0..8] at i = 7");
  assert_trap(HEAD "for i in 0..9:\n  block C of C (i = i in 0..8):\n    C[i] = A[0]\n",
              "C[8] is written outside its box [0..8] at i = 8");
  assert_trap(
      HEAD "temp T: f32[8]\nalloc T[0..8]:\n  for i in 0..8:\n    block C of C (i = i in 0..8):\n      C[i] = T[i]\n",
      "element 0 of T is read before it is written at i = 0");
  assert_trap(
      HEAD "temp T: f32[8]\nfor i in 0..8:\n  alloc T[i..i + 1]:\n    block T of T (i = i in 0..8):\n      T[i] = 1.0\n"
           "    block C of C (i = i in 0..8):\n      C[i] = T[0]\n",
      "T[0] is read outside its box [1..2] at i = 1");
}

static void a_step_limit_or_an_interrupt_ends_a_run(void **state) {
  (void)state;
  nw_program *p = parsed(
      HEAD
      "for j in 0..1000000000000:\n  for i in 0..8:\n    block C of C (j = j in 0..1000000000000, i = i in 0..8):\n"
      "      C[i] = A[i]\n");
  float a[8] = {0}, c[8] = {0};
  nw_view v[] = {{NW_F32, 8, a}, {NW_F32, 8, c}};
  nw_interp_opts o = {.max_steps = 1000};
  refused(!nw_interp_program(nw, p, NULL, v, &o), "the interpreter was stopped after 1000 steps");
  nw_interrupt(nw);
  refused(!nw_interp_program(nw, p, NULL, v, NULL), "interrupted");
  nw_program_release(p);
}

static void count_access(void *env, const nw_access *a) {
  int *n = env;
  n[a->write] += a->lanes;
}

static void accesses_are_traced(void **state) {
  (void)state;
  nw_program *p = parsed(HEAD "for i in 0..8:\n  block C of C (i = i in 0..8):\n    C[i] = A[i] + A[0]\n");
  float a[8] = {0}, c[8] = {0};
  int n[2] = {0};
  nw_view v[] = {{NW_F32, 8, a}, {NW_F32, 8, c}};
  assert_true(nw_interp_program(nw, p, NULL, v, &(nw_interp_opts){.trace = count_access, .env = n}));
  assert_int_equal(n[0], 16);
  assert_int_equal(n[1], 8);
  nw_program_release(p);
}

// ---- callbacks of the interpreter

typedef struct watch {
  int64_t lo, hi; // the iterations that should run
  bool back, drop;
  int asked, outside, unwritten;
  double sum;
  int64_t order[8];
  int n;
} watch;

static void see(void *env, const nw_access *a) {
  watch *w = env;
  w->outside += a->outside;
  w->unwritten += a->unwritten;
  if (a->write && w->n < 8) w->order[w->n++] = a->var[0];
  if (a->write) assert_true(a->n == 1 && a->block->kind == NW_BLOCK && !a->init);
  w->sum += a->value;
}

static bool enters(void *env, const nw_stmt *loop, int64_t lo, int64_t hi) {
  watch *w = env;
  assert_int_equal(loop->kind, NW_LOOP);
  w->asked++;
  return lo <= w->hi && hi >= w->lo;
}

static bool backwards(void *env, const nw_stmt *loop) { return loop && ((watch *)env)->back; }
static bool drop(void *env, const nw_access *a) { return ((watch *)env)->drop && a->at[0] == 5; }

static bool watched(nw_program *p, watch *w, nw_view *v, bool lenient) {
  return nw_interp_program(nw, p, NULL, v,
                           &(nw_interp_opts){.trace = see,
                                             .env = w,
                                             .max_steps = 1000,
                                             .enters = enters,
                                             .backwards = backwards,
                                             .drop = drop,
                                             .lenient = lenient});
}

// The three requested iterations among 10^12 are found by bisection. Iterations are left out or reversed, and stores
// are dropped, as the callbacks request.
static void a_part_of_a_program_runs(void **state) {
  (void)state;
  nw_program *p = parsed(HEAD "for z in 0..1000000000000:\n  block C of C (i = z in 0..1000000000000) where z < 8:\n"
                              "    C[i] = A[i] + 1.0\n");
  float a[8] = {0, 1, 2, 3, 4, 5, 6, 7}, c[8] = {0};
  nw_view v[] = {{NW_F32, 8, a}, {NW_F32, 8, c}};
  watch w = {.lo = 4, .hi = 6};
  assert_true(watched(p, &w, v, false));
  assert_true(w.n == 3 && w.order[0] == 4 && w.order[2] == 6 && w.asked < 100);
  assert_true(c[3] == 0 && c[4] == 5 && c[6] == 7 && c[7] == 0);
  w = (watch){.lo = 4, .hi = 6, .back = true, .drop = true};
  c[5] = 0;
  assert_true(watched(p, &w, v, false));
  assert_true(w.n == 3 && w.order[0] == 6 && w.order[2] == 4);
  assert_true(c[4] == 5 && c[5] == 0); // the store to C[5] was dropped
  nw_program_release(p);
}

static void a_lenient_run_continues_after_bad_accesses(void **state) {
  (void)state;
  nw_program *p = parsed(HEAD "for i in 0..8:\n  block C of C (i = i in 0..8):\n    C[i + 4] = A[i + 1] + C[i]\n");
  float a[8] = {1, 1, 1, 1, 1, 1, 1, 1}, c[8] = {0};
  nw_view v[] = {{NW_F32, 8, a}, {NW_F32, 8, c}};
  watch w = {.lo = 0, .hi = 7};
  assert_false(watched(p, &w, v, false));
  nw_clear(nw);
  w = (watch){.lo = 0, .hi = 7};
  assert_true(watched(p, &w, v, true));
  assert_int_equal(w.unwritten, 4); // C[0] to C[3]
  assert_int_equal(w.outside, 1 + 4); // A[8]; C[8] to C[11]
  assert_true(c[4] == 1 && c[7] == 1);
  nw_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(a_product),
      T(padding_by_select),
      T(a_prefix_sum),
      T(heat_and_a_sweep),
      T(a_state_not_yet_written_is_refused),
      T(two_states),
      T(softmax),
      T(arg_reductions_choose_the_lowest_index_of_a_tie),
      T(a_clamped_gather),
      T(zero_dimensions_and_empty_axes),
      T(bad_accesses_are_trapped),
      T(a_step_limit_or_an_interrupt_ends_a_run),
      T(accesses_are_traced),
      T(a_part_of_a_program_runs),
      T(a_lenient_run_continues_after_bad_accesses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
