// Lists the launches and the workspaces of a program with given sizes.
#include "lower/launch.h"
#include <stdlib.h>

typedef struct listing {
  const nw_program *p;
  const int64_t *sizes;
  bool (*f)(void *env, const nw_launch_row *row);
  void *env;
} listing;

static bool give(void *env, const nw_launch *l, const int64_t extent[6], const int64_t *var) {
  listing *x = env;
  nw_launch_argument *a = nw_xcalloc((size_t)(l->nbuffers + x->p->nsizes + l->nvars) + 1, sizeof *a);
  nw_launch_row row = {.kernel = l->name, .argument = a, .shared = nw_launch_asks(l)};
  memcpy(row.extent, extent, sizeof row.extent);
  for (int i = 0; i < l->nbuffers; i++) a[row.n++].buffer = l->buffer[i].name;
  for (int i = 0; i < x->p->nsizes; i++) a[row.n++].value = x->sizes[i];
  for (int i = 0; i < l->nvars; i++) a[row.n++].value = var[i];
  bool good = x->f(x->env, &row);
  free(a);
  return good;
}

bool nw_each_launch(nw_ctx *c, const nw_program *p, const int64_t *sizes,
                    bool (*f)(void *env, const nw_launch_row *row), void *env) {
  (void)c;
  nw_exec *e = p ? nw_lower(p, NULL) : NULL;
  nw_launches *all = e ? nw_launches_of(e) : NULL;
  listing x = {p, sizes, f, env};
  bool good = all && nw_launches_run(e, all, sizes, give, &x);
  nw_launches_free(all);
  nw_exec_release(e);
  return good;
}

static bool is_exact(void *env, const nw_expr *e) {
  (void)env;
  return nw_op_exactness((nw_op)e->op) != NW_EXACT_NEAR;
}

static bool has_fixed_bits(void *env, nw_stmt *s) {
  const nw_program *p = env;
  if (s->kind != NW_STORE) return true;
  bool real = nw_dtype_is_float(nw_find_buffer(p, s->store.buffer)->dtype);
  return !(s->store.atomic && real) && nw_visit(s->store.value, is_exact, NULL);
}

bool nw_grid_has_fixed_bits(const nw_program *p) {
  nw_exec *e = p ? nw_lower(p, NULL) : NULL;
  bool fixed = e && nw_walk_from(e->p->root, has_fixed_bits, e->p);
  nw_exec_release(e);
  return fixed;
}

bool nw_each_workspace(nw_ctx *c, const nw_program *p, const int64_t *sizes,
                       bool (*f)(void *env, const nw_workspace_row *row), void *env) {
  nw_exec *e = p ? nw_lower(p, NULL) : NULL;
  bool good = e != NULL;
  const char *name[NW_MAX_DEPTH];
  for (int i = 0; i < (p ? p->nsizes : 0) && i < NW_MAX_DEPTH; i++) name[i] = p->size[i].name;
  for (int i = 0; good && i < e->nstorage; i++) {
    const nw_storage *s = &e->storage[i];
    nw_workspace_row row = {.name = s->buffer, .dtype = s->dtype};
    if (s->kind != NW_STORE_WORKSPACE && s->kind != NW_STORE_PER_THREAD) continue;
    good =
        nw_eval_size(s->elements, p->nsizes, name, sizes, &row.elements) ||
        nw_fail(c, NW_ERANGE, "give smaller sizes", "the number of elements of %s does not fit in 64 bits", s->buffer);
    good = good && f(env, &row);
  }
  nw_exec_release(e);
  return good;
}
