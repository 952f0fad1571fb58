// storage_align, reorder_storage and transform_layout: change the memory layout of a temporary, or of a parameter
// (transform_layout only; see params.c). Values do not change.
// The judge checks that no two elements share a location.
#include "ir/program/physical.h"
#include "sched/primitives.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"
#include <stdio.h>
#include <stdlib.h>

static bool bad_number(nw_step *st, int param, int64_t value, const char *hint) {
  return nw_fail(st->ctx, NW_ERANGE, hint, "%s: %s = %lld is out of range", st->primitive->name,
                 st->primitive->param[param].name, (long long)value);
}

// ---- the size before and after, if both are constant

static int64_t elements(nw_step *st, const nw_program *p, const char *buffer) {
  const nw_stmt *alloc = nw_find_alloc(p, buffer);
  nw_path path;
  const char *loop[NW_MAX_DEPTH];
  int n = 0;
  int64_t count;
  if (!alloc || !nw_find(p, alloc->id, &path)) return 0;
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_LOOP) loop[n++] = path.at[i]->loop.var->name;
  nw_ranges r;
  nw_ranges_of(&r, p, &path);
  const nw_physical *place = nw_physical_alloc(st->scratch, p, &r, alloc, n, loop);
  bool known = place && nw_is_int(place->elements, &count);
  nw_ranges_free(&r);
  if (!place) nw_clear(st->ctx);
  return known ? count : 0;
}

static bool changed(nw_step *st, const nw_buffer *b) {
  int64_t was = elements(st, st->before, b->name), now = elements(st, st->p, b->name);
  int64_t each = nw_dtype_bytes(b->dtype);
  if (was && now && was != now)
    nw_step_note(st, "%s takes %lld bytes in memory, %lld before", b->name, (long long)(now * each),
                 (long long)(was * each));
  nw_touch_allocs(st, b->name);
  return true;
}

// ---- storage_align

enum { ALIGN_TENSOR, ALIGN_AXIS, ALIGN_FACTOR, ALIGN_OFFSET };

static void set_stride(nw_step *st, nw_buffer *b, nw_stride s) {
  nw_stride *all = NW_NEW_N(st->p->arena, nw_stride, b->nstrides + 1);
  int n = 0;
  for (int i = 0; i < b->nstrides; i++)
    if (b->stride[i].dim < s.dim) all[n++] = b->stride[i];
  all[n++] = s;
  for (int i = 0; i < b->nstrides; i++)
    if (b->stride[i].dim > s.dim) all[n++] = b->stride[i];
  b->stride = all;
  b->nstrides = n;
}

bool nw_apply_storage_align(void *step) {
  nw_step *st = step;
  nw_buffer *b = nw_temp_arg(st, ALIGN_TENSOR);
  if (!b) return false;
  int64_t axis = nw_step_int(st, ALIGN_AXIS, 0), factor = nw_step_int(st, ALIGN_FACTOR, 1),
          offset = nw_step_int(st, ALIGN_OFFSET, 0);
  if (axis < 0 || axis >= nw_physical_dims(b))
    return bad_number(st, ALIGN_AXIS, axis,
                      nw_diag_printf(st->ctx, "%s has %d dimensions, counted from 0", b->name, nw_physical_dims(b)));
  if (factor < 1 || factor > NW_MAX_STRIDE)
    return bad_number(st, ALIGN_FACTOR, factor, "give a factor from 1 to 1000000");
  if (offset < 0 || offset >= factor)
    return bad_number(st, ALIGN_OFFSET, offset, "give an offset from 0 to factor - 1");
  set_stride(st, b, (nw_stride){(int)axis, factor, offset});
  return changed(st, b);
}

// ---- reorder_storage

static const nw_expr *dimension(nw_step *st, int d) {
  return nw_var(st->p->pool, nw_arena_printf(st->scratch, "_%d", d));
}

// True if `order` is a permutation of the dimensions that the buffer has in memory. Otherwise reports an error.
static bool is_order(nw_step *st, const nw_buffer *b, const nw_arg *order) {
  int n = nw_physical_dims(b);
  const char *hint =
      nw_diag_printf(st->ctx, "%s has %d dimensions in memory: list each of 0 to %d once", b->name, n, n - 1);
  bool seen[NW_MAX_DEPTH] = {0}, good = order->n == n && n <= NW_MAX_DEPTH;
  for (int i = 0; good && i < n; i++) {
    int64_t d = order->item[i].i;
    good = d >= 0 && d < n && !seen[d];
    if (good) seen[d] = true;
  }
  return good || nw_fail(st->ctx, NW_EINVAL, hint, "reorder_storage: dims is not a permutation of the dimensions of %s",
                         b->name);
}

static void move_strides(nw_buffer *b, const nw_arg *order) {
  for (int i = 0; i < b->nstrides; i++)
    for (int to = 0; to < order->n; to++)
      if (order->item[to].i == b->stride[i].dim) {
        b->stride[i].dim = to;
        break;
      }
}

// Permutes the dimensions of the buffer in memory. Aligned strides stay with their dimensions.
bool nw_apply_reorder_storage(void *step) {
  nw_step *st = step;
  nw_buffer *b = nw_temp_arg(st, 0);
  const nw_arg *order = &st->resolved[1];
  if (!b || !is_order(st, b, order)) return false;
  const nw_expr **layout = NW_NEW_N(st->p->arena, const nw_expr *, order->n + 1),
                **shape = NW_NEW_N(st->p->arena, const nw_expr *, order->n + 1);
  bool plain = b->nlayout == 0 || b->nlayout == b->ndim;
  for (int i = 0; i < order->n; i++) {
    int from = (int)order->item[i].i;
    layout[i] = b->nlayout ? b->layout[from] : dimension(st, from);
    shape[i] = b->nlayout ? b->layout_shape[from] : b->shape[from];
    plain = plain && layout[i] == dimension(st, i);
  }
  b->nlayout = plain ? 0 : order->n;
  b->layout = layout;
  b->layout_shape = shape;
  move_strides(b, order);
  return changed(st, b);
}

// ---- transform_layout

enum { MOST = 1 << 30 };

typedef struct reading {
  const nw_step *st;
  const nw_buffer *b;
  const nw_expr *bad; // an expression that a layout cannot contain
} reading;

static bool is_dimension(const reading *r, const char *name) {
  char want[16];
  for (int d = 0; d < r->b->ndim; d++) {
    snprintf(want, sizeof want, "_%d", d);
    if (!strcmp(name, want)) return true;
  }
  for (int i = 0; i < r->st->p->nsizes; i++)
    if (!strcmp(name, r->st->p->size[i].name)) return true;
  return false;
}

static bool readable(void *env, const nw_expr *e) {
  reading *r = env;
  bool good = e->op == NW_OP_VAR ? is_dimension(r, e->name) : e->op == NW_OP_INT ? e->i <= MOST && e->i >= -MOST : true;
  good = good && e->op != NW_OP_LOAD && !nw_dtype_is_float((nw_dtype)e->type.dtype) && e->type.lanes == 1;
  if (!good && !r->bad) r->bad = e;
  return good;
}

bool nw_is_layout(nw_step *st, const nw_buffer *b, int n, const nw_expr *const *e) {
  reading r = {.st = st, .b = b};
  for (int i = 0; i < n && !r.bad; i++)
    if (nw_visit(e[i], readable, &r) && e[i]->type.dtype != NW_INDEX) r.bad = e[i];
  if (!r.bad && n) return true;
  char *what = r.bad ? nw_expr_show(r.bad) : NULL;
  nw_fail(st->ctx, NW_EINVAL, "function(i, j) return j // 32, i, j % 32 end",
          "%s: a layout must return integer expressions of the indices of %s%s%s", st->primitive->name, b->name,
          what ? ", not " : "", what ? what : "");
  free(what);
  return false;
}

// A larger layout is probably a mistake, and its size could overflow.
bool nw_is_compact(nw_step *st, const nw_buffer *b) {
  double room = 4096, used = 1;
  int64_t n;
  bool known = true;
  for (int d = 0; d < b->nlayout && known; d++)
    known = nw_is_int(b->layout_shape[d], &n), used *= known ? (double)n : 1;
  double all = 16;
  for (int d = 0; d < b->ndim && known; d++) known = nw_is_int(b->shape[d], &n), all *= known ? (double)n : 1;
  if (!known || used <= room + all) return true;
  return nw_step_refuse(st, "at least one position in 16 must be used", NULL,
                        "its %.0f elements would be spread over %.0f positions", all / 16, used);
}

bool nw_apply_transform_layout(void *step) {
  nw_step *st = step;
  nw_buffer *b = nw_tensor_arg(st, 0);
  const nw_arg *layout = &st->resolved[1];
  if (!b) return false;
  if (b->nstrides)
    return nw_step_refuse(st, "use transform_layout before storage_align", NULL, "its strides are already aligned");
  if (b->pitch)
    return nw_step_refuse(st, "give a copy of it another layout, with cache_read or cache_write", NULL,
                          "the strides of %s are those of the caller's array", b->name);
  const nw_expr **e = NW_NEW_N(st->scratch, const nw_expr *, layout->n + 1);
  for (int i = 0; i < layout->n; i++) e[i] = nw_import(st->p->pool, layout->expr[i]);
  if (!nw_is_layout(st, b, layout->n, e) || !nw_put_layout(st, b, layout->n, e) || !nw_is_compact(st, b)) return false;
  if (b->role != NW_TEMP) return nw_lay_out_param(st, b, &st->resolved[2]);
  if (nw_step_given(st, 2))
    return nw_step_refuse(st, "the other positions of a temporary are neither written nor read; leave pad_value out",
                          NULL, "%s is a temporary", b->name);
  return changed(st, b);
}

// ---- suggestions

// Suggests a copy whose layout can be changed.
static void suggest_copy(nw_step *st, const nw_arg *layout) {
  nw_arg tensor = {.kind = NW_ARG_STAGE, .name = st->resolved[0].name}, global = {.kind = NW_ARG_STR, .name = "global"};
  nw_arg read[] = {tensor, global, {0}, layout ? *layout : (nw_arg){0}};
  nw_arg write[] = {tensor, global, layout ? *layout : (nw_arg){0}};
  nw_step_suggest(st, "cache_read", read, NW_COUNT(read));
  nw_step_suggest(st, "cache_write", write, NW_COUNT(write));
}

static const nw_buffer *buffer_of(const nw_step *st) {
  const char *name = st->resolved[0].name;
  const nw_stmt *block = name ? nw_stage_block(st->before, name) : NULL;
  return nw_find_buffer(st->before, block ? block->block.target[0].buffer : name);
}

static const nw_buffer *temp_of(const nw_step *st) {
  const nw_buffer *b = buffer_of(st);
  return b && b->role == NW_TEMP ? b : NULL;
}

// Suggests the dimensions in reverse order.
static void suggest_reversed(nw_step *st) {
  const nw_buffer *b = temp_of(st);
  int n = b ? nw_physical_dims(b) : 0;
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, n + 1);
  for (int i = 0; i < n; i++) item[i] = (nw_arg){.kind = NW_ARG_INT, .i = n - 1 - i};
  nw_arg args[] = {st->resolved[0], {.kind = NW_ARG_LIST, .n = n, .item = item}};
  if (n > 1) nw_step_suggest(st, "reorder_storage", args, 2);
}

// Suggests a layout in which the last index is split into groups of four, with the number of the group outermost.
static void suggest_panels(nw_step *st) {
  const nw_buffer *b = buffer_of(st);
  nw_pool *pool = st->before->pool;
  int n = b ? b->ndim : 0;
  const nw_expr **e = NW_NEW_N(st->scratch, const nw_expr *, n + 2), *four = nw_index(pool, 4);
  if (!n) return;
  e[0] = nw_floordiv(pool, dimension(st, n - 1), four);
  for (int d = 0; d < n - 1; d++) e[d + 1] = dimension(st, d);
  e[n] = nw_floormod(pool, dimension(st, n - 1), four);
  nw_arg args[] = {st->resolved[0], {.kind = NW_ARG_EXPRS, .n = n + 1, .expr = e}, {0}};
  if (b->role == NW_OUTPUT) args[2] = (nw_arg){.kind = NW_ARG_NUMBER, .f = 0};
  nw_step_suggest(st, "transform_layout", args, NW_COUNT(args));
}

void nw_suggest_storage_align(void *step) {
  nw_step *st = step;
  nw_arg line[] = {st->resolved[0], st->resolved[1], {.kind = NW_ARG_INT, .i = 16}};
  nw_arg global[] = {st->resolved[0], {.kind = NW_ARG_STR, .name = "global"}};
  if (!temp_of(st)) return suggest_copy(st, NULL);
  nw_step_suggest(st, "storage_align", line, NW_COUNT(line));
  nw_step_suggest(st, "set_scope", global, NW_COUNT(global))->then = nw_step_again(st);
}

void nw_suggest_reorder_storage(void *step) {
  if (!temp_of(step)) suggest_copy(step, NULL);
}

void nw_suggest_transform_layout(void *step) {
  nw_step *st = step;
  nw_arg padded[] = {st->resolved[0], st->resolved[1], {.kind = NW_ARG_NUMBER, .f = 0}};
  if (!temp_of(st)) nw_step_suggest(st, "transform_layout", padded, NW_COUNT(padded));
  if (!temp_of(st)) suggest_copy(st, &st->resolved[1]);
  suggest_reversed(st);
  suggest_panels(st);
}
