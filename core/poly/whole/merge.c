// Replaces nested loops, called the *parts*, by one merged loop. The variable of the merged loop is the *number* of an
// iteration of the parts (count.c). See docs/fused.md.
#include "ir/program/lift.h"
#include "poly/whole/whole.h"

// ---- replacement of the parts by the number in expressions

static bool has(const nw_vec *v, const nw_expr *e) {
  for (int i = 0; i < v->n; i++)
    if (v->at[i] == e) return true;
  return false;
}

typedef struct rest {
  const nw_merging *x;
  const char *name; // name of the part whose value follows from the number and the other parts
  const nw_expr *by; // the value of that part
  bool ok;
} rest;

static void flatten(const nw_expr *e, nw_vec *out) {
  if (e->op != NW_OP_AND) {
    nw_vec_push(out, (void *)e);
    return;
  }
  flatten(e->arg[0], out);
  flatten(e->arg[1], out);
}

// Returns e with the number in place of the parts. Omits the conditions in x->cond, since they follow from the range of
// the number. Returns NULL if no condition is left.
static const nw_expr *by_number(const rest *r, const nw_expr *e) {
  nw_pool *pool = r->x->p->pool;
  if (e->type.dtype != NW_BOOL) return nw_subst(pool, e, r->name, r->by);
  nw_vec keep = {0};
  const nw_expr *left = NULL;
  flatten(e, &keep);
  for (int i = 0; i < keep.n; i++) {
    if (has(&r->x->cond, keep.at[i]) && !NW_MUTATED(whole_guarded)) continue;
    const nw_expr *one = nw_subst(pool, keep.at[i], r->name, r->by);
    left = left ? nw_and(pool, left, one) : one;
  }
  nw_vec_free(&keep);
  return left;
}

static const nw_expr *look(void *env, const nw_expr *e) {
  rest *r = env;
  const nw_expr *left = by_number(r, e);
  r->ok = r->ok && !(left && nw_uses_part(r->x, left));
  return e;
}

static const nw_expr *replace(void *env, const nw_expr *e) {
  const rest *r = env;
  const nw_expr *left = by_number(r, e);
  return left ? left : nw_true(r->x->p->pool);
}

static bool drop_true(void *env, nw_stmt *s) {
  (void)env;
  if (s->kind == NW_BLOCK && s->block.where && nw_is_const(s->block.where, 1)) s->block.where = NULL;
  return true;
}

// Takes the innermost part whose weight in the number is 1 or -1. Finds the value of this part by subtracting the terms
// of the other parts from the number. Returns false if no part has the weight 1 or -1.
static bool solve(const nw_merging *x, const nw_expr *number, rest *r) {
  nw_pool *pool = x->p->pool;
  for (int i = x->nchain - 1; i >= 0; i--) {
    int64_t coef;
    const nw_expr *others;
    const char *name = x->chain[i]->loop.var->name;
    if (!x->part[i] || !nw_affine(pool, x->e, 1, &name, &coef, &others) || (coef != 1 && coef != -1)) continue;
    *r = (rest){x, name, coef > 0 ? nw_sub(pool, number, others) : nw_sub(pool, others, number), true};
    return true;
  }
  return false;
}

// ---- the program with the loop

static const char *name_for(const nw_merging *x) {
  const char *first = x->chain[0]->loop.var->name;
  size_t n = strlen(first);
  bool piece = n > 2 && first[n - 2] == '_' && (first[n - 1] == 'o' || first[n - 1] == '0');
  return nw_unique_loop_name(x->p, nw_arena_printf(x->arena, "%.*s", (int)(piece ? n - 2 : n), first));
}

static bool make_loop(nw_merging *x) {
  nw_path path;
  nw_stmt *inner = x->chain[x->nchain - 1];
  x->loop = nw_new_loop(x->p, name_for(x), nw_index(x->p->pool, 0), x->end);
  x->loop->loop.nfused = x->ndims > 1 ? x->ndims : 0;
  x->loop->loop.fused = NW_NEW_N(x->p->arena, const nw_expr *, x->ndims + 1);
  for (int i = 0; i < x->ndims; i++) x->loop->loop.fused[i] = x->dim[i];
  rest r;
  if (!nw_find(x->p, x->chain[0]->id, &path) || !solve(x, x->loop->loop.var, &r)) return false;
  for (int i = 0; i < inner->nkids; i++) nw_stmt_map(x->p, inner->kid[i], look, &r);
  if (!r.ok) return false;
  for (int i = 0; i < inner->nkids; i++) {
    nw_stmt_map(x->p, inner->kid[i], replace, &r);
    nw_walk_from(inner->kid[i], drop_true, NULL);
  }
  nw_stmt *in = x->loop;
  for (int i = 0; i < x->nchain; i++)
    if (!x->part[i]) {
      nw_kids_set(x->p, in, 1, &x->chain[i]);
      in = x->chain[i];
    }
  nw_kids_set(x->p, in, inner->nkids, inner->kid);
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], x->loop);
  return true;
}

// ---- inits that are still a part of their blocks

// These inits must run at the same places in the user's program and in the merged program. If the parts do not run in
// the order of their numbers, the init of a reduction over them must be lifted: then it runs before all loops of the
// reduction in both programs.

// True if the conditions that the merged program omits hold where the init runs. They follow from number < end. An init
// runs at the number 0 of the loops of its reduction, or if the reduction is empty.
static bool starts_below_end(const nw_merging *x, const nw_stmt *block) {
  if (!x->cond.n || !nw_binds_reduce(block, x->loop->loop.var->name)) return true;
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind == NW_REDUCE && block->block.var[i].extent == x->end) return true;
  nw_ranges r;
  nw_ranges_of(&r, x->p, NULL);
  bool positive = nw_prove(&r, nw_lt(x->p->pool, nw_index(x->p->pool, 0), x->end));
  nw_ranges_free(&r);
  return positive;
}

static bool own_inits(const nw_merging *x, const nw_program *p, const nw_program *whole, const nw_stmt *s,
                      const rest *r) {
  nw_path path;
  bool ok = true;
  if (s->kind == NW_BLOCK && s->block.has_init && nw_find(p, s->id, &path)) {
    const nw_stmt *was = path.at[path.n - 1];
    const nw_expr *where = was->block.where ? by_number(r, was->block.where) : NULL;
    bool lifts = nw_init_lifts(whole, s);
    ok = nw_init_lifts(p, was) == lifts && starts_below_end(x, s) &&
         nw_where_for_init(p, was, where) == nw_where_of_init(whole, s);
    for (int i = 0; x->turned && !lifts && i < s->block.nvars; i++)
      ok = ok && (s->block.var[i].kind != NW_REDUCE || !nw_uses_var(s->block.var[i].bind, x->loop->loop.var->name));
  }
  for (int i = 0; i < s->nkids && ok; i++) ok = own_inits(x, p, whole, s->kid[i], r);
  return ok;
}

// ---- one loop

static const nw_expr *search_in(void *env, const nw_expr *e) {
  nw_visit(e, nw_see_division, env);
  return e;
}

static const nw_expr *search_low(void *env, const nw_expr *e) {
  nw_visit(e, nw_see_low_division, env);
  return e;
}

// Merges the loop `outer` and the parts inside it into one loop of x->p. Returns false if they cannot be merged.
static bool merge(nw_merging *x, int outer) {
  nw_path path;
  nw_find(x->p, outer, &path);
  nw_stmt *loop = path.at[path.n - 1];
  nw_dividing found = {.p = x->p, .loop = loop};
  for (int i = 0; i < loop->nkids; i++) nw_stmt_map(x->p, loop->kid[i], search_in, &found);
  found.all = true;
  for (int i = 0; i < loop->nkids && !found.use.n; i++) nw_walk_from(loop->kid[i], nw_numbers_nothing, &found);
  for (int i = 0; i < loop->nkids && found.low; i++) nw_stmt_map(x->p, loop->kid[i], search_low, &found);
  x->e = found.base;
  x->by = found.by;
  bool ok = x->e && !found.several && !(x->e == loop->loop.var && nw_digits_only(loop)) && nw_find_parts(x, loop);
  ok = ok && nw_counts_to_some_end(x, &found) && make_loop(x);
  nw_vec_free(&found.use);
  return ok;
}

static bool keeps_inits(nw_merging *x, const nw_program *p) {
  rest r;
  return solve(x, x->loop->loop.var, &r) && own_inits(x, p, x->p, x->loop, &r);
}

nw_program *nw_merged(const nw_program *p, int outer, nw_family *f, nw_together *out, bool *lost) {
  nw_merging x = {.p = nw_program_clone(p), .f = f, .arena = nw_arena_scratch()};
  x.p->step = p->step;
  if (!merge(&x, outer)) {
    nw_program_release(x.p);
    x.p = NULL;
  } else if (!(x.p = nw_program_freeze(x.p))) {
    x.lost = true; // the error is already reported
  } else if (!keeps_inits(&x, p)) {
    nw_program_release(x.p);
    x.p = NULL;
  }
  if (x.p) *out = (nw_together){.id = x.loop->id, .apart = x.between || x.turned, .between = x.turned ? 0 : x.between};
  for (int i = 0; x.p && i < x.nchain; i++)
    if (x.part[i]) out->part_id[out->n++] = x.chain[i]->id;
  *lost |= x.lost;
  nw_vec_free(&x.cond);
  nw_arena_free(x.arena);
  return x.p;
}
