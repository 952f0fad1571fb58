// Every row of rewrites.def that a pass applies must keep the stored value. Random trees of every dtype to which the
// row applies are tried.
//
// fma rounds once, while a product and a sum round twice. fma is therefore compared only where the product is exact:
// for small numbers, zeros, infinities and NaN.
#include "../ir/rows.h"
#include "lower/pass.h"

static const profile check_halves = {
    "", "add sub mul div neg abs min max floor ceil sqrt select lt le eq ne all any not_ cast", "a", 4, 0, false};
static const profile check_fma = {"add sub", "add sub mul neg", "f", 3, 0, false};

#define NW_REWRITE(room, name, what) ROW_OF_##room(name)
#define ROW_OF_ir(name)
#define ROW_OF_lower(name) {#name, NW_REWRITE_##name, &check_##name},
static const drawn_row rows[] = {
#include "ir/expr/rewrites.def"
};
#undef ROW_OF_lower
#define ROW_OF_lower(name) nw_pass_##name,
static nw_program *(*const pass[])(nw_program *p) = {
#include "ir/expr/rewrites.def"
};
#undef NW_REWRITE

static const char store_of[] = "program p\noutput C: %s[1]\nC[0] = %s(0)\n";

// Returns the result of the pass for a store of `e`.
static const nw_expr *after_pass(workshop *w, int row, const nw_expr *e) {
  char text[128];
  const char *t = nw_dtype_name((nw_dtype)e->type.dtype);
  snprintf(text, sizeof text, store_of, t, t);
  nw_program *p = nw_program_parse(w->c, w->folded, text);
  if (!p) fail_msg("%s\n%s", nw_error(w->c)->message, text);
  nw_program *q = nw_program_clone(p);
  nw_stmt *s = q->root;
  while (s->kind != NW_STORE) s = s->kid[0];
  s->store.value = nw_import(q->pool, e);
  pass[row](q);
  const nw_expr *made = nw_import(w->folded, s->store.value);
  nw_program_release(q);
  nw_program_release(p);
  return made;
}

// True if the node is not arithmetic on halves. Halves are only read, stored or cast.
static bool no_half_arithmetic(void *env, const nw_expr *e) {
  (void)env;
  nw_dtype t = (nw_dtype)e->type.dtype;
  bool moves = e->op == NW_OP_LOAD || e->op == NW_OP_CAST || e->op == NW_OP_FLOAT;
  for (int i = 0; i < e->n && e->op != NW_OP_CAST; i++)
    if (is_half((nw_dtype)e->arg[i]->type.dtype)) return false;
  return !is_half(t) || moves;
}

static void fill_exactly(uint64_t *seed, memory *m) {
  static const double few[] = {0.0, -0.0, 1, -1, 2, -3, 5, 0.5, -0.25, INFINITY, -INFINITY, NAN};
  m->overflow = false;
  for (int t = 0; t < NW_DTYPE_COUNT; t++)
    for (int i = 0; i < MEMORY; i++)
      m->of[t][i] = is_float((nw_dtype)t) ? real(few[random_to(seed, NW_COUNT(few))]) : number(random_to(seed, 2));
}

// True if the node is not a large constant. With small constants, all results of these shallow trees have at most 24
// bits, and are exact.
static bool small_constants(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_FLOAT || e->f != e->f || isinf(e->f) || (fabs(e->f) <= 8 && e->f * 2 == rint(e->f * 2));
}

static value as_stored(nw_dtype t, value v) { return is_float(t) && !v.none ? real(to_float(t, v.f)) : v; }

static long compare_stored(grower *g, int row, const char *what, const nw_expr *raw) {
  nw_dtype t = (nw_dtype)raw->type.dtype;
  bool fma = rows[row].id == NW_REWRITE_fma;
  const nw_expr *made = after_pass(g->w, row, raw);
  long done = 0;
  if (!fma && !nw_visit(made, no_half_arithmetic, NULL))
    report_wrong("arithmetic on halves is left", raw, made, (value){.none = true}, (value){.none = true});
  for (int n = 0; n < 24; n++) {
    memory m = {0};
    (fma ? fill_exactly : fill_memory)(&g->w->seed, &m);
    value v = as_stored(t, meaning(&m, raw, 0));
    if (v.none || m.overflow) continue;
    value by = as_stored(t, meaning(&m, made, 0));
    done++;
    if (same_value(t, v, by)) continue;
    report_wrong(what, raw, made, v, by);
    break;
  }
  return done;
}

static long draw_tree(workshop *w, void *env) {
  const drawing *d = env;
  grower g = start_growing(w, d->row->check, d->t);
  const nw_expr *raw = grow_tree(&g);
  bool exact = d->row->id != NW_REWRITE_fma || nw_visit(raw, small_constants, NULL);
  return exact ? compare_stored(&g, d->number, d->what, raw) : 0;
}

static bool applies(const drawn_row *row, nw_dtype t) {
  return row->id == NW_REWRITE_halves ? is_half(t) : t == NW_F32 || t == NW_F64;
}

static void every_rewrite_of_a_pass_holds(void **state) {
  (void)state;
  every_row_holds(NW_COUNT(rows), rows, 1, draws_wanted(400 * 24) / 24, 1, applies, draw_tree);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_rewrite_of_a_pass_holds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
