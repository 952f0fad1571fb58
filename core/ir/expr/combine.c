// Makes expressions about reductions: the result of combining an old value with a new contribution, and the conditions
// under which a reduction is empty.
#include "ir/program/reducer.h"

static const nw_op combiner_op[] = {
    [NW_SUM] = NW_OP_ADD, [NW_PROD] = NW_OP_MUL, [NW_MIN_OF] = NW_OP_MIN, [NW_MAX_OF] = NW_OP_MAX};

static const nw_expr *or_of(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_OR, a, b); }

static const nw_expr *is_nan(nw_pool *p, const nw_expr *e) { return nw_make2(p, NW_OP_NE, e, e); }

// Returns the condition under which value b replaces value a in an arg-reduction, whatever their indices are.
static const nw_expr *beats(nw_pool *p, nw_combiner c, const nw_expr *b, const nw_expr *a) {
  const nw_expr *better = c == NW_ARGMAX ? nw_make2(p, NW_OP_LT, a, b) : nw_make2(p, NW_OP_LT, b, a);
  if (!nw_dtype_is_float(a->type.dtype) || NW_MUTATED(nan_never_wins)) return better;
  return or_of(p, better, nw_and(p, is_nan(p, b), nw_make2(p, NW_OP_EQ, a, a)));
}

static const nw_expr *ties(nw_pool *p, const nw_expr *b, const nw_expr *a) {
  const nw_expr *same = nw_make2(p, NW_OP_EQ, a, b);
  return nw_dtype_is_float(a->type.dtype) && !NW_MUTATED(nan_never_ties)
             ? or_of(p, same, nw_and(p, is_nan(p, a), is_nan(p, b)))
             : same;
}

static bool is_zero(const nw_expr *e) { return e->op == NW_OP_FLOAT && e->f == 0; }

// True if the term is a product of floats, or is one where conditions hold and 0 elsewhere.
static bool is_product(const nw_expr *term) {
  if (term->type.dtype != NW_F32 && term->type.dtype != NW_F64) return false;
  if (term->op == NW_OP_SELECT) return is_zero(term->arg[2]) && is_product(term->arg[1]);
  return term->op == NW_OP_MUL;
}

// Adds a term to a sum. If the term is a product under a condition, the condition is moved outside. So the product and the
// sum become an fma whether or not the condition is known, and a step that makes it known does not change the rounding.
static const nw_expr *add(nw_pool *p, const nw_expr *old, const nw_expr *term) {
  if (term->op == NW_OP_SELECT && is_product(term)) return nw_choose(p, term->arg[0], add(p, old, term->arg[1]), old);
  return nw_make2(p, NW_OP_ADD, old, term);
}

// If all terms are the init where the same condition fails, combines under this condition. So the rounding does not depend
// on whether the condition is known.
static const nw_expr *common_condition(const nw_reducer *r, const nw_expr *const *term, const nw_expr **then) {
  const nw_expr *cond = NULL;
  for (int i = 0; i < r->n; i++) {
    const nw_expr *e = term[i], *init = nw_import(e->pool, r->init[i]);
    then[i] = e;
    if (e == init) continue;
    if (e->op != NW_OP_SELECT || (cond && e->arg[0] != cond) || e->arg[2] != init) return NULL;
    cond = e->arg[0];
    then[i] = e->arg[1];
  }
  return cond;
}

// Combines by a reducer that a user has defined. As for arg-reductions, a term is rounded first.
static const nw_expr *combine_own(nw_pool *p, const nw_reducer *r, int which, const nw_expr *const *old,
                                  const nw_expr *const *term) {
  const nw_expr *rounded[NW_MAX_REDUCED], *then[NW_MAX_REDUCED], *cond = common_condition(r, term, then);
  if (cond) return nw_choose(p, cond, combine_own(p, r, which, old, then), old[which]);
  for (int i = 0; i < r->n; i++) rounded[i] = nw_cast(p, r->dtype[i], term[i]);
  return nw_reducer_combined(p, r, which, old, rounded);
}

const nw_expr *nw_combine(nw_pool *p, nw_combiner c, int which, const nw_expr *const *old, const nw_expr *const *term) {
  if (c == NW_PLAIN) return term[which];
  if (c >= NW_OWN) return combine_own(p, nw_reducer_of(nw_pool_ctx(p), c), which, old, term);
  if (c == NW_SUM) return add(p, old[which], term[which]);
  if (c != NW_ARGMIN && c != NW_ARGMAX) return nw_make2(p, combiner_op[c], old[which], term[which]);
  bool early = NW_MUTATED(halves_compared_bf16) && old[0]->type.dtype == NW_BF16;
  const nw_expr *rounded[] = {early ? term[0] : nw_cast(p, (nw_dtype)old[0]->type.dtype, term[0]), term[1]};
  // compares rounded values, so that a tie does not depend on earlier stores
  if (!NW_MUTATED(halves_compared)) term = rounded;
  const nw_expr *none = nw_eq(p, old[1], nw_index(p, -1));
  // the new contribution is not an empty partial result
  const nw_expr *some = nw_make2(p, NW_OP_NE, term[1], nw_index(p, -1));
  const nw_expr *lower =
      nw_and(p, ties(p, term[0], old[0]),
             nw_and(p, NW_MUTATED(ties_to_last) ? nw_lt(p, old[1], term[1]) : nw_lt(p, term[1], old[1]), some));
  const nw_expr *take = or_of(p, none, or_of(p, beats(p, c, term[0], old[0]), lower));
  return nw_choose(p, take, term[which], old[which]);
}

// ---- empty reductions

const nw_expr *nw_over_nothing(nw_pool *p, const nw_stmt *block) {
  const nw_expr *any = NULL;
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if (v->kind != NW_REDUCE) continue;
    const nw_expr *none = nw_le(p, v->extent, nw_index(p, 0));
    any = any ? or_of(p, any, none) : none;
  }
  return any;
}

typedef struct speaker {
  const nw_program *p;
  const nw_stmt *block;
} speaker;

// True if the binding of a reduce variable uses the loop, and no binding of a variable of another kind uses it. A loop
// in the binding of a spatial variable selects an element, so the block does not reduce along this loop.
bool nw_binds_reduce(const nw_stmt *block, const char *loop) {
  bool reduces = false;
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if (!nw_uses_var(v->bind, loop)) continue;
    if (v->kind != NW_REDUCE) return false;
    reduces = true;
  }
  return reduces;
}

bool nw_loop_binds(const nw_stmt *block, const nw_stmt *loop, bool reduce) {
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if ((v->kind == NW_REDUCE) == reduce && nw_uses_var(v->bind, loop->loop.var->name)) return true;
  }
  return false;
}

static bool not_reduced(void *env, const nw_expr *e) {
  const speaker *x = env;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < x->p->nsizes; i++)
    if (!strcmp(x->p->size[i].name, e->name)) return true;
  return !nw_binds_reduce(x->block, e->name);
}

bool nw_speaks_of_reduction(const nw_program *p, const nw_stmt *block, const nw_expr *e) {
  return !nw_visit(e, not_reduced, &(speaker){p, block});
}

static const nw_expr *weakened(const nw_program *p, const nw_stmt *block, const nw_expr *cond, const nw_expr *nothing) {
  if (cond->op == NW_OP_AND)
    return nw_and(p->pool, weakened(p, block, cond->arg[0], nothing), weakened(p, block, cond->arg[1], nothing));
  return nw_speaks_of_reduction(p, block, cond) ? or_of(p->pool, cond, nothing) : cond;
}

const nw_expr *nw_where_of_init(const nw_program *p, const nw_stmt *block) {
  return nw_where_for_init(p, block, block->block.where);
}

const nw_expr *nw_where_for_init(const nw_program *p, const nw_stmt *block, const nw_expr *where) {
  const nw_expr *nothing = nw_over_nothing(p->pool, block);
  return where && nothing ? weakened(p, block, where, nothing) : where;
}
