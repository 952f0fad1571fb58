// Finds the instructions of each body.
//
// A value is computed in the innermost loop whose variable the value uses. A load also stays inside its guards, and
// inside the innermost loop that may store to the same element. In one execution of a body, each value is computed
// once, but a load is repeated after a store to memory.
#include "cost/cpu/core_access.h"
#include "cost/cpu/core_blocked.h"
#include "cost/cpu/core_called.h"
#include "cost/cpu/core_class.h"
#include "cost/cpu/core_loop.h"
#include <stdlib.h>

typedef struct seen { // a value that was computed
  const nw_expr *e;
  const nw_core_node *loop, *guard; // loop: its body computes the value; guard: the guard around it there, or NULL
  int home, generation; // home: depth of `loop`; generation: number of stores to memory before the computation
  bool loads, folded; // loads: true if the value depends on a load; folded: true for a load that was folded
  bool stored; // true if the body that computes the value also stored it
  nw_core_node *body; // the body in which the value was counted
  const nw_core_node *used; // the last body that counted the value as a live-in value
} seen;

typedef struct shaping {
  nw_core *k;
  nw_core_node *at; // the current body
  nw_core_node *loop[NW_MAX_DEPTH + 1]; // loop[d] is the enclosing loop at depth d; loop[0] is the root
  const nw_stmt *stmt;
  int first; // index of the statement's first access
  int generation; // number of stores to memory so far
  bool loaded; // true if the statement loads from memory the element that it stores
  int cap, n;
  seen *seen;
} shaping;

// ---- values that were computed

static seen *seen_at(shaping *s, const nw_expr *e) {
  unsigned mask = (unsigned)s->cap - 1, i = (unsigned)e->hash & mask;
  while (s->seen[i].e && s->seen[i].e != e) i = (i + 1) & mask;
  return &s->seen[i];
}

static seen *seen_put(shaping *s, const nw_expr *e) {
  if (2 * s->n >= s->cap) {
    seen *old = s->seen;
    int cap = s->cap;
    s->cap = cap ? 2 * cap : 256;
    s->seen = nw_xask((size_t)s->cap, sizeof *s->seen);
    for (int i = 0; i < cap; i++)
      if (old[i].e) *seen_at(s, old[i].e) = old[i];
    nw_let_go(old);
  }
  seen *x = seen_at(s, e);
  s->n += !x->e;
  return x;
}

static bool still_there(const shaping *s, const seen *x) {
  if (!x->e || x->home > s->at->depth || s->loop[x->home] != x->loop) return false;
  if (x->guard && !nw_core_inside(s->at, x->guard)) return false;
  return !x->loads || (x->home < s->at->depth && !x->stored) ||
         (x->home == s->at->depth && x->generation == s->generation);
}

// Counts a register for a live-in value of the body.
static void needs(shaping *s, seen *x) {
  if (x->home >= s->at->depth || x->used == s->at) return;
  x->used = s->at;
  if (!nw_core_is_address(x->e)) s->at->live += nw_core_pieces(s->k->machine, x->e->type);
}

static nw_core_node *guard_of(nw_core_node *at) { return at->stmt->kind == NW_GUARD ? at : NULL; }

static seen *remember(shaping *s, const nw_expr *e, int home, bool loads) {
  seen *x = seen_put(s, e);
  nw_core_node *body = home == s->at->depth ? s->at : s->loop[home];
  *x = (seen){.e = e, .loop = s->loop[home], .home = home, .generation = s->generation, .loads = loads, .body = body};
  x->guard = home == s->at->depth ? guard_of(s->at) : NULL;
  return x;
}

// ---- loads

static nw_core_access *access_of(shaping *s, const nw_expr *load) {
  for (int i = s->first; i < s->k->access.n; i++) {
    nw_core_access *a = s->k->access.at[i];
    if (a->stmt == s->stmt && a->load == load) return a;
  }
  return NULL;
}

static bool may_meet(const nw_core_access *a, const nw_core_access *b, const nw_core_node *loop);

// Returns the depth of the innermost enclosing loop that may store to the loaded element. The load cannot be hoisted
// out of this loop. If there is no such loop deeper than `least`, returns `least`.
static int stored_in(const shaping *s, const nw_core_access *a, int least) {
  for (int d = s->at->depth; d > least; d--)
    for (int i = 0; i < s->k->access.n; i++) {
      const nw_core_access *b = s->k->access.at[i];
      if (b->write && b->buffer == a->buffer && may_meet(a, b, s->loop[d])) return d;
    }
  return least;
}

// Returns the least depth to which a load can be hoisted. A load is not hoisted out of a guard. If a loop may have no
// iterations, a load is hoisted out of this loop, but not out of the next loop.
static int guarded_in(const shaping *s, int least) {
  int64_t n;
  for (const nw_core_node *at = s->at; at && at->depth > least; at = at->up) {
    if (at->stmt->kind == NW_GUARD) return at->depth;
    if (!nw_is_int(at->stmt->loop.extent, &n)) return at->depth - 1 > least ? at->depth - 1 : least;
  }
  return least;
}

static int home_of_form(const shaping *s, const nw_core_access *a) {
  int home = 0;
  for (int d = s->at->depth; d > 0 && !home; d--)
    if (!a->affine || nw_form_coef(&a->at, s->loop[d]->slot)) home = d;
  return home;
}

static int value(shaping *s, const nw_expr *e);

// Adds the instructions of an index. If the lanes are at equal distances, or all lanes use the same element, only the
// index of the first lane is computed.
static void index_value(shaping *s, const nw_expr *index) {
  int64_t step;
  bool first = index->op == NW_OP_BROADCAST || (index->op == NW_OP_RAMP && nw_is_int(index->arg[1], &step));
  value(s, first ? index->arg[0] : index);
}

static int load_value(shaping *s, const nw_expr *e) {
  nw_core_access *a = access_of(s, e);
  index_value(s, e->arg[0]);
  if (e->n > 1) value(s, e->arg[1]);
  if (s->k->apart[a->buffer] || a->held) return s->at->depth;
  int home = home_of_form(s, a);
  if (home < s->at->depth) home = stored_in(s, a, home);
  if (home < s->at->depth) home = guarded_in(s, home);
  seen *x = remember(s, e, home, true);
  nw_core_add_memory(s->k, &x->body->ops, a);
  a->issued = x->body == a->body;
  s->loaded |= !strcmp(e->name, s->stmt->store.buffer) && e->arg[0] == s->stmt->store.index;
  return home;
}

// ---- operations

// True if the address is a base plus the loop counter times 1, 2, 4 or 8. Such a load is not folded.
static bool is_indexed(const nw_core_access *a, const nw_core_node *at) {
  while (at && at->stmt->kind != NW_LOOP) at = at->up;
  int64_t step = at && a->affine ? nw_form_coef(&a->at, at->slot) * a->elem : 0;
  return step == 1 || step == 2 || step == 4 || step == 8;
}

// Folds a load into the operation that uses its value, if no other operation uses this value.
static void fold_load(shaping *s, const nw_expr *e, int home) {
  if (nw_core_class(e) == NW_CLASS_COUNT) return;
  for (int i = 0; i < e->n; i++) {
    const nw_expr *arg = e->arg[i]->op == NW_OP_BROADCAST ? e->arg[i]->arg[0] : e->arg[i];
    if (arg->op != NW_OP_LOAD || !s->cap) continue;
    seen *x = seen_at(s, arg);
    if (!x->e || x->folded || x->home != home || x->used) continue;
    const nw_core_access *a = access_of(s, arg);
    if (!a || is_indexed(a, s->at)) continue;
    double pieces = e->arg[i] == arg ? nw_core_pieces(s->k->machine, e->type) : 1;
    x->folded = true;
    x->body->ops.unit[NW_CORE_FOLDED] += pieces;
    return;
  }
}

static void unfold(shaping *s, seen *x) {
  if (!x->folded || x->e->op != NW_OP_LOAD) return;
  x->folded = false;
  x->used = s->at; // so that the load is not folded again
  x->body->ops.unit[NW_CORE_FOLDED] -= nw_core_pieces(s->k->machine, x->e->type);
}

// True if a select becomes a branch, so that only one side is evaluated. Such a select has a scalar condition, and a
// load on at least one side.
static bool is_branch(const nw_expr *e) {
  return e->op == NW_OP_SELECT && e->arg[0]->type.lanes == 1 &&
         (nw_uses_load(e->arg[1], NULL) || nw_uses_load(e->arg[2], NULL));
}

static int operation(shaping *s, const nw_expr *e) {
  int home = 0;
  for (int i = 0; i < e->n; i++) {
    int h = value(s, e->arg[i]);
    if (h > home) home = h;
  }
  seen *x = remember(s, e, home, false);
  for (int i = 0; i < e->n; i++) {
    seen *y = seen_at(s, e->arg[i]);
    if (y->e) x->loads |= y->loads || e->arg[i]->op == NW_OP_LOAD;
  }
  if (is_branch(e)) return x->body->ops.unit[NW_CORE_BRANCH]++, home;
  nw_core_add_op(s->k->machine, &x->body->ops, e);
  fold_load(s, e, home);
  return home;
}

// Adds the operations of an address that is not affine. Affine addresses need no operations here, because addressing
// modes and induction registers compute them.
static int address(shaping *s, const nw_expr *e) {
  nw_form f;
  int home = 0;
  if (!nw_form_of(s->k->arena, &s->k->names, e, &f)) {
    seen *x = s->cap ? seen_at(s, e) : NULL;
    return x && still_there(s, x) ? x->home : operation(s, e);
  }
  for (int d = s->at->depth; d > 0 && !home; d--)
    if (nw_form_coef(&f, s->loop[d]->slot)) home = d;
  return home;
}

static int value(shaping *s, const nw_expr *e) {
  if (e->op == NW_OP_INT) return 0;
  if (nw_core_is_address(e) && e->op != NW_OP_LOAD) return address(s, e);
  seen *x = s->cap ? seen_at(s, e) : NULL;
  if (x && still_there(s, x)) return unfold(s, x), needs(s, x), x->home;
  if (e->op == NW_OP_LOAD) {
    int home = load_value(s, e);
    x = s->cap ? seen_at(s, e) : NULL;
    if (x && x->e && still_there(s, x)) needs(s, x);
    return home;
  }
  int home = e->n ? operation(s, e) : (remember(s, e, 0, false), 0);
  needs(s, seen_at(s, e));
  return home;
}

// ---- stores

static bool moves_in(const nw_core_access *a, const nw_core_node *loop) {
  return !a->affine || nw_form_coef(&a->at, loop->slot);
}

static bool may_meet(const nw_core_access *a, const nw_core_access *b, const nw_core_node *loop) {
  if (!nw_core_inside(b->body, loop)) return false;
  if (!a->affine || !b->affine || a->scattered || b->scattered) return true;
  bool alike = true;
  for (int i = 0; i < a->at.n; i++) alike &= nw_form_coef(&b->at, a->at.slot[i]) == a->at.coef[i];
  for (int i = 0; i < b->at.n; i++) alike &= nw_form_coef(&a->at, b->at.slot[i]) == b->at.coef[i];
  int64_t by = b->at.rest - a->at.rest;
  return !alike || moves_in(a, loop) || (by < a->lanes && -by < b->lanes);
}

static double longest(const nw_machine *m, const nw_expr *e, const char *buffer, const nw_expr *index) {
  if (e->op == NW_OP_LOAD) return !strcmp(e->name, buffer) && e->arg[0] == index ? 0 : -1;
  double most = -1;
  for (int i = 0; i < e->n; i++) {
    double d = longest(m, e->arg[i], buffer, index);
    if (d > most) most = d;
  }
  return most < 0 ? -1 : most + nw_core_latency(m, e);
}

static void add_chain(shaping *s, const nw_core_access *a) {
  double latency = longest(s->k->machine, s->stmt->store.value, s->stmt->store.buffer, s->stmt->store.index);
  if (latency < 0) return;
  nw_core_chain *c = NW_NEW(s->k->arena, nw_core_chain);
  *c = (nw_core_chain){a, latency, s->loaded};
  nw_vec_push(&s->at->chain, c);
  s->at->ops.waiting += nw_core_pieces(s->k->machine, s->stmt->store.value->type);
}

// Adds the load and the store of a held element (core_held.c). The element is loaded once before the loop that holds it
// and stored once after that loop, even if several statements use the element. The load is not needed if the body
// around the loop stores to the buffer before the loop.
static void add_held(shaping *s, const nw_core_access *a) {
  const nw_core_node *loop = s->loop[a->held];
  bool stored = false;
  for (int i = 0; i < s->k->access.n; i++) {
    const nw_core_access *b = s->k->access.at[i];
    if (b == a) break;
    if (b->write && b->buffer == a->buffer && b->index == a->index && b->held == a->held &&
        nw_core_inside(b->body, loop))
      return;
    stored |= b->write && b->buffer == a->buffer && !nw_core_inside(b->body, loop) && nw_core_inside(loop, b->body);
  }
  nw_core_add_memory(s->k, &loop->up->ops, a);
  int pieces = nw_core_pieces(s->k->machine, s->stmt->store.value->type);
  for (nw_core_node *at = s->at; at != loop->up; at = at->up) at->held += pieces;
  if (stored) return;
  nw_core_access load = *a;
  load.write = false;
  nw_core_add_memory(s->k, &loop->up->ops, &load);
}

// If a store writes only some of the lanes of a local array in a register, adds an instruction that inserts these
// lanes.
static void add_insertion(const shaping *s, const nw_core_access *a) {
  if (a->lanes < s->k->widest[a->buffer]) s->at->ops.op[NW_CLASS_SHUFFLE][1]++;
}

static void add_store(void *env, nw_core_node *body, const nw_stmt *stmt) {
  shaping *s = env;
  s->at = body;
  s->stmt = stmt;
  s->loaded = false;
  while (((nw_core_access *)s->k->access.at[s->first])->stmt != stmt) s->first++;
  if (stmt->store.mask) value(s, stmt->store.mask);
  index_value(s, stmt->store.index);
  value(s, stmt->store.value);
  int at = s->first;
  while (((nw_core_access *)s->k->access.at[at])->load) at++;
  const nw_core_access *a = s->k->access.at[at];
  add_chain(s, a);
  if (s->k->apart[a->buffer]) return add_insertion(s, a);
  if (a->held) return add_held(s, a);
  nw_core_add_memory(s->k, &body->ops, a);
  nw_core_add_line(s->k, body, a);
  s->generation++;
  if (a->masked) return;
  const nw_expr *index = stmt->store.index;
  const nw_expr *again = nw_load(index->pool, stmt->store.value->type, stmt->store.buffer, 1, &index);
  remember(s, again, body->depth, true)->stored = true;
}

// ---- bodies

static void enter(void *env, nw_core_node *body, bool opens) {
  shaping *s = env;
  bool loop = body->stmt->kind == NW_LOOP;
  s->at = opens ? body : body->up;
  if (!opens) return nw_core_close_lines(s->k, body);
  if (loop) s->loop[body->depth] = body;
  if (loop) nw_core_add_loop(s->k, body);
  if (body->stmt->kind == NW_GUARD) {
    body->up->ops.op[NW_CLASS_INT][0]++;
    body->up->ops.unit[NW_CORE_BRANCH]++;
  }
}

bool nw_core_shape(nw_core *k) {
  shaping s = {.k = k, .at = k->root, .loop = {k->root}};
  nw_core_collect(k);
  nw_core_hold(k);
  nw_core_go(k, k->root, add_store, enter, &s);
  nw_core_call(k);
  nw_core_spill(k);
  nw_core_block(k);
  nw_let_go(s.seen);
  return true;
}
