// Expressions: immutable and interned in a pool, so that equal expressions have the same pointer.
//
// Constructors fold constants and put integer sums and products into a canonical order, by the rules in
// ir/expr/rules.def. These rules hold for every value; rewrites that need the range of a variable are in
// ir/expr/range.h. Integer arithmetic wraps; index arithmetic (i64, over loops and sizes) is assumed not to overflow:
// nw_is_exact distinguishes the two. Floats are never reassociated.
#pragma once
#include "base/base.h"

struct nw_expr {
  uint8_t op; // nw_op
  bool data; // it contains a value that was read from memory or cast, so its arithmetic may wrap
  nw_type type;
  uint16_t n; // number of arguments
  uint32_t serial; // order of creation in the pool; never determines an order that a user can see
  uint32_t depth : 12, size : 20; // of the expression written out as a tree; both saturate at their greatest value
  uint64_t hash; // depends only on the structure: the same in every pool
  nw_pool *pool; // the pool in which it is interned, without a reference
  union {
    int64_t i; // INT (sign-extended to 64 bits; bool 0/1), REDUCE: combiner, RAMP/BROADCAST: lanes
    double f; // FLOAT (already rounded to the dtype)
    const char *name; // VAR, LOAD: interned in the pool. TE names carry a serial, "A@12", until a program names them
  };
  const nw_expr *arg[];
};

// Limits on user expressions. The traversal of a deeper or larger one would overflow the stack or take too long.
#define NW_MAX_EXPR_DEPTH 2000
#define NW_MAX_EXPR_SIZE 200000

// Typed constructors: the operands must already have the type that the op requires (asserted). `nw_apply` promotes them
// first.
const nw_expr *nw_make(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args);
const nw_expr *nw_make1(nw_pool *p, nw_op op, const nw_expr *a);
const nw_expr *nw_make2(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_load(nw_pool *p, nw_type t, const char *buffer, int n, const nw_expr *const *index);
const nw_expr *nw_var_of(nw_pool *p, const char *name, nw_type t);
const nw_expr *nw_reduce(nw_pool *p, int combiner, int nterms, const nw_expr *const *terms, int naxes,
                         const nw_expr *const *axes); // n = nterms + naxes; nterms is 2 for arg-reductions, else 1
NW_API const nw_expr *nw_ramp(nw_pool *p, const nw_expr *base, const nw_expr *stride, int lanes);
NW_API const nw_expr *nw_broadcast(nw_pool *p, const nw_expr *e, int lanes);
const nw_expr *nw_index(nw_pool *p, int64_t value); // nw_int(p, NW_INDEX, value)
const nw_expr *nw_true(nw_pool *p);
// evaluate.c: computes an integer expression for given values of names; if a name occurs twice, its last value is used.
// False if the expression contains a read, a float, a name without a value or a division by zero. nw_eval_size also
// returns false if index arithmetic exceeds 64 bits.
typedef struct nw_point {
  int n;
  const char *const *name;
  const int64_t *value;
} nw_point;
bool nw_eval_int(const nw_expr *e, const nw_point *at, int64_t *out);
bool nw_eval_size(const nw_expr *e, int n, const char *const *names, const int64_t *values, int64_t *out);
// True if e never wraps: index arithmetic, or arithmetic of data that cannot wrap (exact.c).
bool nw_is_exact(const nw_expr *e);
// Like nw_cast, but returns e unchanged if it already has this dtype, even if e is an unrounded f16 or bf16.
const nw_expr *nw_convert(nw_pool *p, nw_dtype t, const nw_expr *e);
// True if a cast to its own dtype does not change e: e is not an f16 or bf16 (a half), or it is rounded already.
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
const nw_expr *nw_le(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_eq(nw_pool *p, const nw_expr *a, const nw_expr *b);
const nw_expr *nw_and(nw_pool *p, const nw_expr *a, const nw_expr *b); // a NULL side means true
const nw_expr *nw_ceildiv(nw_pool *p, const nw_expr *a, const nw_expr *b);

NW_API bool nw_is_int(const nw_expr *e, int64_t *value); // a scalar INT constant
NW_API bool nw_is_const(const nw_expr *e, int64_t value);
// Columns of ops.def (ops.c); the class of cost is in ir/ops.h.
typedef enum nw_exactness { NW_EXACT_SAME, NW_EXACT_EXACT, NW_EXACT_ROUNDED, NW_EXACT_NEAR } nw_exactness;
NW_API bool nw_op_has(nw_op op, char type); // true if the column `types` has that letter
int nw_op_arity(nw_op op);
int nw_op_prec(nw_op op);
int nw_op_c_prec(nw_op op); // binding strength of the op in C
NW_API const char *nw_op_infix(nw_op op); // "+", "//", "and", or NULL
const char *nw_op_function(nw_op op); // its name in <math.h>, or NULL
nw_exactness nw_op_exactness(nw_op op);
bool nw_op_is_defined(nw_op op); // true if applying the op builds an expression of other ops instead

const char *nw_pool_name(nw_pool *p, const char *s); // interned string
const char *nw_dim_name(nw_pool *p, int d); // "_0", "_1", ...: names of the logical dimensions in a layout
size_t nw_pool_bytes(const nw_pool *p);

// The object that a symbol of an expression stands for (in te: a tensor, an axis or a size). The pool holds a reference
// to it, and nw_import copies definitions. nw_pool_symbol returns NULL if the name is not defined.
typedef struct nw_symbol_class {
  void *(*retain)(void *object);
  void (*release)(void *object);
} nw_symbol_class;
void nw_pool_define(nw_pool *p, const char *name, const nw_symbol_class *cls, void *object);
void *nw_pool_symbol(const nw_pool *p, const char *name, const nw_symbol_class **cls);

// Rebuilds e with the folding constructors, and replaces every VAR by the result of `vars` and every LOAD by the result
// of `loads`. A result of NULL keeps the node, and a function that is NULL keeps all of them. The arguments of a LOAD
// are rebuilt first. e may be in another pool; the result is in p.
typedef const nw_expr *(*nw_var_fn)(void *env, const nw_expr *var);
typedef const nw_expr *(*nw_load_fn)(void *env, const nw_expr *load);
const nw_expr *nw_rewrite(nw_pool *p, const nw_expr *e, nw_var_fn vars, nw_load_fn loads, void *env);
NW_API const nw_expr *nw_import(nw_pool *p, const nw_expr *e); // the same expression in p
const nw_expr *nw_subst(nw_pool *p, const nw_expr *e, const char *var, const nw_expr *by);
const nw_expr *nw_subst_n(nw_pool *p, const nw_expr *e, int n, const char *const *vars, const nw_expr *const *by);

// Calls f on every distinct subexpression, arguments first. If f returns false, stops and returns false.
NW_API bool nw_visit(const nw_expr *e, bool (*f)(void *env, const nw_expr *e), void *env);
NW_API bool nw_uses_var(const nw_expr *e, const char *var);
NW_API bool nw_uses_load(const nw_expr *e, const char *buffer); // buffer NULL: any buffer

// Writes e as the sum of coef[i]*var[i] + rest for the given variables, where the coefficients are constant and `rest`
// uses none of the variables. False if e is not affine in them. coef has n entries.
bool nw_affine(nw_pool *p, const nw_expr *e, int n, const char *const *vars, int64_t *coef, const nw_expr **rest);

NW_API void nw_expr_print(nw_str *out, const nw_expr *e); // prints e with full names
