// Chooses sensible arguments for a primitive at a loop.
#include "sched/advice/sensible.h"
#include "ir/program/intrinsic.h"
#include "ir/program/tags.h"
#include "sched/args.h"
#include "sched/history.h"
#include "sched/primitives/units/unit.h"
#include "sched/tree.h"

// ---- values

static nw_arg loop_at(const nw_sensible *m, int at) {
  if (at < 0 || at >= m->n) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_LOOP, .name = m->nest[at]->loop.var->name};
}

// Returns loop argument number n of a step. A step with two loops gets the loop `m->loop` and the next loop inside it.
// If `m->turned` is set, the step gets the loop around `m->loop`, and then `m->loop`. For a step that takes the outer
// loop last, the order is reversed.
static nw_arg some_loop(const nw_sensible *m, int n, int of) {
  int other = of > 1 && m->turned;
  return m->outward ? loop_at(m, m->at + other - n) : loop_at(m, m->at - other + n);
}

static nw_arg some_stage(const nw_sensible *m) {
  if (m->variant >= m->stage.n) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_STAGE, .name = m->stage.at[m->variant]};
}

// Returns the loop to which a number in a list belongs. In tile({"x", "y"}, {8, 4}), 8 belongs to x, and 4 belongs to
// y.
static const nw_stmt *loop_of_number(const nw_sensible *m, int nth, int of) {
  const char *name = nth < of && of > 1 ? some_loop(m, nth, of).name : NULL;
  for (int i = 0; i < m->n && name; i++)
    if (!strcmp(m->nest[i]->loop.var->name, name)) return m->nest[i];
  return m->loop;
}

// Writes factors for a loop to `out`, and returns the number of factors. Factors that divide the extent come first. No
// factor is larger than the extent.
static int factors_of(const nw_stmt *loop, int64_t *out) {
  static const int64_t usual[] = {8, 4, 16, 2};
  int64_t extent;
  int n = 0;
  if (!nw_is_int(loop->loop.extent, &extent)) {
    memcpy(out, usual, sizeof usual);
    return NW_COUNT(usual);
  }
  for (int rest = 0; rest < 2; rest++)
    for (int i = 0; i < NW_COUNT(usual); i++)
      if (extent > usual[i] && (extent % usual[i] != 0) == rest) out[n++] = usual[i];
  if (!n) out[n++] = extent > 1 ? extent : 1;
  return n;
}

// Returns a number for a parameter: 0 or 1 if the parameter is a dimension, otherwise a factor.
static nw_arg some_number(const nw_sensible *m, const nw_param *param, int nth, int of) {
  int64_t factor[NW_VARIANTS];
  if (!strcmp(param->name, "axis")) return (nw_arg){.kind = NW_ARG_INT, .i = m->variant % 2};
  int n = factors_of(loop_of_number(m, nth, of), factor);
  return (nw_arg){.kind = NW_ARG_INT, .i = factor[m->variant < n ? m->variant : n - 1]};
}

static nw_arg some_choice(const nw_sensible *m, const nw_param *param) {
  const char *at = param->choices;
  if (!at) return (nw_arg){0};
  for (int i = 0; i < m->variant && strchr(at, '|'); i++) at = strchr(at, '|') + 1;
  return (nw_arg){.kind = NW_ARG_STR, .name = nw_arena_strndup(m->a, at, strcspn(at, "|"))};
}

// Returns an intrinsic. The variants begin with the intrinsic that was registered last.
static nw_arg some_intrinsic(const nw_sensible *m) {
  int n = nw_intrinsic_count(m->s->ctx);
  if (m->variant >= n) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_INTRINSIC, .name = nw_intrinsic_at(m->s->ctx, n - 1 - m->variant)->id};
}

// Returns the middle of the loop, as an expression of sizes and enclosing loops.
static nw_arg some_place(const nw_sensible *m) {
  int64_t extent;
  nw_pool *pool = m->p->pool;
  if (nw_is_int(m->loop->loop.extent, &extent) && extent < 2) return (nw_arg){0};
  const nw_expr **e = NW_NEW_N(m->a, const nw_expr *, 1);
  e[0] = nw_add(pool, m->loop->loop.begin, nw_floordiv(pool, m->loop->loop.extent, nw_index(pool, 2)));
  return (nw_arg){.kind = NW_ARG_EXPR, .n = 1, .expr = e};
}

static int dims_of_stage(const nw_sensible *m) {
  const char *name = some_stage(m).name;
  const nw_stmt *block = name ? nw_stage_block(m->p, name) : NULL;
  const nw_buffer *b = name ? nw_find_buffer(m->p, block ? block->block.target[0].buffer : name) : NULL;
  return b ? b->ndim : 0;
}

// turned_dims and turned_layout return the dimensions of the stage in reverse order, as numbers and as a layout.
static nw_arg turned_dims(const nw_sensible *m) {
  int n = dims_of_stage(m);
  nw_arg *item = NW_NEW_N(m->a, nw_arg, n + 1);
  for (int i = 0; i < n; i++) item[i] = (nw_arg){.kind = NW_ARG_INT, .i = n - 1 - i};
  return n ? (nw_arg){.kind = NW_ARG_LIST, .n = n, .item = item} : (nw_arg){0};
}

// Returns a multiple for each axis of the stage.
static nw_arg multiples(const nw_sensible *m) {
  const char *name = some_stage(m).name;
  const nw_stmt *block = name ? nw_stage_block(m->p, name) : NULL;
  int n = block ? block->block.nvars : 0;
  nw_arg *item = NW_NEW_N(m->a, nw_arg, n + 1);
  for (int i = 0; i < n; i++) item[i] = (nw_arg){.kind = NW_ARG_INT, .i = 4};
  return n ? (nw_arg){.kind = NW_ARG_LIST, .n = n, .item = item} : (nw_arg){0};
}

// Returns a tensor that the stage reads, or its result if it reads none.
static nw_arg some_read(const nw_sensible *m, const char *stage) {
  const nw_stmt *block = stage ? nw_stage_block(m->p, stage) : NULL;
  for (int i = 0; block && i < m->p->nbuffers; i++)
    if (nw_block_reads(block, m->p->buffer[i]->name))
      return (nw_arg){.kind = NW_ARG_STAGE, .name = m->p->buffer[i]->name};
  return block ? (nw_arg){.kind = NW_ARG_STAGE, .name = block->block.target[0].buffer} : (nw_arg){0};
}

// Returns the outermost unit around the stage, or around the loop if `stage` is NULL.
static nw_arg some_unit(const nw_sensible *m, const char *stage) {
  nw_path path;
  const nw_stmt *block = stage ? nw_stage_block(m->p, stage) : m->loop;
  if (!block || !nw_find(m->p, block->id, &path)) return (nw_arg){0};
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_UNIT) return (nw_arg){.kind = NW_ARG_STAGE, .name = path.at[i]->unit.name};
  return (nw_arg){0};
}

static nw_arg turned_layout(const nw_sensible *m) {
  int n = dims_of_stage(m);
  const nw_expr **e = NW_NEW_N(m->a, const nw_expr *, n + 1);
  for (int i = 0; i < n; i++) e[i] = nw_var(m->p->pool, nw_arena_printf(m->a, "_%d", n - 1 - i));
  return n ? (nw_arg){.kind = NW_ARG_EXPRS, .n = n, .expr = e} : (nw_arg){0};
}

static nw_arg some_value(const nw_sensible *m, const nw_param *param, nw_arg_kind kind, int nth, int of);

// Returns a list for a parameter. A list of loops has two loops, and a list of numbers has one number for each of these
// loops. The items are in reverse order if the step changes the order of loops. Any other list has one entry.
static nw_arg some_list(const nw_sensible *m, const nw_param *param) {
  int n = param->item == NW_ARG_LOOP || param->item == NW_ARG_INT || param->item == NW_ARG_SIZE ? 2 : 1;
  if (param->item == NW_ARG_INT && !strcmp(param->name, "dims")) return turned_dims(m);
  if (param->item == NW_ARG_INT && !strcmp(param->name, "multiples")) return multiples(m);
  nw_arg *item = NW_NEW_N(m->a, nw_arg, n);
  for (int i = 0; i < n; i++) {
    item[i] = some_value(m, param, param->item, m->in_order ? i : n - 1 - i, n);
    if (item[i].kind == NW_ARG_NONE) return (nw_arg){0};
  }
  return (nw_arg){.kind = NW_ARG_LIST, .n = n, .item = item};
}

// Returns a condition for a version that handles large sizes: the first size is at least 64.
static nw_arg some_condition(const nw_sensible *m) {
  if (!m->p->nsizes) return (nw_arg){0};
  const nw_expr **e = NW_NEW_N(m->a, const nw_expr *, 1);
  e[0] = nw_le(m->p->pool, nw_index(m->p->pool, 64), nw_var(m->p->pool, m->p->size[0].name));
  return (nw_arg){.kind = NW_ARG_COND, .n = 1, .expr = e};
}

static const nw_stmt *first_in(const nw_stmt *s) {
  while (s && (s->kind == NW_ALLOC || s->kind == NW_SEQ)) s = s->nkids ? s->kid[0] : NULL;
  return s;
}

// Returns the statement that is `by` positions after the loop, or NULL if there is none. Allocations around the loop
// are ignored.
static const nw_stmt *beside(const nw_sensible *m, int by) {
  nw_path path;
  nw_find(m->p, m->loop->id, &path);
  for (int i = path.n - 1; i > 0; i--) {
    const nw_stmt *in = path.at[i - 1];
    int at = path.pos[i] + by;
    if (at >= 0 && at < in->nkids) return first_in(in->kid[at]);
    if (in->kind != NW_ALLOC) break;
  }
  return NULL;
}

// Returns a statement for a parameter. A step with two statements gets the loop and the statement after the loop. If
// `m->turned` is set, the step gets the statement before the loop, and then the loop. An option gets the first
// statement inside the loop.
static nw_arg some_stmt(const nw_sensible *m, const nw_param *param, int nth) {
  int by = nth - (m->turned && !param->option);
  const nw_stmt *s = param->option ? first_in(m->loop->kid[0]) : by ? beside(m, by) : m->loop;
  if (!s || (s->kind != NW_LOOP && s->kind != NW_BLOCK)) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_STMT, .name = s->kind == NW_LOOP ? s->loop.var->name : s->block.name};
}

// Returns a value for a key. If the key has choices, the value is the last choice, because the first choice is the
// default.
static nw_arg some_tag(const char *key) {
  const nw_tag_row *row = nw_tag_row_find(key);
  const char *last = row && row->choices ? strrchr(row->choices, '|') : NULL;
  if (row && row->most) return (nw_arg){.kind = NW_ARG_VALUE, .i = 4};
  return (nw_arg){.kind = NW_ARG_VALUE, .name = last ? last + 1 : "here"};
}

static nw_arg some_value(const nw_sensible *m, const nw_param *param, nw_arg_kind kind, int nth, int of) {
  switch (kind) {
  case NW_ARG_LOOP: return some_loop(m, nth, of);
  case NW_ARG_STAGE: return some_stage(m);
  case NW_ARG_INT:
  case NW_ARG_SIZE: return some_number(m, param, nth, of);
  case NW_ARG_STR: return some_choice(m, param);
  case NW_ARG_INTRINSIC: return some_intrinsic(m);
  case NW_ARG_LIST: return some_list(m, param);
  case NW_ARG_EXPR: return some_place(m);
  case NW_ARG_EXPRS: return turned_layout(m);
  case NW_ARG_COND: return some_condition(m);
  case NW_ARG_STMT: return some_stmt(m, param, nth);
  default: return (nw_arg){0};
  }
}

// Returns the number of loop parameters of a primitive.
static int loops_of(nw_sensible *m, const nw_primitive *row) {
  int n = 0;
  m->outward = m->in_order = false;
  for (int i = 0; i < nw_param_count(row); i++) {
    const nw_param *param = &row->param[i];
    bool loop = param->kind == NW_ARG_LOOP && !param->optional;
    if (loop && n && !strcmp(param->name, "outer")) m->outward = true;
    if (param->kind == NW_ARG_LIST && (param->item == NW_ARG_INT || param->item == NW_ARG_SIZE)) m->in_order = true;
    n += loop;
  }
  return n;
}

// True if an optional parameter may be omitted. A factor that is not an option is always given, because a split needs a
// factor or an option. The value of a property is always given, because a step without a value removes the property.
static bool may_go(const nw_param *param) {
  return param->optional && (param->option || (strncmp(param->name, "factor", 6) && param->kind != NW_ARG_VALUE));
}

// Decides whether a parameter is omitted. In random steps, a parameter that may be omitted is given with probability
// 1/4; in other steps it is always omitted.
static bool left_out(nw_sensible *m, const nw_param *param) {
  if (m->random) m->variant = (int)(nw_draw(m->random) % NW_VARIANTS);
  return may_go(param) && (!m->random || nw_draw(m->random) % 4);
}

bool nw_sensible_fill(nw_sensible *m, const nw_primitive *row, nw_arg *args) {
  int nth = 0, of = loops_of(m, row);
  m->turned = (m->random ? nw_draw(m->random) : (uint64_t)m->variant) % 2;
  for (int i = 0; i < nw_param_count(row); i++) {
    const nw_param *param = &row->param[i];
    args[i] = (nw_arg){0};
    if (left_out(m, param)) continue;
    if (!strcmp(param->name, "operand"))
      args[i] = some_read(m, args[i - 1].name);
    else if (!strcmp(param->name, "unit"))
      args[i] = some_unit(m, NULL);
    else
      args[i] = param->kind == NW_ARG_VALUE ? some_tag(args[i - 1].name) : some_value(m, param, param->kind, nth, of);
    nw_arg unit = param->kind == NW_ARG_STAGE && nw_moves_units(row) ? some_unit(m, args[i].name) : (nw_arg){0};
    if (unit.name) args[i] = unit; // a stage in a unit does not move alone
    nth += param->kind == NW_ARG_LOOP || param->kind == NW_ARG_STMT;
    if (args[i].kind != NW_ARG_NONE || param->optional) continue;
    if (!m->missing) m->missing = param;
    return false;
  }
  return true;
}

// ---- the loop

static void add_stage(nw_sensible *m, const char *name) {
  for (int i = 0; i < m->stage.n; i++)
    if (!strcmp(m->stage.at[i], name)) return;
  nw_vec_push(&m->stage, (void *)name);
}

static void find_stages(nw_sensible *m) {
  nw_blocks inside = nw_blocks_below(m->a, m->loop), all = nw_blocks_below(m->a, m->p->root);
  if (inside.n) add_stage(m, inside.at[0]->block.name);
  for (int i = 0; i < inside.n; i++)
    for (int k = 0; k < all.n; k++)
      if (nw_block_reads(inside.at[i], all.at[k]->block.target[0].buffer)) add_stage(m, all.at[k]->block.name);
  for (int i = 0; i < inside.n; i++) add_stage(m, inside.at[i]->block.name);
  for (int i = 0; i < m->p->nbuffers; i++)
    if (nw_tree_reads(m->loop, m->p->buffer[i]->name)) add_stage(m, m->p->buffer[i]->name);
}

bool nw_sensible_begin(nw_sensible *m, nw_sched *s, int loop) {
  nw_path path;
  *m = (nw_sensible){.s = s, .p = nw_sched_program(s), .a = nw_arena_scratch()};
  if (!nw_sched_loop_name(s, loop)) return false;
  if (!nw_find(m->p, loop, &path)) return nw_fail(s->ctx, NW_EINVAL, NULL, "this loop was proven empty");
  m->loop = path.at[path.n - 1];
  nw_blocks b = nw_blocks_below(m->a, m->loop);
  if (b.n) nw_find(m->p, b.at[0]->id, &path);
  m->n = nw_path_loops(&path, m->nest);
  while (m->nest[m->at] != m->loop) m->at++;
  find_stages(m);
  return true;
}

void nw_sensible_end(nw_sensible *m) {
  nw_vec_free(&m->stage);
  nw_arena_free(m->a);
}
