// Compares the simulated GPU with the interpreter on random grids, also on those that the judge refuses because of a
// conflict, and on lowered programs without one of their barriers. Both must find a fault, or both must compute the same values.
#include "../interp/random_grid.h"
#include "device/gpu/run.h"

typedef struct tally {
  int fine, faulty, unmade, planted, found, moved; // moved: faults because a barrier was moved
} tally;

typedef enum outcome { FINE, FAULTY, UNMADE } outcome;

// Runs a lowered program in the interpreter.
static outcome interpreted(nw_ctx *c, const nw_exec *e, run *r) {
  nw_clear(c);
  if (nw_interp_exec(c, e, NULL, r->view, NULL)) return FINE;
  nw_code code = nw_error(c)->code;
  nw_clear(c);
  return code == NW_ERACE || code == NW_ERANGE ? FAULTY : UNMADE;
}

static outcome simulated(nw_ctx *c, const nw_exec *e, run *r, int threads) {
  nw_clear(c);
  nw_gpu_report *report = nwg_simulate(c, e, NULL, r->view, &(nw_gpu_opts){.threads = threads});
  outcome out = !report ? UNMADE : nw_gpu_findings(report) ? FAULTY : FINE;
  nw_gpu_report_free(report);
  nw_clear(c);
  return out;
}

// Compares the two on a lowered program.
static outcome compare(nw_ctx *c, const nw_program *p, const nw_exec *e, const char *what) {
  run a = params_of(p, 1), b = params_of(p, 1);
  outcome want = interpreted(c, e, &a), got = simulated(c, e, &b, 1 + below(3));
  if (got != UNMADE && want != UNMADE) {
    if (want != got) complain(c, p, e->p, what);
    if (want == FINE && !same_run(&a, &b)) complain(c, p, e->p, "the simulated GPU computes other values");
  }
  free_run(&a);
  free_run(&b);
  return got == UNMADE ? UNMADE : want;
}

// Returns a copy of a lowered program without its n-th barrier, or with the barrier moved by `by` places in its list.
// Returns NULL if there are fewer barriers.
static nw_exec *without_barrier(const nw_program *p, int n, int by) {
  nw_path path;
  nw_exec *kept = nw_lower(p, NULL), *e = nw_exec_with_clocks(kept, 0, NULL);
  nw_program *q = nw_program_clone(e->p);
  nw_exec_release(kept);
  bool any = nth_barrier(q, &n, q->root, &path) != NULL;
  if (any) {
    nw_stmt *list = path.at[path.n - 2], *barrier = path.at[path.n - 1];
    int at = path.pos[path.n - 1], to = at + by;
    nw_kids_remove(q, list, at);
    if (by && to >= 0 && to <= list->nkids) nw_kids_insert(q, list, to, barrier);
  }
  nw_program_release(e->p);
  e->p = nw_program_freeze(q);
  if (any) return e;
  nw_exec_release(e);
  return NULL;
}

static void try_program(nw_ctx *c, const nw_program *p, tally *t) {
  nw_clear(c);
  nw_exec *e = nw_lower(p, NULL);
  nw_clear(c);
  if (!e || !nw_find_bound(e->p->root)) return nw_exec_release(e);
  outcome o = compare(c, p, e, "only one of interpreter and simulated GPU finds a fault");
  t->fine += o == FINE, t->faulty += o == FAULTY, t->unmade += o == UNMADE;
  nw_exec_release(e);
  nw_exec *planted;
  for (int n = 0; o == FINE && (planted = without_barrier(p, n, 0)); n++) {
    t->planted++;
    t->found += compare(c, p, planted, "a barrier is missing, and only one of them finds a fault") == FAULTY;
    nw_exec_release(planted);
    planted = without_barrier(p, n, below(2) ? 1 : -1);
    t->moved += compare(c, p, planted, "a barrier was moved, and only one of them finds a fault") == FAULTY;
    nw_exec_release(planted);
  }
}

static void it_agrees_with_the_interpreter(void **state) {
  (void)state;
  const char *wanted = getenv("NW_GPU_CASES"), *only = getenv("NW_GPU_ONLY");
  int cases = wanted ? atoi(wanted) : 150;
  tally t = {0};
  for (int seed = only ? atoi(only) : 1; seed <= (only ? atoi(only) : cases); seed++) {
    state_of_chance = (uint64_t)seed;
    case_number = seed;
    nw_ctx *c = nw_open();
    nw_pool *pool = nw_pool_new(c);
    nw_program *p = nw_program_parse(c, pool, bases[seed % NW_COUNT(bases)]);
    if (!p) fail_msg("%s", nw_error(c)->message);
    for (int i = 0; i < 8; i++) {
      nw_program *q = bound(p);
      nw_clear(c);
      if (nw_judge(p, q) || is_conflict(nw_error(c)->refusal)) try_program(c, q, &t);
      nw_program_release(q);
    }
    nw_program_release(p);
    nw_pool_release(pool);
    nw_close(c);
  }
  print_message(
      "%d programs run alike, %d have a fault that both find, %d have no launches; %d of %d missing barriers are "
      "faults, and %d moved ones, found by both\n",
      t.fine, t.faulty, t.unmade, t.found, t.planted, t.moved);
  assert_true(only || (t.fine > cases && t.faulty > cases && t.planted > cases / 2 && t.found * 20 >= t.planted * 19));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_agrees_with_the_interpreter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
