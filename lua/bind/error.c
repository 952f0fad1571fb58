// Raises failures of the core as Lua errors. An error is a table with fields; lua/nestwright/language/errors.lua
// defines its tostring.
#include "bind.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char library_key, functions_key;

static const char *const code_names[] = {
    [NW_OK] = "ok",
    [NW_EINVAL] = "invalid",
    [NW_ETYPE] = "type",
    [NW_ERANGE] = "range",
    [NW_EMEMORY] = "memory",
    [NW_ESTALE] = "stale",
    [NW_EREFUSED] = "refused",
    [NW_EUNDECIDED] = "undecided",
    [NW_ELIMIT] = "limit",
    [NW_EIO] = "io",
    [NW_EPARSE] = "parse",
    [NW_ECODEGEN] = "codegen",
    [NW_ECRASH] = "crash",
    [NW_EINTERNAL] = "internal",
    [NW_EINTERRUPT] = "interrupt",
    [NW_EMISMATCH] = "mismatch",
    [NW_ERACE] = "race",
};
static const char *const kind_names[] = {
    [NW_REFUSE_RAW] = "raw",
    [NW_REFUSE_WAR] = "war",
    [NW_REFUSE_WAW] = "waw",
    [NW_REFUSE_REDUCTION] = "reduction",
    [NW_REFUSE_VALUE] = "value",
    [NW_REFUSE_BOUNDS] = "bounds",
    [NW_REFUSE_COVER] = "cover",
    [NW_REFUSE_CAPACITY] = "capacity",
    [NW_REFUSE_STRUCTURE] = "structure",
    [NW_REFUSE_UNDECIDED] = "undecided",
};

static void set_string(lua_State *L, const char *field, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
}

static void set_strings(lua_State *L, const char *field, const char *const *values) {
  lua_newtable(L);
  for (int i = 0; i < NW_MAX_NOTES && values[i]; i++) {
    lua_pushstring(L, values[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, field);
}

static void set_integers(lua_State *L, const char *field, int n, const int64_t *values) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, values[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, field);
}

// Sets a field to a table that describes an execution, such as {block = "C", i = 0, k = 1}. The table has init = true
// if the execution initializes a reduction.
static void set_execution(lua_State *L, const char *field, const nw_execution *e) {
  if (!e->block) return;
  lua_newtable(L);
  for (int i = 0; i < e->n; i++) {
    lua_pushinteger(L, e->at[i]);
    lua_setfield(L, -2, e->loop[i]);
  }
  set_string(L, "block", e->block);
  if (e->init) {
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "init");
  }
  lua_setfield(L, -2, field);
}

static void set_witness(lua_State *L, const nw_conflict *w) {
  if (!w) return;
  lua_newtable(L);
  set_integers(L, "sizes", w->nsizes, w->size);
  if (w->buffer) set_integers(L, "index", w->ndim, w->index);
  set_execution(L, "source", &w->source);
  set_execution(L, "sink", &w->sink);
  set_string(L, "loop", w->loop);
  lua_setfield(L, -2, "witness");
}

void nwl_push_refusal(lua_State *L, const nw_refusal *r) {
  lua_newtable(L);
  set_string(L, "kind", kind_names[r->kind]);
  set_string(L, "primitive", r->primitive);
  set_string(L, "step", r->step);
  set_string(L, "tensor", r->tensor);
  set_string(L, "element", r->element);
  set_string(L, "source_block", r->source_block);
  set_string(L, "source", r->source);
  set_string(L, "sink_block", r->sink_block);
  set_string(L, "sink", r->sink);
  set_string(L, "distance", r->distance);
  set_string(L, "message", r->message);
  set_string(L, "why", r->why);
  set_strings(L, "loops", r->loops);
  set_strings(L, "alternatives", r->alternatives);
  set_string(L, "picture", r->picture);
  set_witness(L, r->conflict);
  luaL_setmetatable(L, "nestwright.refusal");
}

static bool in_library(lua_State *L, const lua_Debug *ar) {
  size_t n;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &library_key);
  const char *dir = lua_tolstring(L, -1, &n);
  bool inside = dir && ar->source[0] == '@' && strncmp(ar->source + 1, dir, n) == 0;
  lua_pop(L, 1);
  return inside;
}

// True if the frame is the user's: a Lua frame outside the library's own files.
static bool is_user(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "Sl", ar);
  return ar->currentline > 0 && strcmp(ar->what, "C") != 0 && !in_library(L, ar);
}

// Finds the innermost frame of the user's code. Returns false if there is none. Pushes nothing.
static bool find_user(lua_State *L, lua_Debug *ar) {
  for (int level = 0; lua_getstack(L, level, ar); level++)
    if (is_user(L, ar)) return true;
  return false;
}

// Returns the length of "name: " if a message begins with it, otherwise 0.
static size_t begins_with(const char *message, const char *name) {
  size_t n = strlen(name);
  return strncmp(message, name, n) == 0 && strncmp(message + n, ": ", 2) == 0 ? n + 2 : 0;
}

// Returns the name of the public function that the user's code has called, or NULL. The string belongs to the table of
// names. If the message begins with the name of another public function, which the library itself has called, sets
// *inner to the length of this beginning. Otherwise sets *inner to 0.
static const char *called_function(lua_State *L, const char *message, size_t *inner) {
  const char *name = NULL;
  lua_Debug ar;
  *inner = 0;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key) == LUA_TTABLE) {
    for (int level = 0; lua_getstack(L, level, &ar) && !is_user(L, &ar); level++) {
      lua_getinfo(L, "f", &ar);
      if (lua_rawget(L, -2) == LUA_TSTRING) {
        name = lua_tostring(L, -1);
        if (begins_with(message, name)) *inner = begins_with(message, name);
      }
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  if (name && begins_with(message, name)) *inner = 0;
  return name;
}

static bool word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

// True if a message begins with the name of the function, with or without a module name, as in "xsmm.gemm".
static bool names(const char *message, const char *function) {
  size_t n = strlen(function);
  const char *dot = message;
  while (word_char(*dot)) dot++;
  if (*dot == '.' && word_char(dot[1])) message = dot + 1;
  return strncmp(message, function, n) == 0 && !word_char(message[n]);
}

static void set_place(lua_State *L) {
  lua_Debug ar;
  if (!find_user(L, &ar)) return;
  bool named = ar.source[0] == '=' || ar.source[0] == '@';
  set_string(L, "source", named ? ar.source + 1 : ar.short_src);
  lua_pushinteger(L, ar.currentline);
  lua_setfield(L, -2, "line");
}

enum { MOST_SHOWN = 8192 }; // the largest number of bytes of a message that are shown

// Sets a field to a text that is safe to print and not too long. A message may contain any user input.
static void set_shown(lua_State *L, const char *field, const char *s, size_t n) {
  nwl_push_text(L, nw_as_shown(nw_text_shown(s, n < MOST_SHOWN ? n : MOST_SHOWN)));
  if (n > MOST_SHOWN) {
    lua_pushfstring(L, "... (%I bytes in all)", (LUAI_UACINT)n);
    lua_concat(L, 2);
  }
  lua_setfield(L, -2, field);
}

// True if the error message must begin with the name of the called function. A refusal begins with the step instead,
// and an error in a parsed text begins with the number of the line.
static bool names_function(nw_code code, const char *message) {
  size_t digits = strspn(message, "0123456789");
  if (digits > 0 && message[digits] == ':') return false;
  return code == NW_EINVAL || code == NW_ETYPE || code == NW_ERANGE || code == NW_ESTALE || code == NW_ELIMIT ||
         code == NW_EIO || code == NW_EPARSE || code == NW_EMEMORY;
}

static void push_error_of(lua_State *L, nw_code code, const char *message, size_t n, const char *hint) {
  size_t inner = 0;
  const char *function = names_function(code, message) ? called_function(L, message, &inner) : NULL;
  message += inner;
  n -= inner;
  lua_newtable(L);
  set_string(L, "code", code_names[code]);
  set_shown(L, "message", message, n);
  if (function && !names(message, function)) {
    lua_getfield(L, -1, "message");
    lua_pushfstring(L, "%s: %s", function, lua_tostring(L, -1));
    lua_setfield(L, -3, "message");
    lua_pop(L, 1);
  }
  if (hint) set_shown(L, "hint", hint, strlen(hint));
  set_place(L);
  luaL_setmetatable(L, "nestwright.error");
}

static void push_error(lua_State *L, nw_code code, const char *message, const char *hint) {
  if (!message) message = "it failed without a reason";
  push_error_of(L, code, message, strlen(message), hint);
}

// Pushes the current failure as an error.
static void push_diagnostic(lua_State *L) {
  nw_ctx *c = nwl_ctx(L);
  const nw_diag *d = nw_error(c);
  push_error(L, d ? d->code : NW_EINVAL, d ? d->message : NULL, d ? d->hint : NULL);
  if (d && d->refusal) {
    nwl_push_refusal(L, d->refusal);
    lua_setfield(L, -2, "refusal");
  }
  nw_clear(c);
}

int nwl_raise(lua_State *L) {
  push_diagnostic(L);
  return lua_error(L);
}

// ---- the user's name of a schedule

// Pops the value on top. If it equals the value at stack index `wanted`, replaces the value at that index by the name,
// and returns true.
static bool named(lua_State *L, int wanted, const char *name) {
  bool found = *name != '(' && lua_rawequal(L, -1, wanted);
  lua_pop(L, 1);
  if (!found) return false;
  lua_pushstring(L, name);
  lua_replace(L, wanted);
  return true;
}

// Pops a table of globals and searches it for the value at `wanted`, like `named`. If several globals have this value,
// uses the first name in alphabetical order. Skips `_`, which the prompt sets.
static bool named_globally(lua_State *L, int wanted) {
  const char *best = NULL;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || !lua_rawequal(L, -1, wanted)) continue;
    const char *name = lua_tostring(L, -2);
    if (strcmp(name, "_") != 0 && (!best || strcmp(name, best) < 0)) best = name;
  }
  lua_pop(L, 1);
  if (!best) return false;
  lua_pushvalue(L, wanted);
  return named(L, wanted, best);
}

// Pops the function on top. Searches its upvalues and then its globals for the value at `wanted`.
static bool named_outside(lua_State *L, int wanted) {
  const char *name;
  int f = lua_gettop(L), globals = 0;
  bool found = false;
  for (int n = 1; !found && (name = lua_getupvalue(L, f, n)); n++) {
    if (strcmp(name, "_ENV") == 0 && lua_istable(L, -1)) globals = n;
    found = named(L, wanted, name);
  }
  if (!found && globals && lua_getupvalue(L, f, globals)) found = named_globally(L, wanted);
  lua_settop(L, f - 1);
  return found;
}

// Searches the locals of a running function, then its upvalues and its globals. If several locals have the value, uses
// the last of them.
static bool named_in_frame(lua_State *L, int wanted, lua_Debug *ar) {
  const char *name, *local = NULL;
  for (int n = 1; (name = lua_getlocal(L, ar, n)); lua_pop(L, 1), n++)
    if (*name != '(' && lua_rawequal(L, -1, wanted)) local = name;
  if (local) {
    lua_pushvalue(L, wanted);
    return named(L, wanted, local);
  }
  lua_getinfo(L, "f", ar);
  return named_outside(L, wanted);
}

// Sets the field `schedule` of the error on top to the name that the user's code gives to the schedule at index 1.
static void set_schedule_name(lua_State *L) {
  lua_Debug ar;
  bool found = false;
  lua_pushvalue(L, 1);
  int wanted = lua_gettop(L);
  for (int level = 1; !found && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline > 0 && !in_library(L, &ar)) found = named_in_frame(L, wanted, &ar);
  }
  if (!found) {
    lua_pushglobaltable(L);
    found = named_globally(L, wanted);
  }
  if (found)
    lua_setfield(L, -2, "schedule");
  else
    lua_pop(L, 1);
}

// Expects the schedule at index 1 of the stack.
int nwl_raise_step(lua_State *L, nw_sched *s) {
  push_diagnostic(L);
  set_schedule_name(L);
  if (lua_getfield(L, -1, "refusal") == LUA_TTABLE) nwl_keep_programs(L, -1, s);
  lua_pop(L, 1);
  return lua_error(L);
}

int nwl_fail(lua_State *L, nw_code code, const char *hint, const char *fmt, ...) {
  char message[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  push_error(L, code, message, hint);
  return lua_error(L);
}

// ---- functions for the Lua part of the library

static int lua_fail(lua_State *L) {
  const char *name = nwl_string(L, 1, "code");
  nw_code code = NW_EINVAL;
  for (int i = 0; i < (int)(sizeof code_names / sizeof *code_names); i++) {
    if (strcmp(code_names[i], name) == 0) code = (nw_code)i;
  }
  lua_settop(L, 3);
  size_t n;
  const char *message = luaL_tolstring(L, 2, &n);
  push_error_of(L, code, message, n, lua_tostring(L, 3));
  return lua_error(L);
}

static int lua_nearest(lua_State *L) {
  const char *word = luaL_tolstring(L, 1, NULL);
  nwl_table(L, 2, "words");
  int n = 0, most = (int)lua_rawlen(L, 2);
  const char **words = lua_newuserdatauv(L, (size_t)most * sizeof *words, 0);
  for (; n < most && lua_rawgeti(L, 2, n + 1) == LUA_TSTRING; lua_pop(L, 1)) words[n++] = lua_tostring(L, -1);
  lua_pushstring(L, nw_nearest(word, n, words));
  return 1;
}

// check_text(what, text, lines?) returns the text, or raises an error that names the byte that cannot be shown.
static int check_text(lua_State *L) {
  const char *what = nwl_string(L, 1, "what");
  size_t n;
  nwl_is_string(L, 2, what);
  const char *s = lua_tolstring(L, 2, &n);
  nw_clear(nwl_ctx(L));
  if (!nw_text_ok(nwl_ctx(L), what, s, n, lua_toboolean(L, 3))) return nwl_raise(L);
  lua_settop(L, 2);
  return 1;
}

static int is_label(lua_State *L) {
  size_t n = 0;
  const char *s = lua_type(L, 1) == LUA_TSTRING ? lua_tolstring(L, 1, &n) : NULL;
  nw_ctx *c = nwl_ctx(L);
  nw_clear(c);
  lua_pushboolean(L, s && nw_text_ok(c, "label", s, n, false));
  nw_clear(c);
  return 1;
}

static int shown_text(lua_State *L) {
  size_t n;
  nwl_is_string(L, 1, "text");
  const char *s = lua_tolstring(L, 1, &n);
  nwl_push_text(L, nw_text_shown(s, n));
  return 1;
}

static int set_library(lua_State *L) {
  nwl_string(L, 1, "dir");
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &library_key);
  return 0;
}

// name_function(f, name): lets errors in calls of f begin with this name.
static int name_function(lua_State *L) {
  nwl_function(L, 1, "f");
  nwl_string(L, 2, "name");
  lua_settop(L, 2);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
  lua_insert(L, 1);
  lua_rawset(L, 1);
  return 0;
}

static int where(lua_State *L) {
  lua_newtable(L);
  set_place(L);
  lua_getfield(L, -1, "source");
  lua_getfield(L, -2, "line");
  return 2;
}

static int type_name(lua_State *L) {
  lua_pushstring(L, nwl_typename(L, 1));
  return 1;
}

const nwl_row nwl_error_rows[] = {
    {"fail", lua_fail, "(code: string, message: string, hint?: string)",
     "Raises a nestwright.error that names the line of the user's code."},
    {"nearest", lua_nearest, "(word: string, words: string[]): string?",
     "Returns the word of the list that is most similar to a misspelled word; nil if none is similar."},
    {"check_text", check_text, "(what: string, text: string, lines?: boolean): string",
     "Returns the text if it is UTF-8 without control characters, on one line or (lines = true) on several; otherwise "
     "raises an error."},
    {"is_label", is_label, "(value: any): boolean", "True for a text of one line that is safe to print."},
    {"shown_text", shown_text, "(text: string): string",
     "Returns the text made safe to print: characters that control a terminal are written as escapes such as \\x1b."},
    {"set_library", set_library, "(dir: string)",
     "Sets the directory of the library. Lines of files in it are never reported as lines of the user's code."},
    {"name_function", name_function, "(f: function, name: string)",
     "Gives f a name. If the user's code calls f and the call fails, the error message begins with this name."},
    {"where", where, "(): string?, integer?", "Returns the source and the line of the user's code that is running."},
    {"type_name", type_name, "(value: any): string",
     "Returns the kind of a value in words, such as 'a tensor' or 'a number'."},
    {NULL, NULL, NULL, NULL},
};

void nwl_error_open(lua_State *L) {
  lua_newtable(L); // public function -> its name
  lua_rawsetp(L, LUA_REGISTRYINDEX, &functions_key);
  luaL_newmetatable(L, "nestwright.error");
  lua_setfield(L, -2, "error");
  luaL_newmetatable(L, "nestwright.refusal");
  lua_setfield(L, -2, "refusal");
}
