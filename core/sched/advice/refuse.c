// Completes a refusal with the text of the step, a picture of the loops, and suggested steps. Each suggested step was
// tried before.
#include "sched/advice/refuse.h"
#include "sched/args.h"
#include "sched/advice/attempt.h"
#include "sched/history.h"
#include "sched/primitives/units/unit.h"
#include "sched/advice/suggest.h"
#include "sched/tree.h"
#include <stdlib.h>

// ---- the message

static void put_arg(nw_str *b, const nw_arg *a) {
  const char *name = a->name ? a->name : "it";
  if (a->kind == NW_ARG_INT) nw_str_fmt(b, "%lld", (long long)a->i);
  if (a->kind != NW_ARG_INT && a->kind != NW_ARG_LIST) nw_str_add(b, name);
  for (int i = 0; a->kind == NW_ARG_LIST && i < a->n; i++) {
    if (i) nw_str_add(b, i + 1 < a->n ? ", " : " and ");
    put_arg(b, &a->item[i]);
  }
}

static void expand(nw_str *b, const char *message, const nw_arg *args) {
  for (const char *c = message; *c; c++) {
    if (*c == '$')
      put_arg(b, &args[*++c - '0']);
    else
      nw_str_addn(b, c, 1);
  }
}

// Names the first two adjacent loops of the list that were nested in the opposite order before the step.
static void say_reorder(nw_str *b, const nw_step *st) {
  const nw_arg *list = &st->resolved[0];
  for (int i = 0; i + 1 < list->n; i++) {
    nw_path here, next;
    if (!nw_find(st->before, (int)list->item[i].i, &here) || !nw_find(st->before, (int)list->item[i + 1].i, &next))
      continue;
    if (here.n <= next.n) continue;
    nw_str_fmt(b, "cannot reorder %s before %s", list->item[i].name, list->item[i + 1].name);
    return;
  }
  nw_str_add(b, "cannot reorder these loops");
}

static char *message_of(const nw_step *st) {
  nw_str b = {0};
  if (!strcmp(st->primitive->name, "reorder")) say_reorder(&b, st);
  if (st->primitive->refused) expand(&b, st->primitive->refused, st->resolved);
  if (!b.n) nw_str_fmt(&b, "cannot %s", st->primitive->name);
  return nw_str_take(&b);
}

// ---- the picture

typedef struct marks {
  int n, id[2 * NW_MAX_NOTES];
  const char *remark[2 * NW_MAX_NOTES];
} marks;

static void mark(marks *m, const nw_stmt *s, const char *remark) {
  for (int i = 0; s && i < m->n; i++)
    if (m->id[i] == s->id) return;
  if (!s || m->n == NW_COUNT(m->id)) return;
  m->id[m->n] = s->id;
  m->remark[m->n++] = remark;
}

static const char *remark_of(nw_ctx *c, const nw_refusal *r) {
  if (r->kind == NW_REFUSE_STRUCTURE) return "here";
  bool carried = r->kind == NW_REFUSE_RAW || r->kind == NW_REFUSE_WAR || r->kind == NW_REFUSE_WAW ||
                 r->kind == NW_REFUSE_REDUCTION;
  if (!carried) return "here";
  return r->distance ? nw_diag_printf(c, "carries the dependence, distance %s", r->distance) : "carries the dependence";
}

static void mark_arg(marks *m, const nw_program *p, const nw_arg *a) {
  if (a->kind == NW_ARG_LIST)
    for (int i = 0; i < a->n; i++) mark_arg(m, p, &a->item[i]);
  if (a->kind == NW_ARG_LOOP && a->name) mark(m, nw_find_loop(p, a->name), "");
  if (a->kind == NW_ARG_STAGE) mark(m, nw_stage_block(p, a->name), "");
}

static bool mark_block(void *env, nw_stmt *s) {
  if (s->kind == NW_BLOCK) mark(env, s, "");
  return true;
}

// Returns the remark on a block of the picture. If the refusal names no loop, the remark describes the access of the
// block. Otherwise the remark is empty.
static const char *touch_remark(nw_ctx *c, const nw_refusal *r, const nw_execution *e) {
  if (r->loops[0] || !e || !e->block || !r->tensor) return "";
  return nw_diag_printf(c, "%s %s", e->write ? "writes" : "reads", r->tensor);
}

static void mark_touches(nw_ctx *c, marks *m, const nw_program *p, const nw_refusal *r) {
  const nw_conflict *w = r->conflict;
  if (r->source_block) mark(m, nw_find_block(p, r->source_block), touch_remark(c, r, w ? &w->source : NULL));
  if (r->sink_block) mark(m, nw_find_block(p, r->sink_block), touch_remark(c, r, w ? &w->sink : NULL));
}

// Draws the picture. The blocks inside the marked loops are also marked, so that they are shown. Their remarks are
// empty.
static const char *draw(nw_step *st, const nw_refusal *r, const nw_program *p) {
  marks m = {0};
  for (int i = 0; i < NW_MAX_NOTES && r->loops[i]; i++) mark(&m, nw_find_loop(p, r->loops[i]), remark_of(st->ctx, r));
  mark_touches(st->ctx, &m, p, r);
  for (int i = 0; i < nw_param_count(st->primitive); i++) mark_arg(&m, p, &st->resolved[i]);
  for (int i = 0, n = m.n; i < n; i++) {
    nw_path at;
    if (nw_find(p, m.id[i], &at)) nw_walk_from(at.at[at.n - 1], mark_block, &m);
  }
  nw_show_opts o = {.nmarks = m.n, .mark = m.id, .remark = m.remark, .only_marked = m.n > 0};
  char *text = nw_program_show(p, &o);
  const char *kept = nw_diag_printf(st->ctx, "%s", text ? text : "");
  free(text);
  return kept;
}

void nw_refusal_picture(nw_step *st, const nw_program *refused) {
  nw_refusal *r = nw_refusal_edit(st->ctx);
  if (r && !r->picture) r->picture = draw(st, r, refused);
}

// ---- alternatives

static const char *keep(nw_arena *a, const char *s) { return s ? nw_arena_strdup(a, s) : NULL; }

enum {
  TRIES = 12,
  SHOWN = 3,
  BACK = 8,
};

static bool offered(const nw_refusal *r, const char *text) {
  for (int i = 0; i < NW_MAX_NOTES && r->alternatives[i]; i++)
    if (!strcmp(r->alternatives[i], text)) return true;
  return false;
}

static int try_candidates(nw_step *st, nw_refusal *r) {
  int shown = 0;
  for (int i = 0; i < st->candidate.n && i < TRIES && shown < SHOWN && !st->ctx->interrupted; i++) {
    const nw_candidate *c = st->candidate.at[i];
    char *text = nw_step_show(c->primitive, c->args);
    if (strcmp(text, r->step) && !offered(r, text) && nw_attempt_way(st->sched, c, NW_TRY_BUDGET))
      r->alternatives[shown++] = keep(st->scratch, text);
    free(text);
  }
  return shown;
}

// If the step fails only for small sizes, suggests assumptions that exclude these sizes. If three steps are suggested
// already, an assumption replaces the third step.
static int try_sizes(nw_step *st, nw_refusal *r, int shown) {
  const nw_candidate *way[2];
  int n = nw_ways_by_size(st, r->conflict, way);
  if (n && shown == SHOWN) shown--;
  for (int i = 0; i < n && shown < SHOWN; i++) {
    char *text = nw_step_show(way[i]->primitive, way[i]->args);
    if (!offered(r, text)) r->alternatives[shown++] = keep(st->scratch, text);
    free(text);
  }
  return shown;
}

// Finds the latest version at which the refused step is legal, and suggests undoing the steps after that version, as
// the alternative with this index. The search ends at an earlier step that has the same text as the refused step.
static void try_back(nw_step *st, nw_refusal *r, int at) {
  const nw_node *node = nw_sched_head(st->sched);
  for (int n = 1; n <= BACK && node->parent >= 0 && !st->ctx->interrupted; n++) {
    if (!strcmp(node->text, r->step)) return;
    node = nw_sched_node(st->sched, node->parent);
    if (!nw_attempt_at(st->sched, node->number, st->primitive, st->resolved, NW_TRY_BUDGET)) continue;
    r->alternatives[at] = n > 1 ? nw_arena_printf(st->scratch, "s:undo(%d)", n) : "s:undo()";
    return;
  }
}

// True if the step marks a loop whose iterations conflict in a temporary. Then an earlier step may have caused the
// conflict: store_at lets all iterations of a loop share the storage of a stage.
static bool shares_storage(const nw_step *st, const nw_refusal *r) {
  bool carried = r->kind == NW_REFUSE_RAW || r->kind == NW_REFUSE_WAR || r->kind == NW_REFUSE_WAW;
  if (!carried || !r->tensor || st->primitive->param[0].kind != NW_ARG_LOOP) return false;
  const nw_buffer *b = nw_find_buffer(st->before, r->tensor);
  return b && b->role == NW_TEMP;
}

// Tries candidates, and adds the legal candidates to the refusal. The diagnostic is removed during the trials, and then
// restored. An interrupt ends the search.
static void find_ways(nw_step *st) {
  nw_refusal r = nw_refusal_copy(st->scratch, nw_refusal_edit(st->ctx));
  const char *hint = keep(st->scratch, st->ctx->diag.hint);
  nw_clear(st->ctx);
  st->p = (nw_program *)st->before;
  nw_suggest_units(st);
  if (st->primitive->suggest) st->primitive->suggest(st);
  int shown = try_sizes(st, &r, try_candidates(st, &r));
  if (!shown || (shown < SHOWN && shares_storage(st, &r))) try_back(st, &r, shown);
  nw_clear(st->ctx);
  nw_refuse(st->ctx, &r);
  if (hint) st->ctx->diag.hint = nw_diag_printf(st->ctx, "%s", hint);
}

void nw_refusal_fill(nw_step *st) {
  nw_refusal *r = nw_refusal_edit(st->ctx);
  if (!r || r->step) return;
  char *step = nw_step_show(st->primitive, st->resolved);
  char *message = message_of(st);
  r->primitive = st->primitive->name;
  r->step = nw_diag_printf(st->ctx, "%s", step);
  r->message =
      r->detail ? nw_diag_printf(st->ctx, "%s: %s", message, r->message) : nw_diag_printf(st->ctx, "%s", message);
  st->ctx->diag.message = r->message;
  free(step);
  free(message);
  if (!r->picture) r->picture = draw(st, r, st->before);
  find_ways(st);
}
