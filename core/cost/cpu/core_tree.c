// Builds the tree of bodies, and counts the executions of each body. The counts are exact, because bounds and
// conditions are evaluated in each iteration. If no bound or condition inside a loop depends on the loop's variable,
// the counts of one iteration are multiplied by the number of iterations instead.
#include "cost/cpu/core.h"
#include "base/share.h"
#include "ir/program/tags.h"
#include <stdlib.h>

enum {
  TICKS = 1 << 22, // number of iterations between checks for interrupts
  MOST = 1 << 26 // limit on the number of iterations that are evaluated one by one
};

// ---- making

static nw_core_node *make(nw_core *k, const nw_stmt *s, nw_core_node *up, bool called);

static int count_nodes(const nw_stmt *s) {
  int n = 1;
  for (int i = 0; i < s->nkids; i++) n += count_nodes(s->kid[i]);
  return n;
}

static nw_calc *number(nw_core *k, const nw_expr *e, const char *what) {
  nw_calc *c = nw_calc_of(k->arena, &k->names, e);
  if (!c) nw_fail(k->ctx, NW_ELIMIT, "The cost model knows sizes, not data.", "%s depends on data", what);
  return c;
}

// Adds the bodies inside a statement to a node. Sequences and allocations are not bodies, so their children become
// children of the body around them.
static bool make_kids(nw_core *k, const nw_stmt *s, nw_core_node *node, bool called) {
  called |= s->kind == NW_CALL;
  for (int i = 0; i < s->nkids; i++) {
    const nw_stmt *kid = s->kid[i];
    bool body = kid->kind == NW_LOOP || kid->kind == NW_GUARD;
    if (!body && !make_kids(k, kid, node, called)) return false;
    if (body && !(node->kid[node->nkids] = make(k, kid, node, called))) return false;
    node->nkids += body;
  }
  return true;
}

static bool make_loop(nw_core *k, nw_core_node *node) {
  const nw_stmt *s = node->stmt;
  node->depth++;
  node->begin = number(k, s->loop.begin, "the start of a loop");
  node->extent = node->begin ? number(k, s->loop.extent, "the extent of a loop") : NULL;
  if (!node->extent) return false;
  node->affine = nw_form_of(k->arena, &k->names, s->loop.begin, &node->from);
  node->slot = k->nslots++;
  nw_vec_push(&k->names.name, (void *)s->loop.var->name);
  nw_vec_push(&k->names.slot, (void *)(intptr_t)node->slot);
  bool ok = make_kids(k, s, node, node->called);
  k->names.name.n--;
  k->names.slot.n--;
  return ok;
}

static nw_core_node *make(nw_core *k, const nw_stmt *s, nw_core_node *up, bool called) {
  nw_core_node *node = NW_NEW(k->arena, nw_core_node);
  node->stmt = s;
  node->called = called;
  node->up = up;
  node->depth = up ? up->depth : 0;
  node->kid = NW_NEW_N(k->arena, nw_core_node *, count_nodes(s));
  if (s->kind == NW_LOOP) return make_loop(k, node) ? node : NULL;
  if (s->kind == NW_GUARD && !(node->cond = number(k, s->guard.cond, "a guard"))) return NULL;
  return make_kids(k, s, node, called) ? node : NULL;
}

static bool uses(const nw_expr *e, const nw_core_node *loop) { return nw_uses_var(e, loop->stmt->loop.var->name); }

static bool depends(const nw_core_node *at, const nw_core_node *loop) {
  const nw_stmt *s = at->stmt;
  if (s->kind == NW_LOOP && at != loop && (uses(s->loop.begin, loop) || uses(s->loop.extent, loop))) return true;
  if (s->kind == NW_GUARD && uses(s->guard.cond, loop)) return true;
  for (int i = 0; i < at->nkids; i++)
    if (depends(at->kid[i], loop)) return true;
  return false;
}

static void mark(nw_core_node *at) {
  if (at->stmt->kind == NW_LOOP) at->depends = depends(at, at);
  for (int i = 0; i < at->nkids; i++) mark(at->kid[i]);
}

static int count_loops(const nw_stmt *s) {
  int n = s->kind == NW_LOOP;
  for (int i = 0; i < s->nkids; i++) n += count_loops(s->kid[i]);
  return n;
}

nw_core *nw_core_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_machine *m) {
  if (!e) return NULL;
  const nw_program *p = e->p;
  nw_core *k = nw_xcalloc(1, sizeof *k);
  *k = (nw_core){.ctx = c, .exec = nw_exec_retain((nw_exec *)e), .arena = nw_arena_new(), .machine = m};
  k->slot = NW_NEW_N(k->arena, int64_t, p->nsizes + count_loops(p->root) + 1);
  for (int i = 0; i < p->nsizes; i++) k->slot[i] = sizes[i];
  nw_name_sizes(&k->names, p);
  k->nslots = k->names.nsizes = p->nsizes;
  k->names.size = k->slot;
  k->lowered = nw_lowered_new(e, k->slot);
  k->root = nw_place_all(c, k->arena, e, k->slot, &k->places) ? make(k, p->root, NULL, false) : NULL;
  if (k->root) return mark(k->root), k;
  nw_core_free(k);
  return NULL;
}

static void free_chains(nw_core_node *at) {
  if (!at) return;
  nw_vec_free(&at->chain);
  for (int i = 0; i < at->nkids; i++) free_chains(at->kid[i]);
}

void nw_core_free(nw_core *k) {
  if (!k) return;
  free_chains(k->root);
  nw_exec_release(k->exec);
  nw_lowered_free(k->lowered);
  nw_vec_free(&k->names.name);
  nw_vec_free(&k->names.slot);
  nw_vec_free(&k->access);
  nw_arena_free(k->arena);
  free(k);
}

// ---- counting

typedef struct counting {
  nw_core *k;
  int thread, threads;
  bool inside; // true inside a parallel loop
  int64_t ticks;
  bool stop;
} counting;

static void add(int64_t *to, int64_t n) {
  if (__builtin_add_overflow(*to, n, to)) *to = INT64_MAX;
}

static int64_t product(int64_t a, int64_t b) {
  int64_t n;
  return __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
}

static void count(counting *c, nw_core_node *at, int64_t times);

static void count_kids(counting *c, nw_core_node *at, int64_t times) {
  for (int i = 0; i < at->nkids && !c->stop; i++) count(c, at->kid[i], times);
}

static void tick(counting *c) {
  if (++c->ticks % TICKS == 0 && nw_stopped(c->k->ctx)) c->stop = true;
  if (c->ticks <= MOST || c->stop) return;
  nw_fail(c->k->ctx, NW_ELIMIT, "Give smaller sizes, or simplify the loops with s:partition.",
          "counting the iterations of each loop takes more than %d steps", MOST);
  c->stop = true;
}

// Counts the executions in the iterations `from` to `to` - 1 of a loop. The loop begins `times` times.
static void count_part(counting *c, nw_core_node *at, int64_t begin, int64_t from, int64_t to, int64_t times) {
  if (to <= from) return;
  add(&at->times, product(times, to - from));
  c->k->slot[at->slot] = begin + from;
  if (!at->depends) return count_kids(c, at, product(times, to - from));
  for (int64_t i = from; i < to && !c->stop; i++) {
    tick(c);
    c->k->slot[at->slot] = begin + i;
    count_kids(c, at, times);
  }
}

static void count_share(counting *c, nw_core_node *at, int64_t begin, int64_t extent, int64_t times) {
  nw_share share = nw_share_of(extent, nw_chunk_of(at->stmt), c->thread, c->threads);
  c->inside = true;
  for (int64_t from, to; !c->stop && nw_share_next(&share, &from, &to);) count_part(c, at, begin, from, to, times);
  c->inside = false;
}

static void count(counting *c, nw_core_node *at, int64_t times) {
  const int64_t *slot = c->k->slot;
  add(&at->entered, times);
  if (at->stmt->kind == NW_LOOP) {
    int64_t begin = nw_calc_at(at->begin, slot, 0), extent = nw_calc_at(at->extent, slot, 0);
    bool share = c->threads && !c->inside && at->stmt->loop.mark == NW_PARALLEL;
    if (share)
      count_share(c, at, begin, extent, times);
    else
      count_part(c, at, begin, 0, extent, times);
  } else if (at->stmt->kind != NW_GUARD || nw_calc_at(at->cond, slot, 0)) {
    add(&at->times, times);
    count_kids(c, at, times);
  }
}

static void clear(nw_core_node *at) {
  at->entered = at->times = 0;
  for (int i = 0; i < at->nkids; i++) clear(at->kid[i]);
}

bool nw_core_count(nw_core *k, int thread, int threads) {
  counting c = {.k = k, .thread = thread, .threads = threads};
  clear(k->root);
  count(&c, k->root, 1);
  return !c.stop;
}
