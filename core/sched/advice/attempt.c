// Tries steps without changing the schedule.
#include "sched/advice/attempt.h"
#include "poly/poly.h"
#include "sched/history.h"
#include "sched/tree.h"
#include <stdlib.h>

// Returns the reason for a refusal in one line. The text of the step is left out, because the caller has it.
static char *reason_of(const nw_ctx *c, bool glance) {
  const nw_diag *d = nw_error(c);
  if (!d) return nw_xstrdup("it failed without a reason");
  if (glance && d->code == NW_EUNDECIDED) return nw_xstrdup(NW_NOT_DECIDED);
  const char *text = d->refusal && d->refusal->why ? d->refusal->why : d->message;
  char *line = nw_xstrdup(text ? text : "refused");
  line[strcspn(line, "\n")] = 0;
  return line;
}

// Holds the data of a trial. The step is applied to a copy of the schedule, so that the schedule itself stays
// unchanged. `budget` and `brief` are the settings of the judge before the trial.
typedef struct glance {
  nw_sched copy;
  long budget;
  bool brief;
} glance;

// Begins a trial. `budget` is the limit on isl operations, and 0 selects the default limit. If `brief` is true, a
// refusal does not name iterations.
static void begin(glance *g, nw_step *st, const nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget,
                  bool brief) {
  g->copy = *s;
  g->copy.unsafe = false;
  g->budget = nw_judge_budget(s->ctx, -budget);
  g->brief = nw_judge_briefly(s->ctx, brief);
  nw_step_begin(st, &g->copy, row, args);
  st->plain = true;
}

static void end(glance *g, nw_step *st) {
  nw_ctx *c = g->copy.ctx;
  nw_step_end(st);
  nw_judge_budget(c, g->budget);
  nw_judge_briefly(c, g->brief);
  if (!c->interrupted) nw_clear(c);
}

static nw_program *attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, bool brief,
                           char **why) {
  nw_step st;
  glance g;
  begin(&g, &st, s, row, args, budget, brief);
  nw_program *p = nw_step_make(&st);
  if (why) *why = p ? NULL : reason_of(s->ctx, budget);
  end(&g, &st);
  return p;
}

nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, char **why) {
  return attempt(s, row, args, budget, !why, why);
}

nw_program *nw_sched_try(nw_sched *s, const nw_primitive *row, const nw_arg *args, char **why) {
  if (why) *why = NULL;
  return s && row && !nw_error(s->ctx) ? attempt(s, row, args, 0, true, why) : NULL;
}

// ---- a step that must work after another step

// Returns a temporary copy of a schedule, on which steps can be tried. The function drop_copy also frees the versions
// that are added to the copy.
static nw_sched copy_of(const nw_sched *s) {
  nw_sched copy = *s;
  copy.arena = nw_arena_scratch();
  copy.version = (nw_vec){0};
  copy.refused = NULL;
  for (int i = 0; i < s->version.n; i++) nw_vec_push(&copy.version, s->version.at[i]);
  nw_node *head = NW_NEW(copy.arena, nw_node);
  *head = *nw_sched_head(s);
  copy.version.at[s->current] = head;
  return copy;
}

static void drop_copy(nw_sched *copy, const nw_sched *s) {
  for (int i = s->version.n; i < copy->version.n; i++) nw_program_release(nw_sched_node(copy, i)->program);
  nw_vec_free(&copy->version);
  nw_arena_free(copy->arena);
}

static bool keeps_blocks(const nw_step *st, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  for (int i = 0; i < b.n; i++)
    if (nw_find(st->before, b.at[i]->id, NULL)) return true;
  return false;
}

// Returns the id of the loop of p that replaces loop `id`. If the step cut that loop into pieces, the result is the
// piece that keeps the original blocks. The blocks of the other pieces are copies.
static int heir(const nw_step *st, const nw_program *p, int id) {
  int k = 0;
  while (k < st->gone.n && ((nw_gone *)st->gone.at[k])->id != id) k++;
  const nw_gone *g = k < st->gone.n ? st->gone.at[k] : NULL;
  for (int i = 0; g && i < g->n; i++) {
    nw_path path;
    if (nw_find(p, g->into[i], &path) && keeps_blocks(st, path.at[path.n - 1])) return g->into[i];
  }
  return id;
}

static nw_arg follow_arg(const nw_step *st, const nw_program *p, const nw_arg *a) {
  nw_arg out = *a;
  if (a->i && !a->name && (a->kind == NW_ARG_LOOP || a->kind == NW_ARG_STMT)) out.i = heir(st, p, (int)a->i);
  if (a->kind != NW_ARG_LIST) return out;
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, a->n + 1);
  for (int i = 0; i < a->n; i++) item[i] = follow_arg(st, p, &a->item[i]);
  out.item = item;
  return out;
}

// Adapts a candidate to the program p that the step made. In its arguments, the id of a loop becomes the id of the loop
// of p that replaces this loop.
static nw_candidate *follow(const nw_step *st, const nw_program *p, const nw_candidate *c) {
  if (!c) return NULL;
  nw_candidate *out = NW_NEW(st->scratch, nw_candidate);
  *out = (nw_candidate){c->primitive, NW_NEW_N(st->scratch, nw_arg, NW_MAX_PARAMS), follow(st, p, c->then)};
  for (int i = 0; i < NW_MAX_PARAMS; i++) out->args[i] = follow_arg(st, p, &c->args[i]);
  return out;
}

static bool works_after(nw_step *st, nw_program *p, const nw_candidate *then, long budget) {
  nw_sched copy = copy_of(st->sched);
  nw_sched_append(&copy, st, nw_program_retain(p));
  bool ok = nw_attempt_way(&copy, follow(st, p, then), budget);
  drop_copy(&copy, st->sched);
  return ok;
}

bool nw_attempt_way(nw_sched *s, const nw_candidate *c, long budget) {
  nw_step st;
  glance g;
  begin(&g, &st, s, c->primitive, c->args, budget, true);
  nw_program *p = nw_step_make(&st);
  bool ok = p && !st.idle && !nw_same_program(st.before, p);
  if (ok && c->then) ok = works_after(&st, p, c->then, budget);
  nw_program_release(p);
  end(&g, &st);
  return ok;
}

bool nw_attempt_at(nw_sched *s, int version, const nw_primitive *row, const nw_arg *args, long budget) {
  nw_sched copy = *s;
  copy.current = version;
  nw_program *p = nw_attempt(&copy, row, args, budget, NULL);
  nw_program_release(p);
  return p != NULL;
}
