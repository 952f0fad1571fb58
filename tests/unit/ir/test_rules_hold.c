// Every row of rules.def keeps the value, for every dtype that its pattern can have.
//
// Each side of a row is built without folding, and evaluated by meaning.h. If the row applies to the dtype, pattern and
// replacement must have the same bits. For every dtype, the constructors must give an expression with the same bits as
// the pattern. So the constructors must apply the rule only to the dtypes of the row. All values of i8, u8 and bool are
// tried, and all values of f16 and bf16 if there is one operand. For other dtypes, corner values and random values are
// tried. Most constants are drawn so that the condition of the row is true.
#include "raw.h"
#include <ctype.h>

static const struct {
  const char *kind, *from, *to, *where;
} rows[] = {
#define NW_RULE(kind, from, to, where) {kind, from, to, where},
#include "ir/expr/rules.def"
#undef NW_RULE
};

// ---------------------------------------------------------------- reading a side of a row

enum { X, Y, Z, W, LETTERS };

typedef struct reader {
  nw_pool *p;
  const char *at;
  nw_dtype t; // dtype of the operands
  bool x_is_bool, index, wrong; // `index`: letters are variables; `wrong`: the row is not well-typed
  int64_t c, d;
  bool uses[LETTERS], constants;
} reader;

static const nw_expr *read_sum(reader *r, int prec);

static bool take(reader *r, const char *word) {
  while (*r->at == ' ') r->at++;
  size_t n = strlen(word);
  if (strncmp(r->at, word, n) != 0 || (isalpha((unsigned char)*word) && isalnum((unsigned char)r->at[n]))) return false;
  r->at += n;
  return true;
}

static const nw_expr *letter_of(reader *r, int which) {
  static const char *const names[] = {"i", "j", "k", "l"};
  r->uses[which] = true;
  if (which == X && r->x_is_bool) return element(r->p, NW_BOOL, nw_index(r->p, X));
  return r->index ? nw_var(r->p, names[which]) : element(r->p, r->t, nw_index(r->p, which));
}

static const nw_expr *typed_node(reader *r, nw_op op, int n, const nw_expr *const *a) {
  bool choice = op == NW_OP_SELECT;
  nw_dtype t = (nw_dtype)a[choice]->type.dtype;
  for (int i = choice; i < n; i++) r->wrong |= a[i]->type.dtype != t;
  if (choice) r->wrong |= a[0]->type.dtype != NW_BOOL;
  if (nw_op_has(op, 'B')) r->wrong |= t != NW_BOOL;
  if (nw_op_has(op, 'N')) r->wrong |= t == NW_BOOL;
  if (nw_op_has(op, 'F')) r->wrong |= !is_float(t);
  if (nw_op_has(op, 'I')) r->wrong |= !is_integer(t);
  if (op == NW_OP_LT || op == NW_OP_LE) r->wrong |= t == NW_BOOL;
  if (op == NW_OP_FLOORDIV || op == NW_OP_FLOORMOD) r->wrong |= !is_integer(t);
  if (r->wrong) return a[0];
  return raw_node(r->p, op, nw_op_has(op, 'C') ? nw_scalar(NW_BOOL) : a[choice]->type, n, a);
}

static const nw_expr *read_call(reader *r) {
  char name[16] = {0};
  size_t n = strcspn(r->at, "(");
  assert_true(n < sizeof name);
  memcpy(name, r->at, n);
  r->at += n + 1;
  nw_op op = NW_OP_COUNT;
  assert_true(nw_op_parse(name, &op));
  const nw_expr *a[3];
  int args = 0;
  do a[args++] = read_sum(r, 0);
  while (take(r, ","));
  assert_true(take(r, ")"));
  assert_int_equal(args, nw_op_arity(op));
  return typed_node(r, op, args, a);
}

static const nw_expr *read_number(reader *r) {
  char *end;
  double v = strtod(r->at, &end);
  bool whole = !memchr(r->at, '.', (size_t)(end - r->at));
  r->at = end;
  r->wrong |= whole ? !is_integer(r->t) : !is_float(r->t);
  return whole ? nw_int(r->p, r->t, (int64_t)v) : nw_float(r->p, r->t, v);
}

static const nw_expr *read_operand(reader *r) {
  const nw_expr *e;
  while (*r->at == ' ') r->at++;
  if (isdigit((unsigned char)*r->at) || (*r->at == '-' && isdigit((unsigned char)r->at[1]))) return read_number(r);
  if (take(r, "(")) {
    e = read_sum(r, 0);
    assert_true(take(r, ")"));
    return e;
  }
  if (take(r, "-")) return e = read_sum(r, nw_op_prec(NW_OP_NEG)), typed_node(r, NW_OP_NEG, 1, &e);
  if (take(r, "~")) return e = read_sum(r, nw_op_prec(NW_OP_BITNOT)), typed_node(r, NW_OP_BITNOT, 1, &e);
  if (take(r, "not")) return e = read_sum(r, nw_op_prec(NW_OP_NOT)), typed_node(r, NW_OP_NOT, 1, &e);
  if (take(r, "true")) return nw_int(r->p, NW_BOOL, 1);
  if (take(r, "false")) return nw_int(r->p, NW_BOOL, 0);
  if (isalpha((unsigned char)r->at[1])) return read_call(r);
  const char *letter = strchr("xyzwcd", *r->at++);
  assert_non_null(letter);
  if (*letter != 'c' && *letter != 'd') return letter_of(r, *letter == 'w' ? W : *letter - 'x');
  r->constants = true;
  r->wrong |= !is_integer(r->t);
  return nw_int(r->p, r->t, *letter == 'c' ? r->c : r->d);
}

static const nw_expr *read_sum(reader *r, int prec) {
  static const nw_op infix[] = {NW_OP_FLOORDIV, NW_OP_SHL,   NW_OP_SHR,    NW_OP_LE,  NW_OP_EQ,       NW_OP_NE,
                                NW_OP_ADD,      NW_OP_SUB,   NW_OP_MUL,    NW_OP_DIV, NW_OP_FLOORMOD, NW_OP_LT,
                                NW_OP_BITAND,   NW_OP_BITOR, NW_OP_BITXOR, NW_OP_AND, NW_OP_OR};
  const nw_expr *a[2] = {read_operand(r)};
  for (int i = 0; i < NW_COUNT(infix); i++) {
    if (nw_op_prec(infix[i]) <= prec || !take(r, nw_op_infix(infix[i]))) continue;
    a[1] = read_sum(r, nw_op_prec(infix[i]));
    a[0] = typed_node(r, infix[i], 2, a);
    i = -1;
  }
  return a[0];
}

static const nw_expr *read_side(reader *r, const char *text) {
  r->at = text;
  const nw_expr *e = read_sum(r, 0);
  assert_int_equal(*r->at, 0);
  return e;
}

// ---------------------------------------------------------------- values for the letters

typedef struct letters {
  nw_dtype t[LETTERS];
  bool index, all; // `all`: every value is tried
  int n, slot[LETTERS];
  long count; // the number of draws
} letters;

static long values_of(nw_dtype t) { return t == NW_BOOL ? 2 : t == NW_I8 || t == NW_U8 ? 256 : is_half(t) ? 65536 : 0; }

static value nth_value(nw_dtype t, long n) {
  if (is_half(t)) return real(half_of_bits(t, (unsigned)n));
  return number(t == NW_I8 ? n - 128 : n);
}

// Tries every value if there are few values. Otherwise draws `few` values.
static letters choose_letters(const reader *r, long few) {
  letters l = {.index = r->index, .all = true, .count = 1};
  for (int i = 0; i < LETTERS; i++) {
    if (!r->uses[i]) continue;
    l.slot[l.n++] = i;
    l.t[i] = i == X && r->x_is_bool ? NW_BOOL : r->t;
    long each = r->index ? 0 : values_of(l.t[i]);
    l.all = l.all && each && l.count * each <= 65536 * 2;
    if (l.all) l.count *= each;
  }
  if (!l.all) l.count = few;
  return l;
}

static void draw_letters(const letters *l, long n, uint64_t *seed, memory *m) {
  for (int k = 0; k < l->n; k++) {
    int i = l->slot[k];
    long each = values_of(l->t[i]);
    value v = l->all ? nth_value(l->t[i], n % each) : random_value(seed, l->t[i]);
    // The result of an operation on halves can be any value of f32 until it is stored.
    if (!l->all && is_half(l->t[i]) && next_random(seed) % 2) v = random_value(seed, NW_F32);
    if (l->all) n /= each;
    if (l->index && l->t[i] != NW_BOOL)
      m->var[i] = v.i >> 17;
    else
      m->of[l->t[i]][i] = v;
  }
}

// ---------------------------------------------------------------- a row and a dtype

typedef struct check {
  workshop *w;
  int row;
  reader r; // how the text of the row is read
  bool covered; // the row applies to this dtype
  long wanted, done;
  long wrong_before;
} check;

static bool covers(char kind, nw_dtype t, bool index) {
  switch (kind) {
  case 'i': return is_integer(t);
  case 's': return is_integer(t) && !is_unsigned(t);
  case 'n': return index;
  case 'b': return t == NW_BOOL;
  case 'f': return is_float(t);
  default: return true;
  }
}

static void name_check(const check *c, char *out, size_t room) {
  snprintf(out, room, "rule %s for %s%s", rows[c->row].from, c->r.index ? "index " : "", nw_dtype_name(c->r.t));
}

// For each draw of the letters, compares the value of the pattern with the value of the folded side. If the row applies
// to the dtype, also compares it with the value of the replacement.
static void compare_sides(check *c, const nw_expr *from, const nw_expr *to, const letters *l) {
  const nw_expr *folded = nw_import(c->w->folded, from);
  char what[128];
  name_check(c, what, sizeof what);
  for (long n = 0; n < l->count; n++) {
    memory m = {0};
    draw_letters(l, n, &c->w->seed, &m);
    value v = meaning(&m, from, 0);
    if (v.none || m.overflow) continue; // if the pattern has no value, the replacement may have any value
    c->done++;
    nw_dtype t = (nw_dtype)from->type.dtype;
    value f = meaning(&m, folded, 0), r = c->covered ? meaning(&m, to, 0) : v;
    if (!same_value(t, v, f)) report_wrong(what, from, folded, v, f);
    if (!same_value(t, v, r)) report_wrong(what, from, to, v, r);
  }
}

static void check_sides(check *c, int64_t cv, int64_t dv, long few) {
  c->r.c = cv;
  c->r.d = dv;
  memset(c->r.uses, 0, sizeof c->r.uses);
  const nw_expr *from = read_side(&c->r, rows[c->row].from), *to = read_side(&c->r, rows[c->row].to);
  letters l = choose_letters(&c->r, few);
  compare_sides(c, from, to, &l);
}

static bool condition_is_true(check *c, int64_t cv, int64_t dv) {
  if (!*rows[c->row].where) return true;
  memory m = {0};
  c->r.c = cv;
  c->r.d = dv;
  value v = meaning(&m, read_side(&c->r, rows[c->row].where), 0);
  return !v.none && v.i;
}

// Draws two constants: divisors and multiples, small and large.
static void draw_constants(check *c, int64_t *cv, int64_t *dv) {
  uint64_t *seed = &c->w->seed;
  nw_dtype t = c->r.t;
  switch (next_random(seed) % 4) {
  case 0: *cv = 1 + random_to(seed, 12), *dv = 1 + random_to(seed, 12); break;
  case 1: *cv = random_integer(seed, t), *dv = random_integer(seed, t); break;
  case 2: *dv = 1 + random_to(seed, 9), *cv = *dv * (1 + random_to(seed, 9)); break;
  default:
    *cv = (int64_t)(UINT64_C(1) << random_to(seed, width(t))),
    *dv = (int64_t)(UINT64_C(1) << random_to(seed, width(t)));
    break;
  }
  *cv = wrapped(t, (uint64_t)*cv);
  *dv = wrapped(t, (uint64_t)*dv);
}

// Checks one pair of constants. If the condition of the row is false for the pair, the constructors must not apply the
// rule. Such a pair is checked only if `always` is true.
static bool check_pair(check *c, int64_t cv, int64_t dv, bool always, long few) {
  bool holds = condition_is_true(c, cv, dv), covered = c->covered;
  if (!holds && !always) return false;
  c->covered = covered && holds;
  check_sides(c, cv, dv, few);
  c->covered = covered;
  return holds;
}

enum { TRUE_DRAWS = 300, FALSE_DRAWS = 40 };

// For i8 and u8, checks all pairs of constants, or every seventh pair in a short test. For other dtypes, draws pairs.
static void check_constants(check *c) {
  long yes = 0, few = 1 + c->wanted / TRUE_DRAWS, step = c->wanted < 65536 ? 7 : 1;
  long each = values_of(c->r.t);
  for (long n = 0; n < each * each; n += step)
    yes += check_pair(c, nth_value(c->r.t, n % each).i, nth_value(c->r.t, n / each).i, n % 97 == 0, few);
  for (int tries = 0; !each && tries < 20000 && yes < TRUE_DRAWS; tries++) {
    int64_t cv, dv;
    draw_constants(c, &cv, &dv);
    yes += check_pair(c, cv, dv, tries < FALSE_DRAWS, few);
  }
  if (yes < TRUE_DRAWS / step) c->done = 0;
}

// True if both sides of the row are well-typed with operands of this dtype.
static bool well_typed(const check *c) {
  reader r = c->r;
  for (int side = 0; side < 2 && !r.wrong; side++) read_side(&r, side ? rows[c->row].to : rows[c->row].from);
  return !r.wrong;
}

static void check_dtype(workshop *w, int row, nw_dtype t, bool x_is_bool, bool index, long wanted) {
  check c = {.w = w, .row = row, .r = {.p = w->raw, .t = t, .x_is_bool = x_is_bool, .index = index, .c = 1, .d = 1}};
  c.wanted = wanted;
  c.covered = covers(*rows[row].kind, t, index);
  if (!well_typed(&c)) return;
  reader r = c.r;
  read_side(&r, rows[row].from);
  if (x_is_bool && !(r.uses[Y] || r.uses[Z]) && t != NW_BOOL) return; // no operand has that dtype
  if (r.constants)
    check_constants(&c);
  else
    check_sides(&c, 0, 0, wanted);
  found.draws += c.done;
  if (!c.covered) return;
  found.rules++;
  bool enough = c.done >= (t == NW_BOOL ? 1 : 100);
  if (enough) return;
  char what[128];
  name_check(&c, what, sizeof what);
  fprintf(stderr, "%s: only %ld draws\n", what, c.done);
  found.unchecked++;
}

static void check_row(int row, long wanted) {
  workshop w = {.seed = (uint64_t)row};
  open_pools(&w);
  long before = found.rules;
  for (int t = 0; t < NW_DTYPE_COUNT; t++) {
    bool chooses = strstr(rows[row].from, "select") && t != NW_BOOL;
    check_dtype(&w, row, (nw_dtype)t, chooses, false, wanted);
    if (t == NW_INDEX) check_dtype(&w, row, NW_INDEX, chooses, true, wanted);
  }
  close_pools(&w);
  if (found.rules > before) return;
  fprintf(stderr, "rule %s applies to no dtype\n", rows[row].from);
  found.unchecked++;
}

static void every_rule_holds(void **state) {
  (void)state;
  for (int i = 0; i < NW_COUNT(rows); i++) check_row(i, draws_wanted(3000));
  write_figures();
  assert_int_equal(found.wrong, 0);
  assert_int_equal(found.unchecked, 0);
  assert_true(found.rules >= NW_COUNT(rows));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_rule_holds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
