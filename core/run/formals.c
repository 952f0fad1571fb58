// Checks the tensors of a call.
#include "run/formals.h"
#include "ir/program/physical.h"
#include <stdlib.h>

nw_formals nw_formals_of_program(const nw_program *p) {
  nw_formals f = {.callee = p->name ? p->name : "the kernel", .nsizes = p->nsizes, .nfacts = p->nfacts};
  f.at = nw_xcalloc((size_t)p->nbuffers + 1, sizeof *f.at);
  f.size = nw_xcalloc((size_t)p->nsizes + 1, sizeof *f.size);
  f.lo = nw_xcalloc((size_t)p->nsizes + 1, sizeof *f.lo);
  f.fact = nw_xcalloc((size_t)p->nfacts + 1, sizeof *f.fact);
  for (int i = 0; i < p->nsizes; i++) f.size[i] = p->size[i].name, f.lo[i] = p->size[i].lo;
  for (int i = 0; i < p->nfacts; i++) f.fact[i] = p->fact[i];
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_buffer *b = p->buffer[i];
    if (b->role == NW_TEMP) continue;
    f.at[f.n++] = (nw_formal){.name = b->name,
                              .dtype = b->dtype,
                              .ndim = nw_physical_dims(b),
                              .shape = nw_physical_shape(b),
                              .output = b->role == NW_OUTPUT,
                              .pitch = b->pitch,
                              .laid = b->nlayout ? b : NULL};
  }
  return f;
}

void nw_formals_free(nw_formals *f) {
  free(f->at);
  free(f->size);
  free(f->lo);
  free(f->fact);
  *f = (nw_formals){0};
}

nw_view nw_view_of(const nw_array *a) {
  int64_t count = (int64_t)a->bytes / nw_dtype_bytes(a->dtype);
  return (nw_view){.dtype = a->dtype, .count = count, .data = a->data};
}

static char *extents_text(int n, const nw_expr *const *e) {
  nw_str s = {0};
  nw_str_add(&s, "[");
  for (int d = 0; d < n; d++) {
    if (d) nw_str_add(&s, ", ");
    nw_expr_print(&s, e[d]);
  }
  nw_str_add(&s, "]");
  return nw_str_take(&s);
}

// Returns a hint for a parameter whose layout was transformed.
static const char *how_to_pack(nw_ctx *c, const nw_formal *p) {
  if (!p->laid) return NULL;
  char *plain = extents_text(p->laid->ndim, (const nw_expr *const *)p->laid->shape);
  const char *hint = nw_diag_printf(
      c, "transform_layout changed its shape from %s: s:pack(\"%s\", a) converts a tensor", plain, p->name);
  free(plain);
  return hint;
}

static bool wrong_shape(nw_ctx *c, const nw_formal *p, const nw_array *a, const char *why) {
  char *has = nw_numbers_text(a->ndim, a->shape), *wants = extents_text(p->ndim, p->shape);
  nw_fail(c, NW_EINVAL, how_to_pack(c, p), "%s has shape %s; it must be %s%s", p->name, has, wants, why);
  free(has);
  free(wants);
  return false;
}

static bool check_kind(nw_ctx *c, const nw_formal *p, const nw_array *a) {
  if (!a) return nw_fail(c, NW_EINVAL, NULL, "%s is missing", p->name);
  if (a->dtype != p->dtype)
    return nw_fail(c, NW_ETYPE,
                   nw_diag_printf(c, "give it the type %s: nw.random(shape, \"%s\"), nw.tensor(values, \"%s\")",
                                  nw_dtype_name(p->dtype), nw_dtype_name(p->dtype), nw_dtype_name(p->dtype)),
                   "%s is %s; it must be %s", p->name, nw_dtype_name(a->dtype), nw_dtype_name(p->dtype));
  return a->ndim == p->ndim || wrong_shape(c, p, a, "");
}

static bool check_dense(nw_ctx *c, const nw_formal *p, const nw_array *a) {
  if (p->pitch || a->dense || NW_MUTATED(view_as_dense)) return true;
  char *has = nw_numbers_text(a->ndim, a->stride);
  nw_fail(c, NW_EINVAL,
          "give a copy of the view, a:copy(); or build the kernel for strides: nw.placeholder(shape, "
          "{strides = {lda, 1}}), or nw.compute(shape, body, {strides = {ldc, 1}})",
          "%s is a view with strides %s; its elements must be in row-major order, without gaps", p->name, has);
  free(has);
  return false;
}

// Returns e with the values of the known sizes.
static const nw_expr *with_known(const nw_formals *f, const nw_expr *e, const int64_t *sizes, const bool *known) {
  for (int i = 0; i < f->nsizes; i++)
    if (known[i]) e = nw_subst(e->pool, e, f->size[i], nw_index(e->pool, sizes[i]));
  return e;
}

// Solves e == value for the only unknown size in e, which has number v. Returns false if e does not have the form
// coef*v + rest.
static bool solve(const nw_formals *f, const nw_expr *e, int v, const int64_t *sizes, int64_t value, int64_t *out) {
  int64_t coef, rest;
  const nw_expr *r;
  if (e->op == NW_OP_VAR) return *out = value, true;
  if (!nw_affine(e->pool, e, 1, &f->size[v], &coef, &r) || !coef || !nw_eval_size(r, f->nsizes, f->size, sizes, &rest))
    return false;
  *out = nw_floordiv_i64(value - rest, coef);
  return true;
}

// Returns the number of the only unknown size in e, -1 if there is no unknown size, or -2 if there are several.
static int unknown_in(const nw_formals *f, const nw_expr *e, const bool *known) {
  int found = -1;
  for (int i = 0; i < f->nsizes; i++) {
    if (known[i] || !nw_uses_var(e, f->size[i])) continue;
    if (found >= 0) return -2;
    found = i;
  }
  return found;
}

// Infers the only unknown size in e, whose value is given. Returns false if there is not exactly one.
static bool infer_one(const nw_formals *f, const nw_expr *e, int64_t value, int64_t *sizes, bool *known) {
  int v = unknown_in(f, e, known);
  if (v < 0 || !solve(f, with_known(f, e, sizes, known), v, sizes, value, &sizes[v])) return false;
  return known[v] = true;
}

// Infers sizes from the shapes and the strides. The stride of a dimension with less than two elements may be any number:
// it is used only if `any` is true. Returns true if a size was found.
static bool infer_some(const nw_formals *f, int n, nw_array *const *args, int64_t *sizes, bool *known, bool any) {
  bool found = false;
  for (int i = 0; i < n; i++)
    for (int d = 0; d < f->at[i].ndim; d++) {
      const nw_formal *p = &f->at[i];
      bool counts = any || (args[i]->count && args[i]->shape[d] > 1);
      found |= infer_one(f, p->shape[d], args[i]->shape[d], sizes, known);
      found |= p->pitch && counts && infer_one(f, p->pitch[d], args[i]->stride[d], sizes, known);
    }
  return found;
}

// Repeats until no further size is found. In nearly every program, the first iteration finds all sizes.
static void infer(const nw_formals *f, int n, nw_array *const *args, int64_t *sizes, bool *known) {
  bool strides = false;
  for (int i = 0; i < n; i++) strides |= f->at[i].pitch != NULL;
  do {
    while (infer_some(f, n, args, sizes, known, false)) continue;
  } while (strides && infer_some(f, n, args, sizes, known, true));
}

// Returns a text such as " with M = 5, N = 7", for messages.
static char *sizes_text(const nw_formals *f, const int64_t *sizes) {
  nw_str s = {0};
  for (int i = 0; i < f->nsizes; i++) nw_str_fmt(&s, "%s%s = %ld", i ? ", " : " with ", f->size[i], (long)sizes[i]);
  return nw_str_take(&s);
}

static bool check_shape(nw_ctx *c, const nw_formals *f, const nw_formal *p, const nw_array *a, const int64_t *sizes) {
  for (int d = 0; d < p->ndim; d++) {
    int64_t want;
    if (nw_eval_size(p->shape[d], f->nsizes, f->size, sizes, &want) && want == a->shape[d]) continue;
    char *why = sizes_text(f, sizes);
    wrong_shape(c, p, a, why);
    free(why);
    return false;
  }
  return true;
}

static bool wrong_strides(nw_ctx *c, const nw_formal *p, const nw_array *a, const char *why) {
  char *has = nw_numbers_text(a->ndim, a->stride), *wants = extents_text(p->ndim, p->pitch);
  nw_fail(c, NW_EINVAL, "give a view with these strides, or build the kernel for others: strides = {...}",
          "%s has strides %s; they must be %s%s", p->name, has, wants, why);
  free(has);
  free(wants);
  return false;
}

static bool check_strides(nw_ctx *c, const nw_formals *f, const nw_formal *p, const nw_array *a, const int64_t *sizes) {
  for (int d = 0; p->pitch && d < p->ndim && a->count && !NW_MUTATED(pitch_unchecked); d++) {
    int64_t want;
    if (a->shape[d] == 1) continue;
    if (nw_eval_size(p->pitch[d], f->nsizes, f->size, sizes, &want) && want == a->stride[d]) continue;
    char *why = sizes_text(f, sizes);
    wrong_strides(c, p, a, why);
    free(why);
    return false;
  }
  return true;
}

static bool check_size(nw_ctx *c, const nw_formals *f, int i, const int64_t *sizes) {
  int64_t lo = 0;
  if (f->lo[i] && !nw_eval_size(f->lo[i], f->nsizes, f->size, sizes, &lo)) lo = INT64_MAX;
  if (sizes[i] >> NW_SIZE_BITS > 0)
    return nw_fail(c, NW_ERANGE, NULL, "%s is %ld; it must be less than 2^%d", f->size[i], (long)sizes[i],
                   NW_SIZE_BITS);
  if (sizes[i] >= lo) return true;
  return nw_fail(c, NW_ERANGE, NULL, "%s is %ld; it must be at least %ld", f->size[i], (long)sizes[i], (long)lo);
}

typedef struct absent {
  const nw_formals *f;
  const char *size; // a size in the fact that is not a size of the kernel, or NULL
} absent;

static bool find_absent(void *env, const nw_expr *e) {
  absent *a = env;
  bool found = e->op != NW_OP_VAR;
  for (int i = 0; i < a->f->nsizes && !found; i++) found = !strcmp(a->f->size[i], e->name);
  if (!found) a->size = e->name;
  return found;
}

static bool check_fact(nw_ctx *c, const nw_formals *f, const nw_expr *fact, const int64_t *sizes) {
  int64_t holds;
  absent none = {f, NULL};
  if (!nw_visit(fact, find_absent, &none))
    return nw_fail(c, NW_ERANGE, "read a tensor that has this size, or state the fact without it",
                   "a stated fact cannot be checked: no input that is read has the size %s", none.size);
  if (nw_eval_size(fact, f->nsizes, f->size, sizes, &holds) && holds) return true;
  nw_str s = {0};
  nw_expr_print(&s, fact);
  char *values = sizes_text(f, sizes);
  nw_fail(c, NW_EINVAL, "the program was built under this assumption", "%s does not hold%s", s.s, values);
  free(values);
  nw_str_free(&s);
  return false;
}

static bool check_overlap(nw_ctx *c, const nw_formals *f, nw_array *const *args) {
  for (int i = 0; i < f->n; i++)
    for (int k = 0; k < f->n; k++)
      if (f->at[i].output && i != k && nw_arrays_overlap(args[i], args[k]))
        return nw_fail(c, NW_EINVAL, "give the output a tensor of its own", "output %s overlaps %s", f->at[i].name,
                       f->at[k].name);
  return true;
}

static bool check_values(nw_ctx *c, const nw_formals *f, int n, nw_array *const *args, const int64_t *sizes,
                         const bool *known) {
  for (int i = 0; i < f->nsizes; i++)
    if (!known[i])
      return nw_fail(c, NW_EINVAL, n < f->n ? "give the outputs, too" : NULL,
                     "size %s does not follow from the shapes of the inputs", f->size[i]);
  for (int i = 0; i < n; i++)
    if (!check_shape(c, f, &f->at[i], args[i], sizes)) return false;
  for (int i = 0; i < f->nsizes; i++)
    if (!check_size(c, f, i, sizes)) return false;
  for (int i = 0; i < f->nfacts; i++)
    if (!check_fact(c, f, f->fact[i], sizes)) return false;
  for (int i = 0; i < n; i++)
    if (!check_strides(c, f, &f->at[i], args[i], sizes)) return false;
  return n < f->n || check_overlap(c, f, args);
}

bool nw_formals_count(nw_ctx *c, const nw_formals *f, int n) {
  if (n == f->n) return true;
  nw_str s = {0};
  for (int i = 0; i < f->n; i++) nw_str_fmt(&s, "%s%s", i ? ", " : "", f->at[i].name);
  nw_fail(c, NW_EINVAL, NULL, "%s takes %d tensors (%s), not %d", f->callee, f->n, s.s ? s.s : "", n);
  nw_str_free(&s);
  return false;
}

int nw_sizes_from(const nw_program *p, int n, nw_array *const *args, int64_t *sizes) {
  nw_formals f = nw_formals_of_program(p);
  bool *known = nw_xcalloc((size_t)f.nsizes + 1, sizeof *known);
  int found = 0;
  if (n > f.n) n = f.n;
  while (found < n && args[found]->ndim == f.at[found].ndim) found++;
  infer(&f, found, args, sizes, known);
  found = 0;
  for (int i = 0; i < f.nsizes; i++) {
    if (!known[i]) sizes[i] = -1;
    found += known[i];
  }
  free(known);
  nw_formals_free(&f);
  return found;
}

bool nw_formals_check_one(nw_ctx *c, const nw_program *p, const nw_formal *one, nw_array *a, int64_t *sizes) {
  nw_formals f = nw_formals_of_program(p);
  bool *known = nw_xcalloc((size_t)f.nsizes + 1, sizeof *known), good = check_kind(c, one, a);
  f.at[0] = *one;
  for (int i = 0; i < f.nsizes; i++) known[i] = sizes[i] >= 0;
  if (good) infer(&f, 1, &a, sizes, known);
  for (int d = 0; d < one->ndim && good; d++)
    for (int i = 0; i < f.nsizes && good; i++)
      if (!known[i] && nw_uses_var(one->shape[d], f.size[i]))
        good = nw_fail(c, NW_EINVAL, nw_diag_printf(c, "give it: {%s = 37}", f.size[i]),
                       "the size %s does not follow from the shape of %s", f.size[i], one->name);
  good = good && check_shape(c, &f, one, a, sizes);
  for (int i = 0; i < f.nfacts && good; i++)
    if (unknown_in(&f, f.fact[i], known) == -1) good = check_fact(c, &f, f.fact[i], sizes);
  for (int i = 0; i < f.nsizes; i++)
    if (!known[i]) sizes[i] = 0;
  free(known);
  nw_formals_free(&f);
  return good;
}

bool nw_formals_check(nw_ctx *c, const nw_formals *f, int n, nw_array *const *args, int64_t *sizes) {
  for (int i = 0; i < n; i++)
    if (!check_kind(c, &f->at[i], args[i]) || !check_dense(c, &f->at[i], args[i])) return false;
  bool *known = nw_xcalloc((size_t)f->nsizes + 1, sizeof *known);
  infer(f, n, args, sizes, known);
  bool good = check_values(c, f, n, args, sizes, known);
  free(known);
  return good;
}
