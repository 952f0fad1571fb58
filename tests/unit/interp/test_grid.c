// Compares the judge (the legality check) with the interpreter on grids. The loops of small programs are bound to
// blocks and threads at random. A program that the judge accepts must run without a race and compute the same, with
// blocks and threads in either order. If the judge refuses a program because of a conflict between blocks or threads,
// the interpreter must detect a race. The interpreter shares no code with the judge.
#include "random_judged.h"

static const char *const bases[] = {
    "program tiles\ninput A: i32[6, 8]\ninput B: i32[8, 6]\noutput C: i32[6, 6]\ntemp S: i32[6, 8] shared\n"
    "for i_o in 0..2:\n  for j_o in 0..2:\n    for k_o in 0..4:\n      alloc S[3*i_o..3*i_o + 3, 2*k_o..2*k_o + 2]:\n"
    "        for a in 0..3:\n          for b in 0..2:\n"
    "            block S of S (i = 3*i_o + a in 0..6, k = 2*k_o + b in 0..8):\n              S[i, k] = A[i, k]\n"
    "        for i_i in 0..3:\n          for j_i in 0..3:\n            for k_i in 0..2:\n"
    "              block C of C (i = 3*i_o + i_i in 0..6, j = 3*j_o + j_i in 0..6, reduce k = 2*k_o + k_i in 0..8):\n"
    "                init C[i, j] = i32(0)\n                C[i, j] += S[i, k]*B[k, j]\n",

    "program halo\ninput A: i32[12]\noutput Y: i32[10]\ntemp X: i32[12] shared\n"
    "for o in 0..3:\n  alloc X[4*o..4*o + 6]:\n    for a in 0..6:\n"
    "      block X of X (i = 4*o + a in 0..12) where 4*o + a < 12:\n        X[i] = A[i]*3\n"
    "    for p in 0..4:\n      block Y of Y (j = 4*o + p in 0..10) where 4*o + p < 10:\n        Y[j] = X[j] + X[j + "
    "2]\n",

    "program own\ninput A: i32[12]\noutput Y: i32[12]\ntemp X: i32[12] local\n"
    "for o in 0..3:\n  alloc X[4*o..4*o + 4]:\n    for a in 0..4:\n"
    "      block X of X (i = 4*o + a in 0..12):\n        X[i] = A[i]*3\n"
    "    for p in 0..4:\n      block Y of Y (j = 4*o + p in 0..12):\n        Y[j] = X[j] + 1\n",

    "program warps\ninput A: i32[80]\noutput Y: i32[80]\ntemp X: i32[80] warp\n"
    "for o in 0..2:\n  alloc X[40*o..40*o + 41]:\n    for a in 0..41:\n"
    "      block X of X (i = 40*o + a in 0..80) where 40*o + a < 80:\n        X[i] = A[i]*3\n"
    "    for p in 0..40:\n      block Y of Y (j = 40*o + p in 0..80):\n        Y[j] = X[j] + X[min(j + 1, 79)]\n",

    // the part of the next iteration is stored in the other half of X
    "program ring\ninput A: i32[2, 12]\noutput Y: i32[2, 12]\ntemp X: i32[2, 12] shared layout [_0, _1 % 8] in [2, 8]\n"
    "for o in 0..2:\n  alloc X[o..o + 1, 0..12]:\n    for p in 0..4:\n"
    "      block X.pre of X (i = o in 0..2, j = p in 0..12):\n        X[i, j] = A[i, j]*3\n"
    "    for r in 0..3:\n      for a in 0..4:\n"
    "        block X of X (i = o in 0..2, j = 4*r + a + 4 in 0..12) where r <= 1:\n          X[i, j] = A[i, j]*3\n"
    "      for c in 0..4:\n        block Y of Y (i = o in 0..2, j = 4*r + c in 0..12):\n"
    "          Y[i, j] = X[i, 4*(j//4) + 3 - j % 4] + 1\n",

    "program stages\ninput A: i32[9]\noutput Y: i32[7]\ntemp X: i32[9]\ntemp P: i32[9]\n"
    "alloc X[0..9]:\n  alloc P[0..9]:\n    for i in 0..9:\n      block X of X (i = i in 0..9):\n        X[i] = A[i]*3\n"
    "    for p in 0..9:\n      block P of P (i = p in 0..9):\n        P[i] = X[i]\n"
    "    for j in 0..7:\n      block Y of Y (j = j in 0..7):\n        Y[j] = P[j] + X[j + 2]\n",

    // both stages are in one loop, so a barrier is needed inside the loop over threads
    "program beside\ninput A: i32[4, 6]\noutput Y: i32[4, 6]\ntemp X: i32[4, 6]\n"
    "alloc X[0..4, 0..6]:\n  for t in 0..4:\n    for i in 0..6:\n"
    "      block X of X (t = t in 0..4, i = i in 0..6):\n        X[t, i] = A[t, i]*3\n"
    "      block Y of Y (t = t in 0..4, i = i in 0..6):\n        Y[t, i] = X[t, max(i - 1, 0)] + X[t, i]\n",

    "program turns\ninput A: i32[6, 5]\noutput Y: i32[6, 5]\ntemp X: i32[6, 5]\n"
    "alloc X[0..6, 0..5]:\n  for i in 0..6:\n    for t in 0..5:\n"
    "      block X of X (i = i in 0..6, t = t in 0..5):\n        X[i, t] = A[i, t]*3\n"
    "      block Y of Y (i = i in 0..6, t = t in 0..5):\n        Y[i, t] = X[max(i - 1, 0), max(t - 1, 0)] + X[i, t]\n",

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
    "for i_o in 0..7:\n  for i_i in 0..2:\n    block X of X (i = 2*i_o + i_i + 1 in 1..15):\n"
    "      X[i] = X[i + 1] + X[i]\n",

    "program rows\ninput A: i32[5, 8]\noutput Y: i32[5]\ntemp R: i32[5] shared\n"
    "for o in 0..5:\n  alloc R[o..o + 1]:\n    for k in 0..8:\n"
    "      block R of R (i = o in 0..5, reduce k = k in 0..8):\n        init R[i] = i32(0)\n        R[i] += A[i, k]\n"
    "    for n in 0..1:\n      block Y of Y (i = o + n in 0..5):\n        Y[i] = R[i]*2\n",

    "program triangle\ninput A: i32[6, 6]\noutput Y: i32[6, 6]\n"
    "for i in 0..6:\n  for j in 0..i + 1:\n    block Y of Y (i = i in 0..6, j = j in 0..6):\n      Y[i, j] = A[i, j]\n"
    "  for u in i + 1..6:\n    block U of U (i = i in 0..6, j = u in 0..6):\n      Y[i, j] = A[j, i]\n",
};

// ---- binding

static bool bind_some(nw_program *p) {
  nw_path path;
  nw_stmt *l = any(p, NW_LOOP, &path);
  if (!l || l->loop.mark != NW_SERIAL) return false;
  l->loop.mark = below(3) ? (nw_loop_kind)(NW_THREAD_X + below(2)) : (nw_loop_kind)(NW_BLOCK_X + below(7));
  return true;
}

static nw_program *bound(const nw_program *p) {
  nw_program *q = nw_program_clone(p);
  for (int n = 1 + below(5); n > 0; n--) bind_some(q);
  return nw_program_freeze(q);
}

static bool turn_round(void *env, const nw_path *path) {
  nw_stmt *s = path->at[path->n - 1];
  nw_program *p = env;
  if (!nw_is_bound_loop(s) || below(3) == 0) return true;
  const nw_expr *last = nw_add(p->pool, nw_add(p->pool, s->loop.begin, s->loop.begin),
                               nw_sub(p->pool, s->loop.extent, nw_index(p->pool, 1)));
  for (int i = 0; i < s->nkids; i++) nw_stmt_subst(p, s->kid[i], s->loop.var->name, nw_sub(p->pool, last, s->loop.var));
  return true;
}

// ---- outcomes

typedef enum fate { FINE, RACES, WRONG, UNRUN } fate;

static fate run_lowered(nw_ctx *c, const nw_program *p, const run *expected) {
  run r;
  nw_clear(c);
  bool ran = run_program(c, p, true, 3, &r);
  fate f = ran ? (same_run(expected, &r) ? FINE : WRONG) : nw_error(c)->code == NW_ERACE ? RACES : UNRUN;
  free_run(&r);
  return f;
}

// ---- barriers

static nw_stmt *nth_barrier(nw_program *p, int *n, nw_stmt *s, nw_path *path) {
  if (s->kind == NW_BARRIER && (*n)-- == 0) return nw_find(p, s->id, path), s;
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *found = nth_barrier(p, n, s->kid[i], path);
    if (found) return found;
  }
  return NULL;
}

// Runs the lowered program without its n-th barrier, and sets *raced if there is a race. Returns false if the program
// has fewer barriers.
static bool run_without(nw_ctx *c, const nw_program *p, int n, bool *raced) {
  nw_path path;
  nw_exec *kept = nw_lower(p, NULL),
          *e = nw_exec_with_clocks(kept, 0, NULL); // a copy, since p keeps its lowered program
  nw_program *q = nw_program_clone(e->p);
  nw_exec_release(kept);
  bool any = nth_barrier(q, &n, q->root, &path) != NULL;
  if (any) nw_kids_remove(q, path.at[path.n - 2], path.pos[path.n - 1]);
  nw_program_release(e->p);
  e->p = nw_program_freeze(q);
  run r = params_of(p, 1);
  nw_clear(c);
  *raced = !nw_interp_exec(c, e, NULL, r.view, NULL) && nw_error(c)->code == NW_ERACE;
  nw_clear(c);
  free_run(&r);
  nw_exec_release(e);
  return any;
}

static bool is_conflict(const nw_refusal *r) {
  return r && (r->kind == NW_REFUSE_RAW || r->kind == NW_REFUSE_WAR || r->kind == NW_REFUSE_WAW ||
               r->kind == NW_REFUSE_REDUCTION);
}

typedef struct tally {
  int tried, accepted, conflicts, barriers, idle;
} tally;

static void try_binding(nw_ctx *c, const nw_program *p, const run *expected, tally *t) {
  nw_program *q = bound(p);
  nw_clear(c);
  t->tried++;
  if (nw_judge(p, q)) {
    t->accepted++;
    if (run_lowered(c, q, expected) != FINE) complain(c, p, q, "accepted, but there is a race or the values differ");
    bool raced;
    for (int n = 0; run_without(c, q, n, &raced); n++) t->barriers++, t->idle += !raced;
    nw_program *turned = nw_program_clone(q);
    nw_walk(turned, turn_round, turned);
    nw_program_freeze(turned);
    if (nw_judge(p, turned) && run_lowered(c, turned, expected) != FINE)
      complain(c, p, turned, "accepted with reversed loops, but there is a race or the values differ");
    nw_program_release(turned);
  } else if (is_conflict(nw_error(c)->refusal)) {
    char *why = nw_xstrdup(nw_error(c)->refusal->why);
    bool turns = strstr(why, "virtual thread"); // virtual threads run in turn, so the conflict may have no effect
    t->conflicts++;
    fate f = run_lowered(c, q, expected);
    if (f == FINE && !turns) {
      print_error("%s\n", why);
      complain(c, p, q, "refused as a conflict, but the interpreter sees none");
    }
    free(why);
  }
  nw_program_release(q);
}

static void accepted_programs_run_without_a_race(void **state) {
  (void)state;
  const char *wanted = getenv("NW_JUDGED_CASES"), *only = getenv("NW_JUDGED_ONLY");
  int cases = wanted ? atoi(wanted) : 110;
  tally t = {0};
  for (int seed = only ? atoi(only) : 1; seed <= (only ? atoi(only) : cases); seed++) {
    state_of_chance = (uint64_t)seed;
    case_number = seed;
    nw_ctx *c = nw_open();
    nw_pool *pool = nw_pool_new(c);
    nw_program *p = nw_program_parse(c, pool, bases[seed % NW_COUNT(bases)]);
    if (!p) fail_msg("%s", nw_error(c)->message);
    run expected;
    assert_true(run_program(c, p, false, 1, &expected));
    for (int i = 0; i < 8; i++) try_binding(c, p, &expected, &t);
    free_run(&expected);
    nw_program_release(p);
    nw_pool_release(pool);
    nw_close(c);
  }
  print_message(
      "%d bindings tried, %d accepted, %d conflicts, all of them seen; %d barriers, %d of them without effect\n",
      t.tried, t.accepted, t.conflicts, t.barriers, t.idle);
  assert_true(t.idle * 20 <= t.barriers);
  assert_true(only || (t.accepted * 5 > t.tried && t.conflicts * 10 > t.tried && t.barriers * 10 > t.tried));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(accepted_programs_run_without_a_race)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
