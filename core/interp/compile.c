// Compiles statements to the form that exec.c executes. Names become slots, and expressions become nodes. A reduction
// becomes an expression that combines the old value with the new term.
#include "interp/code.h"
#include <stdio.h>
#include <stdlib.h>

static nwi_code *compile(nwi_program *x, const nw_stmt *s);

static nwi_node *make(nwi_scope *s, const nw_expr *e, bool *ok) {
  nwi_node *n = e ? nwi_make(s, e) : NULL;
  if (e && !n) *ok = false;
  return n;
}

static nwi_node **make_all(nwi_program *x, nwi_scope *s, int n, const nw_expr *const *e, bool *ok) {
  nwi_node **out = NW_NEW_N(x->arena, nwi_node *, n + 1);
  for (int i = 0; i < n; i++) out[i] = make(s, e[i], ok);
  return out;
}

static bool compile_kids(nwi_program *x, const nw_stmt *s, nwi_code *c) {
  c->kid = NW_NEW_N(x->arena, nwi_code *, s->nkids + 1);
  for (c->nkids = 0; c->nkids < s->nkids; c->nkids++) {
    nwi_code *kid = c->kid[c->nkids] = compile(x, s->kid[c->nkids]);
    if (!kid) return false;
    kid->up = c;
  }
  return true;
}

static bool writes(const nwi_code *block, const nwi_buffer *b) {
  for (int i = 0; i < block->ntargets; i++)
    if (block->target[i].buffer == b) return true;
  return false;
}

// True if the init of the block must run even if the loop has no iterations. This init is called a lone init. The
// result is false if the loop does not belong to the block's reduction (ir/program/lift.c). The result is also false if
// there is a guard, or an allocation of a buffer that the block writes, between the loop and the block.
static bool is_lone(const nwi_code *loop, const nwi_code *block) {
  if (!block->lone_init || !nw_binds_reduce(block->stmt, loop->name)) return false;
  for (const nwi_code *at = block->up; at != loop; at = at->up)
    if (at->kind == NW_GUARD || (at->kind == NW_ALLOC && writes(block, at->buffer))) return false;
  return true;
}

static void find_lone(const nwi_code *loop, nwi_code *at, nw_vec *found) {
  for (int i = 0; i < at->nkids; i++) find_lone(loop, at->kid[i], found);
  if (at->kind == NW_BLOCK && is_lone(loop, at)) nw_vec_push(found, at);
}

static void set_lone(nwi_program *x, nwi_code *loop) {
  nw_vec found = {0};
  find_lone(loop, loop, &found);
  loop->nlone = found.n;
  loop->lone = NW_NEW_N(x->arena, nwi_code *, found.n + 1);
  for (int i = 0; i < found.n; i++) loop->lone[i] = found.at[i];
  nw_vec_free(&found);
}

static bool compile_loop(nwi_program *x, const nw_stmt *s, nwi_code *c) {
  bool ok = true;
  c->begin = make(&x->loops, s->loop.begin, &ok);
  c->extent = make(&x->loops, s->loop.extent, &ok);
  c->slot = x->nslots++;
  c->name = s->loop.var->name;
  c->parallel = x->exec && s->loop.mark == NW_PARALLEL;
  c->dim = c->parallel ? 0 : x->gridded ? nw_grid_dim(s) : -1;
  nwi_bind(&x->loops, s->loop.var->name, c->slot);
  if (++x->depth > NW_MAX_DEPTH)
    ok = nw_fail(x->run.ctx, NW_ELIMIT, NULL, "loops are nested deeper than %d", NW_MAX_DEPTH);
  ok = ok && compile_kids(x, s, c);
  if (ok) set_lone(x, c);
  x->depth--;
  nwi_unbind(&x->loops);
  return ok;
}

static bool make_layout(nwi_program *x, const nw_buffer *b, nwi_code *c) {
  bool ok = true;
  nwi_scope body = {
      .arena = x->arena, .ctx = x->run.ctx, .features = x->loops.features, .load = nwi_load_setup, .host = x};
  for (int i = 0; i < x->p->nsizes; i++) nwi_bind(&body, x->p->size[i].name, i);
  c->dim_slot = NW_NEW_N(x->arena, int, b->ndim + 1);
  for (int d = 0; d < b->ndim; d++) {
    char name[16];
    snprintf(name, sizeof name, "_%d", d);
    c->dim_slot[d] = x->nslots++;
    nwi_bind(&body, nw_pool_name(x->p->pool, name), c->dim_slot[d]);
  }
  c->nlayout = b->nlayout;
  c->layout = make_all(x, &body, b->nlayout, b->layout, &ok);
  c->room = make_all(x, &body, b->nlayout, b->layout_shape, &ok);
  nwi_scope_free(&body);
  return ok;
}

static bool compile_alloc(nwi_program *x, const nw_stmt *s, nwi_code *c) {
  bool ok = true;
  c->buffer = nwi_buffer_named(x, s->alloc.buffer);
  c->min = make_all(x, &x->loops, s->alloc.n, s->alloc.min, &ok);
  c->size = make_all(x, &x->loops, s->alloc.n, s->alloc.extent, &ok);
  if (!x->exec) ok = make_layout(x, nw_find_buffer(x->p, s->alloc.buffer), c) && ok;
  return ok && compile_kids(x, s, c);
}

static bool compile_store(nwi_program *x, const nw_stmt *s, nwi_code *c) {
  bool ok = true;
  c->ntargets = 1;
  nwi_target *t = c->target = NW_NEW(x->arena, nwi_target);
  t->buffer = nwi_buffer_named(x, s->store.buffer);
  t->n = 1;
  t->index = make_all(x, &x->loops, 1, &s->store.index, &ok);
  t->value = make(&x->loops, s->store.value, &ok);
  t->mask = make(&x->loops, s->store.mask, &ok);
  return ok;
}

// ---- blocks

static bool divides_by_constants(void *env, const nw_expr *e) {
  (void)env;
  return (e->op != NW_OP_FLOORDIV && e->op != NW_OP_FLOORMOD) || e->arg[1]->op == NW_OP_INT;
}

static bool bind_vars(nwi_program *x, const nw_stmt *s, nwi_code *c, nwi_scope *body) {
  bool ok = true;
  int n = c->nvars = s->block.nvars;
  c->bind = NW_NEW_N(x->arena, nwi_node *, n + 1);
  c->lo = NW_NEW_N(x->arena, nwi_node *, n + 1);
  c->var_slot = NW_NEW_N(x->arena, int, n + 1);
  c->reduce = NW_NEW_N(x->arena, bool, n + 1);
  c->divides = NW_NEW_N(x->arena, bool, n + 1);
  for (int i = 0; i < n; i++) {
    const nw_block_var *v = &s->block.var[i];
    c->bind[i] = make(&x->loops, v->bind, &ok);
    c->lo[i] = make(&x->loops, v->lo, &ok);
    c->reduce[i] = v->kind == NW_REDUCE;
    c->divides[i] = c->reduce[i] && !nw_visit(v->bind, divides_by_constants, NULL);
    c->var_slot[i] = x->nslots++;
    nwi_bind(body, v->var->name, c->var_slot[i]);
  }
  return ok;
}

static const nw_expr *old_value(nwi_program *x, const nw_block_target *t) {
  const nw_buffer *b = nw_find_buffer(x->p, t->buffer);
  return nw_load(x->pool, (nw_type){(uint8_t)b->dtype, 1}, t->buffer, t->n, t->index);
}

static bool make_targets(nwi_program *x, const nw_stmt *s, nwi_code *c, nwi_scope *body) {
  bool ok = true;
  int n = c->ntargets = s->block.ntargets;
  bool joint = nw_combiner_is_joint(s->block.combiner);
  c->target = NW_NEW_N(x->arena, nwi_target, n + 1);
  for (int i = 0; i < n; i++) {
    const nw_block_target *t = &s->block.target[i];
    const nw_expr *old[NW_MAX_REDUCED] = {0}, *term[NW_MAX_REDUCED] = {0}, *value = t->value;
    nwi_target *to = &c->target[i];
    *to = (nwi_target){.buffer = nwi_buffer_named(x, t->buffer), .n = t->n};
    to->index = make_all(x, body, t->n, t->index, &ok);
    to->init = make(body, t->init, &ok);
    if (s->block.combiner != NW_PLAIN) {
      for (int k = 0; k < (joint ? n : 1); k++) {
        const nw_block_target *from = joint ? &s->block.target[k] : t;
        old[k] = old_value(x, from);
        term[k] = nw_import(x->pool, from->value);
      }
      value = nw_combine(x->pool, s->block.combiner, joint ? i : 0, old, term);
    }
    to->value = make(body, value, &ok);
  }
  return ok;
}

// True if the block has an init that runs even when the whole reduction is empty. False if the binding of another axis,
// and so the written element, also depends on a loop of the reduction. If a loop was cut into pieces and only some
// pieces are empty, the piece with the first iteration runs the init.
static bool lone_init(const nw_program *p, const nw_stmt *s) {
  for (int i = 0; i < s->block.nvars; i++)
    if (s->block.var[i].kind != NW_REDUCE && nw_speaks_of_reduction(p, s, s->block.var[i].bind)) return false;
  return s->block.has_init;
}

static bool compile_block(nwi_program *x, const nw_stmt *s, nwi_code *c) {
  bool ok = true;
  nwi_scope body = {
      .arena = x->arena, .ctx = x->run.ctx, .features = x->loops.features, .load = nwi_load_setup, .host = x};
  for (int i = 0; i < x->p->nsizes; i++) nwi_bind(&body, x->p->size[i].name, i);
  c->has_init = s->block.has_init;
  c->cond = make(&x->loops, s->block.where, &ok);
  c->lone_init = lone_init(x->p, s);
  if (c->lone_init) {
    const nw_expr *nothing = nw_over_nothing(x->p->pool, s), *where = nw_where_of_init(x->p, s);
    c->init_cond = make(&x->loops, where ? nw_and(x->p->pool, where, nothing) : nothing, &ok);
  }
  ok = bind_vars(x, s, c, &body) && make_targets(x, s, c, &body) && ok;
  nwi_scope_free(&body);
  return ok;
}

static nwi_code *compile(nwi_program *x, const nw_stmt *s) {
  bool ok = true;
  nwi_code *c = NW_NEW(x->arena, nwi_code);
  c->kind = s->kind;
  c->stmt = s;
  bool parallel = x->exec && s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL;
  c->launch = !x->grid.launch && (parallel || (x->gridded && nw_is_launch(x->p, s)));
  if (c->launch) x->grid.launch = 1; // the statements inside are part of the launch
  nwi_forget(&x->loops);
  switch (s->kind) {
  case NW_SEQ:
  case NW_UNIT:
  case NW_CALL: ok = compile_kids(x, s, c); break;
  case NW_LOOP: ok = compile_loop(x, s, c); break;
  case NW_BLOCK: ok = compile_block(x, s, c); break;
  case NW_GUARD:
    c->cond = make(&x->loops, s->guard.cond, &ok);
    ok = ok && compile_kids(x, s, c);
    break;
  case NW_STORE: ok = compile_store(x, s, c); break;
  case NW_ALLOC: ok = compile_alloc(x, s, c); break;
  case NW_PREFETCH: break; // a prefetch does not change values
  case NW_BARRIER:
  case NW_COMMIT:
  case NW_WAIT: break;
  }
  if (c->launch) x->grid.launch = 0;
  return ok ? c : NULL;
}

// Compiles the allocations of the program, and the statements that use them, into one sequence.
static nwi_code *compile_allocs(nwi_program *x) {
  nwi_code *c = NW_NEW(x->arena, nwi_code);
  c->kind = NW_SEQ;
  c->kid = NW_NEW_N(x->arena, nwi_code *, x->p->nbuffers + 1);
  for (int i = 0; i < x->p->nbuffers; i++) {
    if (!x->p->buffer[i]->alloc) continue;
    c->kid[c->nkids] = compile(x, x->p->buffer[i]->alloc);
    if (!c->kid[c->nkids++]) return NULL;
  }
  c->kid[c->nkids] = compile(x, x->p->root);
  return c->kid[c->nkids++] ? c : NULL;
}

bool nwi_compile(nwi_program *x) {
  for (int i = 0; i < x->p->nsizes; i++) nwi_bind(&x->loops, x->p->size[i].name, i);
  x->nslots = x->p->nsizes;
  x->gridded = x->exec && nw_find_bound(x->p->root);
  x->root = compile_allocs(x);
  return x->root != NULL;
}
