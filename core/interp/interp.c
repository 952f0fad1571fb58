// Holds the entry points of the interpreter. They run a program on its arguments, and store the results in the views of
// the outputs.
#include "interp/code.h"
#include "ir/program/cross.h"
#include "ir/program/physical.h"
#include "lower/lower.h"
#include <stdlib.h>

static bool eval_size(nwi_program *x, const nw_expr *e, int64_t *out) {
  nwi_forget(&x->loops);
  nwi_node *n = nwi_make(&x->loops, e);
  if (!n) return false;
  nwi_turn(&x->run);
  *out = nwi_int(&x->run, n);
  return !x->run.failed;
}

// In a lowered program, a parameter with the caller's strides is one line of elements, with gaps between those that are
// used.
static bool set_line(nwi_program *x, nwi_buffer *b, const nw_buffer *from) {
  b->n = 1;
  b->min = NW_NEW_N(x->arena, int64_t, 2);
  b->extent = NW_NEW_N(x->arena, int64_t, 2);
  if (!eval_size(x, nw_physical_room(x->p->pool, from), &b->extent[0])) return false;
  b->count = b->extent[0];
  return true;
}

// Makes the stored box of a buffer equal to its whole logical box. In a lowered program, a parameter has the extents of
// its layout. In a scheduled program, it is row-major over its logical box, whatever its layout is.
static bool set_box(nwi_program *x, nwi_buffer *b, const nw_buffer *from) {
  if (x->exec && from->pitch) return set_line(x, b, from);
  const nw_expr *const *shape = x->exec ? nw_physical_shape(from) : (const nw_expr *const *)from->shape;
  b->n = x->exec ? nw_physical_dims(from) : from->ndim;
  b->min = NW_NEW_N(x->arena, int64_t, b->n + 1);
  b->extent = NW_NEW_N(x->arena, int64_t, b->n + 1);
  b->count = 1;
  for (int d = 0; d < b->n; d++) {
    if (!eval_size(x, shape[d], &b->extent[d])) return false;
    if (b->extent[d] < 0) b->extent[d] = 0;
    if (__builtin_mul_overflow(b->count, b->extent[d], &b->count))
      return nw_fail(x->run.ctx, NW_ERANGE, NULL, "%s is too large", b->name);
  }
  return true;
}

static bool attach(nwi_program *x, nwi_buffer *b, const nw_buffer *from, const nw_view *v) {
  if (v->dtype != from->dtype)
    return nw_fail(x->run.ctx, NW_ETYPE, NULL, "%s is %s, not %s", b->name, nw_dtype_name(from->dtype),
                   nw_dtype_name(v->dtype));
  if (v->count < b->count)
    return nw_fail(x->run.ctx, NW_ERANGE, NULL, "%s has %lld elements, %lld are needed", b->name, (long long)v->count,
                   (long long)b->count);
  b->data = v->data;
  if (from->role == NW_OUTPUT) b->written = nw_xask((uint64_t)b->count + 1, 1);
  return true;
}

static bool is_allocated(const nw_storage *s) { return s->kind == NW_STORE_STACK || s->kind == NW_STORE_GRID; }

// Makes the storage of a temporary. In a lowered program, a temporary that no statement allocates exists for the whole
// run.
static bool make_temp(nwi_program *x, nwi_buffer *b, int i) {
  int64_t count;
  b->own = true;
  if (!x->exec || is_allocated(&x->exec->storage[i])) return b->count = 0, true;
  const char **name = NW_NEW_N(x->arena, const char *, x->p->nsizes + 1);
  for (int k = 0; k < x->p->nsizes; k++) name[k] = x->p->size[k].name;
  if (nw_eval_size(x->exec->storage[i].elements, x->p->nsizes, name, x->run.slot, &count))
    return nwi_reserve(x, b, count);
  return nw_fail(x->run.ctx, NW_ERANGE, NULL, "%s is too large", b->name);
}

static bool set_buffers(nwi_program *x, const nw_view *params) {
  int param = 0;
  for (int i = 0; i < x->p->nbuffers; i++) {
    const nw_buffer *from = x->p->buffer[i];
    nwi_buffer *b = &x->buffer[i];
    if (from->role == NW_TEMP ? !make_temp(x, b, i) : !attach(x, b, from, &params[param++])) return false;
  }
  return true;
}

static bool prepare(nwi_program *x, const int64_t *sizes, const nw_view *params) {
  const nw_program *p = x->p;
  x->buffer = NW_NEW_N(x->arena, nwi_buffer, p->nbuffers + 1);
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_buffer *b = p->buffer[i];
    x->buffer[i] = (nwi_buffer){
        .name = b->name, .dtype = b->dtype, .n = b->ndim, .local = b->scope == NW_LOCAL, .warp = b->scope == NW_WARP};
  }
  if (!nwi_compile(x)) return false;
  x->run.slot = NW_NEW_N(x->arena, int64_t, x->nslots + 1);
  for (int i = 0; i < p->nsizes; i++) x->run.slot[i] = sizes[i];
  for (int i = 0; i < p->nbuffers; i++)
    if (!set_box(x, &x->buffer[i], p->buffer[i])) return false;
  return set_buffers(x, params);
}

static void release(nwi_program *x) {
  for (int i = 0; x->buffer && i < x->p->nbuffers; i++) {
    if (x->buffer[i].own) nw_let_go(x->buffer[i].data);
    nw_let_go(x->buffer[i].written);
    nw_let_go(x->buffer[i].shadow);
    nw_let_go(x->buffer[i].arriving);
    nw_let_go(x->buffer[i].lent);
    nw_let_go(x->buffer[i].home);
    nwi_parts_free(&x->buffer[i]);
  }
  nw_let_go(x->grid.wait);
  nwi_flights_free(x);
  nwi_scope_free(&x->loops);
  nw_arena_free(x->arena);
  nw_pool_release(x->pool);
}

static bool interpret(nw_ctx *c, const nw_program *p, const nw_exec *exec, const int64_t *sizes, const nw_view *params,
                      const nw_interp_opts *o) {
  nwi_program x = {.p = p, .exec = exec, .arena = nw_arena_scratch(), .pool = nw_pool_new(c)};
  x.run = (nwi_run){.ctx = c, .opts = o, .max_steps = o ? o->max_steps : 0, .host = &x};
  x.loops = (nwi_scope){
      .arena = x.arena, .ctx = c, .features = nw_target_features_here(p->target), .load = nwi_load_setup, .host = &x};
  bool ok = prepare(&x, sizes, params);
  if (ok) {
    nwi_execute(&x, x.root);
    nwi_launch_ends(&x);
    ok = !x.run.failed;
  }
  release(&x);
  return ok;
}

bool nw_interp_exec(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_view *params, const nw_interp_opts *o) {
  return e && interpret(c, e->p, e, sizes, params, o);
}

// True if the caller sees single statements of the program, which must then be its own statements.
static bool is_observed(const nw_interp_opts *o) {
  return o && (o->trace || o->enters || o->runs || o->backwards || o->drop);
}

bool nw_interp_program(nw_ctx *c, const nw_program *p, const int64_t *sizes, const nw_view *params,
                       const nw_interp_opts *o) {
  if (!p || is_observed(o)) return p && interpret(c, p, NULL, sizes, params, o);
  p = nw_without_units(p);
  nw_program *crossed = nw_has_crossing(p) ? nw_crossed(p, NULL) : NULL;
  nw_program *in_lanes = nw_lower_lanes(crossed ? crossed : p);
  bool ok = in_lanes && interpret(c, in_lanes, NULL, sizes, params, o);
  nw_program_release(in_lanes);
  nw_program_release(crossed);
  return ok;
}
