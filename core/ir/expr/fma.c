// Forms fma operations. An fma computes a*b + c, a*b - c or c - a*b, and rounds only once. A product and a sum become
// an fma if the sum is the only use of the product; a difference is treated like a sum. Lowering forms the fmas. A
// schedule step that combines two expressions may make a new fma possible. Such a step reports that the rounding
// changes.
#include "ir/expr/fma.h"
#include "ir/expr/rewrites.h"
#include <stdlib.h>

typedef struct fused {
  nw_pool *pool;
  const nw_expr *root;
} fused;

static bool floating(const nw_expr *e) { return e->type.dtype == NW_F32 || e->type.dtype == NW_F64; }

typedef struct uses {
  const nw_expr *of;
  int n;
} uses;

static bool count_use(void *env, const nw_expr *e) {
  uses *u = env;
  for (int i = 0; i < e->n; i++) u->n += e->arg[i] == u->of;
  return u->n < 2;
}

static bool lone_product(const fused *f, const nw_expr *e) {
  uses u = {.of = e};
  return e->op == NW_OP_MUL && nw_visit(f->root, count_use, &u);
}

static const nw_expr *make_fma(nw_pool *p, const nw_expr *a, const nw_expr *b, const nw_expr *c) {
  const nw_expr *arg[] = {a, b, c};
  return nw_make(p, NW_OP_FMA, c->type, 3, arg);
}

static const nw_expr *form(const fused *f, const nw_expr *e);

static const nw_expr *negated(nw_pool *p, const nw_expr *e) { return nw_make(p, NW_OP_NEG, e->type, 1, &e); }

// Turns a sum or difference e into an fma. The operand e->arg[side] is a product.
static const nw_expr *contract(const fused *f, const nw_expr *e, int side) {
  const nw_expr *product = e->arg[side], *other = form(f, e->arg[1 - side]);
  const nw_expr *a = form(f, product->arg[0]), *b = form(f, product->arg[1]);
  if (e->op == NW_OP_SUB && side == 0) other = negated(f->pool, other);
  if (e->op == NW_OP_SUB && side == 1) a = negated(f->pool, a);
  return NW_BY(fma, make_fma(f->pool, a, b, other));
}

static const nw_expr *with_operands(nw_pool *p, const nw_expr *e, const nw_expr *const *arg) {
  if (e->op == NW_OP_LOAD) return nw_load(p, e->type, e->name, e->n, arg);
  if (e->op == NW_OP_RAMP) return nw_ramp(p, arg[0], arg[1], (int)e->i);
  if (e->op == NW_OP_BROADCAST) return nw_broadcast(p, arg[0], (int)e->i);
  return nw_make(p, e->op, e->type, e->n, arg);
}

// A load has as many operands as its tensor has dimensions.
static const nw_expr *form(const fused *f, const nw_expr *e) {
  if (!e->n || !nw_op_arity(e->op)) return e;
  if (floating(e) && (e->op == NW_OP_ADD || e->op == NW_OP_SUB)) {
    for (int side = 1; side >= 0; side--) {
      if (lone_product(f, e->arg[side])) return contract(f, e, side);
    }
  }
  const nw_expr *few[8], **arg = e->n <= 8 ? few : nw_xmalloc(e->n * sizeof *arg);
  bool same = true;
  for (int i = 0; i < e->n; i++) {
    arg[i] = form(f, e->arg[i]);
    same &= arg[i] == e->arg[i];
  }
  if (!same) e = with_operands(f->pool, e, arg);
  if (arg != few) free(arg);
  return e;
}

const nw_expr *nw_form_fma(nw_pool *pool, const nw_expr *e) {
  fused f = {pool, e};
  return form(&f, e);
}
