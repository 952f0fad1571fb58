// Compares the executions of blocks that nw_visits lists for a program with the executions in the interpreter. The same
// instances must come in the same order.
#include "access/address.h"
#include "walking.h"

typedef struct told { // executions as text, one on each line: "C 3 4"
  nw_str text;
  int axis; // if not negative, lists only executions in which the value of this axis is in lo..hi
  int64_t lo, hi;
} told;

static void tell(told *t, const char *block, int n, const int64_t *axes) {
  if (t->axis >= 0 && (axes[t->axis] < t->lo || axes[t->axis] > t->hi)) return;
  nw_str_add(&t->text, block);
  for (int i = 0; i < n; i++) nw_str_fmt(&t->text, " %lld", (long long)axes[i]);
  nw_str_add(&t->text, "\n");
}

// In these tests, each execution of a block writes once, so a write stands for an execution.
static void see_write(void *env, const nw_access *a) {
  if (a->write && !a->init) tell(env, a->block->block.name, a->block->block.nvars, a->var);
}

static void visit(told *t, lowering *l, const nw_program *p, const int64_t *sizes) {
  nw_visits *v = nw_visits_new(l->c, p, sizes);
  if (!v) fail_msg("%s", nw_error(l->c)->message);
  int64_t values[64];
  for (int i = 0; i < 64; i++) values[i] = t->lo + i;
  for (int b = 0; b < nw_visits_blocks(v); b++) {
    nw_visits_ask(v, b);
    if (t->axis >= 0) nw_visits_only(v, b, t->axis, (int)(t->hi - t->lo + 1), values);
  }
  assert_true(nw_visits_walk(v, 100000));
  for (int64_t i = 0; i < nw_visits_count(v); i++) {
    const nw_visited *x = nw_visits_at(v, i);
    const nw_visit_block *b = nw_visits_block(v, x->block);
    tell(t, b->name, b->naxes, x->axis);
    const nw_visited *there = nw_visits_there(v, x->block, x->loop);
    for (int k = 0; k < b->naxes; k++) assert_int_equal(there->axis[k], x->axis[k]);
  }
  nw_visits_free(v);
}

static void assert_visited_part(lowering *l, const char *text, const int64_t *sizes, int axis, int64_t lo, int64_t hi) {
  nw_program *p = parsed(l, text);
  told ran = {.axis = axis, .lo = lo, .hi = hi}, found = ran;
  nw_view *v = views_of(p, sizes);
  nw_interp_opts o = {.trace = see_write, .env = &ran, .lenient = true};
  if (!nw_interp_program(l->c, p, sizes, v, &o)) fail_msg("%s", nw_error(l->c)->message);
  visit(&found, l, p, sizes);
  assert_string_equal(found.text.s ? found.text.s : "", ran.text.s ? ran.text.s : "");
  for (int i = 0; i < p->nbuffers; i++) free(v[i].data);
  free(v);
  nw_str_free(&ran.text);
  nw_str_free(&found.text);
  nw_program_release(p);
}

// Checks all executions. Then, for each axis, checks the executions with two or five adjacent values of the axis.
static void assert_visited(lowering *l, const char *text, const int64_t *sizes, int naxes) {
  assert_visited_part(l, text, sizes, -1, 0, 0);
  for (int axis = 0; axis < naxes; axis++) {
    for (int64_t lo = -1; lo < 22; lo += 3) {
      assert_visited_part(l, text, sizes, axis, lo, lo + 1);
      assert_visited_part(l, text, sizes, axis, lo, lo + 4);
    }
  }
}

#define COPY(m, n, loops) "program p\ninput A: f32[" m ", " n "]\noutput B: f32[" m ", " n "]\n" loops
#define INTO(i, j, m, n, where) "block B of B (i = " i " in 0.." m ", j = " j " in 0.." n ")" where ":\n"

static void plain_and_reordered(void **state) {
  assert_visited(*state,
                 COPY("9", "7", "for j in 0..7:\n  for i in 0..9:\n    ")
                     INTO("i", "j", "9", "7", "") "      B[i, j] = A[i, j]\n",
                 NULL, 2);
}

static void tiles_and_guards(void **state) {
  assert_visited(
      *state,
      COPY("20", "11", "for i_o in 0..3:\n  for j_o in 0..3:\n    for i_i in 0..8:\n      for j_i in 0..4:\n        ")
          INTO("8*i_o + i_i", "4*j_o + j_i", "20", "11",
               " where 8*i_o + i_i < 20 and 4*j_o + j_i < 11") "          B[i, j] = A[i, j]\n",
      NULL, 2);
}

static void fused_and_skewed(void **state) {
  assert_visited(*state,
                 COPY("9", "7", "for f in 0..63:\n  ") INTO("f // 7", "f % 7", "9", "7", "") "    B[i, j] = A[i, j]\n",
                 NULL, 2);
  assert_visited(*state,
                 COPY("9", "7", "for t in 0..15:\n  for i in max(t - 6, 0)..min(t, 8) + 1:\n    ")
                     INTO("i", "t - i", "9", "7", "") "      B[i, j] = A[i, j]\n",
                 NULL, 2);
}

static void pieces_and_overlap(void **state) {
  assert_visited(*state,
                 "program p\ninput A: f32[20]\noutput B: f32[20]\nfor i_o in 0..3:\n  for i_i in 0..8:\n"
                 "    block B of B (i = i_i + min(8*i_o, 12) in 0..20):\n      B[i] = A[i]\n",
                 NULL, 1);
  assert_visited(*state,
                 "program p\ninput A: f32[20]\noutput B: f32[20]\nfor x in 0..13:\n"
                 "  block B.head of B (i = x in 0..20):\n    B[i] = A[i]\nfor y in 13..20:\n"
                 "  block B.rest of B (i = y in 0..20):\n    B[i] = A[i]\n",
                 NULL, 1);
}

static void sizes_and_reductions(void **state) {
  const char *text =
      "program p\nsize N >= 0\ninput A: f32[N, N]\noutput B: f32[N]\nfor i in 0..N:\n  for j in 0..N:\n"
      "    block B of B (i = i in 0..N, reduce j = j in 0..N):\n      init B[i] = 0.0\n      B[i] += A[i, j]\n";
  for (int64_t n = 0; n < 6; n++) assert_visited(*state, text, &n, 2);
}

static void too_many_executions_are_refused(void **state) {
  lowering *l = *state;
  nw_program *p = parsed(l, COPY("9", "7", "for j in 0..7:\n  for i in 0..9:\n    ")
                                INTO("i", "j", "9", "7", "") "      B[i, j] = A[i, j]\n");
  nw_visits *v = nw_visits_new(l->c, p, NULL);
  nw_visits_ask(v, 0);
  assert_false(nw_visits_walk(v, 62));
  assert_int_equal(nw_error(l->c)->code, NW_ELIMIT);
  nw_clear(l->c);
  assert_true(nw_visits_walk(v, 63));
  assert_int_equal(nw_visits_count(v), 63);
  nw_visits_free(v);
  nw_program_release(p);
}

static void is_interrupted(void **state) {
  lowering *l = *state;
  nw_program *p = parsed(l, COPY("9999", "9999", "for j in 0..9999:\n  for i in 0..9999:\n    ")
                                INTO("i", "j", "9999", "9999", " where i < 0") "      B[i, j] = A[i, j]\n");
  nw_visits *v = nw_visits_new(l->c, p, NULL);
  nw_visits_ask(v, 0);
  nw_interrupt(l->c);
  assert_false(nw_visits_walk(v, 100));
  assert_int_equal(nw_error(l->c)->code, NW_EINTERRUPT);
  nw_clear(l->c);
  nw_visits_free(v);
  nw_program_release(p);
}

// ---- bounds of expressions

static const nw_expr *drawn(nw_pool *p, uint64_t *seed, int depth) {
  uint64_t r = *seed = nw_hash_mix(*seed, 77);
  const nw_expr *var[] = {nw_var(p, "x"), nw_var(p, "y")};
  if (!depth || r % 5 == 0) return r % 3 ? var[r / 3 % 2] : nw_index(p, (int64_t)(r / 3 % 9) - 4);
  static const nw_op ops[] = {NW_OP_ADD, NW_OP_SUB, NW_OP_MUL, NW_OP_MIN, NW_OP_MAX, NW_OP_FLOORDIV, NW_OP_FLOORMOD};
  nw_op op = ops[r / 5 % 7];
  const nw_expr *a = drawn(p, seed, depth - 1);
  const nw_expr *b =
      op == NW_OP_FLOORDIV || op == NW_OP_FLOORMOD ? nw_index(p, 1 + (int64_t)(r / 35 % 5)) : drawn(p, seed, depth - 1);
  return nw_apply(p, op, 2, (const nw_expr *const[]){a, b});
}

static void bounds_hold(void **state) {
  lowering *l = *state;
  nw_pool *p = nw_pool_new(l->c);
  nw_arena *a = nw_arena_new();
  nw_names names = {0};
  nw_vec_push(&names.name, (void *)"x"), nw_vec_push(&names.slot, (void *)0);
  nw_vec_push(&names.name, (void *)"y"), nw_vec_push(&names.slot, (void *)(intptr_t)1);
  uint64_t seed = 1;
  int known = 0;
  for (int k = 0; k < 2000; k++) {
    nw_calc *c = nw_calc_of(a, &names, drawn(p, &seed, 3));
    int64_t lo[] = {(int64_t)(seed % 7) - 3, (int64_t)(seed / 7 % 7) - 3};
    int64_t hi[] = {lo[0] + (int64_t)(seed / 49 % 5), lo[1] + (int64_t)(seed / 245 % 5)}, from, to;
    assert_non_null(c);
    if (!nw_calc_range(c, lo, hi, &from, &to)) continue;
    known++;
    for (int64_t x = lo[0]; x <= hi[0]; x++) {
      for (int64_t y = lo[1]; y <= hi[1]; y++) {
        int64_t v = nw_calc_at(c, (int64_t[]){x, y}, 0);
        assert_true(from <= v && v <= to);
      }
    }
  }
  assert_true(known > 1900);
  nw_vec_free(&names.name);
  nw_vec_free(&names.slot);
  nw_arena_free(a);
  nw_pool_release(p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {
      T(plain_and_reordered), T(tiles_and_guards),     T(fused_and_skewed),
      T(pieces_and_overlap),  T(sizes_and_reductions), T(too_many_executions_are_refused),
      T(is_interrupted),      T(bounds_hold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
