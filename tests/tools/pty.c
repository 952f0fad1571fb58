// The Lua module "nw_pty" drives a program on a pseudo-terminal, as a person does. Only the end-to-end tests and the
// interactive bench use this module.
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLASS "nw_pty.child"
typedef struct child {
  pid_t pid;
  int fd;
  bool reaped;
} child;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static child *self(lua_State *L) { return luaL_checkudata(L, 1, CLASS); }

// spawn(path, arg...): starts the program on its own terminal of 100 columns and 40 lines.
static int l_spawn(lua_State *L) {
  int n = lua_gettop(L);
  char *argv[32];
  if (n >= 32) return luaL_error(L, "too many arguments");
  for (int i = 0; i < n; i++) argv[i] = (char *)luaL_checkstring(L, i + 1);
  argv[n] = NULL;
  struct winsize size = {.ws_row = 40, .ws_col = 100};
  child *c = lua_newuserdatauv(L, sizeof *c, 0);
  *c = (child){.pid = -1, .fd = -1};
  luaL_setmetatable(L, CLASS);
  c->pid = forkpty(&c->fd, NULL, NULL, &size);
  if (c->pid < 0) return luaL_error(L, "forkpty: %s", strerror(errno));
  if (c->pid == 0) {
    setenv("TERM", "xterm", 1);
    execv(argv[0], argv);
    _exit(127);
  }
  return 1;
}

static int l_send(lua_State *L) { // child:send(text)
  size_t n;
  const char *s = luaL_checklstring(L, 2, &n);
  lua_pushboolean(L, write(self(L)->fd, s, n) == (ssize_t)n);
  return 1;
}

// child:expect(text, timeout_ms): reads until `text` appears. Returns the milliseconds waited (nil after a timeout) and
// the output that was read.
static int l_expect(lua_State *L) {
  child *c = self(L);
  const char *want = luaL_checkstring(L, 2);
  double start = now_ms(), limit = luaL_optnumber(L, 3, 5000);
  luaL_Buffer b;
  char *seen = NULL, chunk[4096];
  size_t n = 0;
  bool found = false;
  while (!found && now_ms() - start < limit) {
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (poll(&p, 1, (int)(limit - (now_ms() - start)) + 1) <= 0) continue;
    ssize_t got = read(c->fd, chunk, sizeof chunk);
    if (got <= 0) break;
    seen = realloc(seen, n + (size_t)got + 1);
    memcpy(seen + n, chunk, (size_t)got);
    n += (size_t)got;
    seen[n] = 0;
    found = memmem(seen, n, want, strlen(want)) != NULL;
  }
  if (found)
    lua_pushnumber(L, now_ms() - start);
  else
    lua_pushnil(L);
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, seen ? seen : "", n);
  luaL_pushresult(&b);
  free(seen);
  return 2;
}

static int l_signal(lua_State *L) { // child:signal(number)
  kill(self(L)->pid, (int)luaL_checkinteger(L, 2));
  return 0;
}

// child:finish([timeout_ms]): waits for the end of the program, and kills it after the timeout. Returns the exit status
// and the CPU time used, in ms. If a signal ended the program, the status is the negative number of the signal.
static int l_finish(lua_State *L) {
  child *c = self(L);
  double start = now_ms(), limit = luaL_optnumber(L, 2, 5000);
  struct rusage use;
  int status = 0;
  char sink[4096];
  while (wait4(c->pid, &status, WNOHANG, &use) == 0) {
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (poll(&p, 1, 2) > 0 && (p.revents & POLLIN)) (void)!read(c->fd, sink, sizeof sink);
    if (now_ms() - start > limit) kill(c->pid, SIGKILL);
  }
  c->reaped = true;
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  lua_pushnumber(L, 1e3 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                        1e-3 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec));
  return 2;
}

static int l_gc(lua_State *L) {
  child *c = self(L);
  if (c->pid > 0 && !c->reaped) {
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
  }
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
  c->reaped = true;
  return 0;
}

static int l_sleep(lua_State *L) { // sleep(ms)
  usleep((useconds_t)(1e3 * luaL_checknumber(L, 1)));
  return 0;
}

static int l_now(lua_State *L) {
  lua_pushnumber(L, now_ms());
  return 1;
}

int luaopen_nw_pty(lua_State *L);
int luaopen_nw_pty(lua_State *L) {
  static const luaL_Reg methods[] = {{"send", l_send},     {"expect", l_expect}, {"signal", l_signal},
                                     {"finish", l_finish}, {"__gc", l_gc},       {NULL, NULL}};
  static const luaL_Reg rows[] = {{"spawn", l_spawn}, {"sleep", l_sleep}, {"now", l_now}, {NULL, NULL}};
  luaL_newmetatable(L, CLASS);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  luaL_newlib(L, rows);
  return 1;
}
