// Keeps which lane of a warp holds which element of a tile.
#include "ir/program/intrinsic.h"
#include <stdlib.h>

char *nw_fragment_element(const nw_intrinsic_arg *a, int element) {
  nw_str s = {0};
  int64_t at[NW_MAX_TILE_DIMS], rest = element;
  for (int d = a->ndim - 1; d >= 0; d--) {
    at[d] = rest % a->dim[d].extent;
    rest /= a->dim[d].extent;
  }
  nw_str_fmt(&s, "%s[", a->name);
  for (int d = 0; d < a->ndim; d++) nw_str_fmt(&s, "%s%lld", d ? ", " : "", (long long)at[d]);
  nw_str_add(&s, "]");
  return nw_str_take(&s);
}

static bool no_bijection(nw_ctx *c, const nw_intrinsic *in, const nw_intrinsic_arg *a, const char *why) {
  return nw_fail(c, NW_EINVAL, "each element of the tile is in one place of one lane",
                 "intrinsic %s: the layout of %s is not a bijection: %s", in->name, a->name, why);
}

static bool held_twice(nw_ctx *c, const nw_intrinsic *in, const nw_intrinsic_arg *a, int element, int p, int q) {
  char *name = nw_fragment_element(a, element), why[160];
  int n = a->fragment.n;
  snprintf(why, sizeof why, "%s is in lane %d, place %d, and in lane %d, place %d", name, p / n, p % n, q / n, q % n);
  free(name);
  return no_bijection(c, in, a, why);
}

bool nw_fragment_set(nw_ctx *c, nw_intrinsic *in, int i, int n, const int64_t *element) {
  nw_intrinsic_arg *a = &in->arg[i];
  int64_t all = 1;
  bool seen[NW_FRAGMENT_LANES * NW_FRAGMENT_MOST] = {false};
  char why[160];
  for (int d = 0; d < a->ndim; d++) all = all > INT16_MAX ? all : all * a->dim[d].extent;
  a->fragment.n = n;
  snprintf(why, sizeof why, "%d lanes hold %d elements each, and the tile has %lld", NW_FRAGMENT_LANES, n,
           (long long)all);
  if (n < 1 || n > NW_FRAGMENT_MOST || all != (int64_t)n * NW_FRAGMENT_LANES) return no_bijection(c, in, a, why);
  for (int p = 0; p < n * NW_FRAGMENT_LANES; p++) {
    int64_t e = element[p];
    snprintf(why, sizeof why, "lane %d, place %d has an element outside of the tile", p / n, p % n);
    if (e < 0 || e >= all) return no_bijection(c, in, a, why);
    if (seen[e]) return held_twice(c, in, a, (int)e, a->fragment.place[e], p);
    seen[e] = true;
    a->fragment.element[p] = (uint16_t)e;
    a->fragment.place[e] = (uint16_t)p;
  }
  return true;
}

const nw_expr *nw_fragment_row(nw_pool *p, const nw_instruction *in, const nw_tile *tile) {
  const nw_expr *lane = nw_var(p, nw_grid_index[3]);
  const nw_expr *eight = nw_index(p, 8), *down = nw_index(p, in->rows / 8);
  const nw_expr *matrix = nw_floormod(p, nw_floordiv(p, lane, eight), nw_index(p, in->matrices));
  const nw_expr *row = nw_add(p, nw_floormod(p, lane, eight), nw_mul(p, eight, nw_floormod(p, matrix, down)));
  const nw_expr *column = nw_mul(p, eight, nw_floordiv(p, matrix, down));
  return nw_add(p, tile->index, nw_add(p, nw_mul(p, row, tile->stride[0]), nw_mul(p, column, tile->stride[1])));
}

typedef struct search {
  const nw_program *p;
  const char *buffer;
  bool found;
} search;

static bool see_load(void *env, const nw_expr *e) {
  search *x = env;
  x->found |= e->op == NW_OP_LOAD && !strcmp(e->name, x->buffer);
  return !x->found;
}

static bool uses(const nw_stmt *s, search *x) {
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.ntargets; i++) {
    x->found |= !strcmp(s->block.target[i].buffer, x->buffer);
    nw_visit(s->block.target[i].value, see_load, x);
  }
  for (int i = 0; i < s->nkids && !x->found; i++) uses(s->kid[i], x);
  return x->found;
}

static bool in_call(const nw_stmt *s, search *x) {
  if (s->kind == NW_CALL) {
    const nw_intrinsic *in = nw_intrinsic_find(x->p->ctx, s->call.intrinsic);
    return in && in->instruction && uses(s, x);
  }
  for (int i = 0; i < s->nkids; i++)
    if (in_call(s->kid[i], x)) return true;
  return false;
}

bool nw_is_fragment(const nw_program *p, const char *buffer) {
  const nw_buffer *b = nw_find_buffer(p, buffer);
  search x = {.p = p, .buffer = buffer};
  return b && b->scope == NW_WARP && in_call(p->root, &x);
}
