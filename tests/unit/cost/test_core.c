// Tests the model of a core on programs written by hand: the instructions of each body, the number of its executions,
// and its bottleneck.
#include "../lower/lowering.h"
#include "cost/cpu/core_time.h"
#include "cost/cpu/line_walk.h"

// Returns a machine that executes one instruction of each kind per cycle, and has vectors of 32 bytes.
static nw_machine plain_machine(void) {
  nw_machine m = {.kind = NW_MACHINE_CPU,
                  .cores = 1,
                  .clock = 1,
                  .vector_bytes = 32,
                  .vector_registers = 16,
                  .dispatch = 4,
                  .gather = 1,
                  .scatter = 2,
                  .gather_least = 6,
                  .gather_instructions = 3,
                  .window = 100,
                  .scheduler = 100,
                  .foretold = 64,
                  .forward = 5,
                  .forward_masked = 15,
                  .store_lines = 1,
                  .loop = 1,
                  .nlevels = 1};
  for (int c = 0; c < NW_CLASS_COUNT; c++) {
    for (int w = 0; w < NW_WIDTHS; w++) m.op[c].per_cycle[w] = 1;
    m.op[c].latency = 4;
  }
  m.level[0] = (nw_machine_level){.bytes = 32768, .ways = 8, .line = 64, .shared_by = 1, .effective_bytes = 32768};
  return m;
}

static nw_core *shaped(lowering *l, const char *text, const nw_machine *m) {
  nw_program *p = parsed(l, text);
  nw_exec *e = nw_lower(p, NULL);
  nw_core *k = e ? nw_core_new(l->c, e, NULL, m) : NULL;
  if (!k || !nw_core_count(k, 0, 0) || !nw_core_shape(k)) fail_msg("%s", nw_error(l->c)->message);
  nw_exec_release(e);
  nw_program_release(p);
  return k;
}

static const nw_core_node *loop_named(const nw_core_node *at, const char *name) {
  if (at->stmt->kind == NW_LOOP && !strcmp(at->stmt->loop.var->name, name)) return at;
  for (int i = 0; i < at->nkids; i++) {
    const nw_core_node *found = loop_named(at->kid[i], name);
    if (found) return found;
  }
  return NULL;
}

static double count(const nw_core *k, const char *loop, nw_class c, int width) {
  const nw_core_node *at = loop_named(k->root, loop);
  if (!at) fail_msg("there is no loop %s", loop);
  return at->ops.op[c][width];
}

#define GEMM(loops)                                                                                                    \
  "program gemm\ninput A: f32[20, 12]\ninput B: f32[12, 24]\noutput C: f32[20, 24]\n" loops                            \
  "      block C of C (i = i in 0..20, j = j in 0..24, reduce k = k in 0..12):\n        init C[i, j] = 0.0\n"          \
  "        C[i, j] += A[i, k]*B[k, j]\n"

static void a_sum_stays_in_a_register(void **state) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(*state, GEMM("for i in 0..20:\n  for j in 0..24:\n    for k in 0..12:\n"), &m);
  assert_int_equal(loop_named(k->root, "k")->times, 20 * 24 * 12);
  assert_int_equal(loop_named(k->root, "k")->entered, 20 * 24);
  assert_true(count(k, "k", NW_CLASS_FMA, 0) == 1);
  assert_true(count(k, "k", NW_CLASS_LOAD, 0) == 2);
  assert_true(count(k, "k", NW_CLASS_STORE, 0) == 0);
  assert_true(count(k, "j", NW_CLASS_STORE, 0) == 2); // one before loop k and one after it
  nw_core_time(k);
  assert_int_equal(loop_named(k->root, "k")->bound, NW_BOUND_LATENCY);
  nw_core_free(k);
}

// A[i, k] does not depend on j, so it is loaded outside loop j. C[i, j] depends on j, so it is loaded and stored in
// each iteration.
static void invariant_loads_move_out(void **state) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(*state, GEMM("for k in 0..12:\n  for i in 0..20:\n    for j in 0..24:\n"), &m);
  assert_true(count(k, "j", NW_CLASS_LOAD, 0) == 2);
  assert_true(count(k, "j", NW_CLASS_STORE, 0) == 1);
  assert_true(count(k, "i", NW_CLASS_LOAD, 0) == 1);
  nw_core_free(k);
}

static void triangles_and_guards_are_counted(void **state) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(*state,
                      "program p\ninput A: f32[32]\noutput B: f32[10, 10]\nfor i in 0..10:\n  for j in 0..i + 1:\n"
                      "    block B of B (i = i in 0..10, j = j in 0..10) where j < 7:\n      B[i, j] = A[i + j]\n",
                      &m);
  int64_t runs = 0;
  for (int i = 0; i < 10; i++) runs += i + 1 < 7 ? i + 1 : 7;
  nw_core_ops all = {0};
  nw_core_add_all(k, &all);
  assert_true(all.op[NW_CLASS_STORE][0] == (double)runs);
  nw_core_free(k);
}

#define COPY(lanes, at)                                                                                                \
  "program p\ninput A: f32[1100]\noutput B: f32[1024]\nfor i in 0..32:\n  vectorize for l in 0.." lanes ":\n"          \
  "    block B of B (i = 32*i + l in 0..1024):\n      B[i] = A[" at "]\n"

static void vectors_are_cut_to_those_of_the_machine(void **state) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(*state, COPY("32", "i"), &m);
  assert_true(count(k, "i", NW_CLASS_LOAD, 2) == 4);
  assert_true(count(k, "i", NW_CLASS_STORE, 2) == 4);
  assert_true(loop_named(k->root, "i")->ops.unit[NW_CORE_LOAD_CROSSING] == 0);
  nw_core_free(k);
  k = shaped(*state, COPY("32", "i + 1"), &m); // loads of 32 bytes at 4, 36, 68, 100: two cross a line
  assert_true(loop_named(k->root, "i")->ops.unit[NW_CORE_LOAD_CROSSING] == 2);
  nw_core_free(k);
}

// For adjacent elements, only the address of the first element is computed.
static void a_vector_of_indices_is_not_computed(void **state) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(*state, COPY("32", "i"), &m);
  for (int w = 1; w < NW_WIDTHS; w++) assert_true(count(k, "i", NW_CLASS_INT, w) == 0);
  nw_core_free(k);
}

#define WALK(rows, columns, loops, at)                                                                                 \
  "program p\ninput A: f32[" rows ", " columns "]\noutput B: f32[" rows ", " columns "]\n" loops                       \
  "    block B of B (y = y in 0.." rows ", x = x in 0.." columns "):\n      B[y, x] = A[" at "]\n"

static nw_line_walk walk_of_store(lowering *l, const char *text) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(l, text, &m);
  nw_line_walk w = {0};
  nw_line_spans(k);
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *a = k->access.at[i];
    if (a->write) w = nw_line_walk_of(k, a);
  }
  nw_core_free(k);
  return w;
}

static void rows_go_line_by_line_and_columns_jump(void **state) {
  nw_line_walk rows = walk_of_store(*state, WALK("100", "960", "for y in 0..100:\n  for x in 0..960:\n", "y, x"));
  assert_false(rows.loads_jump || rows.stores_jump);
  nw_line_walk columns = walk_of_store(*state, WALK("100", "960", "for x in 0..960:\n  for y in 0..100:\n", "y, x"));
  assert_true(columns.loads_jump && columns.stores_jump && columns.crowding == 0);
}

// A row has 4096 bytes, so all elements of a column are in the same set, which holds eight lines.
static void columns_of_whole_ways_crowd_into_one_set(void **state) {
  nw_line_walk w = walk_of_store(*state, WALK("100", "1024", "for x in 0..1024:\n  for y in 0..100:\n", "y, x"));
  assert_true(w.stores_jump && w.crowding == 1);
  w = walk_of_store(*state, WALK("6", "1024", "for x in 0..1024:\n  for y in 0..6:\n", "y, x"));
  assert_true(w.crowding == 0); // six lines fit into the set
}

// A run is a range of adjacent bytes (line_walk.c). An unrolled body that accesses four adjacent vectors makes one run,
// like a loop over single vectors.
static void copies_of_a_body_make_one_run(void **state) {
  nw_line_walk w = walk_of_store(
      *state, "program p\ninput A: f32[100, 960]\noutput B: f32[100, 960]\nfor x in 0..15:\n  for y in 0..100:\n"
              "    unroll for u in 0..4:\n      vectorize for l in 0..16:\n"
              "        block B of B (y = y in 0..100, x = 64*x + 16*u + l in 0..960):\n          B[y, x] = A[y, x]\n");
  assert_true(w.stores_jump && !w.loads_jump);
}

// A loop that accesses four rows in turn makes four interleaved runs. Prefetchers can follow four runs, but not a
// hundred.
#define BLOCKS(rows)                                                                                                   \
  "program p\ninput A: f32[100, 960]\noutput B: f32[100, 960]\nfor b in 0..100//" rows ":\n  for x in 0..60:\n"        \
  "    for y in 0.." rows ":\n      vectorize for l in 0..16:\n"                                                       \
  "        block B of B (y = " rows "*b + y in 0..100, x = 16*x + l in 0..960):\n          B[y, x] = A[y, x]\n"

static void a_few_interleaved_runs_are_followed(void **state) {
  assert_false(walk_of_store(*state, BLOCKS("4")).stores_jump);
  assert_true(walk_of_store(*state, BLOCKS("100")).stores_jump);
}

// Data is stored in vectors of `lanes` lanes, and loaded in vectors of eight lanes (32 bytes).
#define READ_BACK(lanes, rounds, at, elements)                                                                         \
  "program p\ninput A: f32[1024]\noutput B: f32[1000]\ntemp T: f32[1024] global\nfor i in 0..125:\n  alloc "           \
  "T[8*i..8*i + " elements "]:\n    for u in 0.." rounds ":\n      vectorize for l in 0.." lanes ":\n"                 \
  "        block T of T (x = 8*i + " lanes "*u + l in 0..1024):\n          T[x] = A[x]\n"                              \
  "    vectorize for m in 0..8:\n      block B of B (x = 8*i + m in 0..1000):\n        B[x] = T[" at "]\n"

static int blocked(lowering *l, const char *text) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(l, text, &m);
  int n = loop_named(k->root, "i")->blocked;
  nw_core_free(k);
  return n;
}

static void a_load_over_two_stores_waits(void **state) {
  assert_int_equal(blocked(*state, READ_BACK("8", "1", "x", "8")), 0);
  assert_int_equal(blocked(*state, READ_BACK("4", "2", "x", "8")), 1);
  assert_int_equal(blocked(*state, READ_BACK("8", "2", "x + 1", "16")), 1);
}

static void each_waiting_load_adds_its_delay(void **state) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(*state, READ_BACK("4", "2", "x", "8"), &m);
  double quick = (nw_core_time(k), k->root->cycles);
  nw_core_free(k);
  m.forward_masked = 115;
  k = shaped(*state, READ_BACK("4", "2", "x", "8"), &m);
  nw_core_time(k);
  assert_true(k->root->cycles > quick + 99 * 125);
  assert_int_equal(loop_named(k->root, "i")->bound, NW_BOUND_FORWARD);
  nw_core_free(k);
}

// Both loads use the same quotient and the same remainder.
static void an_address_is_computed_once(void **state) {
  nw_machine m = plain_machine();
  nw_core *k = shaped(*state,
                      "program p\ninput A: f32[16, 9]\noutput B: f32[112]\nfor i in 0..112:\n"
                      "  block B of B (i = i in 0..112):\n    B[i] = A[i//7, i % 7] + A[i//7, i % 7 + 1]\n",
                      &m);
  assert_true(count(k, "i", NW_CLASS_INTMUL, 0) == 3); // for the quotient, the remainder, and 9 times the quotient
  nw_core_free(k);
}

// Eight single values are inserted into a vector register, each by one shuffle.
static void parts_of_a_register_are_put_in_place(void **state) {
  nw_machine m = plain_machine();
  nw_core *k =
      shaped(*state,
             "program p\ninput A: f32[64]\noutput B: f32[64]\ntemp T: f32[64] local\nfor i in 0..8:\n"
             "  alloc T[8*i..8*i + 8]:\n    unroll for u in 0..8:\n      block T of T (x = 8*i + u in 0..64):\n"
             "        T[x] = A[x]\n    vectorize for l in 0..8:\n      block B of B (x = 8*i + l in 0..64):\n"
             "        B[x] = T[x]\n",
             &m);
  assert_true(count(k, "i", NW_CLASS_SHUFFLE, 1) == 8);
  nw_core_free(k);
}

static void strided_lanes_are_gathered(void **state) {
  nw_machine m = plain_machine();
  nw_core *k =
      shaped(*state,
             "program p\ninput A: f32[64, 8]\noutput B: f32[8, 8]\nfor i in 0..8:\n  vectorize for l in 0..8:\n"
             "    block B of B (i = i in 0..8, l = l in 0..8):\n      B[i, l] = A[8*l, i]\n",
             &m);
  const nw_core_node *i = loop_named(k->root, "i");
  assert_true(i->ops.unit[NW_CORE_GATHER] >= 8);
  assert_true(i->ops.op[NW_CLASS_STORE][2] == 1);
  nw_core_free(k);
}

// Sums that each start from 0 are independent chains, and overlap. A longer window never makes the loop slower, and
// latency does not limit a short sum.
static void short_chains_overlap(void **state) {
  nw_machine m = plain_machine();
  const char *text = GEMM("for i in 0..20:\n  for j in 0..24:\n    for k in 0..12:\n");
  double last = 1e18;
  for (int window = 20; window <= 2000; window *= 10) {
    m.window = window;
    nw_core *k = shaped(*state, text, &m);
    nw_core_time(k);
    assert_true(k->root->cycles <= last);
    assert_true(k->root->cycles >= 20 * 24 * 12 * 2); // two loads in each iteration, one per cycle
    last = k->root->cycles;
    nw_core_free(k);
  }
}

// With a larger scheduler, the loop is faster.
static void a_larger_scheduler_is_faster(void **state) {
  nw_machine m = plain_machine();
  double last = 1e18;
  for (int scheduler = 4; scheduler <= 400; scheduler *= 10) {
    m.window = 1000, m.scheduler = scheduler;
    nw_core *k = shaped(*state, GEMM("for i in 0..20:\n  for j in 0..24:\n    for k in 0..12:\n"), &m);
    nw_core_time(k);
    assert_true(k->root->cycles < last);
    last = k->root->cycles;
    nw_core_free(k);
  }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
  const struct CMUnitTest tests[] = {
      TEST(a_sum_stays_in_a_register),
      TEST(invariant_loads_move_out),
      TEST(triangles_and_guards_are_counted),
      TEST(vectors_are_cut_to_those_of_the_machine),
      TEST(strided_lanes_are_gathered),
      TEST(short_chains_overlap),
      TEST(a_vector_of_indices_is_not_computed),
      TEST(rows_go_line_by_line_and_columns_jump),
      TEST(columns_of_whole_ways_crowd_into_one_set),
      TEST(copies_of_a_body_make_one_run),
      TEST(a_few_interleaved_runs_are_followed),
      TEST(a_load_over_two_stores_waits),
      TEST(each_waiting_load_adds_its_delay),
      TEST(an_address_is_computed_once),
      TEST(parts_of_a_register_are_put_in_place),
      TEST(a_larger_scheduler_is_faster),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
