// Pass: moves the init of a reduction block into a separate block.
//
// A reduce loop is a loop that binds a reduce axis. The init becomes a separate block right before the outermost reduce
// loop, inside copies of the spatial loops that are inside this reduce loop. This is correct if the first iterations of
// the reduce loops execute the first reduction step of every element. In any other nest, the init is put right before
// the update, with the guard "all reduce axes have their first values". If a block never executes a first reduction
// step, it gets no init; an example is the block in the last piece of a loop that was cut.
#include "ir/program/lift.h"
#include "lower/pass.h"

static const nw_expr **copy_exprs(nw_program *p, const nw_expr *const *e, int n) {
  const nw_expr **copy = NW_NEW_N(p->arena, const nw_expr *, n);
  for (int i = 0; i < n; i++) copy[i] = e[i];
  return copy;
}

static void init_targets(nw_program *p, const nw_stmt *from, nw_stmt *to) {
  int n = from->block.ntargets;
  to->block.ntargets = n;
  to->block.target = NW_NEW_N(p->arena, nw_block_target, n);
  for (int i = 0; i < n; i++) {
    const nw_block_target *t = &from->block.target[i];
    to->block.target[i] = (nw_block_target){t->buffer, t->n, copy_exprs(p, t->index, t->n), t->init, NULL, false};
  }
}

// Returns a block that initializes the elements if `where` holds. It has the bindings of the update, except those of
// the reduce axes.
static nw_stmt *init_block(nw_program *p, const nw_stmt *b, const nw_expr *where) {
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

// Puts the body into a copy of a loop. The copy has a new variable, which replaces the old one in the body.
static nw_stmt *wrap_loop(nw_program *p, const nw_lift *l, const nw_stmt *loop, nw_stmt *body) {
  const char *name = nw_unique_loop_name(p, loop->loop.var->name);
  nw_stmt *copy = nw_new_loop(p, name, nw_lift_begin(l, loop->loop.begin), nw_lift_begin(l, loop->loop.extent));
  copy->step = loop->step;
  copy->loop.mark = loop->loop.mark;
  copy->loop.nfused = loop->loop.nfused;
  if (loop->loop.nfused) copy->loop.fused = copy_exprs(p, loop->loop.fused, loop->loop.nfused);
  nw_stmt_subst(p, body, loop->loop.var->name, copy->loop.var);
  nw_kids_set(p, copy, 1, &body);
  return copy;
}

// Returns the condition of an init block before the reduce loops: the condition of the original block, in which the
// variables of the reduce loops have their first values.
static const nw_expr *lifted_where(const nw_lift *l) { return nw_lift_begin(l, nw_where_of_init(l->p, l->block)); }

static void lift(nw_program *p, const nw_lift *l) {
  nw_stmt *nest = init_block(p, l->block, lifted_where(l));
  for (int i = l->path.n - 2; i >= l->outer; i--) {
    const nw_stmt *at = l->path.at[i];
    if (at->kind == NW_LOOP && !l->reduce[i]) nest = wrap_loop(p, l, at, nest);
  }
  nw_kids_insert(p, l->path.at[l->outer - 1], l->path.pos[l->outer], nest);
}

static void keep_beside(nw_program *p, const nw_lift *l) {
  const nw_expr *where = l->block->block.where;
  for (int i = 0; i < l->block->block.nvars; i++) {
    const nw_block_var *v = &l->block->block.var[i];
    if (v->kind == NW_REDUCE) where = nw_and(p->pool, where, nw_lift_first(l, v));
  }
  int last = l->path.n - 1;
  nw_kids_insert(p, l->path.at[last - 1], l->path.pos[last], init_block(p, l->block, where));
}

void nw_split_init(nw_program *p, int id) {
  nw_lift l;
  nw_lift_of(&l, p, id);
  if (nw_lift_starts(&l)) {
    if (nw_lifts(&l))
      lift(p, &l);
    else
      keep_beside(p, &l);
  }
  l.block->block.has_init = false;
  nw_lift_free(&l);
}

// Collects the reduction blocks, except those in calls, whose nests must stay as they were scheduled (see calls.c).
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
