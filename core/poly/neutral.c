// Finds neutral contributions, which do not change the result of a reduction. In a sum of select(condition, x, 0), or of
// 3*select(condition, x, 0), these are the contributions for which the condition is false. Iterations with only neutral
// contributions can be removed.
#include "ir/program/reducer.h"
#include "poly/internal.h"
#include <math.h>

static bool is_init(const nw_stmt *block, int t, const nw_expr *e) {
  const nw_reducer *r = nw_reducer_of(nw_pool_ctx(e->pool), block->block.combiner);
  return e == nw_import(e->pool, r->init[t]);
}

// True if every value of the dtype stays unchanged when it is combined with e. This function does not use the table of
// neutral values that the steps use, so that the judge detects errors in that table.
bool nw_is_neutral(const nw_stmt *block, int t, nw_dtype dtype, const nw_expr *e) {
  bool whole = e->op == NW_OP_INT, real = e->op == NW_OP_FLOAT;
  int bits = dtype == NW_BOOL ? 1 : 8 * nw_dtype_bytes(dtype), sign = nw_dtype_is_signed(dtype);
  int64_t greatest = (int64_t)(UINT64_MAX >> (64 - bits + sign)), least = sign ? -greatest - 1 : 0;
  switch (block->block.combiner) {
  case NW_SUM: return (whole && e->i == 0) || (real && e->f == 0);
  case NW_PROD: return (whole && e->i == 1) || (real && e->f == 1);
  case NW_ARGMIN:
    if (t == 1) return whole && e->i == -1; // index -1 means "no contribution yet"
    // fallthrough
  case NW_MIN_OF: return (whole && e->i == greatest) || (real && isinf(e->f) && e->f > 0);
  case NW_ARGMAX:
    if (t == 1) return whole && e->i == -1;
    // fallthrough
  case NW_MAX_OF: return (whole && e->i == least) || (real && isinf(e->f) && e->f < 0);
  case NW_PLAIN: return false;
  default: return is_init(block, t, e); // the init of a reducer was examined when it was defined
  }
}

static bool adds_nothing(const nw_model *m, const nw_stmt *block, int t, const nw_expr *e) {
  const nw_buffer *b = nw_find_buffer(m->p, block->block.target[t].buffer);
  return nw_is_neutral(block, t, (nw_dtype)b->dtype, e) || !NW_RULE(m->p->ctx, value_neutral);
}

typedef struct search {
  const nw_model *m;
  const nw_stmt *block;
  int t; // number of the target
  const nw_expr *found;
} search;

// True if target t gets nothing wherever the condition is false.
static bool fails_to_neutral(const nw_model *m, const nw_stmt *block, int t, const nw_expr *cond) {
  const nw_expr *e = block->block.target[t].value;
  return adds_nothing(m, block, t, nw_replace(e->pool, e, cond, nw_int(e->pool, NW_BOOL, 0)));
}

static bool see_select(void *env, const nw_expr *e) {
  search *x = env;
  if (e->op == NW_OP_SELECT && nw_cond_exact(e->arg[0]) && fails_to_neutral(x->m, x->block, x->t, e->arg[0]))
    x->found = e->arg[0];
  return !x->found;
}

const nw_expr *nw_contributes_where(const nw_model *m, const nw_stmt *block) {
  const nw_expr *cond = NULL;
  if (block->block.combiner == NW_PLAIN) return NULL;
  for (int t = 0; t < block->block.ntargets; t++) {
    const nw_expr *e = block->block.target[t].value;
    nw_dtype dtype = nw_find_buffer(m->p, block->block.target[t].buffer)->dtype;
    if (nw_is_neutral(block, t, dtype, e)) continue;
    search x = {m, block, t, NULL};
    if (cond && !fails_to_neutral(m, block, t, cond)) return NULL;
    if (!cond) nw_visit(e, see_select, &x);
    if (!cond && !x.found) return NULL;
    if (!cond) cond = x.found;
  }
  return cond;
}

static bool told_by_element(const nw_use *u) {
  return nw_index_is_vars(u->site->block, u->n, (const nw_expr *const *)u->index);
}

// Returns the tuples (element, values of the reduce variables) for which the condition certainly fails. Returns NULL if
// the condition is not affine.
static isl_set *failing(nw_family *f, const nw_use *u, const nw_expr *cond) {
  const nw_site *s = u->site;
  nw_space v;
  nw_space_init(&v, f);
  for (int i = 0; i < s->nvars; i++) nw_space_var(&v, s->var[i]->var->name);
  nw_space_scan(&v, cond);
  isl_set *set = NULL;
  if (!v.opaque.n) {
    isl_set *fails = isl_set_intersect(nw_declared(f, s, nw_all_vars(s)), nw_space_cond(&v, cond, false));
    isl_pw_aff_list *value = nw_values(&v);
    for (int d = 0; d < u->n; d++) value = nw_values_expr(value, &v, u->index[d]);
    for (int i = 0; i < s->nvars; i++)
      if (s->var[i]->kind == NW_REDUCE) value = nw_values_dims(value, &v, i, i + 1);
    set = isl_map_range(nw_values_at(&v, fails, value));
  }
  nw_space_free(&v);
  return set;
}

isl_set *nw_without_neutral(const nw_model *m, const nw_use *u, isl_set *need, int dims) {
  const nw_expr *cond = nw_contributes_where(m, u->site->block);
  isl_set *fails = cond && told_by_element(u) ? failing(m->f, u, cond) : NULL;
  return fails ? isl_set_subtract(need, isl_set_insert_dims(fails, isl_dim_set, 0, (unsigned)dims)) : need;
}

void nw_key_neutral(nw_key *k, const nw_model *m, const nw_use *u) {
  const nw_expr *cond = nw_contributes_where(m, u->site->block);
  nw_key_ptr(k, cond);
  if (cond) nw_key_declared(k, u);
}
