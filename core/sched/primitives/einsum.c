// pad_einsum: extends the loops of a reduction to multiples of given numbers.
//
// The reduction then reads copies of its inputs, and writes a temporary. Outside of the old ranges, the copies hold a
// number for which the terms of the reduction are neutral: 0 for a sum of products. A copy of the old range of the
// temporary takes the place of the old result. The judge checks that added terms of old elements are neutral.
#include "sched/primitives.h"
#include "sched/primitives/place.h"
#include "sched/primitives/storage.h"
#include "sched/site.h"
#include "sched/tree.h"

enum { STAGE, MULTIPLES };

typedef struct einsum {
  nw_step *st;
  nw_stmt *block;
  nw_path path;
  int top; // index on the path of the outermost loop of the nest
  nw_stmt *loop[NW_MAX_DEPTH]; // for each axis
  const nw_expr *was[NW_MAX_DEPTH], *now[NW_MAX_DEPTH]; // extents of the axes
  int nloads;
  const nw_expr *load[NW_MAX_DEPTH], *copy[NW_MAX_DEPTH]; // distinct loads, and the loads that replace them
  const nw_expr *pad[NW_MAX_DEPTH]; // for each load: the number outside of the old ranges
} einsum;

// ---- conditions

static bool refuse(einsum *x, const nw_stmt *loop, const char *why, const char *what) {
  return nw_step_refuse(x->st, why, loop, "%s", what);
}

static int axis_of(const einsum *x, const nw_expr *e) {
  for (int v = 0; v < x->block->block.nvars; v++)
    if (x->block->block.var[v].var == e) return v;
  return -1;
}

static bool grows(const einsum *x, int v) { return v >= 0 && x->now[v] != x->was[v]; }

static bool is_whole_nest(einsum *x) {
  nw_stmt *b = x->block;
  nw_find(x->st->p, b->id, &x->path);
  x->top = nw_path_exclusive(&x->path);
  const nw_stmt *around = nw_loop_around(&x->path);
  if (around)
    return refuse(x, around, "use pad_einsum before the step that moves the stage there", "it is inside a loop");
  bool plain = !b->block.where && x->path.n - 1 - x->top == b->block.nvars;
  for (int v = 0; v < b->block.nvars && plain; v++) {
    const nw_block_var *var = &b->block.var[v];
    x->loop[v] = NULL;
    for (int i = x->top; i < x->path.n - 1; i++)
      if (x->path.at[i]->kind == NW_LOOP && x->path.at[i]->loop.var == var->bind) x->loop[v] = x->path.at[i];
    plain = x->loop[v] && nw_is_const(var->lo, 0) && nw_is_const(x->loop[v]->loop.begin, 0) &&
            x->loop[v]->loop.extent == var->extent;
  }
  return plain || refuse(x, NULL, "use pad_einsum before the loops are split, cut or fused",
                         "its axes are not each bound to one whole loop");
}

static bool is_reduction(einsum *x) {
  const nw_stmt *b = x->block;
  if (b->block.combiner == NW_PLAIN || b->block.init_part)
    return refuse(x, NULL, "only the loops of a reduction are padded", "it is not a reduction");
  if (nw_is_definition(b)) return refuse(x, NULL, nw_scan_reason(b), nw_scan_noun(b));
  if (!b->block.has_init) return refuse(x, NULL, "use pad_einsum before decompose_reduction", "its init was split off");
  if (b->block.ntargets != 1 || !nw_one_nest(x->st, b))
    return b->block.ntargets != 1 && refuse(x, NULL, "it needs one value", "it computes a value and its index");
  for (int v = 0; v < b->block.nvars; v++)
    if (b->block.var[v].kind == NW_ORDERED) return refuse(x, NULL, "its steps are ordered", "it is a scan");
  return true;
}

// Computes the new extents, which are multiples of the given numbers.
static bool set_extents(einsum *x) {
  nw_step *st = x->st;
  const nw_arg *list = &st->resolved[MULTIPLES];
  nw_pool *pool = st->p->pool;
  int n = x->block->block.nvars;
  nw_ranges r;
  if (list->n != n)
    return nw_fail(st->ctx, NW_EINVAL, "give 1 for an axis that keeps its extent",
                   "pad_einsum: %d multiples for the %d axes of %s", list->n, n, x->block->block.name);
  for (int v = 0; v < n; v++)
    if (list->item[v].i < 1 || list->item[v].i > 1 << 20)
      return nw_fail(st->ctx, NW_ERANGE, "give numbers from 1 to 1048576", "pad_einsum: multiple %lld is out of range",
                     (long long)list->item[v].i);
  nw_ranges_of(&r, st->p, NULL);
  for (int v = 0; v < n; v++) {
    const nw_expr *m = nw_index(pool, list->item[v].i), *was = x->was[v] = x->block->block.var[v].extent;
    const nw_expr *up = nw_add(pool, was, nw_index(pool, list->item[v].i - 1));
    x->now[v] = nw_simplify(&r, nw_mul(pool, nw_floordiv(pool, up, m), m));
    if (nw_prove(&r, nw_eq(pool, x->now[v], was))) x->now[v] = was;
  }
  nw_ranges_free(&r);
  return true;
}

static bool indexed_by_axes(einsum *x, int n, const nw_expr *const *index, const char *buffer) {
  for (int d = 0; d < n; d++)
    if (axis_of(x, index[d]) < 0)
      return nw_step_refuse(x->st, "each index must be one of the axes of the stage", NULL,
                            "it uses %s at an index that is not an axis", buffer);
  return true;
}

// An index of an input is an axis, or an expression of axes that keep their extents, such as y + dy in a convolution.
static bool padded_by_axes(einsum *x, const nw_expr *load) {
  for (int d = 0; d < load->n; d++)
    for (int v = 0; v < x->block->block.nvars && axis_of(x, load->arg[d]) < 0; v++) {
      const char *axis = x->block->block.var[v].var->name;
      if (grows(x, v) && nw_uses_var(load->arg[d], axis))
        return nw_step_refuse(x->st, "such an index must keep its range: give 1 for the axis", NULL,
                              "it uses %s at an index that depends on %s, but is not an axis", load->name, axis);
    }
  return true;
}

static bool see_load(void *env, const nw_expr *e) {
  einsum *x = env;
  bool known = e->op != NW_OP_LOAD;
  for (int i = 0; i < x->nloads && !known; i++) known = x->load[i] == e;
  if (known) return true;
  if (x->nloads == NW_MAX_DEPTH) return false;
  x->load[x->nloads++] = e;
  return true;
}

static bool find_loads(einsum *x) {
  const nw_block_target *t = &x->block->block.target[0];
  nw_visit(t->value, see_load, x);
  if (!indexed_by_axes(x, t->n, t->index, t->buffer)) return false;
  for (int i = 0; i < x->nloads; i++)
    if (!padded_by_axes(x, x->load[i])) return false;
  return true;
}

// ---- the number outside of the old ranges

static const nw_expr *constant(const einsum *x, const nw_expr *load, int64_t v) {
  nw_dtype t = (nw_dtype)load->type.dtype;
  return nw_dtype_is_float(t) ? nw_float(x->st->p->pool, t, (double)v) : nw_int(x->st->p->pool, t, v);
}

static bool reduces_along(const einsum *x, const nw_expr *load, int v) {
  for (int d = 0; d < load->n; d++)
    if (axis_of(x, load->arg[d]) == v) return true;
  return false;
}

typedef struct filling {
  einsum *x;
  int v; // the axis outside of whose old range the loads are constants
} filling;

static const nw_expr *outside(void *env, const nw_expr *e) {
  const filling *f = env;
  for (int i = 0; i < f->x->nloads; i++)
    if (f->x->load[i] == e) return reduces_along(f->x, e, f->v) ? f->x->pad[i] : NULL;
  return NULL;
}

// True if the terms outside of the old range of axis v are neutral with these numbers.
static bool is_neutral_along(einsum *x, int v) {
  nw_pool *pool = x->st->p->pool;
  const nw_block_target *t = &x->block->block.target[0];
  const nw_expr *e = nw_rewrite(pool, t->value, NULL, outside, &(filling){x, v});
  nw_dtype type = nw_find_buffer(x->st->p, t->buffer)->dtype;
  return e == nw_combiner_identity(pool, x->block->block.combiner, type, 0);
}

static bool all_neutral(einsum *x) {
  for (int v = 0; v < x->block->block.nvars; v++)
    if (x->block->block.var[v].kind == NW_REDUCE && grows(x, v) && !is_neutral_along(x, v)) return false;
  return true;
}

// Chooses the number: 0, or the value from which the reduction starts, or 1.
static bool choose_pads(einsum *x) {
  nw_pool *pool = x->st->p->pool;
  for (int way = 0; way < 3; way++) {
    for (int i = 0; i < x->nloads; i++)
      x->pad[i] = way == 1 ? nw_combiner_identity(pool, x->block->block.combiner, (nw_dtype)x->load[i]->type.dtype, 0)
                           : constant(x, x->load[i], way / 2);
    if (all_neutral(x)) return true;
  }
  return refuse(x, NULL, "the terms beyond the end must not change the result; give 1 for the axes of the reduction",
                "no number in the copies of its inputs makes added terms neutral");
}

// ---- the copies

// Returns the extent of a dimension of a copy: that of its axis, or that of the tensor if the index is not an axis.
static const nw_expr *extent_of(einsum *x, const nw_buffer *of, int d, const nw_expr *index,
                                const nw_expr *const *extent) {
  int v = axis_of(x, index);
  return v >= 0 ? extent[v] : of->shape[d];
}

static nw_buffer *new_buffer(einsum *x, const char *of, int n, const nw_expr *const *index) {
  nw_program *p = x->st->p;
  const nw_buffer *from = nw_find_buffer(p, of);
  const nw_expr **shape = NW_NEW_N(x->st->scratch, const nw_expr *, n + 1);
  for (int d = 0; d < n; d++) shape[d] = extent_of(x, from, d, index[d], x->now);
  const char *name = nw_arena_printf(x->st->scratch, "%s_pad", of);
  name = nw_unique_block_name(p, nw_unique_buffer_name(p, name));
  return nw_add_buffer(p, name, from->dtype, NW_GLOBAL, NW_TEMP, n, shape);
}

// Makes variables for the dimensions of a tensor, with the names of the axes that index it.
static nw_block_var *axes_for(einsum *x, const nw_buffer *of, int n, const nw_expr *const *index,
                              const nw_expr *const *extent) {
  nw_pool *pool = x->st->p->pool;
  nw_block_var *var = NW_NEW_N(x->st->scratch, nw_block_var, n + 1);
  for (int d = 0; d < n; d++) {
    bool is_axis = axis_of(x, index[d]) >= 0;
    const nw_expr *name = is_axis ? index[d] : nw_var(pool, nw_arena_printf(x->st->scratch, "d%d", d));
    for (int e = 0; e < d; e++)
      if (var[e].var == name) name = nw_var(pool, nw_arena_printf(x->st->scratch, "%s%d", name->name, d));
    var[d] =
        (nw_block_var){name, NW_SPATIAL, nw_index(pool, 0), extent_of(x, of, d, index[d], extent), nw_index(pool, 0)};
  }
  return var;
}

static nw_stmt *copy_block(einsum *x, const char *name, const char *to, const nw_buffer *from, int n,
                           const nw_expr *const *index, const nw_expr *const *extent) {
  nw_step *st = x->st;
  nw_block_var *var = axes_for(x, from, n, index, extent);
  const nw_expr **at = NW_NEW_N(st->scratch, const nw_expr *, n + 1);
  for (int d = 0; d < n; d++) at[d] = var[d].var;
  nw_stmt *b = nw_copy_block(st, name, to, from, n, var, n, at);
  b->block.origin = nw_unique_origin(st->p, name);
  return b;
}

// Makes the copy of an input. Returns its block, or NULL if no axis of the load grows.
static nw_stmt *padded_copy(einsum *x, int i) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *load = x->load[i], *cond = NULL;
  const nw_buffer *from = nw_find_buffer(x->st->p, load->name);
  bool any = false;
  x->copy[i] = load;
  for (int d = 0; d < load->n; d++) any |= grows(x, axis_of(x, load->arg[d]));
  if (!any) return NULL;
  const nw_buffer *to = new_buffer(x, load->name, load->n, load->arg);
  nw_stmt *b = copy_block(x, to->name, to->name, from, load->n, load->arg, x->now);
  nw_block_target *t = &b->block.target[0];
  for (int d = 0; d < load->n; d++) {
    int v = axis_of(x, load->arg[d]);
    if (grows(x, v)) cond = nw_and(pool, cond, nw_lt(pool, b->block.var[d].var, x->was[v]));
  }
  t->value = nw_choose(pool, cond, t->value, x->pad[i]);
  x->copy[i] = nw_load(pool, load->type, to->name, load->n, load->arg);
  return b;
}

static const nw_expr *use_copy(void *env, const nw_expr *e) {
  const einsum *x = env;
  for (int i = 0; i < x->nloads; i++)
    if (x->load[i] == e) return x->copy[i];
  return NULL;
}

static nw_lifted fresh(nw_step *st, nw_stmt *block) {
  return (nw_lifted){.block = block, .reuse = NW_NEW_N(st->scratch, nw_stmt *, block->block.nvars + 1)};
}

// Makes the reduction write a temporary, and adds a nest after it that copies the old range to the old place.
static void write_back(einsum *x) {
  nw_step *st = x->st;
  nw_block_target *t = &x->block->block.target[0];
  const nw_buffer *to = new_buffer(x, t->buffer, t->n, t->index);
  const char *name = x->block->block.name;
  nw_stmt *copy = copy_block(x, name, t->buffer, to, t->n, t->index, x->was);
  copy->block.origin = nw_unique_origin(st->p, nw_arena_printf(st->scratch, "%s_write", t->buffer));
  copy->block.target[0].stream = t->stream;
  t->stream = false;
  t->buffer = to->name;
  x->block->block.name = to->name;
  nw_lifted stage = fresh(st, copy);
  nw_stmt *nest = nw_fresh_nest(st, &stage, NW_NEW_N(st->scratch, nw_rows, copy->block.nvars + 1));
  nw_kids_insert(st->p, x->path.at[x->top - 1], x->path.pos[x->top] + 1, nest);
  nw_store_around(st, st->p->root, x->block, NULL);
}

static bool result_grows(const einsum *x) {
  bool any = false;
  for (int v = 0; v < x->block->block.nvars; v++) any |= x->block->block.var[v].kind != NW_REDUCE && grows(x, v);
  return any;
}

static void extend(einsum *x) {
  for (int v = 0; v < x->block->block.nvars; v++) {
    if (!grows(x, v)) continue;
    x->block->block.var[v].extent = x->now[v];
    x->loop[v]->loop.extent = x->now[v];
    x->loop[v]->step = x->st->p->step;
  }
  x->block->step = x->st->p->step;
}

bool nw_apply_pad_einsum(void *step) {
  nw_step *st = step;
  einsum x = {.st = st, .block = nw_step_block(st, STAGE, NULL)};
  if (!x.block || !is_reduction(&x) || !is_whole_nest(&x) || !set_extents(&x) || !find_loads(&x) || !choose_pads(&x))
    return false;
  bool any = false;
  for (int v = 0; v < x.block->block.nvars; v++) any |= grows(&x, v);
  if (!any) return nw_step_note(st, "all extents are already multiples of these numbers"), true;
  nw_stmt *copy[NW_MAX_DEPTH];
  for (int i = 0; i < x.nloads; i++) copy[i] = padded_copy(&x, i);
  nw_block_rewrite(st->p, x.block, use_copy, &x);
  if (result_grows(&x)) write_back(&x);
  extend(&x);
  for (int i = 0; i < x.nloads; i++) {
    nw_lifted stage = copy[i] ? fresh(st, copy[i]) : (nw_lifted){0};
    if (copy[i] && !nw_place(st, &stage, NULL)) return false;
  }
  nw_step_returns_stage(st, x.block->block.name);
  return true;
}

// Suggests to pad only the axes that are not reduced.
void nw_suggest_pad_einsum(void *step) {
  nw_step *st = step;
  const nw_arg *list = &st->resolved[MULTIPLES];
  const nw_stmt *b = st->resolved[STAGE].name ? nw_stage_block(st->before, st->resolved[STAGE].name) : NULL;
  if (!b || list->n != b->block.nvars) return;
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, list->n + 1);
  for (int v = 0; v < list->n; v++)
    item[v] = (nw_arg){.kind = NW_ARG_INT, .i = b->block.var[v].kind == NW_REDUCE ? 1 : list->item[v].i};
  nw_step_suggest(st, "pad_einsum", (nw_arg[]){st->resolved[STAGE], {.kind = NW_ARG_LIST, .n = list->n, .item = item}},
                  2);
}
