// Compares the judge (the legality check) with the interpreter on grids. The loops of small programs are bound to
// blocks and threads at random. A program that the judge accepts must run without a race and compute the same, with
// blocks and threads in either order. If the judge refuses a program because of a conflict between blocks or threads,
// the interpreter must detect a race. The interpreter shares no code with the judge.
#include "random_grid.h"

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
