// Pass: combines several terms of a minimum or maximum of floats before they update the element.
//
//   for k in 0..98:              for k in 0..24:
//     m = max(m, A[k])     ->      m = max(m, max(max(A[4*k], A[4*k + 1]), max(A[4*k + 2], A[4*k + 3])))
//                                for k.tail in 96..98:
//                                  m = max(m, A[k.tail])
//
// Each update must wait for the update before it, and an exact minimum of floats takes several dependent instructions.
// After this pass, only one of a few minimums is in that chain. The result is the same: a minimum does not depend on
// the order of its terms. (If there are several NaNs, another one of them may be the result.)
#include "lower/pass.h"

enum {
  TERMS = 4, // terms of an update
  REGISTERS = 8, // limit on the vector registers that the terms of an update fill
  MOST_OPS = 64, // limit on the operations of a term
};

typedef struct gatherer {
  nw_program *p;
  nw_ranges r;
} gatherer;

// ---- one update

// Returns the term of an update of the form e = min(e, term) or e = max(e, term), or NULL if the statement is not such
// an update.
static const nw_expr *term_of(const nw_stmt *s) {
  if (s->kind != NW_STORE || s->store.mask || s->store.stream || s->store.atomic || s->store.async) return NULL;
  const nw_expr *v = s->store.value;
  if ((v->op != NW_OP_MIN && v->op != NW_OP_MAX) || !nw_dtype_is_float((nw_dtype)v->type.dtype)) return NULL;
  for (int i = 0; i < 2; i++) {
    const nw_expr *old = v->arg[i], *term = v->arg[1 - i];
    bool same =
        old->op == NW_OP_LOAD && old->n == 1 && old->arg[0] == s->store.index && !strcmp(old->name, s->store.buffer);
    if (same && !nw_uses_load(term, s->store.buffer) && nw_expr_ops(term) <= MOST_OPS) return term;
  }
  return NULL;
}

// Returns the number of terms to combine.
static int terms_of(const nw_program *p, const nw_stmt *s) {
  int bytes = s->store.index->type.lanes * nw_dtype_bytes((nw_dtype)s->store.value->type.dtype);
  int width = nw_features_vector_bytes(p->target->features);
  int registers = width > 0 ? (bytes + width - 1) / width : bytes;
  return registers * TERMS <= REGISTERS ? TERMS : REGISTERS / registers;
}

static const nw_expr *tree(nw_pool *pool, nw_op op, int n, const nw_expr *const *term) {
  if (n == 1) return term[0];
  return nw_make2(pool, op, tree(pool, op, (n + 1) / 2, term), tree(pool, op, n / 2, term + (n + 1) / 2));
}

// Makes the store combine the element with all the terms.
static void update_by(nw_program *p, nw_stmt *s, int n, const nw_expr *const *term) {
  nw_op op = (nw_op)s->store.value->op;
  const nw_expr *old = nw_load(p->pool, s->store.value->type, s->store.buffer, 1, &s->store.index);
  s->store.value = nw_make2(p->pool, op, old, tree(p->pool, op, n, term));
}

// ---- loops

static bool gathers(const nw_stmt *loop) {
  return loop->kind == NW_LOOP && loop->loop.mark == NW_SERIAL && loop->nkids == 1 && term_of(loop->kid[0]) &&
         !nw_uses_var(loop->kid[0]->store.index, loop->loop.var->name);
}

// Makes an iteration of the loop update by n terms. Adds the loop and, for the remaining iterations, a copy of it to
// `out`.
static void gather_loop(gatherer *g, nw_stmt *loop, nw_vec *out) {
  nw_program *p = g->p;
  nw_pool *pool = p->pool;
  nw_stmt *s = loop->kid[0];
  const nw_expr *begin = loop->loop.begin, *count = loop->loop.extent, *k = loop->loop.var, *term[TERMS];
  int64_t fixed;
  int n = terms_of(p, s);
  nw_vec_push(out, loop);
  if (n < 2 || (nw_is_int(count, &fixed) && fixed < 2 * n)) return;
  const nw_expr *by = nw_index(pool, n), *whole = nw_simplify(&g->r, nw_floordiv(pool, count, by));
  const nw_expr *done = nw_mul(pool, whole, by), *left = nw_simplify(&g->r, nw_sub(pool, count, done));
  if (!nw_is_const(left, 0) && !NW_MUTATED(terms_left)) {
    nw_stmt *tail = nw_copy_stmt_as(p, loop, nw_arena_printf(p->arena, "%s.tail", k->name));
    tail->step = loop->step;
    tail->loop.begin = nw_simplify(&g->r, nw_add(pool, begin, done));
    tail->loop.extent = left;
    nw_vec_push(out, tail);
  }
  loop->loop.begin = nw_index(pool, 0);
  loop->loop.extent = whole;
  nw_scope_push(&g->r, loop);
  for (int i = 0; i < n; i++) {
    const nw_expr *at = nw_add(pool, nw_add(pool, begin, nw_mul(pool, k, by)), nw_index(pool, i));
    term[i] = nw_simplify_lanes(&g->r, nw_subst(pool, term_of(s), k->name, at));
  }
  nw_scope_pop(&g->r, loop);
  update_by(p, s, n, term);
}

// ---- adjacent updates of one element

static bool same_element(const nw_stmt *a, const nw_stmt *b) {
  return a->store.index == b->store.index && a->store.value->op == b->store.value->op &&
         !strcmp(a->store.buffer, b->store.buffer);
}

// Combines the update at position `at` with updates of the same element that follow it. Returns the position after
// them.
static int gather_updates(gatherer *g, const nw_stmt *s, int at) {
  nw_stmt *first = s->kid[at];
  const nw_expr *term[TERMS] = {term_of(first)};
  int n = 0, most = term[0] ? terms_of(g->p, first) : 0;
  while (n < most && at + n < s->nkids && (term[n] = term_of(s->kid[at + n])) && same_element(first, s->kid[at + n]))
    n++;
  if (n > 1) update_by(g->p, first, n, term);
  return at + (n > 1 ? n : 1);
}

// ---- the tree

static void gather(gatherer *g, nw_stmt *s) {
  if (s->kind == NW_CALL || !s->nkids) return;
  nw_vec kids = {0};
  nw_scope_push(&g->r, s);
  for (int i = 0; i < s->nkids;) {
    nw_stmt *kid = s->kid[i];
    int next = gather_updates(g, s, i);
    gather(g, kid);
    if (gathers(kid))
      gather_loop(g, kid, &kids);
    else
      nw_vec_push(&kids, kid);
    i = next;
  }
  nw_scope_pop(&g->r, s);
  nw_kids_set(g->p, s, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
}

nw_program *nw_pass_terms(nw_program *p) {
  if (nw_find_bound(p->root)) return p;
  gatherer g = {.p = p};
  nw_scope_open(&g.r, p);
  gather(&g, p->root);
  nw_ranges_free(&g.r);
  return p;
}
