// What is legal at a loop: every primitive tried there with sensible arguments, by the road of every step.
#include "ir/program/intrinsic.h"
#include "ir/program/tags.h"
#include "sched/args.h"
#include "sched/advice/attempt.h"
#include "sched/history.h"
#include "sched/tree.h"
#include <stdlib.h>

enum { VARIANTS = 4, TAILS = 8 };

typedef struct moves {
  nw_sched *s;
  const nw_program *p;
  nw_arena *a;
  nw_stmt *loop;
  int n, at; // loops around the first block inside, outermost first; this one among them
  nw_stmt *nest[NW_MAX_DEPTH];
  nw_vec stage; // names: what is computed inside, what that reads, other tensors
  int variant;
  int undecided; // steps so far: what follows is looked at the more briefly, so that the whole takes no longer
  const nw_param *missing; // the first for which nothing sensible came to mind
  bool outward, in_order; // how the step being tried takes its loops: the outer one last; a list outermost first
} moves;

// ---- sensible arguments

static nw_arg loop_at(const moves *m, int at) {
  if (at < 0 || at >= m->n) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_LOOP, .name = m->nest[at]->loop.var->name};
}

// The n-th loop of a step: this one and the next inside; in every other variant, the one around and this one. Or, for a step
// that takes the outer one last, the other way round.
static nw_arg some_loop(const moves *m, int n, int of) {
  int other = of > 1 && m->variant % 2;
  return m->outward ? loop_at(m, m->at + other - n) : loop_at(m, m->at - other + n);
}

static nw_arg some_stage(const moves *m) {
  if (m->variant >= m->stage.n) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_STAGE, .name = m->stage.at[m->variant]};
}

// The loop that a number is about: of the 8 and 4 in tile({"x", "y"}, {8, 4}), one each.
static const nw_stmt *loop_of_number(const moves *m, int nth, int of) {
  const char *name = nth < of && of > 1 ? some_loop(m, nth, of).name : NULL;
  for (int i = 0; i < m->n && name; i++)
    if (!strcmp(m->nest[i]->loop.var->name, name)) return m->nest[i];
  return m->loop;
}

// Factors of a loop, those that divide it first; none is larger than it.
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

// Of dimensions, the first; of anything else, a factor.
static nw_arg some_number(const moves *m, const nw_param *param, int nth, int of) {
  int64_t factor[VARIANTS];
  if (!strcmp(param->name, "axis")) return (nw_arg){.kind = NW_ARG_INT, .i = m->variant % 2};
  int n = factors_of(loop_of_number(m, nth, of), factor);
  return (nw_arg){.kind = NW_ARG_INT, .i = factor[m->variant < n ? m->variant : n - 1]};
}

static nw_arg some_choice(const moves *m, const nw_param *param) {
  const char *at = param->choices;
  if (!at) return (nw_arg){0};
  for (int i = 0; i < m->variant && strchr(at, '|'); i++) at = strchr(at, '|') + 1;
  return (nw_arg){.kind = NW_ARG_STR, .name = nw_arena_strndup(m->a, at, strcspn(at, "|"))};
}

// The latest first.
static nw_arg some_intrinsic(const moves *m) {
  int n = nw_intrinsic_count(m->s->ctx);
  if (m->variant >= n) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_INTRINSIC, .name = nw_intrinsic_at(m->s->ctx, n - 1 - m->variant)->id};
}

// The middle of the loop, wherever sizes and loops around put it.
static nw_arg some_place(const moves *m) {
  int64_t extent;
  nw_pool *pool = m->p->pool;
  if (nw_is_int(m->loop->loop.extent, &extent) && extent < 2) return (nw_arg){0};
  const nw_expr **e = NW_NEW_N(m->a, const nw_expr *, 1);
  e[0] = nw_add(pool, m->loop->loop.begin, nw_floordiv(pool, m->loop->loop.extent, nw_index(pool, 2)));
  return (nw_arg){.kind = NW_ARG_EXPR, .n = 1, .expr = e};
}

static int dims_of_stage(const moves *m) {
  const char *name = some_stage(m).name;
  const nw_stmt *block = name ? nw_stage_block(m->p, name) : NULL;
  const nw_buffer *b = name ? nw_find_buffer(m->p, block ? block->block.target[0].buffer : name) : NULL;
  return b ? b->ndim : 0;
}

// The dimensions of the stage, last first: as numbers, and as a layout.
static nw_arg turned_dims(const moves *m) {
  int n = dims_of_stage(m);
  nw_arg *item = NW_NEW_N(m->a, nw_arg, n + 1);
  for (int i = 0; i < n; i++) item[i] = (nw_arg){.kind = NW_ARG_INT, .i = n - 1 - i};
  return n ? (nw_arg){.kind = NW_ARG_LIST, .n = n, .item = item} : (nw_arg){0};
}

static nw_arg turned_layout(const moves *m) {
  int n = dims_of_stage(m);
  const nw_expr **e = NW_NEW_N(m->a, const nw_expr *, n + 1);
  for (int i = 0; i < n; i++) e[i] = nw_var(m->p->pool, nw_arena_printf(m->a, "_%d", n - 1 - i));
  return n ? (nw_arg){.kind = NW_ARG_EXPRS, .n = n, .expr = e} : (nw_arg){0};
}

static nw_arg some_value(const moves *m, const nw_param *param, nw_arg_kind kind, int nth, int of);

// Loops in the order that is not theirs, for steps that ask for an order; as many numbers; of anything else, one.
static nw_arg some_list(const moves *m, const nw_param *param) {
  int n = param->item == NW_ARG_LOOP || param->item == NW_ARG_INT ? 2 : 1;
  if (param->item == NW_ARG_INT && !strcmp(param->name, "dims")) return turned_dims(m);
  nw_arg *item = NW_NEW_N(m->a, nw_arg, n);
  for (int i = 0; i < n; i++) {
    item[i] = some_value(m, param, param->item, m->in_order ? i : n - 1 - i, n);
    if (item[i].kind == NW_ARG_NONE) return (nw_arg){0};
  }
  return (nw_arg){.kind = NW_ARG_LIST, .n = n, .item = item};
}

// A size above its middle range: what a version for large sizes would ask.
static nw_arg some_condition(const moves *m) {
  if (!m->p->nsizes) return (nw_arg){0};
  const nw_expr **e = NW_NEW_N(m->a, const nw_expr *, 1);
  e[0] = nw_le(m->p->pool, nw_index(m->p->pool, 64), nw_var(m->p->pool, m->p->size[0].name));
  return (nw_arg){.kind = NW_ARG_COND, .n = 1, .expr = e};
}

static const nw_stmt *first_in(const nw_stmt *s) {
  while (s && (s->kind == NW_ALLOC || s->kind == NW_SEQ)) s = s->nkids ? s->kid[0] : NULL;
  return s;
}

// What stands `by` places behind the loop; storage is looked through.
static const nw_stmt *beside(const moves *m, int by) {
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

// The loop and what follows it; in every other variant, what comes before it and the loop. Of an option, what it holds first.
static nw_arg some_stmt(const moves *m, const nw_param *param, int nth) {
  int by = nth - (m->variant % 2 && !param->option);
  const nw_stmt *s = param->option ? first_in(m->loop->kid[0]) : by ? beside(m, by) : m->loop;
  if (!s || (s->kind != NW_LOOP && s->kind != NW_BLOCK)) return (nw_arg){0};
  return (nw_arg){.kind = NW_ARG_STMT, .name = s->kind == NW_LOOP ? s->loop.var->name : s->block.name};
}

// What a key takes: of its words the last, which is not what holds anyway.
static nw_arg some_tag(const char *key) {
  const nw_tag_row *row = nw_tag_row_find(key);
  const char *last = row && row->choices ? strrchr(row->choices, '|') : NULL;
  if (row && row->most) return (nw_arg){.kind = NW_ARG_VALUE, .i = 4};
  return (nw_arg){.kind = NW_ARG_VALUE, .name = last ? last + 1 : "here"};
}

static nw_arg some_value(const moves *m, const nw_param *param, nw_arg_kind kind, int nth, int of) {
  switch (kind) {
  case NW_ARG_LOOP: return some_loop(m, nth, of);
  case NW_ARG_STAGE: return some_stage(m);
  case NW_ARG_INT: return some_number(m, param, nth, of);
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

// How many loops it takes one by one.
static int loops_of(moves *m, const nw_primitive *row) {
  int n = 0;
  m->outward = m->in_order = false;
  for (int i = 0; i < nw_param_count(row); i++) {
    const nw_param *param = &row->param[i];
    bool loop = param->kind == NW_ARG_LOOP && !param->optional;
    if (loop && n && !strcmp(param->name, "outer")) m->outward = true;
    if (param->kind == NW_ARG_LIST && param->item == NW_ARG_INT) m->in_order = true;
    n += loop;
  }
  return n;
}

// May it be left out of a try? A factor may only for another option, a value only to take it back.
static bool left_out(const nw_param *param) {
  return param->optional && (param->option || (strncmp(param->name, "factor", 6) && param->kind != NW_ARG_VALUE));
}

// False when nothing sensible comes to mind.
static bool fill(moves *m, const nw_primitive *row, nw_arg *args) {
  int nth = 0, of = loops_of(m, row);
  for (int i = 0; i < nw_param_count(row); i++) {
    const nw_param *param = &row->param[i];
    args[i] = (nw_arg){0};
    if (left_out(param)) continue;
    args[i] = param->kind == NW_ARG_VALUE ? some_tag(args[i - 1].name) : some_value(m, param, param->kind, nth, of);
    nth += param->kind == NW_ARG_LOOP || param->kind == NW_ARG_STMT;
    if (args[i].kind != NW_ARG_NONE || param->optional) continue;
    if (!m->missing) m->missing = param;
    return false;
  }
  return true;
}

// ---- trying

static void keep(nw_move *out, char *step, char *why) {
  free(out->step);
  free(out->why);
  out->step = step;
  out->why = why;
  out->undecided = why && !strcmp(why, NW_NOT_DECIDED);
}

static const char *why_untried(const nw_param *missing) {
  nw_arg_kind kind = !missing ? NW_ARG_NONE : missing->kind == NW_ARG_LIST ? missing->item : missing->kind;
  switch (kind) {
  case NW_ARG_LOOP:
  case NW_ARG_STMT:
  case NW_ARG_STAGE: return "there is no loop or stage beside this one that it could be about";
  case NW_ARG_COND: return "there is no size that a condition could ask about";
  case NW_ARG_INTRINSIC: return "no intrinsic is registered: nw.intrinsic{...} registers one";
  case NW_ARG_EXPR: return "there is no place inside: it runs once";
  default: return "it needs arguments of its own: see its help";
  }
}

static bool try_step(moves *m, const nw_primitive *row, const nw_arg *args, char **why) {
  nw_program *p = nw_attempt(m->s, row, args, NW_LOOK_BUDGET / (1 + m->undecided / 2), why);
  nw_program_release(p);
  m->undecided += !p && !strcmp(*why, NW_NOT_DECIDED);
  return p != NULL;
}

// The first variant that is accepted; else the first that might be; else what was said of the first.
static void try_row(moves *m, const nw_primitive *row, nw_move *out) {
  nw_arg args[NW_MAX_PARAMS];
  *out = (nw_move){.primitive = row->name};
  m->missing = NULL;
  for (m->variant = 0; m->variant < VARIANTS && !m->s->ctx->interrupted; m->variant++) {
    if (!fill(m, row, args)) continue;
    char *step = nw_step_show(row, args), *why;
    if (out->step && !strcmp(out->step, step)) {
      free(step);
      continue;
    }
    bool ok = try_step(m, row, args, &why);
    if (ok || !out->step || (!out->undecided && !strcmp(why, NW_NOT_DECIDED)))
      keep(out, step, why);
    else
      free(step), free(why);
    if (ok) return;
  }
  if (!out->step) out->why = nw_xstrdup(why_untried(m->missing));
}

// ---- what to do with the rest

static int param_named(const nw_primitive *row, const char *name) {
  int i = 0;
  while (i < nw_param_count(row) && strcmp(row->param[i].name, name)) i++;
  return i < nw_param_count(row) ? i : -1;
}

static bool divides(const nw_stmt *loop, int64_t factor) {
  int64_t extent;
  return nw_is_int(loop->loop.extent, &extent) && factor && extent % factor == 0;
}

static const char *nth_choice(const moves *m, const nw_param *param, int n) {
  const char *at = param->choices;
  while (at && n--) {
    at = strchr(at, '|');
    at += at != NULL;
  }
  return at ? nw_arena_strndup(m->a, at, strcspn(at, "|")) : NULL;
}

// A split whose factor is not known to divide can treat the rest in other ways than the first, which it takes unasked.
static int try_tails(moves *m, const nw_primitive *row, nw_move *out) {
  nw_arg args[NW_MAX_PARAMS];
  int n = 0, tail = param_named(row, "tail"), factor = param_named(row, "factor");
  m->variant = 0;
  if (tail < 0 || factor < 0 || !fill(m, row, args) || divides(m->loop, args[factor].i)) return 0;
  for (const char *name; n < TAILS && (name = nth_choice(m, &row->param[tail], n + 1)); n++) {
    args[tail] = (nw_arg){.kind = NW_ARG_STR, .name = name};
    out[n] = (nw_move){.primitive = row->name};
    char *step = nw_step_show(row, args), *why;
    try_step(m, row, args, &why);
    keep(&out[n], step, why);
  }
  return n;
}

// ---- the loop

static void add_stage(moves *m, const char *name) {
  for (int i = 0; i < m->stage.n; i++)
    if (!strcmp(m->stage.at[i], name)) return;
  nw_vec_push(&m->stage, (void *)name);
}

static void find_stages(moves *m) {
  nw_blocks inside = nw_blocks_below(m->a, m->loop), all = nw_blocks_below(m->a, m->p->root);
  if (inside.n) add_stage(m, inside.at[0]->block.name);
  for (int i = 0; i < inside.n; i++)
    for (int k = 0; k < all.n; k++)
      if (nw_block_reads(inside.at[i], all.at[k]->block.target[0].buffer)) add_stage(m, all.at[k]->block.name);
  for (int i = 0; i < inside.n; i++) add_stage(m, inside.at[i]->block.name);
  for (int i = 0; i < m->p->nbuffers; i++)
    if (nw_tree_reads(m->loop, m->p->buffer[i]->name)) add_stage(m, m->p->buffer[i]->name);
}

static bool find_loop(moves *m, int id) {
  nw_path path;
  if (!nw_sched_loop_name(m->s, id)) return false;
  if (!nw_find(m->p, id, &path)) return nw_fail(m->s->ctx, NW_EINVAL, NULL, "this loop was proven empty");
  m->loop = path.at[path.n - 1];
  nw_blocks b = nw_blocks_below(m->a, m->loop);
  if (b.n) nw_find(m->p, b.at[0]->id, &path);
  m->n = nw_path_loops(&path, m->nest);
  while (m->nest[m->at] != m->loop) m->at++;
  find_stages(m);
  return true;
}

int nw_sched_moves(nw_sched *s, int loop, nw_move **out) {
  *out = NULL;
  if (!s || nw_error(s->ctx)) return -1;
  moves m = {.s = s, .p = nw_sched_program(s), .a = nw_arena_scratch()};
  int rows = nw_primitive_count(), n = find_loop(&m, loop) ? 0 : -1;
  if (!n) *out = nw_xcalloc((size_t)(rows + TAILS), sizeof **out);
  for (int i = 0; n >= 0 && i < rows && !s->ctx->interrupted; i++) {
    try_row(&m, nw_primitive_at(i), &(*out)[n++]);
    n += try_tails(&m, nw_primitive_at(i), &(*out)[n]);
  }
  if (nw_stopped(s->ctx)) {
    nw_moves_free(n, *out);
    *out = NULL;
    n = -1;
  }
  nw_vec_free(&m.stage);
  nw_arena_free(m.a);
  return n;
}

void nw_moves_free(int n, nw_move *m) {
  for (int i = 0; m && i < n; i++) {
    free(m[i].step);
    free(m[i].why);
  }
  free(m);
}
