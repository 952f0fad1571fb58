// Internal header of ir: construction of expressions. Constructors check and import their operands (make.c), then fold
// (fold.c): constants (constant.c), integer sums and products (sum.c), divisions (divide.c), the rules of rules.def
// (rules.c); the result is interned (pool.c).
#pragma once
#include "ir/expr/expr.h"
#include "ir/expr/rewrites.h"

// Returns the node with these parts without folding. Makes the node if it does not exist yet. `head` has op, type, n
// and the value or name.
NW_API const nw_expr *nw_intern(nw_pool *p, const nw_expr *head, const nw_expr *const *args);
const nw_expr *nw_raw(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

// Returns the folded form of op(args). The operands must be well-typed and belong to p.
const nw_expr *nw_fold(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

static inline bool nw_is_constant(const nw_expr *e) { return e->op == NW_OP_INT || e->op == NW_OP_FLOAT; }
static inline nw_type nw_scalar(nw_dtype t) { return (nw_type){(uint8_t)t, 1}; }
static inline int64_t nw_negate(int64_t a) { return (int64_t)(0 - (uint64_t)a); } // wraps
static inline bool nw_is_index(const nw_expr *e) { return e->type.dtype == NW_INDEX && e->type.lanes == 1; }

// ---- constants
int64_t nw_wrap(nw_dtype t, int64_t v); // v modulo 2^bits, in the dtype's range; for bool: v != 0
NW_API bool nw_fits(nw_dtype t, int64_t v);
double nw_round(nw_dtype t, double v); // to the nearest value of a float dtype
const nw_expr *nw_constant_cast(nw_pool *p, nw_dtype t, const nw_expr *c);
// NULL if the operation must not be folded: a division by zero, or operands that are not all constants.
const nw_expr *nw_constant_op(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

// ---- sums
//
// A sum is constant + sum of coef*atom, in the ring of integers modulo 2^bits of one dtype. An atom is neither a sum
// nor a constant nor a product with a constant factor. Coefficients are signed for every dtype.
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
void nw_sum_add(nw_sum *s, int64_t coef, const nw_expr *e); // adds coef*e, split into terms
void nw_sum_term(nw_sum *s, int64_t coef, const nw_expr *atom);
const nw_expr *nw_sum_expr(nw_sum *s); // the canonical expression; s can still be used afterwards
void nw_sum_free(nw_sum *s);
void nw_sum_drop_zeros(nw_sum *s);
const nw_expr *nw_product(nw_pool *p, const nw_expr *a, const nw_expr *b);
// Compares by a total order that does not depend on the pool or on the order of creation.
int nw_compare(const nw_expr *a, const nw_expr *b);

// ---- integer // and %, and comparisons of integers: NULL if nothing gets simpler
const nw_expr *nw_fold_division(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_fold_comparison(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b);

// ---- rules.def: NULL if no rule applies
const nw_expr *nw_apply_rules(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);

// ---- a map from expressions to expressions
typedef struct nw_memo {
  int n, cap;
  const nw_expr **key, **value;
  const nw_expr *room[64];
} nw_memo;
NW_API void nw_memo_init(nw_memo *m);
// Returns the place where the value of a key is stored; the value is NULL if there is none yet.
NW_API const nw_expr **nw_memo_at(nw_memo *m, const nw_expr *key);
NW_API void nw_memo_free(nw_memo *m);
