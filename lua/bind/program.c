// Runs external programs, and shows the progress of long work.
#include "bind.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_WORDS 32
#define PATIENCE 1.0 // seconds before progress is shown on a terminal
#define QUIET 10.0 // seconds between lines if there is no terminal

// ---- programs

typedef struct hook {
  lua_State *L;
  lua_Hook was;
} hook;

// True if the user has pressed Ctrl-C in the standard Lua interpreter, which then sets a hook that runs at the next
// instruction. (The REPL and the Jupyter kernel interrupt the core directly.)
static bool hook_set(void *env) {
  const hook *h = env;
  return lua_gethook(h->L) != h->was;
}

static void push_outcome(lua_State *L, const nw_child *child) {
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, child->status);
  lua_setfield(L, -2, "status");
  lua_pushlstring(L, child->out, child->nout);
  lua_setfield(L, -2, "out");
  lua_pushstring(L, child->said);
  lua_setfield(L, -2, "said");
}

static int f_run_program(lua_State *L) {
  const char *argv[MOST_WORDS + 1] = {NULL};
  int n = nwl_list_length(L, 1, MOST_WORDS, "words");
  if (n == 0) return nwl_fail(L, NW_EINVAL, NULL, "give the name of a program");
  luaL_checkstack(L, n + 8, NULL);
  size_t ninput = 0;
  const char *input = luaL_optlstring(L, 2, "", &ninput),
             *what = nwl_string_or(L, 3, "what", "another program is running");
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1);
    argv[i] = nwl_string(L, -1, "word");
  }
  hook h = {L, lua_gethook(L)};
  nw_child child = {.what = what, .input = input, .ninput = ninput, .stopped = hook_set, .env = &h};
  nw_clear(nwl_ctx(L));
  if (!nw_child_run(nwl_ctx(L), argv, &child)) return child.absent ? 0 : nwl_raise(L);
  push_outcome(L, &child);
  free(child.out);
  free(child.said);
  return 1;
}

// ---- progress

static const char listener_key, before_key;

typedef struct lines {
  lua_State *L; // for the call of the function of before_progress
  double every, told; // every: seconds between two lines; told: seconds that the work had taken at the last line
} lines;

// Calls the function of before_progress. Its errors are ignored, because the caller is the core.
static void before_first_line(lua_State *L) {
  if (!lua_checkstack(L, 8)) return;
  int top = lua_gettop(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &before_key) == LUA_TFUNCTION) nwl_pcall(L, 0, 0);
  lua_settop(L, top);
}

static void write_state(const char *what, double part, double seconds) {
  fputs(what, stderr);
  if (part >= 0) fprintf(stderr, ": %.0f %%", 100 * part);
  fprintf(stderr, ", %.0f s", seconds);
}

// Prints a line from time to time, to show that the work continues. This function is used if there is no terminal.
static void tell_line(void *env, const char *what, double part, double seconds) {
  lines *l = env;
  if (!what) l->told = 0;
  if (!what || seconds < l->told + l->every) return;
  if (l->told <= 0) before_first_line(l->L);
  l->told = seconds;
  write_state(what, part, seconds);
  fputc('\n', stderr);
  fflush(stderr);
}

// Shows a line while the work lasts, and updates this line. This function is used for a terminal.
static void show(void *env, const char *what, double part, double seconds) {
  lines *l = env;
  if (what && l->told <= 0) before_first_line(l->L);
  l->told = what ? seconds : 0;
  fputc('\r', stderr);
  if (what) write_state(what, part, seconds);
  fputs("\033[K", stderr); // erases the rest of a longer line, or all of it
  fflush(stderr);
}

// Calls the listener, a function of the user that receives progress. Catches its errors, because the caller is the
// core.
static void tell_listener(void *env, const char *what, double part, double seconds) {
  lua_State *L = env;
  if (!lua_checkstack(L, 8)) return;
  int top = lua_gettop(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &listener_key) == LUA_TFUNCTION) {
    lua_pushstring(L, what);
    lua_pushnumber(L, part);
    lua_pushnumber(L, seconds);
    nwl_pcall(L, 3, 0);
  }
  lua_settop(L, top);
}

// Makes a Lua thread for the calls of the listener, because any coroutine may be running when the listener is called.
static lua_State *listening_thread(lua_State *L) {
  static const char key;
  lua_State *thread = lua_newthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
  return thread;
}

// True if standard error is a terminal on which a line can be erased.
static bool on_terminal(void) {
  const char *term = getenv("TERM");
  return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

// Shows progress on standard error. `patience` is in seconds. If `patience` is negative, uses PATIENCE for a terminal
// and QUIET for other outputs.
static void show_progress(lua_State *L, double patience) {
  static const char told_key;
  bool terminal = on_terminal();
  if (patience < 0) patience = terminal ? PATIENCE : QUIET;
  lines *told = lua_newuserdatauv(L, sizeof *told, 0);
  *told = (lines){.L = listening_thread(L), .every = patience};
  nw_on_progress(nwl_ctx(L), terminal ? show : tell_line, told, patience);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &told_key); // frees the `lines` of an earlier call
}

void nwl_show_progress(lua_State *L) { show_progress(L, -1); }

static int f_on_progress(lua_State *L) {
  bool listens = !lua_isnoneornil(L, 1);
  double patience = nwl_number_or(L, 2, "patience", listens ? PATIENCE : -1);
  if (listens) nwl_function(L, 1, "listener");
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &listener_key);
  if (listens)
    nw_on_progress(nwl_ctx(L), tell_listener, listening_thread(L), patience);
  else
    show_progress(L, patience);
  return 0;
}

static int f_before(lua_State *L) {
  nwl_function(L, 1, "f");
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &before_key);
  return 0;
}

static int f_progress(lua_State *L) {
  nw_tell_progress(nwl_ctx(L), nwl_string_or(L, 1, "what", NULL), nwl_number_or(L, 2, "part", -1),
                   nwl_number_or(L, 3, "since", 0));
  return 0;
}

static int f_erases(lua_State *L) {
  lua_pushboolean(L, on_terminal());
  return 1;
}

const nwl_row nwl_program_rows[] = {
    {"erases_lines", f_erases, "(): boolean", "True if standard error is a terminal on which a line can be erased."},
    {"tell_progress", f_progress, "(what?: string, part?: number, since?: number)",
     "Reports the progress of work that consists of many calls and began at time `since` (core.now()). A call without "
     "arguments reports that the work is done."},
    {"run_program", f_run_program,
     "(words: string[], input?: string, what?: string): {status: integer, out: string, said: string}?",
     "Finds a program on PATH, runs it without a shell, and waits for its end; Ctrl-C kills it. status is the exit "
     "status, or negative if a signal ended the program; out is its standard output, and said its standard error. "
     "Returns nil if there is no such program."},
    {"on_progress", f_on_progress, "(listener?: fun(what: string?, part: number, seconds: number), patience?: number)",
     "Sets the function that receives the progress of work that takes longer than `patience` seconds (default 1). Its "
     "arguments are a description of the work (nil: the work is done), the part that is done (negative: unknown), and "
     "the duration in seconds. Without a listener, progress is shown on standard error: as a line that is updated in "
     "place on a terminal, otherwise as a new line every ten seconds."},
    {"before_progress", f_before, "(f: fun())",
     "Sets the function that is called before the first line that shows the progress of long work on standard error."},
    {NULL, NULL, NULL, NULL},
};
