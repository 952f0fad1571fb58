// Tests random computations. The interpreted program must give the same bits as the definition.
#include "running.h"

static uint64_t seed, trial; // trial: the value of `seed` at the start of this case; NW_SEED=trial runs only this case

static int roll(int n) {
  seed = nw_hash_mix(seed, 0x9e3779b97f4a7c15u);
  return (int)((seed >> 33) % (uint64_t)n);
}

static const nw_dtype dtypes[] = {NW_I8,  NW_I16, NW_I32, NW_I64,  NW_U8,  NW_U16,
                                  NW_U32, NW_U64, NW_F16, NW_BF16, NW_F32, NW_F64};

// The tensors that a body may read, and the axes that it may use as indices.
typedef struct garden {
  nw_dtype t;
  int ntensors, naxes;
  nw_tensor *tensor[8];
  E axis[4];
  int64_t extent[4];
} garden;

// Returns an index that is inside 0 .. n for every value of the axes.
static E index_of(garden *g, int64_t n) {
  E e = lit(roll(5) - 2);
  for (int i = 0; i < g->naxes; i++)
    if (roll(2)) e = add(e, mul(lit(roll(5) - 2), g->axis[i]));
  if (g->naxes && roll(3)) {
    int i = roll(g->naxes);
    if (g->extent[i] <= n) return g->axis[i];
  }
  if (roll(2)) return op2(NW_OP_FLOORMOD, e, lit(n));
  return least(most(e, lit(0)), lit(n - 1));
}

static E number(garden *g) {
  int64_t v = roll(9) - (nw_dtype_is_signed(g->t) ? 4 : 0);
  return nw_dtype_is_float(g->t) ? flit(g->t, (double)v / 2) : nw_int(nw_lang_pool(nw), g->t, v);
}

static E read_any(garden *g) {
  if (!g->ntensors) return number(g);
  nw_tensor *t = g->tensor[roll(g->ntensors)];
  E at[4] = {0};
  for (int d = 0; d < nw_tensor_ndim(t); d++) {
    int64_t n = 1;
    nw_is_int(nw_tensor_dim(t, d), &n);
    at[d] = index_of(g, n);
  }
  return nw_tensor_read(t, nw_tensor_ndim(t), at);
}

// Returns an operation on the bits of a. Some counts of shifts are out of range.
static E bits(garden *g, E a, E b) {
  static const nw_op ops[] = {NW_OP_BITAND, NW_OP_BITOR, NW_OP_BITXOR};
  E count = roll(2) ? b : nw_int(nw_lang_pool(nw), g->t, roll(8 * nw_dtype_bytes(g->t) + 2));
  switch (roll(4)) {
  case 0: return op1(roll(2) ? NW_OP_BITNOT : NW_OP_POPCOUNT, a);
  case 1: return op2(roll(2) ? NW_OP_SHL : NW_OP_SHR, a, count);
  default: return op2(ops[roll(NW_COUNT(ops))], a, b);
  }
}

// Returns an operation on the mantissa and the exponent of a float.
static E parts(garden *g, E a) {
  E n = op1(NW_OP_EXPONENT, a), m = op1(NW_OP_MANTISSA, a);
  if (roll(2)) return nw_ldexp(nw_lang_pool(nw), roll(2) ? m : a, roll(2) ? n : lit(roll(9) - 4));
  nw_dtype whole = nw_dtype_bytes(g->t) == 2 ? NW_U16 : nw_dtype_bytes(g->t) == 4 ? NW_U32 : NW_I64;
  E bits_of = nw_reinterpret(nw_lang_pool(nw), whole, a);
  return nw_reinterpret(nw_lang_pool(nw), g->t, op2(NW_OP_BITXOR, bits_of, nw_int(nw_lang_pool(nw), whole, roll(4))));
}

static E body(garden *g, int depth) {
  static const nw_op ops[] = {NW_OP_ADD, NW_OP_SUB, NW_OP_MUL, NW_OP_MIN, NW_OP_MAX};
  if (depth == 0) return roll(4) ? read_any(g) : number(g);
  E a = body(g, depth - 1), b;
  switch (roll(8)) {
  case 0: return op1(roll(2) ? NW_OP_NEG : NW_OP_ABS, a);
  case 1:
    b = body(g, depth - 1);
    return pick(op2(roll(2) ? NW_OP_LT : NW_OP_NE, read_any(g), b), a, body(g, roll(depth)));
  case 2:
    return nw_dtype_is_float(g->t)
               ? op1(roll(2) ? NW_OP_FLOOR : NW_OP_TANH, a)
               : op2(roll(2) ? NW_OP_FLOORDIV : NW_OP_FLOORMOD, a, nw_int(nw_lang_pool(nw), g->t, 3));
  case 4: b = body(g, roll(depth)); return nw_dtype_is_float(g->t) ? parts(g, a) : bits(g, a, b);
  case 3: return cast(g->t, cast(dtypes[roll(NW_COUNT(dtypes))], a));
  default: return op2(ops[roll(NW_COUNT(ops))], a, body(g, roll(depth)));
  }
}

static const char *const names[] = {"i", "j"};
static const char *const kinds[] = {"sum", "prod", "min", "max", "argmin", "argmax"};

// Adds a stage. If its outputs have the dtype of the garden, later stages can read them.
static int stage(garden *g, int number_of, nw_tensor **out) {
  char name[16];
  const E extents[] = {lit(1 + roll(5)), lit(1 + roll(4))};
  int n = roll(3);
  snprintf(name, sizeof name, "T%d", number_of);
  nw_build *b = nw_compute_begin(nw, name, n, names, extents);
  g->naxes = n;
  for (int i = 0; i < n; i++) {
    g->axis[i] = ax(b, i);
    nw_is_int(extents[i], &g->extent[i]);
  }
  E e;
  if (roll(2)) {
    nw_axis *k = raxis("k", lit(roll(6)));
    g->axis[g->naxes] = var(k);
    nw_is_int(k->extent, &g->extent[g->naxes++]);
    e = over(kinds[roll(NW_COUNT(kinds))], body(g, 2), k);
  } else {
    e = body(g, 3);
  }
  int made = nw_compute_end(b, 1, &e, out);
  for (int i = 0; i < made; i++) keep(out[i]);
  return made;
}

static void fill(nw_view *v) {
  for (int64_t i = 0; i < v->count; i++) {
    int64_t x = roll(15) - (nw_dtype_is_signed(v->dtype) ? 7 : 0);
    switch (nw_dtype_bytes(v->dtype)) {
    case 1: ((int8_t *)v->data)[i] = (int8_t)x; break;
    case 2: ((int16_t *)v->data)[i] = (int16_t)(nw_dtype_is_float(v->dtype) ? 0x3c00 + x * 37 : x); break;
    case 4:
      if (v->dtype == NW_F32)
        ((float *)v->data)[i] = roll(30) ? (float)x / 3 : NAN;
      else
        ((int32_t *)v->data)[i] = (int32_t)x;
      break;
    default:
      if (v->dtype == NW_F64)
        ((double *)v->data)[i] = roll(30) ? (double)x / 3 : -INFINITY;
      else
        ((int64_t *)v->data)[i] = x;
    }
  }
}

static void assert_text_parses_back(const nw_program *p) {
  char *text = nw_program_print(p);
  nw_program *q = nw_program_parse(nw, p->pool, text);
  if (!q) fail_msg("%s\n%s", nw_error(nw)->message, text);
  assert_true(nw_same_program(p, q));
  nw_program_release(q);
  free(text);
}

static void try_one(void) {
  garden g = {.t = dtypes[roll(NW_COUNT(dtypes))]};
  nw_tensor *out[2] = {0};
  for (int i = 0; i < 2; i++) {
    char name[8];
    snprintf(name, sizeof name, "A%d", i);
    const E shape[] = {lit(1 + roll(5)), lit(1 + roll(5))};
    g.tensor[g.ntensors++] = input(name, g.t, roll(3), shape);
  }
  int made = 0;
  for (int s = 0, n = 1 + roll(3); s < n; s++) {
    made = stage(&g, s, out);
    if (!made) fail_msg("%s", nw_error(nw)->message);
    if (nw_tensor_dtype(out[0]) == g.t) g.tensor[g.ntensors++] = out[0];
  }
  job j = job_of(made, out, 0, (int64_t[]){0});
  for (int i = 0; i < j.ninputs; i++) fill(&j.view[i]);
  assert_text_parses_back(j.p);
  assert_agree(&j);
  int64_t index[4] = {0};
  double v;
  if (j.view[j.ninputs].count && !nw_naive_point(nw, out[0], NULL, NULL, 0, j.ninputs, j.view, index, &v))
    fail_msg("%s", nw_error(nw)->message);
  job_free(&j);
}

static void definitions_and_programs_agree(void **state) {
  const char *only = getenv("NW_SEED");
  for (uint64_t n = 1; n <= 600; n++) {
    seed = trial = only ? strtoull(only, NULL, 10) : n;
    setup(state);
    try_one();
    teardown(state);
    if (only) break;
  }
}

static int say_where(void **state) {
  (void)state;
  print_message("last case: NW_SEED=%llu\n", (unsigned long long)trial);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(definitions_and_programs_agree)};
  return cmocka_run_group_tests(tests, NULL, say_where);
}
