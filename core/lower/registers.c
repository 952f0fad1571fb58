// Pass: keeps elements that are updated under a mask in a stack buffer while they are updated, and stores them once.
//
//   C[r; m] = 0.0                              alloc C_kept[16]:
//   for k:                                       C_kept[0..16] = 0.0
//     C[r; m] = C[r; m] + A[k]*B[k, r; m]   ->   for k:
//                                                  C_kept[0..16] = C_kept[0..16] + A[k]*B[k, r; m]
//                                                C[r; m] = C_kept[0..16]
//
// LLVM keeps such a buffer in registers, but not elements that are accessed under a mask. The lanes that are off
// compute values that are never stored. So every load in them keeps its own mask.
//
// The elements are kept during a run of adjacent statements. The run begins with a statement that surely writes all
// active lanes: a store, or loops that run at least once around a store that also reads them. So the elements belong to
// this thread, and the program may store them at the end of the run even if later statements have conditions. During
// the run, every other access to the buffer must be to other elements.
#include "lower/pass.h"
#include <stdlib.h>

enum { MOST_SLOTS = 256 };

// Some elements of a buffer that are kept.
typedef struct slot {
  const char *buffer;
  const nw_expr *index, *mask;
  nw_type type;
  int first, last; // the run: positions of children of one statement
  bool stored; // true if the run begins with a store that does not read the elements
  const char *kept; // the stack buffer
  const nw_expr *at; // their index in the stack buffer
} slot;

typedef struct keeper {
  nw_program *p;
  nw_ranges r;
  int n;
  slot slot[MOST_SLOTS];
} keeper;

static bool is_line(const nw_expr *index) { return index->op == NW_OP_RAMP && nw_is_const(index->arg[1], 1); }

// ---- finding elements

typedef struct finding {
  keeper *k;
  int nloops;
  const char *loop[NW_MAX_DEPTH]; // the loops inside the child that is searched
} finding;

static bool is_slot(const slot *t, const nw_expr *index, const nw_expr *mask, const char *buffer) {
  return t->index == index && t->mask == mask && !strcmp(t->buffer, buffer);
}

static bool varies(const finding *f, const nw_expr *e) {
  return nw_uses_load(e, NULL) || nw_uses_any(e, f->nloops, f->loop);
}

static void find_store(finding *f, const nw_stmt *s) {
  keeper *k = f->k;
  const nw_expr *index = s->store.index, *mask = s->store.mask;
  if (!mask || !is_line(index) || s->store.value->type.lanes != index->type.lanes || k->n == MOST_SLOTS) return;
  if (varies(f, index) || varies(f, mask)) return;
  for (int i = 0; i < k->n; i++)
    if (is_slot(&k->slot[i], index, mask, s->store.buffer)) return;
  k->slot[k->n++] = (slot){.buffer = s->store.buffer, .index = index, .mask = mask, .type = s->store.value->type};
}

static void find(finding *f, const nw_stmt *s) {
  if (s->kind == NW_STORE) find_store(f, s);
  if (s->kind == NW_LOOP) f->loop[f->nloops++] = s->loop.var->name;
  for (int i = 0; i < s->nkids; i++) find(f, s->kid[i]);
  if (s->kind == NW_LOOP) f->nloops--;
}

// ---- the accesses of a statement

typedef struct uses {
  const nw_ranges *r;
  const slot *slot;
  int reads, stores; // accesses to the elements
  bool bad; // true if the elements cannot be kept while the statement runs
} uses;

// True if the distance between two vectors under the same mask is surely greater than that of any two active lanes. An
// example is the distance N of two rows, whose lanes l are active where l < N - 16*j.
static bool beyond(const nw_ranges *r, const nw_expr *by, const nw_expr *mask) {
  nw_vec conds = {0};
  const nw_expr *first;
  int64_t step;
  bool ok = false;
  nw_add_conjuncts(mask, &conds);
  for (int i = 0; i < conds.n && !ok; i++) {
    if (!nw_lane_slack(conds.at[i], &first, &step) || step > -1) continue;
    ok = nw_prove(r, nw_lt(r->pool, first, by)) ||
         nw_prove(r, nw_lt(r->pool, first, nw_sub(r->pool, nw_index(r->pool, 0), by)));
  }
  nw_vec_free(&conds);
  return ok;
}

// True if the access is surely to other elements.
static bool apart(const nw_ranges *r, const slot *t, const nw_expr *index, const nw_expr *mask) {
  int64_t by;
  const nw_expr *first = is_line(index) ? index->arg[0] : index, *distance;
  if (first->type.lanes > 1) return false;
  distance = nw_sub(first->pool, first, t->index->arg[0]);
  if (!nw_is_int(distance, &by)) return mask == t->mask && index->type.lanes > 1 && beyond(r, distance, mask);
  return by >= t->index->type.lanes || -by >= index->type.lanes;
}

static void see(uses *u, const char *buffer, const nw_expr *index, const nw_expr *mask, bool store) {
  if (strcmp(buffer, u->slot->buffer)) return;
  bool same = index == u->slot->index && mask == u->slot->mask;
  u->reads += same && !store;
  u->stores += same && store;
  u->bad = u->bad || (!same && !apart(u->r, u->slot, index, mask) && !NW_MUTATED(registers_apart));
}

static bool see_load(void *env, const nw_expr *e) {
  if (e->op == NW_OP_LOAD) see(env, e->name, e->arg[0], e->n == 2 ? e->arg[1] : NULL, false);
  return true;
}

static const nw_expr *see_expr(void *env, const nw_expr *e) {
  nw_visit(e, see_load, env);
  return e;
}

// True if other threads, or code that is not in the program, may use the elements.
static bool is_opaque(const nw_stmt *s, const char *buffer) {
  switch (s->kind) {
  case NW_LOOP: return s->loop.mark >= NW_PARALLEL;
  case NW_ALLOC: return !strcmp(s->alloc.buffer, buffer);
  case NW_STORE: return !strcmp(s->store.buffer, buffer) && (s->store.atomic || s->store.async || s->store.stream);
  case NW_CALL:
  case NW_BARRIER:
  case NW_COMMIT:
  case NW_WAIT: return true;
  default: return false;
  }
}

static void look(uses *u, nw_stmt *s) {
  u->bad = u->bad || is_opaque(s, u->slot->buffer);
  if (u->bad) return;
  if (s->kind == NW_STORE) see(u, s->store.buffer, s->store.index, s->store.mask, true);
  nw_stmt_exprs(s, see_expr, u);
  for (int i = 0; i < s->nkids; i++) look(u, s->kid[i]);
}

static uses uses_in(const keeper *k, const slot *t, nw_stmt *s) {
  uses u = {.r = &k->r, .slot = t};
  look(&u, s);
  return u;
}

// ---- runs

// True if the first access to the elements in s surely happens, and if every store also reads the elements before it.
static bool updates(keeper *k, const slot *t, nw_stmt *s) {
  uses u;
  switch (s->kind) {
  case NW_STORE: u = uses_in(k, t, s); return u.stores == 0 || u.reads > 0;
  case NW_LOOP: {
    if (!nw_prove(&k->r, nw_le(k->p->pool, nw_index(k->p->pool, 1), s->loop.extent))) return false;
    break;
  }
  case NW_SEQ:
  case NW_ALLOC: break;
  default: return false;
  }
  nw_scope_push(&k->r, s);
  bool ok = true;
  for (int i = 0; i < s->nkids && ok; i++) {
    u = uses_in(k, t, s->kid[i]);
    ok = u.reads + u.stores == 0 || updates(k, t, s->kid[i]);
  }
  nw_scope_pop(&k->r, s);
  return ok;
}

// Finds the first run of children of s during which the elements can be kept, if that saves accesses.
static bool find_run(keeper *k, slot *t, const nw_stmt *s) {
  int stores = 0;
  bool loops = false;
  t->first = -1;
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    uses u = uses_in(k, t, kid);
    if (u.bad && (loops || stores > 1)) break;
    if (u.bad) t->first = -1, stores = 0;
    if (u.bad || u.reads + u.stores == 0) continue;
    if (t->first < 0) {
      t->stored = kid->kind == NW_STORE && u.stores == 1 && u.reads == 0;
      if (!t->stored && !(u.stores && updates(k, t, kid))) continue;
      t->first = i;
    }
    t->last = i;
    stores += u.stores;
    loops = loops || (u.stores && kid->kind == NW_LOOP);
  }
  return t->first >= 0 && (loops || stores > 1);
}

// ---- storage

// Gives the elements of one buffer a stack buffer. Returns its allocation, or NULL if none of the elements are of this
// buffer.
static nw_stmt *allocate(keeper *k, const char *buffer, const nw_stmt *like) {
  nw_program *p = k->p;
  int64_t n = 0;
  for (int i = 0; i < k->n; i++)
    if (!strcmp(k->slot[i].buffer, buffer)) n += k->slot[i].type.lanes;
  const nw_expr *elements = nw_index(p->pool, n);
  nw_buffer *b = nw_add_buffer(p, nw_arena_printf(p->arena, "%s_kept", buffer), nw_find_buffer(p, buffer)->dtype,
                               NW_LOCAL, NW_TEMP, 1, &elements);
  int64_t at = 0;
  for (int i = 0; i < k->n; i++) {
    slot *t = &k->slot[i];
    if (strcmp(t->buffer, buffer)) continue;
    t->kept = b->name;
    t->at = nw_ramp(p->pool, nw_index(p->pool, at), nw_index(p->pool, 1), t->type.lanes);
    at += t->type.lanes;
  }
  nw_stmt *alloc = nw_new_alloc(p, b);
  alloc->step = like->step;
  return alloc;
}

static int64_t bytes_of(const keeper *k) {
  int64_t n = 0;
  for (int i = 0; i < k->n; i++) n += (int64_t)k->slot[i].type.lanes * nw_dtype_bytes((nw_dtype)k->slot[i].type.dtype);
  return n + (int64_t)k->n * NW_STACK_ALIGN;
}

// ---- the new statements

typedef struct moved {
  const keeper *k;
  int at; // the position of the child that is changed
} moved;

static const slot *kept_at(const moved *m, const char *buffer, const nw_expr *index, const nw_expr *mask) {
  for (int i = 0; i < m->k->n; i++) {
    const slot *t = &m->k->slot[i];
    if (m->at >= t->first && m->at <= t->last && is_slot(t, index, mask, buffer)) return t;
  }
  return NULL;
}

static const nw_expr *kept_load(void *env, const nw_expr *load) {
  const moved *m = env;
  const slot *t = load->n == 2 ? kept_at(m, load->name, load->arg[0], load->arg[1]) : NULL;
  return t ? nw_load(load->pool, load->type, t->kept, 1, &t->at) : NULL;
}

static const nw_expr *kept_expr(void *env, const nw_expr *e) {
  return nw_rewrite(((const moved *)env)->k->p->pool, e, NULL, kept_load, env);
}

static void move_accesses(moved *m, nw_stmt *s) {
  const slot *t = s->kind == NW_STORE ? kept_at(m, s->store.buffer, s->store.index, s->store.mask) : NULL;
  nw_stmt_exprs(s, kept_expr, m);
  if (t) s->store.buffer = t->kept, s->store.index = t->at, s->store.mask = NULL;
  for (int i = 0; i < s->nkids; i++) move_accesses(m, s->kid[i]);
}

// Copies the elements to the stack buffer, or back.
static nw_stmt *copy(const keeper *k, const slot *t, const nw_stmt *like, bool back) {
  nw_pool *pool = k->p->pool;
  nw_stmt *s = nw_new_like(k->p, NW_STORE, like);
  const nw_expr *from[] = {t->index, t->mask};
  s->store.buffer = back ? t->buffer : t->kept;
  s->store.index = back ? t->index : t->at;
  s->store.mask = back ? t->mask : NULL;
  s->store.value = back ? nw_load(pool, t->type, t->kept, 1, &t->at) : nw_load(pool, t->type, t->buffer, 2, from);
  return s;
}

static void drop_slot(keeper *k, int i) { k->slot[i] = k->slot[--k->n]; }

static void sort_slots(keeper *k) {
  for (int i = 1; i < k->n; i++)
    for (int j = i; j > 0 && k->slot[j].first < k->slot[j - 1].first; j--) {
      slot t = k->slot[j];
      k->slot[j] = k->slot[j - 1];
      k->slot[j - 1] = t;
    }
}

// Puts the children of s at the positions from `first` to `last` into the allocations.
static void surround(keeper *k, nw_stmt *s, int first, int last) {
  nw_vec kids = {0}, all = {0};
  nw_stmt *outer = NULL, *inner = NULL;
  for (int i = 0; i < k->n; i++) {
    if (k->slot[i].kept) continue;
    nw_stmt *alloc = allocate(k, k->slot[i].buffer, s->kid[k->slot[i].first]);
    if (inner) nw_kids_set(k->p, inner, 1, &alloc);
    inner = alloc;
    if (!outer) outer = alloc;
  }
  for (int i = first; i <= last; i++) {
    moved m = {k, i};
    for (int t = 0; t < k->n; t++)
      if (k->slot[t].first == i && !k->slot[t].stored) nw_vec_push(&kids, copy(k, &k->slot[t], s->kid[i], false));
    move_accesses(&m, s->kid[i]);
    nw_vec_push(&kids, s->kid[i]);
    for (int t = 0; t < k->n; t++)
      if (k->slot[t].last == i) nw_vec_push(&kids, copy(k, &k->slot[t], s->kid[i], true));
  }
  nw_kids_set(k->p, inner, kids.n, (nw_stmt **)kids.at);
  for (int i = 0; i < s->nkids; i++)
    if (i < first || i > last)
      nw_vec_push(&all, s->kid[i]);
    else if (i == first)
      nw_vec_push(&all, outer);
  nw_kids_set(k->p, s, all.n, (nw_stmt **)all.at);
  nw_vec_free(&kids);
  nw_vec_free(&all);
}

static void keep_elements(keeper *k, nw_stmt *s) {
  finding f = {.k = k};
  k->n = 0;
  for (int i = 0; i < s->nkids; i++) find(&f, s->kid[i]);
  int first = s->nkids, last = -1;
  for (int i = k->n - 1; i >= 0; i--)
    if (!find_run(k, &k->slot[i], s)) drop_slot(k, i);
  sort_slots(k);
  for (int i = 0; i < k->n; i++) {
    if (k->slot[i].first < first) first = k->slot[i].first;
    if (k->slot[i].last > last) last = k->slot[i].last;
  }
  if (k->n && nw_fits_on_stack(k->p, bytes_of(k))) surround(k, s, first, last);
}

// ---- the tree, outer loops first

static void keep(keeper *k, nw_stmt *s) {
  if (s->kind == NW_CALL) return;
  nw_scope_push(&k->r, s);
  keep_elements(k, s);
  for (int i = 0; i < s->nkids; i++) keep(k, s->kid[i]);
  nw_scope_pop(&k->r, s);
}

nw_program *nw_pass_registers(nw_program *p) {
  if (nw_find_bound(p->root)) return p;
  keeper *k = nw_xcalloc(1, sizeof *k);
  k->p = p;
  nw_scope_open(&k->r, p);
  keep(k, p->root);
  nw_ranges_free(&k->r);
  free(k);
  return p;
}
