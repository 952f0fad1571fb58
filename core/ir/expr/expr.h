// Expressions are immutable and interned in a pool, so equal expressions of a pool have the same pointer.
//
// Constructors fold: they compute operations on constants, put integer sums and products into a canonical order, and
// apply the rules in ir/expr/rules.def. All these rewrites are valid for every value of the variables. Rewrites that
// need the range of a variable are in ir/expr/range.h. Integer arithmetic wraps, but index arithmetic (i64, over loops
// and sizes) is assumed not to overflow. nw_is_exact distinguishes these two kinds of arithmetic. Floats are never
// reassociated.
#pragma once
#include "base/base.h"

struct nw_expr {
  uint8_t op; // nw_op
  // true if the expression contains a load, a cast, a reinterpret, a reduction or a variable that stands for data
  // (nw_data_var); its arithmetic may wrap
  bool data;
  nw_type type;
  uint16_t n; // number of arguments
  uint32_t serial; // order of creation in the pool; never determines an order that a user can see
  uint32_t depth : 12, size : 20; // levels and nodes of the expression as a tree; both saturate at their greatest value
  uint64_t hash; // depends only on the structure, so it is the same in every pool
  nw_pool *pool; // the pool that contains this expression; the pointer does not count as a reference
  union {
    int64_t i; // INT (sign-extended to 64 bits; bool 0/1), REDUCE: combiner, RAMP/BROADCAST: lanes
    double f; // FLOAT (already rounded to the dtype)
    const char *name; // VAR, LOAD: interned in the pool. In tensor expressions, names have a serial: "A@12"
  };
  const nw_expr *arg[];
};

// Limits on user expressions. Traversing a deeper expression would overflow the stack, and traversing a larger one
// would take too long.
#define NW_MAX_EXPR_DEPTH 2000
#define NW_MAX_EXPR_SIZE 200000

// Typed constructors. They assert that the operands already have the type that the op requires. `nw_apply` promotes
// operands first.
const nw_expr *nw_make(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);
NW_API const nw_expr *nw_make1(nw_pool *p, nw_op op, const nw_expr *a);
const nw_expr *nw_make2(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b);
bool nw_ldexp_takes(const nw_expr *x, const nw_expr *n); // true if ldexp(x, n) is well-typed
const nw_expr *nw_load(nw_pool *p, nw_type t, const char *buffer, int n, const nw_expr *const *index);
const nw_expr *nw_var_of(nw_pool *p, const char *name, nw_type t);
// Returns a variable that stands for a value of data, so its arithmetic may wrap.
const nw_expr *nw_data_var(nw_pool *p, const char *name, nw_type t);
const nw_expr *nw_reduce(nw_pool *p, int combiner, int nterms, const nw_expr *const *terms, int naxes,
                         const nw_expr *const *axes); // n = nterms + naxes; nterms is 2 for arg-reductions, else 1
NW_API const nw_expr *nw_ramp(nw_pool *p, const nw_expr *base, const nw_expr *stride, int lanes);
NW_API const nw_expr *nw_broadcast(nw_pool *p, const nw_expr *e, int lanes);
// Returns lanes `from` to from + lanes - 1 of a vector, or e itself if e is a scalar.
NW_API const nw_expr *nw_take_lanes(const nw_expr *e, int from, int lanes);
const nw_expr *nw_index(nw_pool *p, int64_t value); // nw_int(p, NW_INDEX, value)
const nw_expr *nw_true(nw_pool *p);
// nw_eval_int and nw_eval_size compute an integer expression for given values of its names (evaluate.c). If a name
// occurs twice in the list, its last value is used. They return false if the result depends on a read, a float, a name
// without a value or a division by zero. nw_eval_size also returns false if index arithmetic exceeds 64 bits.
typedef struct nw_point {
  int n;
  const char *const *name;
  const int64_t *value;
} nw_point;
bool nw_eval_int(const nw_expr *e, const nw_point *at, int64_t *out);
bool nw_eval_size(const nw_expr *e, int n, const char *const *names, const int64_t *values, int64_t *out);
// True for an integer dtype whose values are all values of i64.
static inline bool nw_fits_i64(nw_dtype t) { return nw_dtype_is_int(t) && t != NW_U64; }
// True if e never wraps: it is index arithmetic, or its arithmetic on data cannot wrap (exact.c).
bool nw_is_exact(const nw_expr *e);
// Like nw_cast, but returns e unchanged if it already has this dtype, even if e is an unrounded f16 or bf16.
const nw_expr *nw_convert(nw_pool *p, nw_dtype t, const nw_expr *e);
// True if a cast of e to its own dtype does not change the value of e: either e is not an f16 or bf16 (a half), or it
// is already rounded.
bool nw_is_rounded(const nw_expr *e);

// Shorthand for index arithmetic and conditions.
NW_API const nw_expr *nw_add(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_sub(nw_pool *p, const nw_expr *a, const nw_expr *b);
NW_API const nw_expr *nw_mul(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_floordiv(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_floormod(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_min(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_max(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_lt(nw_pool *p, const nw_expr *a, const nw_expr *b);
// Like nw_select, but values of the same type keep it, also if both are literals.
const nw_expr *nw_choose(nw_pool *p, const nw_expr *cond, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_le(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_eq(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_and(nw_pool *p, const nw_expr *a, const nw_expr *b); // NULL stands for true
const nw_expr *nw_ceildiv(nw_pool *p, const nw_expr *a, const nw_expr *b);

NW_API bool nw_is_int(const nw_expr *e, int64_t *value); // true if e is a scalar INT constant; stores its value
NW_API bool nw_is_const(const nw_expr *e, int64_t value);
// These functions read the columns of ops.def (ops.c). The function for the columns of costs is in ir/ops.h.
typedef enum nw_exactness { NW_EXACT_SAME, NW_EXACT_EXACT, NW_EXACT_ROUNDED, NW_EXACT_NEAR } nw_exactness;
NW_API bool nw_op_has(nw_op op, char type); // true if the column `types` has that letter
int nw_op_arity(nw_op op);
int nw_op_prec(nw_op op);
int nw_op_c_prec(nw_op op); // binding strength of the op in C
NW_API const char *nw_op_infix(nw_op op); // "+", "//", "and", or NULL
const char *nw_op_function(nw_op op); // the name of its f64 function in <math.h>, or NULL
nw_exactness nw_op_exactness(nw_op op);
bool nw_op_is_defined(nw_op op); // true if applying the op builds an expression of other ops

const char *nw_pool_name(nw_pool *p, const char *s); // interned string
const char *nw_dim_name(nw_pool *p, int d); // "_0", "_1", ...: names of the logical dimensions in a layout
size_t nw_pool_bytes(const nw_pool *p);

// A name in a pool may be a symbol: it stands for an object (in te: a tensor, an axis or a size). The pool holds a
// reference to the object, and nw_import copies the definition of the symbol. nw_pool_symbol returns NULL if the name
// is not a symbol.
typedef struct nw_symbol_class {
  void *(*retain)(void *object);
  void (*release)(void *object);
} nw_symbol_class;
void nw_pool_define(nw_pool *p, const char *name, const nw_symbol_class *cls, void *object);
void *nw_pool_symbol(const nw_pool *p, const char *name, const nw_symbol_class **cls);

// Rebuilds e with the folding constructors. Every VAR is replaced by the result of `vars` for it, and every LOAD by the
// result of `loads` for it. If the function or its result is NULL, the node is kept. The arguments of a LOAD are
// rebuilt first. e may be in another pool; the result is in p.
typedef const nw_expr *(*nw_var_fn)(void *env, const nw_expr *var);
typedef const nw_expr *(*nw_load_fn)(void *env, const nw_expr *load);
const nw_expr *nw_rewrite(nw_pool *p, const nw_expr *e, nw_var_fn vars, nw_load_fn loads, void *env);
NW_API const nw_expr *nw_import(nw_pool *p, const nw_expr *e); // the same expression in p
// Returns e, which is in p, with every occurrence of the expression `what` replaced by `by`.
const nw_expr *nw_replace(nw_pool *p, const nw_expr *e, const nw_expr *what, const nw_expr *by);
const nw_expr *nw_subst(nw_pool *p, const nw_expr *e, const char *var, const nw_expr *by);
const nw_expr *nw_subst_n(nw_pool *p, const nw_expr *e, int n, const char *const *vars, const nw_expr *const *by);

// Calls f once on every subexpression, arguments first. If f returns false, stops and returns false.
NW_API bool nw_visit(const nw_expr *e, bool (*f)(void *env, const nw_expr *e), void *env);
NW_API bool nw_uses_var(const nw_expr *e, const char *var);
NW_API bool nw_uses_load(const nw_expr *e, const char *buffer); // buffer NULL: any buffer
bool nw_uses_any(const nw_expr *e, int n, const char *const *vars);
// nw_conjuncts writes the conjuncts of a condition, at most `cap`, to `out`, and returns their number.
#define NW_MAX_TERMS 32
int nw_conjuncts(const nw_expr *cond, int cap, const nw_expr **out);

// Writes e as sum(coef[i]*vars[i]) + rest. The coefficients are constants, and `rest` uses none of the n variables.
// Returns false if e is not affine in these variables.
bool nw_affine(nw_pool *p, const nw_expr *e, int n, const char *const *vars, int64_t *coef, const nw_expr **rest);
// If e compares vectors of indices, and holds in lane l if and only if first + step*l >= 0, sets *first, which is a
// scalar, and *step, and returns true.
NW_API bool nw_lane_slack(const nw_expr *e, const nw_expr **first, int64_t *step);

NW_API void nw_expr_print(nw_str *out, const nw_expr *e); // prints e with full names
