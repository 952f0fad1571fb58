// Tests reading, completing, refusing and listing machine records.
#include "hw/machine.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct fixture {
  nw_ctx *c;
  nw_machine m;
} fixture;

static void number(fixture *x, const char *path, double v) {
  if (!nw_machine_set(x->c, &x->m, path, (nw_value){.kind = NW_FIELD_REAL, .number = v}))
    fail_msg("%s: %s", path, nw_error(x->c)->message);
}

static void text(fixture *x, const char *path, const char *v) {
  if (!nw_machine_set(x->c, &x->m, path, (nw_value){.kind = NW_FIELD_TEXT, .text = v}))
    fail_msg("%s: %s", path, nw_error(x->c)->message);
}

static void level(fixture *x, int i, double bytes, double ways) {
  char path[64];
  const char *const fields[] = {"bytes", "ways", "latency", "bytes_per_cycle"};
  double values[] = {bytes, ways, 4 * i, 64};
  for (int f = 0; f < 4; f++) {
    snprintf(path, sizeof path, "caches[%d].%s", i, fields[f]);
    number(x, path, values[f]);
  }
}

// Sets only the fields that a cpu must have.
static void small(fixture *x) {
  static const struct {
    const char *path;
    double v;
  } numbers[] = {{"clock", 3},
                 {"cores", 4},
                 {"vector_bytes", 32},
                 {"vector_registers", 16},
                 {"dispatch", 4},
                 {"ops.fma.per_cycle", 2},
                 {"ops.int.per_cycle", 4},
                 {"ops.load.per_cycle", 2},
                 {"ops.store.per_cycle", 1},
                 {"memory.bytes", 1e9},
                 {"memory.latency", 80},
                 {"memory.bandwidth", 10}};
  nw_machine_init(&x->m);
  text(x, "name", "small");
  for (int i = 0; i < NW_COUNT(numbers); i++) number(x, numbers[i].path, numbers[i].v);
  level(x, 1, 32768, 8);
}

static int begin(void **state) {
  fixture *x = nw_xcalloc(1, sizeof *x);
  x->c = nw_open();
  small(x);
  *state = x;
  return 0;
}

static int end(void **state) {
  fixture *x = *state;
  nw_close(x->c);
  free(x);
  return 0;
}

static void assert_has(const char *s, const char *part) {
  if (!s || !strstr(s, part)) fail_msg("no '%s' in '%s'", part, s ? s : "nothing");
}

static void finish(fixture *x) {
  if (!nw_machine_finish(x->c, &x->m)) fail_msg("%s", nw_error(x->c)->message);
}

static void refused(fixture *x, const char *part) {
  assert_false(nw_machine_finish(x->c, &x->m));
  assert_has(nw_error(x->c)->message, part);
}

static void missing_fields_get_the_default_of_their_row(void **state) {
  fixture *x = *state;
  finish(x);
  const nw_machine *m = &x->m;
  assert_int_equal(m->kind, NW_MACHINE_CPU);
  assert_int_equal(m->combine, NW_COMBINE_MAX);
  assert_int_equal(m->level[0].line, 64);
  assert_int_equal(m->level[0].effective_bytes, 32768);
  assert_int_equal(m->level[0].write_allocate, 1);
  assert_true(m->level[0].back_per_cycle == 64 && m->memory.bandwidth_all == 10);
  assert_true(m->line_crossing == 1 && m->page_crossing == 1);
  assert_true(m->op[NW_CLASS_LOAD].latency == m->level[0].latency);
  assert_int_equal(m->gpu.sms, 0);
  assert_int_equal(m->accelerator.rows, 0);
}

static void a_class_without_figures_takes_those_of_another(void **state) {
  fixture *x = *state;
  number(x, "ops.div.per_cycle", 0.25);
  number(x, "ops.div.latency", 11);
  finish(x);
  const nw_op_cost *op = x->m.op;
  assert_true(op[NW_CLASS_ADD].per_cycle[2] == 2 && op[NW_CLASS_ADD].latency == 4);
  assert_true(op[NW_CLASS_SQRT64].per_cycle[1] == 0.25 && op[NW_CLASS_SQRT64].latency == 11);
  assert_true(op[NW_CLASS_EXP].per_cycle[0] > 0 && op[NW_CLASS_EXP].per_cycle[0] < 1);
  for (int k = 0; k < NW_CLASS_COUNT; k++) assert_true(op[k].per_cycle[3] == 0);
}

static void widths_without_a_figure_get_0(void **state) {
  fixture *x = *state;
  number(x, "ops.shuffle.per_cycle[1]", 3);
  number(x, "ops.shuffle.per_cycle[3]", 1);
  finish(x);
  const double *rate = x->m.op[NW_CLASS_SHUFFLE].per_cycle;
  assert_true(rate[0] == 3 && rate[1] == 0 && rate[2] == 1 && rate[3] == 0);
}

static void a_missing_required_field_is_named_with_its_unit(void **state) {
  fixture *x = *state;
  static const char *const paths[] = {"cores",
                                      "clock",
                                      "vector_bytes",
                                      "dispatch",
                                      "memory.bandwidth",
                                      "caches[1].ways",
                                      "caches[1].latency",
                                      "ops.fma.per_cycle"};
  static const char *const units[] = {"logical cpus", "GHz",   "bytes",  "instructions per cycle",
                                      "GB/s",         "lines", "cycles", "instructions per cycle"};
  for (int i = 0; i < NW_COUNT(paths); i++) {
    nw_machine blank;
    nw_machine_init(&blank);
    small(x);
    if (!strcmp(paths[i], "cores")) x->m.cores = blank.cores;
    if (!strcmp(paths[i], "clock")) x->m.clock = blank.clock;
    if (!strcmp(paths[i], "vector_bytes")) x->m.vector_bytes = blank.vector_bytes;
    if (!strcmp(paths[i], "dispatch")) x->m.dispatch = blank.dispatch;
    if (!strcmp(paths[i], "memory.bandwidth")) x->m.memory.bandwidth = blank.memory.bandwidth;
    if (!strcmp(paths[i], "caches[1].ways")) x->m.level[0].ways = blank.level[0].ways;
    if (!strcmp(paths[i], "caches[1].latency")) x->m.level[0].latency = blank.level[0].latency;
    if (!strcmp(paths[i], "ops.fma.per_cycle")) x->m.op[NW_CLASS_FMA] = blank.op[NW_CLASS_FMA];
    refused(x, paths[i]);
    assert_has(nw_error(x->c)->message, units[i]);
    nw_clear(x->c);
  }
}

static void unknown_fields_are_refused(void **state) {
  fixture *x = *state;
  static const char *const wrong[][2] = {{"clok", "'clock'"},           {"caches[1].wayz", "'ways'"},
                                         {"ops.fmaa.latency", "'fma'"}, {"ops.fma.latencies", "'latency'"},
                                         {"memroy.bytes", "'memory'"},  {"gpu.smss", "'sms'"}};
  for (int i = 0; i < NW_COUNT(wrong); i++) {
    assert_false(nw_machine_set(x->c, &x->m, wrong[i][0], (nw_value){.kind = NW_FIELD_REAL, .number = 1}));
    assert_has(nw_error(x->c)->message, wrong[i][0]);
    assert_has(nw_error(x->c)->hint, wrong[i][1]);
    nw_clear(x->c);
  }
}

static void values_that_do_not_fit_their_field_are_refused(void **state) {
  fixture *x = *state;
  static const struct {
    const char *path;
    nw_value v;
    const char *part;
  } wrong[] = {{"clock", {.kind = NW_FIELD_TEXT, .text = "3 GHz"}, "GHz"},
               {"clock", {.number = 0}, "not in 0.001..100 GHz"},
               {"clock", {.number = 0.0 / 0.0}, "GHz"},
               {"cores", {.number = 1.5}, "not a whole number of logical cpus"},
               {"caches[1].ways", {.number = 0}, "not in 1.."},
               {"caches[3].ways", {.number = 8}, "with indices 1, 2"},
               {"caches[9].ways", {.number = 8}, "at most 4"},
               {"caches.ways", {.number = 8}, "caches"},
               {"combine", {.kind = NW_FIELD_TEXT, .text = "sum"}, "max ecm"},
               {"ops.fma.per_cycle[5]", {.number = 8}, "at most 4 numbers"},
               {"clock[2]", {.number = 8}, "a number"},
               {"caches[1].write_allocate", {.number = 1}, "true or false"}};
  for (int i = 0; i < NW_COUNT(wrong); i++) {
    assert_false(nw_machine_set(x->c, &x->m, wrong[i].path, wrong[i].v));
    assert_has(nw_error(x->c)->message, wrong[i].part);
    nw_clear(x->c);
  }
}

static void invalid_cache_sizes_are_refused(void **state) {
  fixture *x = *state;
  number(x, "caches[1].ways", 7);
  refused(x, "not a whole number of sets");
  nw_clear(x->c);
  small(x);
  number(x, "caches[1].line", 48);
  refused(x, "not a power of two");
  nw_clear(x->c);
  small(x);
  x->m.nlevels = 0;
  refused(x, "caches: a machine needs at least one");
  nw_clear(x->c);
  small(x);
  number(x, "gpu.sms", 40);
  refused(x, "gpu.sms: a cpu has no such field");
}

// The cache has 96 sets of 12 ways.
static void sets_need_not_be_a_power_of_two(void **state) {
  fixture *x = *state;
  level(x, 2, 12 * 96 * 64, 12);
  finish(x);
  assert_int_equal(x->m.nlevels, 2);
}

static void effective_ways_follow_from_effective_bytes(void **state) {
  fixture *x = *state;
  level(x, 2, 20 * 1000 * 64, 20);
  number(x, "caches[2].effective_bytes", 7.5 * 1000 * 64);
  finish(x);
  assert_int_equal(nw_machine_effective_ways(&x->m.level[0]), 8);
  assert_int_equal(nw_machine_effective_ways(&x->m.level[1]), 7);
  x->m.level[1].effective_bytes = 1;
  assert_int_equal(nw_machine_effective_ways(&x->m.level[1]), 1);
}

typedef struct copy {
  fixture *to;
  int n;
} copy;

static void copy_field(void *env, const char *path, const nw_section *s, const nw_field *f, nw_value v) {
  copy *k = env;
  (void)s;
  k->n++;
  if (f->kind == NW_FIELD_TEXT && !*v.text) return;
  if (!nw_machine_set(k->to->c, &k->to->m, path, v)) fail_msg("%s: %s", path, nw_error(k->to->c)->message);
}

// If every field of a record is written into another record, the two records are equal.
static void a_record_reads_back_field_by_field(void **state) {
  fixture *x = *state;
  level(x, 2, 1 << 20, 16);
  number(x, "teams[1].threads", 2);
  number(x, "teams[1].spawn", 1);
  number(x, "teams[1].barrier", 0.5);
  number(x, "energy.mul[3]", 3.7);
  text(x, "combine", "ecm");
  finish(x);
  fixture y = {.c = x->c};
  copy k = {&y, 0};
  nw_machine_init(&y.m);
  nw_machine_each(&x->m, copy_field, &k);
  finish(&y);
  assert_true(k.n > 100);
  assert_memory_equal(&x->m, &y.m, sizeof x->m);
}

static void team_times_are_interpolated_and_extrapolated(void **state) {
  fixture *x = *state;
  double spawn, barrier;
  for (int i = 1; i <= 2; i++) {
    char path[64];
    const char *const fields[] = {"threads", "spawn", "barrier"};
    for (int f = 0; f < 3; f++) {
      snprintf(path, sizeof path, "teams[%d].%s", i, fields[f]);
      number(x, path, f == 0 ? 2 * i : f == 1 ? 10 * i : i);
    }
  }
  finish(x);
  assert_true(nw_machine_team_us(&x->m, 1, NULL, NULL) == 0);
  assert_true(nw_machine_team_us(&x->m, 2, NULL, NULL) == 11);
  assert_true(nw_machine_team_us(&x->m, 3, &spawn, &barrier) == 16.5 && spawn == 15 && barrier == 1.5);
  assert_true(nw_machine_team_us(&x->m, 64, NULL, NULL) == 22);
}

static void sources_are_found_by_the_longest_prefix(void **state) {
  fixture *x = *state;
  assert_null(nw_machine_cited(&x->m, "clock"));
  assert_true(nw_machine_cite(x->c, &x->m, "", "somewhere"));
  assert_true(nw_machine_cite(x->c, &x->m, "ops", "a table"));
  assert_true(nw_machine_cite(x->c, &x->m, "ops.fma", "measured"));
  assert_string_equal(nw_machine_cited(&x->m, "clock"), "somewhere");
  assert_string_equal(nw_machine_cited(&x->m, "ops.div.latency"), "a table");
  assert_string_equal(nw_machine_cited(&x->m, "ops.fma.per_cycle[2]"), "measured");
}

static void cite_field(void *env, const char *path, const nw_section *s, const nw_field *f, nw_value v) {
  fixture *x = env;
  (void)s, (void)f, (void)v;
  if (!nw_machine_cite(x->c, &x->m, path, path)) fail_msg("%s: %s", path, nw_error(x->c)->message);
}

// A calibration may measure all fields, and each field has its own source.
static void every_field_can_have_its_own_source(void **state) {
  fixture *x = *state;
  char path[64];
  for (int i = 2; i <= NW_MACHINE_LEVELS; i++) level(x, i, (int64_t)1 << (16 + 2 * i), 16);
  for (int i = 1; i <= NW_MACHINE_TEAMS; i++) {
    const char *const fields[] = {"threads", "spawn", "barrier"};
    for (int f = 0; f < 3; f++) {
      snprintf(path, sizeof path, "teams[%d].%s", i, fields[f]);
      number(x, path, i + 1);
    }
  }
  finish(x);
  nw_machine_each(&x->m, cite_field, x);
  assert_true(x->m.nsources > 300);
  assert_string_equal(nw_machine_cited(&x->m, "teams[12].barrier"), "teams[12].barrier");
}

static void widths(void **state) {
  (void)state;
  assert_int_equal(nw_width_of(4), 0);
  assert_int_equal(nw_width_of(16), 1);
  assert_int_equal(nw_width_of(24), 2);
  assert_int_equal(nw_width_of(64), 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(every_field_can_have_its_own_source),
      TEST(missing_fields_get_the_default_of_their_row),
      TEST(a_class_without_figures_takes_those_of_another),
      TEST(widths_without_a_figure_get_0),
      TEST(a_missing_required_field_is_named_with_its_unit),
      TEST(unknown_fields_are_refused),
      TEST(values_that_do_not_fit_their_field_are_refused),
      TEST(invalid_cache_sizes_are_refused),
      TEST(sets_need_not_be_a_power_of_two),
      TEST(effective_ways_follow_from_effective_bytes),
      TEST(a_record_reads_back_field_by_field),
      TEST(team_times_are_interpolated_and_extrapolated),
      TEST(sources_are_found_by_the_longest_prefix),
      TEST(widths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
