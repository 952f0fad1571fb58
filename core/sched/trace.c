// Writes and reads traces. A trace is the text of all steps of a schedule. It can be pasted into a script, or replayed.
#include "ir/program/reducer.h"
#include "sched/args.h"
#include "sched/history.h"
#include "sched/json.h"
#include <stdlib.h>

// ---- writing

// Writes a number that is not a whole number as a string, because numbers of JSON are whole numbers here.
static void write_number(nw_str *b, double f) {
  bool whole = f > -1e15 && f < 1e15 && f == (double)(int64_t)f && !(f == 0 && __builtin_signbit(f));
  if (!whole) nw_str_add(b, "\"");
  nw_number_show(b, f);
  if (!whole) nw_str_add(b, "\"");
}

static void write_value(nw_str *b, const nw_arg *a) {
  int64_t number = a->i;
  if (a->kind == NW_ARG_NUMBER) return write_number(b, a->f);
  if (a->kind == NW_ARG_INT || (a->kind == NW_ARG_VALUE && !a->name) ||
      (a->kind == NW_ARG_EXPR && nw_is_int(a->expr[0], &number))) {
    nw_str_fmt(b, "%lld", (long long)number);
  } else if (a->kind == NW_ARG_EXPR || a->kind == NW_ARG_COND) {
    char *e = nw_expr_show(a->expr[0]);
    nw_json_string(b, e);
    free(e);
  } else if (a->kind == NW_ARG_LIST || a->kind == NW_ARG_EXPRS) {
    nw_str_add(b, "[");
    for (int i = 0; i < a->n; i++) {
      char *e = a->kind == NW_ARG_EXPRS ? nw_expr_show(a->expr[i]) : NULL;
      if (i) nw_str_add(b, ", ");
      e ? nw_json_string(b, e) : write_value(b, &a->item[i]);
      free(e);
    }
    nw_str_add(b, "]");
  } else {
    nw_json_string(b, a->name);
  }
}

static void write_step(nw_str *b, const nw_node *node) {
  nw_str_add(b, "    {\"primitive\": ");
  nw_json_string(b, node->primitive->name);
  if (node->unsafe) nw_str_add(b, ", \"unsafe\": true");
  if (node->tested) nw_str_fmt(b, ", \"tested\": %d", node->tested);
  nw_str_add(b, ", \"args\": {");
  for (int i = 0, n = 0; i < nw_param_count(node->primitive); i++) {
    if (node->args[i].kind == NW_ARG_NONE) continue;
    nw_str_fmt(b, "%s\"%s\": ", n++ ? ", " : "", node->primitive->param[i].name);
    write_value(b, &node->args[i]);
  }
  nw_str_add(b, "}}");
}

// Writes the reducers of the computation that were tested, but not proved. Replaying a trace does not need them.
static void write_reducers(nw_str *b, const nw_program *p) {
  int n = 0;
  for (int i = 0; i < p->nreducers; i++) {
    int tested = nw_reducer_of(p->ctx, p->reducer[i].combiner)->tested;
    if (!tested) continue;
    nw_str_add(b, n++ ? ", " : ",\n  \"reducers\": [");
    nw_str_add(b, "{\"name\": ");
    nw_json_string(b, p->reducer[i].name);
    nw_str_fmt(b, ", \"tested\": %d}", tested);
  }
  if (n) nw_str_add(b, "]");
}

static char *as_json(const nw_sched *s, int n, nw_node **line) {
  nw_str b = {0};
  nw_str_add(&b, "{\n  \"nestwright\": ");
  nw_json_string(&b, NW_VERSION);
  nw_str_add(&b, ",\n  \"computation\": ");
  nw_json_string(&b, nw_sched_program(s)->name);
  write_reducers(&b, nw_sched_program(s));
  nw_str_add(&b, ",\n  \"steps\": [");
  for (int i = 0; i < n; i++) {
    nw_str_add(&b, i ? ",\n" : "\n");
    write_step(&b, line[i]);
  }
  nw_str_add(&b, n ? "\n  ]\n}\n" : "]\n}\n");
  return nw_str_take(&b);
}

static char *as_lua(const nw_sched *s, int n, nw_node **line) {
  nw_str b = {0};
  nw_program_note_reducers(&b, nw_sched_program(s), "--");
  for (int i = 0; i < n; i++) {
    nw_str_fmt(&b, line[i]->unsafe ? "s:unsafe(function(s) %s end)" : "%s", line[i]->text);
    if (line[i]->tested) nw_str_fmt(&b, " -- tested on %d values, not proved", line[i]->tested);
    nw_str_add(&b, "\n");
  }
  return nw_str_take(&b);
}

char *nw_sched_trace(const nw_sched *s, bool json) {
  if (!s) return NULL;
  nw_node **line;
  int n = nw_sched_line(s, &line);
  char *text = json ? as_json(s, n, line) : as_lua(s, n, line);
  free(line);
  return text;
}

char *nw_sched_step_text(const nw_sched *s, int version) {
  const nw_node *node = s ? nw_sched_node(s, version) : NULL;
  return node && node->text ? nw_xstrdup(node->text) : NULL;
}

const char *nw_sched_notes(const nw_sched *s) {
  const nw_node *node = s ? nw_sched_head(s) : NULL;
  return node && node->notes ? node->notes : "";
}

bool nw_sched_rounds(const nw_sched *s) {
  const nw_node *node = s ? nw_sched_head(s) : NULL;
  return node && node->rounds;
}

nw_dtype nw_sched_stored(const nw_sched *s) {
  const nw_node *node = s ? nw_sched_head(s) : NULL;
  return node ? node->stored : NW_BOOL;
}

// ---- reading

typedef struct replay {
  nw_sched *s;
  nw_arena *a;
  int step; // number of the step, counted from 1
  const nw_primitive *row;
} replay;

static bool malformed(replay *r, const char *what) {
  nw_fail(r->s->ctx, NW_EPARSE, NULL, "step %d of the trace: %s", r->step, what);
  return false;
}

static bool wrong_arg(replay *r, const nw_param *param) {
  nw_fail(r->s->ctx, NW_EPARSE, r->row->example, "step %d of the trace: %s of %s has a wrong type", r->step,
          param->name, r->row->name);
  return false;
}

static bool read_exprs(replay *r, const nw_param *param, const nw_json *j, nw_arg *out) {
  const nw_expr **e = NW_NEW_N(r->a, const nw_expr *, j->n + 1);
  for (int i = 0; i < j->n; i++) {
    if (j->item[i]->kind != NW_JSON_STR) return wrong_arg(r, param);
    if (!(e[i] = nw_expr_parse(r->s->pool, j->item[i]->s))) return false;
  }
  out->expr = e;
  out->n = j->n;
  return true;
}

static bool read_number(replay *r, const nw_json *j, nw_arg *out) {
  const nw_expr **e = NW_NEW_N(r->a, const nw_expr *, 1);
  *e = nw_index(r->s->pool, j->i);
  out->expr = e;
  out->n = 1;
  return true;
}

static bool read_any_number(replay *r, const nw_param *param, const nw_json *j, nw_arg *out) {
  char *end = NULL;
  if (j->kind == NW_JSON_INT) return out->f = (double)j->i, true;
  if (j->kind == NW_JSON_STR) out->f = strtod(j->s, &end);
  return (end && end != j->s && !*end) || wrong_arg(r, param);
}

static bool read_value(replay *r, const nw_param *param, nw_arg_kind kind, const nw_json *j, nw_arg *out) {
  if (kind == NW_ARG_SIZE) kind = j->kind == NW_JSON_INT ? NW_ARG_INT : NW_ARG_EXPR;
  *out = (nw_arg){.kind = kind};
  if (kind == NW_ARG_NUMBER) return read_any_number(r, param, j, out);
  if (kind == NW_ARG_EXPR && j->kind == NW_JSON_INT) return read_number(r, j, out);
  if (kind == NW_ARG_VALUE && j->kind == NW_JSON_INT) return out->i = j->i, true;
  bool list = kind == NW_ARG_LIST || kind == NW_ARG_EXPRS;
  if (j->kind != (list ? NW_JSON_LIST : kind == NW_ARG_INT ? NW_JSON_INT : NW_JSON_STR)) return wrong_arg(r, param);
  if (kind == NW_ARG_EXPRS) return read_exprs(r, param, j, out);
  out->i = kind == NW_ARG_INT ? j->i : 0;
  out->name = list ? NULL : j->s;
  if (!list) return true;
  nw_arg *item = NW_NEW_N(r->a, nw_arg, j->n + 1);
  for (int i = 0; i < j->n; i++)
    if (!read_value(r, param, param->item, j->item[i], &item[i])) return false;
  out->item = item;
  out->n = j->n;
  return true;
}

static bool known_keys(replay *r, const nw_json *args) {
  for (int k = 0; k < args->n; k++) {
    bool known = false;
    for (int i = 0; i < nw_param_count(r->row); i++) known |= !strcmp(args->key[k], r->row->param[i].name);
    if (!known) return malformed(r, nw_arena_printf(r->a, "%s has no argument named %s", r->row->name, args->key[k]));
  }
  return true;
}

static bool read_step(replay *r, const nw_json *j, nw_arg *args) {
  const nw_json *name = nw_json_get(j, "primitive"), *given = nw_json_get(j, "args");
  if (!name || name->kind != NW_JSON_STR || !given || given->kind != NW_JSON_MAP)
    return malformed(r, "it needs the fields \"primitive\" and \"args\"");
  r->row = nw_primitive_find(name->s);
  if (!r->row) return malformed(r, nw_arena_printf(r->a, "there is no primitive %s", name->s));
  if (!known_keys(r, given)) return false;
  for (int i = 0; i < nw_param_count(r->row); i++) {
    const nw_json *v = nw_json_get(given, r->row->param[i].name);
    args[i] = (nw_arg){0};
    if (v && !read_value(r, &r->row->param[i], r->row->param[i].kind, v, &args[i])) return false;
  }
  return true;
}

// Puts the number and the text of the failed step before the message. Suggestions are removed, because they apply to
// the version at which the step failed, and the schedule goes back to its previous version.
static void name_step(replay *r, const nw_arg *args) {
  nw_diag *d = &r->s->ctx->diag;
  nw_refusal *refusal = nw_refusal_edit(r->s->ctx);
  if (refusal) refusal->alternatives[0] = NULL;
  char *text = nw_step_show(r->row, args);
  d->message = nw_diag_printf(r->s->ctx, "step %d, %s: %s", r->step, text, d->message ? d->message : "failed");
  free(text);
}

static bool run_step(replay *r, const nw_json *j) {
  nw_arg args[NW_MAX_PARAMS];
  const nw_json *unsafe = nw_json_get(j, "unsafe");
  if (!read_step(r, j, args)) return false;
  if (unsafe && unsafe->kind != NW_JSON_BOOL) return malformed(r, "unsafe must be true or false");
  bool was = nw_sched_unsafe(r->s, unsafe && unsafe->i);
  bool ok = nw_sched_apply(r->s, r->row, args, NULL);
  nw_sched_unsafe(r->s, was);
  if (!ok) name_step(r, args);
  return ok;
}

static const nw_json *steps_of(nw_sched *s, nw_arena *a, const char *json) {
  size_t at;
  const char *why;
  const nw_json *j = nw_json_parse(a, json, &at, &why);
  const nw_json *steps = nw_json_get(j, "steps");
  if (!j) return nw_fail(s->ctx, NW_EPARSE, NULL, "the trace is not valid JSON: %s, at character %zu", why, at + 1);
  if (!steps || steps->kind != NW_JSON_LIST) return nw_fail(s->ctx, NW_EPARSE, NULL, "the trace has no list of steps");
  return steps;
}

// Runs the steps. If a step is aborted, a recovery point makes the schedule go back to its previous version.
static bool run_steps(replay *r, const nw_json *steps, int was, bool unsafe) {
  nw_recovery recovery;
  nw_recovery_open(&recovery);
  if (setjmp(recovery.jump)) {
    nw_sched_goto(r->s, was);
    nw_sched_unsafe(r->s, unsafe);
    nw_give_up(recovery.code, recovery.hint, "%s", recovery.message);
  }
  bool ok = true;
  for (int i = 0; ok && i < steps->n; i++) {
    r->step = i + 1;
    ok = run_step(r, steps->item[i]);
  }
  nw_recovery_close(&recovery);
  return ok;
}

// Replays a trace. The steps begin at the naive program and form a new branch. On failure, the schedule goes back to
// its previous version.
bool nw_sched_replay(nw_sched *s, const char *json) {
  if (!s || !json || nw_error(s->ctx)) return false;
  replay r = {.s = s, .a = nw_arena_scratch()};
  int was = s->current;
  const nw_json *steps = steps_of(s, r.a, json);
  bool ok = steps != NULL;
  if (ok) s->current = 0;
  ok = ok && run_steps(&r, steps, was, s->unsafe);
  if (!ok) nw_sched_goto(s, was);
  nw_arena_free(r.a);
  return ok;
}
