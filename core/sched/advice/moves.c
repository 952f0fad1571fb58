// Finds the legal steps at a loop, by trying every primitive with sensible arguments.
#include "sched/advice/attempt.h"
#include "sched/advice/sensible.h"
#include "sched/args.h"
#include "sched/history.h"
#include <stdlib.h>

enum { TAILS = 8 };

typedef struct moves {
  nw_sensible at;
  // number of undecided steps; each undecided step reduces the budget of later steps, so that the total time is limited
  int undecided;
} moves;

// ---- trying

static void keep(nw_move *out, char *step, char *why) {
  free(out->step);
  free(out->why);
  out->step = step;
  out->why = why;
  out->undecided = why && !strcmp(why, NW_NOT_DECIDED);
}

static const char *why_untried(const nw_param *missing) {
  if (missing && !strcmp(missing->name, "unit")) return "the loop is in no unit";
  nw_arg_kind kind = !missing ? NW_ARG_NONE : missing->kind == NW_ARG_LIST ? missing->item : missing->kind;
  switch (kind) {
  case NW_ARG_LOOP:
  case NW_ARG_STMT:
  case NW_ARG_STAGE: return "there is no other loop or stage to use with this one";
  case NW_ARG_COND: return "there is no size that a condition could use";
  case NW_ARG_INTRINSIC: return "no intrinsic is registered: use nw.intrinsic{...}";
  case NW_ARG_EXPR: return "it runs only once, so it cannot be cut";
  default: return "it needs further arguments: see its help";
  }
}

static bool try_step(moves *m, const nw_primitive *row, const nw_arg *args, char **why) {
  nw_program *p = nw_attempt(m->at.s, row, args, NW_LOOK_BUDGET / (1 + m->undecided / 2), why);
  nw_program_release(p);
  m->undecided += !p && !strcmp(*why, NW_NOT_DECIDED);
  return p != NULL;
}

// Tries several variants of the arguments. Reports the first variant that is accepted. If no variant is accepted,
// reports the first variant that is undecided. If all variants are refused, reports why the first variant was refused.
static void try_row(moves *m, const nw_primitive *row, nw_move *out) {
  nw_arg args[NW_MAX_PARAMS];
  *out = (nw_move){.primitive = row->name};
  m->at.missing = NULL;
  for (m->at.variant = 0; m->at.variant < NW_VARIANTS && !m->at.s->ctx->interrupted; m->at.variant++) {
    if (!nw_sensible_fill(&m->at, row, args)) continue;
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
  if (!out->step) out->why = nw_xstrdup(why_untried(m->at.missing));
}

// ---- other tails

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
  return at ? nw_arena_strndup(m->at.a, at, strcspn(at, "|")) : NULL;
}

// If the factor of a split is not known to divide the extent, also tries the other values of the option `tail`. Returns
// the number of steps that were tried.
static int try_tails(moves *m, const nw_primitive *row, nw_move *out) {
  nw_arg args[NW_MAX_PARAMS];
  int n = 0, tail = param_named(row, "tail"), factor = param_named(row, "factor");
  m->at.variant = 0;
  if (tail < 0 || factor < 0 || !nw_sensible_fill(&m->at, row, args) || divides(m->at.loop, args[factor].i)) return 0;
  for (const char *name; n < TAILS && (name = nth_choice(m, &row->param[tail], n + 1)); n++) {
    args[tail] = (nw_arg){.kind = NW_ARG_STR, .name = name};
    out[n] = (nw_move){.primitive = row->name};
    char *step = nw_step_show(row, args), *why;
    try_step(m, row, args, &why);
    keep(&out[n], step, why);
  }
  return n;
}

int nw_sched_moves(nw_sched *s, int loop, nw_move **out) {
  *out = NULL;
  if (!s || nw_error(s->ctx)) return -1;
  moves m = {0};
  int rows = nw_primitive_count(), n = nw_sensible_begin(&m.at, s, loop) ? 0 : -1;
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
  nw_sensible_end(&m.at);
  return n;
}

void nw_moves_free(int n, nw_move *m) {
  for (int i = 0; m && i < n; i++) {
    free(m[i].step);
    free(m[i].why);
  }
  free(m);
}
