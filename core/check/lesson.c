// A refusal as a lesson: what happens now, what would happen, and the number that comes out wrong.
#include "check/replay.h"
#include <stdlib.h>

// C(i=0, k=1), an execution by what it computes: that name is the same before and after the step.
static void put_who(nw_str *b, const nw_touch *t) {
  nw_str_fmt(b, "%s%s(", t->block->block.origin, t->init && !t->block->block.init_part ? " start" : "");
  for (int i = 0; i < t->nvars; i++) nw_str_fmt(b, "%s%s=%lld", i ? ", " : "", t->var[i], (long long)t->at[i]);
  nw_str_add(b, ")");
}

static void put_what(nw_str *b, const nw_case *x, const nw_touch *t, bool write) {
  const char *e = x->r->refusal.element ? x->r->refusal.element : "its element";
  if (t->other && x->w && x->w->buffer) e = "another element in its place";
  if (t->outside)
    nw_str_fmt(b, "%s %s, which is not there", write ? "writes" : "reads", e);
  else if (t->unwritten)
    nw_str_fmt(b, "reads %s, where nothing is written yet", e);
  else
    nw_str_fmt(b, "%s %s = %.6g", write ? "writes" : "reads", e, t->value);
}

static void put_line(nw_str *b, const nw_case *x, const char *label, const nw_touch *t, bool write) {
  nw_str_fmt(b, "  %-14s", label);
  put_who(b, t);
  nw_str_add(b, " ");
  put_what(b, x, t, write);
  nw_str_add(b, "\n");
}

static bool writes(const nw_case *x, int who) { return who == NW_SOURCE ? x->w->source.write : x->w->sink.write; }

static void put_order(nw_str *b, const nw_case *x, const char *label, const nw_touch *t) {
  int first = t[0].when < t[1].when ? 0 : 1;
  put_line(b, x, label, &t[first], writes(x, first));
  put_line(b, x, "", &t[!first], writes(x, !first));
}

// ---- two iterations side by side

static int64_t iteration_of(const nw_execution *e, const char *loop) {
  for (int i = 0; i < e->n; i++)
    if (!strcmp(e->loop[i], loop)) return e->at[i];
  return 0;
}

static void put_columns(nw_str *b, const nw_case *x) {
  const char *what = x->vector ? "lane" : "thread", *loop = x->w->loop;
  nw_str left = {0};
  nw_str_fmt(&left, "%s %s=%lld", what, loop, (long long)iteration_of(&x->w->source, loop));
  nw_str_fmt(b, "  %-36s%s %s=%lld\n", left.s, what, loop, (long long)iteration_of(&x->w->sink, loop));
  nw_str_free(&left);
}

static void put_cell(nw_str *b, const nw_case *x, int who, const nw_touch *t, bool write) {
  nw_str cell = {0};
  put_what(&cell, x, t, write);
  nw_str_fmt(b, "  %*s%s\n", who == NW_SINK ? 36 : 0, "", cell.s);
  nw_str_free(&cell);
}

static bool same_reduction(const nw_case *x) {
  return x->raced[0][0].is && x->raced[0][1].is && x->raced[1][0].is && x->raced[1][1].is &&
         x->raced[0][0].block->block.combiner != NW_PLAIN;
}

// Both read before either writes: the first update is lost.
static void put_lost_update(nw_str *b, const nw_case *x) {
  put_columns(b, x);
  put_cell(b, x, NW_SOURCE, &x->raced[0][0], false);
  put_cell(b, x, NW_SINK, &x->raced[1][0], false);
  put_cell(b, x, NW_SOURCE, &x->raced[0][1], true);
  put_cell(b, x, NW_SINK, &x->raced[1][1], true);
  nw_str_fmt(b, "  after these two %s should be %.6g, is %.6g\n", x->r->refusal.element, x->pair[1][1].value,
             x->raced[1][1].value);
}

static void put_iterations(nw_str *b, const nw_case *x) {
  const nw_touch in_order[] = {x->pair[0][writes(x, 0)], x->pair[1][writes(x, 1)]};
  const nw_touch raced[] = {x->raced[0][writes(x, 0)], x->raced[1][writes(x, 1)]};
  if (!in_order[0].is || !in_order[1].is || !raced[0].is || !raced[1].is) return;
  put_order(b, x, "in order:", in_order);
  put_order(b, x, x->vector ? "as lanes:" : "or else:", raced);
}

// ---- one access, one element

static void put_one(nw_str *b, const nw_case *x) {
  const nw_touch *t = &x->after[NW_SINK];
  if (t->is) put_line(b, x, "it would be:", t, writes(x, NW_SINK));
  if (!strcmp(x->how, "unwritten") && !t->is)
    nw_str_fmt(b, "  it would be: nothing writes %s\n", x->r->refusal.element);
  if (!strcmp(x->how, "incomplete")) nw_str_add(b, "  it would be: some contributions are missing by then\n");
}

static void put_evidence(nw_str *b, const nw_case *x) {
  bool pair = x->w && x->w->source.block;
  if (!x->how || !x->w) return;
  if (!pair) return put_one(b, x);
  if (x->w->loop && !x->paired) return;
  if (x->w->loop) return same_reduction(x) ? put_lost_update(b, x) : put_iterations(b, x);
  if (x->before[0].is && x->before[1].is) put_order(b, x, "it is:", x->before);
  put_order(b, x, "it would be:", x->after);
}

// The two iterations were all there are: their line has said it.
static bool says_it(const nw_case *x) {
  return x->paired && same_reduction(x) && x->pair[1][1].value == x->should && x->raced[1][1].value == x->is;
}

// Short, for a terminal: the step, why, what happens, and the wrong number.
char *nw_case_text(const nw_case *x) {
  const nw_refusal *r = &x->r->refusal;
  nw_str b = {0};
  nw_str_fmt(&b, "%s: %s\n", r->step ? r->step : "", r->message ? r->message : "refused");
  if (r->why) nw_str_fmt(&b, "  %s\n", r->why);
  put_evidence(&b, x);
  if (x->element && !says_it(x)) nw_str_fmt(&b, "  so %s should be %.6g, is %.6g\n", x->element, x->should, x->is);
  return nw_str_take(&b);
}

bool nw_explain(nw_ctx *c, nw_sched *s, nw_lesson *out) {
  nw_case x;
  *out = (nw_lesson){0};
  if (!s || nw_error(c)) return false;
  bool ok = nw_case_open(&x, c, s);
  if (ok) nw_case_look(&x);
  if (ok) {
    *out = (nw_lesson){.how = x.how, .visible = x.r->after != NULL, .text = nw_case_text(&x)};
    nw_refusal_kind k = x.r->refusal.kind;
    out->visible &= k != NW_REFUSE_STRUCTURE && k != NW_REFUSE_CAPACITY && k != NW_REFUSE_UNDECIDED;
  }
  if (x.r) nw_case_close(&x);
  return ok && !nw_error(c);
}
