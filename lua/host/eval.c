// Evaluates chunks, and calls the functions of the Lua library for display, completion and inspection
// (lua/nestwright/show/prompt.lua).
#include "inside.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- calls

bool nwh_is_ours(const nwh *h, const lua_Debug *ar) {
  if (ar->source[0] == '=') return strcmp(ar->source, "=[C]") == 0;
  return h->library && ar->source[0] == '@' && strncmp(ar->source + 1, h->library, strlen(h->library)) == 0;
}

static void push_frame(lua_State *L, const lua_Debug *ar) {
  const char *place = lua_pushfstring(L, "  %s:%d: in ", ar->short_src, ar->currentline);
  if (*ar->what == 'm') {
    lua_pushfstring(L, "%smain chunk\n", place);
  } else {
    const char *kind = *ar->namewhat ? ar->namewhat : "function";
    lua_pushfstring(L, ar->name ? "%s%s '%s'\n" : "%sa function\n", place, kind, ar->name);
  }
  lua_remove(L, -2);
}

// Pops the line on top of the stack and appends it to the text at the stack index `text`. If the text already ends with
// the same line, nothing is appended, and the function returns false.
static bool add_frame(lua_State *L, int text) {
  size_t n, m;
  const char *line = lua_tolstring(L, -1, &n), *so_far = lua_tolstring(L, text, &m);
  if (m >= n && strcmp(so_far + m - n, line) == 0) {
    lua_pop(L, 1);
    return false;
  }
  lua_pushvalue(L, text);
  lua_insert(L, -2);
  lua_concat(L, 2);
  lua_replace(L, text);
  return true;
}

// Stores the traceback, which has one line for each stack frame of the user's code. Stores NULL if there would be fewer
// than two lines.
static void keep_traceback(nwh *h, lua_State *L) {
  lua_Debug ar;
  int frames = 0;
  lua_pushliteral(L, "");
  int text = lua_gettop(L);
  for (int level = 1; frames < 12 && level < 5000 && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sln", &ar);
    if (nwh_is_ours(h, &ar) || ar.currentline <= 0) continue;
    push_frame(L, &ar);
    frames += add_frame(L, text);
  }
  free(h->traceback);
  h->traceback = frames > 1 ? strdup(lua_tostring(L, text)) : NULL;
  lua_settop(L, text - 1);
}

static int on_error(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "nestwright.host.state");
  nwh *h = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (!h->pending && lua_checkstack(L, 40)) keep_traceback(h, L);
  return 1;
}

// Replaces Lua's error "not enough memory" on top of the stack by an error of the library. The new error gives the size
// of the request and a hint.
static void explain_memory(nwh *h) {
  lua_State *L = h->L;
  if (lua_type(L, -1) != LUA_TSTRING || strcmp(lua_tostring(L, -1), "not enough memory") != 0) return;
  lua_gc(L, LUA_GCCOLLECT, 0);
  nwh_spend_reserve(h);
  int top = lua_gettop(L);
  if (nwh_push_function(h, "nestwright.language.errors", "of_lua")) {
    lua_pushvalue(L, top);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) lua_replace(L, top);
  }
  lua_settop(L, top);
}

nwh_status nwh_call(nwh *h, int nargs, int nresults) {
  lua_State *L = h->L;
  int base = lua_gettop(L) - nargs;
  free(h->traceback);
  h->traceback = NULL;
  lua_pushcfunction(L, on_error);
  lua_insert(L, base);
  nwh_run_begin(h);
  int status = lua_pcall(L, nargs, nresults, base);
  bool stopped = nwh_run_end(h);
  lua_remove(L, base);
  h->stopped = stopped && status != LUA_OK;
  if (status == LUA_OK) return nwh_keep_reserve(h), NWH_OK;
  explain_memory(h);
  return stopped ? NWH_INTERRUPTED : NWH_ERROR;
}

// ---- chunks

static bool unfinished(lua_State *L, int status) {
  if (status != LUA_ERRSYNTAX) return false;
  size_t n;
  const char *message = lua_tolstring(L, -1, &n);
  return n >= 5 && strcmp(message + n - 5, "<eof>") == 0;
}

static int load(lua_State *L, const char *code, size_t n, const char *name) {
  return luaL_loadbufferx(L, code, n, name, "t");
}

static bool load_joined(lua_State *L, const char *before, const char *code, const char *name) {
  lua_pushfstring(L, "%s%s", before, code);
  size_t n;
  const char *text = lua_tolstring(L, -1, &n);
  bool loaded = load(L, text, n, name) == LUA_OK;
  lua_remove(L, -2);
  if (!loaded) lua_pop(L, 1);
  return loaded;
}

// If a chunk were `return f()`, the call would be a tail call, and a traceback would lack the chunk's stack frame. A
// to-be-closed variable prevents tail calls.
#define RETURN "local nestwright_result <close> = nil return "

// Loads the chunk as an expression. If the chunk is not an expression, pushes nothing and returns false.
static bool load_expression(lua_State *L, const char *code, const char *name) {
  return load_joined(L, RETURN, code, name);
}

// Limits of the search for an expression after statements. The search needs limits because it cannot be interrupted.
#define MOST_PARTS 100 // largest number of places (line starts and semicolons) at which the code is split
#define MOST_READ (8 << 20) // largest number of bytes that the search parses

static bool loads(lua_State *L, const char *before, const char *code) {
  bool ok = load_joined(L, before, code, "=input");
  if (ok) lua_pop(L, 1);
  return ok;
}

// True if the text `last` is a valid statement by itself, such as a call, and does not continue the text `before`. The
// two texts together must be valid statements.
static bool stands_alone(lua_State *L, const char *before, const char *last) {
  if (last[strspn(last, " \t\r\n")] == '(') return false;
  bool ok = loads(L, lua_pushfstring(L, "%s;", before), last);
  lua_pop(L, 1);
  return ok;
}

// True if the text `last` is an expression. The text is parsed as the argument of a call, without the code before it.
// With the code before it, the text `end` would also be valid, because it could close a block.
static bool is_expression(lua_State *L, const char *last) {
  bool ok = loads(L, lua_pushfstring(L, "return nothing(%s\n", last), ")");
  lua_pop(L, 1);
  return ok;
}

// Loads statements with an expression after them. The expression begins after a semicolon or at the start of a line,
// and is as short as possible. If there is no such expression, pushes nothing and returns false. `code` must be
// trimmed. `statements` must be true if the unchanged code is a valid chunk.
static bool load_last_part(lua_State *L, const char *code, const char *name, bool statements) {
  size_t n = strlen(code), most = MOST_READ / (n + 1);
  for (size_t parts = 0; parts < MOST_PARTS && parts < most; parts++) {
    while (n > 0 && code[n - 1] != '\n' && code[n - 1] != ';') n--;
    if (n == 0) return false;
    lua_pushlstring(L, code, n);
    const char *before = lua_tostring(L, -1), *last = code + n;
    const char *plain = lua_pushfstring(L, "%sreturn ", before), *framed = lua_pushfstring(L, "%s" RETURN, before);
    bool ok = loads(L, plain, last) && is_expression(L, last) && (!statements || stands_alone(L, before, last)) &&
              load_joined(L, framed, last, name);
    if (ok) lua_insert(L, -4);
    lua_pop(L, 3);
    if (ok) return true;
    n--;
  }
  return false;
}

// Pushes the code without blanks at its ends, without a leading "=" and without a trailing ";". Sets *quiet if there
// was a ";", which suppresses the display of the value.
static void push_trimmed(lua_State *L, const char *code, bool *quiet) {
  while (isspace((unsigned char)*code)) code++;
  if (*code == '=') code++;
  size_t n = strlen(code);
  while (n > 0 && isspace((unsigned char)code[n - 1])) n--;
  *quiet = n > 0 && code[n - 1] == ';';
  lua_pushlstring(L, code, *quiet ? n - 1 : n);
}

// Returns the code after a leading "=". Without a leading "=", returns all of the code, with its leading blank lines,
// because line numbers must match the input.
static const char *skip_equals(const char *code) {
  const char *p = code;
  while (*p == ' ' || *p == '\t') p++;
  return *p == '=' ? p + 1 : code;
}

// Moves the chunk on top of the stack to the stack index `at`, removes the values above it, and returns LUA_OK.
static int keep_top(lua_State *L, int at) {
  lua_replace(L, at);
  lua_settop(L, at);
  return LUA_OK;
}

// Pushes the loaded chunk and returns LUA_OK. On failure, pushes an error message and returns the error status.
static int load_chunk(lua_State *L, const char *code, const char *name, bool *quiet) {
  int at = lua_gettop(L) + 1;
  push_trimmed(L, code, quiet);
  const char *trimmed = lua_tostring(L, -1);
  if (*trimmed && load_expression(L, trimmed, name)) return keep_top(L, at);
  code = skip_equals(code);
  int status = load(L, code, strlen(code), name);
  const char *blank = code + strspn(code, " \t\r\n"); // blank lines are kept, so that line numbers match the input
  lua_pushlstring(L, code, (size_t)(blank - code));
  lua_pushfstring(L, "%s%s", lua_tostring(L, -1), trimmed);
  if (load_last_part(L, lua_tostring(L, -1), name, status == LUA_OK)) return keep_top(L, at);
  lua_pop(L, 2);
  lua_remove(L, at);
  return status;
}

// The end of a line is added, because it ends a string in quotes: more lines cannot complete such a string.
bool nwh_incomplete(nwh *h, const char *code) {
  int top = lua_gettop(h->L);
  const char *line = lua_pushfstring(h->L, "%s\n", code);
  bool quiet, more = unfinished(h->L, load_chunk(h->L, line, "=input", &quiet));
  lua_settop(h->L, top);
  return more;
}

// Stores the source of a chunk of the prompt or of a cell. It is needed later: an error shows a line of the source, and
// if a result is nil, a message says which variable has no value.
void nwh_keep_source(nwh *h, const char *name, const char *code) {
  lua_State *L = h->L;
  if (*name != '=') return;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, "nestwright.sources");
  lua_pushstring(L, code);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, name + 1);
  lua_rawseti(L, -2, 0); // entry 0 is the latest source
  lua_pop(L, 2);
}

nwh_status nwh_eval(nwh *h, const char *code, const char *name, int *results, bool *quiet) {
  lua_State *L = h->L;
  int top = lua_gettop(L);
  int status = load_chunk(L, code, name, quiet);
  *results = 0;
  nwh_keep_source(h, name, code);
  if (status != LUA_OK) return explain_memory(h), NWH_ERROR;
  nwh_status done = nwh_call(h, 0, LUA_MULTRET);
  if (done == NWH_OK) *results = lua_gettop(L) - top;
  return done;
}

bool nwh_is_question(const char *code) {
  const char *first = code + strspn(code, " \t\n");
  size_t n = strlen(first);
  while (n > 0 && isspace((unsigned char)first[n - 1])) n--;
  return *first == '?' || (n > 1 && first[n - 1] == '?' && !strpbrk(first, "\"'\n"));
}

// ---- calls of the Lua library

// Pushes the module `name` of the library. Loads it with a `require` that cells cannot change. If the module cannot be
// loaded, pushes a message and returns false.
static bool push_module(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  bool there = lua_getfield(L, -1, name) == LUA_TTABLE;
  lua_remove(L, -2);
  if (there) return true;
  lua_pop(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, "nestwright.require");
  lua_pushliteral(L, "nestwright.language.own");
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) return false;
  lua_getfield(L, -1, "require");
  lua_remove(L, -2);
  lua_pushstring(L, name);
  return lua_pcall(L, 1, 1, 0) == LUA_OK;
}

bool nwh_push_function(nwh *h, const char *module, const char *name) {
  lua_State *L = h->L;
  if (!push_module(L, module)) return false;
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  return true;
}

// Pushes the function `name` of nestwright.show.prompt. If the library cannot be loaded, pushes nothing and returns
// false.
static bool push_service(nwh *h, const char *name) {
  if (nwh_push_function(h, "nestwright.show.prompt", name)) return true;
  lua_pop(h->L, 1);
  return false;
}

static char *take_string(lua_State *L) {
  const char *s = lua_tostring(L, -1);
  char *copy = s ? strdup(s) : NULL;
  lua_pop(L, 1);
  return copy;
}

char *nwh_display(nwh *h, int n, bool colour) {
  lua_State *L = h->L;
  if (!push_service(h, "display")) {
    lua_pop(L, n);
    return NULL;
  }
  lua_insert(L, -(n + 1));
  lua_pushboolean(L, colour);
  lua_insert(L, -(n + 1));
  if (nwh_call(h, n + 1, 1) != NWH_OK) return nwh_error_text(h, colour);
  return take_string(L);
}

static int to_text(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

// Pops an error and returns its text. The error may be a user's value with a __tostring that fails.
static char *plain_error(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) return take_string(L);
  lua_pushcfunction(L, to_text);
  lua_insert(L, -2);
  bool ok = lua_pcall(L, 1, 1, 0) == LUA_OK;
  char *copy = strdup(ok ? lua_tostring(L, -1) : "an error that cannot be shown");
  lua_pop(L, 1);
  return copy;
}

// If the library cannot be loaded or fails, returns the error as plain text.
char *nwh_error_text(nwh *h, bool colour) {
  lua_State *L = h->L;
  char *traceback = h->traceback;
  h->traceback = NULL;
  if (!push_service(h, "error_text")) {
    free(traceback);
    return plain_error(L);
  }
  lua_pushvalue(L, -2);
  lua_pushstring(L, traceback);
  lua_pushboolean(L, colour);
  lua_pushboolean(L, h->stopped);
  free(traceback);
  if (lua_pcall(L, 4, 1, 0) != LUA_OK || !lua_isstring(L, -1)) {
    lua_pop(L, 1);
    return plain_error(L);
  }
  char *text = take_string(L);
  lua_pop(L, 1);
  return text;
}

static char **take_list(lua_State *L) {
  int n = (int)lua_rawlen(L, -1);
  if (n == 0) return NULL;
  char **list = calloc((size_t)n + 1, sizeof *list);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, -1, i + 1);
    list[i] = take_string(L);
  }
  return list;
}

char **nwh_complete(nwh *h, const char *text, int cursor, int *start, bool *files) {
  lua_State *L = h->L;
  int top = lua_gettop(L);
  char **list = NULL;
  bool too = false;
  *start = cursor;
  if (push_service(h, "complete")) {
    lua_pushlstring(L, text, (size_t)cursor);
    if (nwh_call(h, 1, 3) == NWH_OK && lua_istable(L, -3)) {
      too = lua_toboolean(L, -1);
      *start = (int)lua_tointeger(L, -2) - 1;
      lua_pop(L, 2);
      list = take_list(L);
    }
  }
  lua_settop(L, top);
  if (files) *files = too;
  return list;
}

static char *ask(nwh *h, const char *service, const char *text) {
  lua_State *L = h->L;
  int top = lua_gettop(L);
  char *answer = NULL;
  if (push_service(h, service)) {
    lua_pushstring(L, text);
    if (nwh_call(h, 1, 1) == NWH_OK) answer = take_string(L);
  }
  lua_settop(L, top);
  return answer;
}

bool nwh_ends(nwh *h, const char *code) {
  lua_State *L = h->L;
  int top = lua_gettop(L);
  bool ends = false;
  if (push_service(h, "ends")) {
    lua_pushstring(L, code);
    ends = nwh_call(h, 1, 1) == NWH_OK && lua_toboolean(L, -1);
  }
  lua_settop(L, top);
  return ends;
}

char *nwh_inspect(nwh *h, const char *text) { return ask(h, "inspect", text); }
char *nwh_notes(nwh *h) { return ask(h, "notes", ""); }
