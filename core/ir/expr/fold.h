// Internal header of ir: the construction of expressions. A constructor checks and imports its operands (make.c). Then
// it folds (fold.c): it handles constants (constant.c), integer sums and products (sum.c), divisions (divide.c) and the
// rules of rules.def (rules.c). The result is interned (pool.c).
#pragma once
#include "ir/expr/expr.h"
#include "ir/expr/rewrites.h"

// Returns the node with the given parts, and makes it if it does not exist yet. Does not fold. `head` has the op, the
// type, the number of arguments, and the value or name.
const nw_expr *nw_intern(nw_pool *p, const nw_expr *head, const nw_expr *const *args);
const nw_expr *nw_raw(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

// Returns the folded form of op(args). The operands must be well-typed and belong to p.
const nw_expr *nw_fold(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

static inline bool nw_is_constant(const nw_expr *e) { return e->op == NW_OP_INT || e->op == NW_OP_FLOAT; }
static inline nw_type nw_scalar(nw_dtype t) { return (nw_type){(uint8_t)t, 1}; }
static inline int64_t nw_negate(int64_t a) { return (int64_t)(0 - (uint64_t)a); } // wraps
static inline bool nw_is_index(const nw_expr *e) { return e->type.dtype == NW_INDEX && e->type.lanes == 1; }

bool nw_dtype_widens(nw_dtype from, nw_dtype to); // true if a cast from `from` to `to` preserves every value

// ---- constants
int64_t nw_wrap(nw_dtype t, int64_t v); // v modulo 2^bits, in the dtype's range; for bool: v != 0
NW_API bool nw_fits(nw_dtype t, int64_t v);
int64_t nw_saturate(nw_dtype t, double v); // v without its fraction, or the nearest integer of the dtype t; 0 for NaN
double nw_round(nw_dtype t, double v); // v, rounded to the nearest value of the float dtype t
const nw_expr *nw_constant_cast(nw_pool *p, nw_dtype t, const nw_expr *c);
const nw_expr *nw_constant_bits(nw_pool *p, nw_dtype t, const nw_expr *c); // reinterpret(c, t)
#define NW_MOST_SCALE 5000 // ldexp of any float by this number is infinite or 0
const nw_expr *nw_constant_ldexp(nw_pool *p, nw_dtype t, const nw_expr *x, const nw_expr *n); // NULL: rounds later
// Computes an operation on constants. Returns NULL if the operation is not folded, for example because it is a division
// by zero or because some operand is not a constant.
const nw_expr *nw_constant_op(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

// ---- sums
//
// An nw_sum is constant + coef[0]*atom[0] + coef[1]*atom[1] + ..., computed modulo 2^b for a dtype of b bits. An atom
// is any expression except a sum, a constant, or a product with a constant factor. Coefficients are signed for every
// dtype.
typedef struct nw_term {
  int64_t coef;
  const nw_expr *atom;
} nw_term;
typedef struct nw_sum {
  nw_pool *pool;
  nw_dtype dtype;
  int n, cap;
  nw_term *term, room[12];
  int64_t constant;
  bool wraps; // a coefficient or the constant exceeded 64 bits, so the sum is only correct modulo 2^64
} nw_sum;
void nw_sum_init(nw_sum *s, nw_pool *p, nw_dtype t);
void nw_sum_add(nw_sum *s, int64_t coef, const nw_expr *e); // splits coef*e into terms, and adds them
void nw_sum_term(nw_sum *s, int64_t coef, const nw_expr *atom);
const nw_expr *nw_sum_expr(nw_sum *s); // returns the canonical expression; s can still be used afterwards
void nw_sum_free(nw_sum *s);
void nw_sum_drop_zeros(nw_sum *s);
const nw_expr *nw_product(nw_pool *p, const nw_expr *a, const nw_expr *b);
// Compares by a total order that does not depend on the pool or on the order of creation.
int nw_compare(const nw_expr *a, const nw_expr *b);

// ---- divisions and comparisons of integers; both functions return NULL if nothing gets simpler
const nw_expr *nw_fold_division(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_fold_comparison(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b);

// Rewrites an operation on the bits of an index as arithmetic, or returns NULL. `by` is not used for ~x.
const nw_expr *nw_fold_bits(nw_pool *p, nw_op op, const nw_expr *x, const nw_expr *by);

// Applies the first rule of rules.def that matches. Returns NULL if no rule matches.
const nw_expr *nw_apply_rules(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

// ---- a map from expressions to expressions
typedef struct nw_memo {
  int n, cap;
  const nw_expr **key, **value;
  const nw_expr *room[64];
} nw_memo;
void nw_memo_init(nw_memo *m);
// Returns the place where the value of a key is stored. The value is NULL if none is stored yet.
const nw_expr **nw_memo_at(nw_memo *m, const nw_expr *key);
void nw_memo_free(nw_memo *m);
