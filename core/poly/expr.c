// Converts index expressions to piecewise affine functions of isl over the variables of a space.
//
// isl cannot represent an expression that is not affine, such as a load, a product of variables, or a division by a
// variable. Such an expression is called *opaque*, and is represented by an extra dimension of the space. All
// occurrences of the expression share this dimension. The dtype and the operator of the expression limit the values of
// the dimension. Callers project the dimension out. So they treat the expression as a number that may have any of these
// values.
//
// The variable of a fused loop is represented by one dimension for each original loop. These dimensions are called its
// *digits*. If an expression uses the variable only in // and % by products of the original extents, these operations
// select digits. So the expression stays affine even if the extents are symbolic.
#include "poly/internal.h"

#define MAX_PIECES 32

void nw_space_init(nw_space *v, nw_family *f) {
  memset(v, 0, sizeof *v);
  v->f = f;
}

void nw_space_free(nw_space *v) {
  nw_vec_free(&v->opaque);
  nw_vec_free(&v->least);
  nw_vec_free(&v->most);
}

void nw_space_var(nw_space *v, const char *name) { v->var[v->nvars++] = (nw_dim){name, v->ndims++, 1, NULL, 0}; }

void nw_space_loop(nw_space *v, const nw_stmt *loop) {
  int n = loop->loop.nfused ? loop->loop.nfused : 1;
  int64_t extent = 0;
  if (!nw_is_const(loop->loop.begin, 0) || !nw_is_int(loop->loop.extent, &extent) || extent > MAX_PIECES) extent = 0;
  v->var[v->nvars++] = (nw_dim){loop->loop.var->name, v->ndims, n, loop->loop.fused, (int)extent};
  v->ndims += n;
}

static const nw_dim *find_var(const nw_space *v, const char *name) {
  for (int i = v->nvars - 1; i >= 0; i--)
    if (!strcmp(v->var[i].name, name)) return &v->var[i];
  return NULL;
}

// Returns the first dimension of a variable, or -1 if there is no such variable.
int nw_space_first(const nw_space *v, const char *name) {
  const nw_dim *d = find_var(v, name);
  return d ? d->first : -1;
}

// ---- digits of a fused variable

// Returns the digit i such that the product of the extents of the digits i..to - 1 is `by`. Returns -1 if there is no
// such digit.
static int digit_of(const nw_space *v, const nw_dim *d, int from, int to, const nw_expr *by) {
  const nw_expr *product = nw_index(v->f->pool, 1);
  for (int i = to; i >= from; i--) {
    if (product == by) return i;
    if (i > from) product = nw_mul(v->f->pool, d->fused[i - 1], product);
  }
  return -1;
}

// True if the value of e is made of consecutive digits of one fused variable. Stores the variable in *of, the first
// digit in *from, and the digit after the last one in *to.
bool nw_space_digits(const nw_space *v, const nw_expr *e, const nw_dim **of, int *from, int *to) {
  if (e->op == NW_OP_VAR) {
    *of = find_var(v, e->name);
    *from = 0;
    *to = *of ? (*of)->n : 0;
    return *of && (*of)->fused;
  }
  if (e->op != NW_OP_FLOORDIV && e->op != NW_OP_FLOORMOD) return false;
  if (!nw_space_digits(v, e->arg[0], of, from, to)) return false;
  int at = digit_of(v, *of, *from, *to, e->arg[1]);
  if (at < 0) return false;
  *(e->op == NW_OP_FLOORDIV ? to : from) = at;
  return true;
}

// Skips leading digits with the extent 1, since their value is always 0.
static int first_digit(const nw_dim *d, int from, int to) {
  while (from < to - 1 && d->n > 1 && nw_is_const(d->fused[from], 1)) from++;
  return from;
}

// True if the number that the digits form is an affine function of the digits. This requires that all extents except
// the first are constant.
static bool digits_affine(const nw_dim *d, int from, int to) {
  int64_t c;
  from = first_digit(d, from, to);
  for (int i = from + 1; i < to; i++)
    if (!nw_is_int(d->fused[i], &c)) return false;
  return true;
}

// ---- affine expressions

static bool affine_node(const nw_space *v, const nw_expr *e);

// True for a product i*e if i is a variable with few values and e is affine or a parameter. Stores i in *few and e in
// *size. The product is represented by one piece for each value of i.
static bool small_factor(const nw_space *v, const nw_expr *e, const nw_expr **few, const nw_expr **size) {
  for (int side = 0; side < 2; side++) {
    const nw_dim *d = e->arg[side]->op == NW_OP_VAR ? find_var(v, e->arg[side]->name) : NULL;
    if (!d || d->n > 1 || !d->few) continue;
    *few = e->arg[side];
    *size = e->arg[1 - side];
    if (affine_node(v, *size) || nw_family_param(v->f, *size) >= 0) return true;
  }
  return false;
}

// False for u64: isl's numbers are made from signed numbers of 64 bits, so expressions of u64 are opaque.
static bool int_like(const nw_expr *e) { return nw_fits_i64((nw_dtype)e->type.dtype) && e->type.lanes == 1; }

// True for a cast between integers that keeps every value.
static bool widening(const nw_expr *e) {
  nw_dtype to = (nw_dtype)e->type.dtype, from = (nw_dtype)e->arg[0]->type.dtype;
  if (!nw_dtype_is_int(to) || !nw_dtype_is_int(from)) return false;
  bool sign = nw_dtype_is_signed(from);
  if (sign && !nw_dtype_is_signed(to)) return false;
  return nw_dtype_bytes(to) > nw_dtype_bytes(from) || (to == from) ||
         (nw_dtype_bytes(to) == nw_dtype_bytes(from) && sign == nw_dtype_is_signed(to));
}

// True if the arithmetic of this node cannot wrap. Arithmetic on narrow integers and on data may wrap, so only exact
// index expressions (ir/expr/exact.c) qualify.
static bool no_wrap(const nw_expr *e) { return e->type.dtype == NW_INDEX && nw_is_exact(e); }

// True if isl can represent this node, provided that isl can represent its operands.
static bool affine_node(const nw_space *v, const nw_expr *e) {
  int64_t c;
  const nw_expr *few, *size;
  switch (e->op) {
  case NW_OP_INT: return true;
  case NW_OP_VAR: {
    const nw_dim *d = find_var(v, e->name);
    return d ? digits_affine(d, 0, d->n) : nw_family_param(v->f, e) >= 0;
  }
  case NW_OP_ADD:
  case NW_OP_SUB:
  case NW_OP_ABS:
  case NW_OP_NEG: return no_wrap(e);
  case NW_OP_MUL:
    return no_wrap(e) && (nw_is_int(e->arg[0], &c) || nw_is_int(e->arg[1], &c) || small_factor(v, e, &few, &size));
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return int_like(e) && nw_is_int(e->arg[1], &c) && c > 0;
  case NW_OP_MIN:
  case NW_OP_MAX: return int_like(e);
  case NW_OP_SELECT: return int_like(e) && nw_cond_exact(e->arg[0]);
  case NW_OP_CAST: return e->arg[0]->type.dtype == NW_BOOL ? int_like(e) && nw_cond_exact(e->arg[0]) : widening(e);
  default: return false;
  }
}

static int opaque_position(const nw_space *v, const nw_expr *e) {
  for (int i = 0; i < v->opaque.n; i++)
    if (v->opaque.at[i] == e) return i;
  return -1;
}

static bool is_digits(const nw_space *v, const nw_expr *e) {
  const nw_dim *d;
  int from, to;
  return nw_space_digits(v, e, &d, &from, &to) && digits_affine(d, from, to);
}

void nw_space_scan(nw_space *v, const nw_expr *e) {
  if (e->op == NW_OP_INT || is_digits(v, e)) return;
  bool integer = int_like(e);
  if (integer && !affine_node(v, e)) {
    if (nw_family_param(v->f, e) >= 0) return;
    if (opaque_position(v, e) < 0) nw_vec_push(&v->opaque, (void *)e);
    if (e->op != NW_OP_FLOORMOD) return;
  }
  if (e->op == NW_OP_LOAD || (!integer && e->type.dtype != NW_BOOL)) return;
  for (int i = 0; i < e->n; i++) nw_space_scan(v, e->arg[i]);
}

// ---- building

static isl_set *universe(const nw_space *v) { return isl_set_universe(nw_family_space(v->f, v->ndims + v->opaque.n)); }

static isl_pw_aff *constant(const nw_space *v, int64_t c) {
  isl_val *val = isl_val_int_from_si(v->f->s->isl, c);
  return isl_pw_aff_val_on_domain(universe(v), val);
}

static isl_pw_aff *variable(const nw_space *v, enum isl_dim_type type, int pos) {
  isl_local_space *ls = isl_local_space_from_space(nw_family_space(v->f, v->ndims + v->opaque.n));
  return isl_pw_aff_var_on_domain(ls, type, (unsigned)pos);
}

isl_pw_aff *nw_space_dim(const nw_space *v, int dim) { return variable(v, isl_dim_set, dim); }

static isl_pw_aff *scaled(const nw_space *v, isl_pw_aff *a, int64_t by) {
  return isl_pw_aff_scale_val(a, isl_val_int_from_si(v->f->s->isl, by));
}

static isl_pw_aff *digits_value(const nw_space *v, const nw_dim *d, int from, int to) {
  if (from == to) return constant(v, 0);
  from = first_digit(d, from, to);
  isl_pw_aff *sum = nw_space_dim(v, d->first + from);
  for (int i = from + 1; i < to; i++) {
    int64_t extent = 1;
    nw_is_int(d->fused[i], &extent);
    sum = isl_pw_aff_add(scaled(v, sum, extent), nw_space_dim(v, d->first + i));
  }
  return sum;
}

static isl_pw_aff *leaf(const nw_space *v, const nw_expr *e) {
  const nw_dim *d = find_var(v, e->name);
  return d ? digits_value(v, d, 0, d->n) : variable(v, isl_dim_param, nw_family_param(v->f, e));
}

static isl_pw_aff *by_pieces(const nw_space *v, const nw_expr *few, const nw_expr *size) {
  const nw_dim *d = find_var(v, few->name);
  isl_pw_aff *factor = nw_space_aff(v, size), *sum = NULL;
  for (int i = 0; i < d->few; i++) {
    isl_set *here = isl_set_fix_si(universe(v), isl_dim_set, (unsigned)d->first, i);
    isl_pw_aff *piece = isl_pw_aff_intersect_domain(scaled(v, isl_pw_aff_copy(factor), i), here);
    sum = sum ? isl_pw_aff_union_add(sum, piece) : piece;
  }
  isl_pw_aff_free(factor);
  return sum;
}

static isl_pw_aff *product(const nw_space *v, const nw_expr *e) {
  int64_t c;
  const nw_expr *few, *size;
  for (int side = 0; side < 2; side++)
    if (nw_is_int(e->arg[side], &c)) return scaled(v, nw_space_aff(v, e->arg[1 - side]), c);
  return small_factor(v, e, &few, &size) ? by_pieces(v, few, size) : NULL;
}

static isl_pw_aff *divided(const nw_space *v, const nw_expr *e) {
  int64_t c = 1;
  nw_is_int(e->arg[1], &c);
  isl_val *by = isl_val_int_from_si(v->f->s->isl, c);
  isl_pw_aff *a = nw_space_aff(v, e->arg[0]);
  if (e->op == NW_OP_FLOORMOD) return isl_pw_aff_mod_val(a, by);
  return isl_pw_aff_floor(isl_pw_aff_scale_down_val(a, by));
}

static isl_pw_aff *selected(const nw_space *v, const nw_expr *e) {
  isl_pw_aff *a = isl_pw_aff_intersect_domain(nw_space_aff(v, e->arg[1]), nw_space_cond(v, e->arg[0], true));
  isl_pw_aff *b = isl_pw_aff_intersect_domain(nw_space_aff(v, e->arg[2]), nw_space_cond(v, e->arg[0], false));
  return isl_pw_aff_union_add(a, b);
}

static isl_pw_aff *absolute(isl_pw_aff *a) {
  isl_pw_aff *negative = isl_pw_aff_neg(isl_pw_aff_copy(a));
  return isl_pw_aff_max(a, negative);
}

// Returns the function that is 1 where the condition holds, and 0 elsewhere.
static isl_pw_aff *truth(const nw_space *v, const nw_expr *cond) {
  isl_pw_aff *one = isl_pw_aff_intersect_domain(constant(v, 1), nw_space_cond(v, cond, true));
  return isl_pw_aff_union_add(one, isl_pw_aff_intersect_domain(constant(v, 0), nw_space_cond(v, cond, false)));
}

static isl_pw_aff *node(const nw_space *v, const nw_expr *e) {
  switch (e->op) {
  case NW_OP_INT: return constant(v, e->i);
  case NW_OP_VAR: return leaf(v, e);
  case NW_OP_ADD: return isl_pw_aff_add(nw_space_aff(v, e->arg[0]), nw_space_aff(v, e->arg[1]));
  case NW_OP_SUB: return isl_pw_aff_sub(nw_space_aff(v, e->arg[0]), nw_space_aff(v, e->arg[1]));
  case NW_OP_NEG: return isl_pw_aff_neg(nw_space_aff(v, e->arg[0]));
  case NW_OP_ABS: return absolute(nw_space_aff(v, e->arg[0]));
  case NW_OP_MUL: return product(v, e);
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return divided(v, e);
  case NW_OP_MIN: return isl_pw_aff_min(nw_space_aff(v, e->arg[0]), nw_space_aff(v, e->arg[1]));
  case NW_OP_MAX: return isl_pw_aff_max(nw_space_aff(v, e->arg[0]), nw_space_aff(v, e->arg[1]));
  case NW_OP_SELECT: return selected(v, e);
  case NW_OP_CAST: return e->arg[0]->type.dtype == NW_BOOL ? truth(v, e->arg[0]) : nw_space_aff(v, e->arg[0]);
  default: return NULL;
  }
}

isl_pw_aff *nw_space_aff(const nw_space *v, const nw_expr *e) {
  const nw_dim *d;
  int from, to, at = opaque_position(v, e);
  if (at >= 0) return nw_space_dim(v, v->ndims + at);
  if (nw_space_digits(v, e, &d, &from, &to) && digits_affine(d, from, to)) return digits_value(v, d, from, to);
  if (affine_node(v, e)) return node(v, e);
  return variable(v, isl_dim_param, nw_family_param(v->f, e));
}

// ---- values at points

isl_pw_aff_list *nw_values(const nw_space *v) { return isl_pw_aff_list_alloc(v->f->s->isl, 8); }

isl_pw_aff_list *nw_values_dims(isl_pw_aff_list *value, const nw_space *v, int from, int to) {
  for (int i = from; i < to; i++) value = isl_pw_aff_list_add(value, nw_space_dim(v, i));
  return value;
}

isl_pw_aff_list *nw_values_expr(isl_pw_aff_list *value, const nw_space *v, const nw_expr *e) {
  return isl_pw_aff_list_add(value, nw_space_aff(v, e));
}

// Makes the map from all values at once, which is much faster than adding one value at a time. Returns NULL if a value
// has several pieces, which is rare.
static isl_map *plain_values(isl_space *space, isl_pw_aff_list *value) {
  isl_aff_list *plain = isl_aff_list_alloc(isl_space_get_ctx(space), 8);
  for (int i = 0, n = isl_pw_aff_list_size(value); i < n && plain; i++) {
    isl_pw_aff *a = isl_pw_aff_list_get_at(value, i);
    if (isl_pw_aff_isa_aff(a) == isl_bool_true)
      plain = isl_aff_list_add(plain, isl_pw_aff_as_aff(a));
    else
      plain = isl_aff_list_free(plain), isl_pw_aff_free(a);
  }
  return plain ? isl_map_from_multi_aff(isl_multi_aff_from_aff_list(isl_space_copy(space), plain)) : NULL;
}

// Intersects the map with the set only at the end, since one intersection for each value would take ten times as long.
isl_map *nw_values_at(const nw_space *v, isl_set *set, isl_pw_aff_list *value) {
  isl_space *space = isl_space_from_domain(nw_family_space(v->f, v->ndims + v->opaque.n));
  space = isl_space_add_dims(space, isl_dim_out, (unsigned)isl_pw_aff_list_size(value));
  isl_map *map = value ? plain_values(space, value) : NULL;
  if (!map)
    map = isl_map_from_multi_pw_aff(
        isl_multi_pw_aff_from_pw_aff_list(isl_space_copy(space), isl_pw_aff_list_copy(value)));
  isl_space_free(space);
  isl_pw_aff_list_free(value);
  map = isl_map_intersect_domain(map, set);
  return isl_map_project_out(map, isl_dim_in, (unsigned)v->ndims, (unsigned)v->opaque.n);
}

// Returns the map from the points of `domain` to the values of e. The domain has only the dimensions of the variables.
isl_map *nw_space_map(const nw_space *v, isl_set *domain, int n, const nw_expr *const *e) {
  isl_set *wide = isl_set_intersect(nw_space_all(v), isl_set_add_dims(domain, isl_dim_set, (unsigned)v->opaque.n));
  isl_pw_aff_list *value = nw_values(v);
  for (int i = 0; i < n; i++) value = nw_values_expr(value, v, e[i]);
  return nw_values_at(v, wide, value);
}
