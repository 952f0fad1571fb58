// Sums of loops that are multiplied by products of sizes.
#include "poly/whole/whole.h"

static bool see_size(void *env, const nw_expr *e) {
  const nw_program *p = env;
  if (e->op == NW_OP_LOAD) return false;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, e->name)) return true;
  return false;
}

bool nw_uses_only_sizes(const nw_program *p, const nw_expr *e) { return nw_visit(e, see_size, (void *)p); }

// Adds the terms of weight * e. A product of a size and a sum is multiplied out.
static bool add_terms(const nw_program *p, const nw_expr *e, const nw_factors *weight, nw_weighted *out) {
  nw_factors all = {.number = 1}, own = *weight;
  const nw_expr *loops = NULL;
  if (e->op == NW_OP_ADD) return add_terms(p, e->arg[0], weight, out) && add_terms(p, e->arg[1], weight, out);
  if (nw_uses_only_sizes(p, e)) {
    e = nw_mul(p->pool, nw_factors_expr(p->pool, weight), e);
    out->rest = out->rest ? nw_add(p->pool, out->rest, e) : e;
    return true;
  }
  if (e->op == NW_OP_VAR) {
    if (out->n == NW_MAX_DEPTH) return false;
    out->symbolic |= weight->n > 0;
    out->term[out->n++] = (nw_weighted_term){e, *weight};
    return true;
  }
  if (e->op != NW_OP_MUL || !nw_multiply(&all, e)) return false;
  own.number *= all.number;
  for (int i = 0; i < all.n; i++) {
    bool size = nw_uses_only_sizes(p, all.atom[i]);
    if ((!size && loops) || (size && !nw_multiply(&own, all.atom[i]))) return false;
    if (!size) loops = all.atom[i];
  }
  return loops && add_terms(p, loops, &own, out);
}

bool nw_weighted_of(const nw_program *p, const nw_expr *e, nw_weighted *out) {
  out->n = 0;
  out->symbolic = false;
  out->rest = NULL;
  return add_terms(p, e, &(nw_factors){.number = 1}, out);
}

// ---- sums with a quotient

// Returns the only quotient among the terms of e that uses loops, or NULL if there is none. Sets *several if there are
// more.
static const nw_expr *quotient_in(const nw_program *p, const nw_expr *e, bool *several) {
  if (e->op == NW_OP_FLOORDIV && e->type.dtype == NW_INDEX && !nw_uses_only_sizes(p, e)) return e;
  if (e->op != NW_OP_ADD) return NULL;
  const nw_expr *a = quotient_in(p, e->arg[0], several), *b = quotient_in(p, e->arg[1], several);
  *several |= a && b;
  return a ? a : b;
}

bool nw_lifted_of(const nw_program *p, const nw_expr *e, nw_lifted_sum *out) {
  bool several = false;
  const nw_expr *q = quotient_in(p, e, &several);
  nw_weighted rest, low;
  if (!q || q == e || several || !nw_uses_only_sizes(p, q->arg[1])) return false;
  const nw_expr *more = nw_sub(p->pool, e, q);
  if (!nw_weighted_of(p, more, &rest) || !rest.symbolic || rest.rest) return false;
  if (!nw_weighted_of(p, q->arg[0], &low) || low.rest) return false;
  *out = (nw_lifted_sum){nw_add(p->pool, nw_mul(p->pool, q->arg[1], more), q->arg[0]), q->arg[0], q->arg[1]};
  return true;
}

bool nw_is_multiple(const nw_program *p, const nw_expr *e, const nw_expr *of) {
  nw_ranges r;
  nw_ranges_of(&r, p, NULL);
  bool holds =
      nw_prove(&r, nw_le(p->pool, nw_index(p->pool, 1), of)) &&
      (nw_prove(&r, nw_eq(p->pool, nw_floormod(p->pool, e, of), nw_index(p->pool, 0))) || NW_MUTATED(whole_divides));
  nw_ranges_free(&r);
  return holds;
}
