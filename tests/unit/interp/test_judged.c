// Compares the judge (the legality check) with the interpreter. Programs are changed at random, and most changes make
// them wrong. A program that the judge accepts must give the same results as before. If the judge accepts a loop as
// parallel or as a vector, the program must also give the same results with this loop reversed.
#include "random_judged.h"
#include "ir/program/valid.h"

static const char *const bases[] = {
    "program gemm\ninput A: i32[6, 7]\ninput B: i32[7, 5]\noutput C: i32[6, 5]\n"
    "for i in 0..6:\n  for j in 0..5:\n    for k in 0..7:\n"
    "      block C of C (i = i in 0..6, j = j in 0..5, reduce k = k in 0..7):\n"
    "        init C[i, j] = i32(0)\n        C[i, j] += A[i, k]*B[k, j]\n",

    "program tiles\ninput A: i32[6, 8]\ninput B: i32[8, 5]\noutput C: i32[6, 5]\ntemp L: i32[6, 5] local\n"
    "for i_o in 0..3:\n  alloc L[2*i_o..2*i_o + 2, 0..5]:\n    for k_o in 0..2:\n      for i_i in 0..2:\n"
    "        for j in 0..5:\n          for k_i in 0..4:\n"
    "            block C of C (i = 2*i_o + i_i in 0..6, j = j in 0..5, reduce k = 4*k_o + k_i in 0..8):\n"
    "              init L[i, j] = i32(0)\n              L[i, j] += A[i, k]*B[k, j]\n"
    "    for a in 0..2:\n      for b in 0..5:\n        block W of W (i = 2*i_o + a in 0..6, j = b in 0..5):\n"
    "          C[i, j] = L[i, j]\n",

    "program halo\ninput A: i32[12]\noutput Y: i32[10]\ntemp X: i32[12]\n"
    "for o in 0..3:\n  alloc X[4*o..4*o + 6]:\n    for a in 0..6:\n"
    "      block X of X (i = 4*o + a in 0..12) where 4*o + a < 12:\n        X[i] = A[i]*3\n"
    "    for p in 0..4:\n      block Y of Y (j = 4*o + p in 0..10) where 4*o + p < 10:\n        Y[j] = X[j] + X[j + "
    "2]\n",

    "program stages\ninput A: i32[9]\noutput Y: i32[7]\ntemp X: i32[9]\ntemp P: i32[9]\n"
    "alloc X[0..9]:\n  alloc P[0..9]:\n    for i in 0..9:\n      block X of X (i = i in 0..9):\n        X[i] = A[i]*3\n"
    "    for p in 0..9:\n      block P of P (i = p in 0..9):\n        P[i] = X[i]\n"
    "    for j in 0..7:\n      block Y of Y (j = j in 0..7):\n        Y[j] = P[j] + X[j + 2]\n",

    "program heat\ninput A: i32[8]\noutput S: i32[5, 8]\n"
    "for x in 0..8:\n  block S0 of S0 (t = 0 in 0..1, x = x in 0..8):\n    S[t, x] = A[x]\n"
    "for t in 1..5:\n  for y in 0..8:\n    block S of S (t = t in 1..5, x = y in 0..8):\n"
    "      S[t, x] = S[t - 1, max(x - 1, 0)] - S[t - 1, min(x + 1, 7)]\n",

    "program sweep\ninput A: i32[8]\noutput S: i32[4, 8]\n"
    "for x in 0..8:\n  block S0 of S0 (t = 0 in 0..1, x = x in 0..8):\n    S[t, x] = A[x]\n"
    "for t in 1..4:\n  for y in 0..8:\n    block S of S (t = t in 1..4, x = y in 0..8):\n"
    "      S[t, x] = S[t - 1, min(x + 1, 7)] + select(x > 0, S[t, max(x - 1, 0)], 0)\n",

    "program line\ninput A: i32[16]\noutput X: i32[16]\n"
    "for z in 0..16:\n  block Z of Z (i = z in 0..16):\n    X[i] = A[i]\n"
    "for i in 1..15:\n  block X of X (i = i in 1..15):\n    X[i] = X[i + 1] + X[i]\n",

    "program apart\ninput A: i32[5, 8]\noutput Y: i32[5]\ntemp R: i32[5]\n"
    "alloc R[0..5]:\n  for z in 0..5:\n    init block R_init of R (i = z in 0..5):\n      R[i] = i32(0)\n"
    "  for k in 0..8:\n    for i in 0..5:\n      block R of R (i = i in 0..5, reduce k = k in 0..8):\n"
    "        init R[i] = i32(0) elsewhere\n        R[i] += A[i, k]\n"
    "  for y in 0..5:\n    block Y of Y (i = y in 0..5):\n      Y[i] = R[i]*2\n",

    "program pad\ninput A: i32[9]\ninput F: i32[3]\noutput Y: i32[9]\ntemp P: i32[11]\n"
    "for y in 0..9:\n  alloc P[y..y + 3]:\n    for a in 0..3:\n      block P of P (i = y + a in 0..11):\n"
    "        P[i] = select(i >= 1 and i < 10, A[i - 1], 0)\n"
    "    for k in 0..3:\n      block Y of Y (i = y in 0..9, reduce k = k in 0..3):\n"
    "        init Y[i] = i32(0)\n        Y[i] += P[i + k]*F[k]\n",

    "program fused\ninput A: i32[4, 6]\ninput I: i32[4]\noutput Y: i32[4, 6]\n"
    "for f in 0..fuse(4, 6):\n  block Y of Y (i = f // 6 in 0..4, j = f % 6 in 0..6):\n"
    "    Y[i, j] = A[min(max(i64(I[i]), 0), 3), j] + A[i, j]\n",

    "program cut\ninput A: i32[10]\noutput R: i32[]\n"
    "for o in 0..2:\n  for p in 0..4:\n    block R of R (reduce k = 4*o + p in 0..10):\n      init R[] = i32(0)\n      "
    "R[] += A[k]\n"
    "for q in 0..2:\n  block R.tail of R (reduce k = 8 + q in 0..10):\n    init R[] = i32(0)\n    R[] += A[k]\n",
};

// ---- changes

static nw_stmt *only_loop_inside(const nw_stmt *s) {
  nw_stmt *kid = s->nkids == 1 ? s->kid[0] : NULL;
  while (kid && kid->kind == NW_SEQ && kid->nkids == 1) kid = kid->kid[0];
  return kid && kid->kind == NW_LOOP ? kid : NULL;
}

static bool swap_loops(nw_program *p) {
  nw_path path;
  nw_stmt *a = any(p, NW_LOOP, &path), *b = a ? only_loop_inside(a) : NULL;
  if (!b) return false;
  nw_stmt t = *a;
  a->loop = b->loop;
  b->loop = t.loop;
  return true;
}

static bool change_bounds(nw_program *p) {
  nw_path path;
  nw_stmt *l = any(p, NW_LOOP, &path);
  if (!l || l->loop.nfused) return false;
  const nw_expr **e = below(2) ? &l->loop.extent : &l->loop.begin;
  *e = nw_add(p->pool, *e, nw_index(p->pool, below(2) ? 1 : -1));
  return true;
}

static bool reverse_loop(nw_program *p, nw_stmt *l) {
  if (l->loop.nfused) return false;
  const nw_expr *last = nw_add(p->pool, nw_add(p->pool, l->loop.begin, l->loop.begin),
                               nw_sub(p->pool, l->loop.extent, nw_index(p->pool, 1)));
  for (int i = 0; i < l->nkids; i++) nw_stmt_subst(p, l->kid[i], l->loop.var->name, nw_sub(p->pool, last, l->loop.var));
  return true;
}

static bool reverse_any(nw_program *p) {
  nw_path path;
  nw_stmt *l = any(p, NW_LOOP, &path);
  return l && reverse_loop(p, l);
}

static const nw_expr *some_loop(const nw_path *path) {
  int n = 0;
  for (int i = 0; i < path->n; i++) n += path->at[i]->kind == NW_LOOP;
  int at = below(n);
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_LOOP && !at--) return path->at[i]->loop.var;
  return NULL;
}

static bool change_bind(nw_program *p) {
  nw_path path;
  nw_stmt *b = any(p, NW_BLOCK, &path);
  const nw_expr *loop = b ? some_loop(&path) : NULL;
  if (!b || !b->block.nvars || !loop) return false;
  nw_block_var *v = &b->block.var[below(b->block.nvars)];
  const nw_expr *by[] = {nw_index(p->pool, 1), nw_index(p->pool, -1), loop,
                         nw_sub(p->pool, nw_index(p->pool, 0), loop)};
  v->bind = nw_add(p->pool, v->bind, by[below(4)]);
  return true;
}

static bool change_where(nw_program *p) {
  nw_path path;
  nw_stmt *b = any(p, NW_BLOCK, &path);
  const nw_expr *loop = b ? some_loop(&path) : NULL;
  if (!loop) return false;
  if (b->block.where && below(3) == 0) {
    b->block.where = NULL;
    return true;
  }
  const nw_expr *limit = nw_index(p->pool, below(6));
  const nw_expr *cond = below(2) ? nw_lt(p->pool, loop, limit) : nw_lt(p->pool, limit, loop);
  b->block.where = nw_and(p->pool, b->block.where, cond);
  return true;
}

static nw_stmt *with_kids(nw_program *p, int least) {
  nw_stmt_kind kinds[] = {NW_SEQ, NW_LOOP, NW_ALLOC};
  nw_path path;
  nw_stmt *s = below(3) ? any(p, kinds[below(3)], &path) : p->root;
  return s && s->nkids >= least ? s : NULL;
}

static bool swap_kids(nw_program *p) {
  nw_stmt *s = with_kids(p, 2);
  if (!s) return false;
  int at = below(s->nkids - 1);
  nw_stmt *kid = s->kid[at];
  s->kid[at] = s->kid[at + 1];
  s->kid[at + 1] = kid;
  return true;
}

static bool copy_kid(nw_program *p) {
  nw_stmt *s = with_kids(p, 1);
  if (!s) return false;
  int at = below(s->nkids);
  nw_kids_insert(p, s, at, nw_copy_stmt(p, s->kid[at]));
  return true;
}

static bool drop_kid(nw_program *p) {
  nw_stmt *s = with_kids(p, 2);
  if (!s) return false;
  nw_kids_remove(p, s, below(s->nkids));
  return true;
}

// Splits the body of a loop: `for l: a; b` becomes `for l: a` and `for l': b`.
static bool fission(nw_program *p) {
  nw_path path;
  nw_stmt *l = any(p, NW_LOOP, &path);
  if (!l || l->nkids < 2) return false;
  int at = 1 + below(l->nkids - 1);
  nw_stmt *second = nw_copy_stmt(p, l);
  for (int i = 0; i < at; i++) nw_kids_remove(p, second, 0);
  while (l->nkids > at) nw_kids_remove(p, l, at);
  nw_kids_insert(p, path.at[path.n - 2], path.pos[path.n - 1] + 1, second);
  return true;
}

// Moves an alloc out of the loop around the alloc, or into the loop inside the alloc.
static bool move_alloc(nw_program *p) {
  nw_path path;
  nw_stmt *a = any(p, NW_ALLOC, &path);
  if (!a) return false;
  nw_stmt *parent = path.at[path.n - 2];
  bool in = a->nkids == 1 && a->kid[0]->kind == NW_LOOP, out = parent->kind == NW_LOOP && parent->nkids == 1;
  nw_stmt *l = in && (!out || below(2)) ? a->kid[0] : out ? parent : NULL;
  if (!l) return false;
  nw_stmt *upper = l == parent ? l : a, *lower = l == parent ? a : l, swap = *upper;
  int nkids = lower->nkids;
  nw_stmt **kids = lower->kid;
  *upper = *lower;
  *lower = swap;
  upper->nkids = swap.nkids;
  upper->kid = swap.kid;
  lower->nkids = nkids;
  lower->kid = kids;
  return true;
}

static bool change_alloc(nw_program *p) {
  nw_path path;
  nw_stmt *a = any(p, NW_ALLOC, &path);
  if (!a || !a->alloc.n) return false;
  int d = below(a->alloc.n);
  const nw_expr **e = below(2) ? &a->alloc.min[d] : &a->alloc.extent[d];
  *e = nw_add(p->pool, *e, nw_index(p->pool, below(2) ? 1 : -1));
  return true;
}

static bool drop_init(nw_program *p) {
  nw_path path;
  nw_stmt *b = any(p, NW_BLOCK, &path);
  if (!b || !b->block.has_init) return false;
  b->block.has_init = false;
  return true;
}

static bool mark_loop(nw_program *p) {
  nw_path path;
  nw_stmt *l = any(p, NW_LOOP, &path);
  if (!l) return false;
  l->loop.mark = below(2) ? NW_PARALLEL : NW_VECTORIZED;
  return true;
}

static void guard_blocks(nw_program *p, nw_stmt *s, const nw_expr *cond) {
  if (s->kind == NW_BLOCK && cond->op != NW_OP_INT) s->block.where = nw_and(p->pool, s->block.where, cond);
  for (int i = 0; i < s->nkids; i++) guard_blocks(p, s->kid[i], cond);
}

// Splits a loop by 2 or 3, with or without the guard that a tail needs.
static bool split(nw_program *p) {
  nw_path path;
  nw_stmt *l = any(p, NW_LOOP, &path);
  int64_t begin, extent;
  if (!l || l->loop.nfused || !nw_is_int(l->loop.begin, &begin) || !nw_is_int(l->loop.extent, &extent)) return false;
  int64_t f = 2 + below(2);
  nw_pool *pool = p->pool;
  nw_stmt *inner = nw_new_loop(p, nw_unique_loop_name(p, "in"), nw_index(pool, 0), nw_index(pool, f));
  nw_stmt *outer = nw_new_loop(p, nw_unique_loop_name(p, "out"), nw_index(pool, 0),
                               nw_index(pool, (extent + (below(4) ? f - 1 : 0)) / f));
  const nw_expr *v = nw_add(pool, nw_index(pool, begin),
                            nw_add(pool, nw_mul(pool, nw_index(pool, f), outer->loop.var), inner->loop.var));
  nw_kids_set(p, inner, l->nkids, l->kid);
  nw_stmt_subst(p, inner, l->loop.var->name, v);
  nw_kids_set(p, outer, 1, &inner);
  if (below(4)) guard_blocks(p, inner, nw_lt(pool, v, nw_index(pool, begin + extent)));
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], outer);
  return true;
}

static bool (*const changes[])(nw_program *) = {
    swap_loops, change_bounds, reverse_any, change_bind,  change_where, swap_kids, copy_kid,  split,
    drop_kid,   fission,       move_alloc,  change_alloc, drop_init,    mark_loop, mark_loop, split};

// ---- running

// Checks that the new program computes the same as the old program, both before and after lowering.
static void agree(nw_ctx *c, const nw_program *before, const nw_program *after, const char *what) {
  run a, b, low;
  nw_clear(c);
  if (!run_program(c, before, false, 1, &a)) complain(c, before, after, what);
  if (!run_program(c, after, false, 2, &b) || !same_run(&a, &b)) complain(c, before, after, what);
  if (!run_program(c, after, true, 3, &low)) {
    if (nw_error(c)->code != NW_ELIMIT) complain(c, before, after, "lowered");
  } else if (!same_run(&a, &low)) {
    complain(c, before, after, "lowered");
  }
  free_run(&a);
  free_run(&b);
  free_run(&low);
}

// ---- the test

static nw_program *changed(const nw_program *p, int times) {
  nw_program *q = nw_program_clone(p);
  for (int i = 0; i < times; i++)
    for (int tries = 0; tries < 8 && !changes[below(NW_COUNT(changes))](q); tries++) {}
  nw_flaw flaw;
  if (nw_program_flaw(q, &flaw)) {
    nw_program_release(q);
    return NULL;
  }
  return nw_program_freeze(q);
}

static bool is_marked(const nw_stmt *s) {
  return s->kind == NW_LOOP && (s->loop.mark == NW_PARALLEL || s->loop.mark == NW_VECTORIZED);
}

static bool binds_no_reduce(void *env, nw_stmt *s) {
  const char *loop = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++)
    if (s->block.var[i].kind == NW_REDUCE && nw_uses_var(s->block.var[i].bind, loop)) return false;
  return true;
}

// Reverses a marked loop if the loop does not bind a reduce axis. A marked loop that binds a reduce axis has at most
// one iteration. If this loop has no iteration, the init of the reduction is still executed, at the first value of the
// loop. A reversed loop begins at another value.
static bool reverse_marked(void *env, const nw_path *path) {
  nw_stmt *s = path->at[path->n - 1];
  if (is_marked(s) && nw_walk_from(s, binds_no_reduce, (void *)s->loop.var->name)) reverse_loop(env, s);
  return true;
}

static nw_program *backwards(const nw_program *p) {
  nw_program *q = nw_program_clone(p);
  nw_walk(q, reverse_marked, q);
  return nw_program_freeze(q);
}

static bool try_change(nw_ctx *c, nw_program **p) {
  nw_program *q = changed(*p, 1 + below(3));
  if (!q) return false;
  nw_clear(c);
  bool accepted = nw_judge(*p, q);
  if (!accepted) {
    assert_non_null(nw_error(c));
    nw_program_release(q);
    return false;
  }
  agree(c, *p, q, "accepted, but the values differ");
  nw_program *r = backwards(q);
  agree(c, q, r, "marks accepted, but the values differ if the marked loops run backwards");
  nw_program_release(r);
  nw_program_release(*p);
  *p = q;
  return true;
}

static void accepted_programs_compute_the_same(void **state) {
  (void)state;
  const char *wanted = getenv("NW_JUDGED_CASES");
  int cases = wanted ? atoi(wanted) : 60, accepted = 0, tried = 0;
  const char *only = getenv("NW_JUDGED_ONLY");
  for (int seed = only ? atoi(only) : 1; seed <= (only ? atoi(only) : cases); seed++) {
    state_of_chance = (uint64_t)seed;
    case_number = seed;
    nw_ctx *c = nw_open();
    nw_pool *pool = nw_pool_new(c);
    nw_program *p = nw_program_parse(c, pool, bases[seed % NW_COUNT(bases)]);
    if (!p) fail_msg("%s", nw_error(c)->message);
    for (int i = 0; i < 25; i++, tried++) accepted += try_change(c, &p);
    nw_program_release(p);
    nw_pool_release(pool);
    nw_close(c);
  }
  print_message("%d changes tried, %d accepted\n", tried, accepted);
  assert_true(accepted * 20 > tried);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(accepted_programs_compute_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
