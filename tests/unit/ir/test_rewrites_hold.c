// Every row of rewrites.def that core/ir applies must keep the value, for every dtype to which the row applies. Random
// trees of the row's operations are made twice: by the constructors and the simplifier, and without folding. The values
// of both forms must have the same bits.
#include "rows.h"
#include "ir/program/program.h"

#define NUMBERS "add sub mul neg min max abs"
#define INTEGERS NUMBERS " floordiv floormod"
#define FLOATS NUMBERS " div floor ceil sqrt mantissa ldexp"
#define BITS "bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right popcount"
#define TRUTHS "lt le eq ne all any not_"

static const profile check_constant_integers = {"", INTEGERS " " BITS " " TRUTHS " select cast", "i", 3, 0, false};
static const profile check_constant_floats = {"", FLOATS " " TRUTHS " select", "f", 3, 0, false};
static const profile check_constant_cast = {"cast", "cast neg", "a", 2, 0, false};
static const profile check_cast_to_same = {"cast", "add mul min neg abs div select lt cast", "a", 4, 0, false};
static const profile check_cast_of_lanes = {"cast", "cast add mul", "a", 2, 4, false};
static const profile check_cast_to_bool = {"not_ all", "cast mul", "a", 3, 0, false};
static const profile check_cast_twice = {"cast", "cast", "a", 4, 0, false};
static const profile check_bits_of_integer = {"reinterpret", "reinterpret add mul bitwise_xor", "i", 3, 0, false};
static const profile check_constant_bits = {"reinterpret", "reinterpret neg", "f", 2, 0, false};
static const profile check_bits_of_lanes = {"reinterpret", "reinterpret add bitwise_and", "f", 2, 4, false};
static const profile check_bits_and_back = {"reinterpret", "reinterpret add mul", "f", 4, 0, false};
static const profile check_scaled_by_one = {"ldexp", "ldexp mantissa exponent add", "f", 3, 0, false};
static const profile check_sum = {"add sub neg", "add sub neg mul", "i", 5, 0, false};
static const profile check_product = {"mul", "add sub neg mul", "i", 4, 0, false};
static const profile check_joined_division = {"joined", "add floordiv floormod", "i", 3, 0, false};
static const profile check_division_by_constant = {"floordiv floormod", INTEGERS " cast", "x", 4, 0, false};
static const profile check_division_by_symbol = {"floordiv floormod", "mul add floordiv floormod", "x", 4, 0, false};
static const profile check_comparison = {"lt le eq ne", INTEGERS " cast select", "x", 3, 0, false};
static const profile check_extremum = {"min max", "min max add sub neg cast", "x", 4, 0, false};
static const profile check_bits_of_index = {BITS, BITS " add mul floordiv min", "x", 3, 0, false};
static const profile check_order = {
    "add mul min max bitwise_and bitwise_or bitwise_xor", "add mul min max abs " BITS, "i", 3, 0, false};
static const profile check_logic = {"all any", "all any not_ lt eq", "a", 5, 0, false};
static const profile check_lanes = {"", FLOATS " floordiv floormod select exp " BITS " " TRUTHS, "a", 3, 4, false};
static const profile check_ramp = {"add sub mul", "add sub mul neg", "i", 3, 4, false};
static const profile check_still_ramp = {"add mul", "add mul floordiv", "i", 2, 4, false};
static const profile check_division_by_parts = {"parts", "add mul floormod cast", "x", 2, 0, true};
static const profile check_division_of_bits = {"floordiv floormod", BITS " add floormod", "x", 3, 0, true};
static const profile check_division_in_range = {"floordiv floormod", INTEGERS " cast", "x", 3, 0, true};
static const profile check_division_within = {"within", "add floormod floordiv", "x", 2, 0, true};
static const profile check_extremum_in_range = {"min max", INTEGERS " " BITS " cast select lt", "x", 3, 0, true};
static const profile check_comparison_in_range = {"lt le eq ne", INTEGERS " " BITS " cast select lt", "x", 3, 0, true};
static const profile check_lanes_in_range = {"lt le", "add mul", "x", 1, 4, true};
static const profile check_select_under = {"select", INTEGERS " " BITS " select cast " TRUTHS, "a", 4, 0, true};
static const profile check_logic_under = {"all any", INTEGERS " select " TRUTHS, "x", 4, 0, true};
static const profile check_known_number = {"add mul floormod", "add sub floormod mul min", "x", 3, 0, true};

static const drawn_row rows[] = {
#define ROW_OF_ir(name) {#name, NW_REWRITE_##name, &check_##name},
#define ROW_OF_lower(name)
#define NW_REWRITE(room, name, what) ROW_OF_##room(name)
#include "ir/expr/rewrites.def"
#undef NW_REWRITE
};

// ---------------------------------------------------------------- trees of a certain form

// Makes c*(x // c) + x % c and similar terms in a larger sum.
static const nw_expr *joined(grower *g) {
  nw_pool *p = g->w->raw;
  const nw_expr *x = grow(g, g->t, 1, 2, false), *c = grow(g, g->t, 1, pick(g, 3) ? 0 : 1, false);
  const nw_expr *q = raw_of(p, NW_OP_FLOORDIV, x, c), *r = raw_of(p, NW_OP_FLOORMOD, x, c);
  const nw_expr *multiple = raw_of(p, NW_OP_MUL, c, q), *factor = constant_of(g, g->t);
  if (pick(g, 2)) {
    multiple = raw_of(p, NW_OP_MUL, factor, multiple);
    r = raw_of(p, NW_OP_MUL, pick(g, 4) ? factor : constant_of(g, g->t), r);
  }
  const nw_expr *sum = raw_of(p, NW_OP_ADD, multiple, r);
  return pick(g, 2) ? sum : raw_of(p, NW_OP_SUB, sum, grow(g, g->t, 1, 2, false));
}

// Makes x // d and x % d for constant and symbolic d, where x may be known to be in 0..d - 1.
static const nw_expr *within(grower *g) {
  nw_pool *p = g->w->raw;
  const nw_expr *d = pick(g, 2) ? small_variable(g) : grow(g, g->t, 1, 1, false), *x = grow(g, g->t, 1, 1, false);
  nw_op op = pick(g, 2) ? NW_OP_FLOORDIV : NW_OP_FLOORMOD;
  const nw_expr *in = raw_of(p, NW_OP_AND, raw_of(p, NW_OP_LE, nw_index(p, 0), x), raw_of(p, NW_OP_LT, x, d));
  const nw_expr *quotient = raw_of(p, op, x, d);
  if (pick(g, 2)) return quotient;
  return raw_node(p, NW_OP_SELECT, typed(g->t, 1), 3, (const nw_expr *[]){in, quotient, nw_index(p, 77)});
}

// Makes g*y + z divided by a multiple of g, where z may be in 0..g - 1.
static const nw_expr *parts(grower *g) {
  nw_pool *p = g->w->raw;
  int64_t unit = 2 + pick(g, 12);
  const nw_expr *y = grow(g, g->t, 1, 2, false), *z = grow(g, g->t, 1, 1, false), *c = nw_index(p, unit);
  const nw_expr *sum = raw_of(p, NW_OP_ADD, raw_of(p, NW_OP_MUL, c, y), pick(g, 3) ? small_variable(g) : z);
  return raw_of(p, pick(g, 2) ? NW_OP_FLOORDIV : NW_OP_FLOORMOD, sum, nw_index(p, unit * (2 + pick(g, 5))));
}

// Makes a comparison of v with a number, or sometimes with an expression.
static const nw_expr *compared(grower *g, const nw_expr *v) {
  static const nw_op compare[] = {NW_OP_LT, NW_OP_LE, NW_OP_EQ, NW_OP_NE};
  const nw_expr *c = pick(g, 4) ? nw_index(g->w->raw, pick(g, 20) - 8) : grow(g, NW_INDEX, 1, 1, false);
  bool turned = pick(g, 2);
  return raw_of(g->w->raw, compare[pick(g, NW_COUNT(compare))], turned ? c : v, turned ? v : c);
}

// Makes `a and b` and `a or b`. Often both are comparisons of one variable, so that a decides b.
static const nw_expr *alike(grower *g) {
  const nw_expr *v = small_variable(g), *a = compared(g, v);
  const nw_expr *b = pick(g, 2) ? compared(g, v) : grow(g, NW_BOOL, 1, 3, false);
  return raw_of(g->w->raw, pick(g, 2) ? NW_OP_AND : NW_OP_OR, a, b);
}

typedef struct certain_form {
  const profile *of;
  const nw_expr *(*make)(grower *g);
} certain_form;

static const certain_form forms[] = {{&check_joined_division, joined},
                                     {&check_division_within, within},
                                     {&check_division_by_parts, parts},
                                     {&check_logic_under, alike}};

static const nw_expr *tree_of(grower *g) {
  g->nseen = 0;
  for (int i = 0; i < NW_COUNT(forms); i++)
    if (forms[i].of == g->of) return forms[i].make(g);
  return grow_tree(g);
}

static grower grower_of(workshop *w, const profile *p, nw_dtype t) {
  profile any = *p;
  for (int i = 0; i < NW_COUNT(forms); i++)
    if (forms[i].of == p) any.root = "";
  grower g = start_growing(w, &any, t);
  g.of = p;
  return g;
}

// ---------------------------------------------------------------- known facts

typedef struct known {
  int64_t lo[3], hi[3]; // the ranges of i, j and k
  bool below_i; // true: `j` is at most `i`
  nw_ranges r;
  int nfacts;
  const nw_expr *fact[3];
} known;

static const char *const names[] = {"i", "j", "k"};

// Makes a fact of a kind that occurs in programs: `v % c == n`, a sum of variables below a constant, or sometimes a
// condition on data.
static const nw_expr *draw_fact(grower *g) {
  nw_pool *p = g->w->raw;
  const nw_expr *v = small_variable(g), *c = nw_index(p, 2 + pick(g, 7));
  switch (pick(g, 4)) {
  case 0: return raw_of(p, NW_OP_EQ, raw_of(p, NW_OP_FLOORMOD, v, c), nw_index(p, pick(g, 2) * pick(g, 3)));
  case 1: return raw_of(p, NW_OP_LT, raw_of(p, NW_OP_ADD, v, small_variable(g)), nw_index(p, pick(g, 20)));
  case 2: return raw_of(p, NW_OP_LE, raw_of(p, NW_OP_MUL, c, v), grow(g, NW_INDEX, 1, 1, false));
  default: return raw_of(p, NW_OP_EQ, grow(g, NW_INDEX, 1, 1, false), constant_of(g, NW_INDEX));
  }
}

static void draw_known(grower *g, known *k) {
  nw_pool *p = g->w->folded;
  *k = (known){.below_i = pick(g, 3) == 0};
  nw_ranges_init(&k->r, p);
  for (int i = 0; i < 3; i++) {
    k->lo[i] = pick(g, 2) ? 0 : pick(g, 21) - 10;
    k->hi[i] = k->lo[i] + pick(g, 12);
    const nw_expr *hi = i == 1 && k->below_i ? nw_var(p, "i") : nw_index(p, k->hi[i]);
    nw_ranges_push(&k->r, names[i], nw_index(p, k->lo[i]), hi);
  }
  k->nfacts = (int)pick(g, 3);
  for (int i = 0; i < k->nfacts; i++) {
    k->fact[i] = draw_fact(g);
    nw_ranges_fact(&k->r, k->fact[i]);
  }
}

// True if index arithmetic in the tree leaves the range of indices. Reads without effect are removed first, such as
// J[0] in select(true, i, J[0]).
static bool leaves_range(grower *g, memory *m, const nw_expr *e, int lane) {
  for (int i = 0; i < e->n; i++)
    if (leaves_range(g, m, e->arg[i], lane)) return true;
  if (e->type.dtype != NW_INDEX || e->op == NW_OP_RAMP || nw_import(g->w->folded, e)->data) return false;
  value v[2] = {{0}};
  for (int i = 0; i < e->n && i < 2; i++) v[i] = meaning(m, e->arg[i], lane);
  value r = meaning(m, e, lane);
  return v[0].none || v[1].none || r.none || beyond((nw_op)e->op, v[0].i, v[1].i, r.i);
}

// Draws a point that lies in the ranges and satisfies the facts. Returns false if none was found.
static bool draw_point(grower *g, const known *k, memory *m) {
  for (int tries = 0; tries < 30; tries++) {
    fill_memory(&g->w->seed, m);
    for (int i = 0; i < 3; i++) m->var[i] = k->lo[i] + pick(g, k->hi[i] - k->lo[i] + 1);
    if (k->below_i && m->var[1] > m->var[0]) continue;
    bool holds = true;
    for (int i = 0; i < k->nfacts && holds; i++) {
      value v = meaning(m, k->fact[i], 0);
      holds = !v.none && v.i && !m->overflow && !leaves_range(g, m, k->fact[i], 0);
    }
    if (holds) return true;
  }
  return false;
}

// ---------------------------------------------------------------- one tree

static void show_memory(const memory *m, const known *k) {
  nw_str s = {0};
  for (int i = 0; i < 3; i++) nw_str_fmt(&s, " %s=%lld", names[i], (long long)m->var[i]);
  for (int i = 0; k && i < 3; i++)
    nw_str_fmt(&s, " %s in %lld..%lld%s", names[i], (long long)k->lo[i], (long long)k->hi[i],
               i == 1 && k->below_i ? " and at most i" : "");
  for (int i = 0; k && i < k->nfacts; i++) {
    nw_str_add(&s, " fact ");
    nw_expr_print(&s, k->fact[i]);
  }
  for (int t = 0; t < NW_DTYPE_COUNT; t++)
    for (int i = 0; i < 3; i++) {
      nw_str_fmt(&s, " %c[%d]=", 'A' + t, i);
      print_value(&s, (nw_dtype)t, m->of[t][i]);
    }
  fprintf(stderr, "   %s\n", s.s);
  nw_str_free(&s);
}

// Evaluates both forms at some points. Returns the number of points.
static int compare_forms(grower *g, const char *what, const nw_expr *raw, const nw_expr *made, const known *k) {
  enum { POINTS = 24 };
  int done = 0;
  nw_dtype t = (nw_dtype)raw->type.dtype;
  for (int n = 0; n < POINTS; n++) {
    memory m = {0};
    if (k && !draw_point(g, k, &m)) break;
    if (!k) fill_memory(&g->w->seed, &m);
    for (int lane = 0; lane < raw->type.lanes; lane++) {
      m.overflow = false;
      value v = meaning(&m, raw, lane);
      if (v.none || m.overflow) continue;
      value by = meaning(&m, made, lane);
      if (m.overflow) continue; // the data cancelled out, and the remaining index arithmetic overflows
      done++;
      if (same_value(t, v, by) || leaves_range(g, &m, raw, lane)) continue;
      report_wrong(what, raw, made, v, by);
      if (found.wrong < 20) show_memory(&m, k);
      return done;
    }
  }
  return done;
}

static int check_tree(grower *g, const char *what) {
  const nw_expr *raw = tree_of(g), *made = nw_import(g->w->folded, raw);
  assert_non_null(made);
  if (made->type.dtype != raw->type.dtype || made->type.lanes != raw->type.lanes) {
    report_wrong("the type differs", raw, made, (value){.none = true}, (value){.none = true});
    return 0;
  }
  int done = compare_forms(g, what, raw, made, NULL);
  if (!g->of->ranges) return done;
  known k;
  draw_known(g, &k);
  done += compare_forms(g, what, raw, nw_simplify(&k.r, made), &k);
  nw_ranges_free(&k.r);
  return done;
}

static uint64_t first_seed(void) {
  const char *s = getenv("NW_SEED");
  return s ? strtoull(s, NULL, 10) : 1;
}

static long draw_tree(workshop *w, void *env) {
  const drawing *d = env;
  grower g = grower_of(w, d->row->check, d->t);
  return check_tree(&g, d->what);
}

enum { A_POOL = 500 }; // trees for each pool

static void every_rewrite_holds(void **state) {
  (void)state;
  long trees = draws_wanted(600 * 24) / 24;
  every_row_holds(NW_COUNT(rows), rows, first_seed() * 1000003, trees, A_POOL, NULL, draw_tree);
}

// ---------------------------------------------------------------- bounds and divisors

static const profile bounded[] = {{"", INTEGERS " cast select lt", "x", 3, 0, true},
                                  {"", INTEGERS " cast " BITS, "x", 3, 0, true},
                                  {"", "add mul floordiv min", "x", 4, 0, true}};

typedef struct limits {
  bool least, most, divided;
  int64_t lo, hi, by;
  const nw_expr *lower, *upper;
} limits;

static limits find_limits(grower *g, const known *k, const nw_expr *e) {
  limits l = {.by = 2 + pick(g, 7)};
  const char *innermost[] = {"j", "k"};
  l.least = nw_const_lower(&k->r, e, &l.lo);
  l.most = nw_const_upper(&k->r, e, &l.hi);
  l.lower = nw_lower_over(&k->r, e, 2, innermost);
  l.upper = nw_upper_over(&k->r, e, 2, innermost);
  l.divided = nw_divides(&k->r, e, l.by);
  return l;
}

// The bound over some variables may contain the other variables. The bound must have a value wherever the expression
// has a value.
static bool within_limits(const limits *l, memory *m, int64_t v) {
  if ((l->least && v < l->lo) || (l->most && v > l->hi) || (l->divided && v % l->by != 0)) return false;
  value lower = l->lower ? meaning(m, l->lower, 0) : number(v), upper = l->upper ? meaning(m, l->upper, 0) : number(v);
  return m->overflow || (!lower.none && !upper.none && lower.i <= v && v <= upper.i);
}

static long check_limits(grower *g, long *bounds) {
  g->nseen = 0;
  const nw_expr *raw = grow_tree(g), *made = nw_import(g->w->folded, raw);
  known k;
  draw_known(g, &k);
  limits l = find_limits(g, &k, made);
  *bounds += l.least + l.most + (l.lower != NULL) + (l.upper != NULL) + l.divided;
  long done = 0;
  for (int n = 0; n < 24; n++) {
    memory m = {0};
    if (!draw_point(g, &k, &m)) break;
    value v = meaning(&m, raw, 0);
    if (!v.none && !m.overflow) meaning(&m, made, 0);
    if (v.none || m.overflow) continue; // no value, or the data cancelled out and the remaining arithmetic overflows
    done++;
    if (within_limits(&l, &m, v.i)) continue;
    report_wrong("a bound", raw, l.lower ? l.lower : made, v, l.upper ? meaning(&m, l.upper, 0) : v);
    fprintf(stderr, "   from %lld to %lld, a multiple of %lld\n", l.least ? (long long)l.lo : 0,
            l.most ? (long long)l.hi : 0, l.divided ? (long long)l.by : 1);
    show_memory(&m, &k);
    break;
  }
  nw_ranges_free(&k.r);
  return done;
}

typedef struct bounding {
  long n, bounds; // the number of trees so far, and of bounds that were found
} bounding;

static long draw_bounded(workshop *w, void *env) {
  bounding *x = env;
  grower g = start_growing(w, &bounded[x->n++ % NW_COUNT(bounded)], NW_INDEX);
  return check_limits(&g, &x->bounds);
}

static void every_bound_holds(void **state) {
  (void)state;
  long trees = draws_wanted(1500 * 24) / 24, wrong = found.wrong;
  workshop w = {.seed = first_seed() * 77};
  bounding x = {0};
  found.draws += draw_trees(&w, trees, A_POOL, draw_bounded, &x);
  assert_true(x.bounds > trees);
  assert_int_equal(found.wrong, wrong);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_bound_holds), cmocka_unit_test(every_rewrite_holds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
