// Makes the nodes of an affine nest.
#include "access/affine/affine_make.h"

enum { MOST_NODES = 50000 };

nw_affine_node *nw_maker_node(nw_maker *m, nw_affine_kind kind) {
  nw_affine_node *x = NW_NEW(m->s.arena, nw_affine_node);
  x->kind = kind;
  m->nodes++;
  return x;
}

static void *grown(nw_arena *a, void *at, int n, size_t size) {
  if (n && (n < 4 || (n & (n - 1)))) return at; // the capacity is 4, 8, 16, ... items
  char *to = nw_arena_alloc(a, size * (size_t)(n ? 2 * n : 4));
  if (n) memcpy(to, at, size * (size_t)n);
  return to;
}

static void append_refs(nw_maker *m, nw_affine_node *to, const nw_affine_node *from) {
  for (int i = 0; i < from->nrefs; i++) {
    to->ref = grown(m->s.arena, to->ref, to->nrefs, sizeof *to->ref);
    to->ref[to->nrefs++] = from->ref[i];
  }
}

bool nw_maker_add(nw_maker *m, nw_affine_node *to, nw_affine_node *kid) {
  nw_affine_node *last = to->nkids ? to->kid[to->nkids - 1] : NULL;
  if (kid->kind == NW_AFFINE_STMT && last && last->kind == NW_AFFINE_STMT) return append_refs(m, last, kid), true;
  to->kid = grown(m->s.arena, to->kid, to->nkids, sizeof(nw_affine_node *));
  to->kid[to->nkids++] = kid;
  return m->nodes < MOST_NODES ||
         nw_fail(m->s.ctx, NW_ELIMIT, NULL, "the affine nest of the program has %d nodes or more", MOST_NODES);
}

nw_affine_node *nw_maker_where(nw_maker *m, nw_affine_node *to, const nw_conds *c) {
  if (!c->n) return to;
  nw_affine_node *guard = nw_maker_node(m, NW_AFFINE_GUARD);
  guard->nconds = c->n;
  guard->cond = NW_NEW_N(m->s.arena, nw_form, c->n);
  for (int i = 0; i < c->n; i++) guard->cond[i] = nw_form_plain(&m->s, &c->at[i]);
  return nw_maker_add(m, to, guard) ? guard : NULL;
}

static nw_affine_bound *bound(nw_maker *m, nw_form f, int64_t div) {
  nw_affine_bound *b = NW_NEW(m->s.arena, nw_affine_bound);
  *b = (nw_affine_bound){f, div};
  return b;
}

static nw_affine_node *quotient_loop(nw_maker *m, const nw_quotient *q, nw_affine_node *x) {
  nw_affine_node *loop = nw_maker_node(m, NW_AFFINE_LOOP);
  static const nw_form none = {0};
  loop->name = "q";
  loop->slot = q->slot;
  loop->step = 1;
  loop->nbegin = loop->nend = 1;
  loop->begin = bound(m, nw_form_sum(m->s.arena, &q->of, 0, &none, 1 - q->by), q->by);
  loop->end = bound(m, q->of, q->by);
  nw_maker_add(m, loop, x);
  return loop;
}

nw_affine_node *nw_maker_wrap(nw_maker *m, nw_affine_node *x, int n) {
  for (int i = m->s.quotient.n - 1; i >= n; i--) {
    const nw_quotient *q = m->s.quotient.at[i];
    if (q->used) x = quotient_loop(m, q, x);
  }
  m->s.quotient.n = n;
  return x;
}

void nw_maker_prune(nw_affine_node *x) {
  int n = 0;
  for (int i = 0; i < x->nkids; i++) {
    nw_affine_node *kid = x->kid[i];
    nw_maker_prune(kid);
    if (kid->nkids || kid->nrefs) x->kid[n++] = kid;
  }
  x->nkids = n;
}
