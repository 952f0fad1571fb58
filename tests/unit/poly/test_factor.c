// Compares proofs about the accesses of random programs with an enumeration of all executions of these programs.
#include "judging.h"
#include "poly/internal.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

enum { CASES = 1500, DIMS = 2 };

// The shape of a random program, in which `*` is the product of two vectors:
// for o in 0..no:
//   for p in 0..np:
//     for q in skew*p..skew*p + nq:
//       if p < limit: T[w_d * (o, p, q, 1)] += ... for the terms k = term * (p, q, 1) in 0..nk
//   for r in 0..nr: read of T[v_d * (o, r, 1)]
typedef struct shape {
  int no, np, nq, nr, skew, limit, nk;
  int w[DIMS][4], v[DIMS][3], term[3];
  bool inside; // T is allocated inside the loop o
} shape;

static int draw(uint64_t *random, int lo, int hi) { return lo + (int)(nw_draw(random) % (uint64_t)(hi - lo + 1)); }

static int weight(uint64_t *random) {
  static const int some[] = {0, 0, 0, 1, 1, -1, 2, 3, 4, 6, 12};
  return some[draw(random, 0, NW_COUNT(some) - 1)];
}

static shape shape_of(uint64_t seed) {
  uint64_t *random = &seed;
  shape s = {.no = draw(random, 1, 3), .np = draw(random, 1, 4), .nq = draw(random, 1, 4), .nr = draw(random, 1, 4)};
  s.skew = draw(random, 0, 4) ? 0 : draw(random, 1, 2);
  s.limit = draw(random, 0, 1) ? s.np : draw(random, 0, s.np);
  s.inside = draw(random, 0, 1);
  for (int d = 0; d < DIMS; d++)
    for (int i = 0; i < 4; i++) s.w[d][i] = i < 3 ? weight(random) : draw(random, 0, 2);
  int like = draw(random, 0, 2); // r moves like p or q, or like neither
  for (int d = 0; d < DIMS; d++) {
    s.v[d][0] = draw(random, 0, 3) ? s.w[d][0] : weight(random);
    s.v[d][1] = like ? s.w[d][like] : weight(random);
    s.v[d][2] = draw(random, 0, 3) ? s.w[d][3] : draw(random, 0, 2);
  }
  for (int i = 0; i < 2; i++) s.term[i] = weight(random);
  s.nk = draw(random, 1, 4);
  return s;
}

static nw_program *program_of(env *e, const shape *s) {
  nw_str t = {0};
  const char *pad = s->inside ? "    " : "  ";
  nw_str_fmt(&t, "program p\ninput A: i32[4]\noutput C: i32[8]\ntemp T: i32[200, 200]%s\n", s->inside ? " shared" : "");
  nw_str_fmt(&t, "for o in 0..%d:\n", s->no);
  if (s->inside) nw_str_add(&t, "  alloc T[-100..100, -100..100]:\n");
  nw_str_fmt(&t, "%sfor p in 0..%d:\n%s  for q in %d*p..%d*p + %d:\n", pad, s->np, pad, s->skew, s->skew, s->nq);
  nw_str_fmt(&t, "%s    if p < %d:\n%s      block W of W (", pad, s->limit, pad);
  for (int d = 0; d < DIMS; d++)
    nw_str_fmt(&t, "i%d = %d*o + %d*p + %d*q + %d in -100..100, ", d, s->w[d][0], s->w[d][1], s->w[d][2], s->w[d][3]);
  nw_str_fmt(&t, "reduce k = %d*p + %d*q in 0..%d):\n", s->term[0], s->term[1], s->nk);
  nw_str_fmt(&t, "%s        T[i0, i1] += A[0]\n", pad);
  nw_str_fmt(&t, "%sfor r in 0..%d:\n%s  block R of R (", pad, s->nr, pad);
  for (int d = 0; d < DIMS; d++)
    nw_str_fmt(&t, "j%d = %d*o + %d*r + %d in -100..100%s", d, s->v[d][0], s->v[d][1], s->v[d][2], d ? "" : ", ");
  nw_str_fmt(&t, "):\n%s    C[0] = T[j0, j1]\n", pad);
  nw_program *p = parsed(e, t.s);
  nw_str_free(&t);
  return p;
}

typedef struct point { // an execution, its element, and its term
  int o, at[DIMS], k;
} point;

static int writes_of(const shape *s, point *out) {
  int n = 0;
  for (int o = 0; o < s->no; o++)
    for (int p = 0; p < s->np && p < s->limit; p++)
      for (int q = s->skew * p; q < s->skew * p + s->nq; q++, n++) {
        out[n] = (point){.o = o, .k = s->term[0] * p + s->term[1] * q};
        for (int d = 0; d < DIMS; d++) out[n].at[d] = s->w[d][0] * o + s->w[d][1] * p + s->w[d][2] * q + s->w[d][3];
      }
  return n;
}

static int reads_of(const shape *s, point *out) {
  int n = 0;
  for (int o = 0; o < s->no; o++)
    for (int r = 0; r < s->nr; r++, n++) {
      out[n] = (point){.o = o};
      for (int d = 0; d < DIMS; d++) out[n].at[d] = s->v[d][0] * o + s->v[d][1] * r + s->v[d][2];
    }
  return n;
}

static bool same_element(const point *a, const point *b) { return !memcmp(a->at, b->at, sizeof a->at); }

static bool meet_apart(int n, const point *w, int m, const point *r, bool earlier) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      if (same_element(&w[i], &r[j]) && (earlier ? w[i].o < r[j].o : w[i].o > r[j].o)) return true;
  return false;
}

// True if one of the n writes in w writes the element of r with the term k. If k is -1, the write may have any term. If
// T is allocated inside the loop o, the write and r must be in the same iteration of o.
static bool is_written(const shape *s, int n, const point *w, const point *r, int k) {
  for (int i = 0; i < n; i++)
    if (same_element(&w[i], r) && (!s->inside || w[i].o == r->o) && (k < 0 || w[i].k == k)) return true;
  return false;
}

static bool covers(const shape *s, int n, const point *w, int m, const point *r, bool all_terms) {
  for (int j = 0; j < m; j++)
    for (int k = all_terms ? 0 : -1; k < (all_terms ? s->nk : 0); k++)
      if (!is_written(s, n, w, &r[j], k)) return false;
  return true;
}

static bool is_within(const shape *s, int n, const point *w, int d, int begin, int extent) {
  for (int i = 0; i < n; i++) {
    int from = s->w[d][0] * w[i].o + begin;
    if (w[i].at[d] < from || w[i].at[d] >= from + extent) return false;
  }
  return true;
}

static const nw_use *access_of(const nw_model *m, bool write) {
  for (int i = 0; i < m->nsites; i++)
    for (int j = 0; j < m->site[i]->nuses; j++) {
      const nw_use *a = &m->site[i]->use[j];
      if (!strcmp(a->buffer->name, "T") && a->write == write && !m->site[i]->init) return a;
    }
  fail();
  return NULL;
}

typedef struct tally {
  int hold, proved;
} tally;

static void add(tally *t, bool holds, bool proved) {
  assert_true(holds || !proved);
  t->hold += holds;
  t->proved += proved;
}

static void what_is_proved_holds(void **state) {
  env *e = *state;
  tally apart = {0}, cover = {0}, terms = {0}, within = {0};
  static point w[3 * 4 * 4], r[3 * 4];
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    shape s = shape_of(seed);
    nw_program *p = program_of(e, &s);
    assert_true(nw_proofs_begin(nw_proofs_of(e->c), p));
    const nw_model *m = nw_model_of(p, NULL);
    assert_non_null(m);
    const nw_use *write = access_of(m, true), *read = access_of(m, false);
    int nw = writes_of(&s, w), nr = reads_of(&s, r);
    for (int earlier = 0; earlier < 2; earlier++)
      add(&apart, !meet_apart(nw, w, nr, r, earlier), nw_never_apart(m, write, read, 0, earlier));
    add(&cover, covers(&s, nw, w, nr, r, false), nw_surely_covers(m, read, write, false));
    add(&terms, covers(&s, nw, w, nr, r, true), nw_surely_covers(m, read, write, true));
    for (int d = 0; d < DIMS; d++) {
      int begin = (int)(seed % 5) - 2, extent = (int)(seed % 17);
      const nw_expr *from = nw_add(e->pool, nw_mul(e->pool, nw_index(e->pool, s.w[d][0]), nw_var(e->pool, "o")),
                                   nw_index(e->pool, begin));
      add(&within, is_within(&s, nw, w, d, begin, extent),
          nw_index_within(m, write, d, from, nw_index(e->pool, extent)));
    }
    nw_program_release(p);
  }
  // Most facts that hold must also be proved.
  assert_true(apart.hold > CASES / 2 && 10 * apart.proved > 6 * apart.hold);
  assert_true(cover.hold > CASES / 30 && 10 * cover.proved > 6 * cover.hold);
  assert_true(terms.hold > CASES / 100 && 10 * terms.proved > 6 * terms.hold);
  assert_true(within.hold > CASES / 10 && 10 * within.proved > 9 * within.hold);
}

int main(void) {
  const struct CMUnitTest tests[] = {T(what_is_proved_holds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
