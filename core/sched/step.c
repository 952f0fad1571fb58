// Runs a step: resolves the arguments, clones the program, edits and simplifies the clone, freezes it, calls the judge
// and appends the new version. Also has the functions with which primitives use the state of a step.
#include "sched/step.h"
#include "poly/poly.h"
#include "sched/args.h"
#include "sched/empty.h"
#include "sched/history.h"
#include "sched/advice/refuse.h"
#include "sched/advice/refused.h"
#include "sched/rounding.h"
#include "sched/share.h"
#include "sched/site.h"
#include "sched/primitives/tensorize.h"
#include "sched/primitives/units/unit.h"
#include "sched/tidy.h"
#include "sched/tree.h"
#include "sched/unread.h"
#include <stdio.h>
#include <stdlib.h>

// ---- arguments

nw_stmt *nw_step_loop_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path) {
  nw_path own;
  if (!path) path = &own;
  if (!nw_find(st->p, (int)a->i, path) || path->at[path->n - 1]->kind != NW_LOOP) {
    nw_fail(st->ctx, NW_ESTALE, NULL, "%s: %s \"%s\" no longer exists", st->primitive->name, what,
            a->name ? a->name : "?");
    return NULL;
  }
  return path->at[path->n - 1];
}

nw_stmt *nw_step_loop(nw_step *st, int param, nw_path *path) {
  return nw_step_loop_arg(st, &st->resolved[param], st->primitive->param[param].name, path);
}

nw_stmt *nw_step_block(nw_step *st, int param, nw_path *path) {
  const char *name = st->resolved[param].name;
  nw_stmt *block = nw_stage_block(st->p, name);
  if (!block) {
    nw_fail_unknown_stage(st->ctx, st->p, name);
    return NULL;
  }
  if (path) nw_find(st->p, block->id, path);
  return block;
}

nw_stmt *nw_step_unit(nw_step *st, int param, nw_path *path) {
  const char *name = st->resolved[param].name;
  nw_stmt *unit = nw_find_unit(st->p, name);
  if (!unit) nw_fail_unknown_unit(st->ctx, st->p, name);
  if (unit && path) nw_find(st->p, unit->id, path);
  return unit;
}

nw_stmt *nw_step_stmt_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path) {
  if (a->i) return nw_step_loop_arg(st, a, what, path);
  nw_stmt *unit = nw_find_unit(st->p, a->name), *block = unit ? unit : nw_stage_block(st->p, a->name);
  if (!block) nw_fail_unknown_stage(st->ctx, st->p, a->name);
  if (block && path) nw_find(st->p, block->id, path);
  return block;
}

nw_stmt *nw_step_stmt(nw_step *st, int param, nw_path *path) {
  return nw_step_stmt_arg(st, &st->resolved[param], st->primitive->param[param].name, path);
}

const nw_expr *nw_step_expr(const nw_step *st, int param) { return st->resolved[param].expr[0]; }

bool nw_step_given(const nw_step *st, int param) { return st->resolved[param].kind != NW_ARG_NONE; }

int64_t nw_step_int(const nw_step *st, int param, int64_t fallback) {
  return nw_step_given(st, param) ? st->resolved[param].i : fallback;
}

const char *nw_step_str(const nw_step *st, int param, const char *fallback) {
  return nw_step_given(st, param) ? st->resolved[param].name : fallback;
}

// ---- results, notes, refusals

static void *text_of(nw_step *st, const char *fmt, va_list args) {
  nw_str b = {0};
  nw_str_vfmt(&b, fmt, args);
  char *s = nw_arena_strdup(st->scratch, b.s ? b.s : "");
  nw_str_free(&b);
  return s;
}

void nw_step_replaces(nw_step *st, int loop_id, int n, nw_stmt *const *into, const char *how, ...) {
  va_list args;
  nw_gone *g = NW_NEW(st->scratch, nw_gone);
  va_start(args, how);
  *g = (nw_gone){loop_id, text_of(st, how, args), n, NW_NEW_N(st->scratch, int, n + 1)};
  va_end(args);
  for (int i = 0; i < n; i++) g->into[i] = into[i]->id;
  nw_vec_push(&st->gone, g);
}

void nw_step_returns_loop(nw_step *st, const nw_stmt *loop) {
  if (st->out.n < NW_MAX_RESULTS) st->out.loop[st->out.n++] = loop->id;
}

void nw_step_returns_stage(nw_step *st, const char *name) {
  if (st->out.n < NW_MAX_RESULTS) st->out.stage[st->out.n++] = nw_pool_name(st->p->pool, name);
}

static void add_note(nw_step *st, const char *fmt, va_list args) {
  const char *note = text_of(st, fmt, args);
  if (st->notes.s && strstr(st->notes.s, note)) return;
  nw_str_fmt(&st->notes, "%s%s", st->notes.n ? "\n" : "", note);
}

void nw_step_note(nw_step *st, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  add_note(st, fmt, args);
  va_end(args);
}

void nw_step_rounds(nw_step *st, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  add_note(st, fmt, args);
  va_end(args);
  st->rounds = true;
}

bool nw_step_refuse(nw_step *st, const char *why, const nw_stmt *loop, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  nw_refusal r = {.kind = NW_REFUSE_STRUCTURE, .primitive = st->primitive->name, .why = why, .detail = true};
  r.message = text_of(st, fmt, args);
  va_end(args);
  if (loop && loop->kind == NW_LOOP) r.loops[0] = loop->loop.var->name;
  nw_refuse(st->ctx, &r);
  return false;
}

nw_candidate *nw_step_candidate(nw_step *st, const char *primitive, const nw_arg *args, int nargs) {
  nw_candidate *c = NW_NEW(st->scratch, nw_candidate);
  c->primitive = nw_primitive_find(primitive);
  c->args = NW_NEW_N(st->scratch, nw_arg, NW_MAX_PARAMS);
  for (int i = 0; i < nargs; i++) c->args[i] = args[i];
  return c;
}

nw_candidate *nw_step_suggest(nw_step *st, const char *primitive, const nw_arg *args, int nargs) {
  nw_candidate *c = nw_step_candidate(st, primitive, args, nargs);
  nw_vec_push(&st->candidate, c);
  return c;
}

static nw_arg by_id(nw_step *st, const nw_arg *a) {
  nw_arg out = *a;
  if (a->i && (a->kind == NW_ARG_LOOP || a->kind == NW_ARG_STMT)) out.name = NULL;
  if (a->kind != NW_ARG_LIST) return out;
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, a->n + 1);
  for (int i = 0; i < a->n; i++) item[i] = by_id(st, &a->item[i]);
  out.item = item;
  return out;
}

nw_candidate *nw_step_again(nw_step *st) {
  nw_arg args[NW_MAX_PARAMS];
  for (int i = 0; i < NW_MAX_PARAMS; i++) args[i] = by_id(st, &st->resolved[i]);
  return nw_step_candidate(st, st->primitive->name, args, NW_MAX_PARAMS);
}

// ---- the stages of a step

// Prints the programs before and after the step. Called if a step breaks an invariant in a test.
static void print_step(FILE *out, const void *of) {
  const nw_step *st = of;
  fprintf(out, "in the step %s of\n", st->primitive->name);
  char *before = nw_program_print(st->before), *after = st->p ? nw_program_print(st->p) : NULL;
  fprintf(out, "%s%s%s", before, after ? "which has become\n" : "", after ? after : "");
  free(before);
  free(after);
}

void nw_step_begin(nw_step *st, nw_sched *s, const nw_primitive *row, const nw_arg *args) {
  *st = (nw_step){.ctx = s->ctx, .sched = s, .primitive = row, .args = args};
  st->before = nw_sched_program(s);
  st->scratch = nw_arena_scratch();
  st->outer = nw_work_on((nw_work){print_step, st});
}

void nw_step_end(nw_step *st) {
  nw_work_on(st->outer);
  nw_str_free(&st->notes);
  nw_vec_free(&st->gone);
  nw_vec_free(&st->candidate);
  nw_vec_free(&st->empty);
  nw_vec_free(&st->empty_name);
  nw_program_release(st->denied);
  nw_arena_free(st->scratch);
}

// HEADROOM is the maximal number of levels that one step adds: the loops of a new nest, and an allocation.
enum { HEADROOM = 24 };

static bool fits(nw_step *st) {
  int depth = nw_tree_depth(st->before->root);
  if (depth + HEADROOM <= NW_MAX_DEPTH) return true;
  nw_fail(st->ctx, NW_ELIMIT,
          "split the computation into two schedules, or combine stages; each temporary also adds a level",
          "loops and temporaries are nested %d deep; the limit for a step is %d", depth, NW_MAX_DEPTH - HEADROOM);
  return false;
}

static bool is_not_known(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_KNOWN;
}

static bool reads_no_index(void *env, nw_stmt *s) {
  bool none = true;
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets && none; t++) {
    const nw_block_target *g = &s->block.target[t];
    none = nw_visit(g->value, is_not_known, env) && nw_visit(g->init, is_not_known, env);
    for (int d = 0; d < g->n && none; d++) none = nw_visit(g->index[d], is_not_known, env);
  }
  return none;
}

// True if the rewritten stage may compute indices that another stage reads (ir/expr/known.h). A wrong index could lead
// outside of a tensor, so such a rewrite must be proved.
static bool rewrites_index(const nw_step *st) {
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  bool whole = false;
  for (int i = 0; i < b.n; i++)
    for (int t = 0; t < b.at[i]->block.ntargets && nw_is_rewritten(st->rewriting, b.at[i]); t++)
      whole |= nw_dtype_is_int((nw_dtype)b.at[i]->block.target[t].value->type.dtype);
  return whole && !nw_walk_from(st->before->root, reads_no_index, NULL) && !NW_MUTATED(rewrite_tested_index);
}

// Finds out whether a rewrite keeps the values of its stage. If this was tested, but not proved, marks the step.
static bool keeps_values(nw_step *st) {
  nw_equality_verdict v;
  if (!st->rewriting || st->sched->unsafe) return true;
  bool ok = nw_judge_equality(st->before, st->rewriting, &v);
  if (ok && !v.proved && rewrites_index(st))
    ok = nw_step_refuse(st, "a stage may read this number as an index, and a test is not a proof", NULL,
                        "the forms are only tested to be equal");
  if (ok && !v.proved) {
    st->tested = v.compared;
    nw_mark_tested(st->p, v.compared);
    nw_step_note(st, "tested on %d values, not proved", v.compared);
    if (v.rounds) nw_step_rounds(st, "rounding may change: floats are computed by another expression");
    if (v.beyond)
      nw_step_note(st, "%d more values were not used, because a number in the computation left the range of f64",
                   v.beyond);
    if (v.lost) nw_step_note(st, "the new form overflows: %s", v.lost);
    if (v.nan) nw_step_note(st, "the new form treats NaN in another way: %s", v.nan);
  }
  free(v.lost), free(v.nan);
  return ok;
}

// Makes the new program, which is frozen but not judged. On failure, returns NULL and sets st->p to NULL.
static nw_program *edited(nw_step *st) {
  if (!fits(st)) return NULL;
  st->p = nw_program_clone(st->before);
  st->p->step = st->sched->version.n; // number of the new version
  if (st->sched->next_id > st->p->next_id) st->p->next_id = st->sched->next_id;
  if (st->primitive->apply(st) && keeps_values(st)) {
    nw_widen_storage(st);
    bool shared = nw_share_storage(st);
    nw_widen_storage(st);
    nw_hold_in_lanes(st);
    nw_tidy(st);
    if (st->sched->unsafe) nw_mark_unsafe(st->p);
    if (shared && nw_units_hold(st) && nw_calls_hold(st)) return st->p = nw_program_freeze(st->p);
  }
  nw_program_release(st->p);
  return st->p = NULL;
}

static bool judged(const nw_step *st, const nw_program *p) {
  if (st->sched->unsafe) return nw_judge_structure(st->before, p);
  return st->rewriting ? nw_judge_rewrite(st->before, p, st->rewriting) : nw_judge(st->before, p);
}

bool nw_sched_unsafe(nw_sched *s, bool on) {
  bool was = s && s->unsafe;
  if (s) s->unsafe = on;
  return was;
}

// Makes the program of a step. A step on a piece that was proven empty does not change the program.
nw_program *nw_step_make(nw_step *st) {
  if (!nw_args_resolve(st)) return NULL;
  if (st->idle) {
    nw_empty_results(st);
    return nw_program_retain(st->before);
  }
  if (!nw_args_divide(st)) return NULL;
  nw_program *p = edited(st);
  if (p && !judged(st, p)) {
    nw_explain_sharing(st);
    if (!st->plain) nw_refusal_picture(st, p);
    st->denied = p;
    return st->p = NULL;
  }
  return st->p = p ? nw_step_drop_unread(st, p) : NULL;
}

bool nw_sched_apply(nw_sched *s, const nw_primitive *row, const nw_arg *args, nw_results *out) {
  if (!s || !row || nw_error(s->ctx)) return false;
  nw_step st;
  nw_step_begin(&st, s, row, args);
  nw_program *p = nw_step_make(&st);
  if (p) {
    nw_note_rounding(&st, p);
    nw_sched_append(s, &st, p);
    if (out) *out = st.out;
  } else {
    nw_refusal_fill(&st);
    nw_refused_keep(&st);
  }
  nw_step_end(&st);
  return p != NULL;
}
