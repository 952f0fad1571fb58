// Pass: replaces unrolled loops by their iterations. Allocations inside an unrolled loop are first moved out of the
// loop, so that all iterations share a buffer. If the result exceeds NW_CODE_LIMIT, the pass fails before it copies
// anything.
#include "lower/pass.h"

static nw_stmt *expand(nw_program *p, nw_stmt *s);

static nw_stmt *iteration(nw_program *p, nw_stmt *kid, const char *var, const nw_expr *at, bool last) {
  nw_stmt *copy = last ? kid : nw_copy_stmt(p, kid);
  nw_stmt_subst(p, copy, var, at);
  return copy;
}

static void move_allocs_out(nw_program *p, nw_stmt *loop, nw_vec *allocs) {
  while (loop->nkids == 1 && loop->kid[0]->kind == NW_ALLOC) {
    nw_stmt *alloc = loop->kid[0];
    if (nw_uses_var(alloc->alloc.extent[0], loop->loop.var->name)) return;
    nw_vec_push(allocs, alloc);
    nw_kids_set(p, loop, alloc->nkids, alloc->kid);
  }
}

// Notes at the calls inside s that they belong to virtual thread number i of n. Inner loops were unrolled before.
static void set_thread(nw_stmt *s, int i, int n) {
  if (s->kind == NW_CALL) {
    int inner = s->call.threads ? s->call.threads : 1;
    s->call.thread += i * inner;
    s->call.threads = n * inner;
  }
  for (int k = 0; k < s->nkids; k++) set_thread(s->kid[k], i, n);
}

static nw_stmt *unrolled(nw_program *p, nw_stmt *loop, int64_t n) {
  nw_vec out = {0}, allocs = {0};
  move_allocs_out(p, loop, &allocs);
  for (int64_t i = 0; i < n; i++) {
    const nw_expr *at = nw_add(p->pool, loop->loop.begin, nw_index(p->pool, i));
    for (int k = 0; k < loop->nkids; k++) {
      nw_stmt *copy = iteration(p, loop->kid[k], loop->loop.var->name, at, i == n - 1);
      if (loop->loop.threads) set_thread(copy, (int)i, (int)n);
      nw_vec_push(&out, copy);
    }
  }
  nw_stmt *s = nw_new_stmt(p, NW_SEQ);
  nw_kids_set(p, s, out.n, (nw_stmt **)out.at);
  for (int i = allocs.n - 1; i >= 0; i--) {
    nw_kids_set(p, allocs.at[i], 1, &s);
    s = allocs.at[i];
  }
  nw_vec_free(&out);
  nw_vec_free(&allocs);
  return s;
}

// Expands inner loops first, so that a body has its final form when it is copied.
static nw_stmt *expand(nw_program *p, nw_stmt *s) {
  int64_t n;
  for (int i = 0; i < s->nkids; i++) s->kid[i] = expand(p, s->kid[i]);
  if (s->kind != NW_LOOP || !nw_is_int(s->loop.extent, &n)) return s;
  bool once = n == 1 && s->loop.mark < NW_PARALLEL;
  if (s->loop.mark == NW_UNROLLED || once || n <= 0) return unrolled(p, s, n > 0 ? n : 0);
  return s;
}

static bool constant_extents(nw_program *p, const nw_stmt *s) {
  int64_t n;
  if (s->kind == NW_LOOP && s->loop.mark == NW_UNROLLED && !nw_is_int(s->loop.extent, &n)) {
    nw_fail(p->ctx, NW_ELIMIT, "unmark it, or split it by a constant first",
            "the unrolled loop %s has no constant extent", s->loop.var->name);
    return false;
  }
  for (int i = 0; i < s->nkids; i++) {
    if (!constant_extents(p, s->kid[i])) return false;
  }
  return true;
}

nw_program *nw_pass_unroll(nw_program *p) {
  int64_t size = nw_code_size(p->root);
  if (!constant_extents(p, p->root)) return NULL;
  if (size > NW_CODE_LIMIT) {
    return nw_fail(p->ctx, NW_ELIMIT, "Unroll less: compiling such a program could not be interrupted.",
                   "this program would have about %lld instructions; the limit is %d", (long long)size, NW_CODE_LIMIT);
  }
  expand(p, p->root);
  return p;
}
