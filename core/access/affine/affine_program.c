// Converts a prepared program to an affine nest with the same accesses.
#include "access/affine/affine_make.h"
#include "access/affine/affine_program.h"

// ---- nested statements

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
  nw_maker_prune(m.nest->root);
  m.nest->nslots = m.s.nslots;
  nw_affine_scope_free(&m.s);
  nw_vec_free(&m.site);
  nw_vec_free(&m.under);
  return ok ? m.nest : NULL;
}
