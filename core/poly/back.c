// Converts a piecewise affine function of isl, whose parameters are sizes and loops, back to an index expression.
//
// isl's AST generator writes the function as a tree, which this file converts. Parameters are identified by their
// position. The caller gives an expression for each parameter.
#include "poly/internal.h"
#include <isl/ast_build.h>
#include <isl/id.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct back {
  nw_pool *pool;
  int n;
  const nw_expr *const *param;
} back;

static const nw_expr *expr_of(const back *b, isl_ast_expr *e); // consumes e

static const nw_expr *operand(const back *b, isl_ast_expr *e, int i) {
  return expr_of(b, isl_ast_expr_get_op_arg(e, i));
}

static const nw_expr *parameter(const back *b, isl_ast_expr *e) {
  isl_id *id = isl_ast_expr_get_id(e);
  int at = id ? atoi(isl_id_get_name(id) + 1) : -1; // the name is "p" and the position, for example "p3"
  isl_id_free(id);
  return at >= 0 && at < b->n ? b->param[at] : NULL;
}

static const nw_expr *number(const back *b, isl_ast_expr *e) {
  isl_val *v = isl_ast_expr_get_val(e);
  bool fits =
      isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, 1L << 40) < 0 && isl_val_cmp_si(v, -(1L << 40)) > 0;
  const nw_expr *n = fits ? nw_index(b->pool, isl_val_get_num_si(v)) : NULL;
  isl_val_free(v);
  return n;
}

// Returns the binary operation of the IR that equals the operation t of isl; NW_OP_COUNT if there is none.
static nw_op binary(enum isl_ast_expr_op_type t) {
  switch (t) {
  case isl_ast_expr_op_add: return NW_OP_ADD;
  case isl_ast_expr_op_sub: return NW_OP_SUB;
  case isl_ast_expr_op_mul: return NW_OP_MUL;
  case isl_ast_expr_op_max: return NW_OP_MAX;
  case isl_ast_expr_op_min: return NW_OP_MIN;
  case isl_ast_expr_op_div: // isl makes this op only if there is no remainder
  case isl_ast_expr_op_fdiv_q:
  case isl_ast_expr_op_pdiv_q: return NW_OP_FLOORDIV;
  case isl_ast_expr_op_pdiv_r:
  case isl_ast_expr_op_zdiv_r: return NW_OP_FLOORMOD;
  case isl_ast_expr_op_eq: return NW_OP_EQ;
  case isl_ast_expr_op_le: return NW_OP_LE;
  case isl_ast_expr_op_lt: return NW_OP_LT;
  case isl_ast_expr_op_and:
  case isl_ast_expr_op_and_then: return NW_OP_AND;
  case isl_ast_expr_op_or:
  case isl_ast_expr_op_or_else: return NW_OP_OR;
  default: return NW_OP_COUNT;
  }
}

static const nw_expr *apply(const back *b, nw_op op, const nw_expr *x, const nw_expr *y) {
  return x && y ? nw_apply(b->pool, op, 2, (const nw_expr *[]){x, y}) : NULL;
}

static const nw_expr *fold(const back *b, isl_ast_expr *e, nw_op op) {
  const nw_expr *sum = operand(b, e, 0);
  for (int i = 1; i < isl_ast_expr_get_op_n_arg(e); i++) sum = apply(b, op, sum, operand(b, e, i));
  return sum;
}

static const nw_expr *operation(const back *b, isl_ast_expr *e) {
  enum isl_ast_expr_op_type t = isl_ast_expr_get_op_type(e);
  if (binary(t) != NW_OP_COUNT) return fold(b, e, binary(t));
  switch (t) {
  case isl_ast_expr_op_minus: return apply(b, NW_OP_SUB, nw_index(b->pool, 0), operand(b, e, 0));
  case isl_ast_expr_op_ge: return apply(b, NW_OP_LE, operand(b, e, 1), operand(b, e, 0));
  case isl_ast_expr_op_gt: return apply(b, NW_OP_LT, operand(b, e, 1), operand(b, e, 0));
  case isl_ast_expr_op_cond:
  case isl_ast_expr_op_select: {
    const nw_expr *c = operand(b, e, 0), *x = operand(b, e, 1), *y = operand(b, e, 2);
    return c && x && y ? nw_select(b->pool, c, x, y) : NULL;
  }
  default: return NULL;
  }
}

static const nw_expr *expr_of(const back *b, isl_ast_expr *e) {
  const nw_expr *out = NULL;
  switch (isl_ast_expr_get_type(e)) {
  case isl_ast_expr_op: out = operation(b, e); break;
  case isl_ast_expr_id: out = parameter(b, e); break;
  case isl_ast_expr_int: out = number(b, e); break;
  default: break;
  }
  isl_ast_expr_free(e);
  return out;
}

static isl_pw_aff *plainly_named(isl_pw_aff *a) {
  char name[16];
  for (int i = 0; i < (int)isl_pw_aff_dim(a, isl_dim_param); i++) {
    snprintf(name, sizeof name, "p%d", i);
    a = isl_pw_aff_set_dim_id(a, isl_dim_param, (unsigned)i, isl_id_alloc(isl_pw_aff_get_ctx(a), name, NULL));
  }
  return a;
}

// Returns the function a, whose domain has only parameters, as an index expression. Returns NULL if isl's form of the
// function has no such expression. Consumes a.
const nw_expr *nw_expr_back(nw_pool *pool, isl_pw_aff *a, int n, const nw_expr *const *param) {
  back b = {pool, n, param};
  a = plainly_named(isl_pw_aff_coalesce(a));
  isl_ast_build *build = isl_ast_build_from_context(isl_set_universe(isl_space_params(isl_pw_aff_get_domain_space(a))));
  isl_ast_expr *e = isl_ast_build_expr_from_pw_aff(build, a);
  isl_ast_build_free(build);
  return e ? expr_of(&b, e) : NULL;
}
