// Decides whether a layout that combines bits of the indices, such as (i, j ~ (i % 8)), gives the elements of an
// allocation different positions. isl cannot represent such a layout. But each bit of a position is an exclusive or of
// bits of the indices, so over the field of two elements the layout is a matrix. It is one-to-one if and only if the
// rank of the matrix is the number of bits. See docs/swizzle.md.
#include "ir/program/physical.h"
#include "poly/internal.h"

enum { WIDTH = 64, MOST = 128, ADDRESS = 47 }; // no index needs more than ADDRESS bits (ir/expr/exact.c)

typedef unsigned __int128 bit_set; // a set of bits of the indices, numbered from 0 to MOST - 1

// The indices of the elements of an allocation. Bits 0 to low - 1 of index d vary, and have the numbers first[d] to
// first[d] + low[d] - 1. The higher bits are the same for all elements. They are 0 if `fixed` is false.
typedef struct index_bits {
  const nw_buffer *b;
  int n, low[NW_MAX_DEPTH], first[NW_MAX_DEPTH];
  bool fixed[NW_MAX_DEPTH], whole; // whole: every value of the varying bits is the index of an element
} index_bits;

// A number, as bits. Bit i is 0 if may[i] is false. Otherwise it is the exclusive or of a constant and the bits in of[i].
typedef struct number {
  bool may[WIDTH];
  bit_set of[WIDTH];
} number;

// ---- layouts that combine bits

static bool combines_no_bits(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_BITXOR && e->op != NW_OP_BITOR && e->op != NW_OP_BITAND;
}

bool nw_layout_of_bits(const nw_buffer *b) {
  for (int d = 0; d < b->nlayout; d++)
    if (!nw_visit(b->layout[d], combines_no_bits, NULL)) return true;
  return false;
}

// ---- which bits of the indices vary

static int bits_of(int64_t last) {
  int n = 0;
  while (n < ADDRESS && last >> n > 0) n++;
  return n;
}

// An index is min + x, where x is at least 0 and less than the extent. If a power of two that is not less than the
// extent divides min, x has the low bits of the index, and min has the others. Otherwise all bits of the index may vary.
static bool vary(const nw_ranges *r, const nw_expr *min, const nw_expr *extent, int d, index_bits *x) {
  nw_pool *pool = r->pool;
  int64_t n, lo, most = INT64_C(1) << ADDRESS;
  const nw_expr *last = nw_sub(pool, extent, nw_index(pool, 1));
  x->low[d] = bits_of(nw_const_upper(r, last, &n) ? n : most - 1);
  if (nw_divides(r, min, INT64_C(1) << x->low[d]) || NW_MUTATED(bits_unaligned)) {
    x->fixed[d] = !nw_is_const(min, 0);
    x->whole = x->whole && nw_is_const(extent, INT64_C(1) << x->low[d]);
    return true;
  }
  x->whole = x->fixed[d] = false;
  x->low[d] = bits_of(nw_const_upper(r, nw_add(pool, min, last), &n) ? n : most - 1);
  return nw_const_lower(r, min, &lo) && lo >= 0;
}

// Finds the bits of the elements of one allocation, or of a parameter if `alloc` is NULL. Returns false if there are too
// many, or if an index may be negative.
static bool bits_of_box(const nw_ranges *r, const nw_buffer *b, const nw_stmt *alloc, index_bits *x) {
  *x = (index_bits){.b = b, .whole = true};
  for (int d = 0; d < b->ndim; d++) {
    const nw_expr *min = alloc ? alloc->alloc.min[d] : nw_index(r->pool, 0);
    if (!vary(r, min, alloc ? alloc->alloc.extent[d] : b->shape[d], d, x)) return false;
    x->first[d] = x->n;
    x->n += x->low[d];
  }
  return x->n <= MOST;
}

// ---- numbers as bits

static bool in_bits(const index_bits *x, const nw_expr *e, number *out);

static void index_in_bits(const index_bits *x, int d, number *out) {
  for (int i = 0; i < WIDTH; i++) {
    bool low = i < x->low[d];
    out->may[i] = low || x->fixed[d];
    out->of[i] = low ? (bit_set)1 << (x->first[d] + i) : 0;
  }
}

// A size is the same for all elements.
static bool variable_in_bits(const index_bits *x, const nw_expr *e, number *out) {
  for (int d = 0; d < x->b->ndim; d++)
    if (!strcmp(e->name, nw_dim_name(e->pool, d))) return index_in_bits(x, d, out), true;
  for (int i = 0; i < WIDTH; i++) out->may[i] = true, out->of[i] = 0;
  return true;
}

static bool constant_in_bits(int64_t c, number *out) {
  for (int i = 0; i < WIDTH; i++) out->may[i] = (uint64_t)c >> i & 1, out->of[i] = 0;
  return true;
}

// Computes a ~ b. If `apart` is true, also a | b and a + b: they are equal to a ~ b if no bit is set in both numbers.
static bool combined(const index_bits *x, const nw_expr *e, bool apart, number *out) {
  number a, b;
  if (!in_bits(x, e->arg[0], &a) || !in_bits(x, e->arg[1], &b)) return false;
  for (int i = 0; i < WIDTH; i++) {
    if (apart && a.may[i] && b.may[i] && !NW_MUTATED(bits_carry)) return false;
    out->may[i] = a.may[i] || b.may[i];
    out->of[i] = a.of[i] ^ b.of[i];
  }
  return true;
}

static bool power_of(const nw_expr *e, int *power) {
  int64_t c;
  if (!nw_is_int(e, &c) || c <= 0 || c & (c - 1)) return false;
  *power = __builtin_ctzll((unsigned long long)c);
  return true;
}

// Moves the bits of a up by `by` places. If `by` is negative, moves them down, and repeats the sign.
static bool moved(const index_bits *x, const nw_expr *a, int by, number *out) {
  number from;
  if (!in_bits(x, a, &from)) return false;
  for (int i = 0; i < WIDTH; i++) {
    int at = i - by < WIDTH ? i - by : WIDTH - 1;
    out->may[i] = at >= 0 && from.may[at];
    out->of[i] = at >= 0 ? from.of[at] : 0;
  }
  return true;
}

static bool remainder_in_bits(const index_bits *x, const nw_expr *a, int n, number *out) {
  if (!in_bits(x, a, out)) return false;
  for (int i = n; i < WIDTH; i++) out->may[i] = false, out->of[i] = 0;
  return true;
}

// Writes a number as bits. Returns false if some bit is not an exclusive or of bits of the indices.
static bool in_bits(const index_bits *x, const nw_expr *e, number *out) {
  int n;
  switch (e->op) {
  case NW_OP_INT: return constant_in_bits(e->i, out);
  case NW_OP_VAR: return variable_in_bits(x, e, out);
  case NW_OP_BITXOR: return combined(x, e, false, out);
  case NW_OP_BITOR:
  case NW_OP_ADD: return combined(x, e, true, out);
  case NW_OP_MUL:
    return power_of(e->arg[0], &n) ? moved(x, e->arg[1], n, out)
                                   : power_of(e->arg[1], &n) && moved(x, e->arg[0], n, out);
  case NW_OP_FLOORDIV: return power_of(e->arg[1], &n) && moved(x, e->arg[0], -n, out);
  case NW_OP_FLOORMOD: return power_of(e->arg[1], &n) && remainder_in_bits(x, e->arg[0], n, out);
  default: return false;
  }
}

// ---- the matrix

// A matrix whose rows are independent and reduced: each row has a leading bit, which no other row has.
typedef struct matrix {
  int n;
  bit_set row[MOST], lead[MOST];
} matrix;

static void add_row(matrix *x, bit_set row) {
  for (int i = 0; i < x->n; i++)
    if (row & x->lead[i]) row ^= x->row[i];
  if (!row) return;
  bit_set lead = row & -row;
  for (int i = 0; i < x->n; i++)
    if (x->row[i] & lead) x->row[i] ^= row;
  x->lead[x->n] = lead;
  x->row[x->n++] = row;
}

static bool matrix_of(const index_bits *x, matrix *out) {
  number position;
  out->n = 0;
  for (int d = 0; d < x->b->nlayout; d++) {
    if (!in_bits(x, x->b->layout[d], &position)) return false;
    for (int i = 0; i < WIDTH; i++) add_row(out, position.of[i]);
  }
  return true;
}

// ---- an element that shares its position

// Returns a set of bits that is not empty and changes no bit of a position, if they all change. There is one if the rank
// is less than n: a bit that leads no row, and the leading bits of the rows that contain it.
static bit_set unseen(const matrix *rows, int n) {
  bit_set leads = 0, out = 0;
  for (int i = 0; i < rows->n; i++) leads |= rows->lead[i];
  for (int i = 0; i < n && !out; i++) out = ~leads & (bit_set)1 << i;
  bit_set alone = out;
  for (int i = 0; i < rows->n; i++)
    if (rows->row[i] & alone) out |= rows->lead[i];
  return out;
}

// Returns the element whose index has these bits.
static isl_set *element(const nw_family *f, const index_bits *x, bit_set bits) {
  isl_set *out = isl_set_universe(nw_family_space(f, x->b->ndim));
  for (int d = 0; d < x->b->ndim; d++) {
    bit_set value = bits >> x->first[d] & (((bit_set)1 << x->low[d]) - 1);
    out = isl_set_fix_val(out, isl_dim_set, (unsigned)d, isl_val_int_from_ui(f->s->isl, (unsigned long)value));
  }
  return out;
}

static nw_answer refuse(const nw_model *m, const index_bits *x, const matrix *rows) {
  if (!x->whole)
    return nw_tell(m, NW_REFUSE_UNDECIDED, NULL, NULL,
                   "nothing proves that the layout of %s puts its elements at different positions", x->b->name);
  return nw_tell_element(m, NW_REFUSE_STRUCTURE, x->b, "the layout puts {e} and another element at the same position",
                         element(m->f, x, unseen(rows, x->n)));
}

// ---- the question

static nw_answer judge_box(const nw_model *m, const nw_ranges *r, const nw_buffer *b, const nw_stmt *alloc) {
  index_bits x;
  matrix rows;
  if (!bits_of_box(r, b, alloc, &x) || !matrix_of(&x, &rows))
    return nw_tell(m, NW_REFUSE_UNDECIDED, NULL, NULL,
                   "a bit of a position in the layout of %s is not the exclusive or of bits of the indices", b->name);
  return rows.n == x.n ? NW_HOLDS : refuse(m, &x, &rows);
}

typedef struct boxes {
  const nw_model *m;
  const nw_buffer *b;
  nw_answer answer;
} boxes;

static bool judge_alloc(void *env, const nw_path *path) {
  boxes *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_ALLOC || strcmp(s->alloc.buffer, x->b->name) != 0 || x->answer != NW_HOLDS) return true;
  nw_ranges r;
  nw_ranges_of(&r, x->m->p, path);
  x->answer = judge_box(x->m, &r, x->b, s);
  nw_ranges_free(&r);
  return true;
}

nw_answer nw_check_bits(const nw_model *m, const nw_buffer *b) {
  boxes x = {m, b, NW_HOLDS};
  nw_ranges r;
  if (!NW_RULE(m->p->ctx, layout_rank)) return NW_HOLDS;
  if (b->role == NW_TEMP) {
    nw_walk(m->p, judge_alloc, &x);
    return x.answer;
  }
  nw_ranges_of(&r, m->p, NULL);
  nw_answer answer = judge_box(m, &r, b, NULL);
  nw_ranges_free(&r);
  return answer;
}
