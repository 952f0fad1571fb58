// Finds the products of sizes in a lowered program. They are subexpressions of bounds, conditions, indices and shapes
// that use only sizes and numbers, and contain a multiplication that may overflow. Their values do not change during a
// call of the kernel, so they are evaluated before the call, with overflow checks.
#include "lower/pass.h"
#include <stdlib.h>

enum { SMALL = 1 << 20 }; // a size times a number below this limit cannot overflow

typedef struct search {
  const nw_program *p;
  nw_vec found;
} search;

static bool of_sizes(void *env, const nw_expr *e) {
  const nw_program *p = env;
  bool size = e->op != NW_OP_VAR && e->op != NW_OP_LOAD && e->type.lanes == 1;
  for (int i = 0; i < p->nsizes && !size; i++) size = e->op == NW_OP_VAR && !strcmp(e->name, p->size[i].name);
  return size;
}

static bool no_product(void *env, const nw_expr *e) {
  int64_t c;
  (void)env;
  if (e->op != NW_OP_MUL) return true;
  for (int i = 0; i < 2; i++)
    if (nw_is_int(e->arg[i], &c)) return llabs(c) < SMALL;
  return false;
}

bool nw_multiplies_sizes(const nw_expr *e) { return !nw_visit(e, no_product, NULL); }

static bool collect(void *env, const nw_expr *e) {
  search *s = env;
  if (e->type.dtype != NW_INDEX || !nw_visit(e, of_sizes, (void *)s->p)) return true;
  if (nw_multiplies_sizes(e) && !NW_MUTATED(sizes_unchecked)) {
    int at = 0;
    while (at < s->found.n && s->found.at[at] != e) at++;
    if (at == s->found.n) nw_vec_push(&s->found, (void *)e);
  }
  return true;
}

static const nw_expr *look(void *env, const nw_expr *e) {
  nw_visit(e, collect, env);
  return e;
}

static bool inside(const nw_expr *e, const nw_expr *whole) {
  if (e == whole) return true;
  for (int i = 0; i < whole->n; i++)
    if (inside(e, whole->arg[i])) return true;
  return false;
}

// Removes products that are part of another product. Returns the number of products that remain.
static int whole_ones(nw_vec *found) {
  int n = 0;
  for (int i = 0; i < found->n; i++) {
    bool part = false;
    for (int k = 0; k < found->n && !part; k++) part = k != i && inside(found->at[i], found->at[k]);
    if (!part) found->at[n++] = found->at[i];
  }
  return n;
}

int nw_products_of_sizes(const nw_program *p, const nw_expr ***out) {
  search s = {.p = p};
  nw_tree_exprs(p->root, look, &s);
  for (int i = 0; i < p->nbuffers; i++)
    for (int d = 0; d < nw_physical_dims(p->buffer[i]); d++) nw_visit(nw_physical_shape(p->buffer[i])[d], collect, &s);
  for (int i = 0; i < p->nbuffers; i++)
    if (p->buffer[i]->pitch) nw_visit(nw_physical_reach(p->pool, p->buffer[i]), collect, &s);
  for (int i = 0; i < p->nfacts; i++) nw_visit(p->fact[i], collect, &s);
  int n = whole_ones(&s.found);
  *out = (const nw_expr **)s.found.at;
  return n;
}
