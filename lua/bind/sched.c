// Defines the methods of schedules. A schedule is a history of programs, with the steps between them.
#include "bind.h"
#include <stdlib.h>
#include <string.h>

#define MAX_IDS 512

static void release_sched(void *p) { nw_sched_release(p); }

static nw_sched *self(lua_State *L) { return nwl_check(L, 1, &nwl_schedule_class, "self"); }

static int f_schedule(lua_State *L) {
  nw_tensor *out[NWL_MAX_DIMS];
  nw_target *t = lua_isnoneornil(L, 2) ? NULL : nwl_check(L, 2, &nwl_target_class, "target");
  int n = nwl_list_length(L, 1, NWL_MAX_DIMS, "outputs");
  if (n == 0) return nwl_fail(L, NW_EINVAL, NULL, "outputs: a schedule needs at least one");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 1, i + 1);
    out[i] = nwl_check(L, -1, &nwl_tensor_class, "output");
  }
  nwl_box *b = nwl_new(L, &nwl_schedule_class, release_sched);
  lua_newtable(L); // id -> loop, so that a loop is always the same Lua value
  lua_setiuservalue(L, -2, 1);
  nwl_hold(b, t ? nw_sched_new_for(nwl_ctx(L), t, n, out) : nw_sched_new(nwl_ctx(L), n, out));
  return b->p ? 1 : nwl_raise(L);
}

// schedule_anew(s, target)
static int f_anew(lua_State *L) {
  const nw_sched *s = self(L);
  nw_target *t = nwl_check(L, 2, &nwl_target_class, "target");
  nwl_box *b = nwl_new(L, &nwl_schedule_class, release_sched);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 1);
  nwl_hold(b, nw_sched_anew(s, t));
  return b->p ? 1 : nwl_raise(L);
}

// ---- history

// Undoes or redoes the given number of steps. If fewer are available, raises an error and changes nothing.
static int walk_history(lua_State *L, bool (*go)(nw_sched *), bool (*back)(nw_sched *)) {
  nw_sched *s = self(L);
  lua_Integer steps = nwl_integer_or(L, 2, "steps", 1), done = 0;
  if (steps < 1) return nwl_fail(L, NW_ERANGE, NULL, "steps: %lld is less than 1", (long long)steps);
  while (done < steps && go(s)) done++;
  if (done == steps) return lua_settop(L, 1), 1;
  if (!done && lua_isnoneornil(L, 2)) return nwl_raise(L);
  nw_clear(nwl_ctx(L));
  for (lua_Integer i = 0; i < done; i++) back(s);
  return nwl_fail(L, NW_ERANGE, NULL, "steps: %lld is more than the available %lld", (long long)steps, (long long)done);
}

static int sched_undo(lua_State *L) { return walk_history(L, nw_sched_undo, nw_sched_redo); }
static int sched_redo(lua_State *L) { return walk_history(L, nw_sched_redo, nw_sched_undo); }

static int sched_branch(lua_State *L) {
  nw_sched *s = self(L);
  if (!nw_sched_branch(s, nwl_string(L, 2, "name"))) return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

static int sched_version(lua_State *L) {
  lua_pushinteger(L, nw_sched_current(self(L)));
  return 1;
}

static int sched_trace(lua_State *L) {
  nw_sched *s = self(L);
  bool json = !lua_isnoneornil(L, 2) && strcmp(nwl_string(L, 2, "format"), "json") == 0;
  nwl_push_text(L, nw_sched_trace(s, json));
  return 1;
}

static int sched_replay(lua_State *L) {
  nw_sched *s = self(L);
  if (!nw_sched_replay(s, nwl_string(L, 2, "trace"))) return nwl_raise_step(L, s);
  lua_settop(L, 1);
  return 1;
}

// ---- calls with cleanup

// These functions call a function of the user, and then restore the earlier state, even after an interrupt. They are
// written in C, because Lua code does not run after an interrupt.

// Returns the number of results of a call, or raises its error. The results begin at stack slot `f`.
static int results_of(lua_State *L, int status, int f) {
  if (status != LUA_OK) return lua_error(L);
  return lua_gettop(L) - f + 1;
}

static int sched_returning(lua_State *L) {
  nw_sched *s = self(L);
  nwl_function(L, 3, "f");
  bool always = lua_toboolean(L, 2);
  int was = nw_sched_current(s), status = nwl_pcall(L, lua_gettop(L) - 3, LUA_MULTRET);
  if (always || status != LUA_OK) nw_sched_goto(s, was);
  return results_of(L, status, 3);
}

static int sched_unsafe(lua_State *L) {
  nw_sched *s = self(L);
  nwl_function(L, 2, "steps");
  bool was = nw_sched_unsafe(s, true);
  int status = nwl_pcall(L, lua_gettop(L) - 2, LUA_MULTRET);
  nw_sched_unsafe(s, was);
  return results_of(L, status, 2);
}

static const char quiet_key;

static bool quiet_now(lua_State *L) {
  bool quiet = lua_rawgetp(L, LUA_REGISTRYINDEX, &quiet_key) != LUA_TNIL && lua_toboolean(L, -1);
  lua_pop(L, 1);
  return quiet;
}

static void set_quiet(lua_State *L, bool quiet) {
  lua_pushboolean(L, quiet);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &quiet_key);
}

static int f_quietly(lua_State *L) {
  nwl_function(L, 1, "f");
  bool was = quiet_now(L);
  set_quiet(L, true);
  int status = nwl_pcall(L, lua_gettop(L) - 1, LUA_MULTRET);
  set_quiet(L, was);
  return results_of(L, status, 1);
}

static int f_is_quiet(lua_State *L) {
  lua_pushboolean(L, quiet_now(L));
  return 1;
}

static int sched_notes(lua_State *L) {
  const char *notes = nw_sched_notes(self(L));
  nwl_push_text(L, nw_as_shown(strdup(notes ? notes : "")));
  return 1;
}

static int sched_rounds(lua_State *L) {
  lua_pushboolean(L, nw_sched_rounds(self(L)));
  return 1;
}

static int sched_step_text(lua_State *L) {
  nw_sched *s = self(L);
  nwl_push_text(L,
                nw_sched_step_text(s, nwl_count_or(L, 2, "version", 0, nw_sched_versions(s) - 1, nw_sched_current(s))));
  return 1;
}

static int sched_name_of(lua_State *L) {
  nw_sched *s = self(L);
  nwl_push_text(L, nw_sched_name_of(s, nwl_check(L, 2, &nwl_tensor_class, "tensor")));
  return 1;
}

// ---- views

// Returns the number of a version, which is given by its number or by the name of a branch.
static int version_number(lua_State *L, nw_sched *s, int arg, lua_Integer fallback) {
  bool named = lua_type(L, arg) == LUA_TSTRING;
  lua_Integer v =
      named ? nw_sched_named(s, nwl_string(L, arg, "version")) : nwl_integer_or(L, arg, "version", fallback);
  if (named && v < 0) nwl_raise(L);
  if (v < 0 || v >= nw_sched_versions(s))
    nwl_fail(L, NW_ERANGE, NULL, "there is no version %lld; the latest is %d", (long long)v, nw_sched_versions(s) - 1);
  return (int)v;
}

static int sched_checkout(lua_State *L) {
  nw_sched *s = self(L);
  if (lua_type(L, 2) == LUA_TNUMBER)
    nw_sched_goto(s, version_number(L, s, 2, 0));
  else if (!nw_sched_checkout(s, nwl_string(L, 2, "version")))
    return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

static const nw_program *version_arg(lua_State *L, nw_sched *s, int arg, lua_Integer fallback) {
  return nw_sched_version(s, version_number(L, s, arg, fallback));
}

static nw_style style_arg(lua_State *L, int arg) {
  static const char *const names[] = {"plain", "ansi", "html", NULL};
  return (nw_style)nwl_choice(L, arg, "style", names, 0);
}

// show(self, style, version?, changed?): returns the loop nest. If `changed` is true, marks the changes of the last
// step.
static int sched_show(lua_State *L) {
  nw_sched *s = self(L);
  int version = version_number(L, s, 3, nw_sched_current(s));
  const nw_program *p = nw_sched_version(s, version);
  nw_show_opts o = {.style = style_arg(L, 2), .changed_since = lua_toboolean(L, 4) ? version : 0};
  nwl_push_text(L, nw_program_show(p, &o));
  return 1;
}

static int sched_print(lua_State *L) {
  nw_sched *s = self(L);
  nwl_push_text(L, nw_program_print(version_arg(L, s, 2, nw_sched_current(s))));
  return 1;
}

static int sched_diff(lua_State *L) {
  nw_sched *s = self(L);
  int last = version_number(L, s, 4, nw_sched_current(s));
  const nw_program *b = nw_sched_version(s, last), *a = version_arg(L, s, 3, nw_sched_parent(s, last));
  nwl_push_text(L, nw_program_diff(a, b, style_arg(L, 2)));
  return 1;
}

static int sched_c(lua_State *L) {
  nw_sched *s = self(L);
  nw_clear(nwl_ctx(L));
  nwl_push_text(L, nw_program_c(nwl_ctx(L), nw_sched_program(s)));
  return 1;
}

static int sched_grid_text(lua_State *L) {
  nw_sched *s = self(L);
  const char *dialect = nwl_string(L, 2, "dialect");
  nw_clear(nwl_ctx(L));
  nwl_push_text(L, nw_grid_text(nwl_ctx(L), nw_sched_program(s), dialect, NULL));
  return 1;
}

static int sched_lowered(lua_State *L) {
  nw_sched *s = self(L);
  const char *pass = lua_isnoneornil(L, 2) ? NULL : nwl_string(L, 2, "pass");
  nwl_push_text(L, nw_lower_text(nwl_ctx(L), nw_sched_program(s), pass));
  return 1;
}

// True if parsing the text form gives the same program.
static int sched_reparses(lua_State *L) {
  const nw_program *p = nw_sched_program(self(L));
  nw_ctx *c = nwl_ctx(L);
  char *text = nw_program_print(p);
  nw_pool *pool = nw_pool_new(c);
  nw_program *q = text ? nw_program_parse(c, pool, text) : NULL;
  bool same = q && nw_same_program(p, q);
  if (q) nw_program_release(q);
  nw_pool_release(pool);
  free(text);
  const nw_diag *d = nw_error(c);
  lua_pushboolean(L, same);
  lua_pushstring(L, d ? d->message : NULL);
  nw_clear(c);
  return 2;
}

// program_text(text): parses a program and returns the printed program. Raises an error if parsing the printed program
// gives another program.
static int f_program_text(lua_State *L) {
  nw_ctx *c = nwl_ctx(L);
  const char *text = nwl_string(L, 1, "text");
  nw_clear(c);
  nw_pool *pool = nw_pool_new(c);
  nw_program *p = nw_program_parse(c, pool, text);
  char *printed = p ? nw_program_print(p) : NULL, *shown = p ? nw_program_show(p, NULL) : NULL;
  nw_program *again = printed ? nw_program_parse(c, pool, printed) : NULL;
  bool same = again && nw_same_program(p, again);
  nw_program_release(p);
  nw_program_release(again);
  nw_pool_release(pool);
  free(shown);
  if (same) lua_pushstring(L, printed);
  bool lost = printed && !same;
  free(printed);
  if (lost) return nwl_fail(L, NW_EINTERNAL, NULL, "parsing the printed text of a program gives a different program");
  return same ? 1 : nwl_raise(L);
}

// ---- loops and stages

static int sched_loops(lua_State *L) {
  nw_sched *s = self(L);
  nw_arg stage = {0};
  if (!lua_isnoneornil(L, 2)) nwl_read_stage(L, 2, "stage", &stage);
  int ids[MAX_IDS];
  int n = nw_sched_loops(s, stage.name, MAX_IDS, ids);
  if (n < 0 || (n == 0 && nw_error(nwl_ctx(L)))) return nwl_raise(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    nwl_push_loop(L, 1, ids[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int sched_loop(lua_State *L) {
  nw_sched *s = self(L);
  int id = nw_sched_loop(s, nwl_string(L, 2, "name"));
  if (id == 0) return nwl_raise(L);
  nwl_push_loop(L, 1, id);
  return 1;
}

static int sched_stages(lua_State *L) {
  const char *names[MAX_IDS];
  int n = nw_sched_stages(self(L), MAX_IDS, names);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static const luaL_Reg sched_meta[] = {{NULL, NULL}};
static const nwl_row sched_methods[] = {
    {"apply", nwl_apply, "(self: nw.schedule, primitive: string, arguments: table): any ...",
     "Takes a step, given by the name of the primitive and its positional arguments. The methods for the primitives "
     "call this method."},
    {"try", nwl_try, "(self: nw.schedule, primitive: string, arguments: table): boolean, string?",
     "Returns whether a step would be legal and, if not, the reason. The arguments are positional. The schedule does "
     "not change. This is much faster than a step: it makes no picture and no suggestions, and the reason names the "
     "buffer and the blocks in conflict, but not the iterations."},
    {"random_step", nwl_random_step,
     "(self: nw.schedule, seed: integer): {primitive: string, arguments: table, text: string, draws: integer, refused: "
     "integer}?",
     "Returns a random legal step that would change the program, drawn from all primitives, loops and sensible "
     "arguments; nil if 1,000 draws find none. To take the step, use s:apply(step.primitive, step.arguments). The same "
     "seed and program give the same step."},
    {"undo", sched_undo, "(self: nw.schedule, steps?: integer): nw.schedule",
     "Undoes one step, or the given number of steps."},
    {"redo", sched_redo, "(self: nw.schedule, steps?: integer): nw.schedule",
     "Redoes one undone step, or the given number of them."},
    {"branch", sched_branch, "(self: nw.schedule, name: string): nw.schedule",
     "Gives the current version a name, with which s:checkout finds it."},
    {"checkout", sched_checkout, "(self: nw.schedule, version: string|integer): nw.schedule",
     "Goes to a version, given by branch name or number."},
    {"version", sched_version, "(self: nw.schedule): integer",
     "Returns the number of the current version. Version 0 is the naive program, before any step."},
    {"replay", sched_replay, "(self: nw.schedule, trace: string): nw.schedule",
     "Takes the steps of a trace in JSON; each step is checked again."},
    {"notes", sched_notes, "(self: nw.schedule): string", "Returns the notes of the last step, or the empty string."},
    {"rounds", sched_rounds, "(self: nw.schedule): boolean",
     "Returns true if a step of this version may change the rounding of floats. This is so if a sum has another order, "
     "if a product is no longer stored before it is added, or if a condition that selects a product became constant."},
    {"loop", sched_loop, "(self: nw.schedule, name: string): nw.loop", "Returns the loop with that name."},
    {"reparses", sched_reparses, "(self: nw.schedule): boolean, string?",
     "Returns true if parsing the text form of the program gives the same program."},
    {NULL, NULL, NULL, NULL},
};
const nwl_class nwl_schedule_class = {"schedule", "nestwright.schedule", "schedules", sched_methods, NULL, sched_meta};

static int f_judge_question(lua_State *L) {
  char question = nw_judge_question(nwl_ctx(L));
  lua_pushlstring(L, &question, 1);
  return 1;
}

// lua/nestwright/language/schedule.lua makes views from the results of these functions.
const nwl_row nwl_sched_rows[] = {
    {"schedule", f_schedule, "(outputs: nw.tensor[], target?: nw.target): nw.schedule",
     "Makes a schedule of a computation."},
    {"schedule_anew", f_anew, "(s: nw.schedule, target: nw.target): nw.schedule",
     "Makes a schedule of the same computation for another target, without steps."},
    {"primitives", nwl_primitives, "(): table[]", "Returns the table of primitives: names, parameters, docs."},
    {"schedule_show", sched_show, "(s: nw.schedule, style: string, version?: integer, changed?: boolean): string",
     "Returns the loop nest as text."},
    {"schedule_print", sched_print, "(s: nw.schedule, version?: integer): string",
     "Returns the full text form of the program, which can be parsed again."},
    {"schedule_diff", sched_diff, "(s: nw.schedule, style: string, a?: integer, b?: integer): string",
     "Returns the differences between two versions; by default, the changes of the last step."},
    {"schedule_c", sched_c, "(s: nw.schedule): string", "Returns the program as C99 with OpenMP."},
    {"schedule_grid_text", sched_grid_text, "(s: nw.schedule, dialect: 'cuda'|'opencl'): string",
     "Returns the program as CUDA C or OpenCL C: a kernel for each launch of a grid."},
    {"schedule_lowered", sched_lowered, "(s: nw.schedule, pass?: string): string",
     "Returns the lowered program as text."},
    {"schedule_trace", sched_trace, "(s: nw.schedule, format?: string): string",
     "Returns the steps as Lua or as JSON."},
    {"schedule_unsafe", sched_unsafe, "(s: nw.schedule, f: function, ...: any): any ...",
     "Calls f(...). Steps that f takes are not checked for legality."},
    {"schedule_returning", sched_returning, "(s: nw.schedule, always: boolean, f: function, ...: any): any ...",
     "Calls f(...), then returns to the version before the call: always, or only after an error."},
    {"quietly", f_quietly, "(f: function, ...: any): any ...",
     "Calls f(...). Steps that f takes print no notes at the prompt."},
    {"is_quiet", f_is_quiet, "(): boolean", "True if steps currently print no notes."},
    {"schedule_step", sched_step_text, "(s: nw.schedule, version?: integer): string",
     "Returns the step that made a version, as the user typed it."},
    {"schedule_loops", sched_loops, "(s: nw.schedule, stage?: string): nw.loop[]",
     "Returns the loops, outermost first."},
    {"schedule_name_of", sched_name_of, "(s: nw.schedule, t: nw.tensor): string",
     "Returns the name of a tensor in programs."},
    {"schedule_stages", sched_stages, "(s: nw.schedule): string[]", "Returns the names of the stages."},
    {"program_text", f_program_text, "(text: string): string",
     "For tests: parses a program and prints it. Raises an error if parsing the printed text gives a different "
     "program."},
    {"judge_question", f_judge_question, "(): string",
     "Returns how the last step was checked: o (by the order of executions), v (by the computed values) or m (only by "
     "the marks of loops)."},
    {NULL, NULL, NULL, NULL},
};
