// Rounds sizes up to multiples, so that loops that were split by sizes with a guard can be judged in digits.
//
// After s:split("i", n), a loop over 0..M runs i = i_o*n + i_i where i < M. Let c = ceil(M / n). If M is replaced by c*n,
// and the conditions i < M are removed, then M is a product of sizes, and every number below it has the digits i_o and
// i_i. The new program runs the instances of the old program in the same order, and also instances whose number is M or
// more. If each number is the index of an element in both programs, then everything that is proved about the new
// programs also holds for the old programs. If n is known to divide M, M is c*n, and the programs stay the same. See
// docs/fused.md.
#include "ir/program/lift.h"
#include "poly/whole/rounded.h"

enum { MOST_ROUNDED = 4 };

// ---- ceil(M / n) becomes c, and if n divides M, M becomes c*n

static const nw_expr *replaced(void *env, const nw_expr *e) {
  const nw_rounding *x = env;
  return e ? nw_replace(x->p->pool, e, x->from, x->to) : NULL;
}

static bool replace_in_block(void *env, nw_stmt *s) {
  nw_rounding *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) {
    s->block.var[i].lo = replaced(x, s->block.var[i].lo);
    s->block.var[i].extent = replaced(x, s->block.var[i].extent);
  }
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) {
    nw_block_target *g = &s->block.target[t];
    g->value = replaced(x, g->value);
    g->init = replaced(x, g->init);
    for (int d = 0; d < g->n; d++) g->index[d] = replaced(x, g->index[d]);
  }
  return true;
}

static void replace_all(nw_rounding *x, const nw_expr *from, const nw_expr *to) {
  x->from = from, x->to = to;
  nw_stmt_map(x->p, x->p->root, replaced, x);
  nw_walk_from(x->p->root, replace_in_block, x);
  for (int i = 0; i < x->p->nbuffers; i++) {
    nw_buffer *b = x->p->buffer[i];
    const nw_expr **shape = NW_NEW_N(x->p->arena, const nw_expr *, b->ndim + 1);
    for (int d = 0; d < b->ndim; d++) shape[d] = replaced(x, b->shape[d]);
    b->shape = shape;
    if (b->alloc) nw_stmt_map(x->p, b->alloc, replaced, x);
  }
}

// Returns the terms of the condition that do not follow from the ranges and from the other terms.
static const nw_expr *not_proven(nw_ranges *r, const nw_expr *where) {
  const nw_expr *term[NW_MAX_TERMS], *left = NULL;
  int n = nw_conjuncts(where, NW_MAX_TERMS, term);
  if (n == NW_MAX_TERMS) return where;
  for (int i = 0; i < n; i++) {
    int facts = 0;
    for (int k = 0; k < n; k++)
      if (k != i && term[k]) nw_ranges_fact(r, term[k]), facts++;
    if (nw_prove(r, term[i])) term[i] = NULL;
    while (facts-- > 0) nw_ranges_pop_fact(r);
  }
  for (int i = 0; i < n; i++)
    if (term[i]) left = nw_and(r->pool, left, term[i]);
  return left;
}

// Removes the conditions that hold because M is c*n, such as i_o*n + i_i < c*n.
static bool drop_proven(void *env, const nw_path *path) {
  const nw_rounding *x = env;
  nw_stmt *s = path->at[path->n - 1];
  nw_ranges r;
  if (s->kind != NW_BLOCK || !s->block.where) return true;
  nw_ranges_of(&r, x->p, path);
  s->block.where = not_proven(&r, s->block.where);
  nw_ranges_free(&r);
  return true;
}

static void make_exact(nw_rounding *x) {
  replace_all(x, x->size, x->whole);
  nw_walk(x->p, drop_proven, x);
}

// ---- whether M is left anywhere

static const nw_expr *look(void *env, const nw_expr *e) {
  nw_rounding *x = env;
  if (nw_uses_size(x, e)) x->ok = false;
  return e;
}

static void look_at_all(nw_rounding *x, int n, const nw_expr *const *e) {
  for (int i = 0; i < n; i++) look(x, e[i]);
}

static bool look_at_block(void *env, nw_stmt *s) {
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) {
    look(env, s->block.var[i].lo);
    look(env, s->block.var[i].extent);
  }
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) {
    const nw_block_target *g = &s->block.target[t];
    look(env, g->value);
    look(env, g->init);
    look_at_all(env, g->n, g->index);
  }
  return true;
}

// Facts about M may stay, since they hold for the old size M.
static bool is_gone(nw_rounding *x) {
  nw_stmt_map(x->p, x->p->root, look, x);
  nw_walk_from(x->p->root, look_at_block, x);
  for (int i = 0; i < x->p->nbuffers; i++) {
    nw_buffer *b = x->p->buffer[i];
    look_at_all(x, b->ndim, b->shape);
    look_at_all(x, b->nlayout, b->layout);
    look_at_all(x, b->nlayout, b->layout_shape);
    if (b->alloc) nw_stmt_map(x->p, b->alloc, look, x);
  }
  return x->ok;
}

// ---- which sizes

typedef struct finding {
  const nw_program *p;
  const nw_expr *size; // NULL if none was found
  const nw_expr *quotient; // ceil(size / n) is `quotient` + `more`
  int64_t more;
  bool exact; // true if n divides the size
} finding;

static bool is_at_least_one(const nw_program *p, const nw_expr *e) {
  nw_ranges r;
  nw_ranges_of(&r, p, NULL);
  bool holds = nw_prove(&r, nw_le(p->pool, nw_index(p->pool, 1), e));
  nw_ranges_free(&r);
  return holds;
}

static bool find_quotient(void *env, const nw_expr *e) {
  finding *x = env;
  nw_pool *pool = x->p->pool;
  int64_t c;
  if (e->op != NW_OP_FLOORDIV || nw_is_int(e->arg[1], &c) || !nw_uses_only_sizes(x->p, e)) return true;
  for (int i = 0; i < x->p->nsizes && !x->size; i++) {
    const nw_expr *size = nw_var(pool, x->p->size[i].name);
    bool exact = e->arg[0] == size && nw_is_multiple(x->p, size, e->arg[1]);
    if (nw_uses_var(e->arg[1], size->name)) continue;
    if (!exact && !nw_is_int(nw_sub(pool, nw_ceildiv(pool, size, e->arg[1]), e), &c)) continue;
    if (is_at_least_one(x->p, e->arg[1])) *x = (finding){x->p, size, e, exact ? 0 : c, exact};
  }
  return !x->size;
}

static bool find_in_loop(void *env, nw_stmt *s) {
  return s->kind != NW_LOOP || nw_visit(s->loop.extent, find_quotient, env);
}

static bool find_size(const nw_program *before, const nw_program *after, finding *out) {
  for (int i = 0; i < 2; i++) {
    *out = (finding){.p = i ? before : after};
    nw_walk_from(out->p->root, find_in_loop, out);
    if (out->size) return true;
  }
  return false;
}

// ---- one size

// True if every init of p is lifted in both programs, or in none. Otherwise it might run in other iterations.
static bool keeps_inits(const nw_program *p, const nw_program *q, const nw_stmt *s) {
  nw_path path;
  bool ok = true;
  if (s->kind == NW_BLOCK && s->block.has_init)
    ok = nw_find(q, s->id, &path) && nw_init_lifts(p, s) == nw_init_lifts(q, path.at[path.n - 1]);
  for (int i = 0; i < s->nkids && ok; i++) ok = keeps_inits(p, q, s->kid[i]);
  return ok;
}

// Adds the size c. Every c that is needed is at least 0, and at least 1 if M is at least 1.
static void add_rounds(nw_rounding *x) {
  nw_program *p = x->p;
  nw_size *size = NW_NEW_N(p->arena, nw_size, p->nsizes + 1);
  memcpy(size, p->size, (size_t)p->nsizes * sizeof *size);
  size[p->nsizes] = (nw_size){x->rounds->name, nw_index(p->pool, is_at_least_one(p, x->size))};
  p->size = size;
  p->nsizes++;
}

static nw_program *rounded(const nw_program *p, const finding *f) {
  nw_rounding x = {.p = nw_program_clone(p), .size = f->size, .quotient = f->quotient, .ok = true};
  nw_pool *pool = p->pool;
  char name[NW_NAME_MOST + 32];
  x.p->step = p->step;
  snprintf(name, sizeof name, "%s.rounds", f->size->name);
  x.rounds = nw_var(pool, name);
  x.value = nw_sub(pool, x.rounds, nw_index(pool, f->more));
  x.whole = nw_mul(pool, x.rounds, f->quotient->arg[1]);
  add_rounds(&x);
  replace_all(&x, x.quotient, x.value);
  f->exact ? make_exact(&x) : nw_round_up(&x);
  x.ok = x.ok && is_gone(&x);
  nw_vec_free(&x.limited);
  if (!x.ok) return nw_program_release(x.p), NULL;
  nw_program *made = nw_program_freeze(x.p);
  if (!made || keeps_inits(p, made, p->root)) return made;
  nw_program_release(made);
  return NULL;
}

// ---- all sizes

static bool can_round(const nw_program *p) { return !p->unsafe && !nw_find_bound(p->root); }

bool nw_rounded(const nw_program *before, const nw_program *after, nw_program **was, nw_program **is) {
  finding f;
  *was = nw_program_retain(before);
  *is = nw_program_retain(after);
  bool ok = can_round(before) && can_round(after), any = false;
  for (int i = 0; i < MOST_ROUNDED && ok && find_size(*was, *is, &f); i++) {
    nw_program *b = rounded(*was, &f), *a = b ? rounded(*is, &f) : NULL;
    nw_program_release(*was);
    nw_program_release(*is);
    *was = b;
    *is = a;
    any = ok = a != NULL;
  }
  if (ok && any) return true;
  nw_program_release(*was);
  nw_program_release(*is);
  return false;
}
