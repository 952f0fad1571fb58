// A block declares a range for each of its variables, and perhaps a condition. The tuples of values in these ranges for
// which the condition holds are its declared instances.
// This file makes the set of the declared instances and the set of the elements that they access. These sets do not
// depend on the loops. So facts about all declared instances need not be proven again when the loops change.
#include "poly/internal.h"
#include <stdio.h>

uint64_t nw_all_vars(const nw_site *s) { return s->nvars >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << s->nvars) - 1; }

static isl_set *in_range(const nw_space *v, int dim, const nw_block_var *var, isl_set *box) {
  isl_pw_aff *lo = nw_space_aff(v, var->lo);
  isl_pw_aff *end = isl_pw_aff_add(isl_pw_aff_copy(lo), nw_space_aff(v, var->extent));
  box = isl_set_intersect(box, isl_pw_aff_ge_set(nw_space_dim(v, dim), lo));
  return isl_set_intersect(box, isl_pw_aff_lt_set(nw_space_dim(v, dim), end));
}

// Returns the conditions on the instances of the site that use only these variables and sizes. The caller frees the
// vector.
static nw_vec conditions_on(const nw_site *s, uint64_t vars) {
  nw_vec all = {0}, out = {0};
  if (s->block->block.when) nw_flatten(s->block->block.when, &all);
  for (int k = 0; k < all.n; k++) {
    bool own = true;
    for (int i = 0; i < s->nvars; i++) own = own && (vars >> i & 1 || !nw_uses_var(all.at[k], s->var[i]->var->name));
    if (own) nw_vec_push(&out, all.at[k]);
  }
  nw_vec_free(&all);
  return out;
}

// True if the declared bounds of these variables depend only on these variables and the sizes. Otherwise nw_declared
// returns a superset of the declared box.
bool nw_declared_exact(nw_family *f, const nw_site *s, uint64_t vars) {
  nw_space v;
  nw_space_init(&v, f);
  for (int i = 0; i < s->nvars; i++)
    if (vars >> i & 1) nw_space_var(&v, s->var[i]->var->name);
  for (int i = 0; i < s->nvars; i++) {
    if (!(vars >> i & 1)) continue;
    nw_space_scan(&v, s->var[i]->lo);
    nw_space_scan(&v, s->var[i]->extent);
  }
  nw_vec cond = conditions_on(s, vars);
  bool exact = true;
  for (int i = 0; i < cond.n; i++) {
    nw_space_scan(&v, cond.at[i]);
    exact = exact && nw_cond_exact(cond.at[i]);
  }
  exact = exact && v.opaque.n == 0;
  nw_vec_free(&cond);
  nw_space_free(&v);
  return exact;
}

isl_set *nw_declared(nw_family *f, const nw_site *s, uint64_t vars) {
  nw_space v;
  nw_space_init(&v, f);
  for (int i = 0; i < s->nvars; i++)
    if (vars >> i & 1) nw_space_var(&v, s->var[i]->var->name);
  for (int i = 0; i < s->nvars; i++) {
    nw_space_scan(&v, s->var[i]->lo);
    nw_space_scan(&v, s->var[i]->extent);
  }
  nw_vec cond = conditions_on(s, vars);
  for (int i = 0; i < cond.n; i++) nw_space_scan(&v, cond.at[i]);
  isl_set *box = isl_set_intersect_params(nw_space_all(&v), isl_set_copy(f->context));
  for (int i = 0, dim = 0; i < s->nvars; i++)
    if (vars >> i & 1) box = in_range(&v, dim++, s->var[i], box);
  for (int i = 0; i < cond.n; i++) box = isl_set_intersect(box, nw_space_cond(&v, cond.at[i], true));
  nw_vec_free(&cond);
  box = isl_set_project_out(box, isl_dim_set, (unsigned)v.ndims, (unsigned)v.opaque.n);
  nw_space_free(&v);
  return box;
}

// True if the index is affine in the block's variables.
bool nw_index_exact(const nw_use *a) {
  nw_space v;
  nw_space_init(&v, a->site->view.f);
  for (int i = 0; i < a->site->nvars; i++) nw_space_var(&v, a->site->var[i]->var->name);
  for (int d = 0; d < a->n; d++) nw_space_scan(&v, a->index[d]);
  bool exact = v.opaque.n == 0;
  nw_space_free(&v);
  return exact;
}

// Returns the map declared instances -> elements, for the instances in which the access happens.
isl_map *nw_declared_elements(nw_family *f, const nw_use *a) {
  const nw_site *s = a->site;
  nw_space v;
  nw_space_init(&v, f);
  for (int i = 0; i < s->nvars; i++) nw_space_var(&v, s->var[i]->var->name);
  for (int d = 0; d < a->n; d++) nw_space_scan(&v, a->index[d]);
  for (int i = 0; i < a->nconds; i++) nw_space_scan(&v, a->cond[i].cond);
  nw_space_bound_vars(&v, s);
  isl_set *set = isl_set_add_dims(nw_declared(f, s, nw_all_vars(s)), isl_dim_set, (unsigned)v.opaque.n);
  set = isl_set_intersect(set, nw_space_all(&v));
  for (int i = 0; i < a->nconds; i++) set = isl_set_intersect(set, nw_space_cond(&v, a->cond[i].cond, a->cond[i].want));
  isl_pw_aff_list *value = nw_values(&v);
  for (int d = 0; d < a->n; d++) value = nw_values_expr(value, &v, a->index[d]);
  isl_map *map = nw_values_at(&v, set, value);
  nw_space_free(&v);
  return map;
}

// Returns the set of all logical indices of a buffer with this shape.
isl_set *nw_shape_box(nw_family *f, int ndim, const nw_expr *const *shape) {
  nw_space v;
  nw_space_init(&v, f);
  char name[16];
  for (int d = 0; d < ndim; d++) {
    snprintf(name, sizeof name, "_%d", d);
    nw_space_var(&v, nw_pool_name(f->pool, name));
  }
  for (int d = 0; d < ndim; d++) nw_space_scan(&v, shape[d]);
  isl_set *box = isl_set_intersect_params(nw_space_all(&v), isl_set_copy(f->context));
  for (int d = 0; d < ndim; d++) {
    box = isl_set_lower_bound_si(box, isl_dim_set, (unsigned)d, 0);
    box = isl_set_intersect(box, isl_pw_aff_lt_set(nw_space_dim(&v, d), nw_space_aff(&v, shape[d])));
  }
  box = isl_set_project_out(box, isl_dim_set, (unsigned)v.ndims, (unsigned)v.opaque.n);
  nw_space_free(&v);
  return box;
}

// Adds to a key everything on which the result of nw_declared_elements depends.
void nw_key_declared(nw_key *k, const nw_use *a) {
  nw_key_add(k, '[');
  for (int i = 0; i < a->site->nvars; i++) {
    const nw_block_var *v = a->site->var[i];
    nw_key_ptr(k, v->var);
    nw_key_ptr(k, v->lo);
    nw_key_ptr(k, v->extent);
    nw_key_add(k, v->kind);
  }
  nw_key_ptr(k, a->site->block->block.when);
  nw_key_add(k, '|');
  for (int d = 0; d < a->n; d++) nw_key_ptr(k, a->index[d]);
  nw_key_add(k, '|');
  for (int i = 0; i < a->nconds; i++) {
    nw_key_ptr(k, a->cond[i].cond);
    nw_key_add(k, a->cond[i].want);
  }
  nw_key_add(k, ']');
}
