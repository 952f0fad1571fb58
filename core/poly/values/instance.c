// Finds the instance that writes an element. A block writes the element f(v) of a buffer in its instance v. If f has an
// inverse, the element tells the instance. Therefore the judge can compare the values of two programs that store them at
// different elements (normal.c).
#include "ir/program/inverse.h"
#include "poly/internal.h"

static bool is_spatial(const nw_use *w, int k) { return w->site->block->block.var[k].kind != NW_REDUCE; }

// True if `inverse`, as a function of the dimensions of the buffer, gives each variable back at the element that is
// written. The variables have all their declared values.
static isl_bool gives_back(const nw_model *m, const nw_use *w, const nw_expr *const *inverse) {
  const nw_stmt *b = w->site->block;
  const char *dim[NW_MAX_DEPTH];
  const nw_expr *back[NW_MAX_DEPTH];
  nw_space v;
  nw_space_init(&v, m->f);
  for (int d = 0; d < w->n; d++) dim[d] = nw_dim_name(m->p->pool, d);
  for (int k = 0; k < w->site->nvars; k++) nw_space_var(&v, w->site->var[k]->var->name);
  for (int k = 0; k < b->block.nvars; k++) {
    back[k] = is_spatial(w, k) ? nw_subst_n(m->p->pool, inverse[k], w->n, dim, w->index) : b->block.var[k].var;
    nw_space_scan(&v, back[k]);
  }
  isl_bool same = v.opaque.n ? isl_bool_false : isl_bool_true;
  isl_set *box = same == isl_bool_true ? nw_declared(m->f, w->site, nw_all_vars(w->site)) : NULL;
  for (int k = 0; k < b->block.nvars && same == isl_bool_true; k++) {
    if (!is_spatial(w, k)) continue;
    isl_pw_aff *var = nw_space_dim(&v, nw_space_first(&v, b->block.var[k].var->name));
    same = isl_set_is_disjoint(box, isl_pw_aff_ne_set(nw_space_aff(&v, back[k]), var));
  }
  isl_set_free(box);
  nw_space_free(&v);
  return same;
}

static int fact_of(const nw_model *m, const nw_use *w, const nw_expr *const *inverse) {
  nw_key k = {0};
  nw_key_add(&k, 'V');
  nw_key_declared(&k, w);
  for (int i = 0; i < w->site->block->block.nvars; i++) nw_key_ptr(&k, inverse[i]);
  int fact = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  return fact;
}

static bool is_inverse(const nw_model *m, const nw_use *w, const nw_expr *const *inverse) {
  int fact = fact_of(m, w, inverse);
  if (nw_fact_proved(m->f, fact)) return true;
  if (nw_fact_denied(m->f, fact)) return false;
  isl_bool same = gives_back(m, w, inverse);
  if (same == isl_bool_true) nw_fact_prove(m->f, fact);
  if (same == isl_bool_false) nw_fact_deny(m->f, fact);
  return same == isl_bool_true;
}

// Writes the values of the spatial variables, in the order of the block, to out[0], out[1], ..., in the instance that
// writes the element at[0], at[1], .... They are expressions in `pool`. Returns the number of these variables, or -1 if
// no inverse is found.
int nw_instance_at(const nw_model *m, const nw_use *w, nw_pool *pool, const nw_expr *const *at, const nw_expr **out) {
  const nw_stmt *b = w->site->block;
  const nw_expr *dim[NW_MAX_DEPTH], *inverse[NW_MAX_DEPTH];
  const char *name[NW_MAX_DEPTH];
  int n = 0;
  if (b->block.nvars > NW_MAX_DEPTH || w->n > NW_MAX_DEPTH) return -1;
  if (nw_index_is_vars(b, w->n, w->index)) {
    for (int k = 0; k < b->block.nvars; k++)
      for (int d = 0; d < w->n; d++)
        if (w->index[d] == b->block.var[k].var) out[n++] = at[d];
    return n;
  }
  for (int d = 0; d < w->n; d++) dim[d] = nw_var(m->p->pool, name[d] = nw_dim_name(m->p->pool, d));
  if (!nw_inverse(m->p, b, false, w->n, w->index, dim, inverse) || !is_inverse(m, w, inverse)) return -1;
  for (int k = 0; k < b->block.nvars; k++)
    if (is_spatial(w, k)) out[n++] = nw_subst_n(pool, inverse[k], w->n, name, at);
  return n;
}
