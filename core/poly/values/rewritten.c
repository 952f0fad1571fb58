// Checks the program of a rewrite: it must be the old program with the equality applied to the values of one stage, and
// nothing else. The judge applies the equality itself.
#include "ir/expr/equality.h"
#include "poly/internal.h"

bool nw_is_rewritten(const nw_rewriting *w, const nw_stmt *block) {
  return !strcmp(block->block.origin, w->origin) && !block->block.init_part;
}

// ---- reads

enum { MAX_READS = 256 };

// A read of a value: the load and the conditions of the selects around it.
typedef struct reads {
  nw_pool *pool;
  int n;
  const nw_expr *load[MAX_READS], *cond[MAX_READS];
} reads;

static void find_reads(reads *r, const nw_expr *cond, const nw_expr *e) {
  for (int i = 0; i < e->n; i++) {
    const nw_expr *holds = cond;
    if (e->op == NW_OP_SELECT && i)
      holds = nw_and(r->pool, cond, i == 1 ? e->arg[0] : nw_make1(r->pool, NW_OP_NOT, e->arg[0]));
    find_reads(r, holds, e->arg[i]);
  }
  if (e->op != NW_OP_LOAD || r->n == MAX_READS) return;
  r->load[r->n] = e;
  r->cond[r->n++] = cond;
}

// True if every conjunct of a is a conjunct of b, so that b implies a.
static bool implied(const nw_expr *a, const nw_expr *b) {
  const nw_expr *x[NW_MAX_TERMS], *y[NW_MAX_TERMS];
  int n = nw_conjuncts(a, NW_MAX_TERMS, x), m = nw_conjuncts(b, NW_MAX_TERMS, y);
  for (int i = 0; i < n; i++) {
    bool found = nw_is_const(x[i], 1);
    for (int k = 0; k < m; k++) found |= x[i] == y[k];
    if (!found) return false;
  }
  return n < NW_MAX_TERMS && m < NW_MAX_TERMS;
}

// Checks that the new value reads an element of a temporary only where the old value reads it, so that the element is
// written before, and no other dependence arises. An input can be read anywhere inside its bounds.
static nw_answer check_reads(const nw_model *m, const nw_stmt *block, const nw_expr *was, const nw_expr *is) {
  reads old = {.pool = m->p->pool}, new = {.pool = m->p->pool};
  find_reads(&old, nw_true(m->p->pool), was);
  find_reads(&new, nw_true(m->p->pool), is);
  for (int i = 0; i < new.n; i++) {
    bool found = nw_find_buffer(m->p, new.load[i]->name)->role == NW_INPUT && new.n < MAX_READS;
    for (int k = 0; k < old.n && !found; k++)
      found = old.load[k] == new.load[i] && implied(old.cond[k], new.cond[i]) && new.n < MAX_READS;
    if (found || !NW_RULE(m->p->ctx, rewrite_reads)) continue;
    return nw_tell(m, NW_REFUSE_VALUE, NULL, NULL, "%s would read an element of %s that it did not read before",
                   block->block.name, new.load[i]->name);
  }
  return NW_HOLDS;
}

// ---- the reference

typedef struct reference {
  const nw_rewriting *w;
  const nw_model *after;
  nw_program *p;
  nw_answer answer;
  const nw_buffer *lost; // a reduction whose terms no longer show which of them change nothing
} reference;

// Applies the equality to a block of the reference. Its mark is that of the new program.
static bool rewrite_block(void *env, nw_stmt *s) {
  reference *x = env;
  nw_path path;
  bool found = s->id && nw_find(x->after->seen, s->id, &path);
  if (found) s->tested = path.at[path.n - 1]->tested;
  if (s->kind != NW_BLOCK || !nw_is_rewritten(x->w, s)) return true;
  bool shown = nw_contributes_where(x->after, s);
  for (int t = 0; x->answer == NW_HOLDS && t < s->block.ntargets; t++) {
    nw_block_target *g = &s->block.target[t];
    const nw_expr *was = g->value;
    g->value = nw_equality_apply(x->p->pool, &x->w->equality, was, NULL, NULL);
    x->answer = check_reads(x->after, s, was, g->value);
  }
  if (shown && !nw_contributes_where(x->after, s)) x->lost = nw_find_buffer(x->after->p, s->block.target[0].buffer);
  return x->answer == NW_HOLDS;
}

// If the new terms of a reduction do not show which of them change nothing, none may be left out: trim leaves out those
// that change nothing.
static nw_answer check_terms(const reference *x) {
  if (!x->lost || !NW_RULE(x->after->p->ctx, rewrite_trimmed)) return NW_HOLDS;
  nw_ctx *c = x->after->p->ctx;
  nw_answer answer = nw_check_buffer_values(x->after, x->lost);
  if (answer == NW_HOLDS || nw_stopped(c)) return answer;
  nw_clear(c);
  return nw_tell(x->after, NW_REFUSE_VALUE, NULL, NULL,
                 "%s leaves out iterations that change nothing, and its new terms would not show which these are",
                 x->w->origin);
}

nw_answer nw_check_rewritten(const nw_program *before, const nw_model *after, const nw_rewriting *w) {
  reference x = {w, after, nw_program_clone(before), NW_HOLDS, NULL};
  nw_walk_from(x.p->root, rewrite_block, &x);
  x.p->tested = after->seen->tested;
  x.p->values = after->seen->values;
  nw_answer answer = x.answer;
  if (answer == NW_HOLDS && NW_RULE(before->ctx, rewrite_only) && !nw_same_program(x.p, after->seen))
    answer = nw_tell(after, NW_REFUSE_VALUE, NULL, NULL, "more would change than the values of %s", w->origin);
  if (answer == NW_HOLDS) answer = check_terms(&x);
  nw_program_release(x.p);
  return answer;
}
