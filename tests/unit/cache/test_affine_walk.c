// Compares the accesses of an affine nest with loops that are written out here.
#include "../lower/lowering.h"
#include "simulating.h"

// ---- nests written by hand

typedef struct made {
  nw_arena *a;
  nw_affine_nest nest;
  nw_affine_array array[4];
} made;

static void add_array(made *m, int elem, int64_t elements) {
  int n = m->nest.narrays++;
  m->array[n] = (nw_affine_array){"A", elem, (uint64_t)(1 + n) << 16, elem * elements};
  m->nest.array = m->array;
}

static nw_affine_node *node(made *m, nw_affine_kind kind, int nkids, nw_affine_node *const *kid) {
  nw_affine_node *x = NW_NEW(m->a, nw_affine_node);
  x->kind = kind;
  x->kid = NW_NEW_N(m->a, nw_affine_node *, nkids + 1);
  for (x->nkids = 0; x->nkids < nkids; x->nkids++) x->kid[x->nkids] = kid[x->nkids];
  return x;
}

// Returns the form rest + c0*slot0 + c1*slot1 + c2*slot2.
static nw_form form(made *m, int64_t rest, int64_t c0, int64_t c1, int64_t c2) {
  int64_t coef[] = {c0, c1, c2};
  nw_form f = {.rest = rest, .cap = 3, .slot = NW_NEW_N(m->a, int, 3), .coef = NW_NEW_N(m->a, int64_t, 3)};
  for (int i = 0; i < 3; i++)
    if (coef[i]) f.slot[f.n] = i, f.coef[f.n++] = coef[i];
  return f;
}

static nw_affine_bound *bounds(made *m, int n, const nw_form *f, const int64_t *div) {
  nw_affine_bound *b = NW_NEW_N(m->a, nw_affine_bound, n);
  for (int i = 0; i < n; i++) b[i] = (nw_affine_bound){f[i], div[i]};
  return b;
}

static nw_affine_node *loop(made *m, int slot, nw_form first, nw_form last, int64_t step, nw_affine_node *kid) {
  nw_affine_node *x = node(m, NW_AFFINE_LOOP, 1, &kid);
  x->name = "i";
  x->slot = slot;
  x->step = step;
  x->nbegin = x->nend = 1;
  x->begin = bounds(m, 1, &first, &(int64_t){1});
  x->end = bounds(m, 1, &last, &(int64_t){1});
  if (m->nest.nslots <= slot) m->nest.nslots = slot + 1;
  return x;
}

static nw_affine_node *touch(made *m, int array, nw_form at, bool write) {
  nw_affine_node *x = node(m, NW_AFFINE_STMT, 0, NULL);
  x->nrefs = 1;
  x->ref = NW_NEW(m->a, nw_affine_ref);
  *x->ref = (nw_affine_ref){array, at, m->array[array].elem, write, m->nest.nsites++};
  return x;
}

static nw_affine_node *both(made *m, nw_affine_node *x, nw_affine_node *y) {
  nw_affine_node *kid[] = {x, y};
  return node(m, NW_AFFINE_SEQ, 2, kid);
}

// ---- accesses as text: "0:12 1:8w"

static bool see(void *env, const nw_ref *ref, int n) {
  for (int i = 0; i < n; i++)
    nw_str_fmt(env, "%d:%llu%s ", (int)(ref[i].address >> 16) - 1, (unsigned long long)(ref[i].address & 0xffff),
               ref[i].write ? "w" : "");
  return true;
}

static void assert_walk(lowering *l, made *m, nw_affine_node *root, nw_affine_share share, const char *want) {
  nw_str s = {0};
  m->nest.root = root;
  assert_true(nw_affine_refs(l->c, &m->nest, share, see, &s));
  assert_string_equal(s.n ? s.s : "", want);
  nw_str_free(&s);
}

static const nw_affine_share all = {0};

// for i in 0..2: for j in 3*i..5 step 2: access A[8*i + j], one byte each
static void bounds_depend_on_outer_loops(void **state) {
  made m = {.a = nw_arena_new()};
  add_array(&m, 1, 100);
  nw_affine_node *j =
      loop(&m, 1, form(&m, 0, 3, 0, 0), form(&m, 5, 0, 0, 0), 2, touch(&m, 0, form(&m, 0, 8, 1, 0), true));
  assert_walk(*state, &m, loop(&m, 0, form(&m, 0, 0, 0, 0), form(&m, 2, 0, 0, 0), 1, j), all,
              "0:0w 0:2w 0:4w 0:11w 0:13w ");
  nw_arena_free(m.a);
}

// A loop with several bounds uses the greatest lower bound and the least upper bound. A bound with a division is
// rounded towards the inside of the range, even if it is negative.
static void several_bounds(void **state) {
  made m = {.a = nw_arena_new()};
  add_array(&m, 1, 100);
  nw_affine_node *i =
      loop(&m, 0, form(&m, -7, 0, 0, 0), form(&m, 9, 0, 0, 0), 1, touch(&m, 0, form(&m, 10, 1, 0, 0), false));
  i->nbegin = i->nend = 2;
  i->begin = bounds(&m, 2, (nw_form[]){form(&m, -7, 0, 0, 0), form(&m, -5, 0, 0, 0)}, (int64_t[]){2, 1}); // -3, -5
  i->end = bounds(&m, 2, (nw_form[]){form(&m, -1, 0, 0, 0), form(&m, 7, 0, 0, 0)}, (int64_t[]){2, 1}); // -1, 7
  assert_walk(*state, &m, i, all, "0:7 0:8 0:9 ");
  nw_arena_free(m.a);
}

static void guards_and_sequences(void **state) {
  made m = {.a = nw_arena_new()};
  add_array(&m, 4, 10), add_array(&m, 8, 10);
  nw_affine_node *inner = touch(&m, 1, form(&m, 0, 8, 0, 0), true), *guard = node(&m, NW_AFFINE_GUARD, 1, &inner);
  guard->nconds = 2;
  guard->cond = NW_NEW_N(m.a, nw_form, 2);
  guard->cond[0] = form(&m, -1, 1, 0, 0); // i >= 1
  guard->cond[1] = form(&m, 2, -1, 0, 0); // i <= 2
  nw_affine_node *body = both(&m, touch(&m, 0, form(&m, 0, 4, 0, 0), false), guard);
  assert_walk(*state, &m, loop(&m, 0, form(&m, 0, 0, 0, 0), form(&m, 3, 0, 0, 0), 1, body), all,
              "0:0 0:4 1:8w 0:8 1:16w 0:12 ");
  nw_arena_free(m.a);
}

// Code outside parallel loops belongs to thread 0. A parallel loop is divided into parts of nearly equal size, or
// distributed in chunks.
static void shares_of_threads(void **state) {
  made m = {.a = nw_arena_new()};
  add_array(&m, 1, 100);
  nw_affine_node *i =
      loop(&m, 0, form(&m, 0, 0, 0, 0), form(&m, 6, 0, 0, 0), 1, touch(&m, 0, form(&m, 0, 1, 0, 0), false));
  nw_affine_node *root = both(&m, touch(&m, 0, form(&m, 50, 0, 0, 0), true), i);
  i->parallel = true;
  assert_walk(*state, &m, root, all, "0:50w 0:0 0:1 0:2 0:3 0:4 0:5 0:6 ");
  assert_walk(*state, &m, root, (nw_affine_share){0, 2}, "0:50w 0:0 0:1 0:2 ");
  assert_walk(*state, &m, root, (nw_affine_share){1, 2}, "0:3 0:4 0:5 0:6 ");
  i->chunk = 2;
  assert_walk(*state, &m, root, (nw_affine_share){1, 2}, "0:2 0:3 0:6 ");
  i->chunk = -2;
  assert_walk(*state, &m, root, (nw_affine_share){1, 2}, "0:2 0:3 0:6 ");
  nw_arena_free(m.a);
}

// Sweeps three times over 640 bytes with a cache of two lines. Each sweep misses once for each line.
static void misses_in_the_simulator(void **state) {
  lowering *l = *state;
  made m = {.a = nw_arena_new()};
  add_array(&m, 1, 640);
  nw_affine_node *j =
      loop(&m, 1, form(&m, 0, 0, 0, 0), form(&m, 639, 0, 0, 0), 1, touch(&m, 0, form(&m, 0, 0, 1, 0), false));
  m.nest.root = loop(&m, 0, form(&m, 0, 0, 0, 0), form(&m, 2, 0, 0, 0), 1, j);
  nw_sim *k = simulate(l->c, &m.nest, all, &(nw_sim_opts){.nlevels = 1, .level = {{128, 0}}, .line = 64});
  assert_non_null(k);
  nw_sim_counts n = *nw_sim_site(k, 0, 0);
  assert_int_equal(n.asked, 1920);
  assert_int_equal(n.outcome[NW_COLD], 10);
  assert_int_equal(n.outcome[NW_CAPACITY], 20);
  nw_sim_free(k);
  nw_arena_free(m.a);
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {T(bounds_depend_on_outer_loops), T(several_bounds), T(guards_and_sequences),
                                     T(shares_of_threads), T(misses_in_the_simulator)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
