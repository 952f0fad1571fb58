// Pass: splits loops in order to remove tests of conditions. If a condition can be false only in the first or only in
// the last iterations of a loop, the other iterations need not test it. The conditions are those of guards, and those
// of selects in the values of stores. A select is cheaper than a guard. So its condition cuts a loop only if it can be
// false in a single iteration, the first or the last one, and if this iteration depends only on sizes.
//
// The condition must be affine in the loop's variable: coef*variable + rest >= 0, where coef is a constant, and rest
// does not use the variable. From the least value of rest over the iterations of the loops inside, the pass computes
// the iterations in which the condition always holds. These iterations become a loop without the condition. The
// remaining iterations become a copy of the loop with the condition. The loop that is cut is the innermost serial loop
// whose variable is in the condition. Parallel, unrolled and vectorized loops are never cut.
#include "ir/expr/fma.h"
#include "ir/program/tags.h"
#include "lower/pass.h"

enum {
  ONE_LIMIT = 4000, // limit on the estimated instructions of a loop that is copied
  ALL_LIMIT = 16000, // limit on the estimated instructions of all copies together
  CUTS = 3, // limit on the cuts of a loop
  MOST_SELECTS = 100, // limit on the selects of a store that are decided
};

typedef struct cutter {
  nw_program *p;
  nw_ranges r;
  int64_t left; // remaining part of ALL_LIMIT
  bool in_vector, grid; // grid: true if the program runs on a grid, where a copy of a loop may need another barrier
  int nbound;
  const char *bound[NW_MAX_DEPTH]; // the variables of the enclosing loops that are bound to the grid
  int64_t copies; // the product of the extents of the enclosing unrolled loops
} cutter;

// A cut of a loop. The condition holds in the iterations before `at` if `before` is true, else in the iterations from
// `at` on.
typedef struct cut {
  const nw_program *p; // NULL if selects do not cut the loop
  const nw_stmt *loop;
  int n;
  const nw_stmt *inside[NW_MAX_DEPTH]; // the loops inside `loop` that enclose the current position
  const nw_expr *at;
  bool before;
} cut;

// ---- one condition

static bool speaks_of_serial(const cut *c, const nw_expr *cond) {
  for (int i = 0; i < c->n; i++) {
    const nw_stmt *s = c->inside[i];
    if (s->loop.mark == NW_SERIAL && nw_uses_var(cond, s->loop.var->name)) return true;
  }
  return false;
}

// True if e can be computed outside the loop, because e reads no data and none of its divisors can be 0.
static bool harmless(void *env, const nw_expr *e) {
  (void)env;
  if (e->op == NW_OP_LOAD) return false;
  return (e->op != NW_OP_FLOORDIV && e->op != NW_OP_FLOORMOD) || (e->arg[1]->op == NW_OP_INT && e->arg[1]->i > 0);
}

// Sets *coef and *rest so that cond is equivalent to coef*var + rest >= 0. Returns false if this is not possible.
static bool slack(nw_pool *pool, const nw_expr *cond, const char *var, int64_t *coef, const nw_expr **rest) {
  if ((cond->op != NW_OP_LT && cond->op != NW_OP_LE) || cond->arg[0]->type.dtype != NW_INDEX ||
      cond->arg[0]->type.lanes != 1)
    return false;
  const nw_expr *f = nw_sub(pool, cond->arg[1], cond->arg[0]);
  if (cond->op == NW_OP_LT) f = nw_sub(pool, f, nw_index(pool, 1));
  return nw_affine(pool, f, 1, &var, coef, rest) && *coef != 0;
}

// Sets c->at and c->before. Sets *exact to true if the condition is false in all other iterations. Returns false if the
// condition cannot cut the loop.
static bool solve(const nw_ranges *r, cut *c, const nw_expr *cond, bool *exact) {
  nw_pool *pool = r->pool;
  const char *var = c->loop->loop.var->name, *over[NW_MAX_DEPTH];
  int64_t a;
  const nw_expr *rest, *least;
  if (speaks_of_serial(c, cond) || !slack(pool, cond, var, &a, &rest)) return false;
  *exact = true;
  for (int i = 0; i < c->n; i++) {
    over[i] = c->inside[i]->loop.var->name;
    *exact = *exact && !nw_uses_var(rest, over[i]);
  }
  least = *exact ? rest : nw_lower_over(r, rest, c->n, over);
  if (!least || nw_uses_var(least, var) || !nw_visit(least, harmless, NULL)) return false;
  c->before = a < 0;
  c->at = a < 0 ? nw_add(pool, nw_floordiv(pool, least, nw_index(pool, -a)), nw_index(pool, 1))
                : nw_floordiv(pool, nw_sub(pool, nw_index(pool, a - 1), least), nw_index(pool, a));
  return true;
}

// ---- the conditions of a loop

static bool enter(nw_ranges *r, cut *c, const nw_stmt *s) {
  if (s->kind == NW_LOOP) c->inside[c->n++] = s;
  nw_scope_push(r, s);
  return true;
}

static void leave(nw_ranges *r, cut *c, const nw_stmt *s) {
  nw_scope_pop(r, s);
  if (s->kind == NW_LOOP) c->n--;
}

static bool is_size(void *env, const nw_expr *e) {
  const nw_program *p = env;
  bool known = e->op != NW_OP_VAR;
  for (int i = 0; i < p->nsizes && !known; i++) known = !strcmp(p->size[i].name, e->name);
  return known;
}

// True if the cut leaves at most one iteration, which depends only on sizes.
static bool leaves_one(const nw_ranges *r, const cut *c) {
  nw_pool *pool = r->pool;
  const nw_expr *begin = c->loop->loop.begin, *end = nw_add(pool, begin, c->loop->loop.extent);
  const nw_expr *left = c->before ? nw_sub(pool, end, c->at) : nw_sub(pool, c->at, begin);
  return nw_visit(c->at, is_size, (void *)c->p) && nw_visit(end, is_size, (void *)c->p) &&
         nw_prove(r, nw_le(pool, left, nw_index(pool, 1)));
}

static bool add_select(void *env, const nw_expr *e) {
  if (e->op == NW_OP_SELECT) nw_add_conjuncts(e->arg[0], env);
  return true;
}

// Finds the first condition inside s that cuts the loop at a position that is not in `tried`. Returns false if there is
// no such condition.
static bool find(nw_ranges *r, cut *c, const nw_stmt *s, const nw_vec *tried) {
  nw_vec conds = {0};
  bool found = false, exact;
  if (s->kind == NW_GUARD) nw_add_conjuncts(s->guard.cond, &conds);
  if (s->kind == NW_STORE && c->p) nw_visit(s->store.value, add_select, &conds);
  for (int i = 0; i < conds.n && !found; i++) {
    found = solve(r, c, conds.at[i], &exact) && (s->kind == NW_GUARD || leaves_one(r, c));
    for (int k = 0; found && k < tried->n; k++) found = tried->at[k] != c->at;
  }
  nw_vec_free(&conds);
  if (found || !s->nkids) return found;
  if (s != c->loop) enter(r, c, s);
  for (int i = 0; i < s->nkids && !found; i++) found = find(r, c, s->kid[i], tried);
  if (s != c->loop) leave(r, c, s);
  return found;
}

// True if the position of the cut is another one in each block or thread. The copies of the loop would then have bounds that
// differ between threads, which takes more instructions and registers than the condition that they save.
static bool varies_on_grid(const cutter *x, const cut *c) {
  bool varies = false;
  for (int i = 0; i < x->nbound; i++) varies |= nw_uses_var(c->at, x->bound[i]);
  return varies;
}

static bool same_cut(const cut *a, const cut *b) { return a->at == b->at && a->before == b->before; }

// Returns a condition for a part of the iterations. If `holds` is true, conjuncts that the cut `by` makes true are
// removed; NULL means that none remains. If `holds` is false and such a conjunct is always false, *never is set to
// true.
static const nw_expr *left_of(nw_ranges *r, cut *here, const nw_expr *cond, const cut *by, bool holds, bool *never) {
  nw_vec conds = {0};
  bool exact;
  nw_add_conjuncts(cond, &conds);
  for (int i = conds.n - 1; i >= 0; i--) {
    if (!solve(r, here, conds.at[i], &exact) || !same_cut(here, by)) continue;
    if (holds) nw_vec_remove(&conds, i);
    *never |= !holds && exact;
  }
  const nw_expr *left = nw_conjunction(r->pool, conds.n, conds.at);
  nw_vec_free(&conds);
  return left;
}

// ---- selects

typedef struct deciding {
  nw_ranges *r;
  cut *here;
  const cut *by;
  bool holds;
  const nw_expr *select, *result; // a select, and what it is in this part of the iterations
} deciding;

static bool decide(void *env, const nw_expr *e) {
  deciding *d = env;
  bool never = false;
  if (e->op != NW_OP_SELECT) return true;
  bool holds = d->holds || NW_MUTATED(partition_select);
  const nw_expr *left = left_of(d->r, d->here, e->arg[0], d->by, holds, &never);
  d->result = never ? e->arg[2] : left ? nw_choose(d->r->pool, left, e->arg[1], e->arg[2]) : e->arg[1];
  d->select = d->result == e ? NULL : e;
  return !d->select;
}

static bool count_fma(void *env, const nw_expr *e) {
  bool half = e->type.dtype == NW_F16 || e->type.dtype == NW_BF16, sum = e->op == NW_OP_ADD || e->op == NW_OP_SUB;
  bool of_product = half && sum && (e->arg[0]->op == NW_OP_MUL || e->arg[1]->op == NW_OP_MUL);
  *(int *)env += e->op == NW_OP_FMA || of_product;
  return true;
}

// Returns the number of fmas that lowering forms in e. Halves are computed in f32, so a sum of them may become an fma.
static int fmas_of(nw_pool *pool, const nw_expr *e) {
  int n = 0;
  nw_visit(nw_form_fma(pool, e), count_fma, &n);
  return n;
}

// Decides the selects in the value of a store for a part of the iterations. A product that is no longer in a select
// must not become a part of an fma, because it would be rounded in another way.
static void settle_store(nw_program *p, nw_ranges *r, cut *here, nw_stmt *s, const cut *by, bool holds) {
  const nw_expr *value = s->store.value;
  for (int n = 0; n < MOST_SELECTS; n++) {
    deciding d = {.r = r, .here = here, .by = by, .holds = holds};
    nw_visit(value, decide, &d);
    if (!d.select) break;
    value = nw_replace(p->pool, value, d.select, d.result);
  }
  if (value == s->store.value) return;
  int before = fmas_of(p->pool, s->store.value), after = fmas_of(p->pool, value);
  if (before != after && !nw_tag_is(s, "fma", "never")) {
    if (before > 0) return;
    nw_tag_set(p, s, (nw_tag){.row = nw_tag_row_find("fma"), .text = nw_pool_name(p->pool, "never")});
  }
  s->store.value = value;
}

// ---- statements

static nw_stmt *settle(nw_program *p, nw_ranges *r, cut *here, nw_stmt *s, const cut *by, bool holds);

static void settle_kids(nw_program *p, nw_ranges *r, cut *here, nw_stmt *s, const cut *by, bool holds) {
  nw_vec kids = {0};
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = settle(p, r, here, s->kid[i], by, holds);
    if (kid) nw_vec_push(&kids, kid);
  }
  nw_kids_set(p, s, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
}

// Returns the statement, simplified for a part of the iterations. If `holds` is true, the part consists of the
// iterations in which the condition of the cut holds, else of the other iterations. Returns NULL if the statement does
// nothing in this part.
static nw_stmt *settle(nw_program *p, nw_ranges *r, cut *here, nw_stmt *s, const cut *by, bool holds) {
  if (s->kind == NW_STORE) settle_store(p, r, here, s, by, holds);
  if (nw_is_leaf(s)) return s;
  bool never = false;
  const nw_expr *left = s->kind == NW_GUARD ? left_of(r, here, s->guard.cond, by, holds, &never) : NULL;
  if (never) return NULL;
  if (s != here->loop) enter(r, here, s);
  settle_kids(p, r, here, s, by, holds);
  if (s != here->loop) leave(r, here, s);
  if (!s->nkids) return NULL;
  if (s->kind == NW_GUARD && !left) s->kind = NW_SEQ, s->id = 0;
  if (s->kind == NW_GUARD) s->guard.cond = left;
  return s;
}

// ---- one loop

static const nw_expr *end_of(nw_pool *pool, const nw_stmt *loop) {
  return nw_add(pool, loop->loop.begin, loop->loop.extent);
}

// Returns the position of the cut within the range of the loop, or NULL if one part is known to be empty.
static const nw_expr *place(const nw_ranges *r, const cut *c) {
  nw_pool *pool = r->pool;
  const nw_expr *begin = c->loop->loop.begin, *end = nw_simplify(r, end_of(pool, c->loop));
  const nw_expr *at = nw_simplify(r, nw_min(pool, nw_max(pool, c->at, begin), end));
  return nw_prove(r, nw_eq(pool, at, begin)) || nw_prove(r, nw_eq(pool, at, end)) ? NULL : at;
}

static void set_range(const nw_ranges *r, nw_stmt *loop, const nw_expr *begin, const nw_expr *end) {
  loop->loop.begin = begin;
  loop->loop.extent = nw_simplify(r, nw_sub(r->pool, end, begin));
}

// Attributes the copy to the scheduling step that made the loop, because the copy exists only for this loop.
static void made_for(nw_stmt *copy, const nw_stmt *loop) {
  if (copy->step < loop->step) copy->step = loop->step;
  for (int i = 0; i < copy->nkids; i++) made_for(copy->kid[i], loop);
}

static nw_stmt *settled(cutter *x, nw_stmt *loop, const cut *by, bool holds) {
  cut here = {.loop = loop};
  nw_scope_push(&x->r, loop);
  nw_stmt *left = settle(x->p, &x->r, &here, loop, by, holds);
  nw_scope_pop(&x->r, loop);
  return left;
}

// Cuts the loop once. The loop keeps the iterations in which the condition holds. Returns a loop over the other
// iterations, or NULL if the loop does nothing in the other iterations. Both parts are simplified before their ranges
// change, because the condition cannot be recognized after that.
static nw_stmt *cut_loop(cutter *x, const cut *by, const nw_expr *at, nw_stmt *loop) {
  const nw_expr *begin = loop->loop.begin, *end = nw_simplify(&x->r, end_of(x->p->pool, loop));
  const char *name = nw_arena_printf(x->p->arena, "%s.%s", loop->loop.var->name, by->before ? "tail" : "head");
  nw_stmt *rest = settled(x, nw_copy_stmt_as(x->p, loop, name), by, false);
  settled(x, loop, by, true);
  if (rest) made_for(rest, loop);
  set_range(&x->r, loop, by->before ? begin : at, by->before ? at : end);
  if (rest) set_range(&x->r, rest, by->before ? at : begin, by->before ? end : at);
  return rest;
}

static bool affordable(cutter *x, const nw_stmt *loop) {
  int64_t size = nw_code_size(loop);
  if (x->in_vector || size > ONE_LIMIT || size * x->copies > x->left) return false;
  x->left -= size * x->copies;
  return true;
}

// Adds the pieces of a serial loop to `out`, in order.
static void pieces(cutter *x, nw_stmt *loop, nw_vec *out) {
  nw_vec tried = {0}, after = {0};
  while (tried.n < CUTS && !nw_tag_is(loop, "partition", "never")) {
    cut by = {.p = x->grid ? NULL : x->p, .loop = loop};
    nw_scope_push(&x->r, loop);
    bool found = find(&x->r, &by, loop, &tried);
    nw_scope_pop(&x->r, loop);
    if (!found) break;
    nw_vec_push(&tried, (void *)by.at);
    const nw_expr *at = place(&x->r, &by);
    if (!at || varies_on_grid(x, &by) || !affordable(x, loop)) continue;
    nw_stmt *rest = cut_loop(x, &by, at, loop);
    if (rest && by.before) nw_vec_insert(&after, 0, rest);
    if (rest && !by.before) nw_vec_push(out, rest);
  }
  nw_vec_push(out, loop);
  for (int i = 0; i < after.n; i++) nw_vec_push(out, after.at[i]);
  nw_vec_free(&tried);
  nw_vec_free(&after);
}

// ---- the tree, innermost loops first

static void partition_kids(cutter *x, nw_stmt *s) {
  if (!s->nkids || s->kind == NW_CALL) return; // the nest of a call is one instruction, or one function
  cutter around = *x;
  nw_vec kids = {0};
  if (s->kind == NW_LOOP && s->loop.mark == NW_VECTORIZED) x->in_vector = true;
  int64_t times;
  if (s->kind == NW_LOOP && s->loop.mark == NW_UNROLLED && nw_is_int(s->loop.extent, &times)) x->copies *= times;
  if (nw_is_bound_loop(s)) x->bound[x->nbound++] = s->loop.var->name;
  nw_scope_push(&x->r, s);
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    partition_kids(x, kid);
    if (kid->kind == NW_LOOP && kid->loop.mark == NW_SERIAL)
      pieces(x, kid, &kids);
    else
      nw_vec_push(&kids, kid);
  }
  nw_scope_pop(&x->r, s);
  nw_kids_set(x->p, s, kids.n, (nw_stmt **)kids.at);
  x->in_vector = around.in_vector;
  x->copies = around.copies;
  x->nbound = around.nbound;
  nw_vec_free(&kids);
}

// Copies must not make the program exceed NW_CODE_LIMIT. The sizes before vectorizing are estimates, so copies may use
// only half of the remaining instructions.
nw_program *nw_pass_partition(nw_program *p) {
  int64_t room = (NW_CODE_LIMIT - nw_code_size(p->root)) / 2;
  cutter x = {.p = p, .left = room < ALL_LIMIT ? room : ALL_LIMIT, .copies = 1, .grid = nw_find_bound(p->root)};
  nw_scope_open(&x.r, p);
  partition_kids(&x, p->root);
  nw_ranges_free(&x.r);
  return p;
}
