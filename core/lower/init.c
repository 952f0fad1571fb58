// Pass: a reduction block that still owns its init gives it up.
//
// The init becomes a block of its own in a nest of copies of the spatial loops, right before the outermost loop that
// binds a reduce variable. That is right when the first iterations of the reduce loops are the first reduce instance,
// for every spatial instance below; for any other nest the init stays beside the update, guarded by "all reduce
// variables at their first value". A copy of the block (the tail of a cut loop) that never executes the first reduce
// instance gets no init.
#include "lower/pass.h"

typedef struct site {
  nw_program *p;
  nw_pool *pool;
  nw_path path; // ends in the block
  nw_stmt *block;
  nw_ranges r; // at the block, its condition included
  int outer; // position in path of the outermost reduce loop; path.n - 1 when there is none
  bool reduce[NW_MAX_DEPTH]; // which statements of the path are loops that bind a reduce variable
} site;

// A reduction over an axis without values: only its init is executed.
static bool over_nothing(const nw_stmt *block) {
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if (v->kind == NW_REDUCE && nw_is_const(v->extent, 0)) return true;
  }
  return false;
}

// What is known at the block. Over nothing, the block is never reached, so that anything would follow from being there;
// then what is known where its init goes.
static void site_ranges(site *s) {
  bool nothing = over_nothing(s->block);
  nw_path path = s->path;
  if (nothing) path.n = s->outer;
  nw_ranges_of(&s->r, s->p, &path);
  if (s->block->block.where && !nothing) nw_ranges_fact(&s->r, s->block->block.where);
}

static void site_open(site *s, nw_program *p, int id) {
  *s = (site){.p = p, .pool = p->pool};
  nw_find(p, id, &s->path);
  s->block = s->path.at[s->path.n - 1];
  s->outer = s->path.n - 1;
  for (int i = s->path.n - 1; i >= 0; i--) {
    const nw_stmt *at = s->path.at[i];
    s->reduce[i] = at->kind == NW_LOOP && nw_binds_reduce(s->block, at->loop.var->name);
    if (s->reduce[i]) s->outer = i;
  }
  site_ranges(s);
}

// The condition "this is the first reduce instance" of one variable.
static const nw_expr *at_first(const site *s, const nw_block_var *v) { return nw_eq(s->pool, v->bind, v->lo); }

static bool never_first(const site *s) {
  for (int i = 0; i < s->block->block.nvars; i++) {
    const nw_block_var *v = &s->block->block.var[i];
    if (v->kind == NW_REDUCE && nw_disprove(&s->r, at_first(s, v))) return true;
  }
  return false;
}

// e when every reduce loop is at its first iteration.
static const nw_expr *at_begin(const site *s, const nw_expr *e) {
  for (int i = s->path.n - 1; e && i >= s->outer; i--) {
    const nw_stmt *at = s->path.at[i];
    if (s->reduce[i]) e = nw_subst(s->pool, e, at->loop.var->name, at->loop.begin);
  }
  return e;
}

static bool uses_reduce_loop(const site *s, const nw_expr *e) {
  for (int i = s->outer; i < s->path.n; i++) {
    if (s->reduce[i] && nw_uses_var(e, s->path.at[i]->loop.var->name)) return true;
  }
  return false;
}

static bool stores_to(const nw_stmt *block, const char *buffer) {
  for (int i = 0; i < block->block.ntargets; i++) {
    if (block->block.target[i].buffer == buffer) return true;
  }
  return false;
}

// Nothing between the outermost reduce loop and the block hinders lifting the init over it.
static bool path_allows(const site *s) {
  for (int i = s->outer; i < s->path.n - 1; i++) {
    const nw_stmt *at = s->path.at[i];
    if (at->kind == NW_ALLOC && stores_to(s->block, at->alloc.buffer)) return false;
    if (at->kind == NW_GUARD) return false;
    if (at->kind != NW_LOOP || s->reduce[i]) continue;
    if (uses_reduce_loop(s, at->loop.begin) || uses_reduce_loop(s, at->loop.extent)) return false;
  }
  return true;
}

static bool can_lift(const site *s) {
  if (!path_allows(s)) return false;
  for (int i = 0; i < s->block->block.nvars; i++) {
    const nw_block_var *v = &s->block->block.var[i];
    if (v->kind != NW_REDUCE && uses_reduce_loop(s, v->bind)) return false;
    if (v->kind == NW_REDUCE &&
        nw_simplify(&s->r, nw_sub(s->pool, at_begin(s, v->bind), v->lo)) != nw_index(s->pool, 0))
      return false;
  }
  return true;
}

static const nw_expr **copy_exprs(nw_program *p, const nw_expr *const *e, int n) {
  const nw_expr **copy = NW_NEW_N(p->arena, const nw_expr *, n);
  for (int i = 0; i < n; i++) copy[i] = e[i];
  return copy;
}

static void init_targets(nw_program *p, const nw_stmt *from, nw_stmt *to) {
  int n = from->block.ntargets;
  to->block.ntargets = n;
  to->block.target = NW_NEW_N(p->arena, nw_target, n);
  for (int i = 0; i < n; i++) {
    const nw_target *t = &from->block.target[i];
    to->block.target[i] = (nw_target){t->buffer, t->n, copy_exprs(p, t->index, t->n), t->init, NULL};
  }
}

// The block that sets the elements, executed where `where` holds; its bindings are those of the update.
static nw_stmt *init_block(const site *s, const nw_expr *where) {
  nw_program *p = s->p;
  const nw_stmt *b = s->block;
  nw_stmt *init = nw_new_like(p, NW_BLOCK, b);
  nw_str name = {0};
  nw_str_fmt(&name, "%s_init", b->block.name);
  init->block.name = nw_unique_block_name(p, name.s);
  nw_str_free(&name);
  init->block.origin = b->block.origin;
  init->block.init_part = true;
  init->block.combiner = NW_PLAIN;
  init->block.where = where;
  init->block.var = NW_NEW_N(p->arena, nw_block_var, b->block.nvars);
  for (int i = 0; i < b->block.nvars; i++) {
    if (b->block.var[i].kind != NW_REDUCE) init->block.var[init->block.nvars++] = b->block.var[i];
  }
  init_targets(p, b, init);
  return init;
}

// A copy of a loop under a fresh name; the copy's variable replaces the original's below.
static nw_stmt *wrap_loop(const site *s, const nw_stmt *loop, nw_stmt *body) {
  nw_program *p = s->p;
  const char *name = nw_unique_loop_name(p, loop->loop.var->name);
  nw_stmt *copy = nw_new_loop(p, name, at_begin(s, loop->loop.begin), at_begin(s, loop->loop.extent));
  copy->loop.mark = loop->loop.mark;
  copy->loop.nfused = loop->loop.nfused;
  if (loop->loop.nfused) copy->loop.fused = copy_exprs(p, loop->loop.fused, loop->loop.nfused);
  nw_stmt_subst(p, body, loop->loop.var->name, copy->loop.var);
  nw_kids_set(p, copy, 1, &body);
  return copy;
}

// Substituting made the whole nest new; every statement of it belongs to the step of what it was copied from.
static void restore_steps(const site *s, nw_stmt *nest) {
  for (int i = s->outer; i < s->path.n - 1; i++) {
    const nw_stmt *at = s->path.at[i];
    if (at->kind != NW_LOOP || s->reduce[i]) continue;
    nest->step = at->step;
    nest = nest->kid[0];
  }
  nest->step = s->block->step;
}

// The condition of a lifted init: that of the block in the first iterations of the reduce loops.
static const nw_expr *lifted_where(const site *s) { return at_begin(s, nw_where_of_init(s->p, s->block)); }

static void lift(site *s) {
  nw_stmt *nest = init_block(s, lifted_where(s));
  for (int i = s->path.n - 2; i >= s->outer; i--) {
    const nw_stmt *at = s->path.at[i];
    if (at->kind == NW_LOOP && !s->reduce[i]) nest = wrap_loop(s, at, nest);
  }
  restore_steps(s, nest);
  nw_kids_insert(s->p, s->path.at[s->outer - 1], s->path.pos[s->outer], nest);
}

static void keep_beside(site *s) {
  const nw_expr *where = s->block->block.where;
  for (int i = 0; i < s->block->block.nvars; i++) {
    const nw_block_var *v = &s->block->block.var[i];
    if (v->kind == NW_REDUCE) where = nw_and(s->pool, where, at_first(s, v));
  }
  int last = s->path.n - 1;
  nw_kids_insert(s->p, s->path.at[last - 1], s->path.pos[last], init_block(s, where));
}

void nw_split_init(nw_program *p, int id) {
  site s;
  site_open(&s, p, id);
  if (!never_first(&s)) {
    if (can_lift(&s))
      lift(&s);
    else
      keep_beside(&s);
  }
  s.block->block.has_init = false;
  nw_ranges_free(&s.r);
}

// A call's nest is first looked at as it was scheduled: see calls.c.
static void collect(const nw_stmt *s, nw_vec *out) {
  if (s->kind == NW_CALL) return;
  if (s->kind == NW_BLOCK && s->block.has_init) nw_vec_push(out, (void *)s);
  for (int i = 0; i < s->nkids; i++) collect(s->kid[i], out);
}

nw_program *nw_pass_init(nw_program *p) {
  nw_vec owners = {0};
  collect(p->root, &owners);
  for (int i = 0; i < owners.n; i++) nw_split_init(p, ((nw_stmt *)owners.at[i])->id);
  nw_vec_free(&owners);
  return p;
}
