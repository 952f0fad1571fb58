// Makes a stage whose elements are computed by calls of an intrinsic, as a compute of TVM with a tensor intrinsic. Each
// call gets parts of tensors, and writes a tile of the stage.
//
// The body of the stage is the body of the intrinsic's description, in which the tiles are replaced by the parts. So
// the stage has a definition like any other. In the naive program, the call is around the nest of the tile, as after
// the step tensorize.
#include "ir/program/intrinsic.h"
#include "te/maker.h"
#include <stdlib.h>

typedef struct call {
  nw_build *b;
  const nw_intrinsic *in;
  const nw_teop *of; // the compute that describes the intrinsic
  int outer; // number of axes of the stage around the call
  int n;
  nw_tensor *const *input; // the inputs of `of`, in the order of the intrinsic's parameters
  const nw_tensor_part *part; // the part that stands for each input
} call;

// ---- conditions

static bool same_extent(const nw_expr *e, const nw_expr *want) {
  int64_t a, b;
  return nw_is_int(e, &a) && nw_is_int(want, &b) && a == b;
}

static int64_t extent_of(const nw_expr *e) {
  int64_t n = 0;
  nw_is_int(e, &n);
  return n;
}

// Checks the extents of a part. Each of its ranges is a dimension of the tile, in order.
static bool check_part(const call *x, int k) {
  const nw_tensor_part *s = &x->part[k];
  const nw_teop *tile = x->input[k]->op;
  const char *name = x->input[k]->name;
  int ranges = 0;
  if (s->n != s->of->op->ndim)
    return nw_fail(x->b->ctx, NW_ETYPE, NULL, "%s: the part of %s has %d indices, but the tensor has %d dimensions",
                   x->in->name, s->of->name, s->n, s->of->op->ndim);
  if (nw_tensor_dtype(s->of) != nw_tensor_dtype(x->input[k]))
    return nw_fail(x->b->ctx, NW_ETYPE, NULL, "%s: %s is %s, but %s is %s", x->in->name, s->of->name,
                   nw_dtype_name(nw_tensor_dtype(s->of)), name, nw_dtype_name(nw_tensor_dtype(x->input[k])));
  for (int d = 0; d < s->n; d++) ranges += s->end[d] != NULL;
  if (ranges != tile->ndim)
    return nw_fail(x->b->ctx, NW_ETYPE,
                   "give a range {begin, end} for each dimension of the tile, and an index for the others",
                   "%s: tile %s has %d dimension%s, but its part of %s has %d range%s", x->in->name, name, tile->ndim,
                   tile->ndim == 1 ? "" : "s", s->of->name, ranges, ranges == 1 ? "" : "s");
  for (int d = 0, r = 0; d < s->n; d++) {
    if (!s->end[d]) continue;
    const nw_expr *size =
        nw_sub(x->b->op->pool, nw_import(x->b->op->pool, s->end[d]), nw_import(x->b->op->pool, s->begin[d]));
    if (same_extent(size, tile->shape[r]) || NW_MUTATED(call_part_size)) {
      r++;
      continue;
    }
    char *text = nw_te_text(size);
    nw_fail(x->b->ctx, NW_ETYPE, NULL, "%s: dimension %d of tile %s has %lld elements, but its part of %s has %s",
            x->in->name, r, name, (long long)extent_of(tile->shape[r]), s->of->name, text);
    return free(text), false;
  }
  return true;
}

// Checks that the last dimensions of the stage are one tile of the intrinsic's output.
static bool check_output(const call *x) {
  const nw_teop *op = x->b->op;
  if (x->outer < 0 || op->naxes != x->outer + x->of->ndim)
    return nw_fail(x->b->ctx, NW_EINVAL, "the function of the compute takes the axes around the calls",
                   "%s: a call makes the last %d dimension%s of the stage, so the function of %s must take %d "
                   "parameter%s, not %d",
                   x->in->name, x->of->ndim, x->of->ndim == 1 ? "" : "s", op->name, op->naxes - x->of->ndim,
                   op->naxes - x->of->ndim == 1 ? "" : "s", x->outer);
  for (int d = 0; d < x->of->ndim; d++) {
    const nw_expr *e = op->extent[x->outer + d];
    if (same_extent(e, x->of->shape[d])) continue;
    char *text = nw_te_text(e);
    nw_fail(x->b->ctx, NW_ETYPE, NULL, "%s: a call makes %lld elements of dimension %d of %s, which has %s",
            x->in->name, (long long)extent_of(x->of->shape[d]), x->outer + d, op->name, text);
    return free(text), false;
  }
  return true;
}

static bool continues(const nw_intrinsic *in, const nw_teop *of) { return of->combiner != NW_PLAIN && !in->init; }

static bool check_reduce(const call *x, int nreduce) {
  if (!nreduce) return true;
  if (!continues(x->in, x->of))
    return nw_fail(x->b->ctx, NW_EINVAL, "register it with accumulate = true",
                   "%s does not add to the values of its output, so its calls cannot share a reduction", x->in->name);
  return (x->of->combiner != NW_ARGMIN && x->of->combiner != NW_ARGMAX) ||
         nw_fail(x->b->ctx, NW_EINVAL, NULL, "%s finds positions in one tile, so its calls cannot share a reduction",
                 x->in->name);
}

static bool check(const call *x, int nparts, int nreduce) {
  if (nparts != x->n)
    return nw_fail(x->b->ctx, NW_EINVAL, "give a part for each input, in the order of args",
                   "%s reads %d tile%s, but got %d", x->in->name, x->n, x->n == 1 ? "" : "s", nparts);
  for (int k = 0; k < nparts; k++)
    if (!check_part(x, k)) return false;
  return check_output(x) && check_reduce(x, nreduce);
}

// ---- the body

static const nw_expr *to_axis(void *env, const nw_expr *v) {
  const call *x = env;
  for (int i = 0; i < x->of->naxes; i++)
    if (!strcmp(x->of->axis[i]->name, v->name)) return x->b->op->axis[x->outer + i];
  for (int i = 0; i < x->of->nreduce; i++)
    if (!strcmp(x->of->reduce[i]->var->name, v->name)) return nw_axis_var(x->of->reduce[i]);
  return NULL;
}

static const nw_expr *to_part(void *env, const nw_expr *load) {
  const call *x = env;
  nw_pool *p = x->b->op->pool;
  for (int k = 0; k < x->n; k++) {
    const nw_tensor_part *s = &x->part[k];
    const nw_expr *at[NW_MAX_DEPTH];
    if (strcmp(x->input[k]->symbol, load->name)) continue;
    for (int d = 0, r = 0; d < s->n; d++) {
      at[d] = nw_import(p, s->begin[d]);
      if (s->end[d]) at[d] = nw_add(p, at[d], load->arg[r++]);
    }
    return nw_tensor_read(s->of, s->n, at);
  }
  return NULL;
}

// Writes the bodies of the stage, and returns their number; 0 on failure.
static int make_bodies(call *x, int nreduce, nw_axis *const *reduce, const nw_expr **bodies) {
  const nw_teop *of = x->of;
  bool joint = nw_combiner_is_joint(of->combiner), arg = of->combiner == NW_ARGMIN || of->combiner == NW_ARGMAX;
  int nterms = arg ? 1 : of->nout, naxes = nreduce + of->nreduce;
  const nw_expr *term[NW_MAX_REDUCED];
  if (nterms > NW_MAX_REDUCED)
    return nw_fail(x->b->ctx, NW_ELIMIT, NULL, "%s has more than %d outputs", x->in->name, NW_MAX_REDUCED), 0;
  for (int i = 0; i < nterms; i++) term[i] = nw_rewrite(x->b->op->pool, of->body[i], to_axis, to_part, x);
  if (of->combiner == NW_PLAIN) return memcpy(bodies, term, sizeof *term * (size_t)nterms), nterms;
  nw_axis **axis = nw_xcalloc((size_t)naxes + 1, sizeof *axis);
  for (int i = 0; i < naxes; i++) axis[i] = i < nreduce ? reduce[i] : of->reduce[i - nreduce];
  int n = joint ? 1 : nterms;
  for (int i = 0; i < n; i++) {
    bodies[i] = nw_te_reduce(x->b->ctx, of->combiner, joint ? nterms : 1, &term[i], naxes, axis);
    if (!bodies[i]) n = 0;
  }
  free(axis);
  return n;
}

int nw_build_call(nw_build *b, const char *intrinsic, nw_tensor *output, int ninputs, nw_tensor *const *input,
                  int outer, int nparts, const nw_tensor_part *part, int nreduce, nw_axis *const *reduce,
                  const nw_expr **bodies) {
  if (!b || !output) return 0;
  call x = {b, nw_intrinsic_find(b->ctx, intrinsic), output->op, outer, ninputs, input, part};
  if (!x.in) return nw_fail(b->ctx, NW_EINVAL, NULL, "no intrinsic is named %s", intrinsic), 0;
  if (!check(&x, nparts, nreduce)) return 0;
  b->op->call = (nw_te_call){x.in, outer, nreduce};
  return make_bodies(&x, nreduce, reduce, bodies);
}

// ---- the nest of the stage

static const nw_stmt *find_call(const nw_stmt *s) {
  const nw_stmt *found = s->kind == NW_CALL ? s : NULL;
  for (int i = 0; !found && i < s->nkids; i++) found = find_call(s->kid[i]);
  return found;
}

bool nw_te_check_call(const nw_teop *op) {
  nw_program *p = nw_te_alone(op);
  if (!p) return false;
  nw_match m;
  bool ok = nw_unify(p, find_call(p->root), op->call.in, &m);
  if (!ok)
    nw_fail(op->ctx, NW_EINVAL, "register the intrinsic with strides that fit the tensors, such as \"any\"",
            "the stage %s does not match %s: expected %s, found %s", op->name, op->call.in->name, m.expected, m.found);
  nw_match_free(&m);
  nw_program_release(p);
  return ok;
}

// Adds the loops of `from` to the nest, and records them.
static void add_loops(nw_te_maker *m, nw_te_nest *n, const nw_teop *op, int from, int to, nw_stmt **loop) {
  for (int i = from; i < to; i++)
    loop[i] = nw_te_enclose(m, n, op->axis_name[i], nw_index(m->p->pool, 0), nw_te_plain(m, op->extent[i]));
}

static void add_reductions(nw_te_maker *m, nw_te_nest *n, const nw_teop *op, int from, int to, nw_stmt **loop) {
  for (int i = from; i < to; i++) {
    const nw_axis *a = op->reduce[i];
    loop[i] = nw_te_enclose(m, n, a->name, nw_te_plain(m, a->lo), nw_te_plain(m, a->extent));
  }
}

static void add_call(nw_te_maker *m, nw_te_nest *n, const nw_intrinsic *in) {
  nw_stmt *s = nw_new_stmt(m->p, NW_CALL);
  s->call.intrinsic = nw_pool_name(m->p->pool, in->id);
  if (n->inner) nw_kids_insert(m->p, n->inner, n->inner->nkids, s);
  if (!n->outer) n->outer = s;
  n->inner = s;
}

// Makes the nest that starts the reduction of a tile, with loops of its own over the tile.
static nw_stmt *init_nest(nw_te_maker *m, const nw_teop *op, const nw_stmt *of) {
  nw_te_nest n = {.block = nw_new_stmt(m->p, NW_BLOCK)};
  nw_stmt *b = n.block;
  b->block.name = nw_unique_block_name(m->p, nw_arena_printf(m->p->arena, "%s_init", of->block.name));
  b->block.origin = of->block.origin;
  b->block.init_part = true;
  b->block.var = NW_NEW_N(m->p->arena, nw_block_var, op->naxes + 1);
  for (int i = 0; i < op->naxes; i++) {
    b->block.var[i] = of->block.var[i];
    if (i < op->call.outer) continue;
    const nw_block_var *v = &of->block.var[i];
    b->block.var[i].bind = nw_te_enclose(m, &n, op->axis_name[i], v->lo, v->extent)->loop.var;
  }
  b->block.nvars = op->naxes;
  nw_init_targets(m->p->arena, b, of);
  nw_te_close_nest(m, &n);
  return n.outer;
}

// The loops around the call come first, then the call, and in it the loops of the tile. If the intrinsic adds to its
// output, a nest of its own starts the reduction; it comes before the loops that the calls share a reduction over.
nw_stmt *nw_te_call_nest(nw_te_maker *m, const nw_teop *op, nw_stmt **init) {
  const nw_te_call *c = &op->call;
  nw_te_nest n = {.block = nw_te_new_block(m, nw_te_name_of(m, op), op->naxes + op->nreduce, op->nout)};
  nw_stmt **axis = nw_xcalloc((size_t)op->naxes + 1, sizeof *axis);
  nw_stmt **reduce = nw_xcalloc((size_t)op->nreduce + 1, sizeof *reduce);
  add_loops(m, &n, op, 0, c->outer, axis);
  nw_stmt *around = n.inner;
  add_reductions(m, &n, op, 0, c->outer_reduce, reduce);
  add_call(m, &n, c->in);
  add_loops(m, &n, op, c->outer, op->naxes, axis);
  add_reductions(m, &n, op, c->outer_reduce, op->nreduce, reduce);
  nw_te_fill_block(m, n.block, op, axis, reduce);
  nw_te_close_nest(m, &n);
  *init = NULL;
  if (n.block->block.has_init && !c->in->init) {
    n.block->block.has_init = false;
    *init = init_nest(m, op, n.block);
    if (around) nw_kids_insert(m->p, around, 0, *init);
    if (around) *init = NULL;
  }
  free(axis), free(reduce);
  return n.outer;
}
