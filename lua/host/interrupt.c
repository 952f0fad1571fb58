// Handles Ctrl-C. The signal handler sets a hook on every running coroutine, requests that native code and proofs stop,
// and returns.
//
// The hook raises an error and stays set until the running code ends. If the code catches the error, its next
// instruction raises the error again, so that `while true do pcall(f) end` also stops. A coroutine that is created
// while the hook is set inherits the hook. So a hook that runs without a pending interrupt removes itself.
#include "inside.h"
#include "run/run.h"
#include <signal.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static nwh *volatile active;

// Raises the error. Its message names the innermost line of the user's code on the stack, because a line of the library
// would not help. If the stack has no line of the user's code, the message names no line.
static void raise_here(const nwh *h, lua_State *L) {
  lua_Debug ar;
  for (int level = 0; level < 5000 && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (nwh_is_ours(h, &ar) || ar.currentline <= 0) continue;
    lua_pushfstring(L, "%s:%d: interrupted", ar.short_src, ar.currentline);
    lua_error(L);
  }
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

static void stop(lua_State *L, lua_Debug *ar) {
  (void)ar;
  nwh *h = active;
  if (!h || !h->pending) {
    lua_sethook(L, NULL, 0, 0);
    return;
  }
  raise_here(h, L);
}

static void arm(nwh *h, bool on) {
  int mask = on ? LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT : 0;
  for (int i = 0; i <= h->depth; i++) lua_sethook(h->chain[i], on ? stop : NULL, mask, on ? 1 : 0);
}

static void notice(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

// Handles repeated interrupts. C functions of Lua's library and compilations cannot be interrupted. The second Ctrl-C
// prints a notice about this, and the third ends the process.
static void patience(int asked) {
  if (asked == 2) notice("\nstill in a call that cannot be interrupted; press Ctrl-C again to end the session\n");
  if (asked < 3) return;
  signal(SIGINT, SIG_DFL);
  raise(SIGINT);
}

static void on_interrupt(int sig) {
  int saved = errno;
  nwh *h = active;
  if (!h) return;
  if (!pthread_equal(pthread_self(), h->main)) {
    pthread_kill(h->main, sig);
  } else if (!h->running) {
    if (h->idle) h->idle();
  } else {
    h->pending++;
    arm(h, true);
    if (!nw_guard_interrupt() && h->ctx) nw_interrupt(h->ctx);
    patience(h->pending);
  }
  errno = saved;
}

void nwh_catch_interrupts(nwh *h, void (*idle)(void)) {
  h->idle = idle;
  h->main = pthread_self();
  active = h;
  struct sigaction a = {.sa_handler = on_interrupt, .sa_flags = SA_ONSTACK};
  sigaction(SIGINT, &a, NULL);
}

void nwh_run_begin(nwh *h) {
  if (h->running++ > 0) return;
  h->pending = 0;
  h->depth = 0;
  h->chain[0] = h->L;
}

bool nwh_interrupted(const nwh *h) { return h->pending > 0; }

bool nwh_run_end(nwh *h) {
  if (h->running > 1) {
    h->running--;
    return h->pending > 0;
  }
  bool stopped = h->pending > 0;
  h->depth = 0;
  h->running = 0;
  h->pending = 0;
  arm(h, false); // also removes a hook that the running code itself has set
  if (stopped && h->ctx) nw_clear(h->ctx);
  return stopped;
}

// ---- coroutines

// These functions are as in Lua's lcorolib.c, but a coroutine is registered with the signal handler while it runs.

static lua_State *coroutine_arg(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "coroutine");
  return co;
}

// Registers the coroutine with the signal handler. Returns true if this is possible; then the caller must unregister
// the coroutine later. Returns false if too many coroutines are running.
static bool track(nwh *h, lua_State *co) {
  if (!h || h->depth + 1 >= NWH_MAX_CHAIN) return false;
  h->chain[h->depth + 1] = co;
  h->depth++;
  if (h->pending) arm(h, true);
  return true;
}

static int resume_tracked(lua_State *L, lua_State *co, int narg, int *nres) {
  nwh *h = active;
  bool tracked = track(h, co);
  int status = lua_resume(co, L, narg, nres);
  if (tracked) h->depth--;
  return status;
}

// Closes a coroutine. While it is being closed, it is registered with the signal handler, because its __close handlers
// are code of the user, too.
static int reset_tracked(lua_State *co) {
  nwh *h = active;
  bool tracked = track(h, co);
  int status = lua_resetthread(co);
  if (tracked) h->depth--;
  return status;
}

// Resumes a coroutine. Returns the number of results on L's stack, or -1 with the error on top.
static int resume(lua_State *L, lua_State *co, int narg) {
  int nres;
  if (!lua_checkstack(co, narg)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, narg);
  int status = resume_tracked(L, co, narg, &nres);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, nres + 1)) {
    lua_pop(co, nres);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, nres);
  return nres;
}

static int co_resume(lua_State *L) {
  lua_State *co = coroutine_arg(L);
  int n = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, n >= 0);
  lua_insert(L, n >= 0 ? -(n + 1) : -2);
  return n >= 0 ? n + 1 : 2;
}

static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int n = resume(L, co, lua_gettop(L));
  if (n >= 0) return n;
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    reset_tracked(co);
    lua_xmove(co, L, 1);
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int co_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped, 1);
  return 1;
}

static int co_close(lua_State *L) {
  lua_State *co = coroutine_arg(L);
  lua_Debug ar;
  bool running = co == L || (lua_status(co) == LUA_OK && lua_getstack(co, 0, &ar));
  if (running) return luaL_error(L, "cannot close a %s coroutine", co == L ? "running" : "normal");
  bool ok = reset_tracked(co) == LUA_OK;
  lua_pushboolean(L, ok);
  if (ok) return 1;
  lua_xmove(co, L, 1);
  return 2;
}

void nwh_open_coroutines(nwh *h) {
  lua_State *L = h->L;
  lua_getglobal(L, "coroutine");
  lua_pushcfunction(L, co_resume);
  lua_setfield(L, -2, "resume");
  lua_pushcfunction(L, co_wrap);
  lua_setfield(L, -2, "wrap");
  lua_pushcfunction(L, co_close);
  lua_setfield(L, -2, "close");
  lua_pop(L, 1);
}
