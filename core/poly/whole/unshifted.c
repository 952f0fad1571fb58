// Replaces tails that begin earlier (tail = "shift") by guards, for loops that were split by sizes.
//
// After s:split("i", n, {tail = "shift"}), a loop over 0..M runs i = min(i_o*n, M - n) + i_i, which isl cannot represent.
// If M >= n, this computes the same as i = i_o*n + i_i where i < M: the last iteration of i_o only repeats instances that
// ran before. It may repeat them if each instance stores the same values again. See docs/fused.md.
#include "ir/expr/apart.h"
#include "poly/whole/whole.h"

typedef struct unshifting {
  nw_program *p; // a clone, edited
  nw_stmt *outer; // the loop i_o
  const nw_expr *end, *by, *first; // M, n, and min(i_o*n, M - n)
} unshifting;

static bool is_min(void *env, const nw_expr *e) {
  (void)env;
  return e->op == NW_OP_MIN;
}

static bool proves(const nw_program *p, const nw_expr *cond) {
  nw_ranges r;
  nw_ranges_of(&r, p, NULL);
  bool holds = nw_prove(&r, cond);
  nw_ranges_free(&r);
  return holds;
}

// ---- the loop

// True if the loop was split off from 0..M by n, so that `at` is n times its variable.
static bool is_outer(const nw_program *p, const nw_stmt *loop, const nw_expr *at, const nw_expr *end,
                     const nw_expr *by) {
  nw_pool *pool = p->pool;
  return at == nw_mul(pool, by, loop->loop.var) && nw_is_const(loop->loop.begin, 0) && !loop->loop.nfused &&
         loop->loop.extent == nw_ceildiv(pool, end, by) && nw_uses_only_sizes(p, by) && nw_uses_only_sizes(p, end);
}

// Finds a loop on the path, and M and n, such that `first` is min(i_o*n, M - n).
static bool find_outer(unshifting *x, const nw_path *path, const nw_block_var *v, const nw_expr *first) {
  nw_pool *pool = x->p->pool;
  for (int side = 0; side < 2; side++) {
    const nw_expr *at = first->arg[side], *by = nw_sub(pool, v->extent, first->arg[1 - side]);
    int64_t number;
    if (nw_is_int(by, &number)) continue; // isl can represent this tail
    for (int i = 0; i < path->n; i++) {
      if (path->at[i]->kind != NW_LOOP || !is_outer(x->p, path->at[i], at, v->extent, by)) continue;
      *x = (unshifting){x->p, path->at[i], v->extent, by, first};
      return true;
    }
  }
  return false;
}

static bool see_block(void *env, const nw_path *path) {
  unshifting *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars && !x->outer; i++) {
    int64_t coef;
    const nw_expr *first = nw_sum_part(s->block.var[i].bind, is_min, NULL, &coef);
    if (first && coef == 1) find_outer(x, path, &s->block.var[i], first);
  }
  return !x->outer;
}

// ---- blocks whose instances may run again

// True if no block inside the loop writes the buffer.
static bool is_stable(const nw_stmt *s, const char *buffer) {
  bool stable = s->kind != NW_BLOCK || !nw_block_writes(s, buffer);
  for (int i = 0; i < s->nkids && stable; i++) stable = is_stable(s->kid[i], buffer);
  return stable;
}

static bool reads_stable(void *env, const nw_expr *e) {
  const unshifting *x = env;
  return e->op != NW_OP_LOAD || is_stable(x->outer, e->name);
}

// True if an instance stores the same values when it runs again, and only instances with the same number write its
// elements. A reduction must be computed from its init in each iteration of the loop.
static bool stores_again(unshifting *x, const nw_path *path, const nw_block_var *v) {
  const nw_stmt *s = path->at[path->n - 1];
  bool ok = s->block.combiner == NW_PLAIN || s->block.has_init;
  for (int i = 0; i <= nw_path_at(path, x->outer->id) && ok; i++)
    ok = path->at[i]->kind != NW_LOOP || !nw_binds_reduce(s, path->at[i]->loop.var->name);
  for (int t = 0; t < s->block.ntargets && ok; t++) {
    const nw_block_target *g = &s->block.target[t];
    bool index = false;
    for (int d = 0; d < g->n; d++) {
      index |= g->index[d] == v->var;
      ok = ok && nw_visit(g->index[d], reads_stable, x);
    }
    ok = ok && (index || NW_MUTATED(unshifted_any_element)) && !g->stream;
    ok = ok && (nw_visit(g->value, reads_stable, x) || NW_MUTATED(unshifted_reads_itself));
    if (g->init) ok = ok && nw_visit(g->init, reads_stable, x);
  }
  return ok && !s->block.async;
}

// ---- the number

// Returns the variable of the block whose value is first + i_i, or NULL. *rest is i_i.
static nw_block_var *number_of(const unshifting *x, const nw_stmt *block, const nw_expr **rest) {
  for (int i = 0; i < block->block.nvars; i++) {
    nw_block_var *v = &block->block.var[i];
    int64_t coef;
    if (v->kind != NW_SPATIAL || v->extent != x->end || !nw_is_const(v->lo, 0)) continue;
    if (nw_sum_part(v->bind, is_min, NULL, &coef) != x->first || coef != 1) continue;
    *rest = nw_sub(x->p->pool, v->bind, x->first);
    return v;
  }
  return NULL;
}

typedef struct inner { // the loops whose sum is i_i
  const unshifting *x;
  int n;
  nw_stmt *loop[NW_MAX_DEPTH];
  const char *name[NW_MAX_DEPTH];
  const nw_expr *zero[NW_MAX_DEPTH];
} inner;

static bool uses_inner(const inner *in, const nw_expr *e) { return nw_uses_any(e, in->n, in->name); }

// True if e uses only these loops and sizes.
static bool only_inner(const inner *in, const nw_expr *e) {
  return nw_uses_only_sizes(in->x->p, nw_subst_n(in->x->p->pool, e, in->n, in->name, in->zero));
}

// Finds the loops of `rest`. Returns false if they are around i_o, or if anything else depends on them, since an instance
// that runs again runs in other iterations of these loops.
static bool find_inner(inner *in, const nw_path *path, const nw_block_var *v, const nw_expr *rest) {
  const nw_stmt *s = path->at[path->n - 1];
  int outer = nw_path_at(path, in->x->outer->id);
  for (int i = 0; i < path->n; i++) {
    nw_stmt *l = path->at[i];
    if (l->kind != NW_LOOP || !nw_uses_var(rest, l->loop.var->name)) continue;
    if (i <= outer) return false;
    in->loop[in->n] = l;
    in->zero[in->n] = nw_index(in->x->p->pool, 0);
    in->name[in->n++] = l->loop.var->name;
  }
  for (int i = 0; i < path->n; i++) {
    const nw_stmt *l = path->at[i];
    if (l->kind != NW_LOOP) continue;
    bool own = nw_uses_var(rest, l->loop.var->name);
    if (own ? !only_inner(in, l->loop.begin) || !only_inner(in, l->loop.extent)
            : uses_inner(in, l->loop.begin) || uses_inner(in, l->loop.extent))
      return false;
  }
  for (int k = 0; k < s->block.nvars; k++)
    if (&s->block.var[k] != v && uses_inner(in, s->block.var[k].bind)) return false;
  return in->n > 0;
}

// Checks the conditions of the block. Sets *limited if one of them limits i_i.
static bool conditions_fit(const inner *in, const nw_expr *where, bool *limited) {
  const nw_expr *term[NW_MAX_TERMS];
  int n = where ? nw_conjuncts(where, NW_MAX_TERMS, term) : 0;
  *limited = false;
  for (int i = 0; i < n; i++) {
    if (!uses_inner(in, term[i])) continue;
    if (!only_inner(in, term[i])) return false;
    *limited = true;
  }
  return n < NW_MAX_TERMS;
}

// True if i_i takes each value 0, 1, ... n - 1 in every iteration of i_o.
static bool takes_all(const unshifting *x, const nw_path *path, const nw_block_var *v, const nw_expr *rest) {
  inner in = {.x = x};
  bool limited;
  if (!find_inner(&in, path, v, rest) || !conditions_fit(&in, path->at[path->n - 1]->block.where, &limited))
    return false;
  nw_stmt *loop = in.loop[0];
  if (rest == loop->loop.var && loop->loop.extent == x->by && nw_is_const(loop->loop.begin, 0) && !loop->loop.nfused &&
      !limited)
    return true;
  nw_merging m = {.p = x->p, .f = nw_family_for(x->p, NULL), .arena = nw_arena_scratch(), .e = rest, .end = x->by};
  bool ok = nw_find_parts(&m, loop) && nw_counts(&m);
  nw_vec_free(&m.cond);
  nw_arena_free(m.arena);
  nw_family_release(m.f);
  return ok;
}

// ---- the new program

static bool unshift_block(void *env, const nw_path *path) {
  unshifting *x = env;
  nw_stmt *s = path->at[path->n - 1];
  nw_pool *pool = x->p->pool;
  const nw_expr *rest;
  if (s->kind != NW_BLOCK || !nw_path_at(path, x->outer->id)) return true;
  nw_block_var *v = number_of(x, s, &rest);
  if (!v || !stores_again(x, path, v) || !takes_all(x, path, v, rest)) return false;
  const nw_expr *at = nw_add(pool, nw_mul(pool, x->by, x->outer->loop.var), rest);
  v->bind = at;
  s->block.where = nw_and(pool, s->block.where, nw_lt(pool, at, x->end));
  return true;
}

// True if nothing inside the loop uses its variable, except for the numbers and their guards.
static bool is_free(const unshifting *x, const nw_stmt *s) {
  const char *outer = x->outer->loop.var->name;
  bool ok = s->kind == NW_LOOP || s->kind == NW_BLOCK || s->kind == NW_SEQ || s->kind == NW_CALL;
  if (s->kind == NW_LOOP) ok = !nw_uses_var(s->loop.begin, outer) && !nw_uses_var(s->loop.extent, outer);
  if (s->kind == NW_BLOCK && s->block.where) ok = !nw_uses_var(s->block.where, outer);
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) {
    const nw_expr *bind = s->block.var[i].bind;
    int64_t coef;
    if (nw_sum_part(bind, is_min, NULL, &coef) == x->first) bind = nw_sub(x->p->pool, bind, x->first);
    ok = ok && !nw_uses_var(bind, outer);
  }
  for (int i = 0; i < s->nkids && ok; i++) ok = is_free(x, s->kid[i]);
  return ok;
}

static bool may_repeat(const unshifting *x) {
  nw_loop_kind mark = x->outer->loop.mark;
  return (mark == NW_SERIAL || mark == NW_UNROLLED || NW_MUTATED(unshifted_parallel)) &&
         proves(x->p, nw_le(x->p->pool, nw_index(x->p->pool, 1), x->by)) &&
         (proves(x->p, nw_le(x->p->pool, x->by, x->end)) || NW_MUTATED(unshifted_too_long)) && is_free(x, x->outer);
}

static nw_program *unshift_one(const nw_program *p) {
  unshifting x = {.p = nw_program_clone(p)};
  x.p->step = p->step;
  nw_walk(x.p, see_block, &x);
  if (x.outer && may_repeat(&x) && nw_walk(x.p, unshift_block, &x)) return nw_program_freeze(x.p);
  nw_program_release(x.p);
  return NULL;
}

enum { MOST_UNSHIFTED = 4 };

bool nw_unshifted(const nw_program *p, nw_program **out) {
  bool any = false;
  *out = nw_program_retain(p);
  if (p->unsafe || nw_find_bound(p->root)) return false;
  for (int i = 0; i < MOST_UNSHIFTED; i++) {
    nw_program *next = unshift_one(*out);
    if (!next) break;
    nw_program_release(*out);
    *out = next;
    any = true;
  }
  return any;
}
