// From a program made ready to be walked to the same accesses as an affine nest.
#include "cost/affine_make.h"
#include "cost/affine_program.h"

enum { MOST_NODES = 50000 };

nw_affine_node *nw_maker_node(nw_maker *m, nw_affine_kind kind) {
  nw_affine_node *x = NW_NEW(m->s.arena, nw_affine_node);
  x->kind = kind;
  m->nodes++;
  return x;
}

static void *grown(nw_arena *a, void *at, int n, size_t size) {
  if (n && (n < 4 || (n & (n - 1)))) return at; // room for 4, 8, 16, ...
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
  return m->nodes < MOST_NODES || nw_fail(m->s.ctx, NW_ELIMIT, NULL, "the program has too many cases");
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

// ---- statements inside one another

static bool make_kids(nw_maker *m, const nw_nest *c, nw_affine_node *to) {
  for (int i = 0; i < c->nkids; i++)
    if (!nw_make_nest(m, c->kid[i], to)) return false;
  return true;
}

static bool make_guard(nw_maker *m, const nw_nest *c, nw_affine_node *to) {
  nw_union when;
  int quotients = m->s.quotient.n;
  nw_affine_node *all = nw_maker_node(m, NW_AFFINE_SEQ);
  if (!nw_union_of(&m->s, c->stmt->guard.cond, true, &when)) return false;
  for (int i = 0; i < when.n; i++) {
    nw_affine_node *in = nw_maker_where(m, all, &when.at[i]);
    if (!in || !make_kids(m, c, in)) return false;
  }
  all = nw_maker_wrap(m, all, quotients);
  if (all->kind != NW_AFFINE_SEQ) return nw_maker_add(m, to, all);
  for (int i = 0; i < all->nkids; i++)
    if (!nw_maker_add(m, to, all->kid[i])) return false;
  return true;
}

bool nw_make_nest(nw_maker *m, const nw_nest *c, nw_affine_node *to) {
  if (nw_stopped(m->s.ctx)) return false;
  switch (c->stmt->kind) {
  case NW_LOOP: return nw_make_loop(m, c, to);
  case NW_STORE: return nw_make_store(m, c, to);
  case NW_GUARD: return make_guard(m, c, to);
  default: return make_kids(m, c, to);
  }
}

// ---- the nest

static void name_sizes(nw_maker *m) {
  for (int i = 0; i < m->w->names.nsizes; i++) {
    nw_form *f = NW_NEW(m->s.arena, nw_form);
    f->rest = m->w->slot[i];
    nw_affine_scope_push(&m->s, m->w->names.name.at[i], f);
  }
}

static void make_arrays(nw_maker *m) {
  const nw_places *places = &m->w->places;
  m->array = NW_NEW_N(m->s.arena, int, places->n + 1);
  m->nest->array = NW_NEW_N(m->s.arena, nw_affine_array, places->n + 1);
  for (int i = 0; i < places->n; i++) {
    const nw_placed *p = &places->at[i];
    if (!p->memory) continue;
    m->array[i] = m->nest->narrays;
    m->nest->array[m->nest->narrays++] = (nw_affine_array){.name = nw_arena_strdup(m->s.arena, p->buffer->name),
                                                           .elem = nw_dtype_bytes(p->buffer->dtype),
                                                           .address = p->address,
                                                           .bytes = p->bytes};
  }
}

static void make_sites(nw_maker *m) {
  m->nest->nsites = m->w->site.n;
  m->nest->site = NW_NEW_N(m->s.arena, nw_affine_site, m->w->site.n + 1);
  for (int i = 0; i < m->w->site.n; i++) {
    const nw_ref_site *s = nw_walker_site(m->w, i);
    m->nest->site[i] = (nw_affine_site){.loop = s->loop ? nw_arena_strdup(m->s.arena, s->loop->loop.var->name) : NULL,
                                        .array = m->array[s->place - m->w->places.at],
                                        .write = s->write};
  }
}

nw_affine_nest *nw_affine_of(nw_arena *a, const nw_walker *w) {
  nw_maker m = {.s = {.ctx = w->ctx, .arena = a, .lanes = 1, .lane = -1}, .w = w, .nest = NW_NEW(a, nw_affine_nest)};
  name_sizes(&m);
  make_arrays(&m);
  make_sites(&m);
  m.nest->root = nw_maker_node(&m, NW_AFFINE_SEQ);
  bool ok = nw_make_nest(&m, w->root, m.nest->root);
  m.nest->nslots = m.s.nslots;
  nw_affine_scope_free(&m.s);
  nw_vec_free(&m.site);
  nw_vec_free(&m.under);
  return ok ? m.nest : NULL;
}
