// Declares types and expressions.
#pragma once
#include "nestwright/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nw_dtype {
#define NW_DTYPE(id, name, bytes, kind) NW_##id,
#include "ir/types.def"
#undef NW_DTYPE
  NW_DTYPE_COUNT
} nw_dtype;
#define NW_INDEX NW_I64 // sizes, loop variables, indices

typedef struct nw_type {
  uint8_t dtype; // nw_dtype
  uint16_t lanes; // 1 for a scalar
} nw_type;

NW_API const char *nw_dtype_name(nw_dtype t);
NW_API bool nw_dtype_parse(const char *name, nw_dtype *out);
NW_API int nw_dtype_bytes(nw_dtype t);
NW_API bool nw_dtype_is_float(nw_dtype t);
NW_API bool nw_dtype_is_int(nw_dtype t); // false for bool
NW_API bool nw_dtype_is_signed(nw_dtype t); // floats and signed integers
// Returns the dtype in which a binary operation on a and b is computed; see docs/language.md for the table.
NW_API nw_dtype nw_dtype_promote(nw_dtype a, nw_dtype b);

// A function that makes an expression folds constants, and puts integer operands in canonical order. It imports
// operands that are in other pools.

NW_API nw_pool *nw_pool_new(nw_ctx *c);
NW_API nw_pool *nw_pool_retain(nw_pool *p);
NW_API void nw_pool_release(nw_pool *p);
NW_API nw_ctx *nw_pool_ctx(const nw_pool *p);
NW_API nw_pool *nw_expr_pool(const nw_expr *e); // borrowed: a caller that keeps an expression must retain its pool
// Returns the pool for new expressions of the user. This is the pool of the compute in progress, or a common pool if no
// compute is in progress. Every function of the language that returns an expression makes it in this pool. The result
// is borrowed, and is valid only until the next nw_compute_begin, nw_compute_end or nw_build_drop.
NW_API nw_pool *nw_lang_pool(nw_ctx *c);

typedef enum nw_op {
#define NW_OP(id, ...) NW_OP_##id,
#define NW_DEFINED(id, ...) NW_OP_##id,
#include "ir/ops.def"
  NW_OP_COUNT
} nw_op;

NW_API const nw_expr *nw_int(nw_pool *p, nw_dtype t, int64_t value);
NW_API const nw_expr *nw_float(nw_pool *p, nw_dtype t, double value);
NW_API const nw_expr *nw_var(nw_pool *p, const char *name); // an index variable or a symbolic size
// True if the user may give this name to an object; `what` describes the object ("a tensor"). A name is not allowed if
// a program text that contains the name cannot be parsed. Then the diagnostic gives the reason.
NW_API bool nw_name_given(nw_ctx *c, const char *what, const char *name);
// Applies a unary or binary op to its operands, after it promotes them to a common dtype. A literal (a constant of type
// i64 or f64) takes the dtype of the other operand.
NW_API const nw_expr *nw_apply(nw_pool *p, nw_op op, int n, const nw_expr *const *args);
NW_API const nw_expr *nw_cast(nw_pool *p, nw_dtype t, const nw_expr *e);
// Returns the bits of e as a value of another dtype of the same width. Fails if the widths differ.
NW_API const nw_expr *nw_reinterpret(nw_pool *p, nw_dtype t, const nw_expr *e);
// Returns x*2^n, for a float or integer x and an integer n of any dtype.
NW_API const nw_expr *nw_ldexp(nw_pool *p, const nw_expr *x, const nw_expr *n);
NW_API const nw_expr *nw_select(nw_pool *p, const nw_expr *cond, const nw_expr *a, const nw_expr *b);
NW_API nw_type nw_expr_type(const nw_expr *e);
NW_API char *nw_expr_show(const nw_expr *e);
NW_API bool nw_op_parse(const char *name, nw_op *out); // "add", "exp", "lt", ...
NW_API const char *nw_op_name(nw_op op);

#ifdef __cplusplus
}
#endif
