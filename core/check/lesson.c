// Explains a refusal. The text shows what the program does now, what it would do after the step, and which number would
// be wrong.
#include "check/replay.h"
#include <stdio.h>
#include <stdlib.h>

// Writes the name of an execution: its block and the values of the block's variables, as in C(i=0, k=1). The name is
// the same before and after the step.
static void put_who(nw_str *b, const nw_touch *t) {
  nw_str_fmt(b, "%s%s(", t->block->block.origin, t->init && !t->block->block.init_part ? " start" : "");
  for (int i = 0; i < t->nvars; i++) nw_str_fmt(b, "%s%s=%lld", i ? ", " : "", t->var[i], (long long)t->at[i]);
  nw_str_add(b, ")");
}

// True if each thread has its own copy of the element, under the same name.
static bool is_own(const nw_replay_case *x) {
  const nw_buffer *b = x->w && x->w->buffer ? nw_find_buffer(x->r->after, x->w->buffer) : NULL;
  return b && b->scope == NW_LOCAL && x->race == NW_UNSEEN;
}

static void put_what(nw_str *b, const nw_replay_case *x, const nw_touch *t, bool write) {
  const char *e = t->other ? t->other : x->name ? x->name : "its element";
  bool shared = t->other && x->w->buffer;
  if (t->outside)
    nw_str_fmt(b, "%s %s, which does not exist", write ? "writes" : "reads", e);
  else if (t->unwritten)
    nw_str_fmt(b, "reads %s%s, which is not written yet", is_own(x) ? "its own " : "", e);
  else
    nw_str_fmt(b, "%s %s%s = %.6Lg", write ? "writes" : "reads", e, shared ? " (at the same address)" : "", t->value);
}

static void put_line(nw_str *b, const nw_replay_case *x, const char *label, const nw_touch *t, bool write) {
  nw_str_fmt(b, "  %-14s", label);
  put_who(b, t);
  nw_str_add(b, " ");
  put_what(b, x, t, write);
  nw_str_add(b, "\n");
}

static bool writes(const nw_replay_case *x, int who) {
  return who == NW_SOURCE ? x->w->source.write : x->w->sink.write;
}

// Writes a line for each of the two accesses, in the order in which they happen. Writes only one line if they are the
// same access, as when the old program executes an instance once and the new program executes it twice.
static void put_order(nw_str *b, const nw_replay_case *x, const char *label, const nw_touch *t) {
  int first = t[0].when < t[1].when ? 0 : 1;
  put_line(b, x, label, &t[first], writes(x, first));
  if (t[0].when != t[1].when) put_line(b, x, "", &t[!first], writes(x, !first));
}

// Writes the correct value of an element and its wrong value, with enough digits to distinguish the two numbers.
static void put_should(nw_str *b, const char *element, long double should, long double is) {
  static const int digits[] = {6, 17, 20}; // 17 digits distinguish floats, and 20 digits integers
  char one[40], other[40];
  for (int i = 0; i < NW_COUNT(digits); i++) {
    snprintf(one, sizeof one, "%.*Lg", digits[i], should);
    snprintf(other, sizeof other, "%.*Lg", digits[i], is);
    if (strcmp(one, other)) break;
  }
  nw_str_fmt(b, "%s should be %s, is %s\n", element, one, other);
}

// For a conflict that changes no value, writes that the value is the same, and why the step is still refused.
static void put_same(nw_str *b, const nw_replay_case *x, long double value, const char *why) {
  nw_str_fmt(b, "  %s is %.6Lg either way; the step is still refused: %s\n", x->name ? x->name : "the value", value,
             why);
}

// ---- two iterations in columns

static int64_t iteration_of(const nw_execution *e, const char *loop) {
  for (int i = 0; i < e->n; i++)
    if (!strcmp(e->loop[i], loop)) return e->at[i];
  return 0;
}

static void put_columns(nw_str *b, const nw_replay_case *x) {
  const char *what = x->worker, *loop = x->w->loop;
  nw_str left = {0};
  nw_str_fmt(&left, "%s %s=%lld", what, loop, (long long)iteration_of(&x->w->source, loop));
  nw_str_fmt(b, "  %-36s%s %s=%lld\n", left.s, what, loop, (long long)iteration_of(&x->w->sink, loop));
  nw_str_free(&left);
}

static void put_cell(nw_str *b, int who, const char *text) {
  nw_str_fmt(b, "  %*s%s\n", who == NW_SINK ? 36 : 0, "", text);
}

static void put_touch(nw_str *b, const nw_replay_case *x, int who, bool write) {
  nw_str cell = {0};
  put_what(&cell, x, &x->raced[who][write], write);
  put_cell(b, who, cell.s);
  nw_str_free(&cell);
}

// True if both accesses of the conflict are updates, one of which may be lost. An update may also only be read by the
// other iteration, whose own update then starts from another value.
static bool same_reduction(const nw_replay_case *x) {
  return x->w->source.write && x->w->sink.write && x->raced[0][0].is && x->raced[0][1].is && x->raced[1][0].is &&
         x->raced[1][1].is && x->raced[0][0].block->block.combiner != NW_PLAIN;
}

// Shows two iterations that both set the initial value of the reduction, and then both add to it.
static void put_starts(nw_str *b, const nw_replay_case *x) {
  nw_str cell = {0};
  nw_str_fmt(&cell, "sets %s = %.6Lg", x->name, x->raced[NW_SOURCE][0].value);
  put_cell(b, NW_SOURCE, cell.s);
  put_cell(b, NW_SINK, cell.s);
  nw_str_free(&cell);
  for (int i = 0; i < 4; i++) put_touch(b, x, i / 2, i % 2);
}

// Shows two iterations that both read before one of them writes. The update of the iteration that writes first is lost.
static void put_lost(nw_str *b, const nw_replay_case *x) {
  bool first_stays = x->race == NW_FIRST_STAYS;
  put_touch(b, x, NW_SOURCE, false);
  put_touch(b, x, NW_SINK, false);
  put_touch(b, x, first_stays, true);
  put_touch(b, x, !first_stays, true);
}

static void put_updates(nw_str *b, const nw_replay_case *x) {
  if (x->moved)
    nw_str_fmt(b, "  at %s the value is the same either way; at %s it is not:\n", x->r->refusal.element, x->name);
  put_columns(b, x);
  if (x->race == NW_EARLY_INIT)
    put_starts(b, x);
  else
    put_lost(b, x);
  if (!x->shows) return;
  nw_str_add(b, "  after these two ");
  put_should(b, x->name, nw_case_final(x, x->pair, NW_IN_ORDER), nw_case_final(x, x->raced, x->race));
}

static const char *label_of(const nw_replay_case *x) {
  if (!strcmp(x->worker, "lane")) return "as lanes:";
  return is_own(x) || x->ordered ? "it would be:" : "it may be:";
}

// Shows the two iterations as they run in order, and as they may run interleaved. If the second iteration does not see
// the write of the first, the write is shown after the read.
static void put_iterations(nw_str *b, const nw_replay_case *x) {
  const nw_touch in_order[] = {x->pair[0][writes(x, 0)], x->pair[1][writes(x, 1)]};
  nw_touch raced[] = {x->raced[0][writes(x, 0)], x->raced[1][writes(x, 1)]};
  bool late = x->race == NW_UNSEEN && !is_own(x);
  if (late) raced[0].when = raced[1].when + 1;
  put_order(b, x, "it is:", in_order);
  if (x->shows) put_order(b, x, label_of(x), raced);
}

static void put_meeting(nw_str *b, const nw_replay_case *x) {
  if (!x->paired) return;
  bool lost = same_reduction(x) && nw_in_two_rounds(x->w) && !x->ordered;
  (lost ? put_updates : put_iterations)(b, x);
  if (x->shows) return;
  nw_str why = {0};
  if (x->ordered)
    nw_str_add(&why, "a barrier would reverse the order of the two accesses");
  else if (same_reduction(x))
    nw_str_add(&why, "one of the two updates is lost");
  else
    nw_str_fmt(&why, "either %s may come first", x->worker);
  put_same(b, x, x->pair[NW_SINK][writes(x, NW_SINK)].value, why.s);
  nw_str_free(&why);
}

// ---- one access, one element

static void put_one(nw_str *b, const nw_replay_case *x) {
  const nw_touch *t = &x->after[NW_SINK];
  if (t->is) put_line(b, x, "it would be:", t, writes(x, NW_SINK));
  if (!strcmp(x->how, "unwritten") && !t->is)
    nw_str_fmt(b, "  it would be: nothing writes %s\n", x->r->refusal.element);
  if (!strcmp(x->how, "incomplete")) nw_str_add(b, "  it would be: some contributions are still missing\n");
}

static void put_evidence(nw_str *b, const nw_replay_case *x) {
  bool pair = x->w && x->w->source.block;
  bool told = x->how && x->told && (!x->w || !x->w->loop || !x->after[NW_SINK].is);
  if (told) nw_str_fmt(b, "  it would be a %s\n", x->told);
  if (!x->how || !x->w || told) return;
  if (!pair) return put_one(b, x);
  if (x->w->loop) return put_meeting(b, x);
  if (x->before[0].is && x->before[1].is) put_order(b, x, "it is:", x->before);
  put_order(b, x, "it would be:", x->after);
  if (!strcmp(x->how, "twice") && x->after[0].value == x->after[1].value)
    put_same(b, x, x->after[1].value, "each contribution must be taken once");
}

// True if the lines about the two iterations already contain the wrong number.
static bool says_it(const nw_replay_case *x) {
  return x->paired && x->shows && same_reduction(x) && x->pair[1][1].value == x->should &&
         nw_case_final(x, x->raced, x->race) == x->is;
}

// Returns a short text for a terminal: the step, the reason for its refusal, what would happen, and the wrong number.
char *nw_case_text(const nw_replay_case *x) {
  const nw_refusal *r = &x->r->refusal;
  nw_str b = {0};
  nw_str_fmt(&b, "%s: %s\n", r->step ? r->step : "", r->message ? r->message : "refused");
  if (r->why) nw_str_fmt(&b, "  %s\n", r->why);
  put_evidence(&b, x);
  if (x->element && !says_it(x)) {
    nw_str_add(&b, "  so ");
    put_should(&b, x->element, x->should, x->is);
  }
  return nw_str_take(&b);
}

bool nw_explain(nw_ctx *c, nw_sched *s, nw_lesson *out) {
  nw_replay_case x;
  *out = (nw_lesson){0};
  if (!s || nw_error(c)) return false;
  bool ok = nw_case_open(&x, c, s);
  if (ok) nw_case_look(&x);
  if (ok) *out = (nw_lesson){.how = x.how, .visible = x.runs, .text = nw_case_text(&x)};
  if (x.r) nw_case_close(&x);
  return ok && !nw_error(c);
}
