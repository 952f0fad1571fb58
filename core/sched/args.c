// Checks the arguments of a step against the row of its primitive (primitives.c). Also resolves and copies arguments,
// and writes a step as the user would type it.
#include "sched/args.h"
#include "sched/empty.h"
#include "sched/history.h"
#include "sched/primitives/tensorize.h"
#include "sched/tree.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int nw_param_count(const nw_primitive *row) {
  int n = 0;
  while (n < NW_MAX_PARAMS && row->param[n].name) n++;
  return n;
}

static const char *kind_name(nw_arg_kind k) {
  switch (k) {
  case NW_ARG_LOOP: return "a loop";
  case NW_ARG_STAGE: return "a stage";
  case NW_ARG_INT: return "a whole number";
  case NW_ARG_STR: return "a string";
  case NW_ARG_INTRINSIC: return "an intrinsic";
  case NW_ARG_LIST: return "a list";
  case NW_ARG_EXPRS: return "a function of the indices";
  case NW_ARG_EXPR: return "an expression";
  case NW_ARG_COND: return "a condition";
  case NW_ARG_STMT: return "a loop or a stage";
  case NW_ARG_SIZE: return "a whole number or an expression of sizes";
  case NW_ARG_VALUE: return "a word or a whole number";
  case NW_ARG_NUMBER: return "a number";
  default: return "nothing";
  }
}

// True if `s` is one of the choices. `choices` lists them as "a|b|c".
static bool is_choice(const char *choices, const char *s) {
  size_t n = strlen(s);
  for (const char *c = choices; c && *c;) {
    const char *end = strchr(c, '|');
    size_t len = end ? (size_t)(end - c) : strlen(c);
    if (len == n && !strncmp(c, s, n)) return true;
    c = end ? end + 1 : c + len;
  }
  return false;
}

static bool check_kind(nw_step *st, const nw_param *param, nw_arg_kind want, const nw_arg *a) {
  if (a->kind == want || (want == NW_ARG_SIZE && (a->kind == NW_ARG_INT || a->kind == NW_ARG_EXPR))) return true;
  nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "%s: %s must be %s, not %s", st->primitive->name, param->name,
          kind_name(want), kind_name(a->kind));
  return false;
}

static bool check_value(nw_step *st, const nw_param *param, nw_arg_kind kind, const nw_arg *a) {
  if (!check_kind(st, param, kind, a)) return false;
  bool named = kind == NW_ARG_STR || kind == NW_ARG_INTRINSIC || kind == NW_ARG_STAGE || (kind == NW_ARG_STMT && !a->i);
  if (named && !a->name) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "%s: %s has no name", st->primitive->name, param->name);
    return false;
  }
  if (kind == NW_ARG_STR && param->choices && !param->open && !is_choice(param->choices, a->name)) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "%s: %s = \"%s\" is not one of %s", st->primitive->name,
            param->name, a->name, param->choices);
    return false;
  }
  return true;
}

static const nw_stmt *call_of(const nw_program *p, int id) {
  nw_path path;
  return nw_find(p, id, &path) ? nw_call_around(&path) : NULL;
}

// Returns the number of steps to undo until the loop is no longer inside a call.
static int steps_since_call(const nw_sched *s, int id) {
  int n = 0;
  for (const nw_node *node = nw_sched_head(s); node && call_of(node->program, id); n++)
    node = nw_sched_node(s, node->parent);
  return n;
}

// Checks that the loop is not in a nest that was replaced by a call, because later steps cannot change that nest.
static bool out_of_calls(nw_step *st, const nw_arg *a) {
  const nw_stmt *call = call_of(st->before, (int)a->i);
  if (!call) return true;
  int n = steps_since_call(st->sched, (int)a->i);
  const char *back = n > 1 ? nw_arena_printf(st->scratch, "s:undo(%d)", n) : "s:undo()";
  return nw_fail(st->ctx, NW_EINVAL, nw_arena_printf(st->scratch, "%s undoes the tensorize step", back),
                 "%s: loop %s was replaced by the call of %.*s", st->primitive->name, a->name,
                 (int)strcspn(call->call.intrinsic, ":"), call->call.intrinsic);
}

// Resolves a loop. If the loop is given by its id, finds its name, which the trace uses. If the loop is given by its
// name, finds its id.
static bool resolve_loop(nw_step *st, nw_arg *a) {
  a->i = a->name ? nw_sched_loop(st->sched, a->name) : a->i;
  a->name = a->i ? nw_sched_loop_name(st->sched, (int)a->i) : NULL;
  if (a->name && nw_empty_name(st->sched, (int)a->i)) st->idle = a->name;
  return a->name != NULL && out_of_calls(st, a);
}

static bool is_empty_stage(nw_step *st, const char *name) {
  return !nw_stage_block(st->before, name) && nw_empty_stage(st->sched, name);
}

static bool is_written(nw_arg_kind k) { return k == NW_ARG_EXPR || k == NW_ARG_COND; }

static bool resolve_stage(nw_step *st, nw_arg *a) {
  if (is_empty_stage(st, a->name)) st->idle = a->name;
  return true;
}

// Resolves a name. The name refers to a loop if there is a loop of that name, and otherwise to a stage.
static bool resolve_stmt(nw_step *st, nw_arg *a) {
  bool loop = !a->name || nw_find_loop(st->before, a->name) || nw_empty_loop(st->sched, a->name);
  return loop ? resolve_loop(st, a) : resolve_stage(st, a);
}

// Resolves a number that may be an expression of sizes. An expression that is constant becomes a number.
static bool resolve_size(nw_step *st, const nw_param *param, nw_arg *a) {
  if (a->kind == NW_ARG_INT) return true;
  if (!nw_arg_written(st, param, a)) return false;
  if (!nw_is_int(a->expr[0], &a->i)) return nw_expr_of_sizes(st, param, a->expr[0]);
  *a = (nw_arg){.kind = NW_ARG_INT, .i = a->i};
  return true;
}

static bool resolve(nw_step *st, const nw_param *param, nw_arg *a) {
  if (param->kind == NW_ARG_LOOP) return resolve_loop(st, a);
  if (param->kind == NW_ARG_STAGE) return resolve_stage(st, a);
  if (param->kind == NW_ARG_STMT) return resolve_stmt(st, a);
  if (param->kind == NW_ARG_SIZE) return resolve_size(st, param, a);
  if (is_written(param->kind)) return nw_arg_written(st, param, a);
  if (param->kind != NW_ARG_LIST) return true;
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, a->n);
  for (int i = 0; i < a->n; i++) {
    item[i] = a->item[i];
    if (!check_value(st, param, param->item, &item[i])) return false;
    if (param->item == NW_ARG_LOOP && !resolve_loop(st, &item[i])) return false;
    if (param->item == NW_ARG_SIZE && !resolve_size(st, param, &item[i])) return false;
    if (is_written(param->item) && !nw_arg_written(st, param, &item[i])) return false;
    if (param->item == NW_ARG_STMT && !resolve_stmt(st, &item[i])) return false;
  }
  a->item = item;
  return true;
}

bool nw_args_resolve(nw_step *st) {
  int n = nw_param_count(st->primitive);
  for (int i = 0; i < n; i++) {
    const nw_param *param = &st->primitive->param[i];
    st->resolved[i] = st->args[i];
    if (st->args[i].kind == NW_ARG_NONE) {
      if (param->optional) continue;
      nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "%s: %s is missing", st->primitive->name, param->name);
      return false;
    }
    if (!check_value(st, param, param->kind, &st->args[i]) || !resolve(st, param, &st->resolved[i])) return false;
  }
  return true;
}

// ---- copies of arguments

nw_arg nw_arg_copy(nw_arena *arena, nw_pool *pool, const nw_arg *a) {
  nw_arg to = *a;
  to.name = a->name ? nw_arena_strdup(arena, a->name) : NULL;
  if (a->kind == NW_ARG_LIST) {
    nw_arg *item = NW_NEW_N(arena, nw_arg, a->n);
    for (int i = 0; i < a->n; i++) item[i] = nw_arg_copy(arena, pool, &a->item[i]);
    to.item = item;
  }
  if (a->expr) {
    const nw_expr **e = NW_NEW_N(arena, const nw_expr *, a->n);
    for (int i = 0; i < a->n; i++) e[i] = nw_import(pool, a->expr[i]);
    to.expr = e;
  }
  return to;
}

nw_arg *nw_args_copy(nw_arena *arena, nw_pool *pool, const nw_primitive *row, const nw_arg *args) {
  int n = nw_param_count(row);
  nw_arg *to = NW_NEW_N(arena, nw_arg, n + 1);
  for (int i = 0; i < n; i++) to[i] = nw_arg_copy(arena, pool, &args[i]);
  return to;
}

// ---- the Lua text of a step

void nw_number_show(nw_str *out, double f) {
  char text[32] = "-0.0";
  if (f == 0 && signbit(f)) return nw_str_add(out, text); // -0 would be a whole number in Lua, which has no sign
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, f);
    if (strtod(text, NULL) == f) break;
  }
  nw_str_add(out, text);
}

static void show_string(nw_str *b, const char *s) {
  nw_str_add(b, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') nw_str_add(b, "\\");
    nw_str_addn(b, s, 1);
  }
  nw_str_add(b, "\"");
}

typedef struct most {
  int dim;
} most;

static bool see_dim(void *env, const nw_expr *e) {
  most *m = env;
  if (e->op != NW_OP_VAR || e->name[0] != '_') return true;
  int d = atoi(e->name + 1);
  if (d > m->dim) m->dim = d;
  return true;
}

// Writes a function, for example: function(_0, _1) return _1 // 32, _0, _1 % 32 end
static void show_function(nw_str *b, const nw_arg *a) {
  most m = {0};
  for (int i = 0; i < a->n; i++) nw_visit(a->expr[i], see_dim, &m);
  nw_str_add(b, "function(");
  for (int d = 0; d <= m.dim; d++) nw_str_fmt(b, "%s_%d", d ? ", " : "", d);
  nw_str_add(b, ") return ");
  for (int i = 0; i < a->n; i++) {
    char *e = nw_expr_show(a->expr[i]);
    nw_str_fmt(b, "%s%s", i ? ", " : "", e);
    free(e);
  }
  nw_str_add(b, " end");
}

// Writes a number as a number, and any other expression as a string.
static void show_written(nw_str *b, const nw_arg *a) {
  if (!a->expr) return show_string(b, a->name);
  char *e = nw_expr_show(a->expr[0]);
  a->kind == NW_ARG_EXPR && a->expr[0]->op == NW_OP_INT ? (void)nw_str_add(b, e) : show_string(b, e);
  free(e);
}

// Writes a number with the digits that are needed to read the same number again.
static void show_number(nw_str *b, double f) {
  if (f != f) return nw_str_add(b, "0/0");
  if (f - f != 0) return nw_str_add(b, f < 0 ? "-math.huge" : "math.huge");
  nw_number_show(b, f);
}

static void show_arg(nw_str *b, const nw_arg *a, bool bare_list);

static void show_items(nw_str *b, const nw_arg *a) {
  for (int i = 0; i < a->n; i++) {
    if (i) nw_str_add(b, ", ");
    show_arg(b, &a->item[i], false);
  }
}

static void show_arg(nw_str *b, const nw_arg *a, bool bare_list) {
  switch (a->kind) {
  case NW_ARG_INT: nw_str_fmt(b, "%lld", (long long)a->i); break;
  case NW_ARG_LIST:
    bare_list |= a->n == 1 && is_written(a->item[0].kind);
    if (!bare_list) nw_str_add(b, "{");
    show_items(b, a);
    if (!bare_list) nw_str_add(b, "}");
    break;
  case NW_ARG_EXPR:
  case NW_ARG_COND: show_written(b, a); break;
  case NW_ARG_EXPRS: show_function(b, a); break;
  case NW_ARG_VALUE: a->name ? show_string(b, a->name) : nw_str_fmt(b, "%lld", (long long)a->i); break;
  case NW_ARG_NUMBER: show_number(b, a->f); break;
  case NW_ARG_NONE: nw_str_add(b, "nil"); break;
  default: a->name ? show_string(b, a->name) : nw_str_fmt(b, "?%lld", (long long)a->i); break;
  }
}

static int given(const nw_primitive *row, const nw_arg *args, bool option) {
  int n = 0;
  for (int i = 0; i < nw_param_count(row); i++) n += row->param[i].option == option && args[i].kind != NW_ARG_NONE;
  return n;
}

static void show_options(nw_str *b, const nw_primitive *row, const nw_arg *args) {
  const char *before = given(row, args, false) ? ", {" : "{";
  for (int i = 0; i < nw_param_count(row); i++) {
    if (!row->param[i].option || args[i].kind == NW_ARG_NONE) continue;
    nw_str_fmt(b, "%s%s = ", before, row->param[i].name);
    show_arg(b, &args[i], false);
    before = ", ";
  }
  nw_str_add(b, "}");
}

// True if all positional parameters are lists of the same length. Their entries are then written as separate arguments:
// s:reorder("i", "j"), s:tile("i", "j", 32, 32).
static bool flat(const nw_primitive *row, const nw_arg *args) {
  int n = -1;
  for (int i = 0; i < nw_param_count(row); i++) {
    if (row->param[i].option) continue;
    if (args[i].kind != NW_ARG_LIST || (n >= 0 && args[i].n != n)) return false;
    n = args[i].n;
  }
  return n > 0;
}

char *nw_step_show(const nw_primitive *row, const nw_arg *args) {
  nw_str b = {0};
  bool bare_list = flat(row, args);
  int npos = given(row, args, false), nopt = given(row, args, true);
  nw_str_fmt(&b, "s:%s", row->name);
  bool word = args[0].kind == NW_ARG_LOOP || args[0].kind == NW_ARG_STAGE || args[0].kind == NW_ARG_STMT;
  if (npos == 1 && !nopt && word) {
    nw_str_add(&b, " ");
    show_arg(&b, &args[0], false);
    return nw_str_take(&b);
  }
  nw_str_add(&b, "(");
  for (int i = 0, shown = 0; shown < npos; i++) {
    if (row->param[i].option) continue;
    if (i) nw_str_add(&b, ", ");
    show_arg(&b, &args[i], bare_list);
    shown += args[i].kind != NW_ARG_NONE;
  }
  if (nopt) show_options(&b, row, args);
  nw_str_add(&b, ")");
  return nw_str_take(&b);
}
