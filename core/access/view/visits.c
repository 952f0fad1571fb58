// Lists the executions of the blocks of a scheduled program, in order. For each execution, the list has the instance
// (the values of the block's axes) and the values of the loops. The bodies of the blocks are not computed. A loop is
// entered only if a block in the loop may execute a requested instance.
#include "access/walker.h"
#include <limits.h>
#include <stdlib.h>

typedef struct node node;

typedef struct asked { // the values of an axis that the caller requested
  int n;
  int64_t *value; // in ascending order
} asked;

typedef struct site { // a block
  nw_visit_block told;
  int number;
  int depth; // number of nodes in `at`
  const node *at[NW_MAX_DEPTH]; // from the root to the block
  int pos[NW_MAX_DEPTH]; // position of each node among the children of its parent
  const node *loop[NW_MAX_DEPTH];
  nw_calc **bind, **index, *where;
  bool wanted;
  asked *only; // for each axis: the requested values; n is 0 if all values are requested
} site;

struct node {
  const nw_stmt *stmt;
  int nkids;
  node **kid;
  int slot; // LOOP
  nw_calc *begin, *extent; // LOOP
  nw_calc *cond; // GUARD
  site *site; // BLOCK
  nw_vec below; // site *: the blocks inside the node
};

struct nw_visits {
  nw_ctx *ctx;
  nw_program *p; // holds a reference
  nw_arena *arena;
  nw_pool *pool;
  nw_names names;
  int64_t *slot, *lo, *hi; // slot: current values; lo, hi: the ranges of loops that have no current value
  int nslots;
  nw_vec site, made, visit; // made: all nodes
  node *root;
  int64_t most;
  unsigned ticks;
  bool failed;
};

// ---- construction

typedef struct trail { // the path from the root to the current node
  int n, nloops;
  const node *at[NW_MAX_DEPTH], *loop[NW_MAX_DEPTH];
  int pos[NW_MAX_DEPTH];
} trail;

// Compiles an expression. Returns NULL with a diagnostic if the expression depends on the contents of tensors, which
// are not known here.
static nw_calc *calc(nw_visits *v, const nw_expr *e) {
  nw_calc *c = nw_calc_of(v->arena, &v->names, e);
  if (!c && !v->failed) {
    nw_fail(v->ctx, NW_EINVAL, NULL, "data determines which instances run, and the data is not known here");
    v->failed = true;
  }
  return c;
}

static const int64_t *steps_of(nw_visits *v, const site *s, const nw_expr *bind) {
  int64_t *step = NW_NEW_N(v->arena, int64_t, s->told.nloops + 1);
  nw_form form;
  bool affine = nw_form_of(v->arena, &v->names, bind, &form);
  for (int i = 0; i < s->told.nloops; i++) {
    if (affine) step[i] = nw_form_coef(&form, s->loop[i]->slot);
    if (!affine && nw_uses_var(bind, s->told.loop[i].name)) step[i] = INT64_MIN;
  }
  return step;
}

static int64_t size_of(nw_visits *v, const nw_expr *e) {
  nw_calc *c = calc(v, e);
  return c ? nw_calc_at(c, v->slot, 0) : 0;
}

static void set_axes(nw_visits *v, site *s, const nw_stmt *b) {
  static const char kinds[] = {[NW_SPATIAL] = 's', [NW_REDUCE] = 'r', [NW_ORDERED] = 'o'};
  int n = s->told.naxes = b->block.nvars;
  nw_visit_axis *axis = NW_NEW_N(v->arena, nw_visit_axis, n + 1);
  s->bind = NW_NEW_N(v->arena, nw_calc *, n + 1);
  s->only = NW_NEW_N(v->arena, asked, n + 1);
  for (int i = 0; i < n; i++) {
    const nw_block_var *x = &b->block.var[i];
    s->bind[i] = calc(v, x->bind);
    axis[i] = (nw_visit_axis){.name = x->var->name,
                              .kind = kinds[x->kind],
                              .lo = size_of(v, x->lo),
                              .extent = size_of(v, x->extent),
                              .step = steps_of(v, s, x->bind)};
  }
  s->told.axis = axis;
}

// Sets the index of the block's first store. Leaves the index unset if it depends on the contents of tensors.
static void set_index(nw_visits *v, site *s, const nw_stmt *b) {
  if (!b->block.ntargets) return;
  const nw_block_target *t = &b->block.target[0];
  s->index = NW_NEW_N(v->arena, nw_calc *, t->n + 1);
  for (int i = 0; i < t->n; i++) {
    const nw_expr *e = nw_import(v->pool, nw_block_bound(v->p, b, t->index[i]));
    if (!(s->index[i] = nw_calc_of(v->arena, &v->names, e))) return;
  }
  s->told.buffer = t->buffer;
  s->told.nindex = t->n;
}

static void set_loops(nw_visits *v, site *s, const trail *t) {
  nw_visit_loop *loop = NW_NEW_N(v->arena, nw_visit_loop, t->nloops + 1);
  for (int i = 0; i < t->nloops; i++) {
    s->loop[i] = t->loop[i];
    loop[i] = (nw_visit_loop){t->loop[i]->stmt->loop.var->name, nw_loop_kind_name(t->loop[i]->stmt->loop.mark)};
  }
  s->told.nloops = t->nloops;
  s->told.loop = loop;
}

static site *new_site(nw_visits *v, const nw_stmt *b, const trail *t) {
  site *s = NW_NEW(v->arena, site);
  s->number = v->site.n;
  s->told.name = b->block.name;
  s->told.stage = b->block.origin;
  s->told.init = b->block.init_part;
  s->depth = t->n;
  for (int i = 0; i < t->n; i++) s->at[i] = t->at[i], s->pos[i] = t->pos[i];
  set_loops(v, s, t);
  set_axes(v, s, b);
  set_index(v, s, b);
  if (b->block.where) s->where = calc(v, b->block.where);
  nw_vec_push(&v->site, s);
  for (int i = 0; i < t->n; i++) nw_vec_push(&((node *)t->at[i])->below, s);
  return s;
}

static void name_loop(nw_visits *v, node *x) {
  x->begin = calc(v, x->stmt->loop.begin);
  x->extent = calc(v, x->stmt->loop.extent);
  x->slot = v->nslots++;
  nw_vec_push(&v->names.name, (void *)x->stmt->loop.var->name);
  nw_vec_push(&v->names.slot, (void *)(intptr_t)x->slot);
}

static node *make(nw_visits *v, const nw_stmt *s, trail *t, int pos) {
  node *x = NW_NEW(v->arena, node);
  nw_vec_push(&v->made, x);
  x->stmt = s;
  t->at[t->n] = x;
  t->pos[t->n++] = pos;
  if (s->kind == NW_LOOP) name_loop(v, x), t->loop[t->nloops++] = x;
  if (s->kind == NW_GUARD) x->cond = calc(v, s->guard.cond);
  if (s->kind == NW_BLOCK) x->site = new_site(v, s, t);
  x->kid = NW_NEW_N(v->arena, node *, s->nkids + 1);
  for (int i = 0; i < s->nkids && !v->failed; i++) x->kid[x->nkids++] = make(v, s->kid[i], t, i);
  if (s->kind == NW_LOOP) t->nloops--;
  t->n--;
  return x;
}

static int count_loops(const nw_stmt *s) {
  int n = s->kind == NW_LOOP;
  for (int i = 0; i < s->nkids; i++) n += count_loops(s->kid[i]);
  return n;
}

nw_visits *nw_visits_new(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  if (!p || !nw_sizes_allowed(c, p, sizes)) return NULL;
  nw_visits *v = nw_xcalloc(1, sizeof *v);
  *v = (nw_visits){.ctx = c, .p = nw_program_retain(p), .arena = nw_arena_scratch(), .pool = nw_pool_new(c)};
  int n = p->nsizes + count_loops(p->root) + 1;
  v->slot = NW_NEW_N(v->arena, int64_t, n);
  v->lo = NW_NEW_N(v->arena, int64_t, n);
  v->hi = NW_NEW_N(v->arena, int64_t, n);
  nw_name_sizes(&v->names, p);
  for (v->nslots = 0; v->nslots < p->nsizes; v->nslots++)
    v->slot[v->nslots] = v->lo[v->nslots] = v->hi[v->nslots] = sizes[v->nslots];
  trail t = {0};
  v->root = make(v, p->root, &t, 0);
  if (!v->failed) return v;
  nw_visits_free(v);
  return NULL;
}

void nw_visits_free(nw_visits *v) {
  if (!v) return;
  for (int i = 0; i < v->made.n; i++) nw_vec_free(&((node *)v->made.at[i])->below);
  nw_vec_free(&v->made);
  nw_vec_free(&v->site);
  nw_vec_free(&v->visit);
  nw_vec_free(&v->names.name);
  nw_vec_free(&v->names.slot);
  nw_arena_free(v->arena);
  nw_pool_release(v->pool);
  nw_program_release(v->p);
  free(v);
}

// ---- queries

static site *site_at(const nw_visits *v, int block) { return v->site.at[block]; }

int nw_visits_blocks(const nw_visits *v) { return v->site.n; }
const nw_visit_block *nw_visits_block(const nw_visits *v, int block) { return &site_at(v, block)->told; }
void nw_visits_ask(nw_visits *v, int block) { site_at(v, block)->wanted = true; }

void nw_visits_only(nw_visits *v, int block, int axis, int n, const int64_t *values) {
  asked *a = &site_at(v, block)->only[axis];
  a->n = n;
  a->value = NW_NEW_N(v->arena, int64_t, n + 1);
  for (int i = 0; i < n; i++) a->value[i] = values[i];
}

static bool any_between(const asked *a, int64_t lo, int64_t hi) {
  for (int i = 0; i < a->n; i++)
    if (a->value[i] >= lo && a->value[i] <= hi) return true;
  return !a->n;
}

// ---- the blocks that may execute a requested instance

// In this section, the variables of the loops outside the given loop have values, and the variable of the given loop
// has a range.

static void bound_loop(nw_visits *v, const node *x) {
  int64_t b0, b1, e0, e1;
  bool known = nw_calc_range(x->begin, v->lo, v->hi, &b0, &b1) && nw_calc_range(x->extent, v->lo, v->hi, &e0, &e1);
  v->lo[x->slot] = known ? b0 : INT32_MIN;
  v->hi[x->slot] = known ? b1 + (e1 > 0 ? e1 - 1 : 0) : INT32_MAX;
}

static bool may_want(nw_visits *v, const site *s, const node *loop) {
  int i = 0, n = s->told.nloops;
  if (!s->wanted) return false;
  while (s->loop[i++] != loop) {}
  for (; i < n; i++) bound_loop(v, s->loop[i]);
  for (int a = 0; a < s->told.naxes; a++) {
    int64_t from, to;
    if (!s->only[a].n || !nw_calc_range(s->bind[a], v->lo, v->hi, &from, &to)) continue;
    if (!any_between(&s->only[a], from, to)) return false;
  }
  return true;
}

static bool enters(nw_visits *v, const node *x, int64_t lo, int64_t hi) {
  v->lo[x->slot] = lo;
  v->hi[x->slot] = hi;
  for (int i = 0; i < x->below.n; i++)
    if (may_want(v, x->below.at[i], x)) return true;
  return false;
}

// ---- executions

// Allocates a visit with the current values of the loops.
static nw_visited *new_visit(nw_visits *v, const site *s) {
  int n = s->told.naxes, m = s->told.nloops;
  int64_t *values = NW_NEW_N(v->arena, int64_t, n + m + s->told.nindex + 1);
  nw_visited *x = NW_NEW(v->arena, nw_visited);
  for (int i = 0; i < n; i++) values[i] = nw_calc_at(s->bind[i], v->slot, 0);
  for (int i = 0; i < m; i++) values[n + i] = v->slot[s->loop[i]->slot];
  for (int i = 0; i < s->told.nindex; i++) values[n + m + i] = nw_calc_at(s->index[i], v->slot, 0);
  *x = (nw_visited){s->number, values, values + n, values + n + m};
  return x;
}

static void run_block(nw_visits *v, const site *s) {
  if (!s->wanted || (s->where && !nw_calc_at(s->where, v->slot, 0))) return;
  for (int a = 0; a < s->told.naxes; a++) {
    int64_t at = s->only[a].n ? nw_calc_at(s->bind[a], v->slot, 0) : 0;
    if (!any_between(&s->only[a], at, at)) return;
  }
  if (v->visit.n >= v->most) {
    nw_fail(v->ctx, NW_ELIMIT, "Give a smaller part of the program or smaller sizes.",
            "there are more than %lld executions", (long long)v->most);
    v->failed = true;
    return;
  }
  nw_vec_push(&v->visit, new_visit(v, s));
}

static void run(nw_visits *v, const node *x);

// Runs the iterations lo..hi. Halves the range until a half contains no requested instance or has only one iteration.
static void run_part(nw_visits *v, const node *x, int64_t lo, int64_t hi) {
  if (++v->ticks % 4096 == 0 && nw_stopped(v->ctx)) v->failed = true;
  if (v->failed || lo > hi || !enters(v, x, lo, hi)) return;
  int64_t middle = lo + (hi - lo) / 2;
  if (lo < hi) {
    run_part(v, x, lo, middle);
    run_part(v, x, middle + 1, hi);
    return;
  }
  v->slot[x->slot] = lo;
  for (int i = 0; i < x->nkids; i++) run(v, x->kid[i]);
}

static void run_loop(nw_visits *v, const node *x) {
  int64_t begin = nw_calc_at(x->begin, v->slot, 0), extent = nw_calc_at(x->extent, v->slot, 0);
  if (extent > 0) run_part(v, x, begin, begin + extent - 1);
}

static void run(nw_visits *v, const node *x) {
  if (v->failed || !x->below.n) return;
  if (x->site) return run_block(v, x->site);
  if (x->stmt->kind == NW_LOOP) return run_loop(v, x);
  if (x->cond && !nw_calc_at(x->cond, v->slot, 0)) return;
  for (int i = 0; i < x->nkids; i++) run(v, x->kid[i]);
}

// ---- order

// True if all iterations of the loop execute a statement before one of them executes the next statement.
static bool is_side_by_side(const nw_stmt *s) { return nw_is_vector_loop(s) || nw_is_vthread_loop(s); }

static int sign(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

static int in_order(const void *one, const void *other, void *env) {
  const nw_visits *v = env;
  const nw_visited *x = *(nw_visited *const *)one, *y = *(nw_visited *const *)other;
  const site *a = site_at(v, x->block), *b = site_at(v, y->block);
  int lane = 0, loop = 0;
  for (int d = 0; d < a->depth && d < b->depth; d++) {
    if (a->at[d] != b->at[d]) return sign(a->pos[d], b->pos[d]);
    if (a->at[d]->stmt->kind != NW_LOOP) continue;
    int by = sign(x->loop[loop], y->loop[loop]);
    loop++;
    if (!is_side_by_side(a->at[d]->stmt)) {
      if (by) return by;
    } else if (!lane) {
      lane = by;
    }
  }
  return lane;
}

bool nw_visits_walk(nw_visits *v, int64_t most) {
  v->most = most < INT_MAX ? most : INT_MAX - 1;
  v->visit.n = 0;
  v->failed = false;
  run(v, v->root);
  if (!v->failed && v->visit.n) qsort_r(v->visit.at, (size_t)v->visit.n, sizeof *v->visit.at, in_order, v);
  return !v->failed;
}

int64_t nw_visits_count(const nw_visits *v) { return v->visit.n; }
const nw_visited *nw_visits_at(const nw_visits *v, int64_t i) { return v->visit.at[i]; }

const nw_visited *nw_visits_there(nw_visits *v, int block, const int64_t *loop) {
  const site *s = site_at(v, block);
  for (int i = 0; i < s->told.nloops; i++) v->slot[s->loop[i]->slot] = loop[i];
  return new_visit(v, s);
}
