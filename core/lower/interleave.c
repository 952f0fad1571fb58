// Pass: moves the loops of virtual threads inwards, and splits a thread loop at every barrier.
//
// A loop bound to vthread is moved into the sequences, allocations, guards and loops inside it. It is not moved into
// vectorized loops, nor into loops and guards whose bounds or condition use its variable. Neighbouring statements into
// which the loop is not moved get one copy of the loop around them. Barriers stay outside of the copies. Allocations
// stay outside, too, so each buffer becomes larger and has a separate part for each virtual thread. A local buffer does not
// become larger at a thread loop, since it has a separate part for each thread already. The judge has
// checked that virtual threads are independent, so any order of them is correct. A guard around a barrier that depends
// on the virtual thread is moved inwards first: all threads of the block reach the barrier, because no thread differs
// from another in the guard. A thread loop is split in a similar way, but only at the barriers inside it. After each
// barrier, a new thread loop begins.
#include "lower/pass.h"

enum { UNROLL_BELOW = 16 }; // with fewer virtual threads than this, the copies of a loop are unrolled

typedef struct spread {
  nw_program *p;
  nw_stmt *loop;
  bool all; // true if the loop is moved inwards as far as possible; false if it is moved only past barriers
  bool used; // true if the loop itself has a new place already, so that the next places get copies
  nw_vec *copies; // the copies of the loop; they get unique names when the tree is complete
  bool failed;
} spread;

// True if s consists of loops around one instruction of an accelerator, which executes them itself.
static bool is_instruction(const nw_program *p, const nw_stmt *s) {
  if (p->target->machine.kind != NW_MACHINE_ACCELERATOR) return false;
  while (s->kind == NW_LOOP && s->nkids == 1) s = s->kid[0];
  return s->kind == NW_CALL;
}

// True if the loop must be moved into s, and can be moved there.
static bool goes_in(const spread *x, const nw_stmt *s) {
  const char *var = x->loop->loop.var->name;
  switch (s->kind) {
  case NW_BARRIER:
  case NW_COMMIT:
  case NW_WAIT: return true;
  case NW_SEQ:
  case NW_ALLOC: return x->all || nw_has_barrier(s);
  case NW_GUARD: return (x->all || nw_has_barrier(s)) && !nw_uses_var(s->guard.cond, var);
  case NW_LOOP:
    return (x->all || nw_has_barrier(s)) && !is_instruction(x->p, s) && s->loop.mark != NW_VECTORIZED &&
           !nw_uses_var(s->loop.begin, var) && !nw_uses_var(s->loop.extent, var);
  default: return false;
  }
}

// ---- a copy of storage for each iteration

typedef struct shift {
  nw_pool *pool;
  const char *buffer;
  const nw_expr *by;
} shift;

static const nw_expr *shifted_load(void *env, const nw_expr *load) {
  const shift *s = env;
  if (strcmp(load->name, s->buffer)) return NULL;
  const nw_expr *index = nw_add(s->pool, load->arg[0], s->by);
  return nw_load(s->pool, load->type, load->name, 1, &index);
}

static const nw_expr *shift_expr(void *env, const nw_expr *e) {
  const shift *s = env;
  return nw_rewrite(s->pool, e, NULL, shifted_load, env);
}

static void shift_stores(const shift *s, nw_stmt *at) {
  if (at->kind == NW_STORE && !strcmp(at->store.buffer, s->buffer))
    at->store.index = nw_add(s->pool, at->store.index, s->by);
  for (int i = 0; at->kind == NW_CALL && i < at->call.ntiles; i++) {
    nw_tile *t = &at->call.tile[i];
    if (!strcmp(t->buffer, s->buffer)) t->index = nw_add(s->pool, t->index, s->by);
  }
  for (int i = 0; i < at->nkids; i++) shift_stores(s, at->kid[i]);
}

static void copy_storage(const spread *x, nw_stmt *alloc) {
  nw_pool *pool = x->p->pool;
  const nw_stmt *l = x->loop;
  const nw_expr *turn = nw_sub(pool, l->loop.var, l->loop.begin), *n = alloc->alloc.extent[0];
  shift s = {pool, alloc->alloc.buffer, nw_mul(pool, turn, n)};
  for (int i = 0; i < alloc->nkids; i++) nw_tree_exprs(alloc->kid[i], shift_expr, &s);
  shift_stores(&s, alloc);
  alloc->alloc.extent[0] = nw_mul(pool, n, l->loop.extent);
}

// Each thread has its own array for a local buffer already.
static bool needs_copies(const spread *x, const nw_stmt *alloc) {
  return x->all || nw_find_buffer(x->p, alloc->alloc.buffer)->scope != NW_LOCAL;
}

// ---- the loop around consecutive statements

static nw_stmt *loop_for(spread *x) {
  nw_stmt *l = x->loop;
  if (!x->used) return x->used = true, l;
  nw_stmt *copy = nw_new_loop(x->p, l->loop.var->name, l->loop.begin, l->loop.extent);
  copy->step = l->step;
  copy->loop.mark = l->loop.mark;
  copy->loop.threads = l->loop.threads;
  nw_vec_push(x->copies, copy);
  return copy;
}

static void wrap(spread *x, nw_vec *run, nw_vec *out) {
  if (!run->n) return;
  nw_stmt *l = loop_for(x);
  nw_kids_set(x->p, l, run->n, (nw_stmt **)run->at);
  nw_vec_push(out, l);
  run->n = 0;
}

// ---- guards around barriers

static void guard_inside(nw_program *p, const nw_stmt *guard, nw_stmt *s);

// Adds s to `out`: with the guard around it, or inside it if it contains a barrier.
static void guard_around(nw_program *p, const nw_stmt *guard, nw_stmt *s, nw_vec *out) {
  nw_vec_push(out, s);
  if (nw_has_barrier(s)) {
    if (s->nkids) guard_inside(p, guard, s);
    return;
  }
  nw_stmt *copy = nw_new_like(p, NW_GUARD, guard);
  copy->guard.cond = guard->guard.cond;
  nw_kids_set(p, copy, 1, &s);
  out->at[out->n - 1] = copy;
}

// Moves the guard into s, which contains a barrier.
static void guard_inside(nw_program *p, const nw_stmt *guard, nw_stmt *s) {
  nw_vec kids = {0};
  for (int i = 0; i < s->nkids; i++) guard_around(p, guard, s->kid[i], &kids);
  nw_kids_set(p, s, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
}

// True if the loop of virtual threads can be moved into s only after the guard s was moved inwards.
static bool is_guard_of(const spread *x, const nw_stmt *s) {
  return x->all && s->kind == NW_GUARD && nw_has_barrier(s) && nw_uses_var(s->guard.cond, x->loop->loop.var->name);
}

// ---- allocations of an accelerator
//
// A unit of an accelerator executes its instructions in order. If the copies of all virtual threads into one array came
// before those into the next array, the first thread's product would wait for the second thread's copy. So statements stay
// together, with the allocations between them moved before them.

static bool has_alloc(const nw_stmt *s) {
  bool any = s->kind == NW_ALLOC;
  for (int i = 0; i < s->nkids && !any; i++) any = has_alloc(s->kid[i]);
  return any;
}

// If the last statement is an allocation, moves the statements before it into it.
static void gather(nw_program *p, nw_stmt *s) {
  for (int i = 0; i < s->nkids; i++) gather(p, s->kid[i]);
  int n = s->nkids - 1;
  nw_stmt *last = n > 0 ? s->kid[n] : NULL;
  bool moves = last && last->kind == NW_ALLOC;
  for (int i = 0; i < n && moves; i++) moves = !has_alloc(s->kid[i]);
  if (!moves) return;
  nw_vec kids = {0};
  for (int i = 0; i < n; i++) nw_vec_push(&kids, s->kid[i]);
  for (int i = 0; i < last->nkids; i++) nw_vec_push(&kids, last->kid[i]);
  nw_kids_set(p, last, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
  nw_kids_set(p, s, 1, &last);
}

// ---- moving inwards

// Adds the statements to `out`. The loop is moved into each statement for which goes_in is true. The other statements
// get copies of the loop around them, one copy for neighbouring statements.
static void spread_over(spread *x, int n, nw_stmt **kid, nw_vec *out) {
  nw_vec run = {0};
  for (int i = 0; i < n; i++) {
    if (is_guard_of(x, kid[i])) {
      wrap(x, &run, out);
      guard_inside(x->p, kid[i], kid[i]);
      spread_over(x, kid[i]->nkids, kid[i]->kid, out);
      continue;
    }
    if (!goes_in(x, kid[i])) {
      x->failed |= nw_has_barrier(kid[i]);
      nw_vec_push(&run, kid[i]);
      continue;
    }
    wrap(x, &run, out);
    nw_vec inside = {0};
    if (kid[i]->kind == NW_ALLOC && needs_copies(x, kid[i])) copy_storage(x, kid[i]);
    spread_over(x, kid[i]->nkids, kid[i]->kid, &inside);
    if (kid[i]->nkids) nw_kids_set(x->p, kid[i], inside.n, (nw_stmt **)inside.at);
    nw_vec_push(out, kid[i]);
    nw_vec_free(&inside);
  }
  wrap(x, &run, out);
  nw_vec_free(&run);
}

static bool spread_loop(nw_program *p, nw_stmt *loop, nw_vec *copies, nw_vec *out) {
  spread x = {.p = p, .loop = loop, .copies = copies, .all = nw_is_vthread_loop(loop)};
  int64_t n;
  loop->loop.threads = x.all;
  if (x.all) loop->loop.mark = nw_is_int(loop->loop.extent, &n) && n < UNROLL_BELOW ? NW_UNROLLED : NW_SERIAL;
  if (x.all && p->target->machine.kind == NW_MACHINE_ACCELERATOR) gather(p, loop);
  int nkids = loop->nkids;
  nw_stmt **kid = loop->kid;
  spread_over(&x, nkids, kid, out);
  return !x.failed || nw_fail(p->ctx, NW_ELIMIT,
                              "A guard or loop bound around the barrier depends on the thread. Undo the step that "
                              "made it, or use a factor that divides the extent.",
                              "not every thread of %s would reach a barrier", loop->loop.var->name);
}

// Moves the loops inside s, the innermost loops first. Returns false, with a diagnostic, on failure.
static bool spread_kids(nw_program *p, nw_stmt *s, nw_vec *copies) {
  nw_vec out = {0};
  bool ok = true;
  for (int i = 0; i < s->nkids && ok; i++) {
    nw_stmt *kid = s->kid[i];
    ok = spread_kids(p, kid, copies);
    bool apart = nw_is_vthread_loop(kid) || (nw_is_thread_loop(kid) && nw_has_barrier(kid));
    if (apart && ok)
      ok = spread_loop(p, kid, copies, &out);
    else
      nw_vec_push(&out, kid);
  }
  if (s->nkids) nw_kids_set(p, s, out.n, (nw_stmt **)out.at);
  nw_vec_free(&out);
  return ok;
}

// ---- names

static void name_loop(nw_program *p, nw_stmt *loop) {
  const char *old = loop->loop.var->name;
  loop->loop.var = nw_var(p->pool, nw_unique_loop_name(p, old));
  for (int i = 0; i < loop->nkids; i++) nw_stmt_subst(p, loop->kid[i], old, loop->loop.var);
}

nw_program *nw_pass_interleave(nw_program *p) {
  if (!nw_find_bound(p->root)) return p;
  nw_vec copies = {0};
  bool ok = spread_kids(p, p->root, &copies);
  for (int i = 0; ok && i < copies.n; i++) name_loop(p, copies.at[i]);
  nw_vec_free(&copies);
  if (!ok) return NULL;
  nw_shape_temps(p);
  return p;
}
