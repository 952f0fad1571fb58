// Tests every component of every combiner, for every dtype: the effect of one more contribution must be correct, and
// the identity must have no effect.
#include "raw.h"
#include "ir/program/program.h"

static const nw_combiner combiners[] = {NW_SUM, NW_PROD, NW_MIN_OF, NW_MAX_OF, NW_ARGMIN, NW_ARGMAX};

static bool is_arg(nw_combiner c) { return c == NW_ARGMIN || c == NW_ARGMAX; }

typedef struct pair {
  value v, at; // `at`: the position, for argmin and argmax
} pair;

static value simple(nw_combiner c, nw_dtype t, value a, value b) {
  static const nw_op ops[] = {
      [NW_SUM] = NW_OP_ADD, [NW_PROD] = NW_OP_MUL, [NW_MIN_OF] = NW_OP_MIN, [NW_MAX_OF] = NW_OP_MAX};
  if (is_float(t)) return float_op(ops[c], t == NW_F64, a.f, b.f, 0);
  return integer_op(ops[c], t, a.i, b.i);
}

// True if `a` is before `b` in the order of an argmin or argmax, in which a NaN is before every number.
static bool before(nw_combiner c, nw_dtype t, value a, value b) {
  if (t == NW_U64) return c == NW_ARGMIN ? (uint64_t)a.i < (uint64_t)b.i : (uint64_t)a.i > (uint64_t)b.i;
  if (!is_float(t)) return c == NW_ARGMIN ? a.i < b.i : a.i > b.i;
  if (a.f != a.f || b.f != b.f) return a.f != a.f && b.f == b.f;
  return c == NW_ARGMIN ? a.f < b.f : a.f > b.f;
}

static pair reference(nw_combiner c, nw_dtype t, pair old, pair term) {
  if (!is_arg(c)) return (pair){simple(c, t, old.v, term.v), number(0)};
  if (is_half(t)) term.v.f = to_float(t, term.v.f); // rounded, as if it were stored
  if (old.at.i == -1) return term;
  if (term.at.i == -1) return old;
  if (before(c, t, term.v, old.v)) return term;
  if (before(c, t, old.v, term.v)) return old;
  return term.at.i < old.at.i ? term : old;
}

typedef struct combining {
  workshop w;
  nw_combiner c;
  nw_dtype t;
  const nw_expr *out[2]; // the core's result for `old` (elements 0) and `term` (elements 1)
  value identity[2];
} combining;

static value constant_value(const nw_expr *e) { return e->op == NW_OP_FLOAT ? real(e->f) : number(e->i); }

static void begin(combining *x, nw_combiner c, nw_dtype t) {
  *x = (combining){.c = c, .t = t, .w.seed = (uint64_t)c * 100 + t};
  open_pools(&x->w);
  nw_pool *p = x->w.folded;
  const nw_expr *side[2][2];
  for (int i = 0; i < 2; i++) {
    side[i][0] = element(p, t, nw_index(p, i));
    side[i][1] = element(p, NW_INDEX, nw_index(p, i));
  }
  for (int k = 0; k <= is_arg(c); k++) {
    x->out[k] = nw_combine(p, c, k, side[0], side[1]);
    x->identity[k] = constant_value(nw_combiner_identity(p, c, k ? NW_INDEX : t, k));
  }
}

static pair combined(const combining *x, pair old, pair term) {
  memory m = {0};
  m.of[x->t][0] = old.v, m.of[x->t][1] = term.v;
  if (is_arg(x->c)) m.of[NW_INDEX][0] = old.at, m.of[NW_INDEX][1] = term.at;
  pair r = {meaning(&m, x->out[0], 0), number(0)};
  if (is_arg(x->c)) r.at = meaning(&m, x->out[1], 0);
  return r;
}

static bool same_pair(nw_dtype t, pair a, pair b) { return same_value(t, a.v, b.v) && a.at.i == b.at.i; }

static void demand(const combining *x, const char *what, pair old, pair term, pair got, pair want) {
  if (same_pair(x->t, got, want)) return;
  nw_str s = {0};
  const pair all[] = {old, term, got, want};
  for (int i = 0; i < 4; i++) {
    nw_str_add(&s, i ? " | " : "");
    print_value(&s, x->t, all[i].v);
    nw_str_fmt(&s, " at %lld", (long long)all[i].at.i);
  }
  fail_msg("%s of %s: %s: old | term | got | want: %s", nw_combiner_name(nw_pool_ctx(x->out[0]->pool), x->c),
           nw_dtype_name(x->t), what, s.s);
}

static pair draw(combining *x) {
  pair p = {random_value(&x->w.seed, x->t), number(0)};
  if (is_float(x->t) && random_to(&x->w.seed, 8) == 0) p.v = real((double)NAN);
  if (!is_arg(x->c)) return p;
  p.at = number(random_to(&x->w.seed, 6) - 1);
  if (p.at.i == -1) p.v = x->identity[0]; // a position of -1 marks the partial result over no elements
  return p;
}

// If the old value is the identity, the result must be the contribution. The exception is a sum: for a contribution of
// -0, the result may be 0.
static void check_identity(combining *x, pair p) {
  pair none = {x->identity[0], is_arg(x->c) ? x->identity[1] : number(0)}, want = p;
  if (x->c == NW_SUM && is_float(x->t) && p.v.f == 0) want.v.f = 0;
  demand(x, "the identity first", none, p, combined(x, none, p), want);
  demand(x, "the identity last", p, none, combined(x, p, none), want);
}

static void check_combiner(nw_combiner c, nw_dtype t) {
  combining x;
  begin(&x, c, t);
  if (is_arg(c)) assert_int_equal(x.identity[1].i, -1);
  for (int n = 0; n < 4000; n++) {
    pair old = draw(&x), term = draw(&x);
    demand(&x, "a contribution", old, term, combined(&x, old, term), reference(c, t, old, term));
    check_identity(&x, term);
    if (is_arg(c) && old.at.i != term.at.i) // partial results may be combined in any order
      demand(&x, "turned round", term, old, combined(&x, term, old), combined(&x, old, term));
  }
  close_pools(&x.w);
}

// The second component of an argmin or argmax is its index. In any other reduction, the second output is combined like
// the first.
static void every_combiner_of_every_dtype(void **state) {
  (void)state;
  for (int k = 0; k < NW_COUNT(combiners); k++)
    for (int t = 0; t < NW_DTYPE_COUNT; t++) {
      nw_combiner c = combiners[k];
      if (t == NW_BOOL && (c == NW_SUM || c == NW_PROD)) continue; // a bool is summed as i32
      if (t == NW_INDEX && is_arg(c)) continue; // see the next test: there, values and indices have the same dtype
      check_combiner(c, (nw_dtype)t);
    }
}

// If the values are i64, value and index have the same dtype, and only the number of the component distinguishes them.
static void arg_reductions_of_i64(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int k = 4; k < NW_COUNT(combiners); k++) {
    workshop w;
    open_pools(&w);
    nw_pool *p = w.folded;
    const nw_expr *e[4];
    for (int i = 0; i < 4; i++) e[i] = element(p, NW_INDEX, nw_index(p, i));
    const nw_expr *value_of = nw_combine(p, combiners[k], 0, e, e + 2),
                  *at_of = nw_combine(p, combiners[k], 1, e, e + 2);
    for (int n = 0; n < 4000; n++) {
      memory m = {0};
      for (int i = 0; i < 4; i++)
        m.of[NW_INDEX][i] = i % 2 ? number(random_to(&seed, 6) - 1) : random_value(&seed, NW_INDEX);
      value *v = m.of[NW_INDEX];
      for (int i = 0; i < 4; i += 2)
        // a position of -1 marks the result over no elements
        if (v[i + 1].i == -1) v[i] = number(combiners[k] == NW_ARGMIN ? INT64_MAX : INT64_MIN);
      pair want = reference(combiners[k], NW_INDEX, (pair){v[0], v[1]}, (pair){v[2], v[3]});
      assert_true(meaning(&m, value_of, 0).i == want.v.i);
      assert_true(meaning(&m, at_of, 0).i == want.at.i);
    }
    close_pools(&w);
  }
}

// In a compute with two sums, both start from 0. Two components of a prod, min or max also have the same identity.
static void later_components_start_like_the_first(void **state) {
  (void)state;
  workshop w;
  open_pools(&w);
  for (int k = 0; k < NW_COUNT(combiners); k++)
    for (int t = 0; t < NW_DTYPE_COUNT && !is_arg(combiners[k]); t++)
      for (int which = 1; which < 4; which++)
        assert_ptr_equal(nw_combiner_identity(w.raw, combiners[k], (nw_dtype)t, which),
                         nw_combiner_identity(w.raw, combiners[k], (nw_dtype)t, 0));
  close_pools(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_combiner_of_every_dtype),
                                     cmocka_unit_test(arg_reductions_of_i64),
                                     cmocka_unit_test(later_components_start_like_the_first)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
