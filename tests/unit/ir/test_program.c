#include "fixture.h"
#include "ir/program/valid.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

static const char gemm[] = "program gemm\n"
                           "size M >= 1\n"
                           "input A: f32[M, 64]\n"
                           "output C: f32[M, 32]\n"
                           "temp T: f32[M, 64]\n"
                           "alloc T[0..M, 0..64]\n"
                           "for i in 0..M:\n"
                           "  for j in 0..32:\n"
                           "    for k in 0..64:\n"
                           "      block C of C (i = i in 0..M, j = j in 0..32, reduce k = k in 0..64):\n"
                           "        init C[i, j] = 0.0\n"
                           "        C[i, j] += A[i, k]*T[i, k]\n";

static nw_program *parsed(env *e, const char *text) {
  nw_program *p = nw_program_parse(e->c, e->pool, text);
  if (!p) print_error("%s\n", nw_error(e->c)->message);
  assert_non_null(p);
  return p;
}

static void assert_text(const nw_program *p, const char *want) {
  char *text = nw_program_print(p);
  assert_string_equal(text, want);
  free(text);
}

static void a_clone_is_the_same_program_of_the_next_step(void **state) {
  nw_program *p = parsed(*state, gemm), *q = nw_program_clone(p);
  assert_true(nw_same_program(p, q));
  assert_int_equal(q->step, p->step + 1);
  assert_int_equal(q->next_id, p->next_id);
  assert_int_equal(nw_find_loop(q, "k")->id, nw_find_loop(p, "k")->id);
  assert_ptr_not_equal(nw_find_loop(q, "k"), nw_find_loop(p, "k"));
  assert_int_equal(nw_find_buffer(q, "T")->id, nw_find_buffer(p, "T")->id);
  nw_program_release(p);
  assert_text(nw_program_freeze(q), gemm);
  nw_program_release(q);
}

static void a_clone_changes_without_its_original(void **state) {
  env *e = *state;
  nw_program *p = parsed(e, gemm), *q = nw_program_clone(p);
  nw_find_loop(q, "i")->loop.mark = NW_PARALLEL;
  nw_stmt_subst(q, q->root, "k", nw_index(e->pool, 3));
  nw_find_alloc(q, "T")->alloc.extent[0] = nw_index(e->pool, 7);
  nw_add_buffer(q, "more", NW_F32, NW_LOCAL, NW_TEMP, 0, NULL);
  assert_text(p, gemm);
  assert_false(nw_same_program(p, q));
  nw_program_release(q);
  nw_program_release(p);
}

static void substitution_marks_the_changed_statements(void **state) {
  env *e = *state;
  nw_program *p = parsed(e, gemm), *q = nw_program_clone(p);
  nw_stmt_subst(q, q->root, "j", nw_index(e->pool, 0));
  assert_int_equal(nw_find_block(q, "C")->step, 1);
  assert_int_equal(nw_find_loop(q, "k")->step, 0);
  assert_true(nw_is_const(nw_find_block(q, "C")->block.var[1].bind, 0));
  assert_true(nw_uses_var(nw_find_block(q, "C")->block.target[0].index[1], "j"));
  nw_program_release(q);
  nw_program_release(p);
}

static void a_path_leads_from_the_root(void **state) {
  nw_program *p = parsed(*state, gemm);
  nw_path path;
  assert_true(nw_find(p, nw_find_block(p, "C")->id, &path));
  assert_int_equal(path.n, 5);
  assert_ptr_equal(path.at[0], p->root);
  assert_string_equal(path.at[3]->loop.var->name, "k");
  for (int i = 1; i < path.n; i++) assert_ptr_equal(path.at[i - 1]->kid[path.pos[i]], path.at[i]);
  assert_true(nw_find(p, nw_find_alloc(p, "T")->id, &path));
  assert_int_equal(path.n, 2);
  assert_false(nw_find(p, 12345, &path));
  assert_false(nw_find(p, 0, NULL));
  assert_null(nw_find_loop(p, "C"));
  assert_null(nw_find_block(p, "i"));
  assert_null(nw_find_buffer(p, "i"));
  nw_program_release(p);
}

// Storage that is allocated outside of loops exists until the end, so its allocations form a flat list. An allocation
// on the stack is a node of the tree.
static void storage_outside_of_loops_is_a_flat_list(void **state) {
  nw_program *p = parsed(*state, "program p\ninput A: f32[8]\noutput C: f32[8]\ntemp T: f32[8]\ntemp U: f32[8] local\n"
                                 "for i in 0..8:\n  block C of C (i = i in 0..8):\n    C[i] = A[i]\n"
                                 "alloc T[0..8]:\n"
                                 "  for i_1 in 0..8:\n    block T of T (i = i_1 in 0..8):\n      T[i] = A[i]\n"
                                 "  alloc U[0..8]:\n"
                                 "    for i_2 in 0..8:\n      block U of U (i = i_2 in 0..8):\n        U[i] = T[i]\n"
                                 "    for i_3 in 0..8:\n      block V of V (i = i_3 in 0..8):\n        C[i] = U[i]\n");
  assert_int_equal(p->root->nkids, 3);
  const nw_stmt *t = nw_find_buffer(p, "T")->alloc;
  assert_ptr_equal(t, nw_find_alloc(p, "T"));
  assert_int_equal(t->nkids, 0);
  assert_int_equal(t->alloc.first, 1);
  assert_int_equal(t->alloc.last, 2);
  assert_null(nw_find_buffer(p, "U")->alloc);
  assert_int_equal(p->root->kid[2]->kind, NW_ALLOC);
  nw_program *q = nw_program_clone(p);
  nw_find_buffer(q, "T")->scope = NW_LOCAL;
  nw_program_freeze(q);
  assert_null(nw_find_buffer(q, "T")->alloc);
  assert_int_equal(q->root->nkids, 2);
  assert_string_equal(q->root->kid[1]->alloc.buffer, "T");
  char *text = nw_program_print(q);
  nw_program *again = parsed(*state, text);
  assert_true(nw_same_program(q, again));
  free(text);
  nw_program_release(again);
  nw_program_release(q);
  nw_program_release(p);
}

static bool count_to_three(void *n, const nw_path *path) {
  (void)path;
  return ++*(int *)n < 3;
}

static void a_walk_stops_on_request(void **state) {
  nw_program *p = parsed(*state, gemm);
  int n = 0;
  assert_false(nw_walk(p, count_to_three, &n));
  assert_int_equal(n, 3);
  nw_program_release(p);
}

static void children_can_be_set_inserted_removed_replaced(void **state) {
  env *e = *state;
  nw_program *p = nw_program_new(e->c, e->pool, "p");
  const nw_expr *zero = nw_index(e->pool, 0), *two = nw_index(e->pool, 2);
  nw_stmt *s[4];
  for (int i = 0; i < 4; i++) s[i] = nw_new_loop(p, nw_unique_loop_name(p, "i"), zero, two);
  nw_kids_set(p, p->root, 2, s);
  nw_kids_insert(p, p->root, 1, s[2]);
  assert_ptr_equal(p->root->kid[1], s[2]);
  assert_ptr_equal(p->root->kid[2], s[1]);
  nw_kids_insert(p, p->root, 3, s[3]);
  nw_kids_remove(p, p->root, 0);
  assert_int_equal(p->root->nkids, 3);
  assert_ptr_equal(nw_kids_replace(p->root, 0, s[0]), s[2]);
  assert_text(p, "program p\nfor i in 0..2:\n  pass\nfor i_1 in 0..2:\n  pass\nfor i_3 in 0..2:\n  pass\n");
  nw_program_release(p);
}

static void names_are_fresh(void **state) {
  env *e = *state;
  nw_program *p = parsed(e, gemm), *q = nw_program_clone(p);
  assert_string_equal(nw_unique_loop_name(q, "x"), "x");
  assert_string_equal(nw_unique_loop_name(q, "x"), "x_1");
  assert_string_equal(nw_unique_loop_name(q, "i"), "i_1");
  assert_string_equal(nw_unique_loop_name(q, "M"), "M_1");
  assert_string_equal(nw_unique_block_name(q, "i"), "i");
  assert_string_equal(nw_unique_block_name(q, "C"), "C_1");
  assert_string_equal(nw_unique_buffer_name(q, "A"), "A_1");
  assert_string_equal(nw_add_buffer(q, "A", NW_F32, NW_LOCAL, NW_TEMP, 0, NULL)->name, "A_1");
  assert_string_equal(nw_unique_buffer_name(q, "A"), "A_2");
  nw_program_release(q);
  nw_program_release(p);
}

static void the_same_steps_give_the_same_names(void **state) {
  nw_program *p = parsed(*state, gemm);
  for (int round = 0; round < 2; round++) {
    nw_program *q = nw_program_clone(p);
    assert_string_equal(nw_unique_loop_name(q, "i"), "i_1");
    assert_int_equal(nw_new_stmt(q, NW_GUARD)->id, p->next_id);
    nw_program_release(q);
  }
  nw_program_release(p);
}

static void copies_have_ids_and_names_of_their_own(void **state) {
  nw_program *p = parsed(*state, gemm), *q = nw_program_clone(p);
  nw_kids_insert(q, q->root, 1, nw_copy_stmt(q, q->root->kid[0]));
  nw_kids_insert(q, q->root, 2, nw_copy_stmt_as(q, q->root->kid[0], "i.tail"));
  nw_stmt *copy = nw_find_loop(q, "i_1"), *tail = nw_find_loop(q, "i.tail");
  assert_non_null(copy);
  assert_non_null(tail);
  assert_true(copy->id >= p->next_id);
  assert_int_equal(copy->step, 1);
  assert_non_null(nw_find_loop(q, "i.tail/j"));
  assert_non_null(nw_find_block(q, "C_1"));
  const nw_stmt *block = nw_find_block(q, "C.tail");
  assert_string_equal(block->block.origin, "C");
  assert_string_equal(block->block.var[2].bind->name, "i.tail/k");
  assert_ptr_equal(block->block.target[0].value, nw_find_block(q, "C")->block.target[0].value);
  nw_program_release(nw_program_freeze(q));
  nw_program_release(p);
}

static void an_invalid_program_is_an_internal_error(void **state) {
  env *e = *state;
  nw_program *p = parsed(e, "program p\noutput C: f32[5]\nfor i in 0..5:\n  C[i] = 1.0\n");
  nw_program *q = nw_program_clone(p);
  nw_find_loop(q, "i")->loop.extent = nw_var(p->pool, "nowhere");
  assert_null(nw_program_freeze(q));
  assert_int_equal(nw_error(e->c)->code, NW_EINTERNAL);
  nw_clear(e->c);
  nw_program_release(p);
}

static void ranges_follow_from_loops_and_guards(void **state) {
  env *e = *state;
  nw_program *p = parsed(e, "program p\nsize M >= 3\noutput C: f32[M]\nfor i in 2..M:\n  if i < 5:\n    C[i] = 1.0\n");
  nw_path path;
  nw_ranges r;
  nw_find(p, nw_find_loop(p, "i")->kid[0]->kid[0]->id, &path);
  nw_ranges_of(&r, p, &path);
  assert_true(nw_prove(&r, nw_expr_parse(e->pool, "i < 5 and 2 <= i and i < M and 3 <= M")));
  assert_false(nw_prove(&r, nw_expr_parse(e->pool, "i < 4")));
  nw_ranges_free(&r);
  path.n--;
  nw_ranges_of(&r, p, &path);
  assert_false(nw_prove(&r, nw_expr_parse(e->pool, "i < 5")));
  nw_ranges_free(&r);
  nw_program_release(p);
}

static void bindings_replace_block_variables(void **state) {
  env *e = *state;
  nw_program *p = parsed(e, gemm), *q = nw_program_clone(p);
  nw_stmt *block = nw_find_block(q, "C");
  block->block.var[0].bind = nw_expr_parse(e->pool, "j");
  block->block.var[1].bind = nw_expr_parse(e->pool, "i");
  assert_ptr_equal(nw_block_bound(q, block, nw_expr_parse(e->pool, "2*i + j")), nw_expr_parse(e->pool, "2*j + i"));
  nw_program_release(q);
  nw_program_release(p);
}

// ---- invariants

typedef struct breakage {
  const char *says;
  void (*apply)(nw_program *p);
} breakage;

static void unknown_loop(nw_program *p) { nw_find_block(p, "C")->block.var[0].bind = nw_var(p->pool, "zz"); }
static void inner_loop(nw_program *p) { nw_find_loop(p, "i")->loop.extent = nw_var(p->pool, "j"); }
static void loop_in_body(nw_program *p) {
  nw_find_loop(p, "i")->loop.var = nw_var(p->pool, "x");
  nw_find_block(p, "C")->block.var[0].bind = nw_var(p->pool, "x");
  nw_find_block(p, "C")->block.target[0].index[0] = nw_var(p->pool, "x");
}
static void same_name(nw_program *p) { nw_find_loop(p, "j")->loop.var = nw_var(p->pool, "i"); }
static void no_kid(nw_program *p) { nw_find_loop(p, "j")->kid[0] = NULL; }
static void no_buffer(nw_program *p) { nw_find_block(p, "C")->block.target[0].buffer = "Q"; }
static void no_init(nw_program *p) { nw_find_block(p, "C")->block.target[0].init = NULL; }
static void odd_name(nw_program *p) { nw_find_block(p, "C")->block.name = "C D"; }
static void other_type(nw_program *p) { nw_find_block(p, "C")->block.target[0].value = nw_index(p->pool, 1); }
static void not_a_product(nw_program *p) {
  nw_stmt *s = nw_find_loop(p, "j");
  s->loop.fused = NW_NEW_N(p->arena, const nw_expr *, 1);
  s->loop.fused[s->loop.nfused++] = nw_index(p->pool, 31);
}

static void broken_invariants_are_detected(void **state) {
  static const breakage all[] = {
      {"a binding uses zz, which is not an enclosing loop or a size", unknown_loop},
      {"the extent of a loop uses j, which is not an enclosing loop or a size", inner_loop},
      {"an index uses x, which is not a variable of the block or a size", loop_in_body},
      {"there are two loops or sizes named i", same_name},
      {"a statement is NULL", no_kid},
      {"block C writes Q, which is not a buffer", no_buffer},
      {"block C is marked as having an init but has none", no_init},
      {"'C D' cannot name a block", odd_name},
      {"a body is i64 with 1 lanes, but must be f32 with 1", other_type},
      {"the extent of the fused loop j is not the product of its dimensions", not_a_product},
  };
  nw_program *p = parsed(*state, gemm);
  nw_flaw flaw;
  assert_false(nw_program_flaw(p, &flaw));
  for (int i = 0; i < NW_COUNT(all); i++) {
    nw_program *q = nw_program_clone(p);
    all[i].apply(q);
    assert_true(nw_program_flaw(q, &flaw));
    assert_string_equal(flaw.text, all[i].says);
    nw_program_release(q);
  }
  nw_program_release(p);
}

static void names_are_words_and_paths(void **state) {
  (void)state;
  static const char *const good[] = {"i", "i_o", "_0", "i.tail/j", "A@12", "for", "min", "C.0"};
  static const char *const bad[] = {"", "0i", "i.", "i..j", "i/", "a//b", "a b", "and", "true", "i-j", "\xc3\xa9"};
  for (int i = 0; i < NW_COUNT(good); i++) assert_true(nw_name_ok(good[i]));
  for (int i = 0; i < NW_COUNT(bad); i++) assert_false(nw_name_ok(bad[i]));
}

static void identities_start_a_reduction(void **state) {
  nw_pool *p = ((env *)*state)->pool;
  assert_ptr_equal(nw_combiner_identity(p, NW_SUM, NW_F32, 0), nw_float(p, NW_F32, 0));
  assert_ptr_equal(nw_combiner_identity(p, NW_PROD, NW_I8, 0), nw_int(p, NW_I8, 1));
  assert_ptr_equal(nw_combiner_identity(p, NW_MIN_OF, NW_U32, 0), nw_int(p, NW_U32, UINT32_MAX));
  assert_ptr_equal(nw_combiner_identity(p, NW_MAX_OF, NW_I16, 0), nw_int(p, NW_I16, INT16_MIN));
  assert_ptr_equal(nw_combiner_identity(p, NW_MIN_OF, NW_I64, 0), nw_int(p, NW_I64, INT64_MAX));
  assert_ptr_equal(nw_combiner_identity(p, NW_ARGMAX, NW_U8, 0), nw_int(p, NW_U8, 0));
  assert_ptr_equal(nw_combiner_identity(p, NW_ARGMIN, NW_F64, 0), nw_float(p, NW_F64, HUGE_VAL));
  assert_ptr_equal(nw_combiner_identity(p, NW_ARGMIN, NW_F64, 1), nw_index(p, -1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      TEST(a_clone_is_the_same_program_of_the_next_step),
      TEST(a_clone_changes_without_its_original),
      TEST(substitution_marks_the_changed_statements),
      TEST(a_path_leads_from_the_root),
      TEST(storage_outside_of_loops_is_a_flat_list),
      TEST(a_walk_stops_on_request),
      TEST(children_can_be_set_inserted_removed_replaced),
      TEST(names_are_fresh),
      TEST(the_same_steps_give_the_same_names),
      TEST(copies_have_ids_and_names_of_their_own),
      TEST(an_invalid_program_is_an_internal_error),
      TEST(ranges_follow_from_loops_and_guards),
      TEST(bindings_replace_block_variables),
      TEST(broken_invariants_are_detected),
      TEST(names_are_words_and_paths),
      TEST(identities_start_a_reduction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
