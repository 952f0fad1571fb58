// Finds arrays of scope warp that are used like a shuffle: lane l stores a value at place l - c, and each lane loads
// from its own place. So each lane gets the value of the lane that is c lanes above it. A machine with shuffles then
// needs no memory.
//
// All lanes of a warp must execute a shuffle together. So the statements around it must be the same for all threads,
// except for guards. A guard around several statements is replaced by one guard around each statement, so that at the
// end the store is alone in its guard. A lane may execute the store although its guard is false, for two reasons. The
// value uses only local arrays. And no lane loads a value that was given although the guard was false, because in the
// original program nothing was stored at this place.
#include "lower/launch.h"
#include "lower/pass.h"

typedef struct search {
  nw_program *p;
  nw_ranges *r;
  nw_block_array *a;
  int64_t warp, threads; // threads of a warp; threads of a block along x
  const nw_expr *lane; // the index of the thread along x
  int nloops;
  const char *loop[NW_MAX_DEPTH]; // the loops around
  nw_stmt *store; // the only store
  int64_t by; // the store goes to the place (index of the thread along x) + `by` + `rest`
  const nw_expr *rest, *from; // rest of the stores; rest of the loads, NULL if there is none yet
  int64_t places; // number of places of one warp that are stored
  bool uneven; // true if the bounds of a loop around depend on the thread
  bool failed;
} search;

static bool is_thread(void *env, const nw_expr *e) {
  (void)env;
  for (int d = 3; d < NW_GRID_DIMS; d++)
    if (e->op == NW_OP_VAR && !strcmp(e->name, nw_grid_index[d])) return false;
  return e->op != NW_OP_LOAD;
}

// True if the expression has the same value in all threads of a block.
static bool is_even(const nw_expr *e) { return nw_visit(e, is_thread, NULL); }

// Returns e less the index of the thread along x. Returns NULL if the difference depends on this index, or on a loop.
static const nw_expr *rest_of(const search *x, const nw_expr *e) {
  const nw_expr *rest = nw_simplify(x->r, nw_sub(x->p->pool, e, x->lane));
  if (nw_uses_var(rest, x->lane->name)) {
    if (nw_uses_var(e, x->lane->name) || !nw_prove(x->r, nw_eq(x->p->pool, x->lane, nw_index(x->p->pool, 0))))
      return NULL;
    rest = e; // only thread 0 is here
  }
  return nw_uses_any(rest, x->nloops, x->loop) || nw_uses_load(rest, NULL) ? NULL : rest;
}

// False for a load that a lane could not execute without the guard.
static bool of_thread(void *env, const nw_expr *e) {
  const search *x = env;
  if (e->op != NW_OP_LOAD) return true;
  const nw_buffer *b = nw_find_buffer(x->p, e->name);
  return b->role == NW_TEMP && b->scope == NW_LOCAL && e->n == 1 && e->arg[0]->op == NW_OP_INT;
}

static void see_store(search *x, nw_stmt *s) {
  int64_t hi;
  const nw_expr *rest = rest_of(x, s->store.index);
  bool plain = !s->store.mask && !s->store.atomic && !s->store.async && !s->store.stream;
  x->failed |= x->store || !plain || x->uneven || !rest || !nw_visit(s->store.value, of_thread, x);
  x->failed = x->failed || !nw_const_upper(x->r, x->lane, &hi) || hi >= x->warp;
  if (x->failed) return;
  x->store = s;
  x->rest = rest;
  x->places = hi + 1;
}

static bool see_load(void *env, const nw_expr *e) {
  search *x = env;
  if (e->op != NW_OP_LOAD || strcmp(e->name, x->a->buffer)) return true;
  const nw_expr *rest = e->n == 1 && e->type.lanes == 1 ? rest_of(x, e->arg[0]) : NULL;
  x->failed |= !rest || (x->from && x->from != rest);
  x->from = rest;
  return !x->failed;
}

static const nw_expr *see_loads(void *env, const nw_expr *e) {
  nw_visit(e, see_load, env);
  return e;
}

static void see(search *x, nw_stmt *s) {
  bool uneven = x->uneven;
  if (x->failed) return;
  nw_stmt_exprs(s, see_loads, x);
  if (s->kind == NW_STORE && !strcmp(s->store.buffer, x->a->buffer)) see_store(x, s);
  x->failed |= s->kind == NW_CALL || s->kind == NW_PREFETCH;
  if (s->kind == NW_LOOP) {
    x->uneven |= !is_even(s->loop.begin) || !is_even(s->loop.extent) || nw_is_vector_loop(s);
    x->loop[x->nloops++] = s->loop.var->name;
  }
  // There are two kinds of guards for which this does not work. If a guard reads memory, its copies may have different
  // values. If a guard depends on the thread and on a loop, a lane may still need a value that it was given in an
  // earlier iteration.
  if (s->kind == NW_GUARD)
    x->uneven |= nw_uses_load(s->guard.cond, NULL) ||
                 (!is_even(s->guard.cond) && nw_uses_any(s->guard.cond, x->nloops, x->loop));
  nw_scope_push(x->r, s);
  for (int i = 0; i < s->nkids; i++) see(x, s->kid[i]);
  nw_scope_pop(x->r, s);
  if (s->kind == NW_LOOP) x->nloops--;
  x->uneven = uneven;
}

// True if each group of threads that shares an array of scope warp is inside one warp of the machine.
static bool in_warps(const nw_launch *l, int64_t warp) {
  int64_t n[3];
  for (int d = 0; d < 3; d++)
    if (!nw_is_int(l->extent[3 + d], &n[d])) return false;
  return warp == 32 && ((n[1] == 1 && n[2] == 1) || n[0] % warp == 0 || warp % n[0] == 0);
}

// ---- places

// Renumbers the places of the array: afterwards, place l is the place from which lane l loads.
typedef struct moving {
  nw_pool *pool;
  const char *buffer;
  const nw_expr *lane;
} moving;

static const nw_expr *own_place(void *env, const nw_expr *load) {
  const moving *x = env;
  return strcmp(load->name, x->buffer) ? NULL : nw_load(x->pool, load->type, load->name, 1, &x->lane);
}

static const nw_expr *moved(void *env, const nw_expr *e) {
  return nw_rewrite(((const moving *)env)->pool, e, NULL, own_place, env);
}

// ---- guards

static bool contains(const nw_stmt *s, const nw_stmt *store) {
  bool found = s == store;
  for (int i = 0; i < s->nkids && !found; i++) found = contains(s->kid[i], store);
  return found;
}

static nw_stmt *under(nw_program *p, const nw_expr *cond, nw_stmt *s, const nw_stmt *store);

static void kids_under(nw_program *p, const nw_expr *cond, nw_stmt *s, const nw_stmt *store) {
  for (int i = 0; i < s->nkids; i++) s->kid[i] = under(p, cond, s->kid[i], store);
}

// Returns s under the condition. If s contains the store, the condition is moved inwards, to the store and to its
// neighbours. `cond` may be NULL.
static nw_stmt *under(nw_program *p, const nw_expr *cond, nw_stmt *s, const nw_stmt *store) {
  if (s == store || !contains(s, store)) return nw_guarded(p, cond, s);
  if (s->kind == NW_GUARD && !is_even(s->guard.cond)) {
    cond = nw_and(p->pool, cond, s->guard.cond);
    if (s->nkids == 1) return under(p, cond, s->kid[0], store);
    nw_stmt *all = nw_new_like(p, NW_SEQ, s);
    nw_kids_set(p, all, s->nkids, s->kid);
    s = all;
  }
  kids_under(p, cond, s, store);
  return s;
}

// Only the first warp along x must execute the shuffle.
static void only_first_warp(const search *x, nw_stmt *s) {
  const nw_expr *cond = nw_lt(x->p->pool, x->lane, nw_index(x->p->pool, x->warp));
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    if (kid != x->store && !(kid->kind == NW_GUARD && kid->nkids == 1 && kid->kid[0] == x->store)) {
      only_first_warp(x, kid);
      continue;
    }
    if (kid != x->store) {
      nw_ranges_fact(x->r, cond);
      const nw_expr *rest = nw_remaining(x->r, kid->guard.cond);
      nw_ranges_pop_fact(x->r);
      kid = nw_guarded(x->p, rest, x->store);
    }
    s->kid[i] = nw_guarded(x->p, cond, kid);
  }
}

// ---- the pass

static bool find(search *x, nw_stmt *body) {
  see(x, body);
  const nw_expr *by = x->store && x->from ? nw_simplify(x->r, nw_sub(x->p->pool, x->rest, x->from)) : NULL;
  return !x->failed && by && nw_is_int(by, &x->by) && x->by < 0 && -x->by < x->warp;
}

static void shuffle(search *x, nw_stmt *body) {
  moving m = {x->p->pool, x->a->buffer, x->lane};
  nw_tree_exprs(body, moved, &m);
  x->store->store.index = nw_add(m.pool, x->lane, nw_index(m.pool, x->by));
  kids_under(x->p, NULL, body, x->store);
  if (x->threads > x->warp) only_first_warp(x, body);
  x->a->shuffle = (int)-x->by;
  x->a->elements = x->places + x->by;
}

void nw_find_shuffles(nw_program *p, nw_ranges *r, nw_launch *l, nw_stmt *body) {
  const nw_target *t = p->target;
  if (!t || (t->backend && t->backend->no_shuffles) || !in_warps(l, t->limit.launch.warp)) return;
  for (int i = 0; i < l->narrays; i++) {
    search x = {.p = p, .r = r, .a = &l->array[i], .lane = nw_var(p->pool, nw_grid_index[3])};
    x.warp = t->limit.launch.warp;
    nw_is_int(l->extent[3], &x.threads);
    if (x.a->scope == NW_WARP && find(&x, body)) shuffle(&x, body);
  }
}

const nw_block_array *nw_shuffled(const nw_launch *l, const char *buffer) {
  for (int i = 0; i < l->narrays; i++)
    if (!strcmp(l->array[i].buffer, buffer)) return l->array[i].shuffle ? &l->array[i] : NULL;
  return NULL;
}

bool nw_warps_share_memory(const nw_launch *l) {
  bool any = false;
  for (int i = 0; i < l->narrays; i++) any |= l->array[i].scope == NW_WARP && !l->array[i].shuffle;
  return any;
}

const nw_stmt *nw_shuffle_in(const nw_launch *l, const nw_stmt *s) {
  if (s->kind == NW_GUARD && s->nkids == 1) s = s->kid[0];
  return s->kind == NW_STORE && nw_shuffled(l, s->store.buffer) ? s : NULL;
}
