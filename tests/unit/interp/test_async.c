// Tests asynchronous copies: the interpreter must notice every wait that is missing, too weak or too late, and every
// copy that is not committed.
#include "random_judged.h"

static const char *const programs[] = {
    // the elements are used at once
    "program once\ninput A: i32[4, 3]\noutput Y: i32[4, 3]\ntemp T: i32[4, 3]\n"
    "for i in 0..4:\n  alloc T[i..i + 1, 0..3]:\n    for j in 0..3:\n"
    "      async block T of T (i = i in 0..4, j = j in 0..3):\n        T[i, j] = A[i, j]\n"
    "    for k in 0..3:\n      block Y of Y (i = i in 0..4, j = k in 0..3):\n        Y[i, j] = T[i, j] + 1\n",

    // two iterations early
    "program early\ninput A: i32[7]\noutput Y: i32[7]\ntemp T: i32[7] layout [_0 % 3] in [3]\n"
    "alloc T[0..7]\n"
    "async block T.pre of T (i = 0 in 0..7):\n  T[i] = A[i]\n"
    "async block T.pre2 of T (i = 1 in 0..7):\n  T[i] = A[i]\n"
    "for i in 0..7:\n  async block T of T (i = i + 2 in 0..7) where i <= 4:\n    T[i] = A[i]\n"
    "  block Y of Y (i = i in 0..7):\n    Y[i] = T[i]*2\n",

    // two operands in shared storage, copied by other threads, one iteration early
    "program threads\ninput A: i32[5, 4]\ninput B: i32[5, 4]\noutput Y: i32[5, 4]\n"
    "temp S: i32[5, 4] shared layout [_0 % 2, _1] in [2, 4]\ntemp T: i32[5, 4] shared layout [_0 % 2, _1] in [2, 4]\n"
    "alloc S[0..5, 0..4]:\n  alloc T[0..5, 0..4]:\n"
    "    threadIdx.x for a in 0..4:\n      async block S.pre of S (i = 0 in 0..5, j = a in 0..4):\n        S[i, j] = "
    "A[i, j]\n"
    "    threadIdx.x for b in 0..4:\n      async block T.pre of T (i = 0 in 0..5, j = b in 0..4):\n        T[i, j] = "
    "B[i, j]\n"
    "    for i in 0..5:\n"
    "      threadIdx.x for c in 0..4:\n        async block S of S (i = i + 1 in 0..5, j = c in 0..4) where i <= 3:\n"
    "          S[i, j] = A[i, j]\n"
    "      threadIdx.x for d in 0..4:\n        async block T of T (i = i + 1 in 0..5, j = d in 0..4) where i <= 3:\n"
    "          T[i, j] = B[i, j]\n"
    "      threadIdx.x for x in 0..4:\n        block Y of Y (i = i in 0..5, j = x in 0..4):\n"
    "          Y[i, j] = S[i, 3 - j] - T[i, j]\n",
};

typedef struct count {
  nw_stmt_kind kind;
  int left;
  nw_stmt *found;
} count;

static bool find_nth(void *env, nw_stmt *s) {
  count *c = env;
  if (s->kind == c->kind && c->left-- == 0) c->found = s;
  return !c->found;
}

typedef void (*damage)(nw_program *p, nw_stmt *s);

static void weaken(nw_program *p, nw_stmt *s) {
  (void)p;
  s->wait.groups++;
}

static void take_out(nw_program *p, nw_stmt *s) {
  nw_path path;
  nw_find(p, s->id, &path);
  nw_kids_remove(p, path.at[path.n - 2], path.pos[path.n - 1]);
}

static void put_after_barrier(nw_program *p, nw_stmt *s) {
  nw_path path;
  nw_find(p, s->id, &path);
  nw_stmt *list = path.at[path.n - 2];
  int at = path.pos[path.n - 1];
  if (at + 1 == list->nkids || list->kid[at + 1]->kind != NW_BARRIER) return take_out(p, s);
  nw_kids_remove(p, list, at);
  nw_kids_insert(p, list, at + 1, s);
}

// Damages the n-th statement of this kind in the lowered program. Returns false if there are fewer statements. Sets
// *seen to true if the interpreter reports a race.
static bool run_damaged(nw_ctx *c, const nw_program *p, nw_stmt_kind kind, int n, damage f, bool *seen) {
  nw_program *again = nw_program_freeze(nw_program_clone(p)); // p keeps its lowered program
  nw_exec *e = nw_lower(again, NULL);
  nw_program *q = nw_program_clone(e->p);
  count k = {kind, n, NULL};
  nw_walk_from(q->root, find_nth, &k);
  if (k.found) f(q, k.found);
  nw_program_release(e->p);
  e->p = nw_program_freeze(q);
  run r = params_of(p, 1);
  nw_clear(c);
  *seen = !nw_interp_exec(c, e, NULL, r.view, NULL) && nw_error(c)->code == NW_ERACE;
  nw_clear(c);
  free_run(&r);
  nw_exec_release(e);
  nw_program_release(again);
  return k.found;
}

static void every_wait_and_commit_is_needed(void **state) {
  (void)state;
  static const struct {
    nw_stmt_kind kind;
    damage f;
    int most; // number of statements to damage; the commit of the last iteration, for example, has no copies
  } damages[] = {
      {NW_WAIT, weaken, 100}, {NW_WAIT, take_out, 100}, {NW_WAIT, put_after_barrier, 100}, {NW_COMMIT, take_out, 2}};
  for (int i = 0; i < NW_COUNT(programs); i++) {
    nw_ctx *c = nw_open();
    nw_pool *pool = nw_pool_new(c);
    nw_program *p = nw_program_parse(c, pool, programs[i]);
    if (!p) fail_msg("%s", nw_error(c)->message);
    run plain, lowered;
    if (!run_program(c, p, false, 1, &plain)) fail_msg("program %d: %s", i, nw_error(c)->message);
    if (!run_program(c, p, true, 1, &lowered)) fail_msg("program %d: %s", i, nw_error(c)->message);
    assert_true(same_run(&plain, &lowered));
    for (int k = 0; k < NW_COUNT(damages); k++) {
      bool seen, none = true;
      for (int n = 0; n < damages[k].most && run_damaged(c, p, damages[k].kind, n, damages[k].f, &seen);
           n++, none = false)
        if (!seen) fail_msg("program %d, damage %d of statement %d is not noticed", i, k, n);
      if (none) fail_msg("program %d has no statement for damage %d", i, k);
    }
    free_run(&plain);
    free_run(&lowered);
    nw_program_release(p);
    nw_pool_release(pool);
    nw_close(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_wait_and_commit_is_needed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
